/**
 * Digests of the contents of a store's file, for each database: the number of entries, and the SHA-256 of all of them. The pages of a file
 * may change without a change of its contents; a database with a lost or changed entry has another digest.
 */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { AssayError, messageOf } from '../base/errors.ts';
import { type Database, openEnvironment, type RootDatabase } from '../state/lmdb.ts';

export interface DatabaseDigest {
  readonly name: string;
  readonly entries: number;
  /** Hash input, for each entry in order: the lengths of key and value (uint32 LE each), the key, the value. */
  readonly sha256: string;
}

/** More databases than any store has: the largest has 11. */
const DATABASES_MAX = 256;
/** Entries between two checks of the signal: a few milliseconds of work. */
const ENTRIES_A_TURN = 4_096;
/** Bytes of entries that are joined before they are hashed: hashing each entry separately takes twice the time. */
const BUFFER_BYTES = 1 << 20;

/**
 * Reads every entry of every database of an environment.
 *
 * @param file - path of an environment that no process writes to; a `-lock` file beside it is removed.
 * @returns one digest per database, sorted by name.
 * @throws STORE_CORRUPT naming the file and the database if an entry cannot be read, or if the number of entries differs from LMDB's count;
 * the reason of an aborted signal.
 */
export async function digestDatabases(file: string, signal?: AbortSignal): Promise<DatabaseDigest[]> {
  let root: RootDatabase | null = null;
  try {
    root = openEnvironment(file, {
      readOnly: true,
      noSubdir: true,
      maxDbs: DATABASES_MAX,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    const digests: DatabaseDigest[] = [];
    for (const name of namesIn(root)) {
      const database = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
      digests.push(await digestOf(database, name, file, signal));
    }
    return digests;
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof AssayError) throw cause;
    throw new AssayError('STORE_CORRUPT', `${file} cannot be read: ${messageOf(cause)}.`, { cause });
  } finally {
    await root?.close();
    rmSync(`${file}-lock`, { force: true });
  }
}

/** The keys of the root database are the names of the databases; the library appends a zero byte to them. */
const namesIn = (root: RootDatabase): string[] =>
  [...root.getKeys({ start: undefined as never })]
    .map((key) =>
      Buffer.from(key as Uint8Array)
        .toString()
        .replace(/\0$/, ''),
    )
    .sort();

async function digestOf(
  database: Database<Buffer, Buffer>,
  name: string,
  file: string,
  signal?: AbortSignal,
): Promise<DatabaseDigest> {
  const hash = createHash('sha256');
  const joined = Buffer.allocUnsafe(BUFFER_BYTES);
  let length = 0;
  const add = (bytes: Uint8Array): void => {
    if (length + bytes.length > joined.length) {
      hash.update(joined.subarray(0, length));
      length = 0;
    }
    if (bytes.length > joined.length) hash.update(bytes);
    else {
      joined.set(bytes, length);
      length += bytes.length;
    }
  };
  const lengths = Buffer.allocUnsafe(8);
  const { entryCount } = database.getStats() as { readonly entryCount: number };
  let entries = 0;
  try {
    // No start key: the library's default start key has another length than an integer key, and LMDB compares integer keys of one length
    // only, so the walk would skip the first entries.
    for (const { key, value } of database.getRange({ start: undefined as never })) {
      lengths.writeUInt32LE(key.length, 0);
      lengths.writeUInt32LE(value.length, 4);
      add(lengths);
      add(key);
      add(value);
      if (++entries % ENTRIES_A_TURN !== 0) continue;
      await turn();
      signal?.throwIfAborted();
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw new AssayError(
      'STORE_CORRUPT',
      `${file}: database '${name}' cannot be read behind entry ${entries} of ${entryCount}: ${messageOf(cause)}.`,
      { cause },
    );
  }
  if (entries !== entryCount)
    throw new AssayError(
      'STORE_CORRUPT',
      `${file}: database '${name}' has ${entries} of ${entryCount} entries.`,
    );
  hash.update(joined.subarray(0, length));
  return { name, entries, sha256: hash.digest('hex') };
}
