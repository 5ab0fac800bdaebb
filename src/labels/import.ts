/**
 * Imports publishers' files into the label store: attributed addresses become segments, sanctions lists become history.
 * Importing the same content twice is a no-op. The index is built elsewhere.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { requireDistinctDatasets } from '../sources/distinct-datasets.ts';
import { groupFiles, sourceById } from '../sources/index.ts';
import { listParts, openBytes } from '../sources/open.ts';
import type { Source } from '../sources/source.ts';
import { importAddresses } from './import-addresses.ts';
import { datasetsOf, requireUsableFiles, withNothingImported } from './import-check.ts';
import { importLists } from './import-lists.ts';
import { startReading } from './import-reading.ts';
import type { DatasetReport, ImportDeps, ImportReport, ImportRequest } from './import-report.ts';
import { checkedPublication } from './sanctions.ts';
import type { StoreWriter } from './store.ts';

/**
 * Imports files of one source. Each file, or set of files that belong together, is imported completely or not at all. All files are
 * checked first: if one of several cannot be read or has only rejected rows, none is imported, unless forced. Nor is any if two of them
 * would be the same dataset.
 *
 * @throws INVALID_REQUEST if `published` is not a date, or is in the future, or the licence of the source must be accepted first.
 * @throws INVALID_FILE if a file is unreadable, its publication date is not known, or another file of the call would be the same dataset.
 * @throws IMPLAUSIBLE_LIST if a file would delist more than half of a list or has no party, unless forced.
 * @throws STORE_BUSY while another import runs.
 */
export async function importFiles(request: ImportRequest, deps: ImportDeps): Promise<ImportReport> {
  if (request.files.length === 0) {
    throw new AssayError('INVALID_REQUEST', 'files: name at least one file to import.', { field: 'file' });
  }
  if (request.published !== undefined)
    checkedPublication(request.published, deps.clock.now(), 'INVALID_REQUEST');
  for (const file of request.files) requireFile(file);
  const described = sourceById(request.source, deps.sources);
  if (described.restriction !== null && request.acceptLicence !== true)
    throw new AssayError('INVALID_REQUEST', licenceSentence(described, described.restriction), {
      field: 'acceptLicence',
    });
  return deps.store.locked(async (writer) => {
    const before = deps.store.revision();
    const datasets: DatasetReport[] = [];
    const groups = await groupFiles(request.source, request.files, deps.sources);
    if (request.files.length > 1) await checkFiles(request, groups, deps);
    for (const files of groups) {
      try {
        datasets.push(...(await importGroup(request, files, writer, deps)));
      } catch (error) {
        throw withImported(error, datasets);
      }
    }
    return { source: request.source, datasets, changed: deps.store.revision() !== before };
  });
}

/** Returns the sentence about a licence that the operator has not accepted. */
export const licenceSentence = (
  { id, licence }: Pick<Source, 'id' | 'licence'>,
  restriction: string,
): string =>
  `acceptLicence: the data of '${id}' is under ${licence ?? 'a restricted licence'} (${restriction}). Pass --accept-licence to accept it.`;

async function checkFiles(
  request: ImportRequest,
  groups: readonly (readonly string[])[],
  deps: ImportDeps,
): Promise<void> {
  // The tables of a sanctions list complete each other, and its files are its history. Files of labels are only joined.
  const isList = (deps.rules.sources.of(request.source)?.lists ?? []).length > 0;
  try {
    if (request.force !== true) await requireUsableFiles(request, groups, !isList, deps);
  } catch (error) {
    throw withNothingImported(error);
  }
  if (!isList && groups.length > 1) requireDistinctDatasets(await datasetsOf(request, groups, deps));
}

/** Adds to an error which files of the same call were imported before it. */
function withImported(error: unknown, datasets: readonly DatasetReport[]): unknown {
  if (datasets.length === 0 || !(error instanceof AssayError)) return error;
  const { code, message, field } = error;
  const before = [...new Set(datasets.flatMap(({ files }) => files))].join(', ');
  return new AssayError(code, `${message} Imported before it: ${before}.`, {
    ...(field === undefined ? {} : { field }),
    cause: error,
  });
}

/** Imports files that belong together. */
async function importGroup(
  request: ImportRequest,
  files: readonly string[],
  writer: StoreWriter,
  deps: ImportDeps,
): Promise<readonly DatasetReport[]> {
  const { source, mapping } = request;
  const contentHash = await contentHashOf(files, mapping ? JSON.stringify(mapping) : '');
  const names = files.map((file) => basename(file));
  const ofSource = deps.rules.sources.of(source)?.lists ?? [];
  const input = { request, files, names, contentHash, writer, deps };
  if (ofSource.length === 0) return [await importAddresses(startReading(input))];
  const receiver = deps.receiveLists?.({ source, files, contentHash, force: request.force === true }) ?? null;
  try {
    const reports = await importLists(startReading(input, receiver), ofSource);
    const lists = reports.flatMap((report) => report.lists);
    await receiver?.finish({ lists, checkedAt: request.checkedAt ?? null });
    return reports;
  } finally {
    await receiver?.abort();
  }
}

function requireFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return;
  throw new AssayError('INVALID_FILE', `file: ${path} is not a file.`, { field: 'file' });
}

/** Returns the SHA-256 of the decompressed content of the files; it does not depend on their names or order. */
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
