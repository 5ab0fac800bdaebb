/** Daily sums of an address's newest transfers. Pure. */
import { isoTime } from '../base/clock.ts';
import type { AddressTransfer, DailyFlow, DailyFlows } from './transfers.ts';

interface DaySums {
  cents: number;
  transfers: number;
  unpriced: number;
}

const usdOf = ({ cents, unpriced }: DaySums): number | null =>
  cents === 0 && unpriced > 0 ? null : cents / 100;

/** Returns sums by day. `recent` is newest first. `holdsAll` is true if the address has no other transfers. */
export function dailyFlows(
  recent: readonly Pick<AddressTransfer, 'direction' | 'timestampMs' | 'amount' | 'valueUsd'>[],
  { limitDays, holdsAll }: { readonly limitDays: number; readonly holdsAll: boolean },
): DailyFlows {
  const byDay = new Map<string, { in: DaySums; out: DaySums }>();
  for (const transfer of recent) {
    const day = isoTime(transfer.timestampMs).slice(0, 10);
    let sums = byDay.get(day);
    if (!sums) {
      const none = { cents: 0, transfers: 0, unpriced: 0 };
      sums = { in: { ...none }, out: { ...none } };
      byDay.set(day, sums);
    }
    const side = sums[transfer.direction];
    side.transfers++;
    side.cents += Math.round((transfer.valueUsd ?? 0) * 100);
    if (transfer.valueUsd === null && transfer.amount > 0n) side.unpriced++;
  }
  const days = [...byDay].map(
    ([day, sums]): DailyFlow => ({
      day,
      inUsd: usdOf(sums.in),
      outUsd: usdOf(sums.out),
      inTransfers: sums.in.transfers,
      outTransfers: sums.out.transfers,
    }),
  );
  // The oldest day may be incomplete.
  if (!holdsAll) days.pop();
  return { days: days.slice(0, limitDays), isComplete: holdsAll || days.length >= limitDays };
}
