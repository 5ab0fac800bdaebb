/** Pages of the ledger's entries. Entries never change, so what a page shows of them is kept in memory for the next one. */
import { isoTime } from '../base/clock.ts';
import type { LedgerEntry, UsagePage } from './ledger.ts';
import { EMPTY_HEAD, type Head, type StoredEntry, shownEntry, totalsSince } from './ledger-entry.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

type DayTotals = UsagePage['totals']['byDay'][number];

interface KeptEntry {
  readonly stored: StoredEntry;
  readonly shown: LedgerEntry;
  /** Totals of the day that the entry is the last of, once a page showed them. */
  day: DayTotals | null;
}

export class LedgerPages {
  readonly #read: (sequence: number) => StoredEntry;
  /** By sequence, the oldest read first. */
  readonly #kept = new Map<number, KeptEntry>();

  /** @param read - reads a committed entry; throws STORE_CORRUPT */
  constructor(read: (sequence: number) => StoredEntry) {
    this.#read = read;
  }

  /**
   * Returns up to `limit` entries of an account, newest first, and the sequence of the entry behind them, or 0.
   *
   * @param from - sequence of the first entry, or 0
   * @throws STORE_CORRUPT
   */
  entries(from: number, limit: number): { readonly history: LedgerEntry[]; readonly next: number } {
    const history: LedgerEntry[] = [];
    let next = from;
    while (next > 0 && history.length < limit) {
      const { stored, shown } = this.#entry(next);
      history.push(shown);
      next = stored.before;
    }
    return { history, next };
  }

  /**
   * Returns the totals of the last days with entries, newest first.
   *
   * @param head - last entry of the account
   * @throws STORE_CORRUPT
   */
  days(head: Head): DayTotals[] {
    const days: DayTotals[] = [];
    let kept: KeptEntry | null = null;
    for (let last = head; last.sequence > 0 && days.length < ACCOUNT_LIMITS.usageDaysMax; ) {
      const before: KeptEntry | null = last.dayBefore === 0 ? null : this.#entry(last.dayBefore);
      const earlier: Head = before?.stored ?? EMPTY_HEAD;
      const day = kept?.day ?? {
        day: isoTime(last.at).slice(0, 10),
        byType: totalsSince(last.sums, earlier.sums),
      };
      // The day of the head may get more entries.
      if (kept !== null) kept.day = day;
      days.push(day);
      kept = before;
      last = earlier;
    }
    return days;
  }

  #entry(sequence: number): KeptEntry {
    const known = this.#kept.get(sequence);
    if (known !== undefined) return known;
    const stored = this.#read(sequence);
    const entry: KeptEntry = { stored, shown: shownEntry(stored), day: null };
    if (this.#kept.size >= ACCOUNT_LIMITS.ledgerEntriesKept) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest as number);
    }
    this.#kept.set(sequence, entry);
    return entry;
  }
}
