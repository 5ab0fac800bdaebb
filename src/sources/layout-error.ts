/** The errors for files that do not have a publisher's layout. */
import { AssayError } from '../base/errors.ts';
import type { Reject } from './records.ts';

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

/** Rejected rows that the error of a refused file quotes, and the characters of each: enough to recognise the file. */
export const REJECTS_QUOTED = 3;
const QUOTED_CHARS = 60;

/** Quotes the first rejected rows of a refused file: `junk.txt, line 1: line is not JSON ('Dear all,')`. */
export const quotedRejects = (rejects: readonly Pick<Reject, 'reason' | 'text' | 'provenance'>[]): string =>
  rejects
    .slice(0, REJECTS_QUOTED)
    .map(({ provenance: { file, line }, reason, text }) => {
      const row = text.trim();
      const quoted = row.length > QUOTED_CHARS ? `${row.slice(0, QUOTED_CHARS)}…` : row;
      return `${file}, line ${line}: ${reason.replace(/\.$/, '')}${quoted === '' ? '' : ` ('${quoted}')`}`;
    })
    .join('; ');

/**
 * Creates the INVALID_FILE error for files without a usable row.
 *
 * @param names - Names of the files.
 * @param expected - The expected content, such as `the source 'seed'`.
 * @param rejected - Number of rejected rows; 0 if the files have no row at all.
 * @param rejects - The first of them.
 * @param more - A further sentence.
 */
export function noUsableRow(
  names: readonly string[],
  expected: string,
  { rejected, rejects, more = '' }: { rejected: number; rejects: readonly Reject[]; more?: string },
): AssayError {
  const found = rejected === 0 ? 'has no row' : `has no usable row: ${rejected} rejected`;
  const quoted = rejected === 0 ? '' : ` First: ${quotedRejects(rejects)}.`;
  return new AssayError(
    'INVALID_FILE',
    `file: ${names.join(', ')} ${found}. Is it a file of ${expected}? Nothing of it was stored.${more}${quoted}`,
    { field: 'file' },
  );
}

/** Creates an INVALID_FILE error for a table that lacks a required part. `what` is a sentence. */
export function layoutError(file: string, what: string): AssayError {
  return new AssayError('INVALID_FILE', `${file}: ${what}`, { field: 'file' });
}
