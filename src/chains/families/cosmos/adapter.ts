/**
 * Cosmos Hub over the REST API of a node (`lcd`: docs.cosmos.network, gRPC gateway) and over the RPC of CometBFT (`tendermint`:
 * docs.cometbft.com), which needs fewer requests per block. Transfers are the events of the bank module; fees are not transfers.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { AssayError } from '../../../base/errors.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asIsoMs,
  asObject,
  asText,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { readWindows, rest, restRequest, type WindowList } from '../../endpoints/rest.ts';
import {
  addressOrNull,
  asPattern,
  type ChainReader,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import type { Call, OpenAdapter } from '../port.ts';

const LCD = ['lcd'] as const;
const COMET = ['tendermint'] as const;
const ANY = ['lcd', 'tendermint'] as const;
const CHAIN_ID = 'cosmoshub-4';
const NATIVE = 'uatom';
/**
 * The module accounts that collect fees. Each address is the first 20 bytes of the SHA-256 of the module name: `fee_collector`, and
 * since the fee market of 2024 `feemarket-fee-collector` in front of it, which also pays out tips. Transfers from and to them are the
 * cost of transactions.
 */
const FEE_COLLECTORS: ReadonlySet<string | null> = new Set([
  'cosmos17xpfvakm2amg962yls6f84z3kell8c5lserqta',
  'cosmos13pxn9n3qw79e03844rdadagmg0nshmwf7qvuye',
]);
/** First block of cosmoshub-4, in February 2021: a node that has it has the full history. */
const FIRST_BLOCK = 5_200_791;
const CUT = 'Old transactions may be missing: the node does not have all blocks since the first.';
/** Time after which the check is repeated: a different node behind the same host name may have less history. */
const FORGET_KEPT_MS = 600_000;
const BLOCK_TRANSACTIONS_MAX = 10_000;
const EVENTS_MAX = 100_000;
/** Anyone may send as many denominations at once as the gas of a block allows: some thousands. */
const COINS_MAX = 100_000;
const PAGE_MAX = 100;
const BLOCK_PAGES_MAX = 100;
const NOT_YET =
  /height .{0,40}(?:must be less than or equal to|is not available|bigger th[ae]n)|could not find/i;

function checkChainId(value: Json | undefined): void {
  if (typeof value !== 'string') throw badAnswer('chain_id', 'a text');
  if (value !== CHAIN_ID)
    throw new AssayError('CHAIN_MISMATCH', `An endpoint of ATOM serves the chain ${value.slice(0, 60)}.`);
}

const verify = restRequest<void>({
  path: ({ layout }) => (layout === 'lcd' ? 'cosmos/base/tendermint/v1beta1/blocks/latest' : 'status'),
  layouts: ANY,
  read(json, { layout }) {
    const fields = asObject(json, 'answer');
    if (layout === 'lcd') checkChainId(asObject(asObject(fields.block, 'block').header, 'header').chain_id);
    else checkChainId(asObject(asObject(fields.result, 'result').node_info, 'node_info').network);
  },
});

/** Rounds a time down to whole seconds: transaction lists have no finer resolution, and all sources must give the same block time. */
const timeMs = (value: Json | undefined, field: string): number =>
  Math.floor(asIsoMs(value, field) / 1000) * 1000;

const asTxHash = (value: Json | undefined): string =>
  asPattern(value, /^[0-9A-Fa-f]{64}$/, 'txhash').toUpperCase();

/** Converts 32 bytes from hex (CometBFT) or base64 (REST) to upper-case hex; null for the empty parent hash of the first block. */
function hashOrNull(value: Json | undefined, field: string): string | null {
  if (value === '' || value === undefined || value === null) return null;
  const text = asPattern(value, /^(?:[0-9A-Fa-f]{64}|[A-Za-z0-9+/]{43}=)$/, field);
  return text.length === 64 ? text.toUpperCase() : Buffer.from(text, 'base64').toString('hex').toUpperCase();
}

/** Parses a coin list such as `12uatom,3ibc/27…`. */
function readCoins(text: string): readonly { readonly amount: bigint; readonly denom: string }[] {
  if (text === '') return [];
  const parts = text.split(',');
  if (parts.length > COINS_MAX) throw badAnswer('amount', `at most ${COINS_MAX} coins`);
  return parts.map((part) => {
    const [, amount, denom] = /^(\d{1,78})([a-zA-Z][a-zA-Z0-9/:._-]{2,127})$/.exec(part) ?? [];
    if (amount === undefined || denom === undefined) throw badAnswer('amount', 'a list of coins');
    return { amount: asAmount(amount, 'amount'), denom };
  });
}

/** Nodes before CometBFT 0.37 encode the keys and values of attributes in base64; archive nodes still do. */
const ENCODED_KEYS: Readonly<Record<string, string>> = Object.fromEntries(
  ['recipient', 'sender', 'amount'].map((name) => [Buffer.from(name).toString('base64'), name]),
);

function rowOf(
  code: Json | undefined,
  events: Json | undefined,
  shared: { readonly txHash: string; readonly blockNumber: number; readonly timestampMs: number },
): HistoryRow {
  const { list, add } = transfersOf('ATOM', shared);
  const height = shared.blockNumber;
  // A failed transaction only paid its fee.
  if (code !== undefined && asCount(code, 'code') !== 0) return { height, transfers: [] };
  for (const [place, value] of asArray(events ?? [], 'events', EVENTS_MAX).entries()) {
    const event = asObject(value, 'event');
    if (event.type !== 'transfer') continue;
    const attributes = new Map(
      asArray(event.attributes, 'attributes', 100).map((each) => {
        const attribute = asObject(each, 'attribute');
        const key = asText(attribute.key, 'key', 200);
        const content = typeof attribute.value === 'string' ? attribute.value : '';
        const encoded = ENCODED_KEYS[key];
        return encoded === undefined
          ? ([key, content] as const)
          : ([encoded, Buffer.from(content, 'base64').toString('utf8')] as const);
      }),
    );
    const to = addressOrNull('ATOM', attributes.get('recipient'));
    const from = addressOrNull('ATOM', attributes.get('sender'));
    if (FEE_COLLECTORS.has(to) || FEE_COLLECTORS.has(from)) continue;
    const coins = readCoins(attributes.get('amount') ?? '');
    for (const [index, { amount, denom }] of coins.entries())
      add({
        position: coins.length === 1 ? `event:${place}` : `event:${place}:${index}`,
        from,
        to,
        amount,
        ...(denom === NATIVE ? {} : { asset: denom }),
      });
  }
  return { height, transfers: list };
}

interface Header {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string | null;
  readonly timestampMs: number;
  /** Base64, in block order. */
  readonly transactions: readonly Json[];
}

function readHeader(fields: JsonObject): Header {
  const block = asObject(fields.block, 'block');
  const header = asObject(block.header, 'header');
  checkChainId(header.chain_id);
  const id = asObject(fields.block_id, 'block_id');
  const hash = hashOrNull(id.hash, 'block_id.hash');
  if (asCount(asObject(id.parts ?? id.part_set_header, 'parts').total, 'parts.total') === 0)
    throw badAnswer('parts.total', 'that of a block');
  if (hash === null) throw badAnswer('block_id.hash', 'a hash');
  return {
    height: asCount(header.height, 'height'),
    hash,
    parentHash: hashOrNull(asObject(header.last_block_id, 'last_block_id').hash, 'last_block_id.hash'),
    timestampMs: timeMs(header.time, 'time'),
    transactions: asArray(asObject(block.data, 'data').txs ?? [], 'txs', BLOCK_TRANSACTIONS_MAX),
  };
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class CosmosReader implements ChainReader {
  readonly #pool: EndpointPool;
  readonly #clock: Clock;

  /** Time when a node was last found to have the full history; null if none was. */
  #keptAllAtMs: number | null = null;

  constructor(pool: EndpointPool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Sends a request to CometBFT, which wraps results as JSON-RPC and sends errors with the status 500. */
  #comet<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    missing: T,
    read: (r: JsonObject) => T,
    call: Call,
  ) {
    return rest<T>(
      this.#pool,
      {
        path,
        query,
        layouts: COMET,
        others: {
          statuses: [500],
          read(json) {
            const error = asObject(asObject(json, 'message').error, 'error');
            const text = `${String(error.message)} ${String(error.data)}`;
            if (NOT_YET.test(text)) return missing;
            throw new AssayError('CHAIN_REFUSED', `CometBFT refused ${path}: ${text.slice(0, 200)}.`);
          },
        },
        read: (json) => read(asObject(asObject(json, 'message').result, 'result')),
      },
      call,
    );
  }

  #hasComet(): boolean {
    return this.#pool.reachable(COMET);
  }

  async #headerAt(height: number | null, call: Call): Promise<Sourced<Header | null>> {
    const check = (header: Header): Header => {
      if (height !== null && header.height !== height) throw badAnswer('height', `the requested ${height}`);
      return header;
    };
    if (this.#hasComet())
      return this.#comet<Header | null>(
        'block',
        height === null ? {} : { height: String(height) },
        null,
        (result) => check(readHeader(result)),
        call,
      );
    return this.#lcdHeaderAt(height, check, call);
  }

  #lcdHeaderAt(
    height: number | null,
    check: (header: Header) => Header,
    call: Call,
  ): Promise<Sourced<Header | null>> {
    return rest<Header | null>(
      this.#pool,
      {
        path: `cosmos/base/tendermint/v1beta1/blocks/${height ?? 'latest'}`,
        layouts: LCD,
        missing: null,
        others: {
          statuses: [400, 500],
          read(json) {
            const text = String(asObject(json, 'error').message);
            if (NOT_YET.test(text)) return null;
            throw new AssayError('CHAIN_REFUSED', `The node refused a block: ${text.slice(0, 200)}.`);
          },
        },
        read: (json) => check(readHeader(asObject(json, 'answer'))),
      },
      call,
    );
  }

  /** Returns whether transaction lists reach back to the first block: most nodes prune transactions after some weeks. */
  async #keepsAll(call: Call): Promise<boolean> {
    if (this.#keptAllAtMs !== null && this.#clock.monotonic() - this.#keptAllAtMs < FORGET_KEPT_MS)
      return true;
    try {
      const part: Call = { signal: call.signal, budgetMs: call.budgetMs / 2 };
      const { value } = await this.#lcdHeaderAt(FIRST_BLOCK, (header) => header, part);
      if (value?.height !== FIRST_BLOCK) return false;
      this.#keptAllAtMs = this.#clock.monotonic();
      return true;
    } catch (error) {
      // The history itself has been read: if this check fails, the page is only marked as incomplete.
      if (error instanceof AssayError && !call.signal.aborted) return false;
      throw error;
    }
  }

  #transactionsPage(query: string, order: 'ASC' | 'DESC', page: number, size: number, call: Call) {
    return rest(
      this.#pool,
      {
        path: 'cosmos/tx/v1beta1/txs',
        query: { query, order_by: `ORDER_BY_${order}`, page: String(page), limit: String(size) },
        layouts: LCD,
        read: (json) =>
          asArray(asObject(json, 'answer').tx_responses, 'tx_responses', size).map((value) => {
            const tx = asObject(value, 'tx_response');
            const height = asCount(tx.height, 'height');
            const txHash = asTxHash(tx.txhash);
            const shared = { txHash, blockNumber: height, timestampMs: timeMs(tx.timestamp, 'timestamp') };
            return { key: height, row: { txHash, row: rowOf(tx.code, tx.events, shared) } };
          }),
      },
      call,
    );
  }

  async #rowsOfBlock(header: Header, call: Call): Promise<readonly HistoryRow[]> {
    const { height, timestampMs, transactions } = header;
    if (transactions.length === 0) return [];
    if (!this.#hasComet()) {
      const rows: HistoryRow[] = [];
      for (let page = 1; page <= BLOCK_PAGES_MAX; page++) {
        const { value } = await this.#transactionsPage(`tx.height=${height}`, 'ASC', page, PAGE_MAX, call);
        for (const { key, row } of value) {
          if (key !== height) throw badAnswer('height', `the requested ${height}`);
          rows.push({
            height,
            transfers: row.row.transfers.map((each) => ({ ...each, timestampMs })),
          });
        }
        if (value.length < PAGE_MAX) return rows;
      }
      throw badAnswer('tx_responses', 'a list of limited length');
    }
    const { value: results } = await this.#comet<readonly Json[]>(
      'block_results',
      { height: String(height) },
      [],
      (result) => {
        if (asCount(result.height, 'height') !== height) throw badAnswer('height', `the requested ${height}`);
        return asArray(result.txs_results ?? [], 'txs_results', BLOCK_TRANSACTIONS_MAX);
      },
      call,
    );
    if (results.length !== transactions.length) throw badAnswer('txs_results', 'one for each transaction');
    return results.map((value, index) => {
      const result = asObject(value, 'tx_result');
      const bytes = Buffer.from(asText(transactions[index], 'tx', 4_000_000), 'base64');
      const txHash = createHash('sha256').update(bytes).digest('hex').toUpperCase();
      return rowOf(result.code, result.events, { txHash, blockNumber: height, timestampMs });
    });
  }

  async balance(address: string, call: Call) {
    return rest(
      this.#pool,
      {
        path: `cosmos/bank/v1beta1/balances/${address}/by_denom`,
        query: { denom: NATIVE },
        layouts: LCD,
        read(json) {
          const { denom, amount } = asObject(asObject(json, 'answer').balance, 'balance');
          if (denom !== NATIVE) throw badAnswer('denom', NATIVE);
          return asAmount(amount, 'amount');
        },
      },
      call,
    );
  }

  /** Counts the transactions that the account signed: its sequence. */
  async transactionCount(address: string, call: Call) {
    return rest(
      this.#pool,
      {
        path: `cosmos/auth/v1beta1/accounts/${address}`,
        layouts: LCD,
        missing: 0,
        read(json) {
          let account = asObject(asObject(json, 'answer').account, 'account');
          // Vesting and module accounts contain the base account.
          for (const inner of ['base_vesting_account', 'base_account'])
            if (account[inner] !== undefined) account = asObject(account[inner], inner);
          return asCount(account.sequence, 'sequence');
        },
      },
      call,
    );
  }

  async rows(address: string, { cursor, size, from, to }: RowsQuery, call: Call) {
    let source = '';
    type Row = { readonly txHash: string; readonly row: HistoryRow };
    const side =
      (name: 'sender' | 'recipient'): WindowList<Row> =>
      async ({ min, max, size: limit }) => {
        const conditions = [
          `transfer.${name}='${address}'`,
          ...(min === null ? [] : [`tx.height>=${min}`]),
          ...(max === null ? [] : [`tx.height<=${max}`]),
        ];
        const sourced = await this.#transactionsPage(conditions.join(' AND '), 'DESC', 1, limit, call);
        source = sourced.source;
        return sourced.value;
      };
    const page = await readWindows([side('sender'), side('recipient')], {
      cursor,
      size,
      min: from,
      max: to,
    });
    // A transaction from an address to itself is in both lists.
    const rows = [...new Map(page.rows.map(({ txHash, row }) => [txHash, row])).values()];
    const isCut = page.next === null && from === null && !(await this.#keepsAll(call));
    return { value: { rows, next: page.next }, source, height: null, ...(isCut ? { note: CUT } : {}) };
  }

  async head(call: Call) {
    const sourced = await this.#headerAt(null, call);
    if (sourced.value === null) throw badAnswer('block', 'present');
    const { height, hash, timestampMs } = sourced.value;
    return { ...sourced, height, value: { height, hash, timestampMs } };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const sourced = await this.#headerAt(height, call);
    if (sourced.value === null) return { ...sourced, value: null };
    const { hash, parentHash, timestampMs } = sourced.value;
    const rows = await this.#rowsOfBlock(sourced.value, call);
    const transfers = rows.flatMap((row) => row.transfers);
    return { ...sourced, height, value: { chain: 'ATOM', height, hash, parentHash, timestampMs, transfers } };
  }

  async hashAt(height: number, call: Call) {
    return (await this.#headerAt(height, call)).value?.hash ?? null;
  }
}

/** Opens the adapter of Cosmos Hub. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LCD, count: LCD, history: LCD, block: ANY },
      verify,
      pollPublicMs: 6_000,
      reader: (pool) => new CosmosReader(pool, deps.clock),
    },
    options,
    deps,
  );
