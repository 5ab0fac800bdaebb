import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Stripe from 'stripe';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPackages } from '../../src/accounts/credits.ts';
import { type EmbeddedLedger, openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import { BILLING_LIMITS } from '../../src/billing/limits.ts';
import { checkSignature, openPayments, type Payments } from '../../src/billing/payments.ts';
import type { InvoiceStore } from '../../src/billing/store.ts';
import { openInvoiceStore } from '../../src/billing/store-lmdb.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { SELLER } from './opened.ts';

const SECRET = 'whsec_test_secret';
const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { now: () => NOW, monotonic: () => NOW };

const sign = (body: string, seconds = NOW / 1000, secret = SECRET): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;

overLiveStates((makeState, name) => {
  let state: LiveState;
  let folder: TempFolder;
  let ledger: EmbeddedLedger;
  let payments: Payments;
  let invoices: InvoiceStore;
  let events = 0;
  beforeEach(async () => {
    folder = memoryFolder();
    state = makeState();
    ledger = openLedger(
      { path: join(folder.path, 'ledger.mdb') },
      { clock, log: silentLogger, freeCredits: () => 0 },
    );
    invoices = openInvoiceStore(
      { path: join(folder.path, 'invoices.mdb') },
      { clock, random: systemRandom, openStore: state.openStore },
    );
    payments = openPayments(
      { path: join(folder.path, 'payments.mdb'), secret: SECRET, seller: SELLER },
      {
        clock,
        random: systemRandom,
        invoices: () => invoices,
        openStore: state.openStore,
        log: silentLogger,
        ledger: () => ledger,
        packages: readPackages(),
        accountExists: (id) => id === 'acc_1',
      },
    );
    await state.ready();
  });
  afterEach(async () => {
    await payments.close();
    await invoices.close();
    await state.close();
    await ledger.close();
    folder.remove();
  });

  const send = (type: string, object: object, id = `evt_${++events}`) => {
    const body = JSON.stringify({ id, type, data: { object } });
    return payments.receive(Buffer.from(body), sign(body));
  };
  const checkout = {
    id: 'cs_1',
    payment_status: 'paid',
    payment_intent: 'pi_1',
    client_reference_id: 'acc_1',
    currency: 'usd',
    amount_total: 19_900,
    metadata: { package: 'Starter' },
  };
  const refunded = (part: number) => ({
    id: 'ch_1',
    payment_intent: 'pi_1',
    amount: 19_900,
    amount_refunded: part,
  });
  const balance = (): number => ledger.balance('acc_1').balance;
  const types = async () => (await ledger.usage('acc_1', { limit: 50 })).history.map((entry) => entry.type);

  it('book a paid checkout once, however often its events are sent', async () => {
    const first = await send('checkout.session.completed', checkout, 'evt_same');
    expect(first).toMatchObject({ outcome: 'booked', accountId: 'acc_1' });
    await Promise.all([1, 2, 3].map(() => send('checkout.session.completed', checkout, 'evt_same')));
    await send('checkout.session.async_payment_succeeded', checkout);
    expect(balance()).toBe(100);
    const { history } = await ledger.usage('acc_1', { limit: 10 });
    expect(history).toMatchObject([{ type: 'PURCHASE', amount: 100, reference: null }]);
  });

  it('book a checkout only when it is paid, by the later event', async () => {
    const unpaid = { ...checkout, payment_status: 'unpaid' };
    expect(await send('checkout.session.completed', unpaid)).toMatchObject({ outcome: 'ignored' });
    expect(balance()).toBe(0);
    await send('checkout.session.async_payment_succeeded', checkout);
    expect(balance()).toBe(100);
  });

  it.each([
    [{ amount_total: 100 }, 'data.object.amount_total'],
    [{ currency: 'jpy' }, 'data.object.amount_total'],
    [{ client_reference_id: 'acc_2' }, 'data.object.client_reference_id'],
    [{ metadata: { package: 'Huge' } }, 'data.object.metadata.package'],
    [{ payment_intent: null }, 'data.object.payment_intent'],
  ])('refuse a checkout with %j', async (change, field) => {
    await expect(send('checkout.session.completed', { ...checkout, ...change })).rejects.toMatchObject({
      field,
    });
    expect(balance()).toBe(0);
  });

  it('ignore other events of the same seller', async () => {
    expect(await send('checkout.session.completed', { ...checkout, metadata: {} })).toMatchObject({
      outcome: 'ignored',
    });
    expect(await send('customer.created', { id: 'cus_1' })).toMatchObject({ outcome: 'ignored' });
  });

  it('take back the share of a refund, each part once', async () => {
    await send('checkout.session.completed', checkout);
    await send('charge.refunded', refunded(4_975));
    expect(balance()).toBe(75);
    await send('charge.refunded', refunded(4_975));
    expect(balance()).toBe(75);
    await send('charge.refunded', refunded(19_900));
    expect(balance()).toBe(0);
    // An older event that arrives late deducts nothing more.
    await send('charge.refunded', refunded(9_950));
    expect(balance()).toBe(0);
    expect(await types()).toEqual(['ADJUSTMENT', 'ADJUSTMENT', 'PURCHASE']);
  });

  it('take back everything at a dispute, even below zero, and return it if the dispute is won', async () => {
    await send('checkout.session.completed', checkout);
    await ledger.book({ accountId: 'acc_1', type: 'ADJUSTMENT', amount: -60, reference: 'spent' });
    const dispute = { id: 'dp_1', payment_intent: 'pi_1', amount: 19_900 };
    await send('charge.dispute.created', { ...dispute, status: 'needs_response' });
    await send('charge.dispute.funds_withdrawn', { ...dispute, status: 'needs_response' });
    expect(balance()).toBe(-60);
    await send('charge.dispute.closed', { ...dispute, status: 'lost' });
    expect(balance()).toBe(-60);
    await send('charge.dispute.closed', { ...dispute, status: 'won' });
    await send('charge.dispute.funds_reinstated', { ...dispute, status: 'won' });
    expect(balance()).toBe(40);
  });

  it('take back a refund that arrived before its purchase', async () => {
    expect(await send('charge.refunded', refunded(19_900))).toMatchObject({ outcome: 'ignored' });
    await send('checkout.session.completed', checkout);
    expect(balance()).toBe(0);
  });

  it('give the same balance in any order of refunds and disputes', async () => {
    const events: readonly (readonly [string, object])[] = [
      ['checkout.session.completed', checkout],
      ['charge.refunded', refunded(4_975)],
      ['charge.dispute.created', { id: 'dp_1', payment_intent: 'pi_1', status: 'needs_response' }],
      ['charge.dispute.closed', { id: 'dp_1', payment_intent: 'pi_1', status: 'won' }],
    ];
    const orders = (rest: typeof events): (typeof events)[] =>
      rest.length === 0
        ? [[]]
        : rest.flatMap((one, at) => orders(rest.toSpliced(at, 1)).map((order) => [one, ...order]));
    for (const [number, order] of orders(events).entries()) {
      const before = balance();
      for (const [type, object] of order) {
        const text = JSON.stringify(object).replaceAll(/"(cs|pi|ch|dp)_1"/g, `"$1_${number}"`);
        await send(type, JSON.parse(text) as object);
      }
      expect([number, balance() - before]).toEqual([number, 75]);
      const { entries, refunded, dispute } = invoices.byReference(`pi_${number}`)!;
      expect(entries.reduce((sum, { credits }) => sum + credits, 0)).toBe(75);
      expect([refunded, dispute]).toEqual([4_975, 'WON']);
    }
  });

  it('take back exactly the share of a refund', async () => {
    await send('checkout.session.completed', checkout);
    // 100 * 0.07 is 7.000000000000001 as a float.
    await send('charge.refunded', refunded(1_393));
    expect(balance()).toBe(93);
    await send('charge.refunded', refunded(1_394));
    expect(balance()).toBe(92);
  });

  it('do not book a second checkout that names the same payment', async () => {
    await send('checkout.session.completed', checkout);
    await expect(send('checkout.session.completed', { ...checkout, id: 'cs_2' })).rejects.toMatchObject({
      field: 'data.object.payment_intent',
    });
    expect(balance()).toBe(100);
  });

  it('return what an inquiry took back that did not become a dispute', async () => {
    await send('checkout.session.completed', checkout);
    const inquiry = { id: 'dp_1', payment_intent: 'pi_1' };
    await send('charge.dispute.created', { ...inquiry, status: 'warning_needs_response' });
    expect(balance()).toBe(0);
    await send('charge.dispute.closed', { ...inquiry, status: 'warning_closed' });
    expect(balance()).toBe(100);
  });

  it('book a package for the balance that the checkout names, and take its refund back from there', async () => {
    const dashboard = balanceId('acc_1', 'dashboard');
    const bought = { ...checkout, metadata: { package: 'Starter', pool: 'dashboard' } };
    expect(await send('checkout.session.completed', bought)).toMatchObject({ accountId: 'acc_1' });
    expect([balance(), ledger.balance(dashboard).balance]).toEqual([0, 100]);
    expect(await send('charge.refunded', refunded(9_950))).toMatchObject({ accountId: 'acc_1' });
    expect([balance(), ledger.balance(dashboard).balance]).toEqual([0, 50]);
    for (const pool of ['web', '__proto__', 'x'.repeat(1_000)])
      await expect(
        send('checkout.session.completed', { ...checkout, metadata: { package: 'Starter', pool } }),
      ).rejects.toMatchObject({ field: 'data.object.metadata.pool' });
    await expect(
      send('checkout.session.completed', { ...checkout, client_reference_id: dashboard }),
    ).rejects.toMatchObject({ field: 'data.object.client_reference_id' });
  });

  it('ask Stripe to repeat a reversal whose invoice has not arrived at this node', async () => {
    await send('checkout.session.completed', checkout);
    const real = invoices;
    const change = real.change.bind(real);
    const seen = (isHidden: (reference: string) => boolean): InvoiceStore => ({
      ...Object.create(real),
      ...{ change, byReference: (one: string) => (isHidden(one) ? null : real.byReference(one)) },
    });
    const entries = () => real.byReference('cs_1')?.entries.map(({ cause, credits }) => [cause, credits]);
    try {
      invoices = seen(() => true);
      await expect(send('charge.refunded', refunded(9_950))).rejects.toMatchObject({ code: 'NOT_READY' });
      expect(entries()).toEqual([['PURCHASE', 100]]);
      // The invoice is there, and not yet with its payment.
      invoices = seen((one) => one === 'pi_1');
      expect(await send('charge.refunded', refunded(9_950))).toMatchObject({ outcome: 'repeated' });
    } finally {
      invoices = real;
    }
    expect(entries()).toEqual([
      ['PURCHASE', 100],
      ['REFUND', -50],
    ]);
    expect(balance()).toBe(50);
  });

  it('store only ids, the account and the credits', async () => {
    const details = {
      customer_details: { email: 'x@y.z', name: 'N' },
      payment_method_details: { last4: '4242' },
    };
    await send('checkout.session.completed', { ...checkout, ...details });
    const stored = readFileSync(
      join(folder.path, name === 'LMDB' ? 'payments.mdb' : 'replicas/payments-1.mdb'),
      'latin1',
    );
    expect(stored).toContain('pi_1');
    for (const secret of ['4242', 'x@y.z']) expect(stored).not.toContain(secret);
  });
});

describe('a signature', () => {
  const body = '{"id":"evt_1"}';
  const check = (header: string, now = NOW): void => checkSignature(Buffer.from(body), header, SECRET, now);

  it('is accepted in its documented form, next to others and within five minutes', () => {
    check(sign(body));
    check(`v0=00,${sign(body)},v1=${'0'.repeat(64)}`);
    check(sign(body), NOW + 300_000);
    check(sign(body), NOW - 300_000);
  });

  it.each([
    ['none', ''],
    ['no time', sign(body).replace(/^t=\d+,/, '')],
    ['another time', sign(body).replace(/^t=\d+/, `t=${NOW / 1000 - 1}`)],
    ['another secret', sign(body, NOW / 1000, 'whsec_other')],
    ['another body', sign('{"id":"evt_2"}')],
    ['an older scheme alone', sign(body).replace('v1=', 'v0=')],
    ['a short value', sign(body).slice(0, -2)],
  ])('is refused: %s', (_name, header) => {
    expect(() => check(header)).toThrow('Stripe-Signature');
  });

  it('is accepted at exactly the tolerance in both directions', () => {
    const { webhookToleranceMs } = BILLING_LIMITS;
    for (const now of [NOW - webhookToleranceMs, NOW + webhookToleranceMs]) check(sign(body), now);
    for (const now of [NOW - webhookToleranceMs - 1, NOW + webhookToleranceMs + 1])
      expect(() => check(sign(body), now)).toThrow('too old');
  });

  it('is accepted while a secret is rotated: Stripe signs with both', () => {
    const old = sign(body, NOW / 1000, 'whsec_old').replace(/^t=\d+,/, '');
    check(`${sign(body)},${old}`);
    check(`t=${NOW / 1000},${old},${sign(body).replace(/^t=\d+,/, '')}`);
  });

  it('is the one that the package of Stripe makes', () => {
    const header = new Stripe('sk_test_0').webhooks.generateTestHeaderString({
      ...{ payload: body, secret: SECRET, timestamp: NOW / 1000 },
    });
    check(header);
  });

  it('is compared in constant time', () => {
    const text = readFileSync(join(projectRoot, 'src', 'billing', 'payments.ts'), 'utf8');
    expect(text).toContain('timingSafeEqual(');
    expect(text).not.toMatch(/\b(?:signature|expected|value)\b [!=]== (?!null|undefined|')/);
  });

  it('is rejected if it is more than five minutes old or ahead', () => {
    expect(() => check(sign(body), NOW + 300_001)).toThrow();
    expect(() => check(sign(body), NOW - 300_001)).toThrow();
  });
});
