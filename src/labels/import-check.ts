/** Checks the files of one import before the first of them is imported, so that a file of another kind changes nothing. */
import { basename } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { FilesOfDataset } from '../sources/distinct-datasets.ts';
import { readerOf } from '../sources/index.ts';
import { noUsableRow, REJECTS_QUOTED } from '../sources/layout-error.ts';
import type { Reject } from '../sources/records.ts';
import { slugOf } from './entities.ts';
import { nameOfDataset } from './import-addresses.ts';
import type { ImportDeps, ImportRequest } from './import-report.ts';
import { createMapper, type Mapper } from './map.ts';

/**
 * Checks that each group of files, and each file of a group, has a usable record. Reading stops at the first one. A file without any
 * row is left to the import: an empty list, or a pack of actors, can be valid.
 *
 * @param groups - files that are imported together
 * @param areParts - whether each file of a group can be read without the others
 * @throws INVALID_FILE with the name of the first file that cannot be read or has only rejected rows
 */
export async function requireUsableFiles(
  request: ImportRequest,
  groups: readonly (readonly string[])[],
  areParts: boolean,
  deps: ImportDeps,
): Promise<void> {
  const mapper = createMapper(deps.rules);
  const units = areParts ? groups.flat().map((file) => [file]) : groups;
  for (const files of units) await requireUsable(request, files, mapper, deps);
}

/**
 * Returns the name of the dataset that each group of files would be.
 *
 * @param groups - files that are imported together
 */
export async function datasetsOf(
  request: ImportRequest,
  groups: readonly (readonly string[])[],
  deps: ImportDeps,
): Promise<FilesOfDataset[]> {
  const read = await readerOf(request.source, request.mapping, deps.sources);
  const layoutOf = async (files: readonly string[]): Promise<string | null> => {
    for await (const record of read(files)) {
      request.signal?.throwIfAborted();
      if (record.type === 'header') return slugOf(record.layout);
    }
    return null;
  };
  const datasets: FilesOfDataset[] = [];
  for (const files of groups) {
    const names = files.map((file) => basename(file));
    // Only if it decides: some readers know the layout at the end of a file.
    const dataset = nameOfDataset(request, names) ?? (await layoutOf(files));
    if (dataset !== null) datasets.push({ files, dataset });
  }
  return datasets;
}

async function requireUsable(
  request: ImportRequest,
  files: readonly string[],
  mapper: Mapper,
  deps: ImportDeps,
): Promise<void> {
  const { source, mapping, signal } = request;
  const rejects: Reject[] = [];
  let rejected = 0;
  const read = await readerOf(source, mapping, deps.sources);
  for await (const record of read(files)) {
    signal?.throwIfAborted();
    if (record.type === 'header') continue;
    if (record.type === 'party') return;
    let reject: Reject;
    if (record.type === 'reject') reject = record;
    else {
      const mapped = mapper.map(source, record);
      if (mapped.ok) return;
      const { address, actorName, currency, provenance } = record;
      const text = `${currency ?? ''} ${address} ${actorName}`;
      reject = { type: 'reject', reason: mapped.reason, text, provenance };
    }
    rejected++;
    if (rejects.length < REJECTS_QUOTED) rejects.push(reject);
  }
  if (rejected === 0) return;
  throw noUsableRow(
    files.map((file) => basename(file)),
    `the source '${source}'`,
    { rejected, rejects },
  );
}

/** Returns an error about one of several files, with the sentence that nothing was imported. */
export function withNothingImported(error: unknown): unknown {
  if (!(error instanceof AssayError)) return error;
  const { code, message, field } = error;
  return new AssayError(code, `${message} No file of this call was imported.`, {
    ...(field === undefined ? {} : { field }),
    cause: error,
  });
}
