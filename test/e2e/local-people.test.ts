/** People of the account `local` of the program: added on the command line, charged to the dashboard, with a second factor that is lost. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { runCommand } from '../cli/run-command.ts';
import { fromBase32 } from '../support/base32.ts';
import { until } from '../support/wait.ts';
import { ask, newWorld, patiently, type RunningServer } from './program.ts';

const PASSWORD = 'correct horse battery';
const ADDRESS = '0x0000000000000000000000000000000000c0ffee';
const world = newWorld();
let server: RunningServer;
let cookie = '';

beforeAll(async () => {
  server = await world.serve();
});
afterAll(() => world.end());

async function send(method: string, path: string, body?: string | object) {
  const isText = typeof body === 'string';
  const response = await patiently(() =>
    fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: {
        origin: server.url,
        cookie,
        ...(body === undefined
          ? {}
          : { 'content-type': isText ? 'application/x-ndjson' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    }),
  );
  const json = (await response.json()) as { data?: never; error?: string };
  const [set = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return { status: response.status, code: response.headers.get('x-error-code'), set, ...json };
}

const login = (code?: string) =>
  send('POST', '/auth/login', {
    email: 'ann@example.org',
    password: PASSWORD,
    ...(code === undefined ? {} : { code }),
  });

/** Runs a command in this process, over the folder of the server: one of its own takes half a second of processor time. */
const run = (args: readonly string[]) => runCommand(join(world.folder, 'store'), args);

const balance = async (pool: string): Promise<{ balance: number; free: number }> =>
  JSON.parse((await run(['credits', 'show', 'local', '--pool', pool, '--json'])).out);

it('an operator adds an owner, whose work is charged to the dashboard of `local`', async () => {
  const added = await world.run(['accounts', 'add-person', 'local', '--email', 'ann@example.org', '--json'], {
    input: `${PASSWORD}\n`,
  });
  expect(JSON.parse(added.out)).toMatchObject({ accountId: 'local', role: 'owner', status: 'ACTIVE' });
  const begun = await login();
  cookie = begun.set;
  expect(begun.data).toMatchObject({
    account: { id: 'local', plan: 'SELF_HOSTED' },
    person: { role: 'owner' },
  });

  // A request, a wallet that is charged as an event, and a job that is charged when it starts.
  expect((await send('POST', '/screening', { address: ADDRESS, chain: 'ETH' })).status).toBe(200);
  const wallet = await send('POST', '/monitoring/wallets', { walletAddress: ADDRESS, chain: 'ETH' });
  expect([wallet.status, wallet.error]).toEqual([200, undefined]);
  const job = await send('POST', '/jobs?kind=screening&chain=ETH', `"${ADDRESS}"\n"not an address"\n`);
  const { id } = (job.data as unknown as { job: { id: string } }).job;
  const state = async (): Promise<string> =>
    ((await send('GET', `/jobs/${id}`)).data as unknown as { job: { state: string } }).job.state;
  // A session may ask for jobs a limited number of times a minute.
  await until(async () => (await state()) === 'DONE', 'the end of the job', 60_000, 3_000);

  const usage = (await send('GET', '/usage')).data as unknown as {
    balance: number;
    dashboard: { balance: number; history: { type: string; amount: number }[] };
  };
  // The second line of the job failed, and was refunded.
  expect(usage.dashboard.balance).toBe(1_000_000_000 - 3);
  expect(usage.dashboard.history.map(({ type, amount }) => `${type} ${amount}`)).toEqual([
    'REFUND 1',
    'SCREENING -2',
    'SCREENING -1',
    'SCREENING -1',
    'GRANT 1000000000',
  ]);
  expect(usage.balance).toBe(1_000_000_000);
  expect(
    (await ask(server, server.firstKey, '/api/v1/screening', { address: ADDRESS, chain: 'ETH' })).body,
  ).toMatchObject({ credits: { remaining: 999_999_999 } });
  const granted = await run(['credits', 'grant', 'local', '5', '--pool', 'dashboard']);
  expect(granted.out).toBe("GRANT 5 to 'local': the dashboard balance is 1000000002.\n");
  expect((await send('GET', '/audit?limit=1')).data).toMatchObject({
    entries: [{ action: 'credits.book', who: 'operator', detail: 'GRANT 5 dashboard' }],
  });
  expect([(await balance('api')).balance, (await balance('dashboard')).balance]).toEqual([
    999_999_999, 1_000_000_002,
  ]);
  expect(JSON.parse((await run(['ledger', 'verify', '--json'])).out)).toMatchObject({
    accounts: 1,
    balance: 999_999_999 + 1_000_000_002,
    faults: [],
  });
});

it('an operator disables the second factor of a person who has lost it', async () => {
  const enrolled = await send('POST', '/auth/totp', { password: PASSWORD });
  const { secret } = enrolled.data as unknown as { secret: string };
  const code = hotp(fromBase32(secret), stepOf(Date.now()));
  expect((await send('POST', '/auth/totp/confirm', { code })).status).toBe(200);
  expect((await login()).code).toBe('SECOND_FACTOR_REQUIRED');
  const listed = await run(['accounts', 'list']);
  expect(listed.out).toMatch(/local +ACTIVE +SELF_HOSTED .* owner +yes +ann@example\.org/);
  const outcome = await world.run(['accounts', 'disable-totp', '--email', 'ann@example.org']);
  expect(outcome).toMatchObject({ code: 0, out: 'ann@example.org logs in without a second factor.\n' });
  expect((await login()).status).toBe(200);
});

it.each([
  [['accounts', 'add-person', 'nobody', '--email', 'x@example.org'], 1, "there is no account 'nobody'"],
  [
    ['accounts', 'add-person', 'local', '--email', 'x@example.org', '--role', 'admin'],
    2,
    'role: must be one of',
  ],
  [['accounts', 'add-person', 'local', '--email', 'ann@example.org'], 2, 'email: belongs to a person'],
  [['accounts', 'disable-totp', '--email', 'nobody@example.org'], 1, 'nobody has the address'],
  [['credits', 'show', 'local', '--pool', 'web'], 2, '--pool: must be one of api, dashboard'],
])('%j fails with exit code %d and one line that says why', async (args, code, said) => {
  const outcome = await world.run(args, { input: `${PASSWORD}\n` });
  expect(outcome).toMatchObject({ code, out: '' });
  expect(outcome.err.trimEnd().split('\n')).toHaveLength(1);
  expect(outcome.err).toContain(said);
});
