/**
 * A person's way through the whole program: register, log in, create a key, be refused, screen until the credits are used up, buy more, see
 * the usage, remove a permission, revoke the key. Mail goes through a real SMTP server, and payments arrive as Stripe sends them.
 */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { startMailServer } from '../setup/mail-server.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const SECRET = 'whsec_0123456789abcdef';
const EMAIL = 'ann@example.org';
const PASSWORD = 'correct horse battery';
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';
const API = '/api/v1';

interface Answer {
  readonly status: number;
  readonly cookie: string;
  readonly body: Readonly<Record<string, unknown>>;
}

describe('a user', () => {
  let world: World;
  let server: RunningServer;
  let mail: Awaited<ReturnType<typeof startMailServer>>;
  const secrets: string[] = [SECRET, PASSWORD];
  /** The text for the README, written to the file that a variable names. */
  const story: string[] = [];

  /** Runs a command in this process, over the folder of the server: one of its own takes half a second of processor time. */
  const run = (args: readonly string[]) => runCommand(join(world.folder, 'store'), args);

  async function ask(
    method: string,
    path: string,
    asked: { cookie?: string; key?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const { cookie, key, body, headers } = asked;
    const response = await fetch(`${server.url}${API}${path}`, {
      method,
      headers: {
        ...(cookie === undefined ? {} : { cookie, origin: server.url }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    story.push(
      `${method} ${path} ${body === undefined ? '' : JSON.stringify(body)}`,
      `  ${response.status} ${text}`,
    );
    return {
      status: response.status,
      cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] as string,
      body: JSON.parse(text) as Answer['body'],
    };
  }

  beforeAll(async () => {
    mail = await startMailServer();
    world = newWorld();
    server = await world.serve({
      ASSAY_REGISTRATION: 'open',
      ASSAY_SMTP_URL: mail.url,
      ASSAY_MAIL_FROM: 'assay@example.org',
      ASSAY_STRIPE_SECRET: SECRET,
      ASSAY_LOG_LEVEL: 'debug',
    });
    secrets.push(server.firstKey);
  });
  afterAll(async () => {
    await world.end();
    await mail.close();
  });

  it('registers, screens with free credits, buys credits and revokes a key', async () => {
    const who = { email: EMAIL, password: PASSWORD };
    expect((await ask('POST', '/auth/register', { body: who })).status).toBe(200);
    const confirm = await mail.token(0);
    expect(mail.letters[0]).toContain(`To: ${EMAIL}`);

    const login = await ask('POST', '/auth/login', { body: who });
    expect(login).toMatchObject({
      status: 200,
      body: { data: { account: { email: EMAIL, emailVerified: false } } },
    });
    const { cookie } = login;
    const accountId = (login.body.data as { account: { id: string } }).account.id;

    const permissions = ['screening', 'entity', 'oracle'];
    const made = await ask('POST', '/keys', { cookie, body: { name: 'desk', permissions } });
    const { key: record, apiKey } = made.body.data as { key: { id: string }; apiKey: string };
    expect(made.body.data).toMatchObject({ key: { permissions, status: 'ACTIVE' } });
    secrets.push(apiKey, cookie.slice('assay_session='.length), confirm);

    const question = { address: LAZARUS, chain: 'ETH' };
    expect((await ask('POST', '/screen', { key: apiKey, body: question })).status).toBe(403);

    // If the address is not confirmed, there are no free credits.
    expect((await ask('POST', '/screening', { key: apiKey, body: question })).status).toBe(402);
    expect((await ask('POST', '/auth/verify', { body: { token: confirm } })).status).toBe(200);
    for (let left = 9; left >= 0; left--) {
      const screened = await ask('POST', '/screening', { key: apiKey, body: question });
      expect(screened).toMatchObject({ status: 200, body: { credits: { remaining: left } } });
    }
    const refused = await ask('POST', '/screening', { key: apiKey, body: question });
    expect(refused).toMatchObject({
      status: 402,
      body: { error: expect.stringContaining('10 free credits will be added at') },
    });

    const checkout = {
      id: 'cs_1',
      payment_status: 'paid',
      payment_intent: 'pi_1',
      client_reference_id: accountId,
      currency: 'usd',
      amount_total: 19_900,
      metadata: { package: 'Starter' },
    };
    const event = JSON.stringify({
      id: 'evt_1',
      type: 'checkout.session.completed',
      data: { object: checkout },
    });
    const time = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', SECRET).update(`${time}.${event}`).digest('hex');
    const headers = { 'stripe-signature': `t=${time},v1=${signature}` };
    const paid = await ask('POST', '/payments/stripe', { body: event, headers });
    expect(paid).toMatchObject({ status: 200, body: { data: { outcome: 'booked', accountId } } });
    const replayed = await ask('POST', '/payments/stripe', { body: event, headers });
    expect(replayed).toMatchObject({ status: 200, body: { data: { outcome: 'repeated' } } });

    const again = await ask('POST', '/screening', { key: apiKey, body: question });
    expect(again).toMatchObject({ status: 200, body: { credits: { remaining: 99 } } });

    const usage = await ask('GET', '/usage?limit=2', { key: apiKey });
    expect(usage.body.data).toMatchObject({
      balance: 99,
      history: [
        { type: 'SCREENING', amount: -1, balance: 99 },
        { type: 'PURCHASE', amount: 100, balance: 100, reference: null },
      ],
      totals: { byType: { GRANT: 10, SCREENING: -11, PURCHASE: 100 } },
    });

    const toggle = { permission: 'screening', enabled: false };
    expect((await ask('PATCH', `/keys/${record.id}`, { cookie, body: toggle })).status).toBe(200);
    expect((await ask('POST', '/screening', { key: apiKey, body: question })).status).toBe(403);
    expect((await ask('DELETE', `/keys/${record.id}`, { cookie })).body.data).toMatchObject({
      key: { status: 'REVOKED' },
    });
    expect((await ask('GET', `/entity/${LAZARUS}`, { key: apiKey })).status).toBe(401);
  });

  it('does not delay an oracle response by logging in', async () => {
    let done = 0;
    const logins = Array.from({ length: 4 }, () =>
      ask('POST', '/auth/login', { body: { email: EMAIL, password: PASSWORD } }).then((login) => {
        secrets.push(login.cookie.slice('assay_session='.length));
        done++;
        return login.status;
      }),
    );
    let answers = 0;
    while (done < logins.length && answers < 50) {
      const oracle = await ask('GET', `/oracle/address/ETH/${LAZARUS}`, { key: server.firstKey });
      expect(oracle.status).toBe(200);
      if (done < logins.length) answers++;
    }
    expect(await Promise.all(logins)).toEqual([200, 200, 200, 200]);
    // Four key derivations of a fifth of a second each on another thread. On the main thread, at most one answer would come between two of
    // them.
    expect(answers).toBeGreaterThan(5);
  });

  it('resets the password by email, which ends earlier sessions', async () => {
    const { cookie } = await ask('POST', '/auth/login', { body: { email: EMAIL, password: PASSWORD } });
    await ask('POST', '/auth/password/forgot', { body: { email: EMAIL } });
    const token = await mail.token(1);
    const password = 'another horse battery';
    secrets.push(token, password, cookie.slice('assay_session='.length));
    expect((await ask('POST', '/auth/password/reset', { body: { token, password } })).status).toBe(200);
    expect((await ask('GET', '/auth/session', { cookie })).status).toBe(401);
    expect((await ask('POST', '/auth/login', { body: { email: EMAIL, password } })).status).toBe(200);
  });

  it('is managed by the operator beside the running server', async () => {
    const listed = await run(['accounts', 'list', '--json']);
    const [account] = JSON.parse(listed.out) as { id: string; emailVerified: boolean }[];
    expect(account).toMatchObject({ email: EMAIL, emailVerified: true, disabled: false });
    expect(listed.out).not.toContain('scrypt');
    const { id } = account as { id: string };
    expect((await run(['plan', 'set', id, 'growth'])).out).toContain('GROWTH');
    const login = await ask('POST', '/auth/login', {
      body: { email: EMAIL, password: 'another horse battery' },
    });
    expect(login.body.data).toMatchObject({ account: { plan: 'GROWTH' } });
    const { cookie } = login;
    const made = await ask('POST', '/keys', { cookie, body: { name: 'second' } });
    const { apiKey } = made.body.data as { apiKey: string };
    secrets.push(apiKey);
    expect((await world.run(['accounts', 'disable', id])).code).toBe(0);
    expect((await ask('GET', `/entity/${LAZARUS}`, { key: apiKey })).status).toBe(401);
    expect((await ask('GET', '/auth/session', { cookie })).status).toBe(401);
    expect((await run(['accounts', 'enable', id])).code).toBe(0);
    expect((await ask('GET', `/entity/${LAZARUS}`, { key: apiKey })).status).toBe(200);

    const notified = await world.run(['accounts', 'notify', '--subject', 'A change'], {
      input: 'In 30 days a field goes away.\n',
      environment: { ASSAY_SMTP_URL: mail.url },
    });
    expect(notified.out).toContain('Emails accepted by the mail server: 1.');
    expect(mail.letters.at(-1)).toContain('In 30 days a field goes away.');

    const created = await world.run(['accounts', 'create', '--email', 'bob@example.org', '--json'], {
      input: `${PASSWORD}\n`,
    });
    expect(JSON.parse(created.out)).toMatchObject({ email: 'bob@example.org', emailVerified: true });
  });

  it('leaves an audit chain that the operator can verify', async () => {
    const shown = JSON.parse((await run(['audit', 'show', '--limit', '100', '--json'])).out) as {
      action: string;
      who: string;
      from: string;
    }[];
    const actions = shown.map(({ action }) => action).reverse();
    for (const action of ['account.create', 'session.create', 'key.create', 'credits.book', 'key.permission'])
      expect(actions).toContain(action);
    expect(shown.find(({ action }) => action === 'plan.set')).toMatchObject({ who: 'operator' });
    expect(shown.find(({ action }) => action === 'key.revoke')).toMatchObject({ from: '127.0.0.1' });
    const verified = await run(['audit', 'verify']);
    expect(verified).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${shown.length} entries, 0 faults`),
    });
  });

  it('leaves no secret in the logs, wherever a key was sent', async () => {
    const leaked = secrets.find((secret) => secret.startsWith('assay_live_')) as string;
    await ask('GET', `/entity/${leaked}`, { key: leaked });
    await ask('GET', `/entity/x?chain=${leaked}`, { key: leaked });
    await ask('GET', `/${leaked}/nowhere`);
    await ask('POST', '/screening', { key: leaked, body: { address: leaked, chain: leaked, [leaked]: 1 } });
    await ask('POST', '/auth/login', { body: { email: leaked, password: leaked } });
    await ask('GET', `/entity/x`, { key: leaked, headers: { 'x-request-id': leaked } });
    const audit = await run(['audit', 'show', '--limit', '1000', '--json']);
    expect(await server.stop()).toBe(0);
    const { err } = server.output();
    expect(err).toContain('purchase booked');
    for (const secret of secrets) {
      expect(err).not.toContain(secret);
      expect(audit.out).not.toContain(secret);
    }
    if (process.env.ASSAY_TEST_STORY) writeFileSync(process.env.ASSAY_TEST_STORY, story.join('\n'));
  });
});
