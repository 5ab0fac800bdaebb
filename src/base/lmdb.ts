/** The one importer of lmdb: opens environments the way every store of this program needs them. */
import { existsSync, linkSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { Database, Key, RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb';
import * as lmdb from 'lmdb';
import { PRIVATE_FILE, PRIVATE_FOLDER } from './data-folder.ts';
import { guardWrites } from './guarded-writes.ts';
import { onReadingEnd } from './reading.ts';
import { noteClosed, noteOpened, requireSound, sealFile } from './sound-file.ts';
import { asStorageFull, isStorageFull, noteRefused, noteWritten } from './storage.ts';

export type { Database, Key, RootDatabase };

/** Of the files that an open makes. The library takes it, and its types lack it. */
const OWN_ALONE: object = { permissionsMode: PRIVATE_FILE };

const hasBytes = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

const made = new Set<(path: string) => void>();

/** Calls `listener` with the path of each file that this thread makes from now on. Returns the function that ends it. */
export function onEnvironmentMade(listener: (path: string) => void): () => void {
  made.add(listener);
  return () => made.delete(listener);
}

/**
 * Opens (and makes, unless read-only) an environment at `path`, a file. Its read transaction ends with each reading of the thread
 * (reading.ts): the library renews it by a timer, which never fires in a thread whose event loop does not turn.
 *
 * The file is checked before it is mapped, and its checksums are taken when it is closed (sound-file.ts); those of a file that is
 * written without syncs are taken when it is finished (finished-size.ts).
 *
 * @throws STORE_CORRUPT for a file that is cut short or damaged; STORAGE_FULL if the disk has no room for a new environment or its lock
 *   file, of which nothing stays. Every later write of the environment fails in the same way, or rejects (guarded-writes.ts).
 */
export function openEnvironment(
  path: string,
  options: Omit<RootDatabaseOptionsWithPath, 'path'>,
): RootDatabase {
  const isNew = !hasEnvironment(path);
  const isMadeHere = !hasBytes(path);
  let root: RootDatabase;
  try {
    if (!options.readOnly) mkdirSync(dirname(path), PRIVATE_FOLDER);
    requireSound(path);
    preallocateLock(`${path}-lock`, options.readOnly === true);
    // Batching by turns makes a promise that the caller never gets: a commit that fails would end the process.
    root = lmdb.open({ eventTurnBatching: false, noSubdir: true, ...options, ...OWN_ALONE, path });
  } catch (cause) {
    // The library leaves half a header on a full disk, which no later open would accept.
    if (isNew && isStorageFull(cause) && !hasEnvironment(path)) rmSync(path, { force: true });
    noteRefused(path, cause);
    throw asStorageFull(cause, path);
  }
  noteOpened(path);
  if (isMadeHere) for (const listener of made) listener(path);
  if (!options.readOnly) guardWrites(root, path);
  const forget = onReadingEnd(() => root.resetReadTxn());
  const close = root.close.bind(root);
  let closing: Promise<void> | null = null;
  root.close = () => {
    forget();
    closing ??= close().then(() => {
      noteClosed(path);
      if (!options.readOnly && !options.noSync) sealFile(path);
    });
    // A store that is closed refuses nothing.
    noteWritten(path);
    return closing;
  };
  return root;
}

/** The lock file of an environment with the library's 126 readers has 8,272 bytes: three pages. */
const LOCK_BYTES = 3 * 4096;
let locks = 0;

/**
 * Makes the lock file with all of its pages on the disk. The library makes it as one hole and writes to it through a mapping: on a
 * full file system, the first touch of a page ends the process by SIGBUS. It appears whole, by a link: another process may open the
 * environment at the same moment.
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
    // Another process was faster, the library opens without a lock file, or the file system has no links: it makes the file itself.
    const isFine = code === 'EEXIST' || ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code);
    if (!isFine && !(isReadOnly && ['EROFS', 'EACCES', 'ENOENT'].includes(code))) throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Both pages of LMDB's header, which it writes with one call when it makes a file. */
const HEADER_BYTES = 2 * 4096;
/** How long a file that is being made is given to have its header: the kernel copies 8 KB. */
const HEADER_WAIT_MS = 5;
const HEADER_ROUNDS = 20;

/**
 * Whether the file at `path` is there and has its header. Another process may have made it a moment ago: opening an empty file for
 * reading ends the whole process inside the library. A file that stays shorter than a header was cut off: opening it is refused.
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

/** lmdb exports these two, and does not declare them. */
const keys = lmdb as unknown as {
  readonly keyValueToBuffer: (key: Key) => Buffer;
  readonly bufferToKeyValue: (bytes: Buffer) => Key;
};

/** A key as a database holds it that was opened without a `keyEncoding`. */
export const keyToBytes = (key: Key): Buffer => keys.keyValueToBuffer(key);
export const keyFromBytes = (bytes: Buffer): Key => keys.bufferToKeyValue(bytes);

/** Returned by the work of a transaction: nothing of it stays. */
export const ABORT = lmdb.ABORT;

/** A transaction that is committed when the call returns, and flushed soon after. */
export const FLUSHED_LATER: number = 1 | 2 | 0x10000;

/** Keys as they lie there. LMDB's fast comparison looks at words of four bytes, and expects nothing behind a key that ends within one. */
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

/** A database of any form as the bytes of its keys and values. */
export function openAsBytes(root: RootDatabase, name: string): Database<Buffer, Buffer> {
  const options = { name, encoding: 'binary', keyEncoder: BYTES_AS_KEYS } as const;
  return root.openDB<Buffer, Buffer>(options);
}
