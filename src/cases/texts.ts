/** Texts and times that people write into cases. They are stored as they are, so they must be valid Unicode without control characters. */
import { AssayError } from '../base/errors.ts';

/** Returns the error of an invalid field. */
export const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

/** Half of a pair of UTF-16 units: not a character, and not representable in UTF-8. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** Control characters, and separators that end a line. */
const NOT_IN_LINE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/** Like NOT_IN_LINE, except tabs and line breaks. */
const NOT_IN_NOTE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
/** Also characters that change the order of text, so that `fdp.exe` cannot look like `exe.pdf`, and separators of paths. */
const NOT_IN_FILE_NAME = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069/\\:*?"<>|]/;

/**
 * Checks a text of one line.
 *
 * @throws INVALID_REQUEST
 */
export function requireLine(field: string, text: string): void {
  if (LONE_SURROGATE.test(text) || NOT_IN_LINE.test(text))
    throw refuse(field, 'must be one line of valid Unicode without control characters.');
  if (text.trim() === '') throw refuse(field, 'must not be blank.');
}

/**
 * Checks a note.
 *
 * @throws INVALID_REQUEST
 */
export function requireNote(text: string | undefined): void {
  if (text === undefined) return;
  if (LONE_SURROGATE.test(text) || NOT_IN_NOTE.test(text))
    throw refuse('note', 'must be valid Unicode without control characters other than tabs and line breaks.');
  if (text.trim() === '') throw refuse('note', 'must not be blank.');
}

/**
 * Checks the name of a file: it must be safe on every file system, and show what it is.
 *
 * @throws INVALID_REQUEST
 */
export function requireFileName(text: string): void {
  requireLine('name', text);
  if (NOT_IN_FILE_NAME.test(text))
    throw refuse(
      'name',
      'must contain neither / \\ : * ? " < > | nor characters that change the direction of text.',
    );
  if (text.startsWith('.') || text !== text.trim() || text.endsWith('.'))
    throw refuse('name', 'must neither begin nor end with a dot or a space.');
}

const ISO_SHAPE =
  /^(\d{4}-\d{2}-\d{2})(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))?$/;

/**
 * Returns the milliseconds of an ISO 8601 date or time.
 *
 * @throws INVALID_REQUEST
 */
export function timeOf(field: string, text: string): number {
  const [, day] = ISO_SHAPE.exec(text) ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(text);
  // Date.parse accepts the 31st of every month.
  const isDay = day !== undefined && !Number.isNaN(ms) && new Date(day).toISOString().startsWith(day);
  if (isDay) return ms;
  throw refuse(
    field,
    'must be an ISO 8601 date or time with a time zone, such as 2026-12-31 or 2026-12-31T17:00:00Z.',
  );
}
