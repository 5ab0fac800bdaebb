/** The file of a replica: the records of a replicated store in LMDB, and the position of the replica in the order of all write sets. */
import { AssayError } from '../../base/errors.ts';
import type { LiveDatabaseOptions } from '../live-store.ts';
import {
  ABORT,
  type Database,
  FLUSHED_LATER,
  type Key,
  keyToBytes,
  LEAST_KEY,
  openAsBytes,
  type RootDatabase,
} from '../lmdb.ts';
import type { Installation } from '../redis-installation.ts';
import { fieldOf, partsOfField, type Write, type WriteSet } from '../write-set.ts';

/** The position of a replica in the order of all write sets. */
export interface Position {
  readonly version: number;
  /** Id of the write set with that number; empty before the first. */
  readonly last: string;
}

/** Database of this node only: the position of its replica, and the installation that it follows. */
export const POSITION_DATABASE = '~replica';

/** Returns true for databases of a replica that are not replicated. */
export const isOwnDatabase = (database: string): boolean => database.startsWith('~');

/** Returns true for records that are written on this node only and are not replicated. */
export const isOwnRecord = (database: string, key: Buffer): boolean =>
  isOwnDatabase(database) || (database === 'meta' && key.equals(keyToBytes('formatVersion')));

/** The open file of a replica. */
export class ReplicaFile {
  readonly #lmdb: RootDatabase;
  readonly #positions: Database<Position, string>;
  readonly #start: Position;
  readonly #raw = new Map<string, Database<Buffer, Buffer>>();

  /**
   * @param path - path of the file, for messages
   * @param installation - the installation that owns the store; null if it belongs to none
   * @throws INVALID_CONFIG if the replica follows another installation
   */
  constructor(lmdb: RootDatabase, path: string, installation: Installation | null) {
    this.#lmdb = lmdb;
    // Histories of two installations have no write set in common, because their start differs.
    this.#start = { version: 0, last: installation?.id ?? '' };
    this.#positions = lmdb.openDB({ name: POSITION_DATABASE, encoding: 'json' });
    bindToInstallation(path, lmdb.openDB({ name: POSITION_DATABASE, encoding: 'json' }), installation);
  }

  /** The position before the first write set. */
  get start(): Position {
    return this.#start;
  }

  /** Returns the stored position. Another process of this machine may have advanced it. */
  position(): Position {
    return this.#positions.get('place') ?? this.#start;
  }

  /** Opens a database; also as bytes, because a new database must not be opened inside a transaction. */
  openDB<V, K extends Key>(options: LiveDatabaseOptions): Database<V, K> {
    const database: Database<V, K> = this.#lmdb.openDB<V, K>(options);
    this.bytesOf(options.name);
    return database;
  }

  /** Opens a database as bytes, whatever its encoding. If the database is new, this must not run inside a transaction. */
  bytesOf(database: string): Database<Buffer, Buffer> {
    const existing = this.#raw.get(database);
    if (existing !== undefined) return existing;
    const opened = openAsBytes(this.#lmdb, database);
    this.#raw.set(database, opened);
    return opened;
  }

  /** Applies the write sets that the file does not have yet, and advances the stored position, in one transaction. */
  apply(to: Position, sets: readonly WriteSet[]): void {
    for (const { writes } of sets) for (const { database } of writes) this.bytesOf(database);
    this.#lmdb.transactionSync(() => {
      const stored = this.position();
      for (const set of sets)
        if (set.version > stored.version) for (const write of set.writes) this.#put(write);
      if (to.version > stored.version) this.#positions.putSync('place', to);
    }, FLUSHED_LATER);
  }

  /** Makes the records equal to those of a copy, in one transaction. Returns the changed records. */
  replaceBy(staged: Database<Buffer, Buffer>, to: Position): readonly Write[] {
    const changed: Write[] = [];
    for (const field of staged.getKeys()) this.bytesOf(partsOfField(field).database);
    for (const database of this.#lmdb.getKeys()) this.bytesOf(String(database));
    this.#lmdb.transactionSync(() => {
      for (const { key: field, value } of staged.getRange()) {
        const { database, key } = partsOfField(field);
        if (isOwnRecord(database, key) || this.bytesOf(database).get(key)?.equals(value)) continue;
        changed.push({ database, key: Buffer.from(key), value });
      }
      for (const [database, records] of this.#raw)
        for (const key of records.getKeys({ start: LEAST_KEY }))
          if (!isOwnRecord(database, key) && !staged.doesExist(fieldOf(database, key)))
            changed.push({ database, key: Buffer.from(key), value: null });
      for (const write of changed) this.#put(write);
      this.#positions.putSync('place', to);
    }, FLUSHED_LATER);
    return changed;
  }

  /** Runs `work` in a transaction, and rolls it back. */
  trial(work: () => void): void {
    this.#lmdb.transactionSync(() => {
      work();
      return ABORT;
    });
    this.#lmdb.resetReadTxn();
  }

  /** Runs `work` in a transaction of its own within a trial: if it throws, its writes are rolled back. */
  step<T>(work: () => T): T {
    return this.#lmdb.childTransaction(work) as unknown as T;
  }

  resetReadTxn(): void {
    this.#lmdb.resetReadTxn();
  }

  /** Copies the file as of one transaction to `path`, while others may write. */
  async copyTo(path: string): Promise<void> {
    await this.#lmdb.backup(path, true);
  }

  close(): Promise<void> {
    return this.#lmdb.close();
  }

  /** Must run inside a transaction. */
  #put({ database, key, value }: Write): void {
    if (value === null) this.bytesOf(database).removeSync(key);
    else this.bytesOf(database).putSync(key, value);
  }
}

/**
 * Records which installation the replica follows, the first time. A replica without an id was written by an earlier version; the startup of
 * the node has checked that it belongs to this installation.
 *
 * @throws INVALID_CONFIG if the replica follows another installation
 */
function bindToInstallation(
  path: string,
  own: Database<Installation, string>,
  installation: Installation | null,
): void {
  const recorded = own.get('installation');
  if (recorded === undefined) {
    if (installation !== null) own.putSync('installation', installation);
    return;
  }
  if (recorded.id !== installation?.id)
    throw new AssayError(
      'INVALID_CONFIG',
      `${path} is a replica of the installation ${recorded.id}, but Redis holds the installation ${installation?.id ?? 'none'}. The replica was not changed: set ASSAY_REDIS_URL to the Redis of its installation, or move the folder.`,
      { field: 'ASSAY_REDIS_URL' },
    );
}
