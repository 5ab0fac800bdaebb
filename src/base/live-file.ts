/**
 * The live state of a machine that is alone, as it lies in its file: read by somebody who writes nothing, and who wants to know whether
 * another process does.
 */
import { existsSync } from 'node:fs';
import { type LiveDatabaseOptions, otherFormat, unopened } from './live-store.ts';
import {
  type Database,
  hasEnvironment,
  type Key,
  openAsBytes,
  openEnvironment,
  type RootDatabase,
} from './lmdb.ts';

/** What a file is opened with; the databases are what its store made of them. */
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
  /** A database in its own form; null where there is none of that name. */
  open<V, K extends Key>(options: FileDatabaseOptions): Database<V, K> | null;
  /** The records of a database as the bytes that lie there, in order. */
  records(database: string): Iterable<readonly [key: Buffer, value: Buffer]>;
  record(database: string, key: Buffer): Buffer | null;
  count(database: string): number;
  /** Processes beside this one that have read from the file and have not ended. A server has its keys open from its start on. */
  otherProcesses(): readonly number[];
  /** Number of the last transaction: another one, and somebody wrote meanwhile. */
  lastTransaction(): number;
  close(): Promise<void>;
}

/** More than any store has. */
const DATABASES_MAX = 64;
/** LMDB's ranges begin behind the keys of symbols, unless told otherwise. */
const LEAST_KEY = Buffer.from([0]);
/** Records of one look: what is looked at may take long, and others run meanwhile. */
const LOOK = 1_000;

/** Null where there is no such file. Throws STORE_VERSION, STORE_CORRUPT. */
export function openLiveFile({ path, formatVersion }: LiveFileOptions): LiveFile | null {
  if (!existsSync(path)) return null;
  // Another process is making it: nothing was written yet.
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
    throw otherFormat(path, found, formatVersion);
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
