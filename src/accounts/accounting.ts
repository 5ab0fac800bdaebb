/**
 * Counts and charges accounts: rate limits, quotas and credits, and the gate before them. This implementation uses the files of this
 * machine.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Gate } from './gate.ts';
import { createEmbeddedGate } from './gate-embedded.ts';
import type { Ledger } from './ledger.ts';
import { type EmbeddedLedger, openLedger } from './ledger-lmdb.ts';
import type { QuotaMeterName, RateClass } from './plans.ts';
import type { QuotaMeter } from './quota.ts';
import { openQuotaMeter } from './quota-lmdb.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';

export interface Accounting {
  readonly gate: Gate;
  readonly limiter: RateLimiter;
  readonly quota: QuotaMeter;
  /** Opened at the first call. Throws the error of opening; a later call tries again. */
  ledger(): Ledger;
  close(): Promise<void>;
}

/** The limits of an account, as its keys and plan currently define them. */
export interface Allowances {
  /** Requests in any 60 seconds for a key (or another subject) and class. */
  readonly rateOf: (subject: string, rateClass: RateClass) => number;
  /** Units per month; null for unlimited. */
  readonly quotaOf: (accountId: string, meter: QuotaMeterName) => number | null;
  /** Free credits per month of a balance, by its id in the ledger. */
  readonly freeCredits: (balance: string) => number;
  /** Changes when a result of `rateOf` or `quotaOf` may have changed. */
  readonly generation: () => number;
}

/** Opens quotas, rate limits and the ledger in `folder`. */
export function openAccounting(
  { folder }: { readonly folder: string },
  deps: Allowances & { readonly clock: Clock; readonly log: Logger },
): Accounting {
  const quota = openQuotaMeter({ path: join(folder, 'quotas.mdb') }, { ...deps, limitOf: deps.quotaOf });
  const limiter = createRateLimiter({}, { ...deps, limitOf: deps.rateOf });
  let opened: EmbeddedLedger | null = null;
  const ledger = (): EmbeddedLedger => {
    opened ??= openLedger({ path: join(folder, 'ledger.mdb') }, deps);
    return opened;
  };
  return {
    gate: createEmbeddedGate({ limiter, quota, ledger }),
    limiter,
    quota,
    ledger,
    async close() {
      await opened?.close();
      await quota.close();
    },
  };
}
