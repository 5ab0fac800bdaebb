/**
 * POST /screening: everything known about an address in one answer. A section without data is present but empty, and coverage
 * says so.
 */
import { isoTime } from '../base/clock.ts';
import type { NodeId } from '../graph/graph.ts';
import { createTaintReader } from '../graph/utxo/taint-reader.ts';
import { labelToJson } from '../labels/label-json.ts';
import { geographicRisk } from '../risk/geography.ts';
import type { CoverageEntry, Exposure, ExposureLabel, ScreeningAnswer } from './answers.ts';
import type { Assessment, Assessor } from './assess.ts';
import { type Attribution, summaryOf } from './attribution.ts';
import { type BalanceReport, balanceCoverage, balanceSections } from './balances.ts';
import { EXPOSURE_HOPS, TAINT_CHOICES, TAINT_DEFAULT } from './choices.ts';
import { flowIn } from './counterparties.ts';
import {
  bridgeActivity,
  flaggedTransactions,
  fundFlowJurisdictions,
  historicalServices,
  topCounterparties,
} from './dealings.ts';
import type { ScreeningDeps } from './deps.ts';
import { type ScreeningEvidence, screeningEvidence } from './evidence.ts';
import { categoryShares, darknetExposure, exposuresOf, stoppedFlows } from './exposure-sections.ts';
import { type FollowedSide, withDustShown } from './exposures.ts';
import { flowTotal, netTotal } from './flow-totals.ts';
import { labelConflicts } from './label-conflicts.ts';
import { createLegalReading } from './legal.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { readAsOf, readJurisdiction, readWhole, readWord } from './options.ts';
import { weakestPrice } from './price-shown.ts';
import type { SectionChoice } from './sections.ts';
import { createShownLabels, type ShownLabelOf } from './shown-labels.ts';
import { type Spoofing, spoofingOf } from './spoofable.ts';
import { hasChecksum, parseSubject, shownAsset } from './subject.ts';
import { taintMethods, taintSection } from './taint.ts';

export interface ScreeningRequest extends SectionChoice {
  readonly chain: string;
  readonly address: string;
  /** ISO 3166-1 alpha-2 in any letter case. Default CH. */
  readonly jurisdiction?: string;
  /** ISO date, not in the future: labels, lists and transfers as known at the end of that day. Default: now. */
  readonly asOf?: string;
  /** 1 to 5, default 3: number of hops for which money is followed through addresses without a label. */
  readonly maxHops?: number;
  /** poison, haircut (default), fifo, lifo, tiho or all; on account chains poison, haircut or all. */
  readonly taint?: string;
  /** Set by the server for a receipt, never by a client: the result of the task is then `{answer, evidence}`. */
  readonly withEvidence?: true;
}

/** Facts that the server reads from live sources before the screening. A client never sends them. */
export interface ScreeningFacts {
  /** Balances of the address (balances.ts). */
  readonly balances?: BalanceReport;
  /** Coverage of the address's own history in the store (on-demand.ts). */
  readonly history?: CoverageEntry;
}

export type ScreeningQuery = (request: ScreeningRequest, facts?: ScreeningFacts) => ScreeningAnswer;

/** Like ScreeningQuery, with the evidence of the answer. */
export type AttestedScreeningQuery = (
  request: ScreeningRequest,
  facts?: ScreeningFacts,
) => { readonly answer: ScreeningAnswer; readonly evidence: ScreeningEvidence };

const NO_CLUSTER: ScreeningAnswer['clusterAnalysis'] = {
  clusterId: null,
  size: null,
  heuristics: [],
  confidence: null,
  members: [],
};

function clusterAnalysis(
  { subject }: Assessment,
  { clusters }: Pick<ScreeningDeps, 'clusters'>,
): ScreeningAnswer['clusterAnalysis'] {
  const cluster = clusters.clusterOf(subject.key);
  if (cluster === null) return NO_CLUSTER;
  const { clusterId, size, heuristics, confidence } = cluster;
  const members = cluster.members(SCREENING_LIMITS.clusterMembersListed);
  return { clusterId, size, heuristics, confidence, members };
}

const sharesOf = (
  followed: readonly FollowedSide[],
  direction: 'in' | 'out',
): ScreeningAnswer['exposureSending'] => {
  const side = followed.find((one) => one.direction === direction);
  return side === undefined ? {} : categoryShares(side);
};

/** Returns the sections that are read from transfers. */
function transferSections(
  { subject, place, totals, sides, followed, derived, reader }: Assessment,
  {
    transfers,
    assets,
    shownLabelOf,
    asOf,
  }: Pick<ScreeningDeps, 'transfers' | 'assets'> & {
    readonly shownLabelOf: ShownLabelOf;
    readonly asOf: string | null;
  },
): Pick<
  ScreeningAnswer,
  | 'flaggedTransactions'
  | 'topCounterparties'
  | 'exposureSending'
  | 'exposureReceiving'
  | 'exposures'
  | 'stoppedAt'
  | 'transactionFlow'
  | 'historicalServices'
  | 'bridgeActivity'
  | 'darknetExposure'
> {
  const { chain, key } = subject;
  const inflow = flowIn(totals, 'in');
  const outflow = flowIn(totals, 'out');
  const names = { chain, assets, atMs: totals?.lastSeenMs ?? 0 };
  const shown = followed.map((side, at) => {
    const read = sides[at];
    return read === undefined ? side : withDustShown(side, read, derived);
  });
  const labelOf = (node: NodeId, attribution: Attribution): ExposureLabel | null =>
    place === null ? null : shownLabelOf({ graph: place.graph, reader, asOf }, node, attribution);
  const exposures = ([] as Exposure[]).concat(
    ...shown.map((side, at) =>
      exposuresOf(side, sides[at]?.unpriced ?? [], {
        shown: (asset) => shownAsset(chain, asset),
        price: weakestPrice(side.flow, names),
        labelOf,
      }),
    ),
  );
  const daily = transfers.daily(chain, key, SCREENING_LIMITS.dailyFlowsListed);
  return {
    flaggedTransactions:
      place === null ? [] : flaggedTransactions(sides, { chain, key, assets, ...place }, transfers),
    topCounterparties: place === null ? [] : topCounterparties(sides, place.graph),
    exposureSending: sharesOf(shown, 'out'),
    exposureReceiving: sharesOf(shown, 'in'),
    exposures,
    stoppedAt: place === null ? [] : stoppedFlows(followed, place, (asset) => shownAsset(chain, asset)),
    transactionFlow: {
      inflow: flowTotal(inflow, names),
      outflow: flowTotal(outflow, names),
      net: netTotal(inflow, outflow, names),
      daily: daily.days.map(({ day, inUsd, outUsd, inTransfers, outTransfers }) => ({
        date: day,
        inUsd,
        outUsd,
        inTxCount: inTransfers,
        outTxCount: outTransfers,
      })),
      dailyIsComplete: daily.isComplete,
    },
    historicalServices: historicalServices(sides),
    bridgeActivity: bridgeActivity(sides),
    darknetExposure: darknetExposure(shown),
  };
}

/**
 * Returns the query that screens an address. Synchronous. Its time grows with the number of direct counterparties (at most
 * `counterpartiesMax` are read in each direction) and of the addresses behind them (at most `exposureNodesMax`). The query throws
 * UNKNOWN_CHAIN, INVALID_ADDRESS, or INVALID_REQUEST naming the field.
 */
export function createScreening(deps: ScreeningDeps, assessor: Assessor): ScreeningQuery {
  const attested = createAttestedScreening(deps, assessor);
  return (request, facts) => attested(request, facts).answer;
}

/** Returns the query of `createScreening` that also returns the evidence. */
export function createAttestedScreening(
  deps: ScreeningDeps,
  { assess, workspace, transfersOf }: Assessor,
): AttestedScreeningQuery {
  const taintDeps = { ...deps, workspace, taint: createTaintReader(deps) };
  const lawOf = createLegalReading(deps.jurisdictions);
  const shownLabelOf = createShownLabels(deps);
  return (request, facts = {}) => {
    const subject = parseSubject(request.chain, request.address);
    const jurisdiction = readJurisdiction(request.jurisdiction);
    const asOf = readAsOf(request.asOf, deps.clock.now());
    const maxHops = readWhole('maxHops', request.maxHops, EXPOSURE_HOPS);
    const choice = readWord('taint', request.taint, TAINT_CHOICES, TAINT_DEFAULT);
    const methods = taintMethods(subject.chain, choice);
    const assessment = assess({ subject, asOf, maxHops, directions: ['in', 'out'] });
    const { judged, labels, primary, sanctionsCheck, assessed, totals, sides, reader } = assessment;
    const sanctioned = sanctionsCheck.isSanctioned;
    // A balance is a current value, and a cluster is made of all transfers: neither is known for an earlier day.
    const balances = asOf === null ? facts.balances : undefined;
    const day = asOf ?? isoTime(deps.clock.now()).slice(0, 10);
    const home = primary?.entity.jurisdiction ?? null;
    const flows = fundFlowJurisdictions(sides);
    const spoofing: Spoofing = spoofingOf(assessment, { ...deps, transfers: transfersOf(asOf) });
    const evidence = screeningEvidence(assessment, { asOf, spoofing: spoofing.reasons }, deps.transfers);
    const moved = transferSections(assessment, {
      assets: deps.assets,
      transfers: transfersOf(asOf),
      shownLabelOf,
      asOf,
    });
    const answer: ScreeningAnswer = {
      walletAddress: subject.shown,
      address: subject.shown,
      chain: subject.chain,
      asOf,
      riskScore: judged.riskScore,
      riskLevel: judged.riskLevel,
      scoreBreakdown: judged.scoreBreakdown,
      policyVersion: judged.policyVersion,
      assessed,
      reasons: [...assessment.reasons, ...spoofing.reasons],
      ...balanceSections(subject.chain, balances),
      totalTransactions: totals?.transactions ?? null,
      sanctionsCheck,
      sanctioned,
      entity: summaryOf(primary, asOf),
      entityLabels: labels.map(labelToJson),
      labelConflicts: labelConflicts(labels, asOf),
      flaggedTransactions: moved.flaggedTransactions,
      topCounterparties: moved.topCounterparties,
      exposureSending: moved.exposureSending,
      exposureReceiving: moved.exposureReceiving,
      exposures: moved.exposures,
      stoppedAt: moved.stoppedAt,
      transactionFlow: moved.transactionFlow,
      historicalServices: moved.historicalServices,
      bridgeActivity: moved.bridgeActivity,
      darknetExposure: moved.darknetExposure,
      spoofableTransfers: spoofing.transfers,
      taint: taintSection(assessment, { methods, maxHops, asOf }, taintDeps),
      clusterAnalysis: asOf === null ? clusterAnalysis(assessment, deps) : NO_CLUSTER,
      geographicRisk: geographicRisk({ home, shares: flows }, deps.countryLists, day),
      fundFlowJurisdictions: flows,
      addressValidation: {
        valid: true,
        canonical: subject.canonical,
        kind: subject.kind,
        checksum: hasChecksum(subject, request.address),
      },
      legalInterpretation: lawOf({
        jurisdiction,
        sanctioned,
        riskLevel: judged.riskLevel,
        isStale: assessment.staleReason !== null,
        assessed,
        day,
      }),
      coverage: {
        ...assessment.coverage,
        balances: balanceCoverage(balances),
        history: facts.history ?? assessment.coverage.history,
      },
      dataVersion: reader.meta.dataVersion,
      screenedAt: isoTime(deps.clock.now()),
    };
    return { answer, evidence };
  };
}
