/** Counts and charges accounts in Redis, shared by all nodes. */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { RedisStore } from '../../state/redis.ts';
import type { Accounting, Allowances } from '../accounting.ts';
import { createAccountSteps } from './account-steps.ts';
import { createRedisGate } from './gate.ts';
import { createRedisLedger } from './ledger.ts';
import { createRedisQuotaMeter } from './quota.ts';
import { createRateWindows, createRedisRateLimiter } from './rate-limit.ts';

export interface RedisAccountingDeps extends Allowances {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Returns the account of a key; null if the subject is not a key. */
  readonly accountOf: (subject: string) => string | null;
  /** Replaces the server's own clock, in tests. */
  readonly time?: Clock;
}

/** Creates rate limits, quotas and the ledger over Redis. */
export function createRedisAccounting(deps: RedisAccountingDeps): Accounting {
  const steps = createAccountSteps(deps);
  const windows = createRateWindows({ ...deps, steps, limitOf: deps.rateOf });
  const limiter = createRedisRateLimiter(windows, { ...deps, steps });
  const quota = createRedisQuotaMeter({ ...deps, steps, limitOf: deps.quotaOf });
  const ledger = createRedisLedger({ ...deps, steps });
  return {
    gate: createRedisGate({ ...deps, steps, windows, ledger: () => ledger }),
    limiter,
    quota,
    sharing: null,
    ledger: () => ledger,
    async close() {
      await ledger.close();
      await quota.close();
    },
  };
}
