/** Reports on labels in the front end, over the real store: whose they are, what is refused, and what the audit log says. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTRIBUTION_LIMITS } from '../../src/attribution/limits.ts';
import { openReportStore, type ReportStore } from '../../src/attribution/reports.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { openWorld, type World } from './world.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
const PATH = `/address/eth/${ADDRESS}/reports`;
const folder = tempFolder();
const PASSWORD = 'correct horse battery';
const DISPUTE = {
  ...{ key: '', disputedAt: '2026-11-27T00:00:00.000Z', entityId: 'disputed', name: 'Disputed attribution' },
  ...{ threatLevel: 'LOW' as const, corrects: [] },
};

describe('reports on labels over HTTP', () => {
  let world: World;
  let store: ReportStore;
  let key: string;
  let other: string;
  /** Parties of the disputes that decisions have stored. */
  const decided: unknown[] = [];
  beforeAll(async () => {
    store = openReportStore(
      { path: join(folder.path, 'reports.mdb') },
      { clock: systemClock, random: systemRandom },
    );
    world = await openWorld({
      backend: 'node',
      useCases: {
        labelReports: {
          file({ chain, address, ...draft }) {
            const subject = parseSubject(chain, address);
            return store.file({ ...draft, chain: subject.chain, address: subject.shown });
          },
          list: (accountId, query) => store.list(accountId, query),
          openCount: () => store.openCount(),
          labelsOf: () => [{ source: 'deposits', name: '<b>', category: 'EXCHANGE', threatLevel: 'LOW' }],
          async decide(id, { state, reason, category, name }) {
            const report = await store.decide(id, state, reason);
            if (state === 'REJECTED') return { report, dispute: null };
            decided.push({ category, name });
            const { chain, address } = report;
            return { report, dispute: { ...DISPUTE, chain, address, reason, category: 'DONATION' as const } };
          },
        },
      },
    });
    key = await world.key({ accountId: 'a', rateLimits: { intel: 1_000 } });
    other = await world.key({ accountId: 'b', rateLimits: { intel: 1_000 } });
  });
  afterAll(async () => {
    await world.close();
    await store.close();
    folder.remove();
  });

  async function ask(method: string, path: string, body?: unknown, as = key) {
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
    return { status: response.status, body: (await response.json()) as any };
  }

  it('are filed once, seen by their own account only, and logged', async () => {
    const first = await ask('POST', PATH, { reason: 'our own wallet', source: 'deposits' });
    expect(first).toMatchObject({
      status: 200,
      body: { data: { isNew: true, report: { chain: 'ETH', address: ADDRESS, state: 'OPEN', note: null } } },
    });
    const { report } = first.body.data;
    expect(report).not.toHaveProperty('accountId');
    expect(report.labels).toEqual([
      { source: 'deposits', name: '<b>', category: 'EXCHANGE', threatLevel: 'LOW' },
    ]);
    const again = await ask('POST', PATH, { reason: 'again', source: 'deposits' });
    expect(again.body.data).toMatchObject({ isNew: false, report: { id: report.id } });
    expect((await ask('GET', '/label-reports')).body.data).toMatchObject({
      reports: [{ id: report.id }],
      hasMore: false,
    });
    expect((await ask('GET', '/label-reports', undefined, other)).body.data.reports).toEqual([]);
    const entries = world.access.audit().newest(10);
    expect(entries.filter(({ action }) => action === 'label.report')).toMatchObject([
      { accountId: 'a', subject: report.id, detail: `ETH ${ADDRESS} deposits` },
    ]);
    await store.decide(report.id, 'ACCEPTED', 'corrected');
    expect((await ask('GET', '/label-reports?state=ACCEPTED')).body.data.reports).toMatchObject([
      { id: report.id, note: 'corrected' },
    ]);
    expect((await ask('GET', '/label-reports?state=OPEN')).body.data.reports).toEqual([]);
  });

  it.each([
    [{}, /^reason is required/],
    [{ reason: '' }, /^reason: /],
    [{ reason: '  ' }, /^reason: /],
    [{ reason: 'a\u0000b' }, /^reason: /],
    [{ reason: 'a\u202eb' }, /^reason: /],
    [{ reason: 'x'.repeat(ATTRIBUTION_LIMITS.reportReasonCharsMax + 1) }, /^reason: /],
    [{ reason: 7 }, /^reason: /],
    [{ reason: 'x', source: '' }, /^source: /],
  ])('are refused without a usable field, case %#', async (body, message) => {
    const before = store.openCount();
    const answer = await ask('POST', PATH, body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(message)]);
    expect(store.openCount()).toBe(before);
  });

  async function session(email: string): Promise<{ cookie: string; origin: string }> {
    const { token } = await world.access.people().login(email, PASSWORD, '127.0.0.1');
    return { cookie: `assay_session=${token}`, origin: world.url };
  }
  async function decide(id: string, body: unknown, headers: Record<string, string>) {
    const response = await fetch(`${world.url}/api/v1/operator/label-reports/${id}/decision`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
    return { status: response.status, body: (await response.json()) as any };
  }

  it('are decided by operators, who stay unknown to the account that filed them', async () => {
    const people = world.access.people();
    const staff = (await people.create('staff@example.org', PASSWORD, 'FREE')).id;
    await people.create('customer@example.org', PASSWORD, 'FREE');
    const asCustomer = await session('customer@example.org');
    const file = async (source: string): Promise<string> =>
      (await ask('POST', PATH, { reason: 'ours', source })).body.data.report.id;
    const id = await file('seed');
    const accept = { state: 'ACCEPTED', reason: ' signed ', category: 'DONATION', name: 'A Foundation' };
    for (const headers of [asCustomer, await session('staff@example.org')])
      expect((await decide(id, accept, headers)).status).toBe(403);
    expect((await decide(id, accept, { authorization: `Bearer ${key}` })).status).toBe(401);
    expect(decided).toEqual([]);

    await world.access.keys.setOperator(staff, true);
    const asStaff = await session('staff@example.org');
    for (const [body, field] of [
      [{ ...accept, reason: 'a\u202eb' }, 'reason'],
      [{ ...accept, name: 'a\u0000b' }, 'name'],
      [{ ...accept, category: 'NONE' }, 'category'],
      [{ ...accept, state: 'OPEN' }, 'state'],
      [{ ...accept, corrects: ['SCAM', 'NONE'] }, 'corrects'],
      [{ ...accept, state: 'REJECTED' }, 'category'],
    ] as const)
      expect(await decide(id, body, asStaff)).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(new RegExp(`^${field}\\b`)) },
      });
    expect(decided).toEqual([]);
    expect((await decide('rpt_x', accept, asStaff)).status).toBe(404);

    const accepted = await decide(id, accept, asStaff);
    expect(accepted).toMatchObject({
      status: 200,
      body: {
        data: {
          report: { id, accountId: 'a', state: 'ACCEPTED', note: 'signed' },
          dispute: { category: 'DONATION', reason: 'signed' },
        },
      },
    });
    expect(decided).toEqual([{ category: 'DONATION', name: 'A Foundation' }]);
    expect((await decide(id, accept, asStaff)).status).toBe(400);

    const rejected = await decide(await file('ofac'), { state: 'REJECTED', reason: 'it is' }, asStaff);
    expect(rejected.body.data).toMatchObject({ report: { state: 'REJECTED', note: 'it is' }, dispute: null });
    const entries = world.access.audit().newest(6);
    expect(entries.map(({ action, accountId }) => `${action} ${accountId}`)).toEqual([
      'label.decide a',
      `label.decide ${staff}`,
      'label.report a',
      'label.decide a',
      `label.decide ${staff}`,
      `label.dispute ${staff}`,
    ]);
    expect(entries.at(-1)).toMatchObject({ who: staff, subject: `ETH ${ADDRESS}` });
    for (const one of entries.filter(
      ({ action, accountId }) => action === 'label.decide' && accountId === 'a',
    ))
      expect(one).toMatchObject({ who: 'operator', from: 'operators of the service' });
  });

  it('need the permission intel, and the list of all accounts needs an operator', async () => {
    const plain = await world.key({ accountId: 'a', permissions: ['monitoring'] });
    expect((await ask('POST', PATH, { reason: 'x' }, plain)).status).toBe(403);
    expect((await ask('GET', '/label-reports', undefined, plain)).status).toBe(403);
    expect((await ask('GET', '/operator/label-reports')).status).toBe(401);
  });
});
