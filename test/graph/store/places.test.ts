/** The table from fingerprints to numbers of the log, against a plain map, while its buckets are divided. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import {
  type PlacesStore,
  PlacesWriter,
  placesOf,
  readPlacesState,
} from '../../../src/graph/store/places.ts';
import { openEnvironment, type RootDatabase } from '../../../src/state/lmdb.ts';

let folder = '';
let root: RootDatabase;
let store: PlacesStore & { readonly places: NonNullable<PlacesStore['places']> };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-places-'));
  root = openEnvironment(join(folder, 'places.mdb'), { maxDbs: 4, noSubdir: true });
  store = {
    meta: root.openDB({ name: 'meta', encoding: 'msgpack' }),
    places: root.openDB({ name: 'places', encoding: 'binary', keyEncoding: 'uint32' }),
  };
});
afterEach(async () => {
  await root.close();
  rmSync(folder, { recursive: true });
});

const keyOf = (high: number, low: number): Buffer => {
  const key = Buffer.alloc(12, 7);
  key.writeUInt32BE(high, 0);
  key.writeUInt32BE(low, 4);
  return key;
};
const write = <T>(work: (writer: PlacesWriter) => T): T =>
  root.transactionSync(() => {
    const writer = new PlacesWriter(store);
    const answer = work(writer);
    writer.finish();
    return answer;
  });
/** Entries of all buckets, which must be what the state says. */
const bucketSizes = (): number[] => [...store.places.getRange({})].map(({ value }) => value.length);

describe('places', () => {
  it.each([1, 2, 3])('have every entry, however it came and went, seed %i', (seed) => {
    const next = seededUint32(seed);
    const known = new Map<string, { key: Buffer; ordinals: number[] }>();
    let ordinal = 0;
    for (let turn = 0; turn < 12; turn++) {
      const drawn = Array.from({ length: [3, 40, 700][next() % 3] as number }, () => {
        // Few values of the lower bits, so that some have equal bits and other keys.
        const key = keyOf(next() % 4 === 0 ? next() : (next() % 2000) * 2_147_483, (next() % 5) * 2 ** 29);
        return { key, count: 1 + (next() % 3), ordinal: 0 };
      });
      for (const one of drawn) {
        one.ordinal = ordinal;
        ordinal += one.count;
      }
      if (turn % 2 === 0) drawn.sort((a, b) => Buffer.compare(a.key, b.key));
      write((writer) => {
        writer.reserve(drawn.length);
        for (const { key, count, ordinal: first } of drawn) {
          const name = key.readBigUInt64BE(0) >> 28n;
          const entry = known.get(`${name}`) ?? { key, ordinals: [] };
          known.set(`${name}`, entry);
          for (let more = 0; more < count; more++) {
            writer.add(key, first + more);
            entry.ordinals.push(first + more);
          }
          expect([...writer.find(key)].sort((a, b) => a - b)).toEqual(entry.ordinals);
        }
      });
      const gone = [...known.values()][next() % known.size]!;
      const first = gone.ordinals[next() % gone.ordinals.length] ?? 0;
      write((writer) => writer.remove(gone.key, first, first + 50));
      gone.ordinals = gone.ordinals.filter((one) => one < first || one >= first + 50);
      const state = readPlacesState(store);
      for (const { key, ordinals } of known.values()) expect(placesOf(store, state, key)).toEqual(ordinals);
      expect(state.entries).toBe([...known.values()].reduce((sum, { ordinals }) => sum + ordinals.length, 0));
      expect(placesOf(store, state, keyOf(5, 5))).toEqual([]);
    }
  });

  it('keep buckets small as they grow, at a bounded cost of each write', () => {
    const next = seededUint32(9);
    let ordinal = 0;
    for (let turn = 0; turn < 40; turn++)
      write((writer) => {
        writer.reserve(1000);
        for (let more = 0; more < 1000; more++) writer.add(keyOf(next(), next()), ordinal++);
      });
    expect(readPlacesState(store).entries).toBe(40_000);
    const sizes = bucketSizes();
    expect(sizes.length).toBeGreaterThan(40_000 / 130);
    // Even buckets that wait to be divided have few more than twice the entries.
    expect(Math.max(...sizes)).toBeLessThan(7 * 64 * 4);
  });
});
