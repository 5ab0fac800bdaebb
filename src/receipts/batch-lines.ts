/**
 * The leaves and the root of a batch. The thread of the requests copies each answer; another thread hashes them, some hundred at a time: the
 * hash of an answer is half of the time that a batch would add to it. Few answers are hashed where they are.
 */
import { Worker } from 'node:worker_threads';
import { HASH_BYTES } from '../base/merkle.ts';
import { workerUrl } from '../base/paths.ts';
import { LineLeaves } from '../base/salted-lines.ts';
import { whenEnded } from '../base/threads.ts';
import {
  addLine,
  type BatchJob,
  type BatchMessage,
  type BatchReply,
  CHUNKS,
  hashLines,
  rootOf,
} from './batch-thread.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { groupsIn, groupsMemory, type TextGroup } from './text-groups.ts';

export type NewBatchThread = (job: BatchJob) => Worker;

const threadOf: NewBatchThread = (job) =>
  new Worker(workerUrl('batch-lines'), { workerData: job, execArgv: [] });

/** The lines of one batch. */
interface Lines {
  count: number;
  /** 32 bytes for each line; grows. */
  leaves: Buffer;
  /** Chunks that are not hashed yet. */
  pending: number;
  /** Called when the last one is; null while lines may be added. */
  onHashed: (() => void) | null;
}

/** A chunk with lines of a batch, from the line `from` on. */
interface Sent {
  readonly chunk: TextGroup;
  readonly lines: Lines;
  readonly from: number;
}

/** A root that the thread computes. */
interface WaitingRoot {
  readonly leaves: Buffer;
  readonly resolve: (root: Buffer) => void;
}

export interface HashedLines {
  readonly root: Buffer;
  /** 32 bytes for each line. */
  readonly leaves: Buffer;
}

const newLines = (): Lines => ({
  count: 0,
  leaves: Buffer.alloc(RECEIPT_LIMITS.batchChunkLines * HASH_BYTES),
  pending: 0,
  onHashed: null,
});

/** Hashes the lines of one batch after the other. */
export class BatchLines {
  readonly #newThread: NewBatchThread;
  readonly #hasher = new LineLeaves();
  /** Made with the first batch: most installations have none. */
  #memory: SharedArrayBuffer | null = null;
  readonly #free: TextGroup[] = [];
  #lines = newLines();
  /** The chunk that is filled. */
  #open: Sent | null = null;
  /** Chunks that the thread has, by number. */
  readonly #sent = new Map<number, Sent>();
  readonly #roots: WaitingRoot[] = [];
  #thread: Worker | null = null;
  #isStopped = false;

  constructor(newThread: NewBatchThread = threadOf) {
    this.#newThread = newThread;
  }

  /** Lines of the open batch. */
  get count(): number {
    return this.#lines.count;
  }

  /** Adds a copy of the bytes of `out` from `start` to `end` to the open batch. */
  add(salt: Uint8Array, out: Buffer, start: number, end: number): void {
    if (this.#open !== null && !addLine(this.#open.chunk, salt, out, start, end)) this.#send();
    else if (this.#open !== null) {
      this.#lines.count += 1;
      return;
    }
    const lines = this.#lines;
    const chunk = this.#chunk();
    const from = lines.count;
    lines.count += 1;
    if (chunk === null) this.#put(lines, from, this.#hasher.leafOf(salt, out.subarray(start, end)));
    else {
      lines.pending += 1;
      this.#open = { chunk, lines, from };
      if (addLine(chunk, salt, out, start, end)) return;
      // Larger than a chunk.
      this.#put(lines, from, this.#hasher.leafOf(salt, out.subarray(start, end)));
      this.#hashed(this.#open);
      this.#open = null;
    }
  }

  #chunk(): TextGroup | null {
    if (this.#memory === null) {
      this.#memory = groupsMemory(CHUNKS);
      this.#free.push(...groupsIn(this.#memory, CHUNKS));
    }
    return this.#free.pop() ?? null;
  }

  #put(lines: Lines, from: number, leaves: Buffer): void {
    const at = from * HASH_BYTES;
    if (lines.leaves.length < at + leaves.length)
      lines.leaves = Buffer.concat([lines.leaves], 2 * (at + leaves.length));
    lines.leaves.set(leaves, at);
  }

  /** Passes the open chunk to the thread. */
  #send(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    const { chunk } = open;
    const isSmall = chunk.count < RECEIPT_LIMITS.batchChunkLinesMin && this.#sent.size === 0;
    if (isSmall || this.#isStopped) this.#hashHere(open);
    else {
      this.#sent.set(chunk.number, open);
      this.#post({ chunk: chunk.number, count: chunk.count });
    }
  }

  #post(message: NonNullable<BatchMessage>): void {
    this.#thread ??= this.#startThread();
    this.#thread.ref();
    this.#thread.postMessage(message);
  }

  #hashHere(one: Sent): void {
    hashLines(one.chunk, one.chunk.count);
    this.#hashed(one);
  }

  /** Takes the leaves of a chunk. */
  #hashed({ chunk, lines, from }: Sent): void {
    this.#put(lines, from, chunk.results());
    chunk.clear();
    this.#free.push(chunk);
    lines.pending -= 1;
    if (lines.pending === 0) lines.onHashed?.();
  }

  /** Ends the open batch. The next line is the first one of the next batch. */
  async close(): Promise<HashedLines> {
    this.#send();
    const lines = this.#lines;
    this.#lines = newLines();
    if (lines.pending > 0)
      await new Promise<void>((resolve) => {
        lines.onHashed = resolve;
      });
    const leaves = lines.leaves.subarray(0, lines.count * HASH_BYTES);
    return { root: await this.#rootOf(leaves), leaves };
  }

  #rootOf(leaves: Buffer): Buffer | Promise<Buffer> {
    if (this.#thread === null || this.#isStopped) return rootOf(leaves);
    return new Promise((resolve) => {
      this.#roots.push({ leaves, resolve });
      this.#post({ leaves });
    });
  }

  #startThread(): Worker {
    const thread = this.#newThread({ memory: this.#memory as SharedArrayBuffer });
    thread.on('message', (reply: BatchReply) => this.#onReply(reply));
    // Without a listener, the error would end the process. `exit` follows.
    thread.on('error', () => {});
    thread.on('exit', () => this.#onExit(thread));
    return thread;
  }

  #onReply(reply: BatchReply): void {
    if ('root' in reply) this.#roots.shift()?.resolve(Buffer.from(reply.root));
    else {
      const one = this.#sent.get(reply.chunk);
      this.#sent.delete(reply.chunk);
      if (one !== undefined) this.#hashed(one);
    }
    // An idle thread does not keep the process running.
    if (this.#sent.size === 0 && this.#roots.length === 0) this.#thread?.unref();
  }

  /** Hashes here what a thread had when it ended; the next chunk starts another thread. */
  #onExit(thread: Worker): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    for (const one of lost) this.#hashHere(one);
    for (const { leaves, resolve } of this.#roots.splice(0)) resolve(rootOf(leaves));
  }

  /** Ends the thread behind its work. Lines that come later are hashed all the same. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const thread = this.#thread;
    if (thread === null) return;
    thread.ref();
    thread.postMessage(null satisfies BatchMessage);
    await whenEnded(thread);
  }
}
