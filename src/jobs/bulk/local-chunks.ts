/**
 * Chunks worked on this machine: a pool of threads of their own, which stand back behind those that answer requests, and more of them
 * than cores, because each waits for the disk at the end of its chunk. It is started by the first chunk.
 */
import { availableParallelism } from 'node:os';
import { AssayError } from '../../base/errors.ts';
import type { ChunkRunner } from '../chunks.ts';
import { createPool, type PoolDeps, type PoolOptions, type WorkerPool } from '../pool.ts';

export interface LocalChunksOptions
  extends Omit<PoolOptions, 'threads' | 'tasksMax' | 'tasksPerThread' | 'niceness'> {
  /** Default: half as many again as there are cores. */
  readonly threads?: number;
}

export interface LocalChunks extends ChunkRunner {
  /** Tells the threads to look for a newer snapshot before their next chunk. */
  refresh(): void;
}

/** The scheduler of Linux gives a thread of this niceness a tenth of what one that answers requests gets. */
const NICENESS = 10;

export function createLocalChunks(options: LocalChunksOptions, deps: PoolDeps): LocalChunks {
  const { threads = Math.ceil(availableParallelism() * 1.5), ...settings } = options;
  let pool: WorkerPool | null = null;
  let closed = false;
  return {
    slots: threads,
    async run(task) {
      if (closed) throw new AssayError('OVERLOADED', 'The service is stopping.', { retryAfterSeconds: 5 });
      pool ??= createPool(
        { ...settings, threads, tasksPerThread: 1, tasksMax: 2 * threads, niceness: NICENESS },
        deps,
      );
      return pool.run('job-chunk', task);
    },
    refresh: () => pool?.refresh(),
    async close() {
      closed = true;
      await pool?.close();
    },
  };
}
