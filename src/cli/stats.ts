/** `assay stats`: stored transfers by chain, and the assets without a price. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import type { PriceStatus } from '../chains/assets.ts';
import { assetName } from '../chains/prices/book.ts';
import { CHAINS, type ChainId, parseChainId } from '../chains/registry.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import type { Services } from './services.ts';

interface UnpricedAsset {
  readonly asset: string;
  readonly name: string;
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** Status of the price that a current transfer would get from the tables. */
  readonly priceStatus: PriceStatus;
}

interface ChainStats {
  readonly chain: ChainId;
  readonly transfers: number;
  readonly asOf: string | null;
  readonly assets: number;
  readonly unpricedTransfers: number;
  readonly unpricedAssets: number;
  /** Sorted by the number of unpriced transfers, largest first. */
  readonly unpriced: readonly UnpricedAsset[];
}

/** Default and maximum number of listed assets: a chain with spam tokens has hundreds of thousands. */
const LISTED = 10;
const LISTED_MAX = 10_000;

function statsOf(chain: ChainId, limit: number, opened: Services, terminal: Terminal): ChainStats | null {
  const store = opened.transfers('read');
  const { transfers, asOf } = store.coverage(chain);
  if (transfers === 0) return null;
  const { pegs, book } = opened.installedPrices();
  const uses = store.assetUses(chain, terminal.signal);
  const unpriced = uses.filter(({ unpricedTransfers }) => unpricedTransfers > 0);
  return {
    chain,
    transfers,
    asOf,
    assets: uses.length,
    unpricedTransfers: unpriced.reduce((sum, { unpricedTransfers }) => sum + unpricedTransfers, 0),
    unpricedAssets: unpriced.length,
    unpriced: unpriced.slice(0, limit).map(({ asset, transfers: count, unpricedTransfers }) => ({
      asset,
      name: assetName({ chain, asset }, pegs),
      transfers: count,
      unpricedTransfers,
      priceStatus: book.priceStatusAt(chain, asset, opened.clock.now()),
    })),
  };
}

function linesOf(chains: readonly ChainStats[]): readonly string[] {
  if (chains.length === 0) return ['No transfer is stored.'];
  return [
    ...table([
      ['CHAIN', 'TRANSFERS', 'UNPRICED', 'ASSETS', 'UNPRICED ASSETS', 'AS OF'],
      ...chains.map((one) => [
        one.chain,
        String(one.transfers),
        String(one.unpricedTransfers),
        String(one.assets),
        String(one.unpricedAssets),
        one.asOf ?? '-',
      ]),
    ]),
    ...chains.flatMap(({ chain, unpriced, unpricedAssets }) =>
      unpriced.length === 0
        ? []
        : [
            '',
            ...table([
              [`${chain}: ASSET WITHOUT A PRICE`, 'UNPRICED', 'TRANSFERS', 'PRICE NOW'],
              ...unpriced.map((one) => [
                one.name,
                String(one.unpricedTransfers),
                String(one.transfers),
                one.priceStatus,
              ]),
            ]),
            ...(unpricedAssets > unpriced.length
              ? [`… and ${unpricedAssets - unpriced.length} more (--limit).`]
              : []),
          ],
    ),
  ];
}

/** Adds `assay stats`. */
export function addStatsCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('stats')
    .description('show stored transfers by chain, and the assets without a price')
    .argument('[chain...]', 'chains; default: all')
    .option('--limit <n>', `maximum assets per chain, up to ${LISTED_MAX}`, String(LISTED))
    .option('--json', 'answer as JSON')
    .action((chainTexts: string[], options: { limit: string; json?: boolean }) => {
      const limit = wholeNumber('--limit', options.limit, 0, LISTED_MAX);
      const ids =
        chainTexts.length === 0 ? CHAINS.map(({ id }) => id) : chainTexts.map((text) => parseChainId(text));
      const opened = services();
      const chains: ChainStats[] = [];
      for (const chain of ids) {
        const stats = statsOf(chain, limit, opened, terminal);
        if (stats !== null) chains.push(stats);
        else if (chainTexts.length > 0)
          throw new AssayError('NOT_READY', `No transfer of ${chain} is stored. Run \`assay ingest\` first.`);
      }
      answer(terminal, options.json ?? false, { chains }, () => linesOf(chains));
    });
}
