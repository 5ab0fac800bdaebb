/** Creates the service of billing over the accounts of this installation. */
import { join } from 'node:path';
import type { Access } from '../accounts/access.ts';
import { auditBookings } from '../accounts/audit.ts';
import { readPackages } from '../accounts/credits.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { createBilling } from '../billing/billing.ts';
import type { CryptoPayments } from '../billing/crypto/crypto-payments.ts';
import type { Billing } from '../billing/service.ts';
import { createCardCheckouts } from '../billing/stripe.ts';
import { createWire } from '../billing/wire/method.ts';
import type { Config } from '../config/config.ts';
import type { OpenStore } from '../state/live-store.ts';

export interface BillingServicesDeps {
  readonly access: Access;
  /** Opens stores that nodes share. */
  readonly openStore: OpenStore;
  /** URL of this service in a browser; null if it is not known. */
  readonly publicUrl: () => string | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Payments in cryptocurrency; null if no key is configured. */
  readonly cryptoPayments: () => CryptoPayments | null;
}

/** Returns the service of billing. Bookings are in the audit log. */
export function billingOf(
  config: Pick<Config, 'dataDir' | 'stripe' | 'seller' | 'bankAccount' | 'paymentToleranceBasisPoints'>,
  { access, openStore, publicUrl, clock, random, log, cryptoPayments }: BillingServicesDeps,
): Billing {
  const { dataDir, stripe, seller, bankAccount, paymentToleranceBasisPoints } = config;
  const { keys, audit, ledger, planOf } = access;
  const toleranceBasisPoints = paymentToleranceBasisPoints;
  return createBilling(
    {
      invoicesPath: join(dataDir, 'invoices.mdb'),
      paymentsPath: join(dataDir, 'accounts', 'payments.mdb'),
      stripeSecret: stripe.webhookSecret,
      seller,
    },
    {
      ...{ clock, random, log },
      packages: readPackages(),
      checkouts: stripe.api === null ? null : createCardCheckouts(stripe.api),
      methods: ({ invoices }) => {
        const crypto = cryptoPayments();
        const wire =
          bankAccount === null
            ? null
            : createWire({ account: bankAccount, toleranceBasisPoints }, { clock, invoices });
        return [crypto?.method ?? null, wire].filter((method) => method !== null);
      },
      ledger: (actor) => auditBookings(ledger(), audit, actor, { log }),
      accountExists: (accountId) => keys.planOf(accountId) !== null,
      accounts: () => [
        ...keys.list().map(({ accountId }) => accountId),
        ...access
          .people()
          .list()
          .map(({ id }) => id),
      ],
      freeCredits: (accountId) => planOf(accountId).creditsPerMonth,
      ...{ publicUrl, openStore },
    },
  );
}
