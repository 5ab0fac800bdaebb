/**
 * Solana over the JSON-RPC of a node (solana.com/docs/rpc): parsed transactions (transaction.ts), and blocks by slot. A slot without a block
 * (its leader produced none) is returned as an empty block with the hash of the block below it, so that the slots form a chain without gaps.
 * The WebSocket of a node answers no requests: it announces new slots, and the transactions of subscribed addresses through their logs.
 */
import { PublicKey } from '@solana/web3.js';
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asSecondsMs,
  badAnswer,
  type Json,
} from '../../endpoints/exact-json.ts';
import { RpcRefusal, rpcCall, rpcRequest } from '../../endpoints/json-rpc.ts';
import type { Subscription } from '../../endpoints/json-rpc-socket.ts';
import {
  asPattern,
  type ChainReader,
  type HistoryRow,
  openAccountChain,
  type RowsPage,
  type RowsQuery,
  type Sourced,
} from '../account-chain.ts';
import type { Call, OpenAdapter } from '../port.ts';
import { asSignature, readTransaction } from './transaction.ts';

const LAYOUTS = ['json-rpc'] as const;
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
/** Voted for by two thirds of the stake: no such block has been reverted so far, and it is available 12 s before finality. */
const COMMITMENT = 'confirmed';
/**
 * A node refuses a whole block because of one transaction with a higher version. Version 1 (SIMD-0385) occurs in most blocks since
 * September 2026; in parsed form it looks like the other versions.
 */
const TRANSACTION_VERSION_MAX = 1;
/** The slot was skipped, or is missing in long-term storage for good. */
const SKIPPED: ReadonlySet<number> = new Set([-32007, -32009]);
/** The block is not available yet, or its status is not. */
const NOT_YET: ReadonlySet<number> = new Set([-32004, -32014]);
/** The node is behind the cluster. */
const UNAVAILABLE_CODES = [-32005, -32016];
/** Number of slots to search for the block below a skipped slot: the longest run of missed slots so far had some dozens. */
const LOOK_BACK_SLOTS = 400;
const BLOCK_TRANSACTIONS_MAX = 100_000;
/** Each row costs one request: public servers answer a few per second. */
const ROWS_PUBLIC = 8;
const ROWS_OWN = 50;
const ROWS_AT_ONCE = 8;
const NOT_LISTED =
  'Tokens received in token accounts of the address are missing if the transaction does not name the address: the node does not list it.';

const NOT_PARSED =
  'Some instructions of the token programs are missing because the node cannot parse them, or programs moved SOL between several accounts directly, and it is not known who paid whom.';

const SLOTS: Subscription = { subscribe: 'slotSubscribe', unsubscribe: 'slotUnsubscribe', params: [] };

/** Subscribes to the logs of transactions that name an address, including failed transactions, which also paid a fee. */
const logsOf = (address: string): Subscription => ({
  subscribe: 'logsSubscribe',
  unsubscribe: 'logsUnsubscribe',
  params: [{ mentions: [new PublicKey(address).toBase58()] }, { commitment: COMMITMENT }],
});

const asBlockhash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/, field);

const verify = rpcRequest<void>({
  method: 'getGenesisHash',
  params: [],
  layouts: LAYOUTS,
  read(result) {
    const found = asBlockhash(result, 'genesis hash');
    if (found !== GENESIS)
      throw new AssayError(
        'CHAIN_MISMATCH',
        `An endpoint of SOL serves the cluster that begins with ${found}.`,
      );
  },
});

interface WireBlock {
  readonly hash: string;
  readonly parentHash: string;
  readonly parentSlot: number;
  readonly timestampMs: number;
  readonly transactions: readonly Json[];
}

function readBlock(result: Json): WireBlock | null {
  if (result === null) return null;
  const block = asObject(result, 'block');
  return {
    hash: asBlockhash(block.blockhash, 'blockhash'),
    parentHash: asBlockhash(block.previousBlockhash, 'previousBlockhash'),
    parentSlot: asCount(block.parentSlot, 'parentSlot'),
    timestampMs: block.blockTime === null ? 0 : asSecondsMs(block.blockTime, 'blockTime'),
    transactions: asArray(block.transactions ?? [], 'transactions', BLOCK_TRANSACTIONS_MAX),
  };
}

interface Signature {
  readonly signature: string;
  readonly slot: number;
  readonly failed: boolean;
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class SolanaReader implements ChainReader {
  readonly #pool: EndpointPool;

  readonly #isOwn: boolean;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
    this.#isOwn = pool.endpoints.every(({ own }) => own);
  }

  async #rpc<T>(method: string, params: Json, read: (result: Json) => T, call: Call): Promise<Sourced<T>> {
    const options = { method, params, layouts: LAYOUTS, unavailableCodes: UNAVAILABLE_CODES, read };
    const { value, endpoint } = await rpcCall(this.#pool, options, call);
    return { value, source: endpoint.source, height: null };
  }

  /** Returns the block of a slot: `skipped` if it will never have one, null if it has none yet. */
  async #slotAt(
    slot: number,
    content: 'full' | 'none',
    call: Call,
  ): Promise<Sourced<WireBlock | 'skipped' | null>> {
    const params = [
      slot,
      {
        encoding: 'jsonParsed',
        transactionDetails: content,
        rewards: false,
        commitment: COMMITMENT,
        maxSupportedTransactionVersion: TRANSACTION_VERSION_MAX,
      },
    ];
    try {
      return await this.#rpc('getBlock', params, readBlock, call);
    } catch (error) {
      if (!(error instanceof RpcRefusal)) throw error;
      const source = error.message.split(' refused ')[0] ?? '';
      if (SKIPPED.has(error.rpcCode)) return { value: 'skipped', source, height: null };
      if (NOT_YET.has(error.rpcCode)) return { value: null, source, height: null };
      throw error;
    }
  }

  /** Returns the newest slot at or below `slot` that has a block. */
  async #filledSlot(slot: number, call: Call): Promise<number> {
    const from = Math.max(0, slot - LOOK_BACK_SLOTS);
    const { value } = await this.#rpc(
      'getBlocks',
      [from, slot, { commitment: COMMITMENT }],
      (result) => asArray(result, 'slots', LOOK_BACK_SLOTS + 1).map((each) => asCount(each, 'slot')),
      call,
    );
    const newest = value.at(-1);
    if (newest === undefined || newest > slot || newest < from)
      throw badAnswer('slots', `with one up to ${slot}`);
    return newest;
  }

  async head(call: Call) {
    const { value: slot } = await this.#rpc(
      'getSlot',
      [{ commitment: COMMITMENT }],
      (result) => asCount(result, 'slot'),
      call,
    );
    const height = await this.#filledSlot(slot, call);
    const { value: block, source } = await this.#slotAt(height, 'none', call);
    if (block === null || block === 'skipped') throw badAnswer('block', 'present');
    return { source, height, value: { height, hash: block.hash, timestampMs: block.timestampMs } };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const sourced = await this.#slotAt(height, 'full', call);
    const { source } = sourced;
    if (sourced.value === null) return { value: null, source, height: null };
    if (sourced.value === 'skipped') {
      const below = await this.#slotAt(await this.#filledSlot(height, call), 'none', call);
      if (below.value === null || below.value === 'skipped') throw badAnswer('block', 'present');
      const { hash, timestampMs } = below.value;
      return {
        source,
        height,
        value: { chain: 'SOL', height, hash, parentHash: hash, timestampMs, transfers: [] },
      };
    }
    const { hash, parentHash, timestampMs, transactions } = sourced.value;
    const rows = transactions.map((value) =>
      readTransaction(asObject(value, 'transaction'), { blockNumber: height, timestampMs }),
    );
    const transfers = rows.flatMap((row) => row.transfers);
    return {
      source,
      height,
      ...(rows.every(({ isWhole }) => isWhole) ? {} : { note: NOT_PARSED }),
      value: {
        chain: 'SOL',
        height,
        hash,
        parentHash: height === 0 ? null : parentHash,
        timestampMs,
        transfers,
      },
    };
  }

  async #rowOf({ signature, slot, failed }: Signature, call: Call): Promise<HistoryRow> {
    if (failed) return { height: slot, transfers: [] };
    const options = {
      encoding: 'jsonParsed',
      commitment: COMMITMENT,
      maxSupportedTransactionVersion: TRANSACTION_VERSION_MAX,
    };
    const { value } = await this.#rpc(
      'getTransaction',
      [signature, options],
      (result) => {
        // A different node behind the same host name may not have it yet.
        if (result === null)
          throw new AssayError('CHAIN_REFUSED', `The node does not have the transaction ${signature}.`);
        const fields = asObject(result, 'transaction');
        if (asCount(fields.slot, 'slot') !== slot) throw badAnswer('slot', 'that of the list');
        const timestampMs =
          fields.blockTime === null || fields.blockTime === undefined
            ? 0
            : asSecondsMs(fields.blockTime, 'blockTime');
        return readTransaction(fields, { blockNumber: slot, timestampMs });
      },
      call,
    );
    return value;
  }

  async balance(address: string, call: Call) {
    const sourced = await this.#rpc(
      'getBalance',
      [address, { commitment: COMMITMENT }],
      (result) => {
        const { context, value } = asObject(result, 'result');
        return {
          balance: asAmount(value, 'value'),
          slot: asCount(asObject(context, 'context').slot, 'slot'),
        };
      },
      call,
    );
    return { ...sourced, value: sourced.value.balance, height: sourced.value.slot };
  }

  readonly transactionCount = null;

  async rows(address: string, { cursor, size, from }: RowsQuery, call: Call): Promise<Sourced<RowsPage>> {
    if (cursor !== null && !/^[1-9A-HJ-NP-Za-km-z]{80,90}$/.test(cursor)) throw invalidCursor();
    const limit = Math.min(size, this.#isOwn ? ROWS_OWN : ROWS_PUBLIC);
    const sourced = await this.#rpc(
      'getSignaturesForAddress',
      [address, { limit, commitment: COMMITMENT, ...(cursor === null ? {} : { before: cursor }) }],
      (result) =>
        asArray(result, 'signatures', limit).map((value): Signature => {
          const row = asObject(value, 'signature');
          return {
            signature: asSignature(row.signature),
            slot: asCount(row.slot, 'slot'),
            failed: row.err !== null && row.err !== undefined,
          };
        }),
      call,
    );
    const wanted = sourced.value.filter(({ slot }) => from === null || slot >= from);
    const rows: HistoryRow[] = [];
    for (let at = 0; at < wanted.length; at += ROWS_AT_ONCE)
      rows.push(
        ...(await Promise.all(wanted.slice(at, at + ROWS_AT_ONCE).map((row) => this.#rowOf(row, call)))),
      );
    const isEnd = sourced.value.length < limit || wanted.length < sourced.value.length;
    const next = isEnd ? null : (sourced.value.at(-1)?.signature ?? null);
    return { ...sourced, note: NOT_LISTED, value: { rows, next } };
  }

  async hashAt(height: number, call: Call) {
    const { value } = await this.#slotAt(height, 'none', call);
    if (value === 'skipped') return (await this.block(height, call)).value?.hash ?? null;
    return value?.hash ?? null;
  }

  // Slots are announced before they are confirmed, so a notification means that it is time to poll, and its slot number is not used.
  onNudge(nudge: () => void) {
    return this.#pool.listen(SLOTS, { onStart: () => nudge(), onNotification: () => nudge() });
  }

  /**
   * Announces transactions that name the address. Those from before the subscription, or from a gap in the connection, may be missed.
   */
  onActivity(address: string, onActivity: () => void) {
    return this.#pool.listen(logsOf(address), {
      onStart: onActivity,
      // The content does not matter: the history is read again and is the source of truth.
      onNotification: onActivity,
    });
  }
}

/** Opens the adapter of Solana. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LAYOUTS, count: [], history: LAYOUTS, block: LAYOUTS },
      verify,
      pollPublicMs: 2_000,
      socketsOnlyNotify: true,
      reader: (pool) => new SolanaReader(pool),
    },
    options,
    deps,
  );
