/** Pay per call over HTTP, on a real node: the reference client pays, and attempts to pay less, twice or not at all get nothing and lose nothing. */
import { x402Client } from '@x402/core/client';
import { parsePaymentRequired } from '@x402/core/schemas';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import { AbiCoder, concat, type Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PAY_PER_CALL_ACCOUNT } from '../../../src/accounts/keys.ts';
import { AssayError } from '../../../src/base/errors.ts';
import { X402_LIMITS } from '../../../src/billing/x402/limits.ts';
import { memoryFolder, type TempFolder } from '../../accounts/temp-folder.ts';
import { EXCHANGE, openWorld, SANCTIONED, UNKNOWN, type World } from '../../http/world.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { until } from '../../support/wait.ts';
import {
  CHAIN_ID,
  cancelData,
  compileToken,
  decoded,
  deployToken,
  NETWORK,
  newPayer,
  openPayments,
  PAY_TO,
  type Payments,
  PRICE,
  paymentHeader,
  RELAY,
  receiptOf,
  requiredOf,
  sign,
  type Token,
  USDC,
  useData,
} from './world.ts';

interface Settled {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly transaction: string;
  readonly payer: string;
}

const ADDRESS = { chain: 'ETH', address: EXCHANGE };

describe.skipIf(!hasAnvil)('pay per call', () => {
  let anvil: Anvil;
  let token: Token;
  let folder: TempFolder;
  let world: World;
  let payments: Payments | null;
  let payer: Wallet;
  let lists: { sanctioned: Set<string>; stale: string | null };
  /** What the next screenings do instead of answering. */
  let failures: Error[];

  beforeAll(async () => {
    anvil = await startAnvil({ chainId: CHAIN_ID });
    token = await deployToken(anvil);
  });
  afterAll(() => anvil?.stop());
  beforeEach(async () => {
    folder = memoryFolder();
    lists = { sanctioned: new Set(), stale: null };
    failures = [];
    payments = null;
    world = await openWorld({
      backend: 'node',
      payPerCall: () => payments?.payPerCall ?? null,
      useCases: {
        async screening({ address, chain }) {
          const failure = failures.shift();
          if (failure !== undefined) throw failure;
          return { json: Buffer.from(JSON.stringify({ address, chain })) };
        },
      },
    });
    await open();
    payer = await newPayer(token);
  });
  afterEach(async () => {
    await anvil.rpc('evm_setAutomine', true);
    await payments?.stop();
    await world.close();
    folder.remove();
  });

  const open = async (options: Partial<Parameters<typeof openPayments>[0]> = {}): Promise<void> => {
    payments = await openPayments({ folder: folder.path, anvil, access: world.access, lists, ...options });
  };
  const restart = async (options: Parameters<typeof open>[0] = {}): Promise<void> => {
    const before = payments;
    payments = null;
    await before?.stop();
    await open(options);
  };
  const post = (
    header: string | null,
    body: object = ADDRESS,
    path = '/api/v1/screening',
  ): Promise<Response> =>
    fetch(`${world.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(header === null ? {} : { 'PAYMENT-SIGNATURE': header }),
      },
      body: JSON.stringify(body),
    });
  const settled = (response: Response): Settled => decoded(response.headers.get('PAYMENT-RESPONSE'));
  const sent = async (): Promise<number> =>
    Number(await anvil.rpc('eth_getTransactionCount', RELAY, 'latest'));
  const received = (): Promise<bigint> => token.balance(PAY_TO);
  const left = async (): Promise<number> =>
    (await world.access.ledger().balance(PAY_PER_CALL_ACCOUNT)).balance;
  const only = () => [...(payments as Payments).store.all()][0]!;
  /** Waits until the node has the transaction of the payment that was sent last. */
  const inPool = (): Promise<void> =>
    until(async () => {
      const hashes = [...(payments as Payments).store.all()].flatMap(({ transfer: { state, sending } }) =>
        state === 'SENT' ? (sending?.attempts ?? []).map(({ hash }) => hash) : [],
      );
      return hashes[0] !== undefined && (await anvil.rpc('eth_getTransactionByHash', hashes[0])) !== null;
    });
  /** Expects that nothing was answered, sent or taken. */
  const takesNothing = async (
    work: () => Promise<Response>,
    status: number,
    reason?: string,
  ): Promise<Response> => {
    const before = [await sent(), await received(), await left()];
    const response = await work();
    expect(response.status, await response.clone().text()).toBe(status);
    if (reason !== undefined) expect(requiredOf(response).error).toBe(reason);
    expect([await sent(), await received(), await left()]).toEqual(before);
    return response;
  };

  it('is paid by the client of the protocol, and books, charges and audits the payment', async () => {
    const before = await received();
    const signer = {
      address: payer.address as `0x${string}`,
      signTypedData: async ({ domain, types, message }: { domain: object; types: object; message: object }) =>
        (await payer.signTypedData(domain, types as never, message)) as `0x${string}`,
    };
    const client = x402Client.fromConfig({
      schemes: [{ network: NETWORK, client: new ExactEvmScheme(signer as never) }],
      spendControls: { maxAmountPerPayment: '$5' },
    });
    const paying = wrapFetchWithPayment(fetch, client);
    const response = await paying(`${world.url}/api/v1/screening`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ADDRESS),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ success: true, data: ADDRESS, credits: { remaining: 0 } });
    const settlement = decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') ?? '');
    expect(settlement).toMatchObject({ success: true, network: NETWORK, payer: payer.address.toLowerCase() });
    expect(await receiptOf(anvil, settlement.transaction)).toMatchObject({
      status: '0x1',
      to: USDC.toLowerCase(),
    });
    expect((await received()) - before).toBe(PRICE);
    const { history } = await world.access.ledger().usage(PAY_PER_CALL_ACCOUNT, { limit: 10 });
    expect(history.map(({ type, amount, reference }) => [type, amount, reference])).toEqual([
      ['SCREENING', -1, `screening ${EXCHANGE} ETH`],
      ['PURCHASE', 1, `x402 BASE ${settlement.transaction}`],
    ]);
    const { entries } = world.access.audit().page(PAY_PER_CALL_ACCOUNT, 10, null);
    expect(entries).toMatchObject([
      { who: 'payments', from: 'x402', detail: expect.stringContaining('x402 BASE') },
    ]);
    expect(await payments!.faults()).toEqual([]);
  });

  it('names its price in the form of the protocol, for the credits of the request', async () => {
    const response = await takesNothing(() => post(null), 402, 'Payment required');
    const required = requiredOf(response);
    expect(parsePaymentRequired(required).success).toBe(true);
    expect(response.headers.get('x-error-code')).toBe('PAYMENT_REQUIRED');
    expect(required).toMatchObject({
      x402Version: 2,
      resource: { url: `${world.url}/api/v1/screening` },
      accepts: [{ scheme: 'exact', network: NETWORK, amount: String(PRICE), asset: USDC, payTo: PAY_TO }],
    });
    const names = { names: [{ name: 'Ann' }, { name: 'Bob' }, { name: 'Eve' }] };
    const three = requiredOf(await post(null, names, '/api/v1/namescreen/bulk'));
    expect(three.accepts[0]?.amount).toBe(String(3n * PRICE));
    const bare = await fetch(`${world.url}/api/v1/screening`, { method: 'POST' });
    expect([bare.status, requiredOf(bare).accepts[0]?.amount]).toEqual([402, String(PRICE)]);
    // A request that could not be answered is refused before it is paid.
    expect((await post(null, { chain: 'ETH' })).status).toBe(400);
    expect((await post(null, { ...ADDRESS, save: true })).status).toBe(400);
  });

  it('does not change requests with a key, and is off by default', async () => {
    const key = await world.key();
    const request = (headers: Record<string, string>) =>
      fetch(`${world.url}/api/v1/screening`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(ADDRESS),
      });
    const before = await sent();
    const keyed = await request({
      Authorization: `Bearer ${key}`,
      'PAYMENT-SIGNATURE': paymentHeader(await sign(payer)),
    });
    expect([keyed.status, keyed.headers.get('PAYMENT-RESPONSE')]).toEqual([200, null]);
    expect((await request({ Authorization: 'Bearer wrong' })).status).toBe(401);
    expect(await sent()).toBe(before);
    await payments!.stop();
    payments = null;
    const off = await request({ 'PAYMENT-SIGNATURE': paymentHeader(await sign(payer)) });
    expect([off.status, off.headers.get('PAYMENT-REQUIRED')]).toEqual([401, null]);
  });

  it('refuses payments that are forged, too small, late or for something else', async () => {
    const signed = await sign(payer);
    const { authorization, signature } = signed;
    const now = Math.floor(Date.now() / 1_000);
    const stranger = await newPayer(token, 0n);
    const other = '0x00000000000000000000000000000000000000aa';
    // One bit of a byte in the middle: fixed digits may be those that the signature has.
    const tampered = signature.replace(/(?<=^.{40})./, (digit) =>
      (Number.parseInt(digit, 16) ^ 1).toString(16),
    );
    const cases: readonly (readonly [object, object, number, string?])[] = [
      [{ authorization, signature: tampered }, {}, 402, 'invalid_exact_evm_signature'],
      [
        { authorization: { ...authorization, value: String(PRICE - 1n) }, signature },
        {},
        402,
        'invalid_exact_evm_payload_authorization_value_mismatch',
      ],
      [
        { authorization: { ...authorization, from: stranger.address }, signature },
        {},
        402,
        'invalid_exact_evm_signature',
      ],
      [
        await sign(payer, { value: String(PRICE - 1n) }),
        {},
        402,
        'invalid_exact_evm_payload_authorization_value_mismatch',
      ],
      [await sign(payer, { value: '0' }), { amount: '0' }, 402, 'No matching payment requirements'],
      [await sign(payer, { to: other }), {}, 402, 'invalid_exact_evm_recipient_mismatch'],
      [await sign(payer, { to: other }), { payTo: other }, 402, 'No matching payment requirements'],
      [await sign(payer, {}, { chainId: 1 }), {}, 402, 'invalid_exact_evm_signature'],
      [
        await sign(payer, {}, { chainId: 1 }),
        { network: 'eip155:1' },
        402,
        'No matching payment requirements',
      ],
      [
        await sign(payer, {}, { verifyingContract: other }),
        { asset: other },
        402,
        'No matching payment requirements',
      ],
      [await sign(payer, {}, { verifyingContract: other }), {}, 402, 'invalid_exact_evm_signature'],
      [signed, { scheme: 'upto' }, 402, 'No matching payment requirements'],
      [
        await sign(payer, { validBefore: String(now - 1) }),
        {},
        402,
        'invalid_exact_evm_payload_authorization_valid_before',
      ],
      [
        await sign(payer, { validBefore: String(now + 10 * 86_400) }),
        {},
        402,
        'invalid_exact_evm_payload_authorization_valid_before',
      ],
      [
        await sign(payer, { validAfter: String(now + 200) }),
        {},
        402,
        'invalid_exact_evm_payload_authorization_valid_after',
      ],
      [await sign(stranger), {}, 402, 'invalid_exact_evm_insufficient_balance'],
    ];
    for (const [payload, accepted, status, reason] of cases)
      await takesNothing(() => post(paymentHeader(payload, { accepted })), status, reason);
    expect([...payments!.store.all()]).toEqual([]);
    // The payment that was tampered with is still good.
    expect((await post(paymentHeader(signed))).status).toBe(200);
  }, 60_000);

  it('names the field of a payment that cannot be read', async () => {
    const { authorization, signature } = await sign(payer);
    const cases: readonly object[] = [
      { authorization },
      { authorization: { ...authorization, nonce: '0x12' }, signature },
      { authorization: { ...authorization, value: '-1' }, signature },
    ];
    for (const payload of cases) {
      const response = await takesNothing(() => post(paymentHeader(payload)), 400);
      expect(await response.json()).toMatchObject({
        error: expect.stringContaining('PAYMENT-SIGNATURE: payload.'),
      });
    }
    for (const header of [
      '%%%',
      Buffer.from('{').toString('base64'),
      Buffer.from('[]').toString('base64'),
      'A'.repeat(13_000),
    ])
      await takesNothing(() => post(header), 400);
    const version1 = Buffer.from(JSON.stringify({ x402Version: 1 })).toString('base64');
    await takesNothing(() => post(version1), 400);
  });

  it('refuses a wallet that does not exist yet, and takes a payment of one that is a contract', async () => {
    const hash = await anvil.send({
      data: token.wallet.bytecode + token.wallet.abi.encodeDeploy([payer.address]).slice(2),
      gas: 1_000_000,
    });
    const { contractAddress: wallet } = await receiptOf(anvil, hash);
    await token.mint(wallet, PRICE);
    const { authorization, signature } = await sign(payer, { from: wallet });
    await takesNothing(
      () => post(paymentHeader({ authorization, signature })),
      402,
      'invalid_exact_evm_signature',
    );
    const ofWallet = concat([`0x${'00'.repeat(32)}`, signature]);
    const absent = '0x00000000000000000000000000000000000000bb';
    const wrap = (inner: string) =>
      concat([
        AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], [absent, '0x12', inner]),
        `0x${'6492'.repeat(16)}`,
      ]);
    const undeployed = await sign(payer, { from: absent });
    await takesNothing(
      () => post(paymentHeader({ ...undeployed, signature: wrap(undeployed.signature) })),
      402,
      'invalid_exact_evm_payload_undeployed_smart_wallet',
    );
    const response = await post(paymentHeader({ authorization, signature: wrap(ofWallet) }));
    expect(response.status).toBe(200);
    expect(await token.balance(wallet)).toBe(0n);
    expect(await payments!.faults()).toEqual([]);
  });

  it('answers the same payment again without taking it again, also many times at once', async () => {
    const header = paymentHeader(await sign(payer));
    const [paid, transactions] = [await received(), await sent()];
    const responses = await Promise.all(Array.from({ length: 8 }, () => post(header)));
    const texts = await Promise.all(responses.map((response) => response.text()));
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(new Set(texts).size).toBe(1);
    const again = await post(header);
    expect([again.status, await again.text(), again.headers.get('idempotency-replayed')]).toEqual([
      200,
      texts[0],
      'true',
    ]);
    expect([(await received()) - paid, (await sent()) - transactions]).toEqual([PRICE, 1]);
    // Another request, or another operation.
    await takesNothing(() => post(header, { chain: 'ETH', address: UNKNOWN }), 400);
    await takesNothing(() => post(header, ADDRESS, '/api/v1/kyt'), 400);
    expect(await left()).toBe(0);
    expect(await payments!.faults()).toEqual([]);
  });

  it('honours the payment identifier: one payment, one answer, one request', async () => {
    const id = 'order_0000000000000001';
    const first = await post(paymentHeader(await sign(payer), { id }));
    expect(first.status).toBe(200);
    const text = await first.text();
    // A client that makes a new authorization for its repetition.
    const second = await takesNothing(async () => post(paymentHeader(await sign(payer), { id })), 200);
    expect([await second.text(), settled(second).transaction]).toEqual([text, settled(first).transaction]);
    await takesNothing(
      async () => post(paymentHeader(await sign(payer), { id }), { chain: 'ETH', address: UNKNOWN }),
      400,
    );
    // The identifier of another payer, and a forged repetition, get nothing.
    const other = await newPayer(token);
    const { authorization } = await sign(payer);
    const { signature } = await sign(other);
    await takesNothing(
      () => post(paymentHeader({ authorization, signature }, { id })),
      402,
      'invalid_exact_evm_signature',
    );
    expect((await post(paymentHeader(await sign(other), { id }))).status).toBe(200);
    await takesNothing(async () => post(paymentHeader(await sign(payer), { id: 'short' })), 400);
    const racing = 'order_0000000000000002';
    const headers = await Promise.all(
      [0, 1, 2].map(async () => paymentHeader(await sign(payer), { id: racing })),
    );
    const before = await received();
    const statuses = (await Promise.all(headers.map((header) => post(header)))).map(({ status }) => status);
    expect(statuses).toContain(200);
    expect(statuses.every((status) => status === 200 || status === 402)).toBe(true);
    expect((await received()) - before).toBe(PRICE);
    expect(await payments!.faults()).toEqual([]);
  });

  it('does not give an answer to a client that has read the payment from the chain', async () => {
    const signed = await sign(payer);
    const id = 'secret_000000000000001';
    expect((await post(paymentHeader(signed, { id }))).status).toBe(200);
    await takesNothing(() => post(paymentHeader(signed)), 402, 'invalid_exact_evm_nonce_already_used');
    await takesNothing(
      () => post(paymentHeader(signed, { id: 'guessed_00000000000001' })),
      402,
      'invalid_exact_evm_nonce_already_used',
    );
  });

  it('serves nothing if the payer cancels before the block', async () => {
    await anvil.rpc('evm_setAutomine', false);
    const signed = await sign(payer);
    const pending = post(paymentHeader(signed));
    await inPool();
    await anvil.rpc('anvil_setBalance', payer.address, '0xde0b6b3a7640000');
    await anvil.rpc('eth_sendTransaction', {
      ...{ to: USDC, data: await cancelData(payer, signed.authorization.nonce, token), gas: '0x30d40' },
      ...{ maxFeePerGas: '0x9000000000', maxPriorityFeePerGas: '0x8000000000' },
    });
    const before = await received();
    await anvil.mine();
    const response = await pending;
    expect([response.status, requiredOf(response).error]).toEqual([
      402,
      'invalid_exact_evm_nonce_already_used',
    ]);
    expect([await received(), await left()]).toEqual([before, 0]);
    expect((await post(paymentHeader(signed))).status).toBe(402);
    expect(await payments!.faults()).toEqual([]);
  });

  it('serves nothing if the balance is gone, and serves it if the authorization is used after all', async () => {
    await anvil.rpc('evm_setAutomine', false);
    const poor = await newPayer(token, 0n);
    await token.mint(poor.address, PRICE);
    await anvil.mine();
    const signed = await sign(poor);
    const pending = post(paymentHeader(signed));
    await inPool();
    await anvil.rpc('anvil_impersonateAccount', poor.address);
    await anvil.rpc('anvil_setBalance', poor.address, '0xde0b6b3a7640000');
    await anvil.rpc('eth_sendTransaction', {
      ...{ from: poor.address, to: USDC, gas: '0x30d40' },
      data: token.abi.encodeFunctionData('transfer', [RELAY, PRICE]),
      ...{ maxFeePerGas: '0x900000000', maxPriorityFeePerGas: '0x800000000' },
    });
    const before = await received();
    await anvil.mine();
    const response = await pending;
    expect([response.status, requiredOf(response).error]).toEqual([
      402,
      'invalid_exact_evm_insufficient_balance',
    ]);
    expect([await received(), await left()]).toEqual([before, 0]);
    // The authorization is public. Whoever sends it again when there is money pays for the request.
    await anvil.rpc('evm_setAutomine', true);
    await token.mint(poor.address, PRICE);
    const { authorization: a, signature } = signed;
    const args = [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, signature];
    const data = token.abi.encodeFunctionData(
      'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
      args,
    );
    await anvil.send({ to: USDC, data, gas: 300_000 });
    await restart();
    await until(async () => only().transfer.state === 'SETTLED');
    const again = await post(paymentHeader(signed));
    expect([again.status, (await received()) - before]).toEqual([200, PRICE]);
    expect(await payments!.faults()).toEqual([]);
  }, 60_000);

  it('recognizes a payment that another sender has brought into a block', async () => {
    await anvil.rpc('evm_setAutomine', false);
    const signed = await sign(payer);
    const pending = post(paymentHeader(signed));
    await inPool();
    const { authorization: a, signature } = signed;
    await anvil.rpc('eth_sendTransaction', {
      ...{ to: USDC, gas: '0x493e0', maxFeePerGas: '0x9000000000', maxPriorityFeePerGas: '0x8000000000' },
      data: token.abi.encodeFunctionData(
        'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
        [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, signature],
      ),
    });
    const before = await received();
    await anvil.mine();
    const response = await pending;
    expect([response.status, (await received()) - before]).toEqual([200, PRICE]);
    expect(only().transfer.sending?.attempts.map(({ hash }) => hash)).not.toContain(
      settled(response).transaction,
    );
    expect(await payments!.faults()).toEqual([]);
  });

  it('recognizes a payment among thousands of logs of a transaction, which holds up no other payment', async () => {
    const { TestBundle } = compileToken();
    const deployed = await anvil.send({ data: TestBundle.bytecode, gas: 3_000_000 });
    const { contractAddress } = await receiptOf(anvil, deployed);
    await anvil.rpc('evm_setAutomine', false);
    const signed = await sign(payer);
    const pending = post(paymentHeader(signed));
    await inPool();
    const use = useData(token, signed.authorization, signed.signature);
    await anvil.rpc('eth_sendTransaction', {
      ...{ from: ACCOUNTS[2], to: contractAddress, gas: '0x500000' },
      data: TestBundle.abi.encodeFunctionData('run', [USDC, use, X402_LIMITS.logsMax + 1]),
      ...{ maxFeePerGas: '0x9000000000', maxPriorityFeePerGas: '0x8000000000' },
    });
    await anvil.mine();
    await anvil.rpc('evm_setAutomine', true);
    const other = await post(paymentHeader(await sign(await newPayer(token))));
    expect([(await pending).status, other.status]).toEqual([200, 200]);
    await restart();
    expect(await payments!.faults()).toEqual([]);
  }, 60_000);

  it('refuses an authorization that was used before it was presented', async () => {
    const signed = await sign(payer);
    const { authorization: a, signature } = signed;
    const data = token.abi.encodeFunctionData(
      'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
      [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, signature],
    );
    await anvil.send({ to: USDC, data, gas: 300_000 });
    await takesNothing(() => post(paymentHeader(signed)), 402, 'invalid_exact_evm_nonce_already_used');
  });

  it('keeps the payment of a request that failed, for the same request', async () => {
    failures = [new Error('The pool is gone.'), new AssayError('OVERLOADED', 'Too much work is waiting.')];
    const header = paymentHeader(await sign(payer));
    const first = await post(header);
    expect([first.status, settled(first).success]).toEqual([500, true]);
    expect(await left()).toBe(1);
    expect(await payments!.faults()).toEqual([]);
    await takesNothing(() => post(header, { chain: 'ETH', address: UNKNOWN }), 400);
    await takesNothing(() => post(header), 429);
    const third = await takesNothing(async () => {
      const response = await post(header);
      expect(await left()).toBe(0);
      await world.access
        .ledger()
        .book({ accountId: PAY_PER_CALL_ACCOUNT, type: 'ADJUSTMENT', amount: 1, reference: 'test' });
      return response;
    }, 200);
    expect(settled(third)).toEqual(settled(first));
  });

  it('keeps the payment of a request that can never succeed, for another one of the operation', async () => {
    failures = [
      new AssayError('INVALID_ADDRESS', 'address: has not the form of an address.', { field: 'address' }),
    ];
    const header = paymentHeader(await sign(payer));
    const first = await post(header, { chain: 'ETH', address: 'vitalik.eth' });
    expect([first.status, settled(first).success]).toEqual([400, true]);
    await takesNothing(() => post(header, ADDRESS, '/api/v1/kyt'), 400);
    const before = await received();
    expect((await post(header)).status).toBe(200);
    expect([await received(), await left()]).toEqual([before, 0]);
    await takesNothing(() => post(header, { chain: 'ETH', address: UNKNOWN }), 400);
    expect(await payments!.faults()).toEqual([]);
  });

  it('takes nothing of a sanctioned payer, or while the lists are stale', async () => {
    const header = paymentHeader(await sign(payer));
    lists.sanctioned.add(payer.address.toLowerCase());
    await takesNothing(() => post(header), 403);
    lists.sanctioned.clear();
    lists.stale = 'The lists are 9 days old.';
    const stale = await takesNothing(() => post(header), 500);
    expect(stale.headers.get('x-error-code')).toBe('PAYMENT_UNAVAILABLE');
    expect([...payments!.store.all()]).toEqual([]);
    lists.stale = null;
    expect((await post(header)).status).toBe(200);
  });

  it('continues after a stop between storing and sending, sending and the block, and the block and the answer', async () => {
    const header = paymentHeader(await sign(payer));
    const before = await received();
    // Stored, not sent.
    await restart({ isIdle: true, waitMs: 200 });
    const first = await post(header);
    expect([first.status, first.headers.get('x-error-code'), first.headers.get('retry-after')]).toEqual([
      402,
      'PAYMENT_PENDING',
      '5',
    ]);
    expect([settled(first).errorReason, first.headers.get('PAYMENT-REQUIRED')]).toEqual([
      'settlement_pending',
      null,
    ]);
    expect([only().transfer.state, await received()]).toEqual(['QUEUED', before]);
    // Sent, in no block.
    await anvil.rpc('evm_setAutomine', false);
    await restart({ waitMs: 200 });
    await until(async () => only().transfer.state === 'SENT');
    await payments!.stop();
    payments = null;
    // A node that has lost its pool gets the same transaction again.
    await anvil.rpc('anvil_dropAllTransactions');
    await anvil.rpc('evm_setAutomine', true);
    await open({ isIdle: true, waitMs: 200 });
    const { hash } = only().transfer.sending!.attempts[0]!;
    const relay = payments!.settlement.relay('BASE');
    // The first step sends it; the node makes the block when it comes to it.
    await until(async () => {
      await relay.step(null);
      return only().transfer.state === 'SETTLED';
    });
    expect(only().transfer).toMatchObject({ arrival: { transaction: hash } });
    // In a block, not answered: nothing is booked yet.
    expect(await left()).toBe(0);
    await restart();
    await until(async () => (await left()) === 1);
    expect((await post(header)).status).toBe(200);
    expect([(await received()) - before, await left()]).toEqual([PRICE, 0]);
    expect(await payments!.faults()).toEqual([]);
  }, 60_000);

  it('sends a payment again that a reorg has removed, and serves it once', async () => {
    const header = paymentHeader(await sign(payer));
    expect((await post(header)).status).toBe(200);
    const before = await received();
    const relay = payments!.settlement.relay('BASE');
    await anvil.rpc('evm_setAutomine', false);
    await anvil.reorg(1);
    expect(await received()).toBe(before - PRICE);
    await relay.step(null);
    expect(only().transfer.state).toBe('SENT');
    expect(await payments!.faults()).toHaveLength(1);
    await payments!.settlement.relay('BASE').step(null);
    await anvil.mine();
    await until(async () => only().transfer.state === 'SETTLED');
    expect([await received(), await left()]).toEqual([before, 0]);
    expect(await payments!.faults()).toEqual([]);
  }, 60_000);

  it('sends nothing with too much or too little gas money, or above the highest price', async () => {
    const header = paymentHeader(await sign(payer));
    for (const relay of [{ balanceMax: 1n }, { feeMax: 1n }]) {
      await restart({ relay });
      await takesNothing(() => post(header), 500);
    }
    const coins = await anvil.rpc<string>('eth_getBalance', RELAY, 'latest');
    await anvil.rpc('anvil_setBalance', RELAY, '0x1');
    await restart();
    await takesNothing(() => post(header), 500);
    await anvil.rpc('anvil_setBalance', RELAY, coins);
    expect((await post(header)).status).toBe(200);
    expect(await payments!.faults()).toEqual([]);
  });

  it('stops a client whose payments cost gas and bring nothing', async () => {
    for (let round = 0; round < 3; round++) {
      await anvil.rpc('evm_setAutomine', false);
      const signed = await sign(payer);
      const pending = post(paymentHeader(signed));
      await inPool();
      await anvil.rpc('eth_sendTransaction', {
        ...{ to: USDC, data: await cancelData(payer, signed.authorization.nonce, token), gas: '0x30d40' },
        ...{ maxFeePerGas: '0x9000000000', maxPriorityFeePerGas: '0x8000000000' },
      });
      await anvil.mine();
      expect((await pending).status).toBe(402);
      await anvil.rpc('evm_setAutomine', true);
    }
    await takesNothing(async () => post(paymentHeader(await sign(payer))), 500);
  }, 60_000);

  it('limits requests of a client by its address', async () => {
    const statuses = new Set<number>();
    for (let at = 0; at < 40; at++)
      statuses.add((await post(null, { chain: 'ETH', address: SANCTIONED })).status);
    expect(statuses).toEqual(new Set([402, 429]));
  });
});
