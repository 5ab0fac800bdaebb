/**
 * Buying credits, over both kinds of live state: checkouts at a stand-in for Stripe, payments, refunds and disputes entry by entry,
 * tampered events, receipts, and an interruption between an event and its booking.
 */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { BILLING_LIMITS } from '../../src/billing/limits.ts';
import type { Billing } from '../../src/billing/service.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { type OpenedBillingOptions, openedBilling, SELLER } from './opened.ts';
import {
  eventOf,
  paid,
  type StandInSession,
  type StripeStandIn,
  signatureOf,
  startStripe,
  WEBHOOK_SECRET,
} from './stripe-stand-in.ts';

const BUYER = { accountId: 'acc_1', personId: 'per_ann' };

let stripe: StripeStandIn;
beforeAll(async () => {
  stripe = await startStripe();
});
afterAll(() => stripe.close());

overLiveStates((makeState) => {
  let now: number;
  let state: LiveState;
  let folder: TempFolder;
  let access: Access;
  let billing: Billing;
  const clock = { now: () => now, monotonic: () => now };

  const opened = (options: OpenedBillingOptions = {}): Billing =>
    openedBilling(folder.path, access, {
      stripeSecret: WEBHOOK_SECRET,
      ...{ apiUrl: stripe.url, publicUrl: 'https://assay.example', clock, openStore: state.openStore },
      ...options,
    });

  beforeEach(async () => {
    now = Date.UTC(2026, 10, 23, 12);
    stripe.faults.splice(0);
    folder = memoryFolder();
    state = makeState();
    access = createAccess(
      { folder: join(folder.path, 'accounts') },
      { clock, random: systemRandom, log: silentLogger, freeCredits: () => 0 },
    );
    await access.keys.addAccount('acc_1', 'FREE');
    await access.keys.addAccount('acc_2', 'FREE');
    billing = opened();
    billing.open();
    await state.ready();
  });
  afterEach(async () => {
    await billing.close();
    await state.close();
    await access.close();
    folder.remove();
  });

  const send = (type: string, object: object) => {
    const body = eventOf(type, object);
    return billing.payments()!.receive(Buffer.from(body), signatureOf(body, now));
  };
  const complete = (session: StandInSession, change: object = {}) =>
    send('checkout.session.completed', paid(session, change));
  const buy = async (order: Parameters<Billing['checkout']>[1] = { package: 'Starter' }) => {
    const { url, invoice } = await billing.checkout(BUYER, order);
    return { url, invoice, session: stripe.sessions.at(-1)! };
  };
  const balance = async (pool: 'api' | 'dashboard' = 'api') =>
    (await access.ledger().balance(balanceId('acc_1', pool))).balance;
  const stateOf = (id: string) => billing.invoice('acc_1', id).state;

  it('offers the packages of the specification, with prices in cents', () => {
    const { checkout, packages } = billing.offer('acc_1');
    expect(checkout).toBe('available');
    expect(
      packages.map(({ name, kind, credits, price, pricePerCredit, pools }) => [
        ...[name, kind, credits, price?.amount, pricePerCredit?.amount, pools.length],
      ]),
    ).toEqual([
      ['Free', 'FREE', 10, 0, 0, 0],
      ['Starter', 'PREPAID', 100, 19_900, 199, 2],
      ['Growth', 'PREPAID', 500, 79_900, 160, 2],
      ['Business', 'PREPAID', 2_000, 249_900, 125, 2],
      ['Enterprise', 'PREPAID', 10_000, 999_900, 100, 2],
      ['Custom', 'CUSTOM', null, undefined, undefined, 0],
    ]);
  });

  it('creates a session with the price, the account and what was bought, and books it when it is paid', async () => {
    const { url, invoice, session } = await buy({ package: 'growth', pool: 'dashboard', quantity: 2 });
    expect(url).toBe(session.url);
    const { headers, form } = stripe.requests.at(-1)!;
    expect(headers['idempotency-key']).toBe(`assay-${invoice.id}`);
    expect(form).toMatchObject({
      mode: 'payment',
      client_reference_id: 'acc_1',
      'line_items[0][price_data][currency]': 'usd',
      'line_items[0][price_data][unit_amount]': '159800',
      'metadata[invoice]': invoice.id,
      'metadata[account]': 'acc_1',
      'metadata[package]': 'Growth',
      'metadata[pool]': 'dashboard',
      'metadata[credits]': '1000',
      'payment_intent_data[metadata][invoice]': invoice.id,
      success_url: `https://assay.example/billing/success?invoice=${invoice.id}`,
      cancel_url: `https://assay.example/billing/cancel?invoice=${invoice.id}`,
      'adaptive_pricing[enabled]': 'false',
      expires_at: String((now + BILLING_LIMITS.checkoutMs) / 1000),
    });
    expect(stateOf(invoice.id)).toBe('NEW');
    expect(await complete(session)).toMatchObject({ outcome: 'booked', accountId: 'acc_1' });
    expect([await balance(), await balance('dashboard')]).toEqual([0, 1_000]);
    const settled = billing.invoice('acc_1', invoice.id);
    expect(settled).toMatchObject({
      state: 'SETTLED',
      references: [session.id, session.payment_intent],
      entries: [{ cause: 'PURCHASE', credits: 1_000 }],
      receipt: { number: 1 },
    });
    expect(() => billing.invoice('acc_2', invoice.id)).toThrow('there is no invoice');
  });

  it('books an event once that is delivered twice, and at the same time', async () => {
    const { invoice, session } = await buy();
    await Promise.all([complete(session), complete(session)]);
    await send('checkout.session.async_payment_succeeded', paid(session));
    expect(await complete(session)).toMatchObject({ outcome: 'repeated' });
    expect(await balance()).toBe(100);
    expect(billing.invoice('acc_1', invoice.id).receipt?.number).toBe(1);
  });

  it.each([
    ['less money', { amount_total: 19_899 }],
    ['another currency', { currency: 'jpy' }],
    ['another account', { client_reference_id: 'acc_2' }],
    ['no metadata', { metadata: {} }],
  ])('holds a payment with %s, and books nothing', async (_what, change) => {
    const { invoice, session } = await buy();
    await expect(complete(session, change)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(stateOf(invoice.id)).toBe('HELD');
    expect([await balance(), (await access.ledger().balance('acc_2')).balance]).toEqual([0, 0]);
    // The true event books it after all.
    await complete(session);
    expect([stateOf(invoice.id), await balance()]).toEqual(['SETTLED', 100]);
  });

  it.each(['package', 'pool', 'credits', 'quantity', 'account', 'invoice'])(
    'holds a payment whose metadata names another %s',
    async (field) => {
      const { invoice, session } = await buy();
      const metadata = { ...session.metadata, [field]: field === 'package' ? 'Enterprise' : '9999' };
      await expect(complete(session, { metadata })).rejects.toMatchObject({
        field: `data.object.metadata.${field}`,
      });
      expect([stateOf(invoice.id), await balance()]).toEqual(['HELD', 0]);
    },
  );

  it('explains refunds and disputes entry by entry, also below zero', async () => {
    const { invoice, session } = await buy();
    await complete(session);
    await access.ledger().book({ accountId: 'acc_1', type: 'ADJUSTMENT', amount: -90, reference: 'spent' });
    const charge = { id: 'ch_1', payment_intent: session.payment_intent, amount: 19_900 };
    const dispute = { id: 'dp_1', payment_intent: session.payment_intent };
    await send('charge.refunded', { ...charge, amount_refunded: 1_990 });
    await send('charge.dispute.created', { ...dispute, status: 'needs_response' });
    expect(await balance()).toBe(-90);
    await send('charge.dispute.closed', { ...dispute, status: 'lost' });
    const { entries, refunded, dispute: how, state: after } = billing.invoice('acc_1', invoice.id);
    expect([refunded, how, after]).toEqual([1_990, 'LOST', 'SETTLED']);
    expect(entries.map(({ cause, credits }) => [cause, credits])).toEqual([
      ['PURCHASE', 100],
      ['REFUND', -10],
      ['DISPUTE', -90],
    ]);
    const { history } = await access.ledger().usage('acc_1', { limit: 10 });
    for (const { id, credits } of entries)
      expect(history.find((entry) => entry.id === id)).toMatchObject({ amount: credits });
    expect(await billing.verify()).toMatchObject({ faults: [], settled: 1, receipts: 1, entries: 3 });
  });

  it('settles a payment that is confirmed later, also if its events arrive in the wrong order', async () => {
    const first = await buy();
    await complete(first.session, { payment_status: 'unpaid' });
    expect(stateOf(first.invoice.id)).toBe('PROCESSING');
    await send('checkout.session.async_payment_failed', paid(first.session, { payment_status: 'unpaid' }));
    expect(billing.invoice('acc_1', first.invoice.id)).toMatchObject({
      state: 'INVALID',
      reason: 'The payment failed.',
    });
    const second = await buy();
    await send('checkout.session.async_payment_succeeded', paid(second.session));
    await complete(second.session, { payment_status: 'unpaid' });
    await send('checkout.session.expired', { ...second.session, payment_status: 'unpaid' });
    expect([stateOf(second.invoice.id), await balance()]).toEqual(['SETTLED', 100]);
    const third = await buy();
    await send('checkout.session.expired', { ...third.session, payment_status: 'unpaid' });
    expect(stateOf(third.invoice.id)).toBe('EXPIRED');
  });

  it('books after a crash between the event and the booking, and between the booking and the invoice', async () => {
    const { invoice, session } = await buy();
    const crash = new Error('killed');
    const ledger = access.ledger();
    const dying = (isBooked: boolean) => ({
      usage: ledger.usage.bind(ledger),
      balance: ledger.balance.bind(ledger),
      async book(booking: Parameters<typeof ledger.book>[0]) {
        if (isBooked) await ledger.book(booking);
        throw crash;
      },
    });
    for (const isBooked of [false, true]) {
      await billing.close();
      billing = opened({ ledger: () => dying(isBooked) });
      billing.open();
      await state.ready();
      await expect(complete(session)).rejects.toBe(crash);
      expect(stateOf(invoice.id)).toBe('NEW');
      expect((await billing.verify()).faults).toHaveLength(1);
    }
    await billing.close();
    billing = opened();
    billing.open();
    await state.ready();
    expect(await complete(session)).toMatchObject({ outcome: 'repeated' });
    expect([stateOf(invoice.id), await balance()]).toEqual(['SETTLED', 100]);
    expect((await billing.verify()).faults).toEqual([]);
  });

  it.each([
    [402, 'PAYMENT_PROVIDER_ERROR', 1],
    [401, 'PAYMENT_PROVIDER_ERROR', 1],
    [429, 'PAYMENT_PROVIDER_UNAVAILABLE', 2],
    [500, 'PAYMENT_PROVIDER_UNAVAILABLE', 2],
  ])('leaves no invoice if Stripe answers %i', async (status, code, tries) => {
    const error = { message: 'Invalid API Key provided: sk_test_0123456789', code: 'some_code' };
    stripe.faults.push({ status, error }, { status, error });
    const before = stripe.requests.length;
    const failed = await billing.checkout(BUYER, { package: 'Starter' }).catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code });
    expect(String(failed)).toContain(`status ${status}, code some_code`);
    expect(String(failed)).not.toContain('sk_test');
    // A rate limit is repeated only if Stripe asks for it.
    expect(stripe.requests.length - before).toBeLessThanOrEqual(tries);
    expect(billing.invoices('acc_1', {}, { limit: 10 }).invoices).toEqual([]);
  });

  it('repeats a request whose connection breaks, with the same key, and creates one session', async () => {
    stripe.faults.push('reset');
    const sessions = stripe.sessions.length;
    const { invoice } = await buy();
    const [first, second] = stripe.requests.slice(-2);
    expect(first!.headers['idempotency-key']).toBe(second!.headers['idempotency-key']);
    expect(stripe.sessions).toHaveLength(sessions + 1);
    expect(stateOf(invoice.id)).toBe('NEW');
  });

  it('gives up if Stripe does not answer in time, and says that nothing was charged', async () => {
    await billing.close();
    billing = opened({ timeoutMs: 200 });
    billing.open();
    await state.ready();
    stripe.faults.push('hang', 'hang');
    await expect(buy()).rejects.toMatchObject({
      code: 'PAYMENT_PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('(no response). Nothing was charged'),
    });
    expect(billing.invoices('acc_1', {}, { limit: 10 }).invoices).toEqual([]);
  });

  it('says that payments are not configured, and offers the packages all the same', async () => {
    await billing.close();
    billing = opened({ apiUrl: null });
    billing.open();
    await state.ready();
    expect(billing.offer('acc_1').checkout).toBe('unavailable');
    await expect(billing.checkout(BUYER, { package: 'Starter' })).rejects.toMatchObject({
      code: 'PAYMENTS_NOT_CONFIGURED',
    });
    // Nor is anything sold if a customer could not return from the payment page.
    await billing.close();
    billing = opened({ publicUrl: null });
    billing.open();
    await state.ready();
    expect(billing.offer('acc_1').checkout).toBe('unavailable');
  });

  it.each([
    [{ package: 'Huge' }, 'package', 'must be one of Starter, Growth, Business, Enterprise, Custom'],
    [{ package: 'Custom' }, 'package', 'by agreement'],
    [{ package: 'Enterprise', quantity: 101 }, 'quantity', 'from 1 to 100'],
    [{ package: 'Starter', quantity: 0 }, 'quantity', 'from 1 to 100'],
  ])('refuses the order %j', async (order, field, text) => {
    await expect(billing.checkout(BUYER, order)).rejects.toMatchObject({
      field,
      message: expect.stringContaining(text),
    });
  });

  it('sells the package that was agreed with an account to that account only', async () => {
    await billing.agree('acc_1', { credits: 50_000, amount: 4_500_000, agreedAtMs: now });
    expect(billing.offer('acc_1').packages.at(-1)).toMatchObject({
      name: 'Custom',
      credits: 50_000,
      price: { amount: 4_500_000 },
      pricePerCredit: { amount: 90 },
    });
    expect(billing.offer('acc_2').packages.at(-1)).toMatchObject({ credits: null });
    const { session } = await buy({ package: 'Custom' });
    await complete(session);
    expect(await balance()).toBe(50_000);
    await billing.agree('acc_1', null);
    await expect(buy({ package: 'Custom' })).rejects.toMatchObject({ field: 'package' });
  });

  it('numbers receipts without gaps over all accounts, and prints the seller of that time', async () => {
    const orders = [await buy(), await buy(), await buy()];
    // The first expires; the last is paid first.
    for (const { session } of [orders[2]!, orders[1]!]) await complete(session);
    const third = billing.invoice('acc_1', orders[2]!.invoice.id);
    expect([third.receipt?.number, billing.invoice('acc_1', orders[1]!.invoice.id).receipt?.number]).toEqual([
      1, 2,
    ]);
    await billing.close();
    billing = opened({ seller: { ...SELLER, name: 'Other' } });
    billing.open();
    await state.ready();
    const { html, policy } = billing.receipt('acc_1', third.id);
    expect(policy).toContain("default-src 'none'");
    expect(html).toContain('Receipt R-000001');
    expect(html).toContain('Example &lt;b&gt;AG&lt;/b&gt;');
    expect(html).not.toContain('Other');
    // 199.00 with 8.1 %: 184.09 and 14.91.
    for (const text of ['184.09 USD', 'VAT 8.1 %', '14.91 USD', '199.00 USD', 'CHE-123.456.789 MWST'])
      expect(html).toContain(text);
    expect(() => billing.receipt('acc_1', orders[0]!.invoice.id)).toThrow('the invoice is NEW');
    expect((await billing.verify()).faults).toEqual([]);
  });

  it('bounds unpaid invoices, and keeps paid ones', async () => {
    const { invoice, session } = await buy();
    await complete(session);
    const { openInvoicesMax, unpaidInvoicesMax } = BILLING_LIMITS;
    for (let count = 0; count < openInvoicesMax; count++) await buy();
    await expect(buy()).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'package' });
    // A payment that does not match its invoice is held, and does not block the next one.
    await expect(complete(stripe.sessions.at(-1)!, { currency: 'jpy' })).rejects.toThrow();
    const late = await buy();
    let added = openInvoicesMax + 1;
    const addUntil = async (wanted: number): Promise<void> => {
      while (added < wanted) {
        now += BILLING_LIMITS.checkoutMs;
        for (let count = 0; count < openInvoicesMax; count++, added++) await buy();
      }
    };
    await addUntil(unpaidInvoicesMax + openInvoicesMax);
    // Expired, and kept: an event may be late.
    await complete(late.session);
    expect(stateOf(late.invoice.id)).toBe('SETTLED');
    now += BILLING_LIMITS.unpaidKeptMs;
    await buy();
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = billing.invoices('acc_1', {}, { limit: 50, ...(cursor === undefined ? {} : { cursor }) });
      ids.push(...page.invoices.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(ids).toHaveLength(unpaidInvoicesMax + 2);
    expect(ids.at(-1)).toBe(invoice.id);
    expect(billing.invoices('acc_1', { state: 'SETTLED' }, { limit: 5 }).invoices).toHaveLength(2);
    expect(billing.invoices('acc_1', { state: 'HELD' }, { limit: 5 }).invoices).toHaveLength(1);
  });

  it('reports what does not agree', async () => {
    const { session } = await buy();
    await complete(session);
    await access.ledger().book({
      accountId: 'acc_1',
      type: 'ADJUSTMENT',
      amount: -1,
      reference: `stripe refund ${session.payment_intent}`,
    });
    const { faults } = await billing.verify();
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('is on no invoice');
    // The contract gives purchases no reference: they are counted.
    await access.ledger().book({ accountId: 'acc_1', type: 'PURCHASE', amount: 100, reference: null });
    expect((await billing.verify()).faults).toEqual([
      faults[0],
      expect.stringContaining('1 purchases are on no invoice'),
    ]);
  });
});
