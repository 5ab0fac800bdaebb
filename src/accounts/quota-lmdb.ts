/**
 * The quota meter on LMDB. Units are leased from the store ahead of use and spent in memory. The store always counts leased units, so a
 * crash can only over-count (by at most one lease per account and meter, 1 % of the quota), never under-count. A clean close returns the
 * unspent lease, and the stored number is then exact. On a full disk units are counted in memory and written when there is space
 * (docs/decisions/full-disk.md).
 */
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { openLiveStore } from '../state/live-store.ts';
import type { Database, RootDatabase } from '../state/lmdb.ts';
import { isStorageFull } from '../state/storage.ts';
import type { CounterMemo } from './counter-memo.ts';
import type { QuotaMeterName } from './plans.ts';
import type { MonthUse, QuotaDecision, QuotaMeter } from './quota.ts';
import {
  type Counter,
  countersOf,
  type Month,
  monthEndOf,
  monthOf,
  monthsBetween,
} from './quota-counters.ts';
import { type SharedCounterMemory, type SharedPlace, SharedPlaces, SharedUnits } from './shared-counters.ts';

export const FORMAT_VERSION = 1;

/** Size of a lease as a share of the quota: the most that a crash costs an account. */
const LEASE_SHARE = 0.01;
/** Maximum lease, for an unlimited quota, which is only counted; at 1 M addresses/s that is ten commits per second. */
const LEASE_MAX = 100_000;
/** Pause between attempts to write to a disk that was full. */
const RETRY_MS = 1_000;

export interface QuotaMeterDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Units per month of an account; null for unlimited. */
  readonly limitOf: (accountId: string, meter: QuotaMeterName) => number | null;
  /** Changes when a result of `limitOf` may have changed. */
  readonly generation: () => number;
}

/** The units that an event took, and the month in which it took them. */
interface EventUnits {
  readonly month: string;
  readonly units: number;
}

/** Events are settled within days; they are deleted after this many months. */
const EVENT_MONTHS = 3;
/** Events whose age each settlement looks at, one after the other: their names are in no order of time. */
const EVENTS_LOOKED_AT = 8;
/**
 * Counters are deleted after this many months. Only those of the month decide; a year of them answers questions, and remains if the clock is
 * wrong by months for a while.
 */
const COUNTER_MONTHS = 13;
/** Counters that one commit returns or deletes: 2 ms of the main thread. */
const COUNTERS_AT_ONCE = 256;
/** Old counters are deleted this long after the start: commands of an operator end before. */
const PURGE_AFTER_MS = 60_000;

/** Returns the number of units that one lease takes from the store. */
const leaseOf = (limit: number | null): number =>
  limit === null ? LEASE_MAX : Math.min(LEASE_MAX, Math.max(1, Math.floor(limit * LEASE_SHARE)));

/** Returns the number of leased units below which the next lease begins; 0 if the quota is exhausted. */
const lowOf = ({ stored, limit }: Counter): number =>
  limit !== null && stored >= limit ? 0 : leaseOf(limit) / 2;

/** A meter that decides synchronously, from its memory and file. */
export interface EmbeddedQuotaMeter extends QuotaMeter {
  /**
   * Starts an asynchronous lease if `take` would otherwise need one, with a commit that blocks the thread; one commit serves many accounts.
   *
   * @returns null if `take` needs no commit; otherwise whether the lease was written, after which the caller must call this again. Never
   * rejects
   */
  leased(accountId: string, meter: QuotaMeterName, units: number): Promise<boolean> | null;
  take(accountId: string, meter: QuotaMeterName, units: number): QuotaDecision;
  /**
   * Does the work of `take` if that many units are leased to this thread alone; null if `leased` and `take` must decide.
   *
   * @param memo - remembers the counter of the account
   */
  takeLeased(
    accountId: string,
    meter: QuotaMeterName,
    units: number,
    memo?: CounterMemo | null,
  ): QuotaDecision | null;
  used(accountId: string, meter: QuotaMeterName): number;
  monthUse(accountId: string, meter: QuotaMeterName): MonthUse;
  /**
   * Moves the leased units of this month to memory from which other threads take as well.
   *
   * @returns null if there is no such memory, or it is full
   */
  share(accountId: string, meter: QuotaMeterName): SharedPlace | null;
  /** Starts a lease if few units are left: another thread has taken from them. */
  leaseMore(accountId: string, meter: QuotaMeterName): void;
}

/**
 * Opens the meter file at `path`.
 *
 * @param options.shared - memory of leased units from which other threads take as well. Default: none
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openQuotaMeter(
  options: { path: string; shared?: SharedCounterMemory | null },
  deps: QuotaMeterDeps,
): EmbeddedQuotaMeter {
  return new LmdbQuotaMeter(options, deps);
}

/** The counters of the current month, and the leases that feed them. */
class LmdbQuotaMeter implements EmbeddedQuotaMeter {
  readonly #deps: QuotaMeterDeps;
  readonly #root: RootDatabase;
  readonly #taken: Database<number, Counter['key']>;
  /** Name of an event → the units that it took. */
  readonly #events: Database<EventUnits, string>;
  /** The last event whose age was looked at; empty before the first. */
  #lookedTo = '';
  /** Leases in progress. */
  readonly #leases = new Set<Promise<unknown>>();
  readonly #owing = new Set<Counter>();
  #month: Month;
  /** True if the last lease failed because the disk is full; units are counted in memory until a lease is written again. */
  #isFull = false;
  #triedMs = Number.NEGATIVE_INFINITY;
  #retry: NodeJS.Timeout | null = null;
  /** Months that ended, whose unspent leases are not all returned yet. */
  readonly #ended: Month[] = [];
  /** Returns the leases of ended months, and deletes old counters; null while there is nothing to do. */
  #cleaning: Promise<void> | null = null;
  #isClosing = false;
  readonly #purge: NodeJS.Timeout;
  readonly #memory: SharedArrayBuffer | null;
  readonly #places: SharedPlaces | null;

  constructor({ path, shared = null }: Parameters<typeof openQuotaMeter>[0], deps: QuotaMeterDeps) {
    const { root } = openLiveStore(path, FORMAT_VERSION);
    this.#deps = deps;
    this.#memory = shared?.units ?? null;
    this.#places = shared === null ? null : new SharedPlaces(shared.units, 'units');
    this.#root = root;
    this.#taken = root.openDB({ name: 'taken', encoding: 'json' });
    this.#events = root.openDB({ name: 'events', encoding: 'json' });
    this.#month = monthOf(deps.clock.now());
    this.#purge = setTimeout(() => this.#clean(), PURGE_AFTER_MS);
    this.#purge.unref();
  }

  leased(accountId: string, meter: QuotaMeterName, units: number): Promise<boolean> | null {
    const counter = this.#counterOf(accountId, meter);
    return counter.shared === null
      ? this.#leased(counter, units)
      : this.#step(counter, () => this.#leased(counter, units));
  }

  #leased(counter: Counter, units: number): Promise<boolean> | null {
    const { spare, stored, limit } = counter;
    const isRefused = limit !== null && stored - spare + units > limit;
    if (spare >= units || isRefused || !this.#mayWrite(counter)) return null;
    return counter.leasing ?? this.#leaseAhead(counter, units - spare + leaseOf(limit));
  }

  take(accountId: string, meter: QuotaMeterName, units: number): QuotaDecision {
    const counter = this.#counterOf(accountId, meter);
    return counter.shared === null
      ? this.#take(counter, units)
      : this.#step(counter, () => this.#take(counter, units));
  }

  #take(counter: Counter, units: number): QuotaDecision {
    const used = counter.stored - counter.spare;
    if (counter.limit !== null && used + units > counter.limit) return this.#decision(counter, false);
    if (counter.spare < units) this.#leaseNow(counter, units);
    if (counter.spare < units) return this.#decision(counter, false);
    counter.spare -= units;
    this.#leaseIfLow(counter);
    return this.#decision(counter, true);
  }

  takeLeased(
    accountId: string,
    meter: QuotaMeterName,
    units: number,
    memo: CounterMemo | null = null,
  ): QuotaDecision | null {
    const counter = this.#counterOf(accountId, meter, memo);
    const { shared, stored, spare, limit } = counter;
    if (shared !== null || spare < units || (limit !== null && stored - spare + units > limit)) return null;
    counter.spare -= units;
    this.#leaseIfLow(counter);
    return this.#decision(counter, true);
  }

  #leaseIfLow(counter: Counter): void {
    if (counter.leasing === null && counter.spare < lowOf(counter) && this.#mayWrite(counter))
      void this.#leaseAhead(counter);
  }

  give(accountId: string, meter: QuotaMeterName, units: number): void {
    const counter = this.#currentMonth().counters[meter].get(accountId);
    if (counter === undefined) return;
    this.#step(counter, () => {
      counter.spare += Math.min(units, counter.stored - counter.spare);
    });
  }

  share(accountId: string, meter: QuotaMeterName): SharedPlace | null {
    const counter = this.#counterOf(accountId, meter);
    if (counter.shared !== null) return counter.shared.place;
    const place = this.#places?.assign() ?? null;
    if (place === null || this.#memory === null) return null;
    const shared = new SharedUnits(this.#memory, place);
    counter.shared = shared;
    this.#publish(counter);
    return place;
  }

  leaseMore(accountId: string, meter: QuotaMeterName): void {
    this.#step(this.#counterOf(accountId, meter), (counter) => this.#leaseIfLow(counter));
  }

  async settle(
    accountId: string,
    meter: QuotaMeterName,
    once: string,
    units: number,
  ): Promise<QuotaDecision> {
    const counter = this.#counterOf(accountId, meter);
    let ok = false;
    /** The change in memory, to revert it if the transaction is not written. */
    let moved = { stored: 0, spare: 0, owed: 0 };
    try {
      await this.#root.transaction(() =>
        this.#step(counter, () => {
          const { stored, spare, owed } = counter;
          ok = this.#settleEvent(counter, once, units);
          moved = {
            stored: stored - counter.stored,
            spare: spare - counter.spare,
            owed: owed - counter.owed,
          };
        }),
      );
    } catch (error) {
      this.#step(counter, () => {
        counter.stored += moved.stored;
        counter.spare += moved.spare;
        counter.owed += moved.owed;
      });
      throw error;
    }
    return this.#step(counter, () => this.#decision(counter, ok));
  }

  used(accountId: string, meter: QuotaMeterName): number {
    return this.#step(this.#counterOf(accountId, meter), ({ stored, spare }) => stored - spare);
  }

  monthUse(accountId: string, meter: QuotaMeterName): MonthUse {
    const used = this.used(accountId, meter);
    return { used, resetAt: this.#month.resetAt };
  }

  /**
   * Runs one synchronous step on a counter. Of a shared counter, this thread has all units during the step, and other threads have them
   * before and after it.
   */
  #step<T>(counter: Counter, step: (counter: Counter) => T): T {
    // A commit that blocks the thread may run the step of an earlier lease.
    if (counter.shared === null || counter.isInStep) return step(counter);
    counter.isInStep = true;
    counter.spare += counter.shared.collect();
    try {
      return step(counter);
    } finally {
      counter.isInStep = false;
      this.#publish(counter);
    }
  }

  /** Lets other threads take the units of a shared counter. */
  #publish(counter: Counter): void {
    const { shared, stored, spare: left, limit } = counter;
    if (shared === null) return;
    const endMs = monthEndOf(counter.key[0]);
    shared.publish({
      ...{ stored, left, limit, endMs },
      low: lowOf(counter),
      isWanted: counter.leasing !== null || this.#isFull,
    });
    counter.spare = 0;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#purge);
    if (this.#retry !== null) clearTimeout(this.#retry);
    await Promise.all(this.#leases);
    await this.#cleaning;
    this.#returnUnspent(
      new Set([...countersOf(this.#month), ...this.#ended.flatMap(countersOf), ...this.#owing]),
    );
    await this.#root.close();
  }

  /** Returns the current month. If the clock moves back to the previous month, the new month stays. */
  #currentMonth(): Month {
    const now = this.#deps.clock.now();
    if (now < this.#month.endMs) return this.#month;
    this.#ended.push(this.#month);
    this.#month = monthOf(now);
    this.#clean();
    return this.#month;
  }

  /** Begins to return the leases of ended months and to delete old counters, a few with each commit. */
  #clean(): void {
    this.#cleaning ??= this.#cleanAll()
      .catch((error: unknown) =>
        this.#deps.log.error({ reason: messageOf(error) }, 'quota counters of earlier months not cleaned up'),
      )
      .finally(() => {
        this.#cleaning = null;
      });
  }

  async #cleanAll(): Promise<void> {
    for (let month = this.#ended[0]; month !== undefined; month = this.#ended[0]) {
      for (const counters of Object.values(month.counters)) {
        let some: Counter[] = [];
        for (const counter of counters.values()) {
          if (some.push(counter) < COUNTERS_AT_ONCE) continue;
          await this.#returnEnded(some);
          some = [];
          if (this.#isClosing) return;
        }
        await this.#returnEnded(some);
      }
      this.#ended.shift();
    }
    for (let isMore = true; isMore && !this.#isClosing; ) isMore = await this.#deleteOld();
  }

  /** Returns the unspent leases of counters whose month has ended. If that fails, the next month or the end of the process tries again. */
  async #returnEnded(counters: readonly Counter[]): Promise<void> {
    const returned: { readonly counter: Counter; readonly spare: number; readonly owed: number }[] = [];
    try {
      await this.#root.transaction(() => {
        for (const counter of counters) {
          this.#unshare(counter);
          if (counter.spare === 0 && counter.owed === 0) continue;
          returned.push({ counter, spare: counter.spare, owed: counter.owed });
          this.#putReturned(counter);
          // At once: a lease that ends during the commit returns what it adds.
          counter.spare = 0;
          counter.owed = 0;
        }
      });
    } catch (error) {
      for (const { counter, spare, owed } of returned) {
        counter.spare += spare;
        counter.owed += owed;
        if (owed > 0) this.#oweUnits(counter);
      }
      throw error;
    }
  }

  /** Deletes some counters of months that are long past; returns whether more may remain. */
  async #deleteOld(): Promise<boolean> {
    const first = ([...this.#taken.getKeys({ limit: 1 })][0] as Counter['key'] | undefined)?.[0];
    if (first === undefined || monthsBetween(first, this.#month.name) <= COUNTER_MONTHS) return false;
    await this.#root.transaction(() => {
      for (const key of [...this.#taken.getKeys({ limit: COUNTERS_AT_ONCE })])
        if (monthsBetween(key[0], this.#month.name) > COUNTER_MONTHS) this.#taken.removeSync(key);
    });
    return true;
  }

  /** Takes the units of a shared counter back for good. */
  #unshare(counter: Counter): void {
    const { shared } = counter;
    if (shared === null) return;
    counter.spare += shared.collect();
    counter.shared = null;
    this.#places?.free(shared.place);
  }

  #counterOf(accountId: string, meter: QuotaMeterName, memo: CounterMemo | null = null): Counter {
    const month = this.#currentMonth();
    let counter = memo === null ? null : (memo.units as Counter | null);
    if (
      counter === null ||
      counter.month !== month ||
      counter.meter !== meter ||
      counter.accountId !== accountId
    ) {
      counter = this.#findCounter(month, accountId, meter);
      if (memo !== null) memo.units = counter;
    }
    const generation = this.#deps.generation();
    if (counter.generation !== generation) {
      counter.limit = this.#deps.limitOf(accountId, meter);
      counter.generation = generation;
    }
    return counter;
  }

  /** Looks a counter up, or creates it. */
  #findCounter(month: Month, accountId: string, meter: QuotaMeterName): Counter {
    const { name, counters } = month;
    let counter = counters[meter].get(accountId);
    if (counter === undefined) {
      const key: Counter['key'] = [name, accountId, meter];
      const stored = this.#taken.get(key) ?? 0;
      counter = {
        key,
        accountId,
        meter,
        month,
        stored,
        spare: 0,
        coming: 0,
        owed: 0,
        settling: 0,
        leasing: null,
        limit: 0,
        generation: -1,
        shared: null,
        isInStep: false,
      };
      counters[meter].set(accountId, counter);
    }
    return counter;
  }

  /**
   * Must run inside a transaction. Adds `units` to the store, as far as the limit allows, and records them in `coming`. Another process may
   * have leased units as well, so the stored number decides. Owed units are written in the same step.
   */
  #lease(counter: Counter, units: number): void {
    const stored = (this.#taken.get(counter.key) ?? 0) + counter.owed;
    const granted = counter.limit === null ? units : Math.max(0, Math.min(units, counter.limit - stored));
    if (granted + counter.owed > 0) this.#taken.putSync(counter.key, stored + granted);
    counter.settling += counter.owed;
    counter.owed = 0;
    counter.stored = stored - counter.coming;
    counter.coming += granted;
  }

  /** Adds a lease to the spendable units, after its commit. */
  #receiveLease(counter: Counter): void {
    counter.stored += counter.coming;
    counter.spare += counter.coming;
    counter.coming = 0;
    counter.settling = 0;
    if (this.#isFull) this.#deps.log.info('quota writes resumed');
    this.#isFull = false;
  }

  /** Logs the reason why a lease was not written, once until a lease is written again. */
  #leaseFailed(error: unknown): void {
    if (!this.#isFull) this.#deps.log.error({ reason: messageOf(error) }, 'quota lease not written');
    this.#isFull = isStorageFull(error);
    this.#triedMs = this.#deps.clock.monotonic();
  }

  /**
   * On a full disk not every request tries to write: a failed commit costs more than many responses. No request writes while a lease is in
   * progress, because it is unknown whether the store has it.
   */
  #mayWrite(counter: Counter): boolean {
    if (!this.#isFull) return true;
    return counter.leasing === null && this.#deps.clock.monotonic() - this.#triedMs >= RETRY_MS;
  }

  /** Leases ahead, so that the next requests find units in memory. Resolves with whether the lease was written; never rejects. */
  #leaseAhead(counter: Counter, units = leaseOf(counter.limit)): Promise<boolean> {
    /** The change in memory, to revert it if the lease is not written. */
    let moved = 0;
    const done = this.#root
      .transaction(() =>
        this.#step(counter, () => {
          const before = counter.stored;
          this.#lease(counter, units);
          moved = counter.stored - before;
        }),
      )
      .then(() => {
        this.#step(counter, () => this.#receiveLease(counter));
        if (counter.key[0] !== this.#month.name) this.#returnUnspent([counter]);
        return true;
      })
      .catch((error: unknown) => {
        this.#step(counter, () => {
          counter.stored -= moved;
          counter.owed += counter.settling;
          counter.settling = 0;
          counter.coming = 0;
        });
        this.#leaseFailed(error);
        if (counter.owed > 0) this.#oweUnits(counter);
        return false;
      })
      .finally(() => {
        counter.leasing = null;
        this.#leases.delete(done);
        // Threads ask for the next lease again.
        if (counter.shared !== null) this.#step(counter, () => {});
      });
    counter.leasing = done;
    this.#leases.add(done);
    return done;
  }

  /**
   * Leases synchronously, for a request that needs more than is left in memory. Blocks for one durable commit; an earlier lease is then on
   * the disk as well, even if its promise has not resolved yet. On a full disk the units are owed instead: the limit still holds, and they
   * are written when there is space.
   */
  #leaseNow(counter: Counter, units: number): void {
    const missing = units - counter.spare;
    const before = { ...counter };
    if (this.#mayWrite(counter)) {
      try {
        this.#root.transactionSync(() => this.#lease(counter, missing + leaseOf(counter.limit)));
        this.#receiveLease(counter);
        return;
      } catch (error) {
        Object.assign(counter, before);
        this.#leaseFailed(error);
        if (!this.#isFull) throw error;
      }
    }
    counter.stored += missing;
    counter.spare += missing;
    counter.owed += missing;
    this.#oweUnits(counter);
  }

  /** Writes owed units as soon as there is space, without a request. */
  #oweUnits(counter: Counter): void {
    this.#owing.add(counter);
    if (this.#retry !== null) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      const counters = [...this.#owing];
      this.#owing.clear();
      for (const late of counters) {
        if (late.owed === 0) continue;
        if (late.leasing !== null) this.#oweUnits(late);
        else void this.#leaseAhead(late, 0);
      }
    }, RETRY_MS);
    this.#retry.unref();
  }

  /** Returns unspent leases to the store, and writes owed units. On a full disk this happens later. */
  #returnUnspent(counters: Iterable<Counter>): void {
    const settled: Counter[] = [];
    const all = [...counters];
    for (const counter of all) counter.spare += counter.shared?.collect() ?? 0;
    try {
      this.#root.transactionSync(() => {
        for (const counter of all) {
          if (counter.spare === 0 && counter.owed === 0) continue;
          this.#putReturned(counter);
          settled.push(counter);
        }
      });
    } catch (error) {
      if (!isStorageFull(error)) throw error;
      for (const counter of settled) if (counter.owed > 0) this.#oweUnits(counter);
      this.#deps.log.error({ reason: messageOf(error) }, 'unspent quota units not returned');
      return;
    }
    for (const counter of settled) {
      counter.spare = 0;
      counter.owed = 0;
    }
  }

  /** Must run inside a transaction. Takes the unspent lease of a counter from the stored number, and adds what it owes. */
  #putReturned({ key, spare, owed }: Counter): void {
    const stored = (this.#taken.get(key) ?? 0) + owed - spare;
    this.#taken.putSync(key, Math.max(0, stored));
  }

  /** Must run inside a transaction. Deletes the old ones among the next few events. */
  #deleteOldEvents(month: string): void {
    const rows = [...this.#events.getRange({ start: this.#lookedTo, limit: EVENTS_LOOKED_AT })];
    for (const { key, value } of rows)
      if (monthsBetween(value.month, month) > EVENT_MONTHS) this.#events.removeSync(key);
    this.#lookedTo = rows.length < EVENTS_LOOKED_AT ? '' : (rows.at(-1)?.key ?? '');
  }

  /** Must run inside a transaction: see `settle` of `QuotaMeter`. Returns false if the quota is not sufficient. */
  #settleEvent(counter: Counter, once: string, units: number): boolean {
    const [name, ...rest] = counter.key;
    this.#deleteOldEvents(name);
    const before = this.#events.get(once) ?? { month: name, units: 0 };
    const missing = units - before.units;
    if (missing === 0) return true;
    const key: Counter['key'] = [before.month, ...rest];
    let stored = this.#taken.get(key) ?? 0;
    if (before.month === name) {
      // Unspent units of our lease are available for this event.
      stored += counter.owed - counter.spare;
      const used = stored - counter.coming;
      if (missing > 0 && counter.limit !== null && used + missing > counter.limit) return false;
      counter.spare = 0;
      counter.owed = 0;
      counter.stored = Math.max(0, used + missing);
    }
    this.#taken.putSync(key, Math.max(0, stored + missing));
    this.#events.putSync(once, { month: before.month, units });
    return true;
  }

  #decision(counter: Counter, ok: boolean): QuotaDecision {
    const { limit } = counter;
    const remaining = limit === null ? null : Math.max(0, limit - (counter.stored - counter.spare));
    return { ok, limit, remaining, resetAt: this.#month.resetAt };
  }
}
