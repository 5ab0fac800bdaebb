import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { createLocalChunks } from '../../src/pool/local-chunks.ts';
import { createPool, type PoolOptions, type WorkerPool } from '../../src/pool/pool.ts';
import { type LabelFolder, labelFolder } from '../jobs/label-folder.ts';

const EXCHANGE = '0x28c6c06298d514db089934071355e5743bf21d60';

let world: LabelFolder;
let folders: Omit<PoolOptions, 'threads'>;
let pool: WorkerPool;

beforeAll(async () => {
  world = labelFolder();
  await world.publish({ [EXCHANGE]: 'Binance' });
  folders = {
    snapshotsFolder: world.snapshotsFolder,
    labelsFolder: world.path,
    transfersFolder: join(world.path, 'graph'),
    outputsFolder: join(world.path, 'outputs'),
    clustersFolder: join(world.path, 'clusters'),
    namesFolder: join(world.path, 'names'),
    listMaxAgeDays: 7,
    logLevel: 'silent',
  };
});
afterAll(() => world.remove());
afterEach(() => pool.close());

const start = (more: Partial<PoolOptions> = {}): WorkerPool => {
  pool = createPool({ threads: 1, ...folders, ...more }, { log: silentLogger });
  return pool;
};

const bytes = (body: unknown): Uint8Array => Buffer.from(JSON.stringify(body));
const text = (json: Uint8Array): string => Buffer.from(json).toString();

interface Results {
  readonly results: readonly { readonly labels: readonly { readonly name: string }[] }[];
}

/** A worker whose tasks read a store as those of the pool do, and take some milliseconds each. */
function busyWorker(tasksPerTurn: number): URL {
  const path = join(world.path, 'busy.mjs');
  const readings = pathToFileURL(join(projectRoot, 'dist/src/pool/task-readings.js')).href;
  writeFileSync(
    path,
    `import { createTaskReadings } from ${JSON.stringify(readings)};
    const asReading = createTaskReadings(${tasksPerTurn});
    export default () => asReading(() => {
      const end = performance.now() + 3;
      while (performance.now() < end);
      return { ok: true, result: null };
    });`,
  );
  return pathToFileURL(path);
}

/** A worker that waits for the given time, fails, dies, or reports whether it can require itself, an ES module. */
function oddWorker(): URL {
  const path = join(world.path, 'odd.mjs');
  writeFileSync(
    path,
    `import { appendFileSync, existsSync } from 'node:fs';
    import { createRequire } from 'node:module';
    if (existsSync(${JSON.stringify(join(world.path, 'broken'))})) throw new Error('cannot start');
    if (existsSync(${JSON.stringify(join(world.path, 'ended'))})) process.exit(4);
    const waits = new Int32Array(new SharedArrayBuffer(4));
    export default ({ message }) => {
      if (message === 'die') {
        appendFileSync(${JSON.stringify(join(world.path, 'calls'))}, 'die\\n');
        process.exit(3);
      }
      if (message === 'throw') throw new TypeError('secret detail');
      if (message === 'refuse') return { ok: false, code: 'INVALID_ADDRESS', message: 'address: no.', field: 'address' };
      if (message === 'require') {
        try {
          createRequire(import.meta.url)(import.meta.filename);
        } catch (error) {
          return { ok: true, result: error.code };
        }
      }
      Atomics.wait(waits, 0, 0, Number(message));
      return { ok: true, result: message };
    };`,
  );
  return pathToFileURL(path);
}

describe('the worker pool', () => {
  it('answers a task that waits for the event loop of its thread before the tasks behind it', async () => {
    start({ worker: busyWorker(50) });
    const ended: number[] = [];
    let next = 0;
    // As many at a time as a thread gets, and two that wait.
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        while (next < 300) {
          const number = next++;
          await pool.run('bulk-labels', bytes(number));
          ended.push(number);
        }
      }),
    );
    const overtaken = ended.map((number, place) => place - number);
    expect(Math.max(...overtaken)).toBeLessThan(12);
  });

  it('answers bulk bodies with bytes', async () => {
    const body = bytes({ chain: 'ETH', addresses: [EXCHANGE, 'nonsense'] });
    const { json, answered, release } = await start().run('bulk-labels', body);
    const { results } = JSON.parse(text(json)) as Results;
    expect(results[0]?.labels[0]?.name).toBe('Binance');
    expect(answered).toBe(1);
    // Pooled: the bytes stay in shared memory until they are released.
    expect(json.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(release).toBeTypeOf('function');
  });

  it('answers short tasks that arrive together, each with its own result or error', async () => {
    const running = start();
    const bodies = Array.from({ length: 20 }, (_, number) =>
      number === 3 ? Buffer.from('{') : bytes({ chain: 'ETH', addresses: Array(number + 1).fill(EXCHANGE) }),
    );
    const ended = await Promise.allSettled(bodies.map((body) => running.runShort('bulk-labels', body)));
    const answered = ended.map((end) => {
      if (end.status === 'rejected') return (end.reason as { readonly code: string }).code;
      const { results } = JSON.parse(text(end.value.json)) as Results;
      end.value.release?.();
      return results.every(({ labels }) => labels[0]?.name === 'Binance') ? results.length : 'wrong';
    });
    expect(answered).toEqual(bodies.map((_, number) => (number === 3 ? 'INVALID_JSON' : number + 1)));
    expect(running.pending).toBe(0);
  });

  it('answers a screening with the bytes of its data', async () => {
    const { json, release } = await start().run('screening', {
      request: { address: EXCHANGE, chain: 'ETH', jurisdiction: 'CH' },
      facts: {},
    });
    expect(json.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(release).toBeTypeOf('function');
    expect(JSON.parse(text(json))).toMatchObject({ address: EXCHANGE, chain: 'ETH' });
  });

  it('rejects with the error of the task', async () => {
    await expect(
      start().run('screening', { request: { address: 'x', chain: 'ETH' }, facts: {} }),
    ).rejects.toMatchObject({
      name: 'AssayError',
      code: 'INVALID_ADDRESS',
      field: 'address',
    });
  });

  it('reads a newer snapshot after a refresh, and never two in one answer', async () => {
    const running = start();
    const ask = async (): Promise<(string | undefined)[]> => {
      const { json } = await running.run(
        'bulk-labels',
        bytes({ chain: 'ETH', addresses: [EXCHANGE, EXCHANGE] }),
      );
      return (JSON.parse(text(json)) as Results).results.map((item) => item.labels[0]?.name);
    };
    expect(await ask()).toEqual(['Binance', 'Binance']);
    await world.publish({ [EXCHANGE]: 'Somebody Else' });
    running.refresh();
    expect(await ask()).toEqual(['Somebody Else', 'Somebody Else']);
  });

  it('keeps no more than two earlier snapshots open, however few tasks it runs', async () => {
    const running = start();
    const ask = () =>
      running
        .run('bulk-labels', bytes({ chain: 'ETH', addresses: [EXCHANGE] }))
        .then(({ release }) => release?.());
    for (let round = 0; round < 12; round++) {
      await world.publish({ [EXCHANGE]: `Somebody ${round}` });
      running.refresh();
      await ask();
    }
    await ask();
    await expect
      .poll(() => readdirSync(world.snapshotsFolder).filter((name) => name.startsWith('snapshot-')).length)
      .toBeLessThanOrEqual(3);
  });

  it('rejects tasks beyond its limit at once, and accepts tasks again below it', async () => {
    const running = start({ worker: oddWorker(), tasksMax: 3 });
    const run = (message: string): Promise<unknown> => running.run('screening', message as never);
    const taken = [run('300'), run('1'), run('1')];
    expect(running.pending).toBe(3);
    await expect.poll(() => running.oldestMs).toBeGreaterThan(20);
    await expect(run('1')).rejects.toMatchObject({ code: 'OVERLOADED', status: 429, retryAfterSeconds: 1 });
    await Promise.all(taken);
    expect(running.pending).toBe(0);
    expect(running.oldestMs).toBe(0);
    await expect(run('1')).resolves.toBe('1');
  });

  it('runs tasks in the order of their arrival', async () => {
    const running = start({ worker: oddWorker(), tasksMax: 100 });
    const done: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await running.run('screening', String(index === 0 ? 50 : 1) as never);
        done.push(index);
      }),
    );
    expect(done).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });

  it('fails only the task of a thread that throws or dies, without the reason', async () => {
    const running = start({ worker: oddWorker() });
    const run = (message: string): Promise<unknown> => running.run('screening', message as never);
    await expect(run('refuse')).rejects.toMatchObject({ code: 'INVALID_ADDRESS', message: 'address: no.' });
    await expect(run('throw')).rejects.toMatchObject({ code: 'INTERNAL', message: 'Internal server error.' });
    await expect(run('die')).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(run('1')).resolves.toBe('1');
  });

  it('fails the tasks of a dead thread once, and no others', async () => {
    const calls = join(world.path, 'calls');
    rmSync(calls, { force: true });
    const running = start({ worker: oddWorker(), threads: 2, tasksPerThread: 1 });
    const run = (message: string): Promise<unknown> => running.run('screening', message as never);
    const asked = [run('200'), run('die'), ...Array.from({ length: 20 }, () => run('1'))];
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status)).toEqual(
      outcomes.map((_, at) => (at === 1 ? 'rejected' : 'fulfilled')),
    );
    expect(running.pending).toBe(0);
    expect(existsSync(calls) ? readFileSync(calls, 'utf8') : '').toBe('die\n');
  });

  it.each(['broken', 'ended'])(
    'rejects tasks while its threads fail to start, and recovers (%s)',
    async (how) => {
      const running = start({ worker: oddWorker() });
      const run = (message: string): Promise<unknown> => running.run('screening', message as never);
      await expect(run('1')).resolves.toBe('1');
      writeFileSync(join(world.path, how), '');
      // The tasks behind it wait for a thread that never starts.
      const asked = [run('die'), ...Array.from({ length: 10 }, () => run('1'))];
      for (const one of await Promise.allSettled(asked))
        expect(one).toMatchObject({ status: 'rejected', reason: { code: 'INTERNAL' } });
      await expect(run('1')).rejects.toMatchObject({ code: 'INTERNAL' });
      rmSync(join(world.path, how));
      await expect.poll(() => run('1').catch(() => null), { interval: 100 }).toBe('1');
    },
  );

  it('replaces a thread that does not answer, and lets the tasks of the others end', async () => {
    const running = start({ worker: oddWorker(), threads: 2, tasksPerThread: 1, hangingMs: 600 });
    const run = (message: string): Promise<unknown> => running.run('screening', message as never);
    const hanging = run('600000');
    const others = (async () => {
      const answers: unknown[] = [];
      while (running.pending > 0) answers.push(await run('100').catch(() => 'failed'));
      return answers;
    })();
    await expect(hanging).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(new Set(await others)).toEqual(new Set(['100']));
    await expect(Promise.all(['1', '2', '3'].map(run))).resolves.toEqual(['1', '2', '3']);
  });

  it('replaces no thread because of tasks that wait for long while others end', async () => {
    const running = start({ worker: oddWorker(), tasksPerThread: 1, hangingMs: 600 });
    const asked = Array.from({ length: 15 }, () => running.run('screening', '100' as never));
    expect((await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  it('loads threads without require, which could crash the process', async () => {
    const running = start({ worker: oddWorker() });
    expect(await running.run('screening', 'require' as never)).toBe('ERR_REQUIRE_ESM');
  });

  it('finishes the accepted tasks on close, and accepts no more', async () => {
    const running = start({ worker: oddWorker() });
    const taken = [running.run('screening', '100' as never), running.run('screening', '1' as never)];
    const closed = running.close();
    await expect(running.run('screening', '1' as never)).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(await Promise.all(taken)).toEqual(['100', '1']);
    await closed;
  });

  it('is closed when the tasks that it accepted have ended, failed ones too', async () => {
    const running = start({ worker: oddWorker() });
    const ended: string[] = [];
    for (const message of ['50', 'throw', '1'])
      running.run('screening', message as never).then(
        () => ended.push(message),
        () => ended.push(message),
      );
    await running.close();
    expect([ended.toSorted(), running.pending]).toEqual([['1', '50', 'throw'], 0]);
  });

  it('of chunks is closed when the chunk that runs has ended, and takes no more', async () => {
    const chunks = createLocalChunks({ ...folders, worker: oddWorker(), threads: 1 }, { log: silentLogger });
    const { signal } = new AbortController();
    let isAnswered = false;
    const answer = chunks.run('300' as never, signal).then((value) => {
      isAnswered = true;
      return value;
    });
    await chunks.close();
    expect(isAnswered).toBe(true);
    expect(await answer).toBe('300');
    await expect(chunks.run('1' as never, signal)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await chunks.close();
  });
});
