/** Limits for the amounts in a row of a file, and the values of amounts for which the row gives 0 or an impossible value. */
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { createAmountLimits } from '../../chains/prices/amount-limits.ts';
import { isPlausibleValue } from '../../chains/prices/given-value.ts';
import { type UsdPrice, usdOf } from '../../chains/prices/price.ts';
import { loadPegs } from '../../chains/prices/table.ts';
import { openInstalledPrices } from '../../chains/prices/tables.ts';
import type { ChainId } from '../../chains/registry.ts';
import { loadTokenList } from '../../chains/tokens.ts';
import type { Transfer } from '../../chains/transfer.ts';
import { RowFault } from './transfer-fields.ts';

/** An amount at a time, in milliseconds since the epoch. */
export type AmountAt = Pick<Transfer, 'asset' | 'amount' | 'timestampMs'>;

export interface RowValues {
  /** The maximum amount of an asset in its smallest unit. Null if the asset is unknown. */
  amountMax(asset: string): bigint | null;
  /** Throws a RowFault with the name of the field if the amount is greater. */
  check(transfer: Pick<Transfer, 'asset' | 'amount'>): void;
  /**
   * Returns the value of an amount above 0 for which a file gives 0: exporters write 0 for unknown values.
   *
   * @returns USD from the price tables of the installation, which may round to 0.00; null if they have no price
   */
  worth(transfer: AmountAt): number | null;
  /**
   * Returns true if the given value contradicts the price of our tables (given-value.ts). Takes the amount as a float, because it is called
   * for every row of a large file.
   *
   * @param decimals of the row; null if it has none
   * @param usd the given value
   */
  contradicts(
    row: Pick<Transfer, 'asset' | 'timestampMs' | 'decimals'>,
    amount: number,
    usd: number,
  ): boolean;
  /**
   * Returns the value by which a given value is replaced, because it contradicts the price of our tables.
   *
   * @returns USD; null if the given value is believed, or the tables have no price
   */
  replacement(transfer: ValuedAmount): number | null;
}

/** An amount with the value that the file gives, in USD. */
export type ValuedAmount = AmountAt & Pick<Transfer, 'decimals' | 'valueUsd'>;

/** A row with a given value that was replaced. Values in USD. */
export interface ReplacedValue {
  readonly line: number;
  readonly asset: string;
  readonly given: number;
  readonly stored: number;
}

/** Maximum number of assets with a remembered price; about 200 bytes each. Files repeat their assets and block times. */
const REMEMBERED_MAX = 10_000;

/**
 * Creates the limits and prices for the rows of one chain.
 *
 * @param pricesFolder `pricesFolderOf(dataDir)`; null if no prices are looked up
 * @throws INVALID_FILE if a price table cannot be read
 */
export function createRowValues(chain: ChainId, pricesFolder: string | null): RowValues {
  const tokens = loadTokenList();
  const amountMax = createAmountLimits(chain, { pegs: loadPegs(), tokens });
  const book =
    pricesFolder === null
      ? null
      : openInstalledPrices({ folder: pricesFolder }, { clock: systemClock, log: silentLogger }).book;
  const remembered = new Map<string, { readonly timestampMs: number; readonly price: UsdPrice | null }>();
  function priceAt(asset: string, timestampMs: number): UsdPrice | null {
    if (book === null) return null;
    const last = remembered.get(asset);
    if (last?.timestampMs === timestampMs) return last.price;
    if (remembered.size >= REMEMBERED_MAX) remembered.clear();
    const price = book.known({ chain, asset }, timestampMs);
    remembered.set(asset, { timestampMs, price });
    return price;
  }
  const decimalsAt = (price: UsdPrice, asset: string, ofRow: number | null): number | null =>
    ofRow ?? price.decimals ?? tokens.decimalsOf(chain, asset);
  function worth({ asset, amount, timestampMs }: AmountAt, ofRow: number | null): number | null {
    const price = priceAt(asset, timestampMs);
    const decimals = price && decimalsAt(price, asset, ofRow);
    return price === null || decimals === null ? null : usdOf(amount, decimals, price);
  }
  function contradicts(
    { asset, timestampMs, decimals: ofRow }: Pick<Transfer, 'asset' | 'timestampMs' | 'decimals'>,
    amount: number,
    usd: number,
  ): boolean {
    const price = priceAt(asset, timestampMs);
    const decimals = price && decimalsAt(price, asset, ofRow);
    if (price === null || decimals === null) return false;
    return !isPlausibleValue(usd, (amount / 10 ** decimals) * price.usd, price, timestampMs);
  }
  return {
    amountMax,
    check({ asset, amount }) {
      const most = amountMax(asset);
      if (most === null || amount <= most) return;
      throw new RowFault(
        `amount is ${amount}, and no transfer of ${asset} has more than ${most} of its smallest unit. Check the unit of the file.`,
      );
    },
    worth: (transfer) => worth(transfer, null),
    contradicts,
    replacement(transfer) {
      const { amount, decimals, valueUsd } = transfer;
      if (valueUsd === null || !contradicts(transfer, Number(amount), valueUsd)) return null;
      return worth(transfer, decimals);
    },
  };
}
