/** Verifies a whole ledger: one pass over all entries in order, with the state of each account in memory. */
import { LEDGER_TYPES } from './credits.ts';
import type { LedgerReport } from './ledger.ts';
import { EMPTY_HEAD, entryId, type Head, type StoredEntry } from './ledger-entry.ts';
import { accountOfBalance } from './pools.ts';

/** The data that the check reads. The ledger only grows, so entries may be read in several transactions while others write. */
export interface LedgerUnderCheck {
  /** Starts a new read transaction; returns the last sequence in it. */
  last(): number;
  /** Throws STORE_CORRUPT. */
  read(sequence: number): StoredEntry;
  indexed(): {
    readonly through: number;
    readonly rows: Iterable<{ readonly key: string; readonly value: number }>;
  };
  /** Returns true if there is an entry after `last`. */
  extraEntry(last: number): boolean;
}

export const FAULTS_MAX = 100;
/** Entries read before other work of the process gets a turn. */
const STRIDE = 5_000;

/** Returns the number of accounts that have these balances: each account has up to two. */
export const accountsOf = (balances: Iterable<string>): number =>
  new Set([...balances].map(accountOfBalance)).size;

/** Returns the fault of an entry that follows `head` in its account; null if it has none. */
export function faultOf(entry: StoredEntry, head: Head): string | null {
  if (entry.before !== head.sequence) return `points to entry ${entry.before} instead of ${head.sequence}`;
  if (entry.balance !== head.balance + entry.amount)
    return `has balance ${entry.balance}, but ${head.balance} plus ${entry.amount} is ${head.balance + entry.amount}`;
  for (const [position, type] of LEDGER_TYPES.entries()) {
    const gained = type === entry.type ? entry.amount : 0;
    if (entry.sums[position] !== (head.sums[position] ?? 0) + gained) return `has a wrong sum of ${type}`;
  }
  if (entry.sums.reduce((sum, each) => sum + each, 0) !== entry.balance)
    return `has sums by type that do not add up to its balance ${entry.balance}`;
  if (entry.free < 0 || entry.granted < 0) return 'has a negative pool';
  if (entry.month < head.month) return 'has an earlier month than the entry before it';
  const isCharge = entry.type === 'SCREENING' || entry.type === 'DEDUCTION';
  if (isCharge && (entry.amount >= 0 || entry.balance < 0)) return 'takes more credits than the account had';
  return null;
}

/**
 * Checks every entry and the index of a ledger.
 *
 * @returns the totals, and the first 100 faults as sentences
 */
export async function checkLedger(
  store: LedgerUnderCheck,
  onProgress: (checked: number, total: number) => void,
): Promise<LedgerReport> {
  const heads = new Map<string, Head>();
  const faults: string[] = [];
  const report = (fault: string): void => {
    if (faults.length < FAULTS_MAX) faults.push(fault);
  };
  const total = store.last();
  for (let from = 1; from <= total; from += STRIDE) {
    await new Promise((resolve) => setImmediate(resolve));
    store.last();
    for (let sequence = from; sequence < from + STRIDE && sequence <= total; sequence++) {
      try {
        const entry = store.read(sequence);
        const fault = faultOf(entry, heads.get(entry.accountId) ?? EMPTY_HEAD);
        if (fault !== null) report(`Entry ${entryId(sequence)} of '${entry.accountId}' ${fault}.`);
        heads.set(entry.accountId, entry);
      } catch {
        report(`Entry ${entryId(sequence)} is missing or damaged.`);
      }
    }
    onProgress(Math.min(total, from + STRIDE - 1), total);
  }
  if (store.last() === total && store.extraEntry(total))
    report(`There is an entry after the last one, ${total}.`);
  const { rows } = store.indexed();
  const indexedAccounts = new Set<string>();
  for (const { key, value } of rows) {
    indexedAccounts.add(key);
    const head = heads.get(key);
    // The next start repairs an index that lags, but not one that names an entry of another account.
    if (
      value <= total &&
      (head === undefined || value > head.sequence || store.read(value).accountId !== key)
    )
      report(`The index of account '${key}' points to entry ${value}, which belongs to another account.`);
  }
  const through = store.indexed().through;
  for (const [accountId, head] of heads)
    if (head.sequence <= through && !indexedAccounts.has(accountId))
      report(`The index has no entry of account '${accountId}'.`);
  let balance = 0;
  for (const head of heads.values()) balance += head.balance;
  return { entries: total, accounts: accountsOf(heads.keys()), balance, faults };
}
