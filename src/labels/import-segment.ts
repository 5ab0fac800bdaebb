/** Datasets with one segment that is written by something other than a publisher's reader. */
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { slugOf } from './entities.ts';
import { type DatasetReport, datasetReport, type ImportDeps } from './import-report.ts';
import { createRejectsWriter, type RejectsWriter } from './rejects.ts';
import type { DatasetRow, StoreWriter } from './store.ts';

/** A dataset that is not written by a publisher's reader (synthetic labels, the fast path of own files). */
export interface SegmentRequest {
  readonly source: string;
  readonly dataset: string;
  readonly layout: string;
  readonly contentHash: string;
  readonly files: readonly string[];
  readonly publishedAt: string | null;
  readonly force?: boolean;
  /** Writes the segment at `path` (without suffix) and sends rejected rows to `rejects`. */
  readonly write: (path: string, rejects: RejectsWriter) => Promise<{ labels: number; records: number }>;
}

/**
 * Stores one complete segment as a dataset and replaces the former dataset of that name.
 *
 * @throws STORE_BUSY while another import runs.
 */
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
  const isSame = same?.contentHash === contentHash && same.rules === rules.fingerprint;
  if (isSame && request.force !== true && store.isIntact(same)) {
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
    return datasetReport(row, 'imported', files, rejectsFile, rejects.reasons);
  } finally {
    rejects.abort();
  }
}
