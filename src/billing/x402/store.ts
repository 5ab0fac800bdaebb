/** The store of payments by a signed authorization, which nodes share. A record is durable before its transaction can be on the chain. */
import { createHash } from 'node:crypto';
import type { ChainId } from '../../chains/registry.ts';
import {
  type Fence,
  type LiveDatabase,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../../state/live-store.ts';
import {
  type AuthorizedPayment,
  type DeletedCalls,
  type InvoicePaymentAuthorization,
  isFinished,
  isOpen,
} from './records.ts';

export const FORMAT_VERSION = 1;

const PRESENT = '1';
const SECOND_MS = 1_000;
/** Key of what is kept of deleted calls. */
const CALLS = 'calls';
/** Digest of no ids. */
export const NO_DIGEST = '0'.repeat(64);

/** Adds an id to a digest, or removes it. The order does not matter. */
export function digestWith(digest: string, id: string): string {
  const of = createHash('sha256').update(id).digest('hex');
  return (BigInt(`0x${digest}`) ^ BigInt(`0x${of}`)).toString(16).padStart(NO_DIGEST.length, '0');
}

const oldestFirst = (a: AuthorizedPayment, b: AuthorizedPayment): number =>
  a.createdAtMs - b.createdAtMs || (a.key < b.key ? -1 : 1);

type IdentifierKey = [payer: string, identifier: string];

/** What a change may read beside its own record. */
export interface AuthorizedView {
  /** Returns the payment of a payer with an identifier. */
  readonly find: (payer: string, identifier: string) => AuthorizedPayment | null;
  /** Returns the payments of an invoice. */
  readonly ofInvoice: (invoiceId: string) => readonly InvoicePaymentAuthorization[];
}

export class AuthorizedPayments {
  readonly #live: LiveStore;
  readonly #payments: LiveDatabase<AuthorizedPayment, string>;
  readonly #identifiers: LiveDatabase<string, IdentifierKey>;
  readonly #open: LiveDatabase<string, [chain: string, key: string]>;
  /** Calls that were paid and are not answered, or with a purchase that must be booked or taken back. */
  readonly #unserved: LiveDatabase<string, string>;
  readonly #invoices: LiveDatabase<string, [invoiceId: string, key: string]>;
  /** Finished payments by their age. */
  readonly #finished: LiveDatabase<string, [createdAtMs: number, key: string]>;
  readonly #deleted: LiveDatabase<DeletedCalls, string>;
  readonly #listeners = new Set<(key: string) => void>();

  /** @throws STORE_VERSION, STORE_CORRUPT */
  constructor(path: string, openStore: OpenStore = openLiveStore) {
    this.#live = openStore(path, FORMAT_VERSION, { name: 'authorized-payments' });
    const { root } = this.#live;
    this.#payments = root.openDB({ name: 'payments', encoding: 'json' });
    this.#identifiers = root.openDB({ name: 'identifiers', encoding: 'string' });
    this.#open = root.openDB({ name: 'open', encoding: 'string' });
    this.#unserved = root.openDB({ name: 'unserved', encoding: 'string' });
    this.#invoices = root.openDB({ name: 'invoices', encoding: 'string' });
    this.#finished = root.openDB({ name: 'finished', encoding: 'string' });
    this.#deleted = root.openDB({ name: 'deleted', encoding: 'json' });
    this.#live.onApplied((writes) => {
      for (const { database, key } of writes) if (database === 'payments') this.#notify(String(key));
    });
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  /** Throws NOT_READY if another node may have written something that this one does not see. */
  requireCurrent(): void {
    this.#live.requireCurrent();
  }

  /** Calls a listener with the key of each changed payment, of any node. Returns a function that removes it. */
  onChange(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }

  get(key: string): AuthorizedPayment | null {
    this.#live.root.resetReadTxn();
    return this.#payments.get(key) ?? null;
  }

  /** Returns the payment of a payer with an identifier. */
  byIdentifier(payer: string, identifier: string): AuthorizedPayment | null {
    this.#live.root.resetReadTxn();
    const key = this.#identifiers.get([payer, identifier]);
    return key === undefined ? null : (this.#payments.get(key) ?? null);
  }

  /**
   * Changes the payments of one key in one step.
   *
   * @param change - returns the new record, or null to leave everything as it is; it may run several times
   * @returns the stored record
   */
  async change(
    key: string,
    change: (stored: AuthorizedPayment | null, view: AuthorizedView) => AuthorizedPayment | null,
    fence: Fence | null = null,
  ): Promise<AuthorizedPayment | null> {
    let isChanged = false;
    const result = await this.#live.root.childTransaction(() => {
      const before = this.#payments.get(key) ?? null;
      const after = change(before, {
        find: (payer, identifier) => {
          const other = this.#identifiers.get([payer, identifier]);
          return other === undefined ? null : (this.#payments.get(other) ?? null);
        },
        ofInvoice: (invoiceId) => this.#ofInvoice(invoiceId),
      });
      isChanged = after !== null && after !== before;
      if (after === null || !isChanged) return before;
      this.#put(after);
      return after;
    }, fence);
    if (isChanged) this.#notify(key);
    return result;
  }

  #put(payment: AuthorizedPayment): void {
    const { key, chain, createdAtMs } = payment;
    const before = this.#payments.get(key);
    // A part of an invoice that failed may be replaced by a new authorization.
    if (before !== undefined && before.createdAtMs !== createdAtMs)
      this.#finished.removeSync([before.createdAtMs, key]);
    this.#payments.putSync(key, payment);
    if (isFinished(payment)) this.#finished.putSync([createdAtMs, key], PRESENT);
    else this.#finished.removeSync([createdAtMs, key]);
    if (isOpen(payment)) this.#open.putSync([chain, key], PRESENT);
    else this.#open.removeSync([chain, key]);
    if (payment.kind === 'invoice') {
      this.#invoices.putSync([payment.invoiceId, key], PRESENT);
      return;
    }
    const { identifier, authorization, transfer, served, purchase } = payment;
    if (identifier !== null) this.#identifiers.putSync([authorization.from, identifier], key);
    const isWaiting =
      transfer.state === 'SETTLED'
        ? served === null || purchase === null
        : purchase !== null && served === null;
    if (isWaiting) this.#unserved.putSync(key, PRESENT);
    else this.#unserved.removeSync(key);
  }

  /** Returns the payments of a chain that may still change there, in the order of their creation. */
  open(chain: ChainId): readonly AuthorizedPayment[] {
    this.#live.root.resetReadTxn();
    const keys = [...this.#open.getKeys({ start: [chain, ''], end: [chain, '￿'] })];
    return keys.flatMap(([, key]) => this.#payments.get(key) ?? []).toSorted(oldestFirst);
  }

  #ofInvoice(invoiceId: string): readonly InvoicePaymentAuthorization[] {
    return [...this.#invoices.getKeys({ start: [invoiceId, ''], end: [invoiceId, '\uffff'] })]
      .flatMap(([, key]) => this.#payments.get(key) ?? [])
      .filter((payment) => payment.kind === 'invoice')
      .toSorted(oldestFirst);
  }

  /** Returns the payments of an invoice, oldest first. */
  ofInvoice(invoiceId: string): readonly InvoicePaymentAuthorization[] {
    this.#live.root.resetReadTxn();
    return this.#ofInvoice(invoiceId);
  }

  /** Returns calls that are paid and not answered, or not booked. */
  unserved(): readonly AuthorizedPayment[] {
    this.#live.root.resetReadTxn();
    return [...this.#unserved.getKeys()].flatMap((key) => this.#payments.get(key) ?? []);
  }

  /** Returns what is kept of the calls whose records were deleted. */
  deletedCalls(): DeletedCalls {
    this.#live.root.resetReadTxn();
    return this.#deletedCalls();
  }

  #deletedCalls(): DeletedCalls {
    return this.#deleted.get(CALLS) ?? { purchases: 0, digest: NO_DIGEST };
  }

  /**
   * Deletes finished payments that were stored before a time, and whose authorization expired before it.
   *
   * @returns the deleted payments: fewer than `limit` only if no other is due
   */
  async deleteBefore(beforeMs: number, limit: number): Promise<readonly AuthorizedPayment[]> {
    return this.#live.root.childTransaction(() => {
      const deleted: AuthorizedPayment[] = [];
      const due = [...this.#finished.getKeys({ start: [0, ''], end: [beforeMs, ''], limit })];
      for (const place of due) {
        const payment = this.#payments.get(place[1]);
        if (payment === undefined || !isFinished(payment)) this.#finished.removeSync(place);
        else if (Number(payment.authorization.validBefore) * SECOND_MS < beforeMs) {
          this.#remove(payment);
          deleted.push(payment);
        }
      }
      return deleted;
    });
  }

  #remove(payment: AuthorizedPayment): void {
    const { key, chain, createdAtMs, authorization } = payment;
    this.#payments.removeSync(key);
    this.#finished.removeSync([createdAtMs, key]);
    this.#open.removeSync([chain, key]);
    if (payment.kind === 'invoice') {
      this.#invoices.removeSync([payment.invoiceId, key]);
      return;
    }
    this.#unserved.removeSync(key);
    const { identifier, purchase } = payment;
    // A payment that failed leaves its identifier to a later one.
    if (identifier !== null && this.#identifiers.get([authorization.from, identifier]) === key)
      this.#identifiers.removeSync([authorization.from, identifier]);
    if (purchase === null) return;
    const { purchases, digest } = this.#deletedCalls();
    this.#deleted.putSync(CALLS, { purchases: purchases + 1, digest: digestWith(digest, purchase) });
  }

  *all(): Generator<AuthorizedPayment> {
    this.#live.root.resetReadTxn();
    for (const { value } of this.#payments.getRange()) yield value;
  }

  close(): Promise<void> {
    return this.#live.root.close();
  }
}
