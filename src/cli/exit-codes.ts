/** Exit codes of the `assay` command, and the code of each error. */
import { CommanderError } from 'commander';
import { AssayError, type ErrorCode } from '../base/errors.ts';

export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The meaning of each code, for docs/reference/cli.md. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'The command has done what it was asked to do.',
  failed:
    'Refused or failed. The last line of the error output gives the reason. What was stored before stays.',
  usage:
    'The command line is not valid: an unknown command or option, or an argument with a value that is not allowed. The same command line fails again.',
  interrupted: 'Ended by SIGINT (Ctrl-C) or SIGTERM before it was complete. Completed work is kept.',
};

/** The error of a command that a signal has ended, if it has more to say than `Interrupted`. */
export class Interruption extends AssayError {
  constructor(message: string) {
    super('INVALID_REQUEST', message);
  }
}

/** Codes of errors that the same command line causes again. */
const USAGE: ReadonlySet<ErrorCode> = new Set(['INVALID_REQUEST', 'UNKNOWN_CHAIN', 'INVALID_ADDRESS']);

/**
 * Returns true for an error of the command line. One about a setting, or about what it names (a Redis in use), is none; but a reader of
 * settings that reads an option gives the same code, with the name of the option.
 */
const isOfCommandLine = ({ code, field = '' }: AssayError): boolean =>
  code === 'INVALID_CONFIG' ? field.startsWith('--') : USAGE.has(code) && !field.startsWith('ASSAY_');

/** Returns the exit code of a command that ended with an error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof Interruption) return EXIT.interrupted;
  if (error instanceof AssayError) return isOfCommandLine(error) ? EXIT.usage : EXIT.failed;
  return error instanceof Error && error.name === 'AbortError' ? EXIT.interrupted : EXIT.failed;
}
