/** The texts of evidence, of which equal ones are hashed once. */
import { describe, expect, it } from 'vitest';
import { canonicalJson, canonicalSha256 } from '../../src/receipts/canonical.ts';
import { EvidenceTexts } from '../../src/receipts/evidence-texts.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import type { AnswerToAttest } from '../../src/receipts/service.ts';

type Evidence = AnswerToAttest['evidence'];

const evidenceWith = (labels: unknown, height: number): Evidence =>
  ({ kind: 'ORACLE', labels, isSeen: true, graph: { height, asOf: null } }) as unknown as Evidence;

describe('the texts of evidence', () => {
  it('are those of its own members, whichever came before', () => {
    const texts = new EvidenceTexts();
    const large = [['x'.repeat(RECEIPT_LIMITS.groupedBytesMax)]];
    for (const labels of [[[]], [['a']], [['b']], large, [['a']], [[]], large])
      for (const height of [1, 2, 2, 1]) {
        const evidence = evidenceWith(labels, height);
        const { labels: _, ...rest } = evidence as unknown as Record<string, unknown>;
        expect(texts.of(evidence)).toEqual({
          labels: canonicalJson(labels),
          rest: canonicalJson(rest),
          sha256: canonicalSha256(evidence),
        });
      }
  });

  it('are the same object for equal evidence', () => {
    const texts = new EvidenceTexts();
    const first = texts.of(evidenceWith([['a']], 1));
    texts.of(evidenceWith([['b']], 1));
    expect(texts.of(evidenceWith([['a']], 1))).toBe(first);
    expect(texts.of(evidenceWith([['a']], 2))).not.toBe(first);
  });

  it('have no labels if the evidence has none', () => {
    const evidence = { kind: 'NAMES', answer: { matches: [] } } as const;
    expect(new EvidenceTexts().of(evidence)).toEqual({
      labels: null,
      rest: canonicalJson(evidence),
      sha256: canonicalSha256(evidence),
    });
  });
});
