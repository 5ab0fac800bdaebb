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

/** A thread that answers requests in their order. */
export interface AskedThread<Request, Reply> {
  /**
   * Sends a request.
   *
   * @param moved - buffers of the request that are moved to the thread, and have no bytes afterwards
   * @returns the reply; rejects if the thread fails or ends first
   */
  ask(request: Request, moved?: readonly ArrayBuffer[]): Promise<Reply>;
  /** Asks the thread to end after the requests that it has (`endBehind`), and waits for its end. A second call waits for the same end. */
  end(): Promise<void>;
}

/**
 * Returns the requests of a thread that posts one reply for each message, and ends when it gets null.
 *
 * @param name - the thread, as the subject of the error if it ends too early
 * @param port - the port of its messages; default: that of the worker
 */
export function askedThread<Request, Reply>(
  worker: Worker,
  name: string,
  port: MessagePort | Worker = worker,
): AskedThread<Request, Reply> {
  const waiting: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void }[] = [];
  let failure: Error | null = null;
  let ending: Promise<void> | null = null;
  const fail = (error: Error): void => {
    failure ??= error;
    for (const { reject } of waiting.splice(0)) reject(failure);
  };
  worker.on('error', fail);
  worker.on('exit', (code) => fail(new Error(`${name} ended with ${code}.`)));
  port.on('message', (reply: Reply) => waiting.shift()?.resolve(reply));
  return {
    ask: (request, moved = []) =>
      new Promise((resolve, reject) => {
        if (failure !== null) return reject(failure);
        waiting.push({ resolve, reject });
        port.postMessage(request, moved);
      }),
    end() {
      if (ending === null) {
        port.postMessage(null);
        ending = whenEnded(worker);
      }
      return ending;
    },
  };
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
