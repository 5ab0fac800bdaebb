/** What moved, by asset, as answers write it. */
import type { ChainId } from '../chains/registry.ts';
import type { AssetFlow, Flow } from '../graph/transfers.ts';
import type { AssetTotal, FlowTotal } from './answers.ts';
import { addUsd, twoDecimals } from './counterparties.ts';
import { shownAsset } from './subject.ts';

const assetTotal = (flow: AssetFlow, chain: ChainId): AssetTotal => ({
  asset: shownAsset(chain, flow.asset),
  amount: flow.amount.toString(),
  decimals: flow.decimals,
  valueUsd: flow.valueUsd,
  txCount: flow.transfers,
});

export const flowTotal = ({ valueUsd, transfers, byAsset }: Flow, chain: ChainId): FlowTotal => ({
  valueUsd,
  txCount: transfers,
  byAsset: byAsset.map((flow) => assetTotal(flow, chain)),
});

/** Inflow less outflow. The USD figure is unknown where any transfer is unpriced: a difference has no lower bound. */
export function netTotal(inflow: Flow, outflow: Flow, chain: ChainId): FlowTotal {
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
