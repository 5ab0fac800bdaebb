/** State of one request in the pipeline, including the units and credits that are returned if it fails. */
import type { CounterMemo } from '../../accounts/counter-memo.ts';
import type { KeyReceipts, Permission } from '../../accounts/keys.ts';
import type { AnswerSlot } from '../../accounts/ledger.ts';
import type { QuotaMeterName, RateClass } from '../../accounts/plans.ts';
import type { Pool } from '../../accounts/pools.ts';
import type { QuotaDecision } from '../../accounts/quota.ts';
import type { RateDecision } from '../../accounts/rate-limit.ts';
import { AssayError } from '../../base/errors.ts';
import { FIRST_HEADER } from '../server/header-bytes.ts';
import type { Exchange } from '../server/port.ts';
import { quotaHeaderLine, rateLimitLines } from './limit-lines.ts';
import type { Principal } from './principal.ts';

/** The key or the person that a request is made with. */
export interface Caller {
  /** Id of the key, or of the person. */
  readonly id: string;
  readonly accountId: string;
  readonly permissions: readonly Permission[];
  /** Form of receipts, if a request names none; absent for a person. */
  readonly receipts?: KeyReceipts;
  /** Remembers the counters of a key. */
  readonly memo?: CounterMemo;
}

/** A client without a key, which may pay for its request. */
export interface Payer {
  /** The client's address, or its network. */
  readonly client: string;
  /** The PAYMENT-SIGNATURE header; empty if absent. */
  readonly payment: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** URL of the request, without the query. */
  readonly url: string;
}

/** Ends the work of a request whose client has disconnected. No response is sent, and the server made no error. */
export class ClientGone extends AssayError {
  constructor() {
    super('INTERNAL', 'The client disconnected before the response; nothing was charged.');
  }
}

/** One request in the pipeline. */
export class Call {
  readonly exchange: Exchange;
  readonly requestId: string;
  /** Monotonic clock. */
  readonly startedMs: number;
  /** Rate limit that every response of the call shows; null before the request was counted or refused. */
  limits: RateDecision | null = null;
  /** Further header lines of every response, each preceded by its line break. */
  extraHead = '';
  /** Quota that a successful response shows. */
  shownQuota: QuotaDecision | null = null;
  /** Further header lines of a successful response only, each preceded by its line break. */
  lines = '';
  /** The Accept header, copied while it can be read. */
  accept = '';
  /** The Accept-Encoding header, copied like `accept`; null if it can still be read. */
  acceptEncoding: string | null = null;
  caller: Caller | null = null;
  /** The client, if it has no key and may pay; else null. */
  payer: Payer | null = null;
  /** The balance that pays for the request: `dashboard` if it has a session. */
  pool: Pool = 'api';
  /** The client with its actor, if the operation asks for it or the request has a session. */
  principal: Principal | null = null;
  /** Rate limit subject of this request; null if the route has no rate limit. */
  subject: string | null = null;
  /** Whether the key has the permission, or the person the role. A request without it is counted and then refused. */
  isPermitted = true;
  /** Whether the gate has counted or refused the request. */
  isCounted = false;
  /** Rate limit state returned by the gate; null before the gate was called. */
  rate: RateDecision | null = null;
  /** Rate limit class in which the request was counted; null before that. */
  rateClass: RateClass | null = null;
  quotaMeter: QuotaMeterName | null = null;
  quota: QuotaDecision | null = null;
  /** Quota units taken by this request. */
  quotaTaken = 0;
  /** Credits of the operation: the amount reserved at first, lowered if the work turns out to be worth less. */
  credits = 0;
  /** Slot that stores the response for the request's Idempotency-Key; null if it has none. */
  answerSlot: AnswerSlot | null = null;
  /** Ledger entry of this request's charge. */
  chargedEntry: string | null = null;
  /** Unknown query parameters and body fields. Null if the request has no body and no unknown parameter. */
  ignored: readonly string[] | null = null;
  /** The client's cached copy is still valid: respond with 304, and take no quota. */
  notModified = false;

  constructor(exchange: Exchange, requestId: string, startedMs: number) {
    this.exchange = exchange;
    this.requestId = requestId;
    this.startedMs = startedMs;
  }

  /** Header lines of every response, errors included. */
  get head(): string {
    const limits = this.limits === null ? '' : rateLimitLines(this.limits);
    return `${FIRST_HEADER}: ${this.requestId}${limits}${this.extraHead}`;
  }

  /** Header lines of a successful response only, each preceded by its line break. */
  get successLines(): string {
    return this.shownQuota === null ? this.lines : quotaHeaderLine(this.shownQuota) + this.lines;
  }
}

/**
 * Returns the key or person of an operation that requires one.
 *
 * @throws INTERNAL if the operation was reached without one
 */
export function callerOf(call: Call): Caller {
  if (call.caller !== null) return call.caller;
  throw new AssayError('INTERNAL', 'The operation requires a key or a session, and the request has none.');
}
