/**
 * The gate of a thread beside the main thread. It counts requests in the memory that all threads share, and asks the main thread whenever only
 * that can decide: at the first request of a key, after keys or plans have changed, and if too few units are leased. Its decisions are
 * those that the gate of the main thread would make.
 */
import type { Awaitable } from '../base/awaitable.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { SharedCounts } from './accounting.ts';
import type { Admission, Gate, GateRequest } from './gate.ts';
import type { QuotaMeterName, RateClass } from './plans.ts';
import type { QuotaDecision } from './quota.ts';
import { checkWindow, type RateDecision, rateLimited, refusalOf, uncountIn } from './rate-limit.ts';
import { type SharedCounterMemory, type SharedPlace, SharedUnits, SharedWindow } from './shared-counters.ts';

/** The main thread, as the gate of another thread sees it. Messages arrive in the order in which they were sent. */
export interface MainCounting {
  /** Decides as the gate of the main thread, and shares the counters. Rejects with the error of that gate. */
  admit(request: GateRequest, monotonicMs: number): Promise<{ admission: Admission; counts: SharedCounts }>;
  leaseMore(accountId: string, meter: QuotaMeterName): void;
  give(accountId: string, meter: QuotaMeterName, units: number): void;
  uncount(subject: string, rateClass: RateClass, second: number): void;
}

export interface ThreadGateDeps {
  readonly clock: Clock;
  readonly memory: SharedCounterMemory;
  readonly main: MainCounting;
  /** Requests in any 60 seconds, by the keys and plans that this thread reads. */
  readonly rateOf: (subject: string, rateClass: RateClass) => number;
  /** Changes when keys or plans have changed. */
  readonly generation: () => number;
}

/** Units of an account, and the generation of the keys at which the main thread last knew its quota. */
interface KnownUnits {
  readonly units: SharedUnits;
  readonly generation: number;
}

/** Places that a thread remembers of each kind: all of them. After that it asks again. */
const KNOWN_MAX = 65_536;

/** Remembers a value of a pair of names. */
class Pairs<First extends string, V> {
  readonly #byFirst = new Map<First, Map<string, V>>();
  #size = 0;

  get(first: First, second: string): V | undefined {
    return this.#byFirst.get(first)?.get(second);
  }

  set(first: First, second: string, value: V): void {
    if (this.#size >= KNOWN_MAX) {
      this.#byFirst.clear();
      this.#size = 0;
    }
    let inner = this.#byFirst.get(first);
    if (inner === undefined) {
      inner = new Map();
      this.#byFirst.set(first, inner);
    }
    if (!inner.has(second)) this.#size++;
    inner.set(second, value);
  }

  delete(first: First, second: string): void {
    if (this.#byFirst.get(first)?.delete(second)) this.#size--;
  }
}

/** See the module. `give` is the part of a quota meter that a request needs behind the gate. */
export class ThreadGate implements Gate {
  readonly #deps: ThreadGateDeps;
  readonly #windows = new Pairs<RateClass, SharedWindow>();
  readonly #units = new Pairs<QuotaMeterName, KnownUnits>();
  #reset = { endMs: Number.NaN, at: '' };

  constructor(deps: ThreadGateDeps) {
    this.#deps = deps;
  }

  refuses(subject: string, rateClass: RateClass, monotonicMs: number): RateDecision | null {
    const window = this.#locked(subject, rateClass);
    if (window === null) return null;
    try {
      return refusalOf(window, monotonicMs, this.#deps.clock);
    } finally {
      window.unlock();
    }
  }

  uncount(subject: string, rateClass: RateClass, countedSecond: number): void {
    const window = this.#locked(subject, rateClass);
    if (window === null) {
      this.#deps.main.uncount(subject, rateClass, countedSecond);
      return;
    }
    try {
      uncountIn(window, countedSecond);
    } finally {
      window.unlock();
    }
  }

  /** Counts a request; returns null if the window of its key is not known. */
  #count(subject: string, rateClass: RateClass, monotonicMs: number): RateDecision | null {
    const window = this.#locked(subject, rateClass);
    if (window === null) return null;
    try {
      return checkWindow(window, monotonicMs, this.#deps.clock);
    } finally {
      window.unlock();
    }
  }

  admit(request: GateRequest, monotonicMs: number): Awaitable<Admission> {
    const { rate, accountId, slot, quota, credits } = request;
    if (slot !== null || credits !== null) return this.#ask(request, monotonicMs);
    let counted: RateDecision | null = null;
    if (rate !== null) {
      counted = this.#count(rate.subject, rate.rateClass, monotonicMs);
      if (counted === null) return this.#ask(request, monotonicMs);
      if (!counted.allowed) return admissionOf(counted, null, rateLimited(counted));
    }
    if (accountId === null || quota === null) return admissionOf(counted, null, null);
    const taken = this.#take(accountId, quota.meter, quota.units);
    if (taken !== null) return admissionOf(counted, taken, null);
    return this.#ask({ ...request, rate: null }, monotonicMs).then((admission) => ({
      ...admission,
      rate: counted,
    }));
  }

  /** Returns units that a request took and did not use. */
  give(accountId: string, meter: QuotaMeterName, units: number): void {
    const known = this.#units.get(meter, accountId);
    if (known?.units.give(units, this.#deps.clock.now()) !== true)
      this.#deps.main.give(accountId, meter, units);
  }

  /** Returns null if only the main thread can decide. */
  #take(accountId: string, meter: QuotaMeterName, units: number): QuotaDecision | null {
    const known = this.#units.get(meter, accountId);
    if (known === undefined || known.generation !== this.#deps.generation()) return null;
    const taken = known.units.take(units, this.#deps.clock.now());
    if (taken === null) return null;
    if (taken.isLow) this.#deps.main.leaseMore(accountId, meter);
    if (taken.endMs !== this.#reset.endMs) this.#reset = { endMs: taken.endMs, at: isoTime(taken.endMs) };
    return { ok: true, limit: taken.limit, remaining: taken.remaining, resetAt: this.#reset.at };
  }

  /** Locks the window of a key, with the limit in force; returns null if the window is not known. The caller unlocks it. */
  #locked(subject: string, rateClass: RateClass): SharedWindow | null {
    const window = this.#windows.get(rateClass, subject);
    if (window === undefined) return null;
    const generation = this.#deps.generation();
    if (window.generation !== generation) {
      window.limit = this.#deps.rateOf(subject, rateClass);
      window.generation = generation;
    }
    if (window.lock()) return window;
    this.#windows.delete(rateClass, subject);
    return null;
  }

  async #ask(request: GateRequest, monotonicMs: number): Promise<Admission> {
    // The main thread reads keys and plans after it receives the request, so it knows at least this generation.
    const generation = this.#deps.generation();
    const { admission, counts } = await this.#deps.main.admit(request, monotonicMs);
    const { rate, accountId, quota } = request;
    if (rate !== null && counts.window !== null) this.#learnWindow(rate, counts.window);
    if (accountId !== null && quota !== null && counts.units !== null)
      this.#learnUnits(accountId, quota.meter, counts.units, generation);
    return admission;
  }

  #learnWindow({ subject, rateClass }: NonNullable<GateRequest['rate']>, place: SharedPlace): void {
    const known = this.#windows.get(rateClass, subject)?.place;
    if (known?.at === place.at && known.owner === place.owner) return;
    this.#windows.set(rateClass, subject, new SharedWindow(this.#deps.memory.windows, place));
  }

  #learnUnits(accountId: string, meter: QuotaMeterName, place: SharedPlace, generation: number): void {
    const units = new SharedUnits(this.#deps.memory.units, place);
    this.#units.set(meter, accountId, { units, generation });
  }
}

const admissionOf = (
  rate: RateDecision | null,
  quota: QuotaDecision | null,
  refused: Admission['refused'],
): Admission => ({ rate, storedAnswer: null, quota, reservation: null, refused });
