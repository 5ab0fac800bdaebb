/**
 * Work for other machines over BullMQ queues: chunks of bulk jobs, and questions to the graphs of other nodes. No other module
 * imports bullmq. Messages are small: a chunk is a reference, and the bytes of a result are stored beside the queue until they are
 * fetched.
 */
import { EventEmitter, setMaxListeners } from 'node:events';
import { type ConnectionOptions, Job, Queue, QueueEvents, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, errorToData, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { within } from '../base/within.ts';
import type { TraceResult } from '../screening/trace.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';
import { asStorageFull } from '../state/storage.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from './chunks.ts';
import { type AskElsewhere, answerQuestion, type GraphQuestion, type GraphUseCases } from './placement.ts';

export interface QueuesDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Scope of the installation: other installations in the same Redis have other queues. Default: empty. */
  readonly scope?: string;
}

/** A consumer of a queue until it is closed; closing finishes the running work. */
export interface Working {
  close(): Promise<void>;
}

export interface ChunksOptions {
  /** Current maximum number of chunks in progress. */
  readonly slots: () => number;
  /** Returns the placement of the workers for a chunk; null for all workers. If it throws, the chunk is rejected with the error. */
  readonly placementOf: (task: ChunkTask) => string | null;
}

export interface Queues {
  /** Creates a runner that sends chunks to any node that processes them. */
  chunkRunner(options: ChunksOptions): ChunkRunner;
  /** Processes chunks with `runner`, as many at once as it has slots: chunks for any node, and chunks of its placement. */
  workChunks(runner: ChunkRunner, placement: string | null): Working;
  /** Sends a question to the nodes of a placement. */
  readonly ask: AskElsewhere;
  /**
   * Answers the questions to the nodes of a placement.
   *
   * @param atOnce - number of questions that are answered concurrently
   */
  answer(placement: string, of: GraphUseCases, atOnce: number): Working;
  close(): Promise<void>;
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
/** Retention of results that are not fetched. */
const ANSWER_KEPT_MS = 60_000;
/** Number of events kept in a queue's stream, for listeners that were briefly disconnected. */
const EVENTS_KEPT = 2_000;

/** Outcome of a worker: its value, or its error. */
type Outcome<Value> = { readonly ok: true; readonly value: Value } | ErrorData;

/** Fetches the bytes of a result and removes them. KEYS answer. */
const FETCH = `
local bytes = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return bytes`;

const lost = (): AssayError =>
  new AssayError('NOT_READY', 'The node that worked on this went away. Try again.', { retryAfterSeconds: 1 });

/**
 * Listens to the errors of a BullMQ object. BullMQ removes all listeners from a connection that it closes. If the connection was
 * still being opened, its error would then be unhandled and end the process, so the listener is added again.
 */
function hear(part: Queue | QueueEvents | Worker, heard: (error: unknown) => void): void {
  (part as EventEmitter).on('error', heard);
  for (const name of ['connection', 'blockingConnection']) {
    const connection: unknown = Reflect.get(part, name);
    if (!(connection instanceof EventEmitter)) continue;
    const removeAll = connection.removeAllListeners.bind(connection);
    connection.removeAllListeners = (event) => removeAll(event).on('error', heard);
  }
}

/** The requesting side of one queue. */
interface Asking<Message, Value> {
  /**
   * Sends a message and resolves with the worker's value.
   *
   * @throws the error of the worker; NOT_READY if the worker died or the signal was aborted first
   */
  ask(id: string, message: Message, signal: AbortSignal): Promise<Value>;
  /**
   * Returns the number of messages, of all requesting nodes, that no worker has taken yet.
   *
   * @throws NOT_READY
   */
  waiting(): Promise<number>;
  close(): Promise<void>;
}

interface Waiter<Value> {
  /** Monotonic time at which the work was last known to exist. */
  seenMs: number;
  settle(outcome: Outcome<Value>): void;
}

/** Opens the queues. */
export function openQueues(deps: QueuesDeps): Queues {
  const { redis, clock, random, log, scope = '' } = deps;
  const connection = redis.another('bullmq');
  const fetchAnswer = redis.script('answer_fetch', FETCH, { binary: true });
  /** A forced close does not wait. */
  const opened: { close(isForced: boolean): Promise<void> }[] = [];
  /** All keys of a queue are in one hash slot of Redis Cluster. */
  const optionsOf = (name: string) => ({
    connection: connection as ConnectionOptions,
    prefix: redis.key(scoped(scope, `queue-${name}`), 'bull'),
  });
  const heard = (name: string) => (error: unknown) =>
    log.debug({ queue: name, error: messageOf(error) }, 'A queue was interrupted.');
  const newId = (): string => Buffer.from(random.bytes(12)).toString('hex');

  function openAsking<Message, Value>(name: string): Asking<Message, Value> {
    const queue = new Queue<Message, Outcome<Value>>(name, {
      ...optionsOf(name),
      streams: { events: { maxLen: EVENTS_KEPT } },
      defaultJobOptions: { attempts: 1, removeOnComplete: KEPT, removeOnFail: KEPT },
    });
    const events = new QueueEvents(name, optionsOf(name));
    hear(queue, heard(name));
    hear(events, heard(name));
    const waiters = new Map<string, Waiter<Value>>();
    const settle = (id: string, outcome: Outcome<Value>): void => waiters.get(id)?.settle(outcome);
    const settleLost = (id: string, reason: string): void => {
      if (waiters.has(id)) log.warn({ queue: name, reason }, 'A node went away with its work.');
      settle(id, errorToData(lost()));
    };
    events.on('completed', ({ jobId, returnvalue }) =>
      settle(jobId, returnvalue as unknown as Outcome<Value>),
    );
    // A worker returns its errors as values, so an event of failure means that the worker is lost.
    events.on('failed', ({ jobId, failedReason }) => settleLost(jobId, failedReason));

    async function look(id: string): Promise<void> {
      const job = await Job.fromId<Message, Outcome<Value>>(queue, id);
      if (job === undefined) settleLost(id, 'It is not in the queue any more.');
      else if (job.failedReason) settleLost(id, job.failedReason);
      else if (job.finishedOn !== undefined) settle(id, job.returnvalue);
      const waiter = waiters.get(id);
      if (waiter !== undefined) waiter.seenMs = clock.monotonic();
    }
    const checks = setInterval(() => {
      const now = clock.monotonic();
      for (const [id, { seenMs }] of waiters) {
        if (now - seenMs > UNSEEN_MS) settleLost(id, 'Redis does not answer.');
        else if (now - seenMs > CHECK_MS) look(id).catch(heard(name));
      }
    }, CHECK_MS);
    checks.unref();

    return {
      async ask(id, message, signal) {
        signal.throwIfAborted();
        // All chunks of a job share one signal.
        setMaxListeners(0, signal);
        const outcome = new Promise<Outcome<Value>>((resolve) => {
          const leave = (): void => {
            resolve(errorToData(signal.reason instanceof AssayError ? signal.reason : lost()));
            // If no worker has taken the message, it is removed.
            void queue.remove(id).catch(heard(name));
          };
          signal.addEventListener('abort', leave, { once: true });
          waiters.set(id, {
            seenMs: clock.monotonic(),
            settle(outcome) {
              signal.removeEventListener('abort', leave);
              resolve(outcome);
            },
          });
        });
        queue
          .add(name as never, message as never, { jobId: id })
          .catch((error: unknown) => settleLost(id, messageOf(error)));
        try {
          const ended = await outcome;
          if (!ended.ok) throw errorFromData(ended);
          return ended.value;
        } finally {
          waiters.delete(id);
        }
      },
      // BullMQ would wait for as long as the server is unavailable.
      waiting: () => redis.guard(within(LIMITS.redisCommandMs, queue.getWaitingCount(), 'Redis')),
      async close() {
        clearInterval(checks);
        for (const id of [...waiters.keys()]) settle(id, errorToData(lost()));
        await Promise.allSettled([events.close(), queue.close()]);
      },
    };
  }

  /**
   * Processes a queue.
   *
   * @param options - `stalls`: how often a message is given to another worker after its worker died, before it fails
   */
  function work<Message, Value>(
    name: string,
    options: { readonly atOnce: number; readonly stalls: number },
    answer: (message: Message, id: string) => Promise<Value>,
  ): Working {
    const worker = new Worker<Message, Outcome<Value>>(
      name,
      async (job): Promise<Outcome<Value>> => {
        try {
          return { ok: true, value: await answer(job.data, job.id as string) };
        } catch (error) {
          if (!(error instanceof AssayError))
            log.error({ queue: name, error: messageOf(error) }, 'Work of a queue failed.');
          return errorToData(asStorageFull(error, 'The disk'));
        }
      },
      {
        ...optionsOf(name),
        concurrency: options.atOnce,
        lockDuration: LOCK_MS,
        lockRenewTime: RENEW_MS,
        stalledInterval: STALL_LOOK_MS,
        maxStalledCount: options.stalls,
        runRetryDelay: RETRY_MS,
        removeOnComplete: KEPT,
        removeOnFail: KEPT,
      },
    );
    hear(worker, heard(name));
    opened.push({ close: (isForced) => worker.close(isForced) });
    return { close: () => worker.close() };
  }

  // --- chunks -----------------------------------------------------------------------------------------------------------

  const chunkQueue = (placement: string | null): string =>
    placement === null ? 'chunks' : `chunks-${placement}`;

  // --- questions to graphs ----------------------------------------------------------------------------------------------

  const graphQueue = (placement: string): string => `graph-${placement}`;
  const answerKey = (id: string): string => redis.key(`answer-${id}`, 'bytes');
  interface Answered {
    readonly isKnown: boolean;
  }
  interface Placed {
    readonly asking: Asking<GraphQuestion, Answered>;
    inFlight: number;
  }
  const placed = new Map<string, Placed>();
  let questions = 0;

  function placedOf(placement: string): Placed {
    const known = placed.get(placement);
    if (known !== undefined) return known;
    const one = { asking: openAsking<GraphQuestion, Answered>(graphQueue(placement)), inFlight: 0 };
    opened.push(one.asking);
    placed.set(placement, one);
    return one;
  }

  async function askOf(of: Placed, question: GraphQuestion): Promise<TraceResult> {
    if ((await of.asking.waiting()) >= LIMITS.graphQuestionsWaitingMax)
      throw new AssayError('OVERLOADED', 'Too many questions wait for the nodes that hold this chain.', {
        retryAfterSeconds: 1,
      });
    const id = newId();
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(
        new AssayError('NOT_READY', 'The nodes that hold this chain did not answer in time. Try again.', {
          retryAfterSeconds: 1,
        }),
      );
    }, LIMITS.graphQuestionMs);
    try {
      const { isKnown } = await of.asking.ask(id, question, late.signal);
      const data = (await fetchAnswer([answerKey(id)], [])) as Buffer | null;
      if (data === null) throw lost();
      return { data, isKnown };
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    chunkRunner({ slots, placementOf }) {
      const askings = new Map<string, Asking<ChunkTask, ChunkDone>>();
      function askingOf(name: string): Asking<ChunkTask, ChunkDone> {
        const known = askings.get(name);
        if (known !== undefined) return known;
        const asking = openAsking<ChunkTask, ChunkDone>(name);
        askings.set(name, asking);
        opened.push(asking);
        return asking;
      }
      return {
        get slots() {
          return slots();
        },
        run: async (task, signal) =>
          askingOf(chunkQueue(placementOf(task))).ask(`${task.jobId}-${task.chunk}-${newId()}`, task, signal),
        async close() {
          await Promise.all([...askings.values()].map((asking) => asking.close()));
        },
      };
    },
    workChunks(runner, placement) {
      // A chunk of a dead worker is not given to another one unchanged: if the first worker resumes, both would write the same
      // file. The chunk fails, and the scheduler retries it with another file.
      const options = { atOnce: Math.max(1, runner.slots), stalls: 0 };
      const works = (placement === null ? [null] : [null, placement]).map((one) =>
        work<ChunkTask, ChunkDone>(chunkQueue(one), options, (task) =>
          runner.run(task, new AbortController().signal),
        ),
      );
      return {
        async close() {
          await Promise.all(works.map((one) => one.close()));
        },
      };
    },
    async ask(placements, question) {
      const [first, ...others] = placements.map(placedOf);
      if (first === undefined || questions >= LIMITS.graphQuestionsMax)
        throw new AssayError('OVERLOADED', 'Too many questions wait for other nodes.', {
          retryAfterSeconds: 1,
        });
      const least = others.reduce((a, b) => (b.inFlight < a.inFlight ? b : a), first);
      questions++;
      least.inFlight++;
      try {
        return await askOf(least, question);
      } finally {
        questions--;
        least.inFlight--;
      }
    },
    answer: (placement, of, atOnce) =>
      work<GraphQuestion, Answered>(graphQueue(placement), { atOnce, stalls: 1 }, async (question, id) => {
        const { data, isKnown } = await answerQuestion(question, of);
        await redis.guard(
          redis.connection.set(answerKey(id), Buffer.from(data), 'PX', ANSWER_KEPT_MS) as Promise<unknown>,
        );
        return { isKnown };
      }),
    async close() {
      const isAway = (): Promise<boolean> =>
        redis.guard(redis.connection.ping()).then(
          () => false,
          () => true,
        );
      let isLeft = await isAway();
      const ended = new AbortController();
      const closing = Promise.allSettled(opened.map((one) => one.close(isLeft))).then(() => ended.abort());
      while (!ended.signal.aborted && !isLeft) {
        await sleep(CLOSE_LOOK_MS, ended.signal);
        isLeft = !ended.signal.aborted && (await isAway());
      }
      if (ended.signal.aborted) return;
      log.warn('Queues are left without a word: Redis is away.');
      // BullMQ would wait for Redis forever. Outcomes of this moment cannot be stored; other nodes treat the work as lost.
      connection.disconnect();
      await within(LIMITS.redisCommandMs, closing, 'BullMQ').catch(heard('all'));
    },
  };
}
