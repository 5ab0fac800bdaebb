/**
 * What the HTTP front end asks of the rest of the program: keys, limits, quotas, and the use cases. Implementations are chosen by
 * the composition root. Answers are the JSON text of `data` as bytes: written to the socket as they are, never parsed on the way.
 */
import type { Access } from '../accounts/access.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { BulkJobs } from '../jobs/bulk-jobs.ts';
import type { ListCheckMethod } from '../labels/freshness.ts';
import type { MonitoringService } from '../monitoring/service.ts';
import type { ClearedStore } from '../names/cleared.ts';
import type { NameRequest } from '../names/screen-names.ts';
import type { AnswerWriter } from '../screening/answer-bytes.ts';
import type { BulkAnswer } from '../screening/bulk.ts';
import type { KytRequest } from '../screening/kyt.ts';
import type { OracleWriter } from '../screening/oracle.ts';
import type { ScreeningRequest } from '../screening/screen.ts';
import type { TraceRequest, TraceResult } from '../screening/trace.ts';
import type { UploadPace } from './server.ts';

/** As much of the accounts as a request needs: who is this key, may it ask now, has its account any quota or credits left. */
export type CallerAccess = Pick<
  Access,
  'verify' | 'gate' | 'quota' | 'ledger' | 'keys' | 'people' | 'audit' | 'payments'
>;

/**
 * The use cases of the endpoints. Chains come as the client wrote them, in any letter case; addresses in any valid form. Each throws
 * (or rejects with) AssayError: UNKNOWN_CHAIN, INVALID_ADDRESS, OVERLOADED. Work that was begun is finished though its client went
 * away: it takes milliseconds, and to stop it would cost the pool its thread.
 */
export interface UseCases {
  /** The entity label set: `GET /entity/{address}`, `POST /screen`, `GET /address/{chain}/{address}/labels`. */
  readonly labelSet: AnswerWriter;
  /**
   * Changes whenever an answer of `labelSet` may change (the data version, and what makes its coverage): printable ASCII without
   * quotes, what a cacheable read is validated against.
   */
  labelSetVersion(): string;
  readonly sanctionsCheck: AnswerWriter;
  readonly oracle: OracleWriter;
  /** The body of `POST /screen/bulk` as received: valid UTF-8, at most `jsonDepthMax` deep, JSON not yet checked. */
  bulk(body: Uint8Array): Promise<BulkAnswer>;
  /** JSON text of `data` of `GET /exchange-status`. Throws NOT_FOUND with the nearest names. */
  exchangeStatus(name: string, jurisdiction: string | undefined): Uint8Array;
  /** JSON text of `data`, UTF-8. */
  screening(request: ScreeningRequest): Promise<Uint8Array>;
  /** JSON text of `data`; names in place of addresses are resolved on the way. Rejects with INVALID_REQUEST where they cannot be. */
  kyt(request: KytRequest): Promise<Uint8Array>;
  trace(request: TraceRequest): Promise<TraceResult>;
  readonly names: NameUseCases;
  /** Opened when first asked for: an installation that watches nothing holds nothing. */
  monitoring(): MonitoringService;
  /** Opened when first asked for. */
  jobs(): BulkJobs;
}

/** What the operations on names ask for. */
export interface NameUseCases {
  /** Screens names; JSON text of the whole answer, UTF-8. Rejects with NOT_READY, OVERLOADED. */
  screen(requests: readonly NameRequest[]): Promise<Uint8Array>;
  /** Opened when first asked for. */
  cleared(): ClearedStore;
}

/** One list's state, as `/ready` tells it. */
export interface ListFreshness {
  readonly list: string;
  readonly publishedAt: string | null;
  readonly checkedAt: string | null;
  /** DOWNLOAD, IMPORT or ATTESTATION; null if not known. */
  readonly checkedBy: ListCheckMethod | null;
  /** Never loaded, or last checked longer ago than the maximum age. */
  readonly stale: boolean;
}

export interface Readiness {
  /** False while no snapshot is open, or a list is stale and the configuration asks for fresh ones. */
  readonly ready: boolean;
  /** Why not, in sentences; empty where ready. */
  readonly reasons: readonly string[];
  readonly snapshot: {
    readonly dataVersion: string;
    readonly builtAt: string;
    readonly addresses: number;
    readonly labels: number;
    readonly syntheticLabels: number;
  } | null;
  readonly lists: readonly ListFreshness[];
  /** Where labels are pulled from and how far behind they are. Left out where they are built here. */
  readonly pulledFrom?: PulledFrom;
  /** Stores and folders that refuse writes, as on a full disk. Left out if there are none. */
  readonly degraded?: readonly { readonly path: string; readonly reason: string; readonly since: string }[];
  /** Chains on which a wallet is watched, and whether they are followed. Left out where nothing is watched. */
  readonly monitoring?: readonly FollowedChain[];
  /** Leases by which nodes divide work, and their holders. Left out on a machine that is alone. */
  readonly leases?: readonly HeldLeaseState[];
}

/** A lease, as `/ready` shows it. */
export interface HeldLeaseState {
  readonly lease: string;
  /** Names a node; null while no node holds it. */
  readonly holder: string | null;
  /** Whether that is the node that answers. */
  readonly here: boolean;
  /** ISO time; null while no node holds it. */
  readonly since: string | null;
}

interface ReleaseState {
  readonly release: string;
  readonly dataVersion: string;
  readonly publishedAt: string;
}

/** How a node that pulls its labels stands to the one it pulls from, as `/ready` tells it. */
export interface PulledFrom {
  readonly from: string;
  /** The newest that was seen there; null before the first answer. */
  readonly published: ReleaseState | null;
  readonly served: (ReleaseState & { readonly installedAt: string }) | null;
  /** Since when another release is known than is served; null where they are the same. */
  readonly behindSince: string | null;
  /** Time of the last answer. */
  readonly lookedAt: string | null;
  readonly error: string | null;
  /** Since when there is nothing but errors. */
  readonly errorSince: string | null;
}

/** One chain that is watched, as `/ready` tells it. */
export interface FollowedChain {
  readonly chain: string;
  readonly state: 'FOLLOWING' | 'WAITING' | 'STANDBY' | 'UNREACHABLE';
  readonly height: number | null;
  /** Time of the newest block that was processed since the start. */
  readonly blockTime: string | null;
}

/** A number that another room wants on `/metrics`; read at each scrape. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  /** One number, or where `label` names a label, one for each of its values. */
  readonly value: () => number | ReadonlyMap<string, number>;
  readonly label?: string;
}

export interface HttpDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly access: CallerAccess;
  readonly useCases: UseCases;
  readonly readiness: () => Readiness;
  readonly gauges: readonly Gauge[];
}

export interface HttpOptions {
  readonly backend: 'auto' | 'uws' | 'node';
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null;
  /** Where requests to `www.…` are sent; null answers them 404. */
  readonly publicHost: string | null;
  /** Addresses and CIDR ranges whose X-Forwarded-* headers are believed. */
  readonly trustedProxies: readonly string[];
  /** The program's version, for the OpenAPI document. */
  readonly version: string;
  /** Default: all operations. `health`: only those that tell how the program is; a node without the role `api`. */
  readonly operations?: 'all' | 'health';
  /** How large bodies must come. Default: as LIMITS has it. */
  readonly uploads?: UploadPace;
}

/** A front end that is not listening yet. */
export interface HttpApp {
  /** Throws LISTEN_FAILED with a sentence where the port is taken or may not be used. */
  listen(): Promise<{ readonly port: number; readonly url: string; readonly backend: 'uws' | 'node' }>;
  /** Takes no new connection, finishes what it took (bounded by LIMITS.shutdownMsMax), then closes what is left. */
  close(): Promise<void>;
}
