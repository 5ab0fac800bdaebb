/**
 * Look-ups of many keys in stages: hash all keys of a block, test the filter for all, read the directory for all, then the records. A single
 * look-up waits for memory three times, each time for an address that the read before it gave. Inside a stage the reads do not depend on
 * each other, so the processor has several of them under way at once.
 */
import { fingerprint, firstPosition } from './filter.ts';
import { RECORD_WORDS } from './format.ts';
import { NOT_LABELLED } from './reader.ts';
import { filterHash, placeHash, SLOT_WORDS, writeSlot } from './slot.ts';

/** What a look-up reads of one partition. */
export interface SearchedPart {
  readonly records: Int32Array;
  readonly directory: Int32Array;
  readonly filter: Uint8Array;
  /** 32 minus log2 of the number of buckets. */
  readonly bucketShift: number;
  readonly segmentBits: number;
  readonly filterSpan: number;
  readonly hasFilter: boolean;
}

/**
 * Keys of one block: enough that the start and the end of a stage cost little, and few enough that the values between the stages (44 bytes a
 * key) and the lines that were read ahead stay in the caches of the core.
 */
const BLOCK_KEYS = 256;

// The values between the stages. Look-ups are synchronous, so all readers of a thread share them.
const slots = new Int32Array(BLOCK_KEYS * SLOT_WORDS);
const places = new Int32Array(BLOCK_KEYS);
const seconds = new Int32Array(BLOCK_KEYS);
/** Position of a hashed key in the caller's arrays. */
const items = new Int32Array(BLOCK_KEYS);
/** The hashed keys that pass the filter, and the records of their buckets. */
const passed = new Int32Array(BLOCK_KEYS);
const firsts = new Int32Array(BLOCK_KEYS);
const ends = new Int32Array(BLOCK_KEYS);
/** Receives a value that depends on every read ahead, so that the compiler keeps the reads. */
const readAhead = new Int32Array(1);

/**
 * Does the work of `LabelReader.findMany`.
 *
 * @param parts - all partitions, a power of two; a key belongs to the one with the number in the lowest bits of its place hash
 */
export function findInParts(
  parts: readonly SearchedPart[],
  keys: Uint8Array,
  offsets: Int32Array,
  lengths: Int32Array,
  count: number,
  handles: Float64Array,
): void {
  for (let from = 0; from < count; from += BLOCK_KEYS) {
    const hashed = hashKeys(keys, offsets, lengths, from, Math.min(count, from + BLOCK_KEYS), handles);
    const left = testFilters(parts, hashed);
    readDirectories(parts, left);
    readRecordsAhead(parts, left);
    compareRecords(parts, left, handles);
  }
}

/** Writes slots and hashes, and NOT_LABELLED for every key. Returns the number of keys that are not too short. */
function hashKeys(
  keys: Uint8Array,
  offsets: Int32Array,
  lengths: Int32Array,
  from: number,
  to: number,
  handles: Float64Array,
): number {
  let hashed = 0;
  for (let item = from; item < to; item++) {
    handles[item] = NOT_LABELLED;
    const length = lengths[item] as number;
    if (length < 2) continue;
    const at = hashed * SLOT_WORDS;
    writeSlot(keys, offsets[item] as number, length, slots, at);
    const a = slots[at] as number;
    const b = slots[at + 1] as number;
    const c = slots[at + 2] as number;
    const d = slots[at + 3] as number;
    const e = slots[at + 4] as number;
    const f = slots[at + 5] as number;
    places[hashed] = placeHash(a, b, c, d, e, f);
    seconds[hashed] = filterHash(a, b, c, d, e, f);
    items[hashed] = item;
    hashed++;
  }
  return hashed;
}

/** Collects the keys that pass the filter of their partition in `passed`. Returns their number. */
function testFilters(parts: readonly SearchedPart[], hashed: number): number {
  const mask = parts.length - 1;
  let left = 0;
  for (let key = 0; key < hashed; key++) {
    const place = places[key] as number;
    const { filter, segmentBits, filterSpan, hasFilter } = parts[place & mask] as SearchedPart;
    passed[left] = key;
    if (!hasFilter) {
      left++;
      continue;
    }
    const second = seconds[key] as number;
    const segment = 1 << segmentBits;
    const first = firstPosition(place, filterSpan);
    const middle = (first + segment) ^ (second & (segment - 1));
    const last = (first + 2 * segment) ^ ((second >>> segmentBits) & (segment - 1));
    const found = (filter[first] as number) ^ (filter[middle] as number) ^ (filter[last] as number);
    // Adds 1 if the bytes are equal, without a branch: a wrongly predicted one would end the reads that are under way.
    left += ((found ^ (fingerprint(place, second) & 0xff)) - 1) >>> 31;
  }
  return left;
}

function readDirectories(parts: readonly SearchedPart[], left: number): void {
  const mask = parts.length - 1;
  for (let index = 0; index < left; index++) {
    const place = places[passed[index] as number] as number;
    const { directory, bucketShift } = parts[place & mask] as SearchedPart;
    const bucket = place >>> bucketShift;
    firsts[index] = directory[bucket] as number;
    ends[index] = directory[bucket + 1] as number;
  }
}

/** Reads one word of the first and of the last record of every bucket, which brings most of the bucket into the cache. */
function readRecordsAhead(parts: readonly SearchedPart[], left: number): void {
  const mask = parts.length - 1;
  let read = 0;
  for (let index = 0; index < left; index++) {
    const first = firsts[index] as number;
    const end = ends[index] as number;
    if (first === end) continue;
    const { records } = parts[(places[passed[index] as number] as number) & mask] as SearchedPart;
    read ^= (records[first * RECORD_WORDS] as number) ^ (records[end * RECORD_WORDS - 1] as number);
  }
  readAhead[0] = read;
}

function compareRecords(parts: readonly SearchedPart[], left: number, handles: Float64Array): void {
  const mask = parts.length - 1;
  for (let index = 0; index < left; index++) {
    const key = passed[index] as number;
    const part = (places[key] as number) & mask;
    const { records } = parts[part] as SearchedPart;
    const end = ends[index] as number;
    const slot = key * SLOT_WORDS;
    for (let record = firsts[index] as number; record < end; record++) {
      const at = record * RECORD_WORDS;
      if (
        records[at + 1] === slots[slot + 1] &&
        records[at + 2] === slots[slot + 2] &&
        records[at + 3] === slots[slot + 3] &&
        records[at + 4] === slots[slot + 4] &&
        records[at + 5] === slots[slot + 5] &&
        records[at] === slots[slot]
      ) {
        handles[items[key] as number] = record * parts.length + part;
        break;
      }
    }
  }
}
