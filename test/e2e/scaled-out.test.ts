/**
 * Several nodes of one Redis, as an operator starts them: the built program with roles. Tests the node of a chain, the workers of a job and
 * the listener when one of them gets a request, is killed, or is stopped for a while.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { hasRedis, type RedisServer, startRedis, startRedisCluster } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { ask, askOnce, newWorld, patiently, type RunningServer, until, type World } from './program.ts';

async function done(world: World, args: readonly string[], environment: Record<string, string> = {}) {
  const { code, out, err } = await world.here(args, { environment });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
  return out;
}

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const hash = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`;

describe.runIf(hasRedis)('two API nodes and two workers', { timeout: 400_000 }, () => {
  let redis: RedisServer;
  let worlds: World[];
  let servers: RunningServer[];
  let key = '';
  let shared: Record<string, string>;
  const SUBJECT = address(0xa);

  const settingsOf: readonly Record<string, string>[] = [
    { ASSAY_ROLES: 'api', ASSAY_GRAPH_CHAINS: 'none' },
    { ASSAY_ROLES: 'api', ASSAY_GRAPH_CHAINS: 'none' },
    // This node has the API too, so that its own answers can be compared.
    { ASSAY_ROLES: 'api,worker', ASSAY_GRAPH_CHAINS: 'ETH' },
    { ASSAY_ROLES: 'worker', ASSAY_GRAPH_CHAINS: 'LTC' },
  ];
  const start = (node: number): Promise<RunningServer> =>
    (worlds[node] as World).serve({ ...shared, ...settingsOf[node] });
  const post = (node: number, path: string, body: object) =>
    ask(servers[node] as RunningServer, key, `/api/v1${path}`, body);

  beforeAll(async () => {
    redis = await startRedis();
    worlds = settingsOf.map(() => newWorld());
    const [first, , third] = worlds as [World, World, World, World];
    const jobs = join(first.folder, 'jobs');
    mkdirSync(jobs);
    shared = { ASSAY_REDIS_URL: redis.url, ASSAY_JOBS_DIR: jobs };
    const rows = Array.from({ length: 60 }, (_, i) => ({
      txHash: hash(i + 1),
      position: '0',
      blockNumber: 100 + i,
      timestamp: 1_700_000_000_000 + i * 60_000,
      from: i % 2 ? SUBJECT : address(0x100 + (i % 7)),
      to: i % 2 ? address(0x200 + (i % 5)) : SUBJECT,
      asset: 'ETH',
      amount: String(10n ** 18n * BigInt(1 + i)),
      valueUsd: 100 + i,
    }));
    const file = join(third.folder, 'transfers.ndjson');
    writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
    const makeKey = async (): Promise<void> => {
      await done(first, ['redis', 'found'], shared);
      const made = await done(
        first,
        ['keys', 'create', '--name', 'all', '--plan', 'ENTERPRISE', '--account', 'desk', '--json'],
        shared,
      );
      key = (JSON.parse(made) as { apiKey: string }).apiKey;
      await done(first, ['credits', 'grant', 'desk', '1000', '--reason', 'tests'], shared);
    };
    await Promise.all([done(third, ['ingest', 'ndjson', file, '--chain', 'ETH']), makeKey()]);
    servers = await Promise.all(settingsOf.map((_, node) => start(node)));
  }, 240_000);
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
  });

  const balance = async (): Promise<number> => {
    const { status, body } = await ask(servers[0] as RunningServer, key, '/api/v1/usage?limit=1');
    expect(status, JSON.stringify(body)).toBe(200);
    return (body.data as unknown as { balance: number }).balance;
  };

  /** Serialises data without its times. */
  const timeless = (data: object): string =>
    JSON.stringify(data, (name, value) => (/At$|^asOf$/.test(name) ? null : value));

  it.each([
    ['/trace', { chain: 'ETH', address: SUBJECT, hops: 2 }],
    ['/screening', { chain: 'eth', address: SUBJECT }],
    ['/kyt', { chain: 'ETH', from: address(0x100), to: SUBJECT }],
  ] as const)(
    '%s is answered by the node that stores the chain, byte for byte, and charged once',
    async (path, body) => {
      const before = await balance();
      const routed = await post(0, path, body);
      const between = await balance();
      const local = await post(2, path, body);
      expect([routed.status, local.status], `${routed.body.error} ${local.body.error}`).toEqual([200, 200]);
      expect(timeless(routed.body.data as unknown as object)).toBe(
        timeless(local.body.data as unknown as object),
      );
      expect(timeless(routed.body.data as unknown as object)).toContain(
        path === '/trace' ? address(0x200) : '"status":"COMPLETE"',
      );
      expect(before - between).toBe(between - (await balance()));
      expect(before - between).toBeGreaterThan(0);
    },
  );

  it('return errors of the other node unchanged, without a charge', async () => {
    const before = await balance();
    const refused = await post(1, '/trace', { chain: 'ETH', address: SUBJECT, targetAddress: 'nonsense' });
    expect(refused.status).toBe(400);
    expect(String(refused.body.error)).toContain('targetAddress');
    expect(await balance()).toBe(before);
  });

  it('report the health of a node in any role, and answer nothing else without the API role', async () => {
    const worker = (servers[3] as RunningServer).url;
    // The node is not ready until it hears from Redis.
    for (const path of ['/health', '/ready', '/metrics'])
      await expect.poll(async () => (await fetch(`${worker}${path}`)).status).toBe(200);
    expect((await fetch(`${worker}/openapi.json`)).status).toBe(404);
    expect((await post(3, '/trace', {})).status).toBe(404);
  });

  it('require all roles on a node without Redis', async () => {
    const stranger = newWorld();
    try {
      const alone = await stranger.run(['serve', '--role', 'api,worker']);
      expect(alone.code).toBe(1);
      expect(alone.err).toMatch(/leaves out listener, delivery: needs ASSAY_REDIS_URL/);
      const wrong = await stranger.run(['serve', '--role', 'cook']);
      expect(wrong.err).toMatch(/--role: must be .*'cook'/);
    } finally {
      await stranger.end();
    }
  });

  it('reject a node with a different jobs folder', async () => {
    const stranger = newWorld();
    try {
      const refused = await stranger.run(['serve', '--role', 'worker'], {
        environment: { ...shared, ASSAY_JOBS_DIR: join(stranger.folder, 'jobs'), ASSAY_SYNC: 'off' },
      });
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(/ASSAY_JOBS_DIR: .* is not the folder of jobs of /),
      ]);
    } finally {
      await stranger.end();
    }
  });

  it('reject a key on all nodes once it is revoked on one', async () => {
    const made = await done(
      worlds[0] as World,
      ['keys', 'create', '--name', 'gone', '--account', 'desk', '--json'],
      shared,
    );
    const { apiKey, id } = JSON.parse(made) as { apiKey: string; id: string };
    const path = `/api/v1/oracle/address/ETH/${SUBJECT}`;
    const status = async (node: number): Promise<number> =>
      (await ask(servers[node] as RunningServer, apiKey, path)).status;
    await expect.poll(async () => [await status(0), await status(1)]).toEqual([200, 200]);
    await done(worlds[0] as World, ['keys', 'revoke', id], shared);
    await expect.poll(async () => [await status(0), await status(1)]).toEqual([401, 401]);
  });

  it('share a job, each line once, although a worker is killed and Redis restarts', async () => {
    // Thirteen chunks: the worker is killed when one is answered.
    const LINES = 400_000;
    const [a, b] = servers as [RunningServer, RunningServer];
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/csv' };
    const body = Buffer.from(Array.from({ length: LINES }, (_, i) => address(i + 1)).join('\n'));
    const sent = await patiently(() =>
      fetch(`${a.url}/api/v1/jobs?kind=labels&chain=ETH`, { method: 'POST', headers, body }),
    );
    const answer = (await sent.json()) as { data: { job: { id: string } } };
    expect(sent.status, JSON.stringify(answer)).toBe(200);
    const { id } = answer.data.job;
    // Read from the shared folder rather than requested, because requests have a rate limit.
    const answers = join(shared.ASSAY_JOBS_DIR as string, id, 'answers');
    const chunks = (): number => (existsSync(answers) ? readdirSync(answers).length : 0);
    await until(() => chunks() >= 1);
    await (servers[3] as RunningServer).stop('SIGKILL');
    const atKill = chunks();
    await redis.kill();
    await redis.restart();
    expect(atKill).toBeLessThan(LINES / 32_768);
    interface View {
      readonly state: string;
      readonly answered: number;
      readonly failed: number;
    }
    let view: View | null = null;
    while (view?.state !== 'DONE') {
      await sleep(1_000);
      const response = await fetch(`${b.url}/api/v1/jobs/${id}`, { headers });
      if (response.status === 200) view = ((await response.json()) as { data: { job: View } }).data.job;
    }
    expect(view).toMatchObject({ answered: LINES, failed: 0 });
    const result = await patiently(() => fetch(`${b.url}/api/v1/jobs/${id}/result`, { headers }));
    let lines = 0;
    let rest = '';
    const decoder = new TextDecoder();
    for await (const bytes of result.body as unknown as AsyncIterable<Uint8Array>) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts)
        if (!line.includes(address(++lines))) throw new Error(`Line ${lines} is ${line}`);
    }
    expect([lines, rest]).toEqual([LINES, '']);
    servers[3] = await start(3);
  });

  it('answer no request for a chain while the node that stores it is away', async () => {
    const body = { chain: 'LTC', address: 'LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9' };
    /** Repeats the request until the answer passes, slowly enough for the rate limit. Returns the statuses of the answers before. */
    const statusesUntil = async (
      isExpected: (answer: Awaited<ReturnType<typeof post>>) => boolean,
    ): Promise<readonly number[]> => {
      const before: number[] = [];
      for (;;) {
        const answer = await askOnce(servers[0] as RunningServer, key, '/api/v1/screening', body);
        if (isExpected(answer)) return before;
        before.push(answer.status);
        await sleep(2_000);
      }
    };
    await statusesUntil(({ status }) => status === 200);
    await (servers[3] as RunningServer).stop('SIGKILL');
    // Wait until the node counts as gone: a request on its way to it would run into the longest time-out.
    await sleep(5_000);
    const refused = await statusesUntil(({ body }) => /The service is not ready/.test(String(body.error)));
    expect(refused.filter((status) => status !== 500)).toEqual([]);
    // No node ever held this chain: the answer says that nothing was read.
    const bare = await post(0, '/screening', {
      chain: 'DOGE',
      address: 'DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L',
    });
    expect(bare.body.data).toMatchObject({ coverage: { graph: { status: 'NONE' } } });
    servers[3] = await start(3);
    await statusesUntil(({ status }) => status === 200);
  });
});

interface Servers {
  readonly url: string;
  get(key: string): string;
  stop(): Promise<void>;
}
const oneServer = async (): Promise<Servers> => {
  const server = await startRedis();
  return { url: server.url, get: (key) => server.run('get', key), stop: server.stop };
};
const sixServers = async (): Promise<Servers> => {
  const cluster = await startRedisCluster();
  return { url: cluster.url, get: (key) => cluster.masterOf(key).run('get', key), stop: cluster.stop };
};

describe.runIf(hasRedis && hasAnvil).each([
  ['one server', oneServer],
  // Repeating the tests over a cluster takes a minute.
  ...(process.env.ASSAY_TEST_LONG === '1' ? [['a cluster', sixServers] as const] : []),
] as const)('two nodes that listen and send, by %s', { timeout: 300_000 }, (_, startServers) => {
  const [, MIXER] = ACCOUNTS;
  const WATCHED = address(0xa55a);
  let redis: Servers;
  let anvil: Anvil;
  let hook: Server;
  let worlds: World[];
  const servers: RunningServer[] = [];
  let shared: Record<string, string>;
  let key = '';
  let walletId = '';
  /** The scope of the installation, with which the names of its leases begin. */
  let scope = '';
  const hooked: { readonly id: string; readonly alertId: string; readonly type: string }[] = [];
  const paid: string[] = [];

  const start = async (node: number): Promise<void> => {
    servers[node] = await (worlds[node] as World).serve(shared);
  };
  const nameOf = (server: RunningServer | undefined): string =>
    /"node":"([^"]+)"/.exec(server?.output().err ?? '')?.[1] ?? '?';
  /** The index of the node that holds a lease now; -1 if none does. */
  const holder = (lease: string): number => {
    const name = redis.get(`assay:{monitoring}:lease:${scope}:${lease}`);
    return servers.findIndex((server) => name !== '' && nameOf(server) === name);
  };

  /** Waits until a node follows the chain and returns it. */
  async function listener(): Promise<number> {
    for (;;) {
      const node = holder('listener:ETH');
      if (node >= 0) return node;
      await sleep(50);
    }
  }

  beforeAll(async () => {
    [redis, anvil] = await Promise.all([startServers(), startAnvil()]);
    await anvil.mine();
    hook = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { type, data } = JSON.parse(Buffer.concat(parts).toString()) as {
          type: string;
          data: { alert: { id: string } };
        };
        hooked.push({ id: String(request.headers['webhook-id']), alertId: data.alert.id, type });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    worlds = [newWorld(), newWorld()];
    shared = {
      ASSAY_REDIS_URL: redis.url,
      ASSAY_RPC_ETH: anvil.url,
      ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1',
      // If it is not set, each node makes a key of its own, and only one of them can decrypt the secret of the webhook.
      ASSAY_CLUSTER_SECRET: 'a-secret-of-a-test',
      ASSAY_JOBS_DIR: join((worlds[0] as World).folder, 'jobs'),
    };
    const [one, other] = worlds as [World, World];
    const file = join(one.folder, 'own.csv');
    writeFileSync(file, `address,chain,entity,name,category\n${MIXER},ETH,mixer,The Mixer,MIXER\n`);
    await done(one, ['import', 'own', file]);
    await done(one, ['index', 'build']);
    // Both nodes have the same labels.
    for (const name of ['labels', 'names', 'snapshots'])
      cpSync(join(one.folder, 'store', name), join(other.folder, 'store', name), { recursive: true });
    scope = (
      JSON.parse(await done(worlds[0] as World, ['redis', 'found', '--json'], shared)) as {
        installation: string;
      }
    ).installation;
    const made = await done(
      worlds[0] as World,
      ['keys', 'create', '--name', 'all', '--plan', 'ENTERPRISE', '--account', 'desk', '--json'],
      shared,
    );
    key = (JSON.parse(made) as { apiKey: string }).apiKey;
    await done(worlds[0] as World, ['credits', 'grant', 'desk', '1000', '--reason', 'tests'], shared);
    await Promise.all([start(0), start(1)]);
    const wallet = {
      walletAddress: WATCHED,
      chain: 'ETH',
      enabledRules: ['MIXING-001'],
      customWebhookUrl: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
    };
    const added = await ask(servers[0] as RunningServer, key, '/api/v1/monitoring/wallets', wallet);
    expect(added.status, JSON.stringify(added.body)).toBe(200);
    walletId = (added.body.data as unknown as { wallet: { id: string } }).wallet.id;
  }, 240_000);
  afterAll(async () => {
    for (const server of servers) void server.stop('SIGCONT');
    await Promise.all(worlds.map((world) => world.end()));
    await anvil?.stop();
    await redis?.stop();
    await new Promise((resolve) => hook?.close(resolve));
  });

  async function pay(times: number, everyMs: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      // More than dust, which raises only one alert a day.
      const value = 10n ** 16n + BigInt(paid.length);
      paid.push(await anvil.send({ from: MIXER, to: WATCHED, value }));
      await anvil.mine();
      await sleep(everyMs);
    }
  }
  interface Alert {
    readonly id: string;
    readonly transaction: { readonly hash: string };
  }
  /** Reads the alerts of one node, slowly enough for the rate limit. */
  const alertsOn = async (node: number): Promise<readonly Alert[]> => {
    const path = `/api/v1/monitoring/wallets/${walletId}/alerts?limit=100`;
    for (;;) {
      const { status, headers, body } = await ask(servers[node] as RunningServer, key, path);
      if (status === 200) return (body.data as unknown as { alerts: Alert[] }).alerts;
      expect(status, JSON.stringify(body)).toBe(429);
      await sleep(Number(headers.get('retry-after')) * 1_000);
    }
  };
  /** Checks that every payment is one alert, delivered once or, if a sender was interrupted, again under the same id. */
  async function requireAll(node: number): Promise<void> {
    let alerts: readonly Alert[] = [];
    await until(async () => {
      alerts = await alertsOn(node);
      return alerts.length >= paid.length;
    });
    expect(alerts.map(({ transaction }) => transaction.hash).sort()).toEqual([...paid].sort());
    const created = () => hooked.filter(({ type }) => type === 'alert.created');
    await until(() => new Set(created().map(({ alertId }) => alertId)).size >= paid.length);
    expect(new Set(created().map(({ alertId }) => alertId))).toEqual(new Set(alerts.map(({ id }) => id)));
    expect(new Set(created().map(({ id }) => id)).size).toBe(paid.length);
  }

  /** Reads the state of the chain on each node; empty while a node does not know yet that the chain is watched. */
  const statesOfAll = (): Promise<string[]> =>
    Promise.all(
      servers.map(async ({ url }) => {
        const { data } = (await (await fetch(`${url}/ready`)).json()) as {
          data: { monitoring?: { state: string }[] };
        };
        return (data.monitoring ?? []).map(({ state }) => state).join();
      }),
    );

  it('share the results of one that follows a chain', async () => {
    await until(() => holder('listener:ETH') >= 0 && holder('delivery') >= 0);
    await pay(3, 50);
    await requireAll(0);
    await requireAll(1);
    await until(async () => isDeepStrictEqual(await alertsOn(1), await alertsOn(0)));
    // A node checks once a second whether another node changed the wallets.
    await until(async () => (await statesOfAll()).sort().join() === 'FOLLOWING,STANDBY');
  });

  it('replace a killed one: no payment is missed or reported twice', async () => {
    const listening = await listener();
    const other = 1 - listening;
    // Longer than a lease, so that some payments are of the time without a listener and some of the new one.
    const paying = pay(20, 450);
    await sleep(1_000);
    await (servers[listening] as RunningServer).stop('SIGKILL');
    await until(() => holder('listener:ETH') === other);
    await paying;
    await requireAll(other);
    await start(listening);
    await until(async () => (await alertsOn(listening)).length === paid.length);
  });

  it('replace a suspended one, which writes nothing stale after it resumes', async () => {
    const listening = await listener();
    const other = 1 - listening;
    const sleeper = servers[listening] as RunningServer;
    const paying = pay(24, 500);
    await sleep(500);
    void sleeper.stop('SIGSTOP');
    await until(() => holder('listener:ETH') === other);
    void sleeper.stop('SIGCONT');
    await paying;
    await pay(3, 100);
    await requireAll(other);
    await requireAll(listening);
    for (const server of servers) expect(server.output().err).not.toMatch(/has ended/);
  });
});
