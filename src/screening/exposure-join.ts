/** Joins an entry of an exposure index with the labels of the address, for the same score and reasons as in a screening. */
import { isDerived } from '../labels/evidence-class.ts';
import type { RiskEvidence } from '../risk/evidence.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { exposureReason, reasonRows, type UnfollowedPart, unfollowedReason } from '../risk/reasons.ts';
import { type ScoreFactor, score } from '../risk/score.ts';
import { isGrave } from '../risk/severities.ts';
import type { Reason } from './answers.ts';
import { beforeDesignationReason } from './before-designation.ts';
import { type ExposureStatus, type ExposureVerdict, HUB_SHARE_UNITS } from './exposure-port.ts';
import { WALK_BOUNDS } from './exposures.ts';
import { SCREENING_LIMITS } from './limits.ts';

const CAP = 'DERIVED_LABELS_CAP';

function ownPoints(evidence: RiskEvidence, policy: RiskPolicy): number {
  // Most addresses have neither labels nor sanctions.
  if (evidence.labels.length === 0 && evidence.sanctions.length === 0) return 0;
  return score(evidence, policy).scoreBreakdown.reduce(
    (sum, { factor, points }) => (factor === CAP ? sum : sum + points),
    0,
  );
}

/** The score of an address and the rows of its exposure that it comes from. */
export interface JoinedScore {
  readonly score: number;
  readonly factors: readonly ScoreFactor[];
  /** Rows of the reading that does not decide. */
  readonly others: readonly ScoreFactor[];
}

/**
 * Returns the score of an address from its labels and its entry: the higher one of the two readings.
 *
 * @param own - evidence of its labels alone
 */
export function joinScore(own: RiskEvidence, entry: ExposureVerdict, policy: RiskPolicy): JoinedScore {
  const { factors, factorsLeftOut } = entry;
  const counted = joinReading(own, entry, policy);
  if (factorsLeftOut !== null) {
    const leftOut = joinReading(own, { factors: factorsLeftOut, pointsWithoutDerived: null }, policy);
    // As in a screening: if the scores are equal, the reading with published evidence decides.
    if (leftOut >= counted) return { score: leftOut, factors: factorsLeftOut, others: factors };
  }
  return { score: counted, factors, others: factorsLeftOut ?? [] };
}

function joinReading(
  own: RiskEvidence,
  { factors, pointsWithoutDerived }: Pick<ExposureVerdict, 'factors' | 'pointsWithoutDerived'>,
  policy: RiskPolicy,
): number {
  const exposed = factors.reduce((sum, { points }) => sum + points, 0);
  const points = ownPoints(own, policy) + exposed;
  const most = policy.derivedScoreMax;
  const labels = own.labels.filter((label) => !isDerived(label.class));
  if (points > most && (pointsWithoutDerived !== null || labels.length < own.labels.length)) {
    const kept = ownPoints({ ...own, labels }, policy) + (pointsWithoutDerived ?? exposed);
    if (kept <= most) return Math.min(most, 100);
  }
  return Math.min(100, points);
}

/** Reasons for shares of the value that were not followed, by code, direction and share in units: one for each unit. */
const unfollowedMade = new Map<string, (Reason | undefined)[]>();

/** Returns the reason for a part that was not followed; a new object. */
export const newPartReason = (part: UnfollowedPart): Reason => ({
  code: part.code,
  ...unfollowedReason(part, WALK_BOUNDS),
  source: null,
  verified: true,
});

/** Returns the reason for a part that was not followed; the same object for the same share of the value. */
function partReason(part: UnfollowedPart): Reason {
  const { code, direction, asset, share } = part;
  if (asset !== null || share === null) return newPartReason(part);
  const name = `${code} ${direction}`;
  let made = unfollowedMade.get(name);
  if (made === undefined) {
    made = new Array<Reason | undefined>(HUB_SHARE_UNITS + 1).fill(undefined);
    unfollowedMade.set(name, made);
  }
  const units = Math.round(share * HUB_SHARE_UNITS);
  let reason = made[units];
  if (reason === undefined) {
    reason = newPartReason({ ...part, share: units / HUB_SHARE_UNITS });
    made[units] = reason;
    shared.add(reason);
  }
  return reason;
}

/** Reasons for rows without names: many entries share such a row (src/exposure/record.ts). */
const rowReasons = new WeakMap<ScoreFactor, Reason>();
const shared = new WeakSet<Reason>();

/** Returns true for a reason object that many entries share, so that it is worth caching its rendered text. */
export const isSharedReason = (reason: Reason): boolean => shared.has(reason);

/** Returns the reason for a row; a new object. */
export const newRowReason = (row: ScoreFactor): Reason => {
  const { severity, category, message } = exposureReason(row);
  return { code: 'EXPOSURE', severity, category, message, source: null, verified: true };
};

/** Returns the reason for a row; for a row without names, the same object each time. */
function rowReason(row: ScoreFactor): Reason {
  if (row.evidence.length > 0) return newRowReason(row);
  let reason = rowReasons.get(row);
  if (reason === undefined) {
    reason = newRowReason(row);
    rowReasons.set(row, reason);
    shared.add(reason);
  }
  return reason;
}

/** Returns the reasons of an entry, in the order of a screening. */
export function entryReasons(
  { factors, others }: Pick<JoinedScore, 'factors' | 'others'>,
  { unfollowed, earlier }: Pick<ExposureVerdict, 'unfollowed' | 'earlier'>,
): Reason[] {
  const reasons: Reason[] = [];
  for (const row of reasonRows(factors, others)) {
    if (reasons.length === SCREENING_LIMITS.screeningListMax) break;
    reasons.push(rowReason(row));
  }
  for (const part of unfollowed) reasons.push(partReason(part));
  for (const dealing of earlier) reasons.push(beforeDesignationReason(dealing));
  return reasons;
}

/** Returns true for the reason that a relevant part of the value was not followed. An answer with it is never clean. */
export const isUnfollowed = ({ code }: Pick<Reason, 'code'>): boolean =>
  code === 'HUB_NOT_FOLLOWED' || code === 'WALK_CUT';

/** Returns true if a row of either reading excludes the verdict `safe`. */
export const hasGraveExposure = ({ factors, others }: Pick<JoinedScore, 'factors' | 'others'>): boolean =>
  factors.some(({ severity }) => isGrave(severity)) || others.some(({ severity }) => isGrave(severity));

/** Returns the reasons of an entry that come last, because they add no points. */
export const noteReasons = ({ notes }: Pick<ExposureVerdict, 'notes'>): Reason[] =>
  notes.map((note) => ({
    ...note,
    severity: note.code === 'SUSPECTED_OWNER' ? 'MEDIUM' : 'LOW',
    source: null,
    verified: true,
  }));

/** Returns the reason that transfers are missing from an answer: there is no index of them, or its data is too old. */
export const graphNotRead = (asOf: string | null): Reason => ({
  code: 'GRAPH_NOT_READ',
  severity: 'MEDIUM',
  category: 'UNKNOWN',
  message:
    asOf === null
      ? 'Transfers of this chain are stored, and their exposure has not been computed yet.'
      : `The exposure of this address is out of date: it is of ${asOf}, and transfers or labels changed since.`,
  source: null,
  verified: true,
});

/** The reason that a clean answer means little: neither a label nor a transfer of the address is known. */
export const NOT_ASSESSED: Reason = {
  code: 'NOT_ASSESSED',
  severity: 'LOW',
  category: 'UNKNOWN',
  message:
    'Neither a label nor a stored transfer of this address is known: nothing speaks against it, and nothing for it.',
  source: null,
  verified: true,
};

/** The result of one look-up in an exposure index, as an answer uses it. */
export interface ExposureView {
  readonly status: ExposureStatus;
  readonly verdict: ExposureVerdict;
  /** True if a transfer of the address is stored. */
  readonly isSeen: boolean;
  /** Set if the answer lacks transfers, or uses an entry that has waited too long. */
  readonly notRead: Reason | null;
  /** When the entry was last up to date; null without an entry. */
  readonly asOf: string | null;
}
