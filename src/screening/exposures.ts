/** Whose money an address holds and whom it pays: the shares that the exposure kernel finds, as sections of an answer and evidence. */
import { LIMITS } from '../base/limits.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { type ExposureResult, type ExposureRow, exposureOf } from '../graph/kernels/exposure.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import type { Direction, Flow } from '../graph/transfers.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { type ExposureEvidence, effectiveUsd } from '../risk/score.ts';
import type { Exposure, ExposureCategory, ScreeningAnswer, StoppedFlow } from './answers.ts';
import { type Attribution, type Attributions, UNATTRIBUTED } from './attribution.ts';
import { percent, twoDecimals } from './counterparties.ts';
import { shownNode } from './subject.ts';

/** One direction of an address, as far as money was followed. */
export interface FollowedSide {
  readonly direction: Direction;
  readonly flow: Flow;
  /** Effective USD of the direction without dust: what shares are of. */
  readonly value: number;
  readonly rows: readonly ExposureRow<Attribution>[];
  readonly unknownShare: number;
  readonly stops: ExposureResult<Attribution>['stops'];
  readonly isComplete: boolean;
}

export interface FollowOptions {
  readonly graph: TransferGraph;
  readonly node: NodeId;
  readonly direction: Direction;
  readonly flow: Flow;
  readonly maxHops: number;
  readonly attributions: Attributions;
}

/** Follows money in one direction through addresses that nobody knows, until one that somebody does. */
export function follow(
  { graph, node, direction, flow, maxHops, attributions }: FollowOptions,
  { policy, workspace }: { readonly policy: RiskPolicy; readonly workspace: KernelWorkspace },
): FollowedSide {
  const startTotal = {
    valueUsd: flow.valueUsd ?? 0,
    transfers: flow.transfers,
    unpriced: flow.unpricedTransfers,
  };
  const through = (dustUsd: number): ExposureResult<Attribution> =>
    exposureOf(
      {
        start: node,
        direction,
        maxHops,
        degreeMax: LIMITS.counterpartiesMax,
        nodesMax: LIMITS.exposureNodesMax,
        unpricedUsd: policy.unpricedTransferUsd,
        dustUsd,
        startTotal,
      },
      {
        graph,
        workspace,
        attribution: (other) => {
          const found = attributions.of(other);
          return found === UNATTRIBUTED ? null : found;
        },
      },
    );
  const withoutDust = through(policy.dustUsd);
  // Where dust is all there is, it is still told whose it was.
  const result = withoutDust.totalUsd > 0 || effectiveUsd(flow, policy) === 0 ? withoutDust : through(0);
  return {
    direction,
    flow,
    value: result.totalUsd,
    rows: result.rows,
    unknownShare: result.unknown.share,
    stops: result.stops,
    isComplete: result.isComplete,
  };
}

/** A side of which nothing is known. */
export const nothingFollowed = (direction: Direction, flow: Flow): FollowedSide => ({
  direction,
  flow,
  value: 0,
  rows: [],
  unknownShare: 0,
  stops: [],
  isComplete: true,
});

/** Rounds percentages to two decimals so that they still add up to 100 (largest remainder). Empty where no value moved. */
export function roundedShares<K extends string>(values: ReadonlyMap<K, number>): Partial<Record<K, number>> {
  const total = [...values.values()].reduce((sum, value) => sum + value, 0);
  if (!(total > 0)) return {};
  const rows = [...values]
    .filter(([, value]) => value > 0)
    .map(([name, value]) => {
      const exact = (10_000 * value) / total;
      return { name, whole: Math.floor(exact), rest: exact - Math.floor(exact) };
    })
    .sort((a, b) => b.rest - a.rest || (a.name < b.name ? -1 : 1));
  let left = 10_000 - rows.reduce((sum, row) => sum + row.whole, 0);
  const shares: Partial<Record<K, number>> = {};
  for (const row of rows) shares[row.name] = (row.whole + (left-- > 0 ? 1 : 0)) / 100;
  return shares;
}

/** Below this a share is the rounding of floats. */
const SHARE_MIN = 1e-9;

/** Category → percentage of the value that moved, direct and indirect together, the rest under UNKNOWN. */
export function categoryShares({
  rows,
  unknownShare,
}: FollowedSide): Partial<Record<ExposureCategory, number>> {
  const shares = new Map<ExposureCategory, number>();
  for (const { attribution, share } of rows)
    shares.set(attribution.category, (shares.get(attribution.category) ?? 0) + share);
  if (unknownShare > SHARE_MIN) shares.set('UNKNOWN', unknownShare);
  return roundedShares(shares);
}

/** Exposures by category and entity, greatest first, the unattributed rest among them. */
export function exposuresOf({ direction, flow, rows, unknownShare }: FollowedSide): Exposure[] {
  const known = rows.map(
    ({ attribution, type, share, valueUsd, hops, transfers, unpricedTransfers }): Exposure => ({
      category: attribution.category,
      entity: attribution.entity,
      direction,
      type,
      percentage: twoDecimals(100 * share),
      valueUsd: valueUsd === null ? null : twoDecimals(valueUsd),
      hops,
      txCount: transfers,
      unpricedTxCount: unpricedTransfers,
    }),
  );
  if (unknownShare <= SHARE_MIN) return known.slice(0, LIMITS.exposuresListed);
  const direct = rows.filter(({ type }) => type === 'DIRECT');
  const rest = (all: number, of: (row: ExposureRow<Attribution>) => number): number =>
    Math.max(0, all - direct.reduce((sum, row) => sum + of(row), 0));
  const unknown: Exposure = {
    category: 'UNKNOWN',
    entity: null,
    direction,
    type: 'DIRECT',
    percentage: twoDecimals(100 * unknownShare),
    valueUsd: flow.valueUsd === null ? null : twoDecimals(flow.valueUsd * unknownShare),
    hops: 1,
    // Of transfers only those count that the address itself made with parties nobody knows.
    txCount: rest(flow.transfers, (row) => row.transfers),
    unpricedTxCount: rest(flow.unpricedTransfers, (row) => row.unpricedTransfers),
  };
  return [...known, unknown]
    .sort((a, b) => b.percentage - a.percentage || b.txCount - a.txCount)
    .slice(0, LIMITS.exposuresListed);
}

/** What stands behind further hops, and what nobody knows, as evidence: shares of the address's own value. */
export function indirectEvidence({ direction, flow, rows, unknownShare }: FollowedSide): ExposureEvidence[] {
  const part = (share: number): Pick<ExposureEvidence, 'valueUsd' | 'unpricedTransfers'> => ({
    valueUsd: flow.valueUsd === null ? null : flow.valueUsd * share,
    unpricedTransfers: flow.unpricedTransfers * share,
  });
  const evidence = rows.flatMap(({ attribution, type, shareByHop }): ExposureEvidence[] => {
    if (type === 'DIRECT') return [];
    const { category, confidence, entity } = attribution;
    return shareByHop.flatMap((share, at) =>
      share > 0
        ? [{ category, direction, hops: at + 1, ...part(share), confidence, entity: entity?.name ?? null }]
        : [],
    );
  });
  if (unknownShare <= SHARE_MIN) return evidence;
  const unknown = { category: 'UNKNOWN', direction, hops: 1, confidence: 1, entity: null } as const;
  return [...evidence, { ...unknown, ...part(unknownShare) }];
}

/** Where the money could not be followed to the end. */
export const stoppedFlows = (sides: readonly FollowedSide[], graph: TransferGraph): StoppedFlow[] =>
  sides.flatMap(({ direction, stops }) =>
    stops.slice(0, LIMITS.screeningListMax).map(({ node, reason, share }) => ({
      address: shownNode(graph, node),
      reason,
      direction,
      percentage: twoDecimals(100 * share),
    })),
  );

/** Dealings with darknet markets, direct and through others. */
export function darknetExposure(sides: readonly FollowedSide[]): ScreeningAnswer['darknetExposure'] {
  const total = sides.reduce((sum, { value }) => sum + value, 0);
  const markets = sides.flatMap(({ rows, value }) =>
    rows
      .filter(({ attribution }) => attribution.category === 'DARKNET_MARKET')
      .map((row) => ({ row, value })),
  );
  const usdOf = (type: 'DIRECT' | 'INDIRECT'): number | null => {
    const found = markets.filter(({ row }) => row.type === type);
    if (found.length === 0) return total > 0 ? 0 : null;
    const priced = found.flatMap(({ row }) => (row.valueUsd === null ? [] : [row.valueUsd]));
    return priced.length === 0 ? null : twoDecimals(priced.reduce((sum, usd) => sum + usd, 0));
  };
  const value = markets.reduce((sum, market) => sum + market.row.share * market.value, 0);
  return {
    direct: usdOf('DIRECT'),
    indirect: usdOf('INDIRECT'),
    percentage: total > 0 ? twoDecimals(percent(value, total)) : null,
    markets: [...new Set(markets.flatMap(({ row }) => row.attribution.entity?.name ?? []))].sort(),
  };
}
