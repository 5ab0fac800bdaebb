/**
 * A pool of the endpoints of one chain and role. It selects the endpoint for each request, ranks the endpoints by latency and failures,
 * and takes failing ones out of use. The time-outs, retries, rate limits, circuit breakers and fail-over of every adapter are here; the
 * adapters interpret the responses.
 */
import { request as httpRequest } from 'undici';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import type { AdapterDeps, Call, EndpointHealth } from '../families/port.ts';
import type { ChainId } from '../registry.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import type { EndpointSpec } from './endpoints.ts';
import { type Json, parseExactJson } from './exact-json.ts';
import { type JsonRpcSocket, type Notices, openJsonRpcSocket, type Subscription } from './json-rpc-socket.ts';

/** The response of an endpoint: its status, and its body as text. */
export interface EndpointAnswer {
  readonly status: number;
  readonly text: string;
  /**
   * Parses the body as JSON without loss of digits.
   *
   * @throws CHAIN_BAD_ANSWER if the body is not JSON
   */
  json(): Json;
}

export interface EndpointRequest<T> {
  /** Default GET, or POST if there is a body. */
  readonly method?: 'GET' | 'POST';
  /** Default: the URL of the endpoint. See `endpointUrl`. */
  readonly url?: (endpoint: EndpointSpec) => string;
  /** Over a WebSocket: the JSON-RPC message; its `id` must be `rpcId`. */
  readonly body?: string;
  readonly rpcId?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers that depend on the endpoint, for APIs that expect their key in a header other than `authorization`. */
  readonly headersFor?: (endpoint: EndpointSpec) => Readonly<Record<string, string>>;
  /** Whether the request is safe to repeat; true for every request that only reads. Default true. */
  readonly repeatable?: boolean;
  /** Status codes other than 200 that `read` accepts. */
  readonly statuses?: readonly number[];
  /** Only endpoints with one of these layouts are asked. Default: all. */
  readonly layouts?: readonly string[];
  /**
   * Converts the response to a value.
   *
   * @throws CHAIN_BAD_ANSWER for a response that no honest endpoint sends; it counts as a failure of the endpoint, and the next
   *   endpoint is asked
   * @throws CHAIN_REFUSED if a sound endpoint does not answer this request; the next endpoint is asked
   */
  readonly read: (answer: EndpointAnswer, endpoint: EndpointSpec) => T;
}

export interface Answered<T> {
  readonly value: T;
  readonly endpoint: EndpointSpec;
}

export interface EndpointPool {
  readonly endpoints: readonly EndpointSpec[];
  /**
   * Asks the best endpoint first, then the others.
   *
   * @throws the codes that `ChainAdapter` lists, and CHAIN_REFUSED if all endpoints refused
   */
  ask<T>(request: EndpointRequest<T>, call: Call): Promise<Answered<T>>;
  /**
   * Asks all endpoints, and returns the value that at least `count` of them agree on. With a `count` of 1 it is the same as `ask`.
   *
   * @throws CHAIN_BAD_ANSWER if they disagree, CHAIN_UNREACHABLE if too few answered
   */
  askAgreeing<T>(count: number, request: EndpointRequest<T>, call: Call): Promise<Answered<T>>;
  /** Returns whether at least one endpoint of these layouts is not down. */
  reachable(layouts?: readonly string[]): boolean;
  health(): readonly EndpointHealth[];
  /**
   * Calls back for each notification of a JSON-RPC subscription over the first WebSocket endpoint, and subscribes again after a lost
   * connection. Does nothing if there is no WebSocket endpoint.
   *
   * @returns a function that ends the subscription
   */
  listen(subscription: Subscription, notices: Notices): () => void;
  close(): Promise<void>;
}

export interface EndpointPoolOptions {
  readonly chain: ChainId;
  readonly endpoints: readonly EndpointSpec[];
  /** Sent to an endpoint before its first request and after each outage; throws CHAIN_MISMATCH if the endpoint serves another chain. */
  readonly verify: EndpointRequest<void> | null;
  /**
   * True if nodes of this chain answer no requests over a WebSocket and only send the notifications of subscriptions. Default false.
   */
  readonly socketsOnlyTell?: boolean;
}

interface Endpoint {
  readonly spec: EndpointSpec;
  readonly isSocket: boolean;
  /** Whether requests are sent to it. */
  readonly answers: boolean;
  socket: JsonRpcSocket | null;
  state: EndpointHealth['state'];
  verified: Promise<void> | null;
  /** The retry after an outage, in the background. */
  probing: Promise<void> | null;
  hasAnswered: boolean;
  failures: number;
  /** Number of outages since the last response. */
  outages: number;
  latencyMs: number | null;
  /** No request is sent before this time (monotonic). */
  restUntilMs: number;
  lastError: string | null;
  tokens: number;
  tokensAtMs: number;
  active: number;
  readonly waiting: (() => void)[];
}

/** Error codes that are faults of an endpoint: the pool then asks the next endpoint. Any other error is a fault of the program. */
const ENDPOINT_FAULTS: ReadonlySet<string> = new Set([
  'CHAIN_UNREACHABLE',
  'CHAIN_TIMEOUT',
  'CHAIN_BAD_ANSWER',
  'CHAIN_MISMATCH',
  'CHAIN_REFUSED',
]);

/** Assumed latency of an untried endpoint: it is tried before a slower endpoint, but not before a faster one. */
const UNTRIED_LATENCY_MS = 300;
/** Maximum bytes to read of the body of an error response, so that the connection can be reused. */
const REFUSED_BODY_BYTES_MAX = 64 * 1024;
/** Number of characters at the start of a body that are checked for HTML. */
const PAGE_START_CHARS = 1_024;
const PROBE_BUDGET_MS = LIMITS.endpointAttemptMs;

/**
 * Creates a pool; it opens no connection before the first request.
 *
 * @throws INVALID_CONFIG if there are more endpoints than `endpointsPerChainMax`
 */
export function createEndpointPool(options: EndpointPoolOptions, deps: AdapterDeps): EndpointPool {
  const { chain, verify, socketsOnlyTell = false } = options;
  const { clock, log, jitter } = deps;
  if (options.endpoints.length > LIMITS.endpointsPerChainMax)
    throw new AssayError(
      'INVALID_CONFIG',
      `${chain} has ${options.endpoints.length} endpoints, more than ${LIMITS.endpointsPerChainMax}.`,
    );
  const policy: OutboundPolicy = {
    trustedHosts: new Set(
      options.endpoints.filter((spec) => spec.own).map((spec) => new URL(spec.url).hostname),
    ),
  };
  const agent = createOutboundAgent({
    policy,
    timeouts: {
      connectMs: LIMITS.endpointConnectMs,
      headersMs: LIMITS.endpointAttemptMs,
      stallMs: LIMITS.endpointAttemptMs,
    },
    connections: LIMITS.endpointConcurrency,
    messageBytesMax: LIMITS.endpointAnswerBytesMax,
  });
  const closing = new AbortController();
  const endpoints: readonly Endpoint[] = options.endpoints.map((spec) => ({
    spec,
    isSocket: spec.url.startsWith('ws'),
    answers: !(socketsOnlyTell && spec.url.startsWith('ws')),
    socket: null,
    state: 'UNTRIED',
    verified: null,
    probing: null,
    hasAnswered: false,
    failures: 0,
    outages: 0,
    latencyMs: null,
    restUntilMs: 0,
    lastError: null,
    tokens: spec.requestsPerSecond,
    tokensAtMs: clock.monotonic(),
    active: 0,
    waiting: [],
  }));

  const isResting = (endpoint: Endpoint): boolean => clock.monotonic() < endpoint.restUntilMs;
  const isOut = (endpoint: Endpoint): boolean => endpoint.state === 'DOWN' || endpoint.state === 'REFUSED';
  const fits = (endpoint: Endpoint, layouts: readonly string[] | undefined): boolean =>
    endpoint.answers && (layouts === undefined || layouts.includes(endpoint.spec.layout));

  /** Rank by the power of two of the latency: endpoints of about the same speed keep the order of the configuration. */
  const slowness = (endpoint: Endpoint): number =>
    Math.floor(Math.log2((endpoint.latencyMs ?? UNTRIED_LATENCY_MS) + 16)) + endpoint.failures * 4;

  function socketOf(endpoint: Endpoint): JsonRpcSocket {
    endpoint.socket ??= openJsonRpcSocket(
      { url: endpoint.spec.url, authorization: endpoint.spec.authorization, policy },
      { agent, log },
    );
    return endpoint.socket;
  }

  async function exchange<T>(
    endpoint: Endpoint,
    request: EndpointRequest<T>,
    signal: AbortSignal,
    leftMs: number,
  ): Promise<T> {
    const { spec } = endpoint;
    if (endpoint.isSocket) {
      const text = await socketOf(endpoint).exchange(request.rpcId ?? 0, request.body ?? '', signal);
      return request.read({ status: 200, text, json: () => parseExactJson(text) }, spec);
    }
    const url = new URL(request.url === undefined ? spec.url : request.url(spec));
    if (new URL(spec.url).host !== url.host)
      throw new Error(`A request for ${spec.source} was built for ${url.host}.`);
    checkOutboundUrl(url, policy);
    const answer = await receive(endpoint, url, request, signal, leftMs).catch((error: unknown) => {
      throw lineFault(spec, error);
    });
    return request.read(answer, spec);
  }

  /**
   * Sends one HTTP request and reads the whole response.
   *
   * @param leftMs - time left of the whole call; it decides how many bytes may be read
   */
  async function receive<T>(
    endpoint: Endpoint,
    url: URL,
    request: EndpointRequest<T>,
    signal: AbortSignal,
    leftMs: number,
  ): Promise<EndpointAnswer> {
    const { spec } = endpoint;
    const response = await httpRequest(url, {
      dispatcher: agent,
      method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
      headers: {
        accept: 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(spec.authorization === null ? {} : { authorization: spec.authorization }),
        ...request.headers,
        ...request.headersFor?.(spec),
      },
      body: request.body ?? null,
      signal,
    });
    const { statusCode: status, headers, body } = response;
    const isExpected = status === 200 || request.statuses?.includes(status) === true;
    if (!isExpected) {
      await body.dump({ limit: REFUSED_BODY_BYTES_MAX });
      throw statusFault(endpoint, status, headers['retry-after']);
    }
    const bytesMax =
      leftMs < LIMITS.endpointLongCallMs ? LIMITS.endpointShortAnswerBytesMax : LIMITS.endpointAnswerBytesMax;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        body.destroy();
        const message = `${spec.source} answered more than ${bytesMax} bytes.`;
        throw new AssayError('CHAIN_BAD_ANSWER', message);
      }
      chunks.push(chunk);
    }
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      throw new AssayError('CHAIN_BAD_ANSWER', `${spec.source} answered in an encoding nobody asked for.`);
    const text = Buffer.concat(chunks).toString('utf8');
    if (/^\s*</.test(text.slice(0, PAGE_START_CHARS)))
      throw new AssayError(
        'CHAIN_BAD_ANSWER',
        `${spec.source} answered a web page where JSON was asked for.`,
      );
    return { status, text, json: () => parseExactJson(text) };
  }

  /**
   * Converts a transport error (from the system, undici or the outbound address check) to an `AssayError`; returns other errors
   * unchanged.
   */
  function lineFault(spec: EndpointSpec, error: unknown): unknown {
    if (error instanceof AssayError || !(error instanceof Error) || error.name === 'AbortError') return error;
    const code = codeOf(error);
    const isCut = /UND_ERR_RES_CONTENT|HPE_|UND_ERR_HEADERS_OVERFLOW/.test(code);
    return new AssayError(
      isCut ? 'CHAIN_BAD_ANSWER' : 'CHAIN_UNREACHABLE',
      `${spec.source}: ${messageOf(error) || code}.`,
      { cause: error },
    );
  }

  /** Creates the error for an unexpected status, and rests the endpoint if it asks for that. */
  function statusFault(
    endpoint: Endpoint,
    status: number,
    retryAfter: string | string[] | undefined,
  ): AssayError {
    const { source } = endpoint.spec;
    if (status === 429 || (status === 503 && retryAfter !== undefined)) {
      const restMs = retryAfterMs(String(retryAfter ?? ''));
      endpoint.restUntilMs = Math.max(endpoint.restUntilMs, clock.monotonic() + restMs);
      return new AssayError(
        'CHAIN_UNREACHABLE',
        `${source} asks to be left alone for ${Math.ceil(restMs / 1000)} s.`,
        {
          retryAfterSeconds: Math.ceil(restMs / 1000),
        },
      );
    }
    if (status === 401 || status === 403)
      return new AssayError(
        'CHAIN_UNREACHABLE',
        `${source} answered ${status}: it asks for credentials or bars this client.`,
      );
    if (status >= 500 || status < 400)
      return new AssayError('CHAIN_UNREACHABLE', `${source} answered the status ${status}.`);
    return new AssayError('CHAIN_REFUSED', `${source} answered the status ${status}.`);
  }

  /** Parses seconds or an HTTP date (RFC 9110, section 10.2.3) to milliseconds; 1 s if the text is neither. */
  function retryAfterMs(text: string): number {
    const ms = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - clock.now();
    return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LIMITS.endpointRetryAfterMsMax) : 1000;
  }

  /**
   * Runs `work` within the endpoint's limits: first the concurrency limit, then the token bucket of its rate.
   *
   * @throws CHAIN_UNREACHABLE if too many requests are queued
   */
  async function withTurn<T>(endpoint: Endpoint, deadline: Deadline, work: () => Promise<T>): Promise<T> {
    if (endpoint.active >= LIMITS.endpointConcurrency) {
      if (endpoint.waiting.length >= LIMITS.endpointQueueMax)
        throw new AssayError('CHAIN_UNREACHABLE', `${endpoint.spec.source} has too many questions waiting.`);
      let turn: () => void = () => {};
      try {
        await deadline.within(
          Number.POSITIVE_INFINITY,
          () =>
            new Promise<void>((resolve) => {
              turn = resolve;
              endpoint.waiting.push(resolve);
            }),
        );
      } catch (error) {
        const place = endpoint.waiting.indexOf(turn);
        if (place >= 0) endpoint.waiting.splice(place, 1);
        // The slot was granted at the moment the wait ended: pass it to the next in the queue.
        else endpoint.waiting.shift()?.();
        throw error;
      }
    }
    endpoint.active++;
    try {
      await deadline.sleep(takeToken(endpoint));
      deadline.check();
      return await work();
    } finally {
      endpoint.active--;
      endpoint.waiting.shift()?.();
    }
  }

  /**
   * Takes one token of the endpoint's rate and returns the time to wait for it in milliseconds. The bucket holds one second of
   * requests.
   */
  function takeToken(endpoint: Endpoint): number {
    const { requestsPerSecond: rate } = endpoint.spec;
    const now = clock.monotonic();
    endpoint.tokens = Math.min(rate, endpoint.tokens + ((now - endpoint.tokensAtMs) / 1000) * rate) - 1;
    endpoint.tokensAtMs = now;
    return endpoint.tokens >= 0 ? 0 : (-endpoint.tokens / rate) * 1000;
  }

  /** Makes one attempt. Faults of the endpoint are recorded on it and thrown as `AssayError`. */
  async function attempt<T>(
    endpoint: Endpoint,
    request: EndpointRequest<T>,
    deadline: Deadline,
    ms: number,
  ): Promise<T> {
    const startedAt = clock.monotonic();
    try {
      const value = await withTurn(endpoint, deadline, () =>
        deadline.within(Math.min(ms, LIMITS.endpointAttemptMs), (signal) =>
          exchange(endpoint, request, signal, deadline.leftMs()),
        ),
      );
      succeeded(endpoint, clock.monotonic() - startedAt);
      return value;
    } catch (error) {
      const fault = faultOf(error);
      if (fault === null) throw error;
      failed(endpoint, fault, clock.monotonic() - startedAt);
      throw fault;
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

  function succeeded(endpoint: Endpoint, tookMs: number): void {
    if (endpoint.outages > 0) log.info({ chain, endpoint: endpoint.spec.source }, 'endpoint answers again');
    endpoint.latencyMs = endpoint.latencyMs === null ? tookMs : endpoint.latencyMs * 0.8 + tookMs * 0.2;
    endpoint.state = 'UP';
    endpoint.hasAnswered = true;
    endpoint.failures = 0;
    endpoint.outages = 0;
    endpoint.lastError = null;
  }

  function failed(endpoint: Endpoint, fault: AssayError, tookMs: number): void {
    if (fault.code === 'CHAIN_REFUSED') {
      if (endpoint.state === 'UNTRIED') endpoint.state = 'UP';
      return;
    }
    if (fault.retryAfterSeconds !== undefined) {
      endpoint.lastError = fault.message;
      return;
    }
    if (fault.code === 'CHAIN_TIMEOUT' && tookMs < LIMITS.endpointFaultFromMs) return;
    endpoint.lastError = fault.message;
    endpoint.failures++;
    if (fault.code === 'CHAIN_MISMATCH') {
      endpoint.state = 'REFUSED';
      endpoint.verified = null;
      endpoint.restUntilMs = clock.monotonic() + LIMITS.endpointMismatchMs;
      log.error(
        { chain, endpoint: endpoint.spec.source, error: fault.message },
        'endpoint serves another chain',
      );
      return;
    }
    const isBeyondDoubt = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT/.test(
      codeOf(fault.cause),
    );
    if (endpoint.hasAnswered && !isBeyondDoubt && endpoint.failures < LIMITS.endpointFailuresMax) return;
    const restMs = Math.min(
      LIMITS.endpointDownMsMax,
      LIMITS.endpointDownMsMin * 2 ** Math.min(endpoint.outages, 20),
    );
    if (endpoint.outages === 0)
      log.warn({ chain, endpoint: endpoint.spec.source, error: fault.message }, 'endpoint is down');
    endpoint.outages++;
    endpoint.state = 'DOWN';
    endpoint.verified = null;
    endpoint.restUntilMs = clock.monotonic() + restMs * (0.5 + jitter() / 2);
  }

  const codeOf = (cause: unknown): string =>
    String((cause as { code?: unknown } | null | undefined)?.code ?? '');

  /** Verifies that the endpoint serves this chain, once until the next outage. */
  function ensureVerified(endpoint: Endpoint, deadline: Deadline, ms: number): Promise<void> {
    if (verify === null || !fits(endpoint, verify.layouts)) return Promise.resolve();
    if (endpoint.verified === null) {
      const verifying = attempt(endpoint, verify, deadline, ms).catch((error: unknown) => {
        endpoint.verified = null;
        throw error;
      });
      endpoint.verified = verifying;
    }
    return endpoint.verified;
  }

  /** Retries an endpoint after an outage, in the background, so that no request has to wait for the full attempt. Never rejects. */
  function probe(endpoint: Endpoint): Promise<void> {
    endpoint.probing ??= (async () => {
      const deadline = startDeadline({ signal: closing.signal, budgetMs: PROBE_BUDGET_MS }, clock);
      try {
        if (verify !== null && fits(endpoint, verify.layouts))
          await ensureVerified(endpoint, deadline, PROBE_BUDGET_MS);
        else endpoint.state = 'UNTRIED';
      } catch (error) {
        if (!(error instanceof AssayError) && !closing.signal.aborted) throw error;
      } finally {
        endpoint.probing = null;
      }
    })();
    return endpoint.probing;
  }

  /** Returns the endpoints to ask now, best first. An endpoint that was down for long enough is retried in the background. */
  async function candidates(layouts: readonly string[] | undefined, deadline: Deadline): Promise<Endpoint[]> {
    const fitting = endpoints.filter((endpoint) => fits(endpoint, layouts));
    const again = fitting.filter((endpoint) => isOut(endpoint) && !isResting(endpoint));
    const probes = again.map((endpoint) => probe(endpoint));
    const ready = (): Endpoint[] =>
      fitting
        .filter((endpoint) => !isOut(endpoint) && !isResting(endpoint))
        .sort((a, b) => slowness(a) - slowness(b));
    const pending = fitting.flatMap((endpoint) => endpoint.probing ?? []);
    if (ready().length === 0 && pending.length + probes.length > 0)
      await Promise.race([...pending, ...probes, deadline.sleep(LIMITS.endpointProbeWaitMs)]);
    return ready();
  }

  /** Creates the error that explains why no endpoint can be asked. */
  function nobody(layouts: readonly string[] | undefined): AssayError {
    const fitting = endpoints.filter((endpoint) => fits(endpoint, layouts));
    const mismatched = fitting.length > 0 && fitting.every((endpoint) => endpoint.state === 'REFUSED');
    const restMs = Math.min(...fitting.map((endpoint) => endpoint.restUntilMs - clock.monotonic()));
    const seconds = Number.isFinite(restMs) ? Math.max(1, Math.ceil(restMs / 1000)) : null;
    const told = fitting.flatMap(({ spec, lastError }) =>
      lastError === null ? [] : [lastError || spec.source],
    );
    return new AssayError(
      mismatched ? 'CHAIN_MISMATCH' : 'CHAIN_UNREACHABLE',
      fitting.length === 0
        ? `No endpoint of ${chain} is configured for this.`
        : `No endpoint of ${chain} is reachable: ${told.join(' ') || 'all are being tried'}`,
      seconds === null ? {} : { retryAfterSeconds: seconds },
    );
  }

  async function ask<T>(
    request: EndpointRequest<T>,
    call: Call,
    isWanted: (endpoint: Endpoint) => boolean = () => true,
  ): Promise<Answered<T>> {
    const deadline = startDeadline(call, clock);
    let last: AssayError | null = null;
    for (let round = 0; round < LIMITS.endpointRoundsMax; round++) {
      if (round > 0) await deadline.sleep(LIMITS.endpointRoundMs * 2 ** (round - 1) * (0.5 + jitter()));
      const order = (await candidates(request.layouts, deadline)).filter(isWanted);
      if (order.length === 0) break;
      let refusals = 0;
      for (const [place, endpoint] of order.entries()) {
        deadline.check();
        // Leave time for the others: every endpoint but the last may use half of the time left.
        const ms = place < order.length - 1 ? deadline.leftMs() / 2 : deadline.leftMs();
        try {
          await ensureVerified(endpoint, deadline, ms);
          return { value: await attempt(endpoint, request, deadline, ms), endpoint: endpoint.spec };
        } catch (error) {
          call.signal.throwIfAborted();
          if (!(error instanceof AssayError) || !ENDPOINT_FAULTS.has(error.code)) throw error;
          if (deadline.leftMs() <= 0) throw error.code === 'CHAIN_TIMEOUT' ? error : (last ?? error);
          last = error;
          if (error.code === 'CHAIN_REFUSED') refusals++;
          else if (request.repeatable === false) throw error;
        }
      }
      if (refusals === order.length) break;
    }
    throw last ?? nobody(request.layouts);
  }

  async function askAgreeing<T>(
    count: number,
    request: EndpointRequest<T>,
    call: Call,
  ): Promise<Answered<T>> {
    if (count <= 1) return ask(request, call);
    const deadline = startDeadline(call, clock);
    const order = await candidates(request.layouts, deadline);
    const votes = new Map<string, { answered: Answered<T>; sources: string[] }>();
    let last: AssayError | null = null;
    const answers = order.map((endpoint) =>
      ask(request, deadline.rest(), (other) => other === endpoint).catch((error: unknown) => {
        if (!(error instanceof AssayError)) throw error;
        last = error;
        return null;
      }),
    );
    for (const answered of await Promise.all(answers)) {
      if (answered === null) continue;
      const ballot = canonical(answered.value);
      const vote = votes.get(ballot) ?? { answered, sources: [] };
      vote.sources.push(answered.endpoint.source);
      votes.set(ballot, vote);
    }
    const agreed = [...votes.values()].find((vote) => vote.sources.length >= count);
    if (agreed)
      return {
        value: agreed.answered.value,
        endpoint: { ...agreed.answered.endpoint, source: agreed.sources.join(', ') },
      };
    call.signal.throwIfAborted();
    if (votes.size === 0) throw last ?? nobody(request.layouts);
    throw new AssayError(
      votes.size > 1 ? 'CHAIN_BAD_ANSWER' : 'CHAIN_UNREACHABLE',
      `${count} endpoints of ${chain} must agree, and ${[...votes.values()].map((vote) => vote.sources.length).join(' and ')} did.`,
    );
  }

  return {
    endpoints: options.endpoints,
    ask: (request, call) => ask(request, call),
    askAgreeing,
    reachable: (layouts) => endpoints.some((endpoint) => fits(endpoint, layouts) && !isOut(endpoint)),
    health: () =>
      endpoints.map(({ spec, answers, socket, state, latencyMs, failures, lastError }) => ({
        source: spec.source,
        state: answers || socket === null ? state : socket.isOpen ? 'UP' : 'DOWN',
        latencyMs,
        failures,
        lastError,
      })),
    listen(subscription, notices) {
      const endpoint = endpoints.find(({ isSocket }) => isSocket);
      return endpoint === undefined ? () => {} : socketOf(endpoint).listen(subscription, notices);
    },
    async close() {
      closing.abort(new AssayError('CHAIN_UNREACHABLE', `The adapter of ${chain} is closed.`));
      for (const endpoint of endpoints) endpoint.socket?.close();
      await agent.destroy();
    },
  };
}

/** Serializes a value so that equal values give equal text, regardless of the order of their fields. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  }) ?? 'undefined';
