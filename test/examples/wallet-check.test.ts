/** The check of a wallet before it signs: against a real front end of Assay, and with a real node. */
import { HDNodeWallet, Interface } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { EXCHANGE, SANCTIONED, UNKNOWN } from '../http/world.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts';
import { copyExample, type Example } from './example.ts';
import { type OracleWorld, openOracleWorld, WARNED } from './oracle-world.ts';

let world: OracleWorld;
let proxy: FaultProxy;
let example: Example;
let apiKey: string;

beforeAll(async () => {
  world = await openOracleWorld();
  proxy = await startFaultProxy(world.url);
  apiKey = await world.key({ permissions: ['oracle'] });
  // The version of ethers that the example names is the one of the project.
  example = copyExample('wallet-check', projectRoot);
});
afterAll(async () => {
  await example?.remove();
  await proxy?.close();
  await world?.close();
});

describe('the pre-transaction check', () => {
  let nowMs: number;
  let logged: string[];
  const newCheck = async (options: object = {}) => {
    const { createAssayClient } = await example.load('../shared/assay-client.js');
    const { createPreTransactionCheck } = await example.load('pre-transaction.js');
    nowMs = 0;
    logged = [];
    return createPreTransactionCheck({
      client: createAssayClient({ url: proxy.url, apiKey, timeoutMs: 20_000 }),
      now: () => nowMs,
      log: (_level: string, message: string) => logged.push(message),
      ...options,
    });
  };
  const requestsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = world.asked.length;
    await work();
    return world.asked.length - before;
  };

  it('allows, asks for confirmation or blocks by the verdict', async () => {
    const check = await newCheck();
    expect(await check('ETH', EXCHANGE)).toMatchObject({ decision: 'allow', source: 'live' });
    expect(await check('ETH', WARNED)).toMatchObject({
      decision: 'confirm',
      screening: { reasons: [{ code: 'EXPOSURE' }] },
    });
    expect(await check('ETH', SANCTIONED)).toMatchObject({ decision: 'block', source: 'live' });
  });

  it('keeps a verdict for as long as Assay says, and asks once for checks at the same time', async () => {
    world.setTtl(30);
    const check = await newCheck();
    expect(await requestsOf(() => Promise.all([check('ETH', EXCHANGE), check('ETH', EXCHANGE)]))).toBe(1);
    nowMs = 29_999;
    // The case of letters does not matter for an EVM address.
    expect(await requestsOf(async () => check('ETH', EXCHANGE.toUpperCase().replace('0X', '0x')))).toBe(0);
    expect(await check('ETH', EXCHANGE)).toMatchObject({ source: 'cache' });
    nowMs = 30_000;
    expect(await requestsOf(() => check('ETH', EXCHANGE))).toBe(1);
    // Another chain is another verdict.
    expect(await requestsOf(() => check('BASE', EXCHANGE))).toBe(1);
  });

  it('does not keep a verdict for which Assay allows no time', async () => {
    world.setTtl(0);
    const check = await newCheck();
    expect(await requestsOf(() => check('ETH', EXCHANGE))).toBe(1);
    expect(await requestsOf(() => check('ETH', EXCHANGE))).toBe(1);
    world.setTtl(60);
  });

  it('drops the verdict that was used least recently', async () => {
    const check = await newCheck({
      client: {
        oracle: async (_chain: string, address: string) => {
          asked.push(address);
          return { verdict: 'safe', reasons: [], ttlSeconds: 60 };
        },
      },
    });
    const asked: string[] = [];
    for (let at = 0; at < 1_000; at++) await check('BTC', `a${at}`);
    await check('BTC', 'a0');
    await check('BTC', 'new');
    asked.length = 0;
    for (const address of ['a0', 'new', 'a1', 'A0']) await check('BTC', address);
    expect(asked).toEqual(['a1', 'A0']);
  });

  it('blocks without an answer, or allows if it is set to, and logs it', async () => {
    const closed = await newCheck();
    proxy.fault = 'error-500';
    expect(await closed('ETH', EXCHANGE)).toEqual({ decision: 'block', source: 'none', screening: null });
    expect(logged).toEqual(['Assay does not answer: blocked without a verdict']);
    const open = await newCheck({ failOpen: true });
    expect(await open('ETH', EXCHANGE)).toEqual({ decision: 'allow', source: 'none', screening: null });
    expect(logged).toEqual(['Assay does not answer: allowed without a verdict']);
    proxy.fault = 'none';
  });

  it('uses an old verdict without an answer: a danger always, another one for as long as is set', async () => {
    world.setTtl(10);
    const check = await newCheck({ failOpen: true, staleSeconds: 50 });
    const strict = await newCheck();
    for (const one of [check, strict]) for (const each of [EXCHANGE, SANCTIONED]) await one('ETH', each);
    proxy.fault = 'error-500';
    nowMs = 59_999;
    expect(await check('ETH', EXCHANGE)).toMatchObject({ decision: 'allow', source: 'stale' });
    expect(await strict('ETH', EXCHANGE)).toMatchObject({ decision: 'block', source: 'none' });
    nowMs = 60_000;
    expect(await check('ETH', EXCHANGE)).toMatchObject({ decision: 'allow', source: 'none' });
    nowMs = 1e9;
    expect(await check('ETH', SANCTIONED)).toMatchObject({ decision: 'block', source: 'stale' });
    proxy.fault = 'none';
    world.setTtl(60);
  });

  it('throws for a request that Assay refuses, also if it fails open', async () => {
    const check = await newCheck({ failOpen: true });
    await expect(check('ETH', '0x12')).rejects.toMatchObject({ name: 'AssayRefused', status: 400 });
    proxy.fault = 'html';
    await expect(check('ETH', EXCHANGE)).rejects.toMatchObject({ code: 'INVALID_RESPONSE' });
    proxy.fault = 'none';
  });
});

describe('the recipients of a transaction', () => {
  it('are its destination, and the recipient or spender of a token call', async () => {
    const { recipientsOf } = await example.load('recipients.js');
    const [to, other, token] = [ACCOUNTS[1], ACCOUNTS[2], ACCOUNTS[3]];
    const call = (signature: string, ...args: readonly unknown[]) => ({
      to: token,
      data: new Interface([`function ${signature}`]).encodeFunctionData(signature.split('(')[0] ?? '', args),
    });
    expect(recipientsOf({ to })).toEqual([to]);
    expect(recipientsOf({ to: null, data: '0x60' })).toEqual([]);
    expect(recipientsOf(call('transfer(address,uint256)', to, 1))).toEqual([token, to]);
    expect(recipientsOf(call('transferFrom(address,address,uint256)', other, to, 1))).toEqual([token, to]);
    expect(recipientsOf(call('approve(address,uint256)', to, 1))).toEqual([token, to]);
    expect(recipientsOf(call('safeTransferFrom(address,address,uint256,bytes)', other, to, 1, '0x'))).toEqual(
      [token, to],
    );
    // Another call, and a call that is cut off.
    expect(recipientsOf(call('stake(uint256)', 1))).toEqual([token]);
    expect(recipientsOf({ to: token, data: '0xa9059cbb00' })).toEqual([token]);
  });
});

describe.runIf(hasAnvil)('the sending script', () => {
  let anvil: Anvil;
  let settings: Readonly<Record<string, string>>;
  beforeAll(async () => {
    anvil = await startAnvil();
    await anvil.mine();
    const mnemonic = 'test test test test test test test test test test test junk';
    settings = {
      RPC_URL: anvil.url,
      PRIVATE_KEY: HDNodeWallet.fromPhrase(mnemonic).privateKey,
      ASSAY_BASE_URL: proxy.url,
      ASSAY_API_KEY: apiKey,
    };
  });
  afterAll(() => anvil?.stop());
  const send = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    example.run('send.js', args, { ...settings, ...more });

  it('sends to a safe address, and neither to a sanctioned one nor to the sanctioned recipient of a token', async () => {
    const sent = await send(['--to', UNKNOWN, '--value', '0.5']);
    expect(sent, sent.err).toMatchObject({ code: 0 });
    expect(await anvil.rpc('eth_getTransactionByHash', sent.out.trim())).toMatchObject({
      to: UNKNOWN,
      value: `0x${(5n * 10n ** 17n).toString(16)}`,
    });
    const pending = () => anvil.rpc('eth_getTransactionCount', ACCOUNTS[0], 'pending');
    expect(await pending()).toBe('0x1');
    expect(await send(['--to', SANCTIONED, '--value', '0.5'])).toMatchObject({ code: 3, out: '' });
    expect(await send(['--to', SANCTIONED, '--value', '5', '--token', EXCHANGE])).toMatchObject({
      code: 3,
      out: '',
    });
    expect(await pending()).toBe('0x1');
  });

  it('sends after a warning only if the person accepts it, and during an outage only if it fails open', async () => {
    expect((await send(['--to', WARNED, '--value', '1'])).code).toBe(4);
    expect((await send(['--to', WARNED, '--value', '1', '--accept-warning'])).code).toBe(0);
    proxy.fault = 'error-500';
    expect((await send(['--to', EXCHANGE, '--value', '1'])).code).toBe(3);
    const open = await send(['--to', EXCHANGE, '--value', '1'], { FAIL_OPEN: 'on' });
    expect(open).toMatchObject({ code: 0, out: expect.stringMatching(/^0x[0-9a-f]{64}\n$/) });
    expect(open.err).toContain('allowed without a verdict');
    proxy.fault = 'none';
  });
});
