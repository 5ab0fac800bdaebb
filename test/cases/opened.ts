/** Cases over a store of their own, for tests of their callers: without records of monitoring, on the clock of the system. */
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCases } from '../../src/cases/cases.ts';
import type { CaseService } from '../../src/cases/service.ts';
import type { CaseStore } from '../../src/cases/store.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';

/** Opens the store in a folder. The caller closes it. */
export function openedCases(folder: string): { readonly store: CaseStore; readonly cases: CaseService } {
  const store = openCaseStore({ path: join(folder, 'cases.mdb') }, { clock: systemClock });
  const records = { alert: () => null, wallet: () => null, screening: () => null };
  return {
    store,
    cases: createCases({ fourEyes: false }, { store, records, clock: systemClock, random: systemRandom }),
  };
}
