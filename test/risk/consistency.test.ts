import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVIDENCE_CLASSES } from '../../src/labels/evidence-class.ts';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import type { RiskEvidence } from '../../src/risk/evidence.ts';
import { decide, flagsOf } from '../../src/risk/kyt.ts';
import { labelSeverities } from '../../src/risk/ownership.ts';
import { exposureReasons } from '../../src/risk/reasons.ts';
import { score } from '../../src/risk/score.ts';
import { isGrave } from '../../src/risk/severities.ts';
import { exposure, label, policy } from './evidence.ts';

const anyExposure = fc
  .record({
    category: fc.constantFrom(...CATEGORIES, 'UNKNOWN' as const),
    direction: fc.constantFrom('in' as const, 'out' as const),
    hops: fc.integer({ min: 1, max: 4 }),
    asset: fc.constantFrom(null, null, 'ODD', 'EVEN'),
    valueUsd: fc.oneof(
      fc.double({ min: 0, max: 3, noNaN: true }),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
    ),
    share: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, policy.dustShare, 1)),
    flowPart: fc.constantFrom(0.001, 1),
    class: fc.constantFrom(...EVIDENCE_CLASSES),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    unsolicited: fc.boolean(),
    isOwn: fc.constantFrom(false, false, true),
  })
  .map(exposure);

const anyLabel = fc
  .record({
    category: fc.constantFrom(...CATEGORIES),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    source: fc.constantFrom('x', 'y', 'z'),
    class: fc.constantFrom(...EVIDENCE_CLASSES),
  })
  .map(label);

const anyEvidence: fc.Arbitrary<RiskEvidence> = fc.record({
  sanctions: fc.constantFrom([], [], ['OFAC_SDN: A']),
  labels: fc.array(anyLabel, { maxLength: 3 }),
  exposures: fc.array(anyExposure, { maxLength: 8 }),
  isService: fc.boolean(),
});

const factsOf = (evidence: RiskEvidence) => ({ party: 'address', entity: null, evidence }) as const;

describe('answers from the same evidence', () => {
  it('give a fact the same severity as a reason and as a flag', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const { scoreBreakdown } = score(evidence, policy);
        const flags = flagsOf(factsOf(evidence), policy).filter(({ code }) => code.endsWith('_EXPOSURE'));
        for (const row of scoreBreakdown) {
          if (row.factor !== 'DIRECT_EXPOSURE' && row.factor !== 'INDIRECT_EXPOSURE') continue;
          const same = flags.filter(
            ({ category, direction, riskType, message }) =>
              category === row.category &&
              direction === row.direction &&
              riskType === row.riskType &&
              message.includes(row.asset === null ? 'of the value' : `its ${row.asset} `),
          );
          expect(same.map(({ severity }) => severity)).toEqual([row.severity]);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('have a severe reason for every severe flag about transfers', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const graveOf = (items: readonly { severity: Parameters<typeof isGrave>[0]; category: string }[]) =>
          [
            ...new Set(items.filter(({ severity }) => isGrave(severity)).map(({ category }) => category)),
          ].sort();
        const flags = flagsOf(factsOf(evidence), policy).filter(({ code }) => code.endsWith('_EXPOSURE'));
        expect(graveOf(exposureReasons(score(evidence, policy).scoreBreakdown))).toEqual(graveOf(flags));
      }),
      { numRuns: 3000 },
    );
  });

  it('never return ALLOW or a LOW score together with points of a severe finding', () => {
    fc.assert(
      fc.property(anyEvidence, (evidence) => {
        const { riskScore, scoreBreakdown } = score(evidence, policy);
        const flags = flagsOf(factsOf(evidence), policy);
        const sanctioned = evidence.sanctions.length > 0;
        const decision = decide({ sanctioned, score: riskScore, flags, isMissingData: false }, policy);
        const isWarned =
          scoreBreakdown.some(({ severity }) => isGrave(severity)) ||
          labelSeverities(evidence.labels, policy).some(isGrave);
        // Such points keep the oracle from a safe answer and KYT from ALLOW.
        if (riskScore < policy.levels.MEDIUM && !isWarned) expect(decision).toBe('ALLOW');
        if (decision === 'ALLOW')
          expect(scoreBreakdown.some(({ severity }) => isGrave(severity))).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });
});
