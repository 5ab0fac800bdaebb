/** The plain layout: one transfer per row, with the fields of the Transfer record. docs/transfers.md describes it for users. */

import { VALUE_USD_MAX } from '../../chains/prices/price.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import { assetInFile, loadTokenList } from '../../chains/tokens.ts';
import type { Initiation } from '../../chains/transfer.ts';
import type { TransferRowReader } from './ethereum-etl.ts';
import type { AmountAt } from './row-values.ts';
import type { RowFields } from './rows.ts';
import {
  AddressTexts,
  fieldOf,
  hashOf,
  integerOf,
  RowFault,
  smallIntegerOf,
  textOf,
  timeOf,
} from './transfer-fields.ts';

/** More decimals than any real asset has. With more, every amount would vanish. */
const DECIMALS_MAX = 77;
function usdOf(fields: RowFields): number | null {
  const value = fieldOf(fields, 'valueUsd');
  if (value === undefined) return null;
  const usd = typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
  if (typeof usd === 'number' && usd >= 0 && usd <= VALUE_USD_MAX) return usd;
  throw new RowFault(`valueUsd is not a number from 0 to ${VALUE_USD_MAX}.`);
}

/**
 * Returns the decimals of a row, or those of its asset.
 *
 * @param expected decimals that the asset is known to have, or null; other decimals would change every amount by powers of ten
 */
function decimalsOf(fields: RowFields, expected: number | null): number | null {
  if (fieldOf(fields, 'decimals') === undefined) return expected;
  const decimals = smallIntegerOf(fields, 'decimals');
  if (decimals > DECIMALS_MAX) throw new RowFault(`decimals is ${decimals}; the maximum is ${DECIMALS_MAX}.`);
  if (expected !== null && decimals !== expected)
    throw new RowFault(`decimals is ${decimals}, but the asset has ${expected}.`);
  return decimals;
}

function timestampOf(fields: RowFields): number {
  const ms = timeOf(fields, 'timestamp', 'milliseconds');
  if (ms === null) throw new RowFault('timestamp is missing.');
  return ms;
}

/** Returns true or false, or null if the field is absent. */
function answerOf(fields: RowFields, name: string): boolean | null {
  const value = fieldOf(fields, name);
  if (value === undefined) return null;
  const text = String(value).toLowerCase();
  if (text === 'true' || text === 'false') return text === 'true';
  throw new RowFault(`${name} must be true or false.`);
}

/**
 * Creates a reader for rows of one chain.
 *
 * @param options.worthOfZero returns the USD value of an amount above 0 for which the row gives 0; by default the value is unknown, as if
 * the field were absent
 */
export function ndjsonReader(options: {
  readonly chain: ChainId;
  readonly worthOfZero?: (transfer: AmountAt) => number | null;
}): TransferRowReader {
  const { chain, worthOfZero = () => null } = options;
  const { symbol, decimals } = chainOf(chain);
  const tokens = loadTokenList();
  const addresses = new AddressTexts(chain);
  const assetOf = (fields: RowFields): string => {
    const asset = textOf(fields, 'asset');
    if (asset === symbol) return asset;
    // Token contracts of EVM chains are addresses. On other chains the publisher chooses an asset's name.
    return isEvm(chain) ? addresses.required(fields, 'asset') : assetInFile(chain, asset);
  };
  const initiationOf = (fields: RowFields, asset: string): Initiation | null => {
    const sender = addresses.optional(fields, 'sender');
    const called = addresses.optional(fields, 'called');
    const decodes = answerOf(fields, 'decodes');
    if (sender === null) {
      if (called === null && decodes === null) return null;
      throw new RowFault('sender is missing, but called or decodes is present.');
    }
    if (asset === symbol || called === null) return { sender, callsAsset: null, decodes: null };
    const callsAsset = called === asset;
    return { sender, callsAsset, decodes: callsAsset ? decodes : false };
  };
  return (fields) => {
    const named = fieldOf(fields, 'chain');
    if (named !== undefined && String(named).toUpperCase() !== chain)
      throw new RowFault(`chain is ${String(named)}, but this file is ingested for ${chain}.`);
    const from = addresses.optional(fields, 'from');
    const to = addresses.optional(fields, 'to');
    if (from === null && to === null) throw new RowFault('from and to are both missing.');
    const asset = assetOf(fields);
    const own = asset === symbol ? decimals : null;
    const timestampMs = timestampOf(fields);
    const amount = integerOf(fields, 'amount');
    const usd = usdOf(fields);
    return {
      chain,
      txHash: isEvm(chain) ? hashOf(fields, 'txHash') : textOf(fields, 'txHash'),
      position: textOf(fields, 'position'),
      blockNumber: smallIntegerOf(fields, 'blockNumber'),
      timestampMs,
      from,
      to,
      asset,
      amount,
      decimals: decimalsOf(fields, own ?? tokens.decimalsOf(chain, asset)),
      valueUsd: usd === 0 && amount > 0n ? worthOfZero({ asset, amount, timestampMs }) : usd,
      initiation: initiationOf(fields, asset),
    };
  };
}
