/**
 * Origins and destinations of an address's money: the shares that the exposure kernel finds, as sections of an answer and as
 * evidence.
 */

import { percent, twoDecimals } from '../base/figures.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import {
  type ExposureOptions,
  type ExposureResult,
  type ExposureRow,
  exposureOf,
} from '../graph/kernels/exposure.ts';
import type { Weighing } from '../graph/kernels/rows.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Direction, Flow } from '../graph/transfers.ts';
import type { Unfollowed, WalkBounds } from '../risk/reasons.ts';
import type { ExposureEvidence } from '../risk/score.ts';
import type { Exposure, ExposureCategory, ExposureLabel, ScreeningAnswer, StoppedFlow } from './answers.ts';
import {
  type Attribution,
  type Attributions,
  absorbing,
  absorbs,
  type DerivedReading,
} from './attribution.ts';
import { type Party, type Side, scaleOf } from './counterparties.ts';
import { isOwnDealing, measureOf } from './direct-evidence.ts';
import { SCREENING_LIMITS } from './limits.ts';
import type { PriceShown } from './price-shown.ts';
import { shownNode } from './subject.ts';
import {
  assetsNotFollowed,
  basisApart,
  type DirectionBasis,
  directionBasis,
  isDustAlone,
  NOTHING_MOVED,
  withDust,
} from './weighing.ts';

/** Limits of walks, as reasons report them. */
export const WALK_BOUNDS: WalkBounds = {
  degreeMax: GRAPH_LIMITS.counterpartiesMax,
  nodesMax: SCREENING_LIMITS.exposureNodesMax,
  assetsMax: SCREENING_LIMITS.exposureAssetsMax,
  assetNodesMax: SCREENING_LIMITS.exposureAssetNodesMax,
};

/** One direction of an address, as far as money was followed. */
export interface FollowedSide {
  readonly direction: Direction;
  readonly flow: Flow;
  /** Measure of the shares. */
  readonly basis: DirectionBasis;
  /** Weight of the direction without dust. Shares refer to it. */
  readonly value: number;
  readonly rows: readonly ExposureRow<Attribution>[];
  readonly unknownShare: number;
  readonly unfollowed: Unfollowed;
  readonly stops: ExposureResult<Attribution>['stops'];
  readonly isComplete: boolean;
  /** Assets without a price that moved beside it, each followed separately. In these, `apart` is empty. */
  readonly apart: readonly FollowedSide[];
}

export interface FollowOptions {
  readonly graph: TransferGraph;
  readonly node: NodeId;
  readonly direction: Direction;
  readonly flow: Flow;
  readonly maxHops: number;
  readonly attributions: Attributions;
  readonly weighing: Weighing;
  readonly derived: DerivedReading;
}

/** Of a direction that was followed to its end. */
export const ALL_FOLLOWED: Unfollowed = { asset: null, hub: 0, cut: 0, valueUsd: null };

const sharesOf = (stops: readonly { readonly share: number }[]): number =>
  stops.reduce((sum, { share }) => sum + share, 0);

/**
 * Returns the parts of a direction that were not followed. If only dust moved, they are 0: anyone can send dust from anywhere.
 *
 * @param value - weight of the direction without dust
 */
export const unfollowedOf = (
  basis: DirectionBasis,
  value: number,
  { hub, cut }: Pick<Unfollowed, 'hub' | 'cut'>,
): Unfollowed =>
  isDustAlone(basis)
    ? { ...ALL_FOLLOWED, asset: basis.asset }
    : { asset: basis.asset, hub, cut, valueUsd: basis.basis === 'USD' ? value : null };

/**
 * Follows money in one direction through addresses without a label, until it reaches a labelled one. Each asset without a price
 * is followed separately, so that another asset beside it, of whatever value, does not hide its origin.
 */
export function follow(
  { graph, node, direction, flow, maxHops, attributions, weighing, derived }: FollowOptions,
  { workspace }: { readonly workspace: KernelWorkspace },
): FollowedSide {
  const through = (
    weighingBy: Weighing,
    by: Pick<ExposureOptions, 'asset' | 'nodesMax'> = { nodesMax: SCREENING_LIMITS.exposureNodesMax },
  ): ExposureResult<Attribution> =>
    exposureOf(
      {
        start: node,
        direction,
        maxHops,
        degreeMax: GRAPH_LIMITS.counterpartiesMax,
        weighing: weighingBy,
        ...by,
      },
      {
        graph,
        workspace,
        attribution: (other) => absorbing(attributions.of(other), derived),
      },
    );
  const basis = directionBasis(graph, node, direction, weighing);
  const withoutDust = through(weighing);
  // If only dust moved, the answer still attributes it.
  const result = withoutDust.total > 0 || basis.total === 0 ? withoutDust : through(withDust(weighing));
  const own = attributions.of(node);
  const isStartKnown = absorbs(own, derived);
  const unfollowedIn = (
    measured: DirectionBasis,
    { total, stops }: ExposureResult<Attribution>,
  ): Unfollowed => {
    const hubs = stops.filter(
      (stop) => stop.reason === 'MAX_DEGREE' && !(isStartKnown && stop.node === node),
    );
    // A service trades with everybody, so no walk from it reaches an end.
    const cut = own.isService ? 0 : sharesOf(stops.filter(({ reason }) => reason === 'BUDGET'));
    return unfollowedOf(measured, total, { hub: sharesOf(hubs), cut });
  };
  const apart = basis.followedApart.map((asset): FollowedSide => {
    const measured = basisApart(asset, basis);
    const found = through(weighing, {
      asset: asset.assetId as number,
      nodesMax: SCREENING_LIMITS.exposureAssetNodesMax,
    });
    const transfers = measured.unpriced.reduce((sum, one) => sum + one.transfers, 0);
    return {
      direction,
      flow: { transfers, unpricedTransfers: transfers, valueUsd: null, byAsset: [] },
      basis: measured,
      value: found.total,
      rows: found.rows,
      unknownShare: found.unknown.share,
      unfollowed: unfollowedIn(measured, found),
      stops: found.stops,
      isComplete: found.isComplete,
      apart: [],
    };
  });
  return {
    direction,
    flow,
    basis,
    value: result.total,
    rows: result.rows,
    unknownShare: result.unknown.share,
    unfollowed: unfollowedIn(basis, result),
    // If only assets that are followed separately moved, they have the stops.
    stops: apart.length > 0 && basis.basis === 'UNKNOWN' ? [] : result.stops,
    isComplete: result.isComplete,
    apart,
  };
}

/** Returns a side on which nothing was followed. */
export const nothingFollowed = (direction: Direction, flow: Flow): FollowedSide => ({
  direction,
  flow,
  basis: NOTHING_MOVED,
  value: 0,
  rows: [],
  unknownShare: 0,
  unfollowed: ALL_FOLLOWED,
  stops: [],
  isComplete: true,
  apart: [],
});

/**
 * Returns a followed side as answers show it: with shares of all that moved, including dust. Dust is left out of the walk and
 * brings no points, but the shares of direct counterparties stay exact.
 *
 * @param read - the same direction as it was read, with the labelled direct counterparties, including those of dust
 */
export function withDustShown(
  side: FollowedSide,
  { attributed, unpriced }: Pick<Side, 'attributed' | 'unpriced'>,
  derived: DerivedReading,
): FollowedSide {
  const apart = side.apart.map((one) => {
    const dealings = unpriced.filter(({ asset }) => asset.asset === one.basis.asset);
    const parties = dealings.map(({ party, asset, share, transfers }): Party => {
      const count = { transfers, unpricedTransfers: transfers };
      return { ...party, ...count, value: share * asset.amount };
    });
    return withDustOf(one, parties, derived);
  });
  const shown = withDustOf(side, attributed, derived);
  return apart.length === 0 ? shown : { ...shown, apart };
}

function withDustOf(side: FollowedSide, parties: readonly Party[], derived: DerivedReading): FollowedSide {
  const { basis, value } = side;
  // If no dust moved, or nothing else, the shares already refer to all that moved.
  if (value === 0 || value >= basis.total) return side;
  const followedPart = value / basis.total;
  const rows = side.rows.map(
    (row): ExposureRow<Attribution> => ({
      attribution: row.attribution,
      type: row.type,
      hops: row.hops,
      share: row.share * followedPart,
      shareByHop: row.shareByHop.map((share) => share * followedPart),
      valueUsd: row.valueUsd,
      transfers: row.transfers,
      unpricedTransfers: row.unpricedTransfers,
      largestNode: row.largestNode,
    }),
  );
  for (const party of parties) {
    if (!party.isDust || party.value === 0 || !absorbs(party.attribution, derived)) continue;
    const share = party.value / basis.total;
    rows.push({
      attribution: party.attribution,
      type: 'DIRECT',
      hops: 1,
      share,
      shareByHop: [share],
      valueUsd: basis.basis === 'USD' ? party.value : null,
      transfers: party.transfers,
      unpricedTransfers: party.unpricedTransfers,
      largestNode: party.node,
    });
  }
  const known = rows.reduce((sum, { share }) => sum + share, 0);
  return { ...side, value: basis.total, rows, unknownShare: Math.max(0, 1 - known) };
}

/**
 * Rounds percentages to two decimals so that they still add up to 100 (largest remainder). Returns an empty object if no value
 * moved.
 */
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
  for (const { name, whole } of rows) {
    const share = (whole + (left-- > 0 ? 1 : 0)) / 100;
    // A share of less than a hundredth of a percent is not listed.
    if (share > 0) shares[name] = share;
  }
  return shares;
}

/** A share below this is a rounding error of floats. */
const SHARE_MIN = 1e-9;

/** Returns category → percentage of the value that moved, direct and indirect together, with the rest as UNKNOWN. */
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

const NO_PRICE = { priceStatus: 'NONE', priceDate: null } as const;

/** How the rows of a direction are shown. */
export interface ExposureNames {
  /** Returns an asset as answers write it. */
  readonly shown: (asset: string) => string;
  /** Price status of the direction: the weakest among its priced assets. */
  readonly price: PriceShown;
  /** Returns the label on which a row rests. */
  readonly labelOf: (node: NodeId, attribution: Attribution) => ExposureLabel | null;
}

/**
 * Returns exposures by category and entity, greatest first, including the unattributed rest. Assets without a price beside others
 * have their own rows, each with its share of that asset. If such an asset is not followed, its rows are only those of direct
 * counterparties.
 */
export function exposuresOf(
  side: FollowedSide,
  unpriced: Side['unpriced'],
  names: ExposureNames,
): Exposure[] {
  return weighedExposures(side, names)
    .concat(
      ...side.apart.map((one) => weighedExposures(one, names)),
      unpricedExposures(side, unpriced, names),
    )
    .slice(0, SCREENING_LIMITS.exposuresListed);
}

/** Merges rows of one attribution and type: an answer does not list an entity once for each confidence. */
function mergedRows(rows: readonly ExposureRow<Attribution>[]): ExposureRow<Attribution>[] {
  const merged = new Map<string, ExposureRow<Attribution>>();
  for (const row of rows) {
    const name = `${row.type} ${row.attribution.key}`;
    const known = merged.get(name);
    merged.set(
      name,
      known === undefined
        ? row
        : {
            ...known,
            largestNode: row.share > known.share ? row.largestNode : known.largestNode,
            hops: Math.min(known.hops, row.hops),
            share: known.share + row.share,
            valueUsd:
              known.valueUsd === null && row.valueUsd === null
                ? null
                : (known.valueUsd ?? 0) + (row.valueUsd ?? 0),
            transfers: known.transfers + row.transfers,
            unpricedTransfers: known.unpricedTransfers + row.unpricedTransfers,
          },
    );
  }
  return [...merged.values()].sort((a, b) => b.share - a.share);
}

function weighedExposures(
  { direction, flow, basis, value, rows: parts, unknownShare }: FollowedSide,
  names: ExposureNames,
): Exposure[] {
  const rows = mergedRows(parts);
  const { shown, price, labelOf } = names;
  // Priced value that totals less than a cent is weighed by amount, and shown as 0.00.
  const isWorthless = basis.basis !== 'USD' && basis.unpriced.length === 0 && price.priceStatus !== 'NONE';
  const isInUsd = basis.basis === 'USD' || isWorthless;
  const asset = isInUsd || basis.asset === null ? null : shown(basis.asset);
  const { priceStatus, priceDate }: PriceShown = isInUsd ? price : NO_PRICE;
  const known = rows.map(
    ({ attribution, largestNode, type, share, valueUsd, hops, transfers, unpricedTransfers }): Exposure => ({
      category: attribution.category,
      entity: attribution.entity,
      direction,
      type,
      percentage: twoDecimals(100 * share),
      asset,
      priceStatus,
      priceDate,
      class: attribution.class,
      label: labelOf(largestNode, attribution),
      valueUsd: isWorthless ? 0 : valueUsd === null ? null : twoDecimals(valueUsd),
      hops,
      txCount: transfers,
      unpricedTxCount: unpricedTransfers,
    }),
  );
  const listed = known.filter(({ percentage }) => percentage > 0);
  if (unknownShare <= SHARE_MIN) return listed;
  const direct = rows.filter(({ type }) => type === 'DIRECT');
  const rest = (all: number, ofRow: (row: ExposureRow<Attribution>) => number): number =>
    Math.max(0, all - direct.reduce((sum, row) => sum + ofRow(row), 0));
  const unknown: Exposure = {
    category: 'UNKNOWN',
    entity: null,
    direction,
    type: 'DIRECT',
    percentage: twoDecimals(100 * unknownShare),
    asset,
    priceStatus,
    priceDate,
    class: null,
    label: null,
    valueUsd: isWorthless ? 0 : isInUsd ? twoDecimals(value * unknownShare) : null,
    hops: 1,
    // Only transfers between the address itself and parties without a label.
    txCount: rest(flow.transfers, (row) => row.transfers),
    unpricedTxCount: rest(flow.unpricedTransfers, (row) => row.unpricedTransfers),
  };
  return [...listed, unknown].sort((a, b) => b.percentage - a.percentage || b.txCount - a.txCount);
}

/**
 * Returns the rows of each asset without a price that is not followed: its labelled direct counterparties by attribution, and the
 * rest.
 */
function unpricedExposures(
  { direction, basis }: FollowedSide,
  unpriced: Side['unpriced'],
  { shown, labelOf }: ExposureNames,
): Exposure[] {
  return assetsNotFollowed(basis).flatMap((asset) => {
    const common = {
      direction,
      type: 'DIRECT',
      asset: shown(asset.asset),
      ...NO_PRICE,
      valueUsd: null,
      hops: 1,
    } as const;
    const groups = new Map<
      string,
      { attribution: Attribution; share: number; transfers: number; node: NodeId; largest: number }
    >();
    for (const { party, share, transfers } of unpriced.filter((one) => one.asset.asset === asset.asset)) {
      const { attribution } = party;
      const { node } = party;
      const known = groups.get(attribution.key) ?? {
        attribution,
        share: 0,
        transfers: 0,
        node,
        largest: share,
      };
      if (share > known.largest) Object.assign(known, { node, largest: share });
      known.share += share;
      known.transfers += transfers;
      groups.set(attribution.key, known);
    }
    const rows = [...groups.values()];
    const rest = 1 - rows.reduce((sum, { share }) => sum + share, 0);
    const known = rows.map(
      ({ attribution, share, transfers, node }): Exposure => ({
        ...common,
        category: attribution.category,
        entity: attribution.entity,
        percentage: twoDecimals(100 * share),
        class: attribution.class,
        label: labelOf(node, attribution),
        txCount: transfers,
        unpricedTxCount: transfers,
      }),
    );
    const unknown = Math.max(0, asset.transfers - rows.reduce((sum, { transfers }) => sum + transfers, 0));
    const others: Exposure = {
      ...common,
      category: 'UNKNOWN',
      entity: null,
      percentage: twoDecimals(100 * rest),
      class: null,
      label: null,
      txCount: unknown,
      unpricedTxCount: unknown,
    };
    return [...known, ...(rest > SHARE_MIN ? [others] : [])].sort((a, b) => b.percentage - a.percentage);
  });
}

/**
 * Returns value from further hops and value without a label as evidence: shares of the address's own value, and of each asset
 * that is followed separately.
 */
export const indirectEvidence = (side: FollowedSide, own: Attribution): ExposureEvidence[] =>
  indirectEvidenceOf(side, own).concat(...side.apart.map((one) => indirectEvidenceOf(one, own)));

function indirectEvidenceOf(
  { direction, basis, value, rows, unknownShare }: FollowedSide,
  own: Attribution,
): ExposureEvidence[] {
  // Without a basis there is no value to divide. Assets without a price are judged one by one.
  if (value === 0) return [];
  const measured = { ...basis, total: value };
  const evidence: ExposureEvidence[] = [];
  // Hundreds of rows with a few hops each: loops, because an array for each row and hop would cost more than the evidence.
  for (const { attribution, type, shareByHop } of rows) {
    if (type === 'DIRECT') continue;
    const { category, confidence, entity } = attribution;
    const isOwn = isOwnDealing(attribution, own);
    for (let at = 0; at < shareByHop.length; at++) {
      const share = shareByHop[at] as number;
      if (!(share > 0)) continue;
      const hops = at + 1;
      const measure = measureOf(measured, share);
      evidence.push({
        category,
        direction,
        hops,
        asset: measure.asset,
        valueUsd: measure.valueUsd,
        share,
        flowPart: measure.flowPart,
        confidence,
        class: attribution.class,
        entity: entity?.name ?? null,
        isOwn,
      });
    }
  }
  if (unknownShare <= SHARE_MIN) return evidence;
  const measure = measureOf(measured, unknownShare);
  evidence.push({
    category: 'UNKNOWN',
    confidence: 1,
    class: 'published',
    entity: null,
    direction,
    hops: 1,
    asset: measure.asset,
    valueUsd: measure.valueUsd,
    share: unknownShare,
    flowPart: measure.flowPart,
  });
  return evidence;
}

/** Returns the addresses at which money could not be followed further, and the assets that were not followed at all. */
export function stoppedFlows(
  sides: readonly FollowedSide[],
  { graph, node }: { readonly graph: TransferGraph; readonly node: NodeId },
  shown: ExposureNames['shown'],
): StoppedFlow[] {
  const { screeningListMax } = SCREENING_LIMITS;
  const flows: StoppedFlow[] = [];
  for (const side of sides) {
    const { direction } = side;
    for (const { stops, basis } of [side, ...side.apart]) {
      const asset = basis.asset === null ? null : shown(basis.asset);
      for (const { node: at, reason, share } of stops.slice(0, screeningListMax))
        flows.push({
          address: shownNode(graph, at),
          reason,
          direction,
          asset,
          percentage: twoDecimals(100 * share),
        });
    }
    for (const { asset } of assetsNotFollowed(side.basis).slice(0, screeningListMax))
      flows.push({
        address: shownNode(graph, node),
        reason: 'UNPRICED',
        direction,
        asset: shown(asset),
        percentage: 100,
      });
  }
  return flows;
}

/** Returns the dealings with darknet markets, direct and indirect. */
export function darknetExposure(sides: readonly FollowedSide[]): ScreeningAnswer['darknetExposure'] {
  const scale = scaleOf(sides.map(({ basis }) => basis));
  const total = sides.reduce((sum, { basis, value }) => sum + value * scale(basis), 0);
  const markets = sides.flatMap(({ rows, basis, value }) =>
    rows
      .filter(({ attribution }) => attribution.category === 'DARKNET_MARKET')
      .map((row) => ({ row, value: value * scale(basis) })),
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
