/** One endpoint of a pool: its state, its limits of rate and concurrency, and its connection. */
import type { Agent } from 'undici';
import { AssayError } from '../../base/errors.ts';
import type { OutboundPolicy } from '../../base/outbound.ts';
import type { AdapterDeps, EndpointHealth, EndpointState } from '../families/port.ts';
import type { ChainId } from '../registry.ts';
import type { Deadline } from './deadline.ts';
import type { EndpointSpec } from './endpoints.ts';
import { parseExactJson } from './exact-json.ts';
import { errorCodeOf, exchangeHttp, StatusFault } from './http-exchange.ts';
import {
  type JsonRpcSocket,
  type NotificationHandlers,
  openJsonRpcSocket,
  type Subscription,
} from './json-rpc-socket.ts';
import { ENDPOINT_LIMITS } from './limits.ts';
import type { EndpointRequest } from './request.ts';

/** Error codes that are faults of an endpoint: the pool then asks the next endpoint. Any other error is a fault of the program. */
export const ENDPOINT_FAULTS: ReadonlySet<string> = new Set([
  'CHAIN_UNREACHABLE',
  'CHAIN_TIMEOUT',
  'CHAIN_BAD_ANSWER',
  'CHAIN_MISMATCH',
  'CHAIN_REFUSED',
]);

/** Assumed latency of an untried endpoint: it is tried before a slower endpoint, but not before a faster one. */
const UNTRIED_LATENCY_MS = 300;

export interface EndpointContext {
  readonly chain: ChainId;
  readonly agent: Agent;
  readonly policy: OutboundPolicy;
  readonly deps: AdapterDeps;
}

/** One endpoint: it makes attempts within its limits, and records on itself whether they succeeded. */
export class Endpoint {
  readonly spec: EndpointSpec;
  readonly isSocket: boolean;
  /** Whether requests are sent to it; false for a WebSocket that only sends notifications. */
  readonly answers: boolean;
  /** The verification of the chain since the last outage; null before it. */
  verified: Promise<void> | null = null;
  /** The retry after an outage, in the background. */
  probing: Promise<void> | null = null;
  readonly #context: EndpointContext;
  #socket: JsonRpcSocket | null = null;
  #state: EndpointState = 'UNTRIED';
  #hasAnswered = false;
  #failures = 0;
  /** Number of outages since the last response. */
  #outages = 0;
  #latencyMs: number | null = null;
  /** No request is sent before this time (monotonic). */
  #restUntilMs = 0;
  #lastError: string | null = null;
  #tokens: number;
  #tokensAtMs: number;
  #active = 0;
  readonly #waiting: (() => void)[] = [];

  /** @param socketsOnlyNotify - see `EndpointPoolOptions` */
  constructor(spec: EndpointSpec, socketsOnlyNotify: boolean, context: EndpointContext) {
    this.spec = spec;
    this.isSocket = spec.url.startsWith('ws');
    this.answers = !(socketsOnlyNotify && this.isSocket);
    this.#context = context;
    this.#tokens = spec.requestsPerSecond;
    this.#tokensAtMs = context.deps.clock.monotonic();
  }

  get lastError(): string | null {
    return this.#lastError;
  }

  get isMismatched(): boolean {
    return this.#state === 'REFUSED';
  }

  /** Whether the endpoint is down or serves another chain. */
  get isOut(): boolean {
    return this.#state === 'DOWN' || this.#state === 'REFUSED';
  }

  /** Milliseconds until requests may be sent again; 0 or less if they may be sent now. */
  get restMs(): number {
    return this.#restUntilMs - this.#context.deps.clock.monotonic();
  }

  get isResting(): boolean {
    return this.restMs > 0;
  }

  /** Rank by the power of two of the latency: endpoints of about the same speed keep the order of the configuration. */
  get slowness(): number {
    return Math.floor(Math.log2((this.#latencyMs ?? UNTRIED_LATENCY_MS) + 16)) + this.#failures * 4;
  }

  /** Returns whether requests for these layouts are sent to the endpoint; undefined means any layout. */
  fits(layouts: readonly string[] | undefined): boolean {
    return this.answers && (layouts === undefined || layouts.includes(this.spec.layout));
  }

  health(): EndpointHealth {
    const socket = this.#socket;
    return {
      source: this.spec.source,
      state: this.answers || socket === null ? this.#state : socket.isOpen ? 'UP' : 'DOWN',
      latencyMs: this.#latencyMs,
      failures: this.#failures,
      lastError: this.#lastError,
    };
  }

  /** See `EndpointPool.listen`. */
  listen(subscription: Subscription, notices: NotificationHandlers): () => void {
    return this.#openSocket().listen(subscription, notices);
  }

  close(): void {
    this.#socket?.close();
  }

  /**
   * Makes one attempt. Faults of the endpoint are recorded on it and thrown as `AssayError`.
   *
   * @param ms - time limit of the attempt, within the deadline
   */
  async attempt<T>(request: EndpointRequest<T>, deadline: Deadline, ms: number): Promise<T> {
    const { clock } = this.#context.deps;
    const startedAt = clock.monotonic();
    try {
      const value = await this.#withTurn(deadline, () =>
        deadline.within(Math.min(ms, ENDPOINT_LIMITS.endpointAttemptMs), (signal) =>
          this.#exchange(request, signal, deadline.leftMs()),
        ),
      );
      this.#succeeded(clock.monotonic() - startedAt);
      return value;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null) throw error;
      this.#failed(fault, clock.monotonic() - startedAt);
      throw fault;
    }
  }

  /** Ends an outage without a verification: the next request shows whether the endpoint answers. */
  retry(): void {
    this.#enter('UNTRIED');
  }

  /**
   * The only place that changes the state. An outage invalidates the verification of the chain.
   *
   * @param restMs - how long no request is sent; only for DOWN and REFUSED
   */
  #enter(state: EndpointState, restMs = 0): void {
    this.#state = state;
    if (state !== 'DOWN' && state !== 'REFUSED') return;
    this.verified = null;
    this.#restUntilMs = this.#context.deps.clock.monotonic() + restMs;
  }

  #succeeded(tookMs: number): void {
    const { chain, deps } = this.#context;
    if (this.#outages > 0) deps.log.info({ chain, endpoint: this.spec.source }, 'endpoint answers again');
    this.#latencyMs = this.#latencyMs === null ? tookMs : this.#latencyMs * 0.8 + tookMs * 0.2;
    this.#enter('UP');
    this.#hasAnswered = true;
    this.#failures = 0;
    this.#outages = 0;
    this.#lastError = null;
  }

  #failed(fault: AssayError, tookMs: number): void {
    const { chain, deps } = this.#context;
    if (fault.code === 'CHAIN_REFUSED') {
      if (this.#state === 'UNTRIED') this.#enter('UP');
      return;
    }
    if (fault.retryAfterSeconds !== undefined) {
      this.#lastError = fault.message;
      return;
    }
    if (fault.code === 'CHAIN_TIMEOUT' && tookMs < ENDPOINT_LIMITS.endpointFaultFromMs) return;
    this.#lastError = fault.message;
    this.#failures++;
    const fields = { chain, endpoint: this.spec.source, error: fault.message };
    if (fault.code === 'CHAIN_MISMATCH') {
      this.#enter('REFUSED', ENDPOINT_LIMITS.endpointMismatchMs);
      deps.log.error(fields, 'endpoint serves another chain');
      return;
    }
    const isBeyondDoubt = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT/.test(
      errorCodeOf(fault.cause),
    );
    if (this.#hasAnswered && !isBeyondDoubt && this.#failures < ENDPOINT_LIMITS.endpointFailuresMax) return;
    const restMs = Math.min(
      ENDPOINT_LIMITS.endpointDownMsMax,
      ENDPOINT_LIMITS.endpointDownMsMin * 2 ** Math.min(this.#outages, 20),
    );
    if (this.#outages === 0) deps.log.warn(fields, 'endpoint is down');
    this.#outages++;
    this.#enter('DOWN', restMs * (0.5 + deps.jitter() / 2));
  }

  /**
   * Runs `work` within the endpoint's limits: first the concurrency limit, then the token bucket of its rate.
   *
   * @throws CHAIN_UNREACHABLE if too many requests are queued
   */
  async #withTurn<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    if (this.#active >= ENDPOINT_LIMITS.endpointConcurrency) await this.#queue(deadline);
    this.#active++;
    try {
      await deadline.sleep(this.#takeToken());
      deadline.check();
      return await work();
    } finally {
      this.#active--;
      this.#waiting.shift()?.();
    }
  }

  async #queue(deadline: Deadline): Promise<void> {
    if (this.#waiting.length >= ENDPOINT_LIMITS.endpointQueueMax)
      throw new AssayError('CHAIN_UNREACHABLE', `${this.spec.source}: too many requests are queued.`);
    let turn: () => void = () => {};
    try {
      await deadline.within(
        Number.POSITIVE_INFINITY,
        () =>
          new Promise<void>((resolve) => {
            turn = resolve;
            this.#waiting.push(resolve);
          }),
      );
    } catch (error) {
      const place = this.#waiting.indexOf(turn);
      if (place >= 0) this.#waiting.splice(place, 1);
      // The slot was granted at the moment the wait ended: pass it to the next in the queue.
      else this.#waiting.shift()?.();
      throw error;
    }
  }

  /**
   * Takes one token of the endpoint's rate and returns the time to wait for it in milliseconds. The bucket holds one second of
   * requests.
   */
  #takeToken(): number {
    const { requestsPerSecond: rate } = this.spec;
    const now = this.#context.deps.clock.monotonic();
    this.#tokens = Math.min(rate, this.#tokens + ((now - this.#tokensAtMs) / 1000) * rate) - 1;
    this.#tokensAtMs = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / rate) * 1000;
  }

  async #exchange<T>(request: EndpointRequest<T>, signal: AbortSignal, leftMs: number): Promise<T> {
    const { spec } = this;
    if (this.isSocket) {
      const text = await this.#openSocket().exchange(request.rpcId ?? 0, request.body ?? '', signal);
      return request.read({ status: 200, text, json: () => parseExactJson(text) }, spec);
    }
    const { agent, policy } = this.#context;
    const answer = await exchangeHttp(spec, request, { agent, policy, signal, leftMs }).catch(
      (error: unknown) => {
        throw error instanceof StatusFault ? this.#statusFault(error) : error;
      },
    );
    return request.read(answer, spec);
  }

  #openSocket(): JsonRpcSocket {
    const { agent, policy, deps } = this.#context;
    this.#socket ??= openJsonRpcSocket(
      { url: this.spec.url, authorization: this.spec.authorization, policy },
      { agent, log: deps.log },
    );
    return this.#socket;
  }

  /** Creates the error for an unexpected status, and rests the endpoint if it asks for that. */
  #statusFault({ status, retryAfter }: StatusFault): AssayError {
    const { source } = this.spec;
    if (status === 429 || (status === 503 && retryAfter !== undefined)) {
      const { clock } = this.#context.deps;
      const restMs = retryAfterMs(retryAfter ?? '', clock.now());
      this.#restUntilMs = Math.max(this.#restUntilMs, clock.monotonic() + restMs);
      const retryAfterSeconds = Math.ceil(restMs / 1000);
      return new AssayError(
        'CHAIN_UNREACHABLE',
        `${source}: the rate limit is exceeded; retry after ${retryAfterSeconds} s.`,
        { retryAfterSeconds },
      );
    }
    if (status === 401 || status === 403)
      return new AssayError(
        'CHAIN_UNREACHABLE',
        `${source}: status ${status}: the endpoint requires credentials or blocks this client.`,
      );
    const code = status >= 500 || status < 400 ? 'CHAIN_UNREACHABLE' : 'CHAIN_REFUSED';
    return new AssayError(code, `${source}: unexpected status ${status}.`);
  }
}

/**
 * Returns the fault as an `AssayError`; null if it is not a fault of the endpoint, such as an abort by the caller or a program error.
 */
function faultOf(error: unknown): AssayError | null {
  if (!(error instanceof AssayError)) return null;
  if (error.code === 'SOURCE_UNAVAILABLE') return new AssayError('CHAIN_UNREACHABLE', error.message);
  return ENDPOINT_FAULTS.has(error.code) ? error : null;
}

/** Parses seconds or an HTTP date (RFC 9110, section 10.2.3) to milliseconds; 1 s if the text is neither. */
function retryAfterMs(text: string, nowMs: number): number {
  const ms = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), ENDPOINT_LIMITS.endpointRetryAfterMsMax) : 1000;
}
