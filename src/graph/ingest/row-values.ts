/** Limits for the amounts in a row of a file, and the value of an amount that the row values at 0. */
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { createAmountLimits } from '../../chains/prices/amount-limits.ts';
import { usdOf } from '../../chains/prices/price.ts';
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
}

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
  return {
    amountMax,
    check({ asset, amount }) {
      const most = amountMax(asset);
      if (most === null || amount <= most) return;
      throw new RowFault(
        `amount is ${amount}, and no transfer of ${asset} has more than ${most} of its smallest unit. Check the unit of the file.`,
      );
    },
    worth({ asset, amount, timestampMs }) {
      const price = book?.known({ chain, asset }, timestampMs) ?? null;
      const decimals = price?.decimals ?? tokens.decimalsOf(chain, asset);
      return price === null || decimals === null ? null : usdOf(amount, decimals, price);
    },
  };
}
