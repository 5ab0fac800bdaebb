/** The parts of one embedded process in one folder of state, wired as app.ts does, with the pool in this thread. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { auditBookings, auditKeys, OPERATOR } from '../../src/accounts/audit.ts';
import type { KeyStore } from '../../src/accounts/keys.ts';
import type { Ledger } from '../../src/accounts/ledger.ts';
import { linkedRecords } from '../../src/app/case-services.ts';
import { eventBilling } from '../../src/app/event-billing.ts';
import { jobBilling } from '../../src/app/job-billing.ts';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import { createCases } from '../../src/cases/cases.ts';
import type { CaseService } from '../../src/cases/service.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import { parseChainId } from '../../src/chains/registry.ts';
import { createChunkWork } from '../../src/jobs/bulk/chunk-work.ts';
import { type OpenBulkJobs, openBulkJobs } from '../../src/jobs/bulk/open.ts';
import { buildLabelIndex } from '../../src/labels/build-index.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../../src/labels/folders.ts';
import { openFreshness } from '../../src/labels/freshness.ts';
import type { ImportDeps } from '../../src/labels/import-report.ts';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import type { SnapshotSet } from '../../src/labels/index/reader.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import { loadRulebook } from '../../src/labels/map.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import { createDispatcher, type Dispatcher } from '../../src/monitoring/delivery/dispatcher.ts';
import type { Send } from '../../src/monitoring/delivery/senders.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import { createProcessor, type Processor } from '../../src/monitoring/processor.ts';
import type { MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { storedText } from '../../src/saved-screenings/content.ts';
import type { StagedScreening } from '../../src/saved-screenings/records.ts';
import { createSavedScreenings } from '../../src/saved-screenings/saved-screenings.ts';
import type { SavedScreenings } from '../../src/saved-screenings/service.ts';
import type { SavedStore } from '../../src/saved-screenings/store.ts';
import { openSavedStore } from '../../src/saved-screenings/store-lmdb.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { openInstallation } from '../../src/state/installation-record.ts';
import { createEmbeddedLeases, type Leases } from '../../src/state/leases.ts';
import { requireSound } from '../../src/state/sound-file.ts';
import { isStorageFull } from '../../src/state/storage.ts';
import type { Life } from './virtual-disk.ts';

/** The number of later blocks that make a block final. */
export const CONFIRMATIONS = 3;

const shipped = loadRulebook();
const parties = shipped.parties();
/** The links of entities are read once, not at each start. */
const rules = { ...shipped, parties: () => parties };
const policy = loadPolicy(rules.taxonomy.rows);
const assets = loadAssetFacts();
const monitoringPolicy = {
  ...loadMonitoringPolicy(),
  confirmations: { ...loadMonitoringPolicy().confirmations, ETH: CONFIRMATIONS },
};

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  /** The network to receivers. */
  readonly send: Send;
}

export interface SimProcess {
  readonly folder: string;
  readonly access: Access;
  readonly keys: KeyStore;
  /** Bookings come with their line in the audit log. */
  readonly ledger: Ledger;
  readonly monitoring: MonitoringStore;
  readonly processor: Processor;
  readonly dispatcher: Dispatcher;
  readonly jobs: OpenBulkJobs;
  readonly cases: CaseService;
  readonly saved: SavedScreenings;
  readonly savedStore: SavedStore;
  readonly labels: ImportDeps;
  readonly snapshots: SnapshotSet;
  readonly snapshotsFolder: string;
  /** False if its start found a full disk and serves the earlier labels. */
  readonly hasBuilt: boolean;
  close(): Promise<void>;
}

/** Leases that are lost with the life of their process: otherwise code that waits for their end would stay in memory for ever. */
function leasesUntil(lost: AbortSignal): Leases {
  const leases = createEmbeddedLeases();
  return {
    ...leases,
    async take(store, name) {
      const lease = await leases.take(store, name);
      return lease === null ? null : { ...lease, lost };
    },
  };
}

/** Starts a process in the folder of a life; `found` imports the missing labels. */
export async function startProcess(
  life: Life,
  { clock, random, send }: World,
  found: (deps: ImportDeps) => Promise<void>,
): Promise<SimProcess> {
  const { folder } = life;
  const log = silentLogger;
  const installation = openInstallation({ dataDir: folder, isShared: false }, { clock, random });
  const opened: { snapshots?: SnapshotSet } = {};
  const over = new AbortController();
  const leases = leasesUntil(over.signal);
  const forget = (): void => {
    over.abort();
    installation.close();
    opened.snapshots?.close();
  };
  life.forget = forget;
  try {
    for (const path of installation.stores()) requireSound(join(folder, path));
    const accounts = join(folder, 'accounts');
    const access = createAccess({ folder: accounts }, { clock, random, log });
    access.audit();
    access.ledger();
    const keys = auditKeys(access.keys, () => access.audit(), OPERATOR);
    const ledger = auditBookings(access.ledger(), () => access.audit(), OPERATOR, { log });

    const store = openLabelStore({ dataDir: folder, lockWaitMs: 0 });
    const labels: ImportDeps = { store, rules, clock, log };
    const snapshotsFolder = snapshotsFolderOf(folder);
    let hasBuilt = true;
    try {
      await found(labels);
      await buildLabelIndex({ snapshotsFolder }, labels);
    } catch (error) {
      if (!isStorageFull(error) || currentSnapshot(snapshotsFolder) === null) throw error;
      hasBuilt = false;
    }
    const snapshots = openSnapshotSet(snapshotsFolder, { log });
    opened.snapshots = snapshots;

    const encryption = createEncryption(new Uint8Array(32), random);
    const monitoring = openMonitoringStore(
      { path: join(folder, 'monitoring', 'monitoring.lmdb') },
      { clock, random, encryption },
    );
    const processor = createProcessor({
      store: monitoring,
      policy: monitoringPolicy,
      riskPolicy: policy,
      assets,
      labels: () => snapshots.current,
      transfers: null,
      clock,
    });
    const senders = { webhook: send, email: send, slack: send, telegram: send };
    const dispatcher = createDispatcher({ outbox: monitoring.outbox, senders, clock, log, leases });
    dispatcher.start();

    const freshness = openFreshness({ labelsFolder: labelsFolderOf(folder) });
    const work = createChunkWork({
      labels: snapshots,
      freshness: () => freshness.listFreshness(clock.now(), 7),
      policy,
      clock,
      log,
      sanctionsCheck: () => -1,
      screening: ({ chain, address }) => ({ address: parseAddress(parseChainId(chain), address).canonical }),
      kyt: () => ({}),
    });
    const files = join(folder, 'jobs');
    mkdirSync(files, { recursive: true });
    const jobs = openBulkJobs(
      { storePath: join(folder, 'jobs.mdb'), folder: files },
      {
        clock,
        random,
        log,
        leases,
        billing: jobBilling(() => access),
        freeBytes: async () => 1e12,
        runner: {
          slots: 2,
          async run(task) {
            await new Promise((resolve) => setImmediate(resolve));
            if (life.isDead) return new Promise<never>(() => {});
            return work(task);
          },
          close: async () => {},
        },
      },
    );
    jobs.start();

    const savedStore = openSavedStore({ path: join(folder, 'screenings.mdb') }, { clock });
    const saved = createSavedScreenings(
      { softwareVersion: '1', isShared: false },
      {
        ...{ store: savedStore, clock, random, log, lists: () => [] },
        billing: eventBilling<StagedScreening>(
          () => access.ledger(),
          ({ screening, charge }) => ({
            accountId: screening.accountId,
            event: `screening:${screening.id}`,
            charge,
            data: () => storedText(savedStore, screening),
          }),
        ),
      },
    );
    const finishing = saved.finish(over.signal);
    const caseStore = openCaseStore({ path: join(folder, 'cases.mdb') }, { clock });
    const cases = createCases(
      { fourEyes: false },
      {
        ...{ store: caseStore, clock, random },
        records: linkedRecords({ monitoring: () => ({ store: monitoring }), savedScreenings: () => saved }),
      },
    );
    return {
      ...{ folder, access, keys, ledger, monitoring, processor, dispatcher, jobs, labels, snapshots },
      ...{ cases, saved, savedStore },
      snapshotsFolder,
      hasBuilt,
      async close() {
        await dispatcher.stop();
        await jobs.close();
        over.abort();
        await finishing;
        await savedStore.close();
        await caseStore.close();
        await monitoring.close();
        await access.close();
        forget();
      },
    };
  } catch (error) {
    forget();
    throw error;
  }
}
