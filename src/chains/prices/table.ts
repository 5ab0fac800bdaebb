/**
 * Prices from tables in memory: the built-in monthly closes of data/prices.json, an installation's own CSV files, and the daily closes
 * of `assay sync`. The newest earlier price applies. Pegs are rules in the same built-in file; book.ts combines all of them.
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
import { AssayError } from '../../base/errors.ts';
import { shippedData } from '../../base/paths.ts';
import { checksumOf, syncFolder } from '../../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { CHAIN_LIMITS } from '../limits.ts';
import { readOwnTable } from '../own-table.ts';
import { type ChainId, chainOf, parseChainId } from '../registry.ts';
import { canonicalAsset } from '../tokens.ts';
import { PRICE_LIMITS } from './limits.ts';
import {
  isNativeCoin,
  LAST_KNOWN_NATIVE_MS,
  type PricedAsset,
  type PriceTable,
  statusOfAge,
  type UsdPrice,
} from './price.ts';

const DAY_MS = 86_400_000;

/** Prices of one asset in ascending order of time. */
interface Series {
  readonly timesMs: Float64Array;
  readonly usd: Float64Array;
  /** Infinity if only the limits of price.ts apply. */
  readonly maxAgeMs: Float64Array;
}

interface PricePoint {
  readonly timeMs: number;
  readonly usd: number;
  readonly maxAgeMs: number;
}

/** If two points have the same time, the later one wins: a corrected row follows the original. */
function seriesOf(points: readonly PricePoint[]): Series {
  const byTime = new Map(points.map((point) => [point.timeMs, point]));
  const rising = [...byTime.values()].sort((a, b) => a.timeMs - b.timeMs);
  return {
    timesMs: Float64Array.from(rising, ({ timeMs }) => timeMs),
    usd: Float64Array.from(rising, ({ usd }) => usd),
    maxAgeMs: Float64Array.from(rising, ({ maxAgeMs }) => maxAgeMs),
  };
}

/** Returns the index of the newest point that is not later than `atMs`; -1 if there is none. */
function newestAt({ timesMs }: Series, atMs: number): number {
  let low = 0;
  let high = timesMs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timesMs[middle] as number) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the newest price that is not later than `atMs`; null if no such price exists or it is too old. */
function lookUp(series: Series, atMs: number, isNative: boolean, source: string): UsdPrice | null {
  const { timesMs, usd, maxAgeMs } = series;
  const found = newestAt(series, atMs);
  if (found < 0) return null;
  const ageMs = atMs - (timesMs[found] as number);
  const status = statusOfAge(ageMs, isNative);
  if (status === null || ageMs > (maxAgeMs[found] as number)) return null;
  return { usd: usd[found] as number, atMs: timesMs[found] as number, status, source };
}

/** Returns the time of the newest point that is not later than `atMs`; null if there is none. */
const timeOf = (series: Series | undefined, atMs: number): number | null =>
  series?.timesMs[newestAt(series, atMs)] ?? null;

/** Fields are named: a spread with a further field takes a slow path of the engine, and a screening asks for a dozen prices. */
const withDecimals = ({ usd, atMs, status, source }: UsdPrice, decimals: number): UsdPrice => ({
  usd,
  atMs,
  status,
  source,
  decimals,
});

/** A native coin is one coin on every chain that pays with it (ETH on Arbitrum); a token is its contract on its chain. */
const keyOf = (asset: PricedAsset): string =>
  isNativeCoin(asset) ? `native ${asset.asset}` : `${asset.chain} ${asset.asset}`;

// --- built-in -----------------------------------------------------------------------------------------------------------

/** A rule: one token equals one dollar or one native coin. */
export interface Peg extends PricedAsset {
  readonly symbol: string;
  readonly decimals: number;
  /** `USD`, or the symbol of a native coin. */
  readonly of: string;
  /** The last day (UTC, YYYY-MM-DD) on which the peg holds; absent if it still holds. */
  readonly validUntil?: string;
}

interface PricesFile {
  readonly monthly: readonly {
    readonly symbol: string;
    /** `YYYY-MM`, the month of the first close. */
    readonly firstMonth: string;
    /** Null for a month without a source. */
    readonly closes: readonly (number | null)[];
  }[];
  readonly pegs: readonly Peg[];
  readonly coingecko: {
    /** Native symbol → coin id. */
    readonly coins: Readonly<Record<string, string>>;
    /** Chain → asset platform. */
    readonly platforms: Readonly<Partial<Record<ChainId, string>>>;
  };
}

const readShipped = (): PricesFile =>
  JSON.parse(readFileSync(shippedData('prices.json'), 'utf8')) as PricesFile;

/** Loads CoinGecko's names of our chains and coins. */
export const loadCoinGeckoNames = (): PricesFile['coingecko'] => readShipped().coingecko;

export interface Pegs {
  /** Returns the peg of an asset that holds at a moment; null if it has none then. */
  at(asset: PricedAsset, timestampMs: number): Peg | null;
  /** Returns the peg of an asset, even if it no longer holds. */
  of(asset: PricedAsset): Peg | null;
  readonly all: readonly Peg[];
}

/** Loads the built-in pegs of data/prices.json. */
export function loadPegs(): Pegs {
  const { pegs: all } = readShipped();
  const byKey = new Map(
    all.map((peg) => [
      keyOf(peg),
      { peg, endMs: peg.validUntil ? Date.parse(peg.validUntil) + DAY_MS : Number.POSITIVE_INFINITY },
    ]),
  );
  return {
    all,
    of: (asset) => byKey.get(keyOf(asset))?.peg ?? null,
    at(asset, timestampMs) {
      const found = byKey.get(keyOf(asset));
      return found !== undefined && timestampMs < found.endMs ? found.peg : null;
    },
  };
}

/** Returns the newest built-in close of each native coin, in USD by symbol. */
export function newestCloses(): ReadonlyMap<string, number> {
  return new Map(
    readShipped().monthly.flatMap(({ symbol, closes }): [string, number][] => {
      const usd = closes.findLast((close) => close !== null) ?? null;
      return usd === null ? [] : [[symbol, usd]];
    }),
  );
}

/** Loads the built-in monthly closes of native coins from data/prices.json. */
export function loadShippedPrices(): PriceTable {
  const bySymbol = new Map<string, Series>();
  for (const { symbol, firstMonth, closes } of readShipped().monthly) {
    const [year, month] = firstMonth.split('-').map(Number) as [number, number];
    const points = closes.flatMap((usd, at) =>
      // The close of a month is the price at the first instant of the next one.
      usd === null
        ? []
        : [{ timeMs: Date.UTC(year, month + at, 1), usd, maxAgeMs: Number.POSITIVE_INFINITY }],
    );
    bySymbol.set(symbol, seriesOf(points));
  }
  return {
    lastAt: (asset, timestampMs) =>
      isNativeCoin(asset) ? timeOf(bySymbol.get(chainOf(asset.chain).symbol), timestampMs) : null,
    usdAt(asset, timestampMs) {
      const { symbol, decimals } = chainOf(asset.chain);
      const series = isNativeCoin(asset) ? bySymbol.get(symbol) : undefined;
      const found = series ? lookUp(series, timestampMs, true, 'shipped') : null;
      return found && withDecimals(found, decimals);
    },
  };
}

// --- the installation's own -------------------------------------------------------------------------------------------

/** The limit for native coins; rows of tokens have their own lower limit. */
const MAX_AGE_DAYS_MAX = LAST_KNOWN_NATIVE_MS / DAY_MS;
/** Maximum plausible price of a coin; a larger figure is in another unit. */
const USD_MAX = 1e9;

const COLUMNS = ['chain', 'asset', 'date', 'usd', 'max_age_days', 'decimals'] as const;
type Column = (typeof COLUMNS)[number];
const REQUIRED: readonly Column[] = ['chain', 'asset', 'date', 'usd'];

/** Returns the folder of own price tables in the data folder. */
export const pricesFolderOf = (dataDir: string): string => join(dataDir, 'prices');
/** Returns the folder of the daily closes of `assay sync` in the prices folder; its tables have the same format. */
export const dailyFolderOf = (pricesFolder: string): string => join(pricesFolder, 'daily');

interface OwnRow extends PricePoint {
  readonly key: string;
  readonly decimals: number | null;
}

/**
 * Parses a date as its first instant in UTC. A time must have the suffix Z, because it would otherwise depend on the machine's time
 * zone.
 */
function momentOf(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/.test(text)) return null;
  const ms = Date.parse(text);
  // Date.parse turns 31 April into 1 May.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text.slice(0, 10) ? null : ms;
}

function readRow(cell: (column: Column) => string): OwnRow {
  const fail = (reason: string): never => {
    throw new AssayError('INVALID_FILE', reason);
  };
  const chain = parseChainId(cell('chain'));
  const asset = canonicalAsset(chain, cell('asset'));
  if (asset === '' || asset.length > CHAIN_LIMITS.addressTextMax) fail('asset is empty or too long.');
  const date = cell('date');
  const timeMs =
    momentOf(date) ?? fail(`date is '${date.slice(0, 40)}', not YYYY-MM-DD or a time in UTC (…Z).`);
  const price = cell('usd');
  const usd = Number(price);
  if (!/^\d+(?:\.\d+)?(?:e-?\d+)?$/i.test(price) || !(usd > 0 && usd <= USD_MAX))
    fail(`usd is '${price.slice(0, 40)}', not a number above 0 and up to ${USD_MAX}.`);
  const age = cell('max_age_days');
  const days = age === '' ? MAX_AGE_DAYS_MAX : Number(age);
  if (!(days > 0 && days <= MAX_AGE_DAYS_MAX))
    fail(`max_age_days is '${age.slice(0, 40)}', not above 0 and up to ${MAX_AGE_DAYS_MAX}.`);
  const digits = cell('decimals');
  const decimals = digits === '' ? null : Number(digits);
  if (decimals !== null && !(/^\d{1,2}$/.test(digits) && decimals <= 77))
    fail(`decimals is '${digits.slice(0, 40)}', not a whole number from 0 to 77.`);
  return { key: keyOf({ chain, asset }), timeMs, usd, maxAgeMs: days * DAY_MS, decimals };
}

/**
 * Reads one table. Any invalid row is an error, because a price is never guessed.
 *
 * @throws INVALID_FILE with the file and line of the first invalid row
 */
function readOwnFile(path: string, isStored: boolean): OwnRow[] {
  const name = basename(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined)
    throw new AssayError('INVALID_FILE', `file: ${path} is not a file.`, { field: 'file' });
  if (size > PRICE_LIMITS.priceFileBytesMax + (isStored ? CHECKSUM_LINE_BYTES : 0))
    throw new AssayError(
      'INVALID_FILE',
      `${name} has more than ${PRICE_LIMITS.priceFileBytesMax} bytes. Import it in parts.`,
    );
  const table = { name, columns: COLUMNS, required: REQUIRED, readRow };
  const rows = readOwnTable(textOfTable(path, isStored), table);
  if (rows.length === 0) throw new AssayError('INVALID_FILE', `${name}, line 1: no row follows the header.`);
  return rows;
}

/** Returns the name of the table for an imported file. */
export const tableNameOf = (file: string): string =>
  basename(file)
    .replace(/(\.(?:csv|json))+$/i, '')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-');

/** The first line of a stored table: the checksum of the rest, which detects truncated files. Files of the operator have none. */
const CHECKSUM_LINE = /^# crc32 ([0-9a-f]{8})\n/;
const CHECKSUM_LINE_BYTES = '# crc32 00000000\n'.length;

/** Whether a text begins with the header of a table. Tables that older programs stored have no checksum line before it. */
function hasHeader(text: string): boolean {
  const [line = ''] = text.replace(/^\uFEFF/, '').split('\n', 1);
  const cells = line.split(',').map((cell) => cell.trim().toLowerCase());
  return REQUIRED.every((column) => cells.includes(column));
}

/** Returns the text of a table without its checksum line; verifies the checksum if the table is stored. */
function textOfTable(path: string, isStored: boolean): string {
  const text = readFileSync(path, 'utf8');
  const found = CHECKSUM_LINE.exec(text);
  if (found === null && (!isStored || hasHeader(text))) return text;
  const content = text.slice(CHECKSUM_LINE_BYTES);
  if (isStored && checksumOf(content) !== found?.[1])
    throw new AssayError(
      'STORE_CORRUPT',
      `${path} is damaged: its checksum is wrong. Import the prices again, or restore the file from a backup.`,
    );
  return content;
}

/**
 * Reads the lines of a stored table.
 *
 * @throws STORE_CORRUPT if the checksum does not match
 */
export const readTableLines = (path: string): readonly string[] => textOfTable(path, true).split('\n');

/** Writes a table into a folder atomically, with a checksum as its first line. */
export function writeTable(folder: string, table: string, text: string): void {
  mkdirSync(folder, PRIVATE_FOLDER);
  const partial = join(folder, `${table}.csv.partial`);
  try {
    const handle = openSync(partial, 'w');
    try {
      const bytes = Buffer.from(`# crc32 ${checksumOf(text)}\n${text}`);
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
}

export interface PriceImportReport {
  /** Name of the table; importing a file with the same name replaces it. */
  readonly table: string;
  readonly rows: number;
  readonly assets: number;
  /** ISO dates of its first and last price. */
  readonly from: string;
  readonly to: string;
}

/**
 * Validates a CSV (docs/prices-csv.md) and stores it atomically as an own table. Running programs read it within seconds.
 *
 * @throws INVALID_FILE with the line number
 */
export function importPrices(options: { readonly folder: string; readonly file: string }): PriceImportReport {
  const { folder, file } = options;
  const table = tableNameOf(file);
  const rows = readOwnFile(file, false);
  writeTable(folder, table, textOfTable(file, false));
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

/**
 * Loads the tables of a folder; none if nothing was imported. If several tables have a price for the same moment, the last by name
 * wins.
 *
 * @param options.source - the source name of the prices: `own` for tables of the operator, `daily` for those of `assay sync`
 * @throws INVALID_FILE with the file and line of an invalid row
 */
export function loadOwnPrices(options: { readonly folder: string; readonly source?: string }): PriceTable {
  const { folder, source = 'own' } = options;
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.csv'))
        .sort()
    : [];
  const points = new Map<string, OwnRow[]>();
  for (const file of files) {
    for (const row of readOwnFile(join(folder, file), true)) {
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
    lastAt: (asset, timestampMs) => timeOf(tables.get(keyOf(asset))?.series, timestampMs),
    usdAt(asset, timestampMs) {
      const table = tables.get(keyOf(asset));
      if (table === undefined) return null;
      const isNative = isNativeCoin(asset);
      const found = lookUp(table.series, timestampMs, isNative, source);
      // A coin may have different decimals on another chain: XTZ has 6 on Tezos and 18 on Etherlink.
      const decimals = isNative ? chainOf(asset.chain).decimals : table.decimals;
      return found && decimals !== null ? withDecimals(found, decimals) : found;
    },
  };
}
