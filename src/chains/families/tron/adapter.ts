/**
 * TRON over the HTTP API of java-tron (developers.tron.network; TronGrid serves it too) and the v1 history lists of TronGrid: TRX,
 * TRC-10, TRC-20 and internal transfers of contracts. Token rows of v1 have neither block nor log index, so the transaction is read as
 * well.
 */
import { AssayError } from '../../../base/errors.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asTimeMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import {
  apiKeyHeader,
  type RestRequest,
  readWindows,
  rest,
  restRequest,
  type WindowList,
} from '../../endpoints/rest.ts';
import {
  addressOrNull,
  type ChainReader,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import { orUnknown } from '../asset-decimals.ts';
import type { Call, OpenAdapter } from '../port.ts';
import {
  addInnerMoves,
  addOwnMoves,
  asAddress,
  asHash,
  callOf,
  hexOf,
  succeeded,
  ZERO_ADDRESS,
} from './transaction.ts';

const NODE = ['trongrid', 'java-tron'] as const;
const GRID = ['trongrid'] as const;
/** Block 0 of mainnet; its last four bytes are the chain id. */
const GENESIS = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
const BLOCK_TRANSACTIONS_MAX = 20_000;
/** Rows per page if each may cost one request: public servers answer a few per second. */
const ROWS_PUBLIC = 8;
const ROWS_OWN = 50;
const ROWS_AT_ONCE = 8;

const headersFor = apiKeyHeader('TRON-PRO-API-KEY');

interface WireBlock {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number;
  readonly transactions: readonly JsonObject[];
}

/** Returns null for the empty object, which a node returns if the block does not exist. */
function readBlock(json: Json): WireBlock | null {
  const block = asObject(json, 'block');
  if (Object.keys(block).length === 0) return null;
  const header = asObject(asObject(block.block_header, 'block_header').raw_data, 'raw_data');
  return {
    // Zero fields of block 0 are omitted.
    height: asCount(header.number ?? 0, 'number'),
    hash: asHash(block.blockID, 'blockID'),
    parentHash: asHash(header.parentHash, 'parentHash'),
    timestampMs: asTimeMs(asCount(header.timestamp ?? 0, 'timestamp'), 'timestamp'),
    transactions: asArray(block.transactions ?? [], 'transactions', BLOCK_TRANSACTIONS_MAX).map((row) =>
      asObject(row, 'transaction'),
    ),
  };
}

const wallet = <T>(method: string, body: JsonObject, read: (json: Json) => T): RestRequest<T> => ({
  path: `wallet/${method}`,
  body,
  layouts: NODE,
  headersFor,
  read(json) {
    // java-tron sends errors with the status 200.
    if (typeof json === 'object' && json !== null && 'Error' in json)
      throw new AssayError(
        'CHAIN_REFUSED',
        `The node refused ${method}: ${String(json.Error).slice(0, 200)}.`,
      );
    return read(json);
  },
});

const verify = restRequest<void>(
  wallet('getblockbynum', { num: 0 }, (json) => {
    const hash = readBlock(json)?.hash;
    if (hash !== GENESIS)
      throw new AssayError(
        'CHAIN_MISMATCH',
        `An endpoint of TRON serves a chain that begins with ${String(hash)}.`,
      );
  }),
);

/** A row of one of the v1 lists. */
interface GridRow {
  readonly txHash: string;
  readonly timestampMs: number;
  /** The whole transaction; null in the token list. */
  readonly tx: JsonObject | null;
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class TronReader implements ChainReader {
  readonly #pool: EndpointPool;

  readonly #isOwn: boolean;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
    this.#isOwn = pool.endpoints.every(({ own }) => own);
  }

  #blockAt(height: number, call: Call): Promise<Sourced<WireBlock | null>> {
    return rest(
      this.#pool,
      wallet('getblockbynum', { num: height }, (json) => {
        const block = readBlock(json);
        if (block !== null && block.height !== height) throw badAnswer('number', `the requested ${height}`);
        return block;
      }),
      call,
    );
  }

  async #infoOf(txHash: string, call: Call): Promise<JsonObject> {
    const request = wallet('gettransactioninfobyid', { value: txHash }, (json) => {
      const info = asObject(json, 'info');
      if (info.id !== txHash) throw badAnswer('id', 'that of the transaction');
      return info;
    });
    return (await rest(this.#pool, request, call)).value;
  }

  async #rowOf(
    rows: readonly GridRow[],
    decimals: ReadonlyMap<string, number>,
    call: Call,
  ): Promise<HistoryRow> {
    const [{ txHash, timestampMs }] = rows as readonly [GridRow];
    const tx = rows.find((row) => row.tx !== null)?.tx ?? null;
    const isKnown = tx !== null && tx.blockNumber !== undefined;
    const contract =
      tx === null ? undefined : asArray(asObject(tx.raw_data, 'raw_data').contract, 'contract', 16)[0];
    const type = contract === undefined ? undefined : asObject(contract, 'contract').type;
    const calls = type === undefined || type === 'TriggerSmartContract' || type === 'CreateSmartContract';
    const info = calls || !isKnown ? await this.#infoOf(txHash, call) : null;
    const height = asCount(info === null ? tx?.blockNumber : info.blockNumber, 'blockNumber');
    const { list, add } = transfersOf('TRON', {
      txHash,
      blockNumber: height,
      timestampMs,
      call: tx && callOf(tx),
      hexOf,
    });
    if (tx !== null && !succeeded(tx)) return { height, transfers: [] };
    if (info !== null && info.result === 'FAILED') return { height, transfers: [] };
    if (tx !== null) addOwnMoves(tx, info, add);
    if (info !== null) addInnerMoves(info, add, decimals);
    return { height, transfers: list };
  }

  /** Requests a v1 list: `{data: [...], success, meta}`. */
  #gridList<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    max: number,
    read: (row: JsonObject) => T,
    call: Call,
  ) {
    return rest(
      this.#pool,
      {
        path: `v1/${path}`,
        query,
        layouts: GRID,
        headersFor,
        read: (json) =>
          asArray(asObject(json, 'answer').data, 'data', max).map((row) => read(asObject(row, 'row'))),
      },
      call,
    );
  }

  /** Returns the spendable balance: staked TRX is not included. */
  async balance(address: string, call: Call) {
    const request = wallet('getaccount', { address, visible: true }, (json) => {
      const account = asObject(json, 'account');
      if (account.address !== undefined && asAddress(account.address, 'address') !== address)
        throw badAnswer('address', 'the requested one');
      return asAmount(account.balance ?? 0, 'balance');
    });
    return rest(this.#pool, request, call);
  }

  readonly transactionCount = null;

  async rows(address: string, query: RowsQuery, call: Call) {
    let source = '';
    const decimals = new Map<string, number>();
    const list =
      (path: string, read: (row: JsonObject) => GridRow): WindowList<GridRow> =>
      async ({ max, min, size }) => {
        const sourced = await this.#gridList(
          `accounts/${address}/${path}`,
          {
            limit: String(size),
            order_by: 'block_timestamp,desc',
            only_confirmed: 'true',
            ...(min === null ? {} : { min_timestamp: String(min) }),
            ...(max === null ? {} : { max_timestamp: String(max) }),
          },
          size,
          (row) => ({
            key: asTimeMs(asCount(row.block_timestamp, 'block_timestamp'), 'block_timestamp'),
            row: read(row),
          }),
          call,
        );
        source = sourced.source;
        return sourced.value;
      };
    const transactions = list('transactions', (row) => ({
      // Rows of internal transfers have the hash in another field and do not contain the transaction.
      txHash: asHash(row.txID ?? row.tx_id, 'txID'),
      timestampMs: asCount(row.block_timestamp, 'block_timestamp'),
      tx: row.raw_data === undefined ? null : row,
    }));
    const tokens = list('transactions/trc20', (row) => {
      const token = asObject(row.token_info, 'token_info');
      const asset = addressOrNull('TRON', token.address);
      if (asset !== null && typeof token.decimals === 'number' && token.decimals >= 0 && token.decimals <= 77)
        decimals.set(asset, token.decimals);
      return {
        txHash: asHash(row.transaction_id, 'transaction_id'),
        timestampMs: asCount(row.block_timestamp, 'block_timestamp'),
        tx: null,
      };
    });
    const page = await readWindows([transactions, tokens], {
      cursor: query.cursor,
      size: Math.min(query.size, this.#isOwn ? ROWS_OWN : ROWS_PUBLIC),
      min: null,
      max: null,
    });
    const byTransaction = new Map<string, GridRow[]>();
    for (const row of page.rows) {
      const rows = byTransaction.get(row.txHash);
      if (rows === undefined) byTransaction.set(row.txHash, [row]);
      else rows.push(row);
    }
    const groups = [...byTransaction.values()];
    const rows: HistoryRow[] = [];
    for (let at = 0; at < groups.length; at += ROWS_AT_ONCE) {
      const part = groups.slice(at, at + ROWS_AT_ONCE);
      rows.push(...(await Promise.all(part.map((each) => this.#rowOf(each, decimals, call)))));
    }
    return { value: { rows, next: page.next }, source, height: null };
  }

  async head(call: Call) {
    const sourced = await rest(this.#pool, wallet('getnowblock', {}, readBlock), call);
    if (sourced.value === null) throw badAnswer('block', 'present');
    const { height, hash, timestampMs } = sourced.value;
    return { ...sourced, height, value: { height, hash, timestampMs } };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const sourced = await this.#blockAt(height, call);
    if (sourced.value === null) return { ...sourced, value: null };
    const { hash, parentHash, timestampMs, transactions } = sourced.value;
    const { value: infos } = await rest(
      this.#pool,
      wallet('gettransactioninfobyblocknum', { num: height }, (json) =>
        asArray(json, 'infos', BLOCK_TRANSACTIONS_MAX).map((row) => asObject(row, 'info')),
      ),
      call,
    );
    const byId = new Map(infos.map((info) => [info.id, info]));
    const transfers = transactions.flatMap((tx) => {
      if (!succeeded(tx)) return [];
      const txHash = asHash(tx.txID, 'txID');
      const { list, add } = transfersOf('TRON', {
        txHash,
        blockNumber: height,
        timestampMs,
        call: callOf(tx),
        hexOf,
      });
      const info = byId.get(txHash);
      const calls = addOwnMoves(tx, info ?? null, add);
      // Either the block was replaced between the two requests, or the node has no results.
      if (info === undefined && calls)
        throw new AssayError('CHAIN_REFUSED', `The node has no results of block ${height}.`);
      if (info !== undefined) addInnerMoves(info, add, new Map());
      return list;
    });
    return {
      ...sourced,
      height,
      value: {
        chain: 'TRON',
        height,
        hash,
        parentHash: height === 0 ? null : parentHash,
        timestampMs,
        transfers,
      },
    };
  }

  async hashAt(height: number, call: Call) {
    return (await this.#blockAt(height, call)).value?.hash ?? null;
  }

  /** Returns the decimals of a TRC-10 from its issue, or of a TRC-20 from its contract. */
  async decimalsOf(asset: string, call: Call) {
    const request = /^\d+$/.test(asset)
      ? wallet(
          'getassetissuebyid',
          { value: asset },
          orUnknown((json) => {
            const issue = asObject(json, 'issue');
            // The object is empty if the token does not exist; the precision is omitted if it is zero.
            return issue.id === asset ? decimalsOrNull(issue.precision ?? 0) : null;
          }),
        )
      : wallet(
          'triggerconstantcontract',
          {
            owner_address: ZERO_ADDRESS,
            contract_address: asset,
            function_selector: 'decimals()',
            visible: true,
          },
          orUnknown((json) => {
            // A contract without decimals reverts or returns arbitrary data.
            const [result] = asArray(asObject(json, 'answer').constant_result ?? [], 'constant_result', 4);
            return typeof result === 'string' && /^0{62}[0-9a-f]{2}$/.test(result)
              ? decimalsOrNull(Number.parseInt(result, 16))
              : null;
          }),
        );
    return (await rest(this.#pool, request, call)).value;
  }
}

/** Opens the adapter of TRON. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: NODE, count: [], history: GRID, block: NODE },
      verify,
      pollPublicMs: 3_000,
      reader: (pool) => new TronReader(pool),
    },
    options,
    deps,
  );
