/** The operations of billing over HTTP: who may buy, what the responses are, and a purchase from the order to the receipt. */
import { scryptSync } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LOCAL_ACCOUNT } from '../../src/accounts/keys.ts';
import type { Role } from '../../src/accounts/roles.ts';
import type { Email } from '../../src/base/mail.ts';
import { testWire } from '../billing/opened.ts';
import {
  eventOf,
  paid,
  type StripeStandIn,
  signatureOf,
  startStripe,
  WEBHOOK_SECRET,
} from '../billing/stripe-stand-in.ts';
import { openWorld, type World } from './world.ts';

const PASSWORD = 'correct horse battery';

const letters: Email[] = [];

let stripe: StripeStandIn;
let world: World;
let accountId = '';
const cookies: Partial<Record<Role, string>> = {};
let key = '';

beforeAll(async () => {
  stripe = await startStripe();
  world = await openWorld({
    backend: 'node',
    billing: { stripeSecret: WEBHOOK_SECRET, apiUrl: stripe.url, methods: testWire },
    people: { registration: 'open', mailer: { send: async (letter) => void letters.push(letter) } },
    derive: async ({ password, salt, bytes }) => scryptSync(password, salt, bytes, { N: 2 }),
  });
  const people = world.access.people();
  accountId = (await people.create('owner@example.org', PASSWORD, 'FREE')).id;
  for (const role of ['analyst', 'auditor'] as const)
    await people.members.add(
      { who: accountId, from: 'test' },
      accountId,
      `${role}@example.org`,
      role,
      PASSWORD,
    );
  for (const role of ['owner', 'analyst', 'auditor'] as const) {
    const { token } = await people.login(`${role}@example.org`, PASSWORD, '127.0.0.1');
    cookies[role] = `assay_session=${token}`;
  }
  key = await world.key({ accountId, permissions: ['oracle'] });
});
afterAll(async () => {
  await world.close();
  await stripe.close();
});

interface Asked {
  readonly as?: Role | 'key' | 'stranger';
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

async function ask(method: string, path: string, { as = 'owner', body, headers = {} }: Asked = {}) {
  const stranger = as === 'stranger' ? await world.key({ accountId: LOCAL_ACCOUNT }) : key;
  const response = await fetch(`${world.url}/api/v1${path}`, {
    method,
    headers: {
      origin: world.url,
      ...(as === 'key' || as === 'stranger'
        ? { authorization: `Bearer ${stranger}` }
        : { cookie: cookies[as] ?? '' }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

const dataOf = ({ text }: { readonly text: string }) => JSON.parse(text).data;
const codeOf = ({ headers }: { readonly headers: Headers }) => headers.get('x-error-code');

it('only a session of an owner buys, and any key of the account reads', async () => {
  const body = { package: 'Starter' };
  for (const [as, status] of [
    ['analyst', 403],
    ['auditor', 403],
    ['key', 401],
  ] as const)
    expect([as, (await ask('POST', '/billing/checkout', { as, body })).status]).toEqual([as, status]);
  expect(stripe.requests).toHaveLength(0);
  for (const as of ['key', 'auditor'] as const) {
    const { checkout, packages } = dataOf(await ask('GET', '/billing/packages', { as }));
    expect([checkout, packages.length]).toEqual(['available', 6]);
    expect(dataOf(await ask('GET', '/billing/invoices', { as })).invoices).toEqual([]);
  }
});

it('nobody buys before their email address is confirmed', async () => {
  const people = world.access.people();
  const email = 'new@example.org';
  await people.register(email, PASSWORD, '127.0.0.1');
  const { token } = await people.login(email, PASSWORD, '127.0.0.1');
  const buy = () =>
    ask('POST', '/billing/checkout', {
      body: { package: 'Starter' },
      headers: { cookie: `assay_session=${token}` },
    });
  const refused = await buy();
  expect([refused.status, codeOf(refused), JSON.parse(refused.text).error]).toEqual([
    ...[403, 'FORBIDDEN', 'email: confirm your email address before you buy.'],
  ]);
  expect(stripe.requests).toHaveLength(0);
  await people.settled();
  await people.verifyEmail(/^[\w-]{43}$/m.exec(letters.at(-1)?.text ?? '')?.[0] ?? '', '127.0.0.1');
  expect((await buy()).status).toBe(200);
});

it('a purchase leads from the order over the event to the receipt, and nobody else sees it', async () => {
  const ordered = await ask('POST', '/billing/checkout', { body: { package: 'Growth', pool: 'dashboard' } });
  expect(ordered.status).toBe(200);
  const { url, invoiceId } = dataOf(ordered);
  const session = stripe.sessions.at(-1)!;
  expect(url).toBe(session.url);
  expect(session.success_url).toBe(`http://127.0.0.1/billing/success?invoice=${invoiceId}`);
  const path = `/billing/invoices/${invoiceId}`;
  expect(dataOf(await ask('GET', path, { as: 'key' })).invoice).toMatchObject({
    ...{ state: 'NEW', pool: 'dashboard', receiptNumber: null, price: { amount: 79_900, currency: 'USD' } },
  });
  expect((await ask('GET', `${path}/receipt`)).status).toBe(404);
  const event = eventOf('checkout.session.completed', paid(session));
  const headers = { 'stripe-signature': signatureOf(event, Date.now()) };
  expect(dataOf(await ask('POST', '/payments/stripe', { body: event, headers }))).toMatchObject({
    outcome: 'booked',
  });
  const { invoice } = dataOf(await ask('GET', path));
  expect(invoice).toMatchObject({ state: 'SETTLED', receiptNumber: 'R-000001', entries: [{ credits: 500 }] });
  const usage = dataOf(await ask('GET', '/usage'));
  expect(usage.dashboard.history[0]).toMatchObject({
    id: invoice.entries[0].id,
    amount: 500,
    type: 'PURCHASE',
  });
  const receipt = await ask('GET', `${path}/receipt`, { as: 'key' });
  expect(receipt.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(receipt.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(receipt.headers.get('cache-control')).toBe('no-store');
  expect(receipt.text).toContain('Receipt R-000001');
  for (const one of [path, `${path}/receipt`])
    expect((await ask('GET', one, { as: 'stranger' })).status).toBe(404);
  expect(dataOf(await ask('GET', '/billing/invoices?state=SETTLED')).invoices).toHaveLength(1);
  expect(dataOf(await ask('GET', '/billing/invoices?state=HELD')).invoices).toEqual([]);
  expect(world.access.audit().newest(10)).toContainEqual(
    expect.objectContaining({
      action: 'billing.checkout',
      subject: invoiceId,
      detail: '1 Growth for dashboard',
    }),
  );
});

it('an error of the payment provider has a code and a sentence, and no detail of the operator', async () => {
  for (const [status, code] of [
    [500, 'PAYMENT_PROVIDER_UNAVAILABLE'],
    [401, 'PAYMENT_PROVIDER_ERROR'],
  ] as const) {
    stripe.faults.push({ status, error: { message: 'key sk_test_0123456789' } }, { status });
    const refused = await ask('POST', '/billing/checkout', { body: { package: 'Starter' } });
    expect([refused.status, codeOf(refused)]).toEqual([500, code]);
    expect(refused.text).toContain('Nothing was charged');
    expect(refused.text).not.toContain('sk_test');
    stripe.faults.splice(0);
  }
});

it.each([
  [{ package: 'Custom' }, 'package'],
  [{ package: 'Starter', pool: 'web' }, 'pool'],
  [{ package: 'Starter', quantity: 0 }, 'quantity'],
  [{ package: 'Starter', quantity: 1.5 }, 'quantity'],
  [{}, 'package'],
])('refuses the order %j', async (body, field) => {
  const refused = await ask('POST', '/billing/checkout', {
    body,
    headers: { accept: 'application/problem+json' },
  });
  expect([refused.status, JSON.parse(refused.text).field]).toEqual([400, field]);
});

it('a service without Stripe says so, and lists its packages', async () => {
  const other = await openWorld({ backend: 'node' });
  try {
    await other.access.people().create('owner@example.org', PASSWORD, 'FREE');
    const { token } = await other.access.people().login('owner@example.org', PASSWORD, '127.0.0.1');
    const headers = {
      cookie: `assay_session=${token}`,
      origin: other.url,
      'content-type': 'application/json',
    };
    const offer = await fetch(`${other.url}/api/v1/billing/packages`, { headers });
    expect(((await offer.json()) as { data: { checkout: string } }).data.checkout).toBe('unavailable');
    const refused = await fetch(`${other.url}/api/v1/billing/checkout`, {
      ...{ method: 'POST', headers, body: '{"package":"Starter"}' },
    });
    expect([refused.status, refused.headers.get('x-error-code')]).toEqual([404, 'PAYMENTS_NOT_CONFIGURED']);
    expect(((await refused.json()) as { error: string }).error).not.toMatch(/ASSAY_/);
  } finally {
    await other.close();
  }
});

it('an invoice by wire leads from the order to a page to print, for its owner only', async () => {
  const body = { package: 'Starter', method: 'WIRE' };
  for (const [as, status] of [
    ['analyst', 403],
    ['key', 401],
  ] as const)
    expect([as, (await ask('POST', '/billing/invoices', { as, body })).status]).toEqual([as, status]);
  const { invoice } = dataOf(await ask('POST', '/billing/invoices', { body }));
  expect(invoice).toMatchObject({
    ...{ method: 'WIRE', state: 'NEW', exceptions: [], payments: [], entries: [] },
    due: { asset: 'USD', amount: '19900', decimals: 2 },
    paid: { confirmed: '0', pending: '0', rest: '19900' },
    wire: { iban: 'CH9300762011623852957', reference: expect.stringMatching(/^RF\d{18}$/) },
    history: [{ state: 'NEW', cause: 'created' }],
  });
  const page = await ask('GET', `/billing/invoices/${invoice.id}/pro-forma`, { as: 'key' });
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.text).toContain('CH93 0076 2011 6238 5295 7');
  expect((await ask('GET', `/billing/invoices/${invoice.id}/pro-forma`, { as: 'stranger' })).status).toBe(
    404,
  );
  const listed = dataOf(await ask('GET', '/billing/invoices?method=WIRE', { as: 'key' })).invoices;
  expect(listed.map(({ id }: { id: string }) => id)).toEqual([invoice.id]);
});

it('an order that is repeated with the same Idempotency-Key creates one invoice', async () => {
  const order = (key: string, change = {}) =>
    ask('POST', '/billing/invoices', {
      body: { package: 'Starter', method: 'WIRE', pool: 'dashboard', ...change },
      headers: key === '' ? {} : { 'idempotency-key': key },
    });
  const count = async (): Promise<number> =>
    dataOf(await ask('GET', '/billing/invoices?method=WIRE')).invoices.length;
  const before = await count();
  const [first, again] = [await order('order-1'), await order('order-1')];
  expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
  expect(first.headers.has('idempotency-replayed')).toBe(false);
  const { id } = dataOf(first).invoice;
  const logged = world.access.audit().newest(20);
  expect(logged.filter(({ subject }) => subject === id)).toMatchObject([{ action: 'billing.order' }]);
  expect(await count()).toBe(before + 1);
  const together = await Promise.all([1, 2, 3].map(() => order('order-2')));
  expect(new Set(together.map(({ text }) => text)).size).toBe(1);
  expect(together.filter(({ headers }) => headers.has('idempotency-replayed'))).toHaveLength(2);
  expect(await count()).toBe(before + 2);
  expect((await order('order-1', { quantity: 2 })).status).toBe(400);
  expect((await order('a b')).status).toBe(400);
  expect(await count()).toBe(before + 2);
  // Without a key, each request is an order.
  expect((await order('')).status).toBe(200);
  expect(await count()).toBe(before + 3);
});

it('a method that is not configured, or a wrong currency, is refused with its field', async () => {
  for (const [change, field, text] of [
    [{ method: 'CRYPTO' }, 'method', 'CRYPTO is not available'],
    [{ method: 'WIRE', currency: 'XYZ' }, 'currency', 'must be one of USD, EUR, CHF, GBP'],
    [{ method: 'CASH' }, 'method', 'method'],
  ] as const) {
    const refused = await ask('POST', '/billing/invoices', {
      body: { package: 'Starter', ...change },
      headers: { accept: 'application/problem+json' },
    });
    expect([refused.status, codeOf(refused)]).toEqual([400, 'INVALID_REQUEST']);
    expect(refused.text).toContain(text);
    expect(JSON.parse(refused.text).field).toBe(field);
  }
});

it('settings are changed by an owner only, and a rule must order a package that exists', async () => {
  const body = { email: 'finance@example.org', lowBalance: { api: 50, dashboard: null } };
  expect((await ask('PUT', '/billing/settings', { as: 'analyst', body })).status).toBe(403);
  expect(dataOf(await ask('PUT', '/billing/settings', { body })).settings).toMatchObject(body);
  expect(dataOf(await ask('GET', '/billing/settings', { as: 'key' })).settings).toMatchObject({
    ...{ ...body, webhookUrl: null, topUp: [] },
  });
  const rule = { pool: 'api', below: 20, package: 'Nothing', quantity: 1, method: 'WIRE', currency: null };
  const headers = { accept: 'application/problem+json' };
  const refused = await ask('PUT', '/billing/settings', { body: { topUp: [rule] }, headers });
  expect([refused.status, JSON.parse(refused.text).field]).toEqual([400, 'package']);
  expect(world.access.audit().newest(1)[0]).toMatchObject({ action: 'billing.settings' });
});

it('the stream has the events of an invoice, and can be resumed', async () => {
  const { invoice } = dataOf(
    await ask('POST', '/billing/invoices', { body: { package: 'Growth', method: 'WIRE' } }),
  );
  const stop = new AbortController();
  const response = await fetch(`${world.url}/api/v1/billing/stream?lastEventId=0`, {
    headers: { authorization: `Bearer ${key}` },
    signal: stop.signal,
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    if (text.includes(invoice.id)) break;
  }
  stop.abort();
  expect(text).toContain('event: invoice.created');
});

it('a statement lists the month, as CSV and to print', async () => {
  const month = new Date().toISOString().slice(0, 7);
  const csv = await ask('GET', `/billing/statements/${month}?pool=dashboard`, { as: 'key' });
  expect(csv.headers.get('content-type')).toContain('text/csv');
  const lines = csv.text.trim().split('\r\n');
  expect(lines[0]).toBe('at,pool,type,entry,invoice,count,credits,balance');
  const [opening, closing] = [lines[1], lines.at(-1)].map((line) => Number(line?.split(',').at(-1)));
  const sum = lines.slice(2, -1).reduce((total, line) => total + Number(line.split(',')[6]), 0);
  expect(opening! + sum).toBe(closing);
  expect(await ask('GET', '/billing/statements/2026-13', { as: 'key' })).toMatchObject({
    status: 400,
    text: expect.stringContaining('month: must be in the documented format: Month (UTC), such as 2026-11.'),
  });
  const page = await ask('GET', `/billing/statements/${month}?format=html`, { as: 'key' });
  expect(page.text).toContain('Statement of credits');
  const document = JSON.parse(await (await fetch(`${world.url}/openapi.json`)).text()) as {
    paths: Record<string, { get: { responses: { 200: { content: object } } } }>;
  };
  const { content } = document.paths['/billing/statements/{month}']!.get.responses[200];
  for (const { headers } of [csv, page])
    expect(Object.keys(content)).toContain(headers.get('content-type')?.split(';')[0]);
  expect((await ask('GET', '/billing/statements/2026-13', { as: 'key' })).status).toBe(400);
});
