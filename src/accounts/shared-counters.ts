/**
 * Rate limit windows and leased units of quotas in memory that several threads of one process share. The main thread owns the memory: it
 * assigns every place to one window or one counter, and frees it. Other threads count in a place as long as its owner is the one that they
 * were told; each step holds the lock of its place. Why: docs/decisions/acceptors.md.
 */
import { giveLock, takeLock } from '../base/shared-lock.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

/** A place in the memory. A place that was freed and assigned again has another owner number. */
export interface SharedPlace {
  readonly at: number;
  readonly owner: number;
}

/** The memory of all places, sent to each thread at its start. */
export interface SharedCounterMemory {
  readonly windows: SharedArrayBuffer;
  readonly units: SharedArrayBuffer;
}

const LOCK = 0;
const OWNER = 1;
const OWNER_MAX = 2 ** 31 - 1;

/** Words of a window before its 64 counters. */
const NEWEST = 2;
const OLDEST = 3;
const TOTAL = 4;
const WINDOW_HEAD = 8;
const WINDOW_COUNTS = 64;
const WINDOW_WORDS = WINDOW_HEAD + WINDOW_COUNTS;

/** Words of leased units, and numbers behind them. */
const WANTED = 2;
const UNITS_WORDS = 16;
const STORED = 2;
const LEFT = 3;
const LIMIT = 4;
const END_MS = 5;
const LOW = 6;

/** Allocates the memory. Pages that were never used take no memory of the machine. */
export const allocateSharedCounters = (): SharedCounterMemory => ({
  windows: new SharedArrayBuffer(ACCOUNT_LIMITS.sharedWindowsMax * WINDOW_WORDS * 4),
  units: new SharedArrayBuffer(ACCOUNT_LIMITS.sharedUnitsMax * UNITS_WORDS * 4),
});

/** Assigns the places of one kind. Only the thread that owns the memory has it. */
export class SharedPlaces {
  readonly #words: Int32Array;
  readonly #wordsEach: number;
  readonly #free: number[] = [];
  /** Words that were ever assigned. */
  #used = 0;
  #owners = 0;

  constructor(memory: SharedArrayBuffer, kind: 'windows' | 'units') {
    this.#words = new Int32Array(memory);
    this.#wordsEach = kind === 'windows' ? WINDOW_WORDS : UNITS_WORDS;
  }

  /** Returns an empty place, or null if all are assigned. */
  assign(): SharedPlace | null {
    let at = this.#free.pop();
    if (at === undefined) {
      at = this.#used;
      if (at + this.#wordsEach > this.#words.length) return null;
      this.#used += this.#wordsEach;
    }
    this.#owners = (this.#owners % OWNER_MAX) + 1;
    this.#words.fill(0, at + OWNER + 1, at + this.#wordsEach);
    Atomics.store(this.#words, at + OWNER, this.#owners);
    return { at, owner: this.#owners };
  }

  /**
   * Frees a place. Threads that still know it notice that its owner has changed. The caller must hold no lock of it.
   *
   * @param isUnused - asked under the lock of the place. Default: it is.
   * @returns False if it is in use, and keeps its owner.
   */
  free({ at }: SharedPlace, isUnused: () => boolean = () => true): boolean {
    takeLock(this.#words, at + LOCK);
    try {
      if (!isUnused()) return false;
      Atomics.store(this.#words, at + OWNER, 0);
    } finally {
      giveLock(this.#words, at + LOCK);
    }
    this.#free.push(at);
    return true;
  }
}

/** The last minute of one key and class in shared memory. Its fields are read and written only under its lock. */
export class SharedWindow {
  readonly counts: Uint32Array;
  /** Limit of this thread's last look at the plan, and the generation of that look. */
  limit = 0;
  generation = -1;
  readonly #words: Int32Array;
  readonly #place: SharedPlace;

  constructor(memory: SharedArrayBuffer, place: SharedPlace) {
    this.#words = new Int32Array(memory, place.at * 4, WINDOW_HEAD);
    this.counts = new Uint32Array(memory, (place.at + WINDOW_HEAD) * 4, WINDOW_COUNTS);
    this.#place = place;
  }

  get place(): SharedPlace {
    return this.#place;
  }

  get newest(): number {
    return this.#words[NEWEST] as number;
  }

  set newest(second: number) {
    this.#words[NEWEST] = second;
  }

  get oldest(): number {
    return this.#words[OLDEST] as number;
  }

  set oldest(second: number) {
    this.#words[OLDEST] = second;
  }

  get total(): number {
    return this.#words[TOTAL] as number;
  }

  set total(count: number) {
    this.#words[TOTAL] = count;
  }

  /** Takes the lock; returns false without it, if the place has another owner. */
  lock(): boolean {
    takeLock(this.#words, LOCK);
    if (this.#words[OWNER] === this.#place.owner) return true;
    giveLock(this.#words, LOCK);
    return false;
  }

  unlock(): void {
    giveLock(this.#words, LOCK);
  }
}

/** State of a quota counter that its owner publishes. */
export interface PublishedUnits {
  /** Units that the store counts, including the leased ones. */
  readonly stored: number;
  /** Leased units that any thread may take. */
  readonly left: number;
  readonly limit: number | null;
  /** End of the month of these units. */
  readonly endMs: number;
  /** With fewer units left, a thread asks the owner for the next lease. */
  readonly low: number;
  /** The owner needs no such request now. */
  readonly isWanted: boolean;
}

/** Leased units of one account and meter in shared memory. */
export class SharedUnits {
  readonly place: SharedPlace;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;

  constructor(memory: SharedArrayBuffer, place: SharedPlace) {
    this.place = place;
    this.#words = new Int32Array(memory, place.at * 4, WANTED + 1);
    this.#numbers = new Float64Array(memory, place.at * 4, UNITS_WORDS / 2);
  }

  /** Runs `step` under the lock; returns null without running it, if the place has another owner. */
  #locked<T>(step: () => T): T | null {
    takeLock(this.#words, LOCK);
    try {
      return this.#words[OWNER] === this.place.owner ? step() : null;
    } finally {
      giveLock(this.#words, LOCK);
    }
  }

  /** Takes all units that are left, so that only the owner has units until it publishes again. */
  collect(): number {
    return (
      this.#locked(() => {
        const left = this.#numbers[LEFT] as number;
        this.#numbers[LEFT] = 0;
        return left;
      }) ?? 0
    );
  }

  /** Publishes the state, and adds the units of `left` to those that other threads may take. */
  publish({ stored, left, limit, endMs, low, isWanted }: PublishedUnits): void {
    this.#locked(() => {
      const numbers = this.#numbers;
      numbers[STORED] = stored;
      // Other threads may have given units back since the owner collected them.
      numbers[LEFT] = (numbers[LEFT] as number) + left;
      numbers[LIMIT] = limit ?? -1;
      numbers[END_MS] = endMs;
      numbers[LOW] = low;
      this.#words[WANTED] = isWanted ? 1 : 0;
    });
  }

  /**
   * Takes `units`; returns null if only the owner can decide: too few are leased, the quota may be exhausted, or the month is over.
   *
   * @param nowMs - milliseconds since the epoch
   */
  take(
    units: number,
    nowMs: number,
  ): {
    readonly limit: number | null;
    readonly remaining: number | null;
    readonly endMs: number;
    /** The owner should lease more. The first thread that finds so is told. */
    readonly isLow: boolean;
  } | null {
    // Written out: a closure for every request would be a tenth of its cost here.
    const words = this.#words;
    const numbers = this.#numbers;
    takeLock(words, LOCK);
    try {
      const left = numbers[LEFT] as number;
      const endMs = numbers[END_MS] as number;
      if (words[OWNER] !== this.place.owner || nowMs >= endMs || left < units) return null;
      const limit = numbers[LIMIT] as number;
      const used = (numbers[STORED] as number) - left + units;
      if (limit >= 0 && used > limit) return null;
      numbers[LEFT] = left - units;
      const isLow = left - units < (numbers[LOW] as number) && words[WANTED] === 0;
      if (isLow) words[WANTED] = 1;
      return { limit: limit < 0 ? null : limit, remaining: limit < 0 ? null : limit - used, endMs, isLow };
    } finally {
      giveLock(words, LOCK);
    }
  }

  /** Returns units that were taken and not used; false if only the owner can take them back. */
  give(units: number, nowMs: number): boolean {
    return (
      this.#locked(() => {
        const numbers = this.#numbers;
        if (nowMs >= (numbers[END_MS] as number)) return false;
        const left = numbers[LEFT] as number;
        numbers[LEFT] = left + Math.min(units, (numbers[STORED] as number) - left);
        return true;
      }) ?? false
    );
  }
}
