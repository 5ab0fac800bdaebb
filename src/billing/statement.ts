/**
 * Monthly statements of a balance: opening balance, every purchase, grant, refund and adjustment, the charges of each day, and the closing
 * balance. The rows add up to the difference of the balances.
 */
import type { Ledger, LedgerEntry, UsageOptions, UsagePage } from '../accounts/ledger.ts';
import { balanceId, type Pool } from '../accounts/pools.ts';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { own, type PrintedPage, printedPage, textRow } from './html.ts';
import { BILLING_LIMITS } from './limits.ts';
import { sellerAddress } from './receipt-html.ts';
import type { Seller } from './records.ts';
import type { InvoiceStore } from './store.ts';

export interface StatementRow {
  /** ISO time; for the charges of a day, the day. */
  readonly at: string;
  readonly type: string;
  /** Id of the entry; null for the charges of a day. */
  readonly entry: string | null;
  /** Invoice of a purchase, refund or reversal. */
  readonly invoice: string | null;
  /** Number of entries in this row. */
  readonly count: number;
  readonly credits: number;
}

export interface MonthlyStatement {
  readonly accountId: string;
  readonly pool: Pool;
  /** `YYYY-MM`, UTC. */
  readonly month: string;
  readonly opening: number;
  readonly closing: number;
  /** Oldest first. */
  readonly rows: readonly StatementRow[];
}

/** Types of entries that are listed one by one. */
const SINGLE = new Set(['PURCHASE', 'GRANT', 'ADJUSTMENT', 'EXPIRY']);

/** Returns the first instants of a month and of the next one, as ISO texts. Throws INVALID_REQUEST. */
function bounds(month: string): { readonly from: string; readonly to: string } {
  const match = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(month);
  if (match === null)
    throw new AssayError('INVALID_REQUEST', `month: must be YYYY-MM (got '${month.slice(0, 16)}').`, {
      field: 'month',
    });
  const [year, number] = [Number(match[1]), Number(match[2])];
  const next = number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, '0')}`;
  return { from: `${month}-01T00:00:00.000Z`, to: `${next}-01T00:00:00.000Z` };
}

const isAfter = ({ createdAt }: LedgerEntry, timeMs: number): boolean => Date.parse(createdAt) > timeMs;

/**
 * Reads the entries of a month, newest first, and returns the balance at its end. Entries are in the order in which they were booked: if the clock was
 * set back, an entry of a month can follow one of a later month.
 */
async function readEntries(
  ledger: Pick<Ledger, 'usage'>,
  balance: string,
  { from, to }: ReturnType<typeof bounds>,
  onEntry: (entry: LedgerEntry) => void,
): Promise<number> {
  const stopBefore = isoTime(Date.parse(from) - BILLING_LIMITS.clockBackMs);
  const untilMs = Date.parse(to) + BILLING_LIMITS.clockBackMs;
  const pageOf = (from: Pick<UsageOptions, 'cursor' | 'untilMs'>): Promise<UsagePage> =>
    ledger.usage(balance, {
      limit: BILLING_LIMITS.verifyEntriesPage,
      // A statement lists what is booked. Reading it must not need room on the disk.
      isReadOnly: true,
      ...from,
    });
  /** The balance after the first entry that is read. */
  let balanceNow: number | null = null;
  /** Credits of entries after the month. */
  let later = 0;
  let cursor: string | null = null;
  let read = 0;
  do {
    let page: UsagePage = await pageOf(cursor === null ? {} : { cursor });
    // The entries of an old month follow all later ones, which would take ever longer to read.
    if (cursor === null && page.nextCursor !== null && page.history.every((entry) => isAfter(entry, untilMs)))
      page = await pageOf({ untilMs });
    for (const entry of page.history) {
      balanceNow ??= entry.balance;
      if (entry.createdAt >= to) later += entry.amount;
      else if (entry.createdAt >= from) onEntry(entry);
    }
    read += page.history.length;
    if (page.history.every(({ createdAt }) => createdAt < stopBefore)) break;
    if (read > BILLING_LIMITS.statementEntriesMax) {
      if (page.history.every(({ createdAt }) => createdAt < from)) break;
      throw new AssayError(
        'INVALID_REQUEST',
        `month: the balance has more than ${BILLING_LIMITS.statementEntriesMax} entries of this time; read GET /usage instead.`,
        { field: 'month' },
      );
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return (balanceNow ?? 0) - later;
}

/** A row, and the place of its first entry among all: by time, then by the order in which they were booked. */
interface PlacedRow {
  row: StatementRow;
  firstAt: string;
  /** Number of entries that were read before it: an entry that is read later was booked earlier. */
  read: number;
}

/** Collects entries, which come newest first, in rows: memory for the rows, not for the entries. */
class Rows {
  readonly #rows = new Map<string, PlacedRow>();
  readonly #invoiceOf: ReadonlyMap<string, string>;
  #read = 0;
  #single = 0;

  constructor(invoiceOf: ReadonlyMap<string, string>) {
    this.#invoiceOf = invoiceOf;
  }

  add({ id, type, amount, createdAt }: LedgerEntry): void {
    const invoice = this.#invoiceOf.get(id) ?? null;
    const isSingle = SINGLE.has(type) || invoice !== null;
    if (isSingle && ++this.#single > BILLING_LIMITS.statementRowsMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `month: the balance has more than ${BILLING_LIMITS.statementRowsMax} purchases, grants and adjustments of this month; read GET /usage instead.`,
        { field: 'month' },
      );
    const read = this.#read++;
    const day = createdAt.slice(0, 10);
    const key = isSingle ? id : `${day} ${type}`;
    const known = this.#rows.get(key);
    if (known === undefined) {
      const entry = isSingle ? id : null;
      const row = { at: isSingle ? createdAt : day, type, entry, invoice, count: 1, credits: amount };
      this.#rows.set(key, { row, firstAt: createdAt, read });
      return;
    }
    const { row } = known;
    known.row = { ...row, count: row.count + 1, credits: row.credits + amount };
    if (createdAt > known.firstAt) return;
    known.firstAt = createdAt;
    known.read = read;
  }

  /** Returns the rows, oldest first. */
  list(): readonly StatementRow[] {
    return [...this.#rows.values()]
      .sort((a, b) => Number(a.firstAt > b.firstAt) - Number(a.firstAt < b.firstAt) || b.read - a.read)
      .map(({ row }) => row);
  }
}

/**
 * Returns the statement of one month (UTC) of one balance.
 *
 * @throws INVALID_REQUEST if the month has another form, or too many entries were made since
 */
export async function monthlyStatement(
  { accountId, pool, month }: { readonly accountId: string; readonly pool: Pool; readonly month: string },
  {
    ledger,
    invoices,
  }: { readonly ledger: Pick<Ledger, 'usage'>; readonly invoices: Pick<InvoiceStore, 'ofAccount'> },
): Promise<MonthlyStatement> {
  const invoiceOf = new Map<string, string>();
  for (const invoice of invoices.ofAccount(accountId))
    for (const { id } of invoice.entries) invoiceOf.set(id, invoice.id);
  const rows = new Rows(invoiceOf);
  const closing = await readEntries(ledger, balanceId(accountId, pool), bounds(month), (entry) =>
    rows.add(entry),
  );
  const list = rows.list();
  const sum = list.reduce((total, { credits }) => total + credits, 0);
  return { accountId, pool, month, opening: closing - sum, closing, rows: list };
}

/** Returns a value as a field of CSV (RFC 4180). A text that a spreadsheet would take for a formula is quoted as text. */
function csvField(value: string | number | null): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns a statement as CSV with a header; the last row is the closing balance. */
export function statementCsv({ month, pool, opening, closing, rows }: MonthlyStatement): string {
  let balance = opening;
  const lines = [
    ['at', 'pool', 'type', 'entry', 'invoice', 'count', 'credits', 'balance'],
    [`${month}-01`, pool, 'OPENING', null, null, null, null, opening],
    ...rows.map(({ at, type, entry, invoice, count, credits }) => {
      balance += credits;
      return [at, pool, type, entry, invoice, count, credits, balance];
    }),
    [month, pool, 'CLOSING', null, null, null, null, closing],
  ];
  return lines.map((line) => `${line.map(csvField).join(',')}\r\n`).join('');
}

/** Returns a statement as a page to print. */
export function statementHtml(statement: MonthlyStatement, seller: Seller): PrintedPage {
  const { accountId, pool, month, opening, closing, rows } = statement;
  let balance = opening;
  const lines = rows.map(({ at, type, entry, invoice, count, credits }) => {
    balance += credits;
    const of = [entry, invoice === null ? null : `invoice ${invoice}`].filter((one) => one !== null);
    return `<tr><td>${own(at)}</td><td>${own(type)}</td><td>${of.length === 0 ? `${count} entries` : of.map(own).join('<br>')}</td><td class="n">${credits}</td><td class="n">${balance}</td></tr>`;
  });
  return printedPage(
    `Statement ${month}`,
    `${sellerAddress(seller)}
<h1>Statement of credits, ${own(month)}</h1>
<table>
<tbody>
${textRow('Customer account', own(accountId))}
${textRow('Balance', pool === 'api' ? 'API' : 'dashboard')}
${textRow('Opening balance', `${opening} credits`)}
${textRow('Closing balance', `${closing} credits`)}
</tbody>
</table>
<table>
<thead><tr><th scope="col">Time (UTC)</th><th scope="col">Type</th><th scope="col">Entry</th><th scope="col" class="n">Credits</th><th scope="col" class="n">Balance</th></tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table>`,
  );
}
