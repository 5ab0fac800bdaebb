/**
 * Exposures in words. The text is made only from the breakdown of a score, so that all answers about the same evidence read the
 * same.
 */
import type { RiskLevel, RiskPolicy } from './policy.ts';
import { graverOf, isGrave, type ScoreFactor } from './score.ts';

/** Maximum number of entities in one reason: a reader follows up the greatest ones, and the breakdown lists more. */
const ENTITIES_NAMED_MAX = 3;

export interface ExposureReason {
  readonly severity: RiskLevel;
  readonly category: ScoreFactor['category'];
  readonly message: string;
}

/** Returns true if a row of a breakdown needs a reason: it brought points, or it is grave without any. */
const isWorthReason = ({ riskType, points, severity }: ScoreFactor): boolean =>
  (riskType === 'COUNTERPARTY' || riskType === 'INDIRECT') && (points > 0 || isGrave(severity));

/** Returns true if another breakdown reports the same dealings with at least the same severity. */
const isTold = (row: ScoreFactor, factors: readonly ScoreFactor[]): boolean =>
  factors.some(
    (other) =>
      other.category === row.category &&
      other.direction === row.direction &&
      other.riskType === row.riskType &&
      graverOf(other.severity, row.severity) === other.severity,
  );

/**
 * Returns the rows that need a reason, in the order of the breakdown: those that brought points or are grave.
 *
 * @param factors - the breakdown of a score
 * @param others - the breakdown of the reading that does not decide: a row that is grave only there needs a reason too
 */
export function reasonRows(
  factors: readonly ScoreFactor[],
  others: readonly ScoreFactor[] = [],
): ScoreFactor[] {
  const rows: ScoreFactor[] = [];
  for (const row of factors) if (isWorthReason(row)) rows.push(row);
  for (const row of others)
    if (isWorthReason(row) && isGrave(row.severity) && !isTold(row, factors)) rows.push(row);
  return rows;
}

/** Returns the reason for a row of a breakdown. */
export function exposureReason(row: ScoreFactor): ExposureReason {
  const { category, direction, hops, percentage, points, asset, severity } = row;
  const [verb, preposition] = direction === 'in' ? ['Received', 'from'] : ['Sent', 'to'];
  const of = asset === null ? 'its value' : `its ${asset} (no price)`;
  const named = hops === 1 ? row.evidence.slice(0, ENTITIES_NAMED_MAX) : [];
  const far = hops > 1 ? ` over ${hops} hops` : '';
  const who = named.length > 0 ? ` (${named.join(', ')})` : '';
  // Percentages are rounded to hundredths.
  const share = percentage === 0 ? 'less than 0.01' : percentage;
  const brought = points === 1 ? '1 point' : `${points} points`;
  return {
    severity,
    category,
    message: `${verb} ${share} % of ${of} ${preposition} ${category}${far}${who}: ${brought}.`,
  };
}

/** Returns a reason for each row that needs one: see `reasonRows`. */
export const exposureReasons = (
  factors: readonly ScoreFactor[],
  others: readonly ScoreFactor[] = [],
): ExposureReason[] => reasonRows(factors, others).map(exposureReason);

/** Why part of a direction was not followed: it passed hubs without a label, or the walk reached its maximum size. */
export type UnfollowedCode = 'HUB_NOT_FOLLOWED' | 'WALK_CUT';

/** The parts of a direction that were not followed to their end. Each is the sum over all addresses at which that happened. */
export interface Unfollowed {
  /** Share that passed hubs without a label, 0 to 1. */
  readonly hub: number;
  /** Share that remained when the walk reached its limit, 0 to 1. */
  readonly cut: number;
  /** The USD value that the shares refer to; null if the direction is not measured in USD. */
  readonly valueUsd: number | null;
}

/** Sums of the same shares in different orders differ in the last digits. */
const SHARE_SLACK = 1e-9;

/**
 * Returns a share that was not followed if it is relevant (by share of the direction, or in USD): so great that a clean answer
 * would mean nothing. Null if it is less. The share is the sum for one cause, so splitting value over many addresses changes
 * nothing.
 */
export function relevantShare(
  share: number,
  valueUsd: number | null,
  { unfollowedShareMin, unfollowedUsdMin }: RiskPolicy,
): number | null {
  if (share <= SHARE_SLACK) return null;
  const isGreat = share + SHARE_SLACK >= unfollowedShareMin;
  const isMuch = valueUsd !== null && (share + SHARE_SLACK) * valueUsd >= unfollowedUsdMin;
  return isGreat || isMuch ? share : null;
}

/** Returns the reason for a share of a direction that was not followed. */
export function unfollowedReason(
  code: UnfollowedCode,
  { direction, share }: { readonly direction: 'in' | 'out'; readonly share: number },
  { degreeMax, nodesMax }: { readonly degreeMax: number; readonly nodesMax: number },
): ExposureReason {
  const why =
    code === 'HUB_NOT_FOLLOWED'
      ? `it passed addresses without a label that have more than ${degreeMax} counterparties.`
      : `the walk reached its limit of ${nodesMax} addresses. The answer is partial.`;
  return {
    severity: 'MEDIUM',
    category: 'UNKNOWN',
    message: `${Math.round(10_000 * share) / 100} % of the value ${direction === 'in' ? 'received' : 'sent'} could not be followed: ${why}`,
  };
}
