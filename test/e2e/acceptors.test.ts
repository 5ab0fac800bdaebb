/**
 * A server with several acceptors: limits, quotas, keys and answers are those of one. Every request has a connection of its own, so the
 * system spreads the requests over the acceptors.
 */
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyStore } from '../../src/accounts/keys.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { readPlans } from '../../src/accounts/plans.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { uwsUnavailable } from '../setup/backend.ts';
import { newWorld, type RunningServer, until, type World } from './program.ts';

const EXCHANGE = '0x28c6c06298d514db089934071355e5743bf21d60';
const ORACLE = `/api/v1/oracle/address/ETH/${EXCHANGE}`;
const BULK = '/api/v1/screen/bulk';
const RATE = 120;

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: {
    readonly data?: Record<string, unknown>;
  };
}

/** Sends a request on a connection of its own. */
function send(server: RunningServer, key: string, path: string, body?: object): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server.url}${path}`,
      {
        agent: false,
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', () => {
          const headers = response.headers as Reply['headers'];
          resolve({ status: response.statusCode ?? 0, headers, body: JSON.parse(text) as Reply['body'] });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const many = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));

const numbers = (replies: readonly Reply[], header: string): number[] =>
  replies.map(({ headers }) => Number(headers[header])).sort((a, b) => a - b);

/** The numbers from `first` to `last`, which follow each other if no request was counted twice or not at all. */
const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n);

const reason = process.platform === 'linux' ? await uwsUnavailable() : 'only Linux spreads connections';

describe.skipIf(reason !== null).each([2, 4])('a server with %d acceptors', (count) => {
  let world: World;
  let server: RunningServer;
  /** Another process than the server changes keys and plans. */
  let keys: KeyStore;
  beforeAll(async () => {
    world = newWorld();
    server = await world.serve({ ASSAY_ACCEPTORS: String(count) });
    const path = join(world.folder, 'store', 'accounts', 'keys.mdb');
    keys = openKeyStore({ path }, { clock: systemClock, random: systemRandom, log: silentLogger });
  });
  afterAll(async () => {
    await keys.close();
    await world.end();
  });

  const keyOf = (accountId: string, rateLimits = {}): Promise<{ id: string; key: string }> =>
    keys
      .create({ name: accountId, accountId, plan: 'STARTER', rateLimits })
      .then(({ record, apiKey }) => ({ id: record.id, key: apiKey }));

  /** Returns the units that the main thread counts for the account of a key. */
  const usedOf = async (key: string): Promise<Record<string, number>> => {
    const { body } = await send(server, key, '/api/v1/usage');
    const plan = body.data?.plan as { quotas: { meter: string; used: number }[] };
    return Object.fromEntries(plan.quotas.map(({ meter, used }) => [meter, used]));
  };

  it('answers the hot operations as the main thread does', async () => {
    const { key } = await keyOf('same');
    // An unknown parameter makes the main thread answer.
    const [own, main] = await many(2, (n) => send(server, key, `${ORACLE}${n === 0 ? '' : '?x=1'}`));
    const stable = ({ body: { data } }: Reply): object => ({ ...data, evaluatedAt: null, quota: null });
    expect(stable(own as Reply)).toEqual(stable(main as Reply));
    expect((own as Reply).body.data).toMatchObject({ entity: { name: 'Binance' }, sanctioned: false });
    const body = { chain: 'ETH', addresses: [EXCHANGE, 'wrong'] };
    const [bulk, forwarded] = await many(2, (n) =>
      send(server, key, `${BULK}${n === 0 ? '' : '?x=1'}`, body),
    );
    expect(bulk?.status).toBe(200);
    expect(bulk?.body.data).toEqual(forwarded?.body.data);
    expect(Object.keys(bulk?.headers ?? {}).sort()).toEqual(Object.keys(forwarded?.headers ?? {}).sort());
  });

  it('allows exactly the limit of a key, whichever acceptor counts', async () => {
    const { key } = await keyOf('limited', { oracle: RATE });
    const replies = await many(RATE + 40, () => send(server, key, ORACLE));
    const allowed = replies.filter(({ status }) => status === 200);
    expect(numbers(allowed, 'x-ratelimit-remaining')).toEqual(from(0, RATE - 1));
    const refused = replies.filter(({ status }) => status === 429);
    expect([allowed.length, refused.length]).toEqual([RATE, 40]);
    expect(refused[0]?.headers['x-error-code']).toBe('RATE_LIMITED');
    // Also on the main thread.
    expect((await send(server, key, `${ORACLE}?x=1`)).status).toBe(429);
  });

  it('takes exactly the units of every request, and returns those that were not used', async () => {
    const { key } = await keyOf('metered');
    const limit = readPlans().STARTER.quotas.oracle as number;
    const replies = await many(150, (n) => send(server, key, `${ORACLE}${n % 10 === 0 ? '?x=1' : ''}`));
    expect(numbers(replies, 'x-quota-remaining')).toEqual(from(limit - 150, limit - 1));
    const body = { chain: 'ETH', addresses: [EXCHANGE, 'wrong', EXCHANGE] };
    await many(40, () => send(server, key, BULK, body));
    expect(await usedOf(key)).toMatchObject({ oracle: 150, intel: 80 });
  });

  it('stops exactly at the quota', async () => {
    const { key } = await keyOf('small');
    const { quotas } = readPlans().FREE;
    await keys.setPlan('small', 'FREE');
    const limit = quotas.intel as number;
    const addresses = Array.from({ length: 100 }, () => EXCHANGE);
    const requests = Math.floor(limit / 100) + 8;
    const replies = await many(requests, () => send(server, key, BULK, { chain: 'ETH', addresses }));
    const ok = replies.filter(({ status }) => status === 200).length;
    expect(ok).toBe(Math.floor(limit / 100));
    expect((await usedOf(key)).intel).toBe(ok * 100);
  });

  it('applies a changed plan and permission, and a revoked key, to the next request on every acceptor', async () => {
    const { id, key } = await keyOf('changing');
    await many(16, () => send(server, key, ORACLE));
    await keys.setPlan('changing', 'BUSINESS');
    const { quotas, rateLimits } = readPlans().BUSINESS;
    for (const { body, headers } of await many(16, () => send(server, key, ORACLE))) {
      expect(body.data?.quota).toMatchObject({ limit: quotas.oracle });
      expect(headers['x-ratelimit-limit']).toBe(String(rateLimits.oracle));
    }
    await keys.setPermission(id, 'oracle', false);
    const statuses = async (): Promise<Set<number>> =>
      new Set((await many(16, () => send(server, key, ORACLE))).map(({ status }) => status));
    expect(await statuses()).toEqual(new Set([403]));
    await keys.revoke(id);
    expect(await statuses()).toEqual(new Set([401]));
  });

  it('counts every request in the metrics', async () => {
    const total = async (): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const row =
        /^assay_http_requests_total\{route="GET \/oracle\/address\/\{chain\}\/\{address\}",status="200"\} (\d+)$/m;
      return Number(row.exec(text)?.[1] ?? 0);
    };
    const before = await total();
    const { key } = await keyOf('counted');
    await many(60, () => send(server, key, ORACLE));
    await until(async () => (await total()) === before + 60);
  });

  it('answers from a new snapshot on every acceptor as soon as the server has it', async () => {
    const { key } = await keyOf('fresh');
    const readiness = async (): Promise<string> => JSON.stringify((await send(server, key, '/ready')).body);
    const before = (await send(server, key, ORACLE)).body.data?.dataVersion;
    const why = ['--reason', 'test', '--entity', 'own', '--name', 'Own', '--category', 'OTHER'];
    expect((await world.here(['labels', 'dispute', 'ETH', EXCHANGE, ...why])).err).toBe('');
    expect((await world.here(['index', 'build'])).code).toBe(0);
    await until(async () => !(await readiness()).includes(String(before)));
    const replies = await many(16, () => send(server, key, ORACLE));
    expect(new Set(replies.map(({ body }) => body.data?.dataVersion)).has(before)).toBe(false);
  });

  it('stops in order', async () => {
    expect(await server.stop()).toBe(0);
    expect(server.output().err).not.toMatch(/error|assert/i);
  });
});
