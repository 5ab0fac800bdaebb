/** Verdicts for contracts by the HTTP API: the guard of examples/solidity accepts and refuses what the real server signs, on a real node. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyReceipt } from '../../sdk/typescript/src/receipts.ts';
import { type SignedVerdict, verdictSigner } from '../../src/receipts/eip712.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import { parseReceipt } from '../../src/receipts/receipt-schema.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { compile, type Deployed, deploy } from '../setup/solidity.ts';
import { newWorld, type RunningServer } from './program.ts';

const [, DEPOSITOR, STRANGER] = ACCOUNTS;
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';

type Json = Record<string, unknown>;
interface Signed extends Json {
  readonly receipt: {
    readonly id: string;
    readonly jws: string;
    readonly expiresAt: string;
    readonly eip712: SignedVerdict;
  };
}

describe.skipIf(!hasAnvil)('verdicts that the API signs for contracts', () => {
  const world = newWorld();
  let anvil: Anvil;
  let server: RunningServer;
  let verifier: Deployed;
  /** Accepts warnings. */
  let vault: Deployed;
  let strict: Deployed;
  let contract: string;

  beforeAll(async () => {
    anvil = await startAnvil();
    const contracts = compile();
    verifier = await deploy(anvil, contracts.AssayVerifier!);
    const abis = [contracts.AssayVerifier!.abi];
    vault = await deploy(anvil, contracts.GuardedVault!, [verifier.address, 2], abis);
    contract = `eip155:1:${verifier.address}`;
    strict = await deploy(anvil, contracts.GuardedVault!, [verifier.address, 1], abis);
    // Without a network, most lists are missing: a verdict about an unknown address is never better than a warning.
    server = await world.serve();
  }, 240_000);
  afterAll(async () => {
    await world.end();
    await anvil?.stop();
  });

  async function call(method: string, path: string, body?: Json) {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${server.firstKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json & { data: Signed } };
  }
  const oracle = async (address: string, chain = 'ETH', of = contract): Promise<SignedVerdict> => {
    const { status, json } = await call(
      'GET',
      `/oracle/address/${chain}/${address}?receipt=eip712&verifier=${of}`,
    );
    expect(status, JSON.stringify(json)).toBe(200);
    return json.data.receipt.eip712;
  };
  /** On a busy machine, the last block may be older than a verdict may be ahead of it. */
  async function deposit(
    { message, signature }: SignedVerdict,
    from: string = DEPOSITOR,
    into: Deployed = vault,
  ) {
    await anvil.mine();
    return into.send('deposit', [message, signature], { from, value: 1n });
  }

  it('needs a key, which the operator creates and adds to the contract while the server runs', async () => {
    const path = `/oracle/address/ETH/${DEPOSITOR}?receipt=eip712&verifier=${contract}`;
    const { status, json } = await call('GET', path);
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining('assay oracle signer')]);
    const created = await world.run(['oracle', 'signer', '--new', '--json']);
    expect(created.code, created.err).toBe(0);
    const [{ address, endsAt }] = JSON.parse((await world.run(['oracle', 'signer', '--json'])).out) as [
      { address: string; endsAt: number },
    ];
    await expect(deposit(await oracle(DEPOSITOR))).rejects.toThrow('UnknownSigner');
    await verifier.send('setSigner', [address, endsAt]);
    expect((await oracle(DEPOSITOR)).signer).toBe(address);
  }, 120_000);

  it('opens the vault for its depositor', async () => {
    const verdict = await oracle(DEPOSITOR);
    expect(verdict.message).toMatchObject({ subject: DEPOSITOR, verdict: 2, sanctioned: false });
    expect(verdict.message.expiresAt - verdict.message.issuedAt).toBeLessThanOrEqual(900);
    expect((await deposit(verdict)).isSuccess).toBe(true);
    await expect(deposit(verdict, DEPOSITOR, strict)).rejects.toThrow('NotAccepted');
    expect(await verdictSigner(verdict.message, verdict.domain, verdict.signature)).toBe(verdict.signer);
  }, 60_000);

  it('stays shut for danger, a changed verdict, another sender, another chain and another contract', async () => {
    await anvil.rpc('anvil_impersonateAccount', LAZARUS);
    await anvil.rpc('anvil_setBalance', LAZARUS, '0x8ac7230489e80000');
    const danger = await oracle(LAZARUS);
    expect(danger.message).toMatchObject({ verdict: 3, sanctioned: true, score: 100 });
    await expect(deposit(danger, LAZARUS)).rejects.toThrow('NotAccepted');
    const cleared = { ...danger, message: { ...danger.message, verdict: 1, sanctioned: false } };
    await expect(deposit(cleared, LAZARUS)).rejects.toThrow('UnknownSigner');
    await expect(deposit(await oracle(DEPOSITOR), STRANGER)).rejects.toThrow('WrongSubject');
    await expect(deposit(await oracle(DEPOSITOR, 'BSC'))).rejects.toThrow('WrongChain');
    const elsewhere = await oracle(DEPOSITOR, 'ETH', `eip155:56:${verifier.address}`);
    await expect(deposit(elsewhere)).rejects.toThrow('UnknownSigner');
    await expect(deposit(await oracle(DEPOSITOR, 'ETH', `eip155:1:${vault.address}`))).rejects.toThrow(
      'UnknownSigner',
    );
  }, 60_000);

  it('comes with screenings, KYT and checks of sanctions, bound to their receipt', async () => {
    const asked = { chain: 'ETH', receipt: 'eip712', verifier: contract };
    const jwks = (await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as never;
    for (const [method, path, body, verdict] of [
      ['POST', '/screening', { ...asked, address: DEPOSITOR }, 2],
      ['POST', '/kyt', { ...asked, address: DEPOSITOR }, 2],
      [
        'GET',
        `/sanctions/check?chain=ETH&address=${LAZARUS}&receipt=eip712&verifier=${contract}`,
        undefined,
        0,
      ],
      ['POST', '/screening', { ...asked, address: LAZARUS }, 3],
      ['POST', '/kyt', { ...asked, address: LAZARUS }, 3],
    ] as const) {
      const { status, json } = await call(method, path, body);
      expect(status, JSON.stringify(json)).toBe(200);
      const { jws, eip712 } = json.data.receipt;
      const payload = JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString()) as unknown;
      const receipt = parseReceipt(payload);
      expect(await verifyReceipt(jws, jwks, { answer: json.data })).toMatchObject({ id: receipt.id });
      expect([path, eip712.message]).toEqual([
        path,
        expect.objectContaining({
          receipt: `0x${receiptHash(receipt).toString('hex')}`,
          verdict,
          sanctioned: receipt.sanctioned,
          policy: `0x${receipt.policySha256}`,
          expiresAt: receipt.expiresAt,
        }),
      ]);
      await anvil.mine();
      await verifier.call('check', [eip712.message, eip712.signature]);
      // A check of sanctions rates no risk: a guard that asks for a verdict refuses it.
      if (verdict === 0) await expect(deposit(eip712)).rejects.toThrow(/NotAccepted|WrongSubject/);
    }
  }, 120_000);

  it('says which requests have no verdict for a contract', async () => {
    const asked = { chain: 'ETH', address: DEPOSITOR, receipt: 'eip712', verifier: contract };
    for (const [method, path, body, message] of [
      ['GET', `/oracle/address/ETH/${DEPOSITOR}?receipt=eip712`, undefined, 'verifier: is missing'],
      ['GET', `/oracle/address/ETH/${DEPOSITOR}?receipt=eip712&verifier=0x1`, undefined, 'verifier: must be'],
      [
        'GET',
        `/oracle/address/ETH/${DEPOSITOR}?verifier=${contract}`,
        undefined,
        'verifier: must be left out',
      ],
      ['GET', `/oracle/address/ETH/${DEPOSITOR}?receipt=jws&verifier=${contract}`, undefined, 'left out'],
      [
        'GET',
        `/oracle/address/BTC/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?receipt=eip712&verifier=${contract}`,
        undefined,
        'an address of an EVM chain',
      ],
      [
        'GET',
        `/sanctions/check?chain=ETH&address=${DEPOSITOR}&receipt=eip712&verifier=${contract}`,
        undefined,
        'missing or too old',
      ],
      ['POST', '/screening', { ...asked, asOf: '2020-01-01' }, 'has no asOf'],
      ['POST', '/screening', { ...asked, maxHops: 1 }, 'narrow'],
      [
        'POST',
        '/kyt',
        { chain: 'ETH', from: LAZARUS, to: DEPOSITOR, receipt: 'eip712', verifier: contract },
        'one subject',
      ],
      [
        'POST',
        '/namescreen/bulk',
        { names: [{ name: 'Kim Jong Un' }], receipt: 'eip712', verifier: contract },
        'none or jws',
      ],
    ] as const) {
      const { status, json } = await call(method, path, body);
      expect([path, status, JSON.stringify(json)]).toEqual([path, 400, expect.stringContaining(message)]);
    }
  }, 60_000);

  it('is refused by the contract after its end', async () => {
    const verdict = await oracle(DEPOSITOR);
    await anvil.rpc('evm_setNextBlockTimestamp', verdict.message.expiresAt);
    await anvil.mine();
    await expect(deposit(verdict)).rejects.toThrow('Expired');
  }, 60_000);
});
