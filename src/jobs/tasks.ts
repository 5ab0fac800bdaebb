/** What a worker of the pool can do, by name, and the stores that it opens for it. All are opened read-only, once a thread. */
import { setPriority } from 'node:os';
import { systemClock } from '../base/clock.ts';
import { createLogger, type Logger, type LogLevel, silentLogger } from '../base/log.ts';
import { type ScryptRequest, scryptHere } from '../base/scrypt.ts';
import { loadBridges } from '../chains/bridges.ts';
import { loadAssetFacts } from '../chains/known-assets.ts';
import { openInstalledPrices } from '../chains/prices/tables.ts';
import { loadTokenList } from '../chains/tokens.ts';
import { createInputs } from '../exposure/facts.ts';
import { createExposureReader, isStoredIn, positionIn } from '../exposure/reader.ts';
import { openClusters } from '../graph/cluster/store.ts';
import { type GraphStores, withRemoteChains } from '../graph/remote/transfers.ts';
import { openTransferStore } from '../graph/store.ts';
import { openOutputsStore } from '../graph/utxo/outputs-store.ts';
import { loadTaxonomy } from '../labels/categories.ts';
import { openFreshness } from '../labels/freshness.ts';
import { openSnapshotSet } from '../labels/index/snapshot-set.ts';
import { openNamesSet } from '../names/build-names.ts';
import { openNameIndex } from '../names/index/open.ts';
import { openNameStore } from '../names/lists.ts';
import { createNameScreening, type NameRequest, type NameScreening } from '../names/screen-names.ts';
import { loadCountryLists } from '../risk/geography.ts';
import { loadJurisdictions } from '../risk/jurisdictions.ts';
import { loadPolicy } from '../risk/policy.ts';
import { createAssessor } from '../screening/assess.ts';
import { type BulkAnswer, createBulk } from '../screening/bulk.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { type ExposureReader, unreadExposures } from '../screening/exposure-port.ts';
import { createKyt, type KytRequest } from '../screening/kyt.ts';
import { createSanctionsCheckWriter } from '../screening/sanctions-check.ts';
import { createScreening, type ScreeningRequest } from '../screening/screen.ts';
import { createTrace, type TraceRequest, type TraceResult } from '../screening/trace.ts';
import { createChunkWork } from './bulk/chunk-work.ts';
import type { ChunkDone, ChunkTask } from './chunks.ts';

/** Where a worker finds its stores; sent once, at its start. */
export interface WorkerSettings {
  readonly snapshotsFolder: string;
  readonly labelsFolder: string;
  readonly transfersFolder: string;
  readonly outputsFolder: string;
  readonly clustersFolder: string;
  readonly namesFolder: string;
  /** Folder of the exposure indexes; left out: verdicts say that no transfers were read. */
  readonly exposureFolder?: string;
  /** Own and synced price tables; absent: the tables that ship alone. */
  readonly pricesFolder?: string;
  readonly listMaxAgeDays: number;
  /** The operator's own list of tokens. Left out: there is none. */
  readonly tokensFile?: string | null;
  /** Chains whose transfers are read out of servers. Left out: none. */
  readonly graphStores?: GraphStores;
  readonly logLevel: LogLevel;
  /** By how much the threads stand back behind all others of the machine: the niceness of the system, 0 where left out. */
  readonly niceness?: number;
  /** One int32, counted up by the main thread when a new snapshot is in force. */
  readonly snapshotEpoch: SharedArrayBuffer;
  /** Where results are lent (lending.ts). */
  readonly lendingMemory: SharedArrayBuffer;
}

/** Message in and result out of every task. */
export interface Tasks {
  readonly 'bulk-labels': { readonly message: Uint8Array; readonly result: BulkAnswer };
  readonly screening: { readonly message: ScreeningRequest; readonly result: Uint8Array };
  readonly kyt: { readonly message: KytRequest; readonly result: Uint8Array };
  readonly trace: { readonly message: TraceRequest; readonly result: TraceResult };
  readonly scrypt: { readonly message: ScryptRequest; readonly result: Uint8Array };
  readonly names: { readonly message: readonly NameRequest[]; readonly result: Uint8Array };
  readonly 'job-chunk': { readonly message: ChunkTask; readonly result: ChunkDone };
}

export type TaskName = keyof Tasks;

export type TaskTable = {
  readonly [Name in TaskName]: (message: Tasks[Name]['message']) => Tasks[Name]['result'];
};

const encoder = new TextEncoder();
const bytesOf = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** The tasks over stores that are open. Runs in any thread. */
export function createTasks(
  deps: ScreeningDeps,
  screenNames: NameScreening,
  log: Logger = silentLogger,
  exposures: ExposureReader = unreadExposures((chain) => deps.transfers.coverage(chain).transfers),
): TaskTable {
  const assessor = createAssessor(deps);
  const screen = createScreening(deps, assessor);
  const kyt = createKyt(deps, assessor);
  const trace = createTrace(deps, assessor);
  return {
    'bulk-labels': createBulk({ ...deps, exposures }),
    screening: (request) => bytesOf(screen(request)),
    kyt: (request) => bytesOf(kyt(request)),
    trace(request) {
      const { answer, isKnown } = trace(request);
      return { data: bytesOf(answer), isKnown };
    },
    scrypt: scryptHere,
    names: (requests) => bytesOf(screenNames(requests)),
    'job-chunk': createChunkWork({
      ...deps,
      exposures,
      sanctionsCheck: createSanctionsCheckWriter(deps),
      screening: screen,
      kyt,
      log,
    }),
  };
}

/** Opens the stores of one worker thread. The snapshot is looked at again whenever the epoch has moved. */
export function openTasks(settings: WorkerSettings): TaskTable {
  const log = createLogger({ level: settings.logLevel });
  // Linux keeps it by the thread, and 0 is the one that asks; elsewhere it is the whole process.
  if (settings.niceness && process.platform === 'linux') setPriority(0, settings.niceness);
  const labels = openSnapshotSet(settings.snapshotsFolder, { log });
  const freshness = openFreshness({ labelsFolder: settings.labelsFolder });
  const names = openNamesSet({
    names: openNameStore({ folder: settings.namesFolder }),
    indexer: { open: openNameIndex },
    log,
  });
  const screenNames = createNameScreening({
    names: () => {
      // One system call a request: names are published apart from labels.
      names.refresh();
      return names.current;
    },
    clock: systemClock,
    listMaxAgeDays: settings.listMaxAgeDays,
  });
  const clusters = openClusters({ folder: settings.clustersFolder });
  const transfers = openTransferStore({ path: settings.transfersFolder, readOnly: true });
  const policy = loadPolicy(loadTaxonomy().rows);
  const tasks = createTasks(
    {
      labels,
      freshness: () => freshness.listFreshness(systemClock.now(), settings.listMaxAgeDays),
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
      outputs: openOutputsStore({ path: settings.outputsFolder, readOnly: true }),
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
    settings.exposureFolder === undefined
      ? undefined
      : createExposureReader(settings.exposureFolder, {
          clock: systemClock,
          log,
          position: positionIn(transfers, settings.graphStores ?? {}),
          coverage: (chain) => transfers.coverage(chain),
          isStored: isStoredIn(transfers),
          inputs: createInputs({
            dataVersion: () => labels.current.meta.dataVersion,
            policyVersion: () => policy.version,
            tokensFile: settings.tokensFile ?? null,
          }),
        }),
  );
  const epoch = new Int32Array(settings.snapshotEpoch);
  let seen = Atomics.load(epoch, 0);
  const current = <Message, Result>(task: (message: Message) => Result) => {
    return (message: Message): Result => {
      const now = Atomics.load(epoch, 0);
      if (now !== seen) {
        labels.refresh();
        clusters.refresh();
        seen = now;
      }
      return task(message);
    };
  };
  return {
    'bulk-labels': current(tasks['bulk-labels']),
    screening: current(tasks.screening),
    kyt: current(tasks.kyt),
    trace: current(tasks.trace),
    scrypt: tasks.scrypt,
    names: tasks.names,
    'job-chunk': current(tasks['job-chunk']),
  };
}
