import { expect, it } from 'vitest';
import { ratesText, ruleText } from '../../src/cli/lookup.ts';

const derivation = {
  ...{ rule: 'proxy-code', version: 1, precision: null, recall: null, measuredOn: null, measuredAt: null },
  notMeasured: 'No chain at hand.',
};

it('says how often a rule is right, on which data and when, or why that is not known', () => {
  expect(ruleText(derivation)).toBe('proxy-code 1, error rate not measured');
  expect(ratesText(derivation)).toBe('Not measured: No chain at hand.');
  const half = { ...derivation, precision: 0.9456, measuredOn: '148 proxies', measuredAt: '2026-11-27' };
  expect(ruleText(half)).toBe('proxy-code 1, 94.6 % right');
  expect(ratesText(half)).toBe(
    '94.6 % of its labels are right (148 proxies, 2026-11-27). Not measured: No chain at hand.',
  );
  expect(ratesText({ ...half, recall: 1, notMeasured: null })).toBe(
    '94.6 % of its labels are right, it finds 100 % (148 proxies, 2026-11-27).',
  );
});
