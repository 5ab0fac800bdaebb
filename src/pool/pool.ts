/** The worker pool: bounded, first in, first out, errors as data. No other module imports Piscina. */
import { Piscina } from 'piscina';
import { BufferPool, type PooledResult } from '../base/buffer-pool.ts';
import { systemClock } from '../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import { TaskGroups } from './groups.ts';
import { POOL_LIMITS } from './limits.ts';
import type { MessageOf, NameOf, ResultOf, TaskList } from './task.ts';
import type { Tasks } from './tasks/index.ts';
import type { ThreadMessage } from './thread.ts';
import type { WorkerSettings } from './worker-services.ts';

export interface PoolOptions extends Omit<WorkerSettings, 'snapshotEpoch' | 'bufferPoolMemory'> {
  readonly threads: number;
  /** Tasks that wait or run at once; default: POOL_LIMITS.poolTasksMax. */
  readonly tasksMax?: number;
  /** Tasks that one thread gets at once; default: TASKS_PER_THREAD. */
  readonly tasksPerThread?: number;
  /** Time after which a thread that does not answer is replaced, as POOL_LIMITS.hangingMs. Default: never. */
  readonly hangingMs?: number;
  /** Built entry of the threads; default: `workers/pool.ts`. */
  readonly worker?: URL;
}

export interface PoolDeps {
  readonly log: Logger;
}

/**
 * Tasks that one thread gets at once. With Piscina's default of one, a waiting task goes to the tail of the queue, and its thread
 * sleeps between two tasks. Four keep a thread busy and the wait of a task near 10 ms under saturation.
 */
const TASKS_PER_THREAD = 4;

/**
 * Threads load their module by `import`, not by `require`, which Piscina tries first: if a thread is terminated while Node requires
 * an ES module, the whole process crashes (V8's "IsGraphAsync must be used on an instantiated module"). Node versions without the
 * option use `import` anyway.
 */
const WITHOUT_REQUIRE = '--no-experimental-require-module';
const THREAD_ARGV = process.allowedNodeEnvironmentFlags.has(WITHOUT_REQUIRE) ? [WITHOUT_REQUIRE] : [];

/** First and longest pause before a pool with threads that fail to start is opened again. */
const RENEWAL_MS_MIN = 250;
const RENEWAL_MS_MAX = 10_000;

/** A task that waits or runs. */
interface AcceptedTask {
  readonly name: string;
  /** Monotonic clock. */
  readonly acceptedMs: number;
}

type ThreadAnswer = ({ readonly ok: true } & PooledResult) | ErrorData;

/** The pool of a list of tasks. */
export interface WorkerPool<List extends TaskList = Tasks> {
  /**
   * Runs a task. Bytes are copied to the thread; the `json` of a result is returned in a pooled slot (`base/buffer-pool.ts`). A task cannot be
   * aborted: Piscina would terminate its thread, and with it all other tasks of the thread.
   *
   * @throws the AssayError of the task; OVERLOADED with `retryAfterSeconds`, at once, if the queue is full; INTERNAL
   * if the thread died
   */
  run<Name extends NameOf<List>>(name: Name, message: MessageOf<List, Name>): Promise<ResultOf<List, Name>>;
  /**
   * As `run`, for a task of a fraction of a millisecond: tasks that arrive together share one message to a thread, and are sent again if it
   * dies (`groups.ts`).
   */
  runShort<Name extends NameOf<List>>(
    name: Name,
    message: MessageOf<List, Name>,
  ): Promise<ResultOf<List, Name>>;
  /** Makes every thread check for a newer snapshot before its next task. */
  refresh(): void;
  /** Number of tasks that wait or run. */
  readonly pending: number;
  /** Time in milliseconds since the oldest of them was accepted; 0 if there is none. It rises for as long as a thread does not answer. */
  readonly oldestMs: number;
  /** Accepts no more tasks, finishes the accepted ones, and stops the threads. */
  close(): Promise<void>;
}

/** Starts the threads. If a thread cannot open its stores, its tasks fail. */
export function createPool<List extends TaskList = Tasks>(
  options: PoolOptions,
  deps: PoolDeps,
): WorkerPool<List> {
  const {
    threads,
    tasksMax = POOL_LIMITS.poolTasksMax,
    tasksPerThread = TASKS_PER_THREAD,
    hangingMs,
    worker = workerUrl('pool'),
    ...folders
  } = options;
  const epoch = new Int32Array(new SharedArrayBuffer(4));
  const bufferPoolMemory = BufferPool.allocate();
  const bufferPool = new BufferPool(bufferPoolMemory);
  const settings: WorkerSettings = {
    ...folders,
    snapshotEpoch: epoch.buffer as SharedArrayBuffer,
    bufferPoolMemory,
  };
  const open = (): Piscina => {
    const opened = new Piscina({
      filename: worker.href,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerThread,
      stricterFIFO: true,
      // The limit is enforced in `run`, which rejects a task before anything is copied.
      maxQueue: Number.POSITIVE_INFINITY,
      workerData: settings,
      execArgv: THREAD_ARGV,
      recordTiming: false,
    });
    opened.on('error', (error: unknown) =>
      deps.log.error({ reason: messageOf(error) }, 'worker pool failed'),
    );
    opened.on('workerDestroy', () => setImmediate(() => renewIfShort(opened)));
    return opened;
  };
  let piscina = open();
  let renewal: NodeJS.Timeout | undefined;
  let renewals = 0;
  /** Tasks that wait or run, the oldest first. */
  const running = new Map<Promise<unknown>, AcceptedTask>();
  let closing = false;

  /** The oldest task at the last check, and the checks since at which it was the oldest. Tasks are first in, first out, so a thread has it. */
  let oldestTask: Promise<unknown> | undefined;
  let oldestChecks = 0;
  const hangChecks =
    hangingMs === undefined ? undefined : setInterval(checkHanging, hangingMs / POOL_LIMITS.hangingChecks);
  hangChecks?.unref();

  function checkHanging(): void {
    const [oldest] = running.keys();
    oldestChecks = oldest !== undefined && oldest === oldestTask ? oldestChecks + 1 : 0;
    oldestTask = oldest;
    if (oldestChecks < POOL_LIMITS.hangingChecks) return;
    oldestChecks = 0;
    replaceHanging();
  }

  /**
   * Opens the pool again, and terminates the threads of the earlier one after a grace period, in which those that do not hang finish their tasks. It is
   * not known which one hangs, or whether it ends: a thread that waits for a disk does not.
   */
  function replaceHanging(): void {
    const [oldest] = running.values();
    deps.log.error(
      { task: oldest?.name, seconds: Math.round(oldestMs() / 1_000), tasks: running.size },
      'worker thread does not answer; the pool is opened again',
    );
    const hanging = piscina;
    piscina = open();
    const graceMs = Math.min(POOL_LIMITS.hangingGraceMs, hangingMs ?? 0);
    setTimeout(() => hanging.destroy().catch(() => {}), graceMs).unref();
  }

  function oldestMs(): number {
    const [oldest] = running.values();
    return oldest === undefined ? 0 : systemClock.monotonic() - oldest.acceptedMs;
  }

  /**
   * Piscina replaces a thread that dies, until one dies before it is ready: from then on it replaces none, and tasks that wait for
   * the last one would wait forever. The pool is then opened again, after a pause that doubles.
   */
  function renewIfShort(short: Piscina): void {
    if (closing || short !== piscina || short.threads.length >= threads || renewal !== undefined) return;
    if (short.threads.length === 0) void short.destroy();
    const pauseMs = Math.min(RENEWAL_MS_MAX, RENEWAL_MS_MIN * 2 ** renewals++);
    deps.log.error(
      { threads: short.threads.length, pauseMs },
      'worker threads failed to start; the pool is opened again',
    );
    renewal = setTimeout(() => {
      renewal = undefined;
      piscina = open();
      // Finishes the tasks that it accepted.
      if (short.threads.length > 0) void short.close();
    }, pauseMs);
    renewal.unref();
  }

  async function send<Answer>(message: ThreadMessage | readonly ThreadMessage[]): Promise<Answer> {
    if (renewal !== undefined && piscina.threads.length === 0) throw new Error('no worker thread is running');
    const answer = (await piscina.run(message)) as Answer;
    renewals = 0;
    return answer;
  }

  const groups = new TaskGroups<ThreadMessage, ThreadAnswer>({
    ...{ threads, send },
    onFailed: (error) =>
      deps.log.warn(
        { reason: messageOf(error) },
        'worker thread failed; its tasks are sent again, one by one',
      ),
  });

  /** Limits the tasks that wait, and turns what a thread returns into a result or an error. */
  async function runTask(
    name: string,
    message: unknown,
    sendOne: (message: ThreadMessage) => Promise<ThreadAnswer>,
  ): Promise<never> {
    if (closing) throw new AssayError('OVERLOADED', 'The service is stopping.', { retryAfterSeconds: 5 });
    if (running.size >= tasksMax)
      throw new AssayError('OVERLOADED', 'Too many requests are waiting for a worker.', {
        retryAfterSeconds: 1,
      });
    const task = sendOne({ name, message: message as never });
    running.set(task, { name, acceptedMs: systemClock.monotonic() });
    try {
      const answer = await task;
      if (!answer.ok) throw errorFromData(answer);
      return bufferPool.unpack(answer) as never;
    } catch (error) {
      if (error instanceof AssayError) throw error;
      deps.log.error({ task: name, reason: messageOf(error) }, 'worker thread failed');
      throw new AssayError('INTERNAL', 'Internal server error.', { cause: error });
    } finally {
      running.delete(task);
    }
  }

  return {
    run: (name, message) => runTask(name, message, send),
    runShort: (name, message) => runTask(name, message, (one) => groups.run(one)),
    refresh() {
      Atomics.add(epoch, 0, 1);
    },
    get pending() {
      return running.size;
    },
    get oldestMs() {
      return oldestMs();
    },
    async close() {
      closing = true;
      clearTimeout(renewal);
      await Promise.allSettled(running.keys());
      clearInterval(hangChecks);
      await piscina.close();
    },
  };
}
