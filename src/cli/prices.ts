/** `assay prices import|show`: own price tables, and the price of an asset at a time. */
import type { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { utcTimeOf } from '../base/iso-times.ts';
import { assetName } from '../chains/prices/book.ts';
import { importMarketChart } from '../chains/prices/daily.ts';
import type { PricedAsset, UsdPrice } from '../chains/prices/price.ts';
import { importPrices, pricesFolderOf } from '../chains/prices/table.ts';
import { parseChainId } from '../chains/registry.ts';
import { canonicalAsset } from '../chains/tokens.ts';
import { answer, type Terminal } from './context.ts';
import type { Services } from './services.ts';

interface ImportFlags {
  readonly chain?: string;
  readonly asset?: string;
  readonly json?: boolean;
}

/**
 * Parses an asset into the form in which transfers name it.
 *
 * @throws UNKNOWN_CHAIN, INVALID_ADDRESS
 */
function assetFrom(chainText: string, assetText: string): PricedAsset {
  const chain = parseChainId(chainText);
  return { chain, asset: canonicalAsset(chain, assetText) };
}

const DAY_MS = 86_400_000;

/** Age in days with one decimal; a peg to the dollar has no age. */
const ageDays = (ageMs: number): number => Math.round((Math.max(0, ageMs) / DAY_MS) * 10) / 10;

/** Describes status, source and age of a price. */
function describe(price: UsdPrice, atMs: number): string {
  const age = `${ageDays(atMs - price.atMs)} days old, of ${isoTime(price.atMs)}`;
  if (price.status !== 'PEG') return `${price.status}, ${price.source}, ${age}`;
  if (price.coin === undefined) return 'PEG, one US dollar';
  const { symbol, status, source } = price.coin;
  return `PEG, one ${symbol}, whose price is ${status}, ${source}, ${age}`;
}

/** Adds `assay prices`. */
export function addPricesCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const prices = program.command('prices').description('manage USD prices of assets');

  prices
    .command('import')
    .description(
      'import a file of prices as an own table; it replaces one of the same name (docs/prices-csv.md)',
    )
    .argument(
      '<file>',
      'CSV (chain,asset,date,usd[,max_age_days][,decimals]), or the JSON of market_chart together with --chain and --asset',
    )
    .option('--chain <chain>', 'chain of the asset, for a file in the format of market_chart')
    .option('--asset <asset>', 'symbol or token contract, for a file in the format of market_chart')
    .option('--json', 'answer as JSON')
    .action((file: string, options: ImportFlags) => {
      const opened = services();
      const folder = pricesFolderOf(opened.dataDir);
      const isChart = options.chain !== undefined || options.asset !== undefined;
      if (isChart && (options.chain === undefined || options.asset === undefined))
        throw new AssayError('INVALID_REQUEST', '--chain and --asset: give both, or neither for a CSV.');
      const report = isChart
        ? importMarketChart(
            { folder, file, ...assetFrom(options.chain ?? '', options.asset ?? '') },
            opened.clock,
          )
        : importPrices({ folder, file });
      answer(terminal, options.json ?? false, report, () => [
        `${report.rows} prices of ${report.assets} assets, ${report.from} to ${report.to}, in the table '${report.table}'.`,
        'Stored transfers keep their value. A running server uses the table within seconds.',
      ]);
    });

  prices
    .command('show')
    .description('show the price of an asset at a time, with its status and age')
    .argument('<chain>', 'chain of the asset')
    .argument('<asset>', 'symbol of the chain, or address of a token contract')
    .option('--at <time>', 'YYYY-MM-DD or ISO 8601; default: now')
    .option('--json', 'answer as JSON')
    .action(async (chainText: string, assetText: string, options: { at?: string; json?: boolean }) => {
      const asset = assetFrom(chainText, assetText);
      const atMs = options.at === undefined ? terminal.clock.now() : utcTimeOf(options.at);
      if (!Number.isFinite(atMs))
        throw new AssayError('INVALID_REQUEST', `--at: not a date or a time (got '${options.at}').`, {
          field: 'at',
        });
      const opened = services();
      const price = await opened.prices().usdAt(asset, atMs, terminal.signal);
      const shown = {
        ...asset,
        at: isoTime(atMs),
        usd: price?.usd ?? null,
        priceStatus: price?.status ?? 'NONE',
        priceAt: price && isoTime(price.atMs),
        ageDays: price && ageDays(atMs - price.atMs),
        source: price?.source ?? null,
        coin: price?.coin ?? null,
        validUntil: opened.installedPrices().pegs.of(asset)?.validUntil ?? null,
      };
      const name = assetName(asset, opened.installedPrices().pegs);
      answer(terminal, options.json ?? false, shown, () => [
        price
          ? `1 ${name} was worth ${price.usd} USD at ${isoTime(atMs)}: ${describe(price, atMs)}.`
          : `No price of ${name} on ${asset.chain} at ${isoTime(atMs)} is known (NONE).`,
      ]);
    });
}
