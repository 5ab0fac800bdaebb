/**
 * Sorts the records of all segments by place hash and slot. The records are first distributed to regions of the hash that fit
 * the cache of a processor, then each region is sorted on its own: writing each record to one of all buckets at once would miss the cache.
 */
import { AssayError } from '../../base/errors.ts';
import type { BuildPhase } from './build-types.ts';
import { slotPlace } from './filter.ts';
import { DAYS, FLAGS, RECORD_WORDS, TEMPLATE } from './format.ts';
import { SEGMENT_RECORD_WORDS, type SegmentPart } from './segment.ts';
import { SLOT_WORDS } from './slot.ts';

/** Labels between two yields to the event loop and checks of the signal: about 20 ms of work. */
export const PAUSE_EVERY = 1 << 18;
/** Average labels of a region: 40 bytes each, in the second-level cache of one core. */
const REGION_LABELS = 8_192;
/** More regions would be more places of writing than a processor has translations of addresses for. */
const REGION_BITS_MAX = 11;
/** Average records per bucket while a region is sorted. */
const SORT_LOAD = 1.5;

/** The word of a record that holds its place hash until the labels are merged. */
const PLACE = FLAGS;

export type Pause = (phase: BuildPhase, done: number) => Promise<void>;

const regionBitsFor = (labels: number): number =>
  Math.min(Math.max(Math.ceil(Math.log2(labels / REGION_LABELS)), 0), REGION_BITS_MAX);

/** Returns the number in the top bits of a place hash. */
const topBits = (place: number, bits: number): number => (bits === 0 ? 0 : place >>> (32 - bits));

/** Marks the templates that records refer to. Throws STORE_CORRUPT if one does not exist. */
export function noteTemplates(words: Int32Array, count: number, used: Uint8Array, path: string): void {
  for (let at = SLOT_WORDS, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
    const template = words[at] as number;
    if (template >>> 0 >= used.length)
      throw new AssayError('STORE_CORRUPT', `${path} refers to a template that it does not have.`);
    used[template] = 1;
  }
}

export interface CountedRegions {
  /** First record of each region, and the end of the last. */
  readonly starts: Uint32Array;
  /** For each segment one byte per template: whether it has labels. */
  readonly used: readonly Uint8Array<ArrayBuffer>[];
}

/**
 * First pass: counts the records of each region and finds the templates with labels. Verifies the checksums of the segments.
 *
 * @throws STORE_CORRUPT
 */
export async function countRegions(
  segments: readonly SegmentPart[],
  total: number,
  pause: Pause,
): Promise<CountedRegions> {
  const bits = regionBitsFor(total);
  const starts = new Uint32Array((1 << bits) + 1);
  const used: Uint8Array<ArrayBuffer>[] = [];
  let done = 0;
  for (const segment of segments) {
    const usedHere = new Uint8Array(segment.templates);
    for (const [words, count] of segment.chunks()) {
      countRecords(words, count, bits, starts);
      noteTemplates(words, count, usedHere, 'A label segment');
      done += count;
      if (done % PAUSE_EVERY === 0) await pause('read', done);
    }
    used.push(usedHere);
  }
  for (let region = 1; region < starts.length; region++) {
    starts[region] = (starts[region] as number) + (starts[region - 1] as number);
  }
  return { starts, used };
}

// The loops over records are functions of their own: V8 runs an async function without its optimizing compiler after every `await`.

function countRecords(words: Int32Array, count: number, bits: number, starts: Uint32Array): void {
  for (let at = 0, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
    const region = topBits(slotPlace(words, at), bits);
    starts[region + 1] = (starts[region + 1] as number) + 1;
  }
}

/**
 * Second pass: writes every label into its region, with its place hash and the number of its template among the templates of all segments.
 *
 * @param starts - see CountedRegions
 */
export async function distribute(
  segments: readonly SegmentPart[],
  starts: Uint32Array,
  total: number,
  pause: Pause,
): Promise<Int32Array<ArrayBuffer>> {
  const records = new Int32Array(total * RECORD_WORDS);
  const bits = regionBitsFor(total);
  const next = starts.slice();
  let done = 0;
  let firstTemplate = 0;
  for (const segment of segments) {
    for (const [words, count] of segment.chunks()) {
      distributeRecords(words, count, bits, firstTemplate, next, records);
      done += count;
      if (done % PAUSE_EVERY === 0) await pause('sort', done);
    }
    firstTemplate += segment.templates;
  }
  return records;
}

function distributeRecords(
  words: Int32Array,
  count: number,
  bits: number,
  firstTemplate: number,
  next: Uint32Array,
  records: Int32Array,
): void {
  for (let at = 0, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
    const place = slotPlace(words, at);
    const region = topBits(place, bits);
    const record = next[region] as number;
    next[region] = record + 1;
    const to = record * RECORD_WORDS;
    records[to] = words[at] as number;
    records[to + 1] = words[at + 1] as number;
    records[to + 2] = words[at + 2] as number;
    records[to + 3] = words[at + 3] as number;
    records[to + 4] = words[at + 4] as number;
    records[to + 5] = words[at + 5] as number;
    records[to + TEMPLATE] = firstTemplate + (words[at + SLOT_WORDS] as number);
    records[to + DAYS] = words[at + SLOT_WORDS + 1] as number;
    records[to + PLACE] = place;
  }
}

/**
 * Sorts each region by place hash and slot. The order does not depend on the templates, so it is made while they are built.
 *
 * @param starts - see CountedRegions
 */
export async function sortRegions(records: Int32Array, starts: Uint32Array, pause: Pause): Promise<void> {
  const regions = starts.length - 1;
  const regionBits = Math.log2(regions);
  let labelsMax = 0;
  for (let region = 0; region < regions; region++)
    labelsMax = Math.max(labelsMax, (starts[region + 1] as number) - (starts[region] as number));
  const sorted = new Int32Array(labelsMax * RECORD_WORDS);
  const next = new Uint32Array((1 << bucketBitsFor(labelsMax)) + 1);
  let paused = 0;
  for (let region = 0; region < regions; region++) {
    const start = starts[region] as number;
    const end = starts[region + 1] as number;
    sortRegion(records, start, end, regionBits, sorted, next);
    if (end - paused < PAUSE_EVERY) continue;
    paused = end;
    await pause('sort', paused);
  }
}

const bucketBitsFor = (labels: number): number =>
  Math.min(Math.max(Math.ceil(Math.log2(labels / SORT_LOAD)), 1), 20);

/** Sorts the records [start, end) of a region through `sorted`. `next` has a word for each bucket, and one more. */
function sortRegion(
  records: Int32Array,
  start: number,
  end: number,
  regionBits: number,
  sorted: Int32Array,
  next: Uint32Array,
): void {
  const bits = bucketBitsFor(end - start);
  const shift = 32 - bits;
  const buckets = 1 << bits;
  next.fill(0, 0, buckets + 1);
  for (let at = start * RECORD_WORDS + PLACE; at < end * RECORD_WORDS; at += RECORD_WORDS) {
    const bucket = ((records[at] as number) << regionBits) >>> shift;
    next[bucket + 1] = (next[bucket + 1] as number) + 1;
  }
  for (let bucket = 1; bucket < buckets; bucket++)
    next[bucket] = (next[bucket] as number) + (next[bucket - 1] as number);
  for (let at = start * RECORD_WORDS; at < end * RECORD_WORDS; at += RECORD_WORDS) {
    const bucket = ((records[at + PLACE] as number) << regionBits) >>> shift;
    const record = next[bucket] as number;
    next[bucket] = record + 1;
    const to = record * RECORD_WORDS;
    for (let word = 0; word <= PLACE; word++) sorted[to + word] = records[at + word] as number;
  }
  // Each bucket now ends where `next` points to, and begins where the one before it ends.
  for (let bucket = 0, from = 0; bucket < buckets; bucket++) {
    const to = next[bucket] as number;
    if (to - from > 1) sortBucket(sorted, from, to, comparePlaces);
    from = to;
  }
  records.set(sorted.subarray(0, (end - start) * RECORD_WORDS), start * RECORD_WORDS);
}

/** Negative if record `first` of `a` comes before record `second` of `b`. */
export type CompareRecords = (a: Int32Array, first: number, b: Int32Array, second: number) => number;

/**
 * By place hash and slot. The hash comes first, so that the order of all records is the same for any number of regions and buckets.
 */
const comparePlaces: CompareRecords = (a, first, b, second) => {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  const order = ((a[left + PLACE] as number) >>> 0) - ((b[right + PLACE] as number) >>> 0);
  return order !== 0 ? order : compareWords(a, left, b, right, 0, SLOT_WORDS);
};

/** Compares the words [from, to) of two records, which begin at `left` and `right`. */
export function compareWords(
  a: Int32Array,
  left: number,
  b: Int32Array,
  right: number,
  from: number,
  to: number,
): number {
  for (let word = from; word < to; word++) {
    const difference = (a[left + word] as number) - (b[right + word] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

const held = new Int32Array(RECORD_WORDS);

/** Sorts records [start, end). Insertion sort, because a bucket holds one or two records. */
export function sortBucket(records: Int32Array, start: number, end: number, compare: CompareRecords): void {
  if (end - start > 64) {
    sortLargeBucket(records, start, end, compare);
    return;
  }
  for (let index = start + 1; index < end; index++) {
    let place = index;
    while (place > start && compare(records, place - 1, records, index) > 0) place--;
    if (place === index) continue;
    const at = index * RECORD_WORDS;
    for (let word = 0; word < RECORD_WORDS; word++) held[word] = records[at + word] as number;
    records.copyWithin((place + 1) * RECORD_WORDS, place * RECORD_WORDS, at);
    records.set(held, place * RECORD_WORDS);
  }
}

/** For one address with thousands of labels, or an input made to collide: insertion sort would take quadratic time. */
function sortLargeBucket(records: Int32Array, start: number, end: number, compare: CompareRecords): void {
  const copy = records.slice(start * RECORD_WORDS, end * RECORD_WORDS);
  const order = Array.from({ length: end - start }, (_, index) => index);
  order.sort((a, b) => compare(copy, a, copy, b));
  for (const [place, index] of order.entries()) {
    records.set(
      copy.subarray(index * RECORD_WORDS, (index + 1) * RECORD_WORDS),
      (start + place) * RECORD_WORDS,
    );
  }
}
