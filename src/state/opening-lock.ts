/**
 * Locks for opening and closing LMDB files. One thread of a process at a time opens a memory-mapped index: lmdb-js keeps the memory of its
 * views in one table for all threads, without a lock. One thread of the machine at a time opens or closes an environment. The threads share
 * no object, so both locks are files.
 */

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { type FileLease, isLeaseLive, takeLease } from './file-lease.ts';

/** Opening takes milliseconds; a machine that needs seconds has another problem. */
const WAIT_MS = 2;
const ROUNDS_MAX = 5000;
/** Opening or closing takes a millisecond; a holder that was stopped must not stop the others. */
const TURN_ROUNDS_MAX = 500;
/** Rounds after which it is asked whether the holder still runs: that reads a file of the kernel. */
const LOOK_ROUNDS = 50;

/**
 * Waits for a lock file, and takes it. One that a thread or process left when it was terminated is removed; so is that of an earlier process
 * with the same id.
 *
 * @returns null if another one held it in each of `rounds` rounds
 * @throws what creating the file throws, such as ENOENT or ENOSPC
 */
function waitedLease(lockPath: string, rounds: number): FileLease | null {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 1; round <= rounds; round++) {
    try {
      return takeLease(lockPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (round % LOOK_ROUNDS === 0 && !isLeaseLive(lockPath)) rmSync(lockPath, { force: true });
      Atomics.wait(sleeper, 0, 0, WAIT_MS);
    }
  }
  return null;
}

/**
 * Runs `work` while no other thread of this process opens an index in the folder of `path`.
 *
 * @throws STORE_BUSY if the lock cannot be taken within 10 s
 */
export function withOpeningLock<T>(path: string, work: () => T): T {
  const lease = waitedLease(join(dirname(path), `opening-${process.pid}`), ROUNDS_MAX);
  if (lease === null)
    throw new AssayError('STORE_BUSY', `${path} could not be opened: another thread holds the lock.`);
  try {
    return work();
  } finally {
    lease.release();
  }
}

/** Takes the turn at the environment at `path`; null if it cannot be taken. */
function turnOf(path: string): FileLease | null {
  try {
    return waitedLease(`${path}-opening-lock`, TURN_ROUNDS_MAX);
  } catch {
    // The folder cannot be written, or the disk is full.
    return null;
  }
}

/**
 * Runs `work`, which opens or closes the environment at `path`, while no other thread or process opens or closes it. The last process that
 * closes an environment destroys the mutexes in its lock file, and then releases its lock. A process that opens the environment in between
 * waits for that lock and keeps the destroyed mutexes: no transaction can begin until all processes have closed the environment.
 *
 * Without the lock (a folder that cannot be written, a full disk, a holder that does not go on for a second), `work` runs all the same.
 */
export function withTurn<T>(path: string, work: () => T): T {
  const turn = turnOf(path);
  try {
    return work();
  } finally {
    turn?.release();
  }
}
