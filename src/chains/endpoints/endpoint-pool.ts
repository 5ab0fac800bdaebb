/**
 * A pool of the endpoints of one chain and role. It selects the endpoint for each request, ranks the endpoints by latency and failures,
 * and takes failing ones out of use. The fail-over of every adapter is here, and the time-outs, rate limits and circuit breakers in
 * `endpoint.ts`; the adapters interpret the responses.
 */
import type { Agent } from 'undici';
import { AssayError } from '../../base/errors.ts';
import { createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import type { AdapterDeps, Call, EndpointHealth } from '../families/port.ts';
import type { ChainId } from '../registry.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { ENDPOINT_FAULTS, Endpoint } from './endpoint.ts';
import type { EndpointSpec } from './endpoints.ts';
import type { NotificationHandlers, Subscription } from './json-rpc-socket.ts';
import { ENDPOINT_LIMITS } from './limits.ts';
import type { Answered, EndpointRequest } from './request.ts';

export type { Answered, EndpointAnswer, EndpointRequest } from './request.ts';

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
  listen(subscription: Subscription, notices: NotificationHandlers): () => void;
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
  readonly socketsOnlyNotify?: boolean;
}

const PROBE_BUDGET_MS = ENDPOINT_LIMITS.endpointAttemptMs;

/**
 * Creates a pool; it opens no connection before the first request.
 *
 * @throws INVALID_CONFIG if there are more endpoints than `endpointsPerChainMax`
 */
export function createEndpointPool(options: EndpointPoolOptions, deps: AdapterDeps): EndpointPool {
  return new RankedEndpoints(options, deps);
}

class RankedEndpoints implements EndpointPool {
  readonly endpoints: readonly EndpointSpec[];
  readonly #chain: ChainId;
  readonly #verify: EndpointRequest<void> | null;
  readonly #deps: AdapterDeps;
  readonly #agent: Agent;
  readonly #all: readonly Endpoint[];
  readonly #closing = new AbortController();

  constructor(options: EndpointPoolOptions, deps: AdapterDeps) {
    const { chain, endpoints, verify, socketsOnlyNotify = false } = options;
    if (endpoints.length > ENDPOINT_LIMITS.endpointsPerChainMax)
      throw new AssayError(
        'INVALID_CONFIG',
        `${chain}: must have at most ${ENDPOINT_LIMITS.endpointsPerChainMax} endpoints (got ${endpoints.length}).`,
      );
    const policy: OutboundPolicy = {
      trustedHosts: new Set(endpoints.filter((spec) => spec.own).map((spec) => new URL(spec.url).hostname)),
    };
    const agent = createOutboundAgent({
      policy,
      timeouts: {
        connectMs: ENDPOINT_LIMITS.endpointConnectMs,
        headersMs: ENDPOINT_LIMITS.endpointAttemptMs,
        stallMs: ENDPOINT_LIMITS.endpointAttemptMs,
      },
      connections: ENDPOINT_LIMITS.endpointConcurrency,
      messageBytesMax: ENDPOINT_LIMITS.endpointAnswerBytesMax,
    });
    this.endpoints = endpoints;
    this.#chain = chain;
    this.#verify = verify;
    this.#deps = deps;
    this.#agent = agent;
    const context = { chain, agent, policy, deps };
    this.#all = endpoints.map((spec) => new Endpoint(spec, socketsOnlyNotify, context));
  }

  ask<T>(request: EndpointRequest<T>, call: Call): Promise<Answered<T>> {
    return this.#ask(request, call, null);
  }

  async askAgreeing<T>(count: number, request: EndpointRequest<T>, call: Call): Promise<Answered<T>> {
    if (count <= 1) return this.ask(request, call);
    const deadline = startDeadline(call, this.#deps.clock);
    const order = await this.#candidates(request.layouts, deadline);
    const votes = new Map<string, { answered: Answered<T>; sources: string[] }>();
    let last: AssayError | null = null;
    const answers = order.map((endpoint) =>
      this.#ask(request, deadline.rest(), endpoint).catch((error: unknown) => {
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
    if (votes.size === 0) throw last ?? this.#noEndpoint(request.layouts);
    const counts = [...votes.values()].map((vote) => vote.sources.length).join(' and ');
    throw new AssayError(
      votes.size > 1 ? 'CHAIN_BAD_ANSWER' : 'CHAIN_UNREACHABLE',
      `${count} endpoints of ${this.#chain} must agree (got ${counts} equal responses).`,
    );
  }

  reachable(layouts?: readonly string[]): boolean {
    return this.#all.some((endpoint) => endpoint.fits(layouts) && !endpoint.isOut);
  }

  health(): readonly EndpointHealth[] {
    return this.#all.map((endpoint) => endpoint.health());
  }

  listen(subscription: Subscription, notices: NotificationHandlers): () => void {
    const endpoint = this.#all.find(({ isSocket }) => isSocket);
    return endpoint === undefined ? () => {} : endpoint.listen(subscription, notices);
  }

  async close(): Promise<void> {
    this.#closing.abort(new AssayError('CHAIN_UNREACHABLE', `The adapter of ${this.#chain} is closed.`));
    for (const endpoint of this.#all) endpoint.close();
    await this.#agent.destroy();
  }

  /** @param only - the only endpoint to ask; null for all */
  async #ask<T>(request: EndpointRequest<T>, call: Call, only: Endpoint | null): Promise<Answered<T>> {
    const { clock, jitter } = this.#deps;
    const deadline = startDeadline(call, clock);
    let last: AssayError | null = null;
    for (let round = 0; round < ENDPOINT_LIMITS.endpointRoundsMax; round++) {
      if (round > 0)
        await deadline.sleep(ENDPOINT_LIMITS.endpointRoundMs * 2 ** (round - 1) * (0.5 + jitter()));
      const ready = await this.#candidates(request.layouts, deadline);
      const order = only === null ? ready : ready.filter((endpoint) => endpoint === only);
      if (order.length === 0) break;
      let refusals = 0;
      for (const [place, endpoint] of order.entries()) {
        deadline.check();
        // Leave time for the others: every endpoint but the last may use half of the time left.
        const ms = place < order.length - 1 ? deadline.leftMs() / 2 : deadline.leftMs();
        try {
          await this.#ensureVerified(endpoint, deadline, ms);
          return { value: await endpoint.attempt(request, deadline, ms), endpoint: endpoint.spec };
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
    throw last ?? this.#noEndpoint(request.layouts);
  }

  /** Returns the endpoints to ask now, best first. An endpoint that was down for long enough is retried in the background. */
  async #candidates(layouts: readonly string[] | undefined, deadline: Deadline): Promise<Endpoint[]> {
    const fitting = this.#all.filter((endpoint) => endpoint.fits(layouts));
    const again = fitting.filter((endpoint) => endpoint.isOut && !endpoint.isResting);
    const probes = again.map((endpoint) => this.#probe(endpoint));
    const ready = (): Endpoint[] =>
      fitting
        .filter((endpoint) => !endpoint.isOut && !endpoint.isResting)
        .sort((a, b) => a.slowness - b.slowness);
    const pending = fitting.flatMap((endpoint) => endpoint.probing ?? []);
    if (ready().length === 0 && pending.length + probes.length > 0)
      await Promise.race([...pending, ...probes, deadline.sleep(ENDPOINT_LIMITS.endpointProbeWaitMs)]);
    return ready();
  }

  /** Verifies that the endpoint serves this chain, once until the next outage. */
  #ensureVerified(endpoint: Endpoint, deadline: Deadline, ms: number): Promise<void> {
    const verify = this.#verify;
    if (verify === null || !endpoint.fits(verify.layouts)) return Promise.resolve();
    endpoint.verified ??= endpoint.attempt(verify, deadline, ms).catch((error: unknown) => {
      endpoint.verified = null;
      throw error;
    });
    return endpoint.verified;
  }

  /** Retries an endpoint after an outage, in the background, so that no request has to wait for the full attempt. Never rejects. */
  #probe(endpoint: Endpoint): Promise<void> {
    const verify = this.#verify;
    if (verify === null || !endpoint.fits(verify.layouts)) {
      endpoint.retry();
      return Promise.resolve();
    }
    endpoint.probing ??= this.#runProbe(endpoint);
    return endpoint.probing;
  }

  async #runProbe(endpoint: Endpoint): Promise<void> {
    const { signal } = this.#closing;
    const deadline = startDeadline({ signal, budgetMs: PROBE_BUDGET_MS }, this.#deps.clock);
    try {
      await this.#ensureVerified(endpoint, deadline, PROBE_BUDGET_MS);
    } catch (error) {
      if (!(error instanceof AssayError) && !signal.aborted) throw error;
    } finally {
      endpoint.probing = null;
    }
  }

  /** Creates the error that explains why no endpoint can be asked. */
  #noEndpoint(layouts: readonly string[] | undefined): AssayError {
    const fitting = this.#all.filter((endpoint) => endpoint.fits(layouts));
    const mismatched = fitting.length > 0 && fitting.every((endpoint) => endpoint.isMismatched);
    const restMs = Math.min(...fitting.map((endpoint) => endpoint.restMs));
    const seconds = Number.isFinite(restMs) ? Math.max(1, Math.ceil(restMs / 1000)) : null;
    const reasons = fitting.flatMap(({ spec, lastError }) =>
      lastError === null ? [] : [lastError || spec.source],
    );
    return new AssayError(
      mismatched ? 'CHAIN_MISMATCH' : 'CHAIN_UNREACHABLE',
      fitting.length === 0
        ? `No endpoint of ${this.#chain} is configured for this request.`
        : `No endpoint of ${this.#chain} is reachable: ${reasons.join(' ') || 'all of them are being tried'}`,
      seconds === null ? {} : { retryAfterSeconds: seconds },
    );
  }
}

/** Serializes a value so that equal values give equal text, regardless of the order of their fields. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  }) ?? 'undefined';
