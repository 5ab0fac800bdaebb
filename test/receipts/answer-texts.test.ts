/** Canonical texts of answers that share all but some members. */
import { describe, expect, it } from 'vitest';
import { answerWriter } from '../../src/receipts/answer-texts.ts';
import { canonicalJson } from '../../src/receipts/canonical.ts';

const answers: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { chain: 'ETH', score: 7, reasons: [{ code: 'A', message: 'b "c"' }], entity: null },
  { Zulu: 1, middle: { nested: [1, 2, { a: '\u2028' }] }, zero: 0 },
  // The characters that stand for an own member.
  { name: '\ue000', chain: 'ETH' },
  { name: '"\ue000"', '\ue000': 1 },
];
const owns: readonly Readonly<Record<string, unknown>>[] = [
  { address: '0xab', quota: { remaining: 3, limit: null }, evaluatedAt: '2026-11-27T00:00:00.000Z' },
  { address: '\ue000', quota: null, evaluatedAt: '"\ue000"' },
  { address: '', quota: [], evaluatedAt: '\u00e9\u4e2d' },
];

describe('the text of an answer with its own members', () => {
  it.each(answers)('is the canonical text of both, the first time and later: %j', (answer) => {
    const write = answerWriter(answer, ['quota', 'address', 'evaluatedAt']);
    for (const own of [...owns, ...owns]) expect(write(own)).toBe(canonicalJson({ ...answer, ...own }));
  });

  it('leaves out what is added after an answer was hashed', () => {
    const write = answerWriter({ a: 1, receipt: {}, screeningId: 'x', ignored: [] }, ['b']);
    for (const b of [1, 2]) expect(write({ b })).toBe(`{"a":1,"b":${b}}`);
  });

  it('is refused for a value without a canonical form', () => {
    const write = answerWriter({ a: 1 }, ['b']);
    for (const _ of [1, 2]) expect(() => write({ b: '\ud800' })).toThrow('surrogate');
  });
});
