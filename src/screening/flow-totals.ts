/** Totals of a flow by asset, in the form of answers. */
import type { AssetFacts, PriceStatus } from '../chains/assets.ts';
import type { ChainId } from '../chains/registry.ts';
import type { AssetFlow, Flow } from '../graph/transfers.ts';
import type { AssetTotal, FlowTotal } from './answers.ts';
import { addUsd, twoDecimals } from './counterparties.ts';
import { shownAsset } from './subject.ts';

/** Names and prices that totals by asset need. */
export interface FlowNames {
  readonly chain: ChainId;
  readonly assets: AssetFacts;
  /** The last transfer of the address: price statuses are of that moment. */
  readonly atMs: number;
}

/**
 * How the value of a flow is priced. A flow with USD that no price table explains was priced by the source of its transfers; a flow
 * without is NONE, whatever the tables say now.
 */
export function priceStatusOf(
  { asset, valueUsd, unpricedTransfers }: Pick<AssetFlow, 'asset' | 'valueUsd' | 'unpricedTransfers'>,
  { chain, assets, atMs }: FlowNames,
): PriceStatus {
  const hasUsd = valueUsd !== null && (valueUsd > 0 || unpricedTransfers === 0);
  if (!hasUsd) return 'NONE';
  const status = assets.priceStatusAt(chain, asset, atMs);
  return status === 'NONE' ? 'EXACT' : status;
}

/** The statuses from the surest to the weakest. */
const BY_WEAKNESS: readonly PriceStatus[] = ['EXACT', 'PEG', 'LAST_KNOWN'];

/** The weakest price status among the priced evidence of a direction; NONE if nothing of it has a price. */
export function weakestPrice({ byAsset }: Flow, names: FlowNames): PriceStatus {
  let weakest = -1;
  for (const flow of byAsset) {
    if (!names.assets.isKnown(names.chain, flow.asset)) continue;
    weakest = Math.max(weakest, BY_WEAKNESS.indexOf(priceStatusOf(flow, names)));
  }
  return BY_WEAKNESS[weakest] ?? 'NONE';
}

const assetTotal = (flow: AssetFlow, names: FlowNames): AssetTotal => ({
  asset: shownAsset(names.chain, flow.asset),
  isEvidence: names.assets.isKnown(names.chain, flow.asset),
  priceStatus: priceStatusOf(flow, names),
  amount: flow.amount.toString(),
  decimals: flow.decimals,
  valueUsd: flow.valueUsd,
  txCount: flow.transfers,
});

export const flowTotal = ({ valueUsd, transfers, byAsset }: Flow, names: FlowNames): FlowTotal => ({
  valueUsd,
  txCount: transfers,
  byAsset: byAsset.map((flow) => assetTotal(flow, names)),
});

/** Inflow less outflow. The USD figure is unknown if any transfer is unpriced: a difference has no lower bound. */
export function netTotal(inflow: Flow, outflow: Flow, names: FlowNames): FlowTotal {
  const totals = new Map<string, AssetTotal>();
  const add = (flow: AssetFlow, sign: 1n | -1n): void => {
    const known = totals.get(flow.asset);
    const isPriced = flow.unpricedTransfers === 0 && known?.valueUsd !== null;
    const one = assetTotal(flow, names);
    const statuses = [one.priceStatus, known?.priceStatus ?? one.priceStatus];
    totals.set(flow.asset, {
      ...one,
      priceStatus: statuses.includes('NONE') ? 'NONE' : one.priceStatus,
      amount: (BigInt(known?.amount ?? 0) + sign * flow.amount).toString(),
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
    byAsset: [...totals.values()],
  };
}
