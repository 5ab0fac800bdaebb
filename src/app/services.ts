/**
 * Composition root: the only module that chooses services and connects them. Commands request services from it; `serve` starts the whole
 * server (`server.ts`). Services are opened at their first use and closed in reverse order.
 */

import { auditBookings, auditKeys, OPERATOR } from '../accounts/audit.ts';
import { readPlans } from '../accounts/plans.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { createLogger, type Logger } from '../base/log.ts';
import { createMailer } from '../base/mail.ts';
import { createOpenedOnce, endEach } from '../base/opened-once.ts';
import { systemRandom } from '../base/random.ts';
import { readCryptoKeys } from '../billing/crypto/crypto-payments.ts';
import { priced } from '../chains/prices/priced.ts';
import { pricesFolderOf } from '../chains/prices/table.ts';
import type { Services } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { clustersFolderOf } from '../graph/cluster/store.ts';
import { requireJobsFolder } from '../jobs/jobs-folder.ts';
import { labelsFolderOf } from '../labels/folders.ts';
import { type Monitoring, type MonitoringDeps, openMonitoring } from '../monitoring/open.ts';
import { namesFolderOf } from '../names/lists.ts';
import { createKyt } from '../screening/kyt.ts';
import { createLabelSet } from '../screening/label-set.ts';
import { createScreening } from '../screening/screen.ts';
import { createTrace } from '../screening/trace.ts';
import { ensureDataFolder } from '../state/data-folder.ts';
import { type FolderLock, lockFolder } from '../state/folder-lock.ts';
import { openInstallation } from '../state/installation-record.ts';
import { requireUsable } from '../state/usable-files.ts';
import { AccountServices } from './account-services.ts';
import { createAttributionServices } from './attribution-services.ts';
import {
  type ChainServices,
  createChainServices,
  outputsFolderOf,
  transfersFolderOf,
} from './chain-services.ts';
import { cryptoPaymentsOf } from './crypto-services.ts';
import { createLabelServices, type LabelServices } from './label-services.ts';
import { createOracleServices } from './oracle-services.ts';
import { auditedReceipts, receiptsOf } from './receipt-services.ts';
import { createScreeningServices, type ScreeningServices } from './screening-services.ts';
import type { WorkerFolders } from './server.ts';
import { walletBilling } from './wallet-billing.ts';

const HOUR_MS = 3_600_000;

/** The groups of services that this module connects. */
interface Groups {
  readonly clock: Clock;
  readonly log: Logger;
  readonly chains: ChainServices;
  readonly labels: LabelServices;
  readonly accounts: AccountServices;
  readonly screening: ScreeningServices;
  /** Credits and limits by plan. */
  readonly plans: () => ReturnType<typeof readPlans>;
}

/** Opens monitoring; `screen` screens the address of a request. */
function monitoringOf(
  config: Config,
  { clock, log, chains, labels, accounts, screening, plans }: Groups,
  screen: MonitoringDeps['screen'],
  division: Pick<MonitoringDeps, 'dutyOf' | 'onFailing'> = {},
): Monitoring {
  const shared = accounts.shared();
  return openMonitoring(
    {
      dataDir: config.dataDir,
      receivers: { trustedHosts: new Set(config.webhookTrustedHosts) },
      clusterSecret: accounts.redis === null ? null : config.snapshots.secret,
      scope: shared.scope,
      refreshIntervalMs: config.walletRefreshHours * HOUR_MS,
      transactionRetentionDays: config.transactionRetentionDays,
      isShared: accounts.redis !== null,
    },
    {
      clock,
      random: systemRandom,
      log,
      mailer: config.mail === null ? null : createMailer(config.mail),
      riskPolicy: screening.policy(),
      assets: screening.facts().assets,
      labels: () => labels.snapshots().current,
      transfers: chains.transferStores.read(),
      adapter: async (chain) =>
        chains.chainAdapters.isConfigured(chain, 'rpc') ? chains.adapters().of(chain) : null,
      ingest: { apply: (chain, event) => chains.watchedIngest().apply(chain, event) },
      price: (transfers) => priced(transfers, chains.prices()),
      screen,
      billing: walletBilling(() => accounts.access().ledger()),
      leases: shared.leases,
      openStore: shared.openStore,
      addresses: chains.watchedAddresses,
      ...division,
      walletsMax: (accountId) => plans()[accounts.access().keys.planOf(accountId) ?? 'FREE'].walletsMax,
    },
  );
}

function workerFoldersOf(config: Config, { chains, labels, screening }: Groups): WorkerFolders {
  const { dataDir, listMaxAgeDays, tokensFile, logLevel } = config;
  return {
    snapshotsFolder: labels.snapshotsFolder,
    labelsFolder: labelsFolderOf(dataDir),
    transfersFolder: transfersFolderOf(dataDir),
    outputsFolder: outputsFolderOf(dataDir),
    clustersFolder: clustersFolderOf(dataDir),
    namesFolder: namesFolderOf(dataDir),
    pricesFolder: pricesFolderOf(dataDir),
    exposureFolder: screening.exposureFolder,
    listMaxAgeDays,
    tokensFile,
    graphStores: chains.graphStores,
    logLevel,
  };
}

/** The locks of the folders that one server uses alone. */
class FolderLocks {
  readonly #locks: FolderLock[] = [];

  async hold(config: Config): Promise<void> {
    const { dataDir, jobsDir, redis } = config;
    this.#locks.push(await lockFolder(dataDir, SETTINGS.dataDir.variable));
    // Nodes that share a Redis also share the jobs folder.
    if (jobsDir === null || redis !== null) return;
    await requireJobsFolder(jobsDir, SETTINGS.jobsDir.variable);
    this.#locks.push(await lockFolder(jobsDir, SETTINGS.jobsDir.variable));
  }

  release(): Promise<void> {
    return endEach(this.#locks.map((lock) => () => lock.release()));
  }
}

/**
 * Creates the services of all commands; each is opened at its first use.
 *
 * @throws INVALID_CONFIG and the errors of the stores
 */
export function createServices(config: Config, version: string): Services {
  const log = createLogger({ level: config.logLevel, format: config.logFormat });
  const clock = systemClock;
  const { dataDir } = config;
  ensureDataFolder(dataDir, SETTINGS.dataDir.variable);
  const isShared = config.redis !== null;
  const storeRecord = openInstallation({ dataDir, isShared }, { clock, random: systemRandom });
  const opened = createOpenedOnce();
  const { once } = opened;
  const chains = createChainServices(config, { once, clock, log });
  const labels = createLabelServices(config, { once, clock, log });
  // Validated at startup, so that a private key is refused before anything else happens.
  const paymentKeys = readCryptoKeys(config.paymentKeys);
  const accounts = new AccountServices(config, {
    ...{ once, clock, random: systemRandom, log },
    cryptoPayments:
      paymentKeys === null
        ? null
        : ({ billing, shared }) =>
            cryptoPaymentsOf(config, {
              ...{ clock, random: systemRandom, log, chains, screening, billing, shared, keys: paymentKeys },
            }),
  });
  const screening = createScreeningServices(config, { once, clock, log, chains, labels });
  const attribution = createAttributionServices({
    ...{ once, config, clock, log, chains, labels },
    reports: accounts.labelReports,
  });
  const plans = once(readPlans, () => {});
  const groups: Groups = { clock, log, chains, labels, accounts, screening, plans };
  const workerFolders = workerFoldersOf(config, groups);
  const locks = new FolderLocks();
  const { deps: screeningDeps, assessor } = screening;
  const { access } = accounts;

  /** For commands: the server beside them follows the chains and sends alerts. */
  const monitoring = once<Monitoring>(
    () =>
      monitoringOf(config, groups, async (request) => {
        const screened = createScreening(screeningDeps(), assessor())(
          request,
          await chains.readLive(request),
        );
        return Buffer.from(JSON.stringify(screened));
      }),
    (service) => service.close(),
  );

  return {
    ...labels.importDeps,
    dataDir,
    snapshotsFolder: labels.snapshotsFolder,
    threads: config.workers + 1,
    bulkDeps: {
      snapshotsFolder: labels.snapshotsFolder,
      labelsFolder: workerFolders.labelsFolder,
      listMaxAgeDays: config.listMaxAgeDays,
      clock,
    },
    exposures: screening.exposures,
    attribution,
    oracle: once(
      () => createOracleServices(config, { clock, log, labels, encryption: () => accounts.openEncryption() }),
      () => {},
    ),
    syncFrom: config.syncFrom,
    sourceCredentials: config.sourceCredentials,
    runs: labels.runs,
    registers: labels.registers,
    nameStore: labels.nameStore,
    buildNames: labels.buildNameLists,
    screenNames: labels.screenNames,
    importNames: labels.importNames,
    keys: () => auditKeys(access().keys, () => access().audit(), OPERATOR),
    ledger: () => auditBookings(access().ledger(), () => access().audit(), OPERATOR, { log }),
    billing: accounts.billing,
    cryptoPayments: accounts.cryptoPayments,
    authorizedPayments: accounts.authorizedPayments,
    people: () => access().people(),
    audit: () => access().audit(),
    logStore: accounts.logStore,
    receipts: once(
      () =>
        auditedReceipts(
          receiptsOf(
            {
              version,
              dataDir: config.dataDir,
              freshness: labels.freshness,
              policy: screening.policy(),
              log: null,
            },
            { accounts, clock, random: systemRandom },
          ),
          () => access().audit(),
        ),
      () => {},
    ),
    snapshots: labels.snapshots,
    transfers: (mode) => chains.transferStores[mode](),
    pushGraph: chains.pushGraph,
    fillRedis: (request) => accounts.fillRedis(request),
    foundInstallation: () => accounts.foundInstallation(),
    restoreRedis: (request) => accounts.restoreRedis(request),
    newerStates: (request) => accounts.newerStates(request),
    chains: chains.adapters,
    liveIngest: chains.liveIngest,
    readLive: chains.readLive,
    outputs: (mode) => chains.outputsStores[mode](),
    clusters: chains.clusters,
    prices: chains.prices,
    installedPrices: chains.installedPrices,
    canSyncPrices: chains.canSyncPrices,
    syncPrices: chains.syncDailyPrices,
    labelSet: () => createLabelSet(screening.labelDeps()),
    screening: () => createScreening(screeningDeps(), assessor()),
    kyt: () => createKyt(screeningDeps(), assessor()),
    trace: () => createTrace(screeningDeps(), assessor()),
    monitoring,
    requireBuilder: labels.requireBuilder,
    replication: labels.replication,
    async holdFolders() {
      requireUsable(dataDir);
      await locks.hold(config);
    },
    prepare: labels.prepare,
    ready: (of) => accounts.ready(of === 'monitoring' ? monitoring : undefined),
    serve: async (roles = config.roles) => {
      // The API is a fifth of the program, and other commands do not need it.
      const { Server } = await import('./server.ts');
      return new Server(config, roles, {
        clock,
        random: systemRandom,
        log,
        chains,
        labels,
        accounts,
        screening,
        attribution,
        storePaths: () => storeRecord.stores(),
        workerFolders,
        openMonitoring: (screen, division) => monitoringOf(config, groups, screen, division),
        version,
      }).start();
    },
    close: () => endEach([() => opened.closeAll(), () => storeRecord.close(), () => locks.release()]),
  };
}
