/** What is asked of the transfer store: the reader's port and its answers. Implemented by store.ts. */
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';

/** `in`: value came to the address asked about; `out`: it left. */
export type Direction = 'in' | 'out';

/** How much of one asset moved. Amounts are in the asset's smallest unit. */
export interface AssetFlow {
  /** The chain's native symbol, or the canonical address of a token contract. */
  readonly asset: string;
  readonly decimals: number | null;
  readonly transfers: number;
  readonly amount: bigint;
  /** USD of the priced transfers; null where none is priced. */
  readonly valueUsd: number | null;
  /** Transfers that moved an amount nobody could price. */
  readonly unpricedTransfers: number;
}

/** One party that an address traded with, all assets of one direction together. */
export interface Counterparty {
  readonly key: AddressKey;
  /** Canonical text. */
  readonly address: string;
  readonly direction: Direction;
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** USD of the priced transfers, with two decimals; null where none is priced. */
  readonly valueUsd: number | null;
  /** Milliseconds since the epoch. */
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  readonly assets: readonly AssetFlow[];
}

/** All that moved in one direction, whatever the counterparty (also none: coinbase, mint); self-transfers left out. */
export interface Flow {
  readonly transfers: number;
  readonly unpricedTransfers: number;
  readonly valueUsd: number | null;
  /** Most transfers first. */
  readonly byAsset: readonly AssetFlow[];
}

export interface AddressTotals {
  readonly in: Flow;
  readonly out: Flow;
  /** Transfers of the address to itself. */
  readonly selfTransfers: number;
  /** Distinct transactions in which the address sent or received. */
  readonly transactions: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** One of the newest transfers between two addresses. */
export interface RecentTransfer {
  readonly txHash: string;
  readonly position: string;
  readonly blockNumber: number;
  readonly timestampMs: number;
  readonly asset: string;
  readonly decimals: number | null;
  readonly amount: bigint;
  readonly valueUsd: number | null;
}

export interface TransferCoverage {
  readonly transfers: number;
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  /** Time of the newest block a transfer came from, ISO 8601; null where there is none. */
  readonly asOf: string | null;
}

export interface TransferReader {
  /** Greatest known USD value first, then most transfers without a price. `limit` is capped by `counterpartiesMax`. */
  counterparties(
    chain: ChainId,
    key: AddressKey,
    options: { readonly direction: Direction; readonly limit: number },
  ): readonly Counterparty[];
  /** How many parties the address traded with in one direction. */
  counterpartyCount(chain: ChainId, key: AddressKey, direction: Direction): number;
  /** Null for an address no transfer is known of. */
  totals(chain: ChainId, key: AddressKey): AddressTotals | null;
  /** The newest transfers from one address to another, newest first. */
  newest(chain: ChainId, from: AddressKey, to: AddressKey, limit: number): readonly RecentTransfer[];
  coverage(chain: ChainId): TransferCoverage;
  close(): Promise<void>;
}
