/**
 * Exposures in words. The text is made only from the breakdown of a score, so that all answers about the same evidence read the
 * same.
 */
import type { RiskLevel, RiskPolicy } from './policy.ts';
import type { ScoreFactor } from './score.ts';
import { graverOf, isGrave } from './severities.ts';

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

/** The share of a row that rounds to no hundredth of a percent. */
export const SMALLEST_SHARE = 'less than 0.01';

/** Returns points in words. */
export const pointsText = (points: number): string => (points === 1 ? '1 point' : `${points} points`);

/** Returns the reason for a row of a breakdown. */
export function exposureReason(row: ScoreFactor): ExposureReason {
  const { category, direction, hops, percentage, points, asset, severity } = row;
  const [verb, preposition] = direction === 'in' ? ['Received', 'from'] : ['Sent', 'to'];
  const of = asset === null ? 'its value' : `its ${asset} (no price)`;
  const named = hops === 1 ? row.evidence.slice(0, ENTITIES_NAMED_MAX) : [];
  const far = hops > 1 ? ` over ${hops} hops` : '';
  const who = named.length > 0 ? ` (${named.join(', ')})` : '';
  // Percentages are rounded to hundredths.
  const share = percentage === 0 ? SMALLEST_SHARE : percentage;
  return {
    severity,
    category,
    message: `${verb} ${share} % of ${of} ${preposition} ${category}${far}${who}: ${pointsText(points)}.`,
  };
}

/** Returns a reason for each row that needs one: see `reasonRows`. */
export const exposureReasons = (
  factors: readonly ScoreFactor[],
  others: readonly ScoreFactor[] = [],
): ExposureReason[] => reasonRows(factors, others).map(exposureReason);

/** Why part of a direction was not followed: it passed hubs without a label, or the walk reached its maximum size. */
export type UnfollowedCode = 'HUB_NOT_FOLLOWED' | 'WALK_CUT';

/**
 * The parts of a direction, or of one of its assets, that were not followed to their end. Each is the sum over all addresses at
 * which that happened.
 */
export interface Unfollowed {
  /** The asset without a price that the shares refer to; null if they refer to the value of the direction. */
  readonly asset: string | null;
  /** Share that passed hubs without a label, 0 to 1. */
  readonly hub: number;
  /** Share that remained when the walk reached its limit, 0 to 1. */
  readonly cut: number;
  /** The USD value that the shares refer to; null if the direction is not measured in USD. */
  readonly valueUsd: number | null;
}

/** A part of a direction that was not followed, and that is relevant. */
export interface UnfollowedPart {
  readonly code: UnfollowedCode;
  readonly direction: 'in' | 'out';
  /** As in `Unfollowed`. */
  readonly asset: string | null;
  /** Share of the value or of the asset, 0 to 1. Null if more assets without a price moved than are followed. */
  readonly share: number | null;
}

/** Limits of walks, as reasons report them. */
export interface WalkBounds {
  readonly degreeMax: number;
  /** Addresses in the walk of the value of a direction. */
  readonly nodesMax: number;
  /** Assets without a price that are followed, and addresses in the walk of each. */
  readonly assetsMax: number;
  readonly assetNodesMax: number;
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

/**
 * Returns the greater shares of two readings of a direction, for its value and for each asset.
 *
 * @param first - the value and the assets in the order in which reasons name them
 */
export function greaterUnfollowed(
  first: readonly Unfollowed[],
  second: readonly Unfollowed[],
): readonly Unfollowed[] {
  if (second.length === 0) return first;
  const found = new Map(first.map((one) => [one.asset, one]));
  for (const other of second) {
    const known = found.get(other.asset);
    const [hub, cut] = [Math.max(known?.hub ?? 0, other.hub), Math.max(known?.cut ?? 0, other.cut)];
    found.set(other.asset, { ...(known ?? other), hub, cut });
  }
  return [...found.values()];
}

/**
 * Returns the parts of a direction that need a reason. Each asset without a price counts by itself: priced value beside it says
 * nothing about what it is worth.
 *
 * @param isAssetLeft - whether more assets without a price moved than are followed
 */
export function relevantParts(
  direction: 'in' | 'out',
  unfollowed: readonly Unfollowed[],
  isAssetLeft: boolean,
  policy: RiskPolicy,
): UnfollowedPart[] {
  const parts: UnfollowedPart[] = [];
  for (const { asset, hub, cut, valueUsd } of unfollowed) {
    const [hubShare, cutShare] = [relevantShare(hub, valueUsd, policy), relevantShare(cut, valueUsd, policy)];
    if (hubShare !== null) parts.push({ code: 'HUB_NOT_FOLLOWED', direction, asset, share: hubShare });
    if (cutShare !== null) parts.push({ code: 'WALK_CUT', direction, asset, share: cutShare });
  }
  if (isAssetLeft) parts.push({ code: 'WALK_CUT', direction, asset: null, share: null });
  return parts;
}

/** Returns the reason for a part of a direction that was not followed. */
export function unfollowedReason(
  { code, direction, asset, share }: UnfollowedPart,
  { degreeMax, nodesMax, assetsMax, assetNodesMax }: WalkBounds,
): ExposureReason {
  const moved = direction === 'in' ? 'received' : 'sent';
  const common = { severity: 'MEDIUM', category: 'UNKNOWN' } as const;
  if (share === null)
    return {
      ...common,
      message: `More than ${assetsMax} assets without a price were ${moved}: of the others, only direct counterparties were examined. The answer is partial.`,
    };
  const why =
    code === 'HUB_NOT_FOLLOWED'
      ? `it passed addresses without a label that have more than ${degreeMax} counterparties.`
      : `the walk reached its limit of ${asset === null ? nodesMax : assetNodesMax} addresses. The answer is partial.`;
  const of = asset === null ? 'the value' : `the ${asset} (no price)`;
  return {
    ...common,
    message: `${Math.round(10_000 * share) / 100} % of ${of} ${moved} could not be followed: ${why}`,
  };
}
