/** The only importer of lmdb: opens environments with the settings that every store of this program needs. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { Database, Key, RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb';
import * as lmdb from 'lmdb';
import { onReadingEnd } from '../base/reading.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from './data-folder.ts';
import { guardWrites, requireSoleWriter } from './guarded-writes.ts';
import { withTurn } from './opening-lock.ts';
import { noteClosed, noteOpened, recordFileSums, requireSound } from './sound-file.ts';
import { asStorageFull, isStorageFull, noteRefused, noteWritten } from './storage.ts';
import { learnLocks } from './store-locks.ts';

export type { Database, Key, RootDatabase };

/** Mode of the files that an open creates. The library accepts it, but its types lack it. */
const OWN_ALONE: object = { permissionsMode: PRIVATE_FILE };

/**
 * Free pages that the library keeps in memory between two commits; of more, it forgets the list and reads the newest entries again when it
 * needs pages. Each commit of lmdb-js compares all of them with what it writes, in time that grows with the square of their number: 20,000
 * (deleted records, or 2,000 blocks of transfers) cost each of the following commits 20 to 70 ms of processor time, 1,000 cost 50 µs.
 * A search for several pages in a row still reads 50,000, so that free runs of pages are found as before. The types lack the option.
 */
const FREE_PAGES_KEPT: object = { maxFreeSpaceToRetain: 1_000 };

const hasBytes = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

const made = new Set<(path: string) => void>();

/**
 * Calls `listener` with the path of each file that this thread creates from now on.
 *
 * @returns the function that unsubscribes
 */
export function onEnvironmentMade(listener: (path: string) => void): () => void {
  made.add(listener);
  return () => made.delete(listener);
}

/**
 * Opens (and creates, unless read-only) an environment file at `path`. Its read transaction ends with each reading of the thread
 * (reading.ts): the library renews it by a timer, which never fires in a thread whose event loop does not run.
 *
 * The file is checked before it is mapped, and its checksums are computed when it is closed (sound-file.ts); for a file that is written
 * without syncs they are computed when it is finished (finished-size.ts).
 *
 * @throws STORE_CORRUPT for a truncated or damaged file; STORAGE_FULL if the disk has no room for a new environment or its lock file, in
 * which case no partial file remains. Later writes of the environment throw or reject in the same way (guarded-writes.ts).
 */
export function openEnvironment(
  path: string,
  options: Omit<RootDatabaseOptionsWithPath, 'path'>,
): RootDatabase {
  const isNew = !hasEnvironment(path);
  const isMadeHere = !hasBytes(path);
  if (!options.readOnly) requireSoleWriter(path, null);
  let root: RootDatabase;
  try {
    if (!options.readOnly) mkdirSync(dirname(path), PRIVATE_FOLDER);
    requireSound(path);
    // Tried in turn as well: the file of the turn takes room and a descriptor.
    root = withTurn(path, () => {
      requireOpenable(path, options.readOnly === true);
      preallocateLock(`${path}-lock`, options.readOnly === true);
      if (isNew) requireRoomForHeader(path);
      // Batching by event turns creates a promise that the caller never gets: a failed commit would end the process.
      return lmdb.open({
        eventTurnBatching: false,
        noSubdir: true,
        ...FREE_PAGES_KEPT,
        ...options,
        ...OWN_ALONE,
        path,
      });
    });
  } catch (cause) {
    // On a full disk the library leaves half a header, which no later open would accept.
    if (isNew && isStorageFull(cause) && !hasEnvironment(path)) rmSync(path, { force: true });
    noteRefused(path, cause);
    throw asStorageFull(cause, path);
  }
  noteOpened(path);
  learnLocks(path);
  if (isMadeHere) for (const listener of made) listener(path);
  if (!options.readOnly) guardWrites(root, path);
  closeInTurn(root, path);
  const forget = onReadingEnd(() => root.resetReadTxn());
  const close = root.close.bind(root);
  let closing: Promise<void> | null = null;
  root.close = () => {
    forget();
    closing ??= close().then(() => {
      noteClosed(path);
      if (!options.readOnly && !options.noSync) recordFileSums(path);
    });
    // A closed store rejects no writes, so its refusal is cleared.
    noteWritten(path);
    return closing;
  };
  return root;
}

/** Makes the library close the environment in turn; it does so when its last writes and reads have ended. */
function closeInTurn(root: RootDatabase, path: string): void {
  const { env } = root as unknown as { readonly env: { readonly close: () => void } };
  const close = env.close.bind(env);
  // The method of the class is read-only.
  Object.defineProperty(env, 'close', { value: () => withTurn(path, close) });
}

/** Descriptors that the library opens for an environment: of the lock file (twice), of the file, and of its headers. */
const DESCRIPTORS = 4;

/**
 * Throws what the open of the file would throw. The library frees memory twice if its own open fails: the process ends without a message, or
 * goes on with damaged memory.
 */
function requireOpenable(path: string, isReadOnly: boolean): void {
  const mode = isReadOnly ? constants.R_OK : constants.R_OK | constants.W_OK;
  if (isReadOnly || existsSync(path)) accessSync(path, mode);
  if (!isReadOnly && existsSync(`${path}-lock`)) accessSync(`${path}-lock`, mode);
  const spare: number[] = [];
  try {
    while (spare.length < DESCRIPTORS) spare.push(openSync(dirname(path), 'r'));
  } finally {
    for (const file of spare) closeSync(file);
  }
}

/** Throws ENOSPC if the disk has no room for the header of a new environment, for the reason of `requireOpenable`. */
function requireRoomForHeader(path: string): void {
  const partial = `${path}.${process.pid}-${threadId}.tmp`;
  try {
    // A process of the same id that was killed may have left one.
    writeFileSync(partial, Buffer.alloc(HEADER_BYTES), { mode: PRIVATE_FILE });
  } finally {
    rmSync(partial, { force: true });
  }
}

/** The lock file of an environment with the library's 126 readers has 8,272 bytes: three pages. */
const LOCK_BYTES = 3 * 4096;
let locks = 0;

/**
 * Creates the lock file with all of its pages allocated on disk. The library creates a sparse file and writes to it through a mapping: on a
 * full file system, the first access to a page ends the process with SIGBUS. The file is linked into place as a whole, because another
 * process may open the environment at the same moment.
 */
function preallocateLock(path: string, isReadOnly: boolean): void {
  if (existsSync(path)) return;
  const partial = `${path}.${process.pid}-${threadId}-${locks++}.tmp`;
  try {
    writeFileSync(partial, Buffer.alloc(LOCK_BYTES), { flag: 'wx', mode: PRIVATE_FILE });
    linkSync(partial, path);
  } catch (error) {
    if (isStorageFull(error)) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    // Another process was faster, the library opens without a lock file, or the file system has no links, in which case the library creates
    // the file itself.
    const isFine = code === 'EEXIST' || ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code);
    if (!isFine && !(isReadOnly && ['EROFS', 'EACCES', 'ENOENT'].includes(code))) throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Both header pages of LMDB, which it writes with one call when it creates a file. */
const HEADER_BYTES = 2 * 4096;
/** How long to wait for the header of a file that is being created: the kernel copies 8 KB. */
const HEADER_WAIT_MS = 5;
const HEADER_ROUNDS = 20;

/**
 * Returns true if the file at `path` exists and has its header. Another process may have just created it: opening an empty file for reading
 * ends the whole process inside the library. A file that stays shorter than a header is truncated, and opening it throws.
 */
export function hasEnvironment(path: string): boolean {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; ; round++) {
    const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes === 0 || bytes >= HEADER_BYTES) return bytes > 0;
    if (round === HEADER_ROUNDS) return true;
    Atomics.wait(sleeper, 0, 0, HEADER_WAIT_MS);
  }
}

/** lmdb exports these two functions, but does not declare them. */
const keys = lmdb as unknown as {
  readonly keyValueToBuffer: (key: Key) => Buffer;
  readonly bufferToKeyValue: (bytes: Buffer) => Key;
};

/** Returns a key as stored by a database without a `keyEncoding`. */
export const keyToBytes = (key: Key): Buffer => keys.keyValueToBuffer(key);
/** Decodes a key of a database without a `keyEncoding`. */
export const keyFromBytes = (bytes: Buffer): Key => keys.bufferToKeyValue(bytes);

/** The first key of a range over all keys: ranges begin after the keys of symbols by default. */
export const LEAST_KEY = Buffer.from([0]);

/** Returned by the callback of a transaction to roll it back. */
export const ABORT = lmdb.ABORT;

/** Flags of a transaction that is committed when the call returns, and flushed soon after. */
export const FLUSHED_LATER: number = 1 | 2 | 0x10000;

/** Keys as stored. LMDB's fast comparison reads words of four bytes, and expects zeros after a key that ends within a word. */
const BYTES_AS_KEYS = {
  writeKey(key: Uint8Array, target: Uint8Array, start: number): number {
    target.set(key, start);
    const end = start + key.length;
    target.fill(0, end, end + 4);
    return end;
  },
  readKey: (target: Uint8Array, start: number, end: number): Buffer =>
    Buffer.from(target.subarray(start, end)),
};

/** Opens a database of any encoding as the bytes of its keys and values. */
export function openAsBytes(root: RootDatabase, name: string): Database<Buffer, Buffer> {
  const options = { name, encoding: 'binary', keyEncoder: BYTES_AS_KEYS } as const;
  return root.openDB<Buffer, Buffer>(options);
}
