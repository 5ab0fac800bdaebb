/** Look-ups in blocks, over partitions made by hand: few buckets, with and without a filter. Built snapshots are in partitions.test.ts. */
import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { buildFilter, OPEN_FILTER, slotPlace } from '../../../src/labels/index/filter.ts';
import { findInParts, type SearchedPart } from '../../../src/labels/index/find-many.ts';
import { RECORD_WORDS } from '../../../src/labels/index/format.ts';
import { NOT_LABELLED } from '../../../src/labels/index/reader.ts';
import { SLOT_WORDS, writeSlot } from '../../../src/labels/index/slot.ts';

const BUCKET_BITS = 4;

/** Random keys of all forms of a slot: payloads that are kept whole, padded, or hashed. */
function randomKeys(count: number, seed: number): Uint8Array[] {
  const next = seededUint32(seed);
  return Array.from({ length: count }, (_, at) => {
    const key = new Uint8Array([22, 22, 24, 34, 59][at % 5] as number);
    for (let byte = 0; byte < key.length; byte++) key[byte] = next() >>> 24;
    return key;
  });
}

const slotOf = (key: Uint8Array): Int32Array => {
  const slot = new Int32Array(SLOT_WORDS);
  writeSlot(key, 0, key.length, slot, 0);
  return slot;
};

/** Returns a partition of these keys with 16 buckets, and the position of every key in it. */
function partOf(keys: readonly Uint8Array[], filtered: boolean): { part: SearchedPart; order: number[] } {
  const slots = keys.map(slotOf);
  const placeOf = (at: number): number => slotPlace(slots[at] as Int32Array, 0) >>> 0;
  const order = [...keys.keys()].sort((a, b) => placeOf(a) - placeOf(b));
  const records = new Int32Array(keys.length * RECORD_WORDS);
  const directory = new Int32Array((1 << BUCKET_BITS) + 1);
  for (const [record, at] of order.entries()) {
    records.set(slots[at] as Int32Array, record * RECORD_WORDS);
    for (let after = (placeOf(at) >>> (32 - BUCKET_BITS)) + 1; after < directory.length; after++)
      directory[after] = record + 1;
  }
  const { shape, bytes } = filtered
    ? buildFilter(records, RECORD_WORDS, keys.length)
    : { shape: OPEN_FILTER, bytes: new Uint8Array(0) };
  const part = {
    records,
    directory,
    filter: bytes,
    bucketShift: 32 - BUCKET_BITS,
    segmentBits: shape.segmentBits,
    filterSpan: shape.span,
    hasFilter: shape.bytes > 0,
  };
  return { part, order };
}

/** Looks up keys that are packed in reverse order with a gap before each. An empty key stands for an item without one. */
function find(parts: readonly SearchedPart[], keys: readonly Uint8Array[]): number[] {
  const bytes = new Uint8Array(keys.reduce((sum, key) => sum + key.length + 3, 0));
  const offsets = new Int32Array(keys.length);
  let end = bytes.length;
  for (const [at, key] of keys.entries()) {
    end -= key.length;
    bytes.set(key, end);
    offsets[at] = end;
    end -= 3;
  }
  const lengths = Int32Array.from(keys, (key) => key.length || -1);
  // One more than is looked up, which must stay as it is.
  const handles = new Float64Array(keys.length + 1).fill(7.5);
  findInParts(parts, bytes, offsets, lengths, keys.length, handles);
  expect(handles[keys.length]).toBe(7.5);
  return [...handles.subarray(0, keys.length)];
}

describe.each([true, false])('many keys at once, with a filter: %s', (filtered) => {
  it('are found among others of their bucket, across blocks, and other keys are not', () => {
    const labelled = randomKeys(600, 1);
    const { part, order } = partOf(labelled, filtered);
    const others = randomKeys(5_000, 2);
    const mixed = others.flatMap((other, at) => {
      const key = at < labelled.length ? [labelled[at] as Uint8Array] : [];
      return at % 7 === 0 ? [other, new Uint8Array(0), ...key] : [other, ...key];
    });
    const positions = new Map(order.map((at, record) => [labelled[at], record]));
    expect(find([part], mixed)).toEqual(mixed.map((key) => positions.get(key) ?? NOT_LABELLED));
  });

  it('are found in their partition, whose number is in the handle; a partition may be empty', () => {
    const keys = randomKeys(400, 3);
    const partOfKey = (key: Uint8Array): number => slotPlace(slotOf(key), 0) & 3;
    const shares = [0, 1, 2, 3].map((number) =>
      number === 2 ? [] : keys.filter((key) => partOfKey(key) === number),
    );
    const made = shares.map((share) => partOf(share, filtered));
    const expected = keys.map((key) => {
      const number = partOfKey(key);
      if (number === 2) return NOT_LABELLED;
      const record = made[number]?.order.indexOf(shares[number]?.indexOf(key) as number) as number;
      return record * 4 + number;
    });
    expect(
      find(
        made.map(({ part }) => part),
        keys,
      ),
    ).toEqual(expected);
  });

  it('are looked up one, none and a block at a time', () => {
    const labelled = randomKeys(256, 4);
    const { part, order } = partOf(labelled, filtered);
    expect(find([part], [])).toEqual([]);
    expect(find([part], [labelled[9] as Uint8Array])).toEqual([order.indexOf(9)]);
    expect(find([part], labelled)).toEqual(labelled.map((_, at) => order.indexOf(at)));
  });
});
