/** Imports attributed addresses as the segments of a dataset. They replace the segments of the same publisher's previous file. */
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { noUsableRow } from '../sources/layout-error.ts';
import type { AttributedAddress, FileHeader } from '../sources/records.ts';
import { slugOf } from './entities.ts';
import { type Reading, readRecords, reportProgress } from './import-reading.ts';
import { type DatasetReport, datasetReport, type ImportRequest } from './import-report.ts';
import { dayFromIso } from './index/days.ts';
import { createSegmentWriter } from './index/segment.ts';
import { LOWERED_SEGMENT } from './lowered.ts';
import { importMbal } from './mbal-import.ts';
import { importOwnCsv, isPlainCsv } from './own-import.ts';
import { createRejectsWriter, type RejectsWriter } from './rejects.ts';
import { type ClosedSegment, StagedSegments } from './staged-segments.ts';
import type { DatasetRow } from './store.ts';

/** Destination of the rows of a file. */
interface Staged {
  readonly folder: string;
  readonly segments: StagedSegments;
  readonly rejects: RejectsWriter;
}

/** The result of reading the files. */
interface ReadFile {
  readonly header: FileHeader;
  /** Records in a segment that no index reads. */
  readonly keptApart: number;
}

/**
 * Imports the files of a reading as a dataset; an unchanged file is a no-op unless `force` is set or its segments are damaged.
 *
 * @throws INVALID_FILE if a file gives no label: it is empty, or all of its rows were rejected.
 */
export async function importAddresses(reading: Reading): Promise<DatasetReport> {
  const { request, contentHash, deps } = reading;
  const { source, force } = request;
  const same = deps.store
    .catalogue()
    .datasets.find(
      (row) =>
        row.source === source &&
        row.contentHash === contentHash &&
        row.rules === deps.rules.fingerprint &&
        (request.dataset === undefined || row.dataset === slugOf(request.dataset)),
    );
  if (same && force !== true && deps.store.isIntact(same))
    return datasetReport(same, 'unchanged', reading.names, null);
  const folder = reading.writer.stage();
  const segments = new StagedSegments(folder);
  const rejects = createRejectsWriter(join(folder, 'rejects.ndjson'));
  const staged: Staged = { folder, segments, rejects };
  try {
    const read =
      (await readMbalFile(reading, staged)) ??
      (await readPlainCsv(reading, staged)) ??
      (await readAny(reading, staged));
    const closed = await segments.close();
    if (force !== true && read.keptApart === 0) requireLabels(reading, closed, rejects);
    return commitDataset(reading, read, closed, staged);
  } catch (error) {
    segments.abort();
    rejects.abort();
    throw error;
  }
}

/** Reads any source, one record at a time. */
async function readAny(reading: Reading, staged: Staged): Promise<ReadFile> {
  const { rejects } = staged;
  const headers: FileHeader[] = [];
  await readRecords(
    reading,
    (record) => {
      if (record.type === 'header') headers.push(record);
      else if (record.type === 'address') addLabels(reading, record, staged);
      else {
        reading.rejected++;
        rejects.add(
          'A party of a sanctions list in a source that has no sanctions lists.',
          record.entityId,
          record.provenance,
        );
      }
    },
    (reason, text, provenance) => rejects.add(reason, text, provenance),
  );
  const [header] = headers;
  if (header === undefined) throw new Error(`The reader of ${reading.request.source} yielded no header.`);
  return { header, keptApart: 0 };
}

/** Reads a file of MBAL by the fast path; returns null for any other source. */
async function readMbalFile(reading: Reading, staged: Staged): Promise<ReadFile | null> {
  const { source, signal } = reading.request;
  const [path] = reading.files;
  if (source !== 'mbal' || path === undefined) return null;
  const lowered = createSegmentWriter(join(staged.folder, LOWERED_SEGMENT));
  try {
    const {
      records,
      header,
      lowered: keptApart,
    } = await importMbal(
      {
        path,
        ...(signal ? { signal } : {}),
        onProgress: (rows) => reportProgress({ ...reading, records: rows }),
      },
      {
        segment: staged.segments.of('always'),
        lowered,
        mapper: reading.mapper,
        currencies: reading.deps.rules.currencies,
        reject: (reason, text, provenance) => {
          reading.rejected++;
          staged.rejects.add(reason, text, provenance);
        },
      },
    );
    reading.records = records;
    await lowered.close();
    return { header, keptApart };
  } catch (error) {
    lowered.abort();
    throw error;
  }
}

/** Reads a plain CSV of own labels by the fast path; returns null for anything else. */
async function readPlainCsv(reading: Reading, staged: Staged): Promise<ReadFile | null> {
  const { source, mapping, signal } = reading.request;
  const [path] = reading.files;
  if (source !== 'own' || path === undefined || !(await isPlainCsv(path))) return null;
  reading.records = await importOwnCsv(
    {
      path,
      ...(mapping ? { mapping } : {}),
      latestDay: latestDay(reading),
      ...(signal ? { signal } : {}),
      onProgress: (records) => reportProgress({ ...reading, records }),
    },
    {
      segment: staged.segments.of('always'),
      mapper: reading.mapper,
      currencies: reading.deps.rules.currencies,
      take: (record) => addLabels(reading, record, staged),
      reject: (reason, text, provenance) => {
        reading.rejected++;
        staged.rejects.add(reason, text, provenance);
      },
    },
  );
  return { header: { type: 'header', lists: [], publishedAt: null, layout: 'OWN_CSV' }, keptApart: 0 };
}

const DAY_MS = 86_400_000;

/** Returns the latest allowed day of an own label: one day ahead of UTC, because today begins earlier in some time zones. */
const latestDay = ({ deps }: Reading): number => Math.floor(deps.clock.now() / DAY_MS) + 1;

/**
 * Returns why a date of an own label is invalid; null if it is valid. A label with a future date would count today but never in an
 * answer as of today.
 */
function futureDate(reading: Reading, { firstSeen, lastSeen }: AttributedAddress): string | null {
  if (reading.request.source !== 'own') return null;
  for (const [field, date] of [
    ['first_seen', firstSeen],
    ['last_seen', lastSeen],
  ] as const)
    if (dayFromIso(date) > latestDay(reading))
      return `${field}: ${date} is in the future; it must be today or earlier, or empty.`;
  return null;
}

function addLabels(reading: Reading, record: AttributedAddress, { segments, rejects }: Staged): void {
  const refuse = (reason: string): void => {
    reading.rejected++;
    const text = `${record.currency ?? ''} ${record.address} ${record.actorName}`;
    rejects.add(reason, text, record.provenance);
  };
  const future = futureDate(reading, record);
  if (future !== null) {
    refuse(future);
    return;
  }
  const mapped = reading.mapper.map(reading.request.source, record);
  if (!mapped.ok) {
    refuse(mapped.reason);
    return;
  }
  const first = dayFromIso(mapped.firstSeen);
  const last = dayFromIso(mapped.lastSeen);
  for (const { when, template } of mapped.labels) {
    const segment = segments.of(when);
    segment.add(mapped.key, 0, mapped.key.length, segment.template(template), first, last);
  }
}

/** Rejects a file that gives no label: it is probably of another kind, and must not replace valid labels. */
function requireLabels(reading: Reading, closed: readonly ClosedSegment[], rejects: RejectsWriter): void {
  if (closed.some(({ stats }) => stats.labels > 0)) return;
  if (reading.records > 0 && rejects.count === 0) return;
  throw noUsableRow(reading.names, `the source '${reading.request.source}'`, {
    rejected: rejects.count,
    rejects: rejects.first,
    more: ' Pass --force to import it all the same.',
  });
}

function commitDataset(
  reading: Reading,
  { header, keptApart }: ReadFile,
  closed: readonly ClosedSegment[],
  { folder, rejects }: Staged,
): DatasetReport {
  const { contentHash, names, records, writer } = reading;
  const { store, rules, clock } = reading.deps;
  const { source } = reading.request;
  const dataset = datasetOf(reading, header);
  const rejectsFile = rejects.close(store.rejectsPath(source, dataset));
  const row: Omit<DatasetRow, 'folder'> = {
    source,
    dataset,
    layout: header.layout,
    contentHash,
    rules: rules.fingerprint,
    files: names,
    publishedAt: header.publishedAt,
    importedAt: isoTime(clock.now()),
    url: rules.sources.of(source)?.url ?? null,
    segments: closed.map(({ name, when, stats }) => ({ name, when, labels: stats.labels })),
    records,
    rejected: rejects.count,
    ...(keptApart === 0 ? {} : { keptApart }),
  };
  writer.commit({ datasets: [row], staged: [folder], at: row.importedAt });
  return datasetReport(row, 'imported', names, rejectsFile, rejects.reasons);
}

/** Returns the name of the dataset that an import replaces: the layout of the source or, for the user's own labels, the file name. */
const datasetOf = ({ request, names }: Reading, { layout }: FileHeader): string =>
  nameOfDataset(request, names) ?? slugOf(layout);

/**
 * Returns the name of the dataset that an import replaces, if the layout of its files does not decide it; otherwise null.
 *
 * @param names - names of the files without their folders
 */
export function nameOfDataset(
  { source, dataset }: Pick<ImportRequest, 'source' | 'dataset'>,
  names: readonly string[],
): string | null {
  if (dataset !== undefined) return slugOf(dataset);
  if (source !== 'own') return null;
  return slugOf((names[0] ?? 'own').replace(/(\.(csv|ndjson|jsonl?|txt|gz|zip))+$/i, ''));
}
