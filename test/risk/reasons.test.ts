import { describe, expect, it } from 'vitest';
import {
  exposureReasons,
  greaterUnfollowed,
  reasonRows,
  relevantParts,
  relevantShare,
  unfollowedReason,
} from '../../src/risk/reasons.ts';
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
  severity: 'LOW',
  evidence: ['Blender'],
  ...fields,
});
const messageOf = (fields: Partial<ScoreFactor>): string | undefined =>
  exposureReasons([factor(fields)])[0]?.message;

describe('the rows that need a reason', () => {
  it('include a grave row of the other reading, unless the same dealings are in the deciding one', () => {
    const decided = factor({ severity: 'HIGH' });
    const grave = { severity: 'CRITICAL', points: 0 } as const;
    // Each differs from the decided row in one property.
    const others = [
      factor({ ...grave, category: 'DARKNET_MARKET' }),
      factor({ ...grave, direction: 'out' }),
      factor({ ...grave, riskType: 'INDIRECT' }),
      factor({ ...grave }),
    ];
    for (const other of others) expect(reasonRows([decided], [other])).toEqual([decided, other]);
    expect(reasonRows([decided], [factor({ severity: 'HIGH' })])).toEqual([decided]);
    expect(reasonRows([decided], [factor({ severity: 'LOW' })])).toEqual([decided]);
  });

  it('do not include another reading of dealings that are at least as grave in the deciding one', () => {
    const decided = factor({ severity: 'CRITICAL' });
    expect(reasonRows([decided], [factor({ severity: 'HIGH', points: 0 })])).toEqual([decided]);
    const indirect = factor({ severity: 'HIGH', riskType: 'INDIRECT', factor: 'INDIRECT_EXPOSURE' });
    expect(reasonRows([decided], [indirect])).toEqual([decided, indirect]);
  });
});

describe('the reason for an exposure', () => {
  it('names the sender of received value, and the receiver of sent value', () => {
    expect(messageOf({})).toBe('Received 12.5 % of its value from MIXER (Blender): 20 points.');
    expect(messageOf({ direction: 'out' })).toBe('Sent 12.5 % of its value to MIXER (Blender): 20 points.');
  });

  it('reports a small share as small, not as zero, and counts one point', () => {
    expect(messageOf({ percentage: 0, points: 1 })).toBe(
      'Received less than 0.01 % of its value from MIXER (Blender): 1 point.',
    );
  });

  it('names the asset if it has no price', () => {
    expect(messageOf({ asset: 'ODD', valueUsd: null })).toBe(
      'Received 12.5 % of its ODD (no price) from MIXER (Blender): 20 points.',
    );
  });

  it('names the number of hops of indirect exposure, without entities', () => {
    const far = { factor: 'INDIRECT_EXPOSURE', riskType: 'INDIRECT', hops: 2 } as const;
    expect(messageOf(far)).toBe('Received 12.5 % of its value from MIXER over 2 hops: 20 points.');
  });

  it('names up to three known entities', () => {
    expect(messageOf({ evidence: ['A', 'B', 'C', 'D'] })).toContain('MIXER (A, B, C):');
    expect(messageOf({ evidence: [] })).toBe('Received 12.5 % of its value from MIXER: 20 points.');
  });

  it('has the severity of the row at any points', () => {
    for (const severity of ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const)
      expect(exposureReasons([factor({ points: 1, severity })])[0]?.severity).toBe(severity);
  });

  it('is given for a severe exposure even if more severe exposures have all the points', () => {
    const masked = factor({ category: 'SANCTIONED_ENTITY', points: 0, severity: 'HIGH' });
    expect(exposureReasons([masked])).toMatchObject([{ severity: 'HIGH', category: 'SANCTIONED_ENTITY' }]);
  });

  it('takes from the other reading only exposures that are severe in it alone', () => {
    const grave = factor({ category: 'SANCTIONED_ENTITY', severity: 'HIGH' });
    const of = (...factors: ScoreFactor[]) =>
      exposureReasons(factors, [grave, factor({ category: 'SCAM' })]).map(({ category }) => category);
    expect(of(factor({}))).toEqual(['MIXER', 'SANCTIONED_ENTITY']);
    expect(of(grave)).toEqual(['SANCTIONED_ENTITY']);
    expect(of({ ...grave, severity: 'CRITICAL' })).toEqual(['SANCTIONED_ENTITY']);
    expect(of({ ...grave, severity: 'LOW' })).toEqual(['SANCTIONED_ENTITY', 'SANCTIONED_ENTITY']);
    const label = factor({ factor: 'OWN_LABEL', riskType: 'OWNERSHIP', severity: 'HIGH' });
    expect(exposureReasons([], [label])).toEqual([]);
  });

  it('is given for transfers that added points, not for labels, discounts and caps', () => {
    const factors = [
      factor({ factor: 'OWN_LABEL', riskType: 'OWNERSHIP', direction: 'both', hops: 0 }),
      factor({ category: 'SCAM' }),
      factor({ category: 'ATM', factor: 'INDIRECT_EXPOSURE', riskType: 'INDIRECT', hops: 3 }),
      factor({ factor: 'UNSOLICITED_INBOUND', points: -3 }),
      factor({ points: 0 }),
    ];
    expect(exposureReasons(factors).map(({ category }) => category)).toEqual(['SCAM', 'ATM']);
  });
});

describe('the reason for value that could not be followed', () => {
  const bounds = { degreeMax: 10_000, nodesMax: 1_000, assetsMax: 16, assetNodesMax: 500 };

  it('states the share, the direction and where it ended', () => {
    const hub = { code: 'HUB_NOT_FOLLOWED', direction: 'in', asset: null, share: 0.12345 } as const;
    expect(unfollowedReason(hub, bounds)).toEqual({
      severity: 'MEDIUM',
      category: 'UNKNOWN',
      message:
        '12.35 % of the value received could not be followed: it passed addresses without a label that have more than 10000 counterparties.',
    });
    const cut = { code: 'WALK_CUT', direction: 'out', asset: null, share: 1 } as const;
    expect(unfollowedReason(cut, bounds).message).toBe(
      '100 % of the value sent could not be followed: the walk reached its limit of 1000 addresses. The answer is partial.',
    );
    expect(unfollowedReason({ ...cut, asset: 'LINK' }, bounds).message).toBe(
      '100 % of the LINK (no price) sent could not be followed: the walk reached its limit of 500 addresses. The answer is partial.',
    );
    expect(unfollowedReason({ ...cut, share: null }, bounds).message).toBe(
      'More than 16 assets without a price were sent: of the others, only direct counterparties were examined. The answer is partial.',
    );
  });

  it('is given per asset, from a minimum share on, in the greater of two readings', () => {
    const main = { asset: null, hub: 0.01, cut: 0, valueUsd: 100 };
    const of = (asset: string, hub: number, cut = 0) => ({ asset, hub, cut, valueUsd: null });
    const all = greaterUnfollowed([main, of('A', 0.05), of('B', 0.2)], [main, of('A', 0.5), of('B', 0.1, 1)]);
    expect(all).toEqual([main, of('A', 0.5), of('B', 0.2, 1)]);
    expect(greaterUnfollowed(all, [])).toBe(all);
    const part = { direction: 'in', share: 1 } as const;
    expect(relevantParts('in', all, true, policy)).toEqual([
      { ...part, code: 'HUB_NOT_FOLLOWED', asset: 'A', share: 0.5 },
      { ...part, code: 'HUB_NOT_FOLLOWED', asset: 'B', share: 0.2 },
      { ...part, code: 'WALK_CUT', asset: 'B' },
      { ...part, code: 'WALK_CUT', asset: null, share: null },
    ]);
    expect(relevantParts('in', [main, of('A', 0.05)], false, policy)).toEqual([]);
  });

  it('is given from a minimum share of the direction, or a minimum sum in USD', () => {
    const { unfollowedShareMin, unfollowedUsdMin } = policy;
    expect(relevantShare(unfollowedShareMin, 1_000, policy)).toBe(unfollowedShareMin);
    expect(relevantShare(unfollowedShareMin * 0.99, 1_000, policy)).toBeNull();
    expect(relevantShare(0.01, 100 * unfollowedUsdMin, policy)).toBe(0.01);
    expect(relevantShare(0.01, 99 * unfollowedUsdMin, policy)).toBeNull();
    expect(relevantShare(0.01, null, policy)).toBeNull();
    // Exactly at the limit, with the slack for sums in another order.
    expect(relevantShare(0.01, 1_000, { ...policy, unfollowedUsdMin: (0.01 + 1e-9) * 1_000 })).toBe(0.01);
    expect(relevantShare(0, 1e12, { ...policy, unfollowedShareMin: 0 })).toBeNull();
  });
});
