/** The counters of a quota meter by month: their fields, and the calendar. `quota-lmdb.ts` changes them. */
import { isoTime } from '../base/clock.ts';
import type { QuotaMeterName } from './plans.ts';
import type { SharedUnits } from './shared-counters.ts';

/** One account's month on one meter. */
export interface Counter {
  readonly key: [month: string, accountId: string, meter: QuotaMeterName];
  /** The parts of the key once more: a request compares them, and an array would be one more read. */
  readonly accountId: string;
  readonly meter: QuotaMeterName;
  readonly month: Month;
  /** Units that the store counts, as last read, including our unspent lease but not `coming`. */
  stored: number;
  /** Leased units that are not taken yet. */
  spare: number;
  /** Units of a lease that is being committed. */
  coming: number;
  /** Units that were taken while the store could not be written. The store does not count them yet; `stored` does. */
  owed: number;
  /** The part of `owed` that a lease is writing. */
  settling: number;
  /** A lease that is being committed: resolves with whether it was written; null without one. Never rejects. */
  leasing: Promise<boolean> | null;
  limit: number | null;
  generation: number;
  /** Holds `spare` between the steps of this meter, for threads that take units from it. Null until the counter is shared. */
  shared: SharedUnits | null;
  isInStep: boolean;
}

/** A month with its counters. */
export interface Month {
  /** `2026-11`. */
  readonly name: string;
  readonly startMs: number;
  /** First instant of the next month. */
  readonly endMs: number;
  readonly resetAt: string;
  readonly counters: Readonly<Record<QuotaMeterName, Map<string, Counter>>>;
}

/** Returns the first instant after a month, in ms since the epoch. */
export function monthEndOf(name: string): number {
  const [year, month] = name.split('-').map(Number) as [number, number];
  return Date.UTC(year, month, 1);
}

/** Returns the UTC calendar month of a time. */
export function monthOf(epochMs: number): Month {
  const name = isoTime(epochMs).slice(0, 7);
  const endMs = monthEndOf(name);
  return {
    name,
    startMs: Date.parse(name),
    endMs,
    resetAt: isoTime(endMs),
    counters: { intel: new Map(), oracle: new Map() },
  };
}

/** Returns the counters of both meters. */
export const countersOf = ({ counters }: Month): Counter[] => [
  ...counters.intel.values(),
  ...counters.oracle.values(),
];

/** Returns the number of months from one to a later one. */
export function monthsBetween(earlier: string, later: string): number {
  const count = (name: string): number => Number(name.slice(0, 4)) * 12 + Number(name.slice(5));
  return count(later) - count(earlier);
}
