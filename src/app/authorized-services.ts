/** Creates payments by a signed authorization: pay per call, and invoices without gas, over the chains, lists and accounts of this installation. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Access } from '../accounts/access.ts';
import { auditBookings } from '../accounts/audit.ts';
import { readPackages } from '../accounts/credits.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { systemJitter } from '../base/random.ts';
import { type Retention, startRetention } from '../base/retention.ts';
import { payerScreening, type ScreenPayers } from '../billing/crypto/payer.ts';
import { readTerms } from '../billing/crypto/terms.ts';
import { deriveAddress, readWatchOnlyKey } from '../billing/crypto/watch-only-key.ts';
import type { Billing } from '../billing/service.ts';
import { GasAccounts } from '../billing/x402/gas-accounts.ts';
import { InvoiceAuthorizations } from '../billing/x402/invoice-authorizations.ts';
import { X402_LIMITS } from '../billing/x402/limits.ts';
import { PayPerCall } from '../billing/x402/pay-per-call.ts';
import { addressOfKey, type RelayOptions } from '../billing/x402/relay.ts';
import { AuthorizationSettlement, type TokenPlace } from '../billing/x402/settlement.ts';
import { AuthorizedPayments } from '../billing/x402/store.ts';
import { openChainNode } from '../billing/x402/token.ts';
import { type ChainId, chainOf, isEvm, parseChainId } from '../chains/registry.ts';
import type { Config } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { createAttestedSanctionsCheck } from '../screening/sanctions-check.ts';
import type { Shared } from './node-services.ts';
import type { ScreeningServices } from './screening-services.ts';

const OTHERS = 0o077;
const PRIVATE_KEY = /^(?:0x)?([0-9a-fA-F]{64})$/;
const GWEI_DECIMALS = 9;

const refuse = (field: string, text: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${field}: ${text}`, { field });

/** Returns a decimal text in its smallest unit. */
function unitsOf(text: string, decimals: number): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0').slice(0, decimals));
}

/** Reads the key of the gas-paying account. An error never repeats it. */
function readRelayKey({ relayKey, relayKeyFile }: Config['authorizedPayments']): string {
  const { variable: fileVariable } = SETTINGS.relayKeyFile;
  if (relayKey !== null && relayKeyFile !== null)
    throw refuse(fileVariable, `must not be set together with ${SETTINGS.relayKey.variable}.`);
  if (relayKey !== null) return relayKey;
  if (relayKeyFile === null)
    throw refuse(
      fileVariable,
      `must be set, or ${SETTINGS.relayKey.variable}: payments need an account that pays gas.`,
    );
  let text: string;
  try {
    const { mode } = statSync(relayKeyFile);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw refuse(fileVariable, 'the file must be readable by its owner only (chmod 600).');
    text = readFileSync(relayKeyFile, 'utf8');
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw refuse(fileVariable, `cannot be read (${messageOf(error)}).`);
  }
  const digits = PRIVATE_KEY.exec(text.trim())?.[1];
  if (digits === undefined) throw refuse(fileVariable, 'the file must have 64 hexadecimal digits.');
  return `0x${digits}`;
}

/** Returns USDC on the chains of a setting, each of which must have a node of the operator. */
function tokensOf(
  names: readonly string[],
  rpc: Readonly<Record<string, string>>,
  field: string,
): readonly TokenPlace[] {
  const { assets } = readTerms();
  const usdc = assets.filter(({ symbol, chain }) => symbol === 'USDC' && isEvm(chain));
  return names.map((name) => {
    const token = usdc.find(({ chain }) => chain === name);
    if (token === undefined)
      throw refuse(
        field,
        `must be one of ${usdc.map(({ chain }) => chain).join(', ')} (got "${name.slice(0, 16)}").`,
      );
    if ((rpc[name] ?? '').trim() === '')
      throw refuse(field, `needs ASSAY_RPC_${name}: payments are sent by a node that you have chosen.`);
    return { chain: parseChainId(name), asset: token.asset };
  });
}

/** The services of payments by a signed authorization. */
export class AuthorizedServices {
  readonly store: AuthorizedPayments;
  readonly settlement: AuthorizationSettlement;
  /** Null if single requests are not paid. */
  readonly payPerCall: PayPerCall | null;
  /** Null if invoices are not paid by a signature. */
  readonly gasless: InvoiceAuthorizations | null;
  readonly gasAccounts: GasAccounts;
  readonly #deps: Pick<AuthorizedServicesDeps, 'clock' | 'log'>;
  #retention: Retention | null = null;

  constructor(
    parts: Pick<AuthorizedServices, 'store' | 'settlement' | 'payPerCall' | 'gasless' | 'gasAccounts'>,
    deps: Pick<AuthorizedServicesDeps, 'clock' | 'log'>,
  ) {
    this.#deps = deps;
    this.store = parts.store;
    this.settlement = parts.settlement;
    this.payPerCall = parts.payPerCall;
    this.gasless = parts.gasless;
    this.gasAccounts = parts.gasAccounts;
  }

  /** Sends and follows payments, as soon as the store has the data of the other nodes. */
  async start(): Promise<void> {
    this.gasAccounts.start();
    await this.store.ready();
    this.settlement.start();
    this.payPerCall?.start();
    this.#retention = startRetention(
      { days: X402_LIMITS.keptDays, what: 'authorized payments', atOnce: X402_LIMITS.deletedAtOnce },
      {
        ...this.#deps,
        deleteBefore: (beforeMs, limit) => this.store.deleteBefore(beforeMs, limit),
        // Their purchases and charges stay in the ledger and in the audit log.
        onDeleted: async () => {},
      },
    );
  }

  async stop(): Promise<void> {
    await this.#retention?.stop();
    await this.gasAccounts.stop();
    await this.settlement.stop();
    await this.payPerCall?.stop();
  }

  /** Ends the work, and closes the connections to nodes. The store has its own closer. */
  async close(): Promise<void> {
    await this.stop();
    await this.settlement.close();
  }
}

export interface AuthorizedServicesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly access: Access;
  readonly billing: () => Billing;
  readonly shared: () => Shared;
  readonly screening: ScreeningServices;
  readonly store: () => AuthorizedPayments;
}

/** Opens the store of payments by a signed authorization. */
export const openAuthorizedPayments = (
  { dataDir }: Pick<Config, 'dataDir'>,
  shared: () => Pick<Shared, 'openStore'>,
): AuthorizedPayments => new AuthorizedPayments(join(dataDir, 'authorized-payments.mdb'), shared().openStore);

/** Screens payers by the lists of this installation. */
function screenOf(screening: ScreeningServices): ScreenPayers {
  let check: ReturnType<typeof createAttestedSanctionsCheck> | null = null;
  return payerScreening((chain, address) => {
    check ??= createAttestedSanctionsCheck(screening.deps());
    const { answer, evidence } = check(chain, address);
    const stale = evidence.staleReason?.message ?? null;
    return { sanctioned: answer.sanctioned, lists: answer.lists.map(({ list }) => list), stale };
  });
}

/** Whether a setting asks for payments by a signed authorization. */
export const hasAuthorizedPayments = ({ authorizedPayments }: Pick<Config, 'authorizedPayments'>): boolean =>
  authorizedPayments.callChains.length > 0 || authorizedPayments.gaslessChains.length > 0;

/**
 * Checks that invoices are not paid to the gas-paying account: with the first account of the same wallet, the money of customers would lie at
 * an address whose key is on this server.
 *
 * @param relay - address, lower case
 * @param paymentKey - ASSAY_PAYMENT_KEY_EVM; null if it is not set
 * @throws INVALID_CONFIG
 */
function refuseInvoiceAddress(relay: string, paymentKey: string | null): void {
  if (paymentKey === null) return;
  const { variable } = SETTINGS.paymentKeyEvm;
  const key = readWatchOnlyKey('ETH', paymentKey, variable);
  for (let index = 0; index < X402_LIMITS.relayIndexesMax; index++)
    if (deriveAddress('ETH', key, index).toLowerCase() === relay)
      throw refuse(
        variable,
        `must not be of the same account as the gas-paying account, which is its address ${index}. Its key is on this server: use a key of another wallet.`,
      );
}

/**
 * Checks the settings, so that a mistake is reported at the start.
 *
 * @throws INVALID_CONFIG naming the setting
 */
export async function checkAuthorizedPayments(
  config: Pick<Config, 'authorizedPayments' | 'chains' | 'paymentKeys'>,
): Promise<void> {
  const { callChains, gaslessChains, payTo } = config.authorizedPayments;
  const { rpc } = config.chains.endpoints;
  tokensOf(callChains, rpc, SETTINGS.x402Chains.variable);
  tokensOf(gaslessChains, rpc, SETTINGS.gaslessChains.variable);
  if (gaslessChains.length > 0 && config.paymentKeys.EVM === null)
    throw refuse(
      SETTINGS.gaslessChains.variable,
      `needs ${SETTINGS.paymentKeyEvm.variable}: invoices are paid to addresses of that key.`,
    );
  const relay = await addressOfKey(readRelayKey(config.authorizedPayments));
  refuseInvoiceAddress(relay, config.paymentKeys.EVM);
  if (callChains.length === 0) return;
  if (payTo === null)
    throw refuse(SETTINGS.x402Address.variable, `must be set: ${SETTINGS.x402Chains.variable} needs it.`);
  if (relay === payTo.toLowerCase())
    throw refuse(
      SETTINGS.x402Address.variable,
      'must not be the gas-paying account: its key is on this server, and customers must not pay into it.',
    );
}

/** Creates the services; nothing is sent before `start`. */
export function authorizedServicesOf(
  config: Pick<Config, 'authorizedPayments' | 'chains'>,
  { clock, log, access, billing, shared, screening, store }: AuthorizedServicesDeps,
): AuthorizedServices {
  const { authorizedPayments: of, chains } = config;
  const { rpc } = chains.endpoints;
  const ofCalls = tokensOf(of.callChains, rpc, SETTINGS.x402Chains.variable);
  const ofInvoices = tokensOf(of.gaslessChains, rpc, SETTINGS.gaslessChains.variable);
  const others = ofInvoices.filter(({ chain }) => !ofCalls.some((one) => one.chain === chain));
  const relay: RelayOptions = {
    privateKey: readRelayKey(of),
    confirmations: of.confirmations,
    feeMax: unitsOf(of.relayMaxFeeGwei, GWEI_DECIMALS),
    balanceMax: unitsOf(of.relayBalanceMax, chainOf('ETH').decimals),
  };
  const settlement = new AuthorizationSettlement(
    { relay, tokens: [...ofCalls, ...others] },
    {
      ...{ clock, log, store, leases: shared().leases, screen: screenOf(screening) },
      node: (chain: ChainId) => openChainNode(chain, rpc[chain] ?? '', { clock, log, jitter: systemJitter }),
    },
  );
  const { payTo } = of;
  const payPerCall =
    ofCalls.length === 0 || payTo === null
      ? null
      : new PayPerCall(
          { payTo, tokens: ofCalls },
          {
            ...{ clock, log, store, settlement, packages: readPackages() },
            ledger: (actor) => auditBookings(access.ledger(), () => access.audit(), actor, { log }),
          },
        );
  const gasless =
    ofInvoices.length === 0
      ? null
      : new InvoiceAuthorizations(ofInvoices, { clock, log, store, settlement, billing });
  const chainIds = [...ofCalls, ...others].map(({ chain }) => chain);
  const gasAccounts = new GasAccounts(chainIds, relay, { clock, log, settlement });
  return new AuthorizedServices(
    { store: store(), settlement, payPerCall, gasless, gasAccounts },
    { clock, log },
  );
}
