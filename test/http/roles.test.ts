/**
 * Which role may call which operation with a session, for every operation of the program: a new operation is covered as soon as it is in the
 * list. And what a session shares with a key, and what it does not: charges, limits, origins.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balanceId } from '../../src/accounts/pools.ts';
import { ROLES, type Role } from '../../src/accounts/roles.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { patternsOf, type Route } from '../../src/http/routes.ts';
import { EXCHANGE, openWorld, type World } from './world.ts';

const PASSWORD = 'correct horse battery';

/** Changes that every person makes for themselves. */
const OWN_CHANGES = new Set([
  'POST /auth/logout',
  'POST /auth/password',
  'DELETE /auth/sessions',
  'DELETE /auth/sessions/{id}',
  'POST /auth/totp',
  'POST /auth/totp/confirm',
  'POST /auth/totp/recovery-codes',
  'POST /auth/totp/disable',
]);
/** Paths whose changes are for owners. */
const ADMINISTRATION = /^\/(keys|people|billing)(\/|$)/;
/** Operations for clients without a session: of anybody, of Stripe, and of programs that speak MCP. */
const WITHOUT_SESSION =
  /^(POST \/auth\/(register|verify|confirmation|invitation|login|password\/forgot|password\/reset)|POST \/payments\/stripe|\w+ \/mcp|GET \/(health|ready|metrics|openapi\.json|llms\.txt|docs.*|log.*|\.well-known\/jwks\.json))$/;

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
const withSession = OPERATIONS.filter((route) => !WITHOUT_SESSION.test(nameOf(route)));

/** Operations for operators: the account of these people is one of theirs. */
const OF_OPERATORS = /^\/operator\//;

function mayCall(role: Role, route: Route): boolean {
  if (OF_OPERATORS.test(route.path)) return role !== 'auditor';
  if (route.method === 'GET' || OWN_CHANGES.has(nameOf(route))) return true;
  return role === 'owner' || (role === 'analyst' && !ADMINISTRATION.test(route.path));
}

interface Asked {
  readonly cookie?: string;
  readonly key?: string;
  readonly origin?: string | null;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

describe.each(['uws', 'node'] as const)('sessions in place of keys on %s', (backend) => {
  let world: World;
  let accountId = '';

  const cookieOf = async (role: Role): Promise<string> => {
    const { token } = await world.access.people().login(`${role}@example.org`, PASSWORD, '127.0.0.1');
    return `assay_session=${token}`;
  };

  async function ask(method: string, path: string, asked: Asked = {}) {
    const { cookie, key, origin = world.url, body } = asked;
    const response = await fetch(`${world.url}${path}`, {
      method,
      headers: {
        ...(cookie === undefined ? {} : { cookie }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(origin === null ? {} : { origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...asked.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // A stream does not end.
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const text = isStream ? '' : await response.text();
    if (isStream) await response.body?.cancel();
    return { status: response.status, headers: response.headers, text };
  }

  const call = (route: Route, asked: Asked) => {
    const [pattern = ''] = patternsOf(route);
    const path = pattern.replaceAll('{chain}', 'ETH').replace(/\{\w+\}/g, 'x');
    return ask(route.method, path, { ...(route.body === null ? {} : { body: {} }), ...asked });
  };

  const dataOf = ({ text }: { text: string }) => JSON.parse(text).data;

  beforeAll(async () => {
    world = await openWorld({ backend });
    const people = world.access.people();
    accountId = (await people.create('owner@example.org', PASSWORD, 'FREE')).id;
    await world.access.keys.setOperator(accountId, true);
    for (const role of ['analyst', 'auditor'] as const)
      await people.members.add(
        { who: accountId, from: '127.0.0.1' },
        accountId,
        `${role}@example.org`,
        role,
        PASSWORD,
      );
  });
  afterAll(() => world.close());

  it.each(ROLES)('%s may call exactly the operations of the role', async (role) => {
    const wrong: string[] = [];
    for (const route of withSession) {
      const { status, text } = await call(route, { cookie: await cookieOf(role) });
      const isAdmitted = ![401, 403].includes(status);
      const isRefused = status === 403 && text.includes('role: ');
      if (mayCall(role, route) ? !isAdmitted : !isRefused) wrong.push(`${nameOf(route)} ${status} ${text}`);
    }
    expect(wrong).toEqual([]);
    expect(withSession.length).toBeGreaterThan(60);
  });

  it('are required if there is no key, and work only for pages of this host', async () => {
    const wrong: string[] = [];
    for (const route of withSession) {
      const without = await call(route, {});
      if (without.status !== 401) wrong.push(`${nameOf(route)} without: ${without.status}`);
      const cookie = await cookieOf('owner');
      const isRead = route.method === 'GET';
      const foreign: Partial<Asked>[] = [
        { origin: 'null' },
        { origin: 'https://evil.example' },
        // Pages of this host send reads without an Origin; those of others, such as an image, too, but browsers say so.
        isRead ? { origin: null, headers: { 'sec-fetch-site': 'same-site' } } : { origin: null },
      ];
      for (const from of foreign) {
        const { status, text } = await call(route, { cookie, ...from });
        if (status !== 403 || !text.includes('Origin'))
          wrong.push(`${nameOf(route)} ${from.origin}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('cannot call the operations that are for keys or for anybody', async () => {
    const cookie = await cookieOf('owner');
    const { status } = await ask('POST', '/mcp', { cookie, body: {} });
    expect(status).toBe(401);
  });

  it('are charged to the dashboard, and keys to the API, each with ten free credits', async () => {
    const cookie = await cookieOf('analyst');
    const key = await world.key({ accountId });
    const body = { address: EXCHANGE, chain: 'ETH' };
    const path = '/api/v1/screening';
    const remaining = async (asked: Asked) =>
      JSON.parse((await ask('POST', path, { body, ...asked })).text).credits;
    expect(await remaining({ cookie })).toEqual({ remaining: 9 });
    expect(await remaining({ cookie })).toEqual({ remaining: 8 });
    expect(await remaining({ key })).toEqual({ remaining: 9 });
    // A key decides, also beside a session; one that is not valid is not replaced by the session.
    expect(await remaining({ key, cookie, origin: null })).toEqual({ remaining: 8 });
    expect((await ask('POST', path, { body, cookie, key: `${key}x` })).status).toBe(401);

    const own = dataOf(await ask('GET', '/api/v1/usage?limit=2', { cookie: await cookieOf('auditor') }));
    expect(own).toMatchObject({ balance: 8, dashboard: { balance: 8, hasMore: true } });
    expect(own.dashboard.history.map(({ type, amount }: never) => [type, amount])).toEqual([
      ['SCREENING', -1],
      ['SCREENING', -1],
    ]);
    const rest = dataOf(
      await ask('GET', `/api/v1/usage?limit=2&dashboardCursor=${own.dashboard.nextCursor}`, { cookie }),
    );
    expect(rest.dashboard.history).toMatchObject([{ type: 'GRANT', amount: 10 }]);
    expect(rest.balance).toBe(8);
    expect(Object.keys(dataOf(await ask('GET', '/api/v1/usage', { key })))).not.toContain('dashboard');
    const ofOther = await ask('GET', `/api/v1/usage?dashboardCursor=${own.history[0].id}`, { cookie });
    expect(ofOther.status).toBe(400);
    expect(await world.access.ledger().verify()).toMatchObject({ faults: [] });
  });

  it('are shown the plan, and the quota that keys and sessions use together', async () => {
    const cookie = await cookieOf('analyst');
    const key = await world.key({ accountId });
    const intel = async (asked: Asked) => {
      const { plan } = dataOf(await ask('GET', '/api/v1/usage', asked));
      expect(plan).toMatchObject({ name: 'FREE', creditsPerMonth: 10, requestsPerMinute: { names: 20 } });
      return plan.quotas.find(({ meter }: { meter: string }) => meter === 'intel');
    };
    const before = await intel({ cookie });
    expect(new Date(before.resetAt).getTime()).toBeGreaterThan(Date.now());
    const body = { addresses: [{ address: EXCHANGE, chain: 'ETH' }] };
    expect((await ask('POST', '/api/v1/screen/bulk', { body, cookie })).status).toBe(200);
    expect((await ask('POST', '/api/v1/screen/bulk', { body, key })).status).toBe(200);
    expect(await intel({ key })).toEqual({ ...before, used: before.used + 2 });
    // After the clock was set back, the meter counts a later month than that of the clock.
    const { quota } = world.access;
    const later = { used: 1, resetAt: '2099-01-01T00:00:00.000Z' };
    Object.defineProperty(quota, 'monthUse', { value: () => later, configurable: true });
    expect(await intel({ key })).toEqual({ ...before, ...later });
    Reflect.deleteProperty(quota, 'monthUse');
    expect(await intel({ key })).toEqual({ ...before, used: before.used + 2 });
  });

  it('are charged once for an Idempotency-Key, and get their response again', async () => {
    const cookie = await cookieOf('owner');
    const headers = { 'idempotency-key': 'again' };
    const body = { address: EXCHANGE, chain: 'ETH' };
    const before = (await world.access.ledger().balance(balanceId(accountId, 'dashboard'))).balance;
    const first = await ask('POST', '/api/v1/screening', { cookie, body, headers });
    const second = await ask('POST', '/api/v1/screening', {
      cookie: await cookieOf('analyst'),
      body,
      headers,
    });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.text).toBe(first.text);
    expect((await world.access.ledger().balance(balanceId(accountId, 'dashboard'))).balance).toBe(before - 1);
  });

  it('are refused with 402 when the dashboard has no credits, while keys still have some', async () => {
    const cookie = await cookieOf('owner');
    const body = { address: EXCHANGE, chain: 'ETH', targetAddress: EXCHANGE };
    const { status, text } = await ask('POST', '/api/v1/trace', { cookie, body });
    expect([status, text]).toEqual([402, expect.stringContaining('Insufficient credits')]);
    expect((await world.access.ledger().balance(accountId)).balance).toBeGreaterThan(0);
  });

  it('have a rate limit of their own each', async () => {
    const remainingOf = async (cookie: string) =>
      Number((await ask('GET', '/api/v1/auth/session', { cookie })).headers.get('x-ratelimit-remaining'));
    const [one, two] = [await cookieOf('owner'), await cookieOf('owner')];
    expect([await remainingOf(one), await remainingOf(one), await remainingOf(two)]).toEqual([119, 118, 119]);
    for (let sent = 2; sent < 120; sent++) await remainingOf(one);
    expect((await ask('GET', '/api/v1/auth/session', { cookie: one })).status).toBe(429);
    expect(await remainingOf(two)).toBe(118);
  });

  it('see quota and labels of the account, as its keys do', async () => {
    const cookie = await cookieOf('auditor');
    const answer = await ask('GET', `/api/v1/oracle/address/ETH/${EXCHANGE}`, { cookie });
    expect(dataOf(answer).quota).toMatchObject({ limit: 1_000 });
    expect(await world.access.quota.used(accountId, 'oracle')).toBe(1);
  });
});
