/** Weighs transfers for screening: which assets of a chain are evidence, and what is dust. */
import type { AssetFacts } from '../chains/assets.ts';
import { wrappedCoinOf } from '../chains/prices/wrapped.ts';
import type { ChainId } from '../chains/registry.ts';
import { type Direction, OPPOSITE } from '../graph/flow.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { rowReaderOf } from '../graph/kernels/rows.ts';
import { isPriced, type RowBasis, type Weighing } from '../graph/kernels/weighing.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { SCREENING_LIMITS } from './limits.ts';

export interface WeighingDeps {
  readonly assets: Pick<AssetFacts, 'isKnown' | 'decimalsOf'>;
  readonly policy: Pick<RiskPolicy, 'dustUsd' | 'dustShare' | 'dustTokens'>;
}

/** Returns the weighing of a chain's transfers. */
export const weighingOf = (chain: ChainId, { assets, policy }: WeighingDeps): Weighing => ({
  isEvidence: (asset) => assets.isKnown(chain, asset),
  dustUsd: policy.dustUsd,
  dustShare: policy.dustShare,
  wrapped: wrappedCoinOf(chain),
  dustAmount(asset) {
    const decimals = assets.decimalsOf(chain, asset);
    return decimals === null ? 0 : policy.dustTokens * 10 ** decimals;
  },
});

/** Returns the same weighing without a dust limit. */
export const withDust = (weighing: Weighing): Weighing => ({ ...weighing, dustUsd: 0, dustShare: 0 });

/** An evidence asset that moved in a direction and has no price. */
export interface UnpricedAsset {
  readonly asset: string;
  /** Smallest units that moved in the direction. */
  readonly amount: number;
  readonly transfers: number;
  /** The direction's flow of the asset as a part of its greater flow, 0 to 1. */
  readonly flowPart: number;
  /** For a received asset, the part that the address sent on (more than 1 if it sent more); 0 for a sent asset. */
  readonly spentPart: number;
}

/** How shares and scores measure one direction of an address. */
export interface DirectionBasis extends RowBasis {
  readonly unpriced: readonly UnpricedAsset[];
  /** Assets without a price that are followed in addition, each by its own amounts, in this order. */
  readonly followedApart: readonly RowBasis[];
  /** True if more such assets moved than are followed. */
  readonly isAssetLeft: boolean;
}

export const NOTHING_MOVED: DirectionBasis = {
  basis: 'NOTHING',
  asset: null,
  assetId: null,
  rates: new Map(),
  total: 0,
  dust: 0,
  unpriced: [],
  followedApart: [],
  isAssetLeft: false,
};

/** Returns the basis of a direction if only one of its assets is followed. */
export const basisApart = (basis: RowBasis, { unpriced }: DirectionBasis): DirectionBasis => ({
  ...basis,
  unpriced: unpriced.filter(({ asset }) => asset === basis.asset),
  followedApart: [],
  isAssetLeft: false,
});

/** Returns the assets without a price that are not followed, and are judged only by direct counterparties. */
export function assetsNotFollowed({ asset, unpriced, followedApart }: DirectionBasis): UnpricedAsset[] {
  const followed = new Set([asset, ...followedApart.map((basis) => basis.asset)]);
  return unpriced.filter((one) => !followed.has(one.asset));
}

/**
 * Returns the basis of a direction, with the evidence assets that have no price and those of them that are followed separately.
 */
export function directionBasis(
  graph: TransferGraph,
  node: NodeId,
  direction: Direction,
  weighing: Weighing,
): DirectionBasis {
  const { exposureAssetsMax } = SCREENING_LIMITS;
  const rows = rowReaderOf(graph, weighing);
  const others = rows.evidenceSums(node, OPPOSITE[direction]);
  const unpriced = rows
    .evidenceSums(node, direction)
    .filter((flow) => !isPriced(flow) && flow.amount > 0)
    .map(({ asset, amount, transfers }): UnpricedAsset => {
      const other = others.find((flow) => flow.asset === asset)?.amount ?? 0;
      const flowPart = amount / Math.max(amount, other);
      const spentPart = direction === 'in' ? other / amount : 0;
      return { asset: graph.assetName(asset), amount, transfers, flowPart, spentPart };
    })
    // Such a small amount is dust, whatever the price.
    .filter(({ asset, amount }) => amount >= (weighing.dustAmount?.(asset) ?? 0));
  const apart = unpriced.length === 0 ? [] : rows.apartOf(node, direction).filter((one) => !one.isDust);
  const { basis, asset, assetId, rates, total, dust } = rows.basisOf(node, direction);
  // Fields are named, here and in other objects of each screening: a spread with further fields takes a slow path of the engine.
  return {
    basis,
    asset,
    assetId,
    rates,
    total,
    dust,
    unpriced,
    followedApart: apart.slice(0, exposureAssetsMax),
    isAssetLeft: apart.length > exposureAssetsMax,
  };
}

/** Returns true if all that moved in the direction is dust. */
export const isDustAlone = ({ basis, total, dust, unpriced }: DirectionBasis): boolean =>
  total < dust || (basis === 'ASSET' && unpriced.length === 0);
