/**
 * Imports publishers' files into the store of labels: attributed addresses become segments, sanctions lists become history.
 * Importing the same content twice changes nothing. The index is built elsewhere.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { listParts, openBytes } from '../sources/open.ts';
import type { OwnMapping } from '../sources/own/columns.ts';
import type {
  AttributedAddress,
  DesignatedParty,
  FileHeader,
  SanctionsList,
  SourceRecord,
} from '../sources/records.ts';
import { slugOf } from './entities.ts';
import { type ListCheck, readListChecks } from './freshness.ts';
import { groupFiles, type ImportSourceId, readerOf } from './import-sources.ts';
import { dayFromIso } from './index/days.ts';
import { createSegmentWriter, type SegmentStats, type SegmentWriter } from './index/segment.ts';
import { createMapper, type Mapper, type Rulebook, type When } from './map.ts';
import { importOwnCsv, isPlainCsv } from './own-import.ts';
import { createRejectsWriter, type RejectsWriter } from './rejects.ts';
import {
  comparePublications,
  delistedAt,
  hasFile,
  joinEntries,
  type ListFile,
  type ListState,
  type ObservedEntry,
  publicationOf,
  type ReadList,
  withFile,
} from './sanctions.ts';
import type { DatasetRow, LabelStore, StoreWriter } from './store.ts';

export interface ImportProgress {
  readonly source: ImportSourceId;
  /** Name of the file that is being read. */
  readonly file: string;
  readonly records: number;
  readonly rejected: number;
}

export interface ImportRequest {
  readonly source: ImportSourceId;
  readonly files: readonly string[];
  /** Publication of a list whose file does not say it: ISO date. */
  readonly published?: string;
  /** Delist more than half of a list, replace by an empty list, import unchanged content again. */
  readonly force?: boolean;
  /** `own`: columns of the file and the fields they stand for. */
  readonly mapping?: OwnMapping;
  /** Name of the dataset, where the one that the source gives (layout, file name) is not wanted. */
  readonly dataset?: string;
  /** `Last-Modified` of a download: ISO time. */
  readonly lastModified?: string | null;
  /** ISO time at which the files were fetched from their publisher. Default: a file proves its list up to its publication only. */
  readonly checkedAt?: string;
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly signal?: AbortSignal;
}

export interface ImportDeps {
  readonly store: LabelStore;
  readonly rules: Rulebook;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of files of sanctions lists once their wallets are in the store, its lock still held: others read the same files. */
  readonly onLists?: (read: ListsRead) => Promise<void>;
}

/** Files of sanctions lists that were imported, or had been before. */
export interface ListsRead {
  readonly source: ImportSourceId;
  readonly files: readonly string[];
  readonly contentHash: string;
  readonly lists: readonly Pick<ListChange, 'list' | 'publishedAt'>[];
  readonly checkedAt: string | null;
}

/** What an import did to one list. */
export interface ListChange {
  readonly list: SanctionsList;
  readonly publishedAt: string;
  /** Publication of the newest file of the list, which decides; not this one's where this one is older. */
  readonly newestAt: string | null;
  readonly parties: number;
  readonly wallets: number;
  /** Wallets in force afterwards, and wallets known as history. */
  readonly inForce: number;
  readonly delisted: number;
}

export interface DatasetReport {
  readonly source: string;
  readonly dataset: string;
  readonly layout: string;
  readonly files: readonly string[];
  readonly publishedAt: string | null;
  /** `history`: an older file of a list, which adds to the past and changes nothing in force. */
  readonly status: 'imported' | 'unchanged' | 'history';
  /** Records of the publisher, rejects not counted; parties for a list. */
  readonly records: number;
  readonly labels: number;
  readonly rejected: number;
  /** File with the rejected rows; null where there are none. */
  readonly rejectsFile: string | null;
  readonly lists: readonly ListChange[];
}

export interface ImportReport {
  readonly source: ImportSourceId;
  readonly datasets: readonly DatasetReport[];
  /** Whether the store holds anything now that a snapshot built before does not. */
  readonly changed: boolean;
}

/** Records between two looks at the signal and calls of `onProgress`. */
const LOOK_EVERY = 4_096;

/**
 * Imports files of one source. Throws INVALID_FILE (unreadable, no publication date), IMPLAUSIBLE_LIST, STORE_BUSY. Each
 * file, or set of files that belong together, is imported whole or not at all.
 */
export async function importFiles(request: ImportRequest, deps: ImportDeps): Promise<ImportReport> {
  if (request.files.length === 0) {
    throw new AssayError('INVALID_REQUEST', 'files: name at least one file to import.', { field: 'file' });
  }
  for (const file of request.files) requireFile(file);
  return deps.store.locked(async (writer) => {
    const before = deps.store.revision();
    const datasets: DatasetReport[] = [];
    for (const files of await groupFiles(request.source, request.files)) {
      const work = new FileImport(request, files, writer, deps);
      const reports = await work.run();
      datasets.push(...reports);
      const lists = reports.flatMap((report) => report.lists);
      if (lists.length > 0) {
        const { contentHash } = work;
        const checkedAt = request.checkedAt ?? null;
        await deps.onLists?.({ source: request.source, files, contentHash, lists, checkedAt });
      }
    }
    return { source: request.source, datasets, changed: deps.store.revision() !== before };
  });
}

function requireFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return;
  throw new AssayError('INVALID_FILE', `file: ${path} is not a file.`, { field: 'file' });
}

/** SHA-256 over what the files hold, unwrapped, whatever their names and order. */
export async function contentHashOf(files: readonly string[], salt = ''): Promise<string> {
  const hashes: string[] = [];
  for (const file of files) {
    for (const part of await listParts(file)) {
      const hash = createHash('sha256');
      for await (const bytes of openBytes(part)) hash.update(bytes);
      hashes.push(hash.digest('hex'));
    }
  }
  return createHash('sha256').update(hashes.sort().join()).update(salt).digest('hex');
}

/** One file of a publisher as it is read: a zip can hold several. */
interface ListUnit {
  header: FileHeader | null;
  readonly lists: Map<SanctionsList, { readonly parties: Set<string>; readonly entries: ObservedEntry[] }>;
  readonly rejects: RejectsWriter;
  records: number;
}

/** The import of files that belong together. */
class FileImport {
  private readonly request: ImportRequest;
  private readonly files: readonly string[];
  private readonly writer: StoreWriter;
  private readonly deps: ImportDeps;
  private readonly mapper: Mapper;
  private readonly names: readonly string[];
  /** Names what the files hold, once `run` has read them. */
  contentHash = '';
  private records = 0;
  private rejected = 0;

  constructor(request: ImportRequest, files: readonly string[], writer: StoreWriter, deps: ImportDeps) {
    this.request = request;
    this.files = files;
    this.writer = writer;
    this.deps = deps;
    this.mapper = createMapper(deps.rules);
    this.names = files.map((file) => basename(file));
  }

  async run(): Promise<readonly DatasetReport[]> {
    const { source, mapping } = this.request;
    const salt = mapping ? JSON.stringify(mapping) : '';
    const contentHash = await contentHashOf(this.files, salt);
    this.contentHash = contentHash;
    const lists = this.deps.rules.sources.of(source)?.lists ?? [];
    return lists.length > 0
      ? await this.importLists(lists, contentHash)
      : [await this.importAddresses(contentHash)];
  }

  /** Reads the files to their end, handing on what is not a reject. */
  private async read(
    visit: (record: Exclude<SourceRecord, { type: 'reject' }>) => void,
    reject: RejectsWriter['add'],
  ): Promise<void> {
    const { source, mapping, signal, onProgress } = this.request;
    const tell = (): void => {
      onProgress?.({
        source,
        file: this.names.join(', '),
        records: this.records,
        rejected: this.rejected,
      });
      signal?.throwIfAborted();
    };
    for await (const record of readerOf(source, mapping)(this.files)) {
      if (record.type === 'reject') {
        this.rejected++;
        reject(record.reason, record.text, record.provenance);
      } else {
        if (record.type !== 'header') this.records++;
        visit(record);
      }
      if ((this.records + this.rejected) % LOOK_EVERY === 0) tell();
    }
    tell();
  }

  // --- attributed addresses -------------------------------------------------------------------------------------------

  private async importAddresses(contentHash: string): Promise<DatasetReport> {
    const { store, rules } = this.deps;
    const { source, force } = this.request;
    const same = store
      .catalogue()
      .datasets.find(
        (row) =>
          row.source === source &&
          row.contentHash === contentHash &&
          row.rules === rules.fingerprint &&
          (this.request.dataset === undefined || row.dataset === slugOf(this.request.dataset)),
      );
    if (same && force !== true) return datasetReport(same, 'unchanged', this.names, null);
    const staged = this.writer.stage();
    const segments = new StagedSegments(staged);
    const rejects = createRejectsWriter(join(staged, 'rejects.ndjson'));
    try {
      const header =
        (await this.readPlainCsv(segments, rejects)) ?? (await this.readRecords(segments, rejects));
      const closed = await segments.close();
      if (force !== true) this.requireLabels(header, closed, rejects);
      return this.commitDataset(header, contentHash, staged, closed, rejects);
    } catch (error) {
      segments.abort();
      rejects.abort();
      throw error;
    }
  }

  /** Reads any source record by record. */
  private async readRecords(segments: StagedSegments, rejects: RejectsWriter): Promise<FileHeader> {
    const { source } = this.request;
    const headers: FileHeader[] = [];
    await this.read(
      (record) => {
        if (record.type === 'header') headers.push(record);
        else if (record.type === 'address') this.addLabel(record, segments, rejects);
        else {
          this.rejected++;
          rejects.add(
            'A party of a sanctions list in a source that is none.',
            record.entityId,
            record.provenance,
          );
        }
      },
      (reason, text, provenance) => rejects.add(reason, text, provenance),
    );
    const [header] = headers;
    if (header === undefined) throw new Error(`The reader of ${source} yielded no header.`);
    return header;
  }

  /** Reads a plain CSV of own labels the quick way; null for anything else. */
  private async readPlainCsv(segments: StagedSegments, rejects: RejectsWriter): Promise<FileHeader | null> {
    const { source, mapping, signal, onProgress } = this.request;
    const [path] = this.files;
    if (source !== 'own' || path === undefined || !(await isPlainCsv(path))) return null;
    this.records = await importOwnCsv(
      {
        path,
        ...(mapping ? { mapping } : {}),
        ...(signal ? { signal } : {}),
        onProgress: (records) =>
          onProgress?.({ source, file: this.names.join(', '), records, rejected: this.rejected }),
      },
      {
        segment: segments.of('always'),
        mapper: this.mapper,
        currencies: this.deps.rules.currencies,
        take: (record) => this.addLabel(record, segments, rejects),
        reject: (reason, text, provenance) => {
          this.rejected++;
          rejects.add(reason, text, provenance);
        },
      },
    );
    return { type: 'header', lists: [], publishedAt: null, layout: 'OWN_CSV' };
  }

  private addLabel(record: AttributedAddress, segments: StagedSegments, rejects: RejectsWriter): void {
    const mapped = this.mapper.map(this.request.source, record);
    if (!mapped.ok) {
      this.rejected++;
      rejects.add(
        mapped.reason,
        `${record.currency ?? ''} ${record.address} ${record.actorName}`,
        record.provenance,
      );
      return;
    }
    const first = dayFromIso(mapped.firstSeen);
    const last = dayFromIso(mapped.lastSeen);
    for (const { when, template } of mapped.labels) {
      const segment = segments.of(when);
      segment.add(mapped.key, 0, mapped.key.length, segment.template(template), first, last);
    }
  }

  /** A file of another kind reads as nothing but rejects; it must not take the place of labels that are good. */
  private requireLabels(header: FileHeader, closed: readonly ClosedSegment[], rejects: RejectsWriter): void {
    if (rejects.count === 0 || closed.some(({ stats }) => stats.labels > 0)) return;
    const { source } = this.request;
    const dataset = this.datasetOf(header);
    const replaced = this.deps.store
      .catalogue()
      .datasets.find((row) => row.source === source && row.dataset === dataset);
    if (!replaced?.segments.some((segment) => segment.labels > 0)) return;
    throw new AssayError(
      'INVALID_FILE',
      `file: ${this.names.join(', ')} gives not one label, and ${rejects.count} of its rows were rejected; is it a file of the source '${source}'? The dataset '${dataset}' stays as it was (--force replaces it all the same).`,
      { field: 'file' },
    );
  }

  private commitDataset(
    header: FileHeader,
    contentHash: string,
    staged: string,
    closed: readonly ClosedSegment[],
    rejects: RejectsWriter,
  ): DatasetReport {
    const { store, rules, clock } = this.deps;
    const { source } = this.request;
    const dataset = this.datasetOf(header);
    const rejectsFile = rejects.close(store.rejectsPath(source, dataset));
    const row: Omit<DatasetRow, 'folder'> = {
      source,
      dataset,
      layout: header.layout,
      contentHash,
      rules: rules.fingerprint,
      files: this.names,
      publishedAt: header.publishedAt,
      importedAt: isoTime(clock.now()),
      url: rules.sources.of(source)?.url ?? null,
      segments: closed.map(({ name, when, stats }) => ({ name, when, labels: stats.labels })),
      records: this.records,
      rejected: rejects.count,
    };
    this.writer.commit({ datasets: [row], staged: [staged], at: row.importedAt });
    return datasetReport(row, 'imported', this.names, rejectsFile);
  }

  /** What a later import replaces: a layout of the source, or a file of the user's own by its name. */
  private datasetOf(header: FileHeader): string {
    if (this.request.dataset !== undefined) return slugOf(this.request.dataset);
    if (this.request.source !== 'own') return slugOf(header.layout);
    return slugOf((this.names[0] ?? 'own').replace(/(\.(csv|ndjson|jsonl?|txt|gz|zip))+$/i, ''));
  }

  // --- sanctions lists ------------------------------------------------------------------------------------------------

  private async importLists(
    lists: readonly SanctionsList[],
    contentHash: string,
  ): Promise<readonly DatasetReport[]> {
    const { store } = this.deps;
    const known = lists.map((list) => store.listState(list)).filter((state) => hasFile(state, contentHash));
    if (known.length > 0) {
      this.commitLists(
        [],
        known.map((state) => ({ state, publishedAt: fileOf(state, contentHash).publishedAt })),
      );
      return known.map((state) => this.unchangedList(state, contentHash));
    }
    const staged = this.writer.stage();
    const units: ListUnit[] = [];
    const open = (): ListUnit => {
      const rejects = createRejectsWriter(join(staged, `rejects-${units.length}`));
      const unit: ListUnit = { header: null, lists: new Map(), rejects, records: 0 };
      units.push(unit);
      return unit;
    };
    const current = (): ListUnit => units.at(-1) ?? open();
    try {
      await this.read(
        (record) => {
          if (record.type === 'header') {
            const unit = current().header === null ? current() : open();
            unit.header = record;
          } else if (record.type === 'party') this.addParty(record, current());
          else {
            this.rejected++;
            current().rejects.add('An address without a party.', record.address, record.provenance);
          }
        },
        (reason, text, provenance) => current().rejects.add(reason, text, provenance),
      );
      return this.applyUnits(units, contentHash);
    } finally {
      for (const unit of units) unit.rejects.abort();
    }
  }

  private addParty(party: DesignatedParty, unit: ListUnit): void {
    let said = unit.lists.get(party.list);
    if (!said) {
      said = { parties: new Set(), entries: [] };
      unit.lists.set(party.list, said);
    }
    unit.records++;
    if (party.delistedAt === null) said.parties.add(party.entityId);
    for (const listed of party.addresses) {
      // The word for a currency may be new: a sanctioned wallet is not lost for that, the address decides.
      const resolved = this.mapper.resolve(listed.address, listed.currency, false);
      if (!resolved.ok) {
        this.rejected++;
        unit.rejects.add(
          resolved.reason,
          `${listed.currency ?? ''} ${listed.address} (${party.list} ${party.entityId})`,
          listed.provenance,
        );
        continue;
      }
      const { chain, canonical, key } = resolved.parsed;
      said.entries.push({
        entityId: party.entityId,
        key: Buffer.from(key).toString('hex'),
        chain,
        address: canonical,
        details: {
          entityName: nameOf(party),
          program: party.programs.length > 0 ? party.programs.join(', ') : null,
          jurisdiction: party.countries.find((country) => /^[A-Z]{2}$/.test(country)) ?? null,
          listedAt: party.listedAt,
          delistedAt: party.delistedAt,
          currencies: listed.currency === null ? [] : [listed.currency],
        },
      });
    }
  }

  /** Decides what every list becomes before anything is written: all lists of the files change, or none. */
  private applyUnits(units: readonly ListUnit[], contentHash: string): readonly DatasetReport[] {
    const { store, rules, clock } = this.deps;
    const { source, force = false, published = null, lastModified = null } = this.request;
    const states = new Map<SanctionsList, ListState>();
    const read: ReadPublication[] = [];
    const reports: (() => DatasetReport)[] = [];
    for (const [at, unit] of units.entries()) {
      const { header } = unit;
      if (header === null) throw new Error(`The reader of ${source} yielded no header.`);
      const publishedAt = publicationOf({
        inside: header.publishedAt,
        option: published,
        names: this.names,
        lastModified,
        now: clock.now(),
      });
      for (const list of new Set([...header.lists, ...unit.lists.keys()])) {
        const said = unit.lists.get(list);
        const file: ReadList = {
          list,
          publishedAt,
          contentHash: at === 0 ? contentHash : `${contentHash}-${at}`,
          layout: header.layout,
          whole: header.lists.includes(list),
          parties: said?.parties ?? new Set(),
          entries: joinEntries(said?.entries ?? []),
        };
        const state = withFile(states.get(list) ?? store.listState(list), file, { force });
        states.set(list, state);
        read.push({ state, publishedAt });
        reports.push(() => this.listReport(state, file, unit));
      }
    }
    this.commitLists([...states.values()], read);
    this.deps.log.debug(
      { source, lists: [...states.keys()], rules: rules.fingerprint.slice(0, 8) },
      'lists imported',
    );
    return reports.map((report) => report());
  }

  /** Writes the changed states, and when each list of the files was last known to be the newest. */
  private commitLists(changed: readonly ListState[], read: readonly ReadPublication[]): void {
    const { store, clock } = this.deps;
    const checks: Partial<Record<SanctionsList, ListCheck>> = { ...readListChecks(store.folder) };
    for (const { state, publishedAt } of read) {
      if (state.newestAt === null) continue;
      const known = checks[state.list]?.checkedAt ?? state.newestAt;
      // A publisher, or a mirror, that hands out an older file than the newest known has not confirmed the newest.
      const newest = comparePublications(publishedAt, state.newestAt) >= 0;
      const checkedAt = newest ? (this.request.checkedAt ?? state.newestAt) : known;
      checks[state.list] = {
        publishedAt: state.newestAt,
        checkedAt: Date.parse(checkedAt) > Date.parse(known) ? checkedAt : known,
        records: state.parties.length,
      };
    }
    this.writer.commit({ lists: changed, checks, at: isoTime(clock.now()) });
  }

  private listReport(state: ListState, read: ReadList, unit: ListUnit): DatasetReport {
    const { source } = this.request;
    const rejected = unit.rejects.count;
    const decides = state.newestAt === null || comparePublications(read.publishedAt, state.newestAt) >= 0;
    return {
      source,
      dataset: state.list,
      layout: read.layout,
      files: this.names,
      publishedAt: read.publishedAt,
      status: decides ? 'imported' : 'history',
      records: unit.records,
      labels: read.entries.length,
      rejected,
      rejectsFile: unit.rejects.close(this.deps.store.rejectsPath(source, state.list)),
      lists: [changeOf(state, read.publishedAt, read.parties.size, read.entries.length)],
    };
  }

  private unchangedList(state: ListState, contentHash: string): DatasetReport {
    const file = fileOf(state, contentHash);
    return {
      source: this.request.source,
      dataset: state.list,
      layout: file.layout,
      files: this.names,
      publishedAt: file.publishedAt,
      status: 'unchanged',
      records: file.parties,
      labels: file.wallets,
      rejected: 0,
      rejectsFile: null,
      lists: [changeOf(state, file.publishedAt, file.parties, file.wallets)],
    };
  }
}

function datasetReport(
  row: Omit<DatasetRow, 'folder'>,
  status: DatasetReport['status'],
  files: readonly string[],
  rejectsFile: string | null,
): DatasetReport {
  return {
    source: row.source,
    dataset: row.dataset,
    layout: row.layout,
    files,
    publishedAt: row.publishedAt,
    status,
    records: row.records,
    labels: row.segments.reduce((sum, segment) => sum + segment.labels, 0),
    rejected: row.rejected,
    rejectsFile,
    lists: [],
  };
}

/** A list after a file of it was read. */
interface ReadPublication {
  readonly state: ListState;
  readonly publishedAt: string;
}

function fileOf(state: ListState, contentHash: string): ListFile {
  const file = state.files.find((one) => one.contentHash === contentHash);
  if (file === undefined) throw new Error(`The ${state.list} list does not know ${contentHash}.`);
  return file;
}

function changeOf(state: ListState, publishedAt: string, parties: number, wallets: number): ListChange {
  const inForce = state.entries.filter((entry) => delistedAt(state, entry) === null).length;
  return {
    list: state.list,
    publishedAt,
    newestAt: state.newestAt,
    parties,
    wallets,
    inForce,
    delisted: state.entries.length - inForce,
  };
}

/** A dataset that something other than a publisher's reader writes (synthetic labels, the fast path of own files). */
export interface SegmentRequest {
  readonly source: string;
  readonly dataset: string;
  readonly layout: string;
  readonly contentHash: string;
  readonly files: readonly string[];
  readonly publishedAt: string | null;
  readonly force?: boolean;
  /** Writes the segment at `path` (without suffix); rejected rows go to `rejects`. */
  readonly write: (path: string, rejects: RejectsWriter) => Promise<{ labels: number; records: number }>;
}

/** Puts one whole segment into the store as a dataset, in place of the former one of that name. Throws STORE_BUSY. */
export async function importSegment(request: SegmentRequest, deps: ImportDeps): Promise<DatasetReport> {
  return deps.store.locked((writer) => writeSegment(request, writer, deps));
}

async function writeSegment(
  request: SegmentRequest,
  writer: StoreWriter,
  deps: ImportDeps,
): Promise<DatasetReport> {
  const { source, contentHash, layout, files, publishedAt } = request;
  const { store, rules, clock } = deps;
  const dataset = slugOf(request.dataset);
  const same = store.catalogue().datasets.find((row) => row.source === source && row.dataset === dataset);
  if (same?.contentHash === contentHash && same.rules === rules.fingerprint && request.force !== true) {
    return datasetReport(same, 'unchanged', files, null);
  }
  const staged = writer.stage();
  const rejects = createRejectsWriter(join(staged, 'rejects.ndjson'));
  try {
    const written = await request.write(join(staged, 'always'), rejects);
    const row: Omit<DatasetRow, 'folder'> = {
      source,
      dataset,
      layout,
      contentHash,
      rules: rules.fingerprint,
      files,
      publishedAt,
      importedAt: isoTime(clock.now()),
      url: rules.sources.of(source)?.url ?? null,
      segments: [{ name: 'always', when: 'always', labels: written.labels }],
      records: written.records,
      rejected: rejects.count,
    };
    const rejectsFile = rejects.close(store.rejectsPath(source, dataset));
    writer.commit({ datasets: [row], staged: [staged], at: row.importedAt });
    return datasetReport(row, 'imported', files, rejectsFile);
  } finally {
    rejects.abort();
  }
}

/** The name that a party is known by: its primary one, else the first. */
const nameOf = (party: DesignatedParty): string =>
  (party.names.find((name) => name.kind === 'primary') ?? party.names[0])?.text ?? party.entityId;

interface ClosedSegment {
  readonly name: string;
  readonly when: When;
  readonly stats: SegmentStats;
}

/** The segments of a dataset: one for every condition under which its labels count. */
class StagedSegments {
  private readonly folder: string;
  private readonly open = new Map<string, { readonly when: When; readonly writer: SegmentWriter }>();

  constructor(folder: string) {
    this.folder = folder;
  }

  of(when: When): SegmentWriter {
    const name = segmentName(when);
    const known = this.open.get(name);
    if (known) return known.writer;
    const writer = createSegmentWriter(join(this.folder, name));
    this.open.set(name, { when, writer });
    return writer;
  }

  async close(): Promise<ClosedSegment[]> {
    const closed: ClosedSegment[] = [];
    for (const [name, { when, writer }] of this.open)
      closed.push({ name, when, stats: await writer.close() });
    return closed;
  }

  abort(): void {
    for (const { writer } of this.open.values()) writer.abort();
  }
}

const segmentName = (when: When): string =>
  when === 'always' ? 'always' : 'unless' in when ? `unless-${when.unless}` : `once-${when.once}`;
