import { describe, expect, it } from 'vitest';
import { loadJurisdictions } from '../../src/risk/jurisdictions.ts';
import { createLegalReading, interpretLaw, type LegalFacts } from '../../src/screening/legal.ts';

const jurisdictions = loadJurisdictions();
const clean: LegalFacts = {
  jurisdiction: 'CH',
  sanctioned: false,
  riskLevel: 'LOW',
  isStale: false,
  assessed: true,
  day: '2026-11-21',
};
const read = (change: Partial<LegalFacts>) => interpretLaw({ ...clean, ...change }, jurisdictions);

/** The possible findings, from the most to the least severe. */
const FINDINGS: readonly Partial<LegalFacts>[] = [
  { sanctioned: true, riskLevel: 'CRITICAL' },
  { riskLevel: 'CRITICAL' },
  { riskLevel: 'HIGH' },
  { riskLevel: 'MEDIUM' },
  { isStale: true },
  { assessed: false },
  {},
];

describe('the legal interpretation', () => {
  it('is made once for each jurisdiction, finding and day', () => {
    const reading = createLegalReading(jurisdictions);
    for (const jurisdiction of ['CH', 'US', 'TV'])
      for (const day of ['2026-11-21', '2000-01-01'])
        for (const finding of FINDINGS) {
          const facts = { ...clean, ...finding, jurisdiction, day };
          const first = reading(facts);
          expect(first).toEqual(interpretLaw(facts, jurisdictions));
          expect(reading({ ...facts })).toBe(first);
        }
  });

  it('is made again once too many are kept', () => {
    const reading = createLegalReading(jurisdictions);
    const first = reading(clean);
    for (let day = 0; day < 600; day++) reading({ ...clean, day: `day ${day}` });
    expect(reading(clean)).not.toBe(first);
    expect(reading(clean)).toEqual(first);
  });

  it('applies Swiss law to a sanctioned address', () => {
    expect(read({ sanctioned: true, riskLevel: 'CRITICAL' })).toMatchObject({
      jurisdiction: 'CH',
      standard: 'NATIONAL',
      regulator: 'Swiss Financial Market Supervisory Authority (FINMA)',
      reportingTo: 'Money Laundering Reporting Office Switzerland (MROS)',
      sanctionsAuthority: 'State Secretariat for Economic Affairs (SECO)',
      assessment: 'A sanctions list in force names this address.',
      obligations: [
        'Freeze and make nothing available if the list binds here, and notify State Secretariat for Economic Affairs (SECO) (Embargo Act (EmbA, SR 946.231), Art. 1 to 4; Ordinance on Measures connected with the Situation in Ukraine (SR 946.231.176.72), Art. 15 and 16).',
        'Report to Money Laundering Reporting Office Switzerland (MROS) without delay (Anti-Money Laundering Act (AMLA, SR 955.0), Art. 9 to 10a).',
        'Do not tell the customer or third parties of a report.',
      ],
    });
  });

  it('names the travel rule with its amount, or that there is none', () => {
    const of = (jurisdiction: string) => read({ jurisdiction }).obligations.at(-1);
    expect(of('US')).toMatch(/^From USD 3,000, particulars .*1010\.410\(f\)/);
    expect(of('FR')).toMatch(/^Whatever the amount, .*Regulation \(EU\) 2023\/1113, Art\. 14/);
    expect(read({ jurisdiction: 'BR' })).toMatchObject({ travelRule: null });
    expect(of('BR')).toContain('Identify the customer');
  });

  it('applies general due diligence if the country has no known rule for enhanced due diligence', () => {
    const [, enhanced] = read({ jurisdiction: 'BR', riskLevel: 'MEDIUM' }).obligations;
    expect(enhanced).toContain('enhanced due diligence');
    expect(enhanced).toContain('Law No. 9.613 of 1998, Art. 10');
  });

  it('applies the FATF standard to a country without an entry, and reports it', () => {
    const answer = read({ jurisdiction: 'TV', riskLevel: 'HIGH' });
    expect(answer).toMatchObject({
      jurisdiction: 'TV',
      standard: 'FATF',
      regulator: null,
      reportingTo: null,
      sanctionsAuthority: null,
      travelRule: null,
      version: null,
    });
    expect(answer.disclaimer).toContain('no row of it is known');
    expect(answer.framework[0]).toContain('FATF Recommendation 6');
    expect(answer.sources).toHaveLength(1);
  });

  it('cites a source and a date for everything', () => {
    for (const { code } of jurisdictions.all) {
      const { sources, framework, disclaimer } = read({ jurisdiction: code });
      expect(sources.every(({ sourceUrl, date }) => sourceUrl !== '' && date !== '')).toBe(true);
      for (const law of framework)
        expect(
          sources.some(({ fact }) => fact.includes(law)),
          `${code} ${law}`,
        ).toBe(true);
      expect(disclaimer).toContain('not legal advice');
    }
  });

  it('differs by finding, in every jurisdiction', () => {
    for (const code of [...jurisdictions.all.map((row) => row.code), 'TV']) {
      const texts = FINDINGS.map((finding) => {
        const { assessment, recommendedAction, obligations } = read({ jurisdiction: code, ...finding });
        expect(obligations.length, code).toBeGreaterThan(0);
        return JSON.stringify([assessment, recommendedAction, obligations]);
      });
      expect(new Set(texts).size, code).toBe(FINDINGS.length);
    }
  });

  it('differs by jurisdiction, for every finding', () => {
    for (const finding of FINDINGS) {
      const texts = jurisdictions.all.map(({ code }) => {
        const { obligations, regulator, framework } = read({ jurisdiction: code, ...finding });
        return JSON.stringify([obligations, regulator, framework]);
      });
      expect(new Set(texts).size).toBe(jurisdictions.all.length);
    }
  });

  it('gives a listing priority over any score, and missing data over a clean answer', () => {
    expect(read({ sanctioned: true, riskLevel: 'LOW', isStale: true }).assessment).toContain('in force');
    expect(read({ riskLevel: 'HIGH', isStale: true }).assessment).toContain('serious risk');
    expect(read({ isStale: true, assessed: false }).assessment).toContain('missing or too old');
  });

  it('omits rules that are not in force on the day, and notes it among the sources', () => {
    const today = read({ jurisdiction: 'BR' });
    expect(today.travelRule).toBeNull();
    expect(today.framework.join()).not.toContain('BCB Resolution No. 520');
    expect(today.sources).toContainEqual(
      expect.objectContaining({
        fact: 'Not in force on 2026-11-21: Travel rule: BCB Resolution No. 520 of 10 November 2025',
        validFrom: '2027-02-02',
        validUntil: null,
      }),
    );
    const later = read({ jurisdiction: 'BR', day: '2027-02-02' });
    expect(later.travelRule).toMatchObject({ threshold: null, currency: 'BRL' });
    expect(later.framework.join()).toContain('BCB Resolution No. 520');
    expect(read({ jurisdiction: 'DE', day: '2024-12-29' })).toMatchObject({ travelRule: null });
    expect(read({ jurisdiction: 'DE', day: '2024-12-30' }).framework.join()).toContain('2023/1113');
  });
});
