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

describe('reports on labels over HTTP', () => {
  let world: World;
  let store: ReportStore;
  let key: string;
  let other: string;
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

  it('need the permission intel, and the list of all accounts needs an operator', async () => {
    const plain = await world.key({ accountId: 'a', permissions: ['monitoring'] });
    expect((await ask('POST', PATH, { reason: 'x' }, plain)).status).toBe(403);
    expect((await ask('GET', '/label-reports', undefined, plain)).status).toBe(403);
    expect((await ask('GET', '/operator/label-reports')).status).toBe(401);
  });
});
