/**
 * The interface of every chain adapter: the operations that the program needs from a blockchain, independent of the protocol. Each protocol
 * family has one implementation, and each implementation passes `test/conformance/adapter.ts`.
 */
import type { Clock } from '../../base/clock.ts';
import type { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Block } from '../block.ts';
import type { EndpointSpec } from '../endpoints/endpoints.ts';
import type { ChainId } from '../registry.ts';
import type { Transfer } from '../transfer.ts';
import type { UtxoTransaction } from '../utxo-transaction.ts';

/** Time limit of a call in milliseconds, including fail-over and retries, and the signal that aborts it earlier. */
export interface Call {
  readonly signal: AbortSignal;
  readonly budgetMs: number;
}

/**
 * How much of the requested data a result contains.
 *
 * - COMPLETE: all of it.
 * - PARTIAL: a part of it; `note` says what is missing.
 * - NONE: no source for it is configured.
 * - OPAQUE: the chain itself hides it (Monero, shielded Zcash); never read it as zero.
 */
export type Completeness = 'COMPLETE' | 'PARTIAL' | 'NONE' | 'OPAQUE';

/** The origin of a result; part of every result. */
export interface Provenance {
  /** Layout and host of the endpoint that answered, as in `json-rpc 127.0.0.1:8545`; null if no endpoint was asked. */
  readonly source: string | null;
  /** Height of the newest block that the result includes; null if unknown. */
  readonly height: number | null;
  readonly completeness: Completeness;
  /** A sentence that says what is missing and why; null if nothing is missing. */
  readonly note: string | null;
}

export interface BalanceAnswer extends Provenance {
  /** In the smallest unit of the native asset; null for NONE and OPAQUE. */
  readonly balance: bigint | null;
}

export interface TransactionCountAnswer extends Provenance {
  /** Number of transactions of the address as its chain counts them (EVM: those it sent); null for NONE and OPAQUE. */
  readonly count: number | null;
}

export interface HistoryQuery {
  /** `nextCursor` of the previous page; null for the newest page. Opaque, and valid only for the same address and range. */
  readonly cursor: string | null;
  /** Maximum number of transfers. A page may be shorter; it is longer only if a single block holds more. */
  readonly limit: number;
  /** Block heights, inclusive; null for an open end. */
  readonly from: number | null;
  readonly to: number | null;
}

/** One page of the history of an address, newest first. COMPLETE means that the page has all kinds of transfers of its blocks. */
export interface HistoryPage extends Provenance {
  readonly transfers: readonly Transfer[];
  /** Only on UTXO chains: whole transactions, newest first; `transfers` is then empty. */
  readonly transactions?: readonly UtxoTransaction[];
  /** Null at the end of the history. */
  readonly nextCursor: string | null;
}

export interface BlockRef {
  readonly height: number;
  /** In the canonical text form of the chain. */
  readonly hash: string;
}

export interface HeadAnswer extends Provenance, BlockRef {
  readonly height: number;
  /** Milliseconds since the epoch; null if the response for the head has no time. */
  readonly timestampMs: number | null;
}

export interface BlockHeader extends BlockRef {
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
}

/** Names of blocks by their finality. */
export type BlockTag = 'safe' | 'finalized';

/** A transaction that is in no block yet. */
export interface UnconfirmedTransaction extends Pick<UtxoTransaction, 'txid' | 'inputs' | 'outputs'> {
  /** When the node received it, by its own clock; null if the node does not say. */
  readonly receivedAtMs: number | null;
}

export interface Unconfirmed {
  /** Ids of all transactions in the pool of one node. */
  ids(call: Call): Promise<readonly string[]>;
  /** Returns a transaction of the pool; null if it is no longer there. */
  transaction(txid: string, call: Call): Promise<UnconfirmedTransaction | null>;
  /** Fills in the time, and the addresses and values of inputs, as far as the node has them. */
  withSources(transaction: UnconfirmedTransaction, call: Call): Promise<UnconfirmedTransaction>;
}

export interface ContractCall {
  readonly to: string;
  /** Call data in hex. */
  readonly data: string;
  /** The block with the state that the call sees; absent for the newest block. */
  readonly blockHash?: string;
  /** Maximum gas, for contracts that may be hostile; absent for the limit of the node. A call that needs more counts as reverted. */
  readonly gas?: number;
}

/** Logs in a range of blocks. */
export interface LogQuery {
  /** Canonical address of the contract; null for logs of every contract. */
  readonly address: string | null;
  /** Accepted first topics. */
  readonly topics: readonly string[];
  /** Block heights, inclusive. */
  readonly fromBlock: number;
  readonly toBlock: number;
}

/** One log of a contract, as it is in the chain. Hex is in lower case; the address is canonical. */
export interface LogEntry {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockNumber: number;
  readonly txHash: string;
  readonly logIndex: number;
}

/** A contract that a transaction without a recipient created. */
export interface Creation {
  /** Canonical address of the contract: the one that CREATE gives for its creator and the nonce. */
  readonly contract: string;
  /** Canonical address of the account that signed the transaction. */
  readonly creator: string;
  readonly txHash: string;
  /** Position of the transaction in its block. */
  readonly index: number;
}

/** The contracts that the transactions of one block created. */
export interface BlockCreations extends BlockHeader {
  readonly parentHash: string;
  readonly creations: readonly Creation[];
  /** Creations that the node places at another address than CREATE gives; they are left out. */
  readonly unverified: number;
}

export interface BlockAnswer extends Provenance {
  /** Null if the chain has no such block yet. */
  readonly block: Block | null;
}

export interface NameAnswer extends Provenance {
  /** Canonical; null if the name is not registered or has no address on this chain. */
  readonly address: string | null;
}

/** The position at which following starts. */
export interface FollowFrom {
  /** The first block to deliver; null starts at the current head. */
  readonly fromHeight: number | null;
  /**
   * Blocks that were already processed, oldest first; the last one has the height `fromHeight - 1`. If the chain has reverted some of them
   * since, the first event is a reorg. Empty if no block was processed.
   */
  readonly known: readonly BlockRef[];
  /**
   * Called at most once, if only one block is known, with some blocks before it, oldest first. The follower remembers them as well: otherwise a
   * reorg that begins below the known block would hide the blocks of the new branch up to that height. Default: they are not read.
   */
  readonly onEarlier?: (blocks: readonly BlockRef[]) => Promise<void>;
  /**
   * Called when the chain cannot be read any more, with the fault, and with null when it was read for the first time or again. Faults that
   * end following are thrown instead.
   */
  readonly onFault?: (fault: AssayError | null) => void;
  /** Called with the height of the chain's newest block whenever a node returns or announces it. */
  readonly onHead?: (height: number) => void;
}

export type ChainEvent =
  /** Blocks arrive in chain order, without gaps or duplicates: the parent of each is the block delivered before it. */
  | { readonly type: 'block'; readonly block: Block; readonly completeness: Completeness }
  /**
   * The chain reverted these blocks, newest first. The next block follows `ancestor`; null if none of the known or delivered blocks
   * remains.
   */
  | { readonly type: 'reorg'; readonly ancestor: BlockRef | null; readonly dropped: readonly BlockRef[] };

/**
 * State of an endpoint.
 *
 * - UNTRIED: no request since the start, or since an outage ended without a verification.
 * - UP: the last response was usable.
 * - DOWN: too many failures; it is tried again after a rest.
 * - REFUSED: it serves another chain; it is verified again after a rest.
 */
export type EndpointState = 'UNTRIED' | 'UP' | 'DOWN' | 'REFUSED';

/** The last observed state of one endpoint. */
export interface EndpointHealth {
  /** As in `Provenance.source`. */
  readonly source: string;
  readonly state: EndpointState;
  /** Smoothed latency in milliseconds; null before the first response. */
  readonly latencyMs: number | null;
  /** Number of consecutive failed requests. */
  readonly failures: number;
  /** Message of the last failure; null if the last request succeeded. */
  readonly lastError: string | null;
}

export interface ChainHealth {
  readonly chain: ChainId;
  /** True if at least one endpoint is up or untried. */
  readonly reachable: boolean;
  readonly endpoints: readonly EndpointHealth[];
}

/**
 * One chain. All methods throw `AssayError`:
 *
 * - CHAIN_UNREACHABLE if no endpoint answered.
 * - CHAIN_TIMEOUT if the budget ran out first.
 * - CHAIN_BAD_ANSWER if the only responses were ones that no honest node sends.
 * - CHAIN_MISMATCH if every endpoint serves another chain.
 * - INVALID_ADDRESS for an address that does not belong to this chain.
 *
 * If the caller aborts the call, the methods throw the reason of `signal`. If no source is configured for a request, they do not throw
 * and return NONE.
 */
export interface ChainAdapter {
  readonly chain: ChainId;
  balance(address: string, call: Call): Promise<BalanceAnswer>;
  transactionCount(address: string, call: Call): Promise<TransactionCountAnswer>;
  history(address: string, query: HistoryQuery, call: Call): Promise<HistoryPage>;
  head(call: Call): Promise<HeadAnswer>;
  block(height: number, call: Call): Promise<BlockAnswer>;
  /**
   * Delivers blocks as they appear, until `signal` aborts; then it returns. If endpoints fail, it waits for them. `budgetMs` applies to
   * each request.
   *
   * @throws CHAIN_REORG_TOO_DEEP if the chain reverted more blocks than `reorgBlocksMax`
   */
  subscribe(from: FollowFrom, call: Call): AsyncIterable<ChainEvent>;
  /**
   * Calls back when an address (canonical) may have had activity: a node announced a transaction that names it, or announcements may have
   * been missed. Null if no endpoint announces the activity of addresses.
   *
   * @returns a function that ends the subscription
   */
  readonly onActivity?: ((address: string, onActivity: () => void) => () => void) | null;
  /** Null if the chain has no names. */
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
  /**
   * Reads the logs of a contract, or of all contracts (EVM), in chain order. Logs of reverted blocks are left out.
   *
   * @throws CHAIN_REFUSED if the node refuses the range, for example because it has too many logs
   */
  readonly logs?: (query: LogQuery, call: Call) => Promise<readonly LogEntry[]>;
  /**
   * Returns the code of an account in hex (EVM): `0x` if it is no contract, `0xef0100…` if it is delegated (EIP-7702).
   *
   * @param blockHash - block with the state that is read; absent for the newest one
   * @throws CHAIN_REFUSED if `blockHash` is given and no endpoint has the state of that block
   */
  readonly code?: (address: string, call: Call, blockHash?: string) => Promise<string>;
  /**
   * Returns 32 bytes of the storage of a contract in hex (EVM); zeros if nothing was stored there.
   *
   * @param slot - 0x and 64 hex digits
   * @throws CHAIN_REFUSED if no endpoint has the state of the block
   */
  readonly storage?: (address: string, slot: string, blockHash: string, call: Call) => Promise<string>;
  /**
   * Returns the contracts that transactions of a block created themselves (EVM). Contracts that other contracts create are not part of
   * it.
   *
   * @returns null if the chain has no block of this height, or replaced it meanwhile
   */
  readonly creations?: (height: number, call: Call) => Promise<BlockCreations | null>;
  /**
   * Returns the newest block that the node calls safe or finalized (EVM). Another node may be on another branch: compare the hash.
   *
   * @returns null if the node knows no such block
   */
  readonly taggedBlock?: (tag: BlockTag, call: Call) => Promise<BlockRef | null>;
  /** Transactions that are in no block yet (UTXO chains); null if no endpoint lists them. */
  readonly unconfirmed?: Unconfirmed | null;
  /**
   * Returns all transfers of the newest transactions that name a key, also of those that pay other addresses (Solana: reference keys).
   *
   * @param limit - maximum number of transactions
   */
  readonly transfersNaming?: (key: string, limit: number, call: Call) => Promise<readonly Transfer[]>;
  /** Returns the last observed state of the endpoints; sends no request. */
  health(): ChainHealth;
  /** Closes connections and subscriptions. Idempotent. */
  close(): Promise<void>;
}

export interface AdapterOptions {
  readonly chain: ChainId;
  /** Nodes, in order of preference; may be empty. */
  readonly rpc: readonly EndpointSpec[];
  /** Explorers and indexers, in order of preference; may be empty. */
  readonly history: readonly EndpointSpec[];
  /** How many nodes must agree on what they return (balance, name, block hash); 1 asks one node. */
  readonly quorum: number;
  /** Whether name resolution may fetch URLs that the owner of the name chose (EVM: CCIP-Read). */
  readonly offchainNames: boolean;
}

export interface AdapterDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1); spreads retries over time. */
  readonly jitter: () => number;
}

/** The function that the module of each protocol family exports as `openAdapter`. It opens no connection; the first request does. */
export type OpenAdapter = (options: AdapterOptions, deps: AdapterDeps) => ChainAdapter;
