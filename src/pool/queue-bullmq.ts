/** Queues between nodes over BullMQ: a client sends messages and receives results, a worker processes them. No other module imports bullmq. */
import { EventEmitter, setMaxListeners } from 'node:events';
import { type ConnectionOptions, Job, Queue, QueueEvents, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, errorToData, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/retry.ts';
import { within } from '../base/within.ts';
import { STATE_LIMITS } from '../state/limits.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';
import { asStorageFull } from '../state/storage.ts';

export interface BullQueuesDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Scope of the installation: other installations in the same Redis have other queues. Default: empty. */
  readonly scope?: string;
}

/** A consumer of a queue until it is closed; closing finishes the running work. */
export interface Working {
  /** Takes no further work until `resume`, and leaves it to other nodes. Running work continues. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

export interface WorkOptions {
  /** Number of messages that are processed concurrently. */
  readonly atOnce: number;
  /** How often a message is given to another worker after its worker died, before it fails. */
  readonly stalls: number;
}

/**
 * A worker renews its lock every 2 s, and every 2 s the queue is checked for locks older than 6 s, so that work of a killed process
 * is detected within 8 s. No work on this thread blocks the renewal for longer than milliseconds.
 */
const LOCK_MS = 6_000;
const RENEW_MS = 2_000;
const STALL_LOOK_MS = 2_000;
/** Pause before a queue with a broken connection is read again; BullMQ's default of 15 s is longer than a fail-over. */
const RETRY_MS = 1_000;
/** Interval between checks for completion events that were missed because of a broken connection. */
const CHECK_MS = 2_000;
/** If Redis is unavailable, work with an unknown state is given up after this time; retrying it is harmless. */
const UNSEEN_MS = 30_000;
/** Interval between checks during the close of whether Redis is available to store the outcomes. */
const CLOSE_LOOK_MS = 1_000;
/** Retention of completed work, for callers that missed the event. Age in seconds. */
const KEPT = { age: 120, count: 2_000 } as const;
/** Number of events kept in a queue's stream, for listeners that were briefly disconnected. */
const EVENTS_KEPT = 2_000;

/** Outcome of a worker: its value, or its error. */
type Outcome<Value> = { readonly ok: true; readonly value: Value } | ErrorData;

/** Returns the error of work that was lost with the node that processed it. */
export const nodeLost = (): AssayError =>
  new AssayError('NOT_READY', 'The node that processed this request became unavailable. Try again.', {
    retryAfterSeconds: 1,
  });

/**
 * Listens to the errors of a BullMQ object. BullMQ removes all listeners from a connection that it closes. If the connection was
 * still being opened, its error would then be unhandled and end the process, so the listener is added again.
 */
function onError(part: Queue | QueueEvents | Worker, listener: (error: unknown) => void): void {
  (part as EventEmitter).on('error', listener);
  for (const name of ['connection', 'blockingConnection']) {
    const connection: unknown = Reflect.get(part, name);
    if (!(connection instanceof EventEmitter)) continue;
    const removeAll = connection.removeAllListeners.bind(connection);
    connection.removeAllListeners = (event) => removeAll(event).on('error', listener);
  }
}

const logError =
  (log: Logger, queue: string) =>
  (error: unknown): void =>
    log.debug({ queue, error: messageOf(error) }, 'queue connection failed');

/** Connection and key prefix of a queue. */
interface QueueOptions {
  readonly connection: ConnectionOptions;
  readonly prefix: string;
}

/** All queues of a node. */
export class BullQueues {
  readonly #deps: BullQueuesDeps;
  readonly #connection: ReturnType<RedisStore['another']>;
  /** A forced close does not wait. */
  readonly #opened: { close(isForced: boolean): Promise<void> }[] = [];

  constructor(deps: BullQueuesDeps) {
    this.#deps = deps;
    this.#connection = deps.redis.another('bullmq');
  }

  /** All keys of a queue are in one hash slot of Redis Cluster. */
  #optionsOf(name: string): QueueOptions {
    const { redis, scope = '' } = this.#deps;
    return {
      connection: this.#connection as ConnectionOptions,
      prefix: redis.key(scoped(scope, `queue-${name}`), 'bull'),
    };
  }

  /** Opens the sending side of a queue. */
  client<Message, Value>(name: string): QueueClient<Message, Value> {
    const client = new QueueClient<Message, Value>(name, this.#optionsOf(name), this.#deps);
    this.#opened.push(client);
    return client;
  }

  /** Processes a queue. If `answer` rejects, the sender receives the error. */
  work<Message, Value>(
    name: string,
    { atOnce, stalls }: WorkOptions,
    answer: (message: Message, id: string) => Promise<Value>,
  ): Working {
    const { log } = this.#deps;
    const worker = new Worker<Message, Outcome<Value>>(
      name,
      async (job): Promise<Outcome<Value>> => {
        try {
          return { ok: true, value: await answer(job.data, job.id as string) };
        } catch (error) {
          if (!(error instanceof AssayError))
            log.error({ queue: name, error: messageOf(error) }, 'queue work failed');
          return errorToData(asStorageFull(error, 'The disk'));
        }
      },
      {
        ...this.#optionsOf(name),
        concurrency: atOnce,
        lockDuration: LOCK_MS,
        lockRenewTime: RENEW_MS,
        stalledInterval: STALL_LOOK_MS,
        maxStalledCount: stalls,
        runRetryDelay: RETRY_MS,
        removeOnComplete: KEPT,
        removeOnFail: KEPT,
      },
    );
    onError(worker, logError(log, name));
    this.#opened.push({ close: (isForced) => worker.close(isForced) });
    return {
      pause: () => void worker.pause(true).catch(logError(log, name)),
      resume: () => worker.resume(),
      close: () => worker.close(),
    };
  }

  /** Closes all queues. If Redis is unavailable, the outcomes of running work are not stored. */
  async close(): Promise<void> {
    const { log } = this.#deps;
    let isForced = await this.#isUnavailable();
    const ended = new AbortController();
    const closing = Promise.allSettled(this.#opened.map((one) => one.close(isForced))).then(() =>
      ended.abort(),
    );
    while (!ended.signal.aborted && !isForced) {
      await sleep(CLOSE_LOOK_MS, ended.signal);
      isForced = !ended.signal.aborted && (await this.#isUnavailable());
    }
    if (ended.signal.aborted) return;
    log.warn('queues closed without storing outcomes: Redis is unavailable');
    // BullMQ would wait for Redis forever. Outcomes of this moment cannot be stored; other nodes treat the work as lost.
    this.#connection.disconnect();
    await within(STATE_LIMITS.redisCommandMs, closing, 'BullMQ').catch(logError(log, 'all'));
  }

  #isUnavailable(): Promise<boolean> {
    const { redis } = this.#deps;
    return redis.guard(redis.connection.ping()).then(
      () => false,
      () => true,
    );
  }
}

interface Waiter<Value> {
  /** Monotonic time at which the work was last known to exist. */
  seenMs: number;
  settle(outcome: Outcome<Value>): void;
}

/** The sending side of one queue. */
export class QueueClient<Message, Value> {
  readonly #name: string;
  readonly #deps: BullQueuesDeps;
  readonly #queue: Queue<Message, Outcome<Value>>;
  readonly #events: QueueEvents;
  readonly #waiters = new Map<string, Waiter<Value>>();
  readonly #checks: NodeJS.Timeout;
  readonly #onError: (error: unknown) => void;

  constructor(name: string, options: QueueOptions, deps: BullQueuesDeps) {
    this.#name = name;
    this.#deps = deps;
    this.#queue = new Queue<Message, Outcome<Value>>(name, {
      ...options,
      streams: { events: { maxLen: EVENTS_KEPT } },
      defaultJobOptions: { attempts: 1, removeOnComplete: KEPT, removeOnFail: KEPT },
    });
    this.#events = new QueueEvents(name, options);
    this.#onError = logError(deps.log, name);
    onError(this.#queue, this.#onError);
    onError(this.#events, this.#onError);
    this.#events.on('completed', ({ jobId, returnvalue }) =>
      this.#settle(jobId, returnvalue as unknown as Outcome<Value>),
    );
    // A worker returns its errors as values, so an event of failure means that the worker is lost.
    this.#events.on('failed', ({ jobId, failedReason }) => this.#settleLost(jobId, failedReason));
    this.#checks = setInterval(() => this.#checkWaiters(), CHECK_MS);
    this.#checks.unref();
  }

  /**
   * Sends a message and resolves with the worker's value.
   *
   * @throws the error of the worker; NOT_READY if the worker died or the signal was aborted first
   */
  async send(id: string, message: Message, signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted();
    // All chunks of a job share one signal.
    setMaxListeners(0, signal);
    const outcome = this.#outcomeOf(id, signal);
    this.#queue
      .add(this.#name as never, message as never, { jobId: id })
      .catch((error: unknown) => this.#settleLost(id, messageOf(error)));
    try {
      const ended = await outcome;
      if (!ended.ok) throw errorFromData(ended);
      return ended.value;
    } finally {
      this.#waiters.delete(id);
    }
  }

  /**
   * Returns the number of messages, of all sending nodes, that no worker has taken yet.
   *
   * @throws NOT_READY
   */
  waiting(): Promise<number> {
    // BullMQ would wait for as long as the server is unavailable.
    return this.#deps.redis.guard(
      within(STATE_LIMITS.redisCommandMs, this.#queue.getWaitingCount(), 'Redis'),
    );
  }

  /** Rejects the pending messages with NOT_READY, and closes the connections. */
  async close(): Promise<void> {
    clearInterval(this.#checks);
    for (const id of [...this.#waiters.keys()]) this.#settle(id, errorToData(nodeLost()));
    await Promise.allSettled([this.#events.close(), this.#queue.close()]);
  }

  #outcomeOf(id: string, signal: AbortSignal): Promise<Outcome<Value>> {
    return new Promise((resolve) => {
      const leave = (): void => {
        resolve(errorToData(signal.reason instanceof AssayError ? signal.reason : nodeLost()));
        // If no worker has taken the message, it is removed.
        void this.#queue.remove(id).catch(this.#onError);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiters.set(id, {
        seenMs: this.#deps.clock.monotonic(),
        settle(outcome) {
          signal.removeEventListener('abort', leave);
          resolve(outcome);
        },
      });
    });
  }

  #settle(id: string, outcome: Outcome<Value>): void {
    this.#waiters.get(id)?.settle(outcome);
  }

  #settleLost(id: string, reason: string): void {
    if (this.#waiters.has(id)) this.#deps.log.warn({ queue: this.#name, reason }, 'queue work lost');
    this.#settle(id, errorToData(nodeLost()));
  }

  #checkWaiters(): void {
    const now = this.#deps.clock.monotonic();
    for (const [id, { seenMs }] of this.#waiters) {
      if (now - seenMs > UNSEEN_MS) this.#settleLost(id, 'Redis is unavailable.');
      else if (now - seenMs > CHECK_MS) this.#check(id).catch(this.#onError);
    }
  }

  async #check(id: string): Promise<void> {
    const job = await Job.fromId<Message, Outcome<Value>>(this.#queue, id);
    if (job === undefined) this.#settleLost(id, 'The message is not in the queue any more.');
    else if (job.failedReason) this.#settleLost(id, job.failedReason);
    else if (job.finishedOn !== undefined) this.#settle(id, job.returnvalue);
    const waiter = this.#waiters.get(id);
    if (waiter !== undefined) waiter.seenMs = this.#deps.clock.monotonic();
  }
}
