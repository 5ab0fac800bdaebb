/** The one importer of lmdb: opens environments the way every store of this program needs them. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database, Key, RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb';
import * as lmdb from 'lmdb';
import { PRIVATE_FILE, PRIVATE_FOLDER } from './data-folder.ts';

export type { Database, Key, RootDatabase };

/** Of the files that an open makes. The library takes it, and its types lack it. */
const OWN_ALONE: object = { permissionsMode: PRIVATE_FILE };

/** Opens (and makes, unless read-only) an environment at `path`, a file. */
export function openEnvironment(
  path: string,
  options: Omit<RootDatabaseOptionsWithPath, 'path'>,
): RootDatabase {
  if (!options.readOnly) mkdirSync(dirname(path), PRIVATE_FOLDER);
  return lmdb.open({ ...options, ...OWN_ALONE, path });
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
