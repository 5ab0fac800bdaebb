import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVIDENCE_CLASSES, isDerived } from '../../src/labels/evidence-class.ts';
import { CATEGORIES, THREAT_LEVELS } from '../../src/labels/taxonomy.ts';
import {
  combinedConfidence,
  labelPoints,
  labelSeverities,
  type OwnershipEvidence,
  ownershipFactor,
} from '../../src/risk/ownership.ts';
import { label, policy } from './evidence.ts';

const anyLabel: fc.Arbitrary<OwnershipEvidence> = fc.record({
  category: fc.constantFrom(...CATEGORIES),
  threatLevel: fc.constantFrom(...THREAT_LEVELS),
  // More often around the threshold than elsewhere.
  confidence: fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.constantFrom(0, 0.5, 0.7, 0.79, 0.8, 0.9, 1),
  ),
  class: fc.constantFrom(...EVIDENCE_CLASSES),
  independenceGroup: fc.constantFrom('a', 'b', 'c', 'crowd'),
  entity: fc.constantFrom('A', 'B'),
  source: fc.constantFrom('x', 'y'),
});
const anyLabels = fc.array(anyLabel, { maxLength: 6 });

const points = (labels: readonly OwnershipEvidence[]): number =>
  ownershipFactor({ sanctions: [], labels }, policy)?.points ?? 0;
const decisive = (one: OwnershipEvidence): boolean => one.threatLevel === 'CRITICAL' && !isDerived(one.class);

const phishing = (fields: Partial<OwnershipEvidence>): OwnershipEvidence =>
  label({ category: 'PHISHING', ...fields });

describe('agreeing publishers', () => {
  it('score at least CRITICAL from a combined confidence of 0.8 on', () => {
    const one = phishing({ source: 'a', confidence: 0.6 });
    const other = phishing({ source: 'b', confidence: 0.5 });
    expect(combinedConfidence([one, other])).toBeCloseTo(0.8, 12);
    expect([points([one]), points([other])]).toEqual([48, 40]);
    expect(points([one, other])).toBe(80);
    expect(points([one, { ...other, confidence: 0.49 }])).toBeLessThan(80);
  });

  it('count once per group, with any number of rows', () => {
    const rows = Array.from({ length: 9 }, (_, at) =>
      phishing({ source: `pack ${at}`, independenceGroup: 'crowd', confidence: 0.7 }),
    );
    expect(combinedConfidence(rows)).toBeCloseTo(0.7, 12);
    expect(points(rows)).toBe(56);
  });

  it('may name different crimes', () => {
    const labels = [
      phishing({ source: 'a', confidence: 0.7 }),
      label({ category: 'STOLEN_FUNDS', source: 'b', confidence: 0.6 }),
    ];
    const factor = ownershipFactor({ sanctions: [], labels }, policy);
    expect(factor).toMatchObject({ factor: 'OWN_LABEL', points: 80, class: 'published' });
    expect(factor?.evidence).toEqual(['a: Somebody', 'b: Somebody']);
  });

  it('do not agree with a label below CRITICAL', () => {
    const mixer = label({ category: 'MIXER', source: 'b', confidence: 0.9 });
    expect(points([phishing({ source: 'a', confidence: 0.7 }), mixer])).toBe(
      Math.round(policy.weights.MIXER * 0.9),
    );
  });

  it('have one severity, that of their combined points', () => {
    const one = phishing({ source: 'a', confidence: 0.6 });
    const other = label({ category: 'SCAM', source: 'b', confidence: 0.5 });
    const mixer = label({ category: 'MIXER', source: 'c', confidence: 0.9 });
    expect(labelSeverities([one, other, mixer], policy)).toEqual(['CRITICAL', 'CRITICAL', 'HIGH']);
    expect(labelSeverities([other], policy)).toEqual(['MEDIUM']);
    expect(labelSeverities([{ ...one, class: 'inferred' }], policy)).toEqual(['MEDIUM']);
  });

  it.each(['SCAM', 'PONZI', 'PHISHING', 'STOLEN_FUNDS'] as const)('decide by %s', (category) => {
    expect(points([label({ category, confidence: 0.8 })])).toBeGreaterThanOrEqual(80);
    expect(points([label({ category, confidence: 0.79 })])).toBeLessThan(80);
  });

  it('raise a single label of confidence 0.8 to CRITICAL', () => {
    expect(points([phishing({ confidence: 0.8 })])).toBe(80);
    expect(points([phishing({ confidence: 0.79 })])).toBe(63);
  });
});

describe('a single label', () => {
  it('is not rounded up like one that others agree with', () => {
    const justBelowHalf = (62.5 - 4e-10) / policy.weights.PHISHING;
    expect(points([phishing({ confidence: justBelowHalf })])).toBe(62);
  });
});

describe('derived labels', () => {
  it('stay below CRITICAL, alone and together', () => {
    fc.assert(
      fc.property(anyLabels, (labels) => {
        expect(points(labels.filter((one) => isDerived(one.class)))).toBeLessThan(policy.levels.CRITICAL);
      }),
    );
  });

  it('do not confirm a publisher', () => {
    const published = phishing({ source: 'a', confidence: 0.7 });
    const cluster = phishing({ source: 'cluster', class: 'structural', confidence: 0.9 });
    expect(points([published, cluster])).toBe(72);
  });

  it('never lower a score', () => {
    fc.assert(
      fc.property(anyLabels, anyLabel, (labels, more) => {
        const derived = { ...more, class: 'inferred' as const };
        expect(points([...labels, derived])).toBeGreaterThanOrEqual(points(labels));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the points of the labels of an address', () => {
  it('never fall if a label is added', () => {
    fc.assert(
      fc.property(anyLabels, anyLabel, (labels, more) => {
        expect(points([...labels, more])).toBeGreaterThanOrEqual(points(labels));
      }),
      { numRuns: 5000 },
    );
  });

  it('never fall if a label becomes more certain', () => {
    fc.assert(
      fc.property(anyLabels, anyLabel, fc.double({ min: 0, max: 1, noNaN: true }), (labels, one, by) => {
        const surer = { ...one, confidence: one.confidence + (1 - one.confidence) * by };
        expect(points([...labels, surer])).toBeGreaterThanOrEqual(points([...labels, one]));
      }),
      { numRuns: 5000 },
    );
  });

  it('do not depend on the order of the labels', () => {
    fc.assert(
      fc.property(anyLabels, (labels) => {
        expect(ownershipFactor({ sanctions: [], labels: [...labels].reverse() }, policy)).toEqual(
          ownershipFactor({ sanctions: [], labels }, policy),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('are CRITICAL if the combined confidence is 0.8 or more', () => {
    fc.assert(
      fc.property(anyLabels, (labels) => {
        if (combinedConfidence(labels.filter(decisive)) >= 0.8)
          expect(points(labels)).toBeGreaterThanOrEqual(policy.levels.CRITICAL);
      }),
      { numRuns: 2000 },
    );
  });

  it('of a single label are those of the label', () => {
    fc.assert(
      fc.property(anyLabel, (one) => {
        expect(points([one])).toBe(labelPoints(one, policy));
      }),
    );
  });

  it('belong to the category that comes first by name if two have the same points', () => {
    const scam = label({ category: 'SCAM', source: 'a', entity: 'S' });
    const ponzi = label({
      category: 'PONZI',
      source: 'b',
      entity: 'P',
      confidence: policy.weights.SCAM / policy.weights.PONZI,
    });
    expect(points([scam])).toBe(points([ponzi]));
    for (const labels of [
      [scam, ponzi],
      [ponzi, scam],
    ])
      expect(ownershipFactor({ sanctions: [], labels }, policy)).toMatchObject({
        category: 'PONZI',
        evidence: ['b: P'],
      });
  });

  it('use the better class of two labels of one category with the same points', () => {
    const published = label({ source: 'a', class: 'published' });
    const listed = label({ source: 'b', class: 'list' });
    for (const labels of [
      [published, listed],
      [listed, published],
    ])
      expect(ownershipFactor({ sanctions: [], labels }, policy)?.class).toBe('list');
  });

  it('are omitted if they are zero', () => {
    expect(ownershipFactor({ sanctions: [], labels: [] }, policy)).toBeNull();
    expect(ownershipFactor({ sanctions: [], labels: [label({ confidence: 0 })] }, policy)).toBeNull();
  });

  it('name at most ten sources', () => {
    const sources = Array.from({ length: 12 }, (_, at) => String.fromCharCode(97 + at));
    const labels = sources.map((source) => label({ category: 'SCAM', source }));
    const names = sources.slice(0, 10).map((source) => `${source}: Somebody`);
    expect(ownershipFactor({ sanctions: [], labels: labels.reverse() }, policy)?.evidence).toEqual(names);
    expect(ownershipFactor({ sanctions: sources, labels: [] }, policy)?.evidence).toEqual(
      sources.slice(0, 10),
    );
  });
});
