/** The chart of received and sent amounts: periods and bars, without a picture. */
import type { Screening } from './ask.ts';

export type Day = NonNullable<Screening['transactionFlow']>['daily'][number];
export type Measure = 'usd' | 'transfers';
type Unit = 'day' | 'month' | 'year';

/** Sums of one period. An amount is null if transfers moved something and none has a price. */
export interface Period {
  /** YYYY-MM-DD, YYYY-MM or YYYY. */
  readonly name: string;
  readonly in: Record<Measure, number | null>;
  readonly out: Record<Measure, number | null>;
}

/** Above this many periods, bars become thinner than a finger: the next longer unit follows. */
const PERIODS_MAX = 62;
const NAME_CHARS: Readonly<Record<Unit, number>> = { day: 10, month: 7, year: 4 };
const DAY_MS = 86_400_000;

/** Adds amounts of which some may be unknown: known ones count, and nothing known stays null. */
const plus = (a: number | null, b: number | null): number | null => (a === null ? b : a + (b ?? 0));

/** Returns the names of all periods from the first to the last day, also those without a transfer. */
function namesBetween(first: string, last: string, unit: Unit): string[] {
  const names: string[] = [];
  const end = Date.parse(last);
  for (let at = Date.parse(first); at <= end; at += DAY_MS) {
    const name = new Date(at).toISOString().slice(0, NAME_CHARS[unit]);
    if (names.at(-1) !== name) names.push(name);
  }
  return names;
}

/** Returns the sums by day, by month or by year, oldest first: the shortest unit of which there are not too many. */
export function periodsOf(daily: readonly Day[]): readonly Period[] {
  const days = daily.filter(({ date }) => !Number.isNaN(Date.parse(date)));
  const dates = days.map(({ date }) => date).sort();
  const first = dates[0];
  const last = dates.at(-1);
  if (first === undefined || last === undefined) return [];
  const count = (unit: Unit): number => namesBetween(first, last, unit).length;
  const unit = (['day', 'month'] as const).find((one) => count(one) <= PERIODS_MAX) ?? 'year';
  const periods = new Map<string, Period>(
    namesBetween(first, last, unit).map((name) => [
      name,
      { name, in: { usd: null, transfers: 0 }, out: { usd: null, transfers: 0 } },
    ]),
  );
  for (const { date, inUsd, outUsd, inTxCount, outTxCount } of days) {
    const period = periods.get(date.slice(0, NAME_CHARS[unit]));
    if (period === undefined) continue;
    for (const [side, usd, transfers] of [
      [period.in, inUsd, inTxCount],
      [period.out, outUsd, outTxCount],
    ] as const) {
      side.transfers = plus(side.transfers, transfers);
      // A day without a transfer in this direction says nothing about prices.
      if (transfers > 0) side.usd = plus(side.usd, usd);
    }
  }
  return [...periods.values()];
}

/** Returns the greatest value of both directions, at least 0. */
export const greatest = (periods: readonly Period[], measure: Measure): number =>
  periods.reduce((most, { in: received, out: sent }) => {
    return Math.max(most, received[measure] ?? 0, sent[measure] ?? 0);
  }, 0);
