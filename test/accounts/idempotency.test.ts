import { join } from 'node:path';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { silentLogger } from '../../src/base/log.ts';
import { idempotencyConformance } from '../conformance/idempotency.ts';
import { tempFolder } from './temp-folder.ts';

idempotencyConformance('LMDB', async () => {
  const folder = tempFolder();
  const world = {
    now: 0,
    freeCredits: 10,
    open: () =>
      openLedger(
        { path: join(folder.path, 'ledger.mdb') },
        {
          clock: { now: () => world.now, monotonic: () => 0 },
          log: silentLogger,
          freeCredits: () => world.freeCredits,
        },
      ),
    dispose: async () => folder.remove(),
  };
  return world;
});
