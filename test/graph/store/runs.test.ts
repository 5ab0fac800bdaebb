import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { orderInBuckets } from '../../../src/graph/store/runs.ts';

const RECORD_WORDS = 3;
const WORD = 1;

describe('the order of records in buckets', () => {
  it.each([
    { bits: 32, bucketBits: 1 },
    { bits: 32, bucketBits: 11 },
    { bits: 20, bucketBits: 6 },
    { bits: 12, bucketBits: 11 },
    { bits: 3, bucketBits: 3 },
  ])('is that of a stable sort, with keys of $bits bits and $bucketBits of them for buckets', (sizes) => {
    const { bits, bucketBits } = sizes;
    const shift = bits - bucketBits;
    const next = seededUint32(bits);
    const bucketOf = (key: number): number => key >>> shift;
    // Some keys are equal, and some buckets empty.
    const keys = Array.from({ length: 3_000 }, () => next() >>> (32 - bits)).flatMap((key, at) =>
      at % 3 === 0 ? [key, key] : [key],
    );
    keys.sort((a, b) => bucketOf(a) - bucketOf(b));
    const records = new Uint32Array(keys.length * RECORD_WORDS);
    const ends = new Uint32Array(2 ** bucketBits);
    for (const [at, key] of keys.entries()) {
      records[at * RECORD_WORDS + WORD] = key;
      for (let bucket = bucketOf(key); bucket < ends.length; bucket++) ends[bucket] = at + 1;
    }
    const expected = keys.map((_, at) => at).sort((a, b) => (keys[a] as number) - (keys[b] as number));
    const memory = { order: new Uint32Array(keys.length), spare: new Uint32Array(keys.length) };
    expect([...orderInBuckets(records, RECORD_WORDS, WORD, ends, shift, memory)]).toEqual(expected);
  });
});
