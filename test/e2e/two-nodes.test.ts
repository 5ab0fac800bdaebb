/**
 * Two servers over one Redis, as their clients see them: one balance, one rate limit, one set of keys, one response per Idempotency-Key.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { newWorld, patiently, type RunningServer, type World } from './program.ts';

const API = '/api/v1';
const SCREENED = { address: '0x098B716B8Aaf21512996dC57EB0615e2383E2f96', chain: 'ETH' };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, never>>;
}

describe.skipIf(!hasRedis)('two nodes', () => {
  let redis: RedisServer;
  let worlds: readonly [World, World];
  let servers: readonly [RunningServer, RunningServer];
  let key = '';
  let environment: Record<string, string>;

  beforeAll(async () => {
    redis = await startRedis();
    environment = { ASSAY_REDIS_URL: redis.url, ASSAY_WORKERS: '1' };
    worlds = [newWorld(), newWorld()];
    const founded = await worlds[0].here(['redis', 'found'], { environment });
    if (founded.code !== 0) throw new Error(founded.err);
    const first = await worlds[0].serve(environment);
    servers = [first, await worlds[1].serve(environment)];
    key = first.firstKey;
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
  });

  async function askOnce(
    node: number,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(`${(servers[node % 2] as RunningServer).url}${API}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as never };
  }

  const ask = (...question: Parameters<typeof askOnce>): Promise<Answer> =>
    patiently(() => askOnce(...question));

  /** Creates a key on the first node and waits until the second node accepts it. */
  async function newKey(): Promise<string> {
    let made = await ask(0, 'POST', '/keys', { name: 'of a test' });
    while (made.status === 429) {
      await sleep(Number(made.headers.get('retry-after')) * 1_000);
      made = await ask(0, 'POST', '/keys', { name: 'of a test' });
    }
    expect(made.status, made.text).toBe(200);
    const { apiKey } = (made.body as unknown as { data: { apiKey: string } }).data;
    await expect.poll(async () => (await ask(1, 'GET', '/usage', undefined, as(apiKey))).status).toBe(200);
    return apiKey;
  }
  const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
  /** Costs a credit; a key may make 60 such requests a minute. */
  const kyt = (node: number, headers: Record<string, string>) => ask(node, 'POST', '/kyt', SCREENED, headers);
  const balance = async (node: number): Promise<number> =>
    ((await ask(node, 'GET', '/usage')).body as unknown as { data: { balance: number } }).data.balance;

  /** Counts how often each status was answered. */
  function counted(answers: readonly Answer[]): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  it('share the key that the first one created', async () => {
    expect(servers[1].firstKey).toBe('');
    expect((await ask(1, 'GET', '/usage')).status).toBe(200);
  });

  it('answer exactly 100 of 1,000 charges over both on a balance of 100', async () => {
    const keys: string[] = [];
    // Each key may make 60 requests a minute, and retries count; twenty keys may be created in a minute.
    while (keys.length < 18) keys.push(await newKey());
    const adjusted = await worlds[0].here(
      ['credits', 'adjust', 'local', '--reason', 'test', '--', String(100 - (await balance(0)))],
      { environment },
    );
    expect(adjusted.code, adjusted.err).toBe(0);
    const answers: Answer[] = [];
    let next = 0;
    let troubled = 0;
    const charge = async (number: number): Promise<Answer> => {
      const token = as(keys[number % keys.length] as string);
      return patiently(async () => {
        const answer = await askOnce(number, 'POST', '/kyt', SCREENED, token);
        if (answer.status === 500) troubled++;
        return answer;
      });
    };
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        for (let number = next++; number < 1_000; number = next++) answers.push(await charge(number));
      }),
    );
    const burst = counted(answers);
    expect((burst[200] ?? 0) + (burst[402] ?? 0)).toBe(1_000);
    expect(burst[200]).toBeLessThanOrEqual(100);
    // On a busy machine, a node may hold a credit for a request that it then cannot answer. The credit is refunded a moment later; until
    // then other requests were refused, so it is spent now.
    if (troubled === 0) expect(burst[200]).toBe(100);
    for (let number = 0; (counted(answers)[200] ?? 0) < 100; number++) {
      await sleep(1_000);
      answers.push(await charge(number));
    }
    expect((await charge(0)).status).toBe(402);
    expect([await balance(0), await balance(1)]).toEqual([0, 0]);
    const verified = await worlds[1].here(['ledger', 'verify'], { environment });
    expect(verified.code, verified.err).toBe(0);
  });

  it('share a rate limit of 60', async () => {
    const token = await newKey();
    const answers = await Promise.all(Array.from({ length: 150 }, (_, node) => kyt(node, as(token))));
    // There are no credits left: admitted requests get 402.
    expect(counted(answers)).toEqual({ 402: 60, 429: 90 });
  });

  it('replay a request from the other node, and charge it once', async () => {
    expect((await worlds[1].here(['credits', 'grant', 'local', '10'], { environment })).code).toBe(0);
    const headers = { 'idempotency-key': 'one' };
    const first = await kyt(0, headers);
    const second = await kyt(1, headers);
    expect([first.status, second.status], first.text).toEqual([200, 200]);
    expect(second.text).toBe(first.text);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await balance(1)).toBe(9);
  });

  it('report an outage of Redis, and recover afterwards', async () => {
    const readiness = async (node: number): Promise<string> => {
      const response = await fetch(`${(servers[node] as RunningServer).url}/ready`);
      const { data } = (await response.json()) as { data: { reasons: readonly string[] } };
      return [response.status, ...data.reasons].join(' ');
    };
    for (const node of [0, 1]) await expect.poll(() => readiness(node)).toBe('200');
    await redis.kill();
    for (const node of [0, 1])
      await expect.poll(() => readiness(node)).toMatch(/^503 .*not heard from Redis/);
    for (const node of [0, 1]) {
      const refused = await askOnce(node, 'POST', '/kyt', SCREENED);
      expect(refused.status, refused.text).toBe(500);
      // The reason is the operator's: it is in /ready and in the log.
      expect(refused.text).toMatch(/The service is not ready/);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await redis.restart();
    for (const node of [0, 1]) await expect.poll(async () => (await kyt(node, {})).status).toBe(200);
    for (const node of [0, 1]) await expect.poll(() => readiness(node)).toBe('200');
    // One charge on each node; requests while Redis was down cost nothing.
    await expect.poll(() => balance(0)).toBe(7);
  });

  it('reject a Redis that may lose acknowledged writes', async () => {
    redis.run('config', 'set', 'appendonly', 'no');
    const third = newWorld();
    const refused = await third.serve(environment).then(
      () => 'started',
      (error: unknown) => String(error),
    );
    await third.end();
    redis.run('config', 'set', 'appendonly', 'yes');
    expect(refused).toContain('appendonly');
    expect(refused).toContain('ASSAY_REDIS_MAY_LOSE');
  });
});
