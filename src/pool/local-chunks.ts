/**
 * Processes chunks on this machine in a separate thread pool with a lower priority than the threads that serve requests. It has
 * more threads than cores, because each thread waits for the disk at the end of its chunk. The first chunk starts the pool.
 */
import { availableParallelism } from 'node:os';
import { AssayError } from '../base/errors.ts';
import type { ChunkRunner } from '../jobs/chunks.ts';
import { POOL_LIMITS } from './limits.ts';
import { createPool, type PoolDeps, type PoolOptions, type WorkerPool } from './pool.ts';

export interface LocalChunksOptions
  extends Omit<PoolOptions, 'threads' | 'tasksMax' | 'tasksPerThread' | 'niceness'> {
  /** Default: 1.5 times the number of cores. */
  readonly threads?: number;
}

export interface LocalChunks extends ChunkRunner {
  /** Makes the threads check for a newer snapshot before their next chunk. */
  refresh(): void;
}

/** Creates the runner of local chunks. */
export function createLocalChunks(options: LocalChunksOptions, deps: PoolDeps): LocalChunks {
  const { threads = Math.ceil(availableParallelism() * 1.5), ...settings } = options;
  const niceness = POOL_LIMITS.chunkNiceness;
  let pool: WorkerPool | null = null;
  let closed = false;
  return {
    slots: threads,
    async run(task) {
      if (closed) throw new AssayError('OVERLOADED', 'The service is stopping.', { retryAfterSeconds: 5 });
      pool ??= createPool({ ...settings, threads, tasksPerThread: 1, tasksMax: 2 * threads, niceness }, deps);
      return pool.run('job-chunk', task);
    },
    refresh: () => pool?.refresh(),
    async close() {
      closed = true;
      await pool?.close();
    },
  };
}
