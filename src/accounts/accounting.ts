/** What is counted and charged of an account: rates, quotas and credits, and the gate before them. Here over the files of this machine. */
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
  /** Opened when first asked for. Throws what opening throws; a later call tries again. */
  ledger(): Ledger;
  close(): Promise<void>;
}

/** What an account may take, as its keys and plan say now. */
export interface Allowances {
  /** Requests in any 60 seconds of a key (or another subject) and class. */
  readonly rateOf: (subject: string, rateClass: RateClass) => number;
  /** Units a month; null is unlimited. */
  readonly quotaOf: (accountId: string, meter: QuotaMeterName) => number | null;
  /** Free credits a month. */
  readonly freeCredits: (accountId: string) => number;
  /** Changes when an answer of the first two may have changed. */
  readonly generation: () => number;
}

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
