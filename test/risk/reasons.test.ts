import { describe, expect, it } from 'vitest';
import { exposureReasons, hubReasons } from '../../src/risk/reasons.ts';
import type { ScoreFactor } from '../../src/risk/score.ts';
import { policy } from './evidence.ts';

const factor = (fields: Partial<ScoreFactor>): ScoreFactor => ({
  factor: 'DIRECT_EXPOSURE',
  category: 'MIXER',
  riskType: 'COUNTERPARTY',
  direction: 'in',
  asset: null,
  class: 'published',
  percentage: 12.5,
  valueUsd: 100,
  hops: 1,
  points: 20,
  evidence: ['Blender'],
  ...fields,
});
const messageOf = (fields: Partial<ScoreFactor>): string | undefined =>
  exposureReasons([factor(fields)], policy)[0]?.message;

describe('the reason of an exposure', () => {
  it('says what was received from whom, and what was sent to whom', () => {
    expect(messageOf({})).toBe('Received 12.5 % of its value from MIXER (Blender): 20 points.');
    expect(messageOf({ direction: 'out' })).toBe('Sent 12.5 % of its value to MIXER (Blender): 20 points.');
  });

  it('names the asset if it has no price', () => {
    expect(messageOf({ asset: 'ODD', valueUsd: null })).toBe(
      'Received 12.5 % of its ODD (no price) from MIXER (Blender): 20 points.',
    );
  });

  it('names the distance of what is further away, and not the entities there', () => {
    const far = { factor: 'INDIRECT_EXPOSURE', riskType: 'INDIRECT', hops: 2 } as const;
    expect(messageOf(far)).toBe('Received 12.5 % of its value from MIXER over 2 hops: 20 points.');
  });

  it('names three entities, and none if none is known', () => {
    expect(messageOf({ evidence: ['A', 'B', 'C', 'D'] })).toContain('MIXER (A, B, C):');
    expect(messageOf({ evidence: [] })).toBe('Received 12.5 % of its value from MIXER: 20 points.');
  });

  it('is as severe as its points, and at most HIGH', () => {
    const severityAt = (points: number) => exposureReasons([factor({ points })], policy)[0]?.severity;
    const { MEDIUM, HIGH, CRITICAL } = policy.levels;
    expect([1, MEDIUM - 1, MEDIUM, HIGH - 1, HIGH, CRITICAL].map(severityAt)).toEqual([
      ...['LOW', 'LOW', 'MEDIUM', 'MEDIUM', 'HIGH', 'HIGH'],
    ]);
  });

  it('is given for dealings that brought points, not for labels, discounts and caps', () => {
    const factors = [
      factor({ factor: 'OWN_LABEL', riskType: 'OWNERSHIP', direction: 'both', hops: 0 }),
      factor({ category: 'SCAM' }),
      factor({ category: 'ATM', factor: 'INDIRECT_EXPOSURE', riskType: 'INDIRECT', hops: 3 }),
      factor({ factor: 'UNSOLICITED_INBOUND', points: -3 }),
      factor({ points: 0 }),
    ];
    expect(exposureReasons(factors, policy).map(({ category }) => category)).toEqual(['SCAM', 'ATM']);
  });
});

describe('the reason of value that could not be followed', () => {
  it('says how much of which direction ended at addresses of how many counterparties', () => {
    const reasons = hubReasons(
      [
        { direction: 'in', share: 0.12345 },
        { direction: 'out', share: 1 },
      ],
      1000,
      policy,
    );
    expect(reasons.map(({ severity, category }) => [severity, category])).toEqual([
      ['MEDIUM', 'UNKNOWN'],
      ['MEDIUM', 'UNKNOWN'],
    ]);
    expect(reasons.map(({ message }) => message)).toEqual([
      '12.35 % of the value received could not be followed: it passed addresses without a label that have more than 1000 counterparties.',
      '100 % of the value sent could not be followed: it passed addresses without a label that have more than 1000 counterparties.',
    ]);
  });

  it('is given from the share on that counts as dust, and never for nothing', () => {
    const given = (share: number, dustShare = policy.dustShare): boolean =>
      hubReasons([{ direction: 'in', share }], 1000, { ...policy, dustShare }).length > 0;
    expect(given(policy.dustShare)).toBe(true);
    expect(given(policy.dustShare * 0.999)).toBe(false);
    expect(given(0, 0)).toBe(false);
  });
});
