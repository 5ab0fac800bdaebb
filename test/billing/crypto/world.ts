/** Billing with payments in cryptocurrency over given adapters, for tests: real stores and a real ledger, prices and lists of the test. */
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { Mnemonic } from 'ethers';
import { type Access, createAccess } from '../../../src/accounts/access.ts';
import { auditBookings } from '../../../src/accounts/audit.ts';
import { readPackages } from '../../../src/accounts/credits.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { createBilling } from '../../../src/billing/billing.ts';
import { CryptoPayments, readCryptoKeys } from '../../../src/billing/crypto/crypto-payments.ts';
import { payerScreening } from '../../../src/billing/crypto/payer.ts';
import { type PaymentTerms, readTerms } from '../../../src/billing/crypto/terms.ts';
import type { Invoice } from '../../../src/billing/records.ts';
import type { Billing } from '../../../src/billing/service.ts';
import type { ChainAdapter } from '../../../src/chains/families/port.ts';
import type { ChainId } from '../../../src/chains/registry.ts';
import type { WatchedAddresses } from '../../../src/chains/watched-addresses.ts';
import type { Leases } from '../../../src/state/leases.ts';
import { type OpenStore, openLiveStore } from '../../../src/state/live-store.ts';
import { SELLER } from '../opened.ts';

const root = HDKey.fromMasterSeed(
  Buffer.from(
    Mnemonic.fromPhrase(`${'abandon '.repeat(11)}about`)
      .computeSeed()
      .slice(2),
    'hex',
  ),
);
const xpub = (path: string): string => root.derive(path).publicExtendedKey;
export const SOL_ADDRESS = 'BSUzjDPUJVfb5JibqMSZxJ2aVRvuSkVTFbPEDs93skUD';
export const KEYS = {
  BTC: xpub("m/44'/0'/0'"),
  LTC: xpub("m/44'/2'/0'"),
  DOGE: xpub("m/44'/3'/0'"),
  BCH: xpub("m/44'/145'/0'"),
  EVM: xpub("m/44'/60'/0'"),
  TRON: xpub("m/44'/195'/0'"),
  SOL: SOL_ADDRESS,
};

export interface CryptoWorld {
  readonly access: Access;
  readonly billing: Billing;
  readonly crypto: CryptoPayments;
  /** USD by currency symbol or contract; a missing one has no rate. */
  readonly usd: Record<string, number>;
  readonly sanctioned: Set<string>;
  stale: string | null;
  order(currency: string, accountId?: string): Promise<Invoice>;
  invoice(of: Invoice): Invoice;
  /** Sum of the credits that the account bought. */
  credits(accountId?: string): Promise<number>;
  /** Sweeps and verifies; returns the faults. */
  faults(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface CryptoWorldOptions {
  readonly folder: string;
  readonly adapters: Partial<Record<ChainId, ChainAdapter>>;
  readonly terms?: Partial<PaymentTerms>;
  readonly clock?: Clock;
  readonly openStore?: OpenStore;
  readonly accounts?: readonly string[];
  readonly known?: readonly string[];
  readonly addresses?: WatchedAddresses;
  readonly leases?: Leases;
  readonly patienceMs?: number;
}

/** Opens the world. Opening it again on the same folder is a restart. */
export async function openCryptoWorld({
  folder,
  adapters,
  terms = {},
  clock = systemClock,
  openStore = openLiveStore,
  accounts = ['acc_1'],
  known = [],
  addresses,
  ...more
}: CryptoWorldOptions): Promise<CryptoWorld> {
  const usd: Record<string, number> = { ETH: 2_000, BTC: 60_000, LTC: 80, DOGE: 0.1, BCH: 400, SOL: 150 };
  const sanctioned = new Set<string>();
  const access = createAccess(
    { folder: join(folder, 'accounts') },
    { clock, random: systemRandom, log: silentLogger, freeCredits: () => 0 },
  );
  for (const id of accounts) if (access.keys.planOf(id) === null) await access.keys.addAccount(id, 'FREE');
  let crypto: CryptoPayments | null = null;
  const billing = createBilling(
    {
      invoicesPath: join(folder, 'invoices.mdb'),
      paymentsPath: join(folder, 'accounts', 'payments.mdb'),
      ...{ stripeSecret: null, seller: SELLER },
    },
    {
      ...{
        clock,
        random: systemRandom,
        log: silentLogger,
        packages: readPackages(),
        checkouts: null,
        openStore,
      },
      methods: () => (crypto === null ? [] : [crypto.method]),
      ledger: (actor) => auditBookings(access.ledger(), access.audit, actor, { log: silentLogger }),
      ...{ accountExists: () => true, freeCredits: () => 0, publicUrl: () => null },
    },
  );
  const keys = readCryptoKeys(KEYS);
  if (keys === null) throw new Error('no keys');
  const world = { stale: null as string | null };
  const payments = new CryptoPayments(
    { path: join(folder, 'payment-watch.mdb'), keys },
    {
      ...{ clock, random: systemRandom, log: silentLogger, openStore },
      ...(addresses === undefined ? {} : { addresses }),
      ...more,
      invoices: () => billing.store(),
      settlement: () => billing.settlement(),
      prices: () => ({
        usdAt: ({ asset }, timestampMs) => {
          const price = usd[asset];
          return price === undefined
            ? null
            : { usd: price, atMs: timestampMs - 60_000, status: 'EXACT', source: 'own' };
        },
      }),
      screen: payerScreening((_, address) => ({
        sanctioned: sanctioned.has(address),
        lists: ['OFAC'],
        stale: world.stale,
      })),
      isKnownAsset: (_, asset) => !asset.startsWith('0x') || known.includes(asset),
      adapter: async (chain) => adapters[chain] ?? null,
      isConfigured: (chain) => adapters[chain] !== undefined,
      isOwn: () => true,
      terms: { ...readTerms(), ...terms },
    },
  );
  crypto = payments;
  return Object.assign(world, {
    ...{ access, billing, usd, sanctioned, crypto: payments },
    order: (currency: string, accountId = 'acc_1') =>
      billing.order({ accountId, personId: 'per_ann' }, { method: 'CRYPTO', currency, package: 'Starter' }),
    invoice: (of: Invoice) => billing.invoice(of.accountId, of.id),
    async credits(accountId = 'acc_1') {
      return (await access.ledger().usage(accountId, { limit: 1 })).balance;
    },
    async faults() {
      await billing.sweep();
      return (await billing.verify()).faults;
    },
    async close() {
      await payments.close();
      await billing.close();
      await access.close();
    },
  });
}

/** Waits until a condition holds, or fails with what `shown` returns. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  shown: () => unknown,
  ms = 120_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`did not happen: ${JSON.stringify(shown(), null, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
