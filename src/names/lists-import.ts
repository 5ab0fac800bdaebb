/**
 * Imports names of other lists than the official ones: politically exposed persons, adverse media, own lists, and the names that
 * ship with Assay. All functions require the lock of the label store.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { requirePublished } from '../sources/dates.ts';
import { requireDistinctDatasets } from '../sources/distinct-datasets.ts';
import { NAME_SOURCES, type NameSourceId } from '../sources/index.ts';
import { noUsableRow, REJECTS_QUOTED } from '../sources/layout-error.ts';
import type { NamedReader } from '../sources/named-party.ts';
import { listParts, openBytes } from '../sources/open.ts';
import { pepSeedFiles, pepSeedReader } from '../sources/people/seed.ts';
import type { Reject } from '../sources/records.ts';
import type { ListWriter, NameListRow, NameStore } from './lists.ts';
import type { NameListType } from './name.ts';

export interface NameImportDeps {
  readonly names: NameStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Parses the id of a source of names; returns null if it is not one. */
export const parseNameSource = (text: string): NameSourceId | null =>
  NAME_SOURCES.find(({ id }) => id === text.toLowerCase())?.id ?? null;

export interface NameImportRequest {
  readonly source: NameSourceId;
  /** Each file is a dataset of its own. */
  readonly files: readonly string[];
  /** Name of the dataset. Default: the name of the file. Importing a dataset again replaces it. */
  readonly dataset?: string;
  /** ISO date of publication, if the file does not state it. A file that is stored already gets this date. */
  readonly published?: string;
  /** Accept a file with less than half of the parties of the previous one, and a file that is older. */
  readonly force?: boolean;
  readonly onProgress?: (progress: { readonly file: string; readonly records: number }) => void;
  readonly signal?: AbortSignal;
}

/** The effect of an import on one dataset. */
export interface NameImportReport {
  readonly source: string;
  readonly dataset: string;
  readonly files: readonly string[];
  readonly layout: string;
  readonly publishedAt: string;
  /** `older`: the store holds a newer publication, and nothing was changed. */
  readonly status: 'imported' | 'unchanged' | 'older';
  readonly lists: readonly {
    readonly list: string;
    readonly listType: NameListType;
    readonly parties: number;
  }[];
  readonly rejected: number;
  /** The first rejected rows, at most REJECTS_SHOWN. */
  readonly rejects: readonly { readonly line: number; readonly reason: string }[];
  /** Number of valid records of the file that are not a party of any list. */
  readonly passedOver: number;
}

/** Number of rejected rows in a report; further rows are only counted. */
const REJECTS_SHOWN = 20;
/** Records between two checks of the signal and calls of `onProgress`. */
const CHECK_EVERY = 4_096;

/**
 * Imports files of one source; each file is imported completely or not at all. All files are checked first: if one of several has no
 * party, or two would be the same dataset, none is imported.
 *
 * @throws INVALID_REQUEST if there is no file, or `published` is not a date or is in the future.
 * @throws INVALID_FILE, IMPLAUSIBLE_LIST.
 */
export async function importNameFiles(
  request: NameImportRequest,
  deps: NameImportDeps,
): Promise<readonly NameImportReport[]> {
  const { source, files, dataset, published } = request;
  if (files.length === 0) {
    throw new AssayError('INVALID_REQUEST', 'files: name at least one file to import.', { field: 'file' });
  }
  if (published !== undefined && Number.isNaN(Date.parse(published))) {
    throw new AssayError(
      'INVALID_REQUEST',
      `published: '${published.slice(0, 40)}' is not a date such as 2026-11-21.`,
      {
        field: 'published',
      },
    );
  }
  if (published !== undefined) requirePublished(published, deps.clock.now(), 'INVALID_REQUEST');
  const described = NAME_SOURCES.find(({ id }) => id === source);
  if (described === undefined) throw new Error(`There is no source of names '${source}'.`);
  const nameOf = (file: string): string =>
    slugOf(
      dataset ??
        basename(file).replace(/(\.(csv|tsv|xml|ndjson|jsonl?|ftm|txt|gz|zip|simple|targets))+$/i, ''),
    );
  if (files.length > 1) {
    requireDistinctDatasets(files.map((file) => ({ files: [file], dataset: nameOf(file) })));
    for (const file of files)
      await requireParty(file, await described.read({ dataset: dataset ?? basename(file) }), request);
  }
  const reports: NameImportReport[] = [];
  for (const file of files) {
    const name = nameOf(file);
    const reader = await described.read({ dataset: dataset ?? basename(file) });
    reports.push(await importDataset({ ...request, name, files: [file], reader, verified: true }, deps));
  }
  return reports;
}

/** Reads a file up to its first party. Throws INVALID_FILE with the name of the file if it has none. */
async function requireParty(file: string, reader: NamedReader, request: NameImportRequest): Promise<void> {
  const rejects: Reject[] = [];
  let rejected = 0;
  for await (const record of reader([file])) {
    request.signal?.throwIfAborted();
    if (record.type === 'header') continue;
    if (record.type !== 'reject') return;
    rejected++;
    if (rejects.length < REJECTS_QUOTED) rejects.push(record);
  }
  const more = ' No file of this call was imported.';
  throw noUsableRow([basename(file)], `the source '${request.source}'`, { rejected, rejects, more });
}

/** Imports the heads of state that ship with Assay if the store lacks their present content. */
export async function ensurePepSeed(deps: NameImportDeps): Promise<void> {
  const request = {
    source: 'seed',
    name: 'heads-of-state',
    files: await pepSeedFiles(),
    reader: pepSeedReader,
    verified: false,
    // The data of this version replaces the data of any other version, whatever its date.
    force: true,
  };
  await importDataset(request, deps);
}

interface DatasetRequest extends Omit<NameImportRequest, 'source' | 'dataset'> {
  readonly source: string;
  readonly name: string;
  readonly reader: NamedReader;
  readonly verified: boolean;
}

async function importDataset(request: DatasetRequest, deps: NameImportDeps): Promise<NameImportReport> {
  const { source, name, files, reader, force = false, published, signal, onProgress, verified } = request;
  const { names, clock } = deps;
  const prefix = `${source}:${name}:`;
  const former = names.rows().filter((row) => row.list.startsWith(prefix));
  const contentHash = await hashOfFiles(files);
  const same = former.find((row) => row.contentHash === contentHash);
  const report = (
    status: NameImportReport['status'],
    rows: readonly NameListRow[],
    read: Pick<NameImportReport, 'layout' | 'publishedAt' | 'rejected' | 'rejects' | 'passedOver'>,
  ): NameImportReport => ({
    source,
    dataset: name,
    files: files.map((file) => basename(file)),
    status,
    lists: rows.map(({ list, listType, parties }) => ({ list, listType, parties })),
    ...read,
  });
  const isDated = published === undefined || same?.publishedAt === published;
  if (same !== undefined && isDated && (await areIntact(former, names))) {
    return report('unchanged', former, { ...same, rejects: [], passedOver: 0 });
  }

  const writers = new Map<NameListType, ListWriter>();
  const rejects: { line: number; reason: string }[] = [];
  const first: Reject[] = [];
  let rejected = 0;
  let records = 0;
  let header = { publishedAt: null as string | null, layout: '', passedOver: 0 };
  try {
    for await (const record of reader(files)) {
      if (++records % CHECK_EVERY === 0) {
        signal?.throwIfAborted();
        onProgress?.({ file: files.map((file) => basename(file)).join(', '), records });
      }
      if (record.type === 'header') header = record;
      else if (record.type === 'reject') {
        rejected++;
        if (first.length < REJECTS_QUOTED) first.push(record);
        if (rejects.length < REJECTS_SHOWN)
          rejects.push({ line: record.provenance.line, reason: record.reason });
      } else {
        const { type: _, provenance: __, ...party } = record;
        let writer = writers.get(record.listType);
        if (writer === undefined) {
          writer = await names.write(prefix + record.listType);
          writers.set(record.listType, writer);
        }
        await writer.add({ ...party, list: prefix + record.listType, delistedAt: null });
      }
    }
    signal?.throwIfAborted();
    const at = isoTime(clock.now());
    const publishedAt = published ?? header.publishedAt ?? at;
    requirePublished(publishedAt, clock.now(), 'INVALID_FILE');
    const read = { layout: header.layout, publishedAt, rejected, rejects, passedOver: header.passedOver };
    if (!force && former.some((row) => Date.parse(publishedAt) < Date.parse(row.publishedAt))) {
      return report('older', former, read);
    }
    if (rejected > 0 && writers.size === 0)
      throw noUsableRow(
        files.map((file) => basename(file)),
        `the source '${source}'`,
        { rejected, rejects: first },
      );
    requirePlausible(former, writers, source, force);
    const rows: NameListRow[] = [];
    for (const [listType, writer] of writers) {
      const row = {
        list: prefix + listType,
        listType,
        source,
        layout: header.layout,
        publishedAt,
        // A file imported by hand proves the state of its list up to its publication only.
        checkedAt: publishedAt,
        importedAt: at,
        contentHash,
        rejected,
        verified,
      };
      rows.push(await writer.finish(row, { force }));
    }
    names.remove(former.map((row) => row.list).filter((list) => !rows.some((row) => row.list === list)));
    return report('imported', rows, read);
  } finally {
    for (const writer of writers.values()) await writer.abort();
  }
}

async function areIntact(rows: readonly NameListRow[], names: NameStore): Promise<boolean> {
  for (const row of rows) if (!(await names.isIntact(row))) return false;
  return true;
}

/**
 * Rejects a published dataset that lost more than half of its parties:
 * it is probably a broken file. A user's own dataset may shrink.
 */
function requirePlausible(
  former: readonly NameListRow[],
  writers: ReadonlyMap<NameListType, ListWriter>,
  source: string,
  force: boolean,
): void {
  const now = [...writers.values()].reduce((sum, writer) => sum + writer.parties, 0);
  if (now === 0) {
    throw new AssayError(
      'INVALID_FILE',
      'file: it has no person or organisation that can be screened by name.',
      { field: 'file' },
    );
  }
  if (force || source === 'people') return;
  const before = former.reduce((sum, row) => sum + row.parties, 0);
  if (now >= before / 2) return;
  throw new AssayError(
    'IMPLAUSIBLE_LIST',
    `The file has ${now} parties, the previous one had ${before}. If that is correct, pass --force.`,
    { field: 'force' },
  );
}

/** Returns the SHA-256 of the decompressed content of the files; it does not depend on their names or order. */
async function hashOfFiles(files: readonly string[]): Promise<string> {
  const hashes: string[] = [];
  for (const file of files) {
    for (const part of await listParts(file)) {
      const hash = createHash('sha256');
      for await (const bytes of openBytes(part)) hash.update(bytes);
      hashes.push(hash.digest('hex'));
    }
  }
  return createHash('sha256').update(hashes.sort().join()).digest('hex');
}

const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60) || 'names';
