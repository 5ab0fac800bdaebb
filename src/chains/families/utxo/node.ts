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
import type { Call, HeadAnswer } from '../port.ts';
import { type BlockSource, blockAnswer, NO_BLOCK } from './block-source.ts';
import { networkOf } from './networks.ts';
import { chainIsKnownBy } from './verify.ts';
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
const UNWELL_CODES = [-28, -9, -10];
/** "Block height out of range." */
const OUT_OF_RANGE = -8;
/** Whether the node refused the format of the request, which it would refuse again, and not the requested object. */
const isOfForm = (error: RpcRefusal): boolean =>
  [-1, -3, -32602].includes(error.rpcCode) || /verbos|bool|JSON value/i.test(error.message);

/** Time after which a node without a transaction index is asked again: it may be building the index. */
const FORGET_LACK_MS = 600_000;
/** Maximum number of transactions to request per block for the spent outputs: a full block of Litecoin or Dogecoin needs fewer. */
const SPENT_ASKED_PER_BLOCK = 4_000;
/** Number of parallel requests: well below the queue of an endpoint, so that other requests get their turn. */
const ASKED_AT_ONCE = 32;
/** Share of the remaining budget that spent outputs may use: the block itself must be returned in time. */
const SPENT_SHARE = 0.8;

type Layout = 'json-rpc' | 'rest';

type AskBlock = (height: number, hash: string, call: Call) => Promise<Answered<BlockBody>>;

interface NodeQuestions {
  head(call: Call): Promise<Answered<{ height: number; hash: string; timestampMs: number | null }>>;
  hashAt(height: number, call: Call): Promise<Answered<string | null>>;
  readonly block: AskBlock;
  /** Throws CHAIN_REFUSED if the node does not have the transaction. */
  transaction(txid: string, call: Call): Promise<TransactionBody>;
}

/** Parses the JSON of a block with whole transactions. */
function readBlock(
  chain: ChainId,
  scripts: ScriptReader,
  value: Json,
  asked: { readonly height: number; readonly hash: string },
): BlockBody {
  const fields = asObject(value, 'block');
  const hash = asHash(fields.hash, 'block.hash');
  const height = asCount(fields.height, 'block.height');
  if (hash !== asked.hash || height !== asked.height)
    throw badAnswer('block', `the ${asked.height} that was asked for`);
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
        chainIsKnownBy(chain, { genesis: null, atMark: hash }, spec);
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
        if (row === undefined) throw badAnswer('id', 'that of the question');
        if (row.error === undefined || row.error === null) return asHash(row.result, 'result');
        const { code, message } = asObject(row.error, 'error');
        if (code === OUT_OF_RANGE || code === -1) return null;
        throw new AssayError(
          'CHAIN_UNREACHABLE',
          `${spec.source} is not ready: ${String(message).slice(0, 200)} (${String(code)}).`,
        );
      };
      const genesis = hashOf(1);
      if (genesis === null) throw badAnswer('result', 'the hash of the first block');
      chainIsKnownBy(chain, { genesis, atMark: hashOf(2) }, spec);
    },
  };
}

/** Creates a client for the nodes of a pool, over JSON-RPC or REST. */
export function createNode(
  options: { readonly chain: ChainId; readonly layout: Layout; readonly quorum: number },
  pool: EndpointPool,
  deps: { readonly clock: Clock },
): BlockSource {
  const { chain, layout, quorum } = options;
  const { clock } = deps;
  const network = networkOf(chain);
  const scripts = new ScriptReader(chain);

  // --- JSON-RPC ---

  const rpc = <T>(
    method: string,
    params: Json,
    read: RpcOptions<T>['read'],
    call: Call,
    agreeing = 1,
  ): Promise<Answered<T>> =>
    pool.askAgreeing(
      agreeing,
      rpcRequest({ method, params, version: '1.0', unwellCodes: UNWELL_CODES, read }),
      call,
    );

  /** Formats of `getblock` that every endpoint refused, with the time of the refusal. */
  const refusedForms = new Map<string, number>();
  const isRefused = (form: string): boolean =>
    clock.monotonic() - (refusedForms.get(form) ?? Number.NEGATIVE_INFINITY) < FORGET_LACK_MS;

  const whole: AskBlock = (height, hash, call) =>
    rpc(
      'getblock',
      [hash, network.blockVerbosity],
      (result) => readBlock(chain, scripts, result, { height, hash }),
      call,
    );
  const raw: AskBlock = (_, hash, call) =>
    rpc('getblock', [hash, false], (result) => readRawBlock(scripts, result, hash), call);
  const forms: readonly (readonly [name: string, ask: AskBlock])[] = [
    ['whole', whole],
    network.hasBitcoinBlocks ? ['raw', raw] : ['one by one', oneByOne],
  ];

  /**
   * For nodes that list only ids (Dogecoin Core before 1.14.6): requests each transaction separately, which requires a transaction
   * index.
   */
  async function oneByOne(height: number, hash: string, call: Call): Promise<Answered<BlockBody>> {
    const listed = await rpc(
      'getblock',
      [hash, true],
      (result) => {
        const fields = asObject(result, 'block');
        const txids = asArray(fields.tx, 'block.tx', BLOCK_TRANSACTIONS_MAX).map((txid) =>
          asHash(txid, 'txid'),
        );
        return { txids, block: readBlock(chain, scripts, { ...fields, tx: [] }, { height, hash }) };
      },
      call,
    );
    const { txids, block } = listed.value;
    const transactions: TransactionBody[] = [];
    for (let at = 0; at < txids.length; at += ASKED_AT_ONCE)
      transactions.push(
        ...(await Promise.all(
          txids.slice(at, at + ASKED_AT_ONCE).map((txid) => questions.transaction(txid, call)),
        )),
      );
    return { endpoint: listed.endpoint, value: { ...block, transactions } };
  }

  const jsonRpc: NodeQuestions = {
    head: (call) => rpc('getblockchaininfo', [], readChainInfo, call),
    async hashAt(height, call) {
      try {
        return await rpc('getblockhash', [height], (result) => asHash(result, 'result'), call, quorum);
      } catch (error) {
        if (!(error instanceof RpcRefusal) || error.rpcCode !== OUT_OF_RANGE) throw error;
        const [endpoint] = pool.endpoints;
        if (endpoint === undefined) throw error;
        return { value: null, endpoint };
      }
    },
    async block(height, hash, call) {
      let refusal: RpcRefusal | null = null;
      const fresh = forms.filter(([name]) => !isRefused(name));
      for (const [name, ask] of fresh.length === 0 ? forms : fresh)
        try {
          return await ask(height, hash, call);
        } catch (error) {
          if (!(error instanceof RpcRefusal) || !isOfForm(error)) throw error;
          refusedForms.set(name, clock.monotonic());
          refusal = error;
        }
      throw refusal ?? new AssayError('CHAIN_REFUSED', `No node of ${chain} gives out blocks.`);
    },
    async transaction(txid, call) {
      const isRaw = network.hasBitcoinTransactions;
      const read = (result: Json): TransactionBody => {
        if (isRaw) return readRawTransaction(scripts, result, txid);
        const body = readNodeTransaction(chain, scripts, result);
        if (body.txid !== txid) throw badAnswer('txid', 'that of the question');
        return body;
      };
      // Core accepts a number or a boolean; Zcash and Dogecoin accept only a number.
      return (await rpc('getrawtransaction', isRaw ? [txid] : [txid, 1], read, call)).value;
    },
  };

  // --- REST ---

  const get = <T>(
    path: string,
    read: EndpointRequest<T>['read'],
    call: Call,
    statuses: readonly number[] = [],
  ): Promise<Answered<T>> =>
    pool.ask({ url: (spec) => endpointUrl(spec, `rest/${path}`), statuses, read }, call);

  const rest: NodeQuestions = {
    head: (call) => get('chaininfo.json', (answer) => readChainInfo(answer.json()), call),
    hashAt: (height, call) =>
      get(
        `blockhashbyheight/${height}.json`,
        (answer) =>
          answer.status === 404 ? null : asHash(asObject(answer.json(), 'answer').blockhash, 'blockhash'),
        call,
        [404],
      ),
    block: (height, hash, call) =>
      get(`block/${hash}.json`, (answer) => readBlock(chain, scripts, answer.json(), { height, hash }), call),
    async transaction(txid, call) {
      const body = await get(
        `tx/${txid}.json`,
        (answer) => readNodeTransaction(chain, scripts, answer.json()),
        call,
      );
      if (body.value.txid !== txid) throw badAnswer('txid', 'that of the question');
      return body.value;
    },
  };

  const questions = layout === 'rest' ? rest : jsonRpc;

  // --- spent outputs ---

  /** Time when a node last reported that it has no transaction index; null if none did. */
  let lackedIndexAt: number | null = null;

  async function spentTransaction(txid: string, call: Call): Promise<TransactionBody | null> {
    const lacksIndex = lackedIndexAt !== null && clock.monotonic() - lackedIndexAt < FORGET_LACK_MS;
    if (lacksIndex) return null;
    try {
      return await questions.transaction(txid, call);
    } catch (error) {
      const isLeft =
        error instanceof AssayError && (error.code === 'CHAIN_REFUSED' || error.code === 'CHAIN_TIMEOUT');
      if (!isLeft || call.signal.aborted) throw error;
      if (/txindex/i.test(error.message)) lackedIndexAt = clock.monotonic();
      return null;
    }
  }

  /** Fills in the addresses and values of inputs, from the block itself and then from the node. Values that no source has stay null. */
  async function withSpent(block: BlockBody, call: Call): Promise<BlockBody> {
    const known = new Map(block.transactions.map((body) => [body.txid, body]));
    const wanted = new Set<string>();
    for (const { inputs } of block.transactions)
      for (const { txid, value } of inputs) if (value === null && !known.has(txid)) wanted.add(txid);
    const deadline = startDeadline({ ...call, budgetMs: call.budgetMs * SPENT_SHARE }, clock);
    const asked = [...wanted].slice(0, SPENT_ASKED_PER_BLOCK);
    for (let at = 0; at < asked.length && deadline.leftMs() > 0; at += ASKED_AT_ONCE)
      for (const body of await Promise.all(
        asked.slice(at, at + ASKED_AT_ONCE).map((txid) => spentTransaction(txid, deadline.rest())),
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

  return {
    async head(call): Promise<HeadAnswer> {
      const { value, endpoint } = await questions.head(call);
      return { ...value, source: endpoint.source, completeness: 'COMPLETE', note: null };
    },
    hashAt: async (height, call) => (await questions.hashAt(height, call)).value,
    async block(height, call) {
      const deadline = startDeadline(call, clock);
      const { value: hash, endpoint } = await questions.hashAt(height, call);
      if (hash === null) return { ...NO_BLOCK, source: endpoint.source };
      const { value: block, endpoint: sender } = await questions.block(height, hash, deadline.rest());
      return blockAnswer(chain, height, await withSpent(block, deadline.rest()), sender.source);
    },
  };
}
