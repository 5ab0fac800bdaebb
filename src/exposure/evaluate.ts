/** Entries from evidence: of one address by a walk, and of many by what a sweep found. Both go through the score that screenings use. */
import { LIMITS } from '../base/limits.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { type EvidenceClass, isDerived } from '../labels/evidence-class.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { relevantShare, type Unfollowed } from '../risk/reasons.ts';
import { type ExposureEvidence, isRisky, type ScoreFactor, score } from '../risk/score.ts';
import type { Assessment, Assessor } from '../screening/assess.ts';
import { earlierDealings } from '../screening/before-designation.ts';
import type { SpoofingDeps } from '../screening/spoofable.ts';
import { mayHaveNotes, readNotes } from './notes.ts';
import type { ExposureRecord } from './record.ts';

/** The evidence that an entry is made of. */
export interface EntryEvidence {
  readonly exposures: readonly ExposureEvidence[];
  /** The same if derived labels are left out; null if none of something risky was met. */
  readonly exposuresLeftOut: readonly ExposureEvidence[] | null;
  /** Of the address itself (`RiskEvidence.isService`). */
  readonly isService: boolean;
  readonly unfollowed: Readonly<Record<Direction, Unfollowed>>;
  readonly earlier: ExposureRecord['earlier'];
  readonly notes: ExposureRecord['notes'];
  /** Set if something but neutral value may flow in the direction that the evidence does not show. */
  readonly flowsUnseen: Readonly<Record<Direction, boolean>>;
}

const pointsOf = (factors: readonly ScoreFactor[]): number =>
  factors.reduce((sum, { points }) => sum + points, 0);

/** Shares that only rounding makes differ from 0. */
const SHARE_MIN = 1e-9;

/** Returns the entry that evidence comes to. */
export function recordOf(
  { exposures, exposuresLeftOut, isService, unfollowed, earlier, notes, flowsUnseen }: EntryEvidence,
  policy: RiskPolicy,
): ExposureRecord {
  const factorsOf = (items: readonly ExposureEvidence[]): ScoreFactor[] =>
    // The cap of derived labels is of the whole score: it is applied when the entry meets the labels of the address.
    score({ sanctions: [], labels: [], exposures: items, isService }, policy).scoreBreakdown.filter(
      ({ factor }) => factor !== 'DERIVED_LABELS_CAP',
    );
  const isRisk = ({ category, isOwn }: ExposureEvidence): boolean =>
    isRisky(category, policy) && isOwn !== true;
  const risks = exposures.filter(isRisk);
  const risksLeftOut = exposuresLeftOut?.filter(isRisk) ?? [];
  const factorsLeftOut =
    exposuresLeftOut === null || risksLeftOut.length === 0 ? [] : factorsOf(exposuresLeftOut);
  const isDerivedRisk = (item: ExposureEvidence): boolean => isRisk(item) && isDerived(item.class);
  const factors = risks.length === 0 ? [] : factorsOf(exposures);
  const relevant = (cause: 'hub' | 'cut', direction: Direction): number | null =>
    relevantShare(unfollowed[direction][cause], unfollowed[direction].valueUsd, policy);
  const flowsIn = (direction: Direction): boolean =>
    flowsUnseen[direction] ||
    unfollowed[direction].hub > SHARE_MIN ||
    unfollowed[direction].cut > SHARE_MIN ||
    [...risks, ...risksLeftOut].some((item) => item.direction === direction);
  return {
    factors,
    pointsWithoutDerived: risks.some(isDerivedRisk)
      ? pointsOf(factorsOf(exposures.filter((item) => !isDerivedRisk(item))))
      : null,
    // Without a row it never is the higher one.
    factorsLeftOut: factorsLeftOut.length === 0 ? null : factorsLeftOut,
    hubShare: { in: relevant('hub', 'in'), out: relevant('hub', 'out') },
    cutShare: { in: relevant('cut', 'in'), out: relevant('cut', 'out') },
    earlier,
    notes,
    flows: { in: flowsIn('in'), out: flowsIn('out') },
  };
}

export const BOTH: readonly Direction[] = ['in', 'out'];

function notesAt(assessment: Assessment, deps: SpoofingDeps): ExposureRecord['notes'] {
  const { place } = assessment;
  if (place === null) return [];
  const { graph, node, attributions } = place;
  const isRisk = (other: NodeId): boolean => attributions.of(other).isRisky;
  return mayHaveNotes(graph, node, isRisk) ? readNotes(assessment, deps) : [];
}

/** True if assets beyond those that are followed may pass through, or hubs were met that give no reason here. */
const flowsUnseen = ({ sides, readings }: Assessment, direction: Direction): boolean =>
  sides.some(
    ({ direction: of, basis }) => of === direction && basis.followedApart.length === LIMITS.exposureAssetsMax,
  ) ||
  readings.some(({ followed }) =>
    followed
      .filter((side) => side.direction === direction)
      .flatMap((side) => [side, ...side.apart])
      .some(({ stops }) => stops.some(({ reason }) => reason === 'MAX_DEGREE')),
  );

/** Returns what computes the entry of one address by a walk, as a screening does; of the directions asked for. */
export const createWalk =
  (chain: ChainId, { assess }: Pick<Assessor, 'assess'>, deps: SpoofingDeps, maxHops: number) =>
  (graph: TransferGraph, node: NodeId, directions: readonly Direction[] = BOTH): ExposureRecord => {
    const key = graph.keyOf(node);
    const subject = { chain, key, canonical: '', shown: '', kind: '', memo: null };
    const assessment = assess({ subject, asOf: null, maxHops, directions });
    const { readings, evidence, sides, unfollowed } = assessment;
    const [counted, leftOut] = readings;
    return recordOf(
      {
        exposures: (counted ?? assessment).evidence.exposures,
        exposuresLeftOut: leftOut?.evidence.exposures ?? null,
        isService: evidence.isService,
        unfollowed,
        earlier: earlierDealings(sides),
        notes: notesAt(assessment, deps),
        flowsUnseen: { in: flowsUnseen(assessment, 'in'), out: flowsUnseen(assessment, 'out') },
      },
      deps.policy,
    );
  };

/** A kind of risk that value can end at, as far as severity and rows of a score depend on it. */
export interface RiskColumn {
  readonly category: Exclude<ExposureEvidence['category'], 'UNKNOWN'>;
  /** Quantised (`confidenceClass`). */
  readonly confidence: number;
  readonly class: EvidenceClass;
  /** As of an attribution: value passes the address in the reading without derived labels if it is false. */
  readonly isFirm: boolean;
}

/** Hops that entries look: the default of a screening. */
export const ENTRY_HOPS = 3;

/** Returns true for a row that depends on what was sent: it may be unsolicited, or of an asset that was spent. */
const dependsOnSent = ({ factor, direction, asset }: ScoreFactor): boolean =>
  direction === 'in' && (factor !== 'INDIRECT_EXPOSURE' || asset !== null);

/**
 * Joins an entry whose other direction did not change with what was computed of one. Null if that direction depends on the other: inbound
 * may be unsolicited, which depends on what was sent; derived labels are counted over both, and the last dealing before a
 * designation is the later one of both.
 */
export function joinDirections(
  before: ExposureRecord,
  now: ExposureRecord,
  direction: Direction,
): ExposureRecord | null {
  if (before.pointsWithoutDerived !== null || now.pointsWithoutDerived !== null) return null;
  if (before.factorsLeftOut !== null || now.factorsLeftOut !== null) return null;
  if (before.earlier.length > 0 || now.earlier.length > 0) return null;
  if (before.factors.some(dependsOnSent) || now.factors.some(dependsOnSent)) return null;
  const of = (wanted: Direction): ExposureRecord => (wanted === direction ? now : before);
  return {
    factors: BOTH.flatMap((each) => of(each).factors.filter((row) => row.direction === each)),
    pointsWithoutDerived: null,
    factorsLeftOut: null,
    earlier: [],
    // Notes are of both directions in any case.
    notes: now.notes,
    hubShare: { in: of('in').hubShare.in, out: of('out').hubShare.out },
    cutShare: { in: of('in').cutShare.in, out: of('out').cutShare.out },
    flows: { in: of('in').flows.in, out: of('out').flows.out },
  };
}
