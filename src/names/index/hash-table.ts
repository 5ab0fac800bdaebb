/** Look-ups of positions by hash in a table of an index: ascending hashes, then the position of each. */
import { HASH_BITS } from './format.ts';

/**
 * Hashes are spread evenly over buckets, so that a look-up reads one place of a table: two to four in each, and at most 2^20 buckets, which take
 * 4 MB.
 */
const BUCKET_BITS_LEAST = 12;
const BUCKET_BITS_MOST = 20;

export class HashTable {
  private readonly table: Int32Array;
  private readonly size: number;
  /** The bits of a hash below those of its bucket. */
  private readonly shift: number;
  /** Where the hashes of each bucket begin, and at the end the number of hashes. */
  private readonly starts: Int32Array;

  /** @param table The hashes and positions, as `format.ts` describes them. */
  constructor(table: Int32Array) {
    this.table = table;
    this.size = table.length >>> 1;
    const bits = Math.floor(Math.log2(this.size + 1)) - 1;
    this.shift = HASH_BITS - Math.min(BUCKET_BITS_MOST, Math.max(BUCKET_BITS_LEAST, bits));
    this.starts = bucketsOf(table, this.size, this.shift);
  }

  /** Returns the place of the first position of a hash, for `positionAt`. */
  placeOf(hash: number): number {
    const bucket = hash >>> this.shift;
    return firstAt(this.table, hash, this.starts[bucket] as number, this.starts[bucket + 1] as number);
  }

  /** Returns the position at a place, or -1 if it is one of another hash. */
  positionAt(place: number, hash: number): number {
    return place < this.size && this.table[place] === hash ? (this.table[this.size + place] as number) : -1;
  }

  /** Visits the positions of a hash, at most `most`. */
  visit(hash: number, most: number, visit: (position: number) => void): void {
    const { table, size } = this;
    const bucket = hash >>> this.shift;
    const end = this.starts[bucket + 1] as number;
    const low = firstAt(table, hash, this.starts[bucket] as number, end);
    const last = Math.min(end, low + most);
    for (let at = low; at < last && table[at] === hash; at++) visit(table[size + at] as number);
  }
}

/** Returns the first position from `low` on whose hash is not lower. */
function firstAt(table: Int32Array, hash: number, low: number, high: number): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((table[middle] as number) < hash) low = middle + 1;
    else high = middle;
  }
  return low;
}

function bucketsOf(table: Int32Array, size: number, shift: number): Int32Array {
  const buckets = 1 << (HASH_BITS - shift);
  const starts = new Int32Array(buckets + 1);
  for (let at = 0; at < size; at++) {
    const next = ((table[at] as number) >>> shift) + 1;
    starts[next] = at + 1;
  }
  for (let bucket = 1; bucket <= buckets; bucket++)
    if (starts[bucket] === 0) starts[bucket] = starts[bucket - 1] as number;
  return starts;
}
