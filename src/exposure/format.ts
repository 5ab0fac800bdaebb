/**
 * Layout of the index of one chain: a folder with two LMDB environments. `index.mdb` is written once and mapped:
 *
 * - `meta`: JSON, an IndexMeta.
 * - `table`: open addressing with linear probing, 8 words an address: the slot of its key (6 words, labels/index/slot.ts), its id in
 *   the graph (0: the place is empty), and its place in `entries` in units of 4 bytes (0: it has none, it is clean).
 * - `entries`: entries one behind another (record.ts), each at a multiple of 4 bytes, after 4 unused bytes.
 *
 * `changes.mdb` has what was computed since (changes.ts). Both are derived from the graph, the labels and the policy: a format that this
 * program does not know is not used, and a new index is built beside it.
 */
import type { ChainId } from '../chains/registry.ts';
import type { EarlierParty } from '../screening/before-designation.ts';

/** Changes whenever bytes of the index mean something else, or the same evidence gives other rows. Never reused. */
export const FORMAT_VERSION = 6;

export const INDEX_FILE = 'index.mdb';
export const SIZE_FILE = 'index.size';
export const CHANGES_FILE = 'changes.mdb';

export const VALUE_KEYS = {
  meta: Buffer.from('meta'),
  table: Buffer.from('table'),
  entries: Buffer.from('entries'),
} as const;

export const PLACE_WORDS = 8;
export const NODE_WORD = 6;
export const ENTRY_WORD = 7;
/** Of the places of the table so many are taken: a search looks at two places on average, which are one line of the cache each. */
export const TABLE_LOAD = 0.75;

/**
 * Every index is mapped with this size, as label snapshots are and for the same reason (labels/index/format.ts). It bounds an index at
 * about 80 million addresses.
 */
export const MAP_BYTES = 0xf0000000;

/**
 * Returns a checksum of words: 32 bits, FNV-1a by word. It finds damage, not forgery.
 *
 * @param bytes - aligned to 4 bytes; a multiple of 4 bytes long
 */
export function checksumOf(bytes: Uint8Array): number {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  let sum = 0x811c9dc5;
  for (let at = 0; at < words.length; at++) sum = Math.imul(sum ^ (words[at] as number), 0x01000193);
  return sum >>> 0;
}

/** Inputs of an index. An index of other inputs answers until a new one is built. */
export interface IndexInputs {
  readonly chain: ChainId;
  readonly dataVersion: string;
  readonly policyVersion: string;
  /** Version of what ships besides: curated assets, bridges. */
  readonly facts: string;
  readonly maxHops: number;
}

/** How far a chain's store had come: numbers given in its log, and transfers stored (blocks that are taken back lower it). */
export interface GraphPosition {
  /** Names the store: an index of another store is not used. */
  readonly store: string;
  readonly ordinal: number;
  readonly transfers: number;
}

export interface IndexMeta extends IndexInputs {
  readonly formatVersion: number;
  /** Order of the categories in entries. */
  readonly categories: readonly string[];
  /** Designated parties that entries name by their place here. */
  readonly parties: readonly EarlierParty[];
  readonly addresses: number;
  /** Addresses with an entry. */
  readonly entries: number;
  readonly tablePlaces: number;
  readonly tableBytes: number;
  readonly entryBytes: number;
  /** Checksums (`checksumOf`) of both values. */
  readonly tableChecksum: number;
  readonly entryChecksum: number;
  readonly position: GraphPosition;
  /** When the build began, milliseconds since the epoch: the entries are of then. */
  readonly asOfMs: number;
  readonly builtInMs: number;
}
