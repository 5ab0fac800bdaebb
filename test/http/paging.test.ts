/** Every list is paged in the same way: by `limit` and `cursor`, with `hasMore` and `nextCursor`; some also by `offset`. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { walletBilling } from '../../src/app/wallet-billing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import type { Monitoring } from '../../src/monitoring/open.ts';
import type { MonitoredWallet } from '../../src/monitoring/records.ts';
import { type ClearedStore, openClearedStore } from '../../src/names/cleared.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { openWorld, type World } from './world.ts';
import { worldNames } from './world-names.ts';

/** The operations that answer with a list, and the field of its rows. */
const LISTS = {
  listKeys: 'keys',
  usage: 'history',
  clearedList: 'cleared',
  labelReports: 'reports',
  operatorLabelReports: 'reports',
  listWallets: 'wallets',
  listAlerts: 'alerts',
  walletAlerts: 'alerts',
  walletTransactions: 'transactions',
  deliveries: 'deliveries',
  listScreenings: 'screenings',
  listCases: 'cases',
  caseEvents: 'events',
  caseFiles: 'files',
  listJobs: 'jobs',
  listInvoices: 'invoices',
  listPeople: 'people',
  listSessions: 'sessions',
  auditLog: 'entries',
} as const;

/** The specification has `offset` for the first three; the others had it before there was a cursor. */
const BY_OFFSET = ['listAlerts', 'walletAlerts', 'walletTransactions', 'listWallets', 'listJobs'];

interface Fields {
  readonly properties: Readonly<Record<string, { readonly type?: string; readonly properties?: object }>>;
}

const dataOf = (response: unknown): Fields['properties'] =>
  ((response as Fields).properties?.data as unknown as Fields | undefined)?.properties ?? {};

describe('the lists of the API', () => {
  it('are these: no other operation has a page', () => {
    const paged = OPERATIONS.filter(
      ({ response, parameters }) =>
        parameters.some(({ name }) => ['limit', 'offset', 'cursor'].includes(name)) ||
        (typeof response !== 'string' && 'nextCursor' in dataOf(response)),
    );
    expect(paged.map(({ id }) => id).toSorted()).toEqual(Object.keys(LISTS).toSorted());
  });

  it.each(Object.entries(LISTS))('%s has the parameters and the end of a page', (id, rows) => {
    const { parameters, response } = OPERATIONS.find((one) => one.id === id) as (typeof OPERATIONS)[number];
    const names = parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name);
    const isByOffset = BY_OFFSET.includes(id);
    expect(names).toEqual(expect.arrayContaining(['limit', 'cursor', ...(isByOffset ? ['offset'] : [])]));
    expect(names.includes('offset')).toBe(isByOffset);
    const data = dataOf(response);
    const fields = [rows, 'limit', 'hasMore', 'nextCursor', ...(isByOffset ? ['total', 'offset'] : [])];
    expect(Object.keys(data)).toEqual(expect.arrayContaining(fields));
    expect(data.hasMore?.type).toBe('boolean');
  });
});

describe('a list over HTTP', () => {
  const folder = tempFolder();
  const rateLimits = { monitoring: 100_000, names: 100_000, keys: 100_000 };
  let world: World;
  let monitoring: Monitoring;
  let cleared: ClearedStore;
  let key: string;
  let cookie: string;
  let walletId: string;
  const accountId = 'acc_lists';

  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(/^\/(keys|people|auth)/.test(path) ? { cookie } : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: lists of every shape.
    return { status: response.status, body: (await response.json()) as any };
  };
  const addWallet = async (n: number): Promise<string> => {
    const { body } = await ask('POST', '/monitoring/wallets', {
      walletAddress: `0x${n.toString(16).padStart(40, '0')}`,
      chain: 'ETH',
      customWebhookUrl: 'http://127.0.0.1:1/',
    });
    return body.data.wallet.id;
  };
  let causes = 0;
  const raise = (): Promise<unknown> =>
    monitoring.service.store.write((writer) => {
      const facts = {
        ruleId: 'MIXING-001',
        ruleName: 'Mixing',
        severity: 'HIGH',
        title: 't',
        message: 'm',
        category: 'MIXER',
        riskType: 'COUNTERPARTY',
        transaction: null,
        final: true,
      } as const;
      writer.raise(writer.wallet(accountId, walletId) as MonitoredWallet, facts, `cause ${++causes}`, null);
    });
  const clear = (n: number): Promise<unknown> =>
    cleared.clear(accountId, {
      name: `Name ${n}`,
      list: 'EU',
      entityId: String(n),
      entityName: 'x',
      entityVersion: '0',
      note: null,
    });

  beforeAll(async () => {
    monitoring = openedMonitoring(folder.path, { billing: walletBilling(() => world.access.ledger()) });
    cleared = openClearedStore({ path: join(folder.path, 'cleared.mdb') }, { clock: systemClock });
    world = await openWorld({
      backend: 'uws',
      useCases: {
        monitoring: () => monitoring.service,
        names: { ...worldNames(), cleared: () => cleared },
      },
    });
    key = await world.key({ accountId, rateLimits });
    for (let n = 1; n <= 5; n++) walletId = await addWallet(n);
    for (let n = 0; n < 5; n++) await raise();
    for (let n = 0; n < 5; n++) await clear(n);
    for (let n = 0; n < 4; n++) await ask('POST', `/monitoring/wallets/${walletId}/test`);
    const people = world.access.people();
    const { id, email } = await people.create('ann@example.org', 'correct horse battery', 'FREE');
    const { token } = await people.login(email, 'correct horse battery', '127.0.0.1');
    cookie = `assay_session=${token}`;
    for (let n = 0; n < 5; n++) await world.key({ accountId: id });
    for (let n = 0; n < 5; n++) {
      await people.login(email, 'correct horse battery', '127.0.0.1');
      const actor = { who: id, from: '127.0.0.1' };
      await people.members.add(actor, id, `p${n}@example.org`, 'auditor', 'correct horse battery');
    }
  });
  afterAll(async () => {
    await world.close();
    await monitoring.close();
    await cleared.close();
    folder.remove();
  });

  it.each([
    ['/usage', 'history', () => addWallet(100)],
    ['/namescreen/cleared', 'cleared', null],
    ['/monitoring/wallets', 'wallets', null],
    ['/monitoring/alerts', 'alerts', raise],
    ['/monitoring/alerts?severity=HIGH', 'alerts', raise],
    ['/monitoring/wallets/{id}/alerts', 'alerts', raise],
    ['/monitoring/wallets/{id}/transactions', 'transactions', null],
    ['/monitoring/deliveries', 'deliveries', raise],
    ['/keys', 'keys', null],
    ['/people', 'people', null],
    ['/auth/sessions', 'sessions', null],
  ] as const)(
    '%s is read to its end by cursors, each row once, although rows are added',
    async (template, rows, addRow) => {
      const path = template.replace('{id}', walletId);
      const at = (query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;
      const whole = (await ask('GET', at('limit=50'))).body.data;
      const ids: string[] = whole[rows].map(({ id }: { id: string }) => id);
      expect([whole.hasMore, whole.nextCursor, whole.limit]).toEqual([false, null, 50]);
      if (rows !== 'transactions') expect(ids.length).toBeGreaterThan(4);
      const read: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const query = `limit=2${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
        const { status, body } = await ask('GET', at(query));
        expect([status, body.ignored]).toEqual([200, undefined]);
        const { data } = body;
        read.push(...data[rows].map(({ id }: { id: string }) => id));
        expect(data.hasMore).toBe(data.nextCursor !== null);
        if ('total' in data && pages === 0) expect(data.total).toBe(ids.length);
        cursor = data.nextCursor;
        // Newest rows come first in these lists, so that a row more does not move the rows after the cursor.
        if (++pages === 1) await addRow?.();
      } while (cursor !== null && pages < 50);
      expect(read).toEqual(ids);
    },
  );

  it('ends exactly with its last row', async () => {
    const { body } = await ask('GET', '/monitoring/wallets?limit=100');
    const { total } = body.data;
    const exact = await ask('GET', `/monitoring/wallets?limit=${total}`);
    expect(exact.body.data).toMatchObject({ total, hasMore: false, nextCursor: null });
    const short = await ask('GET', `/monitoring/wallets?limit=${total - 1}`);
    expect(short.body.data).toMatchObject({ total, hasMore: true });
    const rest = await ask('GET', `/monitoring/wallets?cursor=${short.body.data.nextCursor}`);
    expect(rest.body.data).toMatchObject({ total, hasMore: false });
    expect(rest.body.data.wallets).toHaveLength(1);
    const skipped = await ask('GET', `/monitoring/wallets?limit=1&offset=${total - 1}`);
    expect(skipped.body.data).toMatchObject({ offset: total - 1, hasMore: false });
    const beyond = await ask('GET', `/monitoring/wallets?offset=${total}`);
    expect(beyond.body.data).toMatchObject({ wallets: [], hasMore: false, nextCursor: null });
  });

  it.each([
    '/usage',
    '/namescreen/cleared',
    '/monitoring/wallets',
    '/monitoring/alerts',
    '/monitoring/wallets/{id}/alerts',
    '/monitoring/wallets/{id}/transactions',
    '/monitoring/deliveries',
    '/keys',
    '/auth/sessions',
  ])('%s refuses a cursor that it did not return', async (template) => {
    const path = template.replace('{id}', walletId);
    for (const cursor of ['x', '../1', '-1', '1e3', 'ffffffffffffffffffffffffffffffffx'])
      expect(await ask('GET', `${path}?cursor=${cursor}`)).toEqual({
        status: 400,
        body: { error: 'cursor: not a cursor returned by this endpoint.' },
      });
  });

  it('refuses an offset together with a cursor', async () => {
    const { body } = await ask('GET', '/monitoring/alerts?limit=1');
    expect(await ask('GET', `/monitoring/alerts?cursor=${body.data.nextCursor}&offset=1`)).toEqual({
      status: 400,
      body: { error: 'offset: must not be given with cursor.' },
    });
  });
});
