import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CountryLists,
  geographicRisk,
  loadCountryLists,
  parseCountryLists,
} from '../../src/risk/geography.ts';

const DAY = '2026-11-21';
const lists = loadCountryLists();
const risk = (home: string | null, shares: Record<string, number> = {}) =>
  geographicRisk(
    {
      home,
      shares: Object.entries(shares).map(([jurisdiction, percentage]) => ({ jurisdiction, percentage })),
    },
    lists,
    DAY,
  );

describe('geographic risk', () => {
  it('is unknown if no country is known', () => {
    expect(risk(null)).toEqual({ jurisdictions: [], highRisk: [], listed: [], territories: [], score: null });
  });

  it('counts a list on the days on which it is in force', () => {
    const ended: CountryLists = {
      ...lists,
      lists: lists.lists.map((list) => ({ ...list, validUntil: '2026-11-20' })),
    };
    const on = (day: string) => geographicRisk({ home: 'IR', shares: [] }, ended, day);
    expect(on('2026-11-20')).toMatchObject({ highRisk: ['IR'], score: 100 });
    expect(on('2026-11-20').listed[0]).toMatchObject({ validFrom: null, validUntil: '2026-11-20' });
    expect(on('2026-11-21')).toMatchObject({ highRisk: [], listed: [], score: 0 });
  });

  it('counts a list from the first day on which it is in force', () => {
    const [first] = lists.lists;
    const [territory] = lists.territories;
    const begun: CountryLists = {
      version: '1',
      lists: [{ ...first!, jurisdictions: ['CH'], validFrom: '2026-11-20', validUntil: '2026-11-20' }],
      territories: [{ ...territory!, within: 'CH', validFrom: '2026-11-20' }],
    };
    const on = (day: string) => geographicRisk({ home: 'CH', shares: [] }, begun, day);
    expect(on('2026-11-19')).toMatchObject({ highRisk: [], territories: [] });
    expect(on('2026-11-20')).toMatchObject({ highRisk: ['CH'], territories: [{ within: 'CH' }] });
    expect(on('2026-11-21')).toMatchObject({ highRisk: [], territories: [{ within: 'CH' }] });
  });

  it('is zero for countries on no list', () => {
    expect(risk('CH', { DE: 60, US: 10 })).toMatchObject({
      jurisdictions: ['CH', 'DE', 'US'],
      highRisk: [],
      score: 0,
    });
  });

  it('is the full score of the list that names the home country', () => {
    expect(risk('IR').score).toBe(100);
    expect(risk('VN').score).toBe(50);
  });

  it('counts trade by the square root of its share, the most severe list first', () => {
    expect(risk(null, { KP: 1 }).score).toBe(10);
    expect(risk(null, { KP: 25, CH: 75 }).score).toBe(50);
    expect(risk(null, { VN: 25 }).score).toBe(25);
    // 100 · √0.25 + 50 · (√1 − √0.25)
    expect(risk(null, { KP: 25, VN: 75 }).score).toBe(75);
  });

  it('names the home country first, then others by value, then by code, each once', () => {
    expect(risk('VN', { US: 10, DE: 30, CH: 10, VN: 20 }).jurisdictions).toEqual(['VN', 'DE', 'CH', 'US']);
  });

  it('assigns the full value to the home country, and traded value to others, together at most all', () => {
    const of = (home: string | null, ...percentages: number[]) =>
      geographicRisk(
        { home, shares: percentages.map((percentage) => ({ jurisdiction: 'VN', percentage })) },
        lists,
        DAY,
      ).listed[0]?.percentage;
    expect(of('VN', 20)).toBe(100);
    expect(of('CH', 20)).toBe(20);
    expect(of(null, 20, 30)).toBe(50);
    expect(of(null, 70, 70)).toBe(100);
  });

  it('is the greater of the home risk and the trade risk', () => {
    expect(risk('VN', { KP: 1 }).score).toBe(50);
    expect(risk('VN', { KP: 64 }).score).toBe(80);
    // 64 % with the gravest list, and all of it listed: 100 · √0.64 + 50 · (√1 − √0.64).
    expect(risk('CH', { VN: 60, KP: 64 }).score).toBe(90);
  });

  it('names every list of a country, with its source and date', () => {
    const { listed, highRisk } = risk('CH', { IR: 12.5 });
    expect(highRisk).toEqual(['IR']);
    expect(listed.map(({ list, percentage }) => [list, percentage])).toEqual([
      ['FATF_BLACK', 12.5],
      ['SANCTIONED', 12.5],
    ]);
    expect(
      listed.every(({ sourceUrl, date }) => sourceUrl.startsWith('https://') && date <= '2026-11-21'),
    ).toBe(true);
  });

  it('reports listed parts of a country that is not listed itself', () => {
    const { highRisk, territories } = risk('UA');
    expect(highRisk).toEqual([]);
    expect(territories.map(({ name }) => name)).toContain('Crimea');
  });

  it('is between 0 and 100, and never falls if more value or a more severe list is involved', () => {
    const code = fc.constantFrom('CH', 'DE', 'VN', 'KE', 'IR', 'KP', 'CU');
    const shares = fc.array(
      fc.record({ jurisdiction: code, percentage: fc.double({ min: 0, max: 40, noNaN: true }) }),
      {
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(
        fc.option(code, { nil: null }),
        shares,
        fc.constantFrom('VN', 'IR'),
        fc.double({ min: 0, max: 40, noNaN: true }),
        (home, known, jurisdiction, percentage) => {
          const before = geographicRisk({ home, shares: known }, lists, DAY).score ?? 0;
          const more = { jurisdiction, percentage };
          const after = geographicRisk({ home, shares: [...known, more] }, lists, DAY).score ?? 0;
          const graver = geographicRisk(
            { home, shares: [...known, { ...more, jurisdiction: 'KP' }] },
            lists,
            DAY,
          );
          expect(after).toBeGreaterThanOrEqual(before);
          expect(graver.score).toBeGreaterThanOrEqual(after);
          expect(graver.score).toBeLessThanOrEqual(100);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('the shipped lists of countries', () => {
  it('are the black and the grey list of one FATF plenary, and the comprehensively sanctioned countries', () => {
    const of = (id: string) => lists.lists.find((list) => list.id === id);
    expect(of('FATF_BLACK')?.jurisdictions).toEqual(['IR', 'KP', 'MM']);
    expect(of('FATF_GREY')?.jurisdictions).toHaveLength(22);
    expect(of('FATF_GREY')?.date).toBe(of('FATF_BLACK')?.date);
    expect(of('SANCTIONED')?.jurisdictions).toContain('CU');
  });

  const list = {
    id: 'FATF_GREY',
    name: 'G',
    score: 50,
    jurisdictions: ['VN'],
    sourceUrl: 'https://example.org',
    date: '2026-01-01',
    verified: false,
  };
  const document = (change: object): CountryLists =>
    parseCountryLists({ version: '1', lists: [{ ...list, ...change }], territories: [] });

  it.each([
    [{ id: 'FATF_PINK' }, 'lists[0].id'],
    [{ score: 101 }, 'lists[0].score'],
    [{ score: 0 }, 'lists[0].score'],
    [{ score: '50' }, 'lists[0].score'],
    [{ score: null }, 'lists[0].score'],
    [{ jurisdictions: ['VN', 'ZZ'] }, 'lists[0].jurisdictions[1]'],
    [{ date: 'June' }, 'lists[0].date'],
  ])('reject %j and name the field', (change, field) => {
    expect(() => document(change)).toThrow(field);
  });

  it('allow a score of up to 100', () => {
    expect(document({ score: 100 }).lists[0]?.score).toBe(100);
    expect(document({ score: 0.5 }).lists[0]?.score).toBe(0.5);
  });
});
