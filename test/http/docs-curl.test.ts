/** Runs every curl command of /docs against the built program, with its placeholders replaced, as a reader would. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { newWorld, type RunningServer, type World } from '../e2e/program.ts';
import { startMailServer } from '../setup/mail-server.ts';
import { fromBase32 } from '../support/base32.ts';
import { spawnSync } from '../support/child-process.ts';

/** The host that the page shows. */
const SHOWN_HOST = 'http://127.0.0.1:8080';
const EMAIL = 'compliance@example.org';

interface Outcome {
  readonly status: number;
  readonly body: string;
}

const hasCurl = spawnSync('curl', ['--version']).status === 0;
const commands = new Map<string, string>();
/** Operations whose command a test has run. */
const tried = new Set<string>();
/** Those that no other test runs. Determined once, so that a second try of the last test runs the same ones. */
let others: readonly string[] | null = null;

const unescaped = (html: string): string =>
  html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

describe.runIf(hasCurl)('the curl commands of /docs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-curl-'));
  let world: World;
  let server: RunningServer;
  let mail: Awaited<ReturnType<typeof startMailServer>>;
  const secrets = { session: '', password: 'correct horse battery', 'new password': 'another horse battery' };

  /** Runs a command in a shell. A stream has no end: curl closes it after a second. */
  const run = (command: string): Promise<Outcome> =>
    new Promise((resolve, reject) => {
      const shown = command.replace(/^curl /, "curl --max-time 20 -w '\\n%{http_code}' ");
      const line = command.includes('/stream') ? shown.replace('--max-time 20', '--max-time 1') : shown;
      // The OpenAPI document has more than the default of 1 MB.
      const options = { cwd: folder, encoding: 'utf8', maxBuffer: 8 * 1024 * 1024 } as const;
      execFile('sh', ['-c', line], options, (error, out) => {
        // 28: the time of --max-time is over.
        if (error !== null && error.code !== 28) return reject(error);
        const end = out.lastIndexOf('\n');
        resolve({ status: Number(out.slice(end + 1)), body: out.slice(0, end) });
      });
    });

  /** Runs the command of an operation with its placeholders replaced. */
  async function tryOut(id: string, values: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    const command = commands.get(id);
    if (command === undefined) throw new Error(`/docs has no command of ${id}`);
    const all: Record<string, string> = { 'API key': server.firstKey, ...secrets, ...values };
    const filled = command
      .replaceAll(SHOWN_HOST, server.url)
      .replace(/<([A-Za-z ]+)>/g, (placeholder, name: string) => all[name] ?? placeholder);
    expect(filled, 'a placeholder that this test does not know').not.toMatch(/<[A-Za-z ]+>/);
    tried.add(id);
    return run(filled);
  }

  /** Runs the command of an operation, which must succeed, and returns `data`. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  async function dataOf(id: string, values?: Readonly<Record<string, string>>): Promise<any> {
    const { status, body } = await tryOut(id, values);
    expect(status, `${id}: ${body}`).toBe(200);
    return (JSON.parse(body) as { data: unknown }).data;
  }

  beforeAll(async () => {
    mail = await startMailServer();
    world = newWorld();
    server = await world.serve({
      ASSAY_REGISTRATION: 'open',
      ASSAY_SMTP_URL: mail.url,
      ASSAY_MAIL_FROM: 'assay@example.org',
    });
    writeFileSync(join(folder, 'addresses.csv'), '0x28c6c06298d514db089934071355e5743bf21d60\n');
    const page = await (await fetch(`${server.url}/docs`)).text();
    for (const [, id = '', command = ''] of page.matchAll(
      /<h2 id="(\w+)">(?:(?!<h2)[\s\S])*?<pre>(curl [^<]*)<\/pre>/g,
    ))
      commands.set(id, unescaped(command));
  });
  afterAll(async () => {
    await world.end();
    await mail.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('exist for every operation that a client calls', () => {
    const called = OPERATIONS.filter(({ principal, isListed }) => isListed && principal !== 'signature').map(
      ({ id }) => id,
    );
    expect([...commands.keys()].sort()).toEqual(called.sort());
  });

  it('of accounts are accepted, in the order of a new user', async () => {
    await dataOf('register');
    await dataOf('verifyEmail', { token: await mail.token(0) });
    const { body } = await tryOut('login');
    expect(body).toContain(EMAIL);
    const login = await fetch(`${server.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: EMAIL, password: secrets.password }),
    });
    secrets.session = /assay_session=([^;]+)/.exec(login.headers.get('set-cookie') ?? '')?.[1] ?? '';
    expect((await dataOf('session')).account.email).toBe(EMAIL);
    await dataOf('changePassword');
    await dataOf('forgotPassword');
    // An email about the changed password may come before the one with the token.
    await expect.poll(() => mail.letters.filter((text) => /^[\w-]{43}\r?$/m.test(text)).length).toBe(2);
    const reset = mail.letters.findLastIndex((text) => /^[\w-]{43}\r?$/m.test(text));
    await dataOf('resetPassword', { token: await mail.token(reset) });
    const again = await fetch(`${server.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: EMAIL, password: secrets['new password'] }),
    });
    secrets.session = /assay_session=([^;]+)/.exec(again.headers.get('set-cookie') ?? '')?.[1] ?? '';
    await dataOf('createKey');
    const made = await fetch(`${server.url}/api/v1/keys`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        cookie: `assay_session=${secrets.session}`,
        origin: server.url,
      },
      body: JSON.stringify({ name: 'of the session', permissions: ['entity'] }),
    });
    const { key, apiKey } = ((await made.json()) as { data: { key: { id: string }; apiKey: string } }).data;
    expect((await dataOf('listKeys')).keys[0].id).toBe(key.id);
    await dataOf('toggleKey', { id: key.id, 'API key': apiKey });
    await dataOf('revokeKey', { id: key.id });
    await dataOf('logout');
  });

  it('of people are accepted, by an owner and by a new colleague', async () => {
    const login = async (email: string, password: string): Promise<string> => {
      const answer = await fetch(`${server.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password }),
      });
      return /assay_session=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1] ?? '';
    };
    const session = await login(EMAIL, secrets['new password']);
    const as = { session };
    const { person: invited } = await dataOf('invitePerson', as);
    await dataOf('changePerson', { ...as, id: invited.id });
    const isInvitation = (letter: string): boolean => letter.includes(`To: ${invited.email}`);
    await expect.poll(() => mail.letters.some(isInvitation)).toBe(true);
    const token = await mail.token(mail.letters.findIndex(isInvitation));
    const { person } = await dataOf('acceptInvitation', { token });
    expect(person.role).toBe('auditor');
    await dataOf('resendConfirmation');
    expect((await dataOf('listPeople', as)).people).toHaveLength(2);

    const own = { session: await login(invited.email, secrets.password) };
    const code = (secret: string): string => hotp(fromBase32(secret), stepOf(Date.now()));
    const { secret } = await dataOf('enrolTotp', own);
    const { recoveryCodes } = await dataOf('confirmTotp', { ...own, code: code(secret) });
    const renewed = await dataOf('renewRecoveryCodes', { ...own, code: recoveryCodes[0] });
    await dataOf('disableTotp', { ...own, code: renewed.recoveryCodes[0] });
    const again = await fetch(`${server.url}/api/v1/auth/totp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        cookie: `assay_session=${own.session}`,
        origin: server.url,
      },
      body: JSON.stringify({ password: secrets.password }),
    });
    const { data } = (await again.json()) as { data: { secret: string } };
    await dataOf('confirmTotp', { ...own, code: code(data.secret) });
    await dataOf('discardTotp', { ...as, id: person.id, password: secrets['new password'] });

    const { sessions } = await dataOf('listSessions', own);
    const other = sessions.find(({ current }: { current: boolean }) => !current) as { id: string };
    await dataOf('endSession', { ...own, id: other.id });
    expect(await dataOf('endOtherSessions', own)).toEqual({ ended: 0 });
    expect(await dataOf('endPersonSessions', { ...as, id: person.id })).toEqual({ ended: 1 });
    await dataOf('removePerson', { ...as, id: person.id });
    expect((await dataOf('auditLog', as)).entries[0].action).toBe('person.remove');
    // Here anybody can register, so people are invited.
    const { status, body } = await tryOut('addPerson', as);
    expect([status, body]).toEqual([403, expect.stringContaining('invitations')]);
  });

  it('of names are accepted', async () => {
    const screened = await tryOut('names');
    const { results } = JSON.parse(screened.body);
    expect(results[0].topMatches.length).toBeGreaterThan(0);
    const { source, entityId } = results[0].topMatches[0] as { source: string; entityId: string };
    const { cleared } = await dataOf('clear', {
      'source of the match': source,
      'entityId of the match': entityId,
    });
    await dataOf('clearedList');
    await dataOf('unclear', { id: cleared.id });
  });

  it('of monitoring are accepted', async () => {
    const { id } = (await dataOf('addWallet')).wallet as { id: string };
    for (const operation of ['listWallets', 'listAlerts', 'webhookSecret', 'setChannels', 'channels'])
      await dataOf(operation);
    for (const operation of ['oneWallet', 'changeWallet', 'walletAlerts', 'walletTransactions'])
      await dataOf(operation, { id });
    const sent = (await dataOf('testWallet', { id })).deliveries as { id: string }[];
    const isSent = async (): Promise<boolean> => {
      const headers = { authorization: `Bearer ${server.firstKey}` };
      return (await (await fetch(`${server.url}/api/v1/monitoring/deliveries`, { headers })).text()).includes(
        '"status":"DELIVERED"',
      );
    };
    // Each look counts towards the limit of a minute, which the operations below need, too.
    await expect.poll(isSent, { timeout: 20_000, interval: 1_000 }).toBe(true);
    await dataOf('deliveries');
    await dataOf('replayDelivery', { id: sent[0]?.id ?? '' });
    await dataOf('removeWallet', { id });
    // Nothing moves money here, so there is no alert: the command is complete if only its record is missing.
    const { status, body } = await tryOut('moveAlert', { id: 'alert_1' });
    expect([status, body]).toEqual([404, expect.stringContaining('no alert')]);
    expect((await tryOut('alertStream')).status).toBe(200);
  });

  it('of cases are accepted', async () => {
    const { id } = (await dataOf('createCase')).case as { id: string };
    await dataOf('listCases');
    for (const operation of ['oneCase', 'changeCase', 'caseEvents', 'addCaseEvent', 'caseFiles'])
      await dataOf(operation, { id });
    const file = (await dataOf('addCaseFile', { id })).file as { id: string };
    expect((await tryOut('caseFile', { id, fileId: file.id })).status).toBe(200);
    expect((await tryOut('exportCase', { id })).status).toBe(200);
  });

  it('of saved screenings are accepted', async () => {
    await dataOf('listScreenings');
    const saved = await fetch(`${server.url}/api/v1/screening`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        address: '0x28c6c06298d514db089934071355e5743bf21d60',
        chain: 'ETH',
        save: true,
      }),
    });
    const { screeningId: id } = ((await saved.json()) as { data: { screeningId: string } }).data;
    expect((await dataOf('oneScreening', { id })).answer.screeningId).toBe(id);
    expect((await dataOf('compareScreenings', { a: id, b: id })).isChanged).toBe(false);
  });

  it('of receipts are accepted', async () => {
    const signed = await fetch(
      `${server.url}/api/v1/oracle/address/ETH/0x28c6c06298d514db089934071355e5743bf21d60?receipt=jws`,
      { headers: { authorization: `Bearer ${server.firstKey}` } },
    );
    const { receipt } = ((await signed.json()) as { data: { receipt: { id: string; jws: string } } }).data;
    expect((await dataOf('oneReceipt', { id: receipt.id })).jws).toBe(receipt.jws);
  });

  it('of bulk jobs are accepted', async () => {
    const { id } = (await dataOf('sendJob')).job as { id: string };
    await dataOf('listJobs');
    await dataOf('oneJob', { id });
    expect((await tryOut('jobResult', { id })).status).toBe(200);
    // It was sent without a receipt.
    expect((await tryOut('jobLine', { id })).status).toBe(400);
    await dataOf('cancelJob', { id });
  });

  it('of billing are accepted: this server sells nothing, so there is no invoice', async () => {
    await dataOf('billingPackages');
    await dataOf('listInvoices');
    await dataOf('billingSettings');
    expect((await tryOut('billingStatement', { month: '2026-11' })).status).toBe(200);
    expect((await tryOut('billingStream')).status).toBe(200);
    for (const operation of [
      ...['oneInvoice', 'invoiceReceipt', 'invoiceProForma', 'invoiceTypedData', 'payInvoice'],
      'listAuthorizations',
    ])
      expect((await tryOut(operation, { id: 'inv_1' })).status).toBe(404);
    // Without the session, which an earlier command may have ended, it is not found out whether payments are configured.
    expect([401, 404]).toContain((await tryOut('createCheckout')).status);
    expect([401, 400]).toContain((await tryOut('createInvoice')).status);
    expect([401, 200]).toContain((await tryOut('changeBillingSettings')).status);
  });

  it('of the transparency log are accepted: it has no receipt yet', async () => {
    expect((await tryOut('receiptProof', { id: 'receipt-1' })).status).toBe(404);
    expect((await tryOut('receiptLine', { id: 'batch-1' })).status).toBe(404);
  });

  it('of operators are accepted, and this account is none', async () => {
    // 401 without the session, which an earlier command may have ended.
    for (const operation of [
      'operatorStatus',
      'operatorImports',
      'operatorLabelReports',
      'decideLabelReport',
    ])
      expect([401, 403]).toContain((await tryOut(operation, { id: 'rpt_x' })).status);
  });

  it('of all other operations are accepted', async () => {
    others ??= [...commands.keys()].filter((id) => !tried.has(id));
    for (const id of others) expect([id, (await tryOut(id)).status]).toEqual([id, 200]);
  });
});
