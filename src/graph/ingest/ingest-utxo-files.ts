/**
 * Ingests files of UTXO chains into the outputs store and the transfer store: reads rows, rejects invalid ones by line, groups them into
 * blocks, and reports.
 */
import { basename } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { CHAINS, type ChainId, chainOf } from '../../chains/registry.ts';
import type { UtxoBlock } from '../../chains/utxo-transaction.ts';
import type { Reject } from '../../sources/records.ts';
import { ingestUtxoBlocks, type UtxoIngestDeps } from '../utxo/ingest-utxo.ts';
import { UTXO_LIMITS } from '../utxo/limits.ts';
import type { OutputsStore } from '../utxo/outputs-store.ts';
import { openBitcoinBlk } from './bitcoin-blk.ts';
import { bitcoinEtlReader, type UtxoRow } from './bitcoin-etl.ts';
import { INGEST_LIMITS } from './limits.ts';
import { resolvedInputsReader } from './resolved-inputs.ts';
import { noBlock, requireLayout, requireUsableRows } from './row-layout.ts';
import { type RowFields, readRows } from './rows.ts';
import { RowFault } from './transfer-fields.ts';

export const UTXO_INGEST_FORMATS = ['bitcoin-blk', 'bitcoin-etl', 'bitcoin-resolved'] as const;
export type UtxoIngestFormat = (typeof UTXO_INGEST_FORMATS)[number];

export interface UtxoIngestOptions {
  readonly format: UtxoIngestFormat;
  readonly files: readonly string[];
  readonly chain: ChainId;
  /** Called for each block of a block file, and at most once per 1,000 rows of other files. `rows` counts blocks or rows. */
  readonly onProgress?: (progress: {
    readonly file: string;
    readonly rows: number;
    readonly rejected: number;
  }) => void;
  readonly signal?: AbortSignal;
}

export interface UtxoFilesDeps extends UtxoIngestDeps {
  readonly outputs: Pick<OutputsStore, 'put' | 'flushed' | 'setNetworks' | 'blockOf'>;
  /** Called for every rejected row, including those that the report does not list. */
  readonly onReject?: (reject: Reject) => void;
}

export interface UtxoIngestReport {
  /** Rows of text files, blocks of block files. */
  readonly rows: number;
  readonly blocks: number;
  /** Transactions that were new (`transactions`), and those that were already stored (`known`). */
  readonly transactions: number;
  readonly known: number;
  /** Transactions that have an input with an unknown value. They are stored, and get transfers when that value becomes known. */
  readonly unresolved: number;
  /** Transfers that were new (`stored`), and those that were already stored. */
  readonly stored: number;
  readonly duplicates: number;
  /** Rows without a transaction, and blocks outside the best chain. */
  readonly ignored: number;
  readonly rejected: number;
  /** The first rejected rows (INGEST_LIMITS.ingestRejectsListedMax). */
  readonly rejects: readonly Reject[];
  /** Names of files of which every row was rejected. */
  readonly unusable: readonly string[];
  /** Block files that end inside a block. */
  readonly cutShort: readonly string[];
}

const PROGRESS_ROWS = 1_000;
/** How much of a row a reject quotes, for all sources. */
const REJECT_TEXT_CHARS = 500;

type RowReader = {
  read(fields: RowFields, emit: (row: UtxoRow) => void): void;
  end(emit: (row: UtxoRow) => void): void;
};

const ROW_READERS: Readonly<Record<Exclude<UtxoIngestFormat, 'bitcoin-blk'>, (chain: ChainId) => RowReader>> =
  {
    'bitcoin-etl': (chain) => {
      const read = bitcoinEtlReader(chain);
      return {
        read(fields, emit) {
          const row = read(fields);
          if (row) emit(row);
        },
        end: () => undefined,
      };
    },
    'bitcoin-resolved': resolvedInputsReader,
  };

/** Returns the message of an error in a row. Rethrows any other error. */
function reasonOf(error: unknown): string {
  if (error instanceof RowFault) return error.message;
  if (error instanceof AssayError && (error.code === 'INVALID_ADDRESS' || error.code === 'INVALID_REQUEST'))
    return error.message;
  throw error;
}

/** Counts of read, ignored and rejected rows. */
class RowCounts {
  rows = 0;
  ignored = 0;
  rejected = 0;
  readonly rejects: Reject[] = [];
  readonly unusable: string[] = [];
  readonly #onReject: ((reject: Reject) => void) | undefined;

  constructor(onReject: ((reject: Reject) => void) | undefined) {
    this.#onReject = onReject;
  }

  reject(file: string, line: number, reason: string, text: string): void {
    const row: Reject = {
      type: 'reject',
      reason,
      text: text.slice(0, REJECT_TEXT_CHARS),
      provenance: { file: basename(file), line },
    };
    this.rejected++;
    if (this.rejects.length < INGEST_LIMITS.ingestRejectsListedMax) this.rejects.push(row);
    this.#onReject?.(row);
  }
}

/** Collects consecutive transactions of one block. A block that arrives in parts is stored in parts. */
class BlockGroup {
  #rows: UtxoRow[] = [];

  /** Returns the previous block if the row starts another one. */
  add(row: UtxoRow): UtxoBlock | null {
    const first = this.#rows[0];
    const isSame =
      first?.transaction.blockNumber === row.transaction.blockNumber &&
      this.#rows.length < UTXO_LIMITS.utxoBatchOutputs;
    const done = isSame ? null : this.take();
    this.#rows.push(row);
    return done;
  }

  take(): UtxoBlock | null {
    const rows = this.#rows;
    this.#rows = [];
    const first = rows[0];
    if (!first) return null;
    return {
      height: first.transaction.blockNumber,
      hash: first.blockHash,
      parentHash: null,
      timestampMs: first.transaction.timestampMs,
      transactions: rows.map(({ transaction }) => transaction),
    };
  }
}

async function* blocksOfRows(
  options: UtxoIngestOptions,
  reader: RowReader,
  counts: RowCounts,
): AsyncGenerator<UtxoBlock> {
  const group = new BlockGroup();
  const ready: UtxoBlock[] = [];
  let emitted = 0;
  const emit = (row: UtxoRow): void => {
    emitted++;
    const block = group.add(row);
    if (block) ready.push(block);
  };
  for (const file of options.files) {
    const before = { rows: counts.rows, rejected: counts.rejected };
    for await (const row of readRows(file, options.signal)) {
      options.signal?.throwIfAborted();
      counts.rows++;
      const { rows, rejected } = counts;
      if (rows % PROGRESS_ROWS === 0) options.onProgress?.({ file, rows, rejected });
      if (!row.ok) {
        counts.reject(file, row.line, row.reason, row.text);
        continue;
      }
      const before = emitted;
      try {
        reader.read(row.fields, emit);
        if (emitted === before && options.format === 'bitcoin-etl') counts.ignored++;
      } catch (error) {
        counts.reject(file, row.line, reasonOf(error), row.text);
      }
      yield* ready.splice(0);
    }
    // A transaction does not continue in another file.
    reader.end(emit);
    options.onProgress?.({ file, rows: counts.rows, rejected: counts.rejected });
    const read = counts.rows - before.rows;
    if (read > 0 && counts.rejected - before.rejected === read) counts.unusable.push(basename(file));
  }
  yield* ready.splice(0);
  const last = group.take();
  if (last) yield last;
}

async function ingestRows(
  options: UtxoIngestOptions,
  reader: RowReader,
  deps: UtxoFilesDeps,
): Promise<UtxoIngestReport> {
  const counts = new RowCounts(deps.onReject);
  const stored = await ingestUtxoBlocks(options.chain, blocksOfRows(options, reader, counts), deps);
  const { rows, ignored, rejected, rejects, unusable } = counts;
  return { ...stored, rows, ignored, rejected, rejects, unusable, cutShort: [] };
}

function requireOutputs(chain: ChainId, format: UtxoIngestFormat): void {
  if (chainOf(chain).family === 'utxo') return;
  const possible = CHAINS.filter(({ family }) => family === 'utxo').map(({ id }) => id);
  throw new AssayError(
    'INVALID_REQUEST',
    `chain: ${format} can be read for ${possible.join(', ')}, not for ${chain}.`,
    { field: 'chain' },
  );
}

async function ingestBlockFiles(options: UtxoIngestOptions, deps: UtxoFilesDeps): Promise<UtxoIngestReport> {
  const { chain, onProgress, signal } = options;
  const files = await openBitcoinBlk(
    { files: options.files, chain, ...(signal ? { signal } : {}) },
    { stored: (hash) => deps.outputs.blockOf(chain, hash) },
  );
  const { networks, blocks, orphans, cutShort } = files.report;
  if (blocks + orphans === 0 && cutShort.length === 0) throw noBlock(options.files);
  deps.outputs.setNetworks(chain, networks);
  async function* counted(): AsyncGenerator<UtxoBlock> {
    let rows = 0;
    for await (const block of files.read()) {
      onProgress?.({ file: `block ${block.height}`, rows: ++rows, rejected: 0 });
      yield block;
    }
  }
  const stored = await ingestUtxoBlocks(chain, counted(), deps);
  return {
    ...stored,
    rows: blocks + orphans,
    ignored: orphans,
    rejected: 0,
    rejects: [],
    unusable: [],
    cutShort: cutShort.map((path) => basename(path)),
  };
}

/**
 * Ingests files of one UTXO chain. Invalid rows are reported and skipped. Data stored before an abort or a broken file stays, and a later
 * run continues from there. When aborted, it throws the signal's reason.
 *
 * @throws INVALID_FILE with the position if a file cannot be read or contradicts the store; before anything is stored if it is empty or of
 * another format, or if every row of one of several files is rejected
 * @throws INVALID_REQUEST if the format does not support the chain
 */
export async function ingestUtxoFiles(
  options: UtxoIngestOptions,
  deps: UtxoFilesDeps,
): Promise<UtxoIngestReport> {
  if (options.format === 'bitcoin-blk') return ingestBlockFiles(options, deps);
  requireOutputs(options.chain, options.format);
  await requireLayout(options.format, options.files, options.signal);
  if (options.files.length > 1) {
    // A reader remembers rows, so the check has its own.
    const reader = ROW_READERS[options.format](options.chain);
    const faultIn = (fields: RowFields): string | null => {
      try {
        reader.read(fields, () => undefined);
        return null;
      } catch (error) {
        return reasonOf(error);
      }
    };
    await requireUsableRows(options.format, options.files, faultIn, options.signal);
  }
  return ingestRows(options, ROW_READERS[options.format](options.chain), deps);
}
