/** The tasks of a pool worker by name, and the stores that it opens for them. All stores are opened read-only, once per thread. */
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
import { createKyt, type KytFacts, type KytRequest } from '../screening/kyt.ts';
import { createSanctionsCheckWriter } from '../screening/sanctions-check.ts';
import { createScreening, type ScreeningFacts, type ScreeningRequest } from '../screening/screen.ts';
import { createTrace, type TraceRequest, type TraceResult } from '../screening/trace.ts';
import { createChunkWork } from './bulk/chunk-work.ts';
import type { ChunkDone, ChunkTask } from './chunks.ts';

/** Settings of a worker, sent once at its start. */
export interface WorkerSettings {
  readonly snapshotsFolder: string;
  readonly labelsFolder: string;
  readonly transfersFolder: string;
  readonly outputsFolder: string;
  readonly clustersFolder: string;
  readonly namesFolder: string;
  /** Folder of the exposure indexes; if omitted, verdicts say that no transfers were read. */
  readonly exposureFolder?: string;
  /** Own and synced price tables; if absent, only the tables that ship with the program are used. */
  readonly pricesFolder?: string;
  readonly listMaxAgeDays: number;
  /** The operator's own token list. Default: none. */
  readonly tokensFile?: string | null;
  /** Chains with transfers that are read from servers. Default: none. */
  readonly graphStores?: GraphStores;
  readonly logLevel: LogLevel;
  /** Niceness of the threads in the operating system. Default: 0. */
  readonly niceness?: number;
  /** One int32, incremented by the main thread when a new snapshot is in force. */
  readonly snapshotEpoch: SharedArrayBuffer;
  /** Buffer pool for results (base/buffer-pool.ts). */
  readonly bufferPoolMemory: SharedArrayBuffer;
}

/** Message and result of every task. */
export interface Tasks {
  readonly 'bulk-labels': { readonly message: Uint8Array; readonly result: BulkAnswer };
  readonly screening: {
    readonly message: { readonly request: ScreeningRequest; readonly facts: ScreeningFacts };
    readonly result: Uint8Array;
  };
  readonly kyt: {
    readonly message: { readonly request: KytRequest; readonly facts: KytFacts };
    readonly result: Uint8Array;
  };
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

/** Creates the tasks over open stores. Can run in any thread. */
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
    screening: ({ request, facts }) => bytesOf(screen(request, facts)),
    kyt: ({ request, facts }) => bytesOf(kyt(request, facts)),
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

/** Opens the stores of one worker thread. The thread checks for a new snapshot whenever the epoch has changed. */
export function openTasks(settings: WorkerSettings): TaskTable {
  const log = createLogger({ level: settings.logLevel });
  // Linux has a niceness per thread, and 0 is the calling thread; on other systems it would apply to the whole process.
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
      // One system call per request: names are published independently of labels.
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
