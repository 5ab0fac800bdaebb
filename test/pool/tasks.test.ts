/** Everything about a task derives from its descriptor: the pool's types, the wiring of a thread, and the routing to other nodes. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { type PooledJson, takeJson } from '../../src/base/buffer-pool.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { createPool, type WorkerPool } from '../../src/pool/pool.ts';
import { answerRemote, poolUseCases, routeUseCases } from '../../src/pool/routing.ts';
import { createTaskTable, type RemoteRequest, type TaskServices, task } from '../../src/pool/task.ts';
import { type GraphRequest, TASKS } from '../../src/pool/tasks/index.ts';
import { type LabelFolder, labelFolder } from '../jobs/label-folder.ts';
import { TASKS_WITH_ECHO } from './echo-task.ts';

type List = typeof TASKS_WITH_ECHO;

let world: LabelFolder;
let pool: WorkerPool<List>;

beforeAll(async () => {
  world = labelFolder();
  await world.publish({ '0x28c6c06298d514db089934071355e5743bf21d60': 'Binance' });
  pool = createPool<List>(
    {
      threads: 1,
      worker: pathToFileURL(join(projectRoot, 'dist', 'test', 'pool', 'echo-worker.js')),
      snapshotsFolder: world.snapshotsFolder,
      labelsFolder: world.path,
      transfersFolder: join(world.path, 'graph'),
      outputsFolder: join(world.path, 'outputs'),
      clustersFolder: join(world.path, 'clusters'),
      namesFolder: join(world.path, 'names'),
      listMaxAgeDays: 7,
      logLevel: 'silent',
    },
    { log: silentLogger },
  );
});
afterAll(async () => {
  await pool.close();
  world.remove();
});

const textOf = (result: PooledJson): unknown => JSON.parse(Buffer.from(takeJson(result)).toString());

describe('a task that is added to the list', () => {
  it('runs in a thread of the pool, next to the others', async () => {
    const answer = await pool.run('echo', { chain: 'ETH', text: 'hello' });
    expectTypeOf(answer).toEqualTypeOf<PooledJson>();
    expect(textOf(answer)).toEqual({ chain: 'ETH', text: 'hello', policy: expect.any(String) });
    const screened = await pool.run('screening', {
      request: { chain: 'ETH', address: '0x28c6c06298d514db089934071355e5743bf21d60' },
      facts: {},
    });
    expect(textOf(screened)).toMatchObject({ chain: 'ETH' });
  });

  it('has the types of its descriptor', () => {
    expectTypeOf(pool.run<'echo'>)
      .parameter(1)
      .toEqualTypeOf<{ readonly chain: string; readonly text: string }>();
    expectTypeOf<RemoteRequest<List>['task']>().toEqualTypeOf<GraphRequest['task'] | 'echo'>();
    expectTypeOf<Parameters<WorkerPool['run']>[0]>().not.toEqualTypeOf<Parameters<typeof pool.run>[0]>();
  });

  it('returns the errors of its thread', async () => {
    await expect(pool.run('echo', { chain: 'ETH', text: '' })).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('is routed to the nodes that store its chain', async () => {
    const local = poolUseCases(TASKS_WITH_ECHO, pool);
    const sent: unknown[] = [];
    const routed = routeUseCases(
      TASKS_WITH_ECHO,
      local,
      (chain) => {
        if (chain === 'BTC') return { kind: 'remote', groups: ['BTC'] };
        return { kind: chain === 'LTC' ? 'unavailable' : 'local' };
      },
      async (groups, request) => {
        sent.push([groups, request.task]);
        // As between nodes: the request is JSON, and the other node derives the answer from the same list.
        return answerRemote(TASKS_WITH_ECHO, local, JSON.parse(JSON.stringify(request)));
      },
    );
    expect(textOf(await routed.echo({ chain: 'btc', text: 'there' }))).toMatchObject({ text: 'there' });
    expect(textOf(await routed.echo({ chain: 'ETH', text: 'here' }))).toMatchObject({ text: 'here' });
    await expect(routed.echo({ chain: 'LTC', text: 'nowhere' })).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(sent).toEqual([[['BTC'], 'echo']]);
  });

  it('is rejected as temporary by a node that does not have it', async () => {
    const local = poolUseCases(TASKS, pool as unknown as WorkerPool);
    const request = { task: 'echo', request: { chain: 'BTC', text: 'x' } } as never;
    await expect(answerRemote(TASKS, local, request)).rejects.toMatchObject({ code: 'NOT_READY' });
  });
});

describe('the wiring of a thread', () => {
  it('refreshes the snapshot before a task unless the task reads none', () => {
    const calls: string[] = [];
    const run = (name: string) => () => (): void => void calls.push(name);
    const table = createTaskTable(
      [
        task({ name: 'reads', run: run('reads') }),
        task({ name: 'computes', run: run('computes'), readsSnapshots: false }),
      ],
      {} as TaskServices,
      () => calls.push('refresh'),
    );
    table.reads(undefined as never);
    table.computes(undefined as never);
    expect(calls).toEqual(['refresh', 'reads', 'computes']);
  });

  it('has every task once', () => {
    const names = TASKS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
