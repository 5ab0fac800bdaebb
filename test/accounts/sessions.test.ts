/** The operations of people over HTTP: cookies, origins, keys of the own account and of others, the webhook. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '../../src/accounts/keys.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { API_BASE, acceptsKey, acceptsSession } from '../../src/http/routes.ts';
import { openedBilling } from '../billing/opened.ts';
import { EXCHANGE, openWorld, type World } from '../http/world.ts';
import { tempFolder } from './temp-folder.ts';

const PASSWORD = 'correct horse battery';

interface Data {
  readonly account: { readonly id: string };
  readonly keys: readonly object[];
  readonly key: { readonly id: string; readonly permissions: readonly Permission[] };
  readonly apiKey: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly cookie: string;
  readonly body: { data: Data; error?: string };
}

interface Asked {
  readonly cookie?: string;
  readonly key?: string;
  readonly origin?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

describe.each(['uws', 'node'] as const)('users over HTTP on %s', (backend) => {
  let world: World;
  const accounts: { id: string; cookie: string; keyId: string; apiKey: string }[] = [];

  async function ask(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const { cookie, key, origin = world.url, body } = asked;
    const response = await fetch(`${world.url}${API_BASE}${path}`, {
      method,
      headers: {
        ...(cookie ? { cookie } : {}),
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(origin === null ? {} : { origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...asked.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] as string,
      body: (await response.json()) as Answer['body'],
    };
  }

  const login = (email: string): Promise<Answer> =>
    ask('POST', '/auth/login', { body: { email, password: PASSWORD } });

  beforeAll(async () => {
    world = await openWorld({ backend, trustedProxies: ['127.0.0.1'] });
    for (const email of ['ann@example.org', 'bob@example.org']) {
      const { id } = await world.access.people().create(email, PASSWORD, 'FREE');
      const { cookie } = await login(email);
      const made = await ask('POST', '/keys', { cookie, body: { name: `of ${email}` } });
      expect(made.status).toBe(200);
      accounts.push({ id, cookie, keyId: made.body.data.key.id, apiKey: made.body.data.apiKey });
    }
  });
  afterAll(() => world.close());

  const [ANN, BOB] = [0, 1] as const;
  const ann = () => accounts[ANN]!;
  const bob = () => accounts[BOB]!;

  it('sets a cookie at login that scripts and other sites cannot use, Secure behind TLS', async () => {
    const plain = await login('ann@example.org');
    expect(plain.body.data).toMatchObject({
      account: { id: ann().id, email: 'ann@example.org', plan: 'FREE' },
    });
    const line = plain.headers.get('set-cookie') ?? '';
    expect(line).toMatch(/^assay_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(JSON.stringify(plain.body)).not.toContain(plain.cookie.slice('assay_session='.length));
    const secure = await ask('POST', '/auth/login', {
      body: { email: 'ann@example.org', password: PASSWORD },
      origin: world.url.replace('http:', 'https:'),
      headers: { 'x-forwarded-proto': 'https' },
    });
    expect(secure.headers.get('set-cookie')).toMatch(/^__Host-assay_session=[\w-]{43}; Path=\/; .*; Secure$/);
    expect((await ask('GET', '/auth/session', { cookie: plain.cookie })).body.data.account.id).toBe(ann().id);
    await ask('POST', '/auth/logout', { cookie: plain.cookie });
    expect((await ask('GET', '/auth/session', { cookie: plain.cookie })).status).toBe(401);
    const behindTls = {
      origin: world.url.replace('http:', 'https:'),
      headers: { 'x-forwarded-proto': 'https' },
    };
    expect((await ask('GET', '/auth/session', { cookie: secure.cookie, ...behindTls })).status).toBe(200);
    const plainName = secure.cookie.slice('__Host-'.length);
    expect((await ask('GET', '/auth/session', { cookie: plainName, ...behindTls })).status).toBe(401);
  });

  it('rejects a wrong password and a closed registration without a cookie', async () => {
    const wrong = await ask('POST', '/auth/login', { body: { email: 'ann@example.org', password: 'wrong' } });
    expect([wrong.status, wrong.cookie]).toEqual([401, '']);
    const closed = await ask('POST', '/auth/register', {
      body: { email: 'c@example.org', password: PASSWORD },
    });
    expect([closed.status, closed.cookie]).toEqual([403, '']);
  });

  it('accepts a session only from a page of this host', async () => {
    const { cookie } = ann();
    const port = new URL(world.url).port;
    for (const origin of [
      null,
      'https://evil.example',
      'null',
      `http://localhost:${port}`,
      'http://127.0.0.1:1',
    ])
      expect((await ask('POST', '/keys', { cookie, origin, body: { name: 'x' } })).status, `${origin}`).toBe(
        403,
      );
    const login = { body: { email: 'ann@example.org', password: PASSWORD }, origin: 'https://evil.example' };
    expect((await ask('POST', '/auth/login', login)).status).toBe(403);
    expect((await ask('GET', '/keys', { cookie, origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask('GET', '/keys', { cookie, origin: null })).status).toBe(200);
    expect(world.access.keys.list(ann().id)).toHaveLength(1);
  });

  it('lists and revokes keys only with a session, not with a key', async () => {
    const { apiKey, keyId } = ann();
    expect((await ask('GET', '/keys', { key: apiKey })).status).toBe(401);
    expect((await ask('DELETE', `/keys/${keyId}`, { key: apiKey })).status).toBe(401);
    const listed = await ask('GET', '/keys', { cookie: ann().cookie });
    expect(Object.keys(listed.body.data.keys[0]!).sort()).toEqual([
      'createdAt',
      'createdBy',
      'id',
      'last4',
      'lastUsedAt',
      'name',
      'permissions',
      'prefix',
      'receipts',
      'revokedAt',
      'status',
    ]);
    expect(JSON.stringify(listed.body)).not.toContain(apiKey);
  });

  it('creates keys with at most the permissions and the limits of the calling key', async () => {
    const record = await world.access.keys.create({
      name: 'narrow',
      accountId: bob().id,
      permissions: ['entity', 'intel'] as Permission[],
      rateLimits: { entity: 3 },
    });
    const key = record.apiKey;
    const child = await ask('POST', '/keys', { key, origin: null, body: { name: 'child' } });
    expect(child.body.data.key.permissions).toEqual(['entity', 'intel']);
    expect(world.access.keys.get(child.body.data.key.id)?.rateLimits).toEqual({ entity: 3 });
    const more = await ask('POST', '/keys', {
      key,
      body: { name: 'more', permissions: ['entity', 'oracle'] },
    });
    expect([more.status, more.body.error]).toEqual([403, expect.stringContaining('oracle')]);
    const path = `/keys/${child.body.data.key.id}`;
    const grant = await ask('PATCH', path, { key, body: { permission: 'oracle', enabled: true } });
    expect(grant.status).toBe(403);
    const take = await ask('PATCH', path, { key, body: { permission: 'intel', enabled: false } });
    expect(take.body.data.key.permissions).toEqual(['entity']);
    const given = await ask('PATCH', path, {
      cookie: bob().cookie,
      body: { permission: 'oracle', enabled: true },
    });
    expect(given.body.data.key.permissions).toEqual(['entity', 'oracle']);
  });

  it('does not let a key change a key that has a permission it lacks', async () => {
    const { cookie } = bob();
    const { access } = world;
    const create = (name: string, permissions: readonly Permission[]) =>
      access.keys.create({ name, accountId: bob().id, permissions });
    const [weak, strong] = [
      await create('weak', ['entity', 'intel']),
      await create('strong', ['entity', 'oracle']),
    ];
    const toggle = (key: string, of: string, permission: Permission, enabled: boolean) =>
      ask('PATCH', `/keys/${of}`, { key, body: { permission, enabled } });
    for (const [permission, enabled] of [
      ['entity', false],
      ['oracle', false],
      ['intel', true],
    ] as const) {
      const refused = await toggle(weak.apiKey, strong.record.id, permission, enabled);
      expect([refused.status, refused.body.error]).toEqual([
        403,
        `This API key lacks oracle, which the key ${strong.record.id} has. It can change only keys whose permissions it has, too.`,
      ]);
    }
    expect(access.keys.get(strong.record.id)?.permissions).toEqual(['entity', 'oracle']);
    await ask('PATCH', `/keys/${strong.record.id}`, {
      cookie,
      body: { permission: 'oracle', enabled: false },
    });
    const allowed = await toggle(weak.apiKey, strong.record.id, 'entity', false);
    expect([allowed.status, allowed.body.data.key.permissions]).toEqual([200, []]);
    expect((await toggle(weak.apiKey, weak.record.id, 'intel', false)).body.data.key.permissions).toEqual([
      'entity',
    ]);
  });

  it('shows who created a key, and revokes its descendants if asked to', async () => {
    const { cookie, id } = ann();
    const create = async (by: Asked, name: string) => {
      // Keys of the same millisecond have no order.
      await new Promise((resolve) => setTimeout(resolve, 2));
      const { data } = (await ask('POST', '/keys', { ...by, body: { name } })).body;
      return { id: data.key.id, apiKey: data.apiKey };
    };
    const root = await create({ cookie }, 'root');
    const child = await create({ key: root.apiKey }, 'child');
    const grandchild = await create({ key: child.apiKey }, 'grandchild');
    const listed = (await ask('GET', '/keys', { cookie })).body.data.keys;
    expect(listed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: root.id, createdBy: 'session' }),
        expect.objectContaining({ id: child.id, createdBy: root.id }),
        expect.objectContaining({ id: grandchild.id, createdBy: child.id }),
      ]),
    );
    const revoked = await ask('DELETE', `/keys/${root.id}`, { cookie });
    expect(revoked.body.data).toMatchObject({
      key: { id: root.id, status: 'REVOKED' },
      revokedDescendants: [],
      activeDescendants: [{ id: child.id, name: 'child' }, { id: grandchild.id }],
    });
    expect((await ask('GET', `/entity/${EXCHANGE}`, { key: grandchild.apiKey })).status).toBe(200);
    const all = await ask('DELETE', `/keys/${root.id}?descendants=true`, { cookie });
    expect(all.body.data).toMatchObject({
      key: { id: root.id, status: 'REVOKED' },
      revokedDescendants: [
        { id: child.id, status: 'REVOKED' },
        { id: grandchild.id, status: 'REVOKED' },
      ],
      activeDescendants: [],
    });
    expect((await ask('GET', `/entity/${EXCHANGE}`, { key: grandchild.apiKey })).status).toBe(401);
    const entries = world.access
      .audit()
      .newest(7)
      .filter(({ action }) => action.startsWith('key.'));
    expect(entries.map(({ who, action, subject, detail }) => [who, action, subject, detail])).toEqual([
      [id, 'key.revoke', grandchild.id, `descendant of ${root.id}`],
      [id, 'key.revoke', child.id, `descendant of ${root.id}`],
      [id, 'key.revoke', root.id, null],
      [id, 'key.revoke', root.id, null],
      [child.id, 'key.create', grandchild.id, expect.any(String)],
      [root.id, 'key.create', child.id, expect.any(String)],
      [id, 'key.create', root.id, expect.any(String)],
    ]);
  });

  it('applies a permission change and a revocation at the next request, permanently', async () => {
    const { cookie } = bob();
    const made = await ask('POST', '/keys', { cookie, body: { name: 'short-lived' } });
    const { apiKey } = made.body.data;
    const path = `/keys/${made.body.data.key.id}`;
    const entity = `/entity/${EXCHANGE}`;
    expect((await ask('GET', entity, { key: apiKey })).status).toBe(200);
    await ask('PATCH', path, { cookie, body: { permission: 'entity', enabled: false } });
    expect((await ask('GET', entity, { key: apiKey })).status).toBe(403);
    const revoked = await ask('DELETE', path, { cookie });
    expect(revoked.body.data.key).toMatchObject({ status: 'REVOKED', revokedAt: expect.any(String) });
    expect((await ask('GET', entity, { key: apiKey })).status).toBe(401);
    const again = await ask('PATCH', path, { cookie, body: { permission: 'entity', enabled: true } });
    expect(again.status).toBe(400);
  });

  // Monitoring, cases, saved screenings, jobs and receipts are tested on stores of their own, in tests of their name in test/http and test/e2e;
  // operators see the reports of all accounts.
  const withId = OPERATIONS.filter(
    ({ path }) =>
      path.includes('{id}') && !/^\/(monitoring|cases|screenings|jobs|receipts|operator)\//.test(path),
  );

  it.each(withId.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s with an id of another account returns 404 and changes nothing',
    async (_name, route) => {
      const query = route.parameters
        .filter((one) => one.in === 'query' && one.required)
        .map(({ name, schema }) => `${name}=${(schema as { examples?: readonly string[] }).examples?.[0]}`);
      const path = `${route.path.replace('{id}', bob().keyId).replace(/\{\w+\}/g, 'x')}?${query.join('&')}`;
      const { token } = await world.access.people().login('ann@example.org', PASSWORD, '127.0.0.1');
      const before = JSON.stringify([world.access.keys.list(bob().id), world.access.audit().newest(1)]);
      const body =
        route.body === null
          ? {}
          : {
              body: {
                ...(route.examples[0]?.body ?? {}),
                ...{ permission: 'entity', enabled: false, status: 'RESOLVED', name: 'x', role: 'owner' },
                currentPassword: PASSWORD,
              },
            };
      const ways: Asked[] = [
        ...(acceptsKey(route) ? [{ key: ann().apiKey }] : []),
        ...(acceptsSession(route) ? [{ cookie: `assay_session=${token}` }] : []),
      ];
      for (const way of ways) {
        const answer = await ask(route.method, path, { ...way, ...body });
        expect(answer.status, JSON.stringify(answer.body)).toBe(404);
      }
      expect(JSON.stringify([world.access.keys.list(bob().id), world.access.audit().newest(1)])).toBe(before);
    },
  );

  it('returns 401 before it reads a body', async () => {
    const { connect } = await import('node:net');
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(world.port, '127.0.0.1', () =>
        socket.write(
          `POST ${API_BASE}/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer assay_live_x\r\nContent-Length: 1000\r\n\r\n`,
        ),
      );
      socket.once('data', (bytes) => {
        resolve(String(bytes));
        socket.destroy();
      });
      socket.once('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('has no webhook without a secret', async () => {
    expect((await ask('POST', '/payments/stripe', { body: { id: 'evt_1' } })).status).toBe(404);
  });

  it('limits a session to what a person needs, with rate limit headers', async () => {
    const { cookie } = await login('bob@example.org');
    let last = await ask('GET', '/auth/session', { cookie });
    expect(last.headers.get('x-ratelimit-limit')).toBe('120');
    for (let asked = 0; asked < 120 && last.status === 200; asked++)
      last = await ask('GET', '/auth/session', { cookie });
    expect(last.status).toBe(429);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('the webhook over HTTP', () => {
  it('books a signed event, and rejects changed bytes', async () => {
    const { createAccess } = await import('../../src/accounts/access.ts');
    const { createHttpApp } = await import('../../src/http/http-app.ts');
    const folder = tempFolder();
    const parts = { clock: systemClock, random: systemRandom, log: silentLogger };
    const access = createAccess({ folder: `${folder.path}/accounts` }, parts);
    const billing = openedBilling(folder.path, access, { stripeSecret: 'whsec_0123456789' });
    const app = createHttpApp(
      {
        backend: 'node',
        host: '127.0.0.1',
        port: 0,
        tls: null,
        publicHost: null,
        trustedProxies: [],
        version: '0',
      },
      {
        ...parts,
        access,
        useCases: { billing: () => billing } as never,
        readiness: () => ({}) as never,
        operator: {} as never,
        gauges: [],
      },
    );
    const { url } = await app.listen();
    await access.keys.addAccount('acc_1', 'FREE');
    const checkout = {
      id: 'cs_1',
      payment_status: 'paid',
      payment_intent: 'pi_1',
      client_reference_id: 'acc_1',
      currency: 'usd',
      amount_total: 79_900,
      metadata: { package: 'Growth' },
    };
    // Spaces that a parser would drop: the signature covers the bytes.
    const body = `{ "id": "evt_1",  "type":"checkout.session.completed", "data":{"object":${JSON.stringify(checkout)}} }`;
    const time = Math.floor(systemClock.now() / 1000);
    const signature = `t=${time},v1=${createHmac('sha256', 'whsec_0123456789').update(`${time}.${body}`).digest('hex')}`;
    const send = (text: string) =>
      fetch(`${url}${API_BASE}/payments/stripe`, {
        method: 'POST',
        headers: { 'stripe-signature': signature, 'content-type': 'application/json' },
        body: text,
      });
    const booked = await send(body);
    expect(await booked.json()).toMatchObject({
      data: { outcome: 'booked', accountId: 'acc_1' },
      ignored: [],
    });
    expect((await (await send(body)).json()) as object).toMatchObject({ data: { outcome: 'repeated' } });
    expect((await send(body.replace('Growth', 'Enterprise'))).status).toBe(401);
    expect((await access.ledger().balance('acc_1')).bought).toBe(500);
    expect(access.audit().newest(5)).toMatchObject([
      { who: 'stripe', action: 'credits.book', accountId: 'acc_1' },
    ]);
    await app.close();
    await billing.close();
    await access.close();
    folder.remove();
  });
});

describe('a key store of an earlier release', () => {
  it('is indexed by account, and its keys have no creator, when it is opened', async () => {
    const folder = tempFolder();
    const path = `${folder.path}/keys.mdb`;
    const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
    const keys = openKeyStore({ path }, deps);
    const { record } = await keys.create({ name: 'old', accountId: 'one', createdBy: 'session' });
    await keys.create({ name: 'other', accountId: 'one2' });
    await keys.close();
    const { openLiveStore } = await import('../../src/state/live-store.ts');
    const { root, meta } = openLiveStore(path, 1);
    root.transactionSync(() => meta.removeSync('byAccount'));
    root.openDB({ name: 'byAccount', encoding: 'json' }).clearSync();
    const rows = root.openDB<{ createdBy?: unknown }, string>({ name: 'keys', encoding: 'json' });
    const { createdBy: _, ...row } = rows.get(record.id)!;
    rows.putSync(record.id, row);
    await root.close();
    const again = openKeyStore({ path }, deps);
    expect(again.list('one')).toEqual([{ ...record, createdBy: null }]);
    expect(again.list()).toHaveLength(2);
    await again.close();
    folder.remove();
  });
});
