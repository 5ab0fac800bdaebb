/** The program of the `assay` command: creates the terminal, runs the program, and exits with its code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServices } from './app/services.ts';
import { systemClock } from './base/clock.ts';
import { leaveSignals } from './base/early-signals.ts';
import { messageOf } from './base/errors.ts';
import { createLogger } from './base/log.ts';
import { projectRoot } from './base/paths.ts';
import { commandModules } from './cli/commands.ts';
import { errorLine, ReportedFault, type Terminal } from './cli/context.ts';
import { EXIT } from './cli/exit-codes.ts';
import type { InstallationPlace } from './cli/installation.ts';
import { runProgram } from './cli/program.ts';
import { loadConfig } from './config/config.ts';
import type { ToolOperation } from './mcp/operations.ts';

/** An interrupted command ends by itself at its next safe point; a command with no safe point within this time is terminated. */
const INTERRUPT_MS_MAX = 1_500;
/** A server that stops after an unexpected error may not end by itself. Its stores are flushed long before this time. */
const FAULT_MS_MAX = 10_000;
/** After shutdown everything is closed; a process that is still running then waits for a machine that is away. */
const EXIT_MS_MAX = 2_000;

const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  version: string;
};

const stopping = new AbortController();
const isServer = process.argv.slice(2).find((argument) => !argument.startsWith('-')) === 'serve';
const isDebug = process.argv.includes('--debug');

/**
 * Aborts the command. If it does not end in time, the process exits: its stores are consistent at every moment, and the locks of a dead
 * process are taken over. A server first finishes the requests that it accepted, unless its own fault prevents that.
 */
function end(reason: Error | undefined, msMax: number): void {
  stopping.abort(reason);
  setTimeout(() => {
    process.stderr.write(errorLine(stopping.signal.reason, isDebug));
    process.exit(isFaulty ? EXIT.failed : EXIT.interrupted);
  }, msMax).unref();
}

function interrupt(): void {
  if (isServer) stopping.abort();
  else end(undefined, INTERRUPT_MS_MAX);
}

let isFaulty = false;
/** Handles an uncaught error: reports it, and shuts down in order, so that acknowledged changes are written. */
function fault(error: unknown): void {
  if (isServer) logFault(error);
  if (isFaulty) return;
  isFaulty = true;
  process.stderr.write(errorLine(error, isDebug));
  end(new ReportedFault(), isServer ? FAULT_MS_MAX : INTERRUPT_MS_MAX);
}

function logFault(error: unknown): void {
  const { logLevel, logFormat } = loadConfig();
  const reason = messageOf(error);
  createLogger({ level: logLevel, format: logFormat }).error(
    logLevel === 'debug' ? { reason, err: error } : { reason },
    'uncaught error, the server stops',
  );
}

process.on('uncaughtException', fault);
process.on('unhandledRejection', fault);
/** Returns a function that removes the signal listeners. */
function hearSignals(): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  // The second signal has no listener, so it ends the process at once.
  for (const signal of signals) process.once(signal, interrupt);
  return () => {
    for (const signal of signals) process.removeListener(signal, interrupt);
  };
}
let stopHearing = hearSignals();
leaveSignals();
// A child process with a channel ends with its parent: the server may be killed while a child builds an index.
if (process.channel) {
  process.once('disconnect', interrupt);
  process.channel.unref();
}
// The reader has closed the output (`| head`): not an error.
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

/** Few commands need the operations of the API, which are a fifth of the program. */
async function toolOperations(): Promise<readonly ToolOperation[]> {
  const { toolOperations: toolsOf } = await import('./http/mcp/facts.ts');
  const { OPERATIONS } = await import('./http/operations/index.ts');
  return toolsOf(OPERATIONS);
}

const code = await runProgram(
  commandModules({
    apiKey: () => loadConfig().apiKey,
    place: installationPlace,
    mcp: {
      baseUrl: () => loadConfig().baseUrl,
      operations: toolOperations,
      version,
    },
    examine: async (signal) => (await import('./app/doctor/doctor.ts')).examine(loadConfig, signal),
  }),
  process.argv.slice(2),
  terminal,
  () => createServices(loadConfig(), version),
  version,
);

process.exitCode = isFaulty ? EXIT.failed : code;
// Everything is closed. A library may still wait, for example a queue for an unavailable Redis; that must not delay the exit.
if (stopping.signal.aborted) setTimeout(() => process.exit(), EXIT_MS_MAX).unref();
