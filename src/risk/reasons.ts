/** Exposures in words: made of the breakdown of a score alone, so that every answer about the same evidence reads the same. */
import type { RiskLevel, RiskPolicy } from './policy.ts';
import type { ScoreFactor } from './score.ts';

/** Entities named in one reason: a reader follows up the greatest; the breakdown lists more. */
const ENTITIES_NAMED_MAX = 3;

export interface ExposureReason {
  readonly severity: Exclude<RiskLevel, 'CRITICAL'>;
  readonly category: ScoreFactor['category'];
  readonly message: string;
}

/**
 * Returns a reason for each exposure that brought points, in the order of the breakdown.
 *
 * @param factors - the breakdown of a score
 */
export function exposureReasons(factors: readonly ScoreFactor[], policy: RiskPolicy): ExposureReason[] {
  return factors
    .filter(({ riskType, points }) => (riskType === 'COUNTERPARTY' || riskType === 'INDIRECT') && points > 0)
    .map((factor) => {
      const { category, direction, hops, percentage, points, asset } = factor;
      const [verb, preposition] = direction === 'in' ? ['Received', 'from'] : ['Sent', 'to'];
      const of = asset === null ? 'its value' : `its ${asset} (no price)`;
      const named = hops === 1 ? factor.evidence.slice(0, ENTITIES_NAMED_MAX) : [];
      const far = hops > 1 ? ` over ${hops} hops` : '';
      const who = named.length > 0 ? ` (${named.join(', ')})` : '';
      const { HIGH, MEDIUM } = policy.levels;
      return {
        severity: points >= HIGH ? 'HIGH' : points >= MEDIUM ? 'MEDIUM' : 'LOW',
        category,
        message: `${verb} ${percentage} % of ${of} ${preposition} ${category}${far}${who}: ${points} points.`,
      };
    });
}

/** A part of the flow that ended at addresses with too many counterparties that no label names. */
export interface UnfollowedShare {
  readonly direction: 'in' | 'out';
  /** 0 to 1. */
  readonly share: number;
}

/**
 * Returns a reason (code HUB_NOT_FOLLOWED) for each direction of which more than dust could not be followed past hubs.
 *
 * @param degreeMax - counterparties above which an address without a label is a hub
 */
export function hubReasons(
  unfollowed: readonly UnfollowedShare[],
  degreeMax: number,
  policy: RiskPolicy,
): ExposureReason[] {
  return unfollowed
    .filter(({ share }) => share >= policy.dustShare && share > 0)
    .map(({ direction, share }) => ({
      severity: 'MEDIUM',
      category: 'UNKNOWN',
      message:
        `${Math.round(10_000 * share) / 100} % of the value ${direction === 'in' ? 'received' : 'sent'} could not be followed: ` +
        `it passed addresses without a label that have more than ${degreeMax} counterparties.`,
    }));
}
