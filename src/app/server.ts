/** The server: starts the services of one node in named steps, and stops them. */

import { join } from 'node:path';
import { monotonicOriginMs } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { collectOldObjectsLater } from '../base/old-objects.ts';
import { openFilesLimit } from '../base/open-files.ts';
import { endEach } from '../base/opened-once.ts';
import { programFile, workerUrl } from '../base/paths.ts';
import type { CryptoPayments } from '../billing/crypto/crypto-payments.ts';
import type { Billing } from '../billing/service.ts';
import type { AuthorizedPayments } from '../billing/x402/store.ts';
import { CHAINS } from '../chains/registry.ts';
import type { AttributionServices, Served } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import { type ExposureKeeping, startExposureKeeping } from '../exposure/start.ts';
import { createHttpApp } from '../http/http-app.ts';
import type { Acceptors, HttpApp, OperatorViews } from '../http/ports.ts';
import { connectionsMaxOf } from '../http/server/connections.ts';
import { hasBulkJobs } from '../jobs/bulk/open.ts';
import { requireJobsFolder } from '../jobs/jobs-folder.ts';
import { currentSnapshot } from '../labels/index/folder.ts';
import { startRefreshing } from '../labels/refresh.ts';
import { hasMonitoring } from '../monitoring/open.ts';
import type { Role } from '../nodes/roles.ts';
import { POOL_LIMITS } from '../pool/limits.ts';
import { createLocalChunks, type LocalChunks } from '../pool/local-chunks.ts';
import { createPool, type WorkerPool } from '../pool/pool.ts';
import type { WorkerSettings } from '../pool/worker-services.ts';
import type { ReceiptLog } from '../receipts/log/log.ts';
import { openReplication, type Replication } from '../replication/replication.ts';
import { removeLeftFiles } from '../state/left-files.ts';
import { lmdbFault } from '../state/lmdb-binary.ts';
import { fillPageCache } from '../state/page-cache.ts';
import { requireSound } from '../state/sound-file.ts';
import { watchStorage } from '../state/storage-watch.ts';
import type { AcceptorStores } from './acceptor-thread.ts';
import { accountsFolderOf } from './account-services.ts';
import {
  type AuthorizedServices,
  authorizedServicesOf,
  checkAuthorizedPayments,
  hasAuthorizedPayments,
} from './authorized-services.ts';
import { billingDelivery } from './billing-events.ts';
import { retentionOf } from './case-services.ts';
import type { ChainServices } from './chain-services.ts';
import { type JobPlaces, type LaterDeps, LaterServices, type Serving } from './later-services.ts';
import { LogPublishing, logDegradations, receiptLogOf } from './log-services.ts';
import { connectNode, type NodeConnection } from './node-services.ts';
import { operatorViews } from './operator-status.ts';
import { receiptRetentionOf } from './receipt-services.ts';
import { screeningRetentionOf } from './saved-services.ts';
import { SnapshotFollower } from './snapshot-follower.ts';
import { metricsOf, readinessOf, restoredBackup, type ServerStatus } from './status.ts';
import { localGraph, useCasesOf } from './use-cases.ts';

const HOUR_MS = 3_600_000;

/** Folders and settings that the threads of the pool open. */
export type WorkerFolders = Required<Omit<WorkerSettings, 'snapshotEpoch' | 'bufferPoolMemory' | 'niceness'>>;

export interface ServerDeps extends LaterDeps {
  readonly chains: ChainServices;
  readonly attribution: Pick<
    AttributionServices,
    'decide' | 'explain' | 'keep' | 'report' | 'reported' | 'reports'
  >;
  /** Paths of the stores of this installation, inside the data folder. */
  readonly storePaths: () => readonly string[];
  readonly workerFolders: WorkerFolders;
}

/** Work that runs beside requests until it is stopped. */
interface Background {
  stop(): void | Promise<void>;
}

/** A server of one node. `start` and `stop` are called once. */
export class Server {
  readonly #config: Config;
  readonly #deps: ServerDeps;
  readonly #roles: readonly Role[];
  readonly #jobPlaces: JobPlaces;
  // Services in the order of their start. Each is null until it is started.
  #chunks: LocalChunks | null = null;
  #node: NodeConnection | null = null;
  #pool: WorkerPool | null = null;
  #app: HttpApp | null = null;
  /** Incremented when a new snapshot is in force, for the acceptor threads. */
  readonly #snapshotEpoch = new Int32Array(new SharedArrayBuffer(4));
  #replication: Replication | null = null;
  #snapshots: SnapshotFollower | null = null;
  #later: LaterServices | null = null;
  /** Null until it is started: after a failed start, its store may be damaged, and is not opened to stop it. */
  #billing: Billing | null = null;
  /** Null until it is started, or if no key is configured. */
  #payments: CryptoPayments | null = null;
  /** Null if payments by a signed authorization are not accepted. */
  #authorized: AuthorizedServices | null = null;
  /** Null on a node without the role api. */
  #receiptLog: ReceiptLog | null = null;
  #logPublishing: LogPublishing | null = null;
  /** Ends the completion of interrupted purchases of screenings. */
  readonly #stopped = new AbortController();
  #finishing: Promise<void> | null = null;
  #exposures: ExposureKeeping | null = null;
  /** Work that nothing else uses, in the order of its start. Each is stopped with the server. */
  readonly #background: Background[] = [];

  constructor(config: Config, roles: readonly Role[], deps: ServerDeps) {
    this.#config = config;
    this.#roles = roles;
    this.#deps = deps;
    this.#jobPlaces = {
      storePath: join(config.dataDir, 'jobs.mdb'),
      folder: config.jobsDir ?? join(config.dataDir, 'jobs'),
      isShared: deps.accounts.redis !== null,
    };
  }

  get #answers(): boolean {
    return this.#roles.includes('api');
  }

  get #works(): boolean {
    return this.#roles.includes('worker');
  }

  /** Threads of the worker pool. A node without the roles api and worker only derives a password now and then. */
  get #threads(): number {
    return this.#answers || this.#works ? this.#config.workers : 1;
  }

  /** Interval of the syncs that this node makes; null if it makes none. */
  get #syncEveryHours(): number | null {
    const { syncEnabled, syncIntervalHours } = this.#config;
    return syncEnabled && this.#deps.labels.pullsFrom === null ? syncIntervalHours : null;
  }

  /**
   * Starts the services. If a step fails, those that have started are stopped: a node that failed to start must leave the other nodes and
   * free its port.
   *
   * @throws LISTEN_FAILED if the port is taken, INVALID_CONFIG, STORE_CORRUPT, NOT_READY
   */
  async start(): Promise<Served> {
    try {
      return await this.#startInOrder();
    } catch (error) {
      await this.#stopEach().catch((reason: unknown) =>
        this.#deps.log.error({ err: reason }, 'startup rollback failed'),
      );
      throw error;
    }
  }

  async #startInOrder(): Promise<Served> {
    collectOldObjectsLater();
    await this.#checkRequirements();
    const { chunks, node } = await this.#connectNode();
    await this.#openStores();
    const pool = this.#startPool();
    const serving: Serving = { pool, chunks, node, graph: node.routed(localGraph(pool, this.#deps.chains)) };
    const later = this.#prepareLater(serving);
    await this.#createAuthorized();
    const app = this.#createHttp(serving, later);
    // Read before the first request, so that reading a large register or exposure index does not delay one.
    await this.#deps.labels.exchanges().refreshImported();
    if (this.#answers) this.#deps.screening.exposureReader().openAll();
    const snapshots = this.#followSnapshots(serving);
    await this.#startReplication(serving, snapshots);
    await this.#openLogPublishing();
    const { url, backend } = await app.listen();
    // Create the key only after the port is bound, so that a second start by mistake leaves nothing behind.
    const { accounts } = this.#deps;
    if (this.#answers) accounts.servesAt(url);
    const firstKey = this.#answers ? await accounts.createFirstKey() : null;
    const localPlan = this.#answers ? await accounts.localPlan() : null;
    snapshots.start();
    this.#startFillingCache();
    this.#openBackgroundServices(later);
    this.#startExposureKeeping();
    this.#startAttributionKeeping();
    this.#startRefreshing();
    if (this.#answers) this.#startSavedScreenings(later);
    if (this.#answers) this.#startBilling(later);
    this.#startAuthorized();
    if (this.#roles.includes('listener')) this.#followPayments();
    this.#logPublishing?.start();
    if (this.#answers) this.#startReceipts(later);
    this.#logServing(url, backend);
    return { url, backend, firstKey, localPlan, stop: () => this.#stop() };
  }

  /** Checks everything that can be checked before this node announces itself to the others. */
  async #checkRequirements(): Promise<void> {
    const { accounts, storePaths } = this.#deps;
    const { jobsDir, dataDir } = this.#config;
    await accounts.checkRedis();
    if (jobsDir !== null && (this.#answers || this.#works))
      await requireJobsFolder(jobsDir, 'ASSAY_JOBS_DIR');
    // Checked before any thread opens a store: a damaged store must fail at startup, not at the first request that needs it.
    for (const path of storePaths()) requireSound(join(dataDir, path));
    const fault = lmdbFault();
    if (fault !== null)
      this.#deps.log.warn({ reason: fault }, 'commands beside this server may make it lose a write');
    await accounts.enter();
  }

  async #connectNode(): Promise<{ readonly chunks: LocalChunks; readonly node: NodeConnection }> {
    const { accounts, chains, clock, random, log, workerFolders } = this.#deps;
    const chunks = createLocalChunks(workerFolders, { log });
    this.#chunks = chunks;
    const node = await connectNode(this.#config, accounts.shared(), {
      clock,
      random,
      log,
      redis: accounts.redis?.() ?? null,
      roles: this.#roles,
      follows: CHAINS.map(({ id }) => id).filter((id) => chains.chainAdapters.isConfigured(id, 'rpc')),
      threads: this.#config.workers,
      slots: chunks.slots,
      jobsFolder: this.#jobPlaces.folder,
    });
    this.#node = node;
    return { chunks, node };
  }

  async #openStores(): Promise<void> {
    const { accounts, chains, log } = this.#deps;
    const { dataDir, jobsDir } = this.#config;
    await accounts.ready();
    const access = accounts.access();
    // Open these stores now: if the disk is full later, their first use could not write.
    if (this.#answers) {
      accounts.openStores();
      access.ledger();
      await accounts.checkSecondFactorKey();
      this.#receiptLog = await receiptLogOf(this.#config, this.#deps);
    }
    this.#stopAtEnd(watchStorage(jobsDir === null ? [dataDir] : [dataDir, jobsDir], { log }));
    void removeLeftFiles(dataDir, { nowMs: this.#deps.clock.now(), log });
    chains.makeStores();
  }

  #startPool(): WorkerPool {
    const { accounts, workerFolders, log } = this.#deps;
    const pool = createPool(
      {
        ...{ threads: this.#threads, niceness: POOL_LIMITS.poolNiceness, hangingMs: POOL_LIMITS.hangingMs },
        ...workerFolders,
      },
      { log },
    );
    this.#pool = pool;
    accounts.derive = (request) => pool.run('scrypt', request);
    return pool;
  }

  #prepareLater(serving: Serving): LaterServices {
    this.#later = new LaterServices(
      this.#config,
      { roles: this.#roles, jobPlaces: this.#jobPlaces, receiptLog: this.#receiptLog, ...serving },
      this.#deps,
    );
    return this.#later;
  }

  #createHttp(serving: Serving, later: LaterServices): HttpApp {
    const { clock, random, log, accounts, labels, version } = this.#deps;
    const { httpBackend, httpKeepAliveSeconds, host, port, tls, publicHost, mcpOrigins, trustedProxies } =
      this.#config;
    const status: ServerStatus = {
      config: this.#config,
      roles: this.#roles,
      clock,
      labels: labels.snapshots(),
      freshness: labels.freshness,
      pool: serving.pool,
      nodes: () => serving.node.nodes(),
      degradations: () => [...accounts.degradations(), ...logDegradations(this.#receiptLog)],
      stores: () => accounts.shared().stores(),
      leases: () => accounts.shared().leases.states(),
      redisProblem: () => serving.node.problem(),
      lacksReplicas: () => serving.node.lacksReplicas(),
      replication: () => this.#replication,
      watching: () => later.opened.monitoring,
      jobs: () => later.opened.jobs,
      gasAccounts: () => this.#authorized?.gasAccounts ?? null,
    };
    const operations = this.#answers ? 'all' : 'health';
    const openFiles = openFilesLimit('self');
    this.#app = createHttpApp(
      {
        backend: httpBackend,
        keepAliveSeconds: httpKeepAliveSeconds,
        host,
        port,
        tls,
        publicHost,
        mcpOrigins,
        trustedProxies,
        version,
        operations,
        ...(openFiles === null ? {} : { connectionsMax: connectionsMaxOf(openFiles) }),
      },
      {
        clock,
        random,
        log,
        access: accounts.access(),
        useCases: useCasesOf(this.#config, { ...this.#deps, ...serving }, later.useCases),
        readiness: () => readinessOf(status),
        operator: this.#operatorViews(status),
        payPerCall: () => this.#authorized?.payPerCall ?? null,
        gasless: () => this.#authorized?.gasless ?? null,
        gauges: metricsOf(status),
        acceptors: this.#acceptors(),
      },
    );
    return this.#app;
  }

  /** Threads that accept connections; null if this thread does, as on a node that answers only health probes. */
  #acceptors(): Acceptors | null {
    const { acceptors: count, dataDir, logLevel } = this.#config;
    if (count === 1 || !this.#answers) return null;
    const stores: AcceptorStores = {
      ...this.#deps.workerFolders,
      accountsFolder: accountsFolderOf(dataDir),
      originMs: monotonicOriginMs(),
      snapshotEpoch: this.#snapshotEpoch.buffer,
      logLevel,
    };
    return { count, worker: workerUrl('acceptor'), stores, counting: this.#deps.accounts.access() };
  }

  #operatorViews(status: ServerStatus): OperatorViews {
    const { accounts, chains, labels, version } = this.#deps;
    return operatorViews({
      status,
      version,
      nodeId: accounts.shared().nodeId,
      isShared: accounts.redis !== null,
      threads: this.#threads,
      snapshotsFolder: labels.snapshotsFolder,
      adapters: () => chains.chainAdapters.open(),
      exposures: () => this.#exposures?.kept() ?? [],
      stores: { labels: labels.store, names: labels.nameStore, registers: labels.registers },
      runs: labels.runs,
      syncEveryHours: this.#syncEveryHours,
    });
  }

  async #startReplication({ node }: Serving, snapshots: SnapshotFollower): Promise<void> {
    const { listen, store, from } = this.#config.snapshots;
    if (listen === null && store === null && from === null) return;
    const { labels, clock, log } = this.#deps;
    this.#replication = await openReplication(
      { settings: labels.replication.settings, logLevel: this.#config.logLevel },
      {
        clock,
        log,
        broadcast: node.broadcast,
        onSwapped: () => snapshots.checkNow(),
      },
    );
  }

  #followSnapshots({ pool, chunks, node }: Serving): SnapshotFollower {
    const { labels, log } = this.#deps;
    this.#snapshots = new SnapshotFollower({
      labels,
      log,
      broadcast: node.broadcast,
      onLabels: () => {
        pool.refresh();
        Atomics.add(this.#snapshotEpoch, 0, 1);
        if (this.#later?.opened.jobs) chunks.refresh();
        this.#later?.opened.monitoring?.listsChanged();
      },
    });
    return this.#snapshots;
  }

  /** Labels come first: the thread that answers requests waits for them itself; transfers are read by the pool. */
  #startFillingCache(): void {
    if (!this.#answers && !this.#works) return;
    const { labels, workerFolders, clock, log } = this.#deps;
    const folders = [currentSnapshot(labels.snapshotsFolder), workerFolders.transfersFolder];
    this.#stopAtEnd(fillPageCache(folders, { clock, log }));
  }

  #startBilling(later: LaterServices): void {
    this.#billing = this.#deps.accounts.billing();
    this.#billing.start(billingDelivery(() => later.monitoring().service));
  }

  /** Sends and follows payments by a signed authorization. */
  #startAuthorized(): void {
    this.#authorized
      ?.start()
      .catch((error: unknown) =>
        this.#deps.log.error({ error: messageOf(error) }, 'authorized payments are not sent'),
      );
  }

  /** Creates the payments of single requests, and of invoices without gas, if they are accepted. */
  async #createAuthorized(): Promise<void> {
    if (!this.#answers || !hasAuthorizedPayments(this.#config)) return;
    await checkAuthorizedPayments(this.#config);
    const { accounts, clock, log, screening } = this.#deps;
    this.#authorized = authorizedServicesOf(this.#config, {
      ...{ clock, log, screening, access: accounts.access(), shared: accounts.shared },
      billing: accounts.billing,
      store: () => accounts.authorizedPayments() as AuthorizedPayments,
    });
  }

  /** Follows the chains of invoices in cryptocurrency. */
  #followPayments(): void {
    const { accounts, log } = this.#deps;
    this.#payments = accounts.cryptoPayments();
    this.#payments
      ?.start()
      .catch((error: unknown) => log.error({ error: messageOf(error) }, 'payments are not followed'));
  }

  /** Creates the first signing key, so that a verifier that is set up before the first receipt has it, and deletes what is due. */
  #startReceipts(later: LaterServices): void {
    const { log } = this.#deps;
    later
      .receipts()
      .keys.active()
      .catch((error: unknown) =>
        log.error({ reason: messageOf(error) }, 'first key of receipts was not created'),
      );
    this.#stopAtEnd(receiptRetentionOf(this.#config, this.#deps));
  }

  /** Completes what an earlier process left, and deletes what is due. */
  #startSavedScreenings(later: LaterServices): void {
    this.#finishing = later.savedScreenings().finish(this.#stopped.signal);
    const retentions = [
      retentionOf(this.#config, this.#deps),
      screeningRetentionOf(this.#config, this.#deps),
    ];
    this.#stopAtEnd(...retentions);
  }

  /** Opens the publication of the log, if the settings name a place or a witness, and compares the log with what is published. */
  async #openLogPublishing(): Promise<void> {
    if (this.#receiptLog === null) return;
    this.#logPublishing = LogPublishing.open(this.#config, { ...this.#deps, receiptLog: this.#receiptLog });
    await this.#logPublishing?.audit();
  }

  #openBackgroundServices(later: LaterServices): void {
    const isShared = this.#deps.accounts.redis !== null;
    // With a Redis, another node may have received the request to watch, or the job.
    const mayWatch = isShared && this.#roles.some((role) => role !== 'worker');
    if (this.#answers || mayWatch || hasMonitoring(this.#config.dataDir)) later.monitoring();
    const mayWork = isShared && (this.#answers || this.#works);
    if (this.#answers || mayWork || hasBulkJobs(this.#jobPlaces)) later.jobs();
  }

  #startExposureKeeping(): void {
    if (!this.#answers) return;
    const { workerFolders, screening, log } = this.#deps;
    this.#exposures = startExposureKeeping(
      {
        ...workerFolders,
        folder: screening.exposureFolder,
        buildCommand: [process.execPath, programFile, 'exposure', 'build'],
      },
      { log },
    );
  }

  /** Follows the chains to which `assay attribute` was applied. A node without the roles api and listener reads no transfers. */
  #startAttributionKeeping(): void {
    if (this.#answers || this.#roles.includes('listener')) this.#stopAtEnd(this.#deps.attribution.keep());
  }

  #startRefreshing(): void {
    const { clock, random, log } = this.#deps;
    const hours = this.#syncEveryHours;
    if (hours === null) return;
    const command = [process.execPath, programFile, 'sync', '--json'] as const;
    this.#stopAtEnd(startRefreshing({ command, intervalMs: hours * HOUR_MS }, { clock, random, log }));
  }

  /** Registers work that is stopped with the server; null is work that this node does not do. */
  #stopAtEnd(...work: readonly (Background | null)[]): void {
    for (const one of work) if (one !== null) this.#background.push(one);
  }

  #logServing(url: string, backend: string): void {
    const { labels, log } = this.#deps;
    const replicatesAt = this.#replication?.url;
    for (const { reason } of restoredBackup({ config: this.#config }))
      log.warn({ reason }, 'data folder restored from a backup');
    log.info(
      {
        url,
        backend,
        labels: labels.snapshots().current.meta.real.labels,
        ...(replicatesAt ? { snapshots: replicatesAt } : {}),
      },
      'serving',
    );
  }

  async #stop(): Promise<void> {
    await this.#stopEach();
    this.#deps.log.info('stopped');
  }

  /** Stops the services, each even if another fails. Throws the first error. */
  #stopEach(): Promise<void> {
    this.#snapshots?.stop();
    return endEach([
      () => this.#later?.opened.billingStreams?.close('The server is stopping.'),
      () => this.#payments?.stop(),
      () => this.#authorized?.close(),
      () => this.#billing?.stop(),
      () => this.#later?.opened.monitoring?.service.streams.close('The server is stopping.'),
      () =>
        Promise.all([
          ...this.#background.map((one) => one.stop()),
          this.#exposures?.stop(),
          this.#replication?.close(),
          this.#app?.close(),
        ]),
      () => {
        this.#stopped.abort();
        return this.#finishing;
      },
      // After the last request, and before the log that it appends to.
      () => this.#later?.opened.receiptBatches?.stop(),
      () => this.#logPublishing?.stop(),
      () => this.#receiptLog?.close(),
      () => this.#later?.opened.monitoring?.close(),
      () => this.#later?.opened.jobs?.close(),
      () => this.#node?.leave(),
      () => this.#chunks?.close(),
      () => this.#pool?.close(),
    ]);
  }
}
