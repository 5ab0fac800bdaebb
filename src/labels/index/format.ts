/**
 * Layout of a snapshot: an LMDB environment of four values. Large values are returned as views of the memory map, which all
 * threads and processes share. All words are little-endian.
 *
 * - `meta`: JSON, a StoredMeta.
 * - `records`: 10 words per address, sorted by the place hash of its slot: the slot (6), then [6] template id, or position in the
 * overflow area; [7] first and last day, 16 bits each; [8] flags and scope; [9] position of the JSON fragment.
 * - `lookup`: directory (2^k + 1 words: first record of each bucket), overflow area (for each address with several labels: count,
 * then template id and days of each, primary first), filter.
 * - `texts`: template table (4 words each: positions of fragment and body, length of body, flags and scope), then the fragments
 * and bodies. Positions count 8 bytes.
 */
import { createHash } from 'node:crypto';
import type { Designation } from '../designations.ts';
import type { LabelScope } from '../label.ts';
import type { Category } from '../taxonomy.ts';
import type { FilterShape } from './filter.ts';
import type { SnapshotMeta } from './reader.ts';

export const FORMAT_VERSION = 1;

/**
 * Format of a snapshot with several partitions: `labels.mdb` has `meta` and `texts`, and `labels-N.mdb` the `records` and `lookup` of the
 * addresses with a place hash that has N in its lowest bits. Each partition has the layout of a whole snapshot.
 */
export const PARTITIONED_FORMAT = 2;

export const RECORD_WORDS = 10;
export const RECORD_BYTES = RECORD_WORDS * 4;
export const TEMPLATE = 6;
export const DAYS = 7;
export const FLAGS = 8;
export const FRAGMENT = 9;

/** Bits of the flags word of a record and of a template; bits 8 to 15 hold the number of the scope. */
export const MULTIPLE = 1;
/** A sanction in force holds on every chain of the key. */
export const SANCTIONED = 2;
/** A sanction in force holds on some chains only: the labels decide. */
export const SANCTIONED_SOMEWHERE = 4;
export const SYNTHETIC = 8;

/**
 * Version of the set of fields in rendered fragments: 2 since labels have a class, 3 since derived labels have a derivation. Fragments of another version (the snapshot was
 * built by an earlier or later release) are not copied into responses; their labels are decoded and rendered.
 */
export const LABEL_FIELDS = 3;

export const TEMPLATE_WORDS = 4;

/** The number of the scope `EVM` in every snapshot. */
export const SCOPE_EVM = 0;

export const ENVIRONMENT_FILE = 'labels.mdb';
/** Holds the final size of the environment in bytes: mapping a truncated file crashes the process; it does not fail the call. */
export const SIZE_FILE = 'labels.size';

/** Returns the names of the environment of a partition, and of the file with its size. */
export const partitionFiles = (
  partition: number,
): { readonly environment: string; readonly size: string } => ({
  environment: `labels-${partition}.mdb`,
  size: `labels-${partition}.size`,
});

/** Returns the names of all files of a snapshot. */
export function snapshotFiles(partitions: number): readonly string[] {
  const names = [SIZE_FILE, ENVIRONMENT_FILE];
  if (partitions > 1)
    for (let partition = 0; partition < partitions; partition++) {
      const { environment, size } = partitionFiles(partition);
      names.push(size, environment);
    }
  return names;
}

export const VALUE_KEYS = {
  meta: Buffer.from('meta'),
  records: Buffer.from('records'),
  lookup: Buffer.from('lookup'),
  texts: Buffer.from('texts'),
} as const;

/** The most that a file of a snapshot may have: what one buffer of lmdb-js spans. */
export const MAP_BYTES = 0xf0000000;

export interface SnapshotLayout {
  readonly addresses: number;
  /** See LABEL_FIELDS; absent from snapshots of the first version. */
  readonly labelFields?: number;
  /** log2 of the number of buckets. */
  readonly bucketBits: number;
  readonly overflowWords: number;
  readonly filter: FilterShape;
  readonly templates: number;
  /** Start of the table of values that templates share, in bytes of `texts`, and the number of these values. */
  readonly sharedAt: number;
  readonly shared: number;
  /** The values behind the numbers of scopes, categories and sources. */
  readonly scopes: readonly LabelScope[];
  readonly categories: readonly Category[];
  readonly sourceIds: readonly string[];
  /** SHA-256 of the three large values, hex. */
  readonly sha256: { readonly records: string; readonly lookup: string; readonly texts: string };
  /** Layouts of the partitions, a power of two; absent if there is only one. The hashes above are then those over the partitions. */
  readonly partitions?: readonly SnapshotLayout[];
}

/** Returns the SHA-256 of a value, hex. */
export function valueChecksum(bytes: Uint8Array): string {
  const hash = createHash('sha256');
  // One update takes at most 2 GiB.
  for (let from = 0; from < bytes.length; from += 1 << 28)
    hash.update(bytes.subarray(from, from + (1 << 28)));
  return hash.digest('hex');
}

/** Returns the checksum of a whole snapshot: of its values, and of the designations in its meta if it has any. */
export function snapshotChecksum(
  sha256: SnapshotLayout['sha256'],
  designations: readonly Designation[],
): string {
  const hash = createHash('sha256').update(
    `${FORMAT_VERSION} ${sha256.records} ${sha256.lookup} ${sha256.texts}`,
  );
  if (designations.length > 0) hash.update(` ${JSON.stringify(designations)}`);
  return hash.digest('hex');
}

export interface StoredMeta extends SnapshotMeta {
  readonly layout: SnapshotLayout;
}
