/**
 * Processes one chunk of a bulk job in the calling thread: lines as input, results as output. When it returns, the results are
 * durable in the output file; before that, they are written to a temporary file beside it.
 */
import { closeSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { AssayError, clientError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { MerkleRange } from '../../base/merkle.ts';
import { endReading } from '../../base/reading.ts';
import { LineLeaves, lineSalt } from '../../base/salted-lines.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { AnswerWriter } from '../../screening/answer-bytes.ts';
import { BlockAnswers } from '../../screening/bulk-file-thread.ts';
import { createLabelContext, type LabelContext } from '../../screening/context.ts';
import type { KytRequest } from '../../screening/kyt.ts';
import { createItemVerdicts, type OracleDeps } from '../../screening/oracle.ts';
import type { ScreeningRequest } from '../../screening/screen.ts';
import type { ChunkDone, ChunkTask } from '../chunks.ts';
import { fieldsOf, type LineFields, type LineShape, lineReader, sharedChain } from './lines.ts';

export type ChunkWork = (task: ChunkTask) => ChunkDone;

export interface ChunkWorkDeps extends OracleDeps {
  readonly sanctionsCheck: AnswerWriter;
  readonly screening: (request: ScreeningRequest) => unknown;
  readonly kyt: (request: KytRequest) => unknown;
  readonly log: Logger;
}

const NEWLINE = 0x0a;
/** Size of a block of lines: small enough to stay in the second-level cache together with the beginnings of its results. */
const BLOCK_BYTES = 128 * 1024;
/** Initial size of the output buffer; it is written when it is half full. */
const OUT_BYTES = 1024 * 1024;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

function readAll({ path, start, end }: ChunkTask['input']): Buffer {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  const file = openSync(path, 'r');
  try {
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, bytes.length - at, start + at);
      if (read === 0) throw new AssayError('INVALID_FILE', `${path} ends before byte ${end}.`);
      at += read;
    }
  } finally {
    closeSync(file);
  }
  return bytes;
}

/** Hashes the results of a chunk for the receipt of its job. */
class ResultHasher {
  readonly #secret: Buffer;
  readonly #range: MerkleRange;
  readonly #leaves = new LineLeaves();
  /** The beginning of a line that continues in the next bytes. */
  #begun: Buffer[] = [];

  constructor({ secret, line }: NonNullable<ChunkTask['receipt']>) {
    this.#secret = Buffer.from(secret, 'hex');
    this.#range = new MerkleRange(line);
  }

  take(bytes: Buffer): void {
    let at = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
      this.#endLine(bytes.subarray(at, end));
      at = end + 1;
    }
    // Copied: the caller uses its buffer again.
    if (at < bytes.length) this.#begun.push(Buffer.from(bytes.subarray(at)));
  }

  #endLine(rest: Buffer): void {
    const text = this.#begun.length === 0 ? rest : Buffer.concat([...this.#begun, rest]);
    this.#begun = [];
    this.#range.append(this.#leaves.leafOf(lineSalt(this.#secret, this.#range.end), text));
  }

  /** Returns `ChunkDone.subtrees`. */
  subtrees(): string {
    return Buffer.concat(this.#range.hashes()).toString('hex');
  }
}

/** Output of a chunk. */
class Output {
  readonly #file: number;
  readonly #hasher: ResultHasher | null;
  bytes = 0;
  crc32 = 0;

  constructor(file: number, hasher: ResultHasher | null) {
    this.#file = file;
    this.#hasher = hasher;
  }

  write(bytes: Buffer, length: number): void {
    for (let at = 0; at < length; ) at += writeSync(this.#file, bytes, at, length - at);
    this.bytes += length;
    this.crc32 = crc32(bytes.subarray(0, length), this.crc32);
    this.#hasher?.take(bytes.subarray(0, length));
  }
}

/** Lets `write` fill the file at `path`. After a crash at any point, the file is either complete or absent. */
function writeWhole(
  path: string,
  hasher: ResultHasher | null,
  write: (output: Output) => void,
): Pick<ChunkDone, 'bytes' | 'crc32'> {
  const partial = `${path}.tmp`;
  const file = openSync(partial, 'w');
  try {
    const output = new Output(file, hasher);
    write(output);
    fsyncSync(file);
    renameSync(partial, path);
    return { bytes: output.bytes, crc32: output.crc32 };
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Offset of the first line after an optional byte order mark. A byte order mark alone is a line. */
const textStart = (bytes: Buffer, { input }: ChunkTask): number =>
  input.start === 0 &&
  bytes.length > BYTE_ORDER_MARK.length &&
  BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte)
    ? BYTE_ORDER_MARK.length
    : 0;

type Counts = Pick<ChunkDone, 'items' | 'failed'>;

/** Returns as much of a line as its answer repeats. */
const shortened = (text: string): string => (text.length > 512 ? `${text.slice(0, 512)}…` : text);

/** Creates the function that processes chunks. */
export function createChunkWork(deps: ChunkWorkDeps): ChunkWork {
  const contextNow = createLabelContext(deps);
  const verdictOf = createItemVerdicts(deps);
  const { log } = deps;
  let out = Buffer.allocUnsafeSlow(OUT_BYTES);
  let kept: { readonly name: string; readonly context: LabelContext; readonly answers: BlockAnswers } | null =
    null;

  /** Reuses the buffers of the previous chunk, which have already grown, if it had the same kind of lines and the same labels. */
  function answersOf({ kind, format, chain, columns, verdict = false }: ChunkTask): BlockAnswers {
    const context = contextNow();
    const shape: LineShape = { kind, format, chain, columns };
    const name = JSON.stringify({ ...shape, verdict });
    if (kept === null || kept.name !== name || kept.context !== context) {
      const { reader, sanctionsAsOf, staleReason } = context;
      const rests = { reader, dataAsOf: sanctionsAsOf, isStale: staleReason !== null };
      const fieldsOf = verdict
        ? (chain: ChainId, address: string): object => verdictOf(context, chain, address)
        : null;
      const answers = new BlockAnswers(rests, sharedChain(shape), lineReader(shape), fieldsOf);
      kept = { name, context, answers };
    }
    return kept.answers;
  }

  function labels(task: ChunkTask, bytes: Buffer, output: Output): Counts {
    const answers = answersOf(task);
    let items = 0;
    let failed = 0;
    for (let at = textStart(bytes, task); at < bytes.length; ) {
      const cut = bytes.indexOf(NEWLINE, Math.min(bytes.length, at + BLOCK_BYTES));
      const end = cut < 0 ? bytes.length : cut + 1;
      // Each block uses the data that is stored when the block is processed.
      if (task.verdict) endReading();
      answers.answer(bytes, at, end);
      const numbered = answers.numbered(task.firstLine - 1 + items);
      output.write(numbered.bytes, numbered.length);
      items += answers.lines;
      failed += answers.failed;
      at = end;
    }
    return { items, failed };
  }

  /** Writes a result at `length`; returns the new length. */
  type WriteAnswer = (fields: LineFields, length: number) => number;

  function append(bytes: string, length: number): number {
    const size = Buffer.byteLength(bytes);
    while (length + size + 1 > out.length) grow(length);
    return length + out.write(bytes, length);
  }

  function grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(out.length * 2);
    out.copy(larger, 0, 0, length);
    out = larger;
  }

  const text = (value: string | number | undefined): string => String(value ?? '');

  const writers: Readonly<Record<Exclude<ChunkTask['kind'], 'labels'>, WriteAnswer>> = {
    sanctions(fields, length) {
      for (;;) {
        // One byte is reserved for the line break.
        const room = out.subarray(0, out.length - 1);
        const end = deps.sanctionsCheck(text(fields.chain), text(fields.address), room, length);
        if (end >= 0) return end;
        grow(length);
      }
    },
    screening: (fields, length) =>
      append(
        JSON.stringify(
          deps.screening({ ...fields, chain: text(fields.chain), address: text(fields.address) }),
        ),
        length,
      ),
    kyt: (fields, length) =>
      append(JSON.stringify(deps.kyt({ ...fields, chain: text(fields.chain) })), length),
  };

  function errorOf(line: string, fields: LineFields | null, error: unknown, number: number): string {
    const { address, from, to } = fields ?? {};
    const isPair = from !== undefined || to !== undefined;
    const known = clientError(error);
    const message = known?.message ?? 'The line could not be processed; see the log of the server.';
    if (known === null) log.error({ line: number, reason: messageOf(error) }, 'line of a bulk job failed');
    return JSON.stringify({
      ...(isPair ? { from, to } : {}),
      ...(isPair && address === undefined ? {} : { address: shortened(text(address ?? line)) }),
      error: message,
      line: number,
    });
  }

  function oneByOne(task: ChunkTask, bytes: Buffer, output: Output, write: WriteAnswer): Counts {
    let items = 0;
    let failed = 0;
    let length = 0;
    for (let at = textStart(bytes, task); at < bytes.length; ) {
      const cut = bytes.indexOf(NEWLINE, at);
      const end = cut < 0 ? bytes.length : cut;
      const line = bytes.toString('utf8', at, end).trim();
      at = end + 1;
      const number = task.firstLine + items++;
      let fields: LineFields | null = null;
      // A chunk takes minutes: each line uses the data that is stored when the line is processed.
      endReading();
      try {
        fields = fieldsOf(line, task);
        length = write(fields, length);
      } catch (error) {
        // A failure of the store or the machine fails the chunk, which is retried. An error of a line must not stop the other
        // lines.
        if (error instanceof AssayError && clientError(error) === null) throw error;
        failed++;
        length = append(errorOf(line, fields, error, number), length);
      }
      out[length++] = NEWLINE;
      if (length < OUT_BYTES / 2) continue;
      output.write(out, length);
      length = 0;
    }
    output.write(out, length);
    return { items, failed };
  }

  return (task) => {
    const bytes = readAll(task.input);
    let counts: Counts = { items: 0, failed: 0 };
    const hasher = task.receipt === undefined ? null : new ResultHasher(task.receipt);
    const written = writeWhole(task.output, hasher, (output) => {
      counts =
        task.kind === 'labels'
          ? labels(task, bytes, output)
          : oneByOne(task, bytes, output, writers[task.kind]);
    });
    return { ...counts, ...written, ...(hasher === null ? {} : { subtrees: hasher.subtrees() }) };
  };
}
