/**
 * The HTTP API of Esplora (github.com/Blockstream/esplora, API.md), which mempool.space and its forks also serve. Addresses are
 * requested by the hash of their script, so the result does not depend on the address format of an explorer.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { ParsedAddress } from '../../address/address.ts';
import { ScriptReader } from '../../bitcoin-script.ts';
import { startDeadline } from '../../endpoints/deadline.ts';
import type {
  Answered,
  EndpointAnswer,
  EndpointPool,
  EndpointRequest,
} from '../../endpoints/endpoint-pool.ts';
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
import { asBytes, asHash, asIndex, outputScriptOf, type TransactionBody } from './wire.ts';

/** Esplora returns pages of 25 transactions, the server of mempool.space 10 by default: a page with fewer is the last one. */
const PAGE_ROWS_MIN = 10;
/** Some servers have longer pages; none exceeds this. */
const PAGE_ROWS_MAX = 1_000;
const PLACES_MAX = 500_000;
const BLOCK_PAGES_AT_ONCE = 8;
/** Maximum number of source pages per page of history: rows above the range are skipped, and the caller continues with the cursor. */
const PAGES_PER_QUERY_MAX = 8;

/** Parses a hash from a plain-text response. */
const textHash = (answer: EndpointAnswer, field: string): string => asHash(answer.text.trim(), field);

interface Confirmed extends TransactionBody {
  readonly height: number;
  readonly timestampMs: number;
}

interface BlockFacts {
  readonly hash: string;
  readonly height: number;
  readonly parentHash: string;
  readonly timestampMs: number;
  readonly transactionCount: number;
}

/** Verifies that an Esplora server serves the chain, by the hash of a block that no other chain has. */
export function verifyEsplora(chain: ChainId): EndpointRequest<void> {
  return {
    url: (spec) => endpointUrl(spec, `block-height/${networkOf(chain).mark.height}`),
    statuses: [404],
    read: (answer, spec) =>
      verifyChainOf(
        chain,
        { genesis: null, atMark: answer.status === 404 ? null : textHash(answer, 'block-height') },
        spec,
      ),
  };
}

interface Cursor {
  readonly height: number;
  /** The last transaction that was delivered or skipped. */
  readonly txid: string;
}

/** A client for the Esplora servers of a pool. */
class Esplora implements BlockSource, AccountSource {
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
    read: (answer: EndpointAnswer) => T,
    call: Call,
    statuses: readonly number[] = [],
  ): Promise<Answered<T>> {
    return this.#pool.ask({ url: (spec) => endpointUrl(spec, path), statuses, read }, call);
  }

  // --- transactions ---

  #readInput(fields: JsonObject): UtxoInput {
    const spent = { txid: asHash(fields.txid, 'vin.txid'), vout: asIndex(fields.vout, 'vin.vout') };
    // Null if the explorer itself does not have the output any more.
    if (fields.prevout === null || fields.prevout === undefined)
      return { ...spent, address: null, value: null };
    const prevout = asObject(fields.prevout, 'vin.prevout');
    const { address } = this.#scripts.read(asBytes(prevout.scriptpubkey, 'vin.prevout.scriptpubkey'));
    return { ...spent, address, value: asAmount(prevout.value, 'vin.prevout.value') };
  }

  #readTransaction(value: Json): TransactionBody & { readonly status: JsonObject } {
    const fields = asObject(value, 'transaction');
    const inputs = asArray(fields.vin, 'vin', PLACES_MAX).map((row) => asObject(row, 'vin'));
    const isCoinbase = inputs[0]?.is_coinbase === true;
    return {
      txid: asHash(fields.txid, 'txid'),
      isCoinbase,
      inputs: isCoinbase ? [] : inputs.map((fields) => this.#readInput(fields)),
      outputs: asArray(fields.vout, 'vout', PLACES_MAX).map((row, n) => {
        const output = asObject(row, 'vout');
        const { kind, address } = this.#scripts.read(asBytes(output.scriptpubkey, 'vout.scriptpubkey'));
        return { n, address, value: asAmount(output.value, 'vout.value'), script: kind };
      }),
      status: asObject(fields.status, 'status'),
    };
  }

  /** Returns the confirmed rows of a page; the API may put unconfirmed ones first. */
  #readConfirmed(answer: EndpointAnswer): Confirmed[] {
    return asArray(answer.json(), 'transactions', PAGE_ROWS_MAX).flatMap((row) => {
      const { status, ...body } = this.#readTransaction(row);
      if (status.confirmed !== true) return [];
      return [
        {
          ...body,
          height: asCount(status.block_height, 'status.block_height'),
          timestampMs: asSecondsMs(status.block_time, 'status.block_time'),
        },
      ];
    });
  }

  // --- blocks ---

  #readBlockFacts(value: Json): BlockFacts {
    const fields = asObject(value, 'block');
    const height = asCount(fields.height, 'block.height');
    return {
      hash: asHash(fields.id, 'block.id'),
      height,
      parentHash: height === 0 ? '' : asHash(fields.previousblockhash, 'block.previousblockhash'),
      timestampMs: asSecondsMs(fields.timestamp, 'block.timestamp'),
      transactionCount: asCount(fields.tx_count, 'block.tx_count'),
    };
  }

  #blockFacts(hash: string, call: Call): Promise<Answered<BlockFacts>> {
    return this.#get(
      `block/${hash}`,
      (answer) => {
        const facts = this.#readBlockFacts(answer.json());
        if (facts.hash !== hash) throw badAnswer('block.id', `the requested ${hash}`);
        return facts;
      },
      call,
    );
  }

  #hashAt(height: number, call: Call): Promise<Answered<string | null>> {
    return this.#get(
      `block-height/${height}`,
      (answer) => (answer.status === 404 ? null : textHash(answer, 'block-height')),
      call,
      [404],
    );
  }

  async #blockTransactions(facts: BlockFacts, call: Call): Promise<TransactionBody[]> {
    const { hash, transactionCount } = facts;
    const pageAt = async (start: number): Promise<TransactionBody[]> => {
      const read = (answer: EndpointAnswer): TransactionBody[] =>
        asArray(answer.json(), 'transactions', PAGE_ROWS_MAX).map((row) => {
          const { status, ...body } = this.#readTransaction(row);
          if (status.block_hash !== undefined && status.block_hash !== hash)
            throw badAnswer('status.block_hash', 'that of the block');
          return body;
        });
      return (await this.#get(`block/${hash}/txs/${start}`, read, call)).value;
    };
    const transactions = await pageAt(0);
    // Page sizes differ between servers; further pages start at multiples of the size.
    const size = transactions.length;
    if (size === 0) throw badAnswer('transactions', 'a page with transactions');
    const starts: number[] = [];
    for (let start = size; start < transactionCount; start += size) starts.push(start);
    for (let at = 0; at < starts.length; at += BLOCK_PAGES_AT_ONCE)
      for (const page of await Promise.all(starts.slice(at, at + BLOCK_PAGES_AT_ONCE).map(pageAt)))
        transactions.push(...page);
    if (transactions.length !== transactionCount)
      throw badAnswer('transactions', `all ${transactionCount} of the block`);
    return transactions;
  }

  // --- addresses ---

  #scriptHashOf({ key, canonical }: ParsedAddress): string {
    const script = outputScriptOf(key);
    if (script === null)
      throw new AssayError('CHAIN_REFUSED', `${canonical} has no output script, which explorers need.`);
    return createHash('sha256').update(script).digest('hex');
  }

  /** Reads the sums over the confirmed transactions of an address, with the tip height if the same endpoint returned both. */
  async #chainStats(
    address: ParsedAddress,
    call: Call,
  ): Promise<Provenance & { readonly stats: JsonObject }> {
    const tip = this.#get('blocks/tip/height', (answer) => asCount(answer.text.trim(), 'tip height'), call);
    tip.catch(() => {});
    const { value: stats, endpoint } = await this.#get(
      `scripthash/${this.#scriptHashOf(address)}`,
      (answer) => {
        const fields = asObject(asObject(answer.json(), 'address').chain_stats, 'chain_stats');
        for (const name of ['funded_txo_sum', 'spent_txo_sum']) asAmount(fields[name], name);
        asCount(fields.tx_count, 'tx_count');
        return fields;
      },
      call,
    );
    const height = await heightOf(tip, endpoint.source);
    call.signal.throwIfAborted();
    return { stats, source: endpoint.source, height, completeness: 'COMPLETE', note: null };
  }

  #readCursor(text: string | null): Cursor | null {
    if (text === null) return null;
    const [, height = '', txid = ''] = /^(\d{1,10})\.([0-9a-f]{64})$/.exec(text) ?? [];
    if (txid === '' || Number(height) > HEIGHT_MAX) throw invalidCursor();
    return { height: Number(height), txid };
  }

  #cursorText(cursor: Cursor | null): string | null {
    return cursor === null ? null : `${cursor.height}.${cursor.txid}`;
  }

  #pageBehind(scriptHash: string, txid: string | null, call: Call): Promise<Answered<Confirmed[]>> {
    return this.#get(
      `scripthash/${scriptHash}/txs/chain${txid === null ? '' : `/${txid}`}`,
      (answer) => this.#readConfirmed(answer),
      call,
    );
  }

  /** Returns whether a transaction is still at its height; if a reorg removed it, no rows follow it either. */
  async #stands({ txid, height }: Cursor, call: Call): Promise<boolean> {
    const { value } = await this.#get(
      `tx/${txid}/status`,
      (answer) => {
        if (answer.status === 404) return false;
        const { confirmed, block_height } = asObject(answer.json(), 'status');
        return confirmed === true && block_height === height;
      },
      call,
      [404],
    );
    return value;
  }

  async history(address: ParsedAddress, query: HistoryQuery, whole: Call): Promise<HistoryPage> {
    const { limit } = query;
    const from = query.from ?? 0;
    let to = query.to ?? HEIGHT_MAX;
    const deadline = startDeadline(whole, this.#clock);
    const scriptHash = this.#scriptHashOf(address);
    let cursor = this.#readCursor(query.cursor);
    let source = this.#pool.endpoints[0]?.source ?? null;
    const taken: UtxoTransaction[] = [];
    for (let page = 0; page < PAGES_PER_QUERY_MAX; page++) {
      const { value: rows, endpoint } = await this.#pageBehind(
        scriptHash,
        cursor?.txid ?? null,
        deadline.rest(),
      );
      source = endpoint.source;
      if (rows.length === 0 && cursor !== null && !(await this.#stands(cursor, deadline.rest()))) {
        // Start again from the top, down to the height of the cursor: rows that are delivered twice are identical.
        to = Math.min(to, cursor.height);
        cursor = null;
        continue;
      }
      for (const [index, { height, ...body }] of rows.entries()) {
        const above = rows[index - 1];
        if (above !== undefined && above.height < height) throw badAnswer('block_height', 'newest first');
        if (height < from) return historyPage(source, taken, null);
        if (height <= to) {
          if (taken.length >= limit) return historyPage(source, taken, this.#cursorText(cursor));
          // The API does not include the index of a transaction in its block.
          taken.push({ chain: this.#chain, ...body, blockNumber: height, indexInBlock: 0 });
        }
        cursor = { height, txid: body.txid };
      }
      if (rows.length < PAGE_ROWS_MIN) return historyPage(source, taken, null);
      if (taken.length >= limit) break;
    }
    return historyPage(source, taken, this.#cursorText(cursor));
  }

  async head(call: Call): Promise<HeadAnswer> {
    const deadline = startDeadline(call, this.#clock);
    const tip = await this.#get('blocks/tip/hash', (answer) => textHash(answer, 'tip hash'), call);
    const { value, endpoint } = await this.#blockFacts(tip.value, deadline.rest());
    const { height, hash, timestampMs } = value;
    return { height, hash, timestampMs, source: endpoint.source, completeness: 'COMPLETE', note: null };
  }

  async hashAt(height: number, call: Call): Promise<string | null> {
    return (await this.#hashAt(height, call)).value;
  }

  async block(height: number, call: Call): Promise<BlockAnswer> {
    const deadline = startDeadline(call, this.#clock);
    const { value: hash, endpoint } = await this.#hashAt(height, call);
    if (hash === null) return { ...NO_BLOCK, source: endpoint.source };
    const { value: facts } = await this.#blockFacts(hash, deadline.rest());
    if (facts.height !== height) throw badAnswer('block.height', `the requested ${height}`);
    const transactions = await this.#blockTransactions(facts, deadline.rest());
    return blockAnswer(this.#chain, height, { ...facts, transactions }, endpoint.source);
  }

  async balance(address: ParsedAddress, call: Call): Promise<BalanceAnswer> {
    const { stats, ...provenance } = await this.#chainStats(address, call);
    const balance =
      asAmount(stats.funded_txo_sum, 'funded_txo_sum') - asAmount(stats.spent_txo_sum, 'spent_txo_sum');
    if (balance < 0n) throw badAnswer('chain_stats', 'sums with at least as much received as spent');
    return { ...provenance, balance };
  }

  async transactionCount(address: ParsedAddress, call: Call): Promise<TransactionCountAnswer> {
    const { stats, ...provenance } = await this.#chainStats(address, call);
    return { ...provenance, count: asCount(stats.tx_count, 'tx_count') };
  }
}

/** Creates a client for the Esplora servers of a pool. */
export function createEsplora(
  chain: ChainId,
  pool: EndpointPool,
  deps: { readonly clock: Clock },
): BlockSource & AccountSource {
  return new Esplora(chain, pool, deps);
}
