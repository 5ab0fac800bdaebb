/** The messages of billing events: their texts, their data, and their receivers. */
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import { isoTime } from '../base/clock.ts';
import { idOfName } from '../base/ids.ts';
import type { BillingEvent } from './events.ts';
import { type InvoiceAnswer, invoiceAnswer } from './invoice.ts';
import type { Invoice } from './records.ts';
import type { InvoiceStore } from './store.ts';

/** A message for the receivers of an account. */
export interface BillingNotice {
  /** Id of the event: the same message is stored once. */
  readonly id: string;
  readonly accountId: string;
  readonly webhookUrl: string | null;
  readonly email: string | null;
  /** Type of the webhook. */
  readonly type: string;
  readonly subject: string;
  readonly lines: readonly string[];
  readonly data: unknown;
}

/** Returns the data of an event as webhooks and streams have it; null if its invoice is gone. */
export function eventData(
  { accountId, invoiceId, data, atMs }: BillingEvent,
  store: Pick<InvoiceStore, 'get'>,
  nowMs: number,
): Readonly<Record<string, unknown>> | null {
  if (invoiceId === null) return { ...data, at: isoTime(atMs) };
  const invoice = store.get(accountId, invoiceId);
  return invoice === null ? null : { invoice: invoiceAnswer(invoice, nowMs) };
}

function linesOf({ type }: BillingEvent, data: Readonly<Record<string, unknown>>): readonly string[] {
  if (type === 'balance.low')
    return [
      `The balance for ${data.pool} has ${data.balance} credits left, fewer than ${data.threshold}.`,
      'Buy credits on the page Credits of the dashboard.',
    ];
  const { id, state, exceptions, credits } = data.invoice as InvoiceAnswer;
  return [`Invoice ${id} for ${credits} credits is ${[state, ...exceptions].join(', ')}.`];
}

/** Returns the message of an event; null if the account has no receiver for it. */
export function noticeOf(
  event: BillingEvent,
  store: Pick<InvoiceStore, 'get' | 'preferences'>,
  nowMs: number,
): BillingNotice | null {
  const { id, accountId, type } = event;
  const { webhookUrl, email } = store.preferences(accountId);
  const own = type === 'balance.low' ? email : null;
  if (webhookUrl === null && own === null) return null;
  const data = eventData(event, store, nowMs);
  if (data === null) return null;
  const lines = linesOf(event, data);
  const subject = type === 'balance.low' ? `low balance for ${data.pool}` : type;
  return { id, accountId, webhookUrl, email: own, type, subject, lines, data };
}

/** The type of the operator's alert about money that waits for a decision. */
export const PAYMENT_HELD = 'payment.held';

/** Returns what is held of an invoice: its HELD payments, or a payment by card that does not match. */
function heldOf({ id, payments, reason, createdAtMs, due }: Invoice) {
  const held = payments.filter(({ state }) => state === 'HELD');
  if (held.length > 0)
    return held.map((payment) => ({ ...payment, name: `held ${id} ${payment.id}`, paymentId: payment.id }));
  const { asset, amount } = due;
  return [{ name: `held ${id}`, paymentId: null, asset, amount, reason, seenAtMs: createdAtMs }];
}

/**
 * Returns the alerts of the operator about the held payments of an event's invoice. Receivers are those of the account `local`. Each payment
 * has one alert, also if it is held again later.
 */
export function heldNotices(
  { accountId, invoiceId }: BillingEvent,
  store: Pick<InvoiceStore, 'get' | 'preferences'>,
  nowMs: number,
): readonly BillingNotice[] {
  const { webhookUrl, email } = store.preferences(LOCAL_ACCOUNT);
  if (invoiceId === null || (webhookUrl === null && email === null)) return [];
  const invoice = store.get(accountId, invoiceId);
  if (invoice?.state !== 'HELD') return [];
  return heldOf(invoice).map(({ name, paymentId, asset, amount, reason, seenAtMs }) => ({
    ...{ id: idOfName(seenAtMs, name), accountId: LOCAL_ACCOUNT, webhookUrl, email, type: PAYMENT_HELD },
    subject: `payment held for invoice ${invoiceId}`,
    lines: [
      `A payment of ${amount} ${asset} (smallest unit) for invoice ${invoiceId} of ${accountId} is held: ${reason ?? 'it does not match.'}`,
      paymentId === null
        ? 'Refund it at the payment provider, or correct the cause and send the event again.'
        : `Decide with: assay billing release|refuse ${accountId} ${invoiceId} '${paymentId}' --reason …`,
    ],
    data: { accountId, paymentId, reason, invoice: invoiceAnswer(invoice, nowMs) },
  }));
}
