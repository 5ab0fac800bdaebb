/**
 * Full disks: one form for every error that says that nothing can be written, and the folders and stores of this process that refuse
 * writes now. docs/decisions/full-disk.md says what follows from it.
 */
import { constants } from 'node:os';
import { isoTime, systemClock } from './clock.ts';
import { AssayError, messageOf } from './errors.ts';

/** Clients may try again after this: the space is looked at each second, and an operator needs minutes. */
export const STORAGE_RETRY_SECONDS = 30;

const { ENOSPC, EDQUOT, EFBIG, EIO } = constants.errno;
const MDB_MAP_FULL = -30792;

/** What the file system says, by the names of Node, and by the numbers and texts of the library of the stores. */
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
  [MDB_MAP_FULL, 'the store reached the largest size that it can map'],
]);

/** Causes of causes that are looked through. */
const CAUSES_MAX = 8;

/** The reason as a phrase if the storage refused a write, or null. Looks through the causes of the error. */
function reasonOf(error: unknown): string | null {
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && at instanceof Error; depth++, at = at.cause) {
    const reason = REASONS.get('code' in at ? at.code : at.message);
    if (reason !== undefined) return reason;
  }
  return null;
}

/**
 * Whether the library of the stores refused the write. It says so on stderr itself then, without an end of the line.
 */
export function saidByLibrary(error: unknown): boolean {
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && at instanceof Error; depth++, at = at.cause)
    if ('code' in at && typeof at.code === 'number') return true;
  return false;
}

export const isStorageFull = (error: unknown): boolean =>
  error instanceof AssayError ? error.code === 'STORAGE_FULL' : reasonOf(error) !== null;

/**
 * The error as STORAGE_FULL if the storage refused a write, otherwise the error itself.
 *
 * @param path - The file or folder that was written, if the error does not say which.
 */
export function asStorageFull(error: unknown, path: string): unknown {
  // An interruption, or a sentence of its own, says more than its cause.
  if (error instanceof AssayError) return error;
  if (reasonOf(error) === null) return error;
  const { path: from, dest: to = from } = error as { readonly path?: unknown; readonly dest?: unknown };
  return storageFull(typeof to === 'string' ? to : path, error);
}

/** The refusal of a write to `path`, a file or folder, by the reason that `cause` carries. */
export function storageFull(path: string, cause: unknown): AssayError {
  const reason = reasonOf(cause) ?? REASONS.get(ENOSPC);
  return new AssayError(
    'STORAGE_FULL',
    `${path} cannot be written: ${reason}. Free space on its file system, or raise the limit, and try again; what was stored before is unchanged.`,
    { cause, retryAfterSeconds: STORAGE_RETRY_SECONDS },
  );
}

/** A store or folder that refuses writes. */
export interface Refusal {
  /** The file or folder. */
  readonly path: string;
  /** A sentence. */
  readonly reason: string;
  /** ISO 8601 time of the first write that was refused. */
  readonly since: string;
}

const refusals = new Map<string, Refusal>();

/** Notes that a write to `path` was refused. Errors of other kinds are ignored. */
export function noteRefused(path: string, error: unknown): void {
  if (refusals.has(path) || !isStorageFull(error)) return;
  refusals.set(path, { path, reason: messageOf(error), since: isoTime(systemClock.now()) });
}

/** Notes that a write to `path` succeeded. */
export function noteWritten(path: string): void {
  if (refusals.size > 0) refusals.delete(path);
}

/** What refuses writes now, oldest first. */
export const refusedNow = (): readonly Refusal[] => [...refusals.values()];

/** Clears the refusals of all that lies in `folder`: its file system takes writes again. */
export function noteRoom(folder: string): void {
  for (const path of refusals.keys())
    if (path === folder || path.startsWith(`${folder}/`)) refusals.delete(path);
}
