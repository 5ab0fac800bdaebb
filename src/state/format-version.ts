/** The error for a file that another version of the program wrote: it is rejected, and never overwritten. */
import { AssayError } from '../base/errors.ts';

/** The format of a store that also records a name. */
export interface NamedFormat {
  readonly name: string;
  readonly version: number;
}

/** Returns true if `found`, as read from a store, is the format. */
export const isFormat = (found: unknown, { name, version }: NamedFormat): boolean => {
  const stored = found as Partial<NamedFormat> | null | undefined;
  return stored?.name === name && stored.version === version;
};

/** Returns a format as text; 'unknown' if absent. */
function shown(format: unknown): string {
  return isNamed(format) ? `${String(format.name)} ${String(format.version)}` : String(format ?? 'unknown');
}

const versionOf = (format: unknown): unknown => (isNamed(format) ? format.version : format);

const isNamed = (format: unknown): format is Partial<NamedFormat> =>
  typeof format === 'object' && format !== null;

/** Whether a later version of the program wrote the format. */
export function isLaterFormat(found: unknown, expected: number | NamedFormat): boolean {
  const [has, reads] = [versionOf(found), versionOf(expected)];
  return typeof has === 'number' && typeof reads === 'number' && has > reads;
}

/** What an operator does about a file of a later version that is not built from others. */
export const OF_LATER_VERSION =
  'A later version of Assay wrote it: start that version, or restore the backup from before the upgrade (docs/OPERATIONS.md, Go back to an earlier version).';

/**
 * Returns the error for a file with another format version.
 *
 * @param subject - the file or store, to begin the message with
 * @param found - its format version, or its named format; undefined if it has none
 * @param expected - the only format version that this program reads
 * @param remedy - what the operator can do, as a sentence
 */
export const wrongFormat = (
  subject: string,
  found: unknown,
  expected: number | NamedFormat,
  remedy = isLaterFormat(found, expected) ? OF_LATER_VERSION : 'The file was not changed.',
): AssayError =>
  new AssayError(
    'STORE_VERSION',
    `${subject} has format version ${shown(found)}; this version of Assay reads format version ${shown(expected)} only. ${remedy}`,
  );
