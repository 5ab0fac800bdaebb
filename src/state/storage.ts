/**
 * Full, failing and read-only disks: one error for every failure to write, and the list of folders and stores of this process that currently reject writes.
 * docs/decisions/full-disk.md describes the consequences.
 */
import { constants } from 'node:os';
import { isoTime, systemClock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';

/** Clients may retry after this many seconds: free space is checked every second, and an operator needs minutes. */
export const STORAGE_RETRY_SECONDS = 30;

const { ENOSPC, EDQUOT, EFBIG, EIO, EROFS } = constants.errno;
const MDB_MAP_FULL = -30792;

const READ_ONLY = 'its file system is read-only';

/** Errors of the file system: by Node's error names, and by the numbers and texts of the LMDB library. */
const REASONS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  ['ENOSPC', 'no space is left on the device'],
  ['No space left on device', 'no space is left on the device'],
  ['Disk quota exceeded', 'the disk quota is used up'],
  ['File too large', 'a file reached the largest size that is allowed'],
  ['Input/output error', 'a write was cut short, or the device failed'],
  [ENOSPC, 'no space is left on the device'],
  ['EDQUOT', 'the disk quota is used up'],
  [EDQUOT, 'the disk quota is used up'],
  ['EFBIG', 'a file reached the largest size that is allowed'],
  [EFBIG, 'a file reached the largest size that is allowed'],
  ['EIO', 'a write was cut short, or the device failed'],
  [EIO, 'a write was cut short, or the device failed'],
  // Linux mounts a file system read-only when it finds an error in it.
  ['EROFS', READ_ONLY],
  ['Read-only file system', READ_ONLY],
  [EROFS, READ_ONLY],
  [MDB_MAP_FULL, 'the store reached the largest size that it can map'],
]);

/** Maximum depth of nested causes that are examined. */
const CAUSES_MAX = 8;

/** Returns the reason as a phrase if the error, or one of its causes, is a failed write; null otherwise. */
function reasonOf(error: unknown): string | null {
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && at instanceof Error; depth++, at = at.cause) {
    const reason = REASONS.get('code' in at ? at.code : at.message);
    if (reason !== undefined) return reason;
  }
  return null;
}

/** Returns true if the LMDB library refused the write. It then prints the error to stderr itself, without a line end. */
export function isLibraryError(error: unknown): boolean {
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && at instanceof Error; depth++, at = at.cause)
    if ('code' in at && typeof at.code === 'number') return true;
  return false;
}

/** Returns true if an error means that the storage refused a write. */
export const isStorageFull = (error: unknown): boolean =>
  error instanceof AssayError ? error.code === 'STORAGE_FULL' : reasonOf(error) !== null;

/**
 * Converts an error to STORAGE_FULL if the storage refused a write; otherwise returns the error itself.
 *
 * @param path - The file or folder that was written, if the error does not name it.
 */
export function asStorageFull(error: unknown, path: string): unknown {
  // An interruption, or an existing AssayError, is more specific than its cause.
  if (error instanceof AssayError) return error;
  if (reasonOf(error) === null) return error;
  const { path: from, dest: to = from } = error as { readonly path?: unknown; readonly dest?: unknown };
  return storageFull(typeof to === 'string' ? to : path, error);
}

/** Returns the error for a failed write to `path`, a file or folder, with the reason of `cause`. */
export function storageFull(path: string, cause: unknown): AssayError {
  const reason = reasonOf(cause) ?? REASONS.get(ENOSPC);
  const remedy =
    reason === READ_ONLY
      ? 'Look for errors of its device in the log of the system, mount it for writing,'
      : 'Free space on its file system, or raise the limit,';
  return new AssayError(
    'STORAGE_FULL',
    `${path} cannot be written: ${reason}. ${remedy} and try again; existing data is unchanged.`,
    { cause, retryAfterSeconds: STORAGE_RETRY_SECONDS },
  );
}

/** A store or folder that rejects writes. */
export interface WriteRefusal {
  /** The file or folder. */
  readonly path: string;
  /** One sentence. */
  readonly reason: string;
  /** ISO 8601 time of the first failed write. */
  readonly since: string;
}

const refusals = new Map<string, WriteRefusal>();

/** Records that a write to `path` failed. Errors of other kinds are ignored. */
export function noteRefused(path: string, error: unknown): void {
  if (refusals.has(path) || !isStorageFull(error)) return;
  refusals.set(path, { path, reason: messageOf(error), since: isoTime(systemClock.now()) });
}

/** Records that a write to `path` succeeded. */
export function noteWritten(path: string): void {
  if (refusals.size > 0) refusals.delete(path);
}

/** Returns the paths that currently reject writes, oldest first. */
export const refusedNow = (): readonly WriteRefusal[] => [...refusals.values()];

/** Clears the refusals of all paths in `folder`: its file system accepts writes again. */
export function noteRoom(folder: string): void {
  for (const path of refusals.keys())
    if (path === folder || path.startsWith(`${folder}/`)) refusals.delete(path);
}
