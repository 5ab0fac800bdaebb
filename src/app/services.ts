/**
 * Composition root: the only module that chooses services and connects them. Commands request services from it; `serve` assembles the whole
 * server. Services are opened at their first use and closed in reverse order.
 */
import { join } from 'node:path';
import { type Access, createAccess } from '../accounts/access.ts';
import { auditBookings, auditKeys, OPERATOR } from '../accounts/audit.ts';
import { readPlans } from '../accounts/plans.ts';
import { quotaExhausted } from '../accounts/quota.ts';
import { systemClock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { createLogger } from '../base/log.ts';
import { createMailer } from '../base/mail.ts';
import { createOpenedOnce, endEach } from '../base/opened-once.ts';
import { projectRoot } from '../base/paths.ts';
import { systemJitter, systemRandom } from '../base/random.ts';
import { type ScryptRequest, scryptOnLibuv } from '../base/scrypt.ts';
import { loadBridges } from '../chains/bridges.ts';
import { priced } from '../chains/prices/priced.ts';
import { pricesFolderOf } from '../chains/prices/table.ts';
import { CHAINS } from '../chains/registry.ts';
import type { FillReport, FillRequest, Parts, Served, SharedState } from '../cli/parts.ts';
import { type Config, SETTINGS } from '../config/config.ts';
import { buildExposureIndex } from '../exposure/build.ts';
import { createInputs } from '../exposure/facts.ts';
import { createExposureReader, isStoredIn, positionIn } from '../exposure/reader.ts';
import { type ExposureKeeping, startExposureKeeping } from '../exposure/start.ts';
import { chainsWithTransfers, exposureStatus } from '../exposure/status.ts';
import { clustersFolderOf } from '../graph/cluster/store.ts';
import { createHttpApp } from '../http/http-app.ts';
import type { HttpApp, UseCases } from '../http/ports.ts';
import { ROUTES } from '../http/routes.ts';
import type { JobBilling } from '../jobs/bulk/billing.ts';
import { hasBulkJobs, type OpenBulkJobs, openBulkJobs } from '../jobs/bulk/open.ts';
import { requireJobsFolder } from '../jobs/jobs-folder.ts';
import { buildLabelIndex, ensureShipped, snapshotsFolderOf } from '../labels/build-index.ts';
import { type ListFreshness, openFreshness } from '../labels/freshness.ts';
import type { ImportDeps } from '../labels/import-report.ts';
import { currentSnapshot } from '../labels/index/folder.ts';
import type { SnapshotSet } from '../labels/index/reader.ts';
import { openSnapshotSet } from '../labels/index/snapshot-set.ts';
import { loadRulebook } from '../labels/map.ts';
import { type Refreshing, startRefreshing } from '../labels/refresh.ts';
import { labelsFolderOf, openLabelStore } from '../labels/store.ts';
import { hasMonitoring, type Monitoring, type MonitoringDeps, openMonitoring } from '../monitoring/open.ts';
import {
  type BuildNamesReport,
  buildNames,
  type NameIndexer,
  type NamesSet,
  openNamesSet,
} from '../names/build-names.ts';
import { type ClearedStore, openClearedStore } from '../names/cleared.ts';
import { buildNameIndex } from '../names/index/build.ts';
import { openNameIndex } from '../names/index/open.ts';
import { namesFolderOf, openNameStore } from '../names/lists.ts';
import { ensurePepSeed, importNameFiles, importOfficialNames } from '../names/lists-import.ts';
import { createNameScreening } from '../names/screen-names.ts';
import type { Role } from '../nodes/roles.ts';
import { createLocalChunks, type LocalChunks } from '../pool/local-chunks.ts';
import { createPool, type WorkerPool } from '../pool/pool.ts';
import { poolUseCases } from '../pool/routing.ts';
import { type GraphUseCases, TASKS } from '../pool/tasks/index.ts';
import { createExchangeStatuses, type ExchangeStatuses } from '../registers/exchange-status.ts';
import { openRegisterStore } from '../registers/store.ts';
import type { TravelDeps, TravelSettings } from '../replication/follow.ts';
import { pullNewest, readOnlyStores, requireBuilder } from '../replication/pull-newest.ts';
import { openTravel, type Travel } from '../replication/replication.ts';
import { loadCountryLists } from '../risk/geography.ts';
import { loadJurisdictions } from '../risk/jurisdictions.ts';
import { loadPolicy } from '../risk/policy.ts';
import { type Assessor, createAssessor } from '../screening/assess.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { resolveNames } from '../screening/ens-names.ts';
import type { ExposureReader } from '../screening/exposure-port.ts';
import { createKyt } from '../screening/kyt.ts';
import { createLabelSet, createLabelSetWriter } from '../screening/label-set.ts';
import { withHistory } from '../screening/on-demand.ts';
import { createOracleWriter } from '../screening/oracle.ts';
import { createSanctionsCheckWriter } from '../screening/sanctions-check.ts';
import { createScreening } from '../screening/screen.ts';
import { createTrace } from '../screening/trace.ts';
import { ensureDataFolder } from '../state/data-folder.ts';
import { type FolderLock, lockFolder } from '../state/folder-lock.ts';
import { openInstallation } from '../state/installation-record.ts';
import { openRedis, type RedisStore } from '../state/redis.ts';
import type { Installation } from '../state/redis-installation.ts';
import { requireSound } from '../state/sound-file.ts';
import { isStorageFull } from '../state/storage.ts';
import { type StorageWatch, watchStorage } from '../state/storage-watch.ts';
import { openChainParts, outputsFolderOf, transfersFolderOf } from './chain-services.ts';
import { type Joined, joinNodes, openShared, type Shared } from './node-services.ts';
import { gaugesOf, readinessOf, type Telling } from './status.ts';

/** Interval at which startup retries to read the keys until the key store is ready. */
const FIRST_KEY_LOOK_MS = 50;
/** Interval at which a server checks for a snapshot that another process published. One `stat` per check. */
const SNAPSHOT_LOOK_MS = 1_000;
/** Broadcast message after this node has loaded labels that it, or a process beside it, published. */
const LABELS_CHANGED = 'labels';
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The services of a running server. */
interface Serving {
  readonly pool: WorkerPool;
  /** Runs chunks of bulk jobs on this machine. */
  readonly chunks: LocalChunks;
  readonly node: Joined;
  readonly roles: readonly Role[];
  /** Use cases over transfers, on whichever node they are stored. */
  readonly graph: GraphUseCases;
}

/** The services that `begin` has started, and that `end` must stop. */
interface Begun {
  chunks?: LocalChunks;
  node?: Joined;
  pool?: WorkerPool;
  app?: HttpApp;
  travel?: Travel;
  look?: NodeJS.Timeout;
  storage?: StorageWatch;
  refreshing?: Refreshing;
  exposures?: ExposureKeeping;
}

/** How long a node waits for a publisher that starts at the same time: building the first index takes seconds. */
const FIRST_PULL_MS = 2 * MINUTE_MS;

/** Paths of the stores inside the data folder. */
const exposureFolderIn = (dataDir: string): string => join(dataDir, 'exposure');
const accountsFolderOf = (dataDir: string): string => join(dataDir, 'accounts');

/**
 * Creates the services of all commands; each is opened at its first use.
 *
 * @throws INVALID_CONFIG and the errors of the stores
 */
export function openParts(config: Config, version: string): Parts {
  const log = createLogger({ level: config.logLevel });
  const clock = systemClock;
  const { dataDir } = config;
  ensureDataFolder(dataDir, SETTINGS.dataDir.variable);
  const storeRecord = openInstallation(
    { dataDir, isShared: config.redis !== null },
    { clock, random: systemRandom },
  );
  const snapshotsFolder = snapshotsFolderOf(dataDir);
  const opened = createOpenedOnce();
  const { once } = opened;
  const chainParts = openChainParts(config, { once, clock, log });
  const { chainAdapters, transferStores, outputsStores, prices, clusters, readLive, onDemand } = chainParts;
  const { from: pullsFrom } = config.snapshots;
  const built = {
    labels: openLabelStore({ dataDir }),
    registers: openRegisterStore({ dataDir }),
  };
  const { labels: store, registers } =
    pullsFrom === null ? built : readOnlyStores(built.labels, built.registers);
  const rules = loadRulebook({ ownEntityParties: config.entityParties });
  // An unreadable file of own links must fail at startup, not at the first build.
  if (config.entityParties !== null) rules.parties();
  const exposureFolder = exposureFolderIn(dataDir);
  /** Folders that the threads of the pool open. */
  const workerFolders = {
    snapshotsFolder,
    labelsFolder: labelsFolderOf(dataDir),
    transfersFolder: transfersFolderOf(dataDir),
    outputsFolder: outputsFolderOf(dataDir),
    clustersFolder: clustersFolderOf(dataDir),
    namesFolder: namesFolderOf(dataDir),
    pricesFolder: pricesFolderOf(dataDir),
    exposureFolder,
    listMaxAgeDays: config.listMaxAgeDays,
    tokensFile: config.tokensFile,
    graphStores: chainParts.graphStores,
    logLevel: config.logLevel,
  };
  const plans = once(readPlans, () => {});
  const policy = once(
    () => loadPolicy(rules.taxonomy.rows),
    () => {},
  );
  const freshnessReader = once(
    () => openFreshness({ labelsFolder: labelsFolderOf(dataDir) }),
    () => {},
  );
  const freshness = (): ListFreshness => freshnessReader().listFreshness(clock.now(), config.listMaxAgeDays);
  /** Derives passwords on the worker pool if there is one. Tasks that wait behind a login there are never oracle requests. */
  let derive: (request: ScryptRequest) => Promise<Uint8Array> = scryptOnLibuv;
  /** Null on a standalone machine. */
  const redisSettings = config.redis;
  const redis =
    redisSettings === null
      ? null
      : once<RedisStore>(
          () => openRedis(redisSettings.place, { log }, { replicas: redisSettings.replicas }),
          (part) => part.close(),
        );
  /** Set by `enter`; null before, and on a standalone machine. */
  let installation: Installation | null = null;
  const shared = once<Shared>(
    () => {
      if (redis === null) return openShared(null, { clock, random: systemRandom, log });
      if (installation === null)
        throw new Error('A shared store was opened before its installation was known.');
      return openShared({ redis: redis(), installation }, { clock, random: systemRandom, log });
    },
    () => {},
  );
  const access = once<Access>(
    () =>
      createAccess(
        {
          folder: accountsFolderOf(dataDir),
          registration: config.registration,
          stripeSecret: config.stripeSecret,
        },
        {
          clock,
          random: systemRandom,
          log,
          redis: redis?.() ?? null,
          openStore: shared().openStore,
          derive: (request) => derive(request),
          mailer: config.mail === null ? null : createMailer(config.mail),
        },
      ),
    (part) => part.close(),
  );
  const snapshots = once<SnapshotSet>(
    () => openSnapshotSet(snapshotsFolder, { log }),
    (part) => part.close(),
  );
  const facts = once<Pick<ScreeningDeps, 'assets' | 'bridges' | 'jurisdictions' | 'countryLists'>>(
    () => ({
      bridges: loadBridges(),
      assets: chainParts.assetFacts(),
      jurisdictions: loadJurisdictions(),
      countryLists: loadCountryLists(),
    }),
    () => {},
  );
  const screeningDeps = (): ScreeningDeps => ({
    labels: snapshots(),
    freshness,
    policy: policy(),
    clock,
    transfers: chainParts.transfersRead(),
    outputs: outputsStores.read(),
    clusters: clusters(),
    ...facts(),
  });
  const assessor = once<Assessor>(
    () => createAssessor(screeningDeps()),
    () => {},
  );

  /** The inputs with which an index must have been computed to be up to date. */
  const exposureInputs = createInputs({
    dataVersion: () => snapshots().current.meta.dataVersion,
    policyVersion: () => policy().version,
    tokensFile: config.tokensFile,
  });
  const exposureReader = once<ExposureReader>(
    () =>
      createExposureReader(exposureFolder, {
        clock,
        log,
        position: positionIn(transferStores.read(), chainParts.graphStores),
        coverage: (chain) => transferStores.read().coverage(chain),
        isStored: isStoredIn(transferStores.read()),
        inputs: exposureInputs,
      }),
    () => {},
  );

  const exchanges = once<ExchangeStatuses>(
    () =>
      createExchangeStatuses({
        store: registers,
        log,
        clock,
        designations: () => snapshots().current.meta.designations ?? [],
      }),
    () => {},
  );
  const nameStore = openNameStore({ folder: namesFolderOf(dataDir) });
  const nameDeps = { names: nameStore, clock, log };
  const importDeps: ImportDeps = {
    store,
    rules,
    clock,
    log,
    onLists: (read) => importOfficialNames(read, nameDeps),
  };

  const indexer: NameIndexer = {
    build: (entities, folder) => buildNameIndex(entities, folder, { clock }),
    open: openNameIndex,
  };
  const namesSet = once<NamesSet>(
    () => openNamesSet({ names: nameStore, indexer, log }),
    (part) => part.close(),
  );
  const cleared = once<ClearedStore>(
    () =>
      openClearedStore(
        { path: join(accountsFolderOf(dataDir), 'cleared-names.lmdb') },
        { clock, openStore: shared().openStore },
      ),
    (part) => part.close(),
  );
  const buildNameLists = (): Promise<BuildNamesReport> =>
    store.locked(async () => {
      await ensurePepSeed(nameDeps);
      return buildNames({ names: nameStore, indexer, clock, log });
    });

  const travelSettings: TravelSettings = { dataDir, ...config.snapshots };
  const travelDeps: TravelDeps = { clock, log, jitter: systemJitter };

  const locks: FolderLock[] = [];
  async function holdFolders(): Promise<void> {
    locks.push(await lockFolder(dataDir, SETTINGS.dataDir.variable));
    // Nodes that share a Redis also share the jobs folder.
    if (config.jobsDir === null || redis !== null) return;
    await requireJobsFolder(config.jobsDir, SETTINGS.jobsDir.variable);
    locks.push(await lockFolder(config.jobsDir, SETTINGS.jobsDir.variable));
  }

  async function prepare(signal = new AbortController().signal): Promise<void> {
    if (pullsFrom !== null) {
      // An earlier pulled snapshot is served at once; following continues from there.
      if (currentSnapshot(snapshotsFolder) !== null) return;
      await pullNewest(travelSettings, { from: pullsFrom, patienceMs: FIRST_PULL_MS, signal }, travelDeps);
      return;
    }
    try {
      await ensureShipped(importDeps);
      await buildLabelIndex({ snapshotsFolder }, importDeps);
      await buildNameLists();
    } catch (error) {
      // A server that restarts on a full disk serves the snapshot that was published before.
      if (!isStorageFull(error) || currentSnapshot(snapshotsFolder) === null) throw error;
      log.error({ err: error }, 'labels and names were not brought up to date: the disk is full');
    }
  }

  let watching: Monitoring | null = null;
  const openedMonitoring = (
    screen: MonitoringDeps['screen'],
    dutyOf?: MonitoringDeps['dutyOf'],
  ): Monitoring =>
    openMonitoring(
      {
        dataDir,
        receivers: { trustedHosts: new Set(config.webhookTrustedHosts) },
        clusterSecret: redis === null ? null : config.snapshots.secret,
        scope: shared().scope,
        refreshIntervalMs: config.walletRefreshHours * HOUR_MS,
      },
      {
        clock,
        random: systemRandom,
        log,
        mailer: config.mail === null ? null : createMailer(config.mail),
        riskPolicy: policy(),
        assets: facts().assets,
        labels: () => snapshots().current,
        transfers: transferStores.read(),
        adapter: async (chain) =>
          chainAdapters.isConfigured(chain, 'rpc') ? chainParts.adapters().of(chain) : null,
        ingest: { apply: (chain, event) => chainParts.watchedIngest().apply(chain, event) },
        price: (transfers) => priced(transfers, prices()),
        screen,
        leases: shared().leases,
        openStore: shared().openStore,
        ...(dutyOf === undefined ? {} : { dutyOf }),
        walletsMax: (accountId) => plans()[access().keys.planOf(accountId) ?? 'FREE'].walletsMax,
      },
    );

  /** Opened by the first operation that needs it, or at startup if there are wallets. */
  function monitoring({ graph, node, roles }: Serving): Monitoring {
    if (watching !== null) return watching;
    const opened = openedMonitoring(graph.screening, node.dutyOf);
    opened.start({ follows: roles.includes('listener'), sends: roles.includes('delivery') });
    watching = opened;
    return opened;
  }

  const jobPlaces = {
    storePath: join(dataDir, 'jobs.mdb'),
    folder: config.jobsDir ?? join(dataDir, 'jobs'),
    isShared: redis !== null,
  };
  let jobsAtWork: { readonly jobs: OpenBulkJobs; readonly chunks: LocalChunks } | null = null;

  /** Opened by the first operation on jobs, or at startup if there are jobs; its threads start with the first chunk. */
  function bulkJobs({ node, chunks }: Serving): OpenBulkJobs {
    if (jobsAtWork !== null) return jobsAtWork.jobs;
    const billing = jobBilling(access);
    const jobs = openBulkJobs(jobPlaces, {
      ...shared(),
      runner: node.chunks(chunks),
      billing,
      clock,
      random: systemRandom,
      log,
    });
    jobs.start();
    jobsAtWork = { jobs, chunks };
    return jobs;
  }

  /** For commands: the server beside them follows the chains and sends alerts. */
  const monitoringAtHand = once<Monitoring>(
    () =>
      openedMonitoring(async (request) => {
        const screened = createScreening(screeningDeps(), assessor())(await readLive(request));
        return Buffer.from(JSON.stringify(screened));
      }),
    (part) => part.close(),
  );

  /** Use cases over the transfers that this node stores. */
  const graphHere = (pool: WorkerPool): GraphUseCases => ({
    ...poolUseCases(TASKS, pool),
    screening: async (request) => pool.run('screening', await readLive(request)),
    async kyt(asked) {
      const { request, resolved } = await resolveNames(asked, chainParts.names());
      const parties = { ...asked.resolved, ...resolved };
      return pool.run('kyt', { ...(await withHistory(request, onDemand())), resolved: parties });
    },
  });

  function useCases(serving: Serving): UseCases {
    const { pool, graph } = serving;
    const deps = screeningDeps();
    return {
      labelSet: createLabelSetWriter(deps),
      labelSetVersion: () => labelSetVersion(deps.labels.current.meta.dataVersion, freshness()),
      sanctionsCheck: createSanctionsCheckWriter(deps),
      oracle: createOracleWriter({ ...deps, exposures: exposureReader() }),
      exchangeStatus: (name, jurisdiction) => exchanges().answerBytes(name, jurisdiction),
      bulk: (body) => pool.run('bulk-labels', body),
      ...graph,
      names: { screen: (requests) => pool.run('names', requests), cleared },
      monitoring: () => monitoring(serving).service,
      jobs: () => bulkJobs(serving),
    };
  }

  /**
   * Determines the installation that Redis holds. Rejects if Redis is empty, holds another installation than this folder, or does not
   * contain the standalone data of this machine yet.
   */
  async function enter(): Promise<void> {
    if (redis === null || installation !== null) return;
    const of = { redis: redis(), clock, random: systemRandom, log };
    const { enterInstallation } = await import('./redis-installation.ts');
    installation = await enterInstallation({ dataDir }, of);
  }

  /** Returns the dependencies of commands that run on an empty Redis. */
  async function redisToFill() {
    if (redis === null || redisSettings === null)
      throw new AssayError('INVALID_CONFIG', 'ASSAY_REDIS_URL names no Redis.', { field: 'ASSAY_REDIS_URL' });
    await redis().checkThere('ASSAY_REDIS_URL');
    if (!redisSettings.mayLose) await redis().checkKeeps();
    return { redis: redis(), clock, random: systemRandom, log };
  }

  async function fillRedis(request: FillRequest): Promise<FillReport> {
    const of = await redisToFill();
    const fill = await import('./redis-fill.ts');
    return fill.fillRedis({ ...request, dataDir }, of);
  }

  async function foundInstallation(): Promise<string> {
    const of = await redisToFill();
    const start = await import('./redis-installation.ts');
    return (await start.foundInstallation({ dataDir }, of)).id;
  }

  const restoreRedis: Parts['restoreRedis'] = async (request) => {
    const of = await redisToFill();
    const restore = await import('./redis-restore.ts');
    return restore.restoreRedis({ ...request, dataDir }, of);
  };

  function openAccountStores(): void {
    const accounts = access();
    accounts.audit();
    accounts.people();
    accounts.payments();
    cleared();
  }

  async function ready(of: SharedState): Promise<void> {
    if (redis === null) return;
    await enter();
    openAccountStores();
    if (of === 'monitoring') monitoringAtHand();
    await shared().ready();
  }

  /**
   * Creates the first key if no key exists. Waits until the data of other nodes is current: a busy node may lag for a moment at startup.
   */
  async function makeFirstKey({ keys, audit }: Access): Promise<string | null> {
    const untilMs = clock.monotonic() + LIMITS.replicaReadyMs;
    for (;;) {
      try {
        if (keys.list().length > 0) return null;
        break;
      } catch (error) {
        const mayPass = error instanceof AssayError && error.code === 'NOT_READY';
        if (!mayPass || clock.monotonic() > untilMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, FIRST_KEY_LOOK_MS));
      }
    }
    try {
      return (await auditKeys(keys, audit, OPERATOR).create({ name: 'first key', isFirst: true })).apiKey;
    } catch (error) {
      // Another node started at the same moment and created the key first.
      if (error instanceof AssayError && error.field === 'isFirst') return null;
      throw error;
    }
  }

  async function serve(roles: readonly Role[] = config.roles): Promise<Served> {
    const begun: Begun = {};
    try {
      return await begin(roles, begun);
    } catch (error) {
      // A node that failed to start must leave the cluster and free its port.
      await end(begun).catch((reason: unknown) => log.error({ err: reason }, 'a start was not undone whole'));
      throw error;
    }
  }

  /** Stops the services of a server, each even if another fails. Throws the first error. */
  function end({
    look,
    storage,
    refreshing,
    exposures,
    travel,
    app,
    node,
    chunks,
    pool,
  }: Begun): Promise<void> {
    clearInterval(look);
    return endEach([
      () => watching?.service.streams.close('The server is stopping.'),
      () =>
        Promise.all([storage?.stop(), refreshing?.stop(), exposures?.stop(), travel?.close(), app?.close()]),
      () => watching?.close(),
      () => jobsAtWork?.jobs.close(),
      () => node?.leave(),
      () => chunks?.close(),
      () => pool?.close(),
    ]);
  }

  /** Starts the services of a server; `begun` always contains those that have started. */
  async function begin(roles: readonly Role[], begun: Begun): Promise<Served> {
    await redis?.().checkThere('ASSAY_REDIS_URL');
    if (redisSettings !== null && !redisSettings.mayLose) await redis?.().checkKeeps();
    const answers = roles.includes('api');
    if (config.jobsDir !== null && (answers || roles.includes('worker')))
      await requireJobsFolder(config.jobsDir, 'ASSAY_JOBS_DIR');
    // Checked before any thread opens a store: a damaged store must fail at startup, not at the first request that needs it.
    for (const path of storeRecord.stores()) requireSound(join(dataDir, path));
    // Before this node announces itself to the others.
    await enter();
    const chunks = createLocalChunks(workerFolders, { log });
    begun.chunks = chunks;
    const node = await joinNodes(config, shared(), {
      clock,
      random: systemRandom,
      log,
      redis: redis?.() ?? null,
      roles,
      follows: CHAINS.map(({ id }) => id).filter((id) => chainAdapters.isConfigured(id, 'rpc')),
      threads: config.workers,
      slots: chunks.slots,
      jobsFolder: jobPlaces.folder,
    });
    begun.node = node;
    await ready('accounts');
    const accounts = access();
    // Open these stores now: if the disk is full later, their first use could not write.
    if (answers) {
      openAccountStores();
      accounts.ledger();
    }
    begun.storage = watchStorage(config.jobsDir === null ? [dataDir] : [dataDir, config.jobsDir], { log });
    chainParts.makeStores();
    const pool = createPool(
      {
        // A node without the roles api and worker only derives a password now and then.
        threads: answers || roles.includes('worker') ? config.workers : 1,
        ...workerFolders,
      },
      { log },
    );
    begun.pool = pool;
    derive = (request) => pool.run('scrypt', request);
    const serving: Serving = { pool, chunks, node, roles, graph: node.routed(graphHere(pool)) };
    const labels = snapshots();
    // If a snapshot is swapped before the first periodic check, that check finds it.
    let onSwapped = (): void => {};
    const telling: Telling = {
      config,
      roles,
      clock,
      labels,
      freshness,
      pool,
      nodes: () => node.nodes(),
      stores: () => shared().stores(),
      leases: () => shared().leases.states(),
      redisProblem: () => node.problem(),
      travel: () => begun.travel ?? null,
      watching: () => watching,
      jobs: () => jobsAtWork?.jobs ?? null,
    };
    const app = createHttpApp(
      {
        backend: config.httpBackend,
        host: config.host,
        port: config.port,
        tls: config.tls,
        publicHost: config.publicHost,
        trustedProxies: config.trustedProxies,
        version,
        operations: answers ? 'all' : 'health',
      },
      {
        clock,
        random: systemRandom,
        log,
        access: accounts,
        useCases: useCases(serving),
        readiness: () => readinessOf(telling),
        gauges: gaugesOf(telling),
      },
    );
    begun.app = app;
    // Loaded before the first request, so that reading a large register does not delay one.
    await exchanges().refresh();
    if (travels(config))
      begun.travel = await openTravel(
        { settings: travelSettings, logLevel: config.logLevel },
        { clock, log, news: node.announcements, onSwapped: () => onSwapped() },
      );
    const listening = await app.listen();
    // Create the key only after the port is bound, so that a second start by mistake leaves nothing behind.
    const firstKey = answers ? await makeFirstKey(accounts) : null;
    /** Loads labels that this or another node has published; returns true if there were new ones. */
    const lookAtLabels = (): boolean => {
      const isNew = labels.refresh();
      if (isNew) {
        pool.refresh();
        jobsAtWork?.chunks.refresh();
        watching?.listsChanged();
      }
      return isNew;
    };
    const lookAtSnapshots = (): void => {
      if (lookAtLabels()) void node.announcements?.tell(LABELS_CHANGED);
      void exchanges().refresh();
    };
    onSwapped = lookAtSnapshots;
    begun.look = setInterval(lookAtSnapshots, SNAPSHOT_LOOK_MS);
    begun.look.unref();
    node.announcements?.hear((word) => {
      if (word === LABELS_CHANGED) lookAtLabels();
    });
    // In a cluster, another node may have received the request to watch.
    const mayWatch = redis !== null && roles.some((role) => role !== 'worker');
    if (answers || mayWatch || hasMonitoring(dataDir)) monitoring(serving);
    const mayWork = redis !== null && (answers || roles.includes('worker'));
    if (answers || mayWork || hasBulkJobs(jobPlaces)) bulkJobs(serving);
    if (answers)
      begun.exposures = startExposureKeeping(
        {
          ...workerFolders,
          folder: exposureFolder,
          buildCommand: [process.execPath, join(projectRoot, 'dist', 'src', 'main.js'), 'exposure', 'build'],
        },
        { log },
      );
    if (config.syncEnabled && pullsFrom === null)
      begun.refreshing = startRefreshing(
        {
          command: [process.execPath, join(projectRoot, 'dist', 'src', 'main.js'), 'sync', '--json'],
          intervalMs: config.syncIntervalHours * HOUR_MS,
        },
        { clock, random: systemRandom, log },
      );
    log.info(
      {
        url: listening.url,
        backend: listening.backend,
        labels: labels.current.meta.real.labels,
        ...(begun.travel?.url ? { snapshots: begun.travel.url } : {}),
      },
      'serving',
    );
    return {
      url: listening.url,
      backend: listening.backend,
      firstKey,
      async stop() {
        await end(begun);
        log.info('stopped');
      },
    };
  }

  return {
    ...importDeps,
    dataDir,
    snapshotsFolder,
    threads: config.workers + 1,
    bulkDeps: {
      snapshotsFolder,
      labelsFolder: labelsFolderOf(dataDir),
      listMaxAgeDays: config.listMaxAgeDays,
      clock,
    },
    exposures: {
      chains: () => chainsWithTransfers(transferStores.read()),
      build: (chain, options) =>
        buildExposureIndex(
          { chain, folder: exposureFolder, inputs: exposureInputs(chain), ...options },
          { ...screeningDeps(), transfers: transferStores.read(), log },
        ),
      status: () =>
        exposureStatus(exposureFolder, { transfers: transferStores.read(), inputs: exposureInputs, log }),
    },
    syncFrom: config.syncFrom,
    registers,
    nameStore,
    buildNames: buildNameLists,
    screenNames: () =>
      createNameScreening({ names: () => namesSet().current, clock, listMaxAgeDays: config.listMaxAgeDays }),
    importNames: (request) => store.locked(() => importNameFiles(request, nameDeps)),
    keys: () => auditKeys(access().keys, () => access().audit(), OPERATOR),
    ledger: () => auditBookings(access().ledger(), () => access().audit(), OPERATOR, { log }),
    people: () => access().people(),
    audit: () => access().audit(),
    snapshots,
    transfers: (mode) => transferStores[mode](),
    pushGraph: chainParts.pushGraph,
    fillRedis,
    foundInstallation,
    restoreRedis,
    chains: chainParts.adapters,
    liveIngest: chainParts.liveIngest,
    readLive,
    outputs: (mode) => outputsStores[mode](),
    clusters,
    prices,
    installedPrices: chainParts.installedPrices,
    canSyncPrices: chainParts.canSyncPrices,
    syncPrices: chainParts.syncDailyPrices,
    labelSet: () => createLabelSet(screeningDeps()),
    screening: () => createScreening(screeningDeps(), assessor()),
    kyt: () => createKyt(screeningDeps(), assessor()),
    trace: () => createTrace(screeningDeps(), assessor()),
    monitoring: monitoringAtHand,
    requireBuilder: () => requireBuilder(pullsFrom),
    travel: { settings: travelSettings, deps: travelDeps },
    holdFolders,
    prepare,
    ready,
    serve,
    close: () =>
      endEach([
        () => opened.closeAll(),
        () => storeRecord.close(),
        ...locks.map((lock) => () => lock.release()),
      ]),
  };
}

/** Bills jobs at the prices of single requests, under the name of the job: quota units for addresses, or credits for each request. */
export function jobBilling(access: () => Access): JobBilling {
  const creditsOf = (path: string): number => ROUTES.find((route) => route.path === path)?.credits ?? 0;
  return {
    priceOf: (kind) =>
      kind === 'labels' || kind === 'sanctions'
        ? { unit: 'intel', perLine: 1 }
        : { unit: 'credits', perLine: creditsOf(`/${kind}`) },
    async settle({ id, accountId, kind }, units) {
      const once = `job:${id}`;
      if (kind === 'labels' || kind === 'sanctions') {
        const decision = await access().quota.settle(accountId, 'intel', once, units);
        if (!decision.ok) throw quotaExhausted(decision, 'intel', units);
        return;
      }
      const type = kind === 'screening' ? 'SCREENING' : 'DEDUCTION';
      await access()
        .ledger()
        .settle({ accountId, type, once, total: units, reference: `jobs/${id} ${kind}` });
    },
  };
}

/** Returns true if this node publishes or pulls snapshots. */
const travels = ({ snapshots }: Config): boolean =>
  snapshots.listen !== null || snapshots.store !== null || snapshots.from !== null;

/** Returns the version of all inputs of a label response: the snapshot, and which lists are loaded and fresh. */
function labelSetVersion(dataVersion: string, { asOf, staleLists }: ListFreshness): string {
  const stale = staleLists.map(({ list, checkedAt }) => `${list}@${checkedAt ?? 'none'}`);
  return [dataVersion, asOf ?? 'none', ...stale].join('.').replace(/[^\w.:-]/g, '_');
}
