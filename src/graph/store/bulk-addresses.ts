/**
 * The threads of a bulk load that assemble its addresses. They merge the halves of the runs and pack the addresses that the store does not
 * know, while the thread that owns the store writes earlier batches. Other addresses are passed on unpacked.
 */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { Slots } from '../../base/threads.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import { DUPLICATE, NodeGroup, type PackContext, type PackedSink, packGroup } from './bulk-pack.ts';
import { HALF_INDEX, HALF_WORDS, openRuns, type RunReader } from './runs.ts';

/** Start data of a thread. */
export interface BulkAddressesJob {
  /** Files of halves. */
  readonly paths: readonly string[];
  /** By number in the load, as bulk-pack.ts reads them. */
  readonly marks: SharedArrayBuffer;
  readonly firstOrdinal: number;
  /** The first address id of each part, ascending. The last part has no end. */
  readonly parts: readonly number[];
  /** The thread packs every `threads`-th part, beginning with this one. */
  readonly thread: number;
  readonly threads: number;
  /** The greatest address id that the store may already contain. */
  readonly lastKnown: number;
  /** Memory of `Slots`: how many more batches the thread may post. */
  readonly free: SharedArrayBuffer;
}

/** Addresses in the order of their ids. */
export interface AddressBatch {
  readonly bytes: ArrayBuffer;
  readonly length: number;
  /** Node * 2 + direction from which to continue after this batch. Null at the end. */
  readonly next: number | null;
  readonly isLastOfPart: boolean;
  /** Halves read for it. */
  readonly halves: number;
}

const BATCH_BYTES = 4 << 20;
const PACKED = 0;
const RAW = 1;

/** Runs in a thread of its own, until all addresses of its parts are posted. */
export function runBulkAddresses(job: BulkAddressesJob): void {
  const port = parentPort as MessagePort;
  const { parts, thread, threads } = job;
  const free = new Slots(job.free);
  const marks = new Uint8Array(job.marks);
  const context: PackContext = {
    firstOrdinal: job.firstOrdinal,
    marks,
    largeAmount: (ordinal) => {
      throw new RangeError(
        `The amount of transfer ${ordinal} is in the log, which this thread does not read.`,
      );
    },
  };
  const groups = new NodeGroups(job.paths, marks);
  const group = new NodeGroup();
  for (let part = thread; part < parts.length; part += threads) {
    groups.skipTo((parts[part] as number) * 2);
    const end = part + 1 < parts.length ? (parts[part + 1] as number) * 2 : null;
    const isInPart = (): boolean => groups.following < (end ?? Number.POSITIVE_INFINITY);
    let out = new BatchWriter();
    for (let isLastOfPart = false; !isLastOfPart; ) {
      if (isInPart()) {
        const node = groups.next(group);
        if (group.count > 0) {
          if (node <= job.lastKnown || group.hasLarge || group.count > GRAPH_LIMITS.bulkPackedTransfers)
            out.raw(node, group);
          else out.packed(node, () => packGroup(context, node, group, out));
        }
      }
      isLastOfPart = !isInPart();
      if (out.length < BATCH_BYTES && !isLastOfPart) continue;
      if (!free.wait()) return;
      free.take();
      const batch: AddressBatch = {
        bytes: out.bytes,
        length: out.length,
        next: isLastOfPart ? end : groups.following,
        isLastOfPart,
        halves: groups.takeRead(),
      };
      port.postMessage(batch, [batch.bytes]);
      out = new BatchWriter();
    }
  }
}

/** The addresses of sorted runs, one after another. */
class NodeGroups {
  readonly #readers: RunReader[];
  readonly #marks: Uint8Array;
  #read = 0;
  /** Node * 2 + direction of the next half. Infinity at the end. */
  following = 0;

  constructor(paths: readonly string[], marks: Uint8Array) {
    this.#marks = marks;
    this.#readers = openRuns(paths, HALF_WORDS);
  }

  /** Skips the halves before one of node * 2 + direction. */
  skipTo(from: number): void {
    for (const reader of this.#readers) reader.skipTo(from);
    this.#closeEnded();
    this.#findFollowing();
  }

  /** Returns the number of halves read since the last call. */
  takeRead(): number {
    const read = this.#read;
    this.#read = 0;
    return read;
  }

  /** Reads the next address into the group, without its duplicates. Must not be called at the end. */
  next(group: NodeGroup): number {
    group.clear();
    const node = Math.floor(this.following / 2);
    let hasEnded = false;
    for (let wanted = node * 2; wanted <= node * 2 + 1; wanted++)
      for (const reader of this.#readers)
        if (reader.words[reader.at] === wanted) {
          this.#take(reader, wanted, group);
          hasEnded ||= reader.isAtEnd;
        }
    if (hasEnded) this.#closeEnded();
    this.#findFollowing();
    return node;
  }

  #take(reader: RunReader, wanted: number, group: NodeGroup): void {
    const { words } = reader;
    const marks = this.#marks;
    do {
      const { at: start, end } = reader;
      let at = start;
      for (; at < end && words[at] === wanted; at += HALF_WORDS)
        if (!((marks[words[at + HALF_INDEX] as number] as number) & DUPLICATE)) group.add(words, at);
      this.#read += (at - start) / HALF_WORDS;
      reader.moveTo(at);
    } while (!reader.isAtEnd && words[reader.at] === wanted);
  }

  #findFollowing(): void {
    let least = Number.POSITIVE_INFINITY;
    for (const { words, at } of this.#readers) if ((words[at] as number) < least) least = words[at] as number;
    this.following = least;
  }

  #closeEnded(): void {
    for (const reader of this.#readers.filter((one) => one.isAtEnd)) {
      reader.close();
      this.#readers.splice(this.#readers.indexOf(reader), 1);
    }
  }
}

/** Writes words, and bytes padded to whole words, into memory that can be transferred to another thread. */
class BatchWriter implements PackedSink {
  bytes = new ArrayBuffer(BATCH_BYTES + (64 << 10));
  length = 0;
  #words = new Uint32Array(this.bytes);
  #view = new Uint8Array(this.bytes);
  #chunks = 0;

  raw(node: number, { words, count }: NodeGroup): void {
    this.#reserve(12 + count * HALF_WORDS * 4);
    this.#word(node);
    this.#word(RAW);
    this.#word(count);
    this.#words.set(words.subarray(0, count * HALF_WORDS), this.length / 4);
    this.length += count * HALF_WORDS * 4;
  }

  /** All that `pack` writes to this sink belongs to the node. */
  packed(node: number, pack: () => void): void {
    this.#reserve(12);
    this.#word(node);
    this.#word(PACKED);
    const chunksAt = this.length / 4;
    this.#word(0);
    this.#chunks = 0;
    pack();
    this.#words[chunksAt] = this.#chunks;
  }

  chunk(_node: number, direction: number, firstId: number, bytes: Buffer): void {
    this.#chunks++;
    this.#reserve(8);
    this.#word(direction);
    this.#word(firstId);
    this.#value(bytes);
  }

  node(_node: number, bytes: Buffer): void {
    this.#value(bytes);
  }

  #value(bytes: Buffer): void {
    this.#reserve(8 + bytes.length);
    this.#word(bytes.length);
    this.#view.set(bytes, this.length);
    this.length += (bytes.length + 3) & ~3;
  }

  #word(value: number): void {
    this.#words[this.length / 4] = value;
    this.length += 4;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.bytes.byteLength) return;
    const grown = new ArrayBuffer(Math.max(this.bytes.byteLength * 2, (this.length + more + 3) & ~3));
    const view = new Uint8Array(grown);
    view.set(this.#view.subarray(0, this.length));
    this.bytes = grown;
    this.#view = view;
    this.#words = new Uint32Array(grown);
  }
}

/** Receives the addresses of a batch. */
export interface AddressTaker {
  readonly sink: PackedSink;
  /** Returns false if a packed address is known by now, which ends the reading of the batch. */
  isFresh(node: number): boolean;
  raw(node: number, group: NodeGroup): void;
}

/** Reads a batch to its end and returns null, or returns the first packed address that is no longer new. */
export function takeBatch({ bytes, length }: AddressBatch, taker: AddressTaker): number | null {
  const words = new Uint32Array(bytes);
  const { sink } = taker;
  const group = new NodeGroup();
  let at = 0;
  const value = (): Buffer => {
    const size = words[at++] as number;
    const found = Buffer.from(bytes, at * 4, size);
    at += (size + 3) >> 2;
    return found;
  };
  while (at * 4 < length) {
    const node = words[at++] as number;
    const kind = words[at++] as number;
    const count = words[at++] as number;
    if (kind === RAW) {
      group.words = words.subarray(at, at + count * HALF_WORDS);
      group.count = count;
      taker.raw(node, group);
      at += count * HALF_WORDS;
      continue;
    }
    if (!taker.isFresh(node)) return node;
    for (let chunk = 0; chunk < count; chunk++) {
      const direction = words[at++] as number;
      const firstId = words[at++] as number;
      sink.chunk(node, direction, firstId, value());
    }
    sink.node(node, value());
  }
  return null;
}
