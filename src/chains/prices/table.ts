/**
 * Prices out of tables, nearest earlier first: the coarse one that ships in data/prices.json, with its rule for pegged tokens, and
 * an installation's own CSV files, which go before it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { syncFolder } from '../../base/atomic-file.ts';
import { PRIVATE_FOLDER } from '../../base/data-folder.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { shippedData } from '../../base/paths.ts';
import { parseAddress } from '../address/parse.ts';
import { type ChainId, chainOf, isEvm, parseChainId } from '../registry.ts';
import type { PricedAsset, PriceSource, UsdPrice } from './price.ts';

const DAY_MS = 86_400_000;

/** Prices of one asset, each with how long it may stand for what follows. */
interface Series {
  /** Rising. */
  readonly timesMs: Float64Array;
  readonly usd: Float64Array;
  readonly maxAgeMs: Float64Array;
}

interface PricePoint {
  readonly timeMs: number;
  readonly usd: number;
  readonly maxAgeMs: number;
}

/** The later of two points of one moment decides: a corrected row stands below the one it corrects. */
function seriesOf(points: readonly PricePoint[]): Series {
  const byTime = new Map(points.map((point) => [point.timeMs, point]));
  const rising = [...byTime.values()].sort((a, b) => a.timeMs - b.timeMs);
  return {
    timesMs: Float64Array.from(rising, ({ timeMs }) => timeMs),
    usd: Float64Array.from(rising, ({ usd }) => usd),
    maxAgeMs: Float64Array.from(rising, ({ maxAgeMs }) => maxAgeMs),
  };
}

/** The nearest earlier price that is not too old; null where there is none. */
function lookUp({ timesMs, usd, maxAgeMs }: Series, atMs: number, source: string): UsdPrice | null {
  let low = 0;
  let high = timesMs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timesMs[middle] as number) <= atMs) low = middle + 1;
    else high = middle;
  }
  const found = low - 1;
  if (found < 0 || atMs - (timesMs[found] as number) > (maxAgeMs[found] as number)) return null;
  return { usd: usd[found] as number, atMs: timesMs[found] as number, source };
}

/** A native coin is one coin on every chain that pays with it (ETH on Arbitrum); a token is its contract on its chain. */
const keyOf = ({ chain, asset }: PricedAsset): string =>
  asset === chainOf(chain).symbol ? `native ${asset}` : `${chain} ${asset}`;

// --- what ships -------------------------------------------------------------------------------------------------------

interface PricesFile {
  readonly maxAgeDays: number;
  readonly monthly: readonly {
    readonly symbol: string;
    /** `YYYY-MM`, whose close is the first one. */
    readonly firstMonth: string;
    readonly closes: readonly number[];
  }[];
  readonly pegs: readonly {
    readonly chain: ChainId;
    readonly asset: string;
    readonly decimals: number;
    readonly usd: number;
  }[];
  readonly coingecko: {
    /** Native symbol → coin id. */
    readonly coins: Readonly<Record<string, string>>;
    /** Chain → asset platform. */
    readonly platforms: Readonly<Partial<Record<ChainId, string>>>;
  };
}

const readShipped = (): PricesFile =>
  JSON.parse(readFileSync(shippedData('prices.json'), 'utf8')) as PricesFile;

/** CoinGecko's names of our chains and coins. */
export const loadCoinGeckoNames = (): PricesFile['coingecko'] => readShipped().coingecko;

/**
 * The table that ships: closes of months for native coins, and one dollar for tokens that are redeemed for one. Coarse: a price is
 * up to a month old.
 */
export function loadShippedPrices(): PriceSource {
  const { monthly, pegs, maxAgeDays } = readShipped();
  const bySymbol = new Map<string, Series>();
  for (const { symbol, firstMonth, closes } of monthly) {
    const [year, month] = firstMonth.split('-').map(Number) as [number, number];
    const points = closes.map((usd, at) => ({
      // The close of a month is the price at the first instant of the next one.
      timeMs: Date.UTC(year, month + at, 1),
      usd,
      maxAgeMs: maxAgeDays * DAY_MS,
    }));
    bySymbol.set(symbol, seriesOf(points));
  }
  const pegged = new Map(pegs.map((peg) => [keyOf(peg), peg]));
  return {
    usdAt(asset, timestampMs) {
      const peg = pegged.get(keyOf(asset));
      if (peg) return { usd: peg.usd, atMs: timestampMs, source: 'peg', decimals: peg.decimals };
      const { symbol, decimals } = chainOf(asset.chain);
      const series = asset.asset === symbol ? bySymbol.get(symbol) : undefined;
      const found = series ? lookUp(series, timestampMs, 'shipped') : null;
      return found && { ...found, decimals };
    },
  };
}

// --- the installation's own -------------------------------------------------------------------------------------------

/** How long a row stands for what follows where it does not say. */
const OWN_MAX_AGE_DAYS = 7;
const MAX_AGE_DAYS_MAX = 366;
/** No coin was ever worth more; a greater figure is in another unit. */
const USD_MAX = 1e9;

const COLUMNS = ['chain', 'asset', 'date', 'usd', 'max_age_days', 'decimals'] as const;
type Column = (typeof COLUMNS)[number];
const REQUIRED: readonly Column[] = ['chain', 'asset', 'date', 'usd'];

/** The folder of own price tables inside the program's folder of state. */
export const pricesFolderOf = (dataDir: string): string => join(dataDir, 'prices');

interface OwnRow extends PricePoint {
  readonly key: string;
  readonly decimals: number | null;
}

/** A date is its first instant in UTC; a time must say UTC, or it would mean another moment on another machine. */
function momentOf(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/.test(text)) return null;
  const ms = Date.parse(text);
  // Date.parse turns 31 April into 1 May.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text.slice(0, 10) ? null : ms;
}

/** The canonical text that transfers name an asset by. */
function assetOf(chain: ChainId, text: string): string {
  const { symbol } = chainOf(chain);
  if (text.toUpperCase() === symbol) return symbol;
  return isEvm(chain) || chain === 'TRON' ? parseAddress(chain, text, 'asset').canonical : text;
}

function readRow(cells: Readonly<Record<Column, string>>): OwnRow | string {
  let chain: ChainId;
  let asset: string;
  try {
    chain = parseChainId(cells.chain);
    asset = assetOf(chain, cells.asset);
  } catch (error) {
    return messageOf(error);
  }
  if (asset === '' || asset.length > LIMITS.addressTextMax) return 'asset is empty or too long.';
  const timeMs = momentOf(cells.date);
  if (timeMs === null) return `date is '${cells.date.slice(0, 40)}', not YYYY-MM-DD or a time in UTC (…Z).`;
  const usd = Number(cells.usd);
  if (!/^\d+(?:\.\d+)?(?:e-?\d+)?$/i.test(cells.usd) || !(usd > 0 && usd <= USD_MAX))
    return `usd is '${cells.usd.slice(0, 40)}', not a number above 0 and up to ${USD_MAX}.`;
  const days = cells.max_age_days === '' ? OWN_MAX_AGE_DAYS : Number(cells.max_age_days);
  if (!(days > 0 && days <= MAX_AGE_DAYS_MAX))
    return `max_age_days is '${cells.max_age_days.slice(0, 40)}', not above 0 and up to ${MAX_AGE_DAYS_MAX}.`;
  const decimals = cells.decimals === '' ? null : Number(cells.decimals);
  if (decimals !== null && !(/^\d{1,2}$/.test(cells.decimals) && decimals <= 77))
    return `decimals is '${cells.decimals.slice(0, 40)}', not a whole number from 0 to 77.`;
  return { key: keyOf({ chain, asset }), timeMs, usd, maxAgeMs: days * DAY_MS, decimals };
}

/** Reads one table. Throws INVALID_FILE naming file and line of the first row that cannot be used: a price is never guessed. */
function readOwnFile(path: string): OwnRow[] {
  const name = basename(path);
  const fail = (line: number, reason: string): never => {
    throw new AssayError('INVALID_FILE', `${name}, line ${line}: ${reason}`);
  };
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined)
    throw new AssayError('INVALID_FILE', `file: ${path} is not a file.`, { field: 'file' });
  if (size > LIMITS.priceFileBytesMax)
    throw new AssayError(
      'INVALID_FILE',
      `${name} has more than ${LIMITS.priceFileBytesMax} bytes. Import it in parts.`,
    );
  const lines = readFileSync(path, 'utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/);
  const header = (lines[0] ?? '').split(',').map((cell) => cell.trim().toLowerCase());
  for (const column of REQUIRED) if (!header.includes(column)) fail(1, `the column '${column}' is missing.`);
  for (const column of header)
    if (!(COLUMNS as readonly string[]).includes(column))
      fail(1, `the column '${column.slice(0, 40)}' is none of ${COLUMNS.join(', ')}.`);
  const rows: OwnRow[] = [];
  for (let at = 1; at < lines.length; at++) {
    const text = lines[at] as string;
    if (text.trim() === '') continue;
    const cells = text.split(',').map((cell) => cell.trim());
    if (cells.length !== header.length)
      fail(at + 1, `${cells.length} cells where the header has ${header.length}.`);
    const cell = (column: Column): string => cells[header.indexOf(column)] ?? '';
    const row = readRow({
      chain: cell('chain'),
      asset: cell('asset'),
      date: cell('date'),
      usd: cell('usd'),
      max_age_days: cell('max_age_days'),
      decimals: cell('decimals'),
    });
    if (typeof row === 'string') fail(at + 1, row);
    else rows.push(row);
  }
  if (rows.length === 0) fail(1, 'no row follows the header.');
  return rows;
}

export interface PriceImportReport {
  /** The table's name: a file of the same name replaces it. */
  readonly table: string;
  readonly rows: number;
  readonly assets: number;
  /** ISO dates of its first and last price. */
  readonly from: string;
  readonly to: string;
}

/**
 * Checks a CSV (docs/prices-csv.md) and keeps it as an own table, whole or not at all. Throws INVALID_FILE naming the line.
 * Programs that are running read it at their next start.
 */
export function importPrices(options: { readonly folder: string; readonly file: string }): PriceImportReport {
  const { folder, file } = options;
  const table = basename(file)
    .replace(/(\.csv)+$/i, '')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-');
  const rows = readOwnFile(file);
  mkdirSync(folder, PRIVATE_FOLDER);
  const partial = join(folder, `${table}.csv.partial`);
  try {
    const handle = openSync(partial, 'w');
    try {
      const bytes = readFileSync(file);
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(partial, join(folder, `${table}.csv`));
    syncFolder(folder);
  } finally {
    rmSync(partial, { force: true });
  }
  let fromMs = Number.POSITIVE_INFINITY;
  let toMs = Number.NEGATIVE_INFINITY;
  for (const { timeMs } of rows) {
    fromMs = Math.min(fromMs, timeMs);
    toMs = Math.max(toMs, timeMs);
  }
  return {
    table,
    rows: rows.length,
    assets: new Set(rows.map(({ key }) => key)).size,
    from: new Date(fromMs).toISOString().slice(0, 10),
    to: new Date(toMs).toISOString().slice(0, 10),
  };
}

/** The installation's own tables; none where nothing was imported. Of several tables the last by name decides. */
export function loadOwnPrices(options: { readonly folder: string }): PriceSource {
  const { folder } = options;
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.csv'))
        .sort()
    : [];
  const points = new Map<string, OwnRow[]>();
  for (const file of files) {
    for (const row of readOwnFile(join(folder, file))) {
      const known = points.get(row.key);
      if (known) known.push(row);
      else points.set(row.key, [row]);
    }
  }
  const tables = new Map<string, { series: Series; decimals: number | null }>();
  for (const [key, rows] of points) {
    const decimals = rows.findLast((row) => row.decimals !== null)?.decimals ?? null;
    tables.set(key, { series: seriesOf(rows), decimals });
  }
  return {
    usdAt(asset, timestampMs) {
      const table = tables.get(keyOf(asset));
      const found = table ? lookUp(table.series, timestampMs, 'own') : null;
      return found && table && table.decimals !== null ? { ...found, decimals: table.decimals } : found;
    },
  };
}
