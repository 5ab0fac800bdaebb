/**
 * Histories of addresses from explorers with Etherscan's account API: Etherscan v2 (docs.etherscan.io, one host for all chains,
 * `chainid`) and Blockscout (docs.blockscout.com, `/api`). A page is a window of heights, read downwards. A window is delivered only
 * when every kind of transfer in it is known; the cursor is therefore a height, and it only decreases.
 */
import { getCreateAddress } from 'ethers';
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
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
import { initiationOf, type TransactionCall } from '../../initiation.ts';
import { type ChainId, chainOf } from '../../registry.ts';
import type { Transfer } from '../../transfer.ts';
import type { Call, HistoryPage, HistoryQuery } from '../port.ts';
import {
  TRANSFER_BATCH_TOPIC,
  TRANSFER_SINGLE_TOPIC,
  TRANSFER_TOPIC,
  tokenMoves,
  tracePosition,
} from './transfers.ts';
import { asAddress, asAddressOrNull, asCalldata, asData, asHash } from './wire.ts';

export const HISTORY_LAYOUTS = ['blockscout', 'etherscan'] as const;

/** Lists of one address, each newest first. The first has the transactions that the address itself sent and received. */
const LISTS = ['txlist', 'txlistinternal', 'tokentx', 'tokennfttx', 'token1155tx'] as const;
type ListName = (typeof LISTS)[number];

/** Minimum and maximum rows per request of each list: small pages cost as much as large ones, and the API allows 10,000. */
const ROWS_MIN = 50;
const ROWS_MAX = 1_000;
/** Maximum number of pages of a block that exceeds one page; the API ends at 10,000 rows. */
const PAGES_OF_BLOCK_MAX = 10;
const HEIGHT_MAX = 999_999_999_999;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * Transfer events of ERC-20 and ERC-721, which move one token, and of ERC-1155, with the topic positions of the sender and the
 * receiver.
 */
type LogKind = 'one' | 'several';
const LOGS_OF: Readonly<Record<LogKind, readonly (readonly [topic0: string, place: number])[]>> = {
  one: [
    [TRANSFER_TOPIC, 1],
    [TRANSFER_TOPIC, 2],
  ],
  several: [
    [TRANSFER_SINGLE_TOPIC, 2],
    [TRANSFER_SINGLE_TOPIC, 3],
    [TRANSFER_BATCH_TOPIC, 2],
    [TRANSFER_BATCH_TOPIC, 3],
  ],
};

interface Rows {
  readonly rows: readonly JsonObject[];
  /** Whether the list may have more rows below. */
  readonly isFull: boolean;
  readonly source: string;
}

const heightOf = (row: JsonObject): number => asCount(row.blockNumber, 'blockNumber');

/**
 * Returns the rows of a response `{status, message, result}`; status 0 with an empty list means no rows. Throws if the response has an
 * error text.
 */
function readRows(value: Json, source: string, max: number): readonly JsonObject[] {
  const { status, message, result } = asObject(value, 'answer');
  if (Array.isArray(result)) return asArray(result, 'result', max).map((row) => asObject(row, 'row'));
  const text =
    `${typeof message === 'string' ? message : ''} ${typeof result === 'string' ? result : ''}`.trim();
  if (
    String(status) === '0' &&
    /no (?:transactions|token transfers|internal transactions|records|logs)[a-z ]* found/i.test(text)
  )
    return [];
  if (/rate limit/i.test(text))
    throw new AssayError('CHAIN_UNREACHABLE', `${source}: the rate limit is exceeded.`, {
      retryAfterSeconds: 1,
    });
  if (text !== '') throw new AssayError('CHAIN_REFUSED', `${source} refused: ${text.slice(0, 200)}.`);
  throw badAnswer('result', 'a list');
}

function readCursor(cursor: string | null): number {
  if (cursor === null) return HEIGHT_MAX;
  const height = /^h\d{1,12}$/.test(cursor) ? Number(cursor.slice(1)) : Number.NaN;
  if (Number.isSafeInteger(height)) return height;
  throw invalidCursor();
}

/** Maximum number of blocks per page to trace on a node if the explorer does not give the position of internal transfers. */
const TRACED_BLOCKS_MAX = 8;

/** Returns all transfers of a block, including internal ones; null if the node cannot return all of them. */
export type TracedBlock = (height: number, call: Call) => Promise<readonly Transfer[] | null>;

/** Pages of the history of an address (canonical), newest first. */
class AccountApi {
  readonly #chain: ChainId;
  readonly #pool: EndpointPool;
  readonly #traced: TracedBlock | null;
  readonly #symbol: string;
  readonly #decimals: number;
  readonly #caip2: string;

  readonly #chainId: string;

  constructor(chain: ChainId, pool: EndpointPool, traced: TracedBlock | null = null) {
    this.#chain = chain;
    this.#pool = pool;
    this.#traced = traced;
    const { symbol, decimals, caip2 } = chainOf(chain);
    this.#symbol = symbol;
    this.#decimals = decimals;
    this.#caip2 = caip2;
    this.#chainId = this.#caip2.split(':')[1] as string;
  }

  async #rowsOf(
    address: string,
    list: ListName,
    window: { readonly from: number; readonly to: number; readonly page: number; readonly size: number },
    call: Call,
  ): Promise<Rows> {
    const { value, endpoint } = await this.#pool.ask(
      {
        url: (spec) =>
          endpointUrl(spec, spec.layout === 'blockscout' ? 'api' : '', {
            ...(spec.layout === 'etherscan' ? { chainid: this.#chainId } : {}),
            module: 'account',
            action: list,
            address,
            startblock: String(window.from),
            endblock: String(window.to),
            page: String(window.page),
            offset: String(window.size),
            sort: 'desc',
          }),
        layouts: HISTORY_LAYOUTS,
        read: (answer, spec) => readRows(answer.json(), spec.source, window.size),
      },
      call,
    );
    for (const [index, row] of value.entries()) {
      const height = heightOf(row);
      const above = value[index - 1];
      if (height < window.from || height > window.to || (above !== undefined && heightOf(above) < height))
        throw badAnswer('blockNumber', 'inside the range and newest first');
    }
    return { rows: value, isFull: value.length === window.size, source: endpoint.source };
  }

  /** Returns all rows of one block, over several pages if necessary. */
  async #rowsOfBlock(address: string, list: ListName, height: number, call: Call): Promise<Rows> {
    const rows: JsonObject[] = [];
    for (let page = 1; page <= PAGES_OF_BLOCK_MAX; page++) {
      const part = await this.#rowsOf(
        address,
        list,
        { from: height, to: height, page, size: ROWS_MAX },
        call,
      );
      rows.push(...part.rows);
      if (!part.isFull) return { ...part, rows };
    }
    throw new AssayError(
      'CHAIN_REFUSED',
      `Block ${height} holds more than ${PAGES_OF_BLOCK_MAX * ROWS_MAX} transfers of ${address}, more than can be read.`,
    );
  }

  /** Reads the positions of token transfers from the logs themselves, for lists that omit the log index. */
  async #logsOf(
    address: string,
    kinds: readonly LogKind[],
    from: number,
    to: number,
    call: Call,
  ): Promise<Map<string, Transfer[]>> {
    const padded = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
    const filters = kinds.flatMap((kind) =>
      LOGS_OF[kind].map(([topic0, place]) => ({
        topic0,
        [`topic${place}`]: padded,
        [`topic0_${place}_opr`]: 'and',
      })),
    );
    const requests = filters.map((topics) =>
      this.#pool.ask(
        {
          url: (spec) =>
            endpointUrl(spec, spec.layout === 'blockscout' ? 'api' : '', {
              ...(spec.layout === 'etherscan' ? { chainid: this.#chainId } : {}),
              module: 'logs',
              action: 'getLogs',
              fromBlock: String(from),
              toBlock: String(to),
              page: '1',
              offset: String(ROWS_MAX),
              ...topics,
            }),
          layouts: HISTORY_LAYOUTS,
          read: (answer, spec) => readRows(answer.json(), spec.source, ROWS_MAX).map(readApiLog),
        },
        call,
      ),
    );
    const byTransaction = new Map<string, Transfer[]>();
    const seen = new Set<string>();
    for (const { value } of await Promise.all(requests))
      for (const log of value)
        for (const move of tokenMoves(log, this.#chain)) {
          const name = `${log.transactionHash} ${move.place}`;
          if (seen.has(name)) continue;
          seen.add(name);
          const { blockNumber, timestampMs, transactionHash: txHash } = log;
          const { from: sender, to: receiver, asset, amount } = move;
          const transfers = byTransaction.get(txHash) ?? [];
          byTransaction.set(txHash, transfers);
          transfers.push({
            chain: this.#chain,
            txHash,
            position: `log:${move.place}`,
            blockNumber,
            timestampMs,
            from: sender,
            to: receiver,
            asset,
            amount,
            decimals: move.decimals,
            valueUsd: null,
          });
        }
    return byTransaction;
  }

  #blank(row: JsonObject) {
    return {
      chain: this.#chain,
      txHash: asHash(row.hash ?? row.transactionHash, 'hash'),
      blockNumber: heightOf(row),
      timestampMs: asSecondsMs(row.timeStamp, 'timeStamp'),
      valueUsd: null,
    };
  }

  #ownTransaction(row: JsonObject): Transfer {
    const from = asAddress(row.from, 'from');
    const created = (): string | null => {
      const named = asAddressOrNull(row.contractAddress, 'contractAddress');
      if (named !== null || row.nonce === undefined) return named;
      return getCreateAddress({ from, nonce: asCount(row.nonce, 'nonce') });
    };
    return {
      ...this.#blank(row),
      position: 'value',
      from,
      to: asAddressOrNull(row.to, 'to') ?? created(),
      asset: this.#symbol,
      decimals: this.#decimals,
      amount: String(row.isError) === '1' ? 0n : asAmount(row.value, 'value'),
      initiation: { sender: from, callsAsset: null, decodes: null },
    };
  }

  /** Returns null if nothing was moved, and 'unplaced' if the source does not give the position in the transaction. */
  #innerTransfer(row: JsonObject): Transfer | null | 'unplaced' {
    const amount = asAmount(row.value, 'value');
    if (String(row.isError) === '1' || amount === 0n) return null;
    const kind = String(row.type ?? row.callType ?? 'call').toLowerCase();
    if (!['call', 'create', 'create2', 'suicide', 'selfdestruct'].includes(kind)) return null;
    const path = row.traceId;
    if (typeof path !== 'string' || !/^\d{1,6}(?:_\d{1,6})*$/.test(path)) return 'unplaced';
    return {
      ...this.#blank(row),
      position: tracePosition(path),
      from: asAddress(row.from, 'from'),
      to: asAddressOrNull(row.to, 'to') ?? asAddressOrNull(row.contractAddress, 'contractAddress'),
      asset: this.#symbol,
      decimals: this.#decimals,
      amount,
    };
  }

  /**
   * Converts a row of a token list; null if it does not give the log index. ERC-1155 rows do not say whether they belong to a batch,
   * nor their position in it.
   */
  #tokenTransfer(list: ListName, row: JsonObject): Transfer | null {
    if (list === 'token1155tx') return null;
    if (row.logIndex === undefined || row.logIndex === null || row.logIndex === '') return null;
    const party = (value: Json | undefined, field: string): string | null => {
      const address = asAddress(value, field);
      return address === ZERO_ADDRESS ? null : address;
    };
    const isPiece = list === 'tokennfttx';
    return {
      ...this.#blank(row),
      position: `log:${asCount(row.logIndex, 'logIndex')}`,
      from: party(row.from, 'from'),
      to: party(row.to, 'to'),
      asset: asAddress(row.contractAddress, 'contractAddress'),
      decimals: isPiece ? 0 : decimalsOf(row),
      amount: isPiece ? 1n : asAmount(row.value, 'value'),
    };
  }

  async page(address: string, query: HistoryQuery, call: Call): Promise<HistoryPage> {
    const to = Math.min(readCursor(query.cursor), query.to ?? HEIGHT_MAX);
    const from = query.from ?? 0;
    const nothing: HistoryPage = {
      transfers: [],
      nextCursor: null,
      source: this.#pool.endpoints[0]?.source ?? null,
      height: null,
      completeness: 'COMPLETE',
      note: null,
    };
    if (to < from) return nothing;
    const size = Math.min(ROWS_MAX, Math.max(ROWS_MIN, query.limit));
    const lists = await Promise.all(
      LISTS.map((list) => this.#rowsOf(address, list, { from, to, page: 1, size }, call)),
    );
    const { source } = lists[0] as Rows;

    // At the floor and below, a list may have rows that are not part of this page.
    let floor = Math.max(
      -1,
      ...lists.map(({ rows, isFull }) => (isFull ? heightOf(rows.at(-1) as JsonObject) : -1)),
    );
    const newest = Math.max(-1, ...lists.map(({ rows }) => (rows[0] === undefined ? -1 : heightOf(rows[0]))));
    let kept: (readonly JsonObject[])[] = lists.map(({ rows }) =>
      rows.filter((row) => heightOf(row) > floor),
    );
    if (floor >= 0 && newest === floor) {
      kept = (await Promise.all(LISTS.map((list) => this.#rowsOfBlock(address, list, floor, call)))).map(
        ({ rows }) => rows,
      );
      floor -= 1;
    }

    const { transfers, unplaced } = await this.#transfersOf(address, kept, call);
    transfers.sort((a, b) => b.blockNumber - a.blockNumber);
    const cut = cutAtBlock(transfers, query.limit);
    const next = cut === null ? floor : cut.next;
    return {
      ...nothing,
      source,
      transfers: cut === null ? transfers : cut.transfers,
      nextCursor: next < from ? null : `h${next}`,
      ...(unplaced > 0
        ? {
            completeness: 'PARTIAL' as const,
            note: `${unplaced} transfers are missing: ${source} does not give their positions in their transactions.`,
          }
        : {}),
    };
  }

  /**
   * Locates internal transfers by the traces of their blocks; accepts only transactions with as many transfers in the traces as in the
   * list.
   */
  async #placeByTraces(
    address: string,
    rows: readonly JsonObject[],
    call: Call,
  ): Promise<{ transfers: Transfer[]; unplaced: number }> {
    const counts = new Map<string, number>();
    for (const { txHash } of rows.map((row) => this.#blank(row)))
      counts.set(txHash, (counts.get(txHash) ?? 0) + 1);
    const heights = [...new Set(rows.map(heightOf))];
    const traced = this.#traced;
    if (traced === null || heights.length > TRACED_BLOCKS_MAX)
      return { transfers: [], unplaced: rows.length };
    const part: Call = { signal: call.signal, budgetMs: call.budgetMs / 2 };
    const blocks = await Promise.all(
      heights.map((height) =>
        traced(height, part).catch((error: unknown) => {
          call.signal.throwIfAborted();
          if (!(error instanceof AssayError)) throw error;
          return null;
        }),
      ),
    );
    const found = new Map<string, Transfer[]>();
    for (const transfer of blocks.flatMap((block) => block ?? [])) {
      const isOwn = transfer.from === address || transfer.to === address;
      if (!isOwn || transfer.amount === 0n || !transfer.position.startsWith('trace:')) continue;
      const list = found.get(transfer.txHash) ?? [];
      found.set(transfer.txHash, list);
      list.push(transfer);
    }
    const transfers: Transfer[] = [];
    for (const [txHash, count] of counts) {
      const list = found.get(txHash) ?? [];
      if (list.length === count) transfers.push(...list);
    }
    return { transfers, unplaced: rows.length - transfers.length };
  }

  /** Token lists do not include the sender of the transaction; the list of the address's own transactions does. */
  #callsOf(own: readonly JsonObject[]): ReadonlyMap<string, TransactionCall> {
    return new Map(
      own.map((row) => [
        asHash(row.hash, 'hash'),
        {
          sender: asAddress(row.from, 'from'),
          called: asAddressOrNull(row.to, 'to'),
          input: asCalldata(row.input),
        },
      ]),
    );
  }

  async #transfersOf(
    address: string,
    lists: readonly (readonly JsonObject[])[],
    call: Call,
  ): Promise<{ transfers: Transfer[]; unplaced: number }> {
    const [own = [], inner = [], ...tokenLists] = lists;
    const transfers: Transfer[] = own.map((row) => this.#ownTransaction(row));
    const unplacedRows: JsonObject[] = [];
    for (const row of inner) {
      const transfer = this.#innerTransfer(row);
      if (transfer === 'unplaced') unplacedRows.push(row);
      else if (transfer !== null) transfers.push(transfer);
    }
    const placed = await this.#placeByTraces(address, unplacedRows, call);
    transfers.push(...placed.transfers);
    let { unplaced } = placed;
    const missing: JsonObject[] = [];
    const kinds = new Set<LogKind>();
    for (const [index, rows] of tokenLists.entries())
      for (const row of rows) {
        const list = LISTS[index + 2] as ListName;
        const transfer = this.#tokenTransfer(list, row);
        if (transfer === null) {
          missing.push(row);
          kinds.add(list === 'token1155tx' ? 'several' : 'one');
        } else if (transfer.from !== null || transfer.to !== null) transfers.push(transfer);
      }
    if (missing.length > 0) {
      const heights = missing.map(heightOf);
      const logs = await this.#logsOf(address, [...kinds], Math.min(...heights), Math.max(...heights), call);
      const decimalsByAsset = new Map(
        missing.map((row) => [asAddress(row.contractAddress, 'contractAddress'), decimalsOf(row)]),
      );
      const wanted = new Set(missing.map((row) => asHash(row.hash, 'hash')));
      for (const hash of wanted) {
        const found = logs.get(hash) ?? [];
        if (found.length === 0) unplaced++;
        for (const transfer of found)
          transfers.push({
            ...transfer,
            decimals: transfer.decimals ?? decimalsByAsset.get(transfer.asset) ?? null,
          });
      }
    }
    const calls = this.#callsOf(own);
    const explained = onceEach(transfers).map((transfer) => {
      const call = calls.get(transfer.txHash);
      return transfer.initiation || call === undefined
        ? transfer
        : { ...transfer, initiation: initiationOf(transfer, call, this.#symbol) };
    });
    return { transfers: explained, unplaced };
  }
}

/**
 * Creates a reader for pages of the history of an address (canonical). See `ChainAdapter.history`.
 *
 * @param traced - reads a block from a node; null if there is no suitable node
 */
export function createAccountApi(
  chain: ChainId,
  pool: EndpointPool,
  traced: TracedBlock | null = null,
): AccountApi {
  return new AccountApi(chain, pool, traced);
}

/** Returns the decimals of a token as the explorer gives them; null if missing or invalid. */
function decimalsOf(row: JsonObject): number | null {
  const text = row.tokenDecimal;
  const decimals = typeof text === 'string' && /^\d{1,2}$/.test(text) ? Number(text) : null;
  return decimals !== null && decimals <= 77 ? decimals : null;
}

/** Token lists overlap if an explorer classifies a contract as two kinds. */
const onceEach = (transfers: readonly Transfer[]): Transfer[] => [
  ...new Map(
    transfers.toReversed().map((transfer) => [`${transfer.txHash} ${transfer.position}`, transfer]),
  ).values(),
];

/** Returns the newest whole blocks that hold at most `limit` transfers, but always at least one block; null if all transfers fit. */
function cutAtBlock(
  transfers: readonly Transfer[],
  limit: number,
): { transfers: Transfer[]; next: number } | null {
  if (transfers.length <= limit) return null;
  let end = limit;
  while (end > 0 && transfers[end]?.blockNumber === transfers[end - 1]?.blockNumber) end--;
  if (end === 0) {
    const height = transfers[0]?.blockNumber;
    end = transfers.findIndex((row) => row.blockNumber !== height);
    if (end < 0) return null;
  }
  return { transfers: transfers.slice(0, end), next: (transfers[end] as Transfer).blockNumber };
}

/** Converts a row of `getLogs`; its numbers are in hex. */
function readApiLog(row: JsonObject) {
  const hexCount = (value: Json | undefined, field: string): number => {
    if (value === '0x') return 0;
    if (typeof value !== 'string' || !/^0x[0-9a-f]{1,13}$/i.test(value))
      throw badAnswer(field, 'a hex quantity');
    return Number(value);
  };
  return {
    address: asAddress(row.address, 'address'),
    topics: asArray(row.topics, 'topics', 4)
      .filter((topic) => topic !== null && topic !== '')
      .map((topic) => asHash(topic, 'topic')),
    data: asData(row.data, 'data'),
    logIndex: hexCount(row.logIndex, 'logIndex'),
    transactionHash: asHash(row.transactionHash, 'transactionHash'),
    blockNumber: hexCount(row.blockNumber, 'blockNumber'),
    timestampMs: asSecondsMs(hexCount(row.timeStamp, 'timeStamp'), 'timeStamp'),
  };
}
