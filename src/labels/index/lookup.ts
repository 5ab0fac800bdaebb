/** Directory and filter of the records of a snapshot. Both depend on the slots alone, not on the labels. */
import type { BuildThread } from './build-thread.ts';
import { type Filter, firstUses, slotPlace } from './filter.ts';
import { RECORD_WORDS } from './format.ts';
import { SLOT_WORDS } from './slot.ts';
import type { Pause } from './sort-records.ts';

/** Average addresses per bucket: one more cache line for the directory costs less than comparing a second record. */
const BUCKET_LOAD = 1.5;

export interface BuiltLookup {
  readonly addresses: number;
  /** log2 of the number of buckets. */
  readonly bucketBits: number;
  readonly directory: Uint32Array<ArrayBuffer>;
  /** Null if the first attempt failed: the records decide the next ones. */
  readonly filter: Promise<Filter | null>;
}

/**
 * Builds the directory and the filter of the first `labels` records, which are sorted by place hash and slot: an address with several labels
 * has several records in a row, and counts once. So both can be built before the labels are merged; the thread computes the bytes of the
 * filter meanwhile.
 */
export async function buildLookup(
  records: Int32Array,
  labels: number,
  templates: Promise<unknown>,
  thread: BuildThread,
  pause: Pause,
): Promise<BuiltLookup> {
  await pause('filter', 0);
  const addresses = countAddresses(records, labels);
  const bucketBits = Math.min(Math.max(Math.ceil(Math.log2(addresses / BUCKET_LOAD)), 4), 26);
  const directory = directoryOf(records, labels, bucketBits);
  // The packing of the templates and the filter each need 100 MB and more: not at the same time.
  await templates;
  const uses = firstUses(records, RECORD_WORDS, labels, addresses);
  const filter = uses === null ? Promise.resolve(null) : thread.filter(uses);
  await pause('filter', labels);
  return { addresses, bucketBits, directory, filter };
}

/** Returns whether two records are of the same address. */
export function isSameSlot(records: Int32Array, first: number, second: number): boolean {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  for (let word = 0; word < SLOT_WORDS; word++)
    if (records[left + word] !== records[right + word]) return false;
  return true;
}

function countAddresses(records: Int32Array, labels: number): number {
  let addresses = Math.min(labels, 1);
  for (let record = 1; record < labels; record++) if (!isSameSlot(records, record - 1, record)) addresses++;
  return addresses;
}

function directoryOf(records: Int32Array, labels: number, bucketBits: number): Uint32Array<ArrayBuffer> {
  const directory = new Uint32Array((1 << bucketBits) + 1);
  for (let record = 0; record < labels; record++) {
    if (record > 0 && isSameSlot(records, record - 1, record)) continue;
    const bucket = slotPlace(records, record * RECORD_WORDS) >>> (32 - bucketBits);
    directory[bucket + 1] = (directory[bucket + 1] as number) + 1;
  }
  for (let bucket = 1; bucket < directory.length; bucket++)
    directory[bucket] = (directory[bucket] as number) + (directory[bucket - 1] as number);
  return directory;
}
