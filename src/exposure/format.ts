/**
 * Layout of the index of one chain: a folder with two LMDB environments. `index.mdb` is written once and mapped:
 *
 * - `meta`: JSON, an IndexMeta.
 * - `table`: open addressing with linear probing, 8 words per address: the slot of its key (6 words, labels/index/slot.ts), its id in
 *   the graph (0: the place is empty), and its offset in `entries` in units of 4 bytes (0: no entry, the address is clean).
 * - `entries`: consecutive entries (record.ts), each aligned to 4 bytes, after 4 unused bytes.
 *
 * `changes.mdb` has the results computed since the build (changes.ts). Both are derived from the graph, the labels and the policy: an
 * index with an unknown format is not used, and a new one is built next to it.
 */
import type { ChainId } from '../chains/registry.ts';
import type { EarlierParty } from '../screening/before-designation.ts';

/** Increment it when bytes of the index change their meaning, or when the same evidence gives other rows. Never reuse a value. */
export const FORMAT_VERSION = 8;

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
/** Load factor of the table: a lookup reads two places on average, each in one cache line. */
export const TABLE_LOAD = 0.75;

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

/** Inputs of an index. An index with outdated inputs stays in use until a new one is built. */
export interface IndexInputs {
  readonly chain: ChainId;
  readonly dataVersion: string;
  readonly policyVersion: string;
  /** Version of the other built-in facts: curated assets, bridges. */
  readonly facts: string;
  readonly maxHops: number;
}

/** Position in a chain's store: ordinals assigned in its log, and number of stored transfers (reverted blocks decrease it). */
export interface GraphPosition {
  /** Identifies the store: an index of another store is not used. */
  readonly store: string;
  readonly ordinal: number;
  readonly transfers: number;
}

export interface IndexMeta extends IndexInputs {
  readonly formatVersion: number;
  /** Order of the categories in entries. */
  readonly categories: readonly string[];
  /** Designated parties, which entries reference by their index here. */
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
  /** Start of the build, milliseconds since the epoch: entries reflect this time. */
  readonly asOfMs: number;
  readonly builtInMs: number;
}
