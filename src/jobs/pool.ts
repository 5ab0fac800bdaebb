/** The worker pool: bounded, first come first served, errors as data. The only importer of Piscina. */
import { Piscina } from 'piscina';
import { AssayError, type ErrorData, errorFromData, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import { createBorrower, createLendingMemory, type Lendable } from './lending.ts';
import type { TaskName, Tasks, WorkerSettings } from './tasks.ts';

export interface PoolOptions extends Omit<WorkerSettings, 'snapshotEpoch' | 'lendingMemory'> {
  readonly threads: number;
  /** Tasks that wait or run at once; default LIMITS.poolTasksMax. */
  readonly tasksMax?: number;
  /** Tasks that one thread is given at once; default TASKS_PER_THREAD. */
  readonly tasksPerThread?: number;
  /** Built entry of the threads; default workers/screen.ts. */
  readonly worker?: URL;
}

export interface PoolDeps {
  readonly log: Logger;
}

/**
 * Tasks that one thread is given at once. Piscina's default of one sends a waiting task to the tail of the queue and its thread
 * back to sleep between two; four keep a thread busy and a task's wait near 10 ms under saturation.
 */
const TASKS_PER_THREAD = 4;

/**
 * Threads load their module by `import`, not by Piscina's first try, `require`: a thread that is ended while Node requires an ES module
 * takes the whole process with it (V8's "IsGraphAsync must be used on an instantiated module"). Versions without the option import anyway.
 */
const WITHOUT_REQUIRE = '--no-experimental-require-module';
const THREAD_ARGV = process.allowedNodeEnvironmentFlags.has(WITHOUT_REQUIRE) ? [WITHOUT_REQUIRE] : [];

/** Pause before a pool whose threads do not start begins again: the first, and the longest. */
const RENEWAL_MS_MIN = 250;
const RENEWAL_MS_MAX = 10_000;

export interface WorkerPool {
  /**
   * Runs a task. Bytes are copied to the thread; the `json` of a result comes back on loan (lending.ts). Rejects with the AssayError that the task threw; OVERLOADED with
   * `retryAfterSeconds` at once where the queue is full; INTERNAL where the thread died. A task cannot be aborted: Piscina ends the
   * thread of one that runs, and all other tasks of that thread with it.
   */
  run<Name extends TaskName>(name: Name, message: Tasks[Name]['message']): Promise<Tasks[Name]['result']>;
  /** Tells every thread to look for a newer snapshot before its next task. */
  refresh(): void;
  /** Tasks that wait or run. */
  readonly pending: number;
  /** Takes no more, finishes what it took, stops the threads. */
  close(): Promise<void>;
}

/** Starts the threads. A thread that cannot open its stores fails the tasks it is given. */
export function createPool(options: PoolOptions, deps: PoolDeps): WorkerPool {
  const {
    threads,
    tasksMax = LIMITS.poolTasksMax,
    tasksPerThread = TASKS_PER_THREAD,
    worker = workerUrl('screen'),
    ...folders
  } = options;
  const epoch = new Int32Array(new SharedArrayBuffer(4));
  const lendingMemory = createLendingMemory();
  const borrow = createBorrower(lendingMemory);
  const settings: WorkerSettings = {
    ...folders,
    snapshotEpoch: epoch.buffer as SharedArrayBuffer,
    lendingMemory,
  };
  const open = (): Piscina => {
    const opened = new Piscina({
      filename: worker.href,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      stricterFIFO: true,
      // The bound is ours: refused before anything is copied.
      maxQueue: Number.POSITIVE_INFINITY,
      workerData: settings,
      execArgv: THREAD_ARGV,
      recordTiming: false,
    });
    opened.on('error', (error: unknown) => deps.log.error(`worker pool: ${messageOf(error)}`));
    opened.on('workerDestroy', () => setImmediate(() => renewIfShort(opened)));
    return opened;
  };
  let piscina = open();
  let renewal: NodeJS.Timeout | undefined;
  let renewals = 0;
  const running = new Set<Promise<unknown>>();
  let closing = false;

  /**
   * Piscina replaces a thread that dies, until one dies before it is ready: from then on it replaces none, and tasks that wait for the last
   * one would wait forever. The pool then begins again, after a pause that doubles.
   */
  function renewIfShort(short: Piscina): void {
    if (closing || short !== piscina || short.threads.length >= threads || renewal !== undefined) return;
    if (short.threads.length === 0) void short.destroy();
    const pauseMs = Math.min(RENEWAL_MS_MAX, RENEWAL_MS_MIN * 2 ** renewals++);
    deps.log.error(
      { threads: short.threads.length, pauseMs },
      'worker pool: threads do not start, it is renewed',
    );
    renewal = setTimeout(() => {
      renewal = undefined;
      piscina = open();
      // Finishes what it took.
      if (short.threads.length > 0) void short.close();
    }, pauseMs);
    renewal.unref();
  }

  async function runTask(name: TaskName, message: unknown): Promise<unknown> {
    if (renewal !== undefined && piscina.threads.length === 0) throw new Error('no thread is up');
    const answer = (await piscina.run({ name, message })) as ({ readonly ok: true } & Lendable) | ErrorData;
    renewals = 0;
    if (!answer.ok) throw errorFromData(answer);
    return borrow(answer);
  }

  return {
    async run(name, message) {
      if (closing) throw new AssayError('OVERLOADED', 'The service is stopping.', { retryAfterSeconds: 5 });
      if (running.size >= tasksMax)
        throw new AssayError('OVERLOADED', 'Too many requests are waiting for a worker.', {
          retryAfterSeconds: 1,
        });
      const task = runTask(name, message);
      running.add(task);
      try {
        return (await task) as never;
      } catch (error) {
        if (error instanceof AssayError) throw error;
        deps.log.error(`worker pool: ${name} failed: ${messageOf(error)}`);
        throw new AssayError('INTERNAL', 'Internal server error.', { cause: error });
      } finally {
        running.delete(task);
      }
    },
    refresh() {
      Atomics.add(epoch, 0, 1);
    },
    get pending() {
      return running.size;
    },
    async close() {
      closing = true;
      clearTimeout(renewal);
      await Promise.allSettled(running);
      await piscina.close();
    },
  };
}
