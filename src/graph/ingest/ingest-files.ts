/** Ingests files of transfers into the store: reads rows, rejects invalid ones by line, stores in batches, and reports. */
import { basename } from 'node:path';
import type { ChainId } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import type { Reject } from '../../sources/records.ts';
import { checkTransfer } from '../check-transfer.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import type { LoadProgress } from '../store/bulk-load.ts';
import type { TransferStore } from '../store.ts';
import { ingestBulkCsv, isBulkCsv, sourceOf } from './bulk-csv.ts';
import { ethereumEtlReader, type TransferRowReader } from './ethereum-etl.ts';
import { INGEST_LIMITS } from './limits.ts';
import { ndjsonReader } from './ndjson.ts';
import { requireLayout, requireUsableRows } from './row-layout.ts';
import { createRowValues, type ReplacedValue } from './row-values.ts';
import { type RowFields, readRows } from './rows.ts';
import { faultOf, REJECT_TEXT_CHARS } from './transfer-fields.ts';

export const INGEST_FORMATS = ['ethereum-etl', 'ndjson'] as const;
export type IngestFormat = (typeof INGEST_FORMATS)[number];

export interface IngestProgress {
  readonly file: string;
  /** Rows read so far, in all files. */
  readonly rows: number;
  readonly rejected: number;
  /** While a large file is being sorted after it was read: the pass, and its progress from 0 to 1. */
  readonly pass?: LoadProgress['pass'];
  readonly done?: number;
}

export interface IngestOptions {
  readonly format: IngestFormat;
  readonly files: readonly string[];
  readonly chain: ChainId;
  /** Called at most once per 1,000 rows, and at the end of each file. */
  readonly onProgress?: (progress: IngestProgress) => void;
  readonly signal?: AbortSignal;
  /**
   * Folder of the installation's price tables. They replace values of the file that contradict them, and a bulk load uses them for amounts
   * that the file values at 0. Null or absent: the values of the file are believed, and 0 for an amount is unknown.
   */
  readonly pricesFolder?: string | null;
  /** File size from which a bulk load is used, and its transfers per run. Default: as in the limits of the graph and of its files. */
  readonly bulk?: { readonly fromBytes: number; readonly runTransfers: number };
}

export interface IngestDeps {
  readonly store: Pick<TransferStore, 'ingest' | 'bulkLoad'>;
  /** Called for every rejected row, including those that the report does not list. */
  readonly onReject?: (reject: Reject) => void;
}

export interface IngestReport {
  readonly rows: number;
  /** Transfers that were new. */
  readonly stored: number;
  /** Transfers that were already stored: reading a file again changes nothing. */
  readonly duplicates: number;
  /** Rows without a transfer of their own (blocks, logs). */
  readonly ignored: number;
  readonly rejected: number;
  /** The first rejected rows (INGEST_LIMITS.ingestRejectsListedMax). */
  readonly rejects: readonly Reject[];
  /** Names of files of which every row was rejected. */
  readonly unusable: readonly string[];
  /** Rows with a `valueUsd` that contradicts the price tables: the value of the tables was stored instead. */
  readonly valuesReplaced: number;
  /** The first replaced values (INGEST_LIMITS.ingestRejectsListedMax). */
  readonly replaced: readonly (ReplacedValue & { readonly file: string })[];
}

const READERS: Readonly<Record<IngestFormat, (options: IngestOptions) => Promise<TransferRowReader>>> = {
  'ethereum-etl': ethereumEtlReader,
  ndjson: async (options) => ndjsonReader(options),
};

const PROGRESS_ROWS = 1_000;
/**
 * Ingests files that belong together (ethereum-etl: blocks together with their transactions). Invalid rows are reported and skipped. Data
 * stored before an abort or a broken file stays, and a later run continues from there. When aborted, it throws the signal's reason.
 *
 * @throws INVALID_FILE with file and line if a file cannot be read; before anything is stored if it is empty or of another format, or if
 * every row of one of several files is rejected
 */
export async function ingestFiles(options: IngestOptions, deps: IngestDeps): Promise<IngestReport> {
  await requireLayout(options.format, options.files, options.signal);
  const values = createRowValues(options.chain, options.pricesFolder ?? null);
  if (options.files.length > 1) {
    // A reader counts some rows, so the check has its own.
    const check = await READERS[options.format](options);
    const faultIn = (fields: RowFields): string | null => {
      try {
        const transfer = check(fields);
        if (transfer === null) return null;
        checkTransfer(transfer);
        values.check(transfer);
        return null;
      } catch (error) {
        return faultOf(error);
      }
    };
    await requireUsableRows(options.format, options.files, faultIn, options.signal);
  }
  const read = await READERS[options.format](options);
  const rejects: Reject[] = [];
  let rows = 0;
  let ignored = 0;
  let rejected = 0;
  const replaced: (ReplacedValue & { readonly file: string })[] = [];
  let valuesReplaced = 0;

  const listReplaced = (file: string, value: ReplacedValue): void => {
    if (replaced.length < INGEST_LIMITS.ingestRejectsListedMax)
      replaced.push({ file: basename(file), ...value });
  };
  /** Returns the transfer, with the value of the tables if the given one contradicts them. */
  function withPlausibleValue(transfer: Transfer, file: string, line: number): Transfer {
    const stored = values.replacement(transfer);
    if (stored === null || transfer.valueUsd === null) return transfer;
    valuesReplaced++;
    listReplaced(file, { line, asset: transfer.asset, given: transfer.valueUsd, stored });
    return { ...transfer, valueUsd: stored };
  }

  const reject = (file: string, line: number, reason: string, text: string): void => {
    const row: Reject = {
      type: 'reject',
      reason,
      text: text.slice(0, REJECT_TEXT_CHARS),
      provenance: { file: basename(file), line },
    };
    rejected++;
    if (rejects.length < INGEST_LIMITS.ingestRejectsListedMax) rejects.push(row);
    deps.onReject?.(row);
  };

  const unusable: string[] = [];
  const noteUnusable = (file: string, before: { readonly rows: number; readonly rejected: number }): void => {
    const read = rows - before.rows;
    if (read > 0 && rejected - before.rejected === read) unusable.push(basename(file));
  };

  async function* transfers(): AsyncGenerator<Transfer> {
    for (const file of files) {
      const before = { rows, rejected };
      for await (const row of readRows(file, options.signal)) {
        options.signal?.throwIfAborted();
        rows++;
        if (rows % PROGRESS_ROWS === 0) options.onProgress?.({ file, rows, rejected });
        if (!row.ok) {
          reject(file, row.line, row.reason, row.text);
          continue;
        }
        let transfer: Transfer | null = null;
        try {
          transfer = read(row.fields);
          if (transfer) {
            checkTransfer(transfer);
            values.check(transfer);
          } else ignored++;
        } catch (error) {
          reject(file, row.line, faultOf(error), row.text);
          continue;
        }
        if (transfer) yield withPlausibleValue(transfer, file, row.line);
      }
      options.onProgress?.({ file, rows, rejected });
      noteUnusable(file, before);
    }
  }

  const { fromBytes, runTransfers } = options.bulk ?? {
    fromBytes: INGEST_LIMITS.bulkLoadFromBytes,
    runTransfers: GRAPH_LIMITS.bulkRunTransfers,
  };
  const bulk = options.format === 'ndjson' ? options.files.filter((file) => isBulkCsv(file, fromBytes)) : [];
  const files = options.files.filter((file) => !bulk.includes(file));
  const counts = { stored: 0, duplicates: 0 };
  for (const file of bulk) {
    const before = { rows, rejected };
    const source = sourceOf(file, options.format);
    let load = deps.store.bulkLoad(options.chain, source, runTransfers);
    const onPass = ({ pass, done }: LoadProgress): void =>
      options.onProgress?.({ file, rows, rejected, pass, done });
    if (load.place === null && !load.isOf(source)) {
      await load.finish(onPass, options.signal);
      load = deps.store.bulkLoad(options.chain, source, runTransfers);
    }
    const report = await ingestBulkCsv({
      path: file,
      chain: options.chain,
      pricesFolder: options.pricesFolder ?? null,
      load,
      reject: ({ line, reason, text }) => reject(file, line, reason, text),
      onReplaced: (value) => listReplaced(file, value),
      onRows: (place) =>
        options.onProgress?.({
          file,
          rows: before.rows + place.rows,
          rejected: before.rejected + place.rejected,
        }),
      onPass,
      signal: options.signal,
    });
    rows = before.rows + report.rows;
    rejected = before.rejected + report.rejected;
    noteUnusable(file, before);
    valuesReplaced += report.replaced;
    counts.stored += report.stored;
    counts.duplicates += report.duplicates;
  }
  if (files.length > 0) {
    const { stored, duplicates } = await deps.store.ingest(transfers());
    counts.stored += stored;
    counts.duplicates += duplicates;
  }
  return { rows, ...counts, ignored, rejected, rejects, unusable, valuesReplaced, replaced };
}
