/** The error for a file that another version of the program wrote: it is rejected, and never overwritten. */
import { AssayError } from '../base/errors.ts';

/**
 * Returns the error for a file with another format version.
 *
 * @param subject - the file or store, to begin the message with
 * @param found - its format version; undefined if it has none
 * @param expected - the only format version that this program reads
 * @param remedy - what the operator can do, as a sentence
 */
export const wrongFormat = (
  subject: string,
  found: unknown,
  expected: number,
  remedy = 'The file was not changed.',
): AssayError =>
  new AssayError(
    'STORE_VERSION',
    `${subject} has format version ${String(found ?? 'unknown')}; this version of Assay reads format version ${expected} only. ${remedy}`,
  );
