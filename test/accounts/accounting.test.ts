/** Opening and closing quotas and the ledger of a folder together. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openAccounting } from '../../src/accounts/accounting.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { tempFolder } from './temp-folder.ts';

const folder = tempFolder();
afterAll(() => folder.remove());

const open = () =>
  openAccounting(
    { folder: folder.path },
    {
      clock: systemClock,
      log: silentLogger,
      rateOf: () => 10,
      quotaOf: () => 1_000,
      freeCredits: () => 10,
      generation: () => 0,
    },
  );

it('has stored the units that were used, and closed both files, when close resolves', async () => {
  const first = open();
  for (let call = 0; call < 3; call++) await first.quota.take('a', 'intel', 1);
  await first.ledger().book({ accountId: 'a', type: 'GRANT', amount: 5, reference: null });
  await first.close();
  // Checksums are written when a store is closed.
  for (const name of ['quotas.mdb-sums', 'ledger.mdb-sums'])
    expect(existsSync(join(folder.path, name))).toBe(true);
  const second = open();
  expect(await second.quota.take('a', 'intel', 1)).toMatchObject({ ok: true, remaining: 996 });
  expect(await second.ledger().balance('a')).toMatchObject({ granted: 5 });
  await second.close();
});
