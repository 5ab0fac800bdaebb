/** Origins and destinations of an address's money: the shares that the exposure kernel finds, and the evidence that they are. */

import type { NodeId, TransferGraph } from '../graph/graph.ts';
import {
  type ExposureOptions,
  type ExposureResult,
  type ExposureRow,
  exposureOf,
} from '../graph/kernels/exposure.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Direction, Flow } from '../graph/transfers.ts';
import type { ExposureEvidence } from '../risk/evidence.ts';
import type { Unfollowed, WalkBounds } from '../risk/reasons.ts';
import { type Attribution, absorbing, absorbs, type DerivedReading } from './attribution.ts';
import type { Attributions } from './attributions.ts';
import type { Party, Side } from './counterparties.ts';
import { isOwnDealing, measureOf } from './direct-evidence.ts';
import { SCREENING_LIMITS } from './limits.ts';
import {
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
  // By the same asset: without a limit of dust, a cent beside it would have the shares measured in USD.
  const throughDust = (): ExposureResult<Attribution> =>
    through(withDust(weighing), {
      nodesMax: SCREENING_LIMITS.exposureNodesMax,
      ...(basis.assetId !== null && { asset: basis.assetId }),
    });
  const withoutDust = through(weighing);
  // If only dust moved, the answer still attributes it.
  const result = withoutDust.total > 0 || basis.total === 0 ? withoutDust : throughDust();
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
      const value = share * asset.amount;
      // Dust by the amounts of this asset. What the party paid in USD beside it does not matter.
      return { ...party, ...count, value, isDust: value < one.basis.dust };
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

/** A share below this is a rounding error of floats. */
export const SHARE_MIN = 1e-9;

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
