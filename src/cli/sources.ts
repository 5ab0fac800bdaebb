/** The list of sources that `assay import` and `assay sync` print, derived from the descriptors. */
import { NAME_SOURCES, REGISTER_SOURCES, SOURCES, syncIds } from '../sources/index.ts';
import type { NameSource, RegisterSource, Source } from '../sources/source.ts';
import { table } from './context.ts';

/** One source, as the commands list it. */
export interface ListedSource {
  /** Argument of the commands. */
  readonly id: string;
  readonly name: string;
  readonly publisher: string;
  /** Null if it is the operator's or varies. */
  readonly licence: string | null;
  /** Stores that its records are imported into. */
  readonly feeds: readonly ('labels' | 'names' | 'registers' | 'prices')[];
  /** Sanctions lists that it publishes. */
  readonly lists: readonly string[];
  /** Whether `assay sync` and a running server download it; otherwise it is downloaded if named, or imported by hand. */
  readonly automatic: boolean;
}

const listed = (
  { id, name, publisher, licence, files, listing, ...more }: Source | NameSource | RegisterSource,
  feeds: ListedSource['feeds'],
): ListedSource => ({
  id,
  name,
  publisher,
  licence,
  feeds,
  lists: 'lists' in more ? more.lists.map((list) => list.id) : [],
  automatic: (files.length > 0 || listing !== null) && !('byDefault' in more && !more.byDefault),
});

/**
 * Returns all sources.
 *
 * @param sources - sources of labels
 */
export const listedSources = (sources: readonly Source[] = SOURCES): readonly ListedSource[] => [
  ...sources.map((source) => listed(source, source.feeds)),
  ...NAME_SOURCES.map((source) => listed(source, ['names'])),
  ...REGISTER_SOURCES.map((source) => listed(source, ['registers'])),
];

/** The daily prices, which `assay sync` downloads, and no file of `assay import` contains. Their servers are settings. */
const PRICES: ListedSource = {
  id: 'prices',
  name: 'Daily prices',
  publisher: 'ASSAY_PRICE_URL, or EVM nodes (ASSAY_RPC_<CHAIN>)',
  licence: null,
  feeds: ['prices'],
  lists: [],
  automatic: true,
};

/**
 * Returns all sources that `assay sync` lists.
 *
 * @param sources - sources of labels
 */
export const syncedSources = (sources: readonly Source[] = SOURCES): readonly ListedSource[] => [
  ...listedSources(sources),
  PRICES,
];

/** Formats sources as a table. */
export function sourceTable(sources: readonly ListedSource[]): string[] {
  const named = new Set(syncIds());
  return table([
    ['SOURCE', 'FEEDS', 'DOWNLOAD', 'PUBLISHER', 'LICENCE'],
    ...sources.map(({ id, feeds, automatic, publisher, licence }) => [
      id,
      feeds.join(', '),
      automatic ? 'automatic' : named.has(id) ? 'if named' : 'by hand',
      publisher,
      licence ?? '-',
    ]),
  ]);
}

/** Returns the help text of the sources, below the options of a command. */
export const sourcesHelp = (sources: readonly ListedSource[]): string =>
  `\nSources:\n${sourceTable(sources)
    .map((line) => `  ${line}`)
    .join('\n')}`;
