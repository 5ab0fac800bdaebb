/** The order of the steps of a purchase that is undone. */
import { expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { StagedPurchases } from '../../src/base/staged-purchases.ts';

it('refunds an abandoned purchase before its row is removed, and keeps the row if it could not', async () => {
  const steps: string[] = [];
  let isDown = false;
  const purchases = new StagedPurchases<string>(
    {
      ...{ what: 'record', graceMs: 0, lookRows: 1 },
      describe: (id) => ({ id, stagedAtMs: 0, isRepeatable: false, isAbandoned: true }),
    },
    {
      rows: {
        activate: async () => false,
        abandon: async () => true,
        remove: async (row) => void steps.push(`remove ${row}`),
        list: () => [],
      },
      billing: {
        charge: () => Promise.reject(new Error('unused')),
        async refund(row) {
          steps.push(`begin ${row}`);
          await new Promise((resolve) => setImmediate(resolve));
          if (isDown) throw new Error('the ledger is away');
          steps.push(`refund ${row}`);
        },
      },
      clock: { now: () => 0, monotonic: () => 0 },
      log: silentLogger,
      onActive: () => {},
    },
  );
  await purchases.discard('a');
  isDown = true;
  await expect(purchases.discard('b')).rejects.toThrow('the ledger is away');
  expect(steps).toEqual(['begin a', 'refund a', 'remove a', 'begin b']);
});
