/**
 * Lets one thread of a process at a time open a memory-mapped index: lmdb-js keeps the memory of its views in one table for all threads,
 * without a lock. The threads share no object, so the lock is a file.
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
