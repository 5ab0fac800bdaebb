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
 * Keys of one block: enough that the start and the end of a stage cost little, and few enough that the values between the stages (56 bytes a
 * key) and the lines that were read ahead stay in the caches of the core.
 */
const BLOCK_KEYS = 256;
/** Length of a key with a payload of 20 bytes: a slot without its last two bytes. */
const COMMON_KEY = 22;

// The values between the stages. Look-ups are synchronous, so all readers of a thread share them.
const slots = new Int32Array(BLOCK_KEYS * SLOT_WORDS);
const places = new Int32Array(BLOCK_KEYS);
const seconds = new Int32Array(BLOCK_KEYS);
/** Position of a hashed key in the caller's arrays. */
const items = new Int32Array(BLOCK_KEYS);
/** The hashed keys in the order of their partitions, and where each partition ends; the keys as they are, if there is one only. */
const grouped = new Int32Array(BLOCK_KEYS);
const ungrouped = Int32Array.from({ length: BLOCK_KEYS }, (_, key) => key);
const groupEnds: number[] = [];
/** By place in that order: 0 if the key passes the filter. */
const differences = new Int32Array(BLOCK_KEYS);
/** The keys that pass the filter, in the same order, and the records of their buckets. */
const passed = new Int32Array(BLOCK_KEYS);
const passedEnds: number[] = [];
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
  const view = new DataView(keys.buffer, keys.byteOffset, keys.length);
  for (let from = 0; from < count; from += BLOCK_KEYS) {
    const to = Math.min(count, from + BLOCK_KEYS);
    const hashed = hashKeys(keys, view, offsets, lengths, from, to, handles);
    const order = groupKeys(parts.length, hashed);
    let left = 0;
    for (let part = 0, start = 0; part < parts.length; part++) {
      const end = groupEnds[part] as number;
      left = testFilter(parts[part] as SearchedPart, order, start, end, left);
      passedEnds[part] = left;
      start = end;
    }
    eachPart(parts, readDirectory);
    eachPart(parts, readRecordsAhead);
    for (let part = 0, start = 0; part < parts.length; part++) {
      const end = passedEnds[part] as number;
      compareRecords(parts[part] as SearchedPart, start, end, handles, parts.length, part);
      start = end;
    }
  }
}

/** Runs a stage over the keys of each partition that passed its filter. */
function eachPart(
  parts: readonly SearchedPart[],
  stage: (part: SearchedPart, from: number, to: number) => void,
): void {
  for (let part = 0, from = 0; part < parts.length; part++) {
    const to = passedEnds[part] as number;
    stage(parts[part] as SearchedPart, from, to);
    from = to;
  }
}

/** Writes slots and hashes, and NOT_LABELLED for every key. Returns the number of keys that are not too short. */
function hashKeys(
  keys: Uint8Array,
  view: DataView,
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
    const offset = offsets[item] as number;
    const at = hashed * SLOT_WORDS;
    if (length === COMMON_KEY) {
      slots[at] = view.getInt32(offset, true);
      slots[at + 1] = view.getInt32(offset + 4, true);
      slots[at + 2] = view.getInt32(offset + 8, true);
      slots[at + 3] = view.getInt32(offset + 12, true);
      slots[at + 4] = view.getInt32(offset + 16, true);
      slots[at + 5] = view.getUint16(offset + 20, true);
    } else writeSlot(keys, offset, length, slots, at);
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

/** Returns the hashed keys in the order of their partitions, and sets `groupEnds`. */
function groupKeys(parts: number, hashed: number): Int32Array {
  if (parts === 1) {
    groupEnds[0] = hashed;
    return ungrouped;
  }
  const mask = parts - 1;
  for (let part = 0; part < parts; part++) groupEnds[part] = 0;
  for (let key = 0; key < hashed; key++) {
    const part = (places[key] as number) & mask;
    groupEnds[part] = (groupEnds[part] as number) + 1;
  }
  // From the number of keys to the start of each partition, which becomes its end while its keys are added.
  for (let part = 0, start = 0; part < parts; part++) {
    const keys = groupEnds[part] as number;
    groupEnds[part] = start;
    start += keys;
  }
  for (let key = 0; key < hashed; key++) {
    const part = (places[key] as number) & mask;
    const at = groupEnds[part] as number;
    grouped[at] = key;
    groupEnds[part] = at + 1;
  }
  return grouped;
}

/** Adds those of the keys `order[from, to)` that pass the filter to `passed[left…]`. Returns the new number of them. */
function testFilter(part: SearchedPart, order: Int32Array, from: number, to: number, left: number): number {
  const { filter, segmentBits, filterSpan, hasFilter } = part;
  const segment = 1 << segmentBits;
  if (!hasFilter) differences.fill(0, from, to);
  else
    for (let index = from; index < to; index++) {
      const key = order[index] as number;
      const place = places[key] as number;
      const second = seconds[key] as number;
      const first = firstPosition(place, filterSpan);
      const middle = (first + segment) ^ (second & (segment - 1));
      const last = (first + 2 * segment) ^ ((second >>> segmentBits) & (segment - 1));
      const found = (filter[first] as number) ^ (filter[middle] as number) ^ (filter[last] as number);
      differences[index] = found ^ (fingerprint(place, second) & 0xff);
    }
  // A loop of its own, without a branch: a place in `passed` that depends on the bytes of the filter, or a wrong prediction, would hold up the
  // reads of the following keys.
  let end = left;
  for (let index = from; index < to; index++) {
    passed[end] = order[index] as number;
    end += ((differences[index] as number) - 1) >>> 31;
  }
  return end;
}

function readDirectory({ directory, bucketShift }: SearchedPart, from: number, to: number): void {
  for (let index = from; index < to; index++) {
    const bucket = (places[passed[index] as number] as number) >>> bucketShift;
    firsts[index] = directory[bucket] as number;
    ends[index] = directory[bucket + 1] as number;
  }
}

/** Reads one word of the first and of the last record of every bucket, which brings most of the bucket into the cache. */
function readRecordsAhead({ records }: SearchedPart, from: number, to: number): void {
  let read = 0;
  for (let index = from; index < to; index++) {
    const first = firsts[index] as number;
    const end = ends[index] as number;
    if (first === end) continue;
    read ^= (records[first * RECORD_WORDS] as number) ^ (records[end * RECORD_WORDS - 1] as number);
  }
  readAhead[0] = read;
}

function compareRecords(
  { records }: SearchedPart,
  from: number,
  to: number,
  handles: Float64Array,
  parts: number,
  part: number,
): void {
  for (let index = from; index < to; index++) {
    const key = passed[index] as number;
    const end = ends[index] as number;
    const slot = key * SLOT_WORDS;
    const b = slots[slot + 1] as number;
    for (let record = firsts[index] as number; record < end; record++) {
      const at = record * RECORD_WORDS;
      if (
        records[at + 1] === b &&
        records[at + 2] === slots[slot + 2] &&
        records[at + 3] === slots[slot + 3] &&
        records[at + 4] === slots[slot + 4] &&
        records[at + 5] === slots[slot + 5] &&
        records[at] === slots[slot]
      ) {
        handles[items[key] as number] = record * parts + part;
        break;
      }
    }
  }
}
