/** `assay prices import|show`: own price tables, and what an asset was worth at a time. */
import type { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { importPrices, pricesFolderOf } from '../chains/prices/table.ts';
import { chainOf, isEvm, parseChainId } from '../chains/registry.ts';
import { answer, type Terminal } from './context.ts';
import type { Parts } from './parts.ts';

export function addPricesCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  const prices = program.command('prices').description('what assets were worth in USD');

  prices
    .command('import')
    .description(
      'keep a CSV of prices as an own table, in place of one of the same name (docs/prices-csv.md)',
    )
    .argument('<file>', 'CSV: chain,asset,date,usd[,max_age_days][,decimals]')
    .option('--json', 'answer as JSON')
    .action((file: string, options: { json?: boolean }) => {
      const report = importPrices({ folder: pricesFolderOf(parts().dataDir), file });
      answer(terminal, options.json ?? false, report, () => [
        `${report.rows} prices of ${report.assets} assets, ${report.from} to ${report.to}, in the table '${report.table}'.`,
        'Transfers that are stored keep the value they have; a running server reads the table at its next start.',
      ]);
    });

  prices
    .command('show')
    .description('the price of an asset at a time, and who says so')
    .argument('<chain>', 'the chain of the asset')
    .argument('<asset>', "the chain's symbol, or the address of a token contract")
    .option('--at <time>', 'YYYY-MM-DD or ISO 8601; now where it is left out')
    .option('--json', 'answer as JSON')
    .action(async (chainText: string, assetText: string, options: { at?: string; json?: boolean }) => {
      const chain = parseChainId(chainText);
      const { symbol } = chainOf(chain);
      const isNative = assetText.toUpperCase() === symbol;
      const asset = isNative
        ? symbol
        : isEvm(chain)
          ? parseAddress(chain, assetText, 'asset').canonical
          : assetText;
      const atMs = options.at === undefined ? terminal.clock.now() : Date.parse(options.at);
      if (!Number.isFinite(atMs))
        throw new AssayError('INVALID_REQUEST', `--at is '${options.at}', not a date or a time.`, {
          field: 'at',
        });
      const price = await parts().prices().usdAt({ chain, asset }, atMs, terminal.signal);
      const shown = {
        chain,
        asset,
        at: isoTime(atMs),
        usd: price?.usd ?? null,
        priceAt: price && isoTime(price.atMs),
        source: price?.source ?? null,
      };
      answer(terminal, options.json ?? false, shown, () => [
        price
          ? `1 ${asset} was worth ${price.usd} USD (${price.source}, ${isoTime(price.atMs)}).`
          : `Nobody here knows what ${asset} of ${chain} was worth at ${isoTime(atMs)}.`,
      ]);
    });
}
