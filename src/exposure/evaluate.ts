/**
 * Computes entries from evidence: of one address by a walk, and of many addresses from a sweep. Both use the score function of
 * screenings.
 */
import type { ChainId } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { type EvidenceClass, isDerived } from '../labels/evidence-class.ts';
import { type ExposureEvidence, isRisky } from '../risk/evidence.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import type { UnfollowedPart } from '../risk/reasons.ts';
import { type ScoreFactor, score } from '../risk/score.ts';
import type { Assessment, Assessor } from '../screening/assess.ts';
import { earlierDealings } from '../screening/before-designation.ts';
import type { SpoofingDeps } from '../screening/spoofable.ts';
import { mayHaveNotes, readNotes, suspectedNotes } from './notes.ts';
import type { ExposureRecord } from './record.ts';

/** The evidence for one entry. */
export interface EntryEvidence {
  readonly exposures: readonly ExposureEvidence[];
  /** The same without derived labels; null if no derived label of a risk was met. */
  readonly exposuresLeftOut: readonly ExposureEvidence[] | null;
  /** For the address itself (`RiskEvidence.isService`). */
  readonly isService: boolean;
  /** The relevant parts that were not followed. */
  readonly unfollowed: readonly UnfollowedPart[];
  readonly earlier: ExposureRecord['earlier'];
  readonly notes: ExposureRecord['notes'];
  /** True if non-neutral value may flow in the direction although the evidence does not show it. */
  readonly flowsUnseen: Readonly<Record<Direction, boolean>>;
}

const pointsOf = (factors: readonly ScoreFactor[]): number =>
  factors.reduce((sum, { points }) => sum + points, 0);

/** Returns the entry for the evidence. */
export function recordOf(
  { exposures, exposuresLeftOut, isService, unfollowed, earlier, notes, flowsUnseen }: EntryEvidence,
  policy: RiskPolicy,
): ExposureRecord {
  const factorsOf = (items: readonly ExposureEvidence[]): ScoreFactor[] =>
    // The cap for derived labels applies to the whole score: it is applied when the entry is combined with the labels of the address.
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
  const flowsIn = (direction: Direction): boolean =>
    flowsUnseen[direction] ||
    unfollowed.some((part) => part.direction === direction) ||
    [...risks, ...risksLeftOut].some((item) => item.direction === direction);
  return {
    factors,
    pointsWithoutDerived: risks.some(isDerivedRisk)
      ? pointsOf(factorsOf(exposures.filter((item) => !isDerivedRisk(item))))
      : null,
    // Without a row, it can never be the higher one.
    factorsLeftOut: factorsLeftOut.length === 0 ? null : factorsLeftOut,
    unfollowed,
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

/**
 * True if assets other than the followed ones may pass through, or if hubs were met or a budget ended in a part that gives no reason
 * here.
 */
const flowsUnseen = ({ sides, readings }: Assessment, direction: Direction): boolean =>
  sides.some(({ direction: of, basis }) => of === direction && basis.isAssetLeft) ||
  readings.some(({ followed }) =>
    followed
      .filter((side) => side.direction === direction)
      .flatMap((side) => [side, ...side.apart])
      .some(({ stops }) => stops.some(({ reason }) => reason === 'MAX_DEGREE' || reason === 'BUDGET')),
  );

/** Creates a function that computes the entry of one address by a walk, like a screening, for the given directions. */
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
        notes: [...suspectedNotes(sides), ...notesAt(assessment, deps)],
        flowsUnseen: { in: flowsUnseen(assessment, 'in'), out: flowsUnseen(assessment, 'out') },
      },
      deps.policy,
    );
  };

/** A kind of risk at which value can end, with the properties that the severity and rows of a score depend on. */
export interface RiskColumn {
  readonly category: Exclude<ExposureEvidence['category'], 'UNKNOWN'>;
  /** Quantized (`confidenceClass`). */
  readonly confidence: number;
  readonly class: EvidenceClass;
  /** As in an attribution; if false, value passes through the address in the reading without derived labels. */
  readonly isFirm: boolean;
}

/** Maximum hops of entries: the default of a screening. */
export const ENTRY_HOPS = 3;

/** Returns true for a row that depends on sent value: it may be unsolicited, or of an asset that was spent. */
const dependsOnSent = ({ factor, direction, asset }: ScoreFactor): boolean =>
  direction === 'in' && (factor !== 'INDIRECT_EXPOSURE' || asset !== null);

/**
 * Combines the unchanged direction of an entry with a newly computed one. Returns null if one direction depends on the other: inbound
 * value may be unsolicited, which depends on what was sent; derived labels count over both; and the last dealing before a designation
 * is the later one of both.
 */
export function joinDirections(
  before: ExposureRecord,
  now: ExposureRecord,
  direction: Direction,
): ExposureRecord | null {
  if (before.pointsWithoutDerived !== null || now.pointsWithoutDerived !== null) return null;
  if (before.factorsLeftOut !== null || now.factorsLeftOut !== null) return null;
  if (before.earlier.length > 0 || now.earlier.length > 0) return null;
  // Unlike other notes, these are of the computed directions alone.
  if ([...before.notes, ...now.notes].some(({ code }) => code === 'SUSPECTED_OWNER')) return null;
  if (before.factors.some(dependsOnSent) || now.factors.some(dependsOnSent)) return null;
  const of = (wanted: Direction): ExposureRecord => (wanted === direction ? now : before);
  return {
    factors: BOTH.flatMap((each) => of(each).factors.filter((row) => row.direction === each)),
    pointsWithoutDerived: null,
    factorsLeftOut: null,
    earlier: [],
    // Notes of single transfers always cover both directions.
    notes: now.notes,
    unfollowed: BOTH.flatMap((each) => of(each).unfollowed.filter((part) => part.direction === each)),
    flows: { in: of('in').flows.in, out: of('out').flows.out },
  };
}
