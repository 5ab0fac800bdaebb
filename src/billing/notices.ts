/** The messages of billing events: their texts, their data, and their receivers. */
import { isoTime } from '../base/clock.ts';
import type { BillingEvent } from './events.ts';
import { type InvoiceAnswer, invoiceAnswer } from './invoice.ts';
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
