/**
 * The port of every chain: what the program asks of a blockchain, whichever protocol answers. Implemented once a protocol family;
 * `test/conformance/adapter.ts` is what each implementation passes.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Block } from '../block.ts';
import type { ChainId } from '../registry.ts';
import type { Transfer } from '../transfer.ts';
import type { UtxoTransaction } from '../utxo-transaction.ts';
import type { EndpointSpec } from './endpoints.ts';

/** How long a call may take, fail-over and repetitions included, and the signal that ends it earlier. */
export interface Call {
  readonly signal: AbortSignal;
  readonly budgetMs: number;
}

/**
 * COMPLETE: all of what was asked. PARTIAL: a part, and `note` says which is missing. NONE: no source for it is configured.
 * OPAQUE: the chain itself hides it (Monero, shielded Zcash); never to be read as zero.
 */
export type Completeness = 'COMPLETE' | 'PARTIAL' | 'NONE' | 'OPAQUE';

/** Where an answer comes from. Part of every answer. */
export interface Provenance {
  /** Layout and host of who answered, as in `json-rpc 127.0.0.1:8545`; null where nobody was asked. */
  readonly source: string | null;
  /** Height of the newest block the answer takes into account; null where not known. */
  readonly height: number | null;
  readonly completeness: Completeness;
  /** A sentence that says what is missing and why; null where nothing is. */
  readonly note: string | null;
}

export interface BalanceAnswer extends Provenance {
  /** Of the native asset, in its smallest unit; null for NONE and OPAQUE. */
  readonly balance: bigint | null;
}

export interface TransactionCountAnswer extends Provenance {
  /** Transactions of the address as its chain counts them (EVM: those it sent); null for NONE and OPAQUE. */
  readonly count: number | null;
}

export interface HistoryQuery {
  /** Where the page before ended; null for the newest page. Opaque, and only valid for the same address and range. */
  readonly cursor: string | null;
  /** Transfers wanted at most. A page may be shorter, and longer only where one block holds more. */
  readonly limit: number;
  /** Heights, both included; null for an open end. */
  readonly from: number | null;
  readonly to: number | null;
}

/** One page of an address's past, newest first. COMPLETE says that all kinds of transfers of these blocks are here. */
export interface HistoryPage extends Provenance {
  readonly transfers: readonly Transfer[];
  /** UTXO chains alone: whole transactions, newest first; `transfers` is empty there. */
  readonly transactions?: readonly UtxoTransaction[];
  /** Null at the end of the history. */
  readonly nextCursor: string | null;
}

export interface BlockRef {
  readonly height: number;
  /** In the chain's own canonical text. */
  readonly hash: string;
}

export interface HeadAnswer extends Provenance, BlockRef {
  readonly height: number;
  /** Milliseconds since the epoch; null where the head's answer does not say. */
  readonly timestampMs: number | null;
}

export interface BlockHeader extends BlockRef {
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
}

export interface ContractCall {
  readonly to: string;
  /** Call data in hex. */
  readonly data: string;
  /** The block whose state the call sees; absent for the newest block. */
  readonly blockHash?: string;
}

export interface BlockAnswer extends Provenance {
  /** Null where the chain has no such block yet. */
  readonly block: Block | null;
}

export interface NameAnswer extends Provenance {
  /** Canonical; null where the name is not registered or names no address of this chain. */
  readonly address: string | null;
}

/** Where following begins. */
export interface FollowFrom {
  /** The first block that is delivered; null begins with the block that is the head now. */
  readonly fromHeight: number | null;
  /**
   * Blocks already taken, oldest first, the last one at `fromHeight - 1`. Where the chain has left them meanwhile, the first event
   * is a reorg. Empty where nothing was taken.
   */
  readonly known: readonly BlockRef[];
}

export type ChainEvent =
  /** Blocks come in the order of the chain, none left out, none twice: each names the one delivered before it as its parent. */
  | { readonly type: 'block'; readonly block: Block; readonly completeness: Completeness }
  /** The chain left these blocks, newest first. The next block follows `ancestor`; null: nothing that was known or taken remains. */
  | { readonly type: 'reorg'; readonly ancestor: BlockRef | null; readonly dropped: readonly BlockRef[] };

/** One endpoint as it was last seen. */
export interface EndpointHealth {
  /** As in `Provenance.source`. */
  readonly source: string;
  /** UNTRIED before the first request. REFUSED: serves another chain. */
  readonly state: 'UP' | 'DOWN' | 'UNTRIED' | 'REFUSED';
  /** Smoothed time of an answer; null before the first. */
  readonly latencyMs: number | null;
  /** Requests that failed in a row. */
  readonly failures: number;
  /** The last failure in words; null where the last request succeeded. */
  readonly lastError: string | null;
}

export interface ChainHealth {
  readonly chain: ChainId;
  /** Whether a question has somebody to go to: an endpoint that is up or untried. */
  readonly reachable: boolean;
  readonly endpoints: readonly EndpointHealth[];
}

/**
 * One chain. All methods throw AssayError: CHAIN_UNREACHABLE where no endpoint answered, CHAIN_TIMEOUT where the budget ended first,
 * CHAIN_BAD_ANSWER where only answers came that no honest node gives, CHAIN_MISMATCH where every endpoint serves another chain,
 * INVALID_ADDRESS for an address that is none of this chain. The reason of `signal` is thrown where the caller ends the call.
 * What no source is configured for is answered, not thrown: NONE.
 */
export interface ChainAdapter {
  readonly chain: ChainId;
  balance(address: string, call: Call): Promise<BalanceAnswer>;
  transactionCount(address: string, call: Call): Promise<TransactionCountAnswer>;
  history(address: string, query: HistoryQuery, call: Call): Promise<HistoryPage>;
  head(call: Call): Promise<HeadAnswer>;
  block(height: number, call: Call): Promise<BlockAnswer>;
  /**
   * Blocks as they come, until `signal` ends it (then it returns). Endpoints that fail are waited for. `budgetMs` holds for each
   * request. Throws CHAIN_REORG_TOO_DEEP where the chain left more blocks than `reorgBlocksMax`.
   */
  subscribe(from: FollowFrom, call: Call): AsyncIterable<ChainEvent>;
  /**
   * Calls back where an address (canonical) may have done something since: a node told of a transaction that names it, or what a node
   * told may have been missed. Returns the way to end it. Null where no endpoint tells of addresses.
   */
  readonly onActivity?: ((address: string, onActivity: () => void) => () => void) | null;
  /** Null where the chain has no names. */
  readonly resolveName: ((name: string, call: Call) => Promise<NameAnswer>) | null;
  /**
   * Reads the header of one block (EVM).
   *
   * @returns null if the chain has no block of this height
   */
  readonly header?: (height: number, call: Call) => Promise<BlockHeader | null>;
  /**
   * Calls a contract without a transaction (EVM).
   *
   * @returns the returned bytes in hex; null if the call reverts
   * @throws CHAIN_REFUSED if `blockHash` is given and no endpoint has the state of that block
   */
  readonly callContract?: (request: ContractCall, call: Call) => Promise<string | null>;
  /** What is known of the endpoints; asks nobody. */
  health(): ChainHealth;
  /** Ends open connections and subscriptions. Idempotent. */
  close(): Promise<void>;
}

export interface AdapterOptions {
  readonly chain: ChainId;
  /** Nodes, in the order of preference; may be empty. */
  readonly rpc: readonly EndpointSpec[];
  /** Explorers and indexers, in the order of preference; may be empty. */
  readonly history: readonly EndpointSpec[];
  /** How many nodes must agree on what is read of them (balance, name, hash of a block); 1 asks one. */
  readonly quorum: number;
  /** Whether resolving a name may fetch URLs that the name's owner chose (EVM: CCIP-Read). */
  readonly offchainNames: boolean;
}

export interface AdapterDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1): spreads repetitions. */
  readonly jitter: () => number;
}

/** What the module of a protocol family exports as `openAdapter`. Opens no connection: the first question does. */
export type OpenAdapter = (options: AdapterOptions, deps: AdapterDeps) => ChainAdapter;
