import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { shippedData } from '../../src/base/paths.ts';
import {
  DUTIES,
  isCountryCode,
  isInForceOn,
  loadJurisdictions,
  parseJurisdictions,
} from '../../src/risk/jurisdictions.ts';

const source = { sourceUrl: 'https://example.org/law', date: '2026-01-01', verified: false };
const named = (name: string) => ({ name, ...source });
const statute = (duty: string) => ({ duty, law: `Law on ${duty}`, article: 'Art. 1', ...source });
const row = {
  code: 'CH',
  union: null,
  regulator: named('R'),
  reportingTo: named('F'),
  sanctionsAuthority: named('S'),
  travelRule: null,
  statutes: ['DUE_DILIGENCE', 'REPORTING', 'SANCTIONS'].map(statute),
};
const rule = { threshold: 1000, currency: 'CHF', law: 'L', article: null, note: null, ...source };
const documentOf = (change: object, unions: object[] = []) => ({
  version: '1',
  unions,
  jurisdictions: [{ ...row, ...change }],
});

describe('the shipped jurisdictions', () => {
  const { all, of, version } = loadJurisdictions();

  it('contain at least 44 countries, each once, with an ISO 3166-1 code', () => {
    expect(all.length).toBeGreaterThanOrEqual(44);
    expect(new Set(all.map(({ code }) => code)).size).toBe(all.length);
    expect(all.every(({ code, name }) => isCountryCode(code) && name !== code)).toBe(true);
    expect(version).toMatch(/^\d{4}-\d{2}-\d{2}\.\d+$/);
  });

  it('have a source, a date that is not in the future, and a verification mark on every fact', () => {
    for (const { code, regulator, reportingTo, sanctionsAuthority, travelRule, statutes } of all) {
      const facts = [
        regulator,
        reportingTo,
        sanctionsAuthority,
        ...(travelRule ? [travelRule] : []),
        ...statutes,
      ];
      for (const fact of facts) {
        expect(fact.sourceUrl, code).toMatch(/^https?:\/\//);
        expect(fact.date <= '2026-11-22', `${code} ${fact.date}`).toBe(true);
        expect(typeof fact.verified, code).toBe('boolean');
      }
      for (const duty of ['DUE_DILIGENCE', 'REPORTING', 'SANCTIONS'])
        expect(
          statutes.some((one) => one.duty === duty),
          `${code} ${duty}`,
        ).toBe(true);
      expect(
        statutes.some((one) => one.article !== null),
        code,
      ).toBe(true);
    }
  });

  it('contain only facts of the file', () => {
    const text = readFileSync(shippedData('jurisdictions.json'), 'utf8');
    expect(all.every(({ regulator }) => text.includes(JSON.stringify(regulator.name)))).toBe(true);
  });

  it('add EU law to the law of its members, the national law first', () => {
    const members = all.filter(({ union }) => union === 'EU');
    expect(members).toHaveLength(27);
    for (const { travelRule, statutes } of members) {
      expect(travelRule).toMatchObject({ threshold: null, currency: 'EUR', article: 'Art. 14' });
      expect(statutes.at(-1)?.law).toContain('269/2014');
    }
    expect(of('DE')?.statutes[0]).toMatchObject({ law: 'Money Laundering Act (GwG)', article: 's. 10' });
  });

  it.each([
    ['CH', null, 'CHF', 'MROS'],
    ['US', 3000, 'USD', 'FinCEN'],
    ['GB', 1000, 'EUR', 'NCA'],
    ['SG', 1500, 'SGD', 'STRO'],
    ['HK', 8000, 'HKD', 'JFIU'],
    ['KR', 1_000_000, 'KRW', 'KoFIU'],
    ['CA', 1000, 'CAD', 'FINTRAC'],
    ['JP', null, 'JPY', 'JAFIC'],
    ['AE', 3500, 'AED', 'goAML'],
    ['VG', null, 'USD', 'FIA'],
    ['BR', null, 'BRL', 'Coaf'],
    ['ID', null, 'USD', 'PPATK'],
    ['MY', null, 'MYR', 'Bank Negara'],
    ['NO', null, 'EUR', ''],
    ['LI', null, 'EUR', ''],
    ['IS', null, 'EUR', ''],
  ])('contain the travel rule of %s and the recipient of reports', (code, threshold, currency, office) => {
    const found = of(code);
    expect(found?.travelRule).toMatchObject({ threshold, currency });
    expect(found?.reportingTo.name).toContain(office);
  });

  it('add MiCA and the travel rule to the EFTA states of the EEA', () => {
    for (const code of ['IS', 'LI', 'NO']) {
      expect(of(code), code).toMatchObject({ union: 'EEA', travelRule: { article: 'Art. 14' } });
      expect(
        of(code)
          ?.statutes.map(({ law }) => law)
          .join(),
        code,
      ).toContain('2023/1114 (MiCA)');
    }
    expect(all.filter(({ union }) => union === 'EEA').map(({ code }) => code)).toEqual(['IS', 'LI', 'NO']);
  });

  it('have no country without an entry', () => {
    expect(of('TV')).toBeNull();
  });
});

describe('reading jurisdictions', () => {
  it('accepts an entry with every duty', () => {
    expect(parseJurisdictions(documentOf({ travelRule: rule })).of('CH')).toMatchObject({
      name: 'Switzerland',
      travelRule: { threshold: 1000 },
    });
    expect(DUTIES).toContain('AUTHORISATION');
  });

  it('prefers the rule of a country over the rule of its union', () => {
    const union = { id: 'X', statutes: [], travelRule: { ...rule, threshold: null } };
    const read = (change: object) =>
      parseJurisdictions(documentOf({ union: 'X', ...change }, [union])).of('CH');
    expect(read({ travelRule: rule })?.travelRule?.threshold).toBe(1000);
    expect(read({})?.travelRule?.threshold).toBeNull();
  });

  it('accepts a country without a union, and facts that apply on one day', () => {
    const oneDay = { validFrom: '2026-02-01', validUntil: '2026-02-01' };
    const read = parseJurisdictions(documentOf({ travelRule: { ...rule, ...oneDay, note: 'N' } })).of('CH');
    expect(read).toMatchObject({ union: null, travelRule: { ...oneDay, note: 'N', article: null } });
    expect(read?.statutes).toHaveLength(3);
  });

  it('has no travel rule if neither the country nor its union has one', () => {
    const union = { id: 'X', statutes: [], travelRule: null };
    expect(parseJurisdictions(documentOf({}, [])).of('CH')?.travelRule).toBeNull();
    expect(parseJurisdictions(documentOf({ union: 'X' }, [union])).of('CH')?.travelRule).toBeNull();
  });

  it('determines on which days a fact is in force, the first and last included', () => {
    const on = (validFrom: string | null, validUntil: string | null): boolean[] =>
      ['2026-01-31', '2026-02-01', '2026-02-02', '2026-02-03'].map((day) =>
        isInForceOn({ validFrom, validUntil }, day),
      );
    expect(on(null, null)).toEqual([true, true, true, true]);
    expect(on('2026-02-01', null)).toEqual([false, true, true, true]);
    expect(on(null, '2026-02-02')).toEqual([true, true, true, false]);
    expect(on('2026-02-01', '2026-02-02')).toEqual([false, true, true, false]);
  });

  it.each([
    [{ code: 'XX' }, 'jurisdictions[0].code'],
    [{ code: 'ch' }, 'jurisdictions[0].code'],
    [{ union: 'EU' }, 'jurisdictions[0] (CH).union'],
    [{ regulator: { ...source } }, 'jurisdictions[0] (CH).regulator.name'],
    [{ regulator: { ...named('R'), sourceUrl: 'a book' } }, '(CH).regulator.sourceUrl'],
    [{ reportingTo: { ...named('R'), date: '2026-02-30x' } }, '(CH).reportingTo.date'],
    [{ reportingTo: { ...named('R'), date: '2026-13-01' } }, '(CH).reportingTo.date'],
    [{ sanctionsAuthority: { ...named('R'), verified: 'no' } }, '(CH).sanctionsAuthority.verified'],
    [{ travelRule: { ...rule, threshold: 0 } }, '(CH).travelRule.threshold'],
    [{ travelRule: { ...rule, threshold: '1000' } }, '(CH).travelRule.threshold'],
    [{ travelRule: { ...rule, note: '' } }, '(CH).travelRule.note'],
    [{ travelRule: { ...rule, currency: 'CHFR' } }, '(CH).travelRule.currency'],
    [{ regulator: null }, '(CH).regulator must be an object'],
    [{ regulator: [] }, '(CH).regulator must be an object'],
    [{ regulator: 'R' }, '(CH).regulator must be an object'],
    [{ statutes: {} }, '(CH).statutes must be an array'],
    [{ regulator: named(' ') }, '(CH).regulator.name'],
    [{ travelRule: { ...rule, currency: 'francs' } }, '(CH).travelRule.currency'],
    [{ travelRule: { ...rule, validUntil: '2026-02-30' } }, '(CH).travelRule.validUntil'],
    [{ travelRule: { ...rule, validFrom: 2026 } }, '(CH).travelRule.validFrom'],
    [
      { travelRule: { ...rule, validFrom: '2026-02-01', validUntil: '2026-01-31' } },
      '(CH).travelRule.validUntil',
    ],
    [{ regulator: { ...named('R'), validUntil: '' } }, '(CH).regulator.validUntil'],
    [{ statutes: [statute('DUE_DILIGENCE'), statute('REPORTING')] }, 'duty SANCTIONS'],
    [{ statutes: [...row.statutes, statute('TAX')] }, '(CH).statutes[3].duty'],
    [{ statutes: [...row.statutes, { ...statute('REPORTING'), article: '' }] }, '(CH).statutes[3].article'],
  ])('rejects %j and names the field', (change, field) => {
    expect(() => parseJurisdictions(documentOf(change))).toThrow(field);
  });

  it('rejects a duplicate country', () => {
    expect(() => parseJurisdictions({ version: '1', unions: [], jurisdictions: [row, row] })).toThrow(
      'jurisdictions[1].code',
    );
  });
});
