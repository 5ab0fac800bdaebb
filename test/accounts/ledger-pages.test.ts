import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EMPTY_HEAD } from '../../src/accounts/ledger-entry.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { LedgerPages } from '../../src/accounts/ledger-pages.ts';
import { LedgerStore } from '../../src/accounts/ledger-store.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';
import { objectText } from '../../src/base/kept-json.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { tempFolder } from './temp-folder.ts';

const folders = [tempFolder(), tempFolder()] as const;
afterAll(() => {
  for (const { remove } of folders) remove();
});

const DAY_MS = 86_400_000;

describe('kept pages of usage', () => {
  it('equal those of a ledger that was just opened, whatever was booked in between', async () => {
    const path = join(folders[0].path, 'ledger.mdb');
    let now = Date.UTC(2026, 8, 1);
    const deps = {
      clock: { now: () => now, monotonic: () => now },
      log: silentLogger,
      freeCredits: () => 5,
    };
    const ledger = openLedger({ path }, deps);
    const next = seededUint32(3);
    const limits = [1, 7, 50, 100];
    for (let round = 0; round < 60; round++) {
      for (let count = next() % 12; count > 0; count--) {
        const accountId = `a${next() % 3}`;
        await ledger.book({ accountId, type: 'GRANT', amount: 1 + (next() % 9), reference: 'é "x"' });
      }
      const fresh = openLedger({ path }, deps);
      for (const accountId of ['a0', 'a1', 'a2', 'nobody'])
        for (const limit of [limits[next() % 4] as number, 7]) {
          const page = await ledger.usage(accountId, { limit });
          const expected = await fresh.usage(accountId, { limit });
          expect(page).toEqual(expected);
          expect(objectText(page)).toBe(JSON.stringify(expected));
          expect(objectText(await ledger.usage(accountId, { limit }))).toBe(JSON.stringify(expected));
          if (page.nextCursor === null) continue;
          const later = { limit, cursor: page.nextCursor };
          expect(await ledger.usage(accountId, later)).toEqual(await fresh.usage(accountId, later));
        }
      await fresh.close();
      // A day may pass, and the clock may go back.
      now += [0, 1_000, DAY_MS, 3 * DAY_MS, -DAY_MS][next() % 5] as number;
    }
    await ledger.close();
  });

  it('are at most as many entries as the limit allows', async () => {
    const path = join(folders[1].path, 'ledger.mdb');
    const clock = { now: () => Date.UTC(2026, 8, 1), monotonic: () => 0 };
    const ledger = openLedger({ path }, { clock, log: silentLogger, freeCredits: () => 0 });
    await Promise.all(
      Array.from({ length: 100 }, () =>
        ledger.book({ accountId: 'a', type: 'GRANT', amount: 1, reference: null }),
      ),
    );
    await ledger.close();
    const store = new LedgerStore(path, { onOwnCommitRead: () => {} });
    let reads = 0;
    const pages = new LedgerPages({
      readEntry: (sequence) => {
        reads++;
        return store.readEntry(sequence);
      },
    });
    const head = store.headOf('a');
    // Each name has the same hundred entries.
    const accounts = ACCOUNT_LIMITS.usageEntriesKept / 100;
    for (let at = 0; at <= accounts; at++) pages.first(`account ${at}`, head, 100);
    reads = 0;
    pages.first(`account ${accounts}`, head, 100);
    expect(reads).toBe(0);
    pages.first('account 0', head, 100);
    expect(reads).toBe(100);
    pages.first('account 2', head, 100);
    expect(reads).toBe(100);
    expect(pages.first('empty', EMPTY_HEAD, 100).history).toEqual([]);
    await store.close();
  });
});
