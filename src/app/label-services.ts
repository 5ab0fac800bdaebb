/** Creates the services of labels, names and registers. Each is opened at its first use. */

import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import { systemJitter } from '../base/random.ts';
import type { Config } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { buildLabelIndex, ensureShipped } from '../labels/build-index.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../labels/folders.ts';
import { type ListFreshness, openFreshness } from '../labels/freshness.ts';
import type { ImportDeps } from '../labels/import-report.ts';
import { currentSnapshot } from '../labels/index/folder.ts';
import type { SnapshotSet } from '../labels/index/reader.ts';
import { openSnapshotSet } from '../labels/index/snapshot-set.ts';
import { loadRulebook, type Rulebook } from '../labels/map.ts';
import { openRunLog } from '../labels/runs.ts';
import { openLabelStore } from '../labels/store.ts';
import {
  type BuildNamesReport,
  buildNames,
  type NameIndexer,
  type NamesSet,
  openNamesSet,
} from '../names/build-names.ts';
import { buildNameIndex } from '../names/index/build.ts';
import { openNameIndex } from '../names/index/open.ts';
import { namesFolderOf, openNameStore } from '../names/lists.ts';
import { ensurePepSeed, importNameFiles } from '../names/lists-import.ts';
import { receiveOfficialNames } from '../names/official-import.ts';
import { createNameScreening } from '../names/screen-names.ts';
import { createExchangeStatuses, type ExchangeStatuses } from '../registers/exchange-status.ts';
import { openRegisterStore } from '../registers/store.ts';
import type { ReplicationDeps, ReplicationSettings } from '../replication/follow.ts';
import { pullNewest, readOnlyStores, requireBuilder } from '../replication/pull-newest.ts';
import { isStorageFull } from '../state/storage.ts';

const MINUTE_MS = 60_000;
/** How long a node waits for a publisher that starts at the same time: building the first index takes seconds. */
const FIRST_PULL_MS = 2 * MINUTE_MS;

export interface LabelServicesDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly log: Logger;
}

export type LabelServices = ReturnType<typeof createLabelServices>;

/**
 * Loads the rules of labels, with the file of own links: an unreadable one must fail at startup, not at the first build.
 *
 * @throws INVALID_CONFIG
 */
export function readRules({ entityParties }: Pick<Config, 'entityParties'>): Rulebook {
  const rules = loadRulebook({ ownEntityParties: entityParties });
  if (entityParties === null) return rules;
  try {
    rules.parties();
  } catch (cause) {
    const { variable } = SETTINGS.entityParties;
    throw new AssayError('INVALID_CONFIG', `${variable}: ${messageOf(cause)}`, { field: variable, cause });
  }
  return rules;
}

/**
 * Creates the services of labels, names and registers.
 *
 * @throws INVALID_CONFIG if the file of own links between entities and parties cannot be read
 */
export function createLabelServices(config: Config, { once, clock, log }: LabelServicesDeps) {
  const { dataDir } = config;
  const snapshotsFolder = snapshotsFolderOf(dataDir);
  const { from: pullsFrom } = config.snapshots;
  const built = {
    labels: openLabelStore({ dataDir }),
    registers: openRegisterStore({ dataDir }),
  };
  const { labels: store, registers } =
    pullsFrom === null ? built : readOnlyStores(built.labels, built.registers);
  const rules = readRules(config);
  const freshnessReader = once(
    () => openFreshness({ labelsFolder: labelsFolderOf(dataDir) }),
    () => {},
  );
  const snapshots = once<SnapshotSet>(
    () => openSnapshotSet(snapshotsFolder, { log }),
    (service) => service.close(),
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
  const runs = openRunLog({ folder: labelsFolderOf(dataDir) }, { clock, log });
  const importDeps: ImportDeps = {
    store,
    rules,
    clock,
    log,
    receiveLists: (files) => receiveOfficialNames(files, nameDeps),
  };
  const indexer: NameIndexer = {
    build: (entities, folder) => buildNameIndex(entities, folder, { clock }),
    open: openNameIndex,
  };
  const namesSet = once<NamesSet>(
    () => openNamesSet({ names: nameStore, indexer, log }),
    (service) => service.close(),
  );
  const buildNameLists = (): Promise<BuildNamesReport> =>
    store.locked(async () => {
      await ensurePepSeed(nameDeps);
      return buildNames({ names: nameStore, indexer, clock, log });
    });
  const replication: { readonly settings: ReplicationSettings; readonly deps: ReplicationDeps } = {
    settings: { dataDir, ...config.snapshots },
    deps: { clock, log, jitter: systemJitter },
  };

  /** Imports what ships and builds the indexes, or pulls them, if there are none. */
  async function prepare(signal = new AbortController().signal): Promise<void> {
    if (pullsFrom !== null) {
      // An earlier pulled snapshot is served at once; following continues from there.
      if (currentSnapshot(snapshotsFolder) !== null) return;
      const request = { from: pullsFrom, patienceMs: FIRST_PULL_MS, signal };
      await pullNewest(replication.settings, request, replication.deps);
      return;
    }
    try {
      await ensureShipped(importDeps);
      await buildLabelIndex({ snapshotsFolder }, importDeps);
      await buildNameLists();
    } catch (error) {
      // A server that restarts on a full disk serves the snapshot that was published before.
      if (!isStorageFull(error) || currentSnapshot(snapshotsFolder) === null) throw error;
      log.error({ err: error }, 'labels and names not updated: the disk is full');
    }
  }

  return {
    snapshotsFolder,
    pullsFrom,
    store,
    registers,
    rules,
    snapshots,
    exchanges,
    nameStore,
    runs,
    importDeps,
    replication,
    buildNameLists,
    prepare,
    freshness: (): ListFreshness => freshnessReader().listFreshness(clock.now(), config.listMaxAgeDays),
    importNames: (request: Parameters<typeof importNameFiles>[0]) =>
      store.locked(() => importNameFiles(request, nameDeps)),
    screenNames: () =>
      createNameScreening({
        names: () => namesSet().current,
        clock,
        listMaxAgeDays: config.listMaxAgeDays,
      }),
    requireBuilder: () => requireBuilder(pullsFrom),
  };
}
