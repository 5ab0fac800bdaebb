/**
 * Buying over HTTP by card, wire and cryptocurrency, from the packages to the receipt: payment, partial refund, refund, dispute and a held
 * payment. Each change of the balance is an entry that its invoice explains, the statement adds up, and webhooks and alerts arrive.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statementFile } from '../billing/statements.ts';
import { eventOf, paid, signatureOf } from '../billing/stripe-stand-in.ts';
import { hasAnvil } from '../setup/anvil.ts';
import { startMailServer } from '../setup/mail-server.ts';
import {
  call,
  DEPTH,
  IBAN,
  openPaymentsWorld,
  orderEth,
  type PaymentsWorld,
  untilState,
} from './payments-world.ts';
import type { RunningServer } from './program.ts';

/** Listed by OFAC, and among the labels that every installation has. */
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';
const CENTS = 100;

// biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
type Json = any;

describe.runIf(hasAnvil)('buying over HTTP', () => {
  let of: PaymentsWorld;
  let server: RunningServer;
  let cookie = '';
  let key = '';
  let secret = '';
  let hook: Server;
  let mail: Awaited<ReturnType<typeof startMailServer>>;
  const received: Json[] = [];
  const refused: string[] = [];
  /** Credits of all entries that were booked so far, by invoice. */
  const explained: Json[] = [];
  /** Held payments that the operator has returned: each was an alert. */
  let returned = 0;

  const get = (path: string): Promise<Json> => call(server, key, path);
  const command = async (...args: readonly string[]) => {
    const { code, out, err } = await of.world.here(args, { environment: of.environment });
    expect(code, err).toBe(0);
    return out;
  };
  const balance = async (): Promise<number> => (await get('/usage')).balance;
  const causes = (invoice: Json) => invoice.entries.map((entry: Json) => [entry.cause, entry.credits]);
  const stripeEvent = async (type: string, object: object): Promise<void> => {
    const event = eventOf(type, object);
    const response = await fetch(`${server.url}/api/v1/payments/stripe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signatureOf(event, Date.now()) },
      body: event,
    });
    expect(response.status, await response.text()).toBe(200);
  };

  beforeAll(async () => {
    mail = await startMailServer();
    of = await openPaymentsWorld({ ASSAY_SMTP_URL: mail.url, ASSAY_MAIL_FROM: 'assay@example.org' });
    hook = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        try {
          received.push(new Webhook(secret).verify(body, request.headers as Record<string, string>));
        } catch (error) {
          refused.push(String(error));
        }
        response.end();
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    server = await of.serve();
    key = server.firstKey;
    cookie = await of.login(server);
    ({ secret } = await call(server, key, '/monitoring/webhook-secret', { method: 'POST' }));
    const webhookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/billing`;
    await call(server, cookie, '/billing/settings', {
      method: 'PUT',
      body: { webhookUrl, email: 'finance@example.org', lowBalance: { api: null, dashboard: null } },
    });
  });
  afterAll(async () => {
    await of?.end();
    hook?.close();
    await mail?.close();
  });

  it('offers every configured method', async () => {
    const { checkout, methods } = await get('/billing/packages');
    expect(checkout).toBe('available');
    expect(methods).toEqual([
      { method: 'CRYPTO', currencies: expect.arrayContaining(['ETH', 'ETH:USDC']), gasless: [] },
      { method: 'WIRE', currencies: ['USD'], gasless: [] },
    ]);
  });

  it('books a card, and takes back the share of a partial refund and of a dispute', async () => {
    const before = await balance();
    const { invoiceId } = await call(server, cookie, '/billing/checkout', { body: { package: 'Starter' } });
    const session = of.stripe.sessions.at(-1)!;
    await stripeEvent('checkout.session.completed', paid(session));
    const charge = { id: 'ch_1', payment_intent: session.payment_intent, amount: 199 * CENTS };
    await stripeEvent('charge.refunded', { ...charge, amount_refunded: 49 * CENTS });
    const dispute = { id: 'dp_1', payment_intent: session.payment_intent };
    await stripeEvent('charge.dispute.created', dispute);
    expect(await balance()).toBe(before);
    await stripeEvent('charge.dispute.closed', { ...dispute, status: 'won' });
    const { invoice } = await get(`/billing/invoices/${invoiceId}`);
    // 49 of 199 dollars are 24.6 of 100 credits.
    expect(causes(invoice)).toEqual([
      ['PURCHASE', 100],
      ['REFUND', -25],
      ['DISPUTE', -75],
      ['DISPUTE_WON', 75],
    ]);
    expect(await balance()).toBe(before + 75);
    explained.push(invoice);
  });

  it('books a wire from the statement of the bank, and its refunds', async () => {
    const before = await balance();
    const { invoice } = await call(server, cookie, '/billing/invoices', {
      body: { package: 'Starter', method: 'WIRE' },
    });
    const page = await fetch(`${server.url}/api/v1/billing/invoices/${invoice.id}/pro-forma`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await page.text()).toContain(invoice.wire.reference.slice(0, 4));
    const structured = invoice.wire.reference.replaceAll(' ', '');
    const file = statementFile(of.world.folder, IBAN, [
      { amount: '199.00', structured, bankReference: 'B-1' },
    ]);
    await command('billing', 'import', 'camt053', file);
    expect(await command('billing', 'import', 'camt053', file)).toContain('1 repeated');
    await command('billing', 'refund', 'local', invoice.id, '--amount', '9950', '--reason', 'half');
    const half = await untilState(() => server, key, invoice.id, 'SETTLED');
    expect(causes(half)).toEqual([
      ['PURCHASE', 100],
      ['REFUND', -50],
    ]);
    expect(await balance()).toBe(before + 50);
    await command('billing', 'refund', 'local', invoice.id, '--reason', 'the rest');
    const { invoice: all } = await get(`/billing/invoices/${invoice.id}`);
    expect(causes(all).at(-1)).toEqual(['REFUND', -50]);
    expect(all.refunded).toEqual({ amount: 199 * CENTS, currency: 'USD' });
    expect(await balance()).toBe(before);
    explained.push(all);
  });

  it('books parts in cryptocurrency, and a refund', async () => {
    const before = await balance();
    const invoice = await orderEth(server, cookie);
    const due = BigInt(invoice.due.amount);
    for (const value of [due / 4n, due - due / 4n]) {
      await of.anvil.send({ to: invoice.crypto.address, value });
      await of.anvil.mine(DEPTH);
    }
    const settled = await untilState(() => server, key, invoice.id, 'SETTLED');
    expect(causes(settled).toSorted()).toEqual([
      ['PURCHASE', 25],
      ['PURCHASE', 75],
    ]);
    expect(await balance()).toBe(before + 100);
    const first = settled.payments.find(({ credits }: Json) => credits === 25).id;
    await command('billing', 'refund', 'local', invoice.id, '--payment', first, '--reason', 'test');
    const { invoice: refunded } = await get(`/billing/invoices/${invoice.id}`);
    expect(causes(refunded).at(-1)).toEqual(['REFUND', -25]);
    expect(await balance()).toBe(before + 75);
    const receipt = await fetch(`${server.url}/api/v1/billing/invoices/${invoice.id}/receipt`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await receipt.text()).toContain(refunded.receiptNumber);
    explained.push(refunded);
  });

  it('takes a wire back that the bank reverses after a partial refund, and books the next one', async () => {
    const before = await balance();
    const { invoice } = await call(server, cookie, '/billing/invoices', {
      body: { package: 'Starter', method: 'WIRE' },
    });
    const structured = invoice.wire.reference.replaceAll(' ', '');
    const imported = (entry: object): Promise<string> =>
      command(
        ...['billing', 'import', 'camt053'],
        statementFile(of.world.folder, IBAN, [{ amount: '199.00', structured, ...entry }]),
      );
    await imported({ bankReference: 'C-1' });
    await command('billing', 'refund', 'local', invoice.id, '--amount', '4975', '--reason', 'a quarter');
    expect(await balance()).toBe(before + 75);
    await imported({ bankReference: 'C-2', direction: 'DBIT', reversal: true });
    const { invoice: reversed } = await get(`/billing/invoices/${invoice.id}`);
    expect([reversed.state, causes(reversed), await balance()]).toEqual([
      'NEW',
      [
        ['PURCHASE', 100],
        ['REFUND', -25],
        ['REVERSAL', -75],
      ],
      before,
    ]);
    await imported({ bankReference: 'C-3' });
    const again = await untilState(() => server, key, invoice.id, 'SETTLED');
    expect([causes(again).at(-1), await balance()]).toEqual([['PURCHASE', 100], before + 100]);
    const last = again.payments.at(-1).id;
    await command('billing', 'refund', 'local', invoice.id, '--payment', last, '--reason', 'all of it');
    const { invoice: refunded } = await get(`/billing/invoices/${invoice.id}`);
    expect([causes(refunded).at(-1), await balance()]).toEqual([['REFUND', -100], before]);
    explained.push(refunded);
  });

  it('takes a payment in cryptocurrency back that a reorg removes after a partial refund', async () => {
    const before = await balance();
    const invoice = await orderEth(server, cookie);
    const due = BigInt(invoice.due.amount);
    const pay = async (): Promise<void> => {
      await of.anvil.send({ to: invoice.crypto.address, value: due });
      await of.anvil.mine(DEPTH);
    };
    await pay();
    await untilState(() => server, key, invoice.id, 'SETTLED');
    const amount = String((due * 2n) / 5n);
    await command('billing', 'refund', 'local', invoice.id, '--amount', amount, '--reason', 'two fifths');
    await expect.poll(balance).toBe(before + 60);
    await of.anvil.reorg(DEPTH);
    await of.anvil.mine(DEPTH + 1);
    const unpaid = await untilState(() => server, key, invoice.id, 'NEW');
    expect([causes(unpaid), await balance()]).toEqual([
      [
        ['PURCHASE', 100],
        ['REFUND', -40],
        ['REVERSAL', -60],
      ],
      before,
    ]);
    await pay();
    const again = await untilState(() => server, key, invoice.id, 'SETTLED');
    expect([causes(again).at(-1), await balance()]).toEqual([['PURCHASE', 100], before + 100]);
    const last = again.payments.at(-1).id;
    await command('billing', 'refund', 'local', invoice.id, '--payment', last, '--reason', 'all of it');
    const { invoice: refunded } = await get(`/billing/invoices/${invoice.id}`);
    expect([causes(refunded).at(-1), await balance()]).toEqual([['REFUND', -100], before]);
    explained.push(refunded);
  });

  it('books nothing for a held payment that the operator returns', async () => {
    const before = await balance();
    const invoice = await orderEth(server, cookie);
    await of.anvil.rpc('anvil_impersonateAccount', LAZARUS);
    await of.anvil.rpc('anvil_setBalance', LAZARUS, '0x56bc75e2d63100000');
    await of.anvil.send({ from: LAZARUS, to: invoice.crypto.address, value: BigInt(invoice.due.amount) });
    await of.anvil.mine(DEPTH);
    const { payments } = await untilState(() => server, key, invoice.id, 'HELD');
    await command('billing', 'refuse', 'local', invoice.id, payments[0].id, '--reason', 'returned');
    const refused = await untilState(() => server, key, invoice.id, 'NEW');
    expect([refused.payments[0].state, causes(refused), await balance()]).toEqual(['REFUSED', [], before]);
    returned = 1;
  });

  it('holds the payment of a sanctioned sender, and alerts the operator by webhook and email once', async () => {
    const before = await balance();
    const invoice = await orderEth(server, cookie);
    await of.anvil.rpc('anvil_impersonateAccount', LAZARUS);
    await of.anvil.rpc('anvil_setBalance', LAZARUS, '0x56bc75e2d63100000');
    await of.anvil.send({ from: LAZARUS, to: invoice.crypto.address, value: BigInt(invoice.due.amount) });
    await of.anvil.mine(DEPTH);
    const held = await untilState(() => server, key, invoice.id, 'HELD');
    expect(await balance()).toBe(before);
    const alerts = () =>
      received.filter(({ type, data }) => type === 'payment.held' && data.invoice.id === invoice.id);
    await expect.poll(() => alerts().length).toBe(1);
    const [payment] = held.payments;
    expect(alerts()[0].data).toMatchObject({
      ...{ accountId: 'local', paymentId: payment.id, reason: expect.stringContaining(LAZARUS) },
      invoice: { id: invoice.id, state: 'HELD' },
    });
    await expect
      .poll(() => mail.letters.filter((letter) => letter.includes('payment held')).length)
      .toBe(returned + 1);
    expect(mail.letters.findLast((letter) => letter.includes('payment held'))).toContain(invoice.id);
    await command('billing', 'release', 'local', invoice.id, payment.id, '--reason', 'cleared by counsel');
    const released = await untilState(() => server, key, invoice.id, 'SETTLED');
    expect(await balance()).toBe(before + 100);
    expect(alerts()).toHaveLength(1);
    explained.push(released);
  });

  it('explains the balance entry by entry, and the statement adds up', async () => {
    const { history, balance: now } = await get('/usage?limit=100');
    const byEntry = new Map(
      explained.flatMap((invoice) => invoice.entries.map((entry: Json) => [entry.id, entry.credits])),
    );
    const sold = history.filter(({ type }: Json) => type === 'PURCHASE' || type === 'ADJUSTMENT');
    expect(sold.map(({ id, amount }: Json) => [id, amount])).toEqual(
      sold.map(({ id }: Json) => [id, byEntry.get(id)]),
    );
    expect(sold).toHaveLength(byEntry.size);
    expect(history.reduce((sum: number, { amount }: Json) => sum + amount, 0)).toBe(now);
    const month = new Date().toISOString().slice(0, 7);
    const csv: string = await get(`/billing/statements/${month}`);
    const rows = csv.trim().split('\r\n').slice(1);
    const credits = (line: string | undefined): number => Number(line?.split(',').at(-1));
    const sum = rows.slice(1, -1).reduce((total, line) => total + Number(line.split(',')[6]), 0);
    expect([credits(rows[0]) + sum, credits(rows.at(-1))]).toEqual([now, now]);
    for (const { id, entries } of explained)
      for (const entry of entries) expect(csv).toContain(`${entry.id},${id}`);
    const verified = await command('billing', 'verify', '--chains', '--json');
    expect(JSON.parse(verified)).toMatchObject({
      faults: [],
      settled: explained.length,
      chains: { faults: [] },
    });
  });

  it('delivers each event of an invoice to the webhook, with a signature that Standard Webhooks accepts', async () => {
    const typesOf = (id: string) =>
      received.filter(({ data }) => data.invoice?.id === id).map(({ type }) => type);
    for (const { id, method } of explained) {
      await expect.poll(() => typesOf(id)).toContain('invoice.settled');
      expect([method, typesOf(id)]).toEqual([method, expect.arrayContaining(['invoice.created'])]);
    }
    expect(refused).toEqual([]);
  });
});
