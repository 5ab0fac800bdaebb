/** The errors for files that do not have a publisher's layout. */
import { AssayError } from '../base/errors.ts';

/**
 * Creates an INVALID_FILE error with the name of the file, the expected layout, and the actual content according to its
 * first characters.
 */
export function unknownLayout(file: string, head: string, expected: string): AssayError {
  const found = /<html[\s>]|<!doctype html/i.test(head)
    ? 'an HTML page'
    : head.trim() === ''
      ? 'empty'
      : 'none of them';
  return new AssayError('INVALID_FILE', `${file}, line 1: expected ${expected}, but the file is ${found}.`, {
    field: 'file',
  });
}

/** Creates an INVALID_FILE error for a table that lacks a required part. `what` is a sentence. */
export function layoutError(file: string, what: string): AssayError {
  return new AssayError('INVALID_FILE', `${file}: ${what}`, { field: 'file' });
}
