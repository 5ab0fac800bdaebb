/** Sorted runs of a bulk load on disk: fixed records of 32-bit words, written once, then read once in order. */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';

/** Words per half of a transfer, which is the view of one side. The constants below are their positions. */
export const HALF_WORDS = 11;
/** Node and direction: id * 2 + direction. The first word, by which runs are sorted. */
export const HALF_NODE = 0;
export const HALF_COUNTERPARTY = 1;
export const HALF_ASSET = 2;
/** Number of the transfer in its load. */
export const HALF_INDEX = 3;
/** Milliseconds since the epoch: low word, then 16 bits. The flags are in the bits above. */
export const HALF_TIME = 4;
/** Cents, low and high word. */
export const HALF_CENTS = 6;
/** Amount, lowest word first. */
export const HALF_AMOUNT = 8;

export const FLAG_PRICED = 1 << 16;
/** The amount needs more than 96 bits, and is in the log. */
export const FLAG_LARGE = 1 << 17;

/** Words of a transaction's position: fingerprint (3), number in the load, mark (2), from, to. */
export const MARK_WORDS = 8;

/** Returns the path of a file of one run. A run of an older program has `log` instead of `values` (run-log.ts). */
export const runFile = (folder: string, run: number, kind: 'halves' | 'marks' | 'values' | 'log'): string =>
  `${folder}/${run}.${kind}`;

/** Copies a record of `HALF_WORDS` or `MARK_WORDS`. Eight words without a loop take half of the time. */
export function copyRecord(
  from: Uint32Array,
  at: number,
  to: Uint32Array,
  place: number,
  words: number,
): void {
  to[place] = from[at] as number;
  to[place + 1] = from[at + 1] as number;
  to[place + 2] = from[at + 2] as number;
  to[place + 3] = from[at + 3] as number;
  to[place + 4] = from[at + 4] as number;
  to[place + 5] = from[at + 5] as number;
  to[place + 6] = from[at + 6] as number;
  to[place + 7] = from[at + 7] as number;
  for (let word = 8; word < words; word++) to[place + word] = from[at + word] as number;
}

/** Writes the records at the places in `order`, in that order, and makes them durable. */
export function writeRun(
  path: string,
  records: Uint32Array,
  words: number,
  order: Uint32Array,
  count: number,
): void {
  const file = openSync(path, 'w');
  const out = new Uint32Array(words * 16_384);
  try {
    let filled = 0;
    for (let at = 0; at < count; at++) {
      copyRecord(records, (order[at] as number) * words, out, filled, words);
      filled += words;
      if (filled < out.length) continue;
      writeSync(file, new Uint8Array(out.buffer, 0, filled * 4));
      filled = 0;
    }
    if (filled > 0) writeSync(file, new Uint8Array(out.buffer, 0, filled * 4));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Orders records by one of their words: a stable radix sort, least significant digits first, 11 bits per pass.
 *
 * @returns the array that holds the result, which is one of the two in `memory`
 */
export function radixOrder(
  records: Uint32Array,
  words: number,
  word: number,
  count: number,
  memory: { order: Uint32Array; spare: Uint32Array },
): Uint32Array {
  const keys = new Uint32Array(count);
  let greatest = 0;
  for (let at = 0; at < count; at++) {
    const key = records[at * words + word] as number;
    keys[at] = key;
    if (key > greatest) greatest = key;
  }
  let { order, spare } = memory;
  for (let at = 0; at < count; at++) order[at] = at;
  const counts = new Uint32Array(2048);
  for (let shift = 0; shift < 32 && greatest >= 2 ** shift; shift += 11) {
    counts.fill(0);
    for (let at = 0; at < count; at++) {
      const digit = ((keys[at] as number) >>> shift) & 2047;
      counts[digit] = (counts[digit] as number) + 1;
    }
    let sum = 0;
    for (let digit = 0; digit < 2048; digit++) {
      const own = counts[digit] as number;
      counts[digit] = sum;
      sum += own;
    }
    for (let at = 0; at < count; at++) {
      const place = order[at] as number;
      const digit = ((keys[place] as number) >>> shift) & 2047;
      const to = counts[digit] as number;
      counts[digit] = to + 1;
      spare[to] = place;
    }
    [order, spare] = [spare, order];
  }
  return order;
}

/**
 * Orders records that are in buckets by the highest bits of one of their words: stable, bucket by bucket, so that every move stays in the
 * cache of the processor.
 *
 * @param ends - end of each bucket
 * @param shift - number of the lower bits of the word, by which the records of a bucket are not ordered yet
 * @returns the array that holds the result, which is one of the two in `memory`
 */
export function orderInBuckets(
  records: Uint32Array,
  words: number,
  word: number,
  ends: Uint32Array,
  shift: number,
  memory: { order: Uint32Array; spare: Uint32Array },
): Uint32Array {
  let { order, spare } = memory;
  const count = ends[ends.length - 1] as number;
  for (let at = 0; at < count; at++) order[at] = at;
  const counts = new Uint32Array(4096);
  for (let low = 0; low < shift; low += 12) {
    const mask = 2 ** Math.min(12, shift - low) - 1;
    let start = 0;
    for (let bucket = 0; bucket < ends.length; bucket++) {
      const end = ends[bucket] as number;
      if (end === start) continue;
      counts.fill(0);
      for (let at = start; at < end; at++) {
        const digit = ((records[at * words + word] as number) >>> low) & mask;
        counts[digit] = (counts[digit] as number) + 1;
      }
      let sum = start;
      for (let digit = 0; digit <= mask; digit++) {
        const own = counts[digit] as number;
        counts[digit] = sum;
        sum += own;
      }
      for (let at = start; at < end; at++) {
        const place = order[at] as number;
        const digit = ((records[place * words + word] as number) >>> low) & mask;
        const to = counts[digit] as number;
        counts[digit] = to + 1;
        spare[to] = place;
      }
      start = end;
    }
    [order, spare] = [spare, order];
  }
  return order;
}

/** Buckets of a run that are distributed at once: their open lines of memory fit into the second cache of a processor. */
const BUCKET_BITS_MAX = 11;
/** A bucket then fits into the first cache. */
const BUCKET_RECORDS = 512;

/** Increments a counter and returns its previous value. */
export function tally(counts: Uint32Array, bucket: number): number {
  const before = counts[bucket] as number;
  counts[bucket] = before + 1;
  return before;
}

/** Highest bits of the sort key by which this many records are distributed. At least one, so that shifts stay below 32. */
export const bucketBits = (records: number): number =>
  Math.max(1, Math.min(BUCKET_BITS_MAX, Math.ceil(Math.log2(records / BUCKET_RECORDS))));

/** Replaces bucket sizes by their start positions. */
export function toStarts(counts: Uint32Array): void {
  let sum = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const own = counts[bucket] as number;
    counts[bucket] = sum;
    sum += own;
  }
}

/** Reads a run record by record. */
export class RunReader {
  readonly #file: number;
  readonly #words: number;
  readonly #buffer: Uint32Array;
  #filled = 0;
  /** Position of the current record in `words`. */
  at = 0;
  isAtEnd = false;

  constructor(path: string, words: number, bufferBytes: number) {
    this.#file = openSync(path, 'r');
    this.#words = words;
    this.#buffer = new Uint32Array(Math.max(64, Math.floor(bufferBytes / (words * 4))) * words);
    this.#fill();
  }

  get words(): Uint32Array {
    return this.#buffer;
  }

  /** End of the records in `words`. */
  get end(): number {
    return this.#filled;
  }

  next(): void {
    this.moveTo(this.at + this.#words);
  }

  /** Moves to a later record in `words`, or to its end. */
  moveTo(at: number): void {
    this.at = at;
    if (at >= this.#filled) this.#fill();
  }

  /** Skips the records with a first word below `from`. The records must be sorted by it. */
  skipTo(from: number): void {
    const words = this.#buffer;
    while (!this.isAtEnd) {
      let { at } = this;
      while (at < this.#filled && (words[at] as number) < from) at += this.#words;
      this.at = at;
      if (at < this.#filled) return;
      this.#fill();
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #fill(): void {
    const bytes = new Uint8Array(this.#buffer.buffer);
    let filled = 0;
    while (filled < bytes.length) {
      const read = readSync(this.#file, bytes, filled, bytes.length - filled, null);
      if (read === 0) break;
      filled += read;
    }
    this.#filled = filled / 4;
    this.at = 0;
    this.isAtEnd = filled === 0;
  }
}

/** Returns one word of every `step`-th record of a run, in their order, without the first record. */
export function sampleRun(path: string, words: number, word: number, step: number): number[] {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(4);
    const sample: number[] = [];
    for (let record = step; ; record += step) {
      if (readSync(file, bytes, 0, 4, (record * words + word) * 4) < 4) return sample;
      // As the machine orders the bytes of its words.
      sample.push(new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] as number);
    }
  } finally {
    closeSync(file);
  }
}

/** Memory of all readers of a pass. */
const READ_BYTES = 32 << 20;

/** Returns readers for the runs that are not empty. */
export function openRuns(paths: readonly string[], words: number): RunReader[] {
  const bytes = Math.min(1 << 20, Math.floor(READ_BYTES / Math.max(1, paths.length)));
  return paths
    .map((path) => new RunReader(path, words, bytes))
    .filter((reader) => {
      if (reader.isAtEnd) reader.close();
      return !reader.isAtEnd;
    });
}
