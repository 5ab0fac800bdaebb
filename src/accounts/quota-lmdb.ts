/**
 * The meter of quotas on LMDB. Units are leased from the store ahead of use and spent in memory: the store always counts what
 * was leased, so a crash can only over-count (by at most one lease an account and meter, 1 % of the quota), never under-count;
 * a clean close gives the unspent lease back, and the stored number is exactly what was taken. On a full disk units are counted in
 * memory and written when there is room (docs/decisions/full-disk.md).
 */
import type { Clock } from '../base/clock.ts';
import { isoTime } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { openLiveStore } from '../base/live-store.ts';
import type { Database } from '../base/lmdb.ts';
import type { Logger } from '../base/log.ts';
import { isStorageFull } from '../base/storage.ts';
import type { QuotaMeterName } from './plans.ts';
import type { QuotaDecision, QuotaMeter } from './quota.ts';

export const FORMAT_VERSION = 1;

/** A lease is this share of the quota: what a crash may cost an account. */
const LEASE_SHARE = 0.01;
/** Of an unlimited quota, which is counted for its own sake; at 1 M addresses/s that is ten commits a second. */
const LEASE_MAX = 100_000;
/** Between two attempts to write to a disk that was full. */
const RETRY_MS = 1_000;

export interface QuotaMeterDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Units a month of an account; null is unlimited. */
  readonly limitOf: (accountId: string, meter: QuotaMeterName) => number | null;
  /** Changes when an answer of `limitOf` may have changed. */
  readonly generation: () => number;
}

/** One account's month on one meter. */
interface Counter {
  readonly key: [month: string, accountId: string, meter: QuotaMeterName];
  /** Units that the store counts, our unspent lease among them but for `coming`, as last seen. */
  stored: number;
  /** Leased units that nobody took yet. */
  spare: number;
  /** Units of a lease that is written, and not known to be on the disk. */
  coming: number;
  /** Units that were taken while the store could not be written, which it does not count yet; `stored` does. */
  owed: number;
  /** Of them, those that a lease is writing. */
  settling: number;
  /** A lease on its way to the disk: resolves with whether it was written; null if there is none. Never rejects. */
  leasing: Promise<boolean> | null;
  limit: number | null;
  generation: number;
}

/** What an event took, and in which month. */
interface Taken {
  readonly month: string;
  readonly units: number;
}

interface Month {
  /** `2026-11`. */
  readonly name: string;
  readonly startMs: number;
  /** First instant of the next month. */
  readonly endMs: number;
  readonly resetAt: string;
  readonly counters: Readonly<Record<QuotaMeterName, Map<string, Counter>>>;
}

/** The UTC calendar month that holds an instant. */
function monthOf(epochMs: number): Month {
  const name = isoTime(epochMs).slice(0, 7);
  const [year, month] = name.split('-').map(Number) as [number, number];
  const endMs = Date.UTC(year, month, 1);
  return {
    name,
    startMs: Date.UTC(year, month - 1, 1),
    endMs,
    resetAt: isoTime(endMs),
    counters: { intel: new Map(), oracle: new Map() },
  };
}

const countersOf = ({ counters }: Month): Counter[] => [
  ...counters.intel.values(),
  ...counters.oracle.values(),
];

/** Events are settled within days; they are forgotten after this many months, a few with each new one. */
const EVENT_MONTHS = 3;
const EVENTS_FORGOTTEN = 8;

function monthsBetween(earlier: string, later: string): number {
  const count = (name: string): number => Number(name.slice(0, 4)) * 12 + Number(name.slice(5));
  return count(later) - count(earlier);
}

const leaseOf = (limit: number | null): number =>
  limit === null ? LEASE_MAX : Math.min(LEASE_MAX, Math.max(1, Math.floor(limit * LEASE_SHARE)));

/** A meter that answers from its own memory and file, at once. */
export interface EmbeddedQuotaMeter extends QuotaMeter {
  /**
   * Begins to lease what `take` would have to lease at once, with a commit that holds the thread up: of many accounts in one commit.
   *
   * @returns null if `take` needs no commit; otherwise whether the lease was written, after which it is to be asked again. Never rejects
   */
  leased(accountId: string, meter: QuotaMeterName, units: number): Promise<boolean> | null;
  take(accountId: string, meter: QuotaMeterName, units: number): QuotaDecision;
  used(accountId: string, meter: QuotaMeterName): number;
}

/** Opens the meter at `path`, a file. Throws STORE_VERSION, STORE_CORRUPT. */
export function openQuotaMeter(options: { path: string }, deps: QuotaMeterDeps): EmbeddedQuotaMeter {
  const { root } = openLiveStore(options.path, FORMAT_VERSION);
  const taken: Database<number, Counter['key']> = root.openDB({ name: 'taken', encoding: 'json' });
  /** Name of an event → what it took. */
  const events: Database<Taken, string> = root.openDB({ name: 'events', encoding: 'json' });
  const pending = new Set<Promise<unknown>>();
  let month = monthOf(deps.clock.now());

  /** The month of now. A clock that jumps back over the turn of a month does not bring the old one back. */
  function currentMonth(): Month {
    const now = deps.clock.now();
    if (now < month.endMs) return month;
    settle(countersOf(month));
    month = monthOf(now);
    return month;
  }

  function counterOf(accountId: string, meter: QuotaMeterName): Counter {
    const { name, counters } = currentMonth();
    let counter = counters[meter].get(accountId);
    if (counter === undefined) {
      const key: Counter['key'] = [name, accountId, meter];
      const stored = taken.get(key) ?? 0;
      counter = {
        key,
        stored,
        spare: 0,
        coming: 0,
        owed: 0,
        settling: 0,
        leasing: null,
        limit: 0,
        generation: -1,
      };
      counters[meter].set(accountId, counter);
    }
    const generation = deps.generation();
    if (counter.generation !== generation) {
      counter.limit = deps.limitOf(accountId, meter);
      counter.generation = generation;
    }
    return counter;
  }

  /**
   * Inside a transaction: moves the store by `units`, as far as the limit lets it, and notes them as coming. Another process may have
   * leased beside this one: the store's number decides. What is owed is written with it.
   */
  function lease(counter: Counter, units: number): void {
    const stored = (taken.get(counter.key) ?? 0) + counter.owed;
    const granted = counter.limit === null ? units : Math.max(0, Math.min(units, counter.limit - stored));
    if (granted + counter.owed > 0) taken.putSync(counter.key, stored + granted);
    counter.settling += counter.owed;
    counter.owed = 0;
    counter.stored = stored - counter.coming;
    counter.coming += granted;
  }

  /** Adds what was leased, once it is on the disk. */
  function received(counter: Counter): void {
    counter.stored += counter.coming;
    counter.spare += counter.coming;
    counter.coming = 0;
    counter.settling = 0;
    if (isFull) deps.log.info('quota: the disk takes writes again');
    isFull = false;
  }

  /** Whether the last lease was refused by a full disk; units are counted in memory until a lease is written again. */
  let isFull = false;
  let triedMs = Number.NEGATIVE_INFINITY;
  const owing = new Set<Counter>();
  let retry: NodeJS.Timeout | null = null;

  /** Says once why a lease was not written, until one is written again. */
  function notLeased(error: unknown): void {
    if (!isFull) deps.log.error(`quota: a lease was not written: ${messageOf(error)}`);
    isFull = isStorageFull(error);
    triedMs = deps.clock.monotonic();
  }

  /**
   * A full disk is not asked again by each request: a commit that fails costs more than many answers. Nor while a lease is on its way,
   * of which is not known whether the store has it.
   */
  const mayWrite = (counter: Counter): boolean =>
    !isFull || (counter.leasing === null && deps.clock.monotonic() - triedMs >= RETRY_MS);

  /** Leases ahead, so that the next requests find units in memory. Resolves with whether it was written, and never rejects. */
  function leaseAhead(counter: Counter, units = leaseOf(counter.limit)): Promise<boolean> {
    /** What the transaction moved in memory, to be moved back if it is not written. */
    let moved = 0;
    const done = root
      .transaction(() => {
        const before = counter.stored;
        lease(counter, units);
        moved = counter.stored - before;
      })
      .then(() => {
        received(counter);
        if (counter.key[0] !== month.name) settle([counter]);
        return true;
      })
      .catch((error: unknown) => {
        counter.stored -= moved;
        counter.owed += counter.settling;
        counter.settling = 0;
        counter.coming = 0;
        notLeased(error);
        if (counter.owed > 0) owe(counter);
        return false;
      })
      .finally(() => {
        counter.leasing = null;
        pending.delete(done);
      });
    counter.leasing = done;
    pending.add(done);
    return done;
  }

  /**
   * Leases at once, for a request that needs more than is left in memory. Blocks for one durable commit, behind which an earlier lease is
   * on the disk as well, though its own promise has not said so yet. On a full disk the units are owed instead: the limit holds, and
   * they are written when there is room.
   */
  function leaseNow(counter: Counter, units: number): void {
    const missing = units - counter.spare;
    const before = { ...counter };
    if (mayWrite(counter)) {
      try {
        root.transactionSync(() => lease(counter, missing + leaseOf(counter.limit)));
        received(counter);
        return;
      } catch (error) {
        Object.assign(counter, before);
        notLeased(error);
        if (!isFull) throw error;
      }
    }
    counter.stored += missing;
    counter.spare += missing;
    counter.owed += missing;
    owe(counter);
  }

  /** Writes what is owed as soon as there is room, without a request. */
  function owe(counter: Counter): void {
    owing.add(counter);
    if (retry !== null) return;
    retry = setTimeout(() => {
      retry = null;
      const counters = [...owing];
      owing.clear();
      for (const late of counters) {
        if (late.owed === 0) continue;
        if (late.leasing !== null) owe(late);
        else void leaseAhead(late, 0);
      }
    }, RETRY_MS);
    retry.unref();
  }

  /** Gives unspent leases back, and writes what is owed. On a full disk, later. */
  function settle(counters: Iterable<Counter>): void {
    const settled: Counter[] = [];
    try {
      root.transactionSync(() => {
        for (const counter of counters) {
          if (counter.spare === 0 && counter.owed === 0) continue;
          const stored = (taken.get(counter.key) ?? 0) + counter.owed - counter.spare;
          taken.putSync(counter.key, Math.max(0, stored));
          settled.push(counter);
        }
      });
    } catch (error) {
      if (!isStorageFull(error)) throw error;
      for (const counter of settled) if (counter.owed > 0) owe(counter);
      deps.log.error(`quota: unspent units were not given back: ${messageOf(error)}`);
      return;
    }
    for (const counter of settled) {
      counter.spare = 0;
      counter.owed = 0;
    }
  }

  /** Inside a transaction: see `settle` of the port. False where the quota does not suffice. */
  function settleEvent(counter: Counter, once: string, units: number): boolean {
    const [name, ...rest] = counter.key;
    for (const { key, value } of [...events.getRange({ limit: EVENTS_FORGOTTEN })])
      if (monthsBetween(value.month, name) > EVENT_MONTHS) events.removeSync(key);
    const before = events.get(once) ?? { month: name, units: 0 };
    const missing = units - before.units;
    if (missing === 0) return true;
    const key: Counter['key'] = [before.month, ...rest];
    let stored = taken.get(key) ?? 0;
    if (before.month === name) {
      // What nobody took yet of our lease may be taken for this.
      stored += counter.owed - counter.spare;
      const used = stored - counter.coming;
      if (missing > 0 && counter.limit !== null && used + missing > counter.limit) return false;
      counter.spare = 0;
      counter.owed = 0;
      counter.stored = Math.max(0, used + missing);
    }
    taken.putSync(key, Math.max(0, stored + missing));
    events.putSync(once, { month: before.month, units });
    return true;
  }

  function decision(counter: Counter, ok: boolean): QuotaDecision {
    const { limit } = counter;
    const remaining = limit === null ? null : Math.max(0, limit - (counter.stored - counter.spare));
    return { ok, limit, remaining, resetAt: month.resetAt };
  }

  return {
    leased(accountId, meter, units) {
      const counter = counterOf(accountId, meter);
      const { spare, stored, limit } = counter;
      const isRefused = limit !== null && stored - spare + units > limit;
      if (spare >= units || isRefused || !mayWrite(counter)) return null;
      return counter.leasing ?? leaseAhead(counter, units - spare + leaseOf(limit));
    },
    take(accountId, meter, units) {
      const counter = counterOf(accountId, meter);
      const used = counter.stored - counter.spare;
      if (counter.limit !== null && used + units > counter.limit) return decision(counter, false);
      if (counter.spare < units) leaseNow(counter, units);
      if (counter.spare < units) return decision(counter, false);
      counter.spare -= units;
      const exhausted = counter.limit !== null && counter.stored >= counter.limit;
      const isLow = counter.spare < leaseOf(counter.limit) / 2;
      if (counter.leasing === null && !exhausted && isLow && mayWrite(counter)) void leaseAhead(counter);
      return decision(counter, true);
    },
    give(accountId, meter, units) {
      const counter = currentMonth().counters[meter].get(accountId);
      if (counter !== undefined) counter.spare += Math.min(units, counter.stored - counter.spare);
    },
    async settle(accountId, meter, once, units) {
      const counter = counterOf(accountId, meter);
      let ok = false;
      /** What the transaction moved in memory, to be moved back if it is not written. */
      let moved = { stored: 0, spare: 0, owed: 0 };
      try {
        await root.transaction(() => {
          const { stored, spare, owed } = counter;
          ok = settleEvent(counter, once, units);
          moved = {
            stored: stored - counter.stored,
            spare: spare - counter.spare,
            owed: owed - counter.owed,
          };
        });
      } catch (error) {
        counter.stored += moved.stored;
        counter.spare += moved.spare;
        counter.owed += moved.owed;
        throw error;
      }
      return decision(counter, ok);
    },
    used(accountId, meter) {
      const counter = counterOf(accountId, meter);
      return counter.stored - counter.spare;
    },
    async close() {
      if (retry !== null) clearTimeout(retry);
      await Promise.all(pending);
      settle(new Set([...countersOf(month), ...owing]));
      await root.close();
    },
  };
}
