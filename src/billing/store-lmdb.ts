/**
 * The store of invoices over live state. Unpaid invoices are bounded by account; paid ones are never deleted, because receipts must be
 * kept and their numbers have no gaps.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { ID_SHAPE } from '../base/ids.ts';
import { sequenceOfCursor } from '../base/paging.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { Agreement, Invoice } from './records.ts';
import type { InvoiceChange, InvoiceFilter, InvoicePage, InvoiceStore } from './store.ts';

export const FORMAT_VERSION = 1;

type InvoiceKey = [accountId: string, number: number];

/** Value of index entries, whose key says everything. */
const PRESENT = '1';

/** Key of the one counter of all accounts. */
const RECEIPTS: [string, string] = ['', 'receipts'];

function openTables(root: LiveRoot) {
  const open = <V, K extends string | (string | number)[]>(
    name: string,
    encoding: 'string' | 'json',
  ): LiveDatabase<V, K> => root.openDB({ name, encoding });
  return {
    invoices: open<Invoice, InvoiceKey>('invoices', 'json'),
    numbers: open<number, [accountId: string, id: string]>('numbers', 'json'),
    /** Invoices by the ids of the payment provider. */
    references: open<InvoiceKey, string>('references', 'json'),
    /** Invoices without a receipt. */
    unpaid: open<string, InvoiceKey>('unpaid', 'string'),
    /** Last number of each account, and of all receipts. */
    counts: open<number, [accountId: string, count: string]>('counts', 'json'),
    agreements: open<Agreement, string>('agreements', 'json'),
  };
}
type Tables = ReturnType<typeof openTables>;

const notFound = (id: string): AssayError =>
  new AssayError('NOT_FOUND', `id: there is no invoice '${id.slice(0, 64)}'.`, { field: 'id' });

/** Whether a customer may pay an invoice, or has paid and the payment is being processed. HELD ones wait for the operator. */
const isOpen = (invoice: Invoice | undefined, nowMs: number): boolean =>
  invoice?.state === 'PROCESSING' || (invoice?.state === 'NEW' && invoice.expiresAtMs > nowMs);

/** Whether no event can report an unpaid invoice as paid any more. Events come late, and in any order. */
const isForgettable = (invoice: Invoice | undefined, nowMs: number): boolean =>
  invoice === undefined ||
  (['NEW', 'EXPIRED', 'INVALID'].includes(invoice.state) &&
    invoice.expiresAtMs + BILLING_LIMITS.unpaidKeptMs <= nowMs);

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openInvoiceStore(
  { path }: { readonly path: string },
  {
    clock,
    openStore = openLiveStore,
  }: {
    readonly clock: Clock;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): InvoiceStore {
  return new LmdbInvoiceStore(openStore(path, FORMAT_VERSION, { name: 'invoices' }), clock);
}

class LmdbInvoiceStore implements InvoiceStore {
  readonly #live: LiveStore;
  readonly #tables: Tables;
  readonly #clock: Clock;

  constructor(live: LiveStore, clock: Clock) {
    this.#live = live;
    this.#tables = openTables(live.root);
    this.#clock = clock;
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  close(): Promise<void> {
    return this.#live.root.close();
  }

  add(invoice: Invoice, openMax?: number): Promise<Invoice> {
    const { numbers, counts } = this.#tables;
    const { accountId, id } = invoice;
    return this.#live.root.childTransaction(() => {
      for (const reference of invoice.references) {
        const known = this.#byReference(reference);
        if (known !== null) return known;
      }
      this.#makeRoom(accountId, openMax);
      const number = (counts.get([accountId, 'last']) ?? 0) + 1;
      counts.putSync([accountId, 'last'], number);
      numbers.putSync([accountId, id], number);
      this.#put([accountId, number], invoice);
      return invoice;
    });
  }

  /** Deletes the oldest unpaid invoices if there are too many, but none that an event may still report as paid. */
  #makeRoom(accountId: string, openMax: number | undefined): void {
    const { unpaid, invoices } = this.#tables;
    const nowMs = this.#clock.now();
    const range = {
      start: [accountId, 0] as InvoiceKey,
      end: [accountId, Number.MAX_SAFE_INTEGER] as InvoiceKey,
    };
    const rows = [...unpaid.getKeys(range)].map((key) => ({ key, invoice: invoices.get(key) }));
    const open = rows.filter(({ invoice }) => isOpen(invoice, nowMs)).length;
    if (openMax !== undefined && open >= openMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `package: the account has ${open} unpaid invoices, and ${openMax} is the maximum; pay one of them, or wait until they expire.`,
        { field: 'package' },
      );
    const excess = rows.length + 1 - BILLING_LIMITS.unpaidInvoicesMax;
    const old = rows.filter(({ invoice }) => isForgettable(invoice, nowMs));
    for (const { key } of old.slice(0, Math.max(0, excess))) this.#remove(key);
  }

  change(accountId: string, id: string, change: InvoiceChange): Promise<Invoice> {
    const { counts, numbers, invoices } = this.#tables;
    return this.#live.root.childTransaction(() => {
      const number = numbers.get([accountId, id]);
      const before = number === undefined ? undefined : invoices.get([accountId, number]);
      if (number === undefined || before === undefined) throw notFound(id);
      const after = change(before, () => {
        const receipt = (counts.get(RECEIPTS) ?? 0) + 1;
        counts.putSync(RECEIPTS, receipt);
        return receipt;
      });
      if (after !== before) this.#put([accountId, number], after);
      return after;
    });
  }

  #put(key: InvoiceKey, invoice: Invoice): void {
    const { invoices, references, unpaid } = this.#tables;
    invoices.putSync(key, invoice);
    for (const reference of invoice.references) references.putSync(reference, key);
    if (invoice.receipt === null) unpaid.putSync(key, PRESENT);
    else unpaid.removeSync(key);
  }

  removeUnpaid(accountId: string, id: string): Promise<void> {
    const { numbers, invoices } = this.#tables;
    return this.#live.root.childTransaction(() => {
      const number = numbers.get([accountId, id]);
      if (number === undefined || invoices.get([accountId, number])?.receipt !== null) return;
      this.#remove([accountId, number]);
    });
  }

  #remove(key: InvoiceKey): void {
    const { invoices, numbers, references, unpaid } = this.#tables;
    const invoice = invoices.get(key);
    unpaid.removeSync(key);
    if (invoice === undefined) return;
    invoices.removeSync(key);
    numbers.removeSync([invoice.accountId, invoice.id]);
    for (const reference of invoice.references) references.removeSync(reference);
  }

  get(accountId: string, id: string): Invoice | null {
    if (!ID_SHAPE.test(id)) return null;
    this.#live.root.resetReadTxn();
    const number = this.#tables.numbers.get([accountId, id]);
    return number === undefined ? null : (this.#tables.invoices.get([accountId, number]) ?? null);
  }

  byReference(reference: string): Invoice | null {
    this.#live.root.resetReadTxn();
    return this.#byReference(reference);
  }

  #byReference(reference: string): Invoice | null {
    if (reference === '') return null;
    const key = this.#tables.references.get(reference);
    return key === undefined ? null : (this.#tables.invoices.get(key) ?? null);
  }

  list(
    accountId: string,
    { state }: InvoiceFilter,
    { limit, cursor }: InvoicePage,
  ): ReturnType<InvoiceStore['list']> {
    this.#live.root.resetReadTxn();
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
    const start: InvoiceKey = [accountId, before - 1];
    const invoices: Invoice[] = [];
    let last = 0;
    let read = 0;
    for (const { key, value } of this.#tables.invoices.getRange({
      start,
      end: [accountId, 0],
      reverse: true,
    })) {
      if (invoices.length === limit || read === BILLING_LIMITS.invoicesReadMax)
        return { invoices, nextCursor: String(last) };
      last = key[1];
      read++;
      if (state === undefined || value.state === state) invoices.push(value);
    }
    return { invoices, nextCursor: null };
  }

  *all(): Generator<Invoice> {
    this.#live.root.resetReadTxn();
    for (const { value } of this.#tables.invoices.getRange()) yield value;
  }

  lastReceipt(): number {
    this.#live.root.resetReadTxn();
    return this.#tables.counts.get(RECEIPTS) ?? 0;
  }

  agreement(accountId: string): Agreement | null {
    this.#live.root.resetReadTxn();
    return this.#tables.agreements.get(accountId) ?? null;
  }

  agree(accountId: string, agreement: Agreement | null): Promise<void> {
    const { agreements } = this.#tables;
    return this.#live.root.childTransaction(() => {
      if (agreement === null) agreements.removeSync(accountId);
      else agreements.putSync(accountId, agreement);
    });
  }
}
