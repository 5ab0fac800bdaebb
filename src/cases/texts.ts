/** Texts that people write into cases. They are stored as they are, so they must be valid Unicode without control characters. */
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
  // Windows programs without Unicode fold full-width forms, such as a slash.
  if (NOT_IN_FILE_NAME.test(text) || NOT_IN_FILE_NAME.test(text.normalize('NFKC')))
    throw refuse(
      'name',
      'must contain neither / \\ : * ? " < > | nor characters that change the direction of text.',
    );
  if (text.startsWith('.') || text !== text.trim() || text.endsWith('.'))
    throw refuse('name', 'must neither begin nor end with a dot or a space.');
}
