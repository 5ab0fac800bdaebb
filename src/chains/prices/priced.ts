/** Fills USD values in: of transfers at the time of each, of balances now. What has no price stays null. */
import type { Transfer } from '../transfer.ts';
import { type PricedAsset, type PriceSource, type UsdPrice, usdOf } from './price.ts';

/** A transfer with its value filled in; the same object where nothing could be. */
function withPrice(transfer: Transfer, price: UsdPrice | null): Transfer {
  if (price === null) return transfer;
  const decimals = transfer.decimals ?? price.decimals ?? null;
  if (decimals === null) return transfer;
  return { ...transfer, decimals, valueUsd: usdOf(transfer.amount, decimals, price) };
}

/** One transfer, where the price is known at once. */
export function pricedTransfer(
  transfer: Transfer,
  prices: PriceSource,
  signal?: AbortSignal,
): Transfer | Promise<Transfer> {
  if (transfer.valueUsd !== null) return transfer;
  const found = prices.usdAt(transfer, transfer.timestampMs, signal);
  return found instanceof Promise
    ? found.then((price) => withPrice(transfer, price))
    : withPrice(transfer, found);
}

/** Transfers in their order, with the value of those that have none filled in where a price is known. */
export async function* priced(
  transfers: Iterable<Transfer> | AsyncIterable<Transfer>,
  prices: PriceSource,
  signal?: AbortSignal,
): AsyncGenerator<Transfer> {
  for await (const transfer of transfers) {
    const made = pricedTransfer(transfer, prices, signal);
    yield made instanceof Promise ? await made : made;
  }
}

export interface Balance extends PricedAsset {
  /** In the asset's smallest unit. */
  readonly amount: bigint;
  readonly decimals: number | null;
}

export interface PricedBalance extends Balance {
  /** Null where no price, or not the decimals, are known. */
  readonly valueUsd: number | null;
}

/** Balances at a moment, each with its value where it is known, in their order. */
export async function pricedBalances(
  balances: readonly Balance[],
  atMs: number,
  prices: PriceSource,
  signal?: AbortSignal,
): Promise<readonly PricedBalance[]> {
  return Promise.all(
    balances.map(async (balance) => {
      const price = await prices.usdAt(balance, atMs, signal);
      const decimals = balance.decimals ?? price?.decimals ?? null;
      const valueUsd = price === null || decimals === null ? null : usdOf(balance.amount, decimals, price);
      return { ...balance, valueUsd };
    }),
  );
}
