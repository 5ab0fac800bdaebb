/**
 * Sorts the records of all segments by place hash and merges equal labels. The records are first distributed to regions of the hash that fit
 * the cache of a processor, then each region is sorted on its own: scattered into all buckets at once, every record would miss the cache.
 */
import { AssayError } from '../../base/errors.ts';
import type { Label } from '../label.ts';
import { CATEGORIES } from '../taxonomy.ts';
import type { BuildPhase } from './build-types.ts';
import { slotPlace } from './filter.ts';
import {
  DAYS,
  FLAGS,
  FRAGMENT,
  MULTIPLE,
  RECORD_WORDS,
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  SYNTHETIC,
  TEMPLATE,
  TEMPLATE_WORDS,
} from './format.ts';
import { SEGMENT_RECORD_WORDS, type SegmentPart } from './segment.ts';
import { SLOT_WORDS } from './slot.ts';
import type { BuiltTemplates } from './template-build.ts';
import { TemplateDecoder } from './template-decoder.ts';
import type { EncodedTemplates } from './template-table.ts';
import { SCOPES } from './template-text.ts';

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
      for (let at = 0, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
        const region = topBits(slotPlace(words, at), bits);
        starts[region + 1] = (starts[region + 1] as number) + 1;
      }
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
      done += count;
      if (done % PAUSE_EVERY === 0) await pause('sort', done);
    }
    firstTemplate += segment.templates;
  }
  return records;
}

/** Sorts the records of one region at a time into memory that is reused. */
class RegionSorter {
  /** The records of the region in order. */
  readonly sorted: Int32Array;
  readonly #ends: Uint32Array;
  readonly #held = new Int32Array(RECORD_WORDS);
  readonly #regionBits: number;
  readonly #numbers: Int32Array;

  constructor(labelsMax: number, regionBits: number, numbers: Int32Array) {
    this.sorted = new Int32Array(labelsMax * RECORD_WORDS);
    this.#ends = new Uint32Array((1 << RegionSorter.#bucketBits(labelsMax)) + 1);
    this.#regionBits = regionBits;
    this.#numbers = numbers;
  }

  static #bucketBits(labels: number): number {
    return Math.min(Math.max(Math.ceil(Math.log2(labels / SORT_LOAD)), 1), 20);
  }

  /** Copies the records [start, end) to `sorted`, ordered by place hash, slot, template and days, with the numbers of their templates. */
  sort(records: Int32Array, start: number, end: number): void {
    const { sorted } = this;
    const bits = RegionSorter.#bucketBits(end - start);
    const shift = 32 - bits;
    const regionBits = this.#regionBits;
    const numbers = this.#numbers;
    const next = this.#ends;
    const buckets = 1 << bits;
    next.fill(0, 0, buckets + 1);
    for (let at = start * RECORD_WORDS + PLACE; at < end * RECORD_WORDS; at += RECORD_WORDS) {
      const bucket = ((records[at] as number) << regionBits) >>> shift;
      next[bucket + 1] = (next[bucket + 1] as number) + 1;
    }
    for (let bucket = 1; bucket < buckets; bucket++)
      next[bucket] = (next[bucket] as number) + (next[bucket - 1] as number);
    for (let at = start * RECORD_WORDS; at < end * RECORD_WORDS; at += RECORD_WORDS) {
      const place = records[at + PLACE] as number;
      const bucket = (place << regionBits) >>> shift;
      const record = next[bucket] as number;
      next[bucket] = record + 1;
      const to = record * RECORD_WORDS;
      for (let word = 0; word < SLOT_WORDS; word++) sorted[to + word] = records[at + word] as number;
      sorted[to + TEMPLATE] = numbers[records[at + TEMPLATE] as number] as number;
      sorted[to + DAYS] = records[at + DAYS] as number;
      sorted[to + PLACE] = place;
    }
    // Each bucket now ends where `next` points to, and begins where the one before it ends.
    for (let bucket = 0, from = 0; bucket < buckets; bucket++) {
      const to = next[bucket] as number;
      if (to - from > 1) sortBucket(sorted, from, to, this.#held);
      from = to;
    }
  }
}

export interface Merged {
  addresses: number;
  readonly overflow: Int32Array<ArrayBuffer>;
  /** Labels of each template; the same label of an address counts once. */
  readonly labelsOfTemplate: Uint32Array;
  realAddresses: number;
}

/**
 * Gives the templates their numbers in the snapshot, sorts each region by place hash, slot and template, and merges equal labels. It moves
 * the labels of addresses with several labels to the overflow area in the order of `compareLabels`, and closes the gaps: `records` becomes
 * that of the snapshot.
 */
export async function mergeRegions(
  records: Int32Array,
  starts: Uint32Array,
  { encoded, count, numbers }: BuiltTemplates,
  compareLabels: (a: Label, b: Label) => number,
  pause: Pause,
): Promise<Merged> {
  const { table } = encoded;
  const labelsOfTemplate = new Uint32Array(count);
  const ranked = rankBy(compareLabels, encoded);
  const regions = starts.length - 1;
  const sizes = Array.from(
    { length: regions },
    (_, region) => (starts[region + 1] as number) - (starts[region] as number),
  );
  const sorter = new RegionSorter(Math.max(...sizes), Math.log2(regions), numbers);
  const { sorted } = sorter;
  let overflow = new Int32Array(1024);
  let overflowEnd = 0;
  let out = 0;
  let realAddresses = 0;
  let paused = 0;
  await pause('sort', paused);
  for (let region = 0; region < regions; region++) {
    const start = starts[region] as number;
    const labels = sizes[region] as number;
    sorter.sort(records, start, start + labels);
    for (let from = 0; from < labels; ) {
      let same = from + 1;
      while (same < labels && sameSlot(sorted, from, same)) same++;
      const at = from * RECORD_WORDS;
      const to = out * RECORD_WORDS;
      const kept = same - from === 1 ? 1 : mergeEqualLabels(sorted, from, same);
      for (let word = 0; word < SLOT_WORDS; word++) records[to + word] = sorted[at + word] as number;
      if (kept === 1) {
        const template = sorted[at + TEMPLATE] as number;
        const flags = table[template * TEMPLATE_WORDS + 3] as number;
        labelsOfTemplate[template] = (labelsOfTemplate[template] as number) + 1;
        if ((flags & SYNTHETIC) === 0) realAddresses++;
        records[to + TEMPLATE] = template;
        records[to + DAYS] = sorted[at + DAYS] as number;
        records[to + FLAGS] = flags;
        records[to + FRAGMENT] = table[template * TEMPLATE_WORDS] as number;
      } else {
        if (overflowEnd + 1 + 2 * kept > overflow.length) {
          const larger = new Int32Array((overflow.length + kept) * 2);
          larger.set(overflow);
          overflow = larger;
        }
        const order = ranked(sorted, from, kept);
        const position = overflowEnd;
        overflow[overflowEnd++] = kept;
        let flags = MULTIPLE | SYNTHETIC;
        for (const index of order) {
          const label = index * RECORD_WORDS;
          const template = sorted[label + TEMPLATE] as number;
          const templateFlags = table[template * TEMPLATE_WORDS + 3] as number;
          labelsOfTemplate[template] = (labelsOfTemplate[template] as number) + 1;
          flags |= templateFlags & (SANCTIONED | SANCTIONED_SOMEWHERE);
          if ((templateFlags & SYNTHETIC) === 0) flags &= ~SYNTHETIC;
          overflow[overflowEnd++] = template;
          overflow[overflowEnd++] = sorted[label + DAYS] as number;
        }
        if ((flags & SYNTHETIC) === 0) realAddresses++;
        records[to + TEMPLATE] = position;
        records[to + DAYS] = 0;
        records[to + FLAGS] = flags;
        records[to + FRAGMENT] = 0;
      }
      out++;
      from = same;
    }
    if (start + labels - paused < PAUSE_EVERY) continue;
    paused = start + labels;
    await pause('sort', paused);
  }
  return { addresses: out, overflow: overflow.slice(0, overflowEnd), labelsOfTemplate, realAddresses };
}

/**
 * Sorts records [start, end) by place hash, slot, template and days. Insertion sort, because a bucket holds one or two records. The hash
 * comes first, so that the order of all records is the same for any number of buckets.
 */
function sortBucket(records: Int32Array, start: number, end: number, held: Int32Array): void {
  if (end - start > 64) {
    sortLargeBucket(records, start, end);
    return;
  }
  for (let index = start + 1; index < end; index++) {
    let place = index;
    while (place > start && compareRecords(records, place - 1, records, index) > 0) place--;
    if (place === index) continue;
    const at = index * RECORD_WORDS;
    for (let word = 0; word < RECORD_WORDS; word++) held[word] = records[at + word] as number;
    records.copyWithin((place + 1) * RECORD_WORDS, place * RECORD_WORDS, at);
    records.set(held, place * RECORD_WORDS);
  }
}

/** For one address with thousands of labels, or an input made to collide: insertion sort would take quadratic time. */
function sortLargeBucket(records: Int32Array, start: number, end: number): void {
  const copy = records.slice(start * RECORD_WORDS, end * RECORD_WORDS);
  const order = Array.from({ length: end - start }, (_, index) => index);
  order.sort((a, b) => compareRecords(copy, a, copy, b));
  for (const [place, index] of order.entries()) {
    records.set(
      copy.subarray(index * RECORD_WORDS, (index + 1) * RECORD_WORDS),
      (start + place) * RECORD_WORDS,
    );
  }
}

function compareRecords(a: Int32Array, first: number, b: Int32Array, second: number): number {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  const order = ((a[left + PLACE] as number) >>> 0) - ((b[right + PLACE] as number) >>> 0);
  if (order !== 0) return order;
  for (let word = 0; word < PLACE; word++) {
    const difference = (a[left + word] as number) - (b[right + word] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

function sameSlot(records: Int32Array, first: number, second: number): boolean {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  for (let word = 0; word < SLOT_WORDS; word++)
    if (records[left + word] !== records[right + word]) return false;
  return true;
}

/**
 * Merges each run of equal templates in [from, to) into one label: earliest first day, latest last day. Returns the number of labels left.
 */
function mergeEqualLabels(records: Int32Array, from: number, to: number): number {
  let kept = 1;
  for (let index = from + 1; index < to; index++) {
    const at = index * RECORD_WORDS;
    const last = (from + kept - 1) * RECORD_WORDS;
    if (records[at + TEMPLATE] === records[last + TEMPLATE]) {
      records[last + DAYS] = mergeDays(records[last + DAYS] as number, records[at + DAYS] as number);
      continue;
    }
    const place = (from + kept) * RECORD_WORDS;
    records[place + TEMPLATE] = records[at + TEMPLATE] as number;
    records[place + DAYS] = records[at + DAYS] as number;
    kept++;
  }
  return kept;
}

function mergeDays(a: number, b: number): number {
  const firstA = a & 0xffff;
  const firstB = b & 0xffff;
  const first = firstA === 0 ? firstB : firstB === 0 ? firstA : Math.min(firstA, firstB);
  return first | (Math.max(a >>> 16, b >>> 16) << 16);
}

/** Returns a function that orders the records [from, from + count) of one address, best label first. */
function rankBy(
  compareLabels: (a: Label, b: Label) => number,
  { bytes, sharedAt, sourceIds }: EncodedTemplates,
): (records: Int32Array, from: number, count: number) => number[] {
  const layout = { sharedAt, sourceIds, scopes: SCOPES, categories: CATEGORIES };
  const decoder = new TemplateDecoder(bytes, layout);
  return (records, from, count) => {
    const labels = Array.from({ length: count }, (_, index) => {
      const at = (from + index) * RECORD_WORDS;
      const id = records[at + TEMPLATE] as number;
      return { index: from + index, id, label: decoder.label(id, records[at + DAYS] as number) };
    });
    // Template ids are in the order of their texts, so content breaks a tie.
    labels.sort((a, b) => compareLabels(a.label, b.label) || a.id - b.id);
    return labels.map((entry) => entry.index);
  };
}
