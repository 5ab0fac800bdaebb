/**
 * Results computed since an index was built: entries that replace those of the mapped table, addresses that are new, and entries that
 * wait to be computed again. One writer (update.ts); readers in any thread or process see whole commits.
 */
import { join } from 'node:path';
import { type Database, openEnvironment, type RootDatabase } from '../base/lmdb.ts';
import type { NodeId } from '../graph/graph.ts';
import { ByteWriter } from '../graph/store/bytes.ts';
import { CHANGES_FILE, type GraphPosition } from './format.ts';
import { type ExposureRecord, readRecord, writeRecord } from './record.ts';

/** How far the updates of an index have come. */
export interface ChangesState {
  readonly position: GraphPosition;
  /** When that was, milliseconds since the epoch. */
  readonly processedAtMs: number;
  /** Since when any entry may be out of date, as too many changed to note each; null if each is noted. */
  readonly allWaitSinceMs: number | null;
  /** Entries that were computed since the build, and addresses that are new since. */
  readonly computed: number;
  readonly added: number;
  /** Entries that wait, at the last commit. */
  readonly waiting: number;
}

/** A block that can be taken back, and the addresses that its transfers changed. */
export interface NotedBlock {
  readonly hash: string;
  readonly firstOrdinal: number;
  readonly count: number;
  readonly nodes: readonly NodeId[];
}

/** An entry: whether it was computed since the build, since when it waits (0: it does not), and its record. */
export interface ChangedEntry {
  readonly waitsSinceMs: number;
  /** Null: as in the mapped table. */
  readonly record: ExposureRecord | null;
}

const WAITS = 1;
const COMPUTED = 2;
const RECORD_AT = 9;

/** Bits of the filter: exact for half a million nodes, and of more, 20,000 changed entries send one look-up of 26 to a search in vain. */
const FILTER_BITS = 2 ** 19;
const FILTER_KEY = 'filter';

/** Nodes with an entry among the changes, by their ids modulo `FILTER_BITS`. */
export class ChangedNodes {
  readonly bits: Uint8Array;
  constructor(bits: Uint8Array) {
    this.bits = bits;
  }
  /** Returns false if nothing about the node changed; true if it may have. */
  mayHave(node: NodeId): boolean {
    const at = node % FILTER_BITS;
    return ((this.bits[at >> 3] as number) & (1 << (at & 7))) !== 0;
  }
  add(node: NodeId): void {
    const at = node % FILTER_BITS;
    this.bits[at >> 3] = (this.bits[at >> 3] as number) | (1 << (at & 7));
  }
}

export interface Changes {
  readonly root: RootDatabase;
  state(): ChangesState | null;
  setState(state: ChangesState): void;
  /** The nodes with an entry here, as of the last `setState`: most look-ups need no search. */
  changedNodes(): ChangedNodes;
  /** Null if nothing about the node changed since the build. */
  entry(node: NodeId): ChangedEntry | null;
  /** The id of an address that is not in the mapped table; 0 if it is new to the graph. */
  nodeOf(key: Uint8Array): NodeId;
  add(key: Uint8Array, node: NodeId): void;
  /** Stores an entry that was computed; it no longer waits. */
  put(node: NodeId, record: ExposureRecord): void;
  /** Notes that an entry waits. One that waits already keeps its time. Returns true if it did not wait before. */
  wait(node: NodeId, sinceMs: number): boolean;
  /** Entries that wait, in the order of ids from `from` on, at most `limit`. */
  waiting(from: NodeId, limit: number): { readonly node: NodeId; readonly sinceMs: number }[];
  blocks(): ReadonlyMap<number, NotedBlock>;
  setBlock(height: number, block: NotedBlock): void;
  removeBlock(height: number): void;
  write<T>(work: () => T): T;
  close(): Promise<void>;
}

const out = new ByteWriter(4096);

/**
 * Opens the changes of the index in `folder`, and makes them if there are none. Threads of one process open them alike: to write.
 *
 * @throws STORAGE_FULL if the disk has no room to make them, STORE_CORRUPT if they are damaged
 */
export function openChanges(folder: string): Changes {
  const root = openEnvironment(join(folder, CHANGES_FILE), { maxDbs: 8, noSubdir: true });
  try {
    return changesIn(root);
  } catch (error) {
    void root.close();
    throw error;
  }
}

function changesIn(root: RootDatabase): Changes {
  const meta: Database<unknown, string> = root.openDB({ name: 'meta', encoding: 'msgpack' });
  const entries: Database<Buffer, number> = root.openDB({
    name: 'entries',
    encoding: 'binary',
    keyEncoding: 'uint32',
  });
  const waits: Database<Buffer, number> = root.openDB({
    name: 'waits',
    encoding: 'binary',
    keyEncoding: 'uint32',
  });
  const added: Database<Buffer, Uint8Array> = root.openDB({
    name: 'added',
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const filter: Database<Buffer, string> = root.openDB({ name: 'filter', encoding: 'binary' });
  const blocks: Database<NotedBlock, number> = root.openDB({
    name: 'blocks',
    encoding: 'msgpack',
    keyEncoding: 'uint32',
  });

  const pack = (flags: number, sinceMs: number, record: ExposureRecord | null): Buffer => {
    out.length = 0;
    out.reserve(RECORD_AT);
    out.bytes[0] = flags;
    out.bytes.writeDoubleLE(sinceMs, 1);
    out.length = RECORD_AT;
    if (record !== null) writeRecord(out, record);
    return out.take();
  };

  const state = (): ChangesState | null => (meta.get('state') as ChangesState | undefined) ?? null;
  const storedNodes = (): ChangedNodes => {
    const bits = filter.getBinary(FILTER_KEY);
    if (bits !== undefined) return new ChangedNodes(bits);
    // Changes of a version without the filter: any node may have one.
    return new ChangedNodes(new Uint8Array(FILTER_BITS / 8).fill(state() === null ? 0 : 0xff));
  };
  /** As the writer knows them, read when it first writes. Of a transaction that failed it has too many: no harm. */
  let written: ChangedNodes | null = null;
  const note = (node: NodeId): void => {
    written ??= storedNodes();
    written.add(node);
  };

  return {
    root,
    state,
    setState(now) {
      meta.putSync('state', now);
      if (written !== null) filter.putSync(FILTER_KEY, Buffer.from(written.bits));
    },
    changedNodes: storedNodes,
    entry(node) {
      const bytes = entries.getBinaryFast(node);
      if (!bytes) return null;
      const flags = bytes[0] as number;
      return {
        waitsSinceMs: flags & WAITS ? bytes.readDoubleLE(1) : 0,
        record: flags & COMPUTED ? readRecord(bytes, RECORD_AT) : null,
      };
    },
    nodeOf: (key) => added.getBinaryFast(key)?.readUInt32BE(0) ?? 0,
    add(key, node) {
      const id = Buffer.alloc(4);
      id.writeUInt32BE(node, 0);
      added.putSync(key, id);
    },
    put(node, record) {
      note(node);
      entries.putSync(node, pack(COMPUTED, 0, record));
      waits.removeSync(node);
    },
    wait(node, sinceMs) {
      note(node);
      const known = entries.getBinary(node);
      if (known && (known[0] as number) & WAITS) return false;
      if (known) {
        known[0] = (known[0] as number) | WAITS;
        known.writeDoubleLE(sinceMs, 1);
        entries.putSync(node, known);
      } else entries.putSync(node, pack(WAITS, sinceMs, null));
      const since = Buffer.alloc(8);
      since.writeDoubleLE(sinceMs, 0);
      waits.putSync(node, since);
      return true;
    },
    waiting: (from, limit) =>
      [...waits.getRange({ start: from, limit })].map(({ key, value }) => ({
        node: key,
        sinceMs: value.readDoubleLE(0),
      })),
    blocks: () => new Map([...blocks.getRange({})].map(({ key, value }) => [key, value])),
    setBlock: (height, block) => {
      blocks.putSync(height, block);
    },
    removeBlock: (height) => {
      blocks.removeSync(height);
    },
    write: (work) => root.transactionSync(work),
    close: () => root.close(),
  };
}
