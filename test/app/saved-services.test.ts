/** What a server adds to saved screenings: versions of lists, charges, and deletions in the audit log. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { listVersions, savedScreeningsOf, screeningRetentionOf } from '../../src/app/saved-services.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ListFreshness } from '../../src/labels/freshness.ts';
import { SAVED_KINDS } from '../../src/saved-screenings/records.ts';
import type { SavedStore } from '../../src/saved-screenings/store.ts';
import { openSavedStore } from '../../src/saved-screenings/store-lmdb.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

const DAY_MS = 86_400_000;
const freshness = {
  lists: { OFAC_SDN: { publishedAt: '2026-11-20', checkedAt: '2026-11-23T00:00:00Z', records: 1 } },
} as unknown as ListFreshness;

describe('the services of saved screenings', () => {
  let folder: TempFolder;
  let access: Access;
  let store: SavedStore;
  let nowMs = 0;
  const clock = { now: () => nowMs, monotonic: () => systemClock.monotonic() };
  const deps = { clock, random: systemRandom, log: silentLogger };
  const accounts = { savedStore: () => store, access: () => access, redis: null };

  beforeEach(() => {
    nowMs = Date.parse('2026-11-23T10:00:00Z');
    folder = tempFolder();
    access = createAccess({ folder: folder.path }, deps);
    store = openSavedStore({ path: `${folder.path}/screenings.mdb` }, { clock });
  });
  afterEach(async () => {
    await store.close();
    await access.close();
    folder.remove();
  });

  async function save(): Promise<string> {
    const saved = savedScreeningsOf({ version: '3.1.4', freshness: () => freshness }, { accounts, ...deps });
    const data = Buffer.from(
      `{"address":"0x${'1'.repeat(40)}","chain":"ETH","riskScore":1,"riskLevel":"LOW"}`,
    );
    const { body } = await saved.save(
      { accountId: 'acc', who: 'key_1' },
      { kind: 'SCREENING', request: {}, data },
      { type: 'SCREENING', amount: 1, reference: 'screening x', keep: null, ignored: null },
      () => {},
    );
    const { screeningId } = JSON.parse(Buffer.from(body).toString()).data;
    expect(saved.one('acc', SAVED_KINDS, screeningId).softwareVersion).toBe('3.1.4');
    return screeningId;
  }

  it('charge each screening once, and record the version of every list', async () => {
    const id = await save();
    const { history } = await access.ledger().usage('acc', { limit: 10 });
    expect(history.filter(({ reference }) => reference === 'screening x')).toMatchObject([
      { type: 'SCREENING', amount: -1 },
    ]);
    const lists = store.get('acc', id)?.lists ?? [];
    expect(lists.map(({ list }) => list)).toEqual([...LISTS.ids]);
    expect(lists).toEqual(listVersions(freshness));
    expect(lists.filter(({ checkedAt }) => checkedAt !== null)).toEqual([
      { list: 'OFAC_SDN', publishedAt: '2026-11-20', checkedAt: '2026-11-23T00:00:00Z' },
    ]);
  });

  it('delete nothing without a setting, and log each deletion with one', async () => {
    const id = await save();
    expect(screeningRetentionOf({ screeningRetentionDays: null }, { accounts, ...deps })).toBeNull();
    nowMs += 30 * DAY_MS;
    const retention = screeningRetentionOf({ screeningRetentionDays: 30 }, { accounts, ...deps });
    expect(await retention?.look()).toBe(0);
    nowMs += 1;
    expect(await retention?.look()).toBe(1);
    await retention?.stop();
    expect(store.get('acc', id)).toBeNull();
    expect(access.audit().newest(10)).toMatchObject([
      {
        ...{ action: 'screening.delete', who: 'retention', accountId: 'acc', subject: id },
        detail: 'SCREENING of ETH, ASSAY_SCREENING_RETENTION_DAYS 30',
      },
    ]);
  });
});
