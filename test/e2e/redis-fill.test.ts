/**
 * From one machine to several nodes, as an operator does it: a standalone server is stopped, `assay redis fill` copies its data, and a node
 * over that Redis gives the same answers.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

const MIXER = ACCOUNTS[1];
const WALLET = '0x5555555555555555555555555555555555550001';
const UNKNOWN = '0x5555555555555555555555555555555555550002';

/** A key may make 30 requests a minute. */
const SLOWLY = { interval: 2_500 };

const textOf = ({ body }: { readonly body: unknown }): string => JSON.stringify(body);

/** Reads all that an account sees of its data, without request times. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
async function look(server: RunningServer, key: string): Promise<any> {
  const data = async (path: string) => {
    const { status, body } = await ask(server, key, `/api/v1${path}`);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return body.data as unknown;
  };
  return {
    usage: await data('/usage?limit=50'),
    wallets: await data('/monitoring/wallets'),
    alerts: await data('/monitoring/alerts'),
    jobs: await data('/jobs'),
  };
}

describe.runIf(hasRedis && hasAnvil)('a standalone machine that is moved to a Redis', () => {
  let redis: RedisServer;
  let anvil: Anvil;
  let world: World;
  let other: World;
  const alone = (): Record<string, string> => ({ ASSAY_RPC_ETH: `${anvil.url},${anvil.socketUrl}` });
  const shared = (): Record<string, string> => ({ ...alone(), ASSAY_REDIS_URL: redis.url });

  beforeAll(async () => {
    [redis, anvil] = await Promise.all([startRedis(), startAnvil()]);
    await anvil.mine();
    world = newWorld();
    other = newWorld();
  });
  afterAll(async () => {
    await Promise.all([world.end(), other.end()]);
    await anvil.stop();
    await redis.stop();
  });

  it('keeps its key, credits, history, wallet, alert and job', async () => {
    const file = join(world.folder, 'own.csv');
    writeFileSync(file, `address,chain,entity,name,category\n${MIXER},ETH,mix,The mixer,MIXER\n`);
    const done = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await world.here(args);
      expect(code, err).toBe(0);
      return out;
    };
    prepareFolder(join(world.folder, 'store'));
    await done('import', 'own', file);
    await done('index', 'build');
    const server = await world.serve(alone());
    const key = server.firstKey;
    await done('plan', 'set', 'local', 'ENTERPRISE');
    await done('credits', 'grant', 'local', '500', '--reason', 'bought by invoice');
    for (let n = 0; n < 3; n++)
      expect((await ask(server, key, '/api/v1/kyt', { chain: 'ETH', from: MIXER, to: UNKNOWN })).status).toBe(
        200,
      );
    const watched = await ask(server, key, '/api/v1/monitoring/wallets', {
      ...{ walletAddress: WALLET, chain: 'ETH', customWebhookUrl: 'https://hooks.example.org/' },
    });
    expect(watched.status, JSON.stringify(watched.body)).toBe(200);
    await anvil.send({ from: MIXER, to: WALLET, value: 10n ** 18n });
    await anvil.mine();
    await expect
      .poll(() => ask(server, key, '/api/v1/monitoring/alerts').then(textOf), SLOWLY)
      .toContain('MIXING-001');
    const job = await fetch(`${server.url}/api/v1/jobs?kind=labels&chain=ETH`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
      body: `${MIXER}\n${WALLET}\n`,
    });
    const { id } = ((await job.json()) as { data: { job: { id: string } } }).data.job;
    await expect.poll(() => ask(server, key, `/api/v1/jobs/${id}`).then(textOf), SLOWLY).toContain('DONE');

    const early = await world.here(['redis', 'fill'], { environment: shared() });
    expect(early).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^assay: Process \d+ uses .*Stop the server/m),
    });
    // The wallet is screened again after its alert.
    await expect
      .poll(() => ask(server, key, '/api/v1/monitoring/wallets').then(textOf), SLOWLY)
      .toContain('"assessed":true');
    const before = await look(server, key);
    expect(await server.stop()).toBe(0);

    for (const command of [['serve'], ['keys', 'list']]) {
      const silent =
        command[0] === 'serve'
          ? await world.run(command, { environment: shared() })
          : await world.here(command, { environment: shared() });
      expect(silent).toMatchObject({ code: 1, err: expect.stringContaining('assay redis fill') });
    }
    expect(redis.run('keys', 'assay:*')).toBe('');

    const filled = await world.here(['redis', 'fill', '--json'], { environment: shared() });
    expect(filled.code, filled.err).toBe(0);
    const report = JSON.parse(filled.out) as {
      stores: { name: string; records: number }[];
      ledger: { balance: number; accounts: number };
    };
    expect(report.ledger).toMatchObject({ balance: before.usage.balance, accounts: 1, answersLeft: 0 });
    for (const name of ['keys', 'audit', 'monitoring', 'jobs'])
      expect(report.stores.find((store) => store.name === name)?.records, name).toBeGreaterThan(0);
    const again = await world.here(['redis', 'fill'], { environment: shared() });
    expect(again).toMatchObject({
      code: 1,
      err: expect.stringContaining('Only an empty Redis can be filled'),
    });

    const node = await world.serve(shared());
    const second = await other.serve(shared());
    expect([node.firstKey, second.firstKey]).toEqual(['', '']);
    expect(await look(node, key)).toEqual(before);
    expect(await look(second, key)).toEqual(before);
    const result = await fetch(`${node.url}/api/v1/jobs/${id}/result`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect((await result.text()).trim().split('\n')).toHaveLength(2);
    await ask(node, key, '/api/v1/kyt', { chain: 'ETH', from: MIXER, to: UNKNOWN });
    expect((await look(second, key)).usage.balance).toBe(before.usage.balance - 1);
    // The wallet is still watched, by the node that follows the chain.
    const paid = await anvil.send({ from: MIXER, to: WALLET, value: 10n ** 18n });
    await anvil.mine();
    const wallet = before.wallets.wallets[0].id as string;
    await expect
      .poll(() => ask(node, key, `/api/v1/monitoring/wallets/${wallet}/transactions`).then(textOf), SLOWLY)
      .toContain(paid);
    // Beside its replica, a node ignores the files of the standalone machine.
    expect(await node.stop()).toBe(0);
    const back = await world.serve(shared());
    expect((await look(back, key)).usage).toEqual((await look(second, key)).usage);
    expect(back.output().err).not.toContain('no node reads them');
  });
});
