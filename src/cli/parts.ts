/** What the commands ask of the composition root. A part is opened when a command first needs it and closed at the end. */
import type { AuditLog } from '../accounts/audit.ts';
import type { KeyStore } from '../accounts/keys.ts';
import type { Ledger } from '../accounts/ledger.ts';
import type { People } from '../accounts/people.ts';
import type { AccountsFilled } from '../accounts/redis/fill.ts';
import type { Role } from '../base/roles.ts';
import type { ChainAdapters } from '../chains/adapters/registry.ts';
import type { PriceSyncReport } from '../chains/prices/daily.ts';
import type { PriceSource } from '../chains/prices/price.ts';
import type { InstalledPrices } from '../chains/prices/tables.ts';
import type { ChainId } from '../chains/registry.ts';
import type { BuildExposureOptions, BuildExposureReport } from '../exposure/build.ts';
import type { ExposureIndexStatus } from '../exposure/status.ts';
import type { ClusterReader } from '../graph/cluster/store.ts';
import type { LiveIngest } from '../graph/ingest/live.ts';
import type { PushOptions, PushReport } from '../graph/remote/push-session.ts';
import type { TransferStore } from '../graph/store.ts';
import type { OutputsStore } from '../graph/utxo/outputs-store.ts';
import type { ImportDeps } from '../labels/import-report.ts';
import type { SnapshotSet } from '../labels/index/reader.ts';
import type { Monitoring } from '../monitoring/open.ts';
import type { BuildNamesReport } from '../names/build-names.ts';
import type { NameStore } from '../names/lists.ts';
import type { NameImportReport, NameImportRequest } from '../names/lists-import.ts';
import type { NameScreening } from '../names/screen-names.ts';
import type { RegisterStore } from '../registers/store.ts';
import type { BulkFileDeps } from '../screening/bulk-file.ts';
import type { KytQuery } from '../screening/kyt.ts';
import type { LabelSetQuery } from '../screening/label-set.ts';
import type { ScreeningQuery } from '../screening/screen.ts';
import type { TraceQuery } from '../screening/trace.ts';
import type { TravelDeps, TravelSettings } from '../travel/follow.ts';

export interface Served {
  readonly url: string;
  readonly backend: string;
  /** The key that this first start made, to be shown once; null where keys existed. */
  readonly firstKey: string | null;
  /** Finishes what was taken, then closes everything. */
  stop(): Promise<void>;
}

/** What `assay graph push` asks. */
export interface PushRequest extends Pick<PushOptions, 'chain' | 'isFull' | 'signal' | 'onProgress'> {
  /** Redis URL; left out: ASSAY_GRAPH_STORE_<CHAIN>. */
  readonly to?: string;
}

/** What `assay redis fill` asks. */
export interface FillRequest {
  readonly signal: AbortSignal;
  readonly onProgress: (stage: string, done: number, total: number, unit: string) => void;
}

/** What a Redis holds that was filled, read back and compared with the files but for what ends by itself: kept answers, units of jobs. */
export interface FillReport {
  /** Whether an earlier filling was taken up. */
  readonly resumed: boolean;
  /** ISO times. */
  readonly begun: string;
  readonly ended: string;
  readonly stores: readonly { readonly name: string; readonly records: number }[];
  readonly ledger: AccountsFilled;
}

/** What `assay redis restore --from-replica` has done, or would do. */
export interface RestoreReport {
  /** Id of the installation; null for replicas that are older than ids. */
  readonly installation: string | null;
  /** Whether an earlier restoring was taken up. */
  readonly resumed: boolean;
  /** ISO time; null if it was only checked. */
  readonly ended: string | null;
  /** Version of each store's replica; 0 for one that was never written to. */
  readonly stores: readonly { readonly name: string; readonly version: number }[];
}

/** What nodes may share: keys, people and all that is of accounts; and with that, wallets and their alerts. */
export type SharedState = 'accounts' | 'monitoring';

/** Operations of `assay exposure`. */
export interface ExposureParts {
  /** Chains with stored transfers. */
  chains(): readonly ChainId[];
  build(
    chain: ChainId,
    options: Pick<BuildExposureOptions, 'signal' | 'onProgress'>,
  ): Promise<BuildExposureReport>;
  status(): readonly ExposureIndexStatus[];
}

export interface Parts extends ImportDeps {
  /** Folder of all state. */
  readonly dataDir: string;
  /** Folder of the label snapshots. */
  readonly snapshotsFolder: string;
  /** Threads that bulk work uses unless told otherwise: one a core. */
  readonly threads: number;
  readonly bulkDeps: BulkFileDeps;
  /** The exposure indexes of this machine. */
  readonly exposures: ExposureParts;
  /** The mirror that stands in for the publishers; null asks the publishers. */
  readonly syncFrom: string | null;
  /** Regulatory registers, of which exchanges are looked up. */
  readonly registers: RegisterStore;
  /** The listed parties that names are screened against. */
  readonly nameStore: NameStore;
  /** Publishes an index of the listed names where they changed, those that ship among them. */
  buildNames(): Promise<BuildNamesReport>;
  /** Throws NOT_READY, when first asked, where no index of names was built yet. */
  screenNames(): NameScreening;
  /** Imports lists of names that are no official sanctions lists; those come with the labels. */
  importNames(request: NameImportRequest): Promise<readonly NameImportReport[]>;
  keys(): KeyStore;
  ledger(): Ledger;
  people(): People;
  audit(): AuditLog;
  /** The published label snapshot. Throws NOT_READY where none was built yet. */
  snapshots(): SnapshotSet;
  /** The transfer store; only ingest opens it for writing. */
  transfers(mode: 'read' | 'write'): TransferStore;
  /** Fills the server that a chain's transfers are read from: `to`, or that of the settings. Throws as `pushChain` does. */
  pushGraph(request: PushRequest): Promise<PushReport>;
  /** Fills an empty Redis with what this machine has in files. Rejects with INVALID_CONFIG where no Redis is named. */
  fillRedis(request: FillRequest): Promise<FillReport>;
  /** Begins an installation in an empty Redis; returns its id. Rejects with INVALID_CONFIG, INVALID_REQUEST, NOT_READY. */
  foundInstallation(): Promise<string>;
  /** Puts the replicas of this folder back into an empty Redis, or only checks that it could. Rejects as `fillRedis` does. */
  restoreRedis(request: FillRequest & { readonly isCheck: boolean }): Promise<RestoreReport>;
  /** Outputs of UTXO chains with their spends; only ingest opens it for writing. */
  outputs(mode: 'read' | 'write'): OutputsStore;
  clusters(): ClusterReader;
  /** Prices from tables, pegs, the operator's EVM nodes and the price server. */
  prices(): PriceSource;
  /** Prices from tables and pegs alone. */
  installedPrices(): InstalledPrices;
  /** Whether a price server or an EVM node of the operator is configured, from which daily prices can be synced. */
  readonly canSyncPrices: boolean;
  /** Adds the newest daily closes to the tables. */
  syncPrices(
    signal: AbortSignal,
    onProgress: (done: number, total: number) => void,
  ): Promise<PriceSyncReport>;
  labelSet(): LabelSetQuery;
  /** Chains read live. Nothing is imported or connected before one is asked. */
  chains(): ChainAdapters;
  /** Takes live blocks into the transfer store. */
  liveIngest(): LiveIngest;
  /** Adds to a request what chains say now of its address, within the budget of the settings. */
  readLive<Request extends { readonly chain: string; readonly address: string }>(
    request: Request,
  ): Promise<Request>;
  screening(): ScreeningQuery;
  kyt(): KytQuery;
  trace(): TraceQuery;
  /** Wallets and their alerts; follows no chain and sends nothing. */
  monitoring(): Monitoring;
  /** Throws FORBIDDEN on a node that pulls its labels and builds none. */
  requireBuilder(): void;
  /** How snapshots travel from and to this node. */
  readonly travel: { readonly settings: TravelSettings; readonly deps: TravelDeps };
  /** Takes the folders of state for this server, until `close`. Rejects with STORE_BUSY if another server has one of them. */
  holdFolders(): Promise<void>;
  /** Imports what ships with the product and builds the index where either is missing. */
  prepare(signal?: AbortSignal): Promise<void>;
  /** Resolves when what other nodes wrote can be read: at once on a machine that is alone. Rejects with NOT_READY. */
  ready(of: SharedState): Promise<void>;
  /** Starts the server, to do what its roles name; default: those of the settings. Throws LISTEN_FAILED where the port is taken. */
  serve(roles?: readonly Role[]): Promise<Served>;
  close(): Promise<void>;
}
