/** The gate over accounts of this machine. */
import { join } from 'node:path';
import { createEmbeddedGate } from '../../src/accounts/gate-embedded.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { openQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import { createRateLimiter } from '../../src/accounts/rate-limit.ts';
import { silentLogger } from '../../src/base/log.ts';
import { gateConformance } from '../conformance/gate.ts';
import { tempFolder } from './temp-folder.ts';

gateConformance('LMDB', async () => {
  const folder = tempFolder();
  const world = { now: Date.UTC(2026, 10, 21) };
  const deps = {
    clock: { now: () => world.now, monotonic: () => world.now },
    log: silentLogger,
    generation: () => 0,
  };
  const limiter = createRateLimiter({}, { ...deps, limitOf: () => 3 });
  const quota = openQuotaMeter({ path: join(folder.path, 'quotas.mdb') }, { ...deps, limitOf: () => 5 });
  const ledger = openLedger({ path: join(folder.path, 'ledger.mdb') }, { ...deps, freeCredits: () => 10 });
  return Object.assign(world, {
    gate: createEmbeddedGate({ limiter, quota, ledger: () => ledger }),
    ledger,
    quota,
    async dispose() {
      await ledger.close();
      await quota.close();
      folder.remove();
    },
  });
});
