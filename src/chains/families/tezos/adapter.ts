/**
 * Tezos over TzKT (api.tzkt.io): transactions including internal ones, originations that carry value, and transfers of FA1.2 and FA2
 * tokens. TzKT assigns its own ids to operations; these are stable, and they link a token transfer to its transaction.
 */
import { createHash } from 'node:crypto';
import { AssayError } from '../../../base/errors.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asIsoMs,
  asObject,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { readWindows, rest, restRequest, type WindowList } from '../../endpoints/rest.ts';
import type { Transfer } from '../../transfer.ts';
import {
  addressOrNull,
  asPattern,
  type ChainReader,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import type { Call, OpenAdapter } from '../port.ts';

const LAYOUTS = ['tzkt'] as const;
const CHAIN_ID = 'NetXdQprcVkpaWU';
/** TzKT's maximum list length; a block has room for far fewer. */
const LIST_MAX = 10_000;
/** Number of operation ids per request, so that the URL stays within server limits. */
const IDS_AT_ONCE = 100;

const verify = restRequest<void>({
  path: 'v1/head',
  layouts: LAYOUTS,
  read(json) {
    const id = asObject(json, 'head').chainId;
    if (typeof id !== 'string') throw badAnswer('chainId', 'a text');
    if (id !== CHAIN_ID)
      throw new AssayError('CHAIN_MISMATCH', `An endpoint of XTZ serves the chain ${id.slice(0, 40)}.`);
  },
});

const asBlockHash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^B[1-9A-HJ-NP-Za-km-z]{50}$/, field);
const asOperationHash = (value: Json | undefined): string =>
  asPattern(value, /^o[1-9A-HJ-NP-Za-km-z]{50}$/, 'hash');

/** Returns the address of `{alias, address}`; null if it is missing, and for rollups, which are not accounts. */
const party = (value: Json | undefined): string | null =>
  value === undefined || value === null ? null : addressOrNull('XTZ', asObject(value, 'account').address);

const AMOUNT_MAX = (1n << 256n) - 1n;

/** Parses a token amount, capped at 2^256 - 1: contracts count without bounds, and anyone may receive any amount. */
function tokenAmount(value: Json | undefined): bigint {
  if (typeof value !== 'string' || !/^\d+$/.test(value) || value.length <= 77)
    return asAmount(value, 'amount');
  const amount = value.length > 78 ? AMOUNT_MAX : BigInt(value);
  return amount > AMOUNT_MAX ? AMOUNT_MAX : amount;
}

/** Returns the id of a token within its contract. Ids have no bounds either: a longer one is replaced by its hash. */
function tokenKind(value: Json | undefined): string {
  if (typeof value !== 'string' || !/^\d+$/.test(value)) throw badAnswer('tokenId', 'a whole number');
  return value.length <= 78 ? value : createHash('sha256').update(value).digest('hex').slice(0, 40);
}

const rowsOf = (json: Json): readonly JsonObject[] => {
  return asArray(json, 'list', LIST_MAX).map((row) => asObject(row, 'row'));
};

/** Returns the position of an operation in its group: its counter, plus its nonce if a contract sent it. */
const placeOf = (row: JsonObject): string => {
  const nonce = row.nonce;
  const counter = asCount(row.counter, 'counter');
  return nonce === undefined || nonce === null ? `op:${counter}` : `op:${counter}:${asCount(nonce, 'nonce')}`;
};

const LISTS = ['transactions', 'originations'] as const;

/** Returns the transfers of an operation. */
function operationMoves(list: (typeof LISTS)[number], row: JsonObject): readonly Transfer[] {
  if (row.status !== 'applied') return [];
  // An internal operation includes the account that initiated it.
  const sender = party(row.initiator ?? row.sender);
  const moved = transfersOf('XTZ', {
    txHash: asOperationHash(row.hash),
    call: sender === null ? null : { sender },
    blockNumber: asCount(row.level, 'level'),
    timestampMs: asIsoMs(row.timestamp, 'timestamp'),
  });
  const isCreation = list === 'originations';
  const amount = asAmount((isCreation ? row.contractBalance : row.amount) ?? 0, 'amount');
  const to = party(isCreation ? row.originatedContract : row.target);
  if (amount > 0n) moved.add({ position: placeOf(row), from: party(row.sender), to, amount });
  return moved.list;
}

interface TokenRow {
  readonly row: JsonObject;
  readonly height: number;
  /** TzKT id of the operation that caused it, and the list it is in; null if a protocol migration moved the token. */
  readonly cause: { readonly list: (typeof LISTS)[number]; readonly id: string } | null;
}

function readTokenRow(row: JsonObject): TokenRow {
  const id = (value: Json | undefined): string | null =>
    value === undefined || value === null ? null : String(asCount(value, 'id'));
  const transaction = id(row.transactionId);
  const origination = id(row.originationId);
  const cause =
    transaction !== null
      ? { list: 'transactions' as const, id: transaction }
      : origination !== null
        ? { list: 'originations' as const, id: origination }
        : null;
  return { row, height: asCount(row.level, 'level'), cause };
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class TezosReader implements ChainReader {
  readonly #pool: EndpointPool;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
  }

  #list(path: string, query: Readonly<Record<string, string>>, call: Call) {
    return rest(this.#pool, { path, query, layouts: LAYOUTS, read: rowsOf }, call);
  }

  /** Returns the hashes of operations by their TzKT id. */
  async #hashesOf(rows: readonly TokenRow[], call: Call): Promise<ReadonlyMap<string, string>> {
    const hashes = new Map<string, string>();
    for (const name of LISTS) {
      const ids = [...new Set(rows.flatMap(({ cause }) => (cause?.list === name ? cause.id : [])))];
      for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
        const { value } = await this.#list(
          `v1/operations/${name}`,
          {
            'id.in': ids.slice(at, at + IDS_AT_ONCE).join(','),
            limit: String(IDS_AT_ONCE),
            select: 'id,hash',
          },
          call,
        );
        for (const row of value) hashes.set(String(asCount(row.id, 'id')), asOperationHash(row.hash));
      }
    }
    return hashes;
  }

  async #tokenTransfers(rows: readonly TokenRow[], call: Call): Promise<readonly HistoryRow[]> {
    const hashes = await this.#hashesOf(rows, call);
    return rows.map(({ row, height, cause }) => {
      if (cause === null) return { height, transfers: [] };
      const txHash = hashes.get(cause.id);
      if (txHash === undefined) throw badAnswer('transactionId', 'that of an operation');
      const token = asObject(row.token, 'token');
      const contract = party(token.contract);
      if (contract === null) throw badAnswer('token.contract', 'an address');
      const tokenId = tokenKind(token.tokenId);
      const metadata =
        typeof token.metadata === 'object' && token.metadata !== null ? (token.metadata as JsonObject) : {};
      const moved = transfersOf('XTZ', {
        txHash,
        blockNumber: height,
        timestampMs: asIsoMs(row.timestamp, 'timestamp'),
      });
      moved.add({
        position: `token:${asCount(row.id, 'id')}`,
        from: party(row.from),
        to: party(row.to),
        amount: tokenAmount(row.amount),
        asset: token.standard === 'fa1.2' ? contract : `${contract}:${tokenId}`,
        decimals: decimalsOrNull(metadata.decimals),
      });
      return { height, transfers: moved.list };
    });
  }

  /** Reads a block and its parent in one request. */
  async #headers(height: number, call: Call) {
    const sourced = await this.#list(
      'v1/blocks',
      {
        'level.in': height === 0 ? '0' : `${height - 1},${height}`,
        select: 'level,hash,timestamp',
        limit: '2',
      },
      call,
    );
    const at = (level: number) => sourced.value.find((row) => asCount(row.level, 'level') === level);
    return { ...sourced, own: at(height), below: at(height - 1) };
  }

  async balance(address: string, call: Call) {
    return rest(
      this.#pool,
      {
        path: `v1/accounts/${address}`,
        layouts: LAYOUTS,
        missing: 0n,
        read(json) {
          const account = asObject(json, 'account');
          return account.type === 'empty' ? 0n : asAmount(account.balance, 'balance');
        },
      },
      call,
    );
  }

  async transactionCount(address: string, call: Call) {
    return rest(
      this.#pool,
      {
        path: `v1/accounts/${address}`,
        layouts: LAYOUTS,
        missing: 0,
        read: (json) => asCount(asObject(json, 'account').numTransactions ?? 0, 'numTransactions'),
      },
      call,
    );
  }

  async rows(address: string, { cursor, size, from, to }: RowsQuery, call: Call) {
    let source = '';
    const window = ({ min, max, size: limit }: Parameters<WindowList<unknown>>[0]) => ({
      limit: String(limit),
      ...(min === null ? {} : { 'level.ge': String(min) }),
      ...(max === null ? {} : { 'level.le': String(max) }),
      'sort.desc': 'level',
    });
    type Row = { readonly operation: HistoryRow } | { readonly token: TokenRow };
    const operations =
      (name: (typeof LISTS)[number], parties: string, value: string): WindowList<Row> =>
      async (each) => {
        const query = { ...window(each), [`anyof.${parties}`]: address, status: 'applied', [value]: '0' };
        const sourced = await this.#list(`v1/operations/${name}`, query, call);
        source = sourced.source;
        return sourced.value.map((row) => {
          const key = asCount(row.level, 'level');
          return { key, row: { operation: { height: key, transfers: operationMoves(name, row) } } };
        });
      };
    const tokens: WindowList<Row> = async (each) => {
      const sourced = await this.#list(
        'v1/tokens/transfers',
        { ...window(each), 'anyof.from.to': address },
        call,
      );
      return sourced.value.map(readTokenRow).map((token) => ({ key: token.height, row: { token } }));
    };
    const page = await readWindows(
      [
        operations('transactions', 'sender.target', 'amount.gt'),
        operations('originations', 'sender.originatedContract', 'contractBalance.gt'),
        tokens,
      ],
      { cursor, size, min: from, max: to },
    );
    const known = await this.#tokenTransfers(
      page.rows.flatMap((row) => ('token' in row ? row.token : [])),
      call,
    );
    let at = 0;
    const rows = page.rows.map((row) => ('operation' in row ? row.operation : (known[at++] as HistoryRow)));
    return { value: { rows, next: page.next }, source, height: null };
  }

  async head(call: Call) {
    const sourced = await rest(
      this.#pool,
      {
        path: 'v1/head',
        layouts: LAYOUTS,
        read(json) {
          const head = asObject(json, 'head');
          return {
            height: asCount(head.level, 'level'),
            hash: asBlockHash(head.hash, 'hash'),
            timestampMs: asIsoMs(head.timestamp, 'timestamp'),
          };
        },
      },
      call,
    );
    return { ...sourced, height: sourced.value.height };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const { own, below, source } = await this.#headers(height, call);
    if (own === undefined) return { value: null, source, height: null };
    const at = { level: String(height), limit: String(LIST_MAX), 'sort.asc': 'id' };
    const [transactions, originations, tokens] = await Promise.all([
      this.#list('v1/operations/transactions', { ...at, status: 'applied', 'amount.gt': '0' }, call),
      this.#list('v1/operations/originations', { ...at, status: 'applied', 'contractBalance.gt': '0' }, call),
      this.#list('v1/tokens/transfers', at, call),
    ]);
    const tokenRows = await this.#tokenTransfers(tokens.value.map(readTokenRow), call);
    const transfers = [
      ...transactions.value.flatMap((row) => operationMoves('transactions', row)),
      ...originations.value.flatMap((row) => operationMoves('originations', row)),
      ...tokenRows.flatMap((row) => row.transfers),
    ];
    if (transfers.some(({ blockNumber }) => blockNumber !== height))
      throw badAnswer('level', `the requested ${height}`);
    const timestampMs = asIsoMs(own.timestamp, 'timestamp');
    return {
      source,
      height,
      value: {
        chain: 'XTZ',
        height,
        hash: asBlockHash(own.hash, 'hash'),
        parentHash: below === undefined ? null : asBlockHash(below.hash, 'hash'),
        timestampMs,
        transfers: transfers.map((row) => ({ ...row, timestampMs })),
      },
    };
  }

  async hashAt(height: number, call: Call) {
    const { own } = await this.#headers(height, call);
    return own === undefined ? null : asBlockHash(own.hash, 'hash');
  }
}

/** Opens the adapter of Tezos. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LAYOUTS, count: LAYOUTS, history: LAYOUTS, block: LAYOUTS },
      verify,
      pollPublicMs: 6_000,
      reader: (pool) => new TezosReader(pool),
    },
    options,
    deps,
  );
