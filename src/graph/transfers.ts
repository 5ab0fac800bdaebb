/** What is asked of the transfer store: the reader's port and its answers. Implemented by store.ts. */
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';
import type { AssetFlow, Direction } from './flow.ts';
import type { TransferGraph } from './graph.ts';

export type { AssetFlow, Direction };

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
  /** Distinct transactions in which the address sent or received; null if they cannot be counted (as of an earlier time). */
  readonly transactions: number | null;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** How the transaction of a stored transfer was started. */
export interface StoredInitiation {
  /** Whether the sender or the receiver of the transfer signed the transaction, or another account. */
  readonly sender: 'FROM' | 'TO' | 'OTHER';
  /** As in `Initiation` of a Transfer. */
  readonly callsAsset: boolean | null;
  readonly decodes: boolean | null;
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
  /** Null if its source could not say. */
  readonly initiation: StoredInitiation | null;
}

/** One transfer of an address, seen from it. */
export interface AddressTransfer extends RecentTransfer {
  /** A transfer of the address to itself is `out`, with itself as the counterparty. */
  readonly direction: Direction;
  /** Null where nobody stands on the other side: coinbase, mint, fee. */
  readonly counterparty: { readonly key: AddressKey; readonly address: string } | null;
}

/** What an address moved on one day (UTC). Self-transfers are left out. */
export interface DailyFlow {
  /** YYYY-MM-DD. */
  readonly day: string;
  /** USD of the priced transfers; null where transfers moved something and none is priced. */
  readonly inUsd: number | null;
  readonly outUsd: number | null;
  readonly inTransfers: number;
  readonly outTransfers: number;
}

export interface DailyFlows {
  /** Newest first; days without a transfer are left out. */
  readonly days: readonly DailyFlow[];
  /** Whether they reach back to the first transfer known, or as many days as asked for. */
  readonly isComplete: boolean;
}

/** A block that was appended live and can still be taken back. */
export interface StoredBlock {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string | null;
  readonly timestampMs: number;
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
  /** The newest transfers of an address with whomever, newest first. At most `recentTransfersPerAddress` are kept. */
  recent(chain: ChainId, key: AddressKey, limit: number): readonly AddressTransfer[];
  /** Sums a day, newest first, made of the transfers that `recent` keeps: `isComplete` says whether those are all. */
  daily(chain: ChainId, key: AddressKey, limitDays: number): DailyFlows;
  /** The chain as kernels read it, as of the newest commit; null where no transfer of the chain is stored. */
  graph(chain: ChainId): TransferGraph | null;
  /** The blocks that were appended live and can still be taken back, highest first: the first is the checkpoint. */
  blocks(chain: ChainId): readonly StoredBlock[];
  coverage(chain: ChainId): TransferCoverage;
  close(): Promise<void>;
}
