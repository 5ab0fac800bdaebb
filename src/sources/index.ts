/**
 * The list of sources: a publisher is added by one descriptor in a folder of its own and one line here. Ids and types, commands and
 * their help, freshness, coverage, name screening, downloads and tables are derived from this list. The order is the order in
 * which answers name the sanctions lists.
 */
import { AssayError } from '../base/errors.ts';
import { afm } from './afm/source.ts';
import { amf } from './amf/source.ts';
import { austrac } from './austrac/source.ts';
import { bafin } from './bafin/source.ts';
import { bitcoinHeist } from './bitcoinheist/source.ts';
import { cardanoTokens } from './cardano-tokens/source.ts';
import { cftc } from './cftc/source.ts';
import { companiesHouse } from './companies-house/source.ts';
import { cssf } from './cssf/source.ts';
import { esma } from './esma/source.ts';
import { ethereumContracts, ethereumTokens } from './ethereum-lists/source.ts';
import { eu } from './eu/source.ts';
import { euParliament } from './eu-parliament/source.ts';
import { everyPolitician } from './everypolitician/source.ts';
import { exchanges } from './exchanges/source.ts';
import { fbiWanted } from './fbi/source.ts';
import { fca } from './fca/source.ts';
import { fincen } from './fincen/source.ts';
import { finma } from './finma/source.ts';
import { fintrac } from './fintrac/source.ts';
import { fmali } from './fmali/source.ts';
import { graphsense } from './graphsense/source.ts';
import { hanfa } from './hanfa/source.ts';
import { interpolRed } from './interpol/source.ts';
import { jfsa } from './jfsa/source.ts';
import { kofiu } from './kofiu/source.ts';
import { l2beat } from './l2beat/source.ts';
import { mas } from './mas/source.ts';
import { mbal } from './mbal/source.ts';
import { nydfs } from './nydfs/source.ts';
import { ofac } from './ofac/source.ts';
import { oli } from './oli/source.ts';
import { openSanctions } from './opensanctions/source.ts';
import { openSanctionsWallets } from './opensanctions-wallets/source.ts';
import type { OwnMapping } from './own/columns.ts';
import { own } from './own/source.ts';
import { packages } from './packages/source.ts';
import { people } from './people/source.ts';
import { polkadotPhishing } from './polkadot-phishing/source.ts';
import { pools } from './pools/source.ts';
import { ransomwhere } from './ransomwhere/source.ts';
import type { SourceReader } from './records.ts';
import { registers } from './registers/source.ts';
import { scamDatabase, uniswapTokens } from './restricted/source.ts';
import { samExclusions } from './sam/source.ts';
import { scams } from './scams/source.ts';
import { scm } from './scm/source.ts';
import { seco } from './seco/source.ts';
import { seed } from './seed/source.ts';
import { sfc } from './sfc/source.ts';
import type { Source } from './source.ts';
import { sourcify } from './sourcify/source.ts';
import { tonLabels } from './ton-labels/source.ts';
import { trustWallet } from './trustwallet/source.ts';
import { uk } from './uk/source.ts';
import { ukParliament } from './uk-parliament/source.ts';
import { un } from './un/source.ts';
import { usCongress } from './us-congress/source.ts';
import { vara } from './vara/source.ts';
import { worldCheck } from './world-check/source.ts';
import { worldBank } from './worldbank/source.ts';

/** Sources of labels; those with sanctions lists first. */
export const SOURCES = [
  ofac,
  eu,
  un,
  uk,
  seco,
  graphsense,
  exchanges,
  pools,
  scams,
  packages,
  tonLabels,
  ethereumTokens,
  ethereumContracts,
  polkadotPhishing,
  cardanoTokens,
  oli,
  ransomwhere,
  bitcoinHeist,
  trustWallet,
  l2beat,
  sourcify,
  openSanctionsWallets,
  scamDatabase,
  uniswapTokens,
  mbal,
  seed,
  own,
] as const;

/** Sources of names only. */
export const NAME_SOURCES = [
  openSanctions,
  worldBank,
  fbiWanted,
  interpolRed,
  samExclusions,
  companiesHouse,
  everyPolitician,
  ukParliament,
  euParliament,
  usCongress,
  worldCheck,
  people,
] as const;

/** Sources of regulatory registers. */
export const REGISTER_SOURCES = [
  esma,
  amf,
  afm,
  cssf,
  hanfa,
  bafin,
  finma,
  fmali,
  fca,
  fincen,
  nydfs,
  cftc,
  fintrac,
  austrac,
  jfsa,
  kofiu,
  sfc,
  mas,
  scm,
  vara,
  registers,
] as const;

type AnySource = (typeof SOURCES)[number];

export type SourceId = AnySource['id'];
export type NameSourceId = (typeof NAME_SOURCES)[number]['id'];
export type RegisterSourceId = (typeof REGISTER_SOURCES)[number]['id'];

/** A sanctions list that a source publishes. */
export type ListId = AnySource['lists'][number]['id'];

/** A list of a sanctions entry; `OTHER` is a list that Assay does not read, named by a shipped fact. */
export type SanctionsList = ListId | 'OTHER';

/** A jurisdiction with sanctions lists. */
export type ListGroup = AnySource['lists'][number]['group'];

/**
 * Finds the descriptor of a source.
 *
 * @throws Error if no source has the id: ids are parsed before they are used.
 */
export function sourceById(id: string, sources: readonly Source[] = SOURCES): Source {
  const found = sources.find((source) => source.id === id);
  if (found === undefined) throw new Error(`There is no source '${id}'.`);
  return found;
}

/**
 * Parses the id of a source in any letter case.
 *
 * @param others - Ids that the caller reads by other means; the error lists them too.
 * @throws INVALID_REQUEST with the list of sources if no source has this id.
 */
export function parseSource(
  text: string,
  others: readonly string[] = [],
  sources: readonly Source[] = SOURCES,
): SourceId {
  const found = sources.find(({ id }) => id === text.toLowerCase());
  if (found) return found.id as SourceId;
  throw new AssayError(
    'INVALID_REQUEST',
    `source: must be one of ${[...sources.map(({ id }) => id), ...others].join(', ')} (got '${text.slice(0, 32)}').`,
    { field: 'source' },
  );
}

/** Returns the sources that can be downloaded. */
export const downloadable = <
  Described extends { readonly files: readonly unknown[]; readonly listing: unknown },
>(
  sources: readonly Described[],
): readonly Described[] => sources.filter(({ files, listing }) => files.length > 0 || listing !== null);

/** Returns the arguments of `assay import`. */
export const importIds = (sources: readonly Source[] = SOURCES): readonly string[] =>
  [...sources, ...NAME_SOURCES, ...REGISTER_SOURCES].map(({ id }) => id);

/** Returns the arguments of `assay sync` that download files. */
export const syncIds = (sources: readonly Source[] = SOURCES): readonly string[] =>
  downloadable([...sources, ...REGISTER_SOURCES]).map(({ id }) => id);

/**
 * Splits files of one import into groups that are read, and counted as published, together.
 *
 * @throws INVALID_FILE if a file cannot be opened.
 */
export async function groupFiles(
  id: string,
  files: readonly string[],
  sources: readonly Source[] = SOURCES,
): Promise<string[][]> {
  const { grouping } = sourceById(id, sources);
  if (grouping === 'together') return [[...files]];
  return grouping === 'each' ? files.map((file) => [file]) : grouping(files);
}

/** Loads the reader of a source. */
export function readerOf(
  id: string,
  mapping?: OwnMapping,
  sources: readonly Source[] = SOURCES,
): Promise<SourceReader<SanctionsList>> {
  const lists = sources.flatMap((source) => source.lists.map((list) => list.id));
  // The descriptor's type allows its reader only the lists of its source.
  return sourceById(id, sources).read({ lists, mapping }) as Promise<SourceReader<SanctionsList>>;
}
