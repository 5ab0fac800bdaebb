/** Numbers, money and times in a language. Times are UTC; the local time is for hovering. */
import type { Language } from './messages.ts';

export interface Formats {
  readonly number: (value: number) => string;
  /**
   * Formats a percentage.
   *
   * @param value - 0 to 100
   */
  readonly percent: (value: number) => string;
  /** Formats an amount of US dollars. */
  readonly usd: (value: number) => string;
  /** Formats a time as `2026-11-23 09:15 UTC`, and a date without a time as it is. */
  readonly time: (iso: string) => string;
  /** Formats a time in the zone of the browser, with its name, and a date without a time as it is. */
  readonly localTime: (iso: string) => string;
  /** Joins texts with commas and a last `and`. */
  readonly list: (texts: readonly string[]) => string;
}

/** Up to here, cents matter to a reader; above, they only make columns wide. */
const CENTS_BELOW = 1_000;

const ISO_DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Creates the formats of a language. */
export function createFormats(language: Language): Formats {
  const numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 8 });
  const percents = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 2 });
  const money = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;
  const cents = new Intl.NumberFormat(language, money);
  const dollars = new Intl.NumberFormat(language, { ...money, maximumFractionDigits: 0 });
  const local = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'long' });
  const lists = new Intl.ListFormat(language, { type: 'conjunction' });
  return {
    number: (value) => numbers.format(value),
    percent: (value) => percents.format(value / 100),
    usd: (value) => (Math.abs(value) < CENTS_BELOW ? cents : dollars).format(value),
    time: (iso) => {
      if (ISO_DATE.test(iso)) return iso;
      const date = new Date(iso);
      if (Number.isNaN(date.getTime())) return iso;
      return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    },
    localTime: (iso) => {
      if (ISO_DATE.test(iso)) return iso;
      const date = new Date(iso);
      return Number.isNaN(date.getTime()) ? iso : local.format(date);
    },
    list: (texts) => lists.format(texts),
  };
}
