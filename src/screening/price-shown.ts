/** The price of a value as answers show it: its status, and its day if that is earlier than the transfer. */
import { isoTime } from '../base/clock.ts';
import type { AssetFacts, PriceStatus } from '../chains/assets.ts';
import type { ChainId } from '../chains/registry.ts';
import type { AssetFlow, Flow } from '../graph/transfers.ts';

/** Names and prices that totals by asset need. */
export interface FlowNames {
  readonly chain: ChainId;
  readonly assets: AssetFacts;
  /** Time of the last transfer of the address. Price statuses refer to it. */
  readonly atMs: number;
}

/**
 * Returns how the value of a flow is priced. A flow with USD that no price table explains was priced by the source of its
 * transfers. If the newest price of a table has reached its maximum age since, it was the price of earlier transfers: LAST_KNOWN. A flow
 * without USD is NONE, whatever the tables say now.
 */
export function priceStatusOf(
  { asset, valueUsd, unpricedTransfers }: Pick<AssetFlow, 'asset' | 'valueUsd' | 'unpricedTransfers'>,
  { chain, assets, atMs }: FlowNames,
): PriceStatus {
  const hasUsd = valueUsd !== null && (valueUsd > 0 || unpricedTransfers === 0);
  if (!hasUsd) return 'NONE';
  const status = assets.priceStatusAt(chain, asset, atMs);
  if (status !== 'NONE') return status;
  return assets.lastPriceAt(chain, asset, atMs) === null ? 'EXACT' : 'LAST_KNOWN';
}

/** How a value is priced. */
export interface PriceShown {
  readonly priceStatus: PriceStatus;
  /** Day of the price (YYYY-MM-DD), if it is earlier than the day of the transfer. */
  readonly priceDate: string | null;
}

/** Returns `priceStatusOf`, with the day of an earlier price. */
export function priceOf(
  flow: Pick<AssetFlow, 'asset' | 'valueUsd' | 'unpricedTransfers'>,
  names: FlowNames,
): PriceShown {
  const priceStatus = priceStatusOf(flow, names);
  const { chain, assets, atMs } = names;
  const lastMs =
    priceStatus === 'LAST_KNOWN' || priceStatus === 'PEG'
      ? assets.lastPriceAt(chain, flow.asset, atMs)
      : null;
  return { priceStatus, priceDate: lastMs === null ? null : isoTime(lastMs).slice(0, 10) };
}

/** The statuses, from the surest to the weakest. */
const BY_WEAKNESS: readonly PriceStatus[] = ['EXACT', 'PEG', 'LAST_KNOWN'];

/**
 * Returns the weakest price status among the priced evidence of a direction, and the oldest of its prices; NONE if nothing has a
 * price.
 */
export function weakestPrice({ byAsset }: Flow, names: FlowNames): PriceShown {
  let weakest = -1;
  let priceDate: string | null = null;
  for (const flow of byAsset) {
    if (!names.assets.isKnown(names.chain, flow.asset)) continue;
    const price = priceOf(flow, names);
    weakest = Math.max(weakest, BY_WEAKNESS.indexOf(price.priceStatus));
    if (price.priceDate !== null && (priceDate === null || price.priceDate < priceDate))
      priceDate = price.priceDate;
  }
  return { priceStatus: BY_WEAKNESS[weakest] ?? 'NONE', priceDate };
}
