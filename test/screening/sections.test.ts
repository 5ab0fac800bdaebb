import { describe, expect, it } from 'vitest';
import { ScreeningResult } from '../../src/http/schemas/screening.ts';
import type { ScreeningAnswer } from '../../src/screening/answers.ts';
import { SCREENING_SECTIONS } from '../../src/screening/choices.ts';
import { chosenSections } from '../../src/screening/sections.ts';

/** Fields of every answer, whatever the client chose. */
const ALWAYS = [
  ...['walletAddress', 'address', 'chain', 'asOf', 'riskScore', 'riskLevel', 'policyVersion', 'assessed'],
  ...['reasons', 'sanctioned', 'coverage', 'dataVersion', 'screenedAt'],
];

/** No sections, and only in answers to requests that ask for them: a kept answer's id, and the receipt. */
const ON_REQUEST = ['screeningId', 'receipt'];

const rows = (count: number): never => Array.from({ length: count }, (_, n) => ({ n })) as never;
const answer = {
  ...Object.fromEntries(Object.keys(ScreeningResult.properties).map((name) => [name, rows(5)])),
  riskScore: 12,
  transactionFlow: { inflow: 1, outflow: 2, net: 3, daily: rows(5), dailyIsComplete: true },
} as unknown as ScreeningAnswer;

describe('the sections of a screening', () => {
  it('are all documented fields that are not part of every answer', () => {
    const documented = Object.keys(ScreeningResult.properties);
    expect([...SCREENING_SECTIONS, ...ALWAYS, ...ON_REQUEST].sort()).toEqual(documented.sort());
  });

  it('are the fields that the document does not require', () => {
    expect([...(ScreeningResult.required ?? [])].sort()).toEqual([...ALWAYS].sort());
  });

  it('are all of them by default', () => {
    expect(chosenSections(answer, {})).toBe(answer);
  });

  it('are the named ones, with the fields of every answer', () => {
    const chosen = chosenSections(answer, { sections: ['exposures', 'entity'] });
    expect(Object.keys(chosen).sort()).toEqual([...ALWAYS, 'exposures', 'entity', ...ON_REQUEST].sort());
    expect([chosen.exposures, chosen.riskScore]).toEqual([answer.exposures, 12]);
  });

  it('have at most the given number of rows in each list, except the parts of the score', () => {
    const { exposures, topCounterparties, scoreBreakdown, reasons, transactionFlow } = chosenSections(
      answer,
      {
        limit: 2,
      },
    );
    expect([exposures, topCounterparties]).toEqual([rows(2), rows(2)]);
    expect([scoreBreakdown, reasons]).toEqual([rows(5), rows(5)]);
    expect(transactionFlow).toEqual({
      inflow: 1,
      outflow: 2,
      net: 3,
      daily: rows(2),
      dailyIsComplete: false,
    });
    expect(chosenSections(answer, { limit: 5 })).toEqual(answer);
    expect(Object.keys(chosenSections(answer, { limit: 1, sections: ['taint'] }))).not.toContain('exposures');
  });
});
