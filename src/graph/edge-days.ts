/**
 * Amounts of an edge by day. The sums alone do not show when the amounts moved: one unit after a designation would make all earlier
 * transfers count as after it. Days are kept only for edges that were used on more than one day, and only on the sender's side. Pure.
 */

import { GRAPH_LIMITS } from './limits.ts';
import type { ByteReader, ByteWriter } from './store/bytes.ts';

const DAY_MS = 86_400_000;

/** Amount of one asset on one day. */
export interface EdgeDay {
  /** Days since 1970-01-01, UTC. */
  readonly day: number;
  /** Smallest units. */
  amount: bigint;
  transfers: number;
}

/** The parts of an asset's sums that are needed for days. */
interface DatedSum {
  readonly transfers: number;
  readonly amount: bigint;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** The part of a sum that moved at or after a time. */
export interface LaterPart {
  readonly amount: bigint;
  readonly transfers: number;
}

/** Returns the day of a time: days since 1970-01-01, UTC. */
export const dayOf = (timestampMs: number): number => Math.floor(timestampMs / DAY_MS);
/** Returns the first millisecond of a day. */
export const startOfDay = (day: number): number => day * DAY_MS;

/**
 * Merges the day with the least amount into the next later one. So a part of what moved before a time may count as after it, never the
 * other way round, and it is the smallest part: transfers of dust on many days cannot move the money of earlier days.
 */
function mergeLeast(days: EdgeDay[]): void {
  let least = days.length - 1;
  for (let at = least - 1; at > 0; at--)
    if ((days[at] as EdgeDay).amount < (days[least] as EdgeDay).amount) least = at;
  const [merged] = days.splice(least, 1) as [EdgeDay];
  const next = days[least - 1] as EdgeDay;
  next.amount += merged.amount;
  next.transfers += merged.transfers;
}

/**
 * Returns the days of a sum with one more transfer, newest first. If there are more than `edgeDaysKept`, two of them are merged.
 *
 * @param days days so far, changed in place; empty if all moved on one day, or if a release that kept no days wrote the sum
 * @param before the sum without the transfer
 */
export function addToDays(days: EdgeDay[], before: DatedSum, timestampMs: number, amount: bigint): void {
  const day = dayOf(timestampMs);
  if (days.length === 0) {
    const first = dayOf(before.firstSeenMs);
    if (before.transfers === 0 || first === day || first !== dayOf(before.lastSeenMs)) return;
    days.push({ day: first, transfers: before.transfers, amount: before.amount });
  }
  let at = 0;
  while (at < days.length && (days[at] as EdgeDay).day > day) at++;
  const known = days[at];
  if (known?.day === day) {
    known.amount += amount;
    known.transfers++;
    return;
  }
  days.splice(at, 0, { day, transfers: 1, amount });
  if (days.length > GRAPH_LIMITS.edgeDaysKept) mergeLeast(days);
}

/**
 * Returns the part of a sum that moved on a day or later. Returns all of it if days were not kept, because then only the time of the newest
 * transfer is known.
 *
 * @param day days since 1970-01-01, UTC
 */
export function partSince(sum: DatedSum & { readonly days: readonly EdgeDay[] }, day: number): LaterPart {
  if (dayOf(sum.lastSeenMs) < day) return { amount: 0n, transfers: 0 };
  let amount = 0n;
  let transfers = 0;
  for (const one of sum.days) {
    if (one.day < day) return { amount, transfers };
    amount += one.amount;
    transfers += one.transfers;
  }
  return sum;
}

/** Appends days. `lastSeenMs` is that of their sum. */
export function writeDays(out: ByteWriter, days: readonly EdgeDay[], lastSeenMs: number): void {
  out.varint(days.length);
  let after = dayOf(lastSeenMs);
  for (const { day, amount, transfers } of days) {
    out.varint(after - day);
    out.varint(transfers);
    out.amount(amount);
    after = day;
  }
}

/** Reads the days that `writeDays` wrote. */
export function readDays(tail: ByteReader, lastSeenMs: number): EdgeDay[] {
  const days: EdgeDay[] = [];
  let after = dayOf(lastSeenMs);
  for (let left = tail.varint(); left > 0; left--) {
    after -= tail.varint();
    days.push({ day: after, transfers: tail.varint(), amount: tail.amount() });
  }
  return days;
}
