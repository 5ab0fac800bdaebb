/**
 * Work for other nodes: chunks of bulk jobs, and requests about chains that other nodes store. Messages are small: a chunk is a
 * reference, and the bytes of a result are stored beside the queue until they are fetched.
 */
import { AssayError } from '../base/errors.ts';
import { luaScript } from '../base/paths.ts';
import type { Random } from '../base/random.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from '../jobs/chunks.ts';
import { POOL_LIMITS } from './limits.ts';
import { BullQueues, type BullQueuesDeps, nodeLost, type QueueClient, type Working } from './queue-bullmq.ts';
import type { SendRemote } from './routing.ts';
import type { RemoteResult } from './task.ts';
import type { GraphRequest } from './tasks/index.ts';

export interface QueuesDeps extends BullQueuesDeps {
  readonly random: Random;
}

export interface ChunksOptions {
  /** Current maximum number of chunks in progress. */
  readonly slots: () => number;
  /** Returns the group of the workers for a chunk; null for all workers. If it throws, the chunk is rejected with the error. */
  readonly groupOf: (task: ChunkTask) => string | null;
}

export interface Queues {
  /** Creates a runner that sends chunks to any node that processes them. */
  chunkRunner(options: ChunksOptions): ChunkRunner;
  /** Processes chunks with `runner`, as many at once as it has slots: chunks for any node, and chunks of its group. */
  workChunks(runner: ChunkRunner, group: string | null): Working;
  /** Sends a request to the nodes of a group. */
  readonly send: SendRemote;
  /**
   * Answers the requests to the nodes of a group.
   *
   * @param atOnce - number of requests that are answered concurrently
   */
  answer(group: string, answer: (request: GraphRequest) => Promise<RemoteResult>, atOnce: number): Working;
  /** Closes all queues and finishes the running work. If Redis is unavailable, the outcomes of running work are lost. */
  close(): Promise<void>;
}

/** Retention of results that are not fetched. */
const RESULT_KEPT_MS = 60_000;
const ID_BYTES = 12;

const chunkQueue = (group: string | null): string => (group === null ? 'chunks' : `chunks-${group}`);
const graphQueue = (group: string): string => `graph-${group}`;

/** The message that acknowledges a request: its result without the bytes. */
type ResultHead = Omit<RemoteResult, 'data'>;

/** The requests of this node to one group. */
interface GroupClient {
  readonly client: QueueClient<GraphRequest, ResultHead>;
  inFlight: number;
}

/** Opens the queues of a node. */
export const openQueues = (deps: QueuesDeps): Queues => new NodeQueues(deps);

class NodeQueues implements Queues {
  readonly #deps: QueuesDeps;
  readonly #queues: BullQueues;
  readonly #fetch: (keys: string[], args: string[]) => Promise<unknown>;
  readonly #groups = new Map<string, GroupClient>();
  /** Requests of this node that are not answered yet. */
  #inFlight = 0;

  constructor(deps: QueuesDeps) {
    this.#deps = deps;
    this.#queues = new BullQueues(deps);
    this.#fetch = deps.redis.script('answer_fetch', luaScript('pool', 'lua', 'result-fetch'), {
      binary: true,
    });
  }

  #newId(): string {
    return Buffer.from(this.#deps.random.bytes(ID_BYTES)).toString('hex');
  }

  #resultKey(id: string): string {
    return this.#deps.redis.key(`answer-${id}`, 'bytes');
  }

  chunkRunner({ slots, groupOf }: ChunksOptions): ChunkRunner {
    const clients = new Map<string, QueueClient<ChunkTask, ChunkDone>>();
    const clientOf = (name: string): QueueClient<ChunkTask, ChunkDone> => {
      const opened = clients.get(name);
      if (opened !== undefined) return opened;
      const client = this.#queues.client<ChunkTask, ChunkDone>(name);
      clients.set(name, client);
      return client;
    };
    return {
      get slots() {
        return slots();
      },
      run: async (task, signal) =>
        clientOf(chunkQueue(groupOf(task))).send(
          `${task.jobId}-${task.chunk}-${this.#newId()}`,
          task,
          signal,
        ),
      async close() {
        await Promise.all([...clients.values()].map((client) => client.close()));
      },
    };
  }

  workChunks(runner: ChunkRunner, group: string | null): Working {
    // A chunk of a dead worker is not given to another one unchanged: if the first worker resumes, both would write the same
    // file. The chunk fails, and the scheduler retries it with another file.
    const options = { atOnce: Math.max(1, runner.slots), stalls: 0 };
    const workers = (group === null ? [null] : [null, group]).map((one) =>
      this.#queues.work<ChunkTask, ChunkDone>(chunkQueue(one), options, (task) =>
        runner.run(task, new AbortController().signal),
      ),
    );
    return {
      pause() {
        for (const one of workers) one.pause();
      },
      resume() {
        for (const one of workers) one.resume();
      },
      async close() {
        await Promise.all(workers.map((one) => one.close()));
      },
    };
  }

  readonly send: SendRemote = async (groups, request) => {
    const [first, ...others] = groups.map((group) => this.#groupClient(group));
    if (first === undefined || this.#inFlight >= POOL_LIMITS.graphRequestsMax)
      throw new AssayError('OVERLOADED', 'Too many requests are waiting for other nodes.', {
        retryAfterSeconds: 1,
      });
    const least = others.reduce((a, b) => (b.inFlight < a.inFlight ? b : a), first);
    this.#inFlight++;
    least.inFlight++;
    try {
      return await this.#sendTo(least, request);
    } finally {
      this.#inFlight--;
      least.inFlight--;
    }
  };

  #groupClient(group: string): GroupClient {
    const opened = this.#groups.get(group);
    if (opened !== undefined) return opened;
    const client = this.#queues.client<GraphRequest, ResultHead>(graphQueue(group));
    const one = { client, inFlight: 0 };
    this.#groups.set(group, one);
    return one;
  }

  async #sendTo({ client }: GroupClient, request: GraphRequest): Promise<RemoteResult> {
    if ((await client.waiting()) >= POOL_LIMITS.graphRequestsWaitingMax)
      throw new AssayError(
        'OVERLOADED',
        'Too many requests are waiting for the nodes that store this chain.',
        {
          retryAfterSeconds: 1,
        },
      );
    const id = this.#newId();
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(
        new AssayError('NOT_READY', 'The nodes that store this chain did not answer in time. Try again.', {
          retryAfterSeconds: 1,
        }),
      );
    }, POOL_LIMITS.graphRequestMs);
    try {
      const head = await client.send(id, request, late.signal);
      const data = (await this.#fetch([this.#resultKey(id)], [])) as Buffer | null;
      if (data === null) throw nodeLost();
      return { data, isKnown: head.isKnown };
    } finally {
      clearTimeout(timer);
    }
  }

  answer(group: string, answer: (request: GraphRequest) => Promise<RemoteResult>, atOnce: number): Working {
    const { redis } = this.#deps;
    return this.#queues.work<GraphRequest, ResultHead>(
      graphQueue(group),
      { atOnce, stalls: 1 },
      async (request, id) => {
        const { data, isKnown } = await answer(request);
        await redis.guard(
          redis.connection.set(
            this.#resultKey(id),
            Buffer.from(data),
            'PX',
            RESULT_KEPT_MS,
          ) as Promise<unknown>,
        );
        return { isKnown };
      },
    );
  }

  close(): Promise<void> {
    return this.#queues.close();
  }
}
