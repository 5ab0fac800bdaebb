/**
 * Bulk load of a file. The transfers go into sorted runs on disk, and then in three passes, each in key order, into the store: transactions
 * (which reveal duplicates), the log, and addresses with their edges. The store records the progress, so that a load that was interrupted
 * at any point can continue. The commits of a pass are flushed while the next one is prepared: after a crash the load continues from the
 * last one that was. The files of the runs stay until the end, which is flushed.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { AssayError } from '../../base/errors.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { type Database, FLUSHED_LATER } from '../../state/lmdb.ts';
import { type AddressBatch, takeBatch } from './bulk-addresses.ts';
import { storeSink, writeGroup } from './bulk-node.ts';
import { DUPLICATE, NEW_FOR_RECEIVER, NEW_FOR_SENDER, type PackContext } from './bulk-pack.ts';
import { AddressPackers, partsOf } from './bulk-packers.ts';
import { BulkRun, compareMarks } from './bulk-run.ts';
import { recordsOf } from './chain-records.ts';
import {
  type ChainStore,
  type Coverage,
  joinCoverage,
  NO_COVERAGE,
  readState,
  writeState,
} from './chain-store.ts';
import { FINGERPRINT_BYTES, Fingerprinter } from './fingerprint.ts';
import { formerPositions, hasFormerTransactions, positionsAt } from './known-positions.ts';
import { LOG_CHUNK_TRANSFERS, LogWriter, readTransfer, recordsIn } from './log.ts';
import { PlacesWriter } from './places.ts';
import type { FilledRun, RunColumns } from './run-columns.ts';
import { RunLog } from './run-log.ts';
import { MARK_WORDS, openRuns, type RunReader, runFile } from './runs.ts';
import { currentMark, type KnownPosition } from './transactions.ts';

/** Identifies a file, so that a later run can resume its load. */
export interface LoadSource {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly format: string;
}

/** How far a file was read. */
export interface LoadPlace {
  /** Bytes of complete rows. */
  readonly offset: number;
  readonly line: number;
  readonly rows: number;
  readonly rejected: number;
  /** Rows with a value that was replaced. Absent in a load that an older version began. */
  readonly replaced?: number;
}

export interface LoadProgress {
  readonly pass: 'transactions' | 'log' | 'addresses';
  /** From 0 to 1. */
  readonly done: number;
}

type Pass = 'read' | LoadProgress['pass'];

/** The stored progress of an unfinished load. */
interface LoadState {
  readonly source: LoadSource;
  readonly place: LoadPlace;
  /** Number of runs. `transfers` is the number of transfers in them. */
  readonly runs: number;
  readonly transfers: number;
  readonly coverage: Coverage;
  readonly pass: Pass;
  readonly firstOrdinal: number;
  /** Whether `firstOrdinal` is assigned. Absent in a load that an older version began: it assigned the numbers after the first pass. */
  readonly isNumbered?: boolean;
  /** Position from which the pass continues: a fingerprint as hex, a number in the load, or node * 2 + direction. */
  readonly next: string | number;
}

const APPEND = { append: true };
const START: LoadPlace = { offset: 0, line: 1, rows: 0, rejected: 0 };
/** Batches of addresses (up to 4 MB each) per transaction of the third pass. */
const COMMIT_BATCHES = 4;
/** Transfers per transaction of the second pass: a whole number of log chunks. */
const COMMIT_LOG = 250_000;
/** Entries per transaction of the first pass. Each transaction also writes the marks of all transfers. */
const COMMIT_TRANSACTIONS = 4_000_000;

const readLoad = ({ meta }: ChainStore): LoadState | null =>
  (meta.get('load') as LoadState | undefined) ?? null;

const sameSource = (a: LoadSource, b: LoadSource): boolean =>
  a.path === b.path && a.bytes === b.bytes && a.modifiedMs === b.modifiedMs && a.format === b.format;

/** Returns true if all stored keys are below `first`. Then entries can be appended, which fills the pages completely. */
function isAppendable<K extends number | Uint8Array>(db: Database<Buffer, K>, first: K): boolean {
  for (const key of db.getKeys({ reverse: true, limit: 1 }))
    return typeof key === 'number'
      ? key < (first as number)
      : Buffer.compare(key as Uint8Array, first as Uint8Array) < 0;
  return true;
}

/** The bulk load of one file: `checkpoint` for each run, then `finish`. */
export class BulkLoad {
  readonly #store: ChainStore;
  readonly #folder: string;
  readonly #run: BulkRun;
  /** Transfers per run. */
  readonly runTransfers: number;
  #state: LoadState;

  /** Starts a load, or resumes the one of this file. If another file left a load unfinished, `finish` completes both. */
  constructor(store: ChainStore, source: LoadSource, runTransfers: number) {
    this.#store = store;
    this.#folder = `${store.path}.load`;
    this.#run = new BulkRun(store, runTransfers);
    this.runTransfers = runTransfers;
    const left = readLoad(store);
    const isWhole = left !== null && this.#hasFiles(left);
    if (left && !isWhole && left.pass !== 'read')
      throw new AssayError(
        'STORE_CORRUPT',
        `The files of an unfinished load were removed from ${this.#folder}: the transfers of ${left.source.path} cannot be ` +
          `identified any more. Move ${store.path} away and ingest its files again.`,
      );
    if (left && isWhole && sameSource(left.source, source)) this.#state = left;
    else if (left && isWhole && left.pass === 'read')
      // Its runs hold transfers that are not stored yet. They stay, and the transfers of this file follow them.
      this.#state = { ...left, source, place: START };
    else {
      if (left === null || !isWhole) rmSync(this.#folder, { recursive: true, force: true });
      this.#state = left && isWhole ? left : this.#fresh(source);
    }
    mkdirSync(this.#folder, PRIVATE_FOLDER);
  }

  /** Secret of the fingerprints. */
  get secret(): Uint8Array {
    return this.#store.salt;
  }

  /** Where to continue reading. Null if the file was read to its end, and only `finish` remains. */
  get place(): LoadPlace | null {
    return this.#state.pass === 'read' ? this.#state.place : null;
  }

  /** Returns true if the unfinished load is of this file. */
  isOf(source: LoadSource): boolean {
    return sameSource(this.#state.source, source);
  }

  /** Writes a run and stores `place`: an interrupted load resumes from here. `endRuns` must be called after the last run. */
  async checkpoint(place: LoadPlace, filled: FilledRun, columns: RunColumns): Promise<void> {
    const state = this.#state;
    const { count } = filled;
    const coverage =
      count > 0
        ? await this.#run.spill(this.#folder, state.runs, state.transfers, filled, columns)
        : NO_COVERAGE;
    this.#save({
      ...state,
      place,
      runs: state.runs + (count > 0 ? 1 : 0),
      transfers: state.transfers + count,
      coverage: joinCoverage(state.coverage, coverage),
    });
  }

  /** Ends the thread of `checkpoint`. Called when no more runs follow. */
  endRuns(): Promise<void> {
    return this.#run.stop();
  }

  /** Merges the runs into the store. Throws the signal's reason between two transactions; a later run continues from there. */
  async finish(
    onProgress: (progress: LoadProgress) => void,
    signal: AbortSignal | undefined,
  ): Promise<{ stored: number; duplicates: number; place: LoadPlace }> {
    const step = async (pass: LoadProgress['pass'], done: number): Promise<void> => {
      onProgress({ pass, done });
      await setImmediate();
      signal?.throwIfAborted();
    };
    if (this.#state.pass === 'read') this.#begin('transactions', '');
    if (this.#state.pass === 'transactions' && this.#state.isNumbered !== true) this.#number();
    const marks = this.#readMarks();
    if (this.#state.pass === 'transactions') await this.#writeTransactions(marks, step);
    const shared = new SharedArrayBuffer(marks.length);
    new Uint8Array(shared).set(marks);
    // Runs once, unless another process writes addresses that were unknown when the threads started.
    while (this.#state.next !== Number.MAX_SAFE_INTEGER) {
      // They need the marks only, so they pack the first addresses while this thread writes the log.
      const packers = this.#startPackers(shared);
      try {
        if (this.#state.pass === 'log') await this.#writeLog(marks, step);
        await this.#takeAddresses(packers, marks, step);
      } finally {
        await packers.stop();
      }
    }
    return this.#end(marks);
  }

  #fresh(source: LoadSource): LoadState {
    return {
      source,
      place: START,
      runs: 0,
      transfers: 0,
      coverage: NO_COVERAGE,
      pass: 'read',
      firstOrdinal: 0,
      next: 0,
    };
  }

  /** Returns true if all run files exist. If they were deleted before any was merged, no stored data is lost: the file is read again. */
  #hasFiles({ runs }: LoadState): boolean {
    const has = (run: number, kind: 'halves' | 'marks' | 'values' | 'log'): boolean =>
      existsSync(runFile(this.#folder, run, kind));
    for (let run = 0; run < runs; run++)
      if (!has(run, 'halves') || !has(run, 'marks') || !(has(run, 'values') || has(run, 'log'))) return false;
    return true;
  }

  #save(state: LoadState): void {
    this.#store.root.transactionSync(() => this.#put(state));
  }

  #put(state: LoadState): void {
    this.#store.meta.putSync('load', state);
    this.#state = state;
  }

  #begin(pass: Pass, next: string | number): void {
    this.#save({ ...this.#state, pass, next });
  }

  /** Assigns the numbers of the log: the first pass stores them with the transactions. */
  #number(): void {
    this.#store.root.transactionSync(() => {
      const state = readState(this.#store);
      const firstOrdinal = Math.ceil(state.nextOrdinal / LOG_CHUNK_TRANSFERS) * LOG_CHUNK_TRANSFERS;
      writeState(this.#store, { ...state, nextOrdinal: firstOrdinal + this.#state.transfers });
      this.#put({ ...this.#state, firstOrdinal, isNumbered: true });
    });
  }

  get #marksPath(): string {
    return `${this.#folder}/marks.seen`;
  }

  #readMarks(): Uint8Array {
    const marks = new Uint8Array(this.#state.transfers);
    if (existsSync(this.#marksPath)) marks.set(readFileSync(this.#marksPath).subarray(0, marks.length));
    return marks;
  }

  #writeMarks(marks: Uint8Array): void {
    // Renamed into place: a kill must not leave fewer marks than the stored progress counts on.
    const partial = `${this.#marksPath}.tmp`;
    const file = openSync(partial, 'w');
    writeSync(file, marks);
    fsyncSync(file);
    closeSync(file);
    renameSync(partial, this.#marksPath);
  }

  #paths(kind: 'halves' | 'marks'): string[] {
    return Array.from({ length: this.#state.runs }, (_, run) => runFile(this.#folder, run, kind));
  }

  /** First pass: transactions in the order of their fingerprints. It sets the marks that show the later passes which transfers are new. */
  async #writeTransactions(
    marks: Uint8Array,
    step: (pass: 'transactions', done: number) => Promise<void>,
  ): Promise<void> {
    const store = this.#store;
    const { root } = store;
    const { firstOrdinal } = this.#state;
    const fingerprint = new Fingerprinter(store.salt);
    const hasFormer = hasFormerTransactions(store);
    const end = firstOrdinal + this.#state.transfers;
    const merge = new MarkMerge(openRuns(this.#paths('marks'), MARK_WORDS));
    const key = Buffer.alloc(FINGERPRINT_BYTES);
    const from = Buffer.from(String(this.#state.next), 'hex');
    let read = 0;
    while (!merge.isAtEnd) {
      const next = root.transactionSync(() => {
        const places = new PlacesWriter(store);
        places.reserve(this.#state.transfers - read);
        for (let entries = 0; entries < COMMIT_TRANSACTIONS && !merge.isAtEnd; entries++) {
          const { words, at: start } = merge.first;
          const high = words[start] as number;
          const middle = words[start + 1] as number;
          const low = words[start + 2] as number;
          const isSkipped = from.length > 0 && Buffer.compare(merge.keyInto(key), from) < 0;
          const positions = hasFormer && !isSkipped ? formerPositions(store, merge.keyInto(key)) : [];
          const found = isSkipped ? [] : places.findBits(high, middle);
          if (found.length > 0) {
            // A transaction of this load is read as a whole: those that it stored before are others of equal bits.
            const ordinals = found.filter((ordinal) => ordinal < firstOrdinal || ordinal >= end);
            positions.push(...positionsAt(store, fingerprint, merge.keyInto(key), ordinals));
          }
          const before = positions.length;
          do {
            // Most transactions have one transfer, which is new: it needs no list.
            if (!isSkipped && positions.length === 0 && merge.isLone) {
              const index = words[start + 3] as number;
              marks[index] = NEW_FOR_SENDER | NEW_FOR_RECEIVER;
              places.addBits(high, middle, firstOrdinal + index);
            } else if (!isSkipped) markPosition(merge.first, positions, marks, firstOrdinal);
            read++;
            merge.next();
          } while (merge.isOf(high, middle, low));
          for (let at = before; at < positions.length; at++)
            places.addBits(high, middle, (positions[at] as KnownPosition).ordinal as number);
        }
        places.finish();
        // The marks are durable before the entries they refer to. If a crash repeats this work, the marks are the same.
        this.#writeMarks(marks);
        const following = !merge.isAtEnd ? merge.keyInto(key).toString('hex') : '';
        if (!merge.isAtEnd) this.#put({ ...this.#state, next: following });
        else this.#put({ ...this.#state, pass: 'log', next: 0 });
        return following;
      }, FLUSHED_LATER);
      await step('transactions', next === '' ? 1 : read / Math.max(1, this.#state.transfers));
    }
    // A load without transfers has no entry that would start the next pass.
    if (this.#state.pass === 'transactions') this.#begin('log', 0);
  }

  /** Second pass: the log, in file order. */
  async #writeLog(marks: Uint8Array, step: (pass: 'log', done: number) => Promise<void>): Promise<void> {
    const { root, log } = this.#store;
    const { transfers, firstOrdinal } = this.#state;
    const runs = Array.from({ length: this.#state.runs }, (_, run) => ({
      values: runFile(this.#folder, run, 'values'),
      records: runFile(this.#folder, run, 'log'),
    }));
    const values = new RunLog(runs);
    try {
      values.skipTo(Number(this.#state.next));
      while (values.index < transfers) {
        root.transactionSync(() => {
          const append = isAppendable(log, (firstOrdinal + values.index) / LOG_CHUNK_TRANSFERS);
          const end = Math.min(transfers, values.index + COMMIT_LOG);
          while (values.index < end) {
            const { index } = values;
            const value = values.next();
            this.#putLogValue(firstOrdinal + index, value, marks.subarray(index, values.index), append);
          }
          this.#put({ ...this.#state, next: values.index });
        }, FLUSHED_LATER);
        await step('log', values.index / transfers);
      }
    } finally {
      values.close();
    }
    this.#begin('addresses', 0);
  }

  /** Writes the transfers of one value. `ordinal` is the number of the first. `append`: no value with a greater number is stored. */
  #putLogValue(ordinal: number, value: Buffer, marks: Uint8Array, append: boolean): void {
    let duplicates = 0;
    for (let at = 0; at < marks.length; at++) duplicates += (marks[at] as number) & DUPLICATE;
    if (duplicates === marks.length) return;
    if (append && marks.length === LOG_CHUNK_TRANSFERS && duplicates === 0) {
      this.#store.log.putSync(ordinal / LOG_CHUNK_TRANSFERS, value, APPEND);
      return;
    }
    const writer = new LogWriter(this.#store);
    for (const [at, record] of recordsIn(value).entries())
      if (!((marks[at] as number) & DUPLICATE)) writer.add(ordinal + at, record);
    writer.flush();
  }

  /** Starts the threads that pack addresses, from the first one that is not written. */
  #startPackers(marks: SharedArrayBuffer): AddressPackers {
    const { pass, next, firstOrdinal } = this.#state;
    const paths = this.#paths('halves');
    const first = pass === 'addresses' ? Math.floor(Number(next) / 2) : 0;
    return new AddressPackers({
      paths,
      marks,
      firstOrdinal,
      parts: partsOf(paths, first, this.runTransfers),
      lastKnown: [...this.#store.nodes.getKeys({ reverse: true, limit: 1 })][0] ?? 0,
    });
  }

  /**
   * Third pass: addresses in the order of their ids, each with the edges of both directions. Writes the batches that the threads pack, until the
   * end, or until an address in a batch is no longer new.
   */
  async #takeAddresses(
    packers: AddressPackers,
    marks: Uint8Array,
    step: (pass: 'addresses', done: number) => Promise<void>,
  ): Promise<void> {
    const store = this.#store;
    const { firstOrdinal, transfers } = this.#state;
    const records = recordsOf(store);
    const context: PackContext = {
      firstOrdinal,
      marks,
      largeAmount: (ordinal) => readTransfer(records, ordinal).amount,
    };
    let read = 0;
    let waiting: { readonly batch: AddressBatch; readonly release: () => void }[] = [];
    for await (const packed of packers.batches()) {
      waiting.push(packed);
      const isEnd = packed.batch.next === null;
      if (!isEnd && waiting.length < COMMIT_BATCHES) continue;
      const batches = waiting.map(({ batch }) => batch);
      const isWhole = store.root.transactionSync(() => this.#putBatches(context, batches), FLUSHED_LATER);
      if (!isWhole) return;
      for (const { batch, release } of waiting) {
        read += batch.halves;
        release();
      }
      waiting = [];
      await step('addresses', isEnd ? 1 : Math.min(1, read / Math.max(1, transfers * 2)));
    }
  }

  /** Returns false if it stopped at an address that has been stored in the meantime. Runs inside a write transaction. */
  #putBatches(context: PackContext, batches: readonly AddressBatch[]): boolean {
    const store = this.#store;
    const { nodes, edges } = store;
    const first = Math.floor(Number(this.#state.next) / 2);
    const key = Buffer.alloc(9);
    key.writeUInt32BE(first, 0);
    const append = isAppendable(nodes, first) && isAppendable(edges, key);
    const sink = storeSink(store, append);
    for (const batch of batches) {
      const left = takeBatch(batch, {
        sink,
        isFresh: (node) => append || nodes.getBinaryFast(node) === undefined,
        raw: (node, group) => writeGroup(store, context, node, group, sink),
      });
      const next = left === null ? (batch.next ?? Number.MAX_SAFE_INTEGER) : left * 2;
      this.#put({ ...this.#state, next });
      if (left !== null) return false;
    }
    return true;
  }

  async #end(marks: Uint8Array): Promise<{ stored: number; duplicates: number; place: LoadPlace }> {
    const { root, meta } = this.#store;
    const { place, coverage } = this.#state;
    let duplicates = 0;
    for (const mark of marks) if (mark & DUPLICATE) duplicates++;
    const stored = marks.length - duplicates;
    root.transactionSync(() => {
      const state = readState(this.#store);
      const settled = stored > 0 ? joinCoverage(state.settled, coverage) : state.settled;
      writeState(this.#store, { ...state, transfers: state.transfers + stored, settled });
      meta.removeSync('load');
    });
    await root.flushed;
    rmSync(this.#folder, { recursive: true, force: true });
    return { stored, duplicates, place };
  }
}

/** Compares one transfer with the known positions of its transaction, sets its mark, and adds its position. */
function markPosition(
  { words, at }: RunReader,
  positions: KnownPosition[],
  marks: Uint8Array,
  firstOrdinal: number,
): void {
  const index = words[at + 3] as number;
  // A run that an older version wrote has marks of its own.
  const mark = currentMark((words[at + 4] as number) + (words[at + 5] as number) * 2 ** 32);
  const from = words[at + 6] as number;
  const to = words[at + 7] as number;
  let found = NEW_FOR_SENDER | NEW_FOR_RECEIVER;
  for (const known of positions) {
    if (known.mark === mark) {
      marks[index] = DUPLICATE;
      return;
    }
    if (known.from === from || known.to === from) found &= ~NEW_FOR_SENDER;
    if (known.from === to || known.to === to) found &= ~NEW_FOR_RECEIVER;
  }
  marks[index] = found;
  positions.push({ mark, from, to, ordinal: firstOrdinal + index });
}

function writeKey({ words, at }: RunReader, key: Buffer): void {
  for (let word = 0; word < 3; word++) key.writeUInt32BE(words[at + word] as number, word * 4);
}

/** A heap of mark readers, ordered by their current mark. */
class MarkMerge {
  readonly #readers: RunReader[];

  constructor(readers: readonly RunReader[]) {
    this.#readers = [...readers];
    for (let at = (readers.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  get isAtEnd(): boolean {
    return this.#readers.length === 0;
  }

  /** The reader of the next mark. Must not be called at the end. */
  get first(): RunReader {
    return this.#readers[0] as RunReader;
  }

  /** Returns true if the next mark belongs to the transaction whose key has these words. */
  isOf(high: number, middle: number, low: number): boolean {
    if (this.isAtEnd) return false;
    const { words, at } = this.first;
    return words[at] === high && words[at + 1] === middle && words[at + 2] === low;
  }

  /** True if the next mark is known to be the only one of its transaction. False also if the mark behind it was not read yet. */
  get isLone(): boolean {
    const readers = this.#readers;
    const { words, at, end } = this.first;
    if (at + MARK_WORDS >= end || isSameKey(words, at, words, at + MARK_WORDS)) return false;
    for (let child = 1; child <= 2 && child < readers.length; child++) {
      const other = readers[child] as RunReader;
      if (isSameKey(words, at, other.words, other.at)) return false;
    }
    return true;
  }

  /** Writes the transaction key of the next mark into `key` and returns it. */
  keyInto(key: Buffer): Buffer {
    writeKey(this.first, key);
    return key;
  }

  next(): void {
    const { first } = this;
    first.next();
    if (first.isAtEnd) {
      first.close();
      const last = this.#readers.pop() as RunReader;
      if (last === first) return;
      this.#readers[0] = last;
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const readers = this.#readers;
    const sinking = readers[from] as RunReader;
    let at = from;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= readers.length) break;
      if (child + 1 < readers.length && isBefore(readers[child + 1], readers[child])) child++;
      if (!isBefore(readers[child], sinking)) break;
      readers[at] = readers[child] as RunReader;
      at = child;
    }
    readers[at] = sinking;
  }
}

const isSameKey = (a: Uint32Array, at: number, b: Uint32Array, place: number): boolean =>
  a[at] === b[place] && a[at + 1] === b[place + 1] && a[at + 2] === b[place + 2];

const isBefore = (a: RunReader | undefined, b: RunReader | undefined): boolean =>
  a !== undefined && b !== undefined && compareMarks(a.words, a.at, b.words, b.at) < 0;
