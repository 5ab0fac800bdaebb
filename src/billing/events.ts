/** Events of billing: stored with the change that causes them, then sent to the receivers of the account and to its streams. */
import { isDeepStrictEqual } from 'node:util';
import { invoiceAnswer } from './invoice.ts';
import type { Invoice } from './records.ts';

/** `invoice.updated`: anything that a client sees has changed, except the state, which has an event of its own. */
export const BILLING_EVENT_TYPES = [
  'invoice.created',
  'invoice.updated',
  'invoice.new',
  'invoice.processing',
  'invoice.settled',
  'invoice.expired',
  'invoice.invalid',
  'invoice.held',
  'balance.low',
] as const;
export type BillingEventType = (typeof BILLING_EVENT_TYPES)[number];

export interface NewBillingEvent {
  readonly type: BillingEventType;
  /** The invoice, which is read when the event is sent; null for other events. */
  readonly invoiceId: string | null;
  /** Of an event that is not about an invoice. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

export interface StoredEvent extends NewBillingEvent {
  readonly id: string;
  readonly atMs: number;
}

/** Numbered per account, without gaps. */
export interface BillingEvent extends StoredEvent {
  readonly accountId: string;
  readonly number: number;
}

/** Returns the event of a change; null if no client sees it. */
export function eventTypeOf(before: Invoice | null, after: Invoice): BillingEventType | null {
  if (before === null) return 'invoice.created';
  if (before.state !== after.state) return `invoice.${after.state.toLowerCase()}` as BillingEventType;
  // At the same time: only the invoice may differ.
  const nowMs = after.createdAtMs;
  return isDeepStrictEqual(invoiceAnswer(before, nowMs), invoiceAnswer(after, nowMs))
    ? null
    : 'invoice.updated';
}
