/** The interface of an open label snapshot. Implemented by snapshot.ts; code that only reads labels depends on this file. */
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { SanctionsList } from '../../sources/index.ts';
import type { Designation } from '../designations.ts';
import type { Label, LabelTemplate } from '../label.ts';

/** Counts of a snapshot. Real and synthetic labels are never added together. */
export interface LabelCounts {
  readonly addresses: number;
  readonly labels: number;
  readonly entities: number;
}

export interface SnapshotSource {
  readonly id: string;
  /** One imported unit of the source (a list, a file). */
  readonly dataset: string;
  readonly publishedAt: string | null;
  readonly importedAt: string;
  readonly url: string | null;
  readonly labels: number;
  readonly lists: readonly SanctionsList[];
}

export interface SnapshotMeta {
  readonly formatVersion: number;
  /** Hash of the content: the same labels give the same version. The `dataVersion` of every response. */
  readonly dataVersion: string;
  readonly builtAt: string;
  readonly real: LabelCounts;
  readonly synthetic: LabelCounts;
  readonly sources: readonly SnapshotSource[];
  /** Real labels by scope (`EVM` or a chain) and by category. */
  readonly byChain: Readonly<Record<string, number>>;
  readonly byCategory: Readonly<Record<string, number>>;
  /** The same for synthetic labels; absent if there are none. */
  readonly syntheticByChain?: Readonly<Record<string, number>>;
  readonly syntheticByCategory?: Readonly<Record<string, number>>;
  readonly checksum: string;
  /** Designations of entities that are linked to listed parties, in force and history; absent if there are none. */
  readonly designations?: readonly Designation[];
}

/** Position of an address in a snapshot: opaque, valid for that snapshot only. */
export type LabelHandle = number;

/** Returned by `find` for an address without a label. */
export const NOT_LABELLED: LabelHandle = -1;

export const NO_LABELS: readonly Label[] = Object.freeze([]);

/**
 * One immutable snapshot, memory-mapped. Calls are synchronous, allocate only their result, and never fail because a newer
 * snapshot was published. Labels are in the order of the primary-label rule: the first label belongs to the primary entity.
 */
export interface LabelReader {
  readonly meta: SnapshotMeta;
  /**
   * Looks up a key by its bytes in a shared buffer; this is the hot path. A unified address of Zcash has the labels of its transparent
   * receiver (unified.ts).
   */
  find(keys: Uint8Array, offset: number, length: number): LabelHandle;
  /**
   * Looks up many keys: the same handles as `find` gives one by one, in less time, because the waits for memory overlap. It pays from about
   * ten keys on, and best in blocks of 128 to 4,096, which the caches hold from one step of the caller to the next.
   *
   * @param keys - bytes of all keys, in any order, with gaps or without
   * @param offsets - start of each key in `keys`
   * @param lengths - bytes of each key; less than 2, or negative, for an item without a key, which is NOT_LABELLED
   * @param count - number of keys: the items `[0, count)` of the other arrays
   * @param handles - receives the handles; an array of doubles, because a handle may have more than 32 bits
   * @throws RangeError if a key reaches behind the end of `keys`
   * @example
   * reader.findMany(keys, offsets, lengths, count, handles);
   * for (let item = 0; item < count; item++) reader.labels(handles[item], 'BTC');
   */
  findMany(
    keys: Uint8Array,
    offsets: Int32Array,
    lengths: Int32Array,
    count: number,
    handles: Float64Array,
  ): void;
  /**
   * Reads the memory of labels ahead: calling `labels` for many handles then waits for memory once, not once for each. Optional; it pays from
   * about ten handles on, and best for blocks of 128, which the caches hold until the labels are used.
   *
   * @param handles - the items `[0, count)`; NOT_LABELLED is skipped
   */
  readLabelsAhead(handles: Float64Array, count: number): void;
  /** Does the same for `writeLabelsJson`. */
  readJsonAhead(handles: Float64Array, count: number): void;
  /** Returns the labels that hold on `chain`, primary first; empty for NOT_LABELLED. */
  labels(handle: LabelHandle, chain: ChainId): readonly Label[];
  /**
   * Returns the number of the template of an address whose only label holds on `chain`: labels of one template differ only in their dates.
   * -1 for an address with several labels or none. It decodes nothing.
   */
  loneTemplate(handle: LabelHandle, chain: ChainId): number;
  /** Calls `find`, then `labels`. */
  lookup(key: AddressKey, chain: ChainId): readonly Label[];
  /**
   * Writes the labels that hold on `chain` as the JSON text of an array (UTF-8, the shape of the API's `labels[]`) into
   * `out`. Writes `[]` for NOT_LABELLED.
   *
   * @param offset Position in `out` at which the text begins.
   * @returns The offset after the text, or -1 if `out` is too small.
   */
  writeLabelsJson(handle: LabelHandle, chain: ChainId, out: Uint8Array, offset: number): number;
  /** Returns whether a sanction in force (DIRECT) holds for the address on `chain`. It decodes nothing. */
  isSanctioned(handle: LabelHandle, chain: ChainId): boolean;
  /**
   * Calls back for every address with a 20-byte payload (EVM, TRON, hash160) that has a label of `chain` that `isWanted` accepts.
   *
   * @param isWanted - called once for each distinct label, without its dates
   * @param visit - receives the key of the address in memory that the next call overwrites
   */
  eachLabelled(
    chain: ChainId,
    isWanted: (label: LabelTemplate) => boolean,
    visit: (key: Uint8Array) => void,
  ): void;
  /**
   * Calls back for every address of an EVM chain that is sanctioned there (`isSanctioned`), in no particular order.
   *
   * @param visit - receives the 20 bytes of the address in memory that the next call overwrites
   */
  eachSanctioned(chain: ChainId, visit: (address: Uint8Array) => void): void;
}

/** The newest published snapshot. Read `current` once per request or chunk, so that one response uses one snapshot. */
export interface SnapshotSet {
  readonly current: LabelReader;
  /** Checks for a newer snapshot and switches to it; returns true if it switched. */
  refresh(): boolean;
  close(): void;
}
