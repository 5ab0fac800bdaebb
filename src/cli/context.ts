/** The environment of a command (streams, signals), and the output of results and errors. */

import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { printable, printableLine } from '../base/printable.ts';

export { printable, printableLine };

export interface Terminal {
  /** Results. */
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Progress, notes and errors. */
  readonly err: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly clock: Clock;
  /** Aborted by Ctrl-C: long work stops at the next safe point. */
  readonly signal: AbortSignal;
  /**
   * From this call on until the returned function is called, a signal ends the process at once. For work that blocks the thread for
   * minutes, so that it could not handle the signal, and that leaves nothing incomplete. If absent, signals are not handled here.
   */
  readonly endAtOnce?: () => () => void;
}

/** Writes a result as JSON on one line if `json` is set, else as the lines that `text` returns. */
export function answer<T>(
  terminal: Terminal,
  json: boolean,
  data: T,
  text: (data: T) => readonly string[],
): void {
  const lines = json ? [JSON.stringify(data)] : text(data);
  terminal.out.write(`${json ? lines.join('\n') : printable(lines.join('\n'))}\n`);
}

/** Whether the operating system refused a call (no permission, no space, no such file). */
const isOfTheSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';

/** Says which file and why. Node's message is the code, the reason, and the call with its file: `ENOENT: no such file or directory, open 'x'`. */
function sentenceOfSystem({ message, code, path }: NodeJS.ErrnoException): string {
  const reason = new RegExp(`^${code}: ([^,]+), `).exec(message)?.[1];
  return path === undefined || reason === undefined ? message : `${path}: ${reason} (${code}).`;
}

/** Reason of an abort if its error has already been printed. */
export class ReportedFault extends Error {}

function sentenceOf(error: unknown): string {
  if (error instanceof AssayError) return error.message;
  if (isOfTheSystem(error)) return sentenceOfSystem(error);
  if (error instanceof Error && error.name === 'AbortError') return 'Interrupted. Completed work is kept.';
  return `unexpected error: ${messageOf(error)}`;
}

/** Returns the stack of an error and of its causes, indented. */
function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let each = error; each instanceof Error && stacks.length < CAUSES_MAX; each = each.cause)
    stacks.push((each.stack ?? '').replaceAll('\n', '\n  '));
  return stacks.map((stack, at) => `  ${at === 0 ? '' : 'caused by '}${stack}\n`).join('');
}

/** Causes of an error that `--debug` prints: a chain of causes may be a circle. */
const CAUSES_MAX = 10;

/**
 * Formats any thrown value as one line; empty if it has already been printed. An unexpected error keeps its own message.
 *
 * @param isDebug - adds the stack traces of the error and of its causes
 */
export function errorLine(error: unknown, isDebug = false): string {
  if (error instanceof ReportedFault) return '';
  const text = sentenceOf(error);
  return `assay: ${printable(text.replaceAll('\n', ' '))}\n${isDebug ? printable(stackOf(error)) : ''}`;
}

/** Formats rows as a table: each column is as wide as its longest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/**
 * Parses the whole number of an option.
 *
 * @throws INVALID_REQUEST with the option and its bounds
 */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new AssayError(
    'INVALID_REQUEST',
    `${option}: must be a whole number from ${min} to ${max} (got '${text}').`,
  );
}
