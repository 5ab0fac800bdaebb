/**
 * The steps of every request: key → permission → schema → gate (rate limit, quota, credits) → work → reply. A step that refuses the
 * request throws. One place turns the error into a response and returns the quota taken by the request, so no error is ever
 * charged.
 */
import { clientUnit } from '../accounts/attempts.ts';
import type { Admission, Asked } from '../accounts/gate.ts';
import type { KeyRecord } from '../accounts/keys.ts';
import { type RateDecision, rateLimited } from '../accounts/rate-limit.ts';
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { asStorageFull } from '../state/storage.ts';
import { Call } from './call.ts';
import { type ChargedWork, createCharging } from './charging.ts';
import { renderError } from './errors.ts';
import {
  type BodyOutline,
  fieldsOf,
  outlineBody,
  parseJson,
  type ReadBody,
  unknownFields,
} from './json-body.ts';
import { CLIENT_GONE, type HttpMetrics } from './metrics.ts';
import type { HttpDeps } from './ports.ts';
import type { ClientOrigin } from './proxies.ts';
import { queryNames } from './query.ts';
import { permissionsOf, type Route } from './routes.ts';
import type { BodyReceiver, ByteSource, EventStream, Exchange, Handler } from './server.ts';
import { receiveUpload, type Upload } from './uploads.ts';
import { createVisits } from './visit.ts';

/** Async response data: owned bytes, or a pooled buffer that is released after it has been copied. */
export type LateData = Uint8Array | { readonly json: Uint8Array; readonly release?: () => void };

/** A response without an envelope: probes, documents, metrics. */
export interface Page {
  readonly status: number;
  readonly contentType: string;
  /** Additional header lines, each preceded by its line break. */
  readonly lines?: string;
  readonly body: string | Uint8Array;
}

/** A response of any size. */
export interface LargeAnswer {
  readonly status: 200 | 206;
  readonly contentType: string;
  readonly source: ByteSource;
}

/**
 * Writes the JSON text of `data` into `out`.
 *
 * @param source - input of the data: the parsed body of the request, data made elsewhere, or null
 * @returns the offset after the written text, or -1 if it does not fit
 */
type WriteData<Source> = (call: Call, out: Buffer, offset: number, source: Source) => number;

/** The work of an operation, by the input that it needs. `Body` is the type of its validated request body. */
export type Work<Body = unknown> =
  | { readonly kind: 'page'; readonly answer: (call: Call) => Page | Promise<Page> }
  /** Answered synchronously, from the path and the query. */
  | { readonly kind: 'lookup'; readonly write: WriteData<null> }
  /** Answered synchronously, from a body that matches the schema. */
  | { readonly kind: 'body'; readonly read: ReadBody<Body>; readonly write: WriteData<Body> }
  /** Answered asynchronously, from the path and the query. */
  | { readonly kind: 'query'; readonly answer: (call: Call) => Promise<Uint8Array> }
  /** Answered asynchronously, from a body that matches the schema. Only this kind of work can cost credits. */
  | ({ readonly kind: 'task'; readonly read: ReadBody<Body> } & ChargedWork<Body>)
  /** Answered for as long as the client stays connected. `open` starts the stream; it is called synchronously or not at all. */
  | { readonly kind: 'stream'; readonly follow: (call: Call, open: () => EventStream) => void }
  /** Receives a body of any size while it arrives. Path, query and headers stay readable. */
  | { readonly kind: 'upload'; readonly bytesMax: number; readonly open: (call: Call) => Promise<Upload> }
  /** Answered with bytes that are read at the pace of the client. `call.lines` are sent with them. */
  | { readonly kind: 'file'; readonly open: (call: Call) => Promise<LargeAnswer> }
  /** Answered asynchronously, from the bytes of a body that is parsed elsewhere. */
  | {
      readonly kind: 'bytes';
      /** Returns the quota units of the body. Throws if the body asks for too many. */
      readonly units: (outline: BodyOutline, body: Uint8Array) => number;
      readonly answer: (call: Call, body: Uint8Array) => Promise<LateData>;
    };

export interface Pipeline {
  /**
   * Returns the handler of a route.
   *
   * @param position - row of the route in the metrics
   */
  handlerFor<Body>(route: Route, position: number, work: Work<Body>): Handler;
  /**
   * Returns the handler of requests that match no route.
   *
   * @param position - row of the metrics that counts them
   */
  fallback(position: number): Handler;
}

export interface PipelineOptions {
  readonly publicHost: string | null;
}

export interface PipelineDeps extends Pick<HttpDeps, 'clock' | 'log' | 'access'> {
  readonly metrics: HttpMetrics;
  readonly requestIdFor: (clientSent: string) => string;
  readonly origin: ClientOrigin;
}

const JSON_TYPE = '\r\nContent-Type: application/json';
const OPENING = Buffer.from('{"success":true,"data":');
const BEARER = /^bearer +/i;
const FAST_BEARER = 'Bearer ';
const CLOSE_BRACE = 0x7d;

/** Initial size of the response buffer: enough for all but the most labelled addresses. It grows if a response does not fit. */
const SCRATCH_BYTES = 64 * 1024;

/** Maximum length of the list of unknown fields, with every character escaped. */
const ENVELOPE_END_BYTES_MAX = LIMITS.bodyFieldsMax * (64 * 6 + 3) + 32;

/** The end of the envelope with the list of unknown fields. */
const closingOf = (ignored: readonly string[]): string => `,"ignored":${JSON.stringify(ignored)}}`;

/** Creates a buffer that begins with the opening of the envelope. */
function createScratch(bytes: number): Buffer {
  const scratch = Buffer.allocUnsafeSlow(bytes);
  scratch.set(OPENING, 0);
  return scratch;
}

/** Copies data that was made elsewhere into the shared buffer: a new buffer per response would burden the garbage collector. */
const copyData: WriteData<Uint8Array> = (_call, out, offset, bytes) => {
  if (offset + bytes.length > out.length) return -1;
  out.set(bytes, offset);
  return offset + bytes.length;
};

/** Admission of an operation without a rate limit, quota or credits. */
const OPEN: Admission = { rate: null, kept: null, quota: null, reservation: null, refused: null };
/** Units that operations take of the route's quota, and whether the headers of the request can still be read. */
const ONE_UNIT = { units: 1, isOpen: true } as const;
const NO_UNIT = { units: 0, isOpen: true } as const;
const UNIT_OF_BODY = { units: 1, isOpen: false } as const;
const NOTHING: Pick<Asked, 'slot' | 'credits'> = { slot: null, credits: null };

/** Receives a body that is refused before it is read. */
const UNHEARD: BodyReceiver = { write: () => {}, end: () => {} };

/** An outage is over after this time without a request that could not be served. */
const OUTAGE_QUIET_MS = 5_000;
/** Error codes of a server that cannot work at the moment; no part of the request was done. */
const UNSERVED: ReadonlySet<string> = new Set(['NOT_READY', 'LEDGER_UNAVAILABLE', 'STORAGE_FULL']);

const isWww = (host: string): boolean => host.length > 4 && /^www\./i.test(host);

/** Creates the pipeline. */
export function createPipeline(options: PipelineOptions, deps: PipelineDeps): Pipeline {
  const { clock, log, access, metrics, requestIdFor, origin } = deps;
  const charging = createCharging({
    access,
    log,
    admit: async (call, route, wants) => letIn(call, route, 0, await admit(call, route, 0, wants)),
  });
  const admitVisitor = createVisits({
    people: () => access.people(),
    origin,
    publicHost: options.publicHost,
  });

  function begin(exchange: Exchange): Call {
    return new Call(exchange, requestIdFor(exchange.header('x-request-id')), clock.monotonic());
  }

  function finish(
    call: Call,
    position: number,
    status: number,
    headers: string,
    body: string | Uint8Array,
  ): void {
    const { exchange } = call;
    exchange.reply(status, headers, body);
    metrics.record(position, exchange.isGone ? CLIENT_GONE : status, clock.monotonic() - call.startedMs);
  }

  function giveBack(call: Call, units: number): void {
    if (units <= 0 || !call.caller || !call.quotaMeter) return;
    access.quota.give(call.caller.accountId, call.quotaMeter, units);
    call.quotaTaken -= units;
  }

  /** Whether the request was refused because the server cannot work at the moment, so that no part of it was done. */
  const isUnserved = (error: unknown): boolean => error instanceof AssayError && UNSERVED.has(error.code);

  /** Takes a request that was not served out of the count, so that a client that retries after an outage has its whole rate limit. */
  function uncount({ rate, subject, rateClass }: Call): void {
    const second = rate?.countedSecond ?? null;
    if (second === null || subject === null || rateClass === null) return;
    void access.gate.uncount(subject, rateClass, second);
  }

  /** The current outage, in which requests cannot be served; null outside of outages. */
  let outage: { readonly reason: string; requests: number; lastMs: number } | null = null;

  /** Logs one line when an outage begins and one when it ends: many retrying clients would otherwise fill the log. */
  function noteUnserved(route: string, error: unknown): void {
    if (outage === null) {
      outage = { reason: messageOf(error), requests: 0, lastMs: 0 };
      log.error({ route, reason: outage.reason }, 'requests cannot be served');
    }
    outage.requests++;
    outage.lastMs = clock.monotonic();
  }

  /** Other requests that need less may succeed during an outage, so it ends only when no request was refused for a while. */
  function noteServed(): void {
    if (outage === null || clock.monotonic() - outage.lastMs < OUTAGE_QUIET_MS) return;
    log.info({ reason: outage.reason, requests: outage.requests }, 'requests are served again');
    outage = null;
  }

  function fail(call: Call, position: number, route: string, thrown: unknown): void {
    giveBack(call, call.quotaTaken);
    const error = asStorageFull(thrown, 'The disk');
    const answer = renderError(error, call.accept, call.requestId);
    if (isUnserved(error)) {
      uncount(call);
      noteUnserved(route, error);
    } else if (answer.status === 500)
      log.error(
        { requestId: call.requestId, route, reason: messageOf(error), err: error },
        'a request failed',
      );
    const headers = `${call.head}${answer.lines}\r\nContent-Type: ${answer.contentType}`;
    try {
      finish(call, position, answer.status, headers, answer.body);
    } catch (second) {
      log.error(
        { requestId: call.requestId, route, reason: messageOf(second), err: second },
        'an answer was lost',
      );
    }
  }

  /** Overwritten by every response; the server copies the bytes that it cannot send at once. */
  let scratch = createScratch(SCRATCH_BYTES);

  function succeed(call: Call, position: number, body: Uint8Array): void {
    noteServed();
    if (call.notModified) {
      giveBack(call, call.quotaTaken);
      finish(call, position, 304, call.head + call.lines, '');
      return;
    }
    finish(call, position, 200, call.head + call.lines + JSON_TYPE, body);
  }

  /** Responds with the envelope around the output of `write`. */
  function writeAnswer<Source>(call: Call, position: number, write: WriteData<Source>, source: Source): void {
    let end = write(call, scratch, OPENING.length, source);
    while (end < 0 || end + ENVELOPE_END_BYTES_MAX > scratch.length) {
      if (scratch.length >= LIMITS.answerBytesMax)
        throw new AssayError('INTERNAL', `An answer is over ${LIMITS.answerBytesMax} bytes.`);
      scratch = createScratch(scratch.length * 2);
      end = write(call, scratch, OPENING.length, source);
    }
    if (call.ignored === null) scratch[end++] = CLOSE_BRACE;
    else end += scratch.write(closingOf(call.ignored), end);
    succeed(call, position, new Uint8Array(scratch.buffer, scratch.byteOffset, end));
  }

  /** Redirects `www.` requests to the configured host. The response names no other host. */
  function redirected(call: Call, position: number): boolean {
    const { exchange } = call;
    const host = exchange.header('host');
    // 'w' in either case: all other hosts return here.
    if ((host.charCodeAt(0) | 0x20) !== 0x77 || !isWww(host)) return false;
    if (options.publicHost === null)
      throw new AssayError('NOT_FOUND', 'This service does not answer at a host name that begins with www.');
    const query = exchange.query();
    const scheme = origin.isSecure(exchange) ? 'https' : 'http';
    const location = `${scheme}://${options.publicHost}${exchange.path}${query === '' ? '' : `?${query}`}`;
    finish(call, position, 301, `${call.head}\r\nLocation: ${location}`, '');
    return true;
  }

  function tokenOf(authorization: string): string {
    if (authorization.startsWith(FAST_BEARER)) return authorization.slice(FAST_BEARER.length);
    return BEARER.test(authorization) ? authorization.replace(BEARER, '') : '';
  }

  /**
   * Authenticates the API key.
   *
   * @throws UNAUTHENTICATED
   */
  function callerOf(call: Call): KeyRecord {
    const authorization = call.exchange.header('authorization');
    const token = tokenOf(authorization);
    const caller = token === '' ? null : access.verify(token);
    if (caller === null) {
      throw new AssayError(
        'UNAUTHENTICATED',
        authorization === ''
          ? 'The Authorization header is missing; it must be: Bearer <API key>.'
          : 'The API key is not valid, or was revoked.',
      );
    }
    return caller;
  }

  /** Adds the rate limit headers to every response of the call. */
  function tellRate(call: Call, rate: RateDecision): void {
    call.head += `\r\nX-RateLimit-Limit: ${rate.limit}\r\nX-RateLimit-Remaining: ${rate.remaining}\r\nX-RateLimit-Reset: ${rate.resetEpochSeconds}`;
  }

  /**
   * Authenticates the session or key that the operation requires, if any.
   *
   * @throws UNAUTHENTICATED, FORBIDDEN
   */
  function identify(call: Call, route: Route): void {
    const isCounted = route.rateClass !== null;
    if (route.principal !== null) {
      const visit = admitVisitor(call.exchange, route.principal, () => callerOf(call));
      call.visit = visit;
      if (isCounted)
        call.subject = visit.key?.id ?? visit.accountId ?? `address ${clientUnit(visit.actor.from)}`;
      return;
    }
    if (route.permission === null) return;
    const caller = callerOf(call);
    call.caller = caller;
    if (isCounted) call.subject = caller.id;
    const wanted = permissionsOf(route);
    call.isPermitted = wanted.length === 0 || wanted.some((one) => caller.permissions.includes(one));
  }

  /**
   * Like `identify`, before a body is read.
   *
   * @throws RATE_LIMITED if the limit is already exhausted; FORBIDDEN, after which the request is still counted
   */
  function identifySender(call: Call, route: Route): void {
    identify(call, route);
    if (!call.isPermitted) throw lacksPermission(route);
    if (call.subject === null || route.rateClass === null) return;
    const rate = access.gate.refuses(call.subject, route.rateClass, call.startedMs);
    if (rate === null) return;
    call.isCounted = true;
    tellRate(call, rate);
    throw rateLimited(rate);
  }

  const lacksPermission = (route: Route): AssayError =>
    new AssayError(
      'FORBIDDEN',
      `This API key lacks the permission '${permissionsOf(route).join("' or '")}'.`,
      { field: 'permission' },
    );

  /** Calls the gate for `units` of the route's quota. A request without permission is counted, but takes no quota. */
  function admit(call: Call, route: Route, units: number, wants = NOTHING): Awaitable<Admission> {
    const { subject, caller, isPermitted } = call;
    const { rateClass, quota } = route;
    const accountId = isPermitted && caller !== null ? caller.accountId : null;
    const meter = accountId === null || quota === null || units === 0 ? null : quota.meter;
    if (subject === null && meter === null && wants.credits === null) return OPEN;
    return access.gate.admit(
      {
        rate: subject === null || rateClass === null ? null : { subject, rateClass },
        accountId,
        slot: wants.slot,
        quota: meter === null ? null : { meter, units },
        credits: accountId === null ? null : wants.credits,
      },
      call.startedMs,
    );
  }

  /**
   * Records the admission in the call.
   *
   * @throws the error that refuses the request: FORBIDDEN, RATE_LIMITED, QUOTA_EXHAUSTED, CREDITS_EXHAUSTED
   */
  function letIn(call: Call, route: Route, units: number, admission: Admission): Admission {
    const { rate, quota, refused } = admission;
    call.isCounted = true;
    call.rate = rate;
    call.rateClass = route.rateClass;
    if (rate !== null) tellRate(call, rate);
    if (!call.isPermitted) throw lacksPermission(route);
    if (refused !== null) throw refused;
    if (quota !== null && route.quota !== null) {
      call.quotaMeter = route.quota.meter;
      call.quotaTaken = units;
      call.quota = quota;
    }
    return admission;
  }

  /**
   * Calls `go` after the gate has admitted the request. If the gate decides synchronously, `go` runs synchronously, and a refusal is
   * thrown.
   *
   * @param isOpen - the handler has not returned yet, so the parts of the request that are needed later must be kept
   */
  function onceIn(
    call: Call,
    route: Route,
    position: number,
    { units, isOpen }: { readonly units: number; readonly isOpen: boolean },
    go: () => void,
  ): void {
    const admission = admit(call, route, units);
    if (!(admission instanceof Promise)) {
      letIn(call, route, units, admission);
      go();
      return;
    }
    if (isOpen) {
      call.exchange.keep();
      call.accept = call.exchange.header('accept');
    }
    admission
      .then((found) => {
        letIn(call, route, units, found);
        go();
      })
      .catch((error: unknown) => fail(call, position, route.path, error));
  }

  /**
   * Fails a request that has not reached the gate. It is counted like any other, and if the gate refuses it, that refusal is the
   * response. A request that could not be served is not counted.
   */
  function failCounted(call: Call, position: number, route: Route, error: unknown): void {
    if (call.isCounted || call.subject === null || isUnserved(error)) {
      fail(call, position, route.path, error);
      return;
    }
    const told = (admission: Admission): void => {
      call.isCounted = true;
      if (admission.rate !== null) tellRate(call, admission.rate);
      fail(call, position, route.path, call.isPermitted ? (admission.refused ?? error) : error);
    };
    try {
      const admission = admit(call, route, 0);
      if (!(admission instanceof Promise)) told(admission);
      else admission.then(told).catch((second: unknown) => fail(call, position, route.path, second));
    } catch (second) {
      fail(call, position, route.path, second);
    }
  }

  /** Responds with the resolved value of `data`. */
  function answerLater(call: Call, route: Route, position: number, data: Promise<LateData>): void {
    data
      .then((late) => {
        if (late instanceof Uint8Array) return writeAnswer(call, position, copyData, late);
        try {
          writeAnswer(call, position, copyData, late.json);
        } finally {
          late.release?.();
        }
      })
      .catch((error: unknown) => fail(call, position, route.path, error));
  }

  function pageHandler(
    route: Route,
    position: number,
    answer: (call: Call) => Page | Promise<Page>,
  ): Handler {
    const send = (call: Call, page: Page): void => {
      const headers = `${call.head}${page.lines ?? ''}\r\nContent-Type: ${page.contentType}`;
      finish(call, position, page.status, headers, page.body);
    };
    return (exchange) => {
      const call = begin(exchange);
      try {
        if (redirected(call, position)) return;
        call.accept = exchange.header('accept');
        const page = answer(call);
        if (page instanceof Promise)
          page.then((ready) => send(call, ready)).catch((error) => fail(call, position, route.path, error));
        else send(call, page);
      } catch (error) {
        fail(call, position, route.path, error);
      }
    };
  }

  /** Returns a function that lists unknown query parameters in the response, so that a misspelt option is noticed. */
  function unknownQuery(route: Route): (call: Call) => void {
    const known = new Set(
      route.parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name),
    );
    return (call) => {
      const query = call.exchange.query();
      if (query === '') return;
      const unknown = unknownFields(queryNames(query), known);
      if (unknown.length > 0) call.ignored = unknown;
    };
  }

  function lookupHandler(route: Route, position: number, write: WriteData<null>): Handler {
    const noteUnknown = unknownQuery(route);
    return (exchange) => {
      const call = begin(exchange);
      try {
        if (redirected(call, position)) return;
        identify(call, route);
        noteUnknown(call);
        onceIn(call, route, position, ONE_UNIT, () => writeAnswer(call, position, write, null));
      } catch (error) {
        call.accept = exchange.header('accept');
        fail(call, position, route.path, error);
      }
    };
  }

  /** Reads the body of an authenticated request. `answer` replies, now or later, or throws. */
  function bodyHandler(
    route: Route,
    position: number,
    answer: (call: Call, body: Uint8Array, outline: BodyOutline) => void,
  ): Handler {
    const known = fieldsOf(route.body);
    const noteUnknown = unknownQuery(route);
    const needsHead = route.parameters.some(({ in: place }) => place !== 'path');

    const onBody = (call: Call, body: Uint8Array | null): void => {
      try {
        if (body === null)
          throw new AssayError('BODY_TOO_LARGE', `The request body is over ${LIMITS.bodyBytesMax} bytes.`, {
            field: 'body',
          });
        const outline = outlineBody(body);
        const unknown = [...unknownFields(outline.fields, known), ...(call.ignored ?? [])];
        call.ignored = unknown.slice(0, LIMITS.bodyFieldsMax);
        answer(call, body, outline);
      } catch (error) {
        failCounted(call, position, route, error);
      }
    };

    return (exchange) => {
      const call = begin(exchange);
      try {
        call.accept = exchange.header('accept');
        if (redirected(call, position)) return;
        identifySender(call, route);
        noteUnknown(call);
        if (route.credits > 0) charging.prepare(call);
        if (needsHead) exchange.keep();
        exchange.readBody(LIMITS.bodyBytesMax, (body) => onBody(call, body));
      } catch (error) {
        failCounted(call, position, route, error);
      }
    };
  }

  /** Reads a body that must match the schema of its route. */
  function schemaHandler<Body>(
    route: Route,
    position: number,
    read: ReadBody<Body>,
    answer: (call: Call, body: Body) => void,
  ): Handler {
    return bodyHandler(route, position, (call, bytes) => {
      const body = read(parseJson(bytes));
      onceIn(call, route, position, UNIT_OF_BODY, () => answer(call, body));
    });
  }

  /** Reads a body that must match the schema of its route, works, and charges before it replies. */
  function chargedHandler<Body>(
    route: Route,
    position: number,
    read: ReadBody<Body>,
    work: ChargedWork<Body>,
  ): Handler {
    const readBody = (bytes: Uint8Array): Body => read(parseJson(bytes));
    return bodyHandler(route, position, (call, bytes) => {
      charging
        .answer(call, route, bytes, readBody, work)
        .then((answer) => succeed(call, position, answer))
        .catch((error: unknown) => {
          charging.refund(call);
          failCounted(call, position, route, error);
        });
    });
  }

  function queryHandler(
    route: Route,
    position: number,
    answer: (call: Call) => Promise<Uint8Array>,
  ): Handler {
    const noteUnknown = unknownQuery(route);
    return (exchange) => {
      const call = begin(exchange);
      try {
        call.accept = exchange.header('accept');
        if (redirected(call, position)) return;
        identify(call, route);
        noteUnknown(call);
        onceIn(call, route, position, ONE_UNIT, () => answerLater(call, route, position, answer(call)));
      } catch (error) {
        fail(call, position, route.path, error);
      }
    };
  }

  function streamHandler(
    route: Route,
    position: number,
    follow: (call: Call, open: () => EventStream) => void,
  ): Handler {
    return (exchange) => {
      const call = begin(exchange);
      try {
        call.accept = exchange.header('accept');
        if (redirected(call, position)) return;
        identify(call, route);
        onceIn(call, route, position, NO_UNIT, () => {
          if (exchange.isGone) return finish(call, position, 200, call.head, '');
          follow(call, () => {
            const stream = exchange.openStream(call.head + call.lines);
            metrics.record(position, 200, clock.monotonic() - call.startedMs);
            return stream;
          });
        });
      } catch (error) {
        fail(call, position, route.path, error);
      }
    };
  }

  function uploadHandler(
    route: Route,
    position: number,
    bytesMax: number,
    open: (call: Call) => Promise<Upload>,
  ): Handler {
    const admitted = async (call: Call): Promise<Upload> => {
      letIn(call, route, 0, await admit(call, route, 0));
      return open(call);
    };
    const noteUnknown = unknownQuery(route);
    return (exchange) => {
      const call = begin(exchange);
      try {
        call.accept = exchange.header('accept');
        if (redirected(call, position)) return;
        identifySender(call, route);
        noteUnknown(call);
        exchange.keep();
        const receiver = receiveUpload(bytesMax, admitted(call), {
          done: (data) => writeAnswer(call, position, copyData, data),
          refused: (error) => fail(call, position, route.path, error),
          gone: () => metrics.record(position, CLIENT_GONE, clock.monotonic() - call.startedMs),
          notCleared: (error) =>
            log.error({ requestId: call.requestId, err: error }, 'what was left of an upload stays'),
        });
        exchange.receiveBody(bytesMax, receiver);
      } catch (error) {
        // A client that is sending a gigabyte must still be able to read the error.
        exchange.receiveBody(0, UNHEARD);
        failCounted(call, position, route, error);
      }
    };
  }

  /** Sends the headers of a response at once, and its bytes at the pace of the client. */
  function sendLarge(call: Call, position: number, { status, contentType, source }: LargeAnswer): void {
    const { exchange } = call;
    const headers = `${call.head}${call.lines}\r\nContent-Type: ${contentType}`;
    if (source.length === 0) {
      finish(call, position, status, headers, '');
      return;
    }
    metrics.record(position, exchange.isGone ? CLIENT_GONE : status, clock.monotonic() - call.startedMs);
    exchange.replyBytes(status, headers, source).catch((error: unknown) => {
      log.error({ requestId: call.requestId, err: error }, `an answer broke off: ${messageOf(error)}`);
    });
  }

  function fileHandler(route: Route, position: number, open: (call: Call) => Promise<LargeAnswer>): Handler {
    return (exchange) => {
      const call = begin(exchange);
      try {
        call.accept = exchange.header('accept');
        if (redirected(call, position)) return;
        identify(call, route);
        exchange.keep();
        onceIn(call, route, position, NO_UNIT, () => {
          open(call)
            .then((answer) => sendLarge(call, position, answer))
            .catch((error: unknown) => fail(call, position, route.path, error));
        });
      } catch (error) {
        fail(call, position, route.path, error);
      }
    };
  }

  return {
    handlerFor(route, position, work) {
      if (route.credits > 0 && work.kind !== 'task')
        throw new Error(`The table charges for ${route.path}, whose work cannot be charged for.`);
      switch (work.kind) {
        case 'page':
          return pageHandler(route, position, work.answer);
        case 'lookup':
          return lookupHandler(route, position, work.write);
        case 'body':
          return schemaHandler(route, position, work.read, (call, body) =>
            writeAnswer(call, position, work.write, body),
          );
        case 'query':
          return queryHandler(route, position, work.answer);
        case 'task':
          if (route.credits > 0) return chargedHandler(route, position, work.read, work);
          return schemaHandler(route, position, work.read, (call, body) =>
            answerLater(call, route, position, work.answer(call, body)),
          );
        case 'stream':
          return streamHandler(route, position, work.follow);
        case 'upload':
          return uploadHandler(route, position, work.bytesMax, work.open);
        case 'file':
          return fileHandler(route, position, work.open);
        case 'bytes':
          return bodyHandler(route, position, (call, body, outline) => {
            const units = work.units(outline, body);
            onceIn(call, route, position, { units, isOpen: false }, () =>
              answerLater(call, route, position, work.answer(call, body)),
            );
          });
      }
    },
    fallback(position) {
      return (exchange) => {
        const call = begin(exchange);
        try {
          call.accept = exchange.header('accept');
          if (redirected(call, position)) return;
          const asked = `${exchange.method} ${exchange.path}`;
          const shown = asked.length > 128 ? `${asked.slice(0, 128)}…` : asked;
          throw new AssayError('NOT_FOUND', `There is no operation ${shown}; /docs lists them all.`);
        } catch (error) {
          fail(call, position, 'unknown', error);
        }
      };
    },
  };
}
