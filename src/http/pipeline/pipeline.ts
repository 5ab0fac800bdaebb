/**
 * The steps of every request: key → permission → schema → gate (rate limit, quota, credits) → work → reply. A step that refuses the
 * request throws. `admit.ts` contains the steps up to the gate, `charging.ts` those of work that costs credits, and `reply.ts`
 * sends the response.
 */
import { clientUnit } from '../../accounts/attempts.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { HTTP_LIMITS } from '../limits.ts';
import type { HttpDeps } from '../ports.ts';
import { bodyBytesMaxOf, hasOptionalBody, isPayable, type Route } from '../routes.ts';
import { BodyBudget, type BodyShare } from '../server/body-budget.ts';
import type { ClientOrigin } from '../server/client-origin.ts';
import {
  type BodyReceiver,
  type Exchange,
  type Handler,
  type RenderRefusal,
  SSE_HEADERS,
} from '../server/port.ts';
import { receiveUpload } from '../server/uploads.ts';
import { Admitter, type RouteEndpoint } from './admit.ts';
import { Call } from './call.ts';
import { Charging } from './charging.ts';
import { FreeWork } from './free-work.ts';
import {
  knownFields,
  outlineBody,
  parseJson,
  type ReadBody,
  unknownFields,
  unknownInBytes,
} from './json-body.ts';
import type { HttpMetrics } from './metrics.ts';
import { requireJson } from './negotiation.ts';
import { PaidCalls } from './paid-calls.ts';
import { queryNames } from './query.ts';
import { linesOf, Responder } from './reply.ts';
import type { ChargedWork, Endpoint, Page, PurchaseWork, Work } from './work.ts';

export interface PipelineOptions {
  readonly publicHost: string | null;
}

export interface PipelineDeps extends Pick<HttpDeps, 'clock' | 'log' | 'access' | 'payPerCall'> {
  readonly metrics: HttpMetrics;
  readonly requestIdFor: (clientSent: string) => string;
  readonly origin: ClientOrigin;
}

/** Work of one kind. */
type WorkOf<Kind extends Work['kind']> = Extract<Work, { readonly kind: Kind }>;

/** Receives a body that is refused before it is read. */
const UNREAD: BodyReceiver = { write: () => {}, end: () => {} };

/** A body that was left out. */
const NO_FIELDS = Buffer.from('{}');

/** Characters of the method and path that an error quotes. */
const SHOWN_PATH_MAX = 128;

const bodyTooLarge = (bytesMax: number): AssayError =>
  new AssayError(
    'BODY_TOO_LARGE',
    `The request body is larger than ${bytesMax} bytes, or came in more than ${HTTP_LIMITS.bodyChunksMax} chunks.`,
    {
      field: 'body',
    },
  );

const noRoomForBody = (): AssayError =>
  new AssayError(
    'OVERLOADED',
    'Too many large requests are being received at the same time; send fewer at once.',
    { retryAfterSeconds: 1 },
  );

const isWww = (host: string): boolean => host.length > 4 && /^www\./i.test(host);

/** Copies the headers that choose the form of the response, for a response that is sent later. */
function readNegotiation(call: Call): void {
  call.accept = call.exchange.header('accept');
  call.acceptEncoding = call.exchange.header('accept-encoding');
}

/** Returns a function that lists unknown query parameters in the response, so that a misspelt option is noticed. */
function unknownQuery(route: Route): (call: Call) => void {
  const known = new Set(
    route.parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name),
  );
  // Clients of a hot operation send the same query with each request.
  let lastWithoutUnknown = '';
  return (call) => {
    const query = call.exchange.query();
    if (query === lastWithoutUnknown) return;
    const unknown = unknownFields(queryNames(query), known);
    if (unknown.length > 0) call.ignored = unknown;
    else lastWithoutUnknown = query;
  };
}

/** Adds the unknown fields of the body to the response. A response to a body always has the list, even if it is empty. */
function noteIgnored(call: Call, fields: readonly string[]): void {
  call.ignored = [...fields, ...(call.ignored ?? [])].slice(0, HTTP_LIMITS.bodyFieldsMax);
}

/** Validates a parsed body, and adds its unknown fields to the response. */
function readNoting<Body>(call: Call, read: ReadBody<Body>, value: unknown): Body {
  const ignored: string[] = [];
  const body = read(value, ignored);
  noteIgnored(call, ignored);
  return body;
}

/** Creates the handlers of requests. */
export class Pipeline {
  readonly #publicHost: string | null;
  readonly #clock: HttpDeps['clock'];
  readonly #log: Logger;
  readonly #origin: ClientOrigin;
  readonly #requestIdFor: (clientSent: string) => string;
  readonly #responder: Responder;
  readonly #admitter: Admitter;
  readonly #charging: Charging;
  readonly #paidCalls: PaidCalls;
  readonly #freeWork: FreeWork;
  readonly #bodyBudget = new BodyBudget();

  constructor({ publicHost }: PipelineOptions, deps: PipelineDeps) {
    const { access, log, origin } = deps;
    this.#publicHost = publicHost;
    this.#clock = deps.clock;
    this.#log = log;
    this.#freeWork = new FreeWork(deps.clock);
    this.#origin = origin;
    this.#requestIdFor = deps.requestIdFor;
    this.#responder = new Responder(deps);
    this.#admitter = new Admitter({ access, origin, publicHost, responder: this.#responder });
    this.#charging = new Charging({ access, log, admitter: this.#admitter });
    this.#paidCalls = new PaidCalls({
      payPerCall: deps.payPerCall ?? (() => null),
      admitter: this.#admitter,
      charging: this.#charging,
    });
  }

  /**
   * Returns the handler of a route.
   *
   * @param metricsRow - row of the route in the metrics
   */
  handlerFor<Body>(route: Route, metricsRow: number, work: Work<Body>): Handler {
    if (route.credits > 0 && work.kind !== 'task' && work.kind !== 'purchase')
      throw new Error(
        `${route.method} ${route.path}: work of the kind '${work.kind}' cannot be charged for.`,
      );
    const endpoint: RouteEndpoint = { route, path: route.path, metricsRow, lines: linesOf(route) };
    switch (work.kind) {
      case 'page':
        return this.#pageHandler(endpoint, work);
      case 'message':
        return this.#messageHandler(endpoint, work);
      case 'lookup':
        return this.#lookupHandler(endpoint, work);
      case 'body':
        return this.#schemaHandler(endpoint, work.read, (call, body) =>
          this.#responder.sendData(call, endpoint, work.write, body),
        );
      case 'query':
        return this.#queryHandler(endpoint, work);
      case 'task':
        if (route.credits > 0) return this.#chargedHandler(endpoint, work.read, work);
        return this.#schemaHandler(endpoint, work.read, (call, body) =>
          this.#responder.sendAsync(
            call,
            endpoint,
            this.#free(call, route, () => work.answer(call, body)),
          ),
        );
      case 'purchase':
        return this.#chargedHandler(endpoint, work.read, work);
      case 'stream':
        return this.#streamHandler(endpoint, work);
      case 'upload':
        return this.#uploadHandler(endpoint, work);
      case 'file':
        return this.#fileHandler(endpoint, work);
      case 'bytes':
        return this.#bytesHandler(endpoint, work);
    }
  }

  /**
   * Returns the handler of requests that match no route.
   *
   * @param metricsRow - row of the metrics that counts them
   */
  fallback(metricsRow: number): Handler {
    return this.#handler({ path: 'unknown', metricsRow, lines: '' }, ({ exchange }) => {
      const operation = `${exchange.method} ${exchange.path}`;
      const shown = operation.length > SHOWN_PATH_MAX ? `${operation.slice(0, SHOWN_PATH_MAX)}…` : operation;
      throw new AssayError('NOT_FOUND', `Unknown operation: ${shown}. All operations are listed at /docs.`);
    });
  }

  /**
   * Returns the handler of requests that match no route but may be for a page that is not an operation.
   *
   * @param metricsRow - row of the metrics that counts the pages
   * @param answer - returns null if a request is not for a page; `otherwise` then handles it
   */
  pages(
    metricsRow: number,
    answer: (exchange: Exchange) => Awaitable<Page> | null,
    otherwise: Handler,
  ): Handler {
    const endpoint: Endpoint = { path: 'dashboard', metricsRow, lines: '' };
    return (exchange) => {
      const page = answer(exchange);
      if (page === null) return otherwise(exchange);
      return this.#handler(endpoint, (call) => {
        if (!(page instanceof Promise)) return this.#responder.sendPage(call, endpoint, page);
        page
          .then((ready) => this.#responder.sendPage(call, endpoint, ready))
          .catch((error: unknown) => this.#responder.fail(call, endpoint, error));
      })(exchange);
    };
  }

  /**
   * Returns the function that renders the responses of requests which the server refuses before any handler.
   *
   * @param metricsRow - row of the metrics that counts them
   */
  refusal(metricsRow: number): RenderRefusal {
    return ({ problem, accept, requestId }) => {
      const id = this.#requestIdFor(requestId);
      const error = new AssayError('INVALID_REQUEST', problem);
      return this.#responder.renderRefusal(id, metricsRow, error, accept);
    };
  }

  /**
   * Returns a handler that begins a request, redirects `www.` hosts, and runs the further steps.
   *
   * @param run - may throw until it returns
   * @param fail - sends the response of an error that was thrown
   */
  #handler(
    endpoint: Endpoint,
    run: (call: Call) => void,
    fail = (call: Call, error: unknown): void => this.#responder.fail(call, endpoint, error),
  ): Handler {
    return (exchange) => {
      const call = this.#begin(exchange);
      try {
        if (this.#redirects(call, endpoint)) return;
        run(call);
      } catch (error) {
        call.accept = exchange.header('accept');
        fail(call, error);
      }
    };
  }

  /** Runs the first step of a request, and counts it if it has a rate limit and costs nothing else. */
  #free<T>(call: Call, { quota, rateClass }: Route, work: () => T): T {
    const isFree = quota === null && rateClass !== null;
    return this.#freeWork.run(isFree ? (call.caller?.accountId ?? null) : null, work);
  }

  #begin(exchange: Exchange): Call {
    return new Call(exchange, this.#requestIdFor(exchange.header('x-request-id')), this.#clock.monotonic());
  }

  /** Redirects `www.` requests to the configured host. The response names no other host. */
  #redirects(call: Call, endpoint: Endpoint): boolean {
    const { exchange } = call;
    const host = exchange.header('host');
    // 'w' in either case: all other hosts return here.
    if ((host.charCodeAt(0) | 0x20) !== 0x77 || !isWww(host)) return false;
    if (this.#publicHost === null)
      throw new AssayError('NOT_FOUND', 'Host: this service has no host name that begins with www.');
    const query = exchange.query();
    const scheme = this.#origin.isSecure(exchange) ? 'https' : 'http';
    const location = `${scheme}://${this.#publicHost}${exchange.path}${query === '' ? '' : `?${query}`}`;
    this.#responder.reply(call, endpoint, 301, `${call.head}\r\nLocation: ${location}`, '');
    return true;
  }

  #pageHandler(endpoint: RouteEndpoint, { answer }: WorkOf<'page'>): Handler {
    const responder = this.#responder;
    // Only a response with a schema can list unknown parameters: other pages are text, or documents with a form of their own.
    const noteUnknown = typeof endpoint.route.response === 'string' ? () => {} : unknownQuery(endpoint.route);
    return this.#handler(endpoint, (call) => {
      readNegotiation(call);
      noteUnknown(call);
      const page = answer(call);
      if (!(page instanceof Promise)) {
        responder.sendPage(call, endpoint, page);
        return;
      }
      page
        .then((ready) => responder.sendPage(call, endpoint, ready))
        .catch((error: unknown) => responder.fail(call, endpoint, error));
    });
  }

  /** Reads a body that its work parses, and answers with a whole response. */
  #messageHandler(endpoint: RouteEndpoint, { answer }: WorkOf<'message'>): Handler {
    const { route } = endpoint;
    const fail = (call: Call, error: unknown): void => this.#admitter.failCounted(call, endpoint, error);
    const respond = (call: Call, body: Uint8Array): void => {
      answer(call, body)
        .then((page) => this.#responder.sendPage(call, endpoint, page))
        .catch((error: unknown) => this.#responder.fail(call, endpoint, error));
    };
    const run = (call: Call): void => {
      readNegotiation(call);
      this.#admitter.authenticateBeforeBody(call, route);
      requireJson(call.exchange.header('content-type'));
      call.exchange.keep();
      this.#readBody(call, HTTP_LIMITS.bodyBytesMax, (body) => {
        try {
          if (body instanceof AssayError) throw body;
          this.#admitter.whenAdmitted(call, endpoint, 1, false, respond, body);
        } catch (error) {
          fail(call, error);
        }
      });
    };
    return this.#handler(endpoint, run, fail);
  }

  /**
   * Reads the whole body of a request, counted for its account, or for its client.
   *
   * @param onBody - gets the body, or the error that refuses it
   */
  #readBody(call: Call, bytesMax: number, onBody: (body: Uint8Array | AssayError) => void): void {
    const share = this.#bodyShare(call);
    call.exchange.readBody(
      bytesMax,
      (body) => onBody(body ?? (share.isRefused ? noRoomForBody() : bodyTooLarge(bytesMax))),
      share,
    );
  }

  #bodyShare({ caller, payer, exchange }: Call): BodyShare {
    if (caller !== null && payer === null)
      return this.#bodyBudget.share(caller.accountId, HTTP_LIMITS.heldBodyBytesOfAccount);
    const client = payer?.client ?? clientUnit(this.#origin.address(exchange));
    return this.#bodyBudget.share(`address ${client}`, HTTP_LIMITS.heldBodyBytesOfClient);
  }

  #lookupHandler(endpoint: RouteEndpoint, { write, later, isCurrent }: WorkOf<'lookup'>): Handler {
    const { route } = endpoint;
    const noteUnknown = unknownQuery(route);
    const respond = (call: Call): void => this.#responder.sendData(call, endpoint, write, null);
    const respondLater = (call: Call): void => {
      if (later !== undefined) this.#responder.sendAsync(call, endpoint, later.answer(call));
    };
    return this.#handler(endpoint, (call) => {
      this.#admitter.authenticate(call, route);
      noteUnknown(call);
      if (later?.isAsked(call)) {
        readNegotiation(call);
        this.#admitter.whenAdmitted(call, endpoint, 1, true, respondLater, null);
        return;
      }
      if (isCurrent !== undefined) call.notModified = isCurrent(call.exchange.header('if-none-match'));
      this.#admitter.whenAdmitted(call, endpoint, call.notModified ? 0 : 1, true, respond, null);
    });
  }

  #queryHandler(endpoint: RouteEndpoint, { answer }: WorkOf<'query'>): Handler {
    const { route } = endpoint;
    const noteUnknown = unknownQuery(route);
    const respond = (call: Call): void =>
      this.#responder.sendAsync(
        call,
        endpoint,
        this.#free(call, route, () => answer(call)),
      );
    const run = (call: Call): void => {
      readNegotiation(call);
      this.#admitter.authenticate(call, route);
      noteUnknown(call);
      this.#admitter.whenAdmitted(call, endpoint, 1, true, respond, null);
    };
    return this.#handler(endpoint, run, (call, error) => this.#admitter.failCounted(call, endpoint, error));
  }

  #streamHandler(endpoint: RouteEndpoint, { follow }: WorkOf<'stream'>): Handler {
    const responder = this.#responder;
    const respond = (call: Call): void => {
      // The stream would be the body, which HEAD leaves out.
      if (call.exchange.method === 'HEAD' || call.exchange.isGone)
        responder.reply(call, endpoint, 200, `${call.head}${call.successLines}\r\n${SSE_HEADERS}`, '');
      else follow(call, () => responder.openStream(call, endpoint));
    };
    return this.#handler(endpoint, (call) => {
      call.accept = call.exchange.header('accept');
      this.#admitter.authenticate(call, endpoint.route);
      this.#admitter.whenAdmitted(call, endpoint, 0, true, respond, null);
    });
  }

  #fileHandler(endpoint: RouteEndpoint, { open }: WorkOf<'file'>): Handler {
    const responder = this.#responder;
    const respond = (call: Call): void => {
      this.#free(call, endpoint.route, () => open(call))
        .then((response) => responder.sendLarge(call, endpoint, response))
        .catch((error: unknown) => responder.fail(call, endpoint, error));
    };
    return this.#handler(endpoint, (call) => {
      call.accept = call.exchange.header('accept');
      this.#admitter.authenticate(call, endpoint.route);
      call.exchange.keep();
      this.#admitter.whenAdmitted(call, endpoint, 0, true, respond, null);
    });
  }

  /** Reads the body of an authenticated request. `respond` replies, now or later, or throws. */
  #bodyHandler(endpoint: RouteEndpoint, respond: (call: Call, body: Uint8Array) => void): Handler {
    const { route } = endpoint;
    const noteUnknown = unknownQuery(route);
    const needsHead = route.parameters.some(({ in: place }) => place !== 'path');
    const isOptional = hasOptionalBody(route);
    const canBePaid = isPayable(route);
    const bytesMax = bodyBytesMaxOf(route);
    const fail = (call: Call, error: unknown): void => this.#admitter.failCounted(call, endpoint, error);

    const onBody = (call: Call, body: Uint8Array | AssayError): void => {
      try {
        if (body instanceof AssayError) throw body;
        // Many bodies may have begun to arrive before the first of them was counted.
        this.#admitter.requireRate(call, route);
        respond(call, body.length === 0 && isOptional ? NO_FIELDS : body);
      } catch (error) {
        fail(call, error);
      }
    };

    const run = (call: Call): void => {
      readNegotiation(call);
      this.#admitter.authenticateBeforeBody(call, route, canBePaid && this.#paidCalls.isOn);
      noteUnknown(call);
      // A client that only asks for the price may leave the body out.
      if (call.payer === null || call.payer.payment !== '' || call.exchange.header('content-type') !== '')
        requireJson(call.exchange.header('content-type'));
      if (route.credits > 0) this.#charging.prepare(call);
      if (needsHead) call.exchange.keep();
      this.#readBody(call, bytesMax, (body) => onBody(call, body));
    };
    return this.#handler(endpoint, run, fail);
  }

  /** Reads a body that must match the schema of its route. */
  #schemaHandler<Body>(
    endpoint: RouteEndpoint,
    read: ReadBody<Body>,
    respond: (call: Call, body: Body) => void,
  ): Handler {
    return this.#bodyHandler(endpoint, (call, bytes) => {
      outlineBody(bytes);
      const body = readNoting(call, read, parseJson(bytes));
      this.#admitter.whenAdmitted(call, endpoint, 1, false, respond, body);
    });
  }

  /** Reads a body that must match the schema of its route, works, and charges before it replies. */
  #chargedHandler<Body>(
    endpoint: RouteEndpoint,
    read: ReadBody<Body>,
    work: ChargedWork<Body> | PurchaseWork<Body>,
  ): Handler {
    const { route } = endpoint;
    return this.#bodyHandler(endpoint, (call, bytes) => {
      // A payer that asks for the price may leave the body out.
      if (call.payer === null || bytes.length > 0) outlineBody(bytes);
      const parse = (value: unknown): Body => readNoting(call, read, value);
      const responding =
        call.payer === null || 'purchase' in work
          ? this.#charging.respond(call, route, bytes, parse, work)
          : this.#paidCalls.respond({ call, payer: call.payer, route, bytes, read: parse, work });
      responding
        .then((response) => this.#responder.sendCharged(call, endpoint, response))
        .catch((error: unknown) => {
          this.#charging.refund(call);
          this.#admitter.failCounted(call, endpoint, error);
        });
    });
  }

  /** Reads a body that its work parses. */
  #bytesHandler(endpoint: RouteEndpoint, { units, usualUnits, answer }: WorkOf<'bytes'>): Handler {
    const respond = (call: Call, body: Uint8Array): void =>
      this.#responder.sendAsync(call, endpoint, answer(call, body));
    const known = knownFields(endpoint.route.body ?? {});
    const unitsOf = (call: Call, body: Uint8Array): number => {
      const usual = usualUnits?.(body) ?? null;
      if (usual !== null) {
        noteIgnored(call, []);
        return usual;
      }
      const outline = outlineBody(body);
      const taken = units(outline, body);
      noteIgnored(call, unknownInBytes(body, outline, known));
      return taken;
    };
    return this.#bodyHandler(endpoint, (call, body) =>
      this.#admitter.whenAdmitted(call, endpoint, unitsOf(call, body), false, respond, body),
    );
  }

  #uploadHandler(endpoint: RouteEndpoint, { bytesMax, open }: WorkOf<'upload'>): Handler {
    const { route } = endpoint;
    const responder = this.#responder;
    const noteUnknown = unknownQuery(route);
    const openAdmitted = async (call: Call): ReturnType<typeof open> => {
      await this.#admitter.admitted(call, route);
      return open(call);
    };
    const run = (call: Call): void => {
      const { exchange } = call;
      readNegotiation(call);
      this.#admitter.authenticateBeforeBody(call, route);
      noteUnknown(call);
      exchange.keep();
      const receiver = receiveUpload(bytesMax, openAdmitted(call), {
        done: (data) => responder.sendBytes(call, endpoint, data),
        refused: (error) => responder.fail(call, endpoint, error),
        gone: () => responder.recordGone(call, endpoint),
        notCleared: (error) =>
          this.#log.error(
            { requestId: call.requestId, err: error },
            'failed to discard the received part of an upload',
          ),
      });
      exchange.receiveBody(bytesMax, receiver);
    };
    return this.#handler(endpoint, run, (call, error) => {
      // A client that is sending a gigabyte must still be able to read the error.
      call.exchange.receiveBody(0, UNREAD);
      this.#admitter.failCounted(call, endpoint, error);
    });
  }
}

/** Creates the pipeline. */
export const createPipeline = (options: PipelineOptions, deps: PipelineDeps): Pipeline =>
  new Pipeline(options, deps);
