#!/usr/bin/env node
/** The `assay` command: builds the terminal, hands over to the program, and exits with its code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openParts } from './app.ts';
import { systemClock } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import { LIMITS } from './base/limits.ts';
import { createLogger } from './base/log.ts';
import { projectRoot } from './base/paths.ts';
import { commandModules } from './cli/commands.ts';
import { errorLine, ReportedFault, type Terminal } from './cli/context.ts';
import type { InstallationPlace } from './cli/installation.ts';
import { runProgram } from './cli/program.ts';
import { loadConfig } from './config.ts';

const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  version: string;
};

const stopping = new AbortController();
const isServer = process.argv[2] === 'serve';

/**
 * Asks the command to end. Those that have not done so in time are ended: their stores are whole at every moment, and locks of a process
 * that is gone are taken over. The server first finishes what it took, unless a fault of its own may keep it from doing so.
 */
function end(reason: Error | undefined, msMax: number): void {
  stopping.abort(reason);
  setTimeout(() => {
    process.stderr.write(errorLine(stopping.signal.reason));
    process.exit(1);
  }, msMax).unref();
}

function interrupt(): void {
  if (isServer) stopping.abort();
  else end(undefined, LIMITS.interruptMsMax);
}

let isFaulty = false;
/** An error that no part of the program caught: says why, and ends in order, so that what was acknowledged is written. */
function fault(error: unknown): void {
  if (isServer) logFault(error);
  if (isFaulty) return;
  isFaulty = true;
  process.stderr.write(errorLine(error));
  end(new ReportedFault(), isServer ? LIMITS.faultMsMax : LIMITS.interruptMsMax);
}

function logFault(error: unknown): void {
  const { logLevel } = loadConfig();
  const reason = messageOf(error);
  createLogger({ level: logLevel }).error(
    logLevel === 'debug' ? { reason, err: error } : { reason },
    'uncaught error, the server stops',
  );
}

process.on('uncaughtException', fault);
process.on('unhandledRejection', fault);
/** Returns what stops to listen. */
function hearSignals(): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  // The second signal finds no listener and ends the process at once.
  for (const signal of signals) process.once(signal, interrupt);
  return () => {
    for (const signal of signals) process.removeListener(signal, interrupt);
  };
}
let stopHearing = hearSignals();
// A process that another one started with a channel ends with it: the server may be killed while it builds an index in a child.
if (process.channel) {
  process.once('disconnect', interrupt);
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
  endAtOnce() {
    stopHearing();
    return () => {
      stopHearing = hearSignals();
    };
  },
};

const installationPlace = (): InstallationPlace => {
  const { dataDir, jobsDir, redis } = loadConfig();
  return { dataDir, jobsDir, isShared: redis !== null };
};

const code = await runProgram(
  commandModules({ apiKey: () => loadConfig().apiKey, place: installationPlace }),
  process.argv.slice(2),
  terminal,
  () => openParts(loadConfig(), version),
  version,
);

process.exitCode = isFaulty ? 1 : code;
// All is closed. What a library still waits for, a queue for a Redis that is away say, holds up nobody who asked for the end.
if (stopping.signal.aborted) setTimeout(() => process.exit(), LIMITS.exitMsMax).unref();
