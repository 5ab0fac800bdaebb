import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import { loadPolicy, parsePolicy, riskLevelOf } from '../../src/risk/policy.ts';
import {
  type ExposureEvidence,
  type OwnershipEvidence,
  type RiskEvidence,
  score,
} from '../../src/risk/score.ts';

const policy = loadPolicy(loadTaxonomy().rows);

const nothing: RiskEvidence = { sanctions: [], labels: [], exposures: [], isService: false };

const exposure = (fields: Partial<ExposureEvidence>): ExposureEvidence => ({
  category: 'UNKNOWN',
  direction: 'in',
  hops: 1,
  valueUsd: 1000,
  unpricedTransfers: 0,
  confidence: 1,
  entity: null,
  ...fields,
});

const label = (fields: Partial<OwnershipEvidence>): OwnershipEvidence => ({
  category: 'SCAM',
  confidence: 1,
  entity: 'Somebody',
  source: 'test',
  ...fields,
});

const anyLabel = fc.record({
  category: fc.constantFrom(...CATEGORIES),
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  entity: fc.constantFrom('A', 'B', 'C'),
  source: fc.constantFrom('x', 'y'),
});

const anyExposure = fc.record({
  category: fc.constantFrom(...CATEGORIES, 'UNKNOWN' as const),
  direction: fc.constantFrom('in' as const, 'out' as const),
  hops: fc.integer({ min: 1, max: 4 }),
  valueUsd: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }), { nil: null }),
  unpricedTransfers: fc.integer({ min: 0, max: 50 }),
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  entity: fc.option(fc.constantFrom('A', 'B', 'C'), { nil: null }),
});

const anyEvidence: fc.Arbitrary<RiskEvidence> = fc.record({
  sanctions: fc.array(fc.constantFrom('OFAC_SDN: A', 'EU: B'), { maxLength: 2 }),
  labels: fc.array(anyLabel, { maxLength: 4 }),
  exposures: fc.array(anyExposure, { maxLength: 12 }),
  isService: fc.boolean(),
});

describe('score', () => {
  it('is nothing where nothing is known', () => {
    expect(score(nothing, policy)).toMatchObject({ riskScore: 0, riskLevel: 'LOW', scoreBreakdown: [] });
  });

  it('is 100 for a direct sanction in force, whatever else is known', () => {
    const result = score(
      { ...nothing, sanctions: ['OFAC_SDN: A'], labels: [label({ category: 'EXCHANGE' })] },
      policy,
    );
    expect(result).toMatchObject({ riskScore: 100, riskLevel: 'CRITICAL' });
    expect(result.scoreBreakdown).toMatchObject([{ factor: 'SANCTIONS_IN_FORCE', points: 100 }]);
  });

  it('takes the strongest label, and does not add up publishers of one fact', () => {
    const once = score({ ...nothing, labels: [label({})] }, policy);
    const thrice = score(
      { ...nothing, labels: [label({}), label({ source: 'b' }), label({ category: 'EXCHANGE' })] },
      policy,
    );
    expect(once.riskScore).toBe(policy.weights.SCAM);
    expect(thrice.riskScore).toBe(once.riskScore);
    expect(thrice.scoreBreakdown[0]?.evidence).toEqual(['b: Somebody', 'test: Somebody']);
  });

  it('weighs a label by its confidence', () => {
    const half = score({ ...nothing, labels: [label({ confidence: 0.5 })] }, policy);
    expect(half.riskScore).toBe(Math.round(policy.weights.SCAM / 2));
  });

  it('counts a value that nobody could price', () => {
    const unpriced = exposure({ category: 'MIXER', valueUsd: null, unpricedTransfers: 1 });
    expect(score({ ...nothing, exposures: [unpriced] }, policy).riskScore).toBeGreaterThan(0);
  });

  it('gives nothing for contacts in which no value moved', () => {
    const poisoning = exposure({ category: 'PHISHING', valueUsd: 0 });
    expect(score({ ...nothing, exposures: [poisoning, exposure({})] }, policy).riskScore).toBe(0);
  });

  it('is not washed away by clean volume: a large sum keeps its points', () => {
    const dirty = exposure({ category: 'RANSOMWARE', valueUsd: 1_000_000 });
    const washed = score({ ...nothing, exposures: [dirty, exposure({ valueUsd: 1e12 })] }, policy);
    const pure = score({ ...nothing, exposures: [dirty] }, policy);
    expect(washed.riskScore).toBeLessThan(pure.riskScore);
    expect(washed.riskScore).toBeGreaterThanOrEqual(
      Math.floor(policy.weights.RANSOMWARE * policy.directDecay * policy.valueCeiling),
    );
  });

  it('counts the share of volume where the sums are small', () => {
    const of = (clean: number): number =>
      score(
        {
          ...nothing,
          exposures: [exposure({ category: 'SCAM', valueUsd: 50 }), exposure({ valueUsd: clean })],
        },
        policy,
      ).riskScore;
    expect(of(0)).toBeGreaterThan(of(500));
    expect(of(500)).toBeGreaterThan(of(50_000));
  });

  it('tells the two directions and the share apart', () => {
    const result = score(
      {
        ...nothing,
        exposures: [
          exposure({ category: 'MIXER', valueUsd: 250, entity: 'Blender' }),
          exposure({ valueUsd: 750 }),
          exposure({ direction: 'out', category: 'EXCHANGE', valueUsd: 10 }),
        ],
      },
      policy,
    );
    expect(result.scoreBreakdown).toMatchObject([
      { category: 'MIXER', direction: 'in', percentage: 25, valueUsd: 250, hops: 1, evidence: ['Blender'] },
    ]);
  });

  it('judges a service less harshly by whom it trades with', () => {
    const exposures = [exposure({ category: 'SCAM' })];
    const service = score({ ...nothing, exposures, isService: true }, policy).riskScore;
    expect(service).toBeLessThan(score({ ...nothing, exposures }, policy).riskScore);
    expect(service).toBeGreaterThan(0);
  });

  it('adds up: the points of the breakdown are the score before its cap', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const result = score(evidence, policy);
        const points = result.scoreBreakdown.map((factor) => factor.points);
        const sum = points.reduce((total, one) => total + one, 0);
        expect(points.every((one) => Number.isInteger(one) && one > 0)).toBe(true);
        expect(result.riskScore).toBe(Math.min(100, sum));
        expect(result.riskLevel).toBe(riskLevelOf(result.riskScore, policy));
        for (const factor of result.scoreBreakdown) {
          expect(factor.percentage).toBeGreaterThanOrEqual(0);
          expect(factor.percentage).toBeLessThanOrEqual(100);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('never falls when something risky comes on top', () => {
    const risky = CATEGORIES.filter((category) => policy.weights[category] >= policy.riskyFrom);
    const more = anyExposure.chain((one) =>
      fc.constantFrom(...risky).map((category) => ({ ...one, category })),
    );
    fc.assert(
      fc.property(
        anyEvidence,
        fc.array(more, { maxLength: 3 }),
        fc.array(anyLabel, { maxLength: 2 }),
        (evidence, exposures, labels) => {
          const before = score(evidence, policy);
          const after = score(
            {
              ...evidence,
              exposures: [...evidence.exposures, ...exposures],
              labels: [...evidence.labels, ...labels],
            },
            policy,
          );
          expect(after.riskScore).toBeGreaterThanOrEqual(before.riskScore);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('is the same for the same evidence, in any order', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const turned = {
          ...evidence,
          labels: [...evidence.labels].reverse(),
          exposures: [...evidence.exposures].reverse(),
          sanctions: [...evidence.sanctions].reverse(),
        };
        expect(score(evidence, policy)).toEqual(score(evidence, policy));
        expect(score(turned, policy).riskScore).toBe(score(evidence, policy).riskScore);
      }),
    );
  });
});

describe('policy', () => {
  const document = {
    version: '1',
    levels: { MEDIUM: 30, HIGH: 60, CRITICAL: 80 },
    weights: {},
    sanctionedPoints: 100,
    riskyFrom: 30,
    directDecay: 0.8,
    hopDecay: 0.5,
    shareExponent: 0.5,
    valueUnitUsd: 100,
    valueFullUsd: 1e6,
    valueCeiling: 0.6,
    unpricedTransferUsd: 1000,
    serviceExposureFactor: 0.3,
    dustUsd: 1,
    unsolicitedMaxUsd: 500,
    unsolicitedMaxTransfers: 3,
    unsolicitedFactor: 0.25,
    kytBlockFrom: 80,
    kytReviewFrom: 50,
    labelsMaxAgeDays: 90,
    oracleTtlSeconds: 300,
  };
  const { rows } = loadTaxonomy();

  it('takes its own weights before those of the categories', () => {
    const read = parsePolicy({ ...document, weights: { MIXER: 12 } }, rows);
    expect(read.weights.MIXER).toBe(12);
    expect(read.weights.SCAM).toBe(rows.find((row) => row.id === 'SCAM')?.weight);
  });

  it.each([
    [{ weights: { MIXR: 1 } }, 'weights.MIXR'],
    [{ weights: { MIXER: 101 } }, 'weights.MIXER'],
    [{ directDecay: 1.5 }, 'directDecay'],
    [{ sanctionedPoints: 90 }, 'sanctionedPoints'],
    [{ levels: { MEDIUM: 60, HIGH: 60, CRITICAL: 80 } }, 'levels'],
    [{ version: '' }, 'version'],
    [{ valueFullUsd: 50 }, 'valueFullUsd'],
  ])('refuses %j and names the field', (change, field) => {
    expect(() => parsePolicy({ ...document, ...change }, rows)).toThrow(field);
  });

  it('has the levels of the specification', () => {
    const levels = [0, 29, 30, 59, 60, 79, 80, 100].map((points) => riskLevelOf(points, policy));
    expect(levels).toEqual(['LOW', 'LOW', 'MEDIUM', 'MEDIUM', 'HIGH', 'HIGH', 'CRITICAL', 'CRITICAL']);
  });
});
