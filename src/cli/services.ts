/** Services that the commands get from the composition root. A service is opened on first use and closed at the end. */
import type { AuditLog } from '../accounts/audit.ts';
import type { KeyStore } from '../accounts/keys.ts';
import type { Ledger } from '../accounts/ledger.ts';
import type { People } from '../accounts/people.ts';
import type { Plan } from '../accounts/plans.ts';
import type { AccountsFilled } from '../accounts/redis/fill.ts';
import type { Dispute, DisputeRequest } from '../attribution/disputes.ts';
import type { AttributionAnswer } from '../attribution/explain.ts';
import type { ChainFollower } from '../attribution/follow-chain.ts';
import type {
  DecidedReport,
  LabelReport,
  ReportDecision,
  ReportedLabel,
  ReportStore,
} from '../attribution/reports.ts';
import type { AttributeOptions, AttributeReport } from '../attribution/run.ts';
import type { KeptThread } from '../base/kept-thread.ts';
import type { CryptoPayments } from '../billing/crypto/crypto-payments.ts';
import type { Billing } from '../billing/service.ts';
import type { AuthorizedPayments } from '../billing/x402/store.ts';
import type { ChainAdapters } from '../chains/families/adapters.ts';
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
import type { RunLog } from '../labels/runs.ts';
import type { Monitoring } from '../monitoring/open.ts';
import type { BuildNamesReport } from '../names/build-names.ts';
import type { NameStore } from '../names/lists.ts';
import type { NameImportReport, NameImportRequest } from '../names/lists-import.ts';
import type { NameScreening } from '../names/screen-names.ts';
import type { Role } from '../nodes/roles.ts';
import type { LogStore } from '../receipts/log/store.ts';
import type { PushReport as OraclePushReport, PushedBatch } from '../receipts/oracle/push.ts';
import type { Receipts } from '../receipts/service.ts';
import type { VerdictKeyStore } from '../receipts/verdict-key.ts';
import type { RegisterStore } from '../registers/store.ts';
import type { ReplicationDeps, ReplicationSettings } from '../replication/follow.ts';
import type { BulkFileDeps } from '../screening/bulk-file.ts';
import type { KytQuery } from '../screening/kyt.ts';
import type { LabelSetQuery } from '../screening/label-set.ts';
import type { ScreeningFacts, ScreeningQuery, ScreeningRequest } from '../screening/screen.ts';
import type { TraceQuery } from '../screening/trace.ts';

export interface Served {
  readonly url: string;
  readonly backend: string;
  /** The key that the first start has created, to be shown once; null if keys existed. */
  readonly firstKey: string | null;
  /** Plan of the operator's own account, `local`; null if missing, or if this node does not answer requests. */
  readonly localPlan: Plan | null;
  /** Finishes open requests, then closes everything. */
  stop(): Promise<void>;
}

/** Parameters of `assay graph push`. */
export interface PushRequest extends Pick<PushOptions, 'chain' | 'isFull' | 'signal' | 'onProgress'> {
  /** Redis URL. Default: ASSAY_GRAPH_STORE_<CHAIN>. */
  readonly to?: string;
}

/** Parameters of `assay redis fill`. */
export interface FillRequest {
  readonly signal: AbortSignal;
  readonly onProgress: (stage: string, done: number, total: number, unit: string) => void;
}

/**
 * Contents of a filled Redis. They were read back and compared with the files, except records that expire by themselves: stored
 * responses and units of jobs.
 */
export interface FillReport {
  /** Whether an earlier, interrupted run was continued. */
  readonly resumed: boolean;
  /** ISO times. */
  readonly begun: string;
  readonly ended: string;
  readonly stores: readonly { readonly name: string; readonly records: number }[];
  readonly ledger: AccountsFilled;
}

/** Result of `assay redis restore --from-replica`, or of its check. */
export interface RestoreReport {
  /** Id of the installation; null for replicas that are older than ids. */
  readonly installation: string | null;
  /** Whether an earlier, interrupted run was continued. */
  readonly resumed: boolean;
  /** ISO time; null if it was only checked. */
  readonly ended: string | null;
  /** Version of each store's replica; 0 if it was never written to. */
  readonly stores: readonly { readonly name: string; readonly version: number }[];
}

/** Parameters of `assay redis newer`. */
export interface NewerRequest extends FillRequest {
  /** Names of the stores to restore; empty to list the kept states. */
  readonly restore: readonly string[];
}

/** Result of `assay redis newer`. */
export interface NewerReport {
  /** The states that were restored. */
  readonly restored: readonly { readonly store: string; readonly path: string }[];
  /** The states that this node has kept, those of each store in the order of time. */
  readonly states: readonly {
    readonly store: string;
    readonly version: number;
    /** ISO time. */
    readonly keptAt: string;
    readonly path: string;
    /** Version of the store in Redis; 0 if absent. */
    readonly redisVersion: number;
  }[];
}

/**
 * State that nodes may share: keys, people and all other data of accounts (`accounts`); in addition, wallets and their alerts
 * (`monitoring`).
 */
export type SharedState = 'accounts' | 'monitoring';

/** A contract of `assay oracle`. */
export interface OracleStatusRequest {
  /** URL of a node. */
  readonly rpc: string;
  readonly contract: string;
  /** Whether it is a SanctionsRoot; else it is a SanctionsOracle. */
  readonly isRoot: boolean;
  /** Default: the chain of the node. */
  readonly chain?: ChainId;
  readonly signal: AbortSignal;
}

/** Parameters of `assay oracle push`. */
export interface OraclePushRequest extends OracleStatusRequest {
  /** `0x` and hexadecimal; null only estimates. */
  readonly privateKey: string | null;
  readonly confirmations: number;
  /** Wei per gas. */
  readonly feeMax: bigint;
  /** Addresses per transaction. */
  readonly batch: number;
  /** Life of the root; null pushes addresses. */
  readonly rootSeconds: number | null;
  readonly force: boolean;
  readonly onBatch: (batch: PushedBatch) => void;
}

/** A contract compared with the lists. */
export interface OracleStatus {
  readonly chain: ChainId;
  readonly contract: string;
  readonly block: number;
  readonly dataVersion: string;
  /** Addresses of the lists, and on chain. */
  readonly addresses: number;
  readonly onChain: number;
  readonly isCurrent: boolean;
  readonly owner: string;
  readonly pusher: string;
  /** Of a list: addresses that are only in the lists, and only on chain. */
  readonly missing?: number;
  readonly surplus?: number;
  /** Of a root: that of the contract, and that of the lists. */
  readonly root?: string;
  readonly presentRoot?: string;
  readonly epoch?: number;
  /** Seconds since 1970. */
  readonly expiresAt?: number;
}

/** Operations of `assay oracle`. */
export interface OracleServices {
  /** Private key of the settings; null if it is not set. */
  readonly pushKey: string | null;
  /** Rejects with the errors of `pushList` and `pushRoot`, and with NOT_READY if the lists are too old. */
  push(request: OraclePushRequest): Promise<OraclePushReport>;
  status(request: OracleStatusRequest): Promise<OracleStatus>;
  readonly verdictKeys: VerdictKeyStore;
}

/** Operations of `assay attribute`. */
export interface AttributionServices {
  /** Applies the rules to a chain. Throws the errors of `attributeChain`. */
  run(
    chain: ChainId,
    options: Pick<AttributeOptions, 'signal' | 'fromBlock' | 'onProgress'> & {
      /** Of which contracts logs are read; `known`: those that were read before. */
      readonly logs: 'all' | 'known' | 'none';
      /** The transfer store, if this process has opened it for writing. */
      readonly transfers?: TransferStore;
    },
  ): Promise<AttributeReport>;
  /**
   * Opens what follows a chain to which the rules were applied before; null if they were not, or if this machine pulls its labels.
   *
   * @param transfers - the transfer store, which this process has opened for writing
   */
  follower(
    chain: ChainId,
    transfers: TransferStore,
  ): (Pick<ChainFollower, 'follow'> & { close(): Promise<void> }) | null;
  /** Keeps all chains up to date while a server runs; null if this machine pulls its labels. */
  keep(): KeptThread | null;
  /** Returns all disputes, oldest first. */
  disputes(): readonly Dispute[];
  /** Stores a dispute. Throws the errors of `Disputes.add`. */
  dispute(
    request: Omit<DisputeRequest, 'subject'> & { readonly chain: string; readonly address: string },
    signal: AbortSignal,
  ): Promise<Dispute>;
  /** Writes the derived labels of all chains with disputes again, without the disputed addresses. The next build publishes them. */
  applyDisputes(signal: AbortSignal): Promise<void>;
  /**
   * Decides an open report. Accepting it stores a dispute, which is published in the background. Throws the errors of `Disputes.add` and
   * `ReportStore.decide`; FORBIDDEN if a report is accepted on a node that pulls its labels.
   */
  decide(id: string, decision: ReportDecision): Promise<DecidedReport>;
  /** Withdraws a dispute. Throws the errors of `Disputes.remove`. */
  undispute(chain: string, address: string, signal: AbortSignal): Promise<Dispute>;
  /** Files a report on labels that exist. Throws the errors of `ReportStore.file`; NOT_FOUND. */
  report(
    draft: Pick<LabelReport, 'accountId' | 'source' | 'reason'> & {
      readonly chain: string;
      readonly address: string;
    },
  ): ReturnType<ReportStore['file']>;
  readonly reports: () => ReportStore;
  /** Returns the labels that a report is about, as they are now, at most `reportedLabelsMax`. */
  reported(report: LabelReport): readonly ReportedLabel[];
  /** Returns whether the rules were applied to the chain before. */
  isActive(chain: ChainId): boolean;
  /** Throws UNKNOWN_CHAIN, INVALID_ADDRESS; NOT_READY if no snapshot was built yet. */
  explain(chain: string, address: string): AttributionAnswer;
}

/** Operations of `assay exposure`. */
export interface ExposureServices {
  /** Chains with stored transfers. */
  chains(): readonly ChainId[];
  build(
    chain: ChainId,
    options: Pick<BuildExposureOptions, 'signal' | 'onProgress'>,
  ): Promise<BuildExposureReport>;
  status(): readonly ExposureIndexStatus[];
}

export interface Services extends ImportDeps {
  /** Folder of all state. */
  readonly dataDir: string;
  /** Folder of the label snapshots. */
  readonly snapshotsFolder: string;
  /** Default number of threads for bulk work: one per core. */
  readonly threads: number;
  readonly bulkDeps: BulkFileDeps;
  /** Labels that are derived from the chain. */
  readonly attribution: AttributionServices;
  /** The exposure indexes of this machine. */
  readonly exposures: ExposureServices;
  /** Lists in contracts, and the key that signs verdicts for contracts. */
  oracle(): OracleServices;
  /** Mirror that replaces the publishers; null downloads from the publishers. */
  readonly syncFrom: string | null;
  /** Headers that authenticate requests to publishers, by source. */
  readonly sourceCredentials: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The last imports, syncs and builds of this machine. */
  readonly runs: RunLog;
  /** Regulatory registers in which exchanges are looked up. */
  readonly registers: RegisterStore;
  /** The listed parties that names are screened against. */
  readonly nameStore: NameStore;
  /** Publishes an index of the listed names, including the shipped ones, if they have changed. */
  buildNames(): Promise<BuildNamesReport>;
  /** Throws NOT_READY on first use if no index of names was built yet. */
  screenNames(): NameScreening;
  /** Imports lists of names that are not official sanctions lists; those are imported with the labels. */
  importNames(request: NameImportRequest): Promise<readonly NameImportReport[]>;
  keys(): KeyStore;
  ledger(): Ledger;
  billing(): Billing;
  /** Payments in cryptocurrency; null if no key is configured. */
  cryptoPayments(): CryptoPayments | null;
  /** Payments by a signed authorization; null if none are accepted. */
  authorizedPayments(): AuthorizedPayments | null;
  people(): People;
  audit(): AuditLog;
  /** The transparency log of receipts of this installation. */
  logStore(): LogStore;
  /** Receipts of this installation. Erased receipts and new keys are recorded in the audit log. */
  receipts(): Receipts;
  /**
   * Returns the published label snapshot.
   *
   * @throws NOT_READY if no snapshot was built yet
   */
  snapshots(): SnapshotSet;
  /** The transfer store. Only ingest opens it for writing. */
  transfers(mode: 'read' | 'write'): TransferStore;
  /**
   * Fills the server from which a chain's transfers are read: `to`, or the server of the settings. Throws the errors of
   * `pushChain`.
   */
  pushGraph(request: PushRequest): Promise<PushReport>;
  /**
   * Fills an empty Redis from the files of this machine.
   *
   * @throws INVALID_CONFIG if no Redis is configured
   */
  fillRedis(request: FillRequest): Promise<FillReport>;
  /**
   * Starts an installation in an empty Redis, and returns its id.
   *
   * @throws INVALID_CONFIG, INVALID_REQUEST, NOT_READY
   */
  foundInstallation(): Promise<string>;
  /**
   * Restores an empty Redis from the replicas of this folder, or only checks that this is possible. Rejects with the errors of
   * `fillRedis`.
   */
  restoreRedis(request: FillRequest & { readonly isCheck: boolean }): Promise<RestoreReport>;
  /** Lists the states of stores that Redis has lost and this node has kept, and restores those of the named stores. */
  newerStates(request: NewerRequest): Promise<NewerReport>;
  /** Outputs of UTXO chains with their spends. Only ingest opens it for writing. */
  outputs(mode: 'read' | 'write'): OutputsStore;
  clusters(): ClusterReader;
  /** Prices from tables, pegs, the operator's EVM nodes and the price server. */
  prices(): PriceSource;
  /** Prices from tables and pegs only. */
  installedPrices(): InstalledPrices;
  /** Whether a price server or an EVM node of the operator is configured, from which daily prices can be synced. */
  readonly canSyncPrices: boolean;
  /** Adds the newest daily closing prices to the tables. */
  syncPrices(
    signal: AbortSignal,
    onProgress: (done: number, total: number) => void,
  ): Promise<PriceSyncReport>;
  labelSet(): LabelSetQuery;
  /** Adapters of chains that are read live. They are imported and connected on first use. */
  chains(): ChainAdapters;
  /** Adds live blocks to the transfer store. */
  liveIngest(): LiveIngest;
  /** Reads the live chain data of the address of a request, within the time budget of the settings. */
  readLive(request: ScreeningRequest): Promise<ScreeningFacts>;
  screening(): ScreeningQuery;
  kyt(): KytQuery;
  trace(): TraceQuery;
  /** Wallets and their alerts. Follows no chain and sends nothing. */
  monitoring(): Monitoring;
  /** Throws FORBIDDEN on a node that pulls its labels instead of building them. */
  requireBuilder(): void;
  /** Snapshot replication from and to this node. */
  readonly replication: { readonly settings: ReplicationSettings; readonly deps: ReplicationDeps };
  /**
   * Locks the folders of state for this server until `close`.
   *
   * @throws STORE_BUSY if another server uses one of them
   */
  holdFolders(): Promise<void>;
  /** Imports the shipped data and builds the index, if either is missing. */
  prepare(signal?: AbortSignal): Promise<void>;
  /**
   * Resolves when the data of other nodes can be read; at once on a standalone node.
   *
   * @throws NOT_READY
   */
  ready(of: SharedState): Promise<void>;
  /**
   * Starts the server with the given roles. Default: the roles of the settings.
   *
   * @throws LISTEN_FAILED if the port is taken
   */
  serve(roles?: readonly Role[]): Promise<Served>;
  close(): Promise<void>;
}

/** Services of any command: those that the program uses itself. */
export type OpenServices = Pick<Services, 'dataDir' | 'ready' | 'close'>;

/** Services of a look-up of labels. */
export interface LookupServices extends OpenServices, Pick<Services, 'clock' | 'labelSet'> {
  readonly store: Pick<Services['store'], 'folder'>;
  readonly bulkDeps: Pick<Services['bulkDeps'], 'listMaxAgeDays'>;
}
