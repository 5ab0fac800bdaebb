/** Puts the accounts of one process together: who is this key, may it ask now, has its account any quota or credits left. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { readCreditTerms } from './credits.ts';
import type { KeyRecord, KeyStore } from './keys.ts';
import { openKeyStore } from './keys-lmdb.ts';
import type { Ledger } from './ledger.ts';
import { openLedger } from './ledger-lmdb.ts';
import { type Plans, type RateOverrides, readPlans } from './plans.ts';
import type { QuotaMeter } from './quota.ts';
import { openQuotaMeter } from './quota-lmdb.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';

export interface Access {
  readonly keys: KeyStore;
  readonly limiter: RateLimiter;
  readonly quota: QuotaMeter;
  /** The ledger of credits, opened when first asked for. Throws what opening throws; a later call tries again. */
  ledger(): Ledger;
  /** The active key that a text is, or null: 401. */
  verify(token: string): KeyRecord | null;
  close(): Promise<void>;
}

export interface AccessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Default: data/plans.json. */
  readonly plans?: Plans;
  /** Free credits a month of an account. Default: those of data/plans.json for every account. */
  readonly freeCredits?: (accountId: string) => number;
}

/** Opens keys and quotas in `folder`. Throws STORE_VERSION, STORE_CORRUPT, INVALID_CONFIG. */
export function createAccess(options: { folder: string }, deps: AccessDeps): Access {
  const plans = deps.plans ?? readPlans();
  const keys = openKeyStore({ path: join(options.folder, 'keys.mdb') }, deps);
  const generation = (): number => keys.generation();
  const planOf = (accountId: string) => plans[keys.planOf(accountId) ?? 'FREE'];
  const quota = openQuotaMeter(
    { path: join(options.folder, 'quotas.mdb') },
    { ...deps, generation, limitOf: (accountId, meter) => planOf(accountId).quotas[meter] },
  );
  const limiter = createRateLimiter(
    {},
    {
      ...deps,
      generation,
      limitOf: (keyId, rateClass) => {
        const key = keys.get(keyId);
        const own: RateOverrides = key?.rateLimits ?? {};
        return own[rateClass] ?? plans[key?.plan ?? 'FREE'].rateLimits[rateClass];
      },
    },
  );
  const { freeCreditsPerMonth } = readCreditTerms();
  const freeCredits = deps.freeCredits ?? (() => freeCreditsPerMonth);
  let ledger: Ledger | null = null;
  return {
    keys,
    limiter,
    quota,
    ledger() {
      ledger ??= openLedger({ path: join(options.folder, 'ledger.mdb') }, { ...deps, freeCredits });
      return ledger;
    },
    verify: (token) => keys.verify(token),
    async close() {
      await ledger?.close();
      await quota.close();
      await keys.close();
    },
  };
}
