import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { EVIDENCE_CLASSES, type EvidenceClass } from '../../src/labels/evidence-class.ts';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import { decayAt, type ExposureEvidence, isUnsolicited, type RiskEvidence } from '../../src/risk/evidence.ts';
import { parsePolicy, riskLevelOf } from '../../src/risk/policy.ts';
import { score } from '../../src/risk/score.ts';
import { isGrave } from '../../src/risk/severities.ts';
import { exposure, label, policy } from './evidence.ts';

const nothing: RiskEvidence = { sanctions: [], labels: [], exposures: [], isService: false };

const anyLabel = fc
  .record({
    category: fc.constantFrom(...CATEGORIES),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    entity: fc.constantFrom('A', 'B', 'C'),
    source: fc.constantFrom('x', 'y'),
    class: fc.constantFrom(...EVIDENCE_CLASSES),
  })
  .map((fields) => label(fields));

const anyExposure = fc.record({
  category: fc.constantFrom(...CATEGORIES, 'UNKNOWN' as const),
  direction: fc.constantFrom('in' as const, 'out' as const),
  hops: fc.integer({ min: 1, max: 5 }),
  asset: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.constantFrom('ETH', 'ODD')),
  valueUsd: fc.oneof(
    fc.double({ min: 0, max: 1e9, noNaN: true }),
    // Around the limit of dust.
    fc.double({ min: 0, max: 2, noNaN: true }),
    fc.constantFrom(0, 0.99, 1, 1.01),
  ),
  share: fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.constantFrom(0, 0.00009, policy.dustShare, 0.0002, 0.01, 0.05, 1),
  ),
  flowPart: fc.constantFrom(0.001, 0.5, 1),
  class: fc.constantFrom(...EVIDENCE_CLASSES),
  confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  entity: fc.option(fc.constantFrom('A', 'B', 'C'), { nil: null }),
  unsolicited: fc.boolean(),
});

const anyEvidence: fc.Arbitrary<RiskEvidence> = fc.record({
  sanctions: fc.array(fc.constantFrom('OFAC_SDN: A', 'EU: B'), { maxLength: 2 }),
  labels: fc.array(anyLabel, { maxLength: 4 }),
  exposures: fc.array(anyExposure, { maxLength: 12 }),
  isService: fc.boolean(),
});

describe('score', () => {
  it('is 0 if nothing is known', () => {
    expect(score(nothing, policy)).toMatchObject({ riskScore: 0, riskLevel: 'LOW', scoreBreakdown: [] });
  });

  it('is 100 for a direct sanction in force, with any other evidence', () => {
    const result = score(
      { ...nothing, sanctions: ['OFAC_SDN: A'], labels: [label({ category: 'EXCHANGE' })] },
      policy,
    );
    expect(result).toMatchObject({ riskScore: 100, riskLevel: 'CRITICAL' });
    expect(result.scoreBreakdown).toMatchObject([{ factor: 'SANCTIONS_IN_FORCE', points: 100 }]);
  });

  it('counts the strongest label, and does not add publishers of the same fact', () => {
    const once = score({ ...nothing, labels: [label({})] }, policy);
    const thrice = score(
      { ...nothing, labels: [label({}), label({ source: 'b' }), label({ category: 'EXCHANGE' })] },
      policy,
    );
    expect(once.riskScore).toBe(policy.levels.CRITICAL);
    expect(thrice.riskScore).toBe(once.riskScore);
    expect(thrice.scoreBreakdown[0]?.evidence).toEqual(['b: Somebody', 'test: Somebody']);
  });

  it('weighs a label by its confidence', () => {
    const half = score({ ...nothing, labels: [label({ confidence: 0.5 })] }, policy);
    expect(half.riskScore).toBe(Math.round(policy.weights.SCAM / 2));
  });

  const unpriced = (fields: Partial<ExposureEvidence>): ExposureEvidence =>
    exposure({ asset: 'ODD', valueUsd: null, share: 1, ...fields });

  it('gives derived evidence the severity of its points, up to HIGH', () => {
    const severityOf = (evidenceClass: EvidenceClass, valueUsd: number) => {
      const risky = exposure({
        category: 'TERRORIST_FINANCING',
        class: evidenceClass,
        direction: 'out',
        valueUsd,
      });
      const clean = exposure({ category: 'EXCHANGE', direction: 'out' });
      return score({ ...nothing, exposures: [risky, clean] }, policy).scoreBreakdown[0]?.severity;
    };
    for (const derived of ['structural', 'inferred'] as const)
      expect([20, 1_000, 50_000].map((valueUsd) => severityOf(derived, valueUsd))).toEqual([
        'LOW',
        'HIGH',
        'HIGH',
      ]);
    expect(severityOf('published', 50_000)).toBe('CRITICAL');
  });

  it('limits the points of an asset without a price, at any share', () => {
    const sent = unpriced({ category: 'SANCTIONED_ENTITY' });
    expect(score({ ...nothing, exposures: [sent] }, policy).riskScore).toBe(policy.unpricedPointsMax);
    const unasked = { ...sent, unsolicited: true };
    expect(score({ ...nothing, exposures: [unasked] }, policy).riskScore).toBe(policy.unpricedPointsMax);
    const beside = score({ ...nothing, exposures: [unasked, exposure({ category: 'EXCHANGE' })] }, policy);
    expect(beside.riskScore).toBe(policy.unpricedPointsMaxBesidePriced);
    expect(beside.scoreBreakdown).toMatchObject([
      {
        ...{ asset: 'ODD', category: 'SANCTIONED_ENTITY', points: 20, percentage: 100, valueUsd: null },
        severity: 'LOW',
      },
    ]);
  });

  it('is not lowered by priced value if an asset without a price was sent, or received and spent', () => {
    for (const direction of ['in', 'out'] as const) {
      const own = unpriced({ category: 'SANCTIONED_ENTITY', direction });
      const clean = exposure({ direction, valueUsd: 1e9 });
      const result = score({ ...nothing, exposures: [own, clean] }, policy);
      expect(result.riskScore).toBe(policy.unpricedPointsMax);
      expect(result.scoreBreakdown).toMatchObject([{ asset: 'ODD', severity: 'HIGH' }]);
    }
  });

  it('counts the worst of several assets without a price, and only points that priced value did not add', () => {
    const dirty = unpriced({ category: 'MIXER', asset: 'A', share: 0.5 });
    const alone = score({ ...nothing, exposures: [dirty, unpriced({ asset: 'A', share: 0.5 })] }, policy);
    const many = ['B', 'C', 'D'].flatMap((asset) => [
      unpriced({ category: 'MIXER', asset, share: 0.5 }),
      unpriced({ asset, share: 0.5 }),
    ]);
    const all = { ...nothing, exposures: [dirty, unpriced({ asset: 'A', share: 0.5 }), ...many] };
    expect(score(all, policy).riskScore).toBe(alone.riskScore);
    const priced = exposure({ category: 'SCAM', valueUsd: 1e6 });
    const both = score({ ...nothing, exposures: [priced, dirty] }, policy);
    expect(both).toEqual(score({ ...nothing, exposures: [priced] }, policy));
  });

  it('gives no points for dust of an asset, measured against its larger flow', () => {
    const wei = unpriced({ category: 'SANCTIONED_ENTITY', direction: 'out', flowPart: 1e-20 });
    expect(score({ ...nothing, exposures: [wei] }, policy).riskScore).toBe(0);
    // A part that is smaller than a number can be.
    const none = unpriced({ category: 'SANCTIONED_ENTITY', direction: 'out', flowPart: 0 });
    expect(score({ ...nothing, exposures: [none] }, policy).riskScore).toBe(0);
    const small = unpriced({ category: 'SANCTIONED_ENTITY', share: 0.00009 });
    const rest = unpriced({ share: 0.99991 });
    expect(score({ ...nothing, exposures: [small, rest] }, policy).riskScore).toBe(0);
  });

  it('is not CRITICAL by derived labels alone', () => {
    const both = (evidenceClass: ExposureEvidence['class']): RiskEvidence => ({
      ...nothing,
      exposures: (['in', 'out'] as const).map((direction) =>
        exposure({ category: 'SANCTIONED_ENTITY', direction, class: evidenceClass, valueUsd: 1e6 }),
      ),
    });
    for (const derived of ['structural', 'inferred'] as const) {
      const result = score(both(derived), policy);
      expect(result.riskScore).toBe(policy.derivedScoreMax);
      expect(result.scoreBreakdown.at(-1)).toMatchObject({ factor: 'DERIVED_LABELS_CAP' });
    }
    expect(score(both('published'), policy).riskScore).toBe(100);
    const own = label({ category: 'SCAM', class: 'inferred' });
    const mixed = { ...nothing, labels: [own], exposures: [exposure({ category: 'MIXER', valueUsd: 5 })] };
    expect(score(mixed, policy).riskScore).toBe(policy.derivedScoreMax);
    const listed = { ...both('list'), labels: [own] };
    expect(score(listed, policy).riskScore).toBe(100);
  });

  it('is not raised over the limit by derived labels if other evidence reaches it', () => {
    const derived = exposure({ category: 'MIXER', class: 'structural', valueUsd: 1e6 });
    const of = (points: number) =>
      score(
        { ...nothing, labels: [label({ category: 'MIXER' })], exposures: [derived] },
        { ...policy, derivedScoreMax: points },
      );
    expect(of(policy.weights.MIXER).riskScore).toBe(policy.weights.MIXER);
    expect(of(policy.weights.MIXER - 1).riskScore).toBeGreaterThan(policy.weights.MIXER);
  });

  it('rounds confidence to the nearest tenth', () => {
    const of = (confidence: number): number =>
      score({ ...nothing, exposures: [exposure({ category: 'MIXER', confidence })] }, policy).riskScore;
    expect(of(0.66)).toBe(of(0.7));
    expect(of(0.64)).toBe(of(0.6));
  });

  it('treats transfers within the same entity as neutral', () => {
    const own = exposure({ category: 'MIXER', isOwn: true, valueUsd: 1e6 });
    expect(score({ ...nothing, exposures: [own] }, policy).riskScore).toBe(0);
  });

  it('gives no points for contacts without value', () => {
    const poisoning = exposure({ category: 'PHISHING', valueUsd: 0 });
    expect(score({ ...nothing, exposures: [poisoning, exposure({})] }, policy).riskScore).toBe(0);
  });

  it('keeps the points of a large sum beside clean volume', () => {
    const dirty = exposure({ category: 'RANSOMWARE', valueUsd: 1_000_000 });
    const washed = score({ ...nothing, exposures: [dirty, exposure({ valueUsd: 1e12 })] }, policy);
    const pure = score({ ...nothing, exposures: [dirty] }, policy);
    expect(washed.riskScore).toBeLessThan(pure.riskScore);
    expect(washed.riskScore).toBeGreaterThanOrEqual(
      Math.floor(policy.weights.RANSOMWARE * policy.directDecay * policy.valueCeiling),
    );
  });

  it('counts the share of volume if the sums are small', () => {
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

  it('separates the two directions and the share', () => {
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

  it('is lower for a service with the same counterparties', () => {
    const exposures = [exposure({ category: 'SCAM' })];
    const service = score({ ...nothing, exposures, isService: true }, policy).riskScore;
    expect(service).toBeLessThan(score({ ...nothing, exposures }, policy).riskScore);
    expect(service).toBeGreaterThan(0);
  });

  it('is the sum of the points of the breakdown, before its cap', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const result = score(evidence, policy);
        const points = result.scoreBreakdown.map((factor) => factor.points);
        const sum = points.reduce((total, one) => total + one, 0);
        expect(result.riskScore).toBe(Math.min(100, sum));
        expect(result.riskLevel).toBe(riskLevelOf(result.riskScore, policy));
        for (const factor of result.scoreBreakdown) {
          expect(Number.isInteger(factor.points)).toBe(true);
          expect(factor.points < 0).toBe(
            factor.factor === 'UNSOLICITED_INBOUND' || factor.factor === 'DERIVED_LABELS_CAP',
          );
          if (factor.points === 0) expect(isGrave(factor.severity)).toBe(true);
          expect(factor.percentage).toBeGreaterThanOrEqual(0);
          expect(factor.percentage).toBeLessThanOrEqual(100);
        }
      }),
      { numRuns: 3000 },
    );
  });

  const risky = CATEGORIES.filter((category) => policy.weights[category] >= policy.riskyFrom);
  const anyRisky = anyExposure.chain((one) =>
    fc.constantFrom(...risky).map((category): ExposureEvidence => ({ ...one, category })),
  );
  const scoreOf = (evidence: RiskEvidence): number => score(evidence, policy).riskScore;

  it('never falls if a risk is added', () => {
    fc.assert(
      fc.property(
        anyEvidence,
        fc.array(anyRisky, { maxLength: 3 }),
        fc.array(anyLabel, { maxLength: 2 }),
        (evidence, exposures, labels) => {
          const more = {
            ...evidence,
            exposures: [...evidence.exposures, ...exposures],
            labels: [...evidence.labels, ...labels],
          };
          expect(scoreOf(more)).toBeGreaterThanOrEqual(scoreOf(evidence));
        },
      ),
      { numRuns: 5000 },
    );
  });

  /** Changes that make one exposure worse, with all else the same. */
  const worsenings: readonly [string, fc.Arbitrary<(one: ExposureEvidence) => ExposureEvidence>][] = [
    [
      'greater',
      fc
        .oneof(fc.double({ min: 0, max: 2, noNaN: true }), fc.double({ min: 0, max: 1e9, noNaN: true }))
        .map((more) => (one) => ({
          ...one,
          valueUsd: (one.valueUsd ?? 0) + more,
          share: Math.min(1, one.share + more),
        })),
    ],
    ['nearer', fc.constant((one) => ({ ...one, hops: Math.max(1, one.hops - 1) }))],
    [
      'surer',
      fc.double({ min: 0, max: 1, noNaN: true }).map((by) => (one) => ({
        ...one,
        confidence: one.confidence + by * (1 - one.confidence),
      })),
    ],
    [
      'graver',
      fc.constantFrom(...risky).map((category) => (one) => {
        const known = one.category === 'UNKNOWN' ? 0 : policy.weights[one.category];
        return policy.weights[category] > known ? { ...one, category } : one;
      }),
    ],
    ['asked for', fc.constant((one) => ({ ...one, unsolicited: false }))],
  ];

  it.each(worsenings)('never falls if a risky exposure gets %s', (_, worsening) => {
    fc.assert(
      fc.property(anyEvidence, anyRisky, fc.nat(12), worsening, (evidence, one, place, worsen) => {
        const rest = evidence.exposures;
        const at = (exposure: ExposureEvidence): RiskEvidence => ({
          ...evidence,
          exposures: [...rest.slice(0, place), exposure, ...rest.slice(place)],
        });
        expect(scoreOf(at(worsen(one)))).toBeGreaterThanOrEqual(scoreOf(at(one)));
      }),
      { numRuns: 3000 },
    );
  });

  it('never falls if neutral value becomes risky', () => {
    fc.assert(
      fc.property(anyEvidence, anyExposure, fc.constantFrom(...risky), (evidence, one, category) => {
        const neutral = { ...one, category: 'UNKNOWN' as const };
        const before = { ...evidence, exposures: [...evidence.exposures, neutral] };
        const after = { ...evidence, exposures: [...evidence.exposures, { ...one, category }] };
        expect(scoreOf(after)).toBeGreaterThanOrEqual(scoreOf(before));
      }),
      { numRuns: 3000 },
    );
  });

  it('is at most the highest severity of a direction, for any number of categories', () => {
    const exposures = risky.map((category) => exposure({ category, valueUsd: 1e6 }));
    expect(scoreOf({ ...nothing, exposures })).toBe(Math.ceil(100 * decayAt(1, policy)));
  });

  it('gives fewer points for exposure further away, down to the fifth hop', () => {
    const at = (hops: number): number =>
      scoreOf({ ...nothing, exposures: [exposure({ category: 'SANCTIONED_ENTITY', hops })] });
    expect([1, 2, 3, 4, 5].map(at)).toEqual([80, 40, 20, 10, 5]);
  });

  it('weighs an exposure by the confidence of its label, even if it is the only one', () => {
    const exposures = [exposure({ category: 'SANCTIONED_ENTITY', confidence: 0.5 })];
    expect(scoreOf({ ...nothing, exposures })).toBe(40);
  });

  it('ignores dust unless it accumulates', () => {
    const dust = exposure({ category: 'SCAM', valueUsd: 0.4 });
    expect(scoreOf({ ...nothing, exposures: [dust, dust] })).toBe(0);
    expect(scoreOf({ ...nothing, exposures: [dust, dust, dust] })).toBeGreaterThan(0);
  });

  it('is zero without any value, even if the policy knows no dust', () => {
    const dustless = { ...policy, dustUsd: 0, dustShare: 0 };
    const none = [
      exposure({ category: 'SANCTIONED_ENTITY', valueUsd: 0 }),
      exposure({ category: 'SANCTIONED_ENTITY', valueUsd: null }),
      unpriced({ category: 'SANCTIONED_ENTITY', share: 0 }),
    ];
    for (const one of none)
      expect(score({ ...nothing, exposures: [one] }, dustless)).toMatchObject({ riskScore: 0 });
    expect(score({ ...nothing, exposures: none }, dustless).riskScore).toBe(0);
    const little = exposure({ category: 'SANCTIONED_ENTITY', valueUsd: 0.01 });
    expect(score({ ...nothing, exposures: [little] }, dustless).riskScore).toBeGreaterThan(0);
  });

  it('counts value from the dust limit on, inclusive', () => {
    const priced = (valueUsd: number) => [exposure({ category: 'SCAM', valueUsd })];
    expect(scoreOf({ ...nothing, exposures: priced(policy.dustUsd) })).toBeGreaterThan(0);
    expect(scoreOf({ ...nothing, exposures: priced(policy.dustUsd * 0.999) })).toBe(0);
    const share = (part: number) => [unpriced({ category: 'SANCTIONED_ENTITY', share: part })];
    expect(scoreOf({ ...nothing, exposures: share(policy.dustShare) })).toBeGreaterThan(0);
    expect(scoreOf({ ...nothing, exposures: share(policy.dustShare * 0.999) })).toBe(0);
  });

  it('compares value with a limit as cents do, whatever else moved in the direction', () => {
    /** A value as evidence has it: a share of all that moved. */
    const partOf = (valueUsd: number, all: number): number => all * (valueUsd / all);
    const dealings = { direction: 'in', hops: 1, asset: null, sentBack: false, isSpent: false } as const;
    const { unsolicitedMaxUsd, unsolicitedTotalMaxUsd, dustUsd } = policy;
    const [least, most, total] = [
      partOf(dustUsd, 1.27),
      partOf(unsolicitedMaxUsd, 517.73),
      partOf(unsolicitedTotalMaxUsd, 8_202.09),
    ];
    // The sums are not exact: otherwise this test shows nothing.
    expect([least < dustUsd, most > unsolicitedMaxUsd, total > unsolicitedTotalMaxUsd]).toEqual([
      true,
      true,
      true,
    ]);
    expect(isUnsolicited({ ...dealings, valueUsd: most }, policy)).toBe(true);
    expect(isUnsolicited({ ...dealings, valueUsd: unsolicitedMaxUsd + 0.01 }, policy)).toBe(false);
    const discountOf = (valueUsd: number) =>
      score(
        { ...nothing, exposures: [exposure({ category: 'MIXER', valueUsd, unsolicited: true })] },
        policy,
      ).scoreBreakdown.some(({ factor }) => factor === 'UNSOLICITED_INBOUND');
    expect([total, unsolicitedTotalMaxUsd + 0.01].map(discountOf)).toEqual([true, false]);
    const pointsOf = (valueUsd: number) =>
      score({ ...nothing, exposures: [exposure({ category: 'MIXER', valueUsd })] }, policy).riskScore;
    expect([pointsOf(least), pointsOf(dustUsd - 0.01)]).toEqual([pointsOf(dustUsd), 0]);
    const besideOf = (neutral: number) =>
      score(
        {
          ...nothing,
          exposures: [
            exposure({ category: 'EXCHANGE', valueUsd: neutral }),
            exposure({
              category: 'MIXER',
              asset: 'ODD',
              valueUsd: null,
              share: 1,
              flowPart: 1,
              unsolicited: true,
            }),
          ],
        },
        policy,
      ).riskScore;
    const beside = policy.unpricedBesideUsd * (1 - 1e-15);
    expect(beside).toBeLessThan(policy.unpricedBesideUsd);
    expect(besideOf(beside)).toBe(besideOf(policy.unpricedBesideUsd));
    expect(besideOf(policy.unpricedBesideUsd - 0.01)).toBeGreaterThan(besideOf(beside));
  });

  it('limits unsolicited value without a price by priced neutral value from a documented sum on', () => {
    const beside = (valueUsd: number): number =>
      scoreOf({
        ...nothing,
        exposures: [unpriced({ category: 'SANCTIONED_ENTITY', unsolicited: true }), exposure({ valueUsd })],
      });
    expect(beside(policy.unpricedBesideUsd * 0.999)).toBe(policy.unpricedPointsMax);
    expect(beside(policy.unpricedBesideUsd)).toBe(policy.unpricedPointsMaxBesidePriced);
  });

  it('names the weakest evidence class of an exposure', () => {
    const classOf = (...classes: ExposureEvidence['class'][]) =>
      score(
        { ...nothing, exposures: classes.map((one) => exposure({ category: 'SCAM', class: one })) },
        policy,
      ).scoreBreakdown[0]?.class;
    expect(classOf('list')).toBe('list');
    expect(classOf('list', 'published')).toBe('published');
    expect(classOf('published', 'structural')).toBe('structural');
    expect(classOf('structural', 'inferred', 'list')).toBe('inferred');
  });

  it('gives no discount for value that came over another hop', () => {
    const far = exposure({ category: 'MIXER', hops: 2, valueUsd: 300 });
    expect(score({ ...nothing, exposures: [{ ...far, unsolicited: true }] }, policy)).toEqual(
      score({ ...nothing, exposures: [far] }, policy),
    );
  });

  it('names the category of the discount if it is one, and UNKNOWN for several', () => {
    const sent = exposure({ category: 'MIXER', valueUsd: 300, unsolicited: true });
    const discountOf = (...exposures: ExposureEvidence[]) =>
      score({ ...nothing, exposures }, policy).scoreBreakdown.at(-1);
    const mixers = discountOf(sent, sent, exposure({ category: 'SCAM', hops: 2 }));
    expect(mixers).toMatchObject({ factor: 'UNSOLICITED_INBOUND', category: 'MIXER', valueUsd: 600 });
    expect(discountOf(sent, { ...sent, category: 'SCAM' })).toMatchObject({ category: 'UNKNOWN' });
  });

  it('names entities by value, then by name, ten at most', () => {
    const names = Array.from({ length: 12 }, (_, at) => String.fromCharCode(97 + at));
    const exposures = [...names, 'l', 'z', 'z'].map((entity) => exposure({ category: 'SCAM', entity }));
    const evidence = score({ ...nothing, exposures }, policy).scoreBreakdown[0]?.evidence;
    expect(evidence).toEqual(['l', 'z', ...names.slice(0, 8)]);
  });

  it('assigns the odd point of equal parts to the category that comes first by name', () => {
    const linear = {
      ...policy,
      ...{ directDecay: 1, shareExponent: 1, valueCeiling: 0 },
      weights: { ...policy.weights, MIXER: 90, SCAM: 90 },
    };
    // A quarter of the value, then with the second a half: 22.5 points each.
    const mixer = exposure({ category: 'MIXER', valueUsd: 100 });
    const scam = exposure({ category: 'SCAM', valueUsd: 200 });
    const { scoreBreakdown } = score(
      { ...nothing, exposures: [scam, mixer, exposure({ valueUsd: 300 })] },
      linear,
    );
    expect(scoreBreakdown.map(({ category, points }) => [category, points])).toEqual([
      ['MIXER', 23],
      ['SCAM', 22],
    ]);
  });

  it('shows the discount for unsolicited money on its own line', () => {
    const sent = exposure({ category: 'MIXER', entity: 'Tornado Cash', valueUsd: 300 });
    const solicited = score({ ...nothing, exposures: [sent] }, policy);
    const result = score({ ...nothing, exposures: [{ ...sent, unsolicited: true }] }, policy);
    expect(solicited.riskScore).toBe(56);
    expect(result.riskScore).toBe(28);
    expect(result.scoreBreakdown).toMatchObject([
      { factor: 'DIRECT_EXPOSURE', points: 56 },
      {
        factor: 'UNSOLICITED_INBOUND',
        category: 'MIXER',
        direction: 'in',
        percentage: 100,
        valueUsd: 300,
        points: -28,
        evidence: ['Tornado Cash'],
      },
    ]);
  });

  it('gives no discount for value that came in many small parts', () => {
    const part = exposure({ category: 'PHISHING', valueUsd: 400, unsolicited: true });
    const of = (parts: number): number => scoreOf({ ...nothing, exposures: Array(parts).fill(part) });
    expect(of(12)).toBe(32);
    expect(of(13)).toBe(64);
  });

  it('matches the worked example in docs/decisions/score.md', () => {
    const result = score(
      {
        ...nothing,
        labels: [label({ category: 'GAMBLING', confidence: 0.8, entity: 'Dice' })],
        exposures: [
          exposure({ category: 'MIXER', valueUsd: 1600, entity: 'Blender' }),
          exposure({ category: 'MIXER', valueUsd: 400, entity: 'Tornado Cash', unsolicited: true }),
          exposure({ category: 'SCAM', hops: 2, valueUsd: 3000, confidence: 0.8, entity: 'Fake shop' }),
          exposure({ category: 'EXCHANGE', valueUsd: 15_000, entity: 'Kraken' }),
        ],
      },
      policy,
    );
    expect(result).toMatchObject({ riskScore: 54, riskLevel: 'MEDIUM' });
    expect(result.scoreBreakdown.map(({ factor, category, points }) => [factor, category, points])).toEqual([
      ['OWN_LABEL', 'GAMBLING', 24],
      ['DIRECT_EXPOSURE', 'MIXER', 27],
      ['INDIRECT_EXPOSURE', 'SCAM', 4],
      ['UNSOLICITED_INBOUND', 'MIXER', -1],
    ]);
  });

  it('gives no discount for sent value', () => {
    const sent = exposure({ category: 'MIXER', direction: 'out', valueUsd: 300, unsolicited: true });
    expect(scoreOf({ ...nothing, exposures: [sent] })).toBe(56);
  });

  it('is byte for byte the same for the same evidence in any order', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const turned = {
          ...evidence,
          labels: [...evidence.labels].reverse(),
          exposures: [...evidence.exposures].reverse(),
          sanctions: [...evidence.sanctions].reverse(),
        };
        const text = JSON.stringify(score(evidence, policy));
        expect(JSON.stringify(score(evidence, policy))).toBe(text);
        expect(JSON.stringify(score(turned, policy))).toBe(text);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('unsolicited money', () => {
  const dealings = {
    direction: 'in',
    hops: 1,
    asset: null,
    valueUsd: 300,
    share: 0,
    sentBack: false,
    isSpent: false,
  } as const;

  it.each([
    [{}, true],
    [{ valueUsd: policy.unsolicitedMaxUsd }, true],
    [{ valueUsd: policy.unsolicitedMaxUsd + 0.01 }, false],
    [{ sentBack: true }, false],
    [{ direction: 'out' }, false],
    [{ hops: 2 }, false],
    [{ asset: 'ODD', valueUsd: null }, true],
    [{ asset: 'ODD', valueUsd: null, hops: 2 }, true],
    [{ asset: 'ODD', valueUsd: null, isSpent: true }, false],
    [{ asset: 'ODD', valueUsd: null, sentBack: true }, false],
    [{ asset: 'ODD', valueUsd: null, direction: 'out' }, false],
  ] as const)('%j: %s', (change, expected) => {
    expect(isUnsolicited({ ...dealings, ...change }, policy)).toBe(expected);
  });
});

describe('the policy', () => {
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
    unpricedPointsMax: 59,
    unpricedPointsMaxBesidePriced: 20,
    unpricedBesideUsd: 100,
    derivedScoreMax: 79,
    serviceExposureFactor: 0.3,
    dustUsd: 1,
    dustShare: 0.0001,
    dustTokens: 0.000001,
    absorbConfidenceMin: 0.5,
    unfollowedShareMin: 0.1,
    unfollowedUsdMin: 10_000,
    unsolicitedMaxUsd: 500,
    unsolicitedTotalMaxUsd: 5000,
    unsolicitedTotalMaxShare: 0.05,
    unsolicitedFactor: 0.5,
    kytBlockFrom: 80,
    kytReviewFrom: 50,
    labelsMaxAgeDays: 90,
    oracleTtlSeconds: 300,
  };
  const { rows } = loadTaxonomy();

  it('prefers its own weights over those of the categories', () => {
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
    [{ dustUsd: -1 }, 'dustUsd'],
    [{ unsolicitedFactor: 1.1 }, 'unsolicitedFactor'],
    [{ unsolicitedFactor: 0.4 }, 'unsolicitedFactor'],
    [{ kytBlockFrom: 50 }, 'kytBlockFrom'],
    [{ dustShare: 2 }, 'dustShare'],
    [{ levels: { MEDIUM: 30, HIGH: 80, CRITICAL: 80 } }, 'levels'],
    [{ levels: { MEDIUM: 0, HIGH: 60, CRITICAL: 80 } }, 'levels.MEDIUM'],
    [{ levels: { MEDIUM: 30, HIGH: 60, CRITICAL: 101 } }, 'levels.CRITICAL'],
    [{ levels: [30, 60, 80] }, 'levels must be an object'],
    [{ levels: null }, 'levels must be an object'],
    [{ weights: null }, 'weights must be an object'],
    [{ weights: [] }, 'weights must be an object'],
    [{ weights: { MIXER: '12' } }, 'weights.MIXER'],
    [{ version: 1 }, 'version'],
    [{ valueFullUsd: 100 }, 'valueFullUsd'],
    [{ dustUsd: null }, 'dustUsd'],
    [{ unpricedPointsMaxBesidePriced: 60 }, 'unpricedPointsMaxBesidePriced'],
    [{ derivedScoreMax: 80 }, 'derivedScoreMax'],
  ])('rejects %j and names the field', (change, field) => {
    expect(() => parsePolicy({ ...document, ...change }, rows)).toThrow(field);
  });

  it.each([
    { unsolicitedFactor: 0.5, hopDecay: 0.5 },
    { unpricedPointsMaxBesidePriced: 59 },
    { kytReviewFrom: 1, kytBlockFrom: 2 },
    { levels: { MEDIUM: 1, HIGH: 2, CRITICAL: 100 } },
    { weights: { MIXER: 0, SCAM: 100 } },
    { dustUsd: 0, dustShare: 1 },
  ])('accepts %j at the limits', (change) => {
    expect(parsePolicy({ ...document, ...change }, rows)).toMatchObject(change);
  });

  it.each([[null], [[]], ['policy']])('rejects the document %j', (other) => {
    expect(() => parsePolicy(other, rows)).toThrow('the document must be an object');
  });

  it('has the levels of the specification', () => {
    const levels = [0, 29, 30, 59, 60, 79, 80, 100].map((points) => riskLevelOf(points, policy));
    expect(levels).toEqual(['LOW', 'LOW', 'MEDIUM', 'MEDIUM', 'HIGH', 'HIGH', 'CRITICAL', 'CRITICAL']);
  });
});
