/** Reads the live state of a standalone machine from its file, without writing to it, and detects whether another process uses the file. */
import { existsSync } from 'node:fs';
import { wrongFormat } from './format-version.ts';
import { type LiveDatabaseOptions, unopened } from './live-store.ts';
import {
  type Database,
  hasEnvironment,
  type Key,
  LEAST_KEY,
  openAsBytes,
  openEnvironment,
  type RootDatabase,
} from './lmdb.ts';

/** The file to open. Its databases are those that its store has created. */
export interface LiveFileOptions {
  readonly path: string;
  readonly formatVersion: number;
}

export interface FileDatabaseOptions extends Omit<LiveDatabaseOptions, 'keyEncoding'> {
  readonly keyEncoding?: 'binary' | 'uint32';
}

export interface LiveFile {
  readonly path: string;
  /** Names of its databases, sorted. */
  readonly databases: readonly string[];
  /** Opens a database in its own encoding; returns null if there is no database of that name. */
  open<V, K extends Key>(options: FileDatabaseOptions): Database<V, K> | null;
  /** Returns the records of a database as stored bytes, in order. */
  records(database: string): Iterable<readonly [key: Buffer, value: Buffer]>;
  record(database: string, key: Buffer): Buffer | null;
  count(database: string): number;
  /** Returns the other processes that have read from the file and have not ended. A server opens its keys at startup. */
  otherProcesses(): readonly number[];
  /** Id of the last transaction; if it has changed, another process wrote to the file. */
  lastTransaction(): number;
  close(): Promise<void>;
}

/** More databases than any store has. */
const DATABASES_MAX = 64;
/** Records read at a time: the caller may take long to process them, and other work runs meanwhile. */
const LOOK = 1_000;

/**
 * Opens the file of a store for reading.
 *
 * @returns null if there is no such file
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openLiveFile({ path, formatVersion }: LiveFileOptions): LiveFile | null {
  if (!existsSync(path)) return null;
  // Another process is creating the file, and has written nothing yet.
  if (!hasEnvironment(path)) return null;
  let root: RootDatabase;
  let databases: readonly string[];
  try {
    root = openEnvironment(path, { readOnly: true, noSubdir: true, maxDbs: DATABASES_MAX });
    databases = [...root.getKeys({ limit: DATABASES_MAX })].map(String).sort();
  } catch (cause) {
    throw unopened(path, cause);
  }
  const opened = new Map<string, Database<Buffer, Buffer>>();
  const open: LiveFile['open'] = <V, K extends Key>(options: FileDatabaseOptions) =>
    databases.includes(options.name) ? root.openDB<V, K>(options) : null;

  function bytesOf(database: string): Database<Buffer, Buffer> {
    const known = opened.get(database) ?? openAsBytes(root, database);
    opened.set(database, known);
    return known;
  }

  const found = open<number, string>({ name: 'meta', encoding: 'json' })?.get('formatVersion');
  if (databases.length > 0 && found !== formatVersion) {
    void root.close();
    throw wrongFormat(path, found, formatVersion);
  }

  return {
    path,
    databases,
    open,
    *records(database) {
      let start: Buffer = LEAST_KEY;
      for (let isFirst = true; ; isFirst = false) {
        const rows = [...bytesOf(database).getRange({ start, limit: LOOK })];
        for (const { key, value } of rows)
          if (isFirst || !key.equals(start)) yield [key, Buffer.from(value)] as const;
        const last = rows.at(-1);
        if (last === undefined || rows.length < LOOK) return;
        start = last.key;
      }
    },
    record: (database, key) => bytesOf(database).get(key) ?? null,
    count: (database) => (bytesOf(database).getStats() as { readonly entryCount: number }).entryCount,
    otherProcesses() {
      root.readerCheck();
      const pids = [...root.readerList().matchAll(/^\s*(\d+)\s/gm)].map(([, pid]) => Number(pid));
      return [...new Set(pids)].filter((pid) => pid !== process.pid);
    },
    lastTransaction: () => (root.getStats() as { readonly lastTxnId: number }).lastTxnId,
    close: () => root.close(),
  };
}
