/** The facts of a response beside its data. */
import type { TransportResponse } from './transport.ts';

/** State of the rate limit of a key. */
export interface RateLimit {
  /** Requests allowed in any 60 seconds. */
  readonly limit: number;
  /** Requests left now. */
  readonly remaining: number;
  /** Time at which more requests are allowed. */
  readonly resetAt: Date;
}

/** The response of a call: `(await call.withResponse()).response`. */
export interface ResponseInfo {
  readonly status: number;
  /** Id of the request, for the operator of the server. */
  readonly requestId: string | null;
  /** Null if the operation has no rate limit. */
  readonly rateLimit: RateLimit | null;
  /** Calls left this month; `Infinity` if unlimited, null if the response does not say. */
  readonly quotaRemaining: number | null;
  /** Credits after the call; null if the operation costs none. */
  readonly credits: number | null;
  /** True if the response was stored for an earlier request with the same idempotency key. */
  readonly isReplayed: boolean;
  /** Unknown fields of the request, so that a misspelt option is noticed. */
  readonly ignored: readonly string[];
  /** Returns a header, by its name in any letter case. */
  header(name: string): string | null;
}

interface Envelope {
  readonly credits?: { readonly remaining?: number };
  readonly ignored?: readonly string[];
}

const numberOf = (text: string | null): number | null => (text === null ? null : Number(text));

/** Reads headers only if they are asked for, because most callers want the data alone. */
class Info implements ResponseInfo {
  readonly status: number;
  readonly #response: TransportResponse;
  readonly #body: Envelope | null;

  constructor(response: TransportResponse, body: unknown) {
    this.status = response.status;
    this.#response = response;
    this.#body = body as Envelope | null;
  }

  header(name: string): string | null {
    return this.#response.header(name.toLowerCase());
  }

  get requestId(): string | null {
    return this.header('x-request-id');
  }

  get rateLimit(): RateLimit | null {
    const limit = numberOf(this.header('x-ratelimit-limit'));
    if (limit === null) return null;
    return {
      limit,
      remaining: Number(this.header('x-ratelimit-remaining')),
      resetAt: new Date(Number(this.header('x-ratelimit-reset')) * 1_000),
    };
  }

  get quotaRemaining(): number | null {
    const text = this.header('x-quota-remaining');
    return text === 'unlimited' ? Number.POSITIVE_INFINITY : numberOf(text);
  }

  get credits(): number | null {
    return this.#body?.credits?.remaining ?? null;
  }

  get isReplayed(): boolean {
    return this.header('idempotency-replayed') === 'true';
  }

  get ignored(): readonly string[] {
    return this.#body?.ignored ?? [];
  }
}

/** Describes a response. */
export const infoOf = (response: TransportResponse, body: unknown): ResponseInfo => new Info(response, body);
