/**
 * The pages of usage of a ledger file. Entries never change, so the first page of an account is kept with its totals until the account has
 * further entries, and then only these are read.
 */
import { isoTime } from '../base/clock.ts';
import { keepJson } from '../base/kept-json.ts';
import type { LedgerEntry, UsagePage } from './ledger.ts';
import {
  dayOf,
  daysOfRuns,
  EMPTY_HEAD,
  entryId,
  type Head,
  shownEntry,
  totalsSince,
} from './ledger-entry.ts';
import type { LedgerStore } from './ledger-store.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

type History = Pick<UsagePage, 'history' | 'nextCursor'>;
type Totals = UsagePage['totals'];
type Day = Totals['byDay'][number];

/** The first page of an account. */
interface Kept extends History {
  /** Sequence of the account's last entry. */
  readonly sequence: number;
  readonly limit: number;
  readonly totals: Totals;
  /** The days of `totals` in the order of their entries: a day is there twice if the clock was set back. */
  readonly runs: readonly Day[];
  /** `dayBefore` of the account's last entry: the earlier `runs` are the same until it changes. */
  readonly dayBefore: number;
}

const dayTotalsOf = (last: Head, before: Head): Day =>
  keepJson({ day: isoTime(last.at).slice(0, 10), byType: totalsSince(last.sums, before.sums) });

/** Reads and keeps pages. */
export class LedgerPages {
  readonly #store: Pick<LedgerStore, 'readEntry'>;
  /** First pages by account, the one that was used last at the end. */
  readonly #kept = new Map<string, Kept>();
  #entriesKept = 0;

  constructor(store: Pick<LedgerStore, 'readEntry'>) {
    this.#store = store;
  }

  /** Returns the page that begins with the last entry of an account, and its totals. */
  first(accountId: string, head: Head, limit: number): History & { readonly totals: Totals } {
    const kept = this.#kept.get(accountId);
    if (kept !== undefined) {
      this.#kept.delete(accountId);
      if (kept.sequence === head.sequence && kept.limit === limit) {
        this.#kept.set(accountId, kept);
        return kept;
      }
      this.#entriesKept -= kept.history.length;
    }
    // A page of another size is of no use here.
    const earlier = kept?.limit === limit ? kept : null;
    const page: Kept = {
      sequence: head.sequence,
      limit,
      dayBefore: head.dayBefore,
      ...this.#history(head.sequence, limit, earlier),
      ...this.#totals(head, kept ?? null),
    };
    this.#keep(accountId, page);
    return page;
  }

  /** Returns a later page: `limit` entries from one entry on, newest first. */
  from(sequence: number, limit: number): History {
    return this.#history(sequence, limit, null);
  }

  /**
   * Returns the sequence of the last entry that is not of a day after a time; 0 if there is none. It reads one entry of each day.
   *
   * @param untilMs - milliseconds since the epoch
   */
  lastUntil(head: Head, untilMs: number): number {
    let last = head;
    while (last.sequence > 0 && dayOf(last.at) > dayOf(untilMs))
      last = last.dayBefore === 0 ? EMPTY_HEAD : this.#store.readEntry(last.dayBefore);
    return last.sequence;
  }

  /** Returns the totals of an account without its page. */
  totals(accountId: string, head: Head): Totals {
    const kept = this.#kept.get(accountId) ?? null;
    return kept?.sequence === head.sequence ? kept.totals : this.#totals(head, kept).totals;
  }

  /** Discards all pages, if the entries may have other numbers than before. */
  clear(): void {
    this.#kept.clear();
    this.#entriesKept = 0;
  }

  #keep(accountId: string, page: Kept): void {
    keepJson(page.history);
    keepJson(page.totals.byDay);
    keepJson(page.totals);
    this.#kept.set(accountId, page);
    this.#entriesKept += page.history.length;
    for (const [oldest, { history }] of this.#kept) {
      if (this.#entriesKept <= ACCOUNT_LIMITS.usageEntriesKept) break;
      this.#kept.delete(oldest);
      this.#entriesKept -= history.length;
    }
  }

  /** @param kept - an earlier page of the same size: its entries are taken over */
  #history(first: number, limit: number, kept: Kept | null): History {
    const history: LedgerEntry[] = [];
    let next = first;
    while (next > 0 && history.length < limit) {
      if (kept !== null && next === kept.sequence) {
        const left = limit - history.length;
        history.push(...kept.history.slice(0, left));
        const after = kept.history[left];
        return { history, nextCursor: after === undefined ? kept.nextCursor : after.id };
      }
      const entry = this.#store.readEntry(next);
      history.push(keepJson(shownEntry(entry)));
      next = entry.before;
    }
    return { history, nextCursor: next > 0 ? entryId(next) : null };
  }

  #totals(head: Head, kept: Kept | null): Pick<Kept, 'totals' | 'runs'> {
    const runs: Day[] = [];
    for (let last = head; last.sequence > 0 && runs.length < ACCOUNT_LIMITS.usageDaysMax; ) {
      const before: Head = last.dayBefore === 0 ? EMPTY_HEAD : this.#store.readEntry(last.dayBefore);
      runs.push(dayTotalsOf(last, before));
      if (last === head && kept !== null && kept.sequence > 0 && kept.dayBefore === head.dayBefore) {
        runs.push(...kept.runs.slice(1));
        break;
      }
      last = before;
    }
    return {
      totals: { byType: totalsSince(head.sums, EMPTY_HEAD.sums), byDay: daysOfRuns(runs).map(keepJson) },
      runs,
    };
  }
}
