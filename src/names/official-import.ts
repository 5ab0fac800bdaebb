/**
 * Imports the parties of official sanctions lists into the name store, in the same pass in which the label store reads the files.
 * Only the newest file of a list counts: an older file changes nothing, and the same file again only updates the time of the check.
 * All functions require the lock of the label store.
 */
import { isoTime } from '../base/clock.ts';
import { readerOf, type SanctionsList, SOURCES, sourceById } from '../sources/index.ts';
import { LISTS, type ListCatalogue, listCatalogue } from '../sources/lists.ts';
import type { DesignatedParty, SourceRecord } from '../sources/records.ts';
import type { Source } from '../sources/source.ts';
import { UnreadableRows } from '../sources/unreadable-rows.ts';
import type { ListWriter } from './lists.ts';
import type { NameImportDeps } from './lists-import.ts';
import type { NameEntity } from './name.ts';

/**
 * Increase this number if readers keep more of a file than before: the next import of the same file then reads it again. 2: identifiers;
 * 3: nationalities of OFAC's ADVANCED files, identifiers with words and parentheses; 4: elements of the UN list with
 * several names.
 */
const READER_VERSION = 4;

/** Files of sanctions lists that the label store reads. */
export interface OfficialFiles {
  readonly source: string;
  readonly files: readonly string[];
  /** Hash of the content of the files. */
  readonly contentHash: string;
  /** Writes the lists again even if the store has them, and forgets the earlier parties of a damaged file. Default: false. */
  readonly force?: boolean;
}

/** The result of the label store for the same files: which lists they hold. */
export interface OfficialLists {
  readonly lists: readonly { readonly list: SanctionsList; readonly publishedAt: string }[];
  /** ISO time at which the files were fetched from their publisher; null for files of unknown age. */
  readonly checkedAt: string | null;
}

/**
 * Receives the records of one reading of sanctions lists and writes the parties of each list. `finish` puts the lists in force for
 * which the files are the newest; `abort` removes everything else.
 */
class OfficialNames {
  readonly #files: OfficialFiles;
  readonly #sources: readonly Source[];
  readonly #lists: ListCatalogue;
  readonly #deps: NameImportDeps;
  /** Null: the name store has the list with the same content, so its parties are not written again. */
  readonly #writers = new Map<SanctionsList, ListWriter | null>();
  #layout = '';
  #rejected = 0;
  readonly #unreadable: UnreadableRows;
  #hasRecords = false;

  constructor(files: OfficialFiles, deps: NameImportDeps, sources: readonly Source[]) {
    this.#files = files;
    this.#unreadable = new UnreadableRows(files.contentHash);
    this.#deps = deps;
    this.#sources = sources;
    this.#lists = sources === SOURCES ? LISTS : listCatalogue(sources);
  }

  async take(record: SourceRecord<SanctionsList>): Promise<void> {
    this.#hasRecords = true;
    if (record.type === 'header') this.#layout = record.layout;
    else if (record.type === 'reject') {
      this.#rejected++;
      this.#unreadable.add(record.entityId ?? null, `${record.reason} ${record.text}`);
    } else if (record.type === 'party') {
      let writer = this.#writers.get(record.list);
      if (writer === undefined) {
        writer = this.#isKnown(record.list) ? null : await this.#deps.names.write(record.list);
        this.#writers.set(record.list, writer);
      }
      await writer?.add(this.#entityOf(record));
    }
  }

  async finish({ lists, checkedAt }: OfficialLists): Promise<void> {
    const { names } = this.#deps;
    const wanted = new Map<SanctionsList, string>();
    for (const { list, publishedAt } of lists) {
      const row = names.row(list);
      if (row !== null && Date.parse(publishedAt) < Date.parse(row.publishedAt)) continue;
      if (this.#isKnown(list)) names.confirm(list, checkedAt ?? publishedAt);
      else wanted.set(list, publishedAt);
    }
    if (wanted.size === 0) return;
    if (!this.#hasRecords) await this.#read();
    for (const [list, publishedAt] of wanted) await this.#putInForce(list, publishedAt, checkedAt);
  }

  async abort(): Promise<void> {
    for (const writer of this.#writers.values()) await writer?.abort();
  }

  #isKnown(list: SanctionsList): boolean {
    if (this.#files.force === true) return false;
    const row = this.#deps.names.row(list);
    return row?.contentHash === this.#files.contentHash && row.reader === READER_VERSION;
  }

  /**
   * Whether a file is one of several of a publication, which count together: a party is in force if any of them has it. If it is known to be
   * the newer one, it is a correction, and replaces the other (as in the history of the label store).
   */
  #isView(list: SanctionsList, publishedAt: string, checkedAt: string | null): boolean {
    const row = this.#deps.names.row(list);
    if (row === null || Date.parse(row.publishedAt) !== Date.parse(publishedAt)) return false;
    if (row.contentHash === this.#files.contentHash || row.layout !== this.#layout) return false;
    return checkedAt === null || Date.parse(checkedAt) < Date.parse(row.checkedAt);
  }

  /** Reads the files: the label store has their content from an earlier import, but the name store lacks a list of them. */
  async #read(): Promise<void> {
    const { source, files } = this.#files;
    const read = await readerOf(source, undefined, this.#sources);
    for await (const record of read(files)) await this.take(record);
  }

  async #putInForce(list: SanctionsList, publishedAt: string, checkedAt: string | null): Promise<void> {
    const { names, clock, log } = this.#deps;
    const { source, contentHash, force } = this.#files;
    const isView = this.#isView(list, publishedAt, checkedAt);
    // The label store accepts a list without parties only if the import is forced.
    const writer = this.#writers.get(list) ?? (await names.write(list));
    this.#writers.set(list, writer);
    const fresh = {
      list,
      listType: 'sanctions',
      source,
      layout: this.#layout,
      publishedAt,
      checkedAt: isView ? (names.row(list)?.checkedAt ?? publishedAt) : (checkedAt ?? publishedAt),
      importedAt: isoTime(clock.now()),
      contentHash,
      rejected: this.#rejected,
      verified: true,
      reader: READER_VERSION,
    } as const;
    const unreadable = this.#unreadable.all();
    const row = await writer.finish(fresh, { force, keepsFormer: isView, unreadable });
    log.debug({ list, parties: row.parties, delisted: row.delisted }, 'names imported');
  }

  #entityOf(party: DesignatedParty<SanctionsList>): NameEntity {
    return {
      entityId: party.entityId,
      list: party.list,
      listType: 'sanctions',
      schema: party.schema,
      names: party.names,
      birthDates: party.birthDates,
      countries: party.countries,
      programs: party.programs,
      listedAt: party.listedAt,
      delistedAt: party.delistedAt,
      ...(party.identifiers === undefined ? {} : { identifiers: party.identifiers }),
      sourceUrl: this.#lists.partyUrl(party.list, party.entityId),
    };
  }
}

/**
 * Starts to receive the parties of sanctions list files, in the same pass in which the label store reads them.
 *
 * @returns The receiver; null if the source does not feed names.
 */
export const receiveOfficialNames = (
  files: OfficialFiles,
  deps: NameImportDeps,
  sources: readonly Source[] = SOURCES,
): OfficialNames | null =>
  sourceById(files.source, sources).feeds.includes('names') ? new OfficialNames(files, deps, sources) : null;
