/** Runs a command line as this process: its terminal, its signals, uncaught errors, and its exit code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { leaveSignals } from '../base/early-signals.ts';
import { projectRoot } from '../base/paths.ts';
import { errorLine, ReportedFault, type Terminal } from '../cli/context.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { type CommandModule, runProgram } from '../cli/program.ts';
import type { OpenServices } from '../cli/services.ts';

/** An interrupted command ends by itself at its next safe point; a command with no safe point within this time is terminated. */
const INTERRUPT_MS_MAX = 1_500;
/** A server that stops after an unexpected error may not end by itself. Its stores are flushed long before this time. */
const FAULT_MS_MAX = 10_000;
/** After shutdown everything is closed; a process that is still running then waits for a machine that is away. */
const EXIT_MS_MAX = 2_000;

/** Version of the program. */
export const programVersion = (): string =>
  (JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { version: string }).version;

export interface CommandLine<S extends OpenServices> {
  readonly version: string;
  readonly commands: readonly CommandModule<S>[];
  /** Opens the services of a command when it runs. */
  readonly createServices: () => S;
  /** Logs an uncaught error of a server, beside the line on stderr. */
  readonly logFault?: (error: unknown) => void;
}

/** Runs the arguments of this process, and sets its exit code. The signals of early-signals.ts are handled here from then on. */
export async function runCommandLine<S extends OpenServices>(line: CommandLine<S>): Promise<void> {
  const stopping = new AbortController();
  const isServer = process.argv.slice(2).find((argument) => !argument.startsWith('-')) === 'serve';
  const isDebug = process.argv.includes('--debug');
  let isFaulty = false;

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

  /** Handles an uncaught error: reports it, and shuts down in order, so that acknowledged changes are written. */
  function fault(error: unknown): void {
    if (isServer) line.logFault?.(error);
    if (isFaulty) return;
    isFaulty = true;
    process.stderr.write(errorLine(error, isDebug));
    end(new ReportedFault(), isServer ? FAULT_MS_MAX : INTERRUPT_MS_MAX);
  }

  /** Returns a function that removes the signal listeners. */
  function hearSignals(): () => void {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    // The second signal has no listener, so it ends the process at once.
    for (const signal of signals) process.once(signal, interrupt);
    return () => {
      for (const signal of signals) process.removeListener(signal, interrupt);
    };
  }

  /**
   * Fails a command that waits for something which never comes. Nothing is left to run, so the process ends: without this with 0, as if the
   * command had done its work.
   */
  function stall(): void {
    process.exitCode = stopping.signal.aborted && !isFaulty ? EXIT.interrupted : EXIT.failed;
    if (!stopping.signal.aborted)
      process.stderr.write(errorLine(new Error('The command stopped before its end.'), isDebug));
  }

  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);
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

  process.once('beforeExit', stall);
  const code = await runProgram(
    line.commands,
    process.argv.slice(2),
    terminal,
    line.createServices,
    line.version,
  );
  process.removeListener('beforeExit', stall);
  process.exitCode = isFaulty ? EXIT.failed : code;
  // Everything is closed. A library may still wait, for example a queue for an unavailable Redis; that must not delay the exit.
  if (stopping.signal.aborted) setTimeout(() => process.exit(), EXIT_MS_MAX).unref();
}
