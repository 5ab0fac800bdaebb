/** The Python client: generated, complete, and correct against real servers, also over connections that break. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  apiDocument,
  operationsOf,
  pythonModule,
  pythonNames,
  pythonPath,
} from '../../scripts/sdk-python.ts';
import { Assay } from '../../sdk/typescript/src/index.ts';
import { walletBilling } from '../../src/app/wallet-billing.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { codeSamplesOf } from '../../src/http/code-samples.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { pythonName } from '../../src/http/sdk-names.ts';
import type { Monitoring } from '../../src/monitoring/open.ts';
import type { MonitoredWallet } from '../../src/monitoring/records.ts';
import { openLogStore } from '../../src/receipts/log/store-lmdb.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { type StripeStandIn, startStripe, WEBHOOK_SECRET } from '../billing/stripe-stand-in.ts';
import { newWorld, type World as ProgramWorld, type RunningServer } from '../e2e/program.ts';
import { openWorld, type World } from '../http/world.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { entriesOf } from '../receipts/log/world.ts';
import { cuttingProxy } from '../setup/cutting-proxy.ts';
import { startMailServer } from '../setup/mail-server.ts';
import { findPython, type Python, runPython } from '../setup/python.ts';
import { until } from '../support/wait.ts';
import { faultyScreenings } from './faulty-screenings.ts';

const FOLDER = join(projectRoot, 'sdk', 'python');
/** The client waits for the next minute of a rate limit, on a machine that may be busy. */
const PATIENCE_MS = 240_000;
const script = (name: string): string => join(FOLDER, 'tests', name);

/** A recipe of the README: its title, its code, and what its output contains. */
const RECIPES: Readonly<Record<string, RegExp>> = {
  'Check an address before a withdrawal': /^blocked: \['.+OFAC/,
  'Check a payment, and pay for it once': /^BLOCK \d+$/m,
  'Screen an address in full': /^(LOW|MEDIUM) Binance/,
  'Screen names': /^Zebulon Quillfeather \[\('Zebulon Quillfeather', [01]/,
  'Screen a file of any length': /^0xbe0e\S+ [1-9]\d*\nnot an address address: /,
  'Read a list': /^\d+ \[.*'SCREENING'/,
  'Watch a wallet, and follow its changes': /^1 wallet\.created MonitoredWallet\(/,
  'Verify a webhook': /^400$/m,
  'Handle errors': /^address address: .+ \S+$/m,
  'Log in': /^key_\S+ desk$/m,
};

/** Returns the recipes by their titles. */
function recipesOf(readme: string): ReadonlyMap<string, string> {
  const sections = readme.split(/^## /m).slice(1);
  const found = sections.flatMap((section) => {
    const code = /^```python\n([\s\S]*?)^```$/m.exec(section)?.[1];
    return code === undefined ? [] : [[section.slice(0, section.indexOf('\n')), code] as const];
  });
  return new Map(found);
}

describe('the module', () => {
  it('is generated from the OpenAPI document', () => {
    expect(readFileSync(pythonPath, 'utf8'), 'run `npm run sdk:python`').toBe(pythonModule());
  });

  it('has a method for every operation except those that no client calls', () => {
    const operations = operationsOf(apiDocument());
    const names = pythonNames(operations);
    // Pages for people need no method.
    const missing = operations.filter(
      ({ operationId, responses }) =>
        !names.has(operationId) && responses[200]?.content?.['text/html'] === undefined,
    );
    expect(missing.map(({ operationId }) => operationId)).toEqual(['stripeEvent']);
  });
});

const found = findPython();

describe.skipIf(found === null)('the Python client', () => {
  const python = found as Python;

  it('passes its own tests', async () => {
    await runPython(python, ['-m', 'unittest', 'discover', '-s', join(FOLDER, 'tests')]);
  });

  it('is installed as a package with the marker of types', async ({ skip }) => {
    const hasSetuptools = await runPython(python, ['-c', 'import setuptools']).then(
      () => true,
      () => false,
    );
    skip(!hasSetuptools, 'Python has no setuptools');
    const folder = tempFolder();
    try {
      // In a copy, because setuptools writes beside the sources.
      const source = join(folder.path, 'source');
      cpSync(FOLDER, source, { recursive: true });
      const built = join(folder.path, 'built');
      await runPython(python, ['setup.py', '-q', 'build_py', '--build-lib', built], {}, source);
      expect(readdirSync(join(built, 'assay')).toSorted()).toEqual(['__init__.py', 'py.typed']);
      expect(readFileSync(join(built, 'assay', '__init__.py'), 'utf8')).toBe(
        readFileSync(pythonPath, 'utf8'),
      );
    } finally {
      folder.remove();
    }
  });

  it('takes the calls of the samples in the document', async () => {
    const folder = tempFolder();
    try {
      const samples = OPERATIONS.flatMap((route) =>
        codeSamplesOf(route)
          .filter(({ lang }) => lang === 'python')
          .map(({ source }) => [route.id, source]),
      );
      expect(samples).not.toEqual([]);
      const file = join(folder.path, 'samples.json');
      writeFileSync(file, JSON.stringify(Object.fromEntries(samples)));
      const out = await runPython(python, [script('samples.py'), file]);
      const { wrong, keywords } = JSON.parse(out) as { wrong: object; keywords: string[] };
      expect(wrong).toEqual({});
      expect(keywords).toContain('from');
      expect(keywords.filter((word) => keywords.includes(pythonName(word)))).toEqual([]);
    } finally {
      folder.remove();
    }
  });

  describe('beside the program', () => {
    let world: ProgramWorld;
    let server: RunningServer;
    let mail: Awaited<ReturnType<typeof startMailServer>>;
    let stripe: StripeStandIn;
    beforeAll(async () => {
      stripe = await startStripe();
      mail = await startMailServer();
      world = newWorld();
      const list = join(world.folder, 'watch-list.csv');
      writeFileSync(list, 'name,list\nZebulon Quillfeather,sanctions\n');
      const imported = await world.run(['import', 'people', list]);
      expect(imported.code, imported.err).toBe(0);
      server = await world.serve({
        ASSAY_REGISTRATION: 'open',
        ASSAY_SMTP_URL: mail.url,
        ASSAY_MAIL_FROM: 'assay@example.org',
        ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1',
        ASSAY_STRIPE_KEY: 'sk_test_0123456789',
        ASSAY_STRIPE_SECRET: WEBHOOK_SECRET,
        ASSAY_STRIPE_URL: stripe.url,
        ASSAY_SELLER_NAME: 'Example AG',
        ASSAY_SELLER_IBAN: 'CH93 0076 2011 6238 5295 7',
      });
      // The person of the recipe that logs in, with the first email.
      const person = { email: 'ann@example.org', password: 'correct horse battery' };
      const ann = new Assay({ baseUrl: server.url });
      await ann.auth.register(person);
      await ann.auth.verify({ token: await mail.token(0) });
      await ann.auth.login(person);
      await ann.keys.create({ name: 'desk', permissions: ['oracle'] });
      // A receipt of which the clients get the proof. The server signs its checkpoint.
      const log = openLogStore({ path: join(world.folder, 'store', 'log.mdb') });
      await log.append(
        entriesOf(0, 3),
        () => '',
        () => false,
      );
      await log.close();
      const isProved = async (): Promise<boolean> => {
        const headers = { authorization: `Bearer ${server.firstKey}` };
        return (await fetch(`${server.url}/api/v1/receipts/receipt-1/proof`, { headers })).status === 200;
      };
      // Slower than the rate limit: a checkpoint is due once a second.
      await until(isProved, 'the proof of a receipt', 60_000, 1_000);
    });
    afterAll(async () => {
      await world.end();
      await mail.close();
      await stripe.close();
    });
    const environment = (url = server.url) => ({ ASSAY_BASE_URL: url, ASSAY_API_KEY: server.firstKey });

    /** Makes the account of the first person an operator account, and returns a session of that person. */
    async function operatorSession(): Promise<string> {
      const login = await fetch(`${server.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: server.url },
        body: JSON.stringify({ email: 'ann@example.org', password: 'correct horse battery' }),
      });
      const { data } = (await login.json()) as { data: { account: { id: string } } };
      const made = await world.run(['accounts', 'operator', data.account.id, '--on']);
      expect(made.code, made.err).toBe(0);
      return /assay_session=([^;]+)/.exec(login.headers.get('set-cookie') ?? '')?.[1] ?? '';
    }

    it('calls every operation', async () => {
      const mails = join(world.folder, 'mails');
      mkdirSync(mails);
      // Of a registration, an invitation and a reset; between them, two second factors are disabled.
      const tokens = [1, 2, 5].map(async (n) =>
        writeFileSync(join(mails, String(n)), await mail.token(n, PATIENCE_MS)),
      );
      // Of another account: cases and monitoring share a rate limit, and the client would wait for the next minute.
      const made = await world.run(['keys', 'create', '--name', 'cases', '--account', 'cases', '--json']);
      expect(made.code, made.err).toBe(0);
      const out = await runPython(python, [script('operations.py')], {
        ...environment(),
        ASSAY_TEST_OPERATOR_SESSION: await operatorSession(),
        ASSAY_TEST_CASES_KEY: /assay_live_\w{38}/.exec(made.out)?.[0] ?? '',
        ASSAY_TEST_MAILS: mails,
      });
      await Promise.all(tokens);
      const { called, succeeded } = JSON.parse(out) as { called: string[]; succeeded: string[] };
      const all = [...pythonNames(operationsOf(apiDocument())).keys()];
      expect(called).toEqual(all.toSorted());
      // A receipt needs a payment, and a signature an invoice in USDC. An alert needs a chain; the test of broken streams changes one. Anybody can register here, so people are invited.
      const failed = all.filter((id) => !succeeded.includes(id));
      expect(failed.toSorted()).toEqual([
        ...['addPerson', 'invoiceReceipt', 'invoiceTypedData', 'listAuthorizations', 'moveAlert'],
        'payInvoice',
      ]);
    });

    it('runs the recipes of the README', async () => {
      const recipes = recipesOf(readFileSync(join(FOLDER, 'README.md'), 'utf8'));
      expect([...recipes.keys()]).toEqual(Object.keys(RECIPES));
      for (const [title, code] of recipes) {
        const out = await runPython(python, ['-c', code], { ...environment(), PYTHONPATH: FOLDER });
        expect(out, title).toMatch(RECIPES[title] as RegExp);
      }
    });

    it('reads the results of bulk jobs over connections that are cut', async () => {
      const proxy = await cuttingProxy(Number(new URL(server.url).port));
      proxy.state.cutAfter = 60_000;
      try {
        const out = await runPython(python, [script('faults.py'), 'bulk', '3000'], environment(proxy.url));
        expect(JSON.parse(out)).toEqual({ jobs: [] });
        expect(proxy.state.cuts).toBeGreaterThan(5);
      } finally {
        proxy.close();
      }
    });
  });

  describe('beside a front end', () => {
    let folder: TempFolder;
    let world: World;
    let monitoring: Monitoring;
    beforeAll(async () => {
      folder = tempFolder();
      monitoring = openedMonitoring(folder.path, {
        billing: walletBilling(() => world.access.ledger()),
        dutyOf: () => new Map(),
      });
      monitoring.start();
      world = await openWorld({ backend: 'uws', useCases: { monitoring: () => monitoring.service } });
    });
    afterAll(async () => {
      await world.close();
      await monitoring.close();
      folder.remove();
    });

    it('charges once over 100 calls that fail on the way', async () => {
      const { balanceBefore, balanceAfter, retries, replayed } = await faultyScreenings(python, world, 100);
      expect(balanceBefore - balanceAfter).toBe(100);
      expect(retries).toBeGreaterThan(30);
      // Some were charged before their response was lost.
      expect(replayed).toBeGreaterThan(5);
    });

    it('resumes the stream of alerts, and neither loses nor repeats one', async () => {
      const key = await world.key({ accountId: 'streamed', rateLimits: { monitoring: 100_000 } });
      const response = await fetch(`${world.url}/api/v1/monitoring/wallets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ walletAddress: `0x${'5'.repeat(40)}`, chain: 'ETH' }),
      });
      const { data } = (await response.json()) as { data: { wallet: { id: string } } };
      const proxy = await cuttingProxy(world.port);
      proxy.state.cutAfter = 6_000;
      try {
        const reading = runPython(python, [script('faults.py'), 'stream', '30'], {
          ASSAY_BASE_URL: proxy.url,
          ASSAY_API_KEY: key,
        });
        for (let n = 0; n < 30; n++) await raiseAlert(monitoring, 'streamed', data.wallet.id, `cause-${n}`);
        const { seen, resumed } = JSON.parse(await reading) as { seen: [number, number][]; resumed: number };
        expect(seen.map(([, sequence]) => sequence)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
        expect(resumed).toBeGreaterThan(2);
        expect(proxy.state.cuts).toBeGreaterThan(2);
      } finally {
        proxy.close();
      }
    });
  });
});

async function raiseAlert(monitoring: Monitoring, account: string, walletId: string, cause: string) {
  await monitoring.service.store.write((writer) => {
    const wallet = writer.wallet(account, walletId) as MonitoredWallet;
    const finding = {
      ruleId: 'MIXING-001',
      ruleName: 'Mixing',
      severity: 'HIGH',
      title: 't',
      message: 'm',
      category: 'MIXER',
      riskType: 'COUNTERPARTY',
      transaction: null,
      final: true,
    } as const;
    writer.raise(wallet, finding, cause, null);
  });
}
