/** Faults that no code of the program handles: one sentence, an orderly shutdown, and no loss of acknowledged work. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

const HOOKS = pathToFileURL(join(projectRoot, 'dist/test/setup/fault-hooks.js')).href;
const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

async function begin(
  environment: Record<string, string> = {},
): Promise<{ world: World; server: RunningServer }> {
  const world = newWorld();
  worlds.push(world);
  return { world, server: await world.serve({ NODE_OPTIONS: `--import ${HOOKS}`, ...environment }) };
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe('an uncaught error', () => {
  it.each([
    ['SIGHUP', 'injected rejection'],
    ['SIGWINCH', 'injected exception'],
  ] as const)('shuts the server down in order, with a message and a log line: %s', async (signal, reason) => {
    const { world, server } = await begin();
    // The acknowledged work: charges and a key.
    const key = server.firstKey;
    const { body } = await ask(server, key, '/api/v1/usage');
    const { balance: before } = (body as unknown as { data: { balance: number } }).data;
    let acknowledged = 0;
    let isDown = false;
    const asking = (async () => {
      while (!isDown)
        await ask(server, key, '/api/v1/screening', { address: BINANCE, chain: 'ETH' }).then(
          ({ status }) => {
            if (status === 200) acknowledged++;
          },
          () => {
            isDown = true;
          },
        );
    })();
    await expect.poll(() => acknowledged, { interval: 20 }).toBeGreaterThan(3);
    expect(await server.stop(signal)).toBe(1);
    await asking;
    const { err } = server.output();
    expect(lines(err).filter((line) => line.startsWith('assay:'))).toEqual([
      `assay: unexpected error: ${reason}`,
    ]);
    const logged = lines(err).filter((line) => line.startsWith('{') && line.includes(reason));
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] as string)).toMatchObject({
      reason,
      msg: 'uncaught error, the server stops',
    });
    // The shutdown was orderly, and no stack is shown.
    expect(err).toContain('"stopped"');
    expect(err).not.toMatch(/^\s+at /m);
    const verified = await world.here(['ledger', 'verify']);
    expect(verified.code, verified.err).toBe(0);
    const here = async (...args: readonly string[]) =>
      JSON.parse((await world.here([...args, '--json'])).out);
    const { balance } = (await here('credits', 'show', 'local')) as { readonly balance: number };
    expect(before - balance).toBeGreaterThanOrEqual(acknowledged);
    expect(await here('keys', 'list')).toHaveLength(1);
  });

  it('logs its stack at the level debug only', async () => {
    const { server } = await begin({ ASSAY_LOG_LEVEL: 'debug' });
    expect(await server.stop('SIGHUP')).toBe(1);
    expect(server.output().err).toContain('fault-hooks');
  });
});

describe('worker threads that exit', () => {
  it('are replaced; their requests are answered by the next ones, or with 500 once if sent alone', async () => {
    const { world, server } = await begin({ ASSAY_WORKERS: '2' });
    expect((await world.here(['plan', 'set', 'local', 'ENTERPRISE'])).code).toBe(0);
    const body = JSON.stringify({
      chain: 'ETH',
      addresses: Array.from({ length: 100 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, '0')}`),
    });
    const askOnce = async (): Promise<number> => {
      const response = await fetch(`${server.url}/api/v1/screen/bulk`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
        body,
      });
      await response.arrayBuffer();
      return response.status;
    };
    expect(await askOnce()).toBe(200);
    const { pid } = processOf(world);
    let failed = 0;
    for (let round = 0; round < 5; round++) {
      const requests = Array.from({ length: 20 }, askOnce);
      process.kill(pid, 'SIGUSR2');
      // No request hangs: those that no thread had taken are answered by the next thread.
      const statuses = await Promise.all(requests);
      expect(
        statuses.every((status) => status === 200 || status === 500),
        String(statuses),
      ).toBe(true);
      const ofRound = statuses.filter((status) => status === 500).length;
      // At most as many as both threads were working on.
      expect(ofRound).toBeLessThanOrEqual(2 * 4);
      failed += ofRound;
      expect(await askOnce()).toBe(200);
    }
    expect(await server.stop()).toBe(0);
    // Without requests that a thread was working on, the rounds show nothing.
    const sentAgain = server.output().out.split('its tasks are sent again').length - 1;
    expect(failed + sentAgain).toBeGreaterThan(0);
    const verified = await world.here(['ledger', 'verify']);
    expect(verified.code, verified.err).toBe(0);
  });
});

/** Reads the server process of a folder of state from its lock. */
const processOf = (world: World): { readonly pid: number } =>
  JSON.parse(readFileSync(join(world.folder, 'store', 'server-lock'), 'utf8')) as { pid: number };
