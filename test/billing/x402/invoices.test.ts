/** Invoices in USDC that are paid by a signature, on a real node: the payer has no coins for gas. Each is settled once, whoever sends it. */
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import { GasAccounts } from '../../../src/billing/x402/gas-accounts.ts';
import { type AuthorizationToSign, nonceOfPart } from '../../../src/billing/x402/invoice-authorizations.ts';
import type { Authorization } from '../../../src/billing/x402/records.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import { openAdapter } from '../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../../../src/chains/families/port.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { openFor } from '../../conformance/adapter.ts';
import { type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { type LiveState, replicatedState } from '../../setup/live-state.ts';
import { hasRedis, startRedis } from '../../setup/redis.ts';
import { until } from '../../support/wait.ts';
import { type CryptoWorld, openCryptoWorld } from '../crypto/world.ts';
import {
  CHAIN_ID,
  cancelData,
  deployToken,
  newPayer,
  openPayments,
  type Payments,
  RELAY,
  RELAY_OPTIONS,
  redisLeases,
  signTyped,
  type Token,
  USDC,
  useData,
} from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'etherscan' } };
const DEPTH = 3;
const CURRENCY = 'BASE:USDC';
/** Price of the package, in the smallest unit. */
const DUE = 199_000_000n;
const PRIORITY = { maxFeePerGas: '0x9000000000', maxPriorityFeePerGas: '0x8000000000' };

describe.skipIf(!hasAnvil)('invoices that are paid by a signature', () => {
  let anvil: Anvil;
  let token: Token;
  let folder: TempFolder;
  let adapter: ChainAdapter;
  let world: CryptoWorld;
  let payments: Payments;
  let payer: Wallet;
  let lists: { sanctioned: Set<string>; stale: string | null };

  beforeEach(async () => {
    folder = memoryFolder();
    lists = { sanctioned: new Set(), stale: null };
    adapter = openFor(family, 'BASE', { rpc: [anvil.url] });
    await open();
    payer = await newPayer(token, 3n * DUE);
  });
  afterEach(async () => {
    await anvil.rpc('evm_setAutomine', true);
    await close();
    await adapter.close();
    folder.remove();
  });
  const start = async (): Promise<void> => {
    anvil = await startAnvil({ chainId: CHAIN_ID });
    token = await deployToken(anvil);
  };
  beforeAll(start);
  afterAll(() => anvil?.stop());

  async function open(options: Partial<Parameters<typeof openPayments>[0]> = {}, isFollowing = true) {
    world = await openCryptoWorld({
      ...{ folder: folder.path, adapters: { BASE: adapter }, accounts: ['acc_1', 'acc_2'] },
      ...{ terms: { depthOf: () => ({ blocks: DEPTH }) }, known: [parseAddress('BASE', USDC).canonical] },
    });
    world.usd[parseAddress('BASE', USDC).canonical] = 1;
    if (isFollowing) await world.crypto.start();
    const { access, billing } = world;
    payments = await openPayments({ folder: folder.path, anvil, access, billing, lists, ...options });
  }
  async function close(): Promise<void> {
    await payments.stop();
    await world.close();
  }
  const restart = async (...given: Parameters<typeof open>): Promise<void> => {
    await close();
    await open(...given);
  };
  const state = (of: Invoice): Invoice => world.invoice(of);
  const is = (of: Invoice, wanted: string): Promise<void> =>
    until(() => state(of).state === wanted, `the invoice is ${wanted}`, 60_000);
  const toSign = (of: Invoice, from = payer.address): Promise<AuthorizationToSign> =>
    payments.gasless.toSign(of.accountId, of.id, from);
  const signed = async (of: Invoice, by = payer): Promise<Authorization> => {
    const asked = await toSign(of, by.address);
    return { ...asked.authorization, signature: await signTyped(by, asked) };
  };
  const pay = (of: Invoice, authorization: Authorization) =>
    payments.gasless.pay(of.accountId, of.id, authorization);
  const stored = (of: Invoice) => payments.store.ofInvoice(of.id);
  /** Each world begins at the first address, so earlier tests have paid to the same ones. */
  const earlier = new Map<string, bigint>();
  const order = async (): Promise<Invoice> => {
    const invoice = await world.order(CURRENCY);
    earlier.set(invoice.id, await token.balance(invoice.details.crypto!.address));
    return invoice;
  };
  const received = async (of: Invoice): Promise<bigint> =>
    (await token.balance(of.details.crypto!.address)) - (earlier.get(of.id) ?? 0n);
  const sent = async (): Promise<number> =>
    Number(await anvil.rpc('eth_getTransactionCount', RELAY, 'latest'));
  const causes = (of: Invoice) => state(of).entries.map(({ cause, credits }) => [cause, credits]);
  const inPool = (of: Invoice): Promise<void> =>
    until(async () => {
      const hash = stored(of).at(-1)?.transfer.sending?.attempts[0]?.hash;
      return hash !== undefined && (await anvil.rpc('eth_getTransactionByHash', hash)) !== null;
    });
  /** Confirms what is in blocks, and states that the invoice is paid once, and that everything agrees. */
  async function settles(of: Invoice, credits = [['PURCHASE', 100]] as unknown[]): Promise<void> {
    await anvil.rpc('evm_setAutomine', true);
    await anvil.mine(DEPTH);
    await is(of, 'SETTLED');
    expect(causes(of)).toEqual(credits);
    expect([...(await world.faults()), ...(await payments.faults())]).toEqual([]);
    expect((await world.crypto.compareWithChains()).faults).toEqual([]);
  }
  async function refuses(work: () => Promise<unknown>, code: string, text: string): Promise<void> {
    const before = await sent();
    await expect(work()).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
    expect(await sent()).toBe(before);
  }

  it('are settled by one purchase, and cost the payer no gas', async () => {
    const invoice = await order();
    const asked = await toSign(invoice, payer.address.toUpperCase().replace('0X', '0x'));
    expect(asked).toMatchObject({
      part: 1,
      authorization: {
        ...{ from: payer.address.toLowerCase(), to: invoice.details.crypto!.address.toLowerCase() },
        ...{ value: String(DUE), validAfter: '0', nonce: nonceOfPart(invoice.id, 1) },
        validBefore: String(Math.floor(invoice.expiresAtMs / 1_000)),
      },
    });
    const authorization = { ...asked.authorization, signature: await signTyped(payer, asked) };
    expect((await pay(invoice, authorization)).transfer.state).toBe('QUEUED');
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    expect(await received(invoice)).toBe(DUE);
    expect(await anvil.rpc('eth_getBalance', payer.address, 'latest')).toBe('0x0');
    await settles(invoice);
    expect(state(invoice).payments).toMatchObject([
      { state: 'CONFIRMED', amount: String(DUE), facts: { verdict: 'CLEAR' } },
    ]);
    expect(String(state(invoice).payments[0]?.facts.payers)).toContain(payer.address);
    const { entries } = world.access.audit().page('acc_1', 10, null);
    expect(entries).toMatchObject([{ who: 'payments', from: 'invoice' }]);
    // Presented again, it is known, and a new one has nothing to pay.
    expect((await pay(invoice, authorization)).transfer.state).toBe('SETTLED');
    await refuses(() => toSign(invoice), 'INVALID_REQUEST', 'it is SETTLED');
  });

  it('pay what is still due, and have another nonce for each part', async () => {
    const invoice = await order();
    const first = await signed(invoice);
    const { address } = invoice.details.crypto!;
    await anvil.rpc('anvil_impersonateAccount', payer.address);
    await anvil.rpc('anvil_setBalance', payer.address, '0xde0b6b3a7640000');
    const data = token.abi.encodeFunctionData('transfer', [address, DUE / 4n]);
    await anvil.send({ from: payer.address, to: USDC, data, gas: 100_000 });
    await anvil.mine(DEPTH);
    await until(() => state(invoice).exceptions.includes('PAID_PARTIAL'));
    // The first one would pay too much now.
    await refuses(
      () => pay(invoice, first),
      'INVALID_REQUEST',
      `authorization.value: must be ${DUE - DUE / 4n}, what is still due`,
    );
    // The payer cancels the first part, so the second has another nonce.
    await anvil.send({
      from: payer.address,
      to: USDC,
      data: await cancelData(payer, first.nonce, token),
      gas: 200_000,
    });
    const asked = await toSign(invoice);
    expect(asked).toMatchObject({
      part: 2,
      authorization: { value: String(DUE - DUE / 4n), nonce: nonceOfPart(invoice.id, 2) },
    });
    await pay(invoice, { ...asked.authorization, signature: await signTyped(payer, asked) });
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    await settles(invoice, [
      ['PURCHASE', 25],
      ['PURCHASE', 75],
    ]);
  });

  it('refuse every authorization that does not pay exactly what is due', async () => {
    const [invoice, other, coins] = [
      await order(),
      await order(),
      await world.order('BASE:ETH').catch(() => null),
    ];
    const good = await signed(invoice);
    const change = async (of: Partial<Authorization>): Promise<Authorization> => {
      const { signature: _, ...authorization } = { ...good, ...of };
      const { typedData } = await toSign(invoice);
      const typed = JSON.stringify({ ...JSON.parse(typedData), message: authorization });
      return { ...authorization, signature: await signTyped(payer, { typedData: typed }) };
    };
    const poor = await newPayer(token, DUE - 1n);
    const now = Math.floor(Date.now() / 1_000);
    const cases: readonly (readonly [Authorization, string])[] = [
      [await change({ value: String(DUE - 1n) }), 'authorization.value: must be 199000000'],
      [await change({ value: String(DUE + 1n) }), 'authorization.value: must be 199000000'],
      [await change({ to: RELAY.toLowerCase() }), 'authorization.to: must be 0x'],
      [
        await change({ nonce: nonceOfPart(other.id, 1) }),
        'authorization.nonce: must be that of the typed data',
      ],
      [
        await change({ validBefore: String(Number(good.validBefore) + 1) }),
        'authorization.validBefore: must be at most',
      ],
      [await change({ validBefore: String(now + 5) }), 'authorization.validBefore: is over, or too close'],
      [await change({ validAfter: String(now + 60) }), 'authorization.validAfter: must not be in the future'],
      [
        // One bit of a byte in the middle: fixed digits may be those that the signature has.
        {
          ...good,
          signature: good.signature.replace(/(?<=^.{40})./, (digit) =>
            (Number.parseInt(digit, 16) ^ 1).toString(16),
          ),
        },
        'signature: must be that of authorization.from',
      ],
      [{ ...good, from: poor.address.toLowerCase() }, 'signature: must be that of authorization.from'],
      [await signed(invoice, poor), 'authorization.from: must have the tokens'],
    ];
    for (const [authorization, text] of cases)
      await refuses(() => pay(invoice, authorization), 'INVALID_REQUEST', text);
    await refuses(() => payments.gasless.pay('acc_2', invoice.id, good), 'NOT_FOUND', 'there is no invoice');
    await refuses(
      () => payments.gasless.toSign('acc_2', invoice.id, payer.address),
      'NOT_FOUND',
      'there is no invoice',
    );
    if (coins !== null) await refuses(() => toSign(coins), 'INVALID_REQUEST', 'only invoices in USDC');
    lists.sanctioned.add(payer.address.toLowerCase());
    await refuses(() => pay(invoice, good), 'FORBIDDEN', 'is sanctioned');
    lists.sanctioned.clear();
    lists.stale = 'The lists are 9 days old.';
    await refuses(() => pay(invoice, good), 'PAYMENT_UNAVAILABLE', 'Nothing was taken');
    lists.stale = null;
    expect([...payments.store.all()]).toEqual([]);
    // The one that was tampered with is still good.
    await pay(invoice, good);
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    await settles(invoice);
    expect(await received(other)).toBe(0n);
  }, 60_000);

  it('are sent once, however often and by however many payers they are presented at the same time', async () => {
    const invoice = await order();
    const second = await newPayer(token, DUE);
    const authorization = await signed(invoice);
    const ofSecond = await signed(invoice, second);
    const before = await sent();
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 4 }, () => pay(invoice, authorization)),
      ...Array.from({ length: 2 }, () => pay(invoice, ofSecond)),
    ]);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(stored(invoice)[0]?.authorization.from === authorization.from ? 2 : 4);
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    expect([stored(invoice).length, (await sent()) - before, await received(invoice)]).toEqual([1, 1, DUE]);
    await settles(invoice);
  });

  it('are settled once if another sender brings the authorization into a block first', async () => {
    const invoice = await order();
    await anvil.rpc('evm_setAutomine', false);
    const authorization = await signed(invoice);
    await pay(invoice, authorization);
    await inPool(invoice);
    await anvil.rpc('eth_sendTransaction', {
      ...{ to: USDC, gas: '0x493e0', ...PRIORITY },
      data: useData(token, authorization, authorization.signature),
    });
    await anvil.mine();
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    const [one] = stored(invoice);
    expect(one?.transfer.sending?.attempts.map(({ hash }) => hash)).not.toContain(
      one?.transfer.arrival?.transaction,
    );
    expect(await received(invoice)).toBe(DUE);
    await settles(invoice);
  });

  it('are settled if the payer sends the authorization itself, and ask for no second one meanwhile', async () => {
    await restart({}, false);
    const invoice = await order();
    const authorization = await signed(invoice);
    await anvil.send({
      to: USDC,
      data: useData(token, authorization, authorization.signature),
      gas: 300_000,
    });
    // The watcher has not read the block.
    await refuses(() => toSign(invoice), 'INVALID_REQUEST', 'not recorded yet');
    await refuses(() => pay(invoice, authorization), 'INVALID_REQUEST', 'authorization.nonce: was used');
    await world.crypto.start();
    await settles(invoice);
    expect(stored(invoice)).toEqual([]);
  });

  it('say why an authorization failed, and take the same part again', async () => {
    const invoice = await order();
    await anvil.rpc('evm_setAutomine', false);
    const poor = await newPayer(token, 0n);
    await token.mint(poor.address, DUE);
    await anvil.mine();
    await pay(invoice, await signed(invoice, poor));
    await inPool(invoice);
    // While it is being sent, no other one is signed or taken.
    await refuses(() => toSign(invoice), 'INVALID_REQUEST', 'part 1 is being sent');
    await anvil.rpc('anvil_impersonateAccount', poor.address);
    await anvil.rpc('anvil_setBalance', poor.address, '0xde0b6b3a7640000');
    await anvil.rpc('eth_sendTransaction', {
      ...{ from: poor.address, to: USDC, gas: '0x30d40', ...PRIORITY },
      data: token.abi.encodeFunctionData('transfer', [RELAY, 1n]),
    });
    await anvil.mine();
    await until(() => stored(invoice)[0]?.transfer.state === 'FAILED');
    expect(stored(invoice)[0]?.transfer.reason).toBe('invalid_exact_evm_insufficient_balance');
    await anvil.rpc('evm_setAutomine', true);
    await token.mint(poor.address, 1n);
    const again = await toSign(invoice, poor.address);
    expect(again.part).toBe(1);
    await pay(invoice, { ...again.authorization, signature: await signTyped(poor, again) });
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    expect(stored(invoice)).toHaveLength(1);
    await settles(invoice);
  });

  it('continue after a stop before sending, before the block, and before the watcher has read the block', async () => {
    await restart({ isIdle: true });
    const invoice = await order();
    await pay(invoice, await signed(invoice));
    await restart({ isIdle: true });
    expect([stored(invoice)[0]?.transfer.state, await received(invoice)]).toEqual(['QUEUED', 0n]);
    await anvil.rpc('evm_setAutomine', false);
    await restart();
    await until(() => stored(invoice)[0]?.transfer.state === 'SENT');
    await close();
    // A node that has lost its pool gets the same transaction again.
    await anvil.rpc('anvil_dropAllTransactions');
    await anvil.rpc('evm_setAutomine', true);
    await open({}, false);
    await payments.settlement.relay('BASE').step(null);
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    // It has arrived, and the invoice does not know yet: nothing more is signed.
    await refuses(() => toSign(invoice), 'INVALID_REQUEST', 'not recorded yet');
    await restart();
    await settles(invoice);
    expect(await received(invoice)).toBe(DUE);
  }, 60_000);

  it('are sent again after a reorg, and the credits follow the chain', async () => {
    const invoice = await order();
    await pay(invoice, await signed(invoice));
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    await settles(invoice);
    await payments.stop();
    await anvil.rpc('evm_setAutomine', false);
    await anvil.reorg(DEPTH + 1);
    await anvil.mine();
    await is(invoice, 'PROCESSING');
    await until(async () => (await world.credits()) === 0, 'the credits are taken back', 30_000);
    expect(await received(invoice)).toBe(0n);
    await anvil.rpc('evm_setAutomine', true);
    const { access, billing } = world;
    payments = await openPayments({ folder: folder.path, anvil, access, billing, lists });
    await until(async () => (await received(invoice)) === DUE, 'the transfer is sent again', 30_000);
    await anvil.mine(DEPTH);
    await until(() => state(invoice).entries.length === 3, 'the credits are there', 30_000);
    expect(causes(invoice)).toEqual([
      ['PURCHASE', 100],
      ['REVERSAL', -100],
      ['RESTORED', 100],
    ]);
    expect([...(await world.faults()), ...(await payments.faults())]).toEqual([]);
  }, 90_000);

  it('are held if the payer is put on a list before they are confirmed', async () => {
    const invoice = await order();
    await pay(invoice, await signed(invoice));
    await until(() => stored(invoice)[0]?.transfer.state === 'SETTLED');
    world.sanctioned.add(payer.address);
    await anvil.mine(DEPTH);
    await is(invoice, 'HELD');
    expect([await world.credits(), state(invoice).reason]).toEqual([
      0,
      expect.stringContaining(payer.address),
    ]);
    await refuses(() => toSign(invoice), 'INVALID_REQUEST', 'it is HELD');
  });

  it.skipIf(!hasRedis)(
    'are taken by one of two nodes that get one each at the same time',
    async () => {
      const redis = await startRedis();
      const states = [replicatedState(redis, 'gasless'), replicatedState(redis, 'gasless')] as const;
      const { access, billing } = world;
      const nodes = await Promise.all(
        states.map(({ openStore }, at) =>
          openPayments({
            ...{ folder: join(folder.path, `node${at}`), anvil, access, billing, lists, openStore },
            leases: redisLeases(states[at] as LiveState, `node${at}`),
          }),
        ),
      );
      const before = await sent();
      for (let round = 0; round < 3; round++) {
        const invoice = await order();
        const payers = [payer, await newPayer(token, DUE)] as const;
        const authorizations = await Promise.all(payers.map((one) => signed(invoice, one)));
        const outcomes = await Promise.allSettled(
          nodes.map(({ gasless }, at) =>
            gasless.pay('acc_1', invoice.id, authorizations[at] as Authorization),
          ),
        );
        expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
        await until(() => nodes[0]?.store.ofInvoice(invoice.id)[0]?.transfer.state === 'SETTLED');
        expect(await received(invoice)).toBe(DUE);
        await settles(invoice);
      }
      expect((await sent()) - before).toBe(3);
      await Promise.all(nodes.map((node) => node.stop()));
      await Promise.all(states.map((one) => one.close()));
      await redis.stop();
    },
    60_000,
  );

  it('have a gas-paying account whose state is reported: too little, nearly too little, enough, or too much', async () => {
    const accounts = new GasAccounts(['BASE'], RELAY_OPTIONS, {
      ...{ clock: systemClock, log: silentLogger, settlement: payments.settlement },
    });
    const coins = await anvil.rpc<string>('eth_getBalance', RELAY, 'latest');
    const price = BigInt(await anvil.rpc<string>('eth_gasPrice'));
    const look = async (balance: bigint): Promise<unknown> => {
      await anvil.rpc('anvil_setBalance', RELAY, `0x${balance.toString(16)}`);
      await accounts.look();
      return [accounts.accounts()[0]?.paymentsLeft, accounts.problems().map(({ reason }) => reason)];
    };
    const says = (text: string) => [expect.stringMatching(`^The gas-paying account 0x.* on BASE, ${text}`)];
    expect(await look(1n)).toEqual([0, says('too little for one payment')]);
    // Ten payments of 110,000 gas at twice the price.
    expect(await look(price * 2n * 110_000n * 10n + 1n)).toEqual([10, says('enough for 10 payments')]);
    const { balanceMax } = RELAY_OPTIONS;
    expect(await look(balanceMax + 1n)).toEqual([
      expect.any(Number),
      says('more than ASSAY_RELAY_BALANCE_MAX'),
    ]);
    expect(await look(BigInt(coins))).toEqual([expect.any(Number), []]);
  });

  it('are not sent after the invoice has expired', async () => {
    await restart({ isIdle: true });
    const invoice = await order();
    await pay(invoice, await signed(invoice));
    await anvil.rpc('evm_setNextBlockTimestamp', Math.ceil(invoice.expiresAtMs / 1_000) + 1);
    await anvil.mine();
    await restart();
    await until(() => stored(invoice)[0]?.transfer.state === 'FAILED');
    expect(stored(invoice)[0]?.transfer).toMatchObject({
      ...{ reason: 'invalid_exact_evm_payload_authorization_valid_before', isFinal: true },
    });
    expect([await received(invoice), state(invoice).payments]).toEqual([0n, []]);
    expect(await payments.faults()).toEqual([]);
    // The node's clock is ahead now.
    await anvil.stop();
    await start();
  });
});
