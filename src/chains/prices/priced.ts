/** Fills in USD values: of transfers at their time, and of balances now. A value without a price stays null. */
import type { Transfer } from '../transfer.ts';
import { type PricedAsset, type PriceSource, type UsdPrice, usdOf } from './price.ts';

/** Returns the transfer with its value filled in; the same object if there is no price. */
function withPrice(transfer: Transfer, price: UsdPrice | null): Transfer {
  if (price === null) return transfer;
  const decimals = transfer.decimals ?? price.decimals ?? null;
  if (decimals === null) return transfer;
  return { ...transfer, decimals, valueUsd: usdOf(transfer.amount, decimals, price) };
}

/** Prices one transfer. Returns a promise only if the price must be requested. */
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

/** Yields transfers in their order, with missing values filled in if a price is known. */
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
  /** Null if the price or the decimals are unknown. */
  readonly valueUsd: number | null;
}

/** Computes the USD value of balances at a moment, in their order. */
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
