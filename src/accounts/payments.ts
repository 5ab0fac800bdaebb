/**
 * Payments: signed Stripe webhook events become bookings in the ledger. A checkout is booked once when it is paid, whichever event reports
 * it first. A refund takes back its share, a dispute takes back everything, and a won dispute returns it. Of a payment, only the account,
 * the package and Stripe's ids are stored, and no card data. (The other source of credits is an operator's grant, which is booked directly
 * in the ledger.)
 * https://docs.stripe.com/webhooks#verify-manually, https://docs.stripe.com/api/events/types
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import type { CreditPackage } from './credits.ts';
import type { Ledger } from './ledger.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export const FORMAT_VERSION = 1;

/** The stored data of a paid checkout, by its payment. */
interface Purchase {
  readonly accountId: string;
  readonly credits: number;
  /** Credits that each event took back, by the event's subject; negative if it returned them. */
  readonly takenBack: Readonly<Record<string, number>>;
}

/** Takes credits back, or returns them, in the same form for all events. */
interface Reversal {
  /** The payment (`pi_…`). */
  readonly payment: string;
  /** Identifies the refund or dispute; the same in every event about it. */
  readonly subject: string;
  /** Total share of the credits that refunds have taken back so far, from 0 to 1; or an opened or won dispute. */
  readonly effect:
    | { readonly kind: 'refund'; readonly share: number }
    | { readonly kind: 'dispute' }
    | { readonly kind: 'won'; readonly dispute: string };
}

export interface PaymentAnswer {
  /** `booked`: the ledger changed; `repeated`: the event was booked before; `ignored`: nothing to do. */
  readonly outcome: 'booked' | 'repeated' | 'ignored';
  /** The account with changed credits. */
  readonly accountId: string | null;
  /** Ledger entry. */
  readonly entryId: string | null;
}

export interface Payments {
  /** Verifies and books one event. Rejects with UNAUTHENTICATED if the signature is invalid, INVALID_REQUEST. */
  receive(body: Uint8Array, signature: string): Promise<PaymentAnswer>;
  close(): Promise<void>;
}

export interface PaymentsDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ledger: () => Pick<Ledger, 'book'>;
  readonly packages: readonly CreditPackage[];
  readonly accountExists: (accountId: string) => boolean;
  /** Default: a store on this machine. */
  readonly openStore?: OpenStore;
}

type Row = Readonly<Record<string, unknown>>;

const rowOf = (value: unknown): Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};
const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 255) : '');

const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${expected}.`, { field });

const badSignature = (): AssayError =>
  new AssayError('UNAUTHENTICATED', 'The Stripe-Signature header is missing, wrong, or too old.');

/**
 * Checks `t=<seconds>,v1=<hex>[,v1=…]`: HMAC-SHA256 of `<t>.<body>`. Every candidate is compared in constant time, and all of them are
 * compared.
 *
 * @throws UNAUTHENTICATED
 */
export function checkSignature(body: Uint8Array, header: string, secret: string, nowMs: number): void {
  const pairs = header.split(',').map((part) => part.trim().split('=', 2));
  const time = pairs.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(time)) throw badSignature();
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  let matches = false;
  for (const [name, value = ''] of pairs) {
    if (name !== 'v1' || !/^[0-9a-f]{64}$/.test(value)) continue;
    matches = timingSafeEqual(expected, Buffer.from(value, 'hex')) || matches;
  }
  const isRecent = Math.abs(nowMs - Number(time) * 1000) <= ACCOUNT_LIMITS.webhookToleranceMs;
  if (!matches || !isRecent) throw badSignature();
}

/** Returns the reversal of an event that takes back or returns credits; null for all other events. */
function reversalOf(type: string, object: Row): Reversal | null {
  const payment = textOf(object.payment_intent);
  const id = textOf(object.id);
  if (payment === '' || id === '') return null;
  if (type === 'charge.refunded') {
    const amount = Number(object.amount);
    const refunded = Number(object.amount_refunded);
    if (!(amount > 0) || !(refunded >= 0) || refunded > amount)
      throw invalid('data.object.amount_refunded', 'must be a number from 0 to amount');
    return { payment, subject: `${id}:${refunded}`, effect: { kind: 'refund', share: refunded / amount } };
  }
  if (type === 'charge.dispute.created' || type === 'charge.dispute.funds_withdrawn')
    return { payment, subject: id, effect: { kind: 'dispute' } };
  const isWon = type === 'charge.dispute.closed' && object.status === 'won';
  if (isWon || type === 'charge.dispute.funds_reinstated')
    return { payment, subject: `${id}:won`, effect: { kind: 'won', dispute: id } };
  return null;
}

const sumOf = (takenBack: Purchase['takenBack']): number =>
  Object.values(takenBack).reduce((sum, credits) => sum + credits, 0);

/** Returns the credits that a reversal takes back (negative: returns), given what was taken back before. */
function creditsOf({ effect }: Reversal, { credits, takenBack }: Purchase): number {
  const taken = sumOf(takenBack);
  if (effect.kind === 'dispute') return credits - taken;
  if (effect.kind === 'won') return -(takenBack[effect.dispute] ?? 0);
  // A refunded fraction of a credit takes back the whole credit.
  return Math.max(0, Math.ceil(credits * effect.share) - taken);
}

/**
 * Opens (or creates) the store file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openPayments(
  options: { readonly path: string; readonly secret: string },
  deps: PaymentsDeps,
): Payments {
  const { openStore = openLiveStore } = deps;
  const { root } = openStore(options.path, FORMAT_VERSION, { name: 'payments' });
  const purchases: LiveDatabase<Purchase, string> = root.openDB({ name: 'purchases', encoding: 'json' });
  /** Reversals of payments without a known checkout: events may arrive in any order. */
  const early: LiveDatabase<Reversal, [payment: string, subject: string]> = root.openDB({
    name: 'early',
    encoding: 'json',
  });
  const ignored: PaymentAnswer = { outcome: 'ignored', accountId: null, entryId: null };
  /** Events are processed one at a time: the amount of a reversal depends on those before it. */
  let last: Promise<unknown> = Promise.resolve();

  async function reverse(reversal: Reversal): Promise<PaymentAnswer> {
    const { payment, subject } = reversal;
    // Computed and stored in one transaction, on whichever node receives the event: the amount depends on all earlier reversals.
    const decided = await root.transaction(() => {
      const purchase = purchases.get(payment);
      if (purchase === undefined) {
        early.putSync([payment, subject], reversal);
        return null;
      }
      const { accountId, takenBack } = purchase;
      const credits = takenBack[subject] ?? creditsOf(reversal, purchase);
      if (credits !== 0 && takenBack[subject] === undefined)
        purchases.putSync(payment, { ...purchase, takenBack: { ...takenBack, [subject]: credits } });
      return { accountId, credits };
    });
    if (decided === null) return ignored;
    const { accountId, credits } = decided;
    if (credits === 0) return { outcome: 'ignored', accountId, entryId: null };
    // `once` makes the booking happen once; if the process crashes before it, Stripe sends the event again.
    const { entry, repeated } = await deps.ledger().book({
      accountId,
      type: 'ADJUSTMENT',
      amount: -credits,
      reference: `stripe ${reversal.effect.kind} ${payment}`,
      once: `stripe ${payment} ${subject}`,
      mayOwe: true,
    });
    return { outcome: repeated ? 'repeated' : 'booked', accountId, entryId: entry.id };
  }

  /** Returns the package of a paid checkout. The buyer chooses the account; the seller sets the package, and the price must match it. */
  function packageOf(checkout: Row): CreditPackage {
    const name = textOf(rowOf(checkout.metadata).package);
    const creditPackage = deps.packages.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (creditPackage === undefined)
      throw invalid(
        'data.object.metadata.package',
        `must be one of ${deps.packages.map((one) => one.name).join(', ')}`,
      );
    if (checkout.currency !== 'usd' || checkout.amount_total !== creditPackage.priceUsd * 100)
      throw invalid(
        'data.object.amount_total',
        `must be ${creditPackage.priceUsd * 100} usd for the package ${creditPackage.name}`,
      );
    return creditPackage;
  }

  async function purchase(checkout: Row): Promise<PaymentAnswer> {
    const isPaid = checkout.payment_status === 'paid';
    const wanted = textOf(rowOf(checkout.metadata).package);
    // Checkouts of other products of the seller, and unpaid ones.
    if (!isPaid || wanted === '') return ignored;
    const accountId = textOf(checkout.client_reference_id);
    if (!deps.accountExists(accountId))
      throw invalid('data.object.client_reference_id', 'must be the id of an existing account');
    const id = textOf(checkout.id);
    const payment = textOf(checkout.payment_intent);
    if (id === '' || payment === '') throw invalid('data.object.payment_intent', 'is required');
    const { name, credits } = packageOf(checkout);
    // Stored first: after a crash below this line, Stripe sends the event again.
    await root.transaction(() => {
      if (purchases.get(payment) === undefined)
        purchases.putSync(payment, { accountId, credits, takenBack: {} });
    });
    const { entry, repeated } = await deps.ledger().book({
      accountId,
      type: 'PURCHASE',
      amount: credits,
      reference: null,
      once: `stripe ${id}`,
    });
    deps.log.info({ accountId, package: name, entry: entry.id, repeated }, 'purchase booked');
    const waiting = [...early.getRange({ start: [payment, ''], end: [payment, '\u007f'] })];
    for (const { key, value } of waiting) {
      await reverse(value);
      await early.remove(key);
    }
    return { outcome: repeated ? 'repeated' : 'booked', accountId, entryId: entry.id };
  }

  async function handle(event: Row): Promise<PaymentAnswer> {
    const type = textOf(event.type);
    const object = rowOf(rowOf(event.data).object);
    if (textOf(event.id) === '' || type === '') throw invalid('body', 'must be a Stripe event');
    if (type === 'checkout.session.completed' || type === 'checkout.session.async_payment_succeeded')
      return purchase(object);
    const reversal = reversalOf(type, object);
    return reversal === null ? ignored : reverse(reversal);
  }

  return {
    async receive(body, signature) {
      checkSignature(body, signature, options.secret, deps.clock.now());
      let event: unknown;
      try {
        event = JSON.parse(Buffer.from(body).toString('utf8'));
      } catch (cause) {
        throw new AssayError('INVALID_JSON', 'The request body is not valid JSON.', { field: 'body', cause });
      }
      const turn = last.then(() => handle(rowOf(event)));
      last = turn.catch(() => undefined);
      return turn;
    },
    async close() {
      await last;
      await root.close();
    },
  };
}
