/** POST /screening: all that is known of an address in one answer. Sections nothing was read for are there, empty, and say so. */
import countries from 'i18n-iso-countries/index.js';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { ChainId } from '../chains/registry.ts';
import type { AssetFlow, Flow } from '../graph/transfers.ts';
import type { Label } from '../labels/label.ts';
import { labelToJson } from '../labels/label-json.ts';
import { type ScoreFactor, score } from '../risk/score.ts';
import type { AssetTotal, Coverage, FlowTotal, Reason, ScreeningAnswer } from './answers.ts';
import { createLabelContext, NOT_READ } from './context.ts';
import {
  addUsd,
  bridgeActivity,
  categoryShares,
  darknetExposure,
  exposureEvidence,
  exposuresOf,
  flaggedTransactions,
  flowIn,
  fundFlowJurisdictions,
  historicalServices,
  readSide,
  summaryOf,
  topCounterparties,
  twoDecimals,
} from './counterparties.ts';
import type { ScreeningDeps } from './deps.ts';
import { labelEvidence, labelReasons } from './judge.ts';
import { interpretLaw } from './legal.ts';
import { isHistory, sanctionsDetail } from './sanctions-detail.ts';
import { hasChecksum, parseSubject, type Subject, shownAsset } from './subject.ts';

export interface ScreeningRequest {
  readonly chain: string;
  readonly address: string;
  /** ISO 3166-1 alpha-2 in any letter case. Default CH. */
  readonly jurisdiction?: string;
  /** ISO date: lists as in force then. Default: now. */
  readonly asOf?: string;
}

export type ScreeningQuery = (request: ScreeningRequest) => ScreeningAnswer;

function readJurisdiction(text: string | undefined): string {
  const code = (text ?? 'CH').toUpperCase();
  if (code.length === 2 && countries.isValid(code)) return code;
  throw new AssayError(
    'INVALID_REQUEST',
    `jurisdiction: '${code.slice(0, 20)}' is not a country code of ISO 3166-1 alpha-2, such as CH.`,
    { field: 'jurisdiction' },
  );
}

function readAsOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time) && isoTime(time).startsWith(text)) return text;
  throw new AssayError('INVALID_REQUEST', `asOf: '${text.slice(0, 40)}' is not a date such as 2025-03-21.`, {
    field: 'asOf',
  });
}

const assetTotal = (flow: AssetFlow, chain: ChainId): AssetTotal => ({
  asset: shownAsset(chain, flow.asset),
  amount: flow.amount.toString(),
  decimals: flow.decimals,
  valueUsd: flow.valueUsd,
  txCount: flow.transfers,
});

const flowTotal = ({ valueUsd, transfers, byAsset }: Flow, chain: ChainId): FlowTotal => ({
  valueUsd,
  txCount: transfers,
  byAsset: byAsset.map((flow) => assetTotal(flow, chain)),
});

/** Inflow less outflow. The USD figure is unknown where any transfer is unpriced: a difference has no lower bound. */
function netTotal(inflow: Flow, outflow: Flow, chain: ChainId): FlowTotal {
  const assets = new Map<string, AssetTotal>();
  const add = (flow: AssetFlow, sign: 1n | -1n): void => {
    const known = assets.get(flow.asset);
    const isPriced = flow.unpricedTransfers === 0 && known?.valueUsd !== null;
    assets.set(flow.asset, {
      asset: shownAsset(chain, flow.asset),
      amount: (BigInt(known?.amount ?? 0) + sign * flow.amount).toString(),
      decimals: flow.decimals,
      valueUsd: isPriced ? twoDecimals((known?.valueUsd ?? 0) + Number(sign) * (flow.valueUsd ?? 0)) : null,
      txCount: (known?.txCount ?? 0) + flow.transfers,
    });
  };
  for (const flow of inflow.byAsset) add(flow, 1n);
  for (const flow of outflow.byAsset) add(flow, -1n);
  const transfers = inflow.transfers + outflow.transfers;
  const isPriced = transfers > 0 && inflow.unpricedTransfers + outflow.unpricedTransfers === 0;
  return {
    valueUsd: isPriced ? addUsd(inflow.valueUsd, -(outflow.valueUsd ?? 0)) : null,
    txCount: transfers,
    byAsset: [...assets.values()],
  };
}

/** Exposures that brought points, in words. */
function exposureReasons(
  factors: readonly ScoreFactor[],
  levelOf: (points: number) => Reason['severity'],
): Reason[] {
  return factors
    .filter((factor) => factor.riskType === 'COUNTERPARTY' || factor.riskType === 'INDIRECT')
    .map((factor) => ({
      code: 'EXPOSURE',
      severity: levelOf(factor.points),
      category: factor.category,
      message:
        `${factor.direction === 'in' ? 'Received' : 'Sent'} ${factor.percentage} % of its value ` +
        `${factor.direction === 'in' ? 'from' : 'to'} ${factor.category}` +
        `${factor.evidence.length > 0 ? ` (${factor.evidence.join(', ')})` : ''}: ${factor.points} points.`,
      source: null,
      verified: true,
    }));
}

const primaryOf = (labels: readonly Label[], asOf: string | null): Label | null =>
  labels.find((label) => !isHistory(label, asOf)) ?? labels[0] ?? null;

const NO_CLUSTER: ScreeningAnswer['clusterAnalysis'] = {
  clusterId: null,
  size: null,
  heuristics: [],
  confidence: null,
  members: [],
};

/**
 * Screens an address. Synchronous; time grows with the number of direct counterparties (at most `counterpartiesMax` each way are
 * looked up). Throws UNKNOWN_CHAIN, INVALID_ADDRESS, or INVALID_REQUEST naming the field.
 */
export function createScreening(deps: ScreeningDeps): ScreeningQuery {
  const contextNow = createLabelContext(deps);
  const { policy, transfers, clock } = deps;
  const levelOf = (points: number): Reason['severity'] =>
    points >= policy.levels.HIGH ? 'HIGH' : points >= policy.levels.MEDIUM ? 'MEDIUM' : 'LOW';

  const graphCoverage = (subject: Subject): Coverage['graph'] => {
    const { transfers: known, asOf } = transfers.coverage(subject.chain);
    // Files are parts of a chain's history: whether anything is missing between or before them is not known.
    return known === 0 ? NOT_READ : { status: 'PARTIAL', asOf };
  };

  return (request) => {
    const subject = parseSubject(request.chain, request.address);
    const jurisdiction = readJurisdiction(request.jurisdiction);
    const asOf = readAsOf(request.asOf);
    const { chain, key, shown } = subject;
    const { reader, sanctionsAsOf, coverage, staleReason } = contextNow();
    const labels = reader.lookup(key, chain);
    const totals = transfers.totals(chain, key);
    const side = (direction: 'in' | 'out') =>
      readSide(
        { chain, subject, direction, flow: flowIn(totals, direction), asOf },
        { transfers, reader, policy },
      );
    const receiving = side('in');
    const sending = side('out');
    const sides = [receiving, sending];

    const own = labelEvidence(labels, policy, asOf);
    const judged = score({ ...own, exposures: exposureEvidence(sides) }, policy);
    const sanctionsCheck = sanctionsDetail(labels, sanctionsAsOf, asOf);
    const sanctioned = sanctionsCheck.isSanctioned;
    const assessed = labels.length > 0 || totals !== null;
    const primary = primaryOf(labels, asOf);
    const home = primary?.entity.jurisdiction ?? null;
    const flows = fundFlowJurisdictions(sides);

    return {
      walletAddress: shown,
      address: shown,
      chain,
      riskScore: judged.riskScore,
      riskLevel: judged.riskLevel,
      scoreBreakdown: judged.scoreBreakdown,
      policyVersion: judged.policyVersion,
      assessed,
      reasons: [
        ...labelReasons(labels, policy, asOf),
        ...exposureReasons(judged.scoreBreakdown, levelOf),
        ...(staleReason ? [staleReason] : []),
      ],
      balance: null,
      balanceUsd: null,
      totalTransactions: totals?.transactions ?? null,
      sanctionsCheck,
      sanctioned,
      entity: summaryOf(primary),
      entityLabels: labels.map(labelToJson),
      flaggedTransactions: flaggedTransactions(sides, subject, { transfers, policy }),
      topCounterparties: topCounterparties(sides, chain),
      exposureSending: categoryShares(sending),
      exposureReceiving: categoryShares(receiving),
      exposures: sides.flatMap(exposuresOf),
      clusterAnalysis: NO_CLUSTER,
      transactionFlow: {
        inflow: flowTotal(receiving.flow, chain),
        outflow: flowTotal(sending.flow, chain),
        net: netTotal(receiving.flow, sending.flow, chain),
        daily: [],
      },
      geographicRisk: {
        jurisdictions: [
          ...new Set([...(home === null ? [] : [home]), ...flows.map((flow) => flow.jurisdiction)]),
        ],
        highRisk: [],
        score: null,
      },
      fundFlowJurisdictions: flows,
      historicalServices: historicalServices(sides, policy),
      crossChainBalances: {},
      bridgeActivity: bridgeActivity(sides),
      darknetExposure: darknetExposure(sides),
      addressValidation: {
        valid: true,
        canonical: subject.canonical,
        kind: subject.kind,
        checksum: hasChecksum(subject, request.address),
      },
      legalInterpretation: interpretLaw({
        jurisdiction,
        sanctioned,
        riskLevel: judged.riskLevel,
        isStale: staleReason !== null,
        assessed,
      }),
      coverage: { ...coverage, graph: graphCoverage(subject) },
      dataVersion: reader.meta.dataVersion,
      screenedAt: isoTime(clock.now()),
    };
  };
}
