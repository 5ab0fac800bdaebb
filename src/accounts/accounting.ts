/**
 * Counts and charges accounts: rate limits, quotas and credits, and the gate before them. This implementation uses the files of this
 * machine.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Gate, GateRequest } from './gate.ts';
import { createEmbeddedGate } from './gate-embedded.ts';
import type { Ledger } from './ledger.ts';
import { type EmbeddedLedger, openLedger } from './ledger-lmdb.ts';
import type { QuotaMeterName, RateClass } from './plans.ts';
import type { QuotaMeter } from './quota.ts';
import { openQuotaMeter } from './quota-lmdb.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import { allocateSharedCounters, type SharedCounterMemory, type SharedPlace } from './shared-counters.ts';

/** Counters of this process that its other threads count in as well, so that every thread enforces the same limits. */
export interface SharedCounting {
  readonly memory: SharedCounterMemory;
  /** Moves the counters of a request to the memory; null of a counter for which there is no place, or that the request does not need. */
  share(request: Pick<GateRequest, 'rate' | 'accountId' | 'quota'>): SharedCounts;
  /** Starts a lease of quota units, if few are left. */
  leaseMore(accountId: string, meter: QuotaMeterName): void;
}

/** Places of the counters of a request. */
export interface SharedCounts {
  readonly window: SharedPlace | null;
  readonly units: SharedPlace | null;
}

export interface Accounting {
  readonly gate: Gate;
  readonly limiter: RateLimiter;
  readonly quota: QuotaMeter;
  /** Null if no other thread counts. */
  readonly sharing: SharedCounting | null;
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

/**
 * Opens quotas, rate limits and the ledger in `folder`.
 *
 * @param options.isShared - other threads count as well
 */
export function openAccounting(
  { folder, isShared = false }: { readonly folder: string; readonly isShared?: boolean },
  deps: Allowances & { readonly clock: Clock; readonly log: Logger },
): Accounting {
  const memory = isShared ? allocateSharedCounters() : null;
  const quota = openQuotaMeter(
    { path: join(folder, 'quotas.mdb'), shared: memory },
    { ...deps, limitOf: deps.quotaOf },
  );
  const limiter = createRateLimiter({ shared: memory }, { ...deps, limitOf: deps.rateOf });
  let opened: EmbeddedLedger | null = null;
  const ledger = (): EmbeddedLedger => {
    opened ??= openLedger({ path: join(folder, 'ledger.mdb') }, deps);
    return opened;
  };
  return {
    gate: createEmbeddedGate({ limiter, quota, ledger }),
    limiter,
    quota,
    sharing:
      memory === null
        ? null
        : {
            memory,
            share: ({ rate, accountId, quota: wanted }) => ({
              window: rate === null ? null : limiter.share(rate.subject, rate.rateClass),
              units: accountId === null || wanted === null ? null : quota.share(accountId, wanted.meter),
            }),
            leaseMore: (accountId, meter) => quota.leaseMore(accountId, meter),
          },
    ledger,
    async close() {
      await opened?.close();
      await quota.close();
    },
  };
}
