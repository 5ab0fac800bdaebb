/** The stores that a thread of the pool opens for its tasks. All stores are opened read-only, once per thread. */
import { systemClock } from '../base/clock.ts';
import { createLogger, type Logger, type LogLevel, silentLogger } from '../base/log.ts';
import { lowerThreadPriority } from '../base/priority.ts';
import { loadBridges } from '../chains/bridges.ts';
import { loadAssetFacts } from '../chains/known-assets.ts';
import { openInstalledPrices } from '../chains/prices/tables.ts';
import { loadTokenList } from '../chains/tokens.ts';
import { openClusters } from '../graph/cluster/store.ts';
import { withRemoteChains } from '../graph/remote/transfers.ts';
import { openOutputsStore } from '../graph/utxo/outputs-store.ts';
import { openNamesSet } from '../names/build-names.ts';
import { openNameIndex } from '../names/index/open.ts';
import { openNameStore } from '../names/lists.ts';
import { createNameScreening, type NameScreening } from '../names/screen-names.ts';
import { loadCountryLists } from '../risk/geography.ts';
import { loadJurisdictions } from '../risk/jurisdictions.ts';
import { createAssessor } from '../screening/assess.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { type ExposureReader, unreadExposures } from '../screening/exposure-port.ts';
import { type OracleStoreSettings, openOracleStores } from './oracle-stores.ts';
import type { TaskServices } from './task.ts';

/** Settings of a worker, sent once at its start. */
export interface WorkerSettings extends OracleStoreSettings {
  readonly outputsFolder: string;
  readonly clustersFolder: string;
  readonly namesFolder: string;
  /** Own and synced price tables; if absent, only the tables that ship with the program are used. */
  readonly pricesFolder?: string;
  readonly logLevel: LogLevel;
  /** Steps of niceness by which the threads are below the process in the operating system. Default: 0. */
  readonly niceness?: number;
  /** One int32, incremented by the main thread when a new snapshot is in force. */
  readonly snapshotEpoch: SharedArrayBuffer;
  /** Buffer pool for results (`base/buffer-pool.ts`). */
  readonly bufferPoolMemory: SharedArrayBuffer;
}

/** The services of one thread, and their refresh. */
export interface WorkerServices {
  readonly services: TaskServices;
  /** Opens the newest snapshot, if it is another one. */
  refresh(): void;
}

/**
 * Adds the parts that tasks share to open stores. Can run in any thread.
 *
 * @param exposures - default: no exposure index, so that verdicts say that no transfers were read
 */
export function createTaskServices(
  deps: ScreeningDeps,
  screenNames: NameScreening,
  log: Logger = silentLogger,
  exposures: ExposureReader = unreadExposures((chain) => deps.transfers.coverage(chain).transfers),
): TaskServices {
  return { ...deps, assessor: createAssessor(deps), exposures, screenNames, log };
}

/**
 * Opens the stores of one worker thread.
 *
 * @throws STORE_VERSION, STORE_CORRUPT, INVALID_FILE
 */
export function openWorkerServices(settings: WorkerSettings): WorkerServices {
  const log = createLogger({ level: settings.logLevel });
  if (settings.niceness) lowerThreadPriority(settings.niceness);
  const { labels, freshness, policy, transfers, exposures } = openOracleStores(settings, { log });
  const names = openNamesSet({
    names: openNameStore({ folder: settings.namesFolder }),
    indexer: { open: openNameIndex },
    log,
  });
  const screenNames = createNameScreening({
    names: () => {
      // One system call per request: names are published independently of labels.
      names.refresh();
      return names.current;
    },
    clock: systemClock,
    listMaxAgeDays: settings.listMaxAgeDays,
  });
  const outputs = openOutputsStore({ path: settings.outputsFolder, readOnly: true });
  const clusters = openClusters({ folder: settings.clustersFolder }, { addresses: outputs });
  const services = createTaskServices(
    {
      labels,
      freshness,
      policy,
      clock: systemClock,
      transfers: withRemoteChains(
        { stores: settings.graphStores ?? {}, logLevel: settings.logLevel },
        {
          local: transfers,
          clock: systemClock,
          log,
        },
      ),
      outputs,
      clusters,
      bridges: loadBridges(),
      assets: loadAssetFacts({
        tokens: loadTokenList({ ownFile: settings.tokensFile ?? null }),
        ...(settings.pricesFolder === undefined
          ? {}
          : { prices: openInstalledPrices({ folder: settings.pricesFolder }, { clock: systemClock, log }) }),
      }),
      jurisdictions: loadJurisdictions(),
      countryLists: loadCountryLists(),
    },
    screenNames,
    log,
    exposures,
  );
  return {
    services,
    refresh() {
      labels.refresh();
      clusters.refresh();
    },
  };
}
