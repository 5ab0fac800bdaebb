/**
 * Layout of a snapshot: an LMDB environment of four values. Large values come back as views of the memory map, which every
 * thread and process shares; all words are little-endian.
 *
 * - `meta`: JSON, a StoredMeta.
 * - `records`: 10 words an address, ordered by the place hash of its slot: the slot (6), then [6] template id, or position in
 *   the overflow area; [7] first and last day, 16 bits each; [8] flags and scope; [9] position of the JSON fragment.
 * - `lookup`: directory (2^k + 1 words: first record of each bucket), overflow area (addresses of several labels: count, then
 *   template id and days each, primary first), filter.
 * - `texts`: template table (4 words each: positions of fragment and body, length of body, flags and scope), then the
 *   fragments and bodies. Positions count 8 bytes.
 */
import { createHash } from 'node:crypto';
import type { Designation } from '../designations.ts';
import type { LabelScope } from '../label.ts';
import type { Category } from '../taxonomy.ts';
import type { FilterShape } from './filter.ts';
import type { SnapshotMeta } from './reader.ts';

export const FORMAT_VERSION = 1;

export const RECORD_WORDS = 10;
export const RECORD_BYTES = RECORD_WORDS * 4;
export const TEMPLATE = 6;
export const DAYS = 7;
export const FLAGS = 8;
export const FRAGMENT = 9;

/** Bits of a record's and of a template's flags word; the scope's number stands in bits 8 to 15. */
export const MULTIPLE = 1;
/** A sanction in force holds for every chain of the key. */
export const SANCTIONED = 2;
/** A sanction in force holds on some chains only: the labels have to be asked. */
export const SANCTIONED_SOMEWHERE = 4;
export const SYNTHETIC = 8;

/**
 * Number of the set of fields that fragments are rendered with: 2 since labels have a class. Fragments of another set (an earlier
 * or a later release built the snapshot) are not copied into answers; their labels are decoded and rendered.
 */
export const LABEL_FIELDS = 2;

export const TEMPLATE_WORDS = 4;

/** The number of the scope `EVM` in every snapshot. */
export const SCOPE_EVM = 0;

export const ENVIRONMENT_FILE = 'labels.mdb';
/** How many bytes the environment had when it was finished: a map of a file cut short ends the process, not the call. */
export const SIZE_FILE = 'labels.size';

export const VALUE_KEYS = {
  meta: Buffer.from('meta'),
  records: Buffer.from('records'),
  lookup: Buffer.from('lookup'),
  texts: Buffer.from('texts'),
} as const;

/**
 * Every snapshot is mapped with this size, whatever its own: lmdb-js remembers the views it made by their address, and an
 * address that is mapped again by a later snapshot is right only if the size is the same. Addresses cost nothing; it is the
 * most that one of its buffers spans.
 */
export const MAP_BYTES = 0xf0000000;

export interface SnapshotLayout {
  readonly addresses: number;
  /** See LABEL_FIELDS; absent from snapshots of the first set. */
  readonly labelFields?: number;
  /** log2 of the number of buckets. */
  readonly bucketBits: number;
  readonly overflowWords: number;
  readonly filter: FilterShape;
  readonly templates: number;
  /** Where the table of values that templates share begins in `texts`, in bytes, and how many there are. */
  readonly sharedAt: number;
  readonly shared: number;
  /** What the scope numbers, category numbers and source numbers mean. */
  readonly scopes: readonly LabelScope[];
  readonly categories: readonly Category[];
  readonly sourceIds: readonly string[];
  /** SHA-256 of the three large values, hex. */
  readonly sha256: { readonly records: string; readonly lookup: string; readonly texts: string };
}

/** The checksum of a whole snapshot: of its values, and of the designations in its meta if it has any. */
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
