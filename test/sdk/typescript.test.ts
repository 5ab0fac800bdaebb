/** The TypeScript client against a real server: every operation, errors, retries over a bad network, webhooks, streams and jobs. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentPath } from '../../scripts/sdk-types.ts';
import {
  AbortError,
  Assay,
  AssayError,
  AuthenticationError,
  type ClientOptions,
  ConnectionError,
  type Fetch,
  InvalidRequestError,
  NotFoundError,
  type OperationId,
  PaymentRequiredError,
  PermissionError,
  RateLimitError,
  ServerError,
  type StreamEvent,
  TimeoutError,
  type Transport,
  unwrap,
  verifyLine,
  verifyReceipt,
  WebhookSignatureError,
} from '../../sdk/typescript/src/index.ts';
import { undiciTransport } from '../../sdk/typescript/src/undici.ts';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { signWebhook } from '../../src/monitoring/delivery/senders.ts';
import { EXCHANGE, openWorld, SANCTIONED } from '../http/world.ts';
import { cuttingProxy } from '../setup/cutting-proxy.ts';
import { fromBase32 } from '../support/base32.ts';
import { sleep, until } from '../support/wait.ts';
import { type NetworkFault, startFaultyProxy } from './faulty-proxy.ts';
import { chargesOfFaultyRuns } from './faulty-runs.ts';
import { addressOf, openSdkWorld, type SdkWorld } from './world.ts';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
}
const { paths } = JSON.parse(readFileSync(documentPath, 'utf8')) as Document;
const OPERATIONS = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, { operationId }]) =>
    operationId === undefined ? [] : [{ id: operationId, method: method.toUpperCase(), path }],
  ),
);
/** Left out by name: Stripe calls it, with its own signature. */
const NOT_FOR_CLIENTS = ['stripeEvent'];

/** Id of the operation that a request reaches: the path with the fewest parameters wins, as in the server's router. */
function operationOf(method: string, url: string): string | undefined {
  const path = new URL(url).pathname.replace(/^\/api\/v1/, '');
  const fits = OPERATIONS.filter(
    (one) => one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return fits.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)[0]?.id;
}

let world: SdkWorld;
beforeAll(async () => {
  world = await openSdkWorld();
});
afterAll(() => world.close());

const PASSWORD = 'correct horse battery';
const text = (value: unknown): string => String(value);

describe('every operation of the document', () => {
  const answered = new Set<string>();
  const recorded: Fetch = async (url, init) => {
    const response = await fetch(url, init as RequestInit);
    if (response.ok) answered.add(text(operationOf(init.method, url)));
    return response as unknown as Awaited<ReturnType<Fetch>>;
  };

  interface Context {
    readonly assay: Assay;
    readonly accountId: string;
    readonly person: Assay;
    readonly walletId: string;
    readonly alertId: string;
  }
  let context: Context;

  beforeAll(async () => {
    const { accountId, apiKey } = await world.account();
    // Deriving a password takes long on a busy machine.
    const options = { baseUrl: world.url, fetch: recorded, timeout: 0 };
    const assay = new Assay({ ...options, apiKey });
    const person = new Assay({ ...options, apiKey: '' });
    const credentials = { email: 'ann@example.org', password: PASSWORD };
    await person.auth.register(credentials);
    await person.auth.verify({ token: await world.mailedToken(credentials.email) });
    await person.auth.login(credentials);
    const body = { walletAddress: addressOf(1), chain: 'ETH', customWebhookUrl: world.hookUrl };
    const { wallet } = await assay.wallets.create(body);
    await world.raise(accountId, wallet.id, 'first');
    const { alerts } = await assay.alerts.list();
    context = { assay, accountId, person, walletId: wallet.id, alertId: text(alerts[0]?.id) };
  });

  /** A job of one line, held so that it can be stopped. */
  const job = async ({ assay }: Context): Promise<string> =>
    (await assay.jobs.create(`"${EXCHANGE}"\n`, { kind: 'labels', chain: 'ETH' })).job.id;

  const opened = async ({ assay }: Context): Promise<string> =>
    (await assay.cases.create({ title: 'Large deposit', note: 'first note' })).case.id;
  /** A case with a file. */
  const filed = async (given: Context) => {
    const id = await opened(given);
    const content = new TextEncoder().encode('evidence');
    const upload = { name: 'evidence.txt', type: 'text/plain', content };
    return { id, file: (await given.assay.cases.addFile(id, upload)).file };
  };

  const saved = async ({ assay }: Context): Promise<string> =>
    text((await assay.screening.create({ chain: 'ETH', address: EXCHANGE, save: true })).screeningId);
  let people = 0;
  /** An owner of an account of their own, who is logged in: without requests, which would count against the limit of this client. */
  const colleague = async (of: Pick<SdkWorld, 'access' | 'url'> = world): Promise<Assay> => {
    const email = `colleague-${++people}@example.org`;
    await of.access.people().create(email, PASSWORD, 'FREE');
    const { token: session } = await of.access.people().login(email, PASSWORD, '127.0.0.1');
    return new Assay({ baseUrl: of.url, apiKey: '', session, fetch: recorded });
  };
  /** An owner of an operator account. */
  const operator = async (): Promise<Assay> => {
    const person = await colleague();
    await world.access.keys.setOperator((await person.auth.session()).account.id, true);
    return person;
  };
  /** A person with a second factor, and the recovery codes. */
  const withTotp = async () => {
    const person = await colleague();
    const { id } = (await person.auth.session()).person;
    const { secret } = await person.auth.enrolTotp({ password: PASSWORD });
    const code = hotp(fromBase32(secret), stepOf(Date.now()));
    return { person, id, codes: (await person.auth.confirmTotp({ code })).recoveryCodes };
  };
  const invited = async () => {
    const owner = await colleague();
    const email = `invited-${people}@example.org`;
    return { owner, ...(await owner.people.invite({ email, role: 'analyst' })).person };
  };

  /** An owner with an invoice that is not paid. */
  const ordered = async () => {
    const owner = await colleague();
    return { owner, ...(await owner.billing.checkout({ package: 'Starter', pool: 'dashboard' })) };
  };

  /** An owner with an invoice by wire: the stand-in for signatures takes any. */
  const invoiced = async () => {
    const owner = await colleague();
    const { invoice } = await owner.billing.order({ package: 'Starter', method: 'WIRE' });
    const { authorization } = await owner.billing.typedData(invoice.id, { payer: EXCHANGE });
    const body = { authorization, signature: `0x${'1b'.repeat(65)}` };
    return { owner, id: invoice.id, ...(await owner.billing.authorize(invoice.id, body)) };
  };

  const query = { chain: 'ETH', address: EXCHANGE };
  const name = { name: 'Ann Listed', source: 'EU', entityId: '1' };
  const CALLS: Readonly<Record<Exclude<OperationId, 'stripeEvent'>, (context: Context) => Promise<unknown>>> =
    {
      health: async ({ assay }) => expect((await assay.service.health()).status).toBe('ok'),
      ready: async ({ assay }) => expect((await assay.service.ready({ for: 'writes' })).ready).toBe(true),
      metrics: async ({ assay }) =>
        expect(await assay.service.metrics()).toContain('assay_http_requests_total'),
      operatorStatus: async () => expect((await (await operator()).operator.status()).nodes).toHaveLength(1),
      operatorImports: async () =>
        expect((await (await operator()).operator.imports()).runs[0]?.state).toBe('FAILED'),
      operatorLabelReports: async ({ assay }) => {
        await assay.labels.report({ ...query, reason: 'seen by operators' });
        const list = (await operator()).operator.labelReports({ state: 'OPEN' });
        const { reports, open } = await list;
        expect([reports[0]?.chain, open]).toEqual(['ETH', 1]);
        for await (const { chain } of list) expect(chain).toBe('ETH');
      },
      decideLabelReport: async () => {
        const { report } = await (await colleague()).labels.report({ ...query, reason: 'to decide' });
        const decision = { state: 'REJECTED', reason: 'it is right' } as const;
        const decided = await (await operator()).operator.decideLabelReport(report.id, decision);
        expect([decided.report.state, decided.dispute]).toEqual(['REJECTED', null]);
      },
      reportLabel: async ({ assay }) =>
        expect((await assay.labels.report({ ...query, reason: 'not theirs' })).report.state).toBe('OPEN'),
      labelReports: async ({ assay }) => {
        await assay.labels.report({ ...query, reason: 'not theirs' });
        const addresses: string[] = [];
        for await (const { address } of assay.labels.listReports({ limit: 5 })) addresses.push(address);
        expect(addresses).toEqual([EXCHANGE]);
      },
      openapi: async ({ assay }) => expect(await assay.service.openapi()).toHaveProperty('openapi', '3.1.0'),
      docs: async ({ assay }) => expect(await assay.service.docs()).toContain('<html'),
      entity: async ({ assay }) =>
        expect((await assay.entity.get({ address: EXCHANGE, chain: 'ETH' })).labels[0]?.name).toBe('Binance'),
      exchangeStatus: async ({ assay }) =>
        expect((await assay.exchanges.status({ name: 'kraken' })).exchange).toBe('Kraken'),
      labels: async ({ assay }) => expect((await assay.labels.list(query)).labels[0]?.name).toBe('Binance'),
      attribution: async ({ assay }) =>
        expect((await assay.labels.attribution(query)).findings[0]?.rule).toBe('exchange-deposit'),
      screen: async ({ assay }) => expect((await assay.labels.screen(query)).address).toBe(EXCHANGE),
      screenBulk: async ({ assay }) => {
        const addresses = [EXCHANGE, { address: SANCTIONED, chain: 'ETH' }];
        expect((await assay.labels.screenBulk({ addresses, chain: 'ETH' })).results).toHaveLength(2);
      },
      sanctionsCheck: async ({ assay }) =>
        expect((await assay.sanctions.check({ chain: 'ETH', address: SANCTIONED })).sanctioned).toBe(true),
      oracle: async ({ assay }) => expect((await assay.oracle.check(query)).verdict).toBe('safe'),
      oracleRoot: async ({ assay }) => expect((await assay.oracle.root({ chain: 'ETH' })).size).toBe(0),
      oracleProof: async ({ assay }) => expect((await assay.oracle.proof(query)).sanctioned).toBe(false),
      screening: async ({ assay }) => expect((await assay.screening.create(query)).riskScore).toBe(0),
      kyt: async ({ assay }) =>
        expect((await assay.kyt.check({ chain: 'ETH', from: SANCTIONED, to: EXCHANGE })).decision).toBe(
          'BLOCK',
        ),
      trace: async ({ assay }) =>
        expect((await assay.trace.create({ ...query, direction: 'out', hops: 1 })).nodes).toHaveLength(2),
      transaction: async ({ assay }) => {
        const hash = `0x${'ab'.repeat(32)}`;
        expect((await assay.transactions.get({ hash, chain: 'ETH' })).searched).toEqual(['ETH']);
      },
      usage: async ({ assay }) => expect((await assay.usage.get({ limit: 1 })).balance).toBeGreaterThan(0),
      billingPackages: async ({ assay }) => expect((await assay.billing.packages()).packages).toHaveLength(6),
      createCheckout: async () => expect((await ordered()).url).toMatch(/^https:/),
      listInvoices: async () => {
        const { owner, invoiceId } = await ordered();
        for await (const { id, state } of owner.billing.list())
          expect([id, state]).toEqual([invoiceId, 'NEW']);
      },
      oneInvoice: async () => {
        const { owner, invoiceId } = await ordered();
        expect((await owner.billing.get(invoiceId)).invoice.price).toEqual({
          amount: 19_900,
          currency: 'USD',
        });
      },
      invoiceReceipt: async () => {
        const { owner, invoiceId } = await ordered();
        await world.pay();
        expect(await owner.billing.receipt(invoiceId)).toContain('Receipt R-');
      },
      createInvoice: async () => {
        const owner = await colleague();
        const { invoice } = await owner.billing.order({ package: 'Starter', method: 'WIRE' });
        expect([invoice.state, invoice.due]).toEqual(['NEW', { asset: 'USD', amount: '19900', decimals: 2 }]);
      },
      invoiceProForma: async () => {
        const owner = await colleague();
        const { invoice } = await owner.billing.order({ package: 'Starter', method: 'WIRE' });
        expect(await owner.billing.proForma(invoice.id)).toContain('Pro-forma invoice');
      },
      // On a node of a chain: test/e2e/gasless.test.ts.
      invoiceTypedData: async () => expect((await invoiced()).authorization.payer).toBe(EXCHANGE),
      payInvoice: async () => expect((await invoiced()).authorization.state).toBe('QUEUED'),
      listAuthorizations: async () => {
        const { owner, id, authorization } = await invoiced();
        expect((await owner.billing.authorizations(id)).authorizations).toEqual([authorization]);
      },
      billingSettings: async ({ assay }) =>
        expect((await assay.billing.settings()).settings.webhookUrl).toBeNull(),
      changeBillingSettings: async () => {
        const owner = await colleague();
        const lowBalance = { api: 5, dashboard: null };
        const { settings } = await owner.billing.changeSettings({ email: 'a@example.org', lowBalance });
        expect(settings).toMatchObject({ email: 'a@example.org', lowBalance, topUp: [] });
      },
      billingStatement: async ({ assay }) =>
        expect(await assay.billing.statement(new Date().toISOString().slice(0, 7))).toContain('OPENING'),
      billingStream: async () => {
        const owner = await colleague();
        const { invoice } = await owner.billing.order({ package: 'Starter', method: 'WIRE' });
        for await (const { event, data } of owner.billing.stream({ lastEventId: '0' })) {
          expect([event, 'invoice' in data ? data.invoice.id : null]).toEqual([
            'invoice.created',
            invoice.id,
          ]);
          break;
        }
      },
      names: async ({ assay }) =>
        expect((await assay.names.screen({ names: [{ name: 'Ann Listed' }] })).results).toHaveLength(1),
      clear: async ({ assay }) => expect((await assay.names.clear(name)).cleared.name).toBe(name.name),
      clearedList: async ({ assay }) => {
        await assay.names.clear(name);
        expect((await assay.names.listCleared({ name: name.name })).cleared).toHaveLength(1);
      },
      unclear: async ({ assay }) => assay.names.unclear((await assay.names.clear(name)).cleared.id),
      register: ({ person }) => person.auth.register({ email: 'bob@example.org', password: PASSWORD }),
      verifyEmail: async ({ person }) => {
        await person.auth.register({ email: 'cid@example.org', password: PASSWORD });
        await person.auth.verify({ token: await world.mailedToken('cid@example.org') });
      },
      login: async ({ person }) => {
        const { account } = await person.auth.login({ email: 'ann@example.org', password: PASSWORD });
        expect([account.email, person.session]).toEqual([
          'ann@example.org',
          expect.stringMatching(/^[\w-]{43}$/),
        ]);
      },
      session: async ({ person }) => {
        const again = new Assay({ baseUrl: world.url, session: text(person.session), fetch: recorded });
        expect((await again.auth.session()).account.emailVerified).toBe(true);
      },
      logout: async () => {
        const other = new Assay({ baseUrl: world.url, apiKey: '', fetch: recorded });
        await other.auth.login({ email: 'ann@example.org', password: PASSWORD });
        await other.auth.logout();
        expect(other.session).toBeUndefined();
        await expect(other.auth.session()).rejects.toBeInstanceOf(AuthenticationError);
      },
      changePassword: async ({ person }) => {
        await person.auth.changePassword({ currentPassword: PASSWORD, newPassword: `${PASSWORD} 2` });
        // All sessions have ended, and the client uses the new one.
        expect((await person.auth.session()).account.email).toBe('ann@example.org');
      },
      forgotPassword: ({ person }) => person.auth.forgotPassword({ email: 'ann@example.org' }),
      resetPassword: async ({ person }) => {
        const email = 'dan@example.org';
        await person.auth.register({ email, password: PASSWORD });
        await world.mailedToken(email);
        await person.auth.forgotPassword({ email });
        await person.auth.resetPassword({
          token: await world.mailedToken(email, 2),
          password: `${PASSWORD} 3`,
        });
      },
      resendConfirmation: ({ person }) => person.auth.resendConfirmation({ email: 'ann@example.org' }),
      acceptInvitation: async () => {
        const owner = await colleague();
        const email = 'invited@example.org';
        await owner.people.invite({ email, role: 'analyst' });
        const joined = new Assay({ baseUrl: world.url, apiKey: '', fetch: recorded });
        const token = await world.mailedToken(email);
        const session = await joined.auth.acceptInvitation({ token, password: PASSWORD });
        expect(session.person.role).toBe('analyst');
        // A client without a key uses its session for all operations.
        await joined.screening.create(query);
        expect((await joined.usage.get()).dashboard?.balance).toBe(9);
      },
      listSessions: async () => {
        const [session] = (await (await colleague()).auth.sessions()).sessions;
        expect(session?.current).toBe(true);
      },
      endSession: async () => {
        const owner = await colleague();
        await owner.auth.endSession((await owner.auth.session()).id);
        await expect(owner.auth.session()).rejects.toBeInstanceOf(AuthenticationError);
      },
      endOtherSessions: async () =>
        expect(await (await colleague()).auth.endOtherSessions()).toEqual({ ended: 0 }),
      enrolTotp: async () =>
        expect((await (await colleague()).auth.enrolTotp({ password: PASSWORD })).uri).toContain(
          'otpauth://',
        ),
      confirmTotp: async () => expect((await withTotp()).codes).toHaveLength(10),
      renewRecoveryCodes: async () => {
        const { person, codes } = await withTotp();
        const body = { password: PASSWORD, code: text(codes[0]) };
        expect((await person.auth.renewRecoveryCodes(body)).recoveryCodes).toHaveLength(10);
      },
      disableTotp: async () => {
        const { person, codes } = await withTotp();
        await person.auth.disableTotp({ password: PASSWORD, code: text(codes[0]) });
        expect((await person.auth.session()).person.secondFactor).toBe(false);
      },
      listPeople: async () => expect((await (await colleague()).people.list()).people).toHaveLength(1),
      addPerson: async () => {
        const closed = await openWorld({ backend: 'uws' });
        try {
          const owner = await colleague(closed);
          const body = { email: 'cid@example.org', role: 'auditor', password: PASSWORD } as const;
          expect((await owner.people.create(body)).person.role).toBe('auditor');
        } finally {
          await closed.close();
        }
      },
      invitePerson: async () => expect((await invited()).status).toBe('INVITED'),
      changePerson: async () => {
        const { owner, id } = await invited();
        expect((await owner.people.update(id, { role: 'auditor' })).person.role).toBe('auditor');
      },
      removePerson: async () => {
        const { owner, id } = await invited();
        await owner.people.remove(id);
        expect((await owner.people.list()).total).toBe(1);
      },
      endPersonSessions: async () => {
        const owner = await colleague();
        const { id } = (await owner.auth.session()).person;
        expect(await owner.people.endSessions(id)).toEqual({ ended: 1 });
      },
      auditLog: async () => {
        const actions: string[] = [];
        for await (const entry of (await colleague()).people.audit({ limit: 1 })) actions.push(entry.action);
        expect(actions).toEqual(['session.create', 'account.create']);
      },
      discardTotp: async () => {
        const { person, id } = await withTotp();
        const email = `of-${id}@example.org`;
        const people = world.access.people();
        await people.members.add({ who: 'operator', from: 'test' }, id, email, 'owner', PASSWORD);
        const { token: session } = await people.login(email, PASSWORD, '127.0.0.1');
        const owner = new Assay({ baseUrl: world.url, apiKey: '', session, fetch: recorded });
        await owner.people.disableTotp(id, { currentPassword: PASSWORD });
        expect((await person.auth.session()).person.secondFactor).toBe(false);
      },
      listKeys: async ({ person }) => {
        await person.keys.create({ name: 'listed' });
        expect((await person.keys.list()).keys.map((key) => key.name)).toContain('listed');
      },
      createKey: async ({ person, assay }) => {
        const { apiKey, key } = await person.keys.create({ name: 'desk', permissions: ['oracle'] });
        const made = new Assay({ baseUrl: world.url, apiKey });
        expect([key.permissions, (await made.oracle.check(query)).verdict]).toEqual([['oracle'], 'safe']);
        // A key creates keys of its own account.
        expect((await assay.keys.create({ name: 'child' })).apiKey).toMatch(/^assay_/);
      },
      toggleKey: async ({ person }) => {
        const { key } = await person.keys.create({ name: 'toggled', permissions: ['oracle', 'kyt'] });
        const { key: less } = await person.keys.toggle(key.id, { permission: 'kyt', enabled: false });
        expect(less.permissions).toEqual(['oracle']);
      },
      revokeKey: async ({ person }) => {
        const { key, apiKey } = await person.keys.create({ name: 'revoked' });
        await person.keys.revoke(key.id, { descendants: true });
        const gone = new Assay({ baseUrl: world.url, apiKey });
        await expect(gone.oracle.check(query)).rejects.toBeInstanceOf(AuthenticationError);
      },
      addWallet: async ({ assay }) =>
        expect((await assay.wallets.create({ walletAddress: addressOf(2), chain: 'ETH' })).wallet.chain).toBe(
          'ETH',
        ),
      listWallets: async ({ assay }) =>
        expect((await assay.wallets.list({ chain: 'ETH' })).wallets.length).toBeGreaterThan(0),
      oneWallet: async ({ assay, walletId }) =>
        expect((await assay.wallets.get(walletId)).wallet.id).toBe(walletId),
      changeWallet: async ({ assay, walletId }) =>
        expect((await assay.wallets.update(walletId, { label: 'Desk' })).wallet.label).toBe('Desk'),
      removeWallet: async ({ assay }) => {
        const { wallet } = await assay.wallets.create({ walletAddress: addressOf(3), chain: 'ETH' });
        await assay.wallets.remove(wallet.id);
      },
      walletAlerts: async ({ assay, walletId }) =>
        expect((await assay.wallets.alerts(walletId)).alerts[0]?.title).toBe('first'),
      walletTransactions: async ({ assay, walletId }) =>
        expect((await assay.wallets.transactions(walletId)).transactions).toEqual([]),
      testWallet: ({ assay, walletId }) => assay.wallets.test(walletId),
      listAlerts: async ({ assay, alertId }) => {
        const all: string[] = [];
        for await (const alert of assay.alerts.list({ severity: 'HIGH' })) all.push(alert.id);
        expect(all).toEqual([alertId]);
      },
      moveAlert: async ({ assay, alertId }) => {
        const body = { status: 'RESOLVED', assignee: 'bob', note: 'Asked the client.' } as const;
        const { alert } = await assay.alerts.setStatus(alertId, body);
        expect([alert.status, alert.assignee]).toEqual(['RESOLVED', 'bob']);
        expect(alert.history.map((entry) => entry.note)).toContain('Asked the client.');
      },
      alertStream: async ({ assay, alertId }) => {
        for await (const event of assay.alerts.stream({ lastEventId: '0' }))
          if (event.event === 'alert.created') return expect(event.data.alert.id).toBe(alertId);
      },
      channels: async ({ assay }) => expect(await assay.channels.get()).toBeTypeOf('object'),
      setChannels: ({ assay }) => assay.channels.set({ slackWebhookUrl: null }),
      webhookSecret: async ({ assay }) =>
        expect((await assay.webhooks.rotateSecret()).secret).toMatch(/^whsec_/),
      deliveries: async ({ assay, walletId }) => {
        await assay.wallets.test(walletId);
        expect((await assay.deliveries.list({ walletId })).deliveries.length).toBeGreaterThan(0);
      },
      replayDelivery: async ({ assay, walletId }) => {
        await assay.wallets.test(walletId);
        const ended = async () =>
          (await assay.deliveries.list({ walletId })).deliveries.find((one) => one.status === 'DELIVERED');
        await until(async () => (await ended()) !== undefined, 'a delivery');
        await assay.deliveries.replay(text((await ended())?.id));
      },
      sendJob: async (given) => expect(await job(given)).toMatch(/^job/),
      listJobs: async (given) => {
        const id = await job(given);
        expect((await given.assay.jobs.list({ limit: 1 })).jobs[0]?.id).toBe(id);
      },
      oneJob: async (given) => expect((await given.assay.jobs.get(await job(given))).job.state).toBe('DONE'),
      jobResult: async (given) => {
        const result = await given.assay.jobs.result(await job(given));
        expect([result.status, await result.text()]).toEqual([200, expect.stringContaining(EXCHANGE)]);
      },
      jobLine: async ({ assay }) => {
        const { job: sent } = await assay.jobs.create(`${EXCHANGE}\n${EXCHANGE}1\n`, {
          ...{ kind: 'sanctions', chain: 'ETH', receipt: 'jws' },
        });
        const { job: done } = await assay.jobs.get(sent.id);
        const proof = await assay.jobs.line(sent.id, 1);
        expect(proof.receipt.id).toBe(done.receipt?.id);
        const receipt = await verifyReceipt(text(proof.receipt.jws), await assay.receipts.jwks());
        await verifyLine(receipt, proof);
      },
      cancelJob: async (given) => given.assay.jobs.cancel(await job(given)),
      listScreenings: async (given) => {
        const ids = [await saved(given), await saved(given)].toReversed();
        const all: string[] = [];
        for await (const one of given.assay.savedScreenings.list({ ...query, limit: 1 })) all.push(one.id);
        expect(all.slice(0, 2)).toEqual(ids);
      },
      oneScreening: async (given) => {
        const id = await saved(given);
        const { screening, answer } = await given.assay.savedScreenings.get(id);
        expect([screening.kind, answer.screeningId]).toEqual(['SCREENING', id]);
      },
      compareScreenings: async (given) => {
        const { score } = await given.assay.savedScreenings.compare(await saved(given), await saved(given));
        expect(score.difference).toBe(0);
      },
      receiptProof: async ({ assay }) =>
        expect(await assay.receipts.proof('receipt-1')).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex 1\n/),
      oneReceipt: async (given) => {
        const names = [{ name: 'Zebulon Quillfeather' }];
        const { receipt } = await given.assay.names.screen({ names, receipt: 'jws' });
        const { jws, evidence } = await given.assay.receipts.get(receipt?.id ?? '');
        expect([jws, evidence]).toEqual([receipt?.jws, expect.objectContaining({ kind: 'NAMES' })]);
      },
      receiptLine: async ({ assay }) => {
        const { batch, ...answer } = await assay.oracle.check({
          ...{ chain: 'ETH', address: EXCHANGE, receipt: 'batch' },
        });
        const id = text(batch?.id);
        const line = Number(batch?.line);
        const isSigned = async () => (await assay.receipts.line(id, line).catch(() => null)) !== null;
        await until(isSigned, 'a signed batch');
        const proof = await assay.receipts.line(id, line);
        const receipt = await verifyReceipt(proof.receipt.jws, await assay.receipts.jwks());
        await verifyLine(receipt, { ...proof, salt: text(batch?.salt), text: JSON.stringify(answer) });
      },
      jwks: async ({ assay }) => expect((await assay.receipts.jwks()).keys).toHaveLength(1),
      createCase: async (given) => expect(await opened(given)).toMatch(/./),
      listCases: async (given) => {
        const ids = [await opened(given), await opened(given)].toReversed();
        const all: string[] = [];
        for await (const one of given.assay.cases.list({ status: ['OPEN', 'CLOSED'], limit: 1 }))
          all.push(one.id);
        expect(all.slice(0, 2)).toEqual(ids);
      },
      oneCase: async (given) => {
        const id = await opened(given);
        expect((await given.assay.cases.get(id)).case.id).toBe(id);
      },
      changeCase: async (given) => {
        const { case: changed } = await given.assay.cases.update(await opened(given), { priority: 'HIGH' });
        expect(changed.priority).toBe('HIGH');
      },
      caseEvents: async (given) => {
        const { events } = await given.assay.cases.events(await opened(given));
        expect(events.map((event) => event.note)).toContain('first note');
      },
      addCaseEvent: async (given) => {
        const id = await opened(given);
        const note = { type: 'NOTE', note: 'second note' } as const;
        const once = { idempotencyKey: 'note' };
        const first = await given.assay.cases.addEvent(id, note, once);
        const again = await given.assay.cases.addEvent(id, note, once).withResponse();
        expect([again.response.isReplayed, again.data]).toEqual([true, first]);
      },
      caseFiles: async (given) => {
        const { id, file } = await filed(given);
        expect((await given.assay.cases.files(id)).files).toEqual([file]);
      },
      addCaseFile: async (given) => {
        const { id } = await filed(given);
        async function* content() {
          yield new TextEncoder().encode('a,b\n');
          yield new TextEncoder().encode('1,2\n');
        }
        const upload = { name: 'table.csv', type: 'text/csv', content: content() };
        const { file } = await given.assay.cases.addFile(id, upload);
        expect([file.name, file.bytes]).toEqual(['table.csv', 8]);
      },
      caseFile: async (given) => {
        const { id, file } = await filed(given);
        expect(await (await given.assay.cases.file(id, file.id)).text()).toBe('evidence');
      },
      exportCase: async (given) => {
        const { id } = await filed(given);
        expect(await (await given.assay.cases.export(id)).text()).toMatch(/^PK/);
      },
    };

  it('has a call in this test', () => {
    const ids = OPERATIONS.map(({ id }) => id).filter((id) => !NOT_FOR_CLIENTS.includes(id));
    expect(Object.keys(CALLS).toSorted()).toEqual(ids.toSorted());
  });

  it.each(Object.entries(CALLS))('%s succeeds through the client', async (id, call) => {
    answered.delete(id);
    await call(context);
    expect([...answered]).toContain(id);
  });
});

describe('a client', () => {
  let apiKey = '';
  let accountId = '';
  const query = { chain: 'ETH', address: EXCHANGE };
  const client = (options: ClientOptions = {}): Assay =>
    new Assay({ baseUrl: world.url, apiKey, ...options });

  beforeAll(async () => {
    ({ apiKey, accountId } = await world.account());
  });

  it('reads its settings from the environment, and says which one is missing', async () => {
    const { ASSAY_API_KEY, ASSAY_BASE_URL } = process.env;
    try {
      delete process.env.ASSAY_API_KEY;
      delete process.env.ASSAY_BASE_URL;
      expect(() => new Assay()).toThrow(/^baseUrl: missing/);
      expect(() => new Assay({ baseUrl: 'nonsense' })).toThrow(/^baseUrl: must be a URL/);
      process.env.ASSAY_BASE_URL = `${world.url}/api/v1/`;
      await expect(new Assay().oracle.check(query)).rejects.toThrow(/^apiKey: missing/);
      process.env.ASSAY_API_KEY = apiKey;
      expect((await new Assay().oracle.check(query)).verdict).toBe('safe');
    } finally {
      Object.assign(process.env, { ASSAY_API_KEY, ASSAY_BASE_URL });
      if (ASSAY_API_KEY === undefined) delete process.env.ASSAY_API_KEY;
      if (ASSAY_BASE_URL === undefined) delete process.env.ASSAY_BASE_URL;
    }
  });

  it('returns the facts of a response beside its data', async () => {
    const { data, response } = await client().screening.create(query).withResponse();
    expect(data.address).toBe(EXCHANGE);
    expect(response).toMatchObject({
      status: 200,
      requestId: expect.stringMatching(/./),
      rateLimit: { limit: 1_000_000, remaining: 999_999, resetAt: expect.any(Date) },
      credits: expect.any(Number),
      isReplayed: false,
      ignored: [],
    });
    expect(response.header('X-Request-Id')).toBe(response.requestId);
    const oracle = await client().oracle.check(query).withResponse();
    expect(oracle.response.quotaRemaining).toBe(Number.POSITIVE_INFINITY);
  });

  it('sends the caller’s idempotency key, and rejects one that the operation does not take', async () => {
    const first = await client().kyt.check(query, { idempotencyKey: 'once' }).withResponse();
    const second = await client().kyt.check(query, { idempotencyKey: 'once' }).withResponse();
    expect([first.response.isReplayed, second.response.isReplayed]).toEqual([false, true]);
    expect(second.data).toEqual(first.data);
    expect(second.response.credits).toBe(first.response.credits);
    const options = { idempotencyKey: 'x' } as object;
    await expect(client().labels.screen(query, options)).rejects.toThrow(/^idempotencyKey: /);
  });

  it('throws a typed error for each status, with its code, field, request id and limits', async () => {
    const invalid = await client()
      .oracle.check({ chain: 'EHT', address: EXCHANGE })
      .catch((error: unknown) => error);
    expect(invalid).toBeInstanceOf(InvalidRequestError);
    expect(invalid).toMatchObject({
      name: 'InvalidRequestError',
      status: 400,
      code: 'UNKNOWN_CHAIN',
      type: 'urn:assay:error:UNKNOWN_CHAIN',
      field: 'chain',
      requestId: expect.stringMatching(/./),
      rateLimit: { limit: 1_000_000 },
      message: expect.stringMatching(/^chain: /),
    });
    const key = (permissions: readonly ['oracle' | 'kyt'], more: object = {}) =>
      world.access.keys.create({ name: 'poor', permissions, accountId: `poor-${++poor}`, ...more });
    let poor = 0;
    const of = async (made: ReturnType<typeof key>) => client({ apiKey: (await made).apiKey, maxRetries: 0 });
    await expect(client({ apiKey: 'assay_live_x' }).oracle.check(query)).rejects.toBeInstanceOf(
      AuthenticationError,
    );
    await expect((await of(key(['oracle']))).kyt.check(query)).rejects.toBeInstanceOf(PermissionError);
    await expect(client().jobs.get('none')).rejects.toBeInstanceOf(NotFoundError);
    const limited = await of(key(['oracle'], { rateLimits: { oracle: 1 } }));
    await limited.oracle.check(query);
    const error = await limited.oracle.check(query).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({
      code: 'RATE_LIMITED',
      rateLimit: { remaining: 0 },
      retryAfter: expect.any(Number),
    });
    const broke = await of(key(['kyt']));
    for (let left = 10; left > 0; left--) await broke.kyt.check(query);
    await expect(broke.kyt.check(query)).rejects.toBeInstanceOf(PaymentRequiredError);
  });

  it('pages through a list by cursor, and returns single pages', async () => {
    const { apiKey: own, accountId: account } = await world.account();
    const assay = client({ apiKey: own });
    const { wallet } = await assay.wallets.create({ walletAddress: addressOf(9), chain: 'ETH' });
    for (let n = 0; n < 7; n++) await world.raise(account, wallet.id, `cause ${n}`);
    const titles: string[] = [];
    for await (const alert of assay.alerts.list({ limit: 3, offset: 1 })) titles.push(alert.title);
    expect(titles).toEqual([5, 4, 3, 2, 1, 0].map((n) => `cause ${n}`));
    const sizes: number[] = [];
    for await (const page of assay.alerts.list({ limit: 3 }).pages()) sizes.push(page.alerts.length);
    expect(sizes).toEqual([3, 3, 1]);
    expect(await assay.alerts.list({ limit: 3 })).toMatchObject({ total: 7, hasMore: true });
  });

  describe('over a bad network', () => {
    type Proxy = Awaited<ReturnType<typeof startFaultyProxy>>;
    const over = async <T>(
      faults: readonly NetworkFault[],
      use: (assay: Assay, proxy: Proxy) => Promise<T>,
    ) => {
      const proxy = await startFaultyProxy(world.url, (number) => faults[number - 1] ?? 'none');
      // With connections of its own: a port that was used before may have dead ones in a shared pool.
      const dispatcher = new Agent();
      const transport = undiciTransport(request, { dispatcher });
      try {
        return await use(client({ baseUrl: proxy.url, timeout: 1_000, transport }), proxy);
      } finally {
        await dispatcher.destroy();
        await proxy.close();
      }
    };
    const spent = async (): Promise<number> => (await client().usage.get({ limit: 1 })).balance;

    it.each(['refuse', 'lose', 'half', 'hang', 'bad-gateway', 'too-many', 'page'] as const)(
      'repeats a charged call after "%s" with the same key, and it is charged once',
      async (fault) => {
        const before = await spent();
        await over([fault], async (assay, { seen }) => {
          expect((await assay.kyt.check(query)).decision).toBe('ALLOW');
          expect(seen.map((one) => one.fault)).toEqual([fault, 'none']);
          expect(seen[1]?.key).toBe(seen[0]?.key);
          expect(seen[0]?.key).toMatch(/^[0-9a-f]{32}$/);
        });
        expect(before - (await spent())).toBe(1);
      },
    );

    it('gives up after two more attempts, or as many as the call says', async () => {
      const faults = Array.from({ length: 9 }, () => 'bad-gateway' as const);
      await over(faults, async (assay, { seen }) => {
        const error = await assay.oracle.check(query).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ServerError);
        expect(error).toMatchObject({
          status: 502,
          code: 'HTTP_502',
          message: expect.stringContaining('busy'),
        });
        expect(seen).toHaveLength(3);
        await expect(assay.oracle.check(query, { maxRetries: 0 })).rejects.toBeInstanceOf(ServerError);
        expect(seen).toHaveLength(4);
      });
    });

    it('names a timeout and a failed connection', async () => {
      await over(['hang'], async (assay) => {
        const call = assay.oracle.check(query, { timeout: 50, maxRetries: 0 });
        await expect(call).rejects.toBeInstanceOf(TimeoutError);
      });
      const nowhere = client({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0 });
      await expect(nowhere.oracle.check(query)).rejects.toBeInstanceOf(ConnectionError);
    });

    it('repeats what has no idempotency key only if the server has certainly not executed it', async () => {
      await over(['lose'], async (assay, { seen }) => {
        await expect(assay.webhooks.rotateSecret()).rejects.toBeInstanceOf(ConnectionError);
        expect(seen).toHaveLength(1);
      });
      await over(['too-many'], async (assay, { seen }) => {
        await assay.webhooks.rotateSecret();
        expect(seen).toHaveLength(2);
      });
    });

    it('ends at once when it is aborted, also between two attempts', async () => {
      await over(['hang'], async (assay, { seen }) => {
        const controller = new AbortController();
        const call = assay.oracle.check(query, { signal: controller.signal, timeout: 0 });
        await until(() => seen.length === 1);
        controller.abort();
        await expect(call).rejects.toBeInstanceOf(AbortError);
      });
      await over(['refuse'], async (assay, { seen }) => {
        const controller = new AbortController();
        const call = assay.oracle.check(query, { signal: controller.signal });
        await until(() => seen.length === 1);
        await sleep(20);
        controller.abort();
        await expect(call).rejects.toBeInstanceOf(AbortError);
        expect(seen).toHaveLength(1);
      });
      const aborted = AbortSignal.abort();
      await expect(client().oracle.check(query, { signal: aborted })).rejects.toBeInstanceOf(AbortError);
    });

    it('charges 100 calls once each, whatever happens to their requests', async () => {
      expect(await chargesOfFaultyRuns(world, 100)).toEqual({ charged: 100, failed: 0 });
    });
  });

  describe('the alert stream', () => {
    it('resumes after the last event if its connection is cut, without a gap or a repetition', async () => {
      const { apiKey: own, accountId: account } = await world.account();
      const assay = client({ apiKey: own });
      const { wallet } = await assay.wallets.create({ walletAddress: addressOf(9), chain: 'ETH' });
      for (let n = 0; n < 20; n++) await world.raise(account, wallet.id, `cause ${n}`);
      const proxy = await cuttingProxy(world.port);
      try {
        // A header, and a few events of about a kilobyte.
        proxy.state.cutAfter = 9_000;
        const stream = client({ apiKey: own, baseUrl: proxy.url }).alerts.stream({ lastEventId: '0' });
        const titles: string[] = [];
        for await (const event of stream) {
          if (event.event === 'alert.created') titles.push(event.data.alert.title);
          if (titles.length === 20) break;
        }
        expect(titles).toEqual(Array.from({ length: 20 }, (_, n) => `cause ${n}`));
        expect(proxy.state.cuts).toBeGreaterThan(0);
      } finally {
        proxy.close();
      }
    });

    it('says that events may be missing if the connection is cut before the first one', async () => {
      const proxy = await cuttingProxy(world.port);
      try {
        proxy.state.cutAfter = 0;
        const events: StreamEvent[] = [];
        const controller = new AbortController();
        const ended = (async () => {
          const options = { signal: controller.signal };
          for await (const event of client({ baseUrl: proxy.url }).alerts.stream(options)) events.push(event);
        })();
        await until(() => proxy.state.connections >= 1);
        proxy.state.cutAfter = Number.POSITIVE_INFINITY;
        await sleep(100);
        controller.abort();
        await ended;
        expect(events).toEqual([]);
      } finally {
        proxy.close();
      }
    });

    it('outlives any number of restarts without an event between them, if each connection was good', async () => {
      const bodies = [
        ...Array.from({ length: 4 }, () => ': ping\n\n'),
        'id: 7\nevent: alert.created\ndata: {}\n\n',
      ];
      const transport: Transport = async () => {
        const body = bodies.shift() ?? '';
        return {
          status: 200,
          header: () => null,
          text: async () => body,
          body: async function* () {
            yield Buffer.from(body);
          },
          cancel() {},
        };
      };
      const options = { maxRetries: 1 };
      const events: string[] = [];
      const read = async (): Promise<void> => {
        for await (const { event } of client({ transport }).alerts.stream(options)) events.push(event);
      };
      // The connections after the last one end at once.
      await expect(read()).rejects.toThrow('The stream ended.');
      expect(events.slice(0, 5)).toEqual([...Array.from({ length: 4 }, () => 'missed'), 'alert.created']);
    });

    it('throws what the server says about a key without the permission', async () => {
      const { apiKey: own } = await world.access.keys.create({ name: 'k', permissions: ['kyt'], accountId });
      await expect(client({ apiKey: own }).alerts.stream().next()).rejects.toBeInstanceOf(PermissionError);
    });
  });

  describe('webhooks', () => {
    const body = JSON.stringify({ type: 'alert.test', timestamp: 't', data: { test: { walletId: 'w' } } });
    const secret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;
    const other = `whsec_${Buffer.from('another secret of 24 byte').toString('base64')}`;
    const signed = (secrets: readonly string[], ageSeconds = 0) => {
      const message = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1_000) - ageSeconds, body };
      return {
        'webhook-id': message.id,
        'webhook-timestamp': String(message.timestamp),
        'webhook-signature': signWebhook(secrets, message),
      };
    };

    it('unwraps a delivery of the server', async () => {
      const { apiKey: own } = await world.account();
      const assay = client({ apiKey: own });
      const { secret: issued } = await assay.webhooks.rotateSecret();
      const { wallet } = await assay.wallets.create({
        walletAddress: addressOf(4),
        chain: 'ETH',
        customWebhookUrl: world.hookUrl,
      });
      await assay.wallets.test(wallet.id);
      const own4 = () => world.hooks.find((hook) => hook.body.includes(addressOf(4)));
      await until(() => own4() !== undefined, 'the webhook');
      const hook = own4() as NonNullable<ReturnType<typeof own4>>;
      const event = await assay.webhooks.unwrap(hook.body, hook.headers, { secret: issued });
      expect(event).toMatchObject({ type: 'alert.test', data: { test: { walletId: wallet.id } } });
      expect(event.id).toBe(hook.headers['webhook-id']);
    });

    it('accepts any of the secrets of a rotation, and headers of every kind', async () => {
      const headers = signed([secret, other]);
      const bytes = new TextEncoder().encode(body);
      const upper = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
      );
      await expect(unwrap(body, headers, { secret: other })).resolves.toMatchObject({ type: 'alert.test' });
      await expect(unwrap(bytes, new Headers(headers), { secret })).resolves.toMatchObject({ id: 'msg_1' });
      await expect(unwrap(body, upper, { secret: [other, secret] })).resolves.toMatchObject({ id: 'msg_1' });
    });

    it('rejects a wrong secret, an altered body, an old message, and headers that are missing', async () => {
      const refused = async (call: Promise<unknown>, about: RegExp): Promise<void> => {
        const error = await call.catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(WebhookSignatureError);
        expect((error as Error).message).toMatch(about);
      };
      await refused(unwrap(body, signed([other]), { secret }), /^webhook-signature/);
      await refused(unwrap(`${body} `, signed([secret]), { secret }), /^webhook-signature/);
      await refused(unwrap(body, signed([secret], 301), { secret }), /^webhook-timestamp/);
      await refused(unwrap(body, signed([secret], -301), { secret }), /^webhook-timestamp/);
      await expect(
        unwrap(body, signed([secret], 301), { secret, toleranceSeconds: 600 }),
      ).resolves.toBeTruthy();
      await refused(unwrap(body, {}, { secret }), /^webhook-id/);
      await refused(unwrap(body, signed([secret]), { secret: 'whsec_' }), /^secret/);
      const unknown = { ...signed([secret]), 'webhook-signature': 'v2,AAAA v1,%%%' };
      await refused(unwrap(body, unknown, { secret }), /^webhook-signature/);
    });
  });

  describe('bulk', () => {
    /** The jobs of this world answer with the line that they were asked. */
    interface Echo {
      readonly asked: string;
    }
    const lines = function* (count: number): Generator<string> {
      for (let n = 0; n < count; n++) yield addressOf(n);
    };
    const askedOf = (result: unknown): string => JSON.parse((result as Echo).asked) as string;

    it('returns the results of several jobs in the order of the lines, and removes the jobs', async () => {
      const { apiKey: own } = await world.account();
      const assay = client({ apiKey: own });
      const all: string[] = [];
      async function* source() {
        yield* lines(1_050);
      }
      const options = { chain: 'ETH', linesPerJob: 100 };
      for await (const result of assay.bulk.screen(source(), options)) all.push(askedOf(result));
      expect(all).toEqual([...lines(1_050)]);
      expect((await assay.jobs.list()).jobs).toEqual([]);
      const none: unknown[] = [];
      for await (const result of assay.bulk.screen([], options)) none.push(result);
      expect(none).toEqual([]);
    });

    it('reads only as many lines as its jobs take, and stops its jobs if the iteration ends early', async () => {
      const { apiKey: own } = await world.account();
      const assay = client({ apiKey: own });
      let read = 0;
      function* endless(): Generator<string> {
        for (;;) yield addressOf(read++);
      }
      let results = 0;
      for await (const _ of assay.bulk.screen(endless(), { chain: 'ETH', linesPerJob: 50, concurrency: 2 }))
        if (++results === 120) break;
      expect(read).toBeLessThanOrEqual(50 * 5);
      expect((await assay.jobs.list()).jobs).toEqual([]);
    });

    it('ends at once although its source is silent', async () => {
      const { apiKey: own } = await world.account();
      async function* silent() {
        yield* lines(20);
        await new Promise(() => {});
      }
      const options = { chain: 'ETH', linesPerJob: 10 };
      let results = 0;
      for await (const _ of client({ apiKey: own }).bulk.screen(silent(), options))
        if (++results === 20) break;
      expect(results).toBe(20);
      const controller = new AbortController();
      const stopped = client({ apiKey: own }).bulk.screen(silent(), {
        ...options,
        signal: controller.signal,
      });
      for (let n = 0; n < 20; n++) await stopped.next();
      const waiting = stopped.next();
      controller.abort();
      await expect(waiting).rejects.toBeInstanceOf(AbortError);
    });

    it('throws the error of its source', async () => {
      const failing = (function* () {
        yield addressOf(1);
        throw new Error('the file ended');
      })();
      await expect(client().bulk.screen(failing, { chain: 'ETH' }).next()).rejects.toThrow('the file ended');
    });

    it('resumes results over connections that are cut', async () => {
      const { apiKey: own } = await world.account();
      const proxy = await cuttingProxy(world.port);
      try {
        proxy.state.cutAfter = 60_000;
        const all: string[] = [];
        const assay = client({ apiKey: own, baseUrl: proxy.url });
        for await (const result of assay.bulk.screen(lines(3_000), { chain: 'ETH' }))
          all.push(askedOf(result));
        expect(all).toEqual([...lines(3_000)]);
        expect(proxy.state.cuts).toBeGreaterThan(1);
      } finally {
        proxy.close();
      }
    });

    it('continues the jobs of an earlier run under the same key', async () => {
      const { apiKey: own } = await world.account();
      const assay = client({ apiKey: own });
      const options = { chain: 'ETH', linesPerJob: 50, idempotencyKey: 'nightly' };
      for (let run = 0; run < 2; run++) {
        const all: string[] = [];
        for await (const result of assay.bulk.screen(lines(120), options)) all.push(askedOf(result));
        expect(all).toEqual([...lines(120)]);
      }
      expect((await assay.jobs.list()).total).toBe(3);
    });

    it('throws what the server says about a job', async () => {
      // The jobs of this world refuse 13 lines.
      const call = client().bulk.screen(lines(13), { chain: 'ETH' }).next();
      await expect(call).rejects.toBeInstanceOf(PaymentRequiredError);
      expect(() => client().bulk.screen([], { linesPerJob: 0 })).toThrow(AssayError);
    });
  });
});
