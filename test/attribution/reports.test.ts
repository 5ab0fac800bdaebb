import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ATTRIBUTION_LIMITS } from '../../src/attribution/limits.ts';
import { openReportStore, type ReportDraft, type ReportStore } from '../../src/attribution/reports.ts';
import { systemRandom } from '../../src/base/random.ts';

let folder: string;
let store: ReportStore;
let now = Date.parse('2026-11-27T00:00:00Z');
const clock = { now: () => now++, monotonic: () => now };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-reports-'));
  store = openReportStore({ path: join(folder, 'reports.mdb') }, { clock, random: systemRandom });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const draft = (accountId: string, number: number): ReportDraft => ({
  ...{ accountId, chain: 'ETH', address: `0x${number.toString(16).padStart(40, '0')}` },
  ...{ source: 'deposits', reason: 'our donation wallet' },
});

describe('reports on labels', () => {
  it('are listed newest first, page by page, and of one account only if one is named', async () => {
    const filed = [];
    for (let number = 1; number <= 5; number++)
      filed.push((await store.file(draft(number % 2 === 0 ? 'a' : 'b', number))).report.id);
    const first = store.list(null, { limit: 3 });
    expect(first.reports.map(({ id }) => id)).toEqual(filed.slice(2).reverse());
    const second = store.list(null, { limit: 3, cursor: first.nextCursor as string });
    expect([second.reports.map(({ id }) => id), second.nextCursor]).toEqual([
      filed.slice(0, 2).reverse(),
      null,
    ]);
    expect(store.list('a', { limit: 10 }).reports.map(({ id }) => id)).toEqual([filed[3], filed[1]]);
    expect(store.list('c', { limit: 10 }).reports).toEqual([]);
    expect(() => store.list(null, { limit: 3, cursor: '../a' })).toThrow(/^cursor: /);
  });

  it('are read in steps, which end after a number of them', async () => {
    const filed = [];
    for (let number = 1; number <= 5; number++) filed.push((await store.file(draft('a', number))).report.id);
    await store.decide(filed[1] as string, 'REJECTED', null);
    const step = (cursor?: string) =>
      store.list(null, {
        limit: 9,
        state: 'REJECTED',
        readMax: 2,
        ...(cursor === undefined ? {} : { cursor }),
      });
    expect(step()).toEqual({ reports: [], nextCursor: filed[3] });
    expect(step(filed[3])).toMatchObject({ reports: [{ id: filed[1] }], nextCursor: filed[1] });
    expect(step(filed[1])).toEqual({ reports: [], nextCursor: null });
  });

  it('are not filed twice while one is open, and can be filed again once it is decided', async () => {
    const { report, isNew } = await store.file(draft('a', 1));
    expect(isNew).toBe(true);
    expect(await store.file({ ...draft('a', 1), reason: 'again' })).toEqual({ report, isNew: false });
    expect((await store.file({ ...draft('a', 1), source: null })).isNew).toBe(true);
    expect(store.openCount()).toBe(2);
    const decided = await store.decide(report.id, 'REJECTED', 'the exchange confirmed it');
    expect(decided).toMatchObject({ state: 'REJECTED', note: 'the exchange confirmed it' });
    expect(decided.decidedAt).not.toBeNull();
    expect(() => store.requireOpen(report.id)).toThrow(/already REJECTED/);
    expect(() => store.requireOpen('rpt_x')).toThrow(/no report/);
    await expect(store.decide(report.id, 'ACCEPTED', null)).rejects.toThrow(/already REJECTED/);
    await expect(store.decide('rpt_x', 'ACCEPTED', null)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await store.file(draft('a', 1))).isNew).toBe(true);
    expect(store.list('a', { limit: 10, state: 'REJECTED' }).reports).toEqual([decided]);
  });

  it('are bounded for each account, which takes nothing from the others', async () => {
    const most = ATTRIBUTION_LIMITS.openReportsPerAccountMax;
    for (let number = 0; number < most; number++) await store.file(draft('a', number));
    await expect(store.file(draft('a', most))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    // The same labels again are no new report.
    expect((await store.file(draft('a', 0))).isNew).toBe(false);
    expect((await store.file(draft('b', 0))).isNew).toBe(true);
    expect(store.openCount()).toBe(most + 1);
  });
});
