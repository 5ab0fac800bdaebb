/**
 * Implements `ChainAdapter` on top of a `ChainReader`, for chains that are neither EVM nor UTXO. It puts nodes and indexers into one pool
 * and distinguishes them by layout, cuts pages of transactions into pages of transfers, and follows the chain. The reader interprets the
 * responses.
 */
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parseAddress } from '../address/parse.ts';
import type { Block } from '../block.ts';
import { createEndpointPool, type EndpointPool, type EndpointRequest } from '../endpoints/endpoint-pool.ts';
import { asText, badAnswer, type Json } from '../endpoints/exact-json.ts';
import { initiationOf, type TransactionCall } from '../initiation.ts';
import { type ChainId, chainOf } from '../registry.ts';
import type { Transfer } from '../transfer.ts';
import { createAssetDecimals } from './asset-decimals.ts';
import { follow } from './follow.ts';
import type { AdapterDeps, AdapterOptions, Call, ChainAdapter, HistoryPage, HistoryQuery } from './port.ts';

/** A value and the source that returned it. */
export interface Told<T> {
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
  balance(address: string, call: Call): Promise<Told<bigint>>;
  /** Null if no source of the chain counts transactions. */
  readonly transactionCount: ((address: string, call: Call) => Promise<Told<number>>) | null;
  rows(address: string, query: RowsQuery, call: Call): Promise<Told<RowsPage>>;
  head(call: Call): Promise<Told<HeadOfChain>>;
  block(height: number, call: Call): Promise<Told<Block | null>>;
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
  readonly socketsOnlyTell?: boolean;
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

/** Creates the error for a cursor that this history did not return. */
export const invalidCursor = (): AssayError =>
  new AssayError('INVALID_REQUEST', 'cursor: is none that this history gave out.', { field: 'cursor' });

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
  if (!pattern.test(text)) throw badAnswer(field, 'in its known form');
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

/** See `OpenAdapter`. */
export function openAccountChain(
  setup: AccountChainSetup,
  options: AdapterOptions,
  deps: AdapterDeps,
): ChainAdapter {
  const { chain } = options;
  const { clock, log, jitter } = deps;
  const { layouts, socketsOnlyTell = false } = setup;
  // An endpoint may appear both as a node and as an explorer: its layout says which protocol it speaks.
  const endpoints = [
    ...new Map(
      [...options.rpc, ...options.history].map((spec) => [`${spec.layout} ${spec.url}`, spec]),
    ).values(),
  ];
  const known = new Set(Object.values(layouts).flat());
  const foreign = endpoints.find((spec) => !known.has(spec.layout));
  if (foreign !== undefined)
    throw new AssayError(
      'INVALID_CONFIG',
      `${chain}: ${foreign.source} has a layout that this chain does not have. Layouts: ${[...known].join(', ')}.`,
    );
  const pool = createEndpointPool(
    {
      chain,
      endpoints: endpoints.slice(0, LIMITS.endpointsPerChainMax),
      verify: setup.verify,
      socketsOnlyTell,
    },
    deps,
  );
  const reader = setup.reader(pool);
  const closing = new AbortController();
  const overlap = setup.rowsOverlapBlocks ?? 0;
  const isOwn = endpoints.every(({ own }) => own);
  const isSocket = ({ url }: { readonly url: string }): boolean => url.startsWith('ws');
  const hasSocket = endpoints.some(isSocket);
  const { onNudge, onActivity, decimalsOf } = reader;
  const decimals = decimalsOf === undefined ? null : createAssetDecimals(chain, decimalsOf);
  const has = (wanted: readonly string[]): boolean =>
    endpoints.some((spec) => wanted.includes(spec.layout) && !(socketsOnlyTell && isSocket(spec)));
  const nobody = (what: string) =>
    ({
      source: null,
      height: null,
      completeness: 'NONE',
      note: `No endpoint of ${chain} that tells ${what} is configured.`,
    }) as const;
  const provenance = ({ source, height, note }: Told<unknown>) => ({
    source,
    height,
    completeness: note === undefined ? ('COMPLETE' as const) : ('PARTIAL' as const),
    note: note ?? null,
  });

  /** Returns a call in which `budgetMs` is always the time left, because one result may take several requests. */
  function running({ signal, budgetMs }: Call): Call {
    const until = clock.monotonic() + budgetMs;
    return {
      signal,
      get budgetMs() {
        return Math.max(0, until - clock.monotonic());
      },
    };
  }

  async function history(address: string, query: HistoryQuery, call: Call): Promise<HistoryPage> {
    const { limit, from, to } = query;
    const size = Math.min(ROWS_MAX, Math.max(ROWS_MIN, limit));
    let cursor = readCursor(query.cursor);
    let empty = 0;
    for (let pages = 1; ; pages++) {
      const told = await reader.rows(address, { cursor: cursor.page, size, from, to }, call);
      const { rows, next } = told.value;
      if (next !== null && next === cursor.page)
        throw badAnswer('cursor', 'another than that of the page before');
      empty = rows.length === 0 ? empty + 1 : 0;
      if (empty > EMPTY_PAGES_MAX) throw badAnswer('cursor', 'one that comes to an end');
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
          ...provenance(told),
          transfers: (await decimals?.fill(kept, call)) ?? kept,
          nextCursor: after === null ? null : writeCursor(after),
        };
      cursor = after;
    }
  }

  const head: ChainAdapter['head'] = async (call) => {
    const told = await reader.head(call);
    return { ...provenance(told), ...told.value };
  };

  const block: ChainAdapter['block'] = async (height, call) => {
    const told = await reader.block(height, call);
    if (told.value === null || decimals === null) return { ...provenance(told), block: told.value };
    const transfers = await decimals.fill(told.value.transfers, call);
    return { ...provenance(told), block: { ...told.value, transfers } };
  };

  return {
    chain,
    async balance(text, call) {
      const address = parseAddress(chain, text).canonical;
      if (!has(layouts.balance)) return { ...nobody('balances'), balance: null };
      const told = await reader.balance(address, running(call));
      return { ...provenance(told), balance: told.value };
    },
    async transactionCount(text, call) {
      const address = parseAddress(chain, text).canonical;
      if (reader.transactionCount === null || !has(layouts.count))
        return { ...nobody('how many transactions an address has'), count: null };
      const told = await reader.transactionCount(address, running(call));
      return { ...provenance(told), count: told.value };
    },
    async history(text, query, call) {
      const address = parseAddress(chain, text).canonical;
      if (!has(layouts.history)) return { ...nobody('what an address did'), transfers: [], nextCursor: null };
      return history(address, query, running(call));
    },
    head: (call) => head(running(call)),
    block: (height, call) => block(height, running(call)),
    subscribe: (from, call) =>
      follow(
        { head, block, hashAt: (height, each) => reader.hashAt(height, each) },
        {
          chain,
          pollMs: hasSocket && onNudge ? POLL_BESIDE_SOCKET_MS : isOwn ? POLL_OWN_MS : setup.pollPublicMs,
          ...(onNudge === undefined ? {} : { onNudge }),
          closed: closing.signal,
        },
        from,
        call,
        { log, jitter },
      ),
    onActivity: hasSocket ? (onActivity ?? null) : null,
    resolveName: null,
    health: () => ({ chain, reachable: pool.reachable(), endpoints: pool.health() }),
    async close() {
      closing.abort();
      await pool.close();
    },
  };
}
