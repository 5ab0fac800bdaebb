/** The one sentence for a file that is none of a publisher's layouts. */
import { AssayError } from '../base/errors.ts';

/** INVALID_FILE naming the file, what was expected, and what was found as far as its first characters say. */
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

/** INVALID_FILE for a table that lacks what every row needs. `what` is a sentence. */
export function layoutError(file: string, what: string): AssayError {
  return new AssayError('INVALID_FILE', `${file}: ${what}`, { field: 'file' });
}
