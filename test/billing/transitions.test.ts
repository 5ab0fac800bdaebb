/** The states of an invoice: derived from its payments, whatever the order and the number of their reports. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newInvoice } from '../../src/billing/invoice.ts';
import type { Invoice, PaymentState, ReportedPayment } from '../../src/billing/records.ts';
import { bookedCredits, isUnbooked, moneyOf, transition } from '../../src/billing/transitions.ts';
import { SELLER } from './opened.ts';

const EXPIRES = 1_000_000;
const DUE = 19_900n;

const invoiceOf = (toleranceBasisPoints: number): Invoice =>
  newInvoice(
    { package: 'Starter', quantity: 1, credits: 100, amount: Number(DUE), currency: 'USD', pool: 'api' },
    {
      ...{ method: 'WIRE', expiresAtMs: EXPIRES, monitorUntilMs: EXPIRES * 2, rate: null, details: {} },
      ...{ due: { asset: 'USD', amount: String(DUE), decimals: 2 }, toleranceBasisPoints, references: [] },
    },
    { id: '01', accountId: 'acc_1', nowMs: 0, createdBy: 'per_ann' },
  );

const payment = (id: string, amount: bigint, state: PaymentState, seenAtMs = 1): ReportedPayment => ({
  ...{ id, asset: 'USD', amount: String(amount), value: String(amount), state, seenAtMs },
  ...{ reason: state === 'HELD' ? 'the sender is sanctioned' : null, facts: {} },
});

let entries = 0;
/** Books what an invoice needs, as the settlement does. */
function booked(first: Invoice, nowMs = 10): Invoice {
  let invoice = first;
  while (isUnbooked(invoice)) {
    const open = invoice.payments.find((one) => one.credits !== bookedCredits(invoice, one.id))!;
    const amount = open.credits - bookedCredits(invoice, open.id);
    const entry = { id: String(++entries), amount, createdAt: new Date(nowMs).toISOString() };
    const receipt = () => ({ number: 1, issuedAtMs: nowMs, seller: SELLER });
    invoice = transition(
      invoice,
      { kind: 'booked', paymentId: open.id, cause: 'PURCHASE', entry, receipt },
      nowMs,
    );
  }
  return invoice;
}

const report = (invoice: Invoice, one: ReportedPayment, nowMs = 10): Invoice =>
  transition(invoice, { kind: 'payment', payment: one }, nowMs);
const creditsOf = ({ entries: own }: Invoice): number => own.reduce((sum, { credits }) => sum + credits, 0);

it('a pending payment is PROCESSING, a confirmed one SETTLED after its booking, and a reorg takes both back', () => {
  let invoice = report(invoiceOf(0), payment('a', DUE, 'PENDING'));
  expect([invoice.state, invoice.exceptions, creditsOf(invoice)]).toEqual(['PROCESSING', [], 0]);
  invoice = report(invoice, payment('a', DUE, 'CONFIRMED'));
  // Paid, and not booked yet.
  expect([invoice.state, isUnbooked(invoice)]).toEqual(['PROCESSING', true]);
  invoice = booked(invoice);
  expect([invoice.state, creditsOf(invoice), invoice.receipt?.number]).toEqual(['SETTLED', 100, 1]);
  invoice = booked(report(invoice, payment('a', DUE, 'PENDING')));
  expect([invoice.state, creditsOf(invoice)]).toEqual(['PROCESSING', 0]);
  invoice = booked(report(invoice, payment('a', DUE, 'CONFIRMED')));
  expect([invoice.state, creditsOf(invoice)]).toEqual(['SETTLED', 100]);
});

it('a replaced payment makes the invoice NEW again, or EXPIRED if its time has passed', () => {
  const seen = report(invoiceOf(0), payment('a', DUE, 'PENDING'));
  expect(report(seen, payment('a', DUE, 'REVERTED')).state).toBe('NEW');
  expect(report(seen, payment('a', DUE, 'REVERTED'), EXPIRES).state).toBe('EXPIRED');
});

it('a held payment credits nothing until it is released, and a refused one never', () => {
  const held = report(invoiceOf(0), payment('a', DUE, 'HELD'));
  expect([held.state, held.reason, isUnbooked(held)]).toEqual(['HELD', 'the sender is sanctioned', false]);
  const released = booked(transition(held, { kind: 'release', paymentId: 'a' }, 20));
  expect([released.state, creditsOf(released)]).toEqual(['SETTLED', 100]);
  // The method reports it again as it sees it.
  expect(report(released, payment('a', DUE, 'HELD')).state).toBe('SETTLED');
  const refused = transition(held, { kind: 'refuse', paymentId: 'a', reason: 'returned' }, 20);
  expect([refused.state, report(refused, payment('a', DUE, 'CONFIRMED')).state]).toEqual(['NEW', 'NEW']);
  expect(() => transition(released, { kind: 'refuse', paymentId: 'a', reason: 'x' }, 20)).toThrow(
    'refund it',
  );
});

it('the time of the first sight decides whether a payment is late, to the millisecond', () => {
  for (const [seen, exceptions] of [
    [EXPIRES - 1, []],
    [EXPIRES, ['PAID_LATE']],
  ] as const)
    expect(booked(report(invoiceOf(0), payment('a', DUE, 'CONFIRMED', seen), EXPIRES + 5))).toMatchObject({
      ...{ state: 'SETTLED', exceptions },
    });
});

it('the tolerance is exact, and a surplus below one credit is kept', () => {
  const least = DUE - (DUE * 50n) / 10_000n;
  expect(booked(report(invoiceOf(50), payment('a', least, 'CONFIRMED'))).state).toBe('SETTLED');
  expect(report(invoiceOf(50), payment('a', least - 1n, 'CONFIRMED'))).toMatchObject({
    ...{ state: 'NEW', exceptions: ['PAID_PARTIAL'] },
  });
  const over = booked(report(invoiceOf(0), payment('a', DUE + 198n, 'CONFIRMED')));
  expect([creditsOf(over), over.exceptions]).toEqual([100, ['PAID_OVER']]);
  expect(creditsOf(booked(report(invoiceOf(0), payment('a', DUE + 199n, 'CONFIRMED'))))).toBe(101);
});

it('an invoice has 200 payments, which are still reported again, and no other', () => {
  let invoice = invoiceOf(0);
  for (let index = 1; index <= 200; index++) invoice = report(invoice, payment(`p${index}`, 1n, 'PENDING'));
  expect(invoice.payments).toHaveLength(200);
  expect(() => report(invoice, payment('p201', 1n, 'PENDING'))).toThrow('at most 200 payments');
  const again = report(invoice, payment('p200', 1n, 'CONFIRMED'));
  expect([again.payments.length, again.payments[199]?.state]).toEqual([200, 'CONFIRMED']);
});

it('in any order and number of reports, entries add up to what the confirmed money buys', () => {
  const states = fc.constantFrom<PaymentState>('PENDING', 'CONFIRMED', 'REVERTED', 'WRONG_ASSET');
  const reports = fc.array(
    fc.record({ id: fc.constantFrom('a', 'b', 'c'), state: states, books: fc.boolean() }),
    { maxLength: 30 },
  );
  const amounts = fc.record({
    a: fc.bigInt(1n, DUE * 2n),
    b: fc.bigInt(1n, DUE),
    c: fc.bigInt(1n, 500n),
  });
  fc.assert(
    fc.property(reports, amounts, (steps, amountOf) => {
      let invoice = invoiceOf(0);
      for (const { id, state, books } of steps) {
        const one = payment(id, amountOf[id as 'a' | 'b' | 'c'], state);
        invoice = report(invoice, one);
        // Repeating a report is a no-op.
        expect(report(invoice, one)).toBe(invoice);
        if (books) invoice = booked(invoice);
      }
      invoice = booked(invoice);
      const { confirmed } = moneyOf(invoice);
      const wasSettled = invoice.settledAtMs !== null;
      const expected = confirmed >= DUE || wasSettled ? (confirmed * 100n) / DUE : 0n;
      expect(creditsOf(invoice)).toBe(Number(expected));
      expect(invoice.state === 'SETTLED').toBe(confirmed >= DUE);
      expect(invoice.payments.every((one) => one.credits === bookedCredits(invoice, one.id))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
