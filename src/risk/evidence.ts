/** The evidence of a score, and what a policy says about one piece of it. */

import { type EvidenceClass, isDerived } from '../labels/evidence-class.ts';
import type { Category } from '../labels/taxonomy.ts';
import type { OwnershipEvidence } from './ownership.ts';
import type { RiskPolicy } from './policy.ts';

/**
 * Value that moved between the scored address and others, risky or not. Shares are measured against the neutral part. `UNKNOWN`
 * is value without a known other side. Items do not overlap: no value is in two of them.
 */
export interface ExposureEvidence {
  readonly category: Category | 'UNKNOWN';
  readonly direction: 'in' | 'out';
  /** 1 for a direct counterparty. */
  readonly hops: number;
  /** Null if the value is in USD; otherwise the asset without a price that `share` refers to. */
  readonly asset: string | null;
  /** USD; for further hops, the part that reached the address. Null if `asset` is set. */
  readonly valueUsd: number | null;
  /** Share of all that moved of `asset` in the direction, 0 to 1. Not used for USD. */
  readonly share: number;
  /**
   * The flow of `asset` in the direction as a part of its greater flow (in or out), 0 to 1: dust is measured against the greater
   * flow. Default: 1.
   */
  readonly flowPart?: number | undefined;
  /** Confidence that the category is right, 0 to 1. */
  readonly confidence: number;
  /** Evidence class of the label of the other side. */
  readonly class: EvidenceClass;
  readonly entity: string | null;
  /**
   * Received without an action of the address (`isUnsolicited`). Counts for direct inbound value, and for all inbound value of an
   * asset without a price, which then has the lower limit of points.
   */
  readonly unsolicited?: boolean;
  /** Dealings within the entity that owns the address: neutral, because the address's own label says the same. */
  readonly isOwn?: boolean;
}

export interface RiskEvidence {
  /** Direct sanctions in force, as text (`OFAC_SDN: LAZARUS GROUP`). */
  readonly sanctions: readonly string[];
  readonly labels: readonly OwnershipEvidence[];
  readonly exposures: readonly ExposureEvidence[];
  /** The address belongs to a service that is not risky itself (exchange, bridge, pool) and trades with everybody. */
  readonly isService: boolean;
}

/**
 * Returns a confidence as it enters severity: to the nearest tenth, so that sums over many addresses need few columns.
 *
 * @param confidence - 0 to 1
 */
export const confidenceClass = (confidence: number): number => Math.round(confidence * 10) / 10;

/** Measures of evidence are parts of sums: 500 of 517.73 USD comes out as 500.0000000000001. Limits must not depend on the last digits. */
const FLOAT_SLACK = 1e-9;

/** Returns true if a measure of evidence is at least a limit. */
export const reaches = (measure: number, limit: number): boolean => measure >= limit * (1 - FLOAT_SLACK);

/** Returns true if a measure of evidence is more than a limit. */
export const exceeds = (measure: number, limit: number): boolean => measure > limit * (1 + FLOAT_SLACK);

/** Returns true if a label is sure enough to end walks: it is of class list or published, and not weak. */
export const isFirmLabel = (
  { class: evidenceClass, confidence }: Pick<ExposureEvidence, 'class' | 'confidence'>,
  { absorbConfidenceMin }: Pick<RiskPolicy, 'absorbConfidenceMin'>,
): boolean => !isDerived(evidenceClass) && confidenceClass(confidence) >= absorbConfidenceMin;

/** Returns the factor on a weight `hops` away: `directDecay` at the first hop, times `hopDecay` at each further one. */
export const decayAt = (hops: number, policy: RiskPolicy): number =>
  policy.directDecay * policy.hopDecay ** (Math.max(1, hops) - 1);

/** Returns true if a counterparty of the category is a risk; all others are neutral volume. */
export const isRisky = (category: Category | 'UNKNOWN', policy: RiskPolicy): category is Category =>
  category !== 'UNKNOWN' && policy.weights[category] >= policy.riskyFrom;

/**
 * Returns true for money that came without an action of the address: directly, in a small amount, from a party to which it never
 * sent anything. Anyone can send to any address ("dusting"; the US Treasury says so of Tornado Cash in its FAQ 1078 of
 * 2022-09-13). Small is measured in USD. For an asset without a price, no amount is known to be small: it is unsolicited until
 * some of it was spent (`isSpent`).
 */
export function isUnsolicited(
  dealings: Pick<ExposureEvidence, 'direction' | 'hops' | 'asset' | 'valueUsd'> & {
    /** The address has sent more than dust to the same party or entity. */
    readonly sentBack: boolean;
    /** For an asset without a price: the address spent more of it than it has from parties without risk. */
    readonly isSpent: boolean;
  },
  policy: RiskPolicy,
): boolean {
  const { direction, hops, asset, valueUsd, sentBack, isSpent } = dealings;
  if (direction !== 'in' || sentBack) return false;
  if (asset !== null) return !isSpent;
  return hops === 1 && !exceeds(valueUsd ?? 0, policy.unsolicitedMaxUsd);
}
