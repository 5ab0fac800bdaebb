/** The sections of a screening about value that was followed over several hops. */

import { percent, twoDecimals } from '../base/figures.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { ExposureRow } from '../graph/kernels/exposure.ts';
import type { Exposure, ExposureCategory, ExposureLabel, ScreeningAnswer, StoppedFlow } from './answers.ts';
import type { Attribution } from './attribution.ts';
import { type Side, scaleOf } from './counterparties.ts';
import { type FollowedSide, SHARE_MIN } from './exposures.ts';
import { SCREENING_LIMITS } from './limits.ts';
import type { PriceShown } from './price-shown.ts';
import { shownNode } from './subject.ts';
import { assetsNotFollowed } from './weighing.ts';

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
