/**
 * One thread of a bulk file. Threads take turns to read a block and to write its answers, in the order of the blocks. Between the
 * two they work in parallel. So the same code serves files and pipes, and appends if the shell opened the output for appending.
 * If the input is a file, a thread that must wait for its turn to write works ahead on its next blocks: see
 * docs/decisions/bulk-files.md.
 */
import { readSync, writeSync } from 'node:fs';
import { AssayError, messageOf } from '../base/errors.ts';
import type { ChainId } from '../chains/registry.ts';
import { openSnapshot } from '../labels/index/snapshot.ts';
import { asStorageFull, isStorageFull } from '../state/storage.ts';
import { BATCH_ITEMS, type BulkContext, type BulkItem, BulkItems } from './bulk-items.ts';

/** The job that a thread receives at its start. */
export interface BulkFileJob {
  readonly input: number;
  readonly output: number;
  readonly chain: ChainId;
  readonly blockBytes: number;
  /** Shared memory of `Turns`. */
  readonly turns: SharedArrayBuffer;
  /** Folder of the one snapshot that every thread of the run reads; the caller holds the lease on it. */
  readonly snapshot: string;
  /** `dataAsOf` of every answer. */
  readonly dataAsOf: string | null;
  /** True if a sanctions list is missing or too old: every answer says so. */
  readonly isStale: boolean;
  /**
   * Maximum number of answered blocks that may wait for their turn to be written. 1 if the input is a pipe: an answer must not
   * wait while its thread reads input that has not arrived yet.
   */
  readonly blocksAhead: number;
}

/**
 * Maximum number of bytes kept of a line without an end: far more than an address can have, so the line is an error whatever is
 * cut off.
 */
const CARRY_MAX = 64 * 1024;

/** Int32 cells of the shared memory. */
const READING = 0;
const TICKET = 1;
const WRITING = 2;
const AT_END = 3;
const STOPPED = 4;
const CARRY_LENGTH = 5;
const CELLS_BYTES = 32;
/** BigInt64 counters, stored behind the cells. */
const LINES = 0;
const FAILED = 1;
const BYTES_READ = 2;
const COUNTERS_BYTES = 32;

/** The shared state of all threads of one bulk file: the turns, the unfinished line between two blocks, and the counters. */
export class Turns {
  readonly memory: SharedArrayBuffer;
  readonly #cells: Int32Array;
  readonly #counters: BigInt64Array;
  readonly #carry: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#cells = new Int32Array(memory, 0, CELLS_BYTES / 4);
    this.#counters = new BigInt64Array(memory, CELLS_BYTES, COUNTERS_BYTES / 8);
    this.#carry = new Uint8Array(memory, CELLS_BYTES + COUNTERS_BYTES, CARRY_MAX);
  }

  static create(): Turns {
    return new Turns(new SharedArrayBuffer(CELLS_BYTES + COUNTERS_BYTES + CARRY_MAX));
  }

  /** Makes every thread end at its next turn. */
  stop(): void {
    Atomics.store(this.#cells, STOPPED, 1);
    Atomics.notify(this.#cells, READING);
    Atomics.notify(this.#cells, WRITING);
  }

  get #stopped(): boolean {
    return Atomics.load(this.#cells, STOPPED) === 1;
  }

  /** True if the input was read, and its answers were written, to the end. */
  get atEnd(): boolean {
    const [ticket, writing] = [Atomics.load(this.#cells, TICKET), Atomics.load(this.#cells, WRITING)];
    return Atomics.load(this.#cells, AT_END) === 1 && ticket === writing;
  }

  counts(): { lines: number; failed: number; bytesRead: number } {
    const count = (cell: number): number => Number(Atomics.load(this.#counters, cell));
    return { lines: count(LINES), failed: count(FAILED), bytesRead: count(BYTES_READ) };
  }

  /**
   * Waits for its turn and reads the next block of whole lines into `block`.
   *
   * @returns the size and the ticket of the block; null at the end of the input or after a stop.
   */
  read(input: number, block: Buffer): { size: number; ticket: number } | null {
    const cells = this.#cells;
    while (Atomics.compareExchange(cells, READING, 0, 1) !== 0) {
      if (this.#stopped) return null;
      Atomics.wait(cells, READING, 1, 1_000);
    }
    try {
      if (this.#stopped || Atomics.load(cells, AT_END) === 1) return null;
      const size = this.#fill(input, block);
      if (size === 0) return null;
      return { size, ticket: Atomics.add(cells, TICKET, 1) };
    } finally {
      Atomics.store(cells, READING, 0);
      Atomics.notify(cells, READING, 1);
    }
  }

  /**
   * Returns the size of the whole lines that were read; 0 at the end. The bytes after the last newline are kept for the next
   * block.
   */
  #fill(input: number, block: Buffer): number {
    let held = Atomics.load(this.#cells, CARRY_LENGTH);
    block.set(this.#carry.subarray(0, held));
    for (;;) {
      const read = readSome(input, block, held);
      Atomics.add(this.#counters, BYTES_READ, BigInt(read));
      if (read === 0) {
        Atomics.store(this.#cells, AT_END, 1);
        Atomics.store(this.#cells, CARRY_LENGTH, 0);
        return held;
      }
      const end = held + read;
      const size = block.subarray(0, end).lastIndexOf(0x0a) + 1;
      if (size > 0) {
        const rest = Math.min(end - size, CARRY_MAX);
        this.#carry.set(block.subarray(size, size + rest));
        Atomics.store(this.#cells, CARRY_LENGTH, rest);
        return size;
      }
      held = Math.min(end, CARRY_MAX);
    }
  }

  /** Returns true if all earlier blocks are written. */
  isNext(ticket: number): boolean {
    return Atomics.load(this.#cells, WRITING) === ticket;
  }

  /**
   * Waits until all earlier blocks are written, then calls `write` with the number of lines before this block and updates the
   * counters. Returns false after a stop.
   */
  write(ticket: number, lines: number, failed: number, write: (linesBefore: number) => void): boolean {
    const cells = this.#cells;
    for (;;) {
      const writing = Atomics.load(cells, WRITING);
      if (writing === ticket) break;
      if (this.#stopped) return false;
      Atomics.wait(cells, WRITING, writing, 1_000);
    }
    if (this.#stopped) return false;
    write(Number(Atomics.load(this.#counters, LINES)));
    Atomics.add(this.#counters, LINES, BigInt(lines));
    Atomics.add(this.#counters, FAILED, BigInt(failed));
    Atomics.add(cells, WRITING, 1);
    Atomics.notify(cells, WRITING);
    return true;
  }
}

const isBusy = (error: unknown): boolean => (error as { code?: unknown }).code === 'EAGAIN';

/** Delay before the next try on a descriptor that the shell made non-blocking. */
const BUSY_WAIT_MS = 2;
const idle = new Int32Array(new SharedArrayBuffer(4));

function readSome(input: number, block: Buffer, at: number): number {
  for (;;) {
    try {
      return readSync(input, block, at, block.length - at, null);
    } catch (cause) {
      if (!isBusy(cause))
        throw new AssayError('INVALID_FILE', `The input cannot be read: ${messageOf(cause)}.`, { cause });
      Atomics.wait(idle, 0, 0, BUSY_WAIT_MS);
    }
  }
}

function writeAll(output: number, bytes: Buffer, length: number): void {
  let at = 0;
  while (at < length) {
    try {
      at += writeSync(output, bytes, at, length - at, null);
    } catch (cause) {
      if ((cause as { code?: unknown }).code === 'EPIPE')
        throw new AssayError('OUTPUT_CLOSED', 'The output was closed by its reader.', { cause });
      if (isStorageFull(cause)) throw asStorageFull(cause, 'The output');
      if (!isBusy(cause))
        throw new AssayError('INVALID_FILE', `The output cannot be written: ${messageOf(cause)}.`, { cause });
      Atomics.wait(idle, 0, 0, BUSY_WAIT_MS);
    }
  }
}

const NEWLINE = 0x0a;
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d;

/** Longest text of a line number that is inserted before the end of an error: `,"line":` and 16 digits. */
const LINE_FIELD_MAX = 24;

/**
 * Narrows an item that is a whole line to its address, and sets its chain. If the line contains the address in another form, the
 * reader may write over the line, but not beyond it.
 */
export type LineReader = (block: Buffer, item: BulkItem) => void;

/** Answers the lines of blocks. */
export class BlockAnswers {
  readonly #context: BulkContext;
  readonly #items: BulkItem[];
  readonly #readLine: LineReader | null;
  readonly #writer = new BulkItems();
  /** For all errors of the block: the offset in the answer at which the line number belongs. */
  readonly #marks: number[] = [];
  /** For all errors of the block: the line in the block. */
  readonly #markLines: number[] = [];
  #batchLine = 0;
  #numbered = Buffer.alloc(0);
  lines = 0;

  /**
   * @param chain - chain of lines that are only an address, or the error if they have no valid chain; other lines need a reader,
   *   which sets the chain of each
   * @param fieldsOf - further fields of each answer (`BulkItems.fieldsOf`)
   */
  constructor(
    context: BulkContext,
    chain: BulkItem['chain'],
    readLine: LineReader | null = null,
    fieldsOf: BulkItems['fieldsOf'] = null,
  ) {
    this.#context = context;
    this.#readLine = readLine;
    this.#writer.fieldsOf = fieldsOf;
    this.#items = Array.from({ length: BATCH_ITEMS }, () => ({ start: 0, end: 0, chain }));
    this.#writer.onError = (index) => {
      this.#marks.push(this.#writer.length);
      this.#markLines.push(this.#batchLine + index);
    };
  }

  get failed(): number {
    return this.#writer.failed;
  }

  /** Answers `block[from, size)`. */
  answer(block: Buffer, from: number, size: number): void {
    this.#writer.clear();
    this.#marks.length = 0;
    this.#markLines.length = 0;
    this.#batchLine = 0;
    let count = 0;
    let at = from;
    while (at < size) {
      let end = at;
      while (end < size && block[end] !== NEWLINE) end++;
      const item = this.#items[count++] as BulkItem;
      item.start = at;
      item.end = end;
      while (item.end > item.start && isBlank(block[item.end - 1])) item.end--;
      while (item.start < item.end && isBlank(block[item.start])) item.start++;
      this.#readLine?.(block, item);
      at = end + 1;
      if (count === BATCH_ITEMS) {
        this.#writer.write(this.#context, block, this.#items, 0, count, NEWLINE, NEWLINE);
        this.#batchLine += count;
        count = 0;
      }
    }
    if (count > 0) this.#writer.write(this.#context, block, this.#items, 0, count, NEWLINE, NEWLINE);
    this.lines = this.#batchLine + count;
  }

  /** Returns the answers as bytes, with line numbers in the errors. Valid until the next `answer`. */
  numbered(linesBefore: number): { bytes: Buffer; length: number } {
    const { out, length } = this.#writer;
    if (this.#marks.length === 0) return { bytes: out, length };
    const room = length + this.#marks.length * LINE_FIELD_MAX;
    if (this.#numbered.length < room) this.#numbered = Buffer.allocUnsafeSlow(room);
    let from = 0;
    let to = 0;
    for (const [index, mark] of this.#marks.entries()) {
      to += out.copy(this.#numbered, to, from, mark);
      to += this.#numbered.write(`,"line":${linesBefore + (this.#markLines[index] as number) + 1}`, to);
      from = mark;
    }
    to += out.copy(this.#numbered, to, from, length);
    return { bytes: this.#numbered, length: to };
  }
}

/** A block that is answered and waits for its turn to be written. */
interface Pending {
  readonly ticket: number;
  readonly answers: BlockAnswers;
}

/**
 * Answers blocks until the input ends or another thread stops the run.
 *
 * @throws the error that stopped this thread.
 */
export function runBulkFileThread(job: BulkFileJob): void {
  const turns = new Turns(job.turns);
  const { dataAsOf, isStale } = job;
  const context: BulkContext = { reader: openSnapshot(job.snapshot), dataAsOf, isStale };
  const free = Array.from({ length: job.blocksAhead }, () => new BlockAnswers(context, job.chain));
  const pending: Pending[] = [];
  const block = Buffer.allocUnsafeSlow(CARRY_MAX + job.blockBytes);

  /** Writes the oldest answers when their turn comes. Returns false after a stop. */
  const writeOldest = (): boolean => {
    const { ticket, answers } = pending.shift() as Pending;
    free.push(answers);
    return turns.write(ticket, answers.lines, answers.failed, (linesBefore) => {
      const { bytes, length } = answers.numbered(linesBefore);
      writeAll(job.output, bytes, length);
    });
  };

  for (;;) {
    const taken = turns.read(job.input, block);
    if (taken === null) break;
    const { size, ticket } = taken;
    const hasMark = ticket === 0 && block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf;
    // The buffer used last is still in the cache.
    const answers = free.pop() as BlockAnswers;
    answers.answer(block, hasMark ? 3 : 0, size);
    pending.push({ ticket, answers });
    // A thread waits only if it has no room to work ahead. The thread that has the oldest block never waits for another.
    while (pending.length > 0 && (free.length === 0 || turns.isNext((pending[0] as Pending).ticket)))
      if (!writeOldest()) return;
  }
  while (pending.length > 0) if (!writeOldest()) return;
}
