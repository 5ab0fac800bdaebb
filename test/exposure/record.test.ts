import { describe, expect, it } from 'vitest';
import {
  type ExposureRecord,
  isEmptyRecord,
  isSilent,
  readRecord,
  writeRecord,
} from '../../src/exposure/record.ts';
import { ByteWriter } from '../../src/graph/store/bytes.ts';
import type { EarlierDealing, EarlierParty } from '../../src/screening/before-designation.ts';

const party = (entity: string): EarlierParty => ({
  entityId: entity,
  entity: `${entity} ünïcode ${'x'.repeat(300)}`,
  category: 'EXCHANGE',
  list: 'UK',
  entityName: `${entity} LTD`,
  listedAt: '2026-05-26',
  source: 'OFSI',
});
const recordOf = (earlier: readonly EarlierDealing[]): ExposureRecord => ({
  factors: [],
  pointsWithoutDerived: null,
  factorsLeftOut: null,
  notes: [],
  unfollowed: [
    { code: 'WALK_CUT', direction: 'in', asset: null, share: 0.5 },
    { code: 'WALK_CUT', direction: 'in', asset: null, share: null },
    { code: 'HUB_NOT_FOLLOWED', direction: 'out', asset: null, share: 0.25 },
    { code: 'HUB_NOT_FOLLOWED', direction: 'out', asset: '0xabc', share: 1 },
  ],
  earlier,
  flows: { in: false, out: true },
});
const bytesOf = (record: ExposureRecord, parties: readonly EarlierParty[] = []): Buffer => {
  const out = new ByteWriter(16);
  writeRecord(out, record, (one) => (parties.includes(one) ? parties.indexOf(one) : null));
  return out.take();
};

describe('an entry of an exposure index', () => {
  const parties = [party('htx'), party('exmo')];
  const earlier = [
    { party: parties[1] as EarlierParty, lastDay: 20_598 },
    { party: party('other'), lastDay: 0 },
  ];

  it('keeps transfers before a designation, of listed parties by number and of others with their texts', () => {
    for (const listed of [parties, []]) {
      const bytes = bytesOf(recordOf(earlier), listed);
      expect(readRecord(bytes, 0, listed)).toEqual(recordOf(earlier));
    }
  });

  it('keeps the names and the asset of a row up to 120 bytes, in whole characters', () => {
    const kept = (text: string) => {
      const factor = {
        factor: 'DIRECT_EXPOSURE',
        category: 'MIXER',
        riskType: 'COUNTERPARTY',
        direction: 'out',
        percentage: 12.34,
        valueUsd: null,
        hops: 1,
        points: 7,
        severity: 'LOW',
        class: 'published',
        evidence: ['first', text],
        asset: text,
      } as const;
      const [row] = readRecord(bytesOf({ ...recordOf([]), factors: [factor] }), 0, []).factors;
      expect(row).toEqual({ ...factor, evidence: ['first', row?.asset], asset: row?.asset });
      return row?.asset;
    };
    const x = (count: number): string => 'x'.repeat(count);
    expect([kept(x(120)), kept(x(121)), kept(`${x(118)}é`), kept(`${x(119)}é`), kept(`${x(118)}€`)]).toEqual([
      ...[x(120), x(120), `${x(118)}é`, x(119), x(118)],
    ]);
  });

  it('reads equal rows without names as one shared object, with every field', () => {
    const base = {
      factor: 'INDIRECT_EXPOSURE',
      category: 'MIXER',
      riskType: 'INDIRECT',
      direction: 'in',
      percentage: 12.34,
      valueUsd: null,
      hops: 2,
      points: 7,
      severity: 'MEDIUM',
      class: 'published',
      evidence: [],
      asset: null,
    } as const;
    const rows = [
      base,
      { ...base, factor: 'UNSOLICITED_INBOUND', riskType: 'COUNTERPARTY' },
      { ...base, category: 'GAMBLING' },
      { ...base, direction: 'out' },
      { ...base, percentage: 12.35 },
      { ...base, percentage: 100 },
      { ...base, percentage: 0 },
      { ...base, hops: 3 },
      { ...base, points: 8 },
      { ...base, points: -100 },
      { ...base, points: 100 },
      { ...base, severity: 'LOW' },
      { ...base, class: 'inferred' },
      { ...base, asset: 'TOKEN' },
      { ...base, evidence: ['name'] },
    ] as const;
    const read = () => readRecord(bytesOf({ ...recordOf([]), factors: rows }), 0, []).factors;
    const [first, second] = [read(), read()];
    expect(first).toEqual(rows);
    expect(second).toEqual(rows);
    const shared = first.map((row, at) => row === second[at]);
    expect(shared).toEqual(rows.map(({ asset, evidence }) => asset === null && evidence.length === 0));
  });

  it('needs four more bytes and a count for a transfer with a listed party', () => {
    const without = bytesOf(recordOf([])).length;
    expect(bytesOf(recordOf(earlier.slice(0, 1)), parties).length).toBe(without + 5);
  });

  it('is read if it has only such a transfer', () => {
    const alone = {
      ...recordOf(earlier),
      unfollowed: [],
      flows: { in: false, out: false },
    };
    expect(isEmptyRecord(alone)).toBe(false);
    expect(isSilent(bytesOf(alone, parties), 0)).toBe(false);
  });

  it('is corrupt if it names a party that the index does not list', () => {
    const bytes = bytesOf(recordOf(earlier.slice(0, 1)), parties);
    expect(() => readRecord(bytes, 0, parties.slice(0, 1))).toThrow(
      expect.objectContaining({ code: 'STORE_CORRUPT' }),
    );
  });
});
