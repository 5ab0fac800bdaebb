/**
 * Dependencies of the HTTP front end on the rest of the program: keys, limits, quotas and the use cases. The composition root
 * chooses the implementations. Responses are the JSON text of `data` as bytes, which are written to the socket without being
 * parsed.
 */
import type { Access } from '../accounts/access.ts';
import type { AttributionAnswer } from '../attribution/explain.ts';
import type {
  DecidedReport,
  LabelReport,
  ReportDecision,
  ReportedLabel,
  ReportStore,
} from '../attribution/reports.ts';
import type { PooledJson } from '../base/buffer-pool.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Billing } from '../billing/service.ts';
import type { InvoiceAuthorizations } from '../billing/x402/invoice-authorizations.ts';
import type { PayPerCall } from '../billing/x402/pay-per-call.ts';
import type { CaseService } from '../cases/service.ts';
import type { BulkJobs } from '../jobs/bulk-jobs.ts';
import type { ListCheckMethod } from '../labels/freshness.ts';
import type { MonitoringService } from '../monitoring/service.ts';
import type { StreamHub } from '../monitoring/stream.ts';
import type { ClearedStore } from '../names/cleared.ts';
import type { NameRequest } from '../names/screen-names.ts';
import type { ReceiptBatches } from '../receipts/batches.ts';
import type { ReceiptLog } from '../receipts/log/log.ts';
import type { OracleTrees } from '../receipts/oracle/trees.ts';
import type { Receipts } from '../receipts/service.ts';
import type { SavedScreenings } from '../saved-screenings/service.ts';
import type { AnswerWriter } from '../screening/answer-bytes.ts';
import type { BulkAnswer } from '../screening/bulk.ts';
import type { KytRequest } from '../screening/kyt.ts';
import type { AttestedOracleQuery } from '../screening/oracle.ts';
import type { OracleWriter } from '../screening/oracle-writer.ts';
import type { AttestedSanctionsQuery } from '../screening/sanctions-check.ts';
import type { ScreeningRequest } from '../screening/screen.ts';
import type { TraceRequest, TraceResult } from '../screening/trace.ts';
import type { TransactionAnswer } from '../screening/transaction-answers.ts';
import type { TransactionRequest } from '../screening/transaction-search.ts';
import type { OperatorImports, OperatorStatus } from './schemas/operator.ts';
import type { UploadPace } from './server/port.ts';

/** The part of the accounts that a request needs: key verification, rate limits, quotas and credits. */
export type CallerAccess = Pick<
  Access,
  'verify' | 'gate' | 'quota' | 'planOf' | 'ledger' | 'keys' | 'people' | 'audit'
>;

/**
 * The use cases of the endpoints. Chains are given as the client wrote them, in any letter case; addresses in any valid form. Work
 * that has begun is finished even if its client disconnects: it takes milliseconds, and stopping it would cost the pool a thread.
 *
 * @throws UNKNOWN_CHAIN, INVALID_ADDRESS, OVERLOADED
 */
export interface UseCases {
  /** The entity label set: `GET /entity/{address}`, `POST /screen`, `GET /address/{chain}/{address}/labels`. */
  readonly labelSet: AnswerWriter;
  /**
   * Validator of cacheable responses: changes whenever a response of `labelSet` may change (the data version and what determines
   * its coverage). Printable ASCII without quotes.
   */
  labelSetVersion(): string;
  /** What rules found about an address, with their evidence. */
  attribution(chain: string, address: string): AttributionAnswer;
  readonly labelReports: LabelReportUseCases;
  readonly sanctionsCheck: AnswerWriter;
  readonly oracle: OracleWriter;
  /** Roots and proofs for contracts. */
  readonly oracleTrees: Pick<OracleTrees, 'root' | 'proof'>;
  /** The answers of `oracle` and `sanctionsCheck` with their evidence, for receipts. */
  readonly attestedOracle: AttestedOracleQuery;
  readonly attestedSanctionsCheck: AttestedSanctionsQuery;
  /** Screens the body of `POST /screen/bulk` as received: valid UTF-8, at most `jsonDepthMax` deep, JSON not yet checked. */
  bulk(body: Uint8Array): Promise<BulkAnswer>;
  /**
   * Returns the JSON text of `data` of `GET /exchange-status`.
   *
   * @throws NOT_FOUND with the nearest names
   */
  exchangeStatus(name: string, jurisdiction: string | undefined): Uint8Array;
  /** Returns the JSON text of `data`, UTF-8. */
  screening(request: ScreeningRequest): Promise<PooledJson>;
  /**
   * Returns the JSON text of `data`. Names that are given instead of addresses are resolved.
   *
   * @throws INVALID_REQUEST if a name cannot be resolved
   */
  kyt(request: KytRequest): Promise<PooledJson>;
  trace(request: TraceRequest): Promise<TraceResult>;
  /** @throws INVALID_REQUEST if the text is not a transaction hash, or not one of the chain; UNKNOWN_CHAIN */
  transaction(request: TransactionRequest): Promise<TransactionAnswer>;
  readonly names: NameUseCases;
  /** Opened on first use: an installation that watches no wallet allocates nothing for it. */
  monitoring(): MonitoringService;
  cases(): CaseService;
  savedScreenings(): SavedScreenings;
  billing(): Billing;
  /** Streams of events of billing. */
  billingStreams(): StreamHub;
  receiptLog(): ReceiptLog;
  receipts(): Receipts;
  receiptBatches(): Pick<ReceiptBatches, 'write'>;
  /** Opened on first use. */
  jobs(): BulkJobs;
}

/** Reports on labels. */
export interface LabelReportUseCases extends Pick<ReportStore, 'list' | 'openCount'> {
  /**
   * Files a report on labels that exist.
   *
   * @throws NOT_FOUND if the address has no label of the source; INVALID_REQUEST if there are too many open reports
   */
  file(
    draft: Pick<LabelReport, 'accountId' | 'source' | 'reason'> & {
      readonly chain: string;
      readonly address: string;
    },
  ): ReturnType<ReportStore['file']>;
  /** Returns the labels that a report is about, as they are now. */
  labelsOf(report: LabelReport): readonly ReportedLabel[];
  /**
   * Decides an open report. Accepting it stores a dispute, which is published in the background.
   *
   * @throws NOT_FOUND; INVALID_REQUEST if it is decided already, or a field is not usable; FORBIDDEN on a node that pulls its labels
   */
  decide(id: string, decision: ReportDecision): Promise<DecidedReport>;
}

/** The use cases of name screening. */
export interface NameUseCases {
  /**
   * Screens names and returns the JSON text of the whole response, UTF-8.
   *
   * @throws NOT_READY, OVERLOADED
   */
  screen(requests: readonly NameRequest[]): Promise<Uint8Array>;
  /** Opened on first use. */
  cleared(): ClearedStore;
}

/** State of one list in `/ready`. */
export interface ListFreshness {
  readonly list: string;
  readonly publishedAt: string | null;
  readonly checkedAt: string | null;
  /** DOWNLOAD, IMPORT or ATTESTATION; null if not known. */
  readonly checkedBy: ListCheckMethod | null;
  /** True if the list was never loaded, or was last checked longer ago than the maximum age. */
  readonly stale: boolean;
  /** True if the newest loaded file is unusually old for its publisher, whenever it was checked. */
  readonly publicationOld: boolean;
}

/** Something that the service does not do although it is ready. */
export interface Degradation {
  /**
   * STORAGE: a store or folder refuses writes, for example because the disk is full. SECOND_FACTOR: codes of authenticator apps are not
   * accepted. EMAIL_LINKS: people cannot open the links in emails. TRANSPARENCY_LOG: the log of receipts appends and signs nothing.
   * GAS_ACCOUNT: the account that pays gas for payments by a signature is empty, low, or holds too much. REDIS_WENT_BACK: Redis has lost
   * changes of shared stores, which this node has kept.
   * RESTORED_BACKUP: the data folder was restored from a backup, and the operator has not confirmed the steps after it.
   */
  readonly kind:
    | 'STORAGE'
    | 'SECOND_FACTOR'
    | 'EMAIL_LINKS'
    | 'TRANSPARENCY_LOG'
    | 'GAS_ACCOUNT'
    | 'REDIS_WENT_BACK'
    | 'RESTORED_BACKUP';
  /** The store or folder; null for the other kinds. */
  readonly path: string | null;
  /** One sentence. */
  readonly reason: string;
  /** ISO 8601 time. */
  readonly since: string;
}

export interface Readiness {
  /** False while no snapshot is open, or if a list is stale and the configuration requires fresh lists. */
  readonly ready: boolean;
  /** Sentences that say why the service is not ready; empty if it is. */
  readonly reasons: readonly string[];
  readonly snapshot: {
    readonly dataVersion: string;
    readonly builtAt: string;
    readonly addresses: number;
    readonly labels: number;
    readonly syntheticLabels: number;
  } | null;
  readonly lists: readonly ListFreshness[];
  /** The source that labels are pulled from, and how far this node is behind it. Omitted if labels are built here. */
  readonly pulledFrom?: PulledFrom;
  /** What the service does not do although it is ready. Omitted if there is nothing. */
  readonly degraded?: readonly Degradation[];
  /** Chains on which wallets are watched, and whether their blocks are followed. Omitted if no wallet is watched. */
  readonly monitoring?: readonly FollowedChain[];
  /** Leases that divide work among the nodes, and their holders. Omitted on a standalone node. */
  readonly leases?: readonly HeldLeaseState[];
}

/** State of one lease in `/ready`. */
export interface HeldLeaseState {
  readonly lease: string;
  /** Name of the node that holds it; null if no node does. */
  readonly holder: string | null;
  /** Whether the node that sends this response holds it. */
  readonly here: boolean;
  /** ISO time; null if no node holds it. */
  readonly since: string | null;
}

interface ReleaseState {
  readonly release: string;
  readonly dataVersion: string;
  readonly publishedAt: string;
}

/** State of a node that pulls its labels from another one, as shown in `/ready`. */
export interface PulledFrom {
  readonly from: string;
  /** The newest release seen at the source; null before its first response. */
  readonly published: ReleaseState | null;
  readonly served: (ReleaseState & { readonly installedAt: string }) | null;
  /** Time since which the newest known release differs from the served one; null if they are the same. */
  readonly behindSince: string | null;
  /** Time of the last response. */
  readonly lookedAt: string | null;
  readonly error: string | null;
  /** Time since which every attempt has failed. */
  readonly errorSince: string | null;
}

/** State of one watched chain in `/ready`. */
export interface FollowedChain {
  readonly chain: string;
  readonly state: 'FOLLOWING' | 'WAITING' | 'STANDBY' | 'UNREACHABLE';
  /** False if transfers on the chain are not seen at the moment, by any node. */
  readonly following: boolean;
  /** Why `following` is false, as a sentence; null if it is true. */
  readonly reason: string | null;
  readonly height: number | null;
  /** Time of the newest block that was processed since the start. */
  readonly blockTime: string | null;
}

/** A metric of another component for `/metrics`; read at each scrape. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  /** One number or, if `label` names a label, one number for each of its values. */
  readonly value: () => number | ReadonlyMap<string, number>;
  readonly label?: string;
}

/** The state of the installation, for its operators. */
export interface OperatorViews {
  status(): OperatorStatus;
  /** Reads the catalogues of the stores. */
  imports(): OperatorImports;
}

export interface HttpDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly access: CallerAccess;
  readonly useCases: UseCases;
  readonly readiness: () => Readiness;
  readonly operator: OperatorViews;
  /** Payments for single requests; null if the operator accepts none. Default: none. */
  readonly payPerCall?: () => PayPerCall | null;
  /** Payments of invoices by a signature; null if the operator pays no gas. Default: none. */
  readonly gasless?: () => InvoiceAuthorizations | null;
  readonly gauges: readonly Gauge[];
  /** Threads that accept connections; null if the main thread accepts them. Default: none. */
  readonly acceptors?: Acceptors | null;
}

/** Threads with connections of their own. */
export interface Acceptors {
  /** Number of threads, at least two. */
  readonly count: number;
  /** Built entry of the threads. */
  readonly worker: URL;
  /** Data of each thread, with which it opens the stores of the hot operations; null if the threads pass every request on. */
  readonly stores: object | null;
  /** Counts the requests that the threads answer; null if they answer none. */
  readonly counting: Pick<Access, 'gate' | 'quota' | 'sharing'> | null;
}

export interface HttpOptions {
  readonly backend: 'auto' | 'uws' | 'node';
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null;
  /** Connections that are open at a time. Default: no limit. */
  readonly connectionsMax?: number;
  /** Host that requests to `www.…` are redirected to; if null, they are answered with 404. */
  readonly publicHost: string | null;
  /** Origins of pages that may send MCP requests, beside the server's own. Default: none. */
  readonly mcpOrigins?: readonly string[];
  /** Addresses and CIDR ranges with trusted X-Forwarded-* headers. */
  readonly trustedProxies: readonly string[];
  /** Version of the program, for the OpenAPI document. */
  readonly version: string;
  /** Default: all operations. `health`: only the health endpoints, for a node without the role `api`. */
  readonly operations?: 'all' | 'health';
  /** Seconds for which the node:http server keeps an idle connection open. Default: LIMITS.keepAliveSeconds. */
  readonly keepAliveSeconds?: number;
  /** Folder of the built guide. Default: that of the program. */
  readonly guideFolder?: string;
  /** Folder of the built dashboard. Default: that of the program. */
  readonly dashboardFolder?: string;
  /** Minimum pace of uploaded bodies. Default: that of HTTP_LIMITS. */
  readonly uploads?: UploadPace;
}

/** A front end that is not listening yet. */
export interface HttpApp {
  /**
   * Starts to listen.
   *
   * @throws LISTEN_FAILED if the port is taken or this user may not use it
   */
  listen(): Promise<{ readonly port: number; readonly url: string; readonly backend: 'uws' | 'node' }>;
  /** Accepts no new connections, finishes open requests (at most HTTP_LIMITS.shutdownMsMax), then closes the remaining connections. */
  close(): Promise<void>;
}
