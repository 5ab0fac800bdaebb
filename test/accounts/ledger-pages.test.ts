import { describe, expect, it } from 'vitest';
import { EMPTY_HEAD, follow, type Head, type StoredEntry } from '../../src/accounts/ledger-entry.ts';
import { LedgerPages } from '../../src/accounts/ledger-pages.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';

const DAY_MS = 24 * 3_600_000;

/** An account with entries of which every second one begins a day. */
function account(count: number) {
  const entries = new Map<number, StoredEntry>();
  let head: Head = EMPTY_HEAD;
  const append = (at: number): void => {
    const sequence = entries.size + 1;
    const entry = follow(head, {
      sequence,
      accountId: 'a',
      at,
      type: 'PURCHASE',
      amount: 1,
      after: { ...head, balance: head.balance + 1 },
      reference: null,
    });
    entries.set(sequence, entry);
    head = entry;
  };
  for (let n = 0; n < count; n++) append(Math.ceil(n / 2) * DAY_MS);
  const reads: number[] = [];
  const pages = new LedgerPages((sequence) => {
    reads.push(sequence);
    return entries.get(sequence) as StoredEntry;
  });
  return { pages, reads, append, head: () => head };
}

describe('pages of the ledger', () => {
  it('show the entries newest first, and where the next page begins', () => {
    const { pages, head } = account(5);
    const { history, next } = pages.entries(head().sequence, 2);
    expect(history.map(({ id, balance }) => [id, balance])).toEqual([
      ['000000000005', 5],
      ['000000000004', 4],
    ]);
    expect(next).toBe(3);
    expect(pages.entries(next, 10)).toMatchObject({ history: { length: 3 }, next: 0 });
  });

  it('read an entry once', () => {
    const { pages, reads, head } = account(5);
    for (let page = 0; page < 3; page++) {
      pages.entries(head().sequence, 5);
      pages.days(head());
    }
    expect([...reads].sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it('add later entries to the totals of a day that is not over', () => {
    const { pages, append, head } = account(3);
    const purchases = () => pages.days(head()).map(({ day, byType }) => [day, byType.PURCHASE]);
    expect(purchases()).toEqual([
      ['1970-01-02', 2],
      ['1970-01-01', 1],
    ]);
    append(DAY_MS + 5);
    append(2 * DAY_MS);
    expect(purchases()).toEqual([
      ['1970-01-03', 1],
      ['1970-01-02', 3],
      ['1970-01-01', 1],
    ]);
    append(2 * DAY_MS + 1);
    append(9 * DAY_MS);
    expect(purchases()).toEqual([
      ['1970-01-10', 1],
      ['1970-01-03', 2],
      ['1970-01-02', 3],
      ['1970-01-01', 1],
    ]);
  });

  it('show as many days as the limit says', () => {
    const { pages, head } = account(2 * ACCOUNT_LIMITS.usageDaysMax + 6);
    expect(pages.days(head())).toHaveLength(ACCOUNT_LIMITS.usageDaysMax);
    expect(pages.days(EMPTY_HEAD)).toEqual([]);
  });

  it('keep a bounded number of entries, and read the oldest again', () => {
    const count = ACCOUNT_LIMITS.ledgerEntriesKept;
    const { pages, reads, append, head } = account(count);
    expect(pages.entries(head().sequence, count).history).toHaveLength(count);
    pages.entries(head().sequence, count);
    expect(reads).toHaveLength(count);
    // One more takes the place of the newest of before, which was read first.
    append(count * DAY_MS);
    pages.entries(head().sequence, 1);
    expect(reads).toHaveLength(count + 1);
    pages.entries(count, 1);
    expect(reads).toHaveLength(count + 2);
  });
});
