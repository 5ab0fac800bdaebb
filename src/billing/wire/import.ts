/**
 * Books a bank statement: a credit with the reference of an invoice pays it, and a reversal undoes it. Anything else is suggested to the
 * operator and never booked. Repeating an import changes nothing: a payment is identified by the account and the bank's reference.
 */
import { createHash } from 'node:crypto';
import type { Actor } from '../../accounts/audit.ts';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { BILLING_LIMITS } from '../limits.ts';
import { currentRate, valueAt } from '../rates.ts';
import { CURRENCIES, type Invoice, type InvoicePayment, type ReportedPayment } from '../records.ts';
import type { Settlement } from '../settlement.ts';
import type { InvoiceStore } from '../store.ts';
import type { Statement, StatementEntry } from './camt053.ts';
import { parseReference, referencesIn } from './reference.ts';

/**
 * BOOKED: the payment is on the invoice. REVERSED: an earlier payment is undone. REPEATED: it was imported before. SUGGESTED: the operator
 * decides. IGNORED: not a payment of a customer.
 */
export type ImportOutcome = 'BOOKED' | 'REVERSED' | 'REPEATED' | 'SUGGESTED' | 'IGNORED';

export interface ImportedEntry {
  /** Identifies the entry in this account: the reference of the bank, or a hash of its facts. */
  readonly key: string;
  readonly account: string;
  readonly line: number;
  readonly direction: StatementEntry['direction'];
  readonly amount: string | null;
  readonly currency: string;
  readonly outcome: ImportOutcome;
  /** Why it is SUGGESTED or IGNORED; else null. */
  readonly reason: string | null;
  /** The invoice after the import, if one was found. */
  readonly invoice: Pick<Invoice, 'accountId' | 'id' | 'state' | 'exceptions'> | null;
  /** Unpaid invoices with exactly this amount, as `<account>/<invoice>`. */
  readonly candidates: readonly string[];
}

export interface ImportDeps {
  readonly clock: Clock;
  readonly invoices: () => InvoiceStore;
  readonly settlement: () => Settlement;
}

export interface ImportOptions {
  /** Invoices, as `<account>/<invoice>`, that the operator assigns to entries, by their keys. */
  readonly assigned?: ReadonlyMap<string, string>;
  readonly actor: Actor;
}

const DECIMALS = 2;
const CENTS_SHAPE = new RegExp(`^(\\d+)(?:\\.(\\d{1,${DECIMALS}}))?0*$`);

/** Returns an amount in cents; null if it is none. */
function centsOf(amount: string | null): bigint | null {
  const match = CENTS_SHAPE.exec(amount ?? '');
  return match === null ? null : BigInt(match[1] + (match[2] ?? '').padEnd(DECIMALS, '0'));
}

/** Returns the keys of entries, in order. Equal entries without a reference are numbered. */
function keysOf(entries: readonly StatementEntry[]): readonly string[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const { account, bankReference, part, direction, isReversal } = entry;
    const suffix = `${part === null ? '' : `/${part}`}${direction === 'DEBIT' ? '/D' : ''}${isReversal ? '/R' : ''}`;
    if (bankReference !== null) return `${bankReference}${suffix}`;
    const { amount, currency, bookedAtMs, endToEndId, references, texts, debtor } = entry;
    const facts = [account, direction, isReversal, part, amount, currency, bookedAtMs, endToEndId];
    const hash = createHash('sha256')
      .update(JSON.stringify([...facts, references, texts, debtor]))
      .digest('hex')
      .slice(0, 32);
    const count = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, count);
    return `#${hash}.${count}`;
  });
}

interface Found {
  readonly invoice: Invoice;
  readonly by: 'reference' | 'text' | 'operator';
}

class StatementImport {
  readonly #deps: ImportDeps;
  readonly #options: ImportOptions;

  constructor(deps: ImportDeps, options: ImportOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async run({ entries }: Statement): Promise<readonly ImportedEntry[]> {
    await this.#deps.settlement().finish();
    const keys = keysOf(entries);
    const rows = entries.map((entry, index) => ({ entry, key: keys[index] ?? '', index }));
    const results: ImportedEntry[] = [];
    // Credits first: a reversal may be listed before its payment.
    const isUndoing = ({ entry }: (typeof rows)[number]): boolean => entry.direction === 'DEBIT';
    for (const row of [...rows.filter((one) => !isUndoing(one)), ...rows.filter(isUndoing)])
      results[row.index] = await this.#one(row.entry, row.key);
    return results;
  }

  async #one(entry: StatementEntry, key: string): Promise<ImportedEntry> {
    const { account, line, direction, amount, currency, isReversal, status } = entry;
    const row = {
      key,
      account,
      line,
      direction,
      amount,
      currency,
      reason: null,
      invoice: null,
      candidates: [],
    };
    if (status !== 'BOOK')
      return {
        ...row,
        outcome: 'IGNORED',
        reason: `status ${status === '' ? 'missing' : status}: only BOOK is final`,
      };
    if (direction === 'DEBIT') return isReversal ? this.#reverse(entry, row) : { ...row, ...OUTGOING };
    if (isReversal)
      return { ...row, outcome: 'SUGGESTED', reason: 'an outgoing payment was returned to this account' };
    return this.#credit(entry, row);
  }

  /** Returns the invoice of an entry: that of the operator, or the one that the entry names. */
  #find(entry: StatementEntry, key: string): Found | string {
    const wanted = this.#options.assigned?.get(key);
    if (wanted === undefined) return this.#named(entry);
    const [accountId = '', id = ''] = wanted.split('/');
    const invoice = this.#deps.invoices().get(accountId, id);
    if (invoice?.method === 'WIRE') return { invoice, by: 'operator' };
    throw new AssayError('NOT_FOUND', `assign: there is no invoice by wire '${wanted.slice(0, 128)}'.`, {
      field: 'assign',
    });
  }

  /** Returns the invoice that an entry names, by its structured reference or in its free text. */
  #named({ references, texts, endToEndId }: StatementEntry): Found | string {
    const store = this.#deps.invoices();
    const structured = references.flatMap((text) => parseReference(text) ?? []);
    const free = [...texts, ...(endToEndId === null ? [] : [endToEndId])].flatMap(referencesIn);
    for (const [by, names] of [
      ['reference', structured],
      ['text', free],
    ] as const) {
      const found = [...new Set(names)].flatMap((name) => {
        const invoice = store.byReference(name);
        return invoice?.method === 'WIRE' ? [invoice] : [];
      });
      const [first] = found;
      if (first === undefined) continue;
      if (found.some(({ id }) => id !== first.id)) return 'it names several invoices';
      return { invoice: first, by };
    }
    return 'it names no invoice';
  }

  async #credit(entry: StatementEntry, row: Row): Promise<ImportedEntry> {
    const { account, currency, bookedAtMs } = entry;
    const id = `wire ${account} ${row.key}`;
    const suggest = (reason: string, invoice: Invoice | null = null): ImportedEntry => ({
      ...{ ...row, outcome: 'SUGGESTED', reason, invoice },
      candidates: invoice === null ? this.#candidates(entry) : [],
    });
    const cents = centsOf(entry.amount);
    const known = this.#deps.invoices().byReference(id);
    const payment = known?.payments.find((one) => one.id === id);
    if (known !== null && payment !== undefined) {
      const isSame =
        payment.asset === currency &&
        payment.amount === String(cents) &&
        !this.#namesAnother(entry, known, payment);
      return isSame
        ? { ...row, outcome: 'REPEATED', invoice: known }
        : suggest('the bank gave its reference to another payment before', known);
    }
    const found = this.#find(entry, row.key);
    if (typeof found === 'string') return suggest(found);
    const { invoice, by } = found;
    if (invoice.details.wire?.iban !== account && by !== 'operator')
      return suggest(`the invoice is paid to the account ${invoice.details.wire?.iban}`, invoice);
    if (cents === null || cents === 0n)
      return suggest('the amount is not one of whole cents above 0', invoice);
    if (invoice.state === 'INVALID' && by !== 'operator')
      return suggest('the invoice was cancelled', invoice);
    const seenAtMs = bookedAtMs ?? this.#deps.clock.now();
    const isSameCurrency = currency === invoice.due.asset;
    const reported: ReportedPayment = {
      ...{ id, asset: currency, amount: String(cents), seenAtMs },
      value: isSameCurrency ? String(this.#valueOf(cents, invoice, seenAtMs)) : '0',
      state: isSameCurrency ? 'CONFIRMED' : 'WRONG_ASSET',
      reason: isSameCurrency ? null : `${currency} arrived, and ${invoice.due.asset} is due.`,
      facts: {
        ...{ account, bankReference: entry.bankReference, endToEndId: entry.endToEndId },
        ...{ debtor: entry.debtor?.slice(0, BILLING_LIMITS.bankTextMax) ?? null, matchedBy: by },
      },
    };
    const { accountId } = invoice;
    const after = await this.#apply(accountId, invoice.id, reported);
    return isSameCurrency
      ? { ...row, outcome: 'BOOKED', invoice: after }
      : { ...row, outcome: 'SUGGESTED', reason: reported.reason, invoice: after };
  }

  /**
   * Whether an entry names another invoice than the one that its payment was booked on: then the bank has used a reference twice. The
   * operator may have assigned the payment to an invoice that it does not name.
   */
  #namesAnother(entry: StatementEntry, known: Invoice, { facts }: InvoicePayment): boolean {
    if (facts.matchedBy === 'operator') return false;
    const named = this.#named(entry);
    return typeof named !== 'string' && named.invoice.id !== known.id;
  }

  /** Returns what a payment counts: one that came too late counts at the current rate. */
  #valueOf(cents: bigint, invoice: Invoice, seenAtMs: number): bigint {
    const { rate, currency, expiresAtMs } = invoice;
    if (rate === null || seenAtMs < expiresAtMs) return cents;
    const { invoices, clock } = this.#deps;
    const current = currentRate(currency, { invoices: invoices(), clock });
    return current === null ? cents : valueAt(cents, rate, current);
  }

  #apply(accountId: string, id: string, payment: ReportedPayment): Promise<Invoice> {
    return this.#deps.settlement().apply(accountId, id, { kind: 'payment', payment }, this.#options.actor);
  }

  async #reverse(entry: StatementEntry, row: Row): Promise<ImportedEntry> {
    const found = this.#find(entry, row.key);
    const cents = String(centsOf(entry.amount));
    const suggest = (reason: string): ImportedEntry => ({ ...row, outcome: 'SUGGESTED', reason });
    const invoice = typeof found === 'string' ? this.#byBankReference(entry) : found.invoice;
    if (invoice === null) return suggest('a reversal that names no payment');
    const isOf = ({ asset, amount, facts }: InvoicePayment): boolean =>
      asset === entry.currency && amount === cents && facts.account === entry.account;
    const mine = invoice.payments.filter(isOf);
    const done = mine.find(({ facts }) => facts.reversal === row.key);
    if (done !== undefined) return { ...row, outcome: 'REPEATED', invoice };
    const original =
      mine.find(({ facts }) => facts.endToEndId !== null && facts.endToEndId === entry.endToEndId) ?? mine[0];
    const open = original?.state === 'CONFIRMED' ? original : mine.find(({ state }) => state === 'CONFIRMED');
    if (open === undefined) return suggest('a reversal without a payment of this amount');
    const { id, asset, amount, value, seenAtMs, facts } = open;
    const after = await this.#apply(invoice.accountId, invoice.id, {
      ...{ id, asset, amount, value, seenAtMs, state: 'REVERTED' },
      reason: 'The bank has reversed the payment.',
      facts: { ...facts, reversal: row.key },
    });
    return { ...row, outcome: 'REVERSED', invoice: after };
  }

  /** Returns the invoice with the payment that has the same reference of the bank. */
  #byBankReference({ account, bankReference, part }: StatementEntry): Invoice | null {
    if (bankReference === null) return null;
    const key = `${bankReference}${part === null ? '' : `/${part}`}`;
    return this.#deps.invoices().byReference(`wire ${account} ${key}`);
  }

  /** Returns unpaid invoices with exactly the amount of an entry. */
  #candidates({ amount, currency }: StatementEntry): readonly string[] {
    const cents = String(centsOf(amount));
    const isKnown = CURRENCIES.some((one) => one === currency);
    if (!isKnown) return [];
    const found: string[] = [];
    for (const { accountId, id, method, state, due } of this.#deps.invoices().waiting()) {
      const isUnpaid = method === 'WIRE' && ['NEW', 'EXPIRED'].includes(state);
      if (isUnpaid && due.asset === currency && due.amount === cents) found.push(`${accountId}/${id}`);
      if (found.length === BILLING_LIMITS.candidatesMax) break;
    }
    return found;
  }
}

type Row = Omit<ImportedEntry, 'outcome'>;

const OUTGOING = { outcome: 'IGNORED', reason: 'an outgoing payment' } as const;

/**
 * Imports a statement that was read whole.
 *
 * @returns one result for each payment, in the order of the file
 * @throws NOT_FOUND if an assigned invoice does not exist; LEDGER_UNAVAILABLE, after which the import is repeated
 */
export const importStatement = (
  statement: Statement,
  options: ImportOptions,
  deps: ImportDeps,
): Promise<readonly ImportedEntry[]> => new StatementImport(deps, options).run(statement);
