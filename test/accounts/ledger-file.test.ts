/** The accounts of a folder as a command reads them, to copy them to Redis. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openAccountsFile } from '../../src/accounts/ledger-file.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { tempFolder } from './temp-folder.ts';

const folder = tempFolder();
afterAll(() => folder.remove());

it('sums a large ledger while other work of the process goes on, and reports its progress', async () => {
  const path = join(folder.path, 'ledger.mdb');
  const ledger = openLedger({ path }, { clock: systemClock, log: silentLogger, freeCredits: () => 0 });
  const grants = 5_001;
  await Promise.all(
    Array.from({ length: grants }, (_, at) =>
      ledger.book({ accountId: `a${at % 3}`, type: 'GRANT', amount: 2, reference: null, once: `g${at}` }),
    ),
  );
  await ledger.close();
  const file = openAccountsFile({ folder: folder.path });
  const seen: string[] = [];
  const sums = await file.sums((done) => {
    seen.push(String(done));
    setImmediate(() => seen.push('other work'));
  });
  expect(seen).toEqual(['5000', 'other work', '5001', 'other work']);
  expect([...sums.values()].map(({ entries, sum }) => [entries, sum])).toEqual(Array(3).fill([1667, 3334]));
  for (const each of file.files) await each.close();
});
