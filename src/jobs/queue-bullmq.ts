/**
 * Work that leaves this machine: chunks of bulk jobs, and questions to the graphs of other nodes, over BullMQ's queues. The only
 * importer of bullmq. A message is small: a chunk is a reference, and an answer's bytes lie beside the queue until they are fetched.
 */
import { EventEmitter, setMaxListeners } from 'node:events';
import { type ConnectionOptions, Job, Queue, QueueEvents, Worker } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, errorToData, messageOf } from '../base/errors.ts';
import { pause } from '../base/leases.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { RedisStore } from '../base/redis.ts';
import { scoped } from '../base/redis-installation.ts';
import { asStorageFull } from '../base/storage.ts';
import { within } from '../base/within.ts';
import type { TraceResult } from '../screening/trace.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from './chunks.ts';
import { type AskElsewhere, answerQuestion, type GraphQuestion, type GraphUseCases } from './placement.ts';

export interface QueuesDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Of the installation: nodes of another one in the same Redis have other queues. Default: empty. */
  readonly scope?: string;
}

/** Whoever works a queue, until it is closed: what runs is ended first. */
export interface Working {
  close(): Promise<void>;
}

export interface ChunksOptions {
  /** Chunks given out at once, as of now. */
  readonly slots: () => number;
  /** The placement whose workers a chunk is for; null for all. What it throws the chunk is rejected with. */
  readonly placementOf: (task: ChunkTask) => string | null;
}

export interface Queues {
  /** Gives chunks to whichever nodes work them. */
  chunkRunner(options: ChunksOptions): ChunkRunner;
  /** Works chunks by `runner`, as many at once as it has slots: those that any node may work, and those of its placement. */
  workChunks(runner: ChunkRunner, placement: string | null): Working;
  /** Asks the nodes of a placement. */
  readonly ask: AskElsewhere;
  /** Answers what is asked of the nodes of a placement, so many questions at once. */
  answer(placement: string, of: GraphUseCases, atOnce: number): Working;
  close(): Promise<void>;
}

/**
 * A worker says every 2 s that it lives, and every 2 s somebody looks for those that have not for 6 s: work of a process that was
 * killed is known to be lost within 8 s. Nothing that is worked here keeps the thread that says so for longer than milliseconds.
 */
const LOCK_MS = 6_000;
const RENEW_MS = 2_000;
const STALL_LOOK_MS = 2_000;
/** A queue whose connection broke is asked again after this; BullMQ's own 15 s are longer than a fail-over. */
const RETRY_MS = 1_000;
/** Ends that were not heard of, because a connection broke in between, are looked for so often. */
const CHECK_MS = 2_000;
/** Work of which nothing can be learnt for so long, while Redis is away, is given up: trying it again does no harm. */
const UNSEEN_MS = 30_000;
/** While work is ended at the close, how often it is looked whether Redis is there to be told of it. */
const CLOSE_LOOK_MS = 1_000;
/** How long ends of work are kept, for those who did not hear of them. */
const KEPT = { age: 120, count: 2_000 } as const;
/** Answers that nobody fetches. */
const ANSWER_KEPT_MS = 60_000;
/** Events that lie in a queue's stream, for listeners that were cut off for a moment. */
const EVENTS_KEPT = 2_000;

/** What a worker leaves: its value, or why there is none. */
type Outcome<Value> = { readonly ok: true; readonly value: Value } | ErrorData;

/** Fetches the bytes of an answer and removes them. KEYS answer. */
const FETCH = `
local bytes = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return bytes`;

const lost = (): AssayError =>
  new AssayError('NOT_READY', 'The node that worked on this went away. Try again.', { retryAfterSeconds: 1 });

/**
 * Hears what a part of BullMQ says. BullMQ takes all listeners from a connection that it closes, and one that was still beginning then tells
 * its failure to nobody, which would end the process: these are heard for good.
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

/** One queue as the side that asks sees it. */
interface Asking<Message, Value> {
  /** Rejects with what the worker threw; NOT_READY where the worker died or the signal was aborted first. */
  ask(id: string, message: Message, signal: AbortSignal): Promise<Value>;
  /** Messages that no worker has taken yet, of all who ask. Rejects with NOT_READY. */
  waiting(): Promise<number>;
  close(): Promise<void>;
}

interface Waiter<Value> {
  /** When it was last known to be there. */
  seenMs: number;
  settle(outcome: Outcome<Value>): void;
}

export function openQueues(deps: QueuesDeps): Queues {
  const { redis, clock, random, log, scope = '' } = deps;
  const connection = redis.another('bullmq');
  const fetchAnswer = redis.script('answer_fetch', FETCH, { binary: true });
  /** By force, nothing is waited for. */
  const opened: { close(isForced: boolean): Promise<void> }[] = [];
  /** All keys of a queue stand in one slot. */
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
    // What a worker throws is its value: only what has no worker any more fails.
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
        // One signal is given to all chunks of a job.
        setMaxListeners(0, signal);
        const outcome = new Promise<Outcome<Value>>((resolve) => {
          const leave = (): void => {
            resolve(errorToData(signal.reason instanceof AssayError ? signal.reason : lost()));
            // What nobody has taken yet is nobody's work any more.
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
      // BullMQ would wait for a server as long as that is away.
      waiting: () => redis.guard(within(LIMITS.redisCommandMs, queue.getWaitingCount(), 'Redis')),
      async close() {
        clearInterval(checks);
        for (const id of [...waiters.keys()]) settle(id, errorToData(lost()));
        await Promise.allSettled([events.close(), queue.close()]);
      },
    };
  }

  /** Works a queue. `stalls`: how often a message whose worker died is given to another; then it fails. */
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
      // A chunk whose worker died is not given to another as it is: the first may wake, and both would write one file. It fails, and
      // who planned it tries again under another name.
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
        await pause(CLOSE_LOOK_MS, ended.signal);
        isLeft = !ended.signal.aborted && (await isAway());
      }
      if (ended.signal.aborted) return;
      log.warn('Queues are left without a word: Redis is away.');
      // BullMQ would wait for it for ever. What ends now cannot be told; others find it to be lost.
      connection.disconnect();
      await within(LIMITS.redisCommandMs, closing, 'BullMQ').catch(heard('all'));
    },
  };
}
