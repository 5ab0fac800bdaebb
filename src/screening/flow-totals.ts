/** Totals of a flow by asset, as answers show them. */

import { addUsd, twoDecimals } from '../base/figures.ts';
import { nativeUnits } from '../chains/native-units.ts';
import type { AssetFlow, Flow } from '../graph/transfers.ts';
import type { AssetTotal, FlowTotal } from './answers.ts';
import { type FlowNames, priceOf } from './price-shown.ts';
import { shownAsset } from './subject.ts';

function assetTotal(flow: AssetFlow, names: FlowNames): AssetTotal {
  const { priceStatus, priceDate } = priceOf(flow, names);
  return {
    asset: shownAsset(names.chain, flow.asset),
    isEvidence: names.assets.isKnown(names.chain, flow.asset),
    priceStatus,
    priceDate,
    amount: nativeUnits(flow.amount, flow.decimals),
    decimals: flow.decimals,
    valueUsd: flow.valueUsd,
    txCount: flow.transfers,
  };
}

/** Returns the totals of a flow, with one row for each asset. */
export const flowTotal = ({ valueUsd, transfers, byAsset }: Flow, names: FlowNames): FlowTotal => ({
  valueUsd,
  txCount: transfers,
  byAsset: byAsset.map((flow) => assetTotal(flow, names)),
});

/** Returns inflow minus outflow. The USD figure is null if any transfer has no price, because a difference has no lower bound. */
export function netTotal(inflow: Flow, outflow: Flow, names: FlowNames): FlowTotal {
  const totals = new Map<string, AssetTotal>();
  const amounts = new Map<string, bigint>();
  const add = (flow: AssetFlow, sign: 1n | -1n): void => {
    const known = totals.get(flow.asset);
    const isPriced = flow.unpricedTransfers === 0 && known?.valueUsd !== null;
    const one = assetTotal(flow, names);
    const amount = (amounts.get(flow.asset) ?? 0n) + sign * flow.amount;
    amounts.set(flow.asset, amount);
    const statuses = [one.priceStatus, known?.priceStatus ?? one.priceStatus];
    totals.set(flow.asset, {
      asset: one.asset,
      isEvidence: one.isEvidence,
      priceStatus: statuses.includes('NONE') ? 'NONE' : one.priceStatus,
      priceDate: statuses.includes('NONE') ? null : one.priceDate,
      amount: nativeUnits(amount, flow.decimals),
      decimals: one.decimals,
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
