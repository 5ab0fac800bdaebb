/** Shapes of the answers about one transaction. */
import type { ChainId } from '../chains/registry.ts';
import type { Coverage } from './answers.ts';
import type { TraceNode } from './trace-answers.ts';

/** One transfer of a transaction. */
export interface TransactionTransfer {
  readonly position: string;
  /** Null if there is no sender (coinbase, mint) or receiver (burn). */
  readonly from: string | null;
  readonly to: string | null;
  readonly asset: string;
  /** Native units, decimal; the smallest unit if `decimals` is null. */
  readonly amount: string;
  readonly decimals: number | null;
  /** USD at the time of the transfer. */
  readonly valueUsd: number | null;
  /** False for a token that is on no curated list: anyone can forge its transfers. */
  readonly evidence: boolean;
  readonly blockNumber: number;
  readonly timestamp: string;
}

/** The stored transfers of a transaction on one chain. */
export interface ChainTransaction {
  readonly chain: ChainId;
  readonly hash: string;
  readonly transfers: readonly TransactionTransfer[];
  readonly totalTransfers: number;
  readonly truncated: boolean;
  readonly unreadTransfers: number;
  /** Each address of the transfers once. */
  readonly parties: readonly Omit<TraceNode, 'depth'>[];
  readonly coverage: Coverage;
  readonly dataVersion: string;
}

/** The result of one chain. */
export interface TransactionSearch {
  readonly chain: ChainId;
  readonly status: 'FOUND' | 'NOT_FOUND' | 'NO_TRANSFERS' | 'NOT_SEARCHABLE' | 'UNAVAILABLE';
  readonly transaction: ChainTransaction | null;
}

export interface TransactionAnswer {
  readonly hash: string;
  /** One for each chain that has the hash. */
  readonly transactions: readonly ChainTransaction[];
  readonly searched: readonly ChainId[];
  readonly notSearched: readonly {
    readonly chain: ChainId;
    readonly reason: 'NO_TRANSFERS' | 'NOT_SEARCHABLE' | 'UNAVAILABLE';
  }[];
  readonly searchedAt: string;
}
