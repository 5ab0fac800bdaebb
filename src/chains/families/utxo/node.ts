/**
 * A node of a UTXO chain: the JSON-RPC of Bitcoin Core (layout `json-rpc`) or its REST interface (`rest`), and those of its forks.
 * Provides the head, hashes and whole blocks; nodes have no histories of addresses.
 */
import type { Clock } from '../../../base/clock.ts';
import { AssayError } from '../../../base/errors.ts';
import { ScriptReader } from '../../bitcoin-script.ts';
import { startDeadline } from '../../endpoints/deadline.ts';
import type { Answered, EndpointPool, EndpointRequest } from '../../endpoints/endpoint-pool.ts';
import { endpointUrl } from '../../endpoints/endpoints.ts';
import { asArray, asCount, asObject, asSecondsMs, badAnswer, type Json } from '../../endpoints/exact-json.ts';
import { type RpcOptions, RpcRefusal, rpcRequest } from '../../endpoints/json-rpc.ts';
import type { ChainId } from '../../registry.ts';
import type { BlockAnswer, Call, HeadAnswer, Unconfirmed, UnconfirmedTransaction } from '../port.ts';
import { type BlockSource, blockAnswer, NO_BLOCK } from './block-source.ts';
import { networkOf, type UtxoNetwork } from './networks.ts';
import { verifyChainOf } from './verify.ts';
import {
  asHash,
  BLOCK_TRANSACTIONS_MAX,
  type BlockBody,
  readNodeTransaction,
  readRawBlock,
  readRawTransaction,
  type TransactionBody,
} from './wire.ts';

/** Bitcoin Core's codes for starting up, not connected, and still loading the chain. Other nodes may be available. */
const UNAVAILABLE_CODES = [-28, -9, -10];
/** "Block height out of range." */
const OUT_OF_RANGE = -8;
/** Whether the node refused the format of the request, which it would refuse again, and not the requested object. */
const isOfForm = (error: RpcRefusal): boolean =>
  [-1, -3, -32602].includes(error.rpcCode) || /verbos|bool|JSON value/i.test(error.message);

/** Time after which a node without a transaction index is asked again: it may be building the index. */
const FORGET_LACK_MS = 600_000;
/** Maximum number of transactions to request per block for the spent outputs: a full block of Litecoin or Dogecoin needs fewer. */
const SPENT_ASKED_PER_BLOCK = 4_000;
/** Transactions in the pool of a node: ten times the most that Bitcoin's default of 300 MB has held. */
const POOL_TRANSACTIONS_MAX = 2_000_000;
/** Number of parallel requests: well below the queue of an endpoint, so that other requests get their turn. */
const ASKED_AT_ONCE = 32;
/** Share of the remaining budget that spent outputs may use: the block itself must be returned in time. */
const SPENT_SHARE = 0.8;

type Layout = 'json-rpc' | 'rest';

type FetchBlock = (height: number, hash: string, call: Call) => Promise<Answered<BlockBody>>;

interface NodeRequests {
  head(call: Call): Promise<Answered<{ height: number; hash: string; timestampMs: number | null }>>;
  hashAt(height: number, call: Call): Promise<Answered<string | null>>;
  readonly block: FetchBlock;
  /** Throws CHAIN_REFUSED if the node does not have the transaction. */
  transaction(txid: string, call: Call): Promise<TransactionBody>;
  /** Absent if the interface does not list the pool. */
  readonly pool?: {
    ids(call: Call): Promise<readonly string[]>;
    /** Null if the transaction is not in the pool. */
    receivedAtMs(txid: string, call: Call): Promise<number | null>;
  };
}

/** Parses the JSON of a block with whole transactions. */
function readBlock(
  chain: ChainId,
  scripts: ScriptReader,
  value: Json,
  requested: { readonly height: number; readonly hash: string },
): BlockBody {
  const fields = asObject(value, 'block');
  const hash = asHash(fields.hash, 'block.hash');
  const height = asCount(fields.height, 'block.height');
  if (hash !== requested.hash || height !== requested.height)
    throw badAnswer('block', `the requested ${requested.height}`);
  return {
    hash,
    parentHash: height === 0 ? '' : asHash(fields.previousblockhash, 'block.previousblockhash'),
    timestampMs: asSecondsMs(fields.time, 'block.time'),
    transactions: asArray(fields.tx, 'block.tx', BLOCK_TRANSACTIONS_MAX).map((row) =>
      readNodeTransaction(chain, scripts, row),
    ),
  };
}

function readChainInfo(value: Json): { height: number; hash: string; timestampMs: number | null } {
  const { blocks, bestblockhash, time } = asObject(value, 'chain info');
  return {
    height: asCount(blocks, 'blocks'),
    hash: asHash(bestblockhash, 'bestblockhash'),
    // Bitcoin Core includes the time of the newest block since 23.0.
    timestampMs: time === undefined ? null : asSecondsMs(time, 'time'),
  };
}

/** Verifies that a node serves the chain, by hashes of blocks that no other chain has. */
export function verifyNode(chain: ChainId, layout: Layout): EndpointRequest<void> {
  const { mark } = networkOf(chain);
  if (layout === 'rest')
    return {
      url: (spec) => endpointUrl(spec, `rest/blockhashbyheight/${mark.height}.json`),
      statuses: [404],
      read(answer, spec) {
        const hash =
          answer.status === 404 ? null : asHash(asObject(answer.json(), 'answer').blockhash, 'blockhash');
        verifyChainOf(chain, { genesis: null, atMark: hash }, spec);
      },
    };
  // One batch request for both, which the JSON-RPC of all these nodes supports.
  const question = (id: number, height: number): Json => ({ id, method: 'getblockhash', params: [height] });
  return {
    body: JSON.stringify([question(1, 0), question(2, mark.height)]),
    statuses: [500],
    read(answer, spec) {
      const rows = asArray(answer.json(), 'answer', 2).map((row) => asObject(row, 'answer'));
      const hashOf = (id: number): string | null => {
        const row = rows.find((each) => each.id === id);
        if (row === undefined) throw badAnswer('id', 'that of the request');
        if (row.error === undefined || row.error === null) return asHash(row.result, 'result');
        const { code, message } = asObject(row.error, 'error');
        if (code === OUT_OF_RANGE || code === -1) return null;
        throw new AssayError(
          'CHAIN_UNREACHABLE',
          `${spec.source}: not ready: ${String(message).slice(0, 200)} (${String(code)}).`,
        );
      };
      const genesis = hashOf(1);
      if (genesis === null) throw badAnswer('result', 'the hash of the first block');
      verifyChainOf(chain, { genesis, atMark: hashOf(2) }, spec);
    },
  };
}

interface NodeContext {
  readonly chain: ChainId;
  readonly quorum: number;
  readonly pool: EndpointPool;
  readonly clock: Clock;
  readonly scripts: ScriptReader;
}

/** The requests to a node over JSON-RPC. */
class JsonRpcNode implements NodeRequests {
  readonly #chain: ChainId;
  readonly #quorum: number;
  readonly #pool: EndpointPool;
  readonly #clock: Clock;
  readonly #scripts: ScriptReader;
  readonly #network: UtxoNetwork;
  /** Formats of `getblock`, in the order in which they are tried. */
  readonly #forms: readonly (readonly [name: string, ask: FetchBlock])[];
  /** Formats of `getblock` that every endpoint refused, with the time of the refusal. */
  readonly #refusedForms = new Map<string, number>();

  constructor({ chain, quorum, pool, clock, scripts }: NodeContext) {
    this.#chain = chain;
    this.#quorum = quorum;
    this.#pool = pool;
    this.#clock = clock;
    this.#scripts = scripts;
    this.#network = networkOf(chain);
    this.#forms = [
      ['whole', (height, hash, call) => this.#whole(height, hash, call)],
      this.#network.hasBitcoinBlocks
        ? ['raw', (_, hash, call) => this.#raw(hash, call)]
        : ['one by one', (height, hash, call) => this.#oneByOne(height, hash, call)],
    ];
  }

  head(call: Call) {
    return this.#rpc('getblockchaininfo', [], readChainInfo, call);
  }

  async hashAt(height: number, call: Call): Promise<Answered<string | null>> {
    try {
      return await this.#rpc(
        'getblockhash',
        [height],
        (result) => asHash(result, 'result'),
        call,
        this.#quorum,
      );
    } catch (error) {
      if (!(error instanceof RpcRefusal) || error.rpcCode !== OUT_OF_RANGE) throw error;
      const [endpoint] = this.#pool.endpoints;
      if (endpoint === undefined) throw error;
      return { value: null, endpoint };
    }
  }

  async block(height: number, hash: string, call: Call): Promise<Answered<BlockBody>> {
    let refusal: RpcRefusal | null = null;
    const fresh = this.#forms.filter(([name]) => !this.#isRefused(name));
    for (const [name, ask] of fresh.length === 0 ? this.#forms : fresh)
      try {
        return await ask(height, hash, call);
      } catch (error) {
        if (!(error instanceof RpcRefusal) || !isOfForm(error)) throw error;
        this.#refusedForms.set(name, this.#clock.monotonic());
        refusal = error;
      }
    throw refusal ?? new AssayError('CHAIN_REFUSED', `No node of ${this.#chain} returns blocks.`);
  }

  async transaction(txid: string, call: Call): Promise<TransactionBody> {
    const isRaw = this.#network.hasBitcoinTransactions;
    const read = (result: Json): TransactionBody => {
      if (isRaw) return readRawTransaction(this.#scripts, result, txid);
      const body = readNodeTransaction(this.#chain, this.#scripts, result);
      if (body.txid !== txid) throw badAnswer('txid', 'that of the request');
      return body;
    };
    // Core accepts a number or a boolean; Zcash and Dogecoin accept only a number.
    return (await this.#rpc('getrawtransaction', isRaw ? [txid] : [txid, 1], read, call)).value;
  }

  readonly pool = {
    ids: async (call: Call): Promise<readonly string[]> => {
      const read = (result: Json) =>
        asArray(result, 'pool', POOL_TRANSACTIONS_MAX).map((txid) => asHash(txid, 'txid'));
      return (await this.#rpc('getrawmempool', [], read, call)).value;
    },
    receivedAtMs: async (txid: string, call: Call): Promise<number | null> => {
      const read = (result: Json) => asSecondsMs(asObject(result, 'entry').time, 'entry.time');
      try {
        return (await this.#rpc('getmempoolentry', [txid], read, call)).value;
      } catch (error) {
        if (error instanceof RpcRefusal) return null;
        throw error;
      }
    },
  };

  #rpc<T>(
    method: string,
    params: Json,
    read: RpcOptions<T>['read'],
    call: Call,
    agreeing = 1,
  ): Promise<Answered<T>> {
    return this.#pool.askAgreeing(
      agreeing,
      rpcRequest({ method, params, version: '1.0', unavailableCodes: UNAVAILABLE_CODES, read }),
      call,
    );
  }

  #isRefused(form: string): boolean {
    return (
      this.#clock.monotonic() - (this.#refusedForms.get(form) ?? Number.NEGATIVE_INFINITY) < FORGET_LACK_MS
    );
  }

  #whole(height: number, hash: string, call: Call): Promise<Answered<BlockBody>> {
    return this.#rpc(
      'getblock',
      [hash, this.#network.blockVerbosity],
      (result) => readBlock(this.#chain, this.#scripts, result, { height, hash }),
      call,
    );
  }

  #raw(hash: string, call: Call): Promise<Answered<BlockBody>> {
    return this.#rpc('getblock', [hash, false], (result) => readRawBlock(this.#scripts, result, hash), call);
  }

  /**
   * For nodes that list only ids (Dogecoin Core before 1.14.6): requests each transaction separately, which requires a transaction
   * index.
   */
  async #oneByOne(height: number, hash: string, call: Call): Promise<Answered<BlockBody>> {
    const listed = await this.#rpc(
      'getblock',
      [hash, true],
      (result) => {
        const fields = asObject(result, 'block');
        const txids = asArray(fields.tx, 'block.tx', BLOCK_TRANSACTIONS_MAX).map((txid) =>
          asHash(txid, 'txid'),
        );
        return {
          txids,
          block: readBlock(this.#chain, this.#scripts, { ...fields, tx: [] }, { height, hash }),
        };
      },
      call,
    );
    const { txids, block } = listed.value;
    const transactions: TransactionBody[] = [];
    for (let at = 0; at < txids.length; at += ASKED_AT_ONCE)
      transactions.push(
        ...(await Promise.all(
          txids.slice(at, at + ASKED_AT_ONCE).map((txid) => this.transaction(txid, call)),
        )),
      );
    return { endpoint: listed.endpoint, value: { ...block, transactions } };
  }
}

/** The requests to a node over the REST interface of Bitcoin Core. */
class RestNode implements NodeRequests {
  readonly #chain: ChainId;
  readonly #pool: EndpointPool;
  readonly #scripts: ScriptReader;

  constructor({ chain, pool, scripts }: NodeContext) {
    this.#chain = chain;
    this.#pool = pool;
    this.#scripts = scripts;
  }

  head(call: Call) {
    return this.#get('chaininfo.json', (answer) => readChainInfo(answer.json()), call);
  }

  hashAt(height: number, call: Call): Promise<Answered<string | null>> {
    return this.#get(
      `blockhashbyheight/${height}.json`,
      (answer) =>
        answer.status === 404 ? null : asHash(asObject(answer.json(), 'answer').blockhash, 'blockhash'),
      call,
      [404],
    );
  }

  block(height: number, hash: string, call: Call): Promise<Answered<BlockBody>> {
    return this.#get(
      `block/${hash}.json`,
      (answer) => readBlock(this.#chain, this.#scripts, answer.json(), { height, hash }),
      call,
    );
  }

  async transaction(txid: string, call: Call): Promise<TransactionBody> {
    const { value: body } = await this.#get(
      `tx/${txid}.json`,
      (answer) => readNodeTransaction(this.#chain, this.#scripts, answer.json()),
      call,
    );
    if (body.txid !== txid) throw badAnswer('txid', 'that of the request');
    return body;
  }

  #get<T>(
    path: string,
    read: EndpointRequest<T>['read'],
    call: Call,
    statuses: readonly number[] = [],
  ): Promise<Answered<T>> {
    return this.#pool.ask({ url: (spec) => endpointUrl(spec, `rest/${path}`), statuses, read }, call);
  }
}

/** Blocks of the nodes of a pool, with the spent outputs of their inputs. */
class UtxoNode implements BlockSource {
  readonly #chain: ChainId;
  readonly #clock: Clock;
  readonly #requests: NodeRequests;
  /** Time when a node last reported that it has no transaction index; null if none did. */
  #lackedIndexAt: number | null = null;

  constructor(chain: ChainId, clock: Clock, requests: NodeRequests) {
    this.#chain = chain;
    this.#clock = clock;
    this.#requests = requests;
  }

  async head(call: Call): Promise<HeadAnswer> {
    const { value, endpoint } = await this.#requests.head(call);
    return { ...value, source: endpoint.source, completeness: 'COMPLETE', note: null };
  }

  async hashAt(height: number, call: Call): Promise<string | null> {
    return (await this.#requests.hashAt(height, call)).value;
  }

  async block(height: number, call: Call): Promise<BlockAnswer> {
    const deadline = startDeadline(call, this.#clock);
    const { value: hash, endpoint } = await this.#requests.hashAt(height, call);
    if (hash === null) return { ...NO_BLOCK, source: endpoint.source };
    const { value: block, endpoint: sender } = await this.#requests.block(height, hash, deadline.rest());
    return blockAnswer(this.#chain, height, await this.#withSpent(block, deadline.rest()), sender.source);
  }

  /** Transactions that are in no block yet; undefined if the interface does not list them. */
  get unconfirmed(): Unconfirmed | undefined {
    const { pool } = this.#requests;
    if (pool === undefined) return undefined;
    return {
      ids: (call) => pool.ids(call),
      transaction: async (txid, call) => {
        try {
          const { inputs, outputs } = await this.#requests.transaction(txid, call);
          return { txid, inputs, outputs, receivedAtMs: null };
        } catch (error) {
          if (error instanceof AssayError && error.code === 'CHAIN_REFUSED') return null;
          throw error;
        }
      },
      withSources: (transaction, call) => this.#withSources(pool, transaction, call),
    };
  }

  async #withSources(
    pool: NonNullable<NodeRequests['pool']>,
    transaction: UnconfirmedTransaction,
    call: Call,
  ): Promise<UnconfirmedTransaction> {
    const deadline = startDeadline(call, this.#clock);
    const receivedAtMs = await pool.receivedAtMs(transaction.txid, deadline.rest());
    const body = { ...transaction, isCoinbase: false };
    const block = { hash: '', parentHash: '', timestampMs: 0, transactions: [body] };
    const [filled] = (await this.#withSpent(block, deadline.rest())).transactions;
    return { ...transaction, inputs: filled?.inputs ?? transaction.inputs, receivedAtMs };
  }

  async #spentTransaction(txid: string, call: Call): Promise<TransactionBody | null> {
    const lacksIndex =
      this.#lackedIndexAt !== null && this.#clock.monotonic() - this.#lackedIndexAt < FORGET_LACK_MS;
    if (lacksIndex) return null;
    try {
      return await this.#requests.transaction(txid, call);
    } catch (error) {
      const isLeft =
        error instanceof AssayError && (error.code === 'CHAIN_REFUSED' || error.code === 'CHAIN_TIMEOUT');
      if (!isLeft || call.signal.aborted) throw error;
      if (/txindex/i.test(error.message)) this.#lackedIndexAt = this.#clock.monotonic();
      return null;
    }
  }

  /** Fills in the addresses and values of inputs, from the block itself and then from the node. Values that no source has stay null. */
  async #withSpent(block: BlockBody, call: Call): Promise<BlockBody> {
    const known = new Map(block.transactions.map((body) => [body.txid, body]));
    const wanted = new Set<string>();
    for (const { inputs } of block.transactions)
      for (const { txid, value } of inputs) if (value === null && !known.has(txid)) wanted.add(txid);
    const deadline = startDeadline({ ...call, budgetMs: call.budgetMs * SPENT_SHARE }, this.#clock);
    const txids = [...wanted].slice(0, SPENT_ASKED_PER_BLOCK);
    for (let at = 0; at < txids.length && deadline.leftMs() > 0; at += ASKED_AT_ONCE)
      for (const body of await Promise.all(
        txids.slice(at, at + ASKED_AT_ONCE).map((txid) => this.#spentTransaction(txid, deadline.rest())),
      ))
        if (body !== null) known.set(body.txid, body);
    if (known.size === 0) return block;
    return {
      ...block,
      transactions: block.transactions.map((body) => ({
        ...body,
        inputs: body.inputs.map((input) => {
          if (input.value !== null) return input;
          const spent = known.get(input.txid)?.outputs.find(({ n }) => n === input.vout);
          return spent === undefined ? input : { ...input, address: spent.address, value: spent.value };
        }),
      })),
    };
  }
}

/** Creates a client for the nodes of a pool, over JSON-RPC or REST. */
export function createNode(
  options: { readonly chain: ChainId; readonly layout: Layout; readonly quorum: number },
  pool: EndpointPool,
  deps: { readonly clock: Clock },
): BlockSource {
  const { chain, quorum, layout } = options;
  const context = { chain, quorum, pool, clock: deps.clock, scripts: new ScriptReader(chain) };
  const requests = layout === 'rest' ? new RestNode(context) : new JsonRpcNode(context);
  return new UtxoNode(chain, deps.clock, requests);
}
