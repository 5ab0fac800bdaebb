/**
 * Readings: all that one piece of synchronous code reads from live stores, as of one commit of each. If a store keeps a state for the
 * length of a reading (a read transaction of LMDB, a version of a remote graph, the memory of the last address), it releases that
 * state when the reading ends.
 *
 * In a thread with a running event loop, timers and microtasks end the readings. A thread of the pool sleeps in `Atomics.wait` between
 * two tasks, and its event loop does not run: there each task ends its reading itself.
 */

const releases = new Set<() => void>();
let ended = 0;

/**
 * Registers a callback for the end of a reading of this thread.
 *
 * @param release - must not throw, and must allow a call when nothing was read.
 * @returns the function that removes the registration.
 */
export function onReadingEnd(release: () => void): () => void {
  releases.add(release);
  return () => {
    releases.delete(release);
  };
}

/** Number of the current reading of this thread. A value cached under another number may come from an older commit. */
export const currentReading = (): number => ended;

/**
 * One value that was read, kept until the running code or its reading ends: later commits are visible after that.
 *
 * @example
 * const assets = new ReadingValue<Map<number, Asset>>();
 * assets.value ??= new Map();
 */
export class ReadingValue<T> {
  #value: T | null = null;
  #reading = 0;
  #isForgetting = false;

  get value(): T | null {
    return this.#reading === ended ? this.#value : null;
  }

  set value(value: T) {
    this.#value = value;
    this.#reading = ended;
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    queueMicrotask(() => {
      this.#isForgetting = false;
      this.#value = null;
    });
  }
}

/** Ends the reading of this thread: the next read sees the newest commit of every store. Costs microseconds. */
export function endReading(): void {
  ended++;
  for (const release of releases) release();
}
