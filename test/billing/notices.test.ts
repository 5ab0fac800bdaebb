/** The messages of billing events: who receives them, and what they say. */
import { describe, expect, it } from 'vitest';
import { LOCAL_ACCOUNT } from '../../src/accounts/keys.ts';
import type { BillingEvent } from '../../src/billing/events.ts';
import { newInvoice } from '../../src/billing/invoice.ts';
import { eventData, heldNotices, noticeOf } from '../../src/billing/notices.ts';
import type { Invoice, ReportedPayment } from '../../src/billing/records.ts';
import { transition } from '../../src/billing/transitions.ts';

const INVOICE = newInvoice(
  { package: 'Starter', quantity: 1, credits: 100, amount: 900, currency: 'USD', pool: 'api' },
  {
    ...{ method: 'WIRE', expiresAtMs: 1_000, monitorUntilMs: 2_000, rate: null, details: {} },
    ...{ due: { asset: 'USD', amount: '900', decimals: 2 }, toleranceBasisPoints: 0, references: [] },
  },
  { id: '01', accountId: 'acc_1', nowMs: 0, createdBy: 'per_ann' },
);

const payment = (id: string, state: 'HELD' | 'PENDING', reason: string | null): ReportedPayment => ({
  ...{ id, asset: 'USD', amount: '500', value: '500', state, reason, seenAtMs: 7, facts: {} },
});

const HELD = ['p1', 'p2'].reduce(
  (invoice, id) =>
    transition(invoice, { kind: 'payment', payment: payment(id, 'HELD', `${id} is unclear`) }, 10),
  transition(INVOICE, { kind: 'payment', payment: payment('p0', 'PENDING', null) }, 10),
);

const NOBODY = { webhookUrl: null, email: null };
const HOOK = { webhookUrl: 'https://example.org/hook', email: null };
const MAIL = { webhookUrl: null, email: 'ops@example.org' };

/** A store of one invoice, and of the receivers of each account. */
const storeOf = (
  invoice: Invoice | null,
  receivers: Readonly<Record<string, typeof HOOK | typeof MAIL>>,
) => ({
  get: () => invoice,
  preferences: (accountId: string) => (receivers[accountId] ?? NOBODY) as never,
});

const event = (change: Partial<BillingEvent> = {}): BillingEvent =>
  ({
    ...{
      id: 'e1',
      accountId: 'acc_1',
      number: 1,
      type: 'invoice.held',
      invoiceId: '01',
      data: null,
      atMs: 5,
    },
    ...change,
  }) as BillingEvent;

const LOW = event({
  ...{ type: 'balance.low', invoiceId: null },
  data: { pool: 'api', balance: 3, threshold: 10 } as never,
});

describe('an event', () => {
  it('has the data of its invoice, or its own, and none if the invoice is gone', () => {
    expect(eventData(event(), storeOf(HELD, {}), 20)).toMatchObject({ invoice: { id: '01', state: 'HELD' } });
    expect(eventData(event(), storeOf(null, {}), 20)).toBeNull();
    expect(eventData(LOW, storeOf(null, {}), 20)).toMatchObject({
      ...{ pool: 'api', balance: 3, at: '1970-01-01T00:00:00.005Z' },
    });
  });

  it('about an invoice is sent to the webhook of its account only', () => {
    expect(noticeOf(event(), storeOf(HELD, { acc_1: HOOK }), 20)).toMatchObject({
      ...{ id: 'e1', accountId: 'acc_1', ...HOOK, type: 'invoice.held', subject: 'invoice.held' },
      lines: [expect.stringMatching(/^Invoice 01 for 100 credits is HELD/)],
    });
    expect(noticeOf(event(), storeOf(HELD, { acc_1: MAIL }), 20)).toBeNull();
    expect(noticeOf(event(), storeOf(HELD, { acc_2: HOOK }), 20)).toBeNull();
    expect(noticeOf(event(), storeOf(null, { acc_1: HOOK }), 20)).toBeNull();
  });

  it('about a low balance is sent by email as well', () => {
    const notice = (receivers: Record<string, typeof HOOK | typeof MAIL>) =>
      noticeOf(LOW, storeOf(null, receivers), 20);
    expect(notice({ acc_1: MAIL })).toMatchObject({
      ...{ ...MAIL, subject: 'low balance for api' },
      lines: [expect.stringContaining('has 3 credits left, fewer than 10'), expect.any(String)],
    });
    expect(notice({ acc_1: HOOK })).toMatchObject(HOOK);
    expect(notice({})).toBeNull();
  });
});

describe('held payments', () => {
  const notices = (
    invoice: Invoice | null,
    receivers: Record<string, typeof HOOK | typeof MAIL>,
    of: BillingEvent = event(),
  ) => heldNotices(of, storeOf(invoice, receivers), 20);

  it.each([HOOK, MAIL])('are reported to the operator, one by one (%o)', (receiver) => {
    const found = notices(HELD, { [LOCAL_ACCOUNT]: receiver });
    expect(found).toHaveLength(2);
    expect(found[0]).toMatchObject({
      ...{ accountId: LOCAL_ACCOUNT, ...receiver, type: 'payment.held' },
      lines: [
        'A payment of 500 USD (smallest unit) for invoice 01 of acc_1 is held: p1 is unclear',
        "Decide with: assay billing release|refuse acc_1 01 'p1' --reason …",
      ],
      data: { accountId: 'acc_1', paymentId: 'p1', invoice: { id: '01' } },
    });
    expect(found[1]).toMatchObject({ data: { paymentId: 'p2' } });
  });

  it('have the same id each time, and one of their own each', () => {
    const ids = () => notices(HELD, { [LOCAL_ACCOUNT]: HOOK }).map(({ id }) => id);
    expect(ids()).toEqual(ids());
    expect(new Set(ids()).size).toBe(2);
  });

  it('are not reported without a receiver, an invoice, or something that is held', () => {
    expect(notices(HELD, {})).toEqual([]);
    expect(notices(HELD, { acc_1: HOOK })).toEqual([]);
    expect(notices(null, { [LOCAL_ACCOUNT]: HOOK })).toEqual([]);
    expect(notices(INVOICE, { [LOCAL_ACCOUNT]: HOOK })).toEqual([]);
    expect(notices(HELD, { [LOCAL_ACCOUNT]: HOOK }, LOW)).toEqual([]);
  });

  it('by card are reported with the invoice if no payment of it is held', () => {
    const card = { ...INVOICE, state: 'HELD', reason: null } as Invoice;
    expect(notices(card, { [LOCAL_ACCOUNT]: HOOK })).toMatchObject([
      {
        lines: [
          expect.stringMatching(/^A payment of 900 USD .* is held: it does not match\.$/),
          expect.stringContaining('Refund it at the payment provider'),
        ],
        data: { paymentId: null },
      },
    ]);
  });
});
