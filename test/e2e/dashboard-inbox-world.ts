/** A server with real stores of monitoring and cases in this process, so that tests raise alerts as a listener of a chain does. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Plans, readPlans } from '../../src/accounts/plans.ts';
import { linkedRecords } from '../../src/app/case-services.ts';
import { walletBilling } from '../../src/app/wallet-billing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCases } from '../../src/cases/cases.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';
import type { AlertTransaction, MonitoredWallet, Severity } from '../../src/monitoring/records.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { openWorld, type World } from '../http/world.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { HOSTILE_NAMES, PASSWORD } from './dashboard-world.ts';

/** Alerts of one transaction of the store: its limit is in bytes. */
const RAISED_AT_ONCE = 1_000;
const SEVERITIES: readonly Severity[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

export interface InboxWorld {
  readonly world: World;
  readonly accountId: string;
  /** Value of the session cookie of the first person. */
  readonly session: string;
  /** Key of another person of the same account. */
  readonly otherKey: string;
  readonly monitoring: ReturnType<typeof openedMonitoring>;
  /** Adds a wallet that costs nothing, and returns its id. */
  watch(n: number, label: string | null, webhook?: string): Promise<string>;
  /** Raises alerts `Payment 1`, `Payment 2`, … of a wallet. */
  raise(walletId: string, count: number): Promise<void>;
  /** A receiver of webhooks that counts what it receives. */
  readonly hook: { readonly url: string; readonly received: number };
  end(): Promise<void>;
}

/** The rate limits are those of a plan that raises them: the test is faster than a person. */
function fastPlans(): Plans {
  const plans = readPlans();
  const { FREE } = plans;
  return { ...plans, FREE: { ...FREE, rateLimits: { ...FREE.rateLimits, monitoring: 100_000 } } };
}

const transactionOf = (n: number): AlertTransaction => ({
  hash: `0x${n.toString(16).padStart(64, '0')}`,
  blockNumber: 20_000_000 + n,
  direction: n % 2 === 0 ? 'in' : 'out',
  counterparty: {
    address: `0x${(0xc0 + n).toString(16).padStart(40, '0')}`,
    entity: {
      name: HOSTILE_NAMES[n % HOSTILE_NAMES.length] as string,
      category: 'MIXER',
      threatLevel: 'CRITICAL',
    },
  },
  asset: n % 7 === 0 ? 'USDT' : 'ETH',
  amount: `${n}.5`,
  decimals: 18,
  amountUsd: n % 5 === 0 ? null : n * 3_000,
  timestampMs: Date.UTC(2026, 9, 1),
});

/** Opens the world. The caller ends it. */
export async function openInboxWorld(plans: Plans = fastPlans()): Promise<InboxWorld> {
  const folder = tempFolder();
  const monitoring = openedMonitoring(folder.path, { billing: walletBilling(() => world.access.ledger()) });
  const { store } = monitoring.service;
  const caseStore = openCaseStore({ path: join(folder.path, 'cases.mdb') }, { clock: systemClock });
  const cases = createCases(
    { fourEyes: true },
    {
      store: caseStore,
      clock: systemClock,
      random: systemRandom,
      records: linkedRecords({
        monitoring: () => monitoring.service,
        savedScreenings: () => {
          throw new Error('These tests save no screenings.');
        },
      }),
    },
  );
  const world = await openWorld({
    backend: 'uws',
    plans,
    useCases: {
      monitoring: () => monitoring.service,
      cases: () => cases,
      // The dashboard then shows screenings without a receipt.
      receipts: () => {
        throw new AssayError('NOT_READY', 'Receipts cannot be signed in this world.');
      },
    },
  });
  const people = world.access.people();
  const { id: accountId, email } = await people.create('ann@example.org', PASSWORD, 'FREE');
  const { token } = await people.login(email, PASSWORD, '127.0.0.1');
  const hook = { url: '', received: 0 };
  const receiver: Server = createServer((_request, response) => {
    hook.received++;
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  hook.url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  monitoring.start({ follows: true, sends: true, bills: false });
  let raised = 0;
  return {
    world,
    accountId,
    session: token,
    otherKey: await world.key({ accountId }),
    monitoring,
    hook,
    async watch(n, label, webhook) {
      const draft = {
        accountId,
        chain: 'ETH',
        walletAddress: `0x${n.toString(16).padStart(40, '0')}`,
        label,
        riskScore: 80,
        riskLevel: 'HIGH',
        assessed: true,
        enabledRules: ['MIXING-001', 'SANCTIONS-001'],
        customWebhookUrl: webhook ?? null,
        alertThreshold: 'all',
        alertFrequency: 'realtime',
        notes: null,
        watchFromHeight: null,
      } as const;
      return (await store.addWallet(draft, 10_000)).id;
    },
    async raise(walletId, count) {
      for (let done = 0; done < count; done += RAISED_AT_ONCE)
        await store.write((writer) => {
          const wallet = writer.wallet(accountId, walletId) as MonitoredWallet;
          for (let n = 0; n < Math.min(RAISED_AT_ONCE, count - done); n++) {
            raised++;
            const facts = {
              ruleId: 'MIXING-001',
              ruleName: 'Mixing',
              severity: SEVERITIES[raised % SEVERITIES.length] as Severity,
              title: `Payment ${raised}`,
              message: `A mixer paid this wallet: ${HOSTILE_NAMES[raised % HOSTILE_NAMES.length]}`,
              category: 'MIXER',
              riskType: 'COUNTERPARTY',
              transaction: transactionOf(raised),
              final: true,
            } as const;
            writer.raise(wallet, facts, `cause ${raised}`, null);
          }
        });
    },
    async end() {
      await world.close();
      await monitoring.close();
      await caseStore.close();
      await new Promise((resolve) => receiver.close(resolve));
      folder.remove();
    },
  };
}
