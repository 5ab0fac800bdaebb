/**
 * The table of sources: rank, default confidence, and the values of confidence words. Sources with sanctions lists are rows of their
 * descriptors (src/sources/index.ts); all others are rows of data/sources.json.
 */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { type SanctionsList, SOURCES } from '../sources/index.ts';
import { LISTS, type ListCatalogue, listCatalogue } from '../sources/lists.ts';
import type { Source } from '../sources/source.ts';
import { type Derivation, EVIDENCE_CLASSES, type EvidenceClass, isDerived } from './evidence-class.ts';

export interface SourceRow {
  readonly id: string;
  readonly name: string;
  readonly publisher: string;
  readonly url: string | null;
  /** Decides which source comes first if class, confidence and date are equal; higher first. */
  readonly rank: number;
  /** Confidence, 0 to 1, of a record that states none. */
  readonly confidence: number;
  /** Kind of evidence behind the source's labels. */
  readonly class: EvidenceClass;
  /** Labels of one group count as one voice; only different groups confirm each other. */
  readonly independenceGroup: string;
  /** The source repeats pages of other publishers: a label that cites a page counts as the voice of that page. */
  readonly collection?: boolean;
  /** The rule of a structural or inferred source, with its measured error rate. */
  readonly derivation?: Derivation;
  /** A tag `corrects:CATEGORY` of this source's labels is honoured. */
  readonly corrects?: boolean;
  /** Sanctions lists that this source publishes. */
  readonly lists: readonly SanctionsList[];
}

export interface SourceTable {
  readonly rows: readonly SourceRow[];
  of(source: string): SourceRow | null;
  /** Returns the class of the labels of a source; `inferred` for a source that is not in the table. */
  classOf(source: string): EvidenceClass;
  /**
   * Returns the independence group of a label.
   * @param sourceUrl Page with the evidence for the label: collections repeat other publishers, and the original publisher decides.
   */
  groupOf(source: string, sourceUrl: string | null): string;
  /** Returns the maximum confidence of all labels of a group together, 0 to 1. */
  groupConfidenceMax(group: string): number;
  /**
   * Returns the confidence of a record of `source` that prints `stated`: a
   * word of the table, or a number from 0 to 1; null if it is neither.
   */
  confidence(source: string, stated: string | null): number | null;
  /** Confidence of a sanctions entry that is no longer in force. */
  readonly historyConfidence: number;
  /** The sanctions lists of the sources. */
  readonly lists: ListCatalogue;
  authority(list: SanctionsList): string;
  /** Returns a URL at which people can read an entry of a list. */
  partyUrl(list: SanctionsList, entityId: string): string;
  /** Returns the source that publishes a list; `own` if no source does. */
  sourceOf(list: SanctionsList): string;
}

interface OriginRow {
  /** Prefix of source URLs, without scheme and `www.`. */
  readonly prefix: string;
  readonly independenceGroup: string;
  readonly why: string;
}

interface SourcesFile {
  readonly sources: readonly (Omit<SourceRow, 'lists' | 'derivation'> & {
    readonly derivation?: Omit<Derivation, 'notMeasured'> & Partial<Pick<Derivation, 'notMeasured'>>;
  })[];
  readonly independenceGroups: Readonly<Record<string, { readonly confidenceMax: number }>>;
  readonly platforms: readonly string[];
  readonly origins: readonly OriginRow[];
  readonly confidenceWords: Readonly<Record<string, number>>;
  readonly historyConfidence: number;
}

/** Confidence if neither the record nor the table states one. */
const DEFAULT_CONFIDENCE = 0.5;

/** Maximum number of pages with a cached group: publishers have few pages, and a label index shares their texts. */
const PAGES_KEPT_MAX = 10_000;

interface PageGroup {
  readonly group: string;
  /** The group is from `origins`, which apply to every source. */
  readonly isOrigin: boolean;
}

/** Returns a URL in the form of `origins`: without scheme and `www.`. */
const bareUrl = (url: string): string => url.replace(/^https?:\/\/(www\.)?/i, '');

/** Returns whether a bare URL is the prefix itself or lies below it: `reddit.com` is not a prefix of `reddit.community`. */
const isBelow = (bare: string, prefix: string): boolean =>
  bare.toLowerCase().startsWith(prefix.toLowerCase()) && !/^[a-z0-9.-]/i.test(bare.slice(prefix.length));

/** Returns the publisher behind a page: its site, or the page itself on a platform on which anyone can publish. */
function voiceOf(url: string, platforms: ReadonlySet<string>): string {
  const page = bareUrl(url)
    .replace(/[?#].*$/, '')
    .replace(/\/+$/, '');
  const site = (page.split('/')[0] ?? '').toLowerCase();
  return platforms.has(site) ? `page ${page}` : `site ${site}`;
}

function checkFile(file: SourcesFile, path: string): void {
  for (const row of file.sources) {
    if (!EVIDENCE_CLASSES.includes(row.class))
      throw new AssayError(
        'STORE_CORRUPT',
        `${path}: class of ${row.id} must be one of ${EVIDENCE_CLASSES}.`,
      );
    if (typeof row.independenceGroup !== 'string' || row.independenceGroup === '')
      throw new AssayError('STORE_CORRUPT', `${path}: independenceGroup of ${row.id} is missing.`);
  }
  for (const { id, class: evidence, derivation } of file.sources) {
    if (derivation === undefined) continue;
    const invalid = (what: string): AssayError =>
      new AssayError('STORE_CORRUPT', `${path}: derivation of ${id} ${what}.`);
    if (!isDerived(evidence)) throw invalid('is only allowed for structural and inferred sources');
    if (!Number.isInteger(derivation.version) || derivation.version < 1)
      throw invalid('must have a version from 1');
    for (const rate of [derivation.precision, derivation.recall])
      if (rate !== null && !(rate >= 0 && rate <= 1)) throw invalid('must have rates from 0 to 1, or null');
    if (derivation.precision !== null && (derivation.measuredOn === null || derivation.measuredAt === null))
      throw invalid('has a rate without measuredOn and measuredAt');
    const isWhole = derivation.precision !== null && derivation.recall !== null;
    if (isWhole !== (derivation.notMeasured === undefined))
      throw invalid('must say in notMeasured why a rate is null, and nothing there if none is');
  }
  for (const [group, { confidenceMax }] of Object.entries(file.independenceGroups))
    if (!(confidenceMax > 0 && confidenceMax <= 1))
      throw new AssayError('STORE_CORRUPT', `${path}: confidenceMax of ${group} must be above 0, at most 1.`);
}

/** Returns the rows of the sources with sanctions lists: an authority names the address itself. */
export const listSourceRows = (sources: readonly Source[] = SOURCES): readonly SourceRow[] =>
  sources
    .filter(({ lists }) => lists.length > 0)
    .map(({ id, name, publisher, homepage, rank, lists }) => ({
      id,
      name,
      publisher,
      url: homepage,
      rank,
      confidence: 1,
      class: 'list',
      independenceGroup: id,
      lists: lists.map((list) => list.id as SanctionsList),
    }));

/**
 * Reads and validates data/sources.json, and adds the sources with sanctions lists.
 *
 * @throws STORE_CORRUPT naming the faulty row and field.
 */
export function loadSourceTable(
  path: string = shippedData('sources.json'),
  sources: readonly Source[] = SOURCES,
): SourceTable {
  const file = JSON.parse(readFileSync(path, 'utf8')) as SourcesFile;
  checkFile(file, path);
  const own = file.sources.map(
    ({ derivation, ...row }): SourceRow => ({
      ...row,
      ...(derivation === undefined ? {} : { derivation: { notMeasured: null, ...derivation } }),
      lists: [],
    }),
  );
  const all = [...listSourceRows(sources), ...own];
  const rows = new Map(all.map((row) => [row.id, row]));
  const lists = sources === SOURCES ? LISTS : listCatalogue(sources);
  const limits = new Map(
    Object.entries(file.independenceGroups).map(([group, { confidenceMax }]) => [group, confidenceMax]),
  );
  const platforms = new Set(file.platforms);
  let pages = new Map<string, PageGroup>();
  const groupOfPage = (sourceUrl: string): PageGroup => {
    const known = pages.get(sourceUrl);
    if (known !== undefined) return known;
    const bare = bareUrl(sourceUrl);
    const origin = file.origins.find(({ prefix }) => isBelow(bare, prefix));
    const found: PageGroup = origin
      ? { group: origin.independenceGroup, isOrigin: true }
      : { group: voiceOf(sourceUrl, platforms), isOrigin: false };
    if (pages.size >= PAGES_KEPT_MAX) pages = new Map();
    pages.set(sourceUrl, found);
    return found;
  };
  return {
    rows: all,
    of: (source) => rows.get(source) ?? null,
    classOf: (source) => rows.get(source)?.class ?? 'inferred',
    groupOf(source, sourceUrl) {
      const row = rows.get(source);
      const own = row?.independenceGroup ?? source;
      if (sourceUrl === null) return own;
      const { group, isOrigin } = groupOfPage(sourceUrl);
      return isOrigin || row?.collection === true ? group : own;
    },
    groupConfidenceMax: (group) => limits.get(group) ?? 1,
    confidence(source, stated) {
      if (stated === null || stated.trim() === '') return rows.get(source)?.confidence ?? DEFAULT_CONFIDENCE;
      const word = file.confidenceWords[stated.trim().toLowerCase()];
      if (word !== undefined) return word;
      const number = Number(stated);
      return number >= 0 && number <= 1 ? number : null;
    },
    historyConfidence: file.historyConfidence,
    lists,
    authority: lists.authority,
    partyUrl: lists.partyUrl,
    sourceOf: (list) => lists.sourceOf(list) ?? 'own',
  };
}

let shipped: SourceTable | null = null;

/** Returns the shipped table, which is read once per thread. */
export function shippedSources(): SourceTable {
  shipped ??= loadSourceTable();
  return shipped;
}
