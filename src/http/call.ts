/** One request on its way through the pipeline: what is known of it so far, and what it holds that an error gives back. */
import type { KeyRecord } from '../accounts/keys.ts';
import type { AnswerSlot } from '../accounts/ledger.ts';
import type { QuotaMeterName, RateClass } from '../accounts/plans.ts';
import type { QuotaDecision } from '../accounts/quota.ts';
import type { RateDecision } from '../accounts/rate-limit.ts';
import { AssayError } from '../base/errors.ts';
import type { Exchange } from './server.ts';
import type { Visit } from './visit.ts';

export class Call {
  readonly exchange: Exchange;
  readonly requestId: string;
  /** By the monotonic clock. */
  readonly startedMs: number;
  /** Header lines that every answer carries, errors included. */
  head: string;
  /** Header lines of a success alone, each with its line break before it. */
  lines = '';
  /** The Accept header, taken while it can be read. */
  accept = '';
  caller: KeyRecord | null = null;
  /** Who comes to an operation of people; null elsewhere. */
  visit: Visit | null = null;
  /** Whose requests this one is counted with; null where none are. */
  subject: string | null = null;
  /** Whether the key may do this: a request without permission is counted, and then refused. */
  isPermitted = true;
  /** Whether the gate counted it, or refused it. */
  isCounted = false;
  /** What the gate said of the limit; null before it was asked. */
  rate: RateDecision | null = null;
  /** The class that it was counted in; null before. */
  rateClass: RateClass | null = null;
  quotaMeter: QuotaMeterName | null = null;
  quota: QuotaDecision | null = null;
  /** Units held by this request. */
  quotaTaken = 0;
  /** Credits that the operation costs: reserved at first, lowered by work that was worth less. */
  credits = 0;
  /** Where the answer is kept for the request's Idempotency-Key; null where it has none. */
  answerSlot: AnswerSlot | null = null;
  /** The ledger entry that this request was charged with. */
  chargedEntry: string | null = null;
  /** Unknown query parameters and fields of the body; null for requests without either. */
  ignored: readonly string[] | null = null;
  /** The client's copy is still good: answer 304. */
  notModified = false;

  constructor(exchange: Exchange, requestId: string, startedMs: number) {
    this.exchange = exchange;
    this.requestId = requestId;
    this.startedMs = startedMs;
    this.head = `X-Request-Id: ${requestId}`;
  }
}

/** The key of an operation that asks for one. */
export function callerOf(call: Call): KeyRecord {
  if (call.caller !== null) return call.caller;
  throw new AssayError('INTERNAL', 'An operation that needs a key was reached without one.');
}
