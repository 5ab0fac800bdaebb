/** An EVM node over JSON-RPC: head, blocks with receipts and traces, balances, and decimals of tokens. */
import { AbiCoder, getCreateAddress } from 'ethers';
import type { Clock } from '../../../base/clock.ts';
import { AssayError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Block } from '../../block.ts';
import type { Answered, EndpointPool, EndpointRequest } from '../../endpoints/endpoint-pool.ts';
import { asHexAmount, asHexCount, badAnswer, type Json } from '../../endpoints/exact-json.ts';
import { RpcRefusal, rpcCall, rpcRequest } from '../../endpoints/json-rpc.ts';
import { type ChainId, chainOf } from '../../registry.ts';
import type {
  BlockAnswer,
  BlockCreations,
  BlockHeader,
  BlockRef,
  BlockTag,
  Call,
  ContractCall,
  Creation,
  HeadAnswer,
  LogEntry,
  LogQuery,
} from '../port.ts';
import { assetsOf, blockTransfers } from './transfers.ts';
import {
  asData,
  asWord,
  type BlockTraces,
  readBlock,
  readCallTracer,
  readCreations,
  readLogEntries,
  readReceipt,
  readReceipts,
  readTraceBlock,
  type WireBlock,
  type WireCreation,
  type WireReceipt,
} from './wire.ts';

const hexOf = (height: number): string => `0x${height.toString(16)}`;

/** Time after which a method that the node lacks is tried again: it may have been enabled. */
const FORGET_LACK_MS = 600_000;
/** Maximum number of tokens with cached decimals; the oldest is evicted first. 100 bytes each. */
const DECIMALS_KEPT = 50_000;
/** Maximum number of tokens to look up per block; decimals of the others stay unknown until their next occurrence. */
const DECIMALS_ASKED_PER_BLOCK = 32;
/** Number of parallel requests if receipts must be requested one by one. */
const RECEIPTS_AT_ONCE = 8;
/**
 * Creations of a block up to which their receipts are requested one by one: a receipt has 1 KB, and those of a busy block of Ethereum
 * together have 1 to 2 MB.
 */
const CREATIONS_ONE_BY_ONE = 32;

/**
 * Attempts to trace a block, and the time that they take at least, before it is delivered without its traces: a node that lags, or restarts,
 * answers within seconds.
 */
const TRACE_ATTEMPTS = 4;
const TRACE_PATIENCE_MS = 10_000;
/** Blocks with a count of such attempts: those that followers wait for, and some that were asked for once. */
const UNTRACED_KEPT = 64;

type TraceMethod = 'trace_block' | 'debug_traceBlockByNumber';

export interface EvmNode {
  readonly pool: EndpointPool;
  head(call: Call): Promise<HeadAnswer>;
  hashAt(height: number, call: Call): Promise<string | null>;
  block(height: number, call: Call): Promise<BlockAnswer>;
  /** Reads a quantity of an address at a height; `quorum` nodes must agree. */
  quantityAt(
    method: 'eth_getBalance' | 'eth_getTransactionCount',
    address: string,
    height: number,
    quorum: number,
    call: Call,
  ): Promise<Answered<bigint>>;
  /** Returns the decimals of an ERC-20; null if the contract does not give them. */
  decimals(asset: string, call: Call): Promise<number | null>;
  /** Height of the newest block that the node calls safe or finalized; null if it knows none. */
  taggedBlock(tag: BlockTag, call: Call): Promise<BlockRef | null>;
  /** Reads the header of a block; null if the chain has no such block. */
  header(height: number, call: Call): Promise<BlockHeader | null>;
  /**
   * Returns the bytes that a contract returns; null if it reverts.
   *
   * @throws RpcRefusal if a block is named and no endpoint has its state
   */
  callContract(request: ContractCall, call: Call): Promise<string | null>;
  /** Reads logs in chain order. */
  logs(query: LogQuery, call: Call): Promise<readonly LogEntry[]>;
  /** Returns the code of an account in hex. */
  code(address: string, call: Call, blockHash?: string): Promise<string>;
  /** Returns 32 bytes of storage in hex. */
  storage(address: string, slot: string, blockHash: string, call: Call): Promise<string>;
  /** Returns the contracts that the transactions of a block created; null if the chain does not have the block. */
  creations(height: number, call: Call): Promise<BlockCreations | null>;
}

/**
 * Whether the contract reverted (as opposed to a refusal of the node): code 3 of geth and its forks, -32015 of Nethermind, and message
 * texts of others.
 */
const isRevert = ({ rpcCode, message }: RpcRefusal): boolean =>
  rpcCode === 3 || rpcCode === -32015 || /revert|invalid opcode|out ?of ?gas/i.test(message);

/** Whether the node has no block of this height yet: it lags behind the one that returned the block. -32001 is EIP-1474's "not found". */
const isUnknownBlock = ({ rpcCode, message }: RpcRefusal): boolean =>
  rpcCode === -32001 ||
  /\b(?:block|header)\b.*\b(?:not found|unknown)|\b(?:unknown|cannot find|could not find) (?:block|header)\b/i.test(
    message,
  );

/** Whether the node lacks the method for every block. Nodes say "not found" and "not available" of blocks and states as well. */
const isMissingMethod = (refusal: RpcRefusal): boolean =>
  refusal.rpcCode === -32601 ||
  (!isUnknownBlock(refusal) &&
    !/\bstate\b|\btrie\b/i.test(refusal.message) &&
    /not (?:supported|available|exist|found|whitelisted)|unsupported/i.test(refusal.message));

/** Verifies that an endpoint serves the configured chain. */
export function verifyChainId(chain: ChainId): EndpointRequest<void> {
  const expected = Number(chainOf(chain).caip2.split(':')[1]);
  return rpcRequest({
    method: 'eth_chainId',
    params: [],
    read(result) {
      const found = asHexCount(result, 'chain id');
      if (found !== expected)
        throw new AssayError(
          'CHAIN_MISMATCH',
          `An endpoint of ${chain} serves the chain with the id ${found}, not ${expected}.`,
        );
    },
  });
}

export interface EvmNodeDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const notTracedYet = ({ height }: WireBlock): AssayError =>
  new AssayError('CHAIN_REFUSED', `The node has no traces of block ${height} yet.`);

/** A client for the EVM nodes of a pool. */
class EvmNodePool implements EvmNode {
  readonly #chain: ChainId;
  readonly pool: EndpointPool;
  readonly #clock: Clock;
  readonly #log: Logger;

  /** Methods that every endpoint refused, with the time of the refusal. */
  readonly #lacking = new Map<string, number>();

  readonly #tracers: readonly (readonly [
    TraceMethod,
    (height: number) => Json,
    (result: Json, block: WireBlock) => BlockTraces | null,
  ])[] = [
    ['trace_block', (height) => [hexOf(height)], (result, block) => readTraceBlock(result, block.hash)],
    [
      'debug_traceBlockByNumber',
      (height) => [hexOf(height), { tracer: 'callTracer' }],
      (result, block) => readCallTracer(result, block.transactions),
    ],
  ];

  readonly #knownDecimals = new Map<string, number | null>();

  /** Blocks whose tracing failed, by hash, oldest first. */
  readonly #untraced = new Map<string, { readonly attempts: number; readonly sinceMs: number }>();

  constructor(chain: ChainId, pool: EndpointPool, { clock, log }: EvmNodeDeps) {
    this.#chain = chain;
    this.pool = pool;
    this.#clock = clock;
    this.#log = log;
  }

  #rpc<T>(method: string, params: Json, read: (result: Json) => T, call: Call): Promise<Answered<T>> {
    return rpcCall(this.pool, { method, params, read }, call);
  }

  #lacks(method: string): boolean {
    return this.#clock.monotonic() - (this.#lacking.get(method) ?? Number.NEGATIVE_INFINITY) < FORGET_LACK_MS;
  }

  /** Calls a method that nodes may lack; null if no endpoint has it or all refused the request. */
  async #optional<T>(method: string, params: Json, read: (result: Json) => T, call: Call): Promise<T | null> {
    if (this.#lacks(method)) return null;
    try {
      return (await this.#rpc(method, params, read, call)).value;
    } catch (error) {
      if (!(error instanceof RpcRefusal)) throw error;
      this.#noteRefusal(method, error);
      return null;
    }
  }

  /** Remembers a missing method. A refusal for this block (unknown, pruned, too large) does not apply to the next. */
  #noteRefusal(method: string, refusal: RpcRefusal): void {
    if (isMissingMethod(refusal)) this.#lacking.set(method, this.#clock.monotonic());
  }

  async #wholeBlock(height: number, call: Call): Promise<Answered<WireBlock | null>> {
    const read = (result: Json): WireBlock | null => {
      const block = readBlock(result, 'whole');
      if (block !== null && block.height !== height)
        throw badAnswer('block.number', `the requested ${height}`);
      return block;
    };
    return this.#rpc('eth_getBlockByNumber', [hexOf(height), true], read, call);
  }

  /** Returns the receipts in the order of the transactions; null if the chain has replaced the block in the meantime. */
  async #receiptsOf(block: WireBlock, call: Call): Promise<readonly WireReceipt[] | null> {
    if (block.transactions.length === 0) return [];
    const whole = await this.#optional('eth_getBlockReceipts', [hexOf(block.height)], readReceipts, call);
    const hashes = block.transactions.map(({ hash }) => hash);
    const receipts = whole ?? (await this.#receiptsOneByOne(hashes, call));
    if (receipts === null || receipts.some((receipt) => receipt.blockHash !== block.hash)) return null;
    const inOrder = hashes.every((hash, index) => receipts[index]?.transactionHash === hash);
    if (!inOrder || receipts.length !== block.transactions.length)
      throw badAnswer('receipts', 'one for each transaction');
    return receipts;
  }

  async #receiptsOneByOne(hashes: readonly string[], call: Call): Promise<readonly WireReceipt[] | null> {
    const receipts: WireReceipt[] = [];
    for (let at = 0; at < hashes.length; at += RECEIPTS_AT_ONCE) {
      const asked = hashes
        .slice(at, at + RECEIPTS_AT_ONCE)
        .map((hash) =>
          this.#rpc(
            'eth_getTransactionReceipt',
            [hash],
            (result) => (result === null ? null : readReceipt(result)),
            call,
          ),
        );
      for (const { value } of await Promise.all(asked)) {
        if (value === null) return null;
        receipts.push(value);
      }
    }
    return receipts;
  }

  /**
   * Returns the value moved inside transactions; null if no node supports tracing, if none has the state of the block, or if tracing it
   * failed again and again: anyone can make a transaction whose trace is too large or takes too long, and it must not end following.
   *
   * @throws the fault of the traces while another attempt may succeed
   */
  async #tracesOf(block: WireBlock, call: Call): Promise<BlockTraces | null> {
    if (block.transactions.length === 0) return { moves: [], isWhole: true };
    let fault: AssayError | null = null;
    for (const [method, params, read] of this.#tracers) {
      if (this.#lacks(method)) continue;
      try {
        const { value } = await this.#rpc(
          method,
          params(block.height),
          (result) => read(result, block),
          call,
        );
        if (value !== null) {
          this.#untraced.delete(block.hash);
          return value;
        }
        fault = notTracedYet(block);
      } catch (error) {
        call.signal.throwIfAborted();
        if (!(error instanceof AssayError) || !error.code.startsWith('CHAIN_')) throw error;
        if (!(error instanceof RpcRefusal)) fault = error;
        else if (isUnknownBlock(error)) fault = notTracedYet(block);
        else this.#noteRefusal(method, error);
      }
    }
    if (fault === null) return null;
    if (!this.#isGivenUp(block.hash)) throw fault;
    this.#log.warn(
      { chain: this.#chain, height: block.height, error: fault.message },
      'block cannot be traced, transfers inside its transactions are missing',
    );
    return null;
  }

  /** Counts a failed attempt to trace a block, and returns whether there were enough. */
  #isGivenUp(hash: string): boolean {
    const nowMs = this.#clock.monotonic();
    const { attempts, sinceMs } = this.#untraced.get(hash) ?? { attempts: 0, sinceMs: nowMs };
    this.#untraced.delete(hash);
    this.#untraced.set(hash, { attempts: attempts + 1, sinceMs });
    const oldest = this.#untraced.size > UNTRACED_KEPT ? this.#untraced.keys().next().value : undefined;
    if (oldest !== undefined) this.#untraced.delete(oldest);
    return attempts + 1 >= TRACE_ATTEMPTS && nowMs - sinceMs >= TRACE_PATIENCE_MS;
  }

  #rememberDecimals(asset: string, decimals: number | null): void {
    const oldest =
      this.#knownDecimals.size >= DECIMALS_KEPT ? this.#knownDecimals.keys().next().value : undefined;
    if (oldest !== undefined) this.#knownDecimals.delete(oldest);
    this.#knownDecimals.set(asset, decimals);
  }

  async decimals(asset: string, call: Call): Promise<number | null> {
    const known = this.#knownDecimals.get(asset);
    if (known !== undefined) return known;
    // The selector of `decimals()`.
    const result = await this.callContract({ to: asset, data: '0x313ce567' }, call);
    const found =
      result === null || result.length !== 66
        ? null
        : Number(AbiCoder.defaultAbiCoder().decode(['uint256'], result)[0]);
    const value = found !== null && found <= 77 ? found : null;
    this.#rememberDecimals(asset, value);
    return value;
  }

  /**
   * Returns the bytes that a contract returns; null if it refuses. A past block is named by its hash (EIP-1898): calls that belong
   * together then see one state, also if the chain replaces the block or another endpoint answers.
   */
  async callContract({ to, data, blockHash, gas }: ContractCall, call: Call): Promise<string | null> {
    const block = blockHash === undefined ? 'latest' : { blockHash };
    const params = [{ to, data, ...(gas === undefined ? {} : { gas: hexOf(gas) }) }, block];
    try {
      return (await this.#rpc('eth_call', params, (result) => asData(result, 'result'), call)).value;
    } catch (error) {
      if (!(error instanceof RpcRefusal)) throw error;
      // For a past block, a refusal that is not a revert means that the node does not have its state.
      if (blockHash === undefined || isRevert(error)) return null;
      throw error;
    }
  }

  async logs({ address, topics, fromBlock, toBlock }: LogQuery, call: Call): Promise<readonly LogEntry[]> {
    const filter = {
      ...(address === null ? {} : { address }),
      topics: [[...topics]],
      fromBlock: hexOf(fromBlock),
      toBlock: hexOf(toBlock),
    };
    const { value } = await this.#rpc('eth_getLogs', [filter], readLogEntries, call);
    for (const log of value)
      if (
        (address !== null && log.address !== address) ||
        log.blockNumber < fromBlock ||
        log.blockNumber > toBlock
      )
        throw badAnswer('logs', `of ${address ?? 'contracts'} in the blocks ${fromBlock} to ${toBlock}`);
    return value;
  }

  async code(address: string, call: Call, blockHash?: string): Promise<string> {
    const block = blockHash === undefined ? 'latest' : { blockHash };
    return (await this.#rpc('eth_getCode', [address, block], (result) => asData(result, 'code'), call)).value;
  }

  async storage(address: string, slot: string, blockHash: string, call: Call): Promise<string> {
    const params = [address, slot, { blockHash }];
    return (await this.#rpc('eth_getStorageAt', params, (result) => asWord(result, 'storage'), call)).value;
  }

  /** Returns the receipts of creating transactions, in their order; null if the chain has replaced the block. */
  async #receiptsOfCreations(
    height: number,
    creating: readonly WireCreation[],
    call: Call,
  ): Promise<readonly (WireReceipt | undefined)[] | null> {
    const hashes = creating.map(({ hash }) => hash);
    const whole =
      creating.length > CREATIONS_ONE_BY_ONE
        ? await this.#optional('eth_getBlockReceipts', [hexOf(height)], readReceipts, call)
        : null;
    if (whole === null) return this.#receiptsOneByOne(hashes, call);
    const byHash = new Map(whole.map((receipt) => [receipt.transactionHash, receipt]));
    return hashes.map((hash) => byHash.get(hash));
  }

  /**
   * Reads the block with its transactions, and receipts only if one of them creates a contract. A receipt shows whether the creation
   * succeeded. Its address is compared with CREATE, so that a node cannot place a contract elsewhere.
   */
  async creations(height: number, call: Call): Promise<BlockCreations | null> {
    const { value } = await this.#rpc('eth_getBlockByNumber', [hexOf(height), true], readCreations, call);
    if (value === null) return null;
    const { header, creating } = value;
    if (header.height !== height) throw badAnswer('block.number', `the requested ${height}`);
    const receipts = creating.length === 0 ? [] : await this.#receiptsOfCreations(height, creating, call);
    if (receipts === null) return null;
    const creations: Creation[] = [];
    let unverified = 0;
    for (const [at, { hash, from, nonce, index }] of creating.entries()) {
      const receipt = receipts[at];
      if (receipt === undefined || receipt.blockHash !== header.hash) return null;
      if (receipt.transactionHash !== hash) throw badAnswer('receipts', 'those of the transactions');
      // Before October 2017 a receipt had no status; a failed creation left no code, which does not harm a label.
      if (receipt.succeeded === false || receipt.contractAddress === null) continue;
      const contract = getCreateAddress({ from, nonce });
      if (contract === receipt.contractAddress)
        creations.push({ contract, creator: from, txHash: hash, index });
      else unverified++;
    }
    const { hash, parentHash, timestampMs } = header;
    return { height, hash, parentHash, timestampMs, creations, unverified };
  }

  async taggedBlock(tag: BlockTag, call: Call): Promise<BlockRef | null> {
    try {
      const read = (result: Json) => readBlock(result, 'header');
      const { value } = await this.#rpc('eth_getBlockByNumber', [tag, false], read, call);
      return value === null ? null : { height: value.height, hash: value.hash };
    } catch (error) {
      // Nodes refuse a tag before the first such block, and if they do not know it.
      if (error instanceof RpcRefusal) return null;
      throw error;
    }
  }

  async header(height: number, call: Call): Promise<BlockHeader | null> {
    const { value } = await this.#rpc(
      'eth_getBlockByNumber',
      [hexOf(height), false],
      (result) => readBlock(result, 'header'),
      call,
    );
    if (value === null) return null;
    if (value.height !== height) throw badAnswer('block.number', `the requested ${height}`);
    return { height, hash: value.hash, timestampMs: value.timestampMs };
  }

  /** Looks up decimals that are not known yet. An endpoint that refuses here leaves them unknown; the block is still returned. */
  async #learnDecimals(assets: ReadonlySet<string>, call: Call): Promise<void> {
    const unknown = [...assets]
      .filter((asset) => !this.#knownDecimals.has(asset))
      .slice(0, DECIMALS_ASKED_PER_BLOCK);
    await Promise.all(unknown.map((asset) => this.decimals(asset, call)));
  }

  async head(call: Call): Promise<HeadAnswer> {
    const { value, endpoint } = await this.#rpc(
      'eth_getBlockByNumber',
      ['latest', false],
      (result) => readBlock(result, 'header'),
      call,
    );
    if (value === null) throw badAnswer('block', 'present');
    const { height, hash, timestampMs } = value;
    return { height, hash, timestampMs, source: endpoint.source, completeness: 'COMPLETE', note: null };
  }

  async hashAt(height: number, call: Call): Promise<string | null> {
    return (await this.header(height, call))?.hash ?? null;
  }

  async block(height: number, call: Call): Promise<BlockAnswer> {
    const { value: block, endpoint } = await this.#wholeBlock(height, call);
    const gone: BlockAnswer = {
      block: null,
      source: endpoint.source,
      height: null,
      completeness: 'COMPLETE',
      note: null,
    };
    if (block === null) return gone;
    const [receipts, traces] = await Promise.all([
      this.#receiptsOf(block, call),
      this.#tracesOf(block, call),
    ]);
    if (receipts === null) return gone;
    await this.#learnDecimals(assetsOf(receipts, this.#chain), call);
    const transfers = blockTransfers(
      this.#chain,
      block,
      receipts,
      traces?.moves ?? null,
      (asset) => this.#knownDecimals.get(asset) ?? null,
    );
    const { hash, parentHash, timestampMs } = block;
    const whole: Block = {
      chain: this.#chain,
      height,
      hash,
      parentHash: height === 0 ? null : parentHash,
      timestampMs,
      transfers,
    };
    const isTraced = traces?.isWhole === true;
    return {
      block: whole,
      source: endpoint.source,
      height,
      completeness: isTraced ? 'COMPLETE' : 'PARTIAL',
      note: isTraced
        ? null
        : 'Transfers inside transactions are missing: no node of the chain returned the traces of the whole block.',
    };
  }

  quantityAt(
    method: 'eth_getBalance' | 'eth_getTransactionCount',
    address: string,
    height: number,
    quorum: number,
    call: Call,
  ): Promise<Answered<bigint>> {
    return this.pool.askAgreeing(
      quorum,
      rpcRequest({
        method,
        params: [address, hexOf(height)],
        read: (result) => asHexAmount(result, 'quantity'),
      }),
      call,
    );
  }
}

/** Creates a client for the EVM nodes of a pool. */
export function createEvmNode(chain: ChainId, pool: EndpointPool, deps: EvmNodeDeps): EvmNode {
  return new EvmNodePool(chain, pool, deps);
}
