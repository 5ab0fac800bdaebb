/**
 * Bounds the share of this thread that an account takes with requests that cost neither credits nor quota. Rate limits are those of one key or
 * session, an account may have many of them, and this thread answers the requests of all accounts.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { HTTP_LIMITS } from '../limits.ts';

/** The work of an account that its share has not covered yet. */
interface Debt {
  ms: number;
  atMs: number;
}

export class FreeWork {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #debts = new Map<string, Debt>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Runs a step of a free request, and counts its time. Short steps are not counted: the rate limits bound them.
   *
   * @param accountId - null for a client without an account, which is not counted
   * @throws OVERLOADED if the account has used up its share
   */
  run<T>(accountId: string | null, work: () => T): T {
    if (accountId === null) return work();
    const startedMs = this.#clock.monotonic();
    this.#require(accountId, startedMs);
    try {
      return work();
    } finally {
      const ms = this.#clock.monotonic() - startedMs;
      if (ms >= HTTP_LIMITS.freeWorkStepMs) this.#add(accountId, ms);
    }
  }

  /** Returns the debt of an account now; undefined if its share has covered all. */
  #debt(accountId: string, nowMs: number): Debt | undefined {
    const debt = this.#debts.get(accountId);
    if (debt === undefined) return undefined;
    debt.ms -= ((nowMs - debt.atMs) / 1_000) * HTTP_LIMITS.freeWorkMsPerSecond;
    debt.atMs = nowMs;
    if (debt.ms > 0) return debt;
    this.#debts.delete(accountId);
    return undefined;
  }

  #require(accountId: string, nowMs: number): void {
    const debt = this.#debt(accountId, nowMs);
    if (debt === undefined || debt.ms < HTTP_LIMITS.freeWorkMsMax) return;
    const over = debt.ms - HTTP_LIMITS.freeWorkMsMax;
    throw new AssayError('OVERLOADED', 'The free requests of this account take too much work; send fewer.', {
      retryAfterSeconds: 1 + Math.ceil(over / HTTP_LIMITS.freeWorkMsPerSecond),
    });
  }

  #add(accountId: string, ms: number): void {
    const nowMs = this.#clock.monotonic();
    const debt = this.#debt(accountId, nowMs);
    if (debt !== undefined) debt.ms += ms;
    else {
      // Accounts in debt are few: each has just taken milliseconds of this thread. Those that are not any more are dropped here.
      if (this.#debts.size >= HTTP_LIMITS.freeWorkAccountsMax)
        for (const other of [...this.#debts.keys()]) this.#debt(other, nowMs);
      this.#debts.set(accountId, { ms, atMs: nowMs });
    }
  }
}
