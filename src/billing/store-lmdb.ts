/**
 * The store of invoices over live state. Unpaid invoices are bounded by account; paid ones are never deleted, because receipts must be
 * kept and their numbers have no gaps.
 */
import type { Pool } from '../accounts/pools.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds, ID_SHAPE } from '../base/ids.ts';
import { sequenceOfCursor } from '../base/paging.ts';
import type { Random } from '../base/random.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { type RepeatKey, Repeats } from '../state/repeats.ts';
import { type BillingEvent, eventTypeOf, type NewBillingEvent, type StoredEvent } from './events.ts';
import { openInvoice, type StoredInvoice } from './invoice.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { Agreement, BillingPreferences, Currency, Invoice, Rate } from './records.ts';
import type {
  InvoiceAnswerText,
  InvoiceChange,
  InvoiceFilter,
  InvoicePage,
  InvoicePlace,
  InvoiceStore,
} from './store.ts';
import { isUnbooked } from './transitions.ts';

export const FORMAT_VERSION = 1;

type InvoiceKey = [accountId: string, number: number];
type EventKey = [accountId: string, number: number];

/** Value of index entries: the key says everything. */
const PRESENT = '1';

/** Key of the counter of receipts, one for all accounts. */
const RECEIPTS: [string, string] = ['', 'receipts'];
/** Name of the counter of events of an account. */
const EVENTS = 'events';
/** Databases of the store, with its own. */
const DATABASES_MAX = 20;

const NO_PREFERENCES: BillingPreferences = {
  webhookUrl: null,
  email: null,
  lowBalance: { api: null, dashboard: null },
};

function openTables(root: LiveRoot) {
  const open = <V, K extends string | (string | number)[]>(
    name: string,
    encoding: 'string' | 'json',
  ): LiveDatabase<V, K> => root.openDB({ name, encoding });
  return {
    invoices: open<StoredInvoice, InvoiceKey>('invoices', 'json'),
    numbers: open<number, [accountId: string, id: string]>('numbers', 'json'),
    /** Invoices by the ids of the payment provider. */
    references: open<InvoiceKey, string>('references', 'json'),
    /** Invoices without a receipt. */
    unpaid: open<string, InvoiceKey>('unpaid', 'string'),
    /** Invoices with credits that wait to be booked. */
    unbooked: open<string, InvoiceKey>('unbooked', 'string'),
    /** NEW invoices by the end of their time to pay. */
    expiries: open<string, [expiresAtMs: number, accountId: string, number: number]>('expiries', 'string'),
    events: open<StoredEvent, EventKey>('events', 'json'),
    /** Events that are not handed to their receivers yet. */
    unsent: open<string, EventKey>('unsent', 'string'),
    /** Last number of each account, of all receipts, of events, and of counters of methods of payment. */
    counts: open<number, [accountId: string, count: string]>('counts', 'json'),
    /** Balances that are low, and were reported. */
    lowBalances: open<string, [accountId: string, pool: string]>('lowBalances', 'string'),
    /** Newest rate of each currency. */
    rates: open<Rate, string>('rates', 'json'),
    preferences: open<BillingPreferences, string>('preferences', 'json'),
    agreements: open<Agreement, string>('agreements', 'json'),
    repeats: new Repeats<InvoiceAnswerText>(root),
  };
}
type Tables = ReturnType<typeof openTables>;

const notFound = (id: string): AssayError =>
  new AssayError('NOT_FOUND', `id: there is no invoice '${id.slice(0, 64)}'.`, { field: 'id' });

/** Whether a customer may pay an invoice, or has paid and the payment is being processed. HELD ones wait for the operator. */
const isOpen = (invoice: StoredInvoice | undefined, nowMs: number): boolean =>
  invoice?.state === 'PROCESSING' || (invoice?.state === 'NEW' && invoice.expiresAtMs > nowMs);

/** Whether no event can report an unpaid invoice as paid any more. Events come late, and in any order. */
const isForgettable = (invoice: StoredInvoice | undefined, nowMs: number): boolean =>
  invoice === undefined ||
  (['NEW', 'EXPIRED', 'INVALID'].includes(invoice.state) &&
    (invoice.payments ?? []).length === 0 &&
    (invoice.monitorUntilMs ?? invoice.expiresAtMs) + BILLING_LIMITS.unpaidKeptMs <= nowMs);

interface WatchedAccount {
  readonly accountId: string;
  readonly preferences: BillingPreferences;
}

interface UnpaidRow {
  readonly key: InvoiceKey;
  readonly invoice: StoredInvoice | undefined;
}

function requireRoom(rows: readonly UnpaidRow[], openMax: number, nowMs: number): void {
  const open = rows.filter(({ invoice }) => isOpen(invoice, nowMs)).length;
  if (open < openMax) return;
  throw new AssayError(
    'INVALID_REQUEST',
    `package: the account has ${open} unpaid invoices, and ${openMax} is the maximum; pay one of them, or wait until they expire.`,
    { field: 'package' },
  );
}

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openInvoiceStore(
  { path }: { readonly path: string },
  {
    clock,
    random,
    openStore = openLiveStore,
  }: {
    readonly clock: Clock;
    readonly random: Random;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): InvoiceStore {
  const live = openStore(path, FORMAT_VERSION, { name: 'invoices', maxDbs: DATABASES_MAX });
  return new LmdbInvoiceStore(live, { clock, random });
}

class LmdbInvoiceStore implements InvoiceStore {
  readonly #live: LiveStore;
  readonly #tables: Tables;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #listeners: ((event: { readonly accountId: string }) => void)[] = [];
  /** Accounts with events of the current transaction. */
  #changed = new Set<string>();

  constructor(live: LiveStore, deps: { readonly clock: Clock; readonly random: Random }) {
    this.#live = live;
    this.#tables = openTables(live.root);
    this.#clock = deps.clock;
    this.#newId = createIds(deps);
    live.onApplied((writes) => {
      const accounts = writes.flatMap(({ database, key, isRemoved }) =>
        database === 'events' && !isRemoved && Array.isArray(key) ? [String(key[0])] : [],
      );
      for (const accountId of new Set(accounts)) this.#notify(accountId);
    });
  }

  #notify(accountId: string): void {
    for (const listener of this.#listeners) listener({ accountId });
  }

  /** Runs a transaction, and calls the listeners for the events that it has stored. */
  async #write<T>(work: () => T): Promise<T> {
    let changed: ReadonlySet<string> = new Set();
    const result = await this.#live.root.childTransaction(() => {
      // It may run several times.
      this.#changed = new Set();
      const value = work();
      changed = this.#changed;
      return value;
    });
    for (const accountId of changed) this.#notify(accountId);
    return result;
  }

  /** Stores an event. Call it inside a transaction. */
  #addEvent(accountId: string, event: NewBillingEvent): void {
    const { counts, events, unsent } = this.#tables;
    const number = (counts.get([accountId, EVENTS]) ?? 0) + 1;
    counts.putSync([accountId, EVENTS], number);
    events.putSync([accountId, number], { ...event, id: this.#newId(), atMs: this.#clock.now() });
    unsent.putSync([accountId, number], PRESENT);
    const old: EventKey = [accountId, number - BILLING_LIMITS.eventsKept];
    // One that is not handed over yet stays.
    if (old[1] > 0 && unsent.get(old) === undefined) events.removeSync(old);
    this.#changed.add(accountId);
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  close(): Promise<void> {
    return this.#live.root.close();
  }

  add(invoice: Invoice, openMax?: number, isInstead?: (other: Invoice) => boolean): Promise<Invoice> {
    return this.#write(() => {
      for (const reference of invoice.references) {
        const known = this.#byReference(reference);
        if (known !== null) return known;
      }
      if (isInstead !== undefined) {
        const { invoices } = this.#newest(invoice.accountId, {}, { limit: BILLING_LIMITS.invoicePageMax });
        const other = invoices.find(isInstead);
        if (other !== undefined) return other;
      }
      this.#insert(invoice, openMax);
      return invoice;
    });
  }

  addOnce(
    invoice: Invoice,
    openMax: number,
    key: RepeatKey,
    answer: InvoiceAnswerText,
  ): Promise<InvoiceAnswerText | null> {
    const { repeats } = this.#tables;
    return this.#write(() => {
      const nowMs = this.#clock.now();
      const earlier = repeats.find(key, nowMs);
      if (earlier !== null) return earlier;
      this.#insert(invoice, openMax);
      repeats.keep(key, answer, nowMs);
      return null;
    });
  }

  answered(key: RepeatKey): InvoiceAnswerText | null {
    this.#live.root.resetReadTxn();
    return this.#tables.repeats.find(key, this.#clock.now());
  }

  /** Stores a new invoice. Call it inside a transaction. */
  #insert(invoice: Invoice, openMax: number | undefined): void {
    const { numbers, counts } = this.#tables;
    const { accountId, id } = invoice;
    this.#makeRoom(accountId, openMax);
    const number = (counts.get([accountId, 'last']) ?? 0) + 1;
    counts.putSync([accountId, 'last'], number);
    numbers.putSync([accountId, id], number);
    this.#put([accountId, number], invoice, null);
  }

  requireRoom(accountId: string, openMax: number): void {
    this.#live.root.resetReadTxn();
    requireRoom(this.#unpaidRows(accountId), openMax, this.#clock.now());
  }

  #unpaidRows(accountId: string): readonly UnpaidRow[] {
    const { unpaid, invoices } = this.#tables;
    const range = {
      start: [accountId, 0] as InvoiceKey,
      end: [accountId, Number.MAX_SAFE_INTEGER] as InvoiceKey,
    };
    return [...unpaid.getKeys(range)].map((key) => ({ key, invoice: invoices.get(key) }));
  }

  /** Deletes the oldest unpaid invoices if there are too many, but none that an event may still report as paid. */
  #makeRoom(accountId: string, openMax: number | undefined): void {
    const nowMs = this.#clock.now();
    const rows = this.#unpaidRows(accountId);
    if (openMax !== undefined) requireRoom(rows, openMax, nowMs);
    const excess = rows.length + 1 - BILLING_LIMITS.unpaidInvoicesMax;
    const old = rows.filter(({ invoice }) => isForgettable(invoice, nowMs));
    for (const { key } of old.slice(0, Math.max(0, excess))) this.#remove(key);
  }

  change(accountId: string, id: string, change: InvoiceChange): Promise<Invoice> {
    const { counts, numbers, invoices } = this.#tables;
    return this.#write(() => {
      const number = numbers.get([accountId, id]);
      const stored = number === undefined ? undefined : invoices.get([accountId, number]);
      if (number === undefined || stored === undefined) throw notFound(id);
      const before = openInvoice(stored);
      const after = change(before, () => {
        const receipt = (counts.get(RECEIPTS) ?? 0) + 1;
        counts.putSync(RECEIPTS, receipt);
        return receipt;
      });
      if (after !== before) this.#put([accountId, number], after, before);
      return after;
    });
  }

  #put(key: InvoiceKey, invoice: Invoice, before: Invoice | null): void {
    const { invoices, references, unpaid, unbooked, expiries } = this.#tables;
    invoices.putSync(key, invoice);
    for (const reference of invoice.references) {
      // A payment pays one invoice: a transfer on Solana can name the reference keys of several, and each looks for it in turn.
      const owner = references.get(reference);
      const isOwn = owner === undefined || (owner[0] === key[0] && owner[1] === key[1]);
      if (!isOwn && !before?.references.includes(reference))
        throw new AssayError('INVALID_REQUEST', `The payment '${reference}' is that of another invoice.`);
      references.putSync(reference, key);
    }
    if (invoice.receipt === null) unpaid.putSync(key, PRESENT);
    else unpaid.removeSync(key);
    if (isUnbooked(invoice)) unbooked.putSync(key, PRESENT);
    else unbooked.removeSync(key);
    // A checkout expires by an event of Stripe.
    const isWaiting = invoice.method !== 'CARD' && invoice.state === 'NEW';
    if (isWaiting) expiries.putSync([invoice.expiresAtMs, ...key], PRESENT);
    else expiries.removeSync([invoice.expiresAtMs, ...key]);
    const type = eventTypeOf(before, invoice);
    if (type !== null) this.#addEvent(invoice.accountId, { type, invoiceId: invoice.id, data: null });
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
    const { invoices, numbers, references, unpaid, expiries } = this.#tables;
    const invoice = invoices.get(key);
    unpaid.removeSync(key);
    if (invoice === undefined) return;
    expiries.removeSync([invoice.expiresAtMs, ...key]);
    invoices.removeSync(key);
    numbers.removeSync([invoice.accountId, invoice.id]);
    for (const reference of invoice.references) references.removeSync(reference);
  }

  get(accountId: string, id: string): Invoice | null {
    if (!ID_SHAPE.test(id)) return null;
    this.#live.root.resetReadTxn();
    const number = this.#tables.numbers.get([accountId, id]);
    return number === undefined ? null : this.#open([accountId, number]);
  }

  byReference(reference: string): Invoice | null {
    this.#live.root.resetReadTxn();
    return this.#byReference(reference);
  }

  #byReference(reference: string): Invoice | null {
    if (reference === '') return null;
    const key = this.#tables.references.get(reference);
    return key === undefined ? null : this.#open(key);
  }

  #open(key: InvoiceKey): Invoice | null {
    const stored = this.#tables.invoices.get(key);
    return stored === undefined ? null : openInvoice(stored);
  }

  list(accountId: string, filter: InvoiceFilter, page: InvoicePage): ReturnType<InvoiceStore['list']> {
    this.#live.root.resetReadTxn();
    return this.#newest(accountId, filter, page);
  }

  #newest(
    accountId: string,
    { state, method }: InvoiceFilter,
    { limit, cursor }: InvoicePage,
  ): ReturnType<InvoiceStore['list']> {
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
      const isWanted =
        (state === undefined || value.state === state) && (method === undefined || value.method === method);
      if (isWanted) invoices.push(openInvoice(value));
    }
    return { invoices, nextCursor: null };
  }

  *all(): Generator<Invoice> {
    this.#live.root.resetReadTxn();
    for (const { value } of this.#tables.invoices.getRange()) yield openInvoice(value);
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

  *waiting(): Generator<Invoice> {
    this.#live.root.resetReadTxn();
    for (const key of this.#tables.unpaid.getKeys()) {
      const invoice = this.#open(key);
      if (invoice !== null) yield invoice;
    }
  }

  rate(currency: Currency): Rate | null {
    this.#live.root.resetReadTxn();
    return this.#tables.rates.get(currency) ?? null;
  }

  async setRate(rate: Rate): Promise<void> {
    await this.#tables.rates.put(rate.to, rate);
  }

  *ofAccount(accountId: string): Generator<Invoice> {
    this.#live.root.resetReadTxn();
    const start: InvoiceKey = [accountId, Number.MAX_SAFE_INTEGER];
    for (const { value } of this.#tables.invoices.getRange({ start, end: [accountId, 0], reverse: true }))
      yield openInvoice(value);
  }

  *watchedAccounts(): Generator<WatchedAccount> {
    this.#live.root.resetReadTxn();
    // As a list: the caller writes between two of them.
    for (const { key, value } of [...this.#tables.preferences.getRange()])
      yield { accountId: key, preferences: value };
  }

  async noteBalance(
    { accountId, pool, isLow }: { readonly accountId: string; readonly pool: Pool; readonly isLow: boolean },
    event: NewBillingEvent,
  ): Promise<void> {
    const { lowBalances } = this.#tables;
    const wasLow = lowBalances.get([accountId, pool]) !== undefined;
    if (wasLow === isLow) return;
    await this.#write(() => {
      if (!isLow) lowBalances.removeSync([accountId, pool]);
      else if (lowBalances.get([accountId, pool]) === undefined) {
        lowBalances.putSync([accountId, pool], PRESENT);
        this.#addEvent(accountId, event);
      }
    });
  }

  preferences(accountId: string): BillingPreferences {
    this.#live.root.resetReadTxn();
    return this.#tables.preferences.get(accountId) ?? NO_PREFERENCES;
  }

  async setPreferences(accountId: string, preferences: BillingPreferences): Promise<void> {
    await this.#tables.preferences.put(accountId, preferences);
  }

  nextNumber(counter: string): Promise<number> {
    const { counts } = this.#tables;
    return this.#live.root.childTransaction(() => {
      const number = (counts.get(['', counter]) ?? 0) + 1;
      counts.putSync(['', counter], number);
      return number;
    });
  }

  lastNumber(counter: string): number {
    this.#live.root.resetReadTxn();
    return this.#tables.counts.get(['', counter]) ?? 0;
  }

  unbooked(): readonly InvoicePlace[] {
    this.#live.root.resetReadTxn();
    return [...this.#tables.unbooked.getKeys()].flatMap((key) => this.#place(key));
  }

  #place(key: InvoiceKey): readonly InvoicePlace[] {
    const stored = this.#tables.invoices.get(key);
    return stored === undefined ? [] : [{ accountId: stored.accountId, id: stored.id }];
  }

  expired(nowMs: number, limit: number): readonly InvoicePlace[] {
    this.#live.root.resetReadTxn();
    const end: [number, string, number] = [nowMs + 1, '', 0];
    return [...this.#tables.expiries.getKeys({ end, limit })].flatMap(([, accountId, number]) =>
      this.#place([accountId, number]),
    );
  }

  events(accountId: string, after: number, limit: number): ReturnType<InvoiceStore['events']> {
    this.#live.root.resetReadTxn();
    const last = this.#tables.counts.get([accountId, EVENTS]) ?? 0;
    const range = {
      start: [accountId, after + 1] as EventKey,
      end: [accountId, Number.MAX_SAFE_INTEGER] as EventKey,
      limit,
    };
    const changes = [...this.#tables.events.getRange(range)].map(({ key, value }) => eventOf(key, value));
    return { changes, first: Math.max(Math.min(1, last), last - BILLING_LIMITS.eventsKept + 1), last };
  }

  addEvent(accountId: string, event: NewBillingEvent): Promise<void> {
    return this.#write(() => this.#addEvent(accountId, event));
  }

  unsent(limit: number): readonly BillingEvent[] {
    this.#live.root.resetReadTxn();
    return [...this.#tables.unsent.getKeys({ limit })].flatMap((key) => {
      const stored = this.#tables.events.get(key);
      return stored === undefined ? [] : [eventOf(key, stored)];
    });
  }

  async sent({ accountId, number }: BillingEvent): Promise<void> {
    await this.#tables.unsent.remove([accountId, number]);
    // The event may be of another process of this machine, of which the streams of this one have not heard.
    this.#notify(accountId);
  }

  onEvent(listener: (event: { readonly accountId: string }) => void): void {
    this.#listeners.push(listener);
  }
}

const eventOf = ([accountId, number]: EventKey, stored: StoredEvent): BillingEvent => ({
  ...stored,
  accountId,
  number,
});
