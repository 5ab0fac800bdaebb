/** The thread that hashes the answers of batches (batch-lines.ts), in memory that it shares with the thread of the requests. */
import { parentPort } from 'node:worker_threads';
import { HASH_BYTES, MerkleFrontier, sha256 } from '../base/merkle.ts';
import { LINE_SALT_BYTES } from '../base/salted-lines.ts';
import { endBehind } from '../base/threads.ts';
import { RECEIPT_LIMITS } from './limits.ts';

const { batchChunkLines: LINES, batchChunkBytes: TEXT_BYTES, batchChunks: CHUNKS } = RECEIPT_LIMITS;
const ENDS_BYTES = LINES * Uint32Array.BYTES_PER_ELEMENT;
const CHUNK_BYTES = ENDS_BYTES + LINES * HASH_BYTES + TEXT_BYTES;
/** Before the text of a line: the prefix of a leaf, which is zero, and the salt. */
const HEAD_BYTES = 1 + LINE_SALT_BYTES;

/** What the thread gets when it starts. */
export interface BatchJob {
  readonly memory: SharedArrayBuffer;
}

/** A chunk of lines to hash, or the leaves of a batch whose root is wanted. Null ends the thread. */
export type BatchMessage =
  | { readonly chunk: number; readonly count: number }
  | { readonly leaves: Uint8Array }
  | null;

/** The same chunk when it is hashed, or the root. */
export type BatchReply = { readonly chunk: number } | { readonly root: Uint8Array };

/** Some lines of a batch, and their leaves. */
export class LineChunk {
  readonly number: number;
  readonly #ends: Uint32Array;
  readonly #leaves: Buffer;
  readonly #texts: Buffer;
  #count = 0;
  #end = 0;

  constructor(memory: SharedArrayBuffer, number: number) {
    this.number = number;
    const from = number * CHUNK_BYTES;
    this.#ends = new Uint32Array(memory, from, LINES);
    this.#leaves = Buffer.from(memory, from + ENDS_BYTES, LINES * HASH_BYTES);
    this.#texts = Buffer.from(memory, from + CHUNK_BYTES - TEXT_BYTES, TEXT_BYTES);
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(CHUNKS * CHUNK_BYTES);
  }

  static all(memory: SharedArrayBuffer): LineChunk[] {
    return Array.from({ length: CHUNKS }, (_, number) => new LineChunk(memory, number));
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a copy of the bytes of `out` from `start` to `end`, a line. Returns false if it does not fit. */
  add(salt: Uint8Array, out: Buffer, start: number, end: number): boolean {
    const from = this.#end;
    const after = from + HEAD_BYTES + end - start;
    if (this.#count === LINES || after > TEXT_BYTES) return false;
    this.#texts[from] = 0;
    this.#texts.set(salt, from + 1);
    out.copy(this.#texts, from + HEAD_BYTES, start, end);
    this.#ends[this.#count++] = after;
    this.#end = after;
    return true;
  }

  clear(): void {
    this.#count = 0;
    this.#end = 0;
  }

  /** Computes the leaves of the first lines. */
  hash(count: number): void {
    let from = 0;
    for (let line = 0; line < count; line++) {
      const end = this.#ends[line] as number;
      this.#leaves.set(sha256(this.#texts.subarray(from, end)), line * HASH_BYTES);
      from = end;
    }
  }

  /** Returns the leaves of its lines, valid until it is cleared. */
  leaves(): Buffer {
    return this.#leaves.subarray(0, this.#count * HASH_BYTES);
  }
}

/** Returns the root of a tree. */
export function rootOf(leaves: Uint8Array): Buffer {
  const tree = new MerkleFrontier();
  for (let at = 0; at < leaves.length; at += HASH_BYTES) tree.append(leaves.subarray(at, at + HASH_BYTES));
  return tree.root();
}

/** Hashes until a message ends the thread. */
export function runBatchThread({ memory }: BatchJob): void {
  const port = parentPort;
  if (port === null) throw new Error('Batches are hashed on a thread of their own.');
  const chunks = LineChunk.all(memory);
  const reply = (message: BatchReply): void => port.postMessage(message);
  port.on('message', (message: BatchMessage) => {
    if (message === null) return endBehind(port);
    if ('leaves' in message) return reply({ root: rootOf(message.leaves) });
    chunks[message.chunk]?.hash(message.count);
    reply({ chunk: message.chunk });
  });
}
