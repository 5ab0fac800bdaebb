/** Plain entries, written without objects: the answer is the same as that made of objects. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { readPlainEntry } from '../../src/exposure/plain-entry.ts';
import { type ExposureRecord, readRecord, writeRecord } from '../../src/exposure/record.ts';
import { ByteWriter } from '../../src/graph/store/bytes.ts';
import type { UnfollowedPart } from '../../src/risk/reasons.ts';
import type { ScoreFactor } from '../../src/risk/score.ts';
import {
  EXPOSURE,
  type ExposureReader,
  newPlainEntry,
  PLAIN_MAX,
} from '../../src/screening/exposure-port.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import { createOracleWriter } from '../../src/screening/oracle-writer.ts';
import { allFresh, createWorld, someStale, type World } from '../screening/world.ts';

const quota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };
const UNLABELLED = '0x00000000000000000000000000000000000a55a7';

const ROW: ScoreFactor = {
  factor: 'DIRECT_EXPOSURE',
  category: 'MIXER',
  riskType: 'COUNTERPARTY',
  direction: 'in',
  percentage: 12.5,
  valueUsd: null,
  hops: 1,
  points: 37,
  severity: 'HIGH',
  class: 'published',
  evidence: ['Blender', 'Sinbad'],
  asset: null,
};
const PART: UnfollowedPart = { code: 'HUB_NOT_FOLLOWED', direction: 'out', asset: null, share: 0.31 };
const RECORD: ExposureRecord = {
  factors: [ROW],
  pointsWithoutDerived: null,
  factorsLeftOut: null,
  unfollowed: [PART],
  earlier: [],
  notes: [],
  flows: { in: true, out: false },
};

const bytesOf = (record: ExposureRecord): Buffer => {
  const out = new ByteWriter(16);
  writeRecord(out, record);
  return out.take();
};
const isPlain = (record: Partial<ExposureRecord>): boolean =>
  readPlainEntry(bytesOf({ ...RECORD, ...record }), 0, newPlainEntry());

/** A reader whose every address has the entry that `bytes` returns. */
function readerOf(bytes: () => Buffer): ExposureReader {
  const plain = newPlainEntry();
  const status = {
    state: 'READY',
    asOf: '2026-11-20T00:00:00.000Z',
    graphAsOf: '2026-11-21T00:00:00.000Z',
    isOld: false,
  } as const;
  return {
    openAll: () => {},
    find: () => EXPOSURE.EXPOSED,
    status: () => status,
    verdict: () => readRecord(bytes(), 0),
    plain,
    readPlain: () => readPlainEntry(bytes(), 0, plain),
    waitsSinceMs: () => 0,
  };
}

const next = seededUint32(5);
const of = <T>(values: readonly T[]): T => values[next() % values.length] as T;

/** Returns shares with one, two and three digits before the point, with and without zeros at the end. */
const hundredths = (): number => of([0, 1, 5, 10, 99, 100, 101, 110, 1_000, 9_999, 10_000, next() % 10_001]);

function randomRow(): ScoreFactor {
  const factor = of(['DIRECT_EXPOSURE', 'INDIRECT_EXPOSURE', 'UNSOLICITED_INBOUND'] as const);
  return {
    ...ROW,
    factor,
    riskType: factor === 'INDIRECT_EXPOSURE' ? 'INDIRECT' : 'COUNTERPARTY',
    category: of(['MIXER', 'GAMBLING', 'UNKNOWN', 'SANCTIONED_ENTITY']),
    direction: of(['in', 'out']),
    percentage: hundredths() / 100,
    hops: of([1, 2, 3]),
    points: factor === 'UNSOLICITED_INBOUND' ? -1 : of([0, 1, 2, 14, 100]),
    severity: of(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']),
    class: of(['published', 'inferred']),
    evidence: of([
      [],
      ['one'],
      ['one', 'two, and (more): 1 point.'],
      ['987654321 %', "<&'>", 'x'.repeat(120)],
    ]),
  };
}

const randomRecord = (): ExposureRecord => ({
  ...RECORD,
  factors: Array.from({ length: next() % 5 }, randomRow),
  unfollowed: Array.from({ length: next() % 3 }, () => ({
    ...PART,
    code: of(['HUB_NOT_FOLLOWED', 'WALK_CUT']),
    direction: of(['in', 'out']),
    share: hundredths() / 1e4,
  })),
});

const LONGEST: ExposureRecord = {
  ...RECORD,
  factors: Array.from({ length: PLAIN_MAX }, () => ({
    ...ROW,
    evidence: ['a', 'b', 'c'].map((letter) => letter.repeat(300)),
  })),
};
const EMPTY: ExposureRecord = { ...RECORD, factors: [], unfollowed: [] };

describe('a plain entry', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());

  it.each(['fresh', 'stale'])('is written as the answer of objects on %s lists', (lists) => {
    world.setLists(lists === 'fresh' ? allFresh : someStale);
    let bytes: Buffer = Buffer.alloc(0);
    const exposures = readerOf(() => bytes);
    const ask = createOracle({ ...world.deps, exposures });
    const write = createOracleWriter({ ...world.deps, exposures });
    const out = Buffer.alloc(64 * 1024);
    const verdicts = new Set<string>();
    for (let count = 0; count < 2_000; count++) {
      bytes = bytesOf([EMPTY, LONGEST][count] ?? randomRecord());
      expect(exposures.readPlain()).toBe(true);
      const end = write('ETH', UNLABELLED, quota, out, 3);
      const answer = ask('ETH', UNLABELLED, quota);
      expect(out.toString('utf8', 3, end)).toBe(JSON.stringify(answer));
      verdicts.add(answer.verdict);
    }
    expect([...verdicts].sort()).toEqual(
      lists === 'fresh' ? ['danger', 'safe', 'warning'] : ['danger', 'warning'],
    );
  });

  it('is written to no buffer that is too small', () => {
    const write = createOracleWriter({ ...world.deps, exposures: readerOf(() => bytesOf(RECORD)) });
    const whole = write('ETH', UNLABELLED, quota, Buffer.alloc(64 * 1024), 0);
    for (let length = 0; length < whole; length++)
      expect(write('ETH', UNLABELLED, quota, Buffer.alloc(length), 0)).toBe(-1);
  });

  it('has nothing but rows about the value and shares that were not followed', () => {
    const rows = (change: Partial<ScoreFactor>) => ({ factors: [{ ...ROW, ...change }] });
    const many = <T>(value: T): T[] => Array.from({ length: PLAIN_MAX + 1 }, () => value);
    expect(isPlain({})).toBe(true);
    expect(isPlain({ factors: many(ROW).slice(1), unfollowed: many(PART).slice(1) })).toBe(true);
    for (const other of [
      { pointsWithoutDerived: 3 },
      { factorsLeftOut: [ROW] },
      { notes: [{ code: 'ADDRESS_POISONING', category: 'UNKNOWN', message: 'Looks alike.' }] as const },
      { factors: many(ROW) },
      { unfollowed: many(PART) },
      { unfollowed: [{ ...PART, share: null }] },
      { unfollowed: [{ ...PART, asset: 'TOKEN' }] },
      rows({ asset: 'TOKEN' }),
      rows({ points: 101 }),
      rows({ points: -101 }),
      rows({ percentage: 100.01 }),
      rows({ evidence: ['Blender', 'naïve'] }),
      rows({ evidence: ['a "quote"'] }),
      rows({ evidence: ['a\\b'] }),
      rows({ evidence: ['a\nb'] }),
    ])
      expect(isPlain(other), JSON.stringify(other)).toBe(false);
  });

  it('is corrupt, or not plain, if its bytes end early', () => {
    const bytes = bytesOf(RECORD);
    for (let length = 0; length < bytes.length; length++) {
      const read = (): boolean => readPlainEntry(bytes.subarray(0, length), 0, newPlainEntry());
      try {
        expect(read()).toBe(false);
      } catch (error) {
        expect(error).toMatchObject({ code: 'STORE_CORRUPT' });
      }
    }
  });

  it('reports a row of an unknown kind as corrupt', () => {
    const bytes = bytesOf({ ...RECORD, unfollowed: [] });
    // Behind the flags and the number of rows.
    bytes[2] = (bytes[2] as number) | 3;
    const write = createOracleWriter({ ...world.deps, exposures: readerOf(() => bytes) });
    expect(() => write('ETH', UNLABELLED, quota, Buffer.alloc(64 * 1024), 0)).toThrow(
      expect.objectContaining({ code: 'STORE_CORRUPT' }),
    );
  });
});
