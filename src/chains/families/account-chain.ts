/**
 * Implements `ChainAdapter` on top of a `ChainReader`, for chains that are neither EVM nor UTXO. It puts nodes and indexers into one pool
 * and distinguishes them by layout, cuts pages of transactions into pages of transfers, and follows the chain. The reader interprets the
 * responses.
 */
import { AssayError } from '../../base/errors.ts';
import { invalidCursor } from '../../base/paging.ts';
import { parseAddress } from '../address/parse.ts';
import type { Block } from '../block.ts';
import { createEndpointPool, type EndpointPool, type EndpointRequest } from '../endpoints/endpoint-pool.ts';
import type { EndpointSpec } from '../endpoints/endpoints.ts';
import { asText, badAnswer, type Json } from '../endpoints/exact-json.ts';
import { ENDPOINT_LIMITS } from '../endpoints/limits.ts';
import { initiationOf, type TransactionCall } from '../initiation.ts';
import { type ChainId, chainOf } from '../registry.ts';
import type { Transfer } from '../transfer.ts';
import { type AssetDecimals, createAssetDecimals } from './asset-decimals.ts';
import type { FollowOptions } from './follow.ts';
import type {
  AdapterDeps,
  AdapterOptions,
  BalanceAnswer,
  BlockAnswer,
  Call,
  ChainAdapter,
  ChainEvent,
  ChainHealth,
  FollowFrom,
  HeadAnswer,
  HistoryPage,
  HistoryQuery,
  TransactionCountAnswer,
} from './port.ts';
import { createFollowing } from './shared-follow.ts';

/** A value and the source that returned it. */
export interface Sourced<T> {
  readonly value: T;
  readonly source: string;
  /** Height for which the value holds; null if the source does not say. */
  readonly height: number | null;
  /** A sentence that says what is missing; absent if nothing is. */
  readonly note?: string;
}

/** The transfers of one transaction, or of one row of a source's list. */
export interface HistoryRow {
  readonly height: number;
  readonly transfers: readonly Transfer[];
}

export interface RowsQuery {
  /** The source's own cursor; null for the newest rows. It comes from a client, so the code that uses it must validate its form. */
  readonly cursor: string | null;
  /** Maximum number of rows. */
  readonly size: number;
  readonly from: number | null;
  readonly to: number | null;
}

export interface RowsPage {
  /** Newest first; may include rows outside the range. */
  readonly rows: readonly HistoryRow[];
  /** Null at the end. */
  readonly next: string | null;
}

export interface HeadOfChain {
  readonly height: number;
  readonly hash: string;
  readonly timestampMs: number | null;
}

export interface ChainReader {
  balance(address: string, call: Call): Promise<Sourced<bigint>>;
  /** Null if no source of the chain counts transactions. */
  readonly transactionCount: ((address: string, call: Call) => Promise<Sourced<number>>) | null;
  rows(address: string, query: RowsQuery, call: Call): Promise<Sourced<RowsPage>>;
  head(call: Call): Promise<Sourced<HeadOfChain>>;
  block(height: number, call: Call): Promise<Sourced<Block | null>>;
  hashAt(height: number, call: Call): Promise<string | null>;
  /**
   * Decimals of an asset if its transfers do not include them; null if the source does not know. Absent if no source of the chain knows.
   */
  readonly decimalsOf?: (asset: string, call: Call) => Promise<number | null>;
  /** Subscribes to new blocks over a WebSocket. See `FollowOptions.onNudge`. */
  readonly onNudge?: (nudge: (height?: number) => void) => () => void;
  /** See `ChainAdapter.onActivity`. Used only if there is a WebSocket. */
  readonly onActivity?: (address: string, onActivity: () => void) => () => void;
}

export interface AccountChainSetup {
  /** Layouts that answer each kind of request. If no endpoint has one of them, the result is NONE. */
  readonly layouts: {
    readonly balance: readonly string[];
    readonly count: readonly string[];
    readonly history: readonly string[];
    readonly block: readonly string[];
  };
  readonly verify: EndpointRequest<void> | null;
  /** Poll interval of the head for public endpoints. Own endpoints are polled every 500 ms. */
  readonly pollPublicMs: number;
  /**
   * Number of blocks by which a row may be higher than the one before it, for sources that sort rows by time if blocks overlap in time.
   * Default 0.
   */
  readonly rowsOverlapBlocks?: number;
  /** See `EndpointPoolOptions`. */
  readonly socketsOnlyNotify?: boolean;
  readonly reader: (pool: EndpointPool) => ChainReader;
}

const POLL_OWN_MS = 500;
/** If a WebSocket announces new blocks, polling is only the fallback for a silent socket. */
const POLL_BESIDE_SOCKET_MS = 5_000;
/** Rows requested from a source at once: small pages cost as much as medium ones. */
const ROWS_MIN = 20;
const ROWS_MAX = 100;
/** Maximum number of source pages per page of transfers: rows that are outside the range or have no transfers are skipped. */
const SOURCE_PAGES_MAX = 8;
/** Maximum number of pages without rows that a sound source returns before its end. */
const EMPTY_PAGES_MAX = 3;
const CURSOR_MAX = 1_024;

interface Cursor {
  /** Of the page to read next. */
  readonly page: string | null;
  /** Rows of that page at this height and above have been delivered; null if none have. */
  readonly below: number | null;
  /** Height of the last row read: heights never increase. */
  readonly last: number | null;
}

const START: Cursor = { page: null, below: null, last: null };

const writeCursor = ({ page, below, last }: Cursor): string =>
  Buffer.from(JSON.stringify([page, below, last])).toString('base64url');

function readCursor(text: string | null): Cursor {
  if (text === null) return START;
  const isHeight = (value: unknown): value is number | null =>
    value === null || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
  if (text.length <= CURSOR_MAX && /^[\w-]+$/.test(text)) {
    try {
      const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
      if (Array.isArray(parts) && parts.length === 3) {
        const [page, below, last] = parts as [unknown, unknown, unknown];
        if ((page === null || typeof page === 'string') && isHeight(below) && isHeight(last))
          return { page, below, last };
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  throw invalidCursor();
}

/**
 * Parses a string in a chain's response into a canonical address.
 *
 * @throws CHAIN_BAD_ANSWER if the string is not an address of the chain
 */
export function asAddressOf(chain: ChainId, value: Json | undefined, field: string): string {
  const address = addressOrNull(chain, value);
  if (address === null) throw badAnswer(field, `an address of ${chain}`);
  return address;
}

/** Like `asAddressOf`, but returns null if the string is not an address (names of modules and of contracts that are not accounts). */
export function addressOrNull(chain: ChainId, value: Json | undefined): string | null {
  if (typeof value !== 'string') return null;
  try {
    return parseAddress(chain, value).canonical;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'INVALID_ADDRESS') return null;
    throw error;
  }
}

/**
 * Returns a string that matches `pattern`; used for hashes and identifiers that become part of records or URLs.
 *
 * @throws CHAIN_BAD_ANSWER if the value does not match
 */
export function asPattern(value: Json | undefined, pattern: RegExp, field: string): string {
  const text = asText(value, field, 512);
  if (!pattern.test(text)) throw badAnswer(field, 'in the documented format');
  return text;
}

/** Returns the decimals of an asset as a source gives them; null if the value is missing or invalid. */
export function decimalsOrNull(value: Json | undefined): number | null {
  const decimals = typeof value === 'string' && /^\d{1,2}$/.test(value) ? Number(value) : value;
  return typeof decimals === 'number' && Number.isInteger(decimals) && decimals >= 0 && decimals <= 77
    ? decimals
    : null;
}

/** Collects the transfers of one transaction: the fields they share are given once, and the native asset needs no name. */
export function transfersOf(
  chain: ChainId,
  transaction: {
    readonly txHash: string;
    readonly blockNumber: number;
    readonly timestampMs: number;
    /** The call that started the transaction; null or omitted if the source does not include it. */
    readonly call?: TransactionCall | null;
    /** Returns the 20 bytes of an address in lower-case hex; needed if calldata is compared with the address. */
    readonly hexOf?: (address: string) => string;
  },
): {
  readonly list: readonly Transfer[];
  add(move: {
    readonly position: string;
    readonly from: string | null;
    readonly to: string | null;
    readonly amount: bigint;
    readonly asset?: string;
    readonly decimals?: number | null;
  }): void;
} {
  const { symbol, decimals } = chainOf(chain);
  const { call = null, hexOf, ...shared } = transaction;
  const list: Transfer[] = [];
  return {
    list,
    add({ position, from, to, amount, asset, decimals: own = null }) {
      if (from === null && to === null) return;
      const moved = {
        from,
        to,
        asset: asset ?? symbol,
        amount,
        decimals: asset === undefined ? decimals : own,
      };
      const initiation = call && initiationOf(moved, call, symbol, hexOf);
      list.push({ chain, ...shared, position, ...moved, valueUsd: null, initiation });
    },
  };
}

/** Returns the newest whole blocks that hold at most `limit` transfers, but always at least one block. */
function cutAtBlock(transfers: readonly Transfer[], limit: number): readonly Transfer[] {
  if (transfers.length <= limit) return transfers;
  let end = limit;
  while (end > 0 && transfers[end]?.blockNumber === transfers[end - 1]?.blockNumber) end--;
  if (end > 0) return transfers.slice(0, end);
  const height = transfers[0]?.blockNumber;
  const next = transfers.findIndex((row) => row.blockNumber !== height);
  return next < 0 ? transfers : transfers.slice(0, next);
}

const isSocket = ({ url }: EndpointSpec): boolean => url.startsWith('ws');

/**
 * Returns the endpoints of both roles. An endpoint may appear both as a node and as an explorer: its layout says which protocol it speaks.
 *
 * @throws INVALID_CONFIG if an endpoint has a layout that the chain does not have
 */
function endpointsOf(
  { layouts }: AccountChainSetup,
  { chain, rpc, history }: AdapterOptions,
): EndpointSpec[] {
  const endpoints = [
    ...new Map([...rpc, ...history].map((spec) => [`${spec.layout} ${spec.url}`, spec])).values(),
  ];
  const known = new Set(Object.values(layouts).flat());
  const foreign = endpoints.find((spec) => !known.has(spec.layout));
  if (foreign !== undefined)
    throw new AssayError(
      'INVALID_CONFIG',
      `${chain}: layout must be one of ${[...known].join(', ')} (got "${foreign.layout}").`,
    );
  return endpoints;
}

function createDecimalsOf(chain: ChainId, reader: ChainReader): AssetDecimals | null {
  if (reader.decimalsOf === undefined) return null;
  return createAssetDecimals(chain, async (asset, call) => (await reader.decimalsOf?.(asset, call)) ?? null);
}

function provenanceOf({ source, height, note }: Sourced<unknown>) {
  return {
    source,
    height,
    completeness: note === undefined ? ('COMPLETE' as const) : ('PARTIAL' as const),
    note: note ?? null,
  };
}

/** The adapter of a chain over its reader. */
class AccountChain implements ChainAdapter {
  readonly chain: ChainId;
  /** Null if no endpoint announces the activity of addresses. */
  readonly onActivity: NonNullable<ChainReader['onActivity']> | null;
  readonly resolveName = null;
  readonly #setup: AccountChainSetup;
  readonly #deps: AdapterDeps;
  readonly #endpoints: readonly EndpointSpec[];
  readonly #pool: EndpointPool;
  readonly #reader: ChainReader;
  readonly #decimals: AssetDecimals | null;
  readonly #closing = new AbortController();
  readonly #following: ChainAdapter['subscribe'];

  constructor(setup: AccountChainSetup, options: AdapterOptions, deps: AdapterDeps) {
    const { chain } = options;
    this.chain = chain;
    this.#setup = setup;
    this.#deps = deps;
    this.#endpoints = endpointsOf(setup, options);
    this.#pool = createEndpointPool(
      {
        chain,
        endpoints: this.#endpoints.slice(0, ENDPOINT_LIMITS.endpointsPerChainMax),
        verify: setup.verify,
        socketsOnlyNotify: setup.socketsOnlyNotify ?? false,
      },
      deps,
    );
    const reader = setup.reader(this.#pool);
    this.#reader = reader;
    this.#decimals = createDecimalsOf(chain, reader);
    const hasSocket = this.#endpoints.some(isSocket);
    const isOwn = this.#endpoints.every(({ own }) => own);
    const onNudge: FollowOptions['onNudge'] =
      reader.onNudge && ((nudge) => reader.onNudge?.(nudge) ?? (() => {}));
    const pollMs =
      hasSocket && reader.onNudge ? POLL_BESIDE_SOCKET_MS : isOwn ? POLL_OWN_MS : setup.pollPublicMs;
    this.#following = createFollowing(
      {
        head: (each) => this.#head(each),
        block: (height, each) => this.#block(height, each),
        hashAt: (height, each) => reader.hashAt(height, each),
      },
      {
        chain,
        pollMs,
        ...(onNudge === undefined ? {} : { onNudge }),
        closed: this.#closing.signal,
      },
      deps,
    );
    this.onActivity =
      hasSocket && reader.onActivity
        ? (address, onActivity) => reader.onActivity?.(address, onActivity) ?? (() => {})
        : null;
  }

  #has(wanted: readonly string[]): boolean {
    return this.#endpoints.some(
      (spec) => wanted.includes(spec.layout) && !(this.#setup.socketsOnlyNotify === true && isSocket(spec)),
    );
  }

  #noSource(what: string) {
    return {
      source: null,
      height: null,
      completeness: 'NONE',
      note: `No endpoint of ${this.chain} with ${what} is configured.`,
    } as const;
  }

  /** Returns a call in which `budgetMs` is always the time left, because one result may take several requests. */
  #running({ signal, budgetMs }: Call): Call {
    const { clock } = this.#deps;
    const until = clock.monotonic() + budgetMs;
    return {
      signal,
      get budgetMs() {
        return Math.max(0, until - clock.monotonic());
      },
    };
  }

  async #history(address: string, query: HistoryQuery, call: Call): Promise<HistoryPage> {
    const { limit, from, to } = query;
    const size = Math.min(ROWS_MAX, Math.max(ROWS_MIN, limit));
    const overlap = this.#setup.rowsOverlapBlocks ?? 0;
    let cursor = readCursor(query.cursor);
    let empty = 0;
    for (let pages = 1; ; pages++) {
      const sourced = await this.#reader.rows(address, { cursor: cursor.page, size, from, to }, call);
      const { rows, next } = sourced.value;
      if (next !== null && next === cursor.page)
        throw badAnswer('cursor', 'different from the cursor of the previous page');
      empty = rows.length === 0 ? empty + 1 : 0;
      if (empty > EMPTY_PAGES_MAX) throw badAnswer('cursor', 'followed by a page with rows');
      let last = cursor.below === null ? cursor.last : null;
      for (const { height } of rows) {
        if (last !== null && height > last + overlap) throw badAnswer('list', 'newest first');
        last = last === null ? height : Math.min(last, height);
      }
      const isPast = from !== null && last !== null && last < from;
      const transfers = rows
        .filter(
          ({ height }) =>
            (cursor.below === null || height < cursor.below) &&
            (from === null || height >= from) &&
            (to === null || height <= to),
        )
        .flatMap((row) => row.transfers)
        .filter((row) => row.from === address || row.to === address);
      const kept = cutAtBlock(transfers, limit);
      const after: Cursor | null =
        kept.length < transfers.length
          ? { page: cursor.page, below: (kept.at(-1) as Transfer).blockNumber, last: cursor.last }
          : next === null || isPast
            ? null
            : { page: next, below: null, last };
      if (kept.length > 0 || after === null || pages >= SOURCE_PAGES_MAX)
        return {
          ...provenanceOf(sourced),
          transfers: (await this.#decimals?.fill(kept, call)) ?? kept,
          nextCursor: after === null ? null : writeCursor(after),
        };
      cursor = after;
    }
  }

  async #head(call: Call): Promise<HeadAnswer> {
    const sourced = await this.#reader.head(call);
    return { ...provenanceOf(sourced), ...sourced.value };
  }

  async #block(height: number, call: Call): Promise<BlockAnswer> {
    const sourced = await this.#reader.block(height, call);
    if (sourced.value === null || this.#decimals === null)
      return { ...provenanceOf(sourced), block: sourced.value };
    const transfers = await this.#decimals.fill(sourced.value.transfers, call);
    return { ...provenanceOf(sourced), block: { ...sourced.value, transfers } };
  }

  async balance(text: string, call: Call): Promise<BalanceAnswer> {
    const address = parseAddress(this.chain, text).canonical;
    if (!this.#has(this.#setup.layouts.balance)) return { ...this.#noSource('balances'), balance: null };
    const sourced = await this.#reader.balance(address, this.#running(call));
    return { ...provenanceOf(sourced), balance: sourced.value };
  }

  async transactionCount(text: string, call: Call): Promise<TransactionCountAnswer> {
    const address = parseAddress(this.chain, text).canonical;
    if (this.#reader.transactionCount === null || !this.#has(this.#setup.layouts.count))
      return { ...this.#noSource('transaction counts'), count: null };
    const sourced = await this.#reader.transactionCount(address, this.#running(call));
    return { ...provenanceOf(sourced), count: sourced.value };
  }

  async history(text: string, query: HistoryQuery, call: Call): Promise<HistoryPage> {
    const address = parseAddress(this.chain, text).canonical;
    if (!this.#has(this.#setup.layouts.history))
      return { ...this.#noSource('histories of addresses'), transfers: [], nextCursor: null };
    return this.#history(address, query, this.#running(call));
  }

  async transfersNaming(key: string, limit: number, call: Call): Promise<readonly Transfer[]> {
    const address = parseAddress(this.chain, key).canonical;
    const query = { cursor: null, size: limit, from: null, to: null };
    const sourced = await this.#reader.rows(address, query, this.#running(call));
    return sourced.value.rows.flatMap(({ transfers }) => transfers);
  }

  head(call: Call): Promise<HeadAnswer> {
    return this.#head(this.#running(call));
  }

  block(height: number, call: Call): Promise<BlockAnswer> {
    return this.#block(height, this.#running(call));
  }

  subscribe(from: FollowFrom, call: Call): AsyncIterable<ChainEvent> {
    return this.#following(from, call);
  }

  health(): ChainHealth {
    return { chain: this.chain, reachable: this.#pool.reachable(), endpoints: this.#pool.health() };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pool.close();
  }
}

/** See `OpenAdapter`. */
export function openAccountChain(
  setup: AccountChainSetup,
  options: AdapterOptions,
  deps: AdapterDeps,
): ChainAdapter {
  return new AccountChain(setup, options, deps);
}
