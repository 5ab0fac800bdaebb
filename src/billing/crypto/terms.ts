/** The terms of cryptocurrency payments, from data/payments.json: confirmations, tolerance, times, and the accepted coins and tokens. */
import { readFileSync } from 'node:fs';
import { shippedData } from '../../base/paths.ts';
import { parseAddress } from '../../chains/address/parse.ts';
import { type ChainId, chainOf, parseChainId } from '../../chains/registry.ts';

/** Depth that a payment needs: a number of blocks, its own included, or the block that nodes call safe or finalized. */
export type Depth = { readonly blocks: number } | { readonly tag: 'safe' | 'finalized' };

export type ConfirmationRow = Depth & { readonly belowUsd?: number };

/** A coin or token that invoices can be paid with. */
export interface PaymentAsset {
  /** As in requests: `BTC`, `ETH`, `ARBITRUM:ETH`, `BASE:USDC`. */
  readonly currency: string;
  readonly chain: ChainId;
  /** As in a Transfer. */
  readonly asset: string;
  readonly symbol: string;
  readonly decimals: number;
}

export interface PaymentTerms {
  readonly toleranceBasisPoints: number;
  readonly lockMs: number;
  readonly monitorMs: number;
  readonly rateAgeMaxMs: number;
  readonly assets: readonly PaymentAsset[];
  /** Returns the depth at which a payment counts. */
  depthOf(chain: ChainId, usdCents: number): Depth;
}

interface TermsFile {
  readonly toleranceBasisPoints: number;
  readonly lockMinutes: number;
  readonly monitorHours: number;
  readonly rateAgeMaxMinutes: number;
  readonly confirmations: Readonly<Record<string, readonly ConfirmationRow[]>>;
  readonly tokens: readonly {
    readonly chain: string;
    readonly symbol: string;
    readonly asset: string;
    readonly decimals: number;
  }[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const CENTS = 100;

/** Chains that are paid to an address of their own for each invoice, and Solana: its invoices differ by a reference key. */
export const PAYMENT_CHAINS: readonly ChainId[] = [
  ...(['BTC', 'LTC', 'DOGE', 'BCH'] as const),
  ...([
    'ETH',
    'BSC',
    'POLYGON',
    'ARBITRUM',
    'OPTIMISM',
    'BASE',
    'AVALANCHE',
    'LINEA',
    'GNOSIS',
    'FANTOM',
  ] as const),
  ...(['SOL', 'TRON'] as const),
];

/** Chains on which payments are seen before they are in a block. */
export const isUtxo = (chain: ChainId): boolean => chainOf(chain).family === 'utxo';

/** Coins with the same symbol on several chains are named with their chain: ETH is Ether on Ethereum. */
const coinName = (chain: ChainId): string => {
  const { symbol } = chainOf(chain);
  return chain === symbol ? symbol : `${chain}:${symbol}`;
};

/** TRX is not offered: its invoices would need a second rate for little use; tokens of TRON are. */
const COIN_CHAINS = PAYMENT_CHAINS.filter((chain) => chain !== 'TRON');

/**
 * Reads the terms.
 *
 * @param file - the parsed file; default: data/payments.json
 * @throws Error if the file is inconsistent: it is part of the program
 */
export function readTerms(
  file: unknown = JSON.parse(readFileSync(shippedData('payments.json'), 'utf8')),
): PaymentTerms {
  const { toleranceBasisPoints, lockMinutes, monitorHours, rateAgeMaxMinutes, confirmations, tokens } =
    file as TermsFile;
  const coins = COIN_CHAINS.map((chain): PaymentAsset => {
    const { symbol, decimals } = chainOf(chain);
    return { currency: coinName(chain), chain, asset: symbol, symbol, decimals };
  });
  const listed = tokens.map(({ chain: name, symbol, asset, decimals }): PaymentAsset => {
    const chain = parseChainId(name);
    return {
      currency: `${chain}:${symbol}`,
      ...{ chain, asset: parseAddress(chain, asset).canonical, symbol, decimals },
    };
  });
  for (const chain of PAYMENT_CHAINS)
    if ((confirmations[chain] ?? []).length === 0)
      throw new Error(`payments.json: ${chain} has no confirmations.`);
  return {
    toleranceBasisPoints,
    lockMs: lockMinutes * MINUTE_MS,
    monitorMs: monitorHours * HOUR_MS,
    rateAgeMaxMs: rateAgeMaxMinutes * MINUTE_MS,
    assets: [...coins, ...listed],
    depthOf(chain, usdCents) {
      const rows = confirmations[chain] as readonly ConfirmationRow[];
      const row = rows.find(({ belowUsd }) => belowUsd === undefined || usdCents < belowUsd * CENTS);
      return (row ?? rows.at(-1)) as Depth;
    },
  };
}
