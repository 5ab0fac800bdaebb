/** The read port of the transfer store, and its result types. Implemented by store.ts. */
import type { AddressKey } from '../chains/address/address.ts';
import type { ChainId } from '../chains/registry.ts';
import type { AssetFlow, Direction } from './flow.ts';
import type { NodeId, TransferGraph } from './graph.ts';

export type { AssetFlow, Direction };

/** A counterparty of an address, with all assets of one direction together. */
export interface Counterparty {
  readonly key: AddressKey;
  /** Canonical text. On EVM chains, reading it costs a hash. */
  readonly address: string;
  readonly direction: Direction;
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** USD of the priced transfers, with two decimals. Null if none is priced. */
  readonly valueUsd: number | null;
  /** Milliseconds since the epoch. */
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  readonly assets: readonly AssetFlow[];
}

/** All that moved in one direction, with or without a counterparty (coinbase, mint). Self-transfers are left out. */
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
  /** Distinct transactions in which the address sent or received. Null if they cannot be counted (as of an earlier time). */
  readonly transactions: number | null;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** How the transaction of a stored transfer was started. */
export interface StoredInitiation {
  /** Whether the sender of the transfer, its receiver, or another account signed the transaction. */
  readonly sender: 'FROM' | 'TO' | 'OTHER';
  /** As in `Initiation` of a Transfer. */
  readonly callsAsset: boolean | null;
  readonly decodes: boolean | null;
}

/** A stored transfer as results show it. */
export interface RecentTransfer {
  readonly txHash: string;
  readonly position: string;
  readonly blockNumber: number;
  readonly timestampMs: number;
  readonly asset: string;
  readonly decimals: number | null;
  readonly amount: bigint;
  readonly valueUsd: number | null;
  /** Null if its source does not give it. */
  readonly initiation: StoredInitiation | null;
}

/** One transfer of an address, seen from it. */
export interface AddressTransfer extends RecentTransfer {
  /** A transfer of the address to itself is `out`, with itself as the counterparty. */
  readonly direction: Direction;
  /** Null if there is no counterparty: coinbase, mint, fee. `node` is its id in the chain's graph. */
  readonly counterparty: {
    readonly node: NodeId;
    readonly key: AddressKey;
    readonly address: string;
  } | null;
}

/** One transfer of a transaction. */
export interface TransactionTransfer extends RecentTransfer {
  /** Ids in the chain's graph. `NOBODY` if there is no sender or receiver. */
  readonly from: NodeId;
  readonly to: NodeId;
}

/** The stored transfers of a transaction. */
export interface TransactionTransfers {
  /** In the order in which they were stored, at most as many as were asked for. */
  readonly transfers: readonly TransactionTransfer[];
  /** All that are stored, with those that are left out. */
  readonly total: number;
  /** Transfers that are known to be stored but were not found: docs/decisions/transactions-by-hash.md. */
  readonly unread: number;
}

/** The sums of an address on one day (UTC). Self-transfers are left out. */
export interface DailyFlow {
  /** YYYY-MM-DD. */
  readonly day: string;
  /** USD of the priced transfers. Null if transfers moved an amount and none is priced. */
  readonly inUsd: number | null;
  readonly outUsd: number | null;
  readonly inTransfers: number;
  readonly outTransfers: number;
}

export interface DailyFlows {
  /** Newest first. Days without a transfer are left out. */
  readonly days: readonly DailyFlow[];
  /** Whether they reach back to the first known transfer, or cover as many days as requested. */
  readonly isComplete: boolean;
}

/** A block that was appended live and can still be reverted. */
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
  /** Time of the newest block with a transfer, ISO 8601. Null if no transfer is stored. */
  readonly asOf: string | null;
}

/** What a transfer moved. */
export type MovedValue = Pick<RecentTransfer, 'asset' | 'amount' | 'valueUsd'>;

/** Which counterparties of an address are read. */
export interface CounterpartyChoice {
  readonly direction: Direction;
  /** Capped by `counterpartiesMax`. */
  readonly limit: number;
  /** Returns false for counterparties to leave out. They count towards `limit`. Their transfers are not read. */
  readonly isWanted?: (key: AddressKey) => boolean;
}

export interface TransferReader {
  /** Greatest known USD value first, then most unpriced transfers. */
  counterparties(chain: ChainId, key: AddressKey, options: CounterpartyChoice): readonly Counterparty[];
  /** The number of counterparties of the address in one direction. */
  counterpartyCount(chain: ChainId, key: AddressKey, direction: Direction): number;
  /** Null if no transfer of the address is known. */
  totals(chain: ChainId, key: AddressKey): AddressTotals | null;
  /** The newest transfers from one address to another, newest first. */
  newest(chain: ChainId, from: AddressKey, to: AddressKey, limit: number): readonly RecentTransfer[];
  /**
   * The newest transfers of an address with any counterparty, newest first. At most `recentTransfersPerAddress` are kept.
   *
   * @param isWanted returns false for transfers to leave out. They count towards `limit`. Their counterparties are not read
   * unless it calls its second argument, which returns the key of the counterparty; null for a mint or a fee.
   */
  recent(
    chain: ChainId,
    key: AddressKey,
    limit: number,
    isWanted?: (moved: MovedValue, counterparty: () => AddressKey | null) => boolean,
  ): readonly AddressTransfer[];
  /**
   * The stored transfers of a transaction.
   *
   * @param txHashes the spellings that the stored transfers may have
   * @returns null if the chain's transactions cannot be found by their hash here: its transfers are in servers
   */
  transaction(chain: ChainId, txHashes: readonly string[], limit: number): TransactionTransfers | null;
  /** Sums by day, newest first, from the transfers that `recent` keeps. `isComplete` is true if they reach back far enough. */
  daily(chain: ChainId, key: AddressKey, limitDays: number): DailyFlows;
  /** The chain as kernels read it, as of the newest commit. Null if no transfer of the chain is stored. */
  graph(chain: ChainId): TransferGraph | null;
  /** The blocks that were appended live and can still be reverted, highest first. The first is the checkpoint. */
  blocks(chain: ChainId): readonly StoredBlock[];
  coverage(chain: ChainId): TransferCoverage;
  close(): Promise<void>;
}
