/** Invoices in USDC that are paid by a signature on the built program, through both SDKs, and the account that pays the gas. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HDNodeWallet, type Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Assay, InvalidRequestError } from '../../sdk/typescript/src/index.ts';
import { projectRoot } from '../../src/base/paths.ts';
import {
  CHAIN_ID,
  deployToken,
  newPayer,
  RELAY,
  RELAY_KEY,
  signTyped,
  type Token,
} from '../billing/x402/world.ts';
import { hasAnvil } from '../setup/anvil.ts';
import { findPython, runPython } from '../setup/python.ts';
import { call, openPaymentsWorld, type PaymentsWorld, untilState } from './payments-world.ts';
import { type RunningServer, until } from './program.ts';

/** More blocks than anvil counts until a block is safe. */
const SAFE = 80;
const python = findPython();
const ORDER = { package: 'Starter', method: 'CRYPTO', currency: 'BASE:USDC' } as const;

const SIGN = `
import os, assay
with assay.Assay() as client:
    print(client.billing.typed_data(os.environ["INVOICE"], payer=os.environ["PAYER"]).typed_data)
`;
const AUTHORIZE = `
import os, assay
with assay.Assay() as client:
    asked = client.billing.typed_data(os.environ["INVOICE"], payer=os.environ["PAYER"])
    sent = client.billing.authorize(os.environ["INVOICE"], authorization=asked.authorization, signature=os.environ["SIGNATURE"])
    known = client.billing.authorizations(os.environ["INVOICE"]).authorizations
    print(sent.authorization.part, sent.authorization.payer == os.environ["PAYER"].lower(), len(known))
`;

describe.runIf(hasAnvil)('invoices that are paid by a signature', () => {
  let of: PaymentsWorld;
  let token: Token;
  let payer: Wallet;
  let server: RunningServer;
  let cookie = '';
  let key = '';
  let owner: Assay;
  let client: Assay;

  beforeAll(async () => {
    of = await openPaymentsWorld({}, { chain: 'BASE', chainId: CHAIN_ID });
    token = await deployToken(of.anvil);
    payer = await newPayer(token, 10n ** 12n);
    const { environment, world } = of;
    environment.ASSAY_RELAY_KEY_FILE = join(world.folder, 'relay.key');
    writeFileSync(environment.ASSAY_RELAY_KEY_FILE, RELAY_KEY, { mode: 0o600 });
    environment.ASSAY_RELAY_BALANCE_MAX = '1000000';
  });
  afterAll(() => of?.end());

  const serve = async (gasless: string): Promise<void> => {
    of.environment.ASSAY_GASLESS_CHAINS = gasless;
    server = await of.serve();
    if (server.firstKey !== '') key = server.firstKey;
    // The session outlives the server.
    if (cookie === '') cookie = await of.login(server);
    client = new Assay({ baseUrl: server.url, apiKey: key });
    owner = new Assay({ baseUrl: server.url, session: cookie.split('=')[1] ?? '' });
  };
  const paid = async (id: string): Promise<void> => {
    await until(async () => (await client.billing.authorizations(id)).authorizations[0]?.state === 'SETTLED');
    await of.anvil.mine(SAFE);
    const invoice = await untilState(() => server, cookie, id, 'SETTLED');
    expect(invoice.entries.map(({ cause, credits }: never) => [cause, credits])).toEqual([['PURCHASE', 100]]);
    expect(await token.balance(invoice.crypto.address)).toBe(BigInt(invoice.due.amount));
  };

  it('are refused with a reason if the operator pays no gas, and at the start if a setting is missing', async () => {
    const run = async (change: Record<string, string>) =>
      (
        await of.world.run(['serve'], {
          environment: { ...of.environment, ASSAY_GASLESS_CHAINS: 'base', ...change },
        })
      ).err;
    expect(await run({ ASSAY_RELAY_KEY_FILE: '' })).toContain('payments need an account that pays gas');
    expect(await run({ ASSAY_PAYMENT_KEY_EVM: '' })).toContain('needs ASSAY_PAYMENT_KEY_EVM');
    // The gas-paying account is the second address of this key: the mnemonic of anvil.
    const own = HDNodeWallet.fromPhrase(`${'test '.repeat(11)}junk`, undefined, "m/44'/60'/0'").neuter()
      .extendedKey;
    expect(await run({ ASSAY_PAYMENT_KEY_EVM: own })).toContain('which is its address 1');
    expect(await run({ ASSAY_GASLESS_CHAINS: 'POLYGON' })).toContain('needs ASSAY_RPC_POLYGON');
    expect(await run({ ASSAY_GASLESS_CHAINS: 'TRON' })).toContain('must be one of ETH');
    await serve('');
    const { invoice } = await owner.billing.order(ORDER);
    const refused = await client.billing
      .typedData(invoice.id, { payer: payer.address })
      .catch((error) => error);
    expect(refused).toBeInstanceOf(InvalidRequestError);
    expect(String(refused)).toContain('has not configured payments by a signature');
    expect(await server.stop()).toBe(0);
  });

  it('are paid through the TypeScript SDK', async () => {
    await serve('base');
    const { methods } = await client.billing.packages();
    expect(methods.map(({ method, gasless }) => [method, gasless])).toEqual([
      ['CRYPTO', ['BASE:USDC']],
      ['WIRE', []],
    ]);
    const { invoice } = await owner.billing.order(ORDER);
    const asked = await client.billing.typedData(invoice.id, { payer: payer.address });
    const signature = await signTyped(payer, asked);
    const { authorization } = await client.billing.authorize(invoice.id, {
      authorization: asked.authorization,
      signature,
    });
    expect(authorization).toMatchObject({
      part: 1,
      payer: payer.address.toLowerCase(),
      amount: invoice.due.amount,
    });
    await paid(invoice.id);
    // The signature pays no other invoice, and an invoice in coins is not paid by one.
    const { invoice: other } = await owner.billing.order(ORDER);
    const body = { authorization: asked.authorization, signature };
    await expect(client.billing.authorize(other.id, body)).rejects.toThrow('authorization.nonce');
    const { invoice: coins } = await owner.billing.order({ ...ORDER, currency: 'BASE:ETH' });
    await expect(client.billing.typedData(coins.id, { payer: payer.address })).rejects.toThrow(
      'only invoices in USDC',
    );
    const audit = await call(server, cookie, '/audit?limit=50');
    expect(JSON.stringify(audit)).toContain('billing.authorize');
  });

  it.skipIf(python === null)('are paid through the Python SDK', async () => {
    const { invoice } = await owner.billing.order(ORDER);
    const environment = {
      ...{ ASSAY_BASE_URL: server.url, ASSAY_API_KEY: key },
      ...{ PYTHONPATH: join(projectRoot, 'sdk', 'python'), INVOICE: invoice.id, PAYER: payer.address },
    };
    const typedData = await runPython(python!, ['-c', SIGN], environment);
    const signature = await signTyped(payer, { typedData });
    const out = await runPython(python!, ['-c', AUTHORIZE], { ...environment, SIGNATURE: signature });
    expect(out.trim()).toBe('1 True 1');
    await paid(invoice.id);
    expect(await server.stop()).toBe(0);
  });

  it('show in /ready and /metrics that the gas-paying account is empty', async () => {
    const { anvil } = of;
    const coins = await anvil.rpc<string>('eth_getBalance', RELAY, 'latest');
    const metric = async (name: string): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return Number(new RegExp(`^${name}\\{chain="BASE"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    };
    const degraded = async (): Promise<string> => {
      const { data: ready } = (await (await fetch(`${server.url}/ready`)).json()) as {
        readonly data: { readonly degraded?: readonly { readonly kind: string; readonly reason: string }[] };
      };
      return (ready.degraded ?? []).map(({ kind, reason }) => `${kind} ${reason}`).join();
    };
    await anvil.rpc('anvil_setBalance', RELAY, '0x1');
    await serve('base');
    await expect.poll(() => metric('assay_relay_payments_left'), { timeout: 20_000 }).not.toBeNaN();
    expect(await metric('assay_relay_payments_left')).toBe(0);
    expect(await degraded()).toMatch(/GAS_ACCOUNT The gas-paying account 0x.*too little for one payment/);
    const { invoice } = await owner.billing.order(ORDER);
    const asked = await client.billing.typedData(invoice.id, { payer: payer.address });
    const signature = await signTyped(payer, asked);
    await client.billing.authorize(invoice.id, { authorization: asked.authorization, signature });
    const state = async () => (await client.billing.authorizations(invoice.id)).authorizations[0]?.state;
    await expect.poll(state, { timeout: 20_000 }).toBe('FAILED');
    expect(await server.stop()).toBe(0);

    await anvil.rpc('anvil_setBalance', RELAY, coins);
    await serve('base');
    await expect.poll(() => metric('assay_relay_payments_left'), { timeout: 20_000 }).toBeGreaterThan(50);
    expect([await degraded(), await metric('assay_relay_balance_coins')]).toEqual([
      '',
      expect.closeTo(10_000, 0),
    ]);
    const verified = await of.world.run(['billing', 'verify', '--chains', '--json'], {
      environment: of.environment,
    });
    expect(JSON.parse(verified.out)).toMatchObject({
      faults: [],
      settled: 2,
      calls: { calls: 0, invoices: 3 },
    });
    expect(await server.stop()).toBe(0);
  });
});
