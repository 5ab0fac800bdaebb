/**
 * Locks for opening and closing LMDB files. One thread of a process at a time opens a memory-mapped index: lmdb-js keeps the memory of its
 * views in one table for all threads, without a lock. One thread of the machine at a time opens or closes an environment. The threads share
 * no object, so both locks are files.
 */

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { isLeaseLive, takeLease } from './file-lease.ts';

/** Opening takes milliseconds; a machine that needs seconds has another problem. */
const WAIT_MS = 2;
const ROUNDS_MAX = 5000;

/**
 * Runs `work` while no other thread of this process opens an index in the folder of `path`.
 *
 * @throws STORE_BUSY if the lock cannot be taken within 10 s
 */
export function withOpeningLock<T>(path: string, work: () => T): T {
  const lockPath = join(dirname(path), `opening-${process.pid}`);
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let lease: ReturnType<typeof takeLease>;
    try {
      lease = takeLease(lockPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      // A thread that was terminated while it opened an index leaves its lock file; so does an earlier process with the same id.
      if (round % 100 === 99 && !isLeaseLive(lockPath)) rmSync(lockPath, { force: true });
      Atomics.wait(sleeper, 0, 0, WAIT_MS);
      continue;
    }
    try {
      return work();
    } finally {
      lease.release();
    }
  }
  throw new AssayError('STORE_BUSY', `${path} could not be opened: another thread holds the lock.`);
}

/** Opening or closing takes a millisecond; a holder that was stopped must not stop the others. */
const TURN_ROUNDS_MAX = 500;

/**
 * Runs `work`, which opens or closes the environment at `path`, while no other thread or process opens or closes it. The last process that
 * closes an environment destroys the mutexes in its lock file, and then releases its lock. A process that opens the environment in between
 * waits for that lock and keeps the destroyed mutexes: no transaction can begin until all processes have closed the environment.
 *
 * Without the lock (a folder that cannot be written, a full disk, a holder that does not go on for a second), `work` runs all the same.
 */
export function withTurn<T>(path: string, work: () => T): T {
  const lockPath = `${path}-opening-lock`;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; round < TURN_ROUNDS_MAX; round++) {
    let lease: ReturnType<typeof takeLease>;
    try {
      lease = takeLease(lockPath);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') break;
      // A process that was killed in its turn leaves its lock file.
      if (round % 50 === 49 && !isLeaseLive(lockPath)) rmSync(lockPath, { force: true });
      Atomics.wait(sleeper, 0, 0, WAIT_MS);
      continue;
    }
    try {
      return work();
    } finally {
      lease.release();
    }
  }
  return work();
}
