/**
 * Results computed since an index was built: entries that replace those of the mapped table, new addresses, and pending entries that
 * must be recomputed. There is one writer (update.ts); readers in any thread or process see only whole commits.
 */
import { join } from 'node:path';
import type { NodeId } from '../graph/graph.ts';
import { ByteWriter } from '../graph/store/bytes.ts';
import { type Database, openEnvironment, type RootDatabase } from '../state/lmdb.ts';
import { CHANGES_FILE, type GraphPosition } from './format.ts';
import { type ExposureRecord, readRecord, writeRecord } from './record.ts';

/** The progress of the updates of an index. */
export interface ChangesState {
  readonly position: GraphPosition;
  /** Time of that position, milliseconds since the epoch. */
  readonly processedAtMs: number;
  /** Time since which any entry may be outdated, because too many changed to mark each; null if each is marked. */
  readonly allWaitSinceMs: number | null;
  /** Number of entries computed, and of addresses added, since the build. */
  readonly computed: number;
  readonly added: number;
  /** Number of pending entries at the last commit. */
  readonly waiting: number;
}

/** A block that can be reverted, with the addresses that its transfers changed. */
export interface NotedBlock {
  readonly hash: string;
  readonly firstOrdinal: number;
  readonly count: number;
  readonly nodes: readonly NodeId[];
}

/** An entry: the time since which it is pending (0: not pending), and its record. */
export interface ChangedEntry {
  readonly waitsSinceMs: number;
  /** Null if the entry of the mapped table applies. */
  readonly record: ExposureRecord | null;
}

const WAITS = 1;
const COMPUTED = 2;
const RECORD_AT = 9;

/** Bits of the filter: exact up to half a million nodes; above, 20,000 changed entries cause one in 26 lookups to search in vain. */
const FILTER_BITS = 2 ** 19;
const FILTER_KEY = 'filter';

/** Nodes with a changed entry, by their ids modulo `FILTER_BITS`. */
export class ChangedNodes {
  readonly bits: Uint8Array;
  constructor(bits: Uint8Array) {
    this.bits = bits;
  }
  /** Returns false if nothing about the node has changed; true if it may have. */
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
  /** Returns the nodes with an entry here, as of the last `setState`: most lookups then need no search. */
  changedNodes(): ChangedNodes;
  /** Returns null if nothing about the node has changed since the build. */
  entry(node: NodeId): ChangedEntry | null;
  /** Returns the id of an address that is not in the mapped table; 0 if it is not here either. */
  nodeOf(key: Uint8Array): NodeId;
  add(key: Uint8Array, node: NodeId): void;
  /** Stores a computed entry, which is then no longer pending. */
  put(node: NodeId, record: ExposureRecord): void;
  /** Marks an entry as pending. An entry that is already pending keeps its time. Returns true if it was not pending before. */
  wait(node: NodeId, sinceMs: number): boolean;
  /** Returns at most `limit` pending entries, in id order starting at `from`. */
  waiting(from: NodeId, limit: number): { readonly node: NodeId; readonly sinceMs: number }[];
  blocks(): ReadonlyMap<number, NotedBlock>;
  setBlock(height: number, block: NotedBlock): void;
  removeBlock(height: number): void;
  write<T>(work: () => T): T;
  close(): Promise<void>;
}

const out = new ByteWriter(4096);

/**
 * Opens the changes of the index in `folder`, and creates them if they do not exist. All threads of a process open them in the same
 * mode, for writing.
 *
 * @throws STORAGE_FULL if the disk has no room to create them
 * @throws STORE_CORRUPT if they are damaged
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
    // The changes are from a version without the filter: any node may have one.
    return new ChangedNodes(new Uint8Array(FILTER_BITS / 8).fill(state() === null ? 0 : 0xff));
  };
  /** The writer's copy, read on its first write. After a failed transaction it has extra nodes, which is harmless. */
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
