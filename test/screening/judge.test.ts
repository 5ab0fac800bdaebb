import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EVIDENCE_CLASSES } from '../../src/labels/evidence-class.ts';
import type { Label } from '../../src/labels/label.ts';
import { CATEGORIES, THREAT_LEVELS } from '../../src/labels/taxonomy.ts';
import { labelPoints } from '../../src/risk/ownership.ts';
import { score } from '../../src/risk/score.ts';
import { labelEvidence, ownershipEvidence } from '../../src/screening/judge.ts';
import { policy } from './world.ts';

const anyLone: fc.Arbitrary<Label> = fc
  .record({
    category: fc.constantFrom(...CATEGORIES),
    threatLevel: fc.constantFrom(...THREAT_LEVELS),
    class: fc.constantFrom(...EVIDENCE_CLASSES),
    source: fc.constantFrom('seed', 'graphsense', 'scams', 'cluster', 'nobody'),
    sourceUrl: fc.constantFrom(null, 'https://ransomwhe.re/', 'https://example.org/'),
    confidence: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0.7, 0.8, 1)),
  })
  .map((fields) => ({
    ...fields,
    entity: { id: 'x', name: 'X', category: fields.category, jurisdiction: null, url: null },
    scope: 'BTC',
    tags: [],
    sanctions: [],
    verified: true,
    synthetic: false,
    firstSeen: null,
    lastSeen: null,
  }));

const pointsAlone = (label: Label): number => labelPoints(ownershipEvidence(label), policy);

it('gives a single label the points that the full score gives it', () => {
  fc.assert(
    fc.property(anyLone, (label) => {
      expect(pointsAlone(label)).toBe(score(labelEvidence([label], policy), policy).riskScore);
    }),
    { numRuns: 3000 },
  );
});

it('limits the confidence of a crowd-sourced label to 0.7, and shows the label unchanged', () => {
  const [label] = fc.sample(anyLone, 1) as [Label];
  const crowd: Label = {
    ...label,
    category: 'RANSOMWARE',
    threatLevel: 'CRITICAL',
    class: 'published',
    source: 'graphsense',
    sourceUrl: 'https://ransomwhe.re/',
    confidence: 0.95,
  };
  expect(ownershipEvidence(crowd)).toMatchObject({ confidence: 0.7, independenceGroup: 'crowd' });
  expect(pointsAlone(crowd)).toBe(67);
  expect(crowd.confidence).toBe(0.95);
  expect(pointsAlone({ ...crowd, sourceUrl: null })).toBe(90);
});
