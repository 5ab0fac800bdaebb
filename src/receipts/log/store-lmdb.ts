/**
 * The records of the log over live state: LMDB on one machine, Redis with a replica on many. One transaction appends entries to the bundles
 * and tiles, completes the tiles above, and signs a checkpoint if one is due, so a checkpoint never covers an entry that is not stored.
 * Records of a tile hold all of its hashes so far: a partial tile is the beginning of its record.
 */
import { AssayError } from '../../base/errors.ts';
import { HASH_BYTES, leafHash, MerkleFrontier, subtreesOf, type TreeNode } from '../../base/merkle.ts';
import { openLiveFile } from '../../state/live-file.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../../state/live-store.ts';
import { LOG_LIMITS } from './limits.ts';
import type { LogEntry, LogIdentity, LogStore, NewerLog, SignHead } from './store.ts';
import { bundleOf, TILE_HEIGHT, TILE_WIDTH, type TileName } from './tiles.ts';

export const FORMAT_VERSION = 1;

const SIZE_BYTES = 8;

type TileKey = [level: number, index: number];

/** Opens the databases of a log. */
type Open = <V, K extends number | string | TileKey>(
  options: Parameters<LiveRoot['openDB']>[0],
) => LiveDatabase<V, K>;

function openTables(root: { readonly openDB: Open }) {
  return {
    /** Hashes of receipts, 256 in each record. */
    entries: root.openDB<Buffer, number>({ name: 'entries', encoding: 'binary' }),
    tiles: root.openDB<Buffer, TileKey>({ name: 'tiles', encoding: 'binary' }),
    /** Index by the id of the receipt. */
    ids: root.openDB<number, string>({ name: 'ids', encoding: 'json' }),
    /** `frontier`: the size (u64) and the hashes of the subtrees on the right edge. */
    state: root.openDB<Buffer, string>({ name: 'state', encoding: 'binary' }),
    notes: root.openDB<string, 'checkpoint' | 'witnessed'>({ name: 'notes', encoding: 'string' }),
    identity: root.openDB<LogIdentity, 'log'>({ name: 'identity', encoding: 'json' }),
  };
}
type Tables = ReturnType<typeof openTables>;

function readFrontier({ state }: Pick<Tables, 'state'>): MerkleFrontier {
  const bytes = state.get('frontier');
  if (bytes === undefined) return new MerkleFrontier();
  const size = Number(bytes.readBigUInt64BE(0));
  const hashes = subtreesOf(0, size).map((_, at) =>
    bytes.subarray(SIZE_BYTES + at * HASH_BYTES, SIZE_BYTES + (at + 1) * HASH_BYTES),
  );
  return new MerkleFrontier(size, hashes);
}

function writeFrontier({ state }: Tables, frontier: MerkleFrontier): void {
  const size = Buffer.alloc(SIZE_BYTES);
  size.writeBigUInt64BE(BigInt(frontier.size));
  state.putSync('frontier', Buffer.concat([size, ...frontier.hashes()]));
}

/** Collects hashes that are appended to records, and writes each record once. */
class Growing<K extends number | TileKey> {
  readonly #database: LiveDatabase<Buffer, K>;
  readonly #keyOf: (level: number, index: number) => K;
  readonly #records = new Map<string, { readonly key: K; readonly parts: Uint8Array[] }>();
  /** The record of the last hash. Hashes come in their order, so nearly all belong to the record of the one before. */
  #last: { readonly index: number; readonly level: number; readonly parts: Uint8Array[] } | null = null;

  constructor(database: LiveDatabase<Buffer, K>, keyOf: (level: number, index: number) => K) {
    this.#database = database;
    this.#keyOf = keyOf;
  }

  push(level: number, index: number, hash: Uint8Array): void {
    if (this.#last?.level === level && this.#last.index === index) {
      this.#last.parts.push(hash);
      return;
    }
    const key = this.#keyOf(level, index);
    const name = String(key);
    let record = this.#records.get(name);
    if (record === undefined) {
      const before = this.#database.get(key);
      record = { key, parts: before === undefined ? [] : [before] };
      this.#records.set(name, record);
    }
    record.parts.push(hash);
    this.#last = { index, level, parts: record.parts };
  }

  write(): void {
    for (const { key, parts } of this.#records.values()) this.#database.putSync(key, Buffer.concat(parts));
  }
}

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openLogStore(
  { path }: { readonly path: string },
  { openStore = openLiveStore }: { readonly openStore?: OpenStore } = {},
): LogStore {
  return new LmdbLogStore(openStore(path, FORMAT_VERSION, { name: 'log', maxDbs: 12 }));
}

/** Reads a tile or an entry bundle; null if the log has fewer hashes there. */
function readTile({ entries, tiles }: Pick<Tables, 'entries' | 'tiles'>, name: TileName): Buffer | null {
  const { level, index, width } = name;
  const record = level === 'entries' ? entries.get(index) : tiles.get([level, index]);
  if (record === undefined || record.length < width * HASH_BYTES) return null;
  const hashes = record.subarray(0, width * HASH_BYTES);
  return level === 'entries' ? bundleOf(hashes) : Buffer.from(hashes);
}

function readEntry({ entries }: Pick<Tables, 'entries'>, index: number): Buffer | null {
  const record = entries.get(Math.floor(index / TILE_WIDTH));
  const at = (index % TILE_WIDTH) * HASH_BYTES;
  return record === undefined || record.length < at + HASH_BYTES
    ? null
    : Buffer.from(record.subarray(at, at + HASH_BYTES));
}

/**
 * Opens a kept state of the log; null if nothing was ever logged in it.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
function openNewer(path: string): NewerLog | null {
  const file = openLiveFile({ path, formatVersion: FORMAT_VERSION });
  if (file === null) return null;
  const names = ['entries', 'tiles', 'ids', 'state', 'notes', 'identity'];
  if (!names.every((name) => file.databases.includes(name))) {
    void file.close();
    return null;
  }
  const tables = openTables({ openDB: (options) => file.open(options as never) as never });
  return {
    path,
    identity: () => tables.identity.get('log') ?? null,
    size: () => readFrontier(tables).size,
    tile: (name) => readTile(tables, name),
    witnessed: () => tables.notes.get('witnessed') ?? null,
    entriesFrom(from) {
      const size = readFrontier(tables).size;
      const found: LogEntry[] = [];
      if (from >= size) return found;
      // Ids sort by time, so nearly all ids of the last entries are the last ones.
      let left = size - from;
      for (const { key: id, value: index } of tables.ids.getRange({ reverse: true })) {
        const hash = index < from ? null : readEntry(tables, index);
        if (hash === null) continue;
        found[index - from] = { id, hash };
        if (--left === 0) break;
      }
      if (left > 0) throw new AssayError('STORE_CORRUPT', `${path} lacks the ids of ${left} entries.`);
      return found;
    },
    close: () => file.close(),
  };
}

class LmdbLogStore implements LogStore {
  readonly #live: LiveStore;
  readonly #root: LiveRoot;
  readonly #tables: Tables;

  constructor(live: LiveStore) {
    this.#live = live;
    this.#root = live.root;
    this.#tables = openTables(live.root);
  }

  size(): number {
    return readFrontier(this.#tables).size;
  }

  identity(): LogIdentity | null {
    return this.#tables.identity.get('log') ?? null;
  }

  *newer(): Iterable<NewerLog> {
    for (const { path } of this.#live.newerStates()) {
      const newer = openNewer(path);
      if (newer !== null) yield newer;
    }
  }

  onCopied(listener: (hasLost: boolean) => void): void {
    this.#live.onCopied(listener);
  }

  found(identity: LogIdentity, sign: SignHead): Promise<LogIdentity> {
    const { identity: identities, notes } = this.#tables;
    return this.#root.childTransaction(() => {
      const known = identities.get('log');
      if (known !== undefined) return known;
      identities.putSync('log', identity);
      notes.putSync('checkpoint', sign(new MerkleFrontier()));
      return identity;
    });
  }

  append(
    entries: readonly LogEntry[],
    sign: SignHead,
    isDue: (signed: number, size: number) => boolean,
  ): Promise<readonly (number | null)[]> {
    return this.#root.childTransaction(() => this.#append(entries, sign, isDue));
  }

  async appendAt(index: number, entries: readonly LogEntry[]): Promise<boolean> {
    try {
      await this.#root.childTransaction(() => {
        const indexes = this.#append(entries, noSign, () => false);
        if (indexes.some((found, at) => found !== index + at)) throw new OtherEntries();
      });
      return true;
    } catch (error) {
      if (error instanceof OtherEntries) return false;
      throw error;
    }
  }

  /** Must run inside a transaction. */
  #append(
    entries: readonly LogEntry[],
    sign: SignHead,
    isDue: (signed: number, size: number) => boolean,
  ): readonly (number | null)[] {
    const { ids } = this.#tables;
    const frontier = readFrontier(this.#tables);
    const before = frontier.size;
    const added: Uint8Array[] = [];
    const bundles = new Growing<number>(this.#tables.entries, (_, index) => index);
    const tiles = new Growing<TileKey>(this.#tables.tiles, (level, index) => [level, index]);
    const addNode = (node: TreeNode, hash: Buffer): void => {
      if (node.level % TILE_HEIGHT !== 0) return;
      tiles.push(node.level / TILE_HEIGHT, Math.floor(node.index / TILE_WIDTH), hash);
    };
    // Ids sort by time: nearly all are new because they are greater than any before, and need not be looked up.
    let last = this.#lastId();
    const indexes = entries.map(({ id, hash }) => {
      const known = last !== null && id > last ? undefined : ids.get(id);
      if (known !== undefined) {
        const there = known < before ? readEntry(this.#tables, known) : added[known - before];
        return there !== undefined && there !== null && Buffer.compare(there, hash) === 0 ? known : null;
      }
      const index = frontier.size;
      if (index >= LOG_LIMITS.ownEntriesMax) throw logFull();
      ids.putSync(id, index);
      if (last === null || id > last) last = id;
      added.push(hash);
      bundles.push(0, Math.floor(index / TILE_WIDTH), hash);
      frontier.append(leafHash(hash), addNode);
      return index;
    });
    bundles.write();
    tiles.write();
    if (frontier.size > before) writeFrontier(this.#tables, frontier);
    if (isDue(this.#signedSize(), frontier.size)) this.#putCheckpoint(frontier, sign);
    return indexes;
  }

  /** Returns the greatest id of all entries; null if there is none. */
  #lastId(): string | null {
    for (const id of this.#tables.ids.getKeys({ reverse: true, limit: 1 })) return id;
    return null;
  }

  /** Number of entries that the last checkpoint covers. */
  #signedSize(): number {
    const bytes = this.#tables.state.get('signed');
    return bytes === undefined ? 0 : Number(bytes.readBigUInt64BE(0));
  }

  #putCheckpoint(frontier: MerkleFrontier, sign: SignHead): void {
    const size = Buffer.alloc(SIZE_BYTES);
    size.writeBigUInt64BE(BigInt(frontier.size));
    this.#tables.state.putSync('signed', size);
    this.#tables.notes.putSync('checkpoint', sign(frontier));
  }

  unsigned(): number {
    return this.size() - this.#signedSize();
  }

  async sign(sign: SignHead): Promise<void> {
    await this.#root.childTransaction(() => {
      const frontier = readFrontier(this.#tables);
      if (frontier.size > this.#signedSize()) this.#putCheckpoint(frontier, sign);
    });
  }

  checkpoint(): string | null {
    return this.#tables.notes.get('checkpoint') ?? null;
  }

  witnessed(): string | null {
    return this.#tables.notes.get('witnessed') ?? null;
  }

  async putWitnessed(checkpoint: string): Promise<void> {
    await this.#tables.notes.put('witnessed', checkpoint);
  }

  indexOf(id: string): number | null {
    return this.#tables.ids.get(id) ?? null;
  }

  entry(index: number): Buffer | null {
    return readEntry(this.#tables, index);
  }

  tile(name: TileName): Buffer | null {
    return readTile(this.#tables, name);
  }

  refresh(): void {
    this.#root.resetReadTxn();
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}

/** Rolls a transaction back: the log has other entries than those that were in it before. */
class OtherEntries extends Error {}

const noSign: SignHead = () => {
  throw new Error('No checkpoint is due.');
};

const logFull = (): AssayError =>
  new AssayError('INTERNAL', `The log has ${LOG_LIMITS.ownEntriesMax} entries, the maximum.`);
