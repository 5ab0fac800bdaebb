/**
 * Daily closes from a price server, a saved response of one, or Chainlink feeds, stored in tables for later starts. A close is valid
 * from the first instant of the next day, so that no price is used before it existed.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { isoTime } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { CHAIN_LIMITS } from '../limits.ts';
import { CHAINS, type ChainId } from '../registry.ts';
import { PRICE_LIMITS } from './limits.ts';
import type { PricedAsset } from './price.ts';
import { type PriceSample, type PriceServer, readMarketChart } from './price-server.ts';
import { type PriceImportReport, readTableLines, tableNameOf, writeTable } from './table.ts';

const DAY_MS = 86_400_000;
/**
 * A sample at most this long before midnight is the close of its day: servers return hourly or daily samples, and sometimes skip hours.
 */
const CLOSE_WITHIN_MS = 6 * 3_600_000;
/** A sample at most this long after midnight replaces a missing close: some servers take their daily sample a little late. */
const OPEN_WITHIN_MS = 15 * 60_000;
/** CoinGecko's public and demo tiers return the last 365 days and refuse earlier ones. */
const HISTORY_DAYS = 365;
/** Number of days that are requested again, because a server may correct them. */
const OVERLAP_DAYS = 3;

/** The close of one day: the price at the first instant of the next day. */
export interface DailyClose {
  /** That instant, milliseconds since the epoch. */
  readonly atMs: number;
  readonly usd: number;
}

/**
 * Reduces samples of any density to closes of whole days (UTC).
 *
 * @param samples - in ascending order of time
 * @param nowMs - days that have not ended by then have no close
 */
export function dailyCloses(samples: readonly PriceSample[], nowMs: number): DailyClose[] {
  const byMidnight = new Map<number, DailyClose>();
  for (const { timeMs, usd } of samples) {
    const nextMs = Math.ceil(timeMs / DAY_MS) * DAY_MS;
    const lastMs = Math.floor(timeMs / DAY_MS) * DAY_MS;
    if (nextMs - timeMs <= CLOSE_WITHIN_MS && nextMs <= nowMs) byMidnight.set(nextMs, { atMs: nextMs, usd });
    // A sample after midnight keeps its own time, because its price was not known earlier.
    else if (timeMs - lastMs <= OPEN_WITHIN_MS && timeMs <= nowMs && !byMidnight.has(lastMs))
      byMidnight.set(lastMs, { atMs: timeMs, usd });
  }
  return [...byMidnight.values()];
}

// --- tables on disk ---------------------------------------------------------------------------------------------------

const HEADER = 'chain,asset,date,usd';

/** The chain under which a native coin is stored: a coin is the same on every chain that uses it. */
const chainBySymbol = new Map<string, ChainId>(
  CHAINS.map(({ id, symbol }) => [symbol, id] as const).reverse(),
);

/** Formats closes like own tables (docs/prices-csv.md). */
function tableText(rows: Iterable<readonly [PricedAsset, Iterable<DailyClose>]>): string {
  const lines = [HEADER];
  for (const [{ chain, asset }, closes] of rows)
    for (const { atMs, usd } of closes) lines.push(`${chain},${asset},${isoTime(atMs)},${usd}`);
  return `${lines.join('\n')}\n`;
}

/** Closes by native symbol and moment. */
type Closes = Map<string, Map<number, number>>;

function readDailyTable(folder: string, name: string): Closes {
  const closes: Closes = new Map();
  const path = join(folder, `${name}.csv`);
  if (!existsSync(path)) return closes;
  for (const line of readTableLines(path).slice(1)) {
    const [, symbol = '', date = '', usd = ''] = line.split(',');
    if (symbol === '') continue;
    const ofSymbol = closes.get(symbol) ?? new Map<number, number>();
    closes.set(symbol, ofSymbol.set(Date.parse(date), Number(usd)));
  }
  return closes;
}

function writeDailyTable(folder: string, name: string, closes: Closes): void {
  const rows = [...closes].flatMap(([symbol, ofSymbol]) => {
    const chain = chainBySymbol.get(symbol);
    if (chain === undefined) return [];
    const points = [...ofSymbol].sort(([a], [b]) => a - b).map(([atMs, usd]) => ({ atMs, usd }));
    return [[{ chain, asset: symbol }, points] as const];
  });
  writeTable(folder, name, tableText(rows));
}

/** Adds closes; returns how many were new or changed. */
function merge(closes: Closes, symbol: string, found: readonly DailyClose[]): number {
  const ofSymbol = closes.get(symbol) ?? new Map<number, number>();
  let changed = 0;
  for (const { atMs, usd } of found) {
    if (ofSymbol.get(atMs) === usd) continue;
    ofSymbol.set(atMs, usd);
    changed++;
  }
  if (changed > 0) closes.set(symbol, ofSymbol);
  return changed;
}

// --- sync -------------------------------------------------------------------------------------------------------------

/** A price of a coin from an operator's node, as of a past moment. */
export interface FeedPrice {
  readonly symbol: string;
  readonly atMs: number;
  readonly usd: number;
}

export interface PriceSyncOptions {
  /** `dailyFolderOf(pricesFolder)`. */
  readonly folder: string;
  /** Native symbol → coin id of the price server. */
  readonly coins: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface PriceSyncDeps {
  readonly clock: Clock;
  /** Null if no price server is configured. */
  readonly server: Pick<PriceServer, 'ask'> | null;
  /** Reads the newest answers of Chainlink feeds; null if no EVM node of the operator is configured. */
  readonly feeds: ((signal?: AbortSignal) => Promise<readonly FeedPrice[]>) | null;
}

export interface PriceSyncReport {
  readonly source: 'prices';
  readonly ok: boolean;
  /** Number of coins with at least one close, over all tables. */
  readonly coins: number;
  /** Number of closes that are new, or that the server corrected. */
  readonly closes: number;
  /** ISO date of the newest close; null if no close exists. */
  readonly newest: string | null;
  /** One sentence for each coin or feed that could not be read. */
  readonly errors: readonly string[];
}

/** Number of consecutive failures after which the remaining coins are skipped: the server is unavailable. */
const FAILURES_MAX = 3;

/**
 * Requests the daily closes of all native coins since the last sync, at most a year back, and adds them to the tables. Existing closes
 * are kept if requests fail.
 *
 * @throws only the reason of the signal
 */
export async function syncPrices(options: PriceSyncOptions, deps: PriceSyncDeps): Promise<PriceSyncReport> {
  const { folder, coins, signal, onProgress } = options;
  const { clock, server, feeds } = deps;
  const errors: string[] = [];
  const touched = new Set<string>();
  let changed = 0;
  let newestMs = 0;
  const store = (name: string, closes: Closes, found: number): void => {
    if (found > 0) writeDailyTable(folder, name, closes);
    changed += found;
    for (const [symbol, ofSymbol] of closes) {
      touched.add(symbol);
      newestMs = Math.max(newestMs, ...ofSymbol.keys());
    }
  };

  if (server !== null) {
    const closes = readDailyTable(folder, 'coingecko');
    let found = 0;
    let failures = 0;
    const entries = Object.entries(coins);
    for (const [at, [symbol, coin]] of entries.entries()) {
      signal?.throwIfAborted();
      onProgress?.(at, entries.length);
      const nowMs = clock.now();
      const knownMs = Math.max(0, ...(closes.get(symbol)?.keys() ?? []));
      const fromMs = Math.max(knownMs - OVERLAP_DAYS * DAY_MS, nowMs - HISTORY_DAYS * DAY_MS);
      const answer = await server.ask(`/coins/${encodeURIComponent(coin)}/market_chart/range`, {
        vs_currency: 'usd',
        from: String(Math.ceil(fromMs / 1000)),
        to: String(Math.floor(nowMs / 1000)),
      });
      signal?.throwIfAborted();
      const samples = answer.kind === 'json' ? readMarketChart(answer.body) : null;
      if (samples !== null) {
        failures = 0;
        found += merge(closes, symbol, dailyCloses(samples, nowMs));
        continue;
      }
      errors.push(
        `${symbol}: ${answer.kind === 'failed' ? answer.reason : answer.kind === 'unknown' ? `the price server does not know '${coin}'` : 'the response is not in the format of market_chart/range'}.`,
      );
      if (answer.kind !== 'failed') continue;
      failures++;
      if (failures < FAILURES_MAX) continue;
      errors.push('The price server failed repeatedly; the other coins were not requested.');
      break;
    }
    store('coingecko', closes, found);
  }

  if (feeds !== null) {
    const closes = readDailyTable(folder, 'chainlink');
    let found = 0;
    try {
      for (const { symbol, atMs, usd } of await feeds(signal))
        found += merge(closes, symbol, [{ atMs, usd }]);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(`chainlink: ${messageOf(error)}`);
    }
    store('chainlink', closes, found);
  }

  return {
    source: 'prices',
    ok: errors.length === 0,
    coins: touched.size,
    closes: changed,
    newest: newestMs === 0 ? null : isoTime(newestMs).slice(0, 10),
    errors,
  };
}

// --- importer ---------------------------------------------------------------------------------------------------------

/** Converts a saved response of `market_chart` to daily closes. Throws INVALID_FILE. */
function closesOfMarketChart(text: string, name: string, nowMs: number): DailyClose[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `${name}: must be JSON: ${messageOf(cause)}.`, { cause });
  }
  const samples = readMarketChart(body);
  if (samples === null)
    throw new AssayError('INVALID_FILE', `${name}: must have \`prices\`, a list of [milliseconds, USD].`);
  const closes = dailyCloses(samples, nowMs);
  if (closes.length === 0) throw new AssayError('INVALID_FILE', `${name}: has no close of a whole day.`);
  return closes;
}

/**
 * Stores a saved response of `market_chart` as an own table of daily closes of one asset, and replaces a table with the same name.
 *
 * @throws INVALID_FILE if the file is not JSON of that form, is too large, or has no close of a whole day
 * @throws INVALID_REQUEST if `asset` is empty, too long, or has commas or spaces
 */
export function importMarketChart(
  options: PricedAsset & { readonly folder: string; readonly file: string },
  clock: Pick<Clock, 'now'>,
): PriceImportReport {
  const { folder, file, chain, asset } = options;
  if (!/^[^,\s]+$/.test(asset) || asset.length > CHAIN_LIMITS.addressTextMax)
    throw new AssayError('INVALID_REQUEST', 'asset: must be an asset without commas and spaces.', {
      field: 'asset',
    });
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined)
    throw new AssayError('INVALID_FILE', `file: ${file} is not a file.`, { field: 'file' });
  if (size > PRICE_LIMITS.priceFileBytesMax)
    throw new AssayError(
      'INVALID_FILE',
      `${basename(file)} has more than ${PRICE_LIMITS.priceFileBytesMax} bytes.`,
    );
  const closes = closesOfMarketChart(readFileSync(file, 'utf8'), basename(file), clock.now());
  const table = tableNameOf(file);
  writeTable(folder, table, tableText([[{ chain, asset }, closes]]));
  const dayOf = (close: DailyClose | undefined): string => isoTime(close?.atMs ?? 0).slice(0, 10);
  return { table, rows: closes.length, assets: 1, from: dayOf(closes[0]), to: dayOf(closes.at(-1)) };
}
