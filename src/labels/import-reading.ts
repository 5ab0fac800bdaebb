/**
 * One reading of files that belong together: the shared counters
 * of both kinds of imports, and the loop over the records.
 */
import { readerOf, type SanctionsList } from '../sources/index.ts';
import type { Provenance, SourceRecord } from '../sources/records.ts';
import type { ImportDeps, ImportRequest, ListReceiver } from './import-report.ts';
import { createMapper, type Mapper } from './map.ts';
import type { StoreWriter } from './store.ts';

/** Records between two checks of the signal and calls of `onProgress`. */
const CHECK_EVERY = 4_096;

/** Takes a row that could not be read. `entityId` is the publisher's id of its party; null if the row does not show it. */
export type RejectHandler = (
  reason: string,
  text: string,
  provenance: Provenance,
  entityId: string | null,
) => void;

/** Files that are imported together: all or none. */
export interface Reading {
  readonly request: ImportRequest;
  readonly files: readonly string[];
  /** Names of the files, without their folders. */
  readonly names: readonly string[];
  /** Hash of the content of the files. */
  readonly contentHash: string;
  readonly writer: StoreWriter;
  readonly deps: ImportDeps;
  readonly mapper: Mapper;
  /** Receives every record too; null if nothing else needs them. */
  readonly receiver: ListReceiver | null;
  /** Records of the publisher so far, without rejects. */
  records: number;
  rejected: number;
}

/** Starts a reading with new counters and a new mapper. */
export const startReading = (
  of: Omit<Reading, 'mapper' | 'receiver' | 'records' | 'rejected'>,
  receiver: ListReceiver | null = null,
): Reading => ({
  ...of,
  receiver,
  mapper: createMapper(of.deps.rules),
  records: 0,
  rejected: 0,
});

/** Reports progress. */
export function reportProgress({ request, names, records, rejected }: Reading): void {
  request.onProgress?.({ source: request.source, file: names.join(', '), records, rejected });
}

/**
 * Reads the files to the end: passes records to `visit` and rejects to `reject`.
 *
 * @throws the reason of the signal if it is aborted.
 */
export async function readRecords(
  reading: Reading,
  visit: (record: Exclude<SourceRecord<SanctionsList>, { type: 'reject' }>) => void,
  reject: RejectHandler,
): Promise<void> {
  const { source, mapping, signal } = reading.request;
  const { receiver } = reading;
  const read = await readerOf(source, mapping, reading.deps.sources);
  const checkpoint = (): void => {
    reportProgress(reading);
    signal?.throwIfAborted();
  };
  for await (const record of read(reading.files)) {
    if (receiver !== null) await receiver.take(record);
    if (record.type === 'reject') {
      reading.rejected++;
      reject(record.reason, record.text, record.provenance, record.entityId ?? null);
    } else {
      if (record.type !== 'header') reading.records++;
      visit(record);
    }
    if ((reading.records + reading.rejected) % CHECK_EVERY === 0) checkpoint();
  }
  checkpoint();
}
