/** The leaves and the root of a batch: of few lines, of many that the thread hashes, and of those that it had when it failed. */
import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { MerkleFrontier } from '../../src/base/merkle.ts';
import { workerUrl } from '../../src/base/paths.ts';
import { LINE_SALT_BYTES, LineLeaves } from '../../src/base/salted-lines.ts';
import { BatchLines, type NewBatchThread } from '../../src/receipts/batch-lines.ts';
import type { BatchMessage } from '../../src/receipts/batch-thread.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';

/** Offset of the lines in the buffer of a response. */
const START = 7;

/** A thread that answers on request, and records whether it keeps the process running. */
class HandThread extends EventEmitter {
  isHeld = true;
  readonly threadId = 1;
  readonly #messages: BatchMessage[] = [];

  get waiting(): readonly string[] {
    return this.#messages.map((message) => (message !== null && 'leaves' in message ? 'root' : 'chunk'));
  }

  ref(): void {
    this.isHeld = true;
  }

  unref(): void {
    this.isHeld = false;
  }

  postMessage(message: BatchMessage): void {
    if (message === null) setImmediate(() => this.emit('exit', 0));
    else this.#messages.push(message);
  }

  /** Answers the oldest message; the hashes do not matter here. */
  answer(): void {
    const message = this.#messages.shift();
    if (message === undefined || message === null) return;
    this.emit('message', 'leaves' in message ? { root: Buffer.alloc(32) } : { chunk: message.chunk });
  }
}

describe('lines of a batch', () => {
  let lines: BatchLines;
  let threads: Worker[] = [];
  afterEach(async () => {
    await lines.stop();
    threads = [];
  });
  const newThread: NewBatchThread = (job) => {
    const thread = new Worker(workerUrl('batch-lines'), { workerData: job, execArgv: [] });
    threads.push(thread);
    return thread;
  };

  /** Adds lines, and returns the hashes that they must have. The buffer is used again at once, as that of a server is. */
  function addAll(count: number, bytesOf: (line: number) => number) {
    const out = Buffer.alloc(RECEIPT_LIMITS.batchChunkBytes + 1_024);
    const [hasher, tree, leaves] = [new LineLeaves(), new MerkleFrontier(), [] as Buffer[]];
    for (let line = 0; line < count; line++) {
      const [text, salt] = [randomBytes(bytesOf(line)), randomBytes(LINE_SALT_BYTES)];
      text.copy(out, START);
      expect(lines.count).toBe(line);
      lines.add(salt, out, START, START + text.length);
      const leaf = hasher.leafOf(salt, text);
      tree.append(leaf);
      leaves.push(leaf);
    }
    return { root: tree.root(), leaves: Buffer.concat(leaves) };
  }
  const someBytes = (line: number): number => 300 + (line % 700);

  it.each([1, 31, 32, 255, 256, 257, 5_000, 16_384])('hashes %i lines', async (count) => {
    lines = new BatchLines(newThread);
    for (let batch = 0; batch < 2; batch++) {
      const expected = addAll(count, someBytes);
      expect(await lines.close()).toEqual(expected);
    }
    expect(threads).toHaveLength(count < RECEIPT_LIMITS.batchChunkLinesMin ? 0 : 1);
  });

  it('hashes a line that is larger than the memory of the thread, between others', async () => {
    lines = new BatchLines(newThread);
    const expected = addAll(100, (line) => (line === 50 ? RECEIPT_LIMITS.batchChunkBytes + 1 : 600));
    expect(await lines.close()).toEqual(expected);
  });

  it('hashes batches that are open while others are hashed', async () => {
    lines = new BatchLines(newThread);
    const expected: object[] = [];
    const closed: Promise<object>[] = [];
    for (const count of [700, 3, 900, 40]) {
      expected.push(addAll(count, someBytes));
      closed.push(lines.close());
    }
    expect(await Promise.all(closed)).toEqual(expected);
  });

  it('hashes the lines of a thread that fails, and starts another one', async () => {
    lines = new BatchLines(newThread);
    const first = addAll(600, someBytes);
    expect(await lines.close()).toEqual(first);
    const [thread] = threads as [Worker];
    const exits = new Promise((resolve) => thread.once('exit', resolve));
    // It reads a member of no message, and ends with the error before it hashes the next lines.
    thread.postMessage(undefined);
    const second = addAll(600, someBytes);
    expect(await lines.close()).toEqual(second);
    expect(await exits).toBe(1);
    const third = addAll(600, someBytes);
    expect(await lines.close()).toEqual(third);
    expect(threads).toHaveLength(2);
  });

  it('keeps the process running until the thread has returned every root', async () => {
    const thread = new HandThread();
    lines = new BatchLines(() => thread as unknown as Worker);
    const closed = [0, 1].map(() => {
      addAll(RECEIPT_LIMITS.batchChunkLinesMin, someBytes);
      return lines.close();
    });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    expect([thread.isHeld, thread.waiting]).toEqual([true, ['chunk', 'chunk']]);
    for (const [isHeld, waiting] of [
      [true, ['chunk', 'root']],
      [true, ['root', 'root']],
      [true, ['root']],
      [false, []],
    ] as const) {
      thread.answer();
      await turn();
      expect([thread.isHeld, thread.waiting]).toEqual([isHeld, waiting]);
    }
    expect(await Promise.all(closed)).toHaveLength(2);
  });

  it('hashes all lines when it is stopped, and later ones', async () => {
    lines = new BatchLines(newThread);
    const expected = addAll(2_000, someBytes);
    const closed = lines.close();
    await lines.stop();
    expect(await closed).toEqual(expected);
    const later = addAll(300, someBytes);
    expect(await lines.close()).toEqual(later);
  });
});
