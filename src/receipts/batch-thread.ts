/** The thread that hashes the answers of batches (batch-lines.ts), in memory that it shares with the thread of the requests. */
import { parentPort } from 'node:worker_threads';
import { HASH_BYTES, MerkleFrontier, sha256 } from '../base/merkle.ts';
import { LINE_SALT_BYTES } from '../base/salted-lines.ts';
import { endBehind } from '../base/threads.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { type GroupSizes, groupsIn, type TextGroup } from './text-groups.ts';

/** Chunks of the lines of batches, and their leaves. */
export const CHUNKS: GroupSizes = {
  groups: RECEIPT_LIMITS.batchChunks,
  texts: RECEIPT_LIMITS.batchChunkLines,
  textBytes: RECEIPT_LIMITS.batchChunkBytes,
  resultBytes: HASH_BYTES,
};
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

/** Adds a copy of the bytes of `out` from `start` to `end` to a chunk. Returns false if they do not fit. */
export function addLine(
  chunk: TextGroup,
  salt: Uint8Array,
  out: Buffer,
  start: number,
  end: number,
): boolean {
  const from = chunk.reserve(HEAD_BYTES + end - start);
  if (from < 0) return false;
  chunk.texts[from] = 0;
  chunk.texts.set(salt, from + 1);
  out.copy(chunk.texts, from + HEAD_BYTES, start, end);
  return true;
}

/** Computes the leaves of the first lines of a chunk. */
export function hashLines(chunk: TextGroup, count: number): void {
  chunk.each(count, (text, leaf) => leaf.set(sha256(text)));
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
  const chunks = groupsIn(memory, CHUNKS);
  const reply = (message: BatchReply): void => port.postMessage(message);
  port.on('message', (message: BatchMessage) => {
    if (message === null) return endBehind(port);
    if ('leaves' in message) return reply({ root: rootOf(message.leaves) });
    hashLines(chunks[message.chunk] as TextGroup, message.count);
    reply({ chunk: message.chunk });
  });
}
