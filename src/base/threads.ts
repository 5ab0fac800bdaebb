/**
 * Threads that end by themselves, and only while they are idle. Node.js (seen with 20.20.2) stops for ever, or aborts the process, if a
 * thread ends while V8 still compiles its code in the background: the end waits for the compiler, and the compiler for a garbage
 * collection of the thread that ends. `Worker.terminate` in the middle of work does the same. All later threads of the process stop with it.
 */
import type { MessagePort, Worker } from 'node:worker_threads';

/** Background compilation takes some milliseconds, on a machine with other work some tens of them. */
const IDLE_MS = 150;

/** Keeps the thread that calls it idle for a moment behind its work. Called last: by then nothing else may keep the thread alive. */
export function idleBeforeEnd(): void {
  setTimeout(() => {}, IDLE_MS);
}

/** Ends the thread that calls it: closes the port that keeps the thread alive, and is idle for a moment. */
export function endBehind(port: MessagePort | null): void {
  port?.close();
  idleBeforeEnd();
}

/**
 * Waits for a thread that ends by itself, for example because it was asked to.
 *
 * @returns when the thread has ended, also if an error ended it: errors are for the listeners that were there before
 */
export function whenEnded(worker: Worker): Promise<void> {
  // Without a listener an error would end the process.
  worker.on('error', () => {});
  if (worker.threadId === -1) return Promise.resolve();
  return new Promise((resolve) => worker.once('exit', () => resolve()));
}

/** In place of a number of free slots. Slots that are given or taken afterwards leave it below zero. */
const STOPPED = -(2 ** 30);

/** Counts the buffers that a thread may fill, in memory that it shares with the thread that empties them. */
export class Slots {
  readonly memory: SharedArrayBuffer;
  readonly #free: Int32Array;

  /** @param memory - `memory` of the slots of the other thread */
  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#free = new Int32Array(memory);
  }

  static of(count: number): Slots {
    const slots = new Slots(new SharedArrayBuffer(4));
    slots.give(count);
    return slots;
  }

  /** Returns true after the other thread stopped the work. */
  get isStopped(): boolean {
    return Atomics.load(this.#free, 0) < 0;
  }

  /**
   * Blocks the thread until a slot is free, without taking it.
   *
   * @returns false if the other thread stopped the work
   */
  wait(): boolean {
    while (Atomics.load(this.#free, 0) === 0) Atomics.wait(this.#free, 0, 0);
    return !this.isStopped;
  }

  take(): void {
    Atomics.sub(this.#free, 0, 1);
  }

  give(count: number): void {
    Atomics.add(this.#free, 0, count);
    Atomics.notify(this.#free, 0);
  }

  /** Ends the work of the thread that fills, at the latest when it waits for the next slot. */
  stop(): void {
    Atomics.store(this.#free, 0, STOPPED);
    Atomics.notify(this.#free, 0);
  }
}
