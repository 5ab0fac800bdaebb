/** Billing over the accounts of a folder, for tests of its callers. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Access } from '../../src/accounts/access.ts';
import { auditBookings } from '../../src/accounts/audit.ts';
import { readPackages } from '../../src/accounts/credits.ts';
import type { Ledger } from '../../src/accounts/ledger.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type BillingDeps, createBilling } from '../../src/billing/billing.ts';
import type { Seller } from '../../src/billing/records.ts';
import type { Billing } from '../../src/billing/service.ts';
import { createCardCheckouts } from '../../src/billing/stripe.ts';
import type { BankAccount } from '../../src/billing/wire/details.ts';
import { createWire } from '../../src/billing/wire/method.ts';
import type { OpenStore } from '../../src/state/live-store.ts';

export const SELLER: Seller = {
  name: 'Example <b>AG</b>',
  address: ['Bahnhofstrasse 1', '8001 Zürich'],
  vatId: 'CHE-123.456.789 MWST',
  vatBasisPoints: 810,
  receiptPrefix: 'R-',
};

/** The operator's account of tests. */
export const BANK_ACCOUNT: BankAccount = {
  iban: 'CH9300762011623852957',
  bic: 'KBZHCH22',
  holder: 'Example AG',
  bank: 'Example Bank',
  address: { street: 'Bahnhofstrasse 1', postcode: '8001', town: 'Zürich', country: 'CH' },
};

/** Sells by wire, by the clock of this machine. */
export const testWire: NonNullable<BillingDeps['methods']> = ({ invoices }) => [
  createWire({ account: BANK_ACCOUNT, toleranceBasisPoints: 50 }, { clock: systemClock, invoices }),
];

export interface OpenedBillingOptions {
  readonly stripeSecret?: string | null;
  /** URL of the stand-in; null: no checkouts. */
  readonly apiUrl?: string | null;
  readonly publicUrl?: string | null;
  /** Time for one request to Stripe. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly openStore?: OpenStore;
  readonly seller?: Seller;
  /** Default: none. */
  readonly methods?: BillingDeps['methods'];
  /** Default: a ledger whose bookings are in the audit log. */
  readonly ledger?: () => Pick<Ledger, 'book' | 'usage' | 'balance'>;
}

/** Opens billing in a data folder. The caller closes it before the accounts. */
export function openedBilling(
  folder: string,
  access: Pick<Access, 'keys' | 'ledger' | 'audit'>,
  {
    stripeSecret = null,
    apiUrl = null,
    publicUrl = 'http://127.0.0.1',
    clock = systemClock,
    openStore,
    seller = SELLER,
    ledger,
    timeoutMs,
    methods,
  }: OpenedBillingOptions = {},
): Billing {
  const { keys, audit } = access;
  mkdirSync(join(folder, 'accounts'), { recursive: true });
  return createBilling(
    {
      invoicesPath: join(folder, 'invoices.mdb'),
      paymentsPath: join(folder, 'accounts', 'payments.mdb'),
      stripeSecret,
      seller,
    },
    {
      ...{ clock, random: systemRandom, log: silentLogger, packages: readPackages() },
      checkouts:
        apiUrl === null
          ? null
          : createCardCheckouts({
              ...{ secretKey: 'sk_test_0123456789', apiUrl },
              ...(timeoutMs === undefined ? {} : { timeoutMs }),
            }),
      ledger: ledger ?? ((actor) => auditBookings(access.ledger(), audit, actor, { log: silentLogger })),
      accountExists: (accountId) => keys.planOf(accountId) !== null,
      accounts: () => keys.list().map(({ accountId }) => accountId),
      freeCredits: () => 10,
      ...(methods === undefined ? {} : { methods }),
      publicUrl: () => publicUrl,
      ...(openStore === undefined ? {} : { openStore }),
    },
  );
}
