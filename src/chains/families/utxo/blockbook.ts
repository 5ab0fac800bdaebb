/**
 * The HTTP API v2 of Blockbook (github.com/trezor/blockbook, docs/api.md). Histories are read in windows of heights, downwards. A block
 * is delivered only when all transactions of the address in it are known; the cursor is therefore a height, and it only decreases.
 */
import type { Clock } from '../../../base/clock.ts';
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { ParsedAddress } from '../../address/address.ts';
import { ScriptReader } from '../../bitcoin-script.ts';
import { startDeadline } from '../../endpoints/deadline.ts';
import type { Answered, EndpointPool, EndpointRequest } from '../../endpoints/endpoint-pool.ts';
import { endpointUrl } from '../../endpoints/endpoints.ts';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asSecondsMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import type { ChainId } from '../../registry.ts';
import type { UtxoInput, UtxoTransaction } from '../../utxo-transaction.ts';
import type {
  BalanceAnswer,
  BlockAnswer,
  Call,
  HeadAnswer,
  HistoryPage,
  HistoryQuery,
  Provenance,
  TransactionCountAnswer,
} from '../port.ts';
import { type AccountSource, HEIGHT_MAX, heightOf, historyPage } from './account-source.ts';
import { type BlockSource, blockAnswer, NO_BLOCK } from './block-source.ts';
import { networkOf } from './networks.ts';
import { verifyChainOf } from './verify.ts';
import {
  asAddress,
  asBytes,
  asHash,
  asIndex,
  BLOCK_TRANSACTIONS_MAX,
  readNodeTransaction,
  type TransactionBody,
} from './wire.ts';

/** Minimum and maximum number of transactions per request: small pages cost as much as large ones, and the API allows 1,000. */
const PAGE_ROWS_MIN = 25;
const PAGE_ROWS_MAX = 500;
/** Maximum number of pages of a block's own list; below, of a block that exceeds one page of a history. */
const PAGES_MAX = 20_000;
const PAGES_OF_HEIGHT_MAX = 20;
const PLACES_MAX = 500_000;
const ASKED_AT_ONCE = 32;

/**
 * Maximum fee of a Zcash transaction in satoshi. A larger difference between inputs and outputs, or a negative one, goes to or comes
 * from a shielded pool, and the node's own format has the amount. Fees are 0.00005 per logical action (ZIP 317).
 */
const ZEC_FEE_MAX = 100_000n;

interface Placed extends TransactionBody {
  readonly height: number;
  readonly timestampMs: number;
}

/** Returns the error in a Blockbook response, `{"error": "…"}` with status 400 for invalid requests; null if it has none. */
function refusal(value: Json, source: string): AssayError | null {
  const error =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject).error
      : undefined;
  if (error === undefined) return null;
  const text = typeof error === 'string' ? error : JSON.stringify(error);
  return new AssayError('CHAIN_REFUSED', `${source} refused: ${text.slice(0, 200)}.`);
}

/** Verifies that a Blockbook server serves the chain, by the hash of a block that no other chain has. */
export function verifyBlockbook(chain: ChainId): EndpointRequest<void> {
  return {
    url: (spec) => endpointUrl(spec, `api/v2/block-index/${networkOf(chain).mark.height}`),
    statuses: [400, 404],
    read(answer, spec) {
      const { blockHash, error } = asObject(answer.json(), 'answer');
      const isMissing = error !== undefined || blockHash === '';
      verifyChainOf(
        chain,
        { genesis: null, atMark: isMissing ? null : asHash(blockHash, 'blockHash') },
        spec,
      );
    },
  };
}

/** A client for the Blockbook servers of a pool. */
class Blockbook implements BlockSource, AccountSource {
  readonly #chain: ChainId;
  readonly #pool: EndpointPool;
  readonly #clock: Clock;

  readonly #scripts: ScriptReader;

  constructor(chain: ChainId, pool: EndpointPool, deps: { readonly clock: Clock }) {
    this.#chain = chain;
    this.#pool = pool;
    const { clock } = deps;
    this.#clock = clock;
    this.#scripts = new ScriptReader(chain);
  }

  #get<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    read: (value: JsonObject) => T,
    call: Call,
  ): Promise<Answered<T>> {
    return this.#pool.ask(
      {
        url: (spec) => endpointUrl(spec, `api/v2${path}`, query),
        statuses: [400],
        read(answer, { source }) {
          const value = answer.json();
          const refused = refusal(value, source);
          if (refused !== null) throw refused;
          if (answer.status !== 200) throw badAnswer('error', 'present');
          return read(asObject(value, 'answer'));
        },
      },
      call,
    );
  }

  // --- transactions ---

  /** Returns the single address of an input; null if its output pays to none. */
  #addressOf(fields: JsonObject): string | null {
    if (fields.isAddress !== true) return null;
    const addresses = asArray(fields.addresses ?? [], 'addresses', 64);
    return addresses.length === 1 ? asAddress(this.#chain, addresses[0], 'addresses[0]') : null;
  }

  #readInput(fields: JsonObject): UtxoInput {
    // The server omits a zero.
    const spent = { txid: asHash(fields.txid, 'vin.txid'), vout: asIndex(fields.vout ?? 0, 'vin.vout') };
    if (fields.value === undefined || fields.value === null) return { ...spent, address: null, value: null };
    return { ...spent, address: this.#addressOf(fields), value: asAmount(fields.value, 'vin.value') };
  }

  #readBody(fields: JsonObject): TransactionBody {
    const inputs = asArray(fields.vin ?? [], 'vin', PLACES_MAX).map((row) => asObject(row, 'vin'));
    const [first] = inputs;
    const isCoinbase = first !== undefined && first.txid === undefined;
    return {
      txid: asHash(fields.txid, 'txid'),
      isCoinbase,
      inputs: isCoinbase ? [] : inputs.map((fields) => this.#readInput(fields)),
      outputs: asArray(fields.vout ?? [], 'vout', PLACES_MAX).map((row) => {
        const output = asObject(row, 'vout');
        const { kind, address } = this.#scripts.read(asBytes(output.hex ?? '', 'vout.hex'));
        return {
          n: asIndex(output.n, 'vout.n'),
          address,
          value: asAmount(output.value ?? 0, 'vout.value'),
          script: kind,
        };
      }),
    };
  }

  /** Returns null for a transaction that is not in a block yet. */
  #readPlaced(value: Json): Placed | null {
    const fields = asObject(value, 'transaction');
    if (fields.blockHeight === undefined || fields.blockHeight === -1 || fields.confirmations === 0)
      return null;
    return {
      ...this.#readBody(fields),
      height: asCount(fields.blockHeight, 'blockHeight'),
      timestampMs: asSecondsMs(fields.blockTime, 'blockTime'),
    };
  }

  #sumOf(rows: readonly { readonly value: bigint | null }[]): bigint {
    return rows.reduce((sum, { value }) => sum + (value ?? 0n), 0n);
  }

  /** Adds the value that entered or left pools, which the API's own format omits (Zcash shielded pools, Dash credit pool). */
  async #withPools<Body extends TransactionBody>(body: Body, call: Call): Promise<Body> {
    if (this.#chain !== 'ZEC' && this.#chain !== 'DASH') return body;
    const rest = this.#sumOf(body.inputs) - this.#sumOf(body.outputs);
    const isPlain =
      this.#chain === 'ZEC' ? rest >= 0n && rest <= ZEC_FEE_MAX && body.inputs.length > 0 : rest >= 0n;
    // A coinbase has no inputs to compare with; only Zcash coinbases may pay into a pool, and that is not a transfer between addresses.
    if (isPlain || body.isCoinbase) return body;
    const { value } = await this.#get(
      `/tx-specific/${body.txid}`,
      {},
      (fields) => readNodeTransaction(this.#chain, this.#scripts, fields),
      call,
    );
    if (value.txid !== body.txid) throw badAnswer('txid', 'that of the request');
    return value.shielded === undefined ? body : { ...body, shielded: value.shielded };
  }

  async #inTurns<In, Out>(rows: readonly In[], work: (row: In) => Promise<Out>): Promise<Out[]> {
    const done: Out[] = [];
    for (let at = 0; at < rows.length; at += ASKED_AT_ONCE)
      done.push(...(await Promise.all(rows.slice(at, at + ASKED_AT_ONCE).map(work))));
    return done;
  }

  // --- blocks ---

  #bestHeight(call: Call): Promise<Answered<number>> {
    return this.#get(
      '',
      {},
      (fields) => asCount(asObject(fields.blockbook, 'blockbook').bestHeight, 'blockbook.bestHeight'),
      call,
    );
  }

  #hashOf(height: number, call: Call): Promise<Answered<string>> {
    return this.#get(`/block-index/${height}`, {}, (fields) => asHash(fields.blockHash, 'blockHash'), call);
  }

  /** Requests the best height first, because the API reports a height above it as a generic error. */
  async #hashAt(height: number, call: Call): Promise<Answered<string | null>> {
    const deadline = startDeadline(call, this.#clock);
    const best = await this.#bestHeight(call);
    return height > best.value
      ? { value: null, endpoint: best.endpoint }
      : this.#hashOf(height, deadline.rest());
  }

  async #blockTxids(hash: string, height: number, call: Call) {
    const txids: string[] = [];
    for (let page = 1; page <= PAGES_MAX; page++) {
      const { value } = await this.#get(
        `/block/${hash}`,
        { page: String(page) },
        (fields) => {
          if (asHash(fields.hash, 'block.hash') !== hash || asCount(fields.height, 'block.height') !== height)
            throw badAnswer('block', `the requested ${height}`);
          return {
            parentHash: height === 0 ? '' : asHash(fields.previousBlockHash, 'block.previousBlockHash'),
            timestampMs: asSecondsMs(fields.time, 'block.time'),
            count: asCount(fields.txCount, 'block.txCount'),
            txids: asArray(fields.txs, 'block.txs', BLOCK_TRANSACTIONS_MAX).map((row) =>
              asHash(asObject(row, 'block.txs').txid, 'block.txs.txid'),
            ),
          };
        },
        call,
      );
      txids.push(...value.txids);
      if (txids.length === value.count) return { ...value, txids };
      if (value.txids.length === 0 || txids.length > value.count)
        throw badAnswer('block.txs', `all ${value.count} of the block`);
    }
    throw badAnswer('block.txs', `at most ${PAGES_MAX} pages`);
  }

  /** The block's list omits the spent outputs of inputs, so each transaction is requested separately. */
  async #placedAt(txid: string, height: number, call: Call): Promise<TransactionBody> {
    const { value } = await this.#get(`/tx/${txid}`, {}, (value) => this.#readPlaced(value), call);
    if (value === null || value.height !== height || value.txid !== txid)
      throw new AssayError('CHAIN_REFUSED', `Block ${height} was replaced while it was read.`);
    const { height: _, timestampMs: __, ...body } = await this.#withPools(value, call);
    return body;
  }

  // --- addresses ---

  /** Reads the fields of an address, with the tip height if the same endpoint returned both. */
  async #account(
    { canonical }: ParsedAddress,
    call: Call,
  ): Promise<Provenance & { readonly fields: JsonObject }> {
    const best = this.#bestHeight(call);
    best.catch(() => {});
    const { value: fields, endpoint } = await this.#get(
      `/address/${encodeURIComponent(canonical)}`,
      { details: 'basic' },
      (answer) => {
        asAmount(answer.balance, 'balance');
        asCount(answer.txs, 'txs');
        return answer;
      },
      call,
    );
    const height = await heightOf(best, endpoint.source);
    call.signal.throwIfAborted();
    return { fields, source: endpoint.source, height, completeness: 'COMPLETE', note: null };
  }

  #pageOf(
    { canonical }: ParsedAddress,
    range: { readonly from: number; readonly to: number; readonly page: number; readonly size: number },
    call: Call,
  ) {
    return this.#get(
      `/address/${encodeURIComponent(canonical)}`,
      {
        details: 'txs',
        page: String(range.page),
        pageSize: String(range.size),
        from: String(range.from),
        to: String(range.to),
      },
      (fields) => {
        const rows = asArray(fields.transactions ?? [], 'transactions', PAGE_ROWS_MAX * 2);
        const placed = rows.map((value) => this.#readPlaced(value)).filter((row) => row !== null);
        for (const [index, { height }] of placed.entries()) {
          const above = placed[index - 1];
          if (height < range.from || height > range.to || (above !== undefined && above.height < height))
            throw badAnswer('blockHeight', 'inside the range and newest first');
        }
        const size =
          fields.itemsOnPage === undefined ? range.size : asCount(fields.itemsOnPage, 'itemsOnPage');
        const page = fields.page === undefined ? range.page : asCount(fields.page, 'page');
        return { placed, isFull: rows.length > 0 && rows.length >= size, page };
      },
      call,
    );
  }

  /** Returns all transactions of an address in one block. Past the last page, the API returns the last one again. */
  async #placedInBlock(address: ParsedAddress, height: number, call: Call): Promise<Placed[]> {
    const found = new Map<string, Placed>();
    for (let page = 1; page <= PAGES_OF_HEIGHT_MAX; page++) {
      const { value } = await this.#pageOf(
        address,
        { from: height, to: height, page, size: PAGE_ROWS_MAX },
        call,
      );
      const before = found.size;
      for (const row of value.placed) found.set(row.txid, row);
      if (!value.isFull || value.page !== page || found.size === before) return [...found.values()];
    }
    throw new AssayError(
      'CHAIN_REFUSED',
      `Block ${height} holds more than ${PAGES_OF_HEIGHT_MAX * PAGE_ROWS_MAX} transactions of ${address.canonical}, more than can be read.`,
    );
  }

  #readCursor(text: string | null): number {
    if (text === null) return HEIGHT_MAX;
    const height = /^h\d{1,10}$/.test(text) ? Number(text.slice(1)) : Number.NaN;
    if (!Number.isSafeInteger(height) || height > HEIGHT_MAX) throw invalidCursor();
    return height;
  }

  async history(address: ParsedAddress, query: HistoryQuery, call: Call): Promise<HistoryPage> {
    const deadline = startDeadline(call, this.#clock);
    const to = Math.min(this.#readCursor(query.cursor), query.to ?? HEIGHT_MAX);
    // The API treats 0 as no bound, and the outputs of block 0 are not spendable.
    const from = Math.max(query.from ?? 0, 1);
    if (to < from) return historyPage(this.#pool.endpoints[0]?.source ?? null, [], null);
    const size = Math.min(PAGE_ROWS_MAX, Math.max(PAGE_ROWS_MIN, query.limit));
    const { value, endpoint } = await this.#pageOf(address, { from, to, page: 1, size }, call);
    const lowest = value.placed.at(-1)?.height;
    // The last block of a full page may continue on the next page.
    let floor = value.isFull && lowest !== undefined ? lowest : -1;
    let placed = value.placed.filter(({ height }) => height > floor);
    if (floor >= 0 && placed.length === 0) {
      placed = await this.#placedInBlock(address, floor, deadline.rest());
      floor -= 1;
    }
    const cut = cutAtBlock(placed, query.limit);
    const next = cut === null ? floor : cut.next;
    const kept = await this.#inTurns(cut === null ? placed : cut.rows, (row) =>
      this.#withPools(row, deadline.rest()),
    );
    const transactions = kept.map(
      // The API does not include the index of a transaction in its block.
      ({ height, ...body }): UtxoTransaction => ({
        chain: this.#chain,
        ...body,
        blockNumber: height,
        indexInBlock: 0,
      }),
    );
    return historyPage(endpoint.source, transactions, next < from ? null : `h${next}`);
  }

  async head(call: Call): Promise<HeadAnswer> {
    const deadline = startDeadline(call, this.#clock);
    const { value: height, endpoint } = await this.#bestHeight(call);
    const { value: hash } = await this.#hashOf(height, deadline.rest());
    return {
      height,
      hash,
      timestampMs: null,
      source: endpoint.source,
      completeness: 'COMPLETE',
      note: null,
    };
  }

  async hashAt(height: number, call: Call): Promise<string | null> {
    return (await this.#hashAt(height, call)).value;
  }

  async block(height: number, call: Call): Promise<BlockAnswer> {
    const deadline = startDeadline(call, this.#clock);
    const { value: hash, endpoint } = await this.#hashAt(height, call);
    if (hash === null) return { ...NO_BLOCK, source: endpoint.source };
    const { parentHash, timestampMs, txids } = await this.#blockTxids(hash, height, deadline.rest());
    const transactions = await this.#inTurns(txids, (txid) => this.#placedAt(txid, height, deadline.rest()));
    return blockAnswer(this.#chain, height, { hash, parentHash, timestampMs, transactions }, endpoint.source);
  }

  async balance(address: ParsedAddress, call: Call): Promise<BalanceAnswer> {
    const { fields, ...provenance } = await this.#account(address, call);
    return { ...provenance, balance: asAmount(fields.balance, 'balance') };
  }

  async transactionCount(address: ParsedAddress, call: Call): Promise<TransactionCountAnswer> {
    const { fields, ...provenance } = await this.#account(address, call);
    return { ...provenance, count: asCount(fields.txs, 'txs') };
  }
}

/** Creates a client for the Blockbook servers of a pool. */
export function createBlockbook(
  chain: ChainId,
  pool: EndpointPool,
  deps: { readonly clock: Clock },
): BlockSource & AccountSource {
  return new Blockbook(chain, pool, deps);
}

/** Returns the newest whole blocks that hold at most `limit` rows, but always at least one block; null if all rows fit. */
function cutAtBlock(rows: readonly Placed[], limit: number): { rows: Placed[]; next: number } | null {
  if (rows.length <= limit) return null;
  let end = limit;
  while (end > 0 && rows[end]?.height === rows[end - 1]?.height) end--;
  if (end === 0) {
    const newest = rows[0]?.height;
    end = rows.findIndex(({ height }) => height !== newest);
    if (end < 0) return null;
  }
  return { rows: rows.slice(0, end), next: (rows[end] as Placed).height };
}
