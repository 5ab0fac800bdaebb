/** A server that takes payments by x402, a real node with a token of EIP-3009 at the address of USDC on Base, and payers. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hexlify, type Interface, randomBytes, type Signer, Wallet } from 'ethers';
import type { Access } from '../../../src/accounts/access.ts';
import { auditBookings } from '../../../src/accounts/audit.ts';
import { readPackages } from '../../../src/accounts/credits.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { projectRoot } from '../../../src/base/paths.ts';
import { payerScreening } from '../../../src/billing/crypto/payer.ts';
import type { Billing } from '../../../src/billing/service.ts';
import {
  type AuthorizationToSign,
  InvoiceAuthorizations,
} from '../../../src/billing/x402/invoice-authorizations.ts';
import { PayPerCall } from '../../../src/billing/x402/pay-per-call.ts';
import type { RelayOptions } from '../../../src/billing/x402/relay.ts';
import { AuthorizationSettlement } from '../../../src/billing/x402/settlement.ts';
import { AuthorizedPayments } from '../../../src/billing/x402/store.ts';
import { openChainNode } from '../../../src/billing/x402/token.ts';
import { verifyAuthorized } from '../../../src/billing/x402/verify.ts';
import type { PaymentRequired } from '../../../src/billing/x402/wire.ts';
import { createEmbeddedLeases, type Leases } from '../../../src/state/leases.ts';
import { createRedisLeases } from '../../../src/state/leases-redis.ts';
import { type OpenStore, openLiveStore } from '../../../src/state/live-store.ts';
import { openRedis, parseRedisUrl } from '../../../src/state/redis.ts';
import { ACCOUNTS, type Anvil } from '../../setup/anvil.ts';
import type { LiveState } from '../../setup/live-state.ts';
import { type Compiled, compile } from '../../setup/solidity.ts';
import { until } from '../../support/wait.ts';

/** USDC on Base, as data/payments.json has it. */
export const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
export const CHAIN_ID = 8453;
export const NETWORK = `eip155:${CHAIN_ID}`;
export const PAY_TO = '0x00000000000000000000000000000000000Fee01';
/** Of ACCOUNTS[1], from anvil's public mnemonic. */
export const RELAY_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
export const RELAY = ACCOUNTS[1];
/** One credit of the smallest package, in the smallest unit of USDC. */
export const PRICE = 1_990_000n;
const COIN = 10n ** 18n;

export const RELAY_OPTIONS: RelayOptions = {
  ...{ privateKey: RELAY_KEY, confirmations: 1, feeMax: 10n ** 12n, balanceMax: 1_000_000n * COIN },
  ...{ pollMs: 50 },
};

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
};
const CANCEL_TYPES = {
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
};
const DOMAIN = { name: 'USD Coin', version: '2', chainId: CHAIN_ID, verifyingContract: USDC };

export interface Token {
  readonly abi: Interface;
  readonly wallet: Compiled;
  mint(to: string, value: bigint): Promise<void>;
  balance(of: string): Promise<bigint>;
}

/** Returns the receipt of a transaction. The node makes a block of each, some milliseconds after it has accepted it. */
export async function receiptOf(
  anvil: Anvil,
  hash: string,
): Promise<{ readonly status: string; readonly to: string | null; readonly contractAddress: string }> {
  let receipt: Awaited<ReturnType<typeof receiptOf>> | null = null;
  await until(async () => {
    receipt = await anvil.rpc('eth_getTransactionReceipt', hash);
    return receipt !== null;
  }, `the block of ${hash}`);
  if (receipt === null) throw new Error('The wait ended without a receipt.');
  return receipt;
}

/** Compiles the contracts of token.sol. */
export function compileToken(): Readonly<Record<'TestUsdc' | 'TestWallet' | 'TestBundle', Compiled>> {
  const source = readFileSync(join(projectRoot, 'test', 'billing', 'x402', 'token.sol'), 'utf8');
  return compile({ 'TestUsdc.sol': source }) as ReturnType<typeof compileToken>;
}

/** Puts the token at the address of USDC. The node makes a block of each transaction. */
export async function deployToken(anvil: Anvil): Promise<Token> {
  const compiled = compileToken();
  const { abi, bytecode } = compiled.TestUsdc;
  const hash = await anvil.send({ data: bytecode, gas: 5_000_000 });
  await anvil.mine();
  const { contractAddress } = await receiptOf(anvil, hash);
  await anvil.rpc('anvil_setCode', USDC, await anvil.rpc<string>('eth_getCode', contractAddress, 'latest'));
  await anvil.rpc('evm_setAutomine', true);
  return {
    abi,
    wallet: compiled.TestWallet,
    async mint(to, value) {
      await anvil.send({ to: USDC, data: abi.encodeFunctionData('mint', [to, value]), gas: 200_000 });
    },
    async balance(of) {
      const data = abi.encodeFunctionData('balanceOf', [of]);
      return BigInt(await anvil.rpc<string>('eth_call', { to: USDC, data }, 'latest'));
    },
  };
}

export interface Signed {
  readonly from: string;
  readonly to: string;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: string;
}

/** Returns an authorization of the price, and its signature. */
export async function sign(
  signer: Signer,
  change: Partial<Signed> = {},
  domain: Partial<typeof DOMAIN> = {},
): Promise<{ readonly authorization: Signed; readonly signature: string }> {
  const authorization = {
    ...{ from: await signer.getAddress(), to: PAY_TO, value: String(PRICE), validAfter: '0' },
    ...{ validBefore: String(Math.floor(Date.now() / 1_000) + 300), nonce: hexlify(randomBytes(32)) },
    ...change,
  };
  return {
    authorization,
    signature: await signer.signTypedData({ ...DOMAIN, ...domain }, TYPES, authorization),
  };
}

/** Returns the data of a call that cancels an authorization. */
export async function cancelData(signer: Signer, nonce: string, { abi }: Token): Promise<string> {
  const authorizer = await signer.getAddress();
  const signature = await signer.signTypedData(DOMAIN, CANCEL_TYPES, { authorizer, nonce });
  return abi.encodeFunctionData('cancelAuthorization', [authorizer, nonce, signature]);
}

/** Returns a PAYMENT-SIGNATURE header. */
export function paymentHeader(
  payload: object,
  { id, accepted = {} }: { readonly id?: string; readonly accepted?: object } = {},
): string {
  const payment = {
    x402Version: 2,
    payload,
    accepted: {
      ...{ scheme: 'exact', network: NETWORK, amount: String(PRICE), asset: USDC, payTo: PAY_TO },
      ...{ maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
      ...accepted,
    },
    ...(id === undefined ? {} : { extensions: { 'payment-identifier': { info: { required: false, id } } } }),
  };
  return Buffer.from(JSON.stringify(payment)).toString('base64');
}

export const decoded = <T>(header: string | null): T =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString('utf8')) as T;
export const requiredOf = (response: Response): PaymentRequired =>
  decoded(response.headers.get('PAYMENT-REQUIRED'));

export interface Payments {
  readonly store: AuthorizedPayments;
  readonly settlement: AuthorizationSettlement;
  readonly payPerCall: PayPerCall;
  readonly gasless: InvoiceAuthorizations;
  faults(): Promise<readonly string[]>;
  /** Ends the work without a trace, like a kill: nothing of a request is completed. */
  stop(): Promise<void>;
}

export interface PaymentsOptions {
  readonly folder: string;
  readonly anvil: Anvil;
  readonly access: Access;
  readonly lists: { readonly sanctioned: Set<string>; stale: string | null };
  readonly relay?: Partial<RelayOptions>;
  readonly openStore?: OpenStore;
  readonly leases?: Leases;
  /** Of the invoices that are paid without gas. Default: there are none. */
  readonly billing?: Billing;
  readonly waitMs?: number;
  readonly patienceMs?: number;
  /** Default: that of `anvil`. */
  readonly nodeUrl?: string;
  /** Default: transactions are sent. */
  readonly isIdle?: boolean;
}

/** Opens the service. Opening it again on the same folder is a restart. */
export async function openPayments({
  folder,
  anvil,
  access,
  lists,
  relay = {},
  openStore = openLiveStore,
  leases = createEmbeddedLeases(),
  billing,
  waitMs = 10_000,
  patienceMs = 60_000,
  nodeUrl = anvil.url,
  isIdle = false,
}: PaymentsOptions): Promise<Payments> {
  mkdirSync(folder, { recursive: true });
  const store = new AuthorizedPayments(join(folder, 'authorized-payments.mdb'), openStore);
  await store.ready();
  const tokens = [{ chain: 'BASE', asset: USDC }] as const;
  const deps = { clock: systemClock, log: silentLogger, store: () => store };
  const settlement = new AuthorizationSettlement(
    { relay: { ...RELAY_OPTIONS, ...relay }, tokens, waitMs, patienceMs },
    {
      ...{ ...deps, leases },
      screen: payerScreening((_, address) => ({
        sanctioned: lists.sanctioned.has(address),
        lists: ['OFAC'],
        stale: lists.stale,
      })),
      node: (chain) =>
        openChainNode(chain, nodeUrl, { clock: systemClock, log: silentLogger, jitter: () => 0.5 }),
    },
  );
  const payPerCall = new PayPerCall(
    { payTo: PAY_TO, tokens },
    {
      ...{ ...deps, settlement, packages: readPackages() },
      ledger: (actor) => auditBookings(access.ledger(), () => access.audit(), actor, { log: silentLogger }),
    },
  );
  const gasless = new InvoiceAuthorizations(tokens, {
    ...{ ...deps, settlement },
    billing: () => {
      if (billing === undefined) throw new Error('There are no invoices.');
      return billing;
    },
  });
  if (!isIdle) {
    settlement.start();
    payPerCall.start();
  }
  return {
    ...{ store, settlement, payPerCall, gasless },
    async faults() {
      await payPerCall.sweep();
      return (await verifyAuthorized(store, access.ledger(), billing?.store() ?? { get: () => null })).faults;
    },
    async stop() {
      await payPerCall.stop();
      await settlement.close();
      await store.close();
    },
  };
}

/** Returns a payer with tokens. */
export async function newPayer(token: Token, value = 100n * PRICE): Promise<Wallet> {
  const wallet = new Wallet(hexlify(randomBytes(32)));
  await token.mint(wallet.address, value);
  return wallet;
}

/** The leases of one node, in the Redis of its state. Its connection ends with the process. */
export const redisLeases = ({ url }: LiveState, nodeId: string): Leases =>
  createRedisLeases(
    { nodeId },
    {
      ...{ clock: systemClock, log: silentLogger },
      redis: openRedis(parseRedisUrl(url), { log: silentLogger }),
    },
  );

/** Signs typed data as a wallet does: from its JSON text. */
export async function signTyped(
  signer: Signer,
  { typedData }: Pick<AuthorizationToSign, 'typedData'>,
): Promise<string> {
  const { domain, types, message } = JSON.parse(typedData) as {
    readonly domain: object;
    readonly types: Record<string, { name: string; type: string }[]>;
    readonly message: object;
  };
  const { EIP712Domain: _, ...own } = types;
  return signer.signTypedData(domain, own, message);
}

/** Returns the call by which any sender uses an authorization. */
export const useData = (
  { abi }: Pick<Token, 'abi'>,
  { from, to, value, validAfter, validBefore, nonce }: Signed,
  signature: string,
): string =>
  abi.encodeFunctionData('transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)', [
    from,
    to,
    value,
    validAfter,
    validBefore,
    nonce,
    signature,
  ]);
