/** What an open label snapshot answers. Implemented by snapshot.ts; everything that only asks depends on this file. */
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { SanctionsList } from '../../sources/records.ts';
import type { Designation } from '../designations.ts';
import type { Label } from '../label.ts';

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
  /** Names the content: same labels in, same version out. The `dataVersion` of every answer. */
  readonly dataVersion: string;
  readonly builtAt: string;
  readonly real: LabelCounts;
  readonly synthetic: LabelCounts;
  readonly sources: readonly SnapshotSource[];
  /** Real labels by the scope they hold on (`EVM` or a chain) and by category. */
  readonly byChain: Readonly<Record<string, number>>;
  readonly byCategory: Readonly<Record<string, number>>;
  /** The same of synthetic labels; absent where there are none. */
  readonly syntheticByChain?: Readonly<Record<string, number>>;
  readonly syntheticByCategory?: Readonly<Record<string, number>>;
  readonly checksum: string;
  /** Designations of entities that are linked to listed parties, in force and history; left out if there are none. */
  readonly designations?: readonly Designation[];
}

/** Position of an address in a snapshot: opaque, valid for that snapshot only. */
export type LabelHandle = number;

/** Returned by `find` for an address without a label. */
export const NOT_LABELLED: LabelHandle = -1;

/**
 * One immutable snapshot, memory-mapped. Calls are synchronous, allocate nothing but their answer, and never fail because a
 * newer snapshot was published. Labels come in the order of the written rule: the first one is of the primary entity.
 */
export interface LabelReader {
  readonly meta: SnapshotMeta;
  /** Looks a key up by its bytes in a shared buffer; the hot path. */
  find(keys: Uint8Array, offset: number, length: number): LabelHandle;
  /** The labels that hold on `chain`, primary first; empty for NOT_LABELLED. */
  labels(handle: LabelHandle, chain: ChainId): readonly Label[];
  /** The same as `find` then `labels`. */
  lookup(key: AddressKey, chain: ChainId): readonly Label[];
  /**
   * Writes the labels that hold on `chain` as the JSON text of an array (UTF-8, the shape of the API's `labels[]`) into `out`
   * at `offset`; returns the offset behind it, or -1 where `out` is too small. Writes `[]` for NOT_LABELLED.
   */
  writeLabelsJson(handle: LabelHandle, chain: ChainId, out: Uint8Array, offset: number): number;
  /** Whether a sanction in force (DIRECT) holds for the address on `chain`. No decoding. */
  isSanctioned(handle: LabelHandle, chain: ChainId): boolean;
}

/** Always the newest published snapshot. Take `current` once per request or chunk, so that one answer reads one snapshot. */
export interface SnapshotSet {
  readonly current: LabelReader;
  /** Looks for a newer snapshot and swaps to it; true when it swapped. */
  refresh(): boolean;
  close(): void;
}
