#!/usr/bin/env node
/** The `assay` command: builds the terminal, hands over to the program, and exits with its code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openParts } from './app.ts';
import { systemClock } from './base/clock.ts';
import { LIMITS } from './base/limits.ts';
import { projectRoot } from './base/paths.ts';
import { addAccountsCommand, addAuditCommand, addPlanCommand } from './cli/accounts.ts';
import { addBackupCommand } from './cli/backup.ts';
import { addBulkCommand } from './cli/bulk.ts';
import { addClusterCommand } from './cli/cluster.ts';
import type { Terminal } from './cli/context.ts';
import { addCreditsCommand } from './cli/credits.ts';
import { addEntitiesCommand } from './cli/entities.ts';
import { addExposureCommand } from './cli/exposure.ts';
import { addGraphCommand } from './cli/graph.ts';
import { addKytCommand, addTraceCommand } from './cli/graph-questions.ts';
import { addImportCommand } from './cli/import.ts';
import { addIndexCommand } from './cli/index-command.ts';
import { addIngestCommand } from './cli/ingest.ts';
import { addInstallationCommand, addVerifyCommand, type InstallationPlace } from './cli/installation.ts';
import { addKeysCommand } from './cli/keys.ts';
import { addLedgerCommand } from './cli/ledger.ts';
import { addListsCommand } from './cli/lists.ts';
import { addLookupCommand, addScreenCommand } from './cli/lookup.ts';
import { addMonitorCommand } from './cli/monitor.ts';
import { addNamesCommand } from './cli/names.ts';
import { addPricesCommand } from './cli/prices.ts';
import { runProgram } from './cli/program.ts';
import { addRedisCommand } from './cli/redis.ts';
import { addServeCommand } from './cli/serve.ts';
import { addSnapshotCommand } from './cli/snapshot.ts';
import { addStatsCommand } from './cli/stats.ts';
import { addSyncCommand } from './cli/sync.ts';
import { addTaintCommand } from './cli/taint.ts';
import { addWatchCommand } from './cli/watch.ts';
import { loadConfig } from './config.ts';

const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  version: string;
};

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The second signal finds no listener and ends the process at once.
  process.once(signal, () => stopping.abort());
}
// A process that another one started with a channel ends with it: the server may be killed while it builds an index in a child.
if (process.channel) {
  process.once('disconnect', () => stopping.abort());
  process.channel.unref();
}
// A reader that went away (`| head`) is no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const terminal: Terminal = {
  out: process.stdout,
  err: process.stderr,
  clock: systemClock,
  signal: stopping.signal,
};

const installationPlace = (): InstallationPlace => {
  const { dataDir, redis } = loadConfig();
  return { dataDir, isShared: redis !== null };
};

process.exitCode = await runProgram(
  [
    addServeCommand,
    addSyncCommand,
    addImportCommand,
    addListsCommand,
    addIndexCommand,
    addExposureCommand,
    addEntitiesCommand,
    addSnapshotCommand,
    addBackupCommand,
    addRedisCommand,
    addLookupCommand,
    addScreenCommand,
    addKytCommand,
    addTraceCommand,
    (program, terminal, parts) => addBulkCommand(program, terminal, parts, () => loadConfig().apiKey),
    addIngestCommand,
    addGraphCommand,
    addWatchCommand,
    addMonitorCommand,
    addTaintCommand,
    addClusterCommand,
    addPricesCommand,
    addStatsCommand,
    addNamesCommand,
    addKeysCommand,
    addAccountsCommand,
    addPlanCommand,
    addAuditCommand,
    addCreditsCommand,
    addLedgerCommand,
    (program, terminal) => addInstallationCommand(program, terminal, installationPlace),
    (program, terminal) => addVerifyCommand(program, terminal, installationPlace),
  ],
  process.argv.slice(2),
  terminal,
  () => openParts(loadConfig(), version),
  version,
);

// All is closed. What a library still waits for, a queue for a Redis that is away say, holds up nobody who asked for the end.
if (stopping.signal.aborted) setTimeout(() => process.exit(), LIMITS.exitMsMax).unref();
