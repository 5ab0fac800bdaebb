/**
 * Chunks and graph queries over BullMQ, on real servers: which worker runs them, which result returns, and the effect of a crash in the
 * middle.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock as clock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger as log } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from '../../src/jobs/chunks.ts';
import { POOL_LIMITS } from '../../src/pool/limits.ts';
import { openQueues, type Queues } from '../../src/pool/queues.ts';
import { answerRemote } from '../../src/pool/routing.ts';
import type { RemoteResult } from '../../src/pool/task.ts';
import { type GraphRequest, TASKS } from '../../src/pool/tasks/index.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { hasRedis, type RedisServer, startRedis, startRedisCluster } from '../setup/redis.ts';
import { graphUseCases } from '../support/graph-use-cases.ts';

const task = (chunk: number): ChunkTask => ({
  jobId: 'job1',
  chunk,
  kind: 'labels',
  chain: 'ETH',
  format: 'csv',
  columns: null,
  input: { path: '/jobs/input', start: chunk * 10, end: chunk * 10 + 10 },
  firstLine: chunk + 1,
  output: `/jobs/out.${chunk}`,
});
const never = new AbortController().signal;

const runnerOf = (slots: number, run: (task: ChunkTask) => Promise<ChunkDone>): ChunkRunner => ({
  slots,
  run,
  close: async () => {},
});
const useCases = (
  answer: (address: string) => Promise<Uint8Array> | Uint8Array,
): ((request: GraphRequest) => Promise<RemoteResult>) => {
  const local = graphUseCases(({ address, hash = '' }) => answer(address ?? hash));
  return (request) => answerRemote(TASKS, local, request);
};
const trace = (address: string) => ({ task: 'trace', request: { chain: 'BTC', address } }) as const;

interface Node {
  readonly redis: RedisStore;
  readonly queues: Queues;
}

function conform(url: () => string): void {
  const nodes: Node[] = [];
  function newNode(): Node {
    const redis = openRedis(parseRedisUrl(url()), { log });
    const node = { redis, queues: openQueues({ redis, clock, random, log }) };
    nodes.push(node);
    return node;
  }
  afterEach(async () => {
    for (const { redis, queues } of nodes.splice(0)) {
      await queues.close();
      await redis.close();
    }
  });

  it('distributes chunks over all workers, runs each once, and returns its result', async () => {
    const worked: string[][] = [[], []];
    const chunks = newNode().queues.chunkRunner({ slots: () => 7, groupOf: () => null });
    for (const own of worked)
      newNode().queues.workChunks(
        runnerOf(2, async ({ output, chunk }) => {
          own.push(output);
          // No worker ends its first chunk before the other has started one.
          do await new Promise((resolve) => setTimeout(resolve, 10));
          while (worked.some(({ length }) => length === 0));
          return { items: chunk, failed: 1, bytes: 2 };
        }),
        null,
      );
    expect(chunks.slots).toBe(7);
    const done = await Promise.all(Array.from({ length: 60 }, (_, i) => chunks.run(task(i), never)));
    expect(done).toEqual(Array.from({ length: 60 }, (_, items) => ({ items, failed: 1, bytes: 2 })));
    expect(new Set(worked.flat()).size).toBe(60);
    expect(worked.flat().length).toBe(60);
    expect(Math.min(...worked.map((own) => own.length))).toBeGreaterThan(5);
  });
  it('gives a chunk of a group only to the nodes of that group', async () => {
    const worked: string[] = [];
    const chunks = newNode().queues.chunkRunner({
      slots: () => 4,
      groupOf: ({ chunk }) => ['ETH', 'BTC', null][chunk % 3] ?? null,
    });
    for (const group of ['ETH', 'BTC'])
      newNode().queues.workChunks(
        runnerOf(1, async ({ chunk }) => {
          worked.push(`${group} ${chunk % 3}`);
          return { items: 1, failed: 0, bytes: 1 };
        }),
        group,
      );
    await Promise.all(Array.from({ length: 30 }, (_, i) => chunks.run(task(i), never)));
    expect(worked.filter((one) => one === 'ETH 0').length).toBe(10);
    expect(worked.filter((one) => one === 'BTC 1').length).toBe(10);
    expect(worked.length).toBe(30);
  });
  it('rejects with the error of the worker', async () => {
    const chunks = newNode().queues.chunkRunner({ slots: () => 1, groupOf: () => null });
    newNode().queues.workChunks(
      runnerOf(1, async ({ chunk }) => {
        throw chunk === 0
          ? new AssayError('OVERLOADED', 'Later.', { retryAfterSeconds: 3 })
          : new Error('a path of this machine');
      }),
      null,
    );
    await expect(chunks.run(task(0), never)).rejects.toMatchObject({
      code: 'OVERLOADED',
      message: 'Later.',
      retryAfterSeconds: 3,
    });
    await expect(chunks.run(task(1), never)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'Internal server error.',
    });
  });
  it('a chunk whose sender is gone is not started', async () => {
    const chunks = newNode().queues.chunkRunner({ slots: () => 1, groupOf: () => null });
    const stopped = new AbortController();
    const run = chunks.run(task(0), stopped.signal);
    setTimeout(() => stopped.abort(), 200);
    await expect(run).rejects.toMatchObject({ code: 'NOT_READY' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const begun: number[] = [];
    newNode().queues.workChunks(
      runnerOf(1, async ({ chunk }) => {
        begun.push(chunk);
        return { items: 1, failed: 0, bytes: 1 };
      }),
      null,
    );
    await chunks.run(task(1), never);
    expect(begun).toEqual([1]);
  });
  it('returns the bytes and the errors of a request unchanged', async () => {
    const bytes = Buffer.from(`{"text":"ä€😀","long":"${'x'.repeat(300_000)}"}`);
    const { send } = newNode().queues;
    newNode().queues.answer(
      'all',
      useCases((address) => {
        if (address === 'bad')
          throw new AssayError('INVALID_ADDRESS', 'address: is none.', { field: 'address' });
        return bytes;
      }),
      4,
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(['all'], trace('good'))));
    for (const { data, isKnown } of answers) {
      expect(isKnown).toBe(false);
      expect(Buffer.compare(data, bytes)).toBe(0);
    }
    await expect(send(['all'], trace('bad'))).rejects.toMatchObject({
      code: 'INVALID_ADDRESS',
      field: 'address',
    });
    const { data } = await send(['all'], { task: 'screening', request: { chain: 'BTC', address: 'good' } });
    expect(data.length).toBe(bytes.length);
  });
  it('sends a request to the group with the fewest requests in flight', async () => {
    const { send } = newNode().queues;
    const asked = { a: 0, b: 0 };
    for (const group of ['a', 'b'] as const)
      newNode().queues.answer(
        group,
        useCases(async () => {
          asked[group]++;
          await new Promise((resolve) => setTimeout(resolve, 20));
          return Buffer.from(group);
        }),
        8,
      );
    await Promise.all(Array.from({ length: 40 }, () => send(['a', 'b'], trace('x'))));
    expect(asked).toEqual({ a: 20, b: 20 });
  });
}

describe.skipIf(!hasRedis)('queues in one Redis server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  conform(() => server.url);

  it('returns a chunk of a dead node to its sender, and gives a request to another node', async () => {
    const open = (): Node => {
      const redis = openRedis(parseRedisUrl(server.url), { log });
      return { redis, queues: openQueues({ redis, clock, random, log }) };
    };
    const [asker, dying, other] = [open(), open(), open()];
    let begun = 0;
    const dead = (): Promise<never> => {
      begun++;
      return new Promise(() => {});
    };
    dying.queues.workChunks(runnerOf(1, dead), null);
    dying.queues.answer('all', useCases(dead), 1);
    const chunk = asker.queues.chunkRunner({ slots: () => 1, groupOf: () => null }).run(task(3), never);
    const answer = asker.queues.send(['all'], trace('x'));
    const outcome = chunk.then(
      () => 'done',
      (error: AssayError) => error.code,
    );
    await expect.poll(() => begun).toBe(2);
    // Its connections end, and its heartbeats stop.
    void dying.queues.close();
    await dying.redis.close();
    other.queues.workChunks(
      runnerOf(1, async () => ({ items: 1, failed: 0, bytes: 1 })),
      null,
    );
    other.queues.answer(
      'all',
      useCases(() => Buffer.from('other')),
      1,
    );
    expect(await outcome).toBe('NOT_READY');
    expect(String((await answer).data)).toBe('other');
    for (const { queues, redis } of [asker, other]) {
      await queues.close();
      await redis.close();
    }
  });
  it('loses no chunk when the server restarts', async () => {
    const redis = openRedis(parseRedisUrl(server.url), { log });
    const queues = openQueues({ redis, clock, random, log });
    const chunks = queues.chunkRunner({ slots: () => 1, groupOf: () => null });
    const working = queues.workChunks(
      runnerOf(2, async ({ chunk }) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        return { items: chunk, failed: 0, bytes: 0 };
      }),
      null,
    );
    const runs = Array.from({ length: 40 }, (_, i) =>
      (async () => {
        for (;;)
          try {
            return await chunks.run(task(i), never);
          } catch (error) {
            expect(error).toMatchObject({ code: 'NOT_READY' });
          }
      })(),
    );
    await Promise.race(runs);
    await server.kill();
    await server.restart();
    expect((await Promise.all(runs)).map(({ items }) => items)).toEqual(
      Array.from({ length: 40 }, (_, i) => i),
    );
    await working.close();
    await queues.close();
    await redis.close();
  });
  it('rejects requests while the server does not answer, and sends them when it does', async () => {
    const redis = openRedis(parseRedisUrl(server.url), { log });
    const queues = openQueues({ redis, clock, random, log });
    queues.answer(
      'all',
      useCases(() => Buffer.from('here')),
      1,
    );
    await queues.send(['all'], trace('x'));
    server.freeze();
    const asked = queues.send(['all'], trace('x'));
    await expect(asked).rejects.toMatchObject({ code: 'NOT_READY' });
    server.thaw();
    expect(String((await queues.send(['all'], trace('x'))).data)).toBe('here');
    await queues.close();
    await redis.close();
  });
  it('limits the requests in flight, rejects one without a group, and ends the open ones on close', async () => {
    const redis = openRedis(parseRedisUrl(server.url), { log });
    const queues = openQueues({ redis, clock, random, log });
    await expect(queues.send([], trace('x'))).rejects.toMatchObject({ code: 'OVERLOADED' });
    // No node of the group answers.
    const open = Array.from({ length: POOL_LIMITS.graphRequestsMax }, () =>
      queues.send(['silent'], trace('x')).then(
        () => 'answered',
        (error: AssayError) => error.code,
      ),
    );
    await expect(queues.send(['silent'], trace('x'))).rejects.toMatchObject({
      code: 'OVERLOADED',
      retryAfterSeconds: 1,
    });
    await expect
      .poll(() => server.run('llen', 'assay:{queue-graph-silent}:bull:graph-silent:wait').trim())
      .toBe(String(POOL_LIMITS.graphRequestsMax));
    let ended = 0;
    for (const one of open) void one.then(() => ended++);
    await queues.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(POOL_LIMITS.graphRequestsMax);
    expect(new Set(await Promise.all(open))).toEqual(new Set(['NOT_READY']));
    await redis.close();
  });
  it('gives a chunk to its group, and hides the text of an unexpected error', async () => {
    const redis = openRedis(parseRedisUrl(server.url), { log });
    const queues = openQueues({ redis, clock, random, log });
    const chunks = queues.chunkRunner({ slots: () => 1, groupOf: () => 'there' });
    queues.workChunks(
      runnerOf(0, async () => {
        throw new Error('/secret/path');
      }),
      'there',
    );
    const thrown = await chunks.run(task(0), never).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'INTERNAL' });
    expect(String(thrown)).not.toContain('secret');
    await expect(chunks.run(task(1), AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    await queues.close();
    await redis.close();
  });
  it('closes while the server is unavailable', async () => {
    const redis = openRedis(parseRedisUrl(server.url), { log });
    const queues = openQueues({ redis, clock, random, log });
    queues.answer(
      'all',
      useCases(() => Buffer.from('here')),
      1,
    );
    await queues.send(['all'], trace('x'));
    await server.kill();
    await queues.close();
    await redis.close();
    await server.restart();
  });
  it('keeps a bounded number of completed messages', () => {
    const kept = Number(server.run('zcard', 'assay:{queue-chunks}:bull:chunks:completed'));
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThanOrEqual(2_000);
  });
});

describe.skipIf(!hasRedis)('queues in Redis Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startRedisCluster>>;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());
  conform(() => cluster.url);
});
