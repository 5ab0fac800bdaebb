/**
 * Reads an address once (labels, transfers, exposure in the requested directions) and derives the evidence and the score. Shared
 * by screening and KYT.
 */
import { unpricedFlows } from '../graph/asset-uses.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import { createKernelWorkspace, type KernelWorkspace } from '../graph/kernels/workspace.ts';
import type { AddressTotals, Direction, TransferCoverage, TransferReader } from '../graph/transfers.ts';
import { graphUntil, transfersUntil } from '../graph/until.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { Label } from '../labels/label.ts';
import type { RiskEvidence } from '../risk/evidence.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import {
  exposureReasons,
  greaterUnfollowed,
  relevantParts,
  type Unfollowed,
  type UnfollowedPart,
  unfollowedReason,
} from '../risk/reasons.ts';
import { type RiskScore, score } from '../risk/score.ts';
import type { Coverage, Reason, SanctionsDetail } from './answers.ts';
import { coverageAsOf, endOfDayMs, labelsAsOf } from './as-of.ts';
import { type Attribution, absorbs, type DerivedReading, primaryOf, UNATTRIBUTED } from './attribution.ts';
import { type Attributions, createAttributions } from './attributions.ts';
import { beforeDesignationReason, earlierDealings } from './before-designation.ts';
import { createLabelContext, type LabelContext, NOT_READ } from './context.ts';
import { createSideReader, emptySide, flowIn, type Side } from './counterparties.ts';
import type { ScreeningDeps } from './deps.ts';
import { createSentTo, directEvidence, withSpent } from './direct-evidence.ts';
import { type FollowedSide, follow, indirectEvidence, nothingFollowed, WALK_BOUNDS } from './exposures.ts';
import { labelEvidence, labelReasons } from './judge.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { createRememberedDegrees } from './remembered-degrees.ts';
import { sanctionsDetail } from './sanctions-detail.ts';
import { type Subject, shownAsset } from './subject.ts';
import { suspectedOwnerDealings } from './suspected-owner.ts';
import { NOTHING_MOVED, weighingOf } from './weighing.ts';

export interface AssessOptions {
  readonly subject: Subject;
  /** ISO date: labels, lists and transfers as known at the end of that day. Null for now. */
  readonly asOf: string | null;
  /** Number of hops for which money is followed through addresses without a label. */
  readonly maxHops: number;
  readonly directions: readonly Direction[];
}

/** The graph and node from which the transfers of an address are read; a `Reading` without stored transfers has null instead. */
export interface Place {
  readonly graph: TransferGraph;
  readonly node: NodeId;
  readonly attributions: Attributions;
  readonly weighing: Weighing;
}

/** The data about an address, before it is assessed. */
export interface Reading {
  readonly subject: Subject;
  readonly reader: LabelReader;
  readonly labels: readonly Label[];
  /** The label that names the entity; null if no label does. */
  readonly primary: Label | null;
  readonly place: Place | null;
  /** Set if a sanctions list is missing or too old. */
  readonly staleReason: Reason | null;
  readonly sanctionsCheck: SanctionsDetail;
  readonly coverage: Coverage;
}

/** The money of an address, followed with derived labels of risky categories either counted or left out. */
export interface FollowedMoney {
  readonly derived: DerivedReading;
  /** One per requested direction, in their order. */
  readonly followed: readonly FollowedSide[];
  readonly evidence: RiskEvidence;
  readonly judged: RiskScore;
}

/** The fields of FollowedMoney are those of the decisive reading: the one with the higher score. */
export interface Assessment extends Reading, FollowedMoney {
  readonly totals: AddressTotals | null;
  /** One per requested direction, in their order. */
  readonly sides: readonly Side[];
  /** COUNTED first; also LEFT_OUT if the money met a derived label of a risky category. */
  readonly readings: readonly FollowedMoney[];
  /** The relevant parts that were not followed, by direction: the greater value of the readings. */
  readonly unfollowed: readonly UnfollowedPart[];
  /** False if neither a label nor a transfer is known. */
  readonly assessed: boolean;
  /** Reasons for dealings before a designation. */
  readonly earlier: readonly Reason[];
  /** Reasons for dealings with suspected owners. */
  readonly suspected: readonly Reason[];
  readonly reasons: readonly Reason[];
}

/** A reading of the money, as far as the decision between readings and the reasons need it. */
type Judged = Pick<FollowedMoney, 'judged'>;

/** The facts from which the reasons of an assessment are made. */
export interface ReasonFacts<Reading extends Judged>
  extends Pick<Assessment, 'labels' | 'unfollowed' | 'earlier' | 'suspected' | 'staleReason'> {
  readonly readings: readonly Reading[];
  readonly decisive: Reading;
  readonly asOf: string | null;
}

/** The assessor of one thread. Its use cases share it, so that its memory is allocated once. */
export interface Assessor {
  /** Shared with the kernels, each of which uses it for the duration of a call. */
  readonly workspace: KernelWorkspace;
  /** Returns the state of labels and lists: the same object until it changes. */
  context(): LabelContext;
  /** Returns the transfers as they were known at the end of a day; null for now. */
  transfersOf(asOf: string | null): TransferReader;
  read(subject: Subject, asOf: string | null): Reading;
  /** Returns the attributions of another chain's graph, by the snapshot of a reading. */
  attributions(graph: TransferGraph, reader: LabelReader, asOf: string | null): Attributions;
  /** Reads at most `counterpartiesMax` counterparties and `exposureNodesMax` further addresses per direction. */
  assess(options: AssessOptions): Assessment;
}

/** Returns reasons for exposures that brought points or are grave, and for parts that were not followed. */
function walkReasons<Reading extends Judged>({
  decisive,
  readings,
  unfollowed,
}: Pick<ReasonFacts<Reading>, 'decisive' | 'readings' | 'unfollowed'>): Reason[] {
  const own = { source: null, verified: true } as const;
  const others = readings.filter((reading) => reading !== decisive);
  return [
    ...exposureReasons(
      decisive.judged.scoreBreakdown,
      others.flatMap(({ judged }) => judged.scoreBreakdown),
    )
      .slice(0, SCREENING_LIMITS.screeningListMax)
      .map((reason) => ({ code: 'EXPOSURE', ...reason, ...own }) as const),
    ...unfollowed.map((part) => ({ code: part.code, ...unfollowedReason(part, WALK_BOUNDS), ...own })),
  ];
}

/** Returns true if money ended at derived labels, so that the other reading would follow it further. */
function metDerived(sides: readonly Side[], followed: readonly FollowedSide[]): boolean {
  const isDerived = ({ attribution }: { readonly attribution: Attribution }): boolean =>
    absorbs(attribution, 'COUNTED') && !absorbs(attribution, 'LEFT_OUT');
  return (
    sides.some(({ attributed }) => attributed.some(isDerived)) ||
    followed.some(({ rows, apart }) => rows.some(isDerived) || apart.some((one) => one.rows.some(isDerived)))
  );
}

/**
 * Returns true if the reading without derived labels decides: its score is higher, or it is equal and comes from exposures, because
 * published evidence is preferred to derived evidence.
 */
const isGraver = (leftOut: Judged, counted: Judged): boolean =>
  leftOut.judged.riskScore > counted.judged.riskScore ||
  (leftOut.judged.riskScore === counted.judged.riskScore &&
    leftOut.judged.scoreBreakdown.some(({ factor }) => factor.endsWith('_EXPOSURE')));

/** Returns the reading that decides. */
export const decisiveOf = <Reading extends Judged>(readings: readonly Reading[]): Reading =>
  readings.reduce((a, b) => (isGraver(b, a) ? b : a));

/** Returns the reasons of an assessment. Pure: the same facts give the same reasons years later. */
export const assessmentReasons = <Reading extends Judged>(
  facts: ReasonFacts<Reading>,
  policy: RiskPolicy,
): Reason[] => [
  ...labelReasons(facts.labels, policy, facts.asOf),
  ...walkReasons(facts),
  ...facts.earlier,
  ...(facts.staleReason ? [facts.staleReason] : []),
  // Last, as the oracle has them: an index keeps them with the notes of an entry.
  ...facts.suspected,
];

/** Returns the relevant parts that were not followed of the direction at `at` of the readings. */
function unfollowedAt(
  readings: readonly FollowedMoney[],
  at: number,
  { own, policy }: { readonly own: Attribution; readonly policy: RiskPolicy },
): UnfollowedPart[] {
  const sides = readings.map(({ followed }) => followed[at] as FollowedSide);
  const { direction, basis } = sides[0] as FollowedSide;
  const unfollowed = sides
    .map((side): readonly Unfollowed[] => [side, ...side.apart].map((one) => one.unfollowed))
    .reduce((first, second) => greaterUnfollowed(first, second));
  return relevantParts(direction, unfollowed, basis.isAssetLeft && !own.isService, policy);
}

/** Returns the assessor of one thread, with its caches and its kernel workspace. */
export function createAssessor(deps: ScreeningDeps): Assessor {
  const { policy, transfers } = deps;
  const contextNow = createLabelContext(deps);
  const attributions = createAttributions(deps);
  const remembered = createRememberedDegrees();
  const workspace = createKernelWorkspace();
  const readSide = createSideReader(workspace);

  const transfersOf = (asOf: string | null): TransferReader =>
    asOf === null ? transfers : transfersUntil(transfers, endOfDayMs(asOf));

  /**
   * Returns a graph as of a time. If an address has no later transfer, its sums are those of now: transfers without a counterparty, such as
   * mints, have no edge from which sums of an earlier day could be added up.
   */
  function graphAsOf(
    whole: TransferGraph,
    { chain, key, node }: Pick<Subject, 'chain' | 'key'> & { readonly node: NodeId },
    untilMs: number,
  ): TransferGraph {
    const lastSeenMs = transfers.totals(chain, key)?.lastSeenMs ?? Number.POSITIVE_INFINITY;
    return graphUntil(whole, untilMs, lastSeenMs > untilMs ? node : null);
  }

  function placeOf(
    { chain, key }: Subject,
    reader: LabelReader,
    asOf: string | null,
    known: TransferCoverage,
  ): Place | null {
    const stored = transfers.graph(chain);
    const node = stored?.idOf(key) ?? null;
    if (stored === null || node === null) return null;
    const whole = remembered(stored, known);
    const graph = asOf === null ? whole : graphAsOf(whole, { chain, key, node }, endOfDayMs(asOf));
    return {
      graph,
      node,
      attributions: attributions(graph, reader, asOf),
      weighing: weighingOf(chain, deps),
    };
  }

  function read(subject: Subject, asOf: string | null): Reading {
    const { chain, key } = subject;
    const context = contextNow();
    const { sanctionsAsOf, staleReason } = context;
    const reader = asOf === null ? context.reader : labelsAsOf(context.reader, asOf, policy);
    const coverage = asOf === null ? context.coverage : coverageAsOf(context.coverage);
    const labels = reader.lookup(key, chain);
    const known = transfers.coverage(chain);
    const read = transfersOf(asOf);
    return {
      subject,
      reader,
      labels,
      primary: primaryOf(labels, asOf),
      place: placeOf(subject, reader, asOf, known),
      staleReason,
      sanctionsCheck: sanctionsDetail(labels, sanctionsAsOf, asOf),
      coverage: {
        ...coverage,
        // Files contain only parts of a chain's history. It is not known if transfers are missing between or before them.
        graph: known.transfers === 0 ? NOT_READ : { status: 'PARTIAL', asOf: read.coverage(chain).asOf },
      },
    };
  }

  function assess({ subject, asOf, maxHops, directions }: AssessOptions): Assessment {
    const reading = read(subject, asOf);
    const { place, labels, staleReason } = reading;
    const totals = transfersOf(asOf).totals(subject.chain, subject.key);
    const sides = directions.map((direction) => {
      const flow = flowIn(totals, direction);
      if (place === null) return emptySide(direction, flow);
      const { graph, node, attributions, weighing } = place;
      return readSide({ graph, node, attributions, weighing, direction, flow });
    });
    const sentTo = place === null ? () => false : createSentTo(place.graph, place.node, place.weighing);
    const received = sides.find(({ direction }) => direction === 'in')?.basis ?? NOTHING_MOVED;
    const own = place?.attributions.of(place.node) ?? UNATTRIBUTED;
    const evidenceOfLabels = labelEvidence(labels, policy, asOf);
    const readWith = (derived: DerivedReading): FollowedMoney => {
      const followed = directions.map((direction) => {
        const flow = flowIn(totals, direction);
        if (place === null) return nothingFollowed(direction, flow);
        const { graph, node, attributions, weighing } = place;
        return follow(
          { graph, node, attributions, weighing, direction, flow, maxHops, derived },
          { workspace },
        );
      });
      const evidence: RiskEvidence = {
        sanctions: evidenceOfLabels.sanctions,
        labels: evidenceOfLabels.labels,
        isService: evidenceOfLabels.isService,
        exposures: withSpent(
          directEvidence(sides, { policy, own, sentTo, derived }).concat(
            ...followed.map((side) => indirectEvidence(side, own)),
          ),
          received,
          policy,
        ),
      };
      return { derived, followed, evidence, judged: score(evidence, policy) };
    };
    const counted = readWith('COUNTED');
    const readings = [counted, ...(metDerived(sides, counted.followed) ? [readWith('LEFT_OUT')] : [])];
    const decisive = decisiveOf(readings);
    const unfollowed = directions.flatMap((_direction, at) => unfollowedAt(readings, at, { own, policy }));
    const earlier = earlierDealings(sides).map(beforeDesignationReason);
    const suspected = suspectedOwnerDealings(sides);
    const unpricedAssets = new Set(
      unpricedFlows(totals)
        .filter(({ asset }) => place?.weighing.isEvidence(asset))
        .map(({ asset }) => shownAsset(subject.chain, asset)),
    );
    const { coverage } = reading;
    return {
      subject,
      reader: reading.reader,
      labels,
      primary: reading.primary,
      place,
      staleReason,
      sanctionsCheck: reading.sanctionsCheck,
      coverage: {
        labels: coverage.labels,
        graph: {
          status: coverage.graph.status,
          asOf: coverage.graph.asOf,
          unpricedAssets: [...unpricedAssets],
        },
        balances: coverage.balances,
        history: coverage.history,
        sanctions: coverage.sanctions,
      },
      totals,
      sides,
      derived: decisive.derived,
      followed: decisive.followed,
      evidence: decisive.evidence,
      judged: decisive.judged,
      readings,
      unfollowed,
      assessed: labels.length > 0 || totals !== null,
      earlier,
      suspected,
      reasons: assessmentReasons(
        { labels, asOf, readings, decisive, unfollowed, earlier, suspected, staleReason },
        policy,
      ),
    };
  }

  return { workspace, context: contextNow, transfersOf, read, attributions, assess };
}
