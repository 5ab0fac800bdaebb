/**
 * The transfers of the runs of a bulk load as values of the log (log-chunk.ts), each with its length in front. Numbers of the load are
 * assigned to values like those of the log: the first and the last value of a run may be parts of one. Older programs wrote complete records
 * instead, which are packed when they are read.
 */
import { closeSync, existsSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { ByteWriter } from './bytes.ts';
import { positionText } from './fingerprint.ts';
import { LOG_CHUNK_TRANSFERS, type LoggedTransfer, packTransfer } from './log.ts';
import { ChunkPacker, countIn, packChunk } from './log-chunk.ts';
import type { FilledRun, RunColumns } from './run-columns.ts';

/** Length of the number in front of a value, or of a record. */
const VALUE_HEADER_BYTES = 2;
/** Upper bound for a value of eight transfers with transaction ids of maximum length. */
const VALUE_BYTES_MAX = LOG_CHUNK_TRANSFERS * 1024;
const WRITE_BYTES = 1 << 20;

/**
 * Writes the transfers of a run, durably.
 *
 * @param firstIndex - number in the load of the first transfer
 * @param columns - transfers with the ids of the store
 */
export function writeRunLog(path: string, firstIndex: number, filled: FilledRun, columns: RunColumns): void {
  const file = openSync(path, 'w');
  const out = new ByteWriter(WRITE_BYTES + VALUE_BYTES_MAX);
  const packer = new ChunkPacker(out);
  packer.bytes = columns.transactions;
  const { count } = filled;
  try {
    for (let at = 0; at < count; ) {
      const end = Math.min(count, at + LOG_CHUNK_TRANSFERS - ((firstIndex + at) % LOG_CHUNK_TRANSFERS));
      const start = out.length;
      out.reserve(VALUE_BYTES_MAX);
      out.length += VALUE_HEADER_BYTES;
      if (!packColumns(packer, filled, columns, at, end)) {
        out.length = start + VALUE_HEADER_BYTES;
        for (let place = at; place < end; place++) {
          const record = packTransfer(transferAt(filled, columns, place));
          out.copy(record, 0, record.length);
        }
      }
      out.bytes.writeUInt16LE(out.length - start - VALUE_HEADER_BYTES, start);
      at = end;
      if (out.length < WRITE_BYTES) continue;
      writeSync(file, out.bytes, 0, out.length);
      out.length = 0;
    }
    writeSync(file, out.bytes, 0, out.length);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Packs the transfers from `first` to `end - 1`. Returns false if one of them cannot be stored in this form. */
function packColumns(
  packer: ChunkPacker,
  { large, positionTexts }: FilledRun,
  columns: RunColumns,
  first: number,
  end: number,
): boolean {
  const { transactions: bytes, transactionEnds: ends, amounts } = columns;
  packer.start();
  for (let at = first; at < end; at++) {
    packer.blockNumber = columns.blocks[at] as number;
    packer.timestampMs = columns.times[at] as number;
    if (packer.isBeyond) return false;
    const idAt = at === 0 ? 0 : (ends[at] as number);
    packer.tag = bytes[idAt] as number;
    packer.idAt = idAt + 1;
    packer.idLength = (ends[at + 1] as number) - idAt - 1;
    const code = columns.positions[at] as number;
    packer.position = Math.max(code, 0);
    if (code < 0) packer.text = Buffer.from(positionTexts.get(at) as string, 'utf8');
    packer.from = columns.from[at] as number;
    packer.to = columns.to[at] as number;
    packer.asset = columns.asset[at] as number;
    packer.cents = columns.cents[at] as number;
    packer.initiation = columns.initiations[at] as number;
    packer.large = large.size > 0 ? (large.get(at) ?? null) : null;
    packer.amountLow = amounts[at * 3] as number;
    packer.amountMiddle = amounts[at * 3 + 1] as number;
    packer.amountHigh = amounts[at * 3 + 2] as number;
    packer.add();
  }
  packer.finish();
  return true;
}

function transferAt({ large, positionTexts }: FilledRun, columns: RunColumns, at: number): LoggedTransfer {
  const { transactions, transactionEnds: ends, amounts } = columns;
  const code = columns.positions[at] as number;
  const cents = columns.cents[at] as number;
  const word = (index: number): bigint => BigInt(amounts[at * 3 + index] as number) << BigInt(32 * index);
  return {
    transaction: transactions.subarray(at === 0 ? 0 : (ends[at] as number), ends[at + 1] as number),
    position: code < 0 ? (positionTexts.get(at) as string) : positionText(code),
    blockNumber: columns.blocks[at] as number,
    timestampMs: columns.times[at] as number,
    from: columns.from[at] as number,
    to: columns.to[at] as number,
    asset: columns.asset[at] as number,
    amount: large.get(at) ?? word(0) + word(1) + word(2),
    cents: cents < 0 ? null : cents,
    initiation: columns.initiations[at] as number,
  };
}

/** Files of a run. One of them exists. */
export interface RunLogFiles {
  readonly values: string;
  readonly records: string;
}

/** Reads the values of runs one after another. */
export class RunLog {
  readonly #runs: readonly RunLogFiles[];
  #run = 0;
  #file: { readonly descriptor: number; readonly isRecords: boolean } | null = null;
  readonly #buffer = Buffer.allocUnsafe(1 << 20);
  #filled = 0;
  #at = 0;
  /** Number in the load of the first transfer of the next value. */
  index = 0;

  constructor(runs: readonly RunLogFiles[]) {
    this.#runs = runs;
  }

  /** Skips the values before the transfer with number `index`, which must be the first of its value. */
  skipTo(index: number): void {
    while (this.index < index) this.next();
  }

  /** Returns the next value, which must exist. It is valid until the next call. */
  next(): Buffer {
    while (!this.#has(VALUE_HEADER_BYTES)) this.#openNext();
    if (this.#file?.isRecords === true) return this.#nextRecords();
    const length = this.#lengthAt(0);
    if (!this.#has(length)) throw truncated();
    const value = this.#take(length, VALUE_HEADER_BYTES);
    this.index += countIn(value);
    return value;
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file.descriptor);
    this.#file = null;
  }

  #nextRecords(): Buffer {
    const wanted = LOG_CHUNK_TRANSFERS - (this.index % LOG_CHUNK_TRANSFERS);
    let length = 0;
    let count = 0;
    for (; count < wanted && this.#has(length + VALUE_HEADER_BYTES); count++) {
      length += this.#lengthAt(length);
      if (!this.#has(length)) throw truncated();
    }
    this.index += count;
    return packChunk(this.#take(length));
  }

  /** Length of a value or record with the number in front of it. */
  #lengthAt(offset: number): number {
    return VALUE_HEADER_BYTES + this.#buffer.readUInt16LE(this.#at + offset);
  }

  /** Takes `length` bytes, and returns them from `start` on. */
  #take(length: number, start = 0): Buffer {
    const bytes = this.#buffer.subarray(this.#at + start, this.#at + length);
    this.#at += length;
    return bytes;
  }

  /** Reads on until `length` bytes are unread. Returns false if the file ends before. */
  #has(length: number): boolean {
    const buffer = this.#buffer;
    if (this.#at + length > this.#filled) {
      buffer.copy(buffer, 0, this.#at, this.#filled);
      this.#filled -= this.#at;
      this.#at = 0;
    }
    while (this.#filled < length) {
      const read =
        this.#file === null
          ? 0
          : readSync(this.#file.descriptor, buffer, this.#filled, buffer.length - this.#filled, null);
      if (read === 0) return false;
      this.#filled += read;
    }
    return true;
  }

  #openNext(): void {
    if (this.#filled > this.#at) throw truncated();
    this.close();
    const run = this.#runs[this.#run++];
    if (run === undefined) throw truncated();
    const isRecords = !existsSync(run.values);
    this.#file = { descriptor: openSync(isRecords ? run.records : run.values, 'r'), isRecords };
  }
}

const truncated = (): AssayError =>
  new AssayError('STORE_CORRUPT', 'The files of an unfinished load are truncated.');
