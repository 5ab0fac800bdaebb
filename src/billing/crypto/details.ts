/** How an invoice is paid in cryptocurrency: stored with the invoice, and part of every response. */
import type { ChainId } from '../../chains/registry.ts';
import type { Depth } from './terms.ts';

export interface CryptoDetails {
  readonly chain: ChainId;
  /** As in a Transfer: the coin's symbol, or the contract of the token. */
  readonly asset: string;
  readonly symbol: string;
  /** The address to pay; only on Solana, other invoices have the same one. */
  readonly address: string;
  /** The amount in whole coins, as decimal text. */
  readonly amount: string;
  /** For wallets, and for the QR code. */
  readonly uri: string;
  /** Index of the address below the operator's key; null on Solana. */
  readonly index: number | null;
  /** Path of the address, for a person; null on Solana. */
  readonly path: string | null;
  /** The key by which a payment on Solana is recognized; null elsewhere. */
  readonly reference: string | null;
  /** Depth that a payment needs before its credits are booked. */
  readonly depth: Depth;
}

/** Returns the details in the form of the API. */
export const cryptoAnswer = ({ depth, ...details }: CryptoDetails) => ({
  ...details,
  confirmations: 'blocks' in depth ? depth.blocks : null,
  finality: 'tag' in depth ? depth.tag : null,
});
