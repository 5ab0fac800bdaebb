/**
 * What the HTTP front end asks of the rest of the program: keys, limits, quotas, and the use cases. Implementations are chosen by
 * the composition root. Answers are the JSON text of `data`: written to the socket as they are, never parsed on the way.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';

export type Permission = 'screening' | 'entity' | 'kyt' | 'monitoring' | 'intel' | 'oracle';

/** Routes of one class share one limit per key. The limits themselves belong to the accounts. */
export type RateClass = 'screening' | 'entity' | 'intel' | 'sanctions' | 'oracle';

export type QuotaProduct = 'intel' | 'oracle';

/** As much of a key's record as a request needs. */
export interface CallerKey {
  readonly id: string;
  readonly accountId: string;
  readonly permissions: readonly Permission[];
}

export interface KeyVerifier {
  /** The record of an active key; null for a text that is none, and from the moment of its revocation on. Synchronous. */
  verify(token: string): CallerKey | null;
}

export interface RateDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetEpochSeconds: number;
  readonly retryAfterSeconds: number;
}

export interface RateLimits {
  /** Counts one request of the key when it is allowed. The answer may be reused by the next call. */
  check(keyId: string, rateClass: RateClass, nowMs: number): RateDecision;
}

export interface QuotaDecision {
  readonly ok: boolean;
  /** Null for an unlimited plan. */
  readonly limit: number | null;
  readonly remaining: number | null;
  /** ISO 8601. */
  readonly resetAt: string;
}

export interface Quotas {
  /** Takes `count` units whole or nothing. The answer may be reused by the next call. */
  take(accountId: string, product: QuotaProduct, count: number): QuotaDecision;
  /** Gives units back that an error or a bad item did not use. */
  give(accountId: string, product: QuotaProduct, count: number): void;
}

/** JSON text of a `data` object. */
export type Json = string | Uint8Array;

/** A label set together with the data version that its ETag is made of. */
export interface LabelSet {
  readonly json: Json;
  readonly dataVersion: string;
}

export interface BulkAnswer {
  /** JSON text of `data`. */
  readonly json: Uint8Array;
  /** Items of the request. */
  readonly items: number;
  /** Items that were answered with an error in their place; they cost nothing. */
  readonly failed: number;
}

export interface ScreeningRequest {
  readonly address: string;
  readonly chain: string;
  readonly jurisdiction: string;
}

/**
 * The use cases of the endpoints. Chains come as the client wrote them, in any letter case; addresses in any valid form. Each throws
 * (or rejects with) AssayError: UNKNOWN_CHAIN, INVALID_ADDRESS, OVERLOADED, NOT_READY.
 */
export interface UseCases {
  /** The entity label set: `GET /entity/{address}`, `POST /screen`, `GET /address/{chain}/{address}/labels`. Synchronous. */
  labelSet(chain: string, address: string): Json;
  /** `dataVersion` of the snapshot that answers now: what a cacheable read is validated against. */
  dataVersion(): string;
  sanctionsCheck(chain: string, address: string): Json;
  /** The verdict, with the quota as it stands after this call. */
  oracle(chain: string, address: string, quota: QuotaDecision, nowMs: number): Json;
  /** The body of `POST /screen/bulk` as received: valid UTF-8, at most `jsonDepthMax` deep, JSON not yet checked. */
  bulk(body: Uint8Array, signal: AbortSignal): Promise<BulkAnswer>;
  screening(request: ScreeningRequest, signal: AbortSignal): Promise<Json>;
}

/** One list's state, as `/ready` tells it. */
export interface ListFreshness {
  readonly list: string;
  readonly publishedAt: string | null;
  readonly checkedAt: string | null;
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
}

/** A number that another room wants on `/metrics`; read at each scrape. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly value: () => number;
}

export interface HttpDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly keys: KeyVerifier;
  readonly rateLimits: RateLimits;
  readonly quotas: Quotas;
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
}

/** A front end that is not listening yet. */
export interface HttpApp {
  /** Throws LISTEN_FAILED with a sentence where the port is taken or may not be used. */
  listen(): Promise<{ readonly port: number; readonly url: string; readonly backend: 'uws' | 'node' }>;
  /** Takes no new connection, finishes what it took (bounded by LIMITS.shutdownMsMax), then closes what is left. */
  close(): Promise<void>;
}
