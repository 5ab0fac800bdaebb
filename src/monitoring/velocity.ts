/**
 * Detects unusual days of a wallet: compares the count and the volume of a day with the days before, each as a z-score. A wallet
 * that was not watched for long enough has no history, and is compared with fixed limits.
 */
import type { VelocityPolicy } from './policy.ts';

const DAY_MS = 24 * 3_600_000;

/** Totals of one day (UTC) of a wallet. */
export interface DayTotals {
  /** Days since the epoch. */
  readonly day: number;
  readonly count: number;
  /** USD of the priced transfers. */
  readonly usd: number;
}

/** Daily totals of a wallet, oldest first: the last `historyDays` and today. Days without a transfer are left out. */
export interface WalletBaseline {
  /** Day from which every transfer is counted. */
  readonly sinceDay: number;
  readonly days: readonly DayTotals[];
}

export interface Unusual {
  readonly measure: 'count' | 'volume';
  readonly value: number;
  /** Mean of the days before; null without a history. */
  readonly usual: number | null;
  /** Null without a history. */
  readonly zScore: number | null;
}

/** Returns the day of a time, in days since the epoch. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** Returns the history with one more transfer. */
export function addTransfer(
  baseline: WalletBaseline,
  transfer: { readonly timestampMs: number; readonly usd: number | null },
  policy: VelocityPolicy,
): WalletBaseline {
  const day = dayOf(transfer.timestampMs);
  const usd = transfer.usd ?? 0;
  const known = baseline.days.find((one) => one.day === day);
  const added = { day, count: (known?.count ?? 0) + 1, usd: (known?.usd ?? 0) + usd };
  const days = [...baseline.days.filter((one) => one.day !== day), added].sort((a, b) => a.day - b.day);
  const newest = days.at(-1)?.day ?? day;
  return { sinceDay: baseline.sinceDay, days: days.filter((one) => one.day >= newest - policy.historyDays) };
}

/** Returns the history without a transfer, for example after a reorg. */
export function removeTransfer(
  baseline: WalletBaseline,
  transfer: { readonly timestampMs: number; readonly usd: number | null },
): WalletBaseline {
  const day = dayOf(transfer.timestampMs);
  const days = baseline.days
    .map((one) =>
      one.day === day ? { day, count: one.count - 1, usd: Math.max(0, one.usd - (transfer.usd ?? 0)) } : one,
    )
    .filter((one) => one.count > 0);
  return { sinceDay: baseline.sinceDay, days };
}

/**
 * Judges the day that contains `nowMs`. The baseline consists of all days before it within `historyDays`, empty days included. The
 * deviation is at least that of a Poisson count with the same mean (√mean, and 1), so that one more transfer does not raise an
 * alert for a perfectly regular wallet. For volume it is at least a quarter of the mean.
 *
 * @returns the stronger of the two findings; null if the day is not unusual
 */
export function judgeVelocity(
  baseline: WalletBaseline,
  nowMs: number,
  policy: VelocityPolicy,
): Unusual | null {
  const today = dayOf(nowMs);
  const now = baseline.days.find((one) => one.day === today);
  if (now === undefined) return null;
  const first = Math.max(baseline.sinceDay, today - policy.historyDays);
  const length = today - first;
  if (length < policy.warmUpDays) {
    if (now.count >= policy.coldCount)
      return { measure: 'count', value: now.count, usual: null, zScore: null };
    if (now.usd >= policy.coldVolumeUsd)
      return { measure: 'volume', value: now.usd, usual: null, zScore: null };
    return null;
  }
  const before = baseline.days.filter((one) => one.day >= first && one.day < today);
  const score = (of: (one: DayTotals) => number, floorOf: (mean: number) => number) => {
    const mean = before.reduce((sum, one) => sum + of(one), 0) / length;
    const squares = before.reduce((sum, one) => sum + (of(one) - mean) ** 2, 0);
    // Days without a transfer are not in the list; each is a whole mean below it.
    const variance = (squares + (length - before.length) * mean ** 2) / length;
    return { mean, z: (of(now) - mean) / Math.max(Math.sqrt(variance), floorOf(mean)) };
  };
  const count = score(
    (one) => one.count,
    (mean) => Math.max(1, Math.sqrt(mean)),
  );
  const volume = score(
    (one) => one.usd,
    (mean) => Math.max(1, mean / 4),
  );
  const found: Unusual[] = [];
  if (now.count >= policy.countMin && count.z >= policy.zScore)
    found.push({ measure: 'count', value: now.count, usual: count.mean, zScore: count.z });
  if (now.usd >= policy.volumeMinUsd && volume.z >= policy.zScore)
    found.push({ measure: 'volume', value: now.usd, usual: volume.mean, zScore: volume.z });
  return found.sort((a, b) => (b.zScore ?? 0) - (a.zScore ?? 0))[0] ?? null;
}
