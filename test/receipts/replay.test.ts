/** Replays of receipts: what is compared, and what is scored again. */
import { describe, expect, it } from 'vitest';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { canonicalSha256 } from '../../src/receipts/canonical.ts';
import { answerOf } from '../../src/receipts/receipt.ts';
import type { Receipt } from '../../src/receipts/receipt-schema.ts';
import { replay } from '../../src/receipts/replay.ts';
import type { ReceiptContent } from '../../src/receipts/store.ts';
import { loadPolicy, policyToJson } from '../../src/risk/policy.ts';
import { rescore } from '../../src/screening/rescore.ts';
import { receiptWith } from './world.ts';

const policy = loadPolicy(loadTaxonomy().rows);

/** A receipt of an address without a label, with the hashes of its parts. */
function scored(change: Partial<Receipt> = {}): ReceiptContent {
  const evidence = { kind: 'SANCTIONS', labels: [[]], staleReason: null } as const;
  const { verdict, score, riskLevel, sanctioned, reasonCodes } = rescore(evidence, policy);
  const json = policyToJson(policy);
  return {
    receipt: receiptWith({
      ...{ kind: 'SANCTIONS', verdict, score, riskLevel, sanctioned, reasonCodes },
      ...{ evidenceSha256: canonicalSha256(evidence), policySha256: canonicalSha256(json) },
      ...change,
    } as unknown as Partial<Receipt>),
    evidence,
    policy: json,
  };
}

/** A receipt of names, whose answer is compared only. */
function named(kind: Receipt['kind'], change: Partial<Receipt> = {}): ReceiptContent {
  const answer = { matches: [], receipt: { id: 'x' }, screeningId: 's', ignored: [] };
  const evidence = { kind, answer };
  return {
    receipt: receiptWith({
      ...{ kind, answerSha256: canonicalSha256(answerOf(answer)) },
      ...{ evidenceSha256: canonicalSha256(evidence), policySha256: canonicalSha256({}) },
      ...change,
    }),
    evidence,
    policy: {},
  };
}

describe('the replay of a receipt', () => {
  it('is equal, and names the version that issued it only if that is another one', () => {
    const { id, softwareVersion } = receiptWith();
    expect(replay(scored(), softwareVersion)).toEqual({
      ...{ id, isEqual: true, differences: [], isScored: true, otherVersion: null },
    });
    expect(replay(scored(), '9.9.9')).toMatchObject({ isEqual: true, otherVersion: softwareVersion });
  });

  it('names each field that differs, with both values', () => {
    const { score } = scored().receipt;
    const { isEqual, differences } = replay(scored({ score: 99, sanctioned: true }), '1.0.0');
    expect([isEqual, differences]).toEqual([
      false,
      [
        { field: 'score', receipt: '99', replay: String(score) },
        { field: 'sanctioned', receipt: 'true', replay: 'false' },
      ],
    ]);
    const other = 'cd'.repeat(32);
    for (const field of ['evidenceSha256', 'policySha256'])
      expect(replay(scored({ [field]: other }), '1.0.0').differences).toMatchObject([{ field }]);
  });

  it('compares the answer of names and lines, and scores nothing', () => {
    for (const kind of ['NAMES', 'BULK', 'BATCH'] as const) {
      expect(replay(named(kind), '1.0.0')).toMatchObject({ isEqual: true, isScored: false });
      expect(replay(named(kind, { answerSha256: 'cd'.repeat(32) }), '1.0.0').differences).toMatchObject([
        { field: 'answerSha256' },
      ]);
      // Facts of a verdict are not among what is compared.
      expect(replay(named(kind, { score: 1 }), '1.0.0').isEqual).toBe(true);
    }
  });

  it('refuses evidence of another kind, and evidence that cannot be scored', () => {
    const content = scored();
    expect(() => replay({ ...content, evidence: { ...content.evidence, kind: 'ORACLE' } }, '1.0.0')).toThrow(
      'evidence: must be of the kind SANCTIONS (got "ORACLE")',
    );
    expect(() => replay({ ...content, evidence: { kind: 'SANCTIONS' } }, '1.0.0')).toThrow(
      'cannot be scored',
    );
  });
});
