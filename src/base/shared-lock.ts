/** A lock in shared memory, for steps of microseconds on one thread at a time. */

const FREE = 0;
const HELD = 1;
const CONTENDED = 2;
/** Attempts before the thread sleeps: the longest step takes less time than a wake-up. */
const SPINS = 100;

/**
 * Takes the lock; blocks the thread until it is free. The holder must not wait for anything, and gives the lock back in a `finally`.
 *
 * @param words - shared memory; the lock is the word at `at`, free if it is 0
 */
export function takeLock(words: Int32Array, at: number): void {
  for (let spin = 0; spin < SPINS; spin++)
    if (Atomics.compareExchange(words, at, FREE, HELD) === FREE) return;
  while (Atomics.exchange(words, at, CONTENDED) !== FREE) Atomics.wait(words, at, CONTENDED);
}

/** Gives the lock back, and wakes a thread that waits for it. */
export function giveLock(words: Int32Array, at: number): void {
  if (Atomics.exchange(words, at, FREE) === CONTENDED) Atomics.notify(words, at, 1);
}
