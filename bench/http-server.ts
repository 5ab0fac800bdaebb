/** The server of the HTTP benchmark: the real front end over a snapshot, with keys of finite limits, in a process of its own. */
import { join } from 'node:path';
import { createAccess } from '../src/accounts/access.ts';
import type { EmbeddedQuotaMeter } from '../src/accounts/quota-lmdb.ts';
import type { AcceptorStores } from '../src/app/acceptor-thread.ts';
import { listStates } from '../src/app/receipt-services.ts';
import { monotonicOriginMs, systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { collectOldObjectsLater } from '../src/base/old-objects.ts';
import { workerUrl } from '../src/base/paths.ts';
import { systemRandom } from '../src/base/random.ts';
import { createInputs } from '../src/exposure/facts.ts';
import { createExposureReader, isStoredIn } from '../src/exposure/reader.ts';
import { openTransferStore } from '../src/graph/store.ts';
import { createHttpApp } from '../src/http/http-app.ts';
import { loadTaxonomy } from '../src/labels/categories.ts';
import { openFreshness } from '../src/labels/freshness.ts';
import { openSnapshotSet } from '../src/labels/index/snapshot-set.ts';
import { POOL_LIMITS } from '../src/pool/limits.ts';
import { createPool } from '../src/pool/pool.ts';
import { ReceiptBatches } from '../src/receipts/batches.ts';
import { createReceipts } from '../src/receipts/receipts.ts';
import { openReceiptStore } from '../src/receipts/store-lmdb.ts';
import { createExchangeStatuses } from '../src/registers/exchange-status.ts';
import { openRegisterStore } from '../src/registers/store.ts';
import { loadPolicy } from '../src/risk/policy.ts';
import { createLabelSetWriter } from '../src/screening/label-set.ts';
import { createAttestedOracle } from '../src/screening/oracle.ts';
import { createOracleWriter } from '../src/screening/oracle-writer.ts';
import {
  createAttestedSanctionsCheck,
  createSanctionsCheckWriter,
} from '../src/screening/sanctions-check.ts';
import { createTransactionSearch } from '../src/screening/transaction-search.ts';
import { openEncryption } from '../src/state/encryption.ts';

export interface BenchServerSettings {
  readonly snapshots: string;
  /** Folder for keys and quotas. Its `transfers` are read in place. */
  readonly state: string;
  readonly keys: number;
  readonly threads: number;
  /** Threads that accept connections. Default: none, so that the main thread does. */
  readonly acceptors?: number;
  /** Credits granted to each account. Default: none. */
  readonly credits?: number;
}

export interface BenchServerReady {
  readonly port: number;
  readonly keys: readonly string[];
}

/** The counters: quota used by all accounts. */
export interface BenchServerCounts {
  readonly oracle: number;
  readonly intel: number;
}

/** Finite, but out of reach. */
const REQUESTS_A_MINUTE = 900_000_000;

/** Returns a service that the benchmark does not have. */
const missing = (sentence: string) => (): never => {
  throw new Error(sentence);
};

async function serve(settings: BenchServerSettings): Promise<void> {
  collectOldObjectsLater();
  const log = createLogger({ level: 'warn' });
  const parts = { clock: systemClock, random: systemRandom, log };
  const { acceptors = 0 } = settings;
  const access = createAccess({ folder: settings.state, isShared: acceptors > 0 }, parts);
  const accounts = Array.from({ length: settings.keys }, (_, index) => `account-${index}`);
  const rateLimits = {
    oracle: REQUESTS_A_MINUTE,
    intel: REQUESTS_A_MINUTE,
    entity: REQUESTS_A_MINUTE,
    screening: REQUESTS_A_MINUTE,
  };
  const created = await Promise.all(
    accounts.map((accountId) =>
      access.keys.create({ name: accountId, accountId, plan: 'BUSINESS', rateLimits }),
    ),
  );
  const { credits } = settings;
  if (credits !== undefined) {
    for (const accountId of accounts)
      await access.ledger().book({ accountId, type: 'GRANT', amount: credits, reference: null });
  }
  const labels = openSnapshotSet(settings.snapshots, { log });
  const freshness = openFreshness({ labelsFolder: settings.state });
  const transfersFolder = join(settings.state, 'transfers');
  const transfers = openTransferStore({ path: transfersFolder, readOnly: true });
  const deps = {
    labels,
    freshness: () => freshness.listFreshness(systemClock.now(), 7),
    policy: loadPolicy(loadTaxonomy().rows),
    clock: systemClock,
  };
  const exposures = createExposureReader(join(settings.state, 'exposure'), {
    clock: systemClock,
    log,
    position: (chain) => transfers.logPosition(chain),
    coverage: (chain) => transfers.coverage(chain),
    isStored: isStoredIn(transfers),
    inputs: createInputs({
      dataVersion: () => labels.current.meta.dataVersion,
      policyVersion: () => deps.policy.version,
      tokensFile: null,
    }),
  });
  const pool = createPool(
    {
      threads: settings.threads,
      niceness: POOL_LIMITS.poolNiceness,
      snapshotsFolder: settings.snapshots,
      labelsFolder: settings.state,
      transfersFolder,
      outputsFolder: join(settings.state, 'outputs'),
      clustersFolder: join(settings.state, 'clusters'),
      namesFolder: join(settings.state, 'names'),
      listMaxAgeDays: 7,
      logLevel: 'warn',
    },
    { log },
  );
  const receipts = createReceipts(
    { softwareVersion: 'bench' },
    {
      store: openReceiptStore(
        { path: join(settings.state, 'receipts.mdb') },
        {
          clock: systemClock,
          encryption: () =>
            openEncryption({ path: join(settings.state, 'installation.key') }, { random: systemRandom }),
        },
      ),
      policy: deps.policy,
      lists: () => listStates(deps.freshness()),
      issuer: () => 'urn:assay:bench',
      log: null,
      verdictKey: () => Promise.reject(new Error('no key of verdicts')),
      clock: systemClock,
      random: systemRandom,
    },
  );
  const batches = new ReceiptBatches({
    receipts: () => receipts,
    ...{ clock: systemClock, random: systemRandom, log },
  });
  const app = createHttpApp(
    {
      backend: 'uws',
      host: '127.0.0.1',
      port: 0,
      tls: null,
      publicHost: 'localhost',
      trustedProxies: [],
      version: 'bench',
    },
    {
      ...parts,
      access,
      useCases: {
        billing: missing('This benchmark sells nothing.'),
        billingStreams: missing('This benchmark sells nothing.'),
        attribution: missing('This benchmark derives no labels.'),
        labelReports: {
          file: missing('This benchmark takes no reports.'),
          list: missing('This benchmark takes no reports.'),
          openCount: missing('This benchmark takes no reports.'),
          labelsOf: missing('This benchmark takes no reports.'),
          decide: missing('This benchmark takes no reports.'),
        },
        labelSet: createLabelSetWriter(deps),
        labelSetVersion: () => labels.current.meta.dataVersion,
        sanctionsCheck: createSanctionsCheckWriter(deps),
        oracle: createOracleWriter({ ...deps, exposures }),
        attestedOracle: createAttestedOracle({ ...deps, exposures }),
        attestedSanctionsCheck: createAttestedSanctionsCheck(deps),
        exchangeStatus: createExchangeStatuses({
          store: openRegisterStore({ dataDir: settings.state }),
          log,
          clock: systemClock,
        }).answerBytes,
        bulk: (body) => pool.runShort('bulk-labels', body),
        screening: (request) => pool.run('screening', { request, facts: {} }),
        kyt: (request) => pool.run('kyt', { request, facts: {} }),
        trace: (request) => pool.run('trace', request),
        transaction: createTransactionSearch({
          clock: systemClock,
          search: (asked) => pool.run('chainTransaction', asked),
        }),
        names: {
          screen: (requests) => pool.run('names', requests),
          cleared: missing('Names are not part of this benchmark.'),
        },
        monitoring: missing('Monitoring is not part of this benchmark.'),
        cases: missing('Cases are not part of this benchmark.'),
        receiptLog: missing('The transparency log is not part of this benchmark.'),
        receipts: () => receipts,
        receiptBatches: () => batches,
        savedScreenings: missing('Saved screenings are not part of this benchmark.'),
        oracleTrees: {
          root: () => Promise.reject(new Error('Roots are not part of this benchmark.')),
          proof: () => Promise.reject(new Error('Proofs are not part of this benchmark.')),
        },
        jobs: missing('Bulk jobs are not part of this benchmark.'),
      },
      readiness: () => ({ ready: true, reasons: [], snapshot: null, lists: [] }),
      operator: {} as never,
      gauges: [],
      acceptors:
        acceptors === 0
          ? null
          : {
              count: acceptors,
              worker: workerUrl('acceptor'),
              stores: {
                snapshotsFolder: settings.snapshots,
                labelsFolder: settings.state,
                transfersFolder,
                exposureFolder: join(settings.state, 'exposure'),
                listMaxAgeDays: 7,
                accountsFolder: settings.state,
                originMs: monotonicOriginMs(),
                snapshotEpoch: new SharedArrayBuffer(4),
                logLevel: 'warn',
              } satisfies AcceptorStores,
              counting: access,
            },
    },
  );
  const { port } = await app.listen();
  const ready: BenchServerReady = { port, keys: created.map(({ apiKey }) => apiKey) };
  process.send?.(ready);
  process.on('message', () => {
    // The embedded meter answers synchronously.
    const quota = access.quota as EmbeddedQuotaMeter;
    const total = (meter: 'oracle' | 'intel'): number =>
      accounts.reduce((sum, account) => sum + quota.used(account, meter), 0);
    process.send?.({ oracle: total('oracle'), intel: total('intel') } satisfies BenchServerCounts);
  });
}

process.once('message', (settings) => {
  serve(settings as BenchServerSettings).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit(0));
