/** A server with real accounts and monitoring, jobs in a folder and a mailbox: every operation succeeds on it. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PERMISSIONS } from '../../src/accounts/keys.ts';
import { RATE_CLASSES } from '../../src/accounts/plans.ts';
import { walletBilling } from '../../src/app/wallet-billing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Email } from '../../src/base/mail.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { InvoiceAuthorizations } from '../../src/billing/x402/invoice-authorizations.ts';
import { type InvoicePaymentAuthorization, queued } from '../../src/billing/x402/records.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { MonitoredWallet } from '../../src/monitoring/records.ts';
import { ReceiptBatches } from '../../src/receipts/batches.ts';
import { createReceipts } from '../../src/receipts/receipts.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { testWire } from '../billing/opened.ts';
import {
  eventOf,
  paid,
  type StandInSession,
  signatureOf,
  startStripe,
  WEBHOOK_SECRET,
} from '../billing/stripe-stand-in.ts';
import { openedCases } from '../cases/opened.ts';
import { openWorld } from '../http/world.ts';
import { folderJobs } from '../http/world-jobs.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { entriesOf, openLog } from '../receipts/log/world.ts';
import { storeAt } from '../receipts/world.ts';
import { openedSaved } from '../saved-screenings/opened.ts';
import { testKey } from '../setup/verdicts.ts';
import { until } from '../support/wait.ts';

/** Rate limits that no test reaches. */
const GENEROUS = Object.fromEntries(RATE_CLASSES.map((name) => [name, 1_000_000]));

/** A signed authorization that is kept, without a chain: test/e2e/gasless.test.ts pays through the SDKs. */
function keptAuthorizations(): InvoiceAuthorizations {
  const kept: InvoicePaymentAuthorization[] = [];
  const authorization = {
    ...{ from: addressOf(1), to: addressOf(2), value: '1', validAfter: '0', validBefore: '1' },
    nonce: `0x${'ab'.repeat(32)}`,
  };
  const port: Pick<InvoiceAuthorizations, 'currencies' | 'toSign' | 'pay' | 'list'> = {
    currencies: () => [],
    toSign: async (_, __, payer) => ({
      ...{ part: 1, typedData: '{}' },
      authorization: { ...authorization, from: payer },
    }),
    async pay(accountId, invoiceId, signed) {
      const payment: InvoicePaymentAuthorization = {
        ...{ kind: 'invoice', key: invoiceId, chain: 'BASE', asset: addressOf(3), createdAtMs: 0, part: 1 },
        ...{ accountId, invoiceId, authorization: signed, transfer: queued(1) },
      };
      kept.push(payment);
      return payment;
    },
    list: (_, id) => kept.filter(({ invoiceId }) => invoiceId === id),
  };
  return port as InvoiceAuthorizations;
}

/** A webhook as it arrived. */
export interface ReceivedHook {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export type SdkWorld = Awaited<ReturnType<typeof openSdkWorld>>;

export async function openSdkWorld() {
  const folder = tempFolder();
  const letters: Email[] = [];
  const hooks: ReceivedHook[] = [];
  const receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      hooks.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const stripe = await startStripe();
  const jobs = folderJobs(folder.path);
  const monitoring = openedMonitoring(folder.path, {
    billing: walletBilling(() => world.access.ledger()),
    dutyOf: () => new Map(),
  });
  monitoring.start();
  const { store: caseStore, cases } = openedCases(folder.path);
  const { store: savedStore, saved } = openedSaved(folder.path, () => world.access.ledger());
  const receiptLog = await openLog(folder.path, { checkpointMs: 0 });
  await receiptLog.log.append(entriesOf(0, 3));
  const receiptStore = storeAt(join(folder.path, 'receipts.mdb'), { now: Date.now });
  await receiptStore.keys.active();
  const receipts = createReceipts(
    { softwareVersion: '1.0.0' },
    {
      store: receiptStore,
      policy: loadPolicy(loadTaxonomy().rows),
      lists: () => [],
      issuer: () => 'urn:assay:test',
      log: () => receiptLog.log,
      verdictKey: async () => testKey(0xa55a),
      clock: systemClock,
      random: systemRandom,
    },
  );
  const batches = new ReceiptBatches({
    receipts: () => receipts,
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });
  const authorizations = keptAuthorizations();
  const world = await openWorld({
    backend: 'uws',
    gasless: () => authorizations,
    billing: { stripeSecret: WEBHOOK_SECRET, apiUrl: stripe.url, methods: testWire },
    people: { registration: 'open', mailer: { send: async (letter) => void letters.push(letter) } },
    useCases: {
      monitoring: () => monitoring.service,
      jobs: () => jobs,
      cases: () => cases,
      savedScreenings: () => saved,
      receiptLog: () => receiptLog.log,
      receipts: () => receipts,
      receiptBatches: () => batches,
    },
  });
  let accounts = 0;
  return {
    url: world.url,
    port: world.port,
    access: world.access,
    jobs,
    /** Pays the newest checkout, as Stripe reports it. */
    async pay(): Promise<void> {
      const event = eventOf('checkout.session.completed', paid(stripe.sessions.at(-1) as StandInSession));
      await world.billing.payments()?.receive(Buffer.from(event), signatureOf(event, Date.now()));
    },
    hooks,
    hookUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
    /** Creates an account with a billion credits, and returns it with a key that may do everything. */
    async account() {
      const accountId = `sdk-${++accounts}`;
      const options = { permissions: PERMISSIONS, rateLimits: GENEROUS, plan: 'SELF_HOSTED' } as const;
      return { accountId, apiKey: await world.key({ ...options, accountId }) };
    },
    /** Returns the token of the newest email to an address, as soon as there are `count` to it. */
    async mailedToken(to: string, count = 1): Promise<string> {
      const own = () => letters.filter((letter) => letter.to === to);
      await until(() => own().length >= count, `email ${count} to ${to}`);
      return /^[\w-]{43}$/m.exec(own().at(-1)?.text ?? '')?.[0] ?? '';
    },
    /** Raises an alert of a wallet. */
    async raise(accountId: string, walletId: string, cause: string): Promise<void> {
      await monitoring.service.store.write((writer) => {
        writer.raise(
          writer.wallet(accountId, walletId) as MonitoredWallet,
          {
            ruleId: 'MIXING-001',
            ruleName: 'Mixing',
            severity: 'HIGH',
            title: cause,
            message: 'm',
            category: 'MIXER',
            riskType: 'COUNTERPARTY',
            transaction: null,
            final: true,
          },
          cause,
          null,
        );
      });
    },
    async close() {
      await world.close();
      await batches.stop();
      await monitoring.close();
      await caseStore.close();
      await savedStore.close();
      await stripe.close();
      await receiptLog.close();
      await receiptStore.close();
      await new Promise((resolve) => receiver.close(resolve));
      folder.remove();
    },
  };
}

/** Address number `n`. */
export const addressOf = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
