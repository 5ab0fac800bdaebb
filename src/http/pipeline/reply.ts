/**
 * Sends the response of a request, and counts it. One place turns an error into a response and returns the quota taken by the
 * request, so that no error is ever charged.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { asStorageFull } from '../../state/storage.ts';
import { HTTP_LIMITS } from '../limits.ts';
import type { CallerAccess } from '../ports.ts';
import type { Route } from '../routes.ts';
import type { EventStream, RenderRefusal } from '../server/port.ts';
import { type Call, ClientGone } from './call.ts';
import { Compressor } from './compression.ts';
import { ENVELOPE_END_BYTES_MAX, ENVELOPE_START, withIgnored, writeEnvelopeEnd } from './envelope.ts';
import { renderError } from './errors.ts';
import { CLIENT_GONE, type HttpMetrics } from './metrics.ts';
import { type Coding, codingFor } from './negotiation.ts';
import { isUnserved, OutageLog } from './outage.ts';
import { JSON_TYPE, SuccessHead, VARY } from './success-head.ts';
import type { AsyncData, ChargedResponse, Endpoint, LargeResponse, Page, WriteData } from './work.ts';

const NOSNIFF = '\r\nX-Content-Type-Options: nosniff';
const NO_STORE = '\r\nCache-Control: no-store';

/** Error responses are never kept: the next one may differ. */
const ERROR_LINES = NOSNIFF + NO_STORE;

/**
 * Returns the header lines of the successful responses of an operation. What only an authenticated client may see is not stored by
 * caches, unless the operation itself says how, and is not taken for another type by browsers.
 */
export function linesOf({ permission, principal, responseHeaders }: Route): string {
  if (permission === null && principal === null) return '';
  return responseHeaders.includes('Cache-Control') ? NOSNIFF : NOSNIFF + NO_STORE;
}

/** Initial size of the response buffer: enough for all but the most labelled addresses. It grows if a response does not fit. */
const BUFFER_BYTES = 64 * 1024;

/** Responses up to this length have a kept view of the buffer: nearly all of the hot operations, and a view costs an allocation. */
const KEPT_VIEW_BYTES_MAX = 4096;

/** Creates a buffer that begins with the start of the envelope. */
function createResponseBuffer(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  buffer.set(ENVELOPE_START, 0);
  return buffer;
}

/** Copies data that was made elsewhere into the shared buffer: a new buffer per response would burden the garbage collector. */
const copyData: WriteData<Uint8Array> = (_call, out, offset, bytes) => {
  if (offset + bytes.length > out.length) return -1;
  out.set(bytes, offset);
  return offset + bytes.length;
};

/** Writes a text that was made elsewhere into the shared buffer. */
const writeText: WriteData<string> = (_call, out, offset, text) => {
  const left = out.length - offset;
  // A character takes at most three bytes: only a text that nearly fills the buffer is measured.
  if (text.length * 3 > left && Buffer.byteLength(text) > left) return -1;
  return offset + out.write(text, offset);
};

/** Copies data and the member that follows it. */
const copyParts: WriteData<{ readonly data: Uint8Array; readonly member: Uint8Array }> = (
  call,
  out,
  offset,
  { data, member },
) => {
  const end = copyData(call, out, offset, data);
  return end < 0 ? end : copyData(call, out, end, member);
};

export interface ResponderDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly access: Pick<CallerAccess, 'quota' | 'gate'>;
  readonly metrics: HttpMetrics;
}

/** Sends and counts the responses of the pipeline. */
export class Responder {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #access: ResponderDeps['access'];
  readonly #metrics: HttpMetrics;
  readonly #outages: OutageLog;
  readonly #compressor = new Compressor();
  /** Overwritten by every response; the server copies the bytes that it cannot send at once. */
  #buffer = createResponseBuffer(BUFFER_BYTES);
  /** Views of the start of the buffer, by their length. */
  #views: Uint8Array[] = [];
  readonly #head = new SuccessHead();

  constructor({ clock, log, access, metrics }: ResponderDeps) {
    this.#clock = clock;
    this.#log = log;
    this.#access = access;
    this.#metrics = metrics;
    this.#outages = new OutageLog(clock, log);
  }

  /** Sends a response and counts it. */
  reply(call: Call, endpoint: Endpoint, status: number, headers: string, body: string | Uint8Array): void {
    call.exchange.reply(status, headers, body);
    this.#record(call, endpoint, status);
  }

  /** Sends a complete JSON text with status 200, or 304 if the client's cached copy is still valid. */
  sendJson(call: Call, endpoint: Endpoint, json: Uint8Array): void {
    this.#outages.noteServed();
    if (call.notModified) {
      this.#refundQuota(call);
      this.reply(call, endpoint, 304, call.head + call.successLines + endpoint.lines, '');
      return;
    }
    if (this.#replyWithBytes(call, endpoint, json)) return;
    const headers = call.head + call.successLines + endpoint.lines + JSON_TYPE;
    this.#replyCompressed(call, endpoint, 200, headers, json);
  }

  /** Sends a JSON text with its header lines as bytes. Returns false without an effect if one of the two needs more work. */
  #replyWithBytes(call: Call, endpoint: Endpoint, json: Uint8Array): boolean {
    const isVaried = json.length > HTTP_LIMITS.uncompressedBytesMax;
    if (isVaried && this.#codingOf(call) !== null) return false;
    const head = this.#head.write(call, endpoint.lines, isVaried);
    if (head === null) return false;
    call.exchange.reply(200, head, json);
    this.#record(call, endpoint, 200);
    return true;
  }

  /** Returns the coding that the client accepts for its response. */
  #codingOf(call: Call): Coding | null {
    return codingFor(call.acceptEncoding ?? call.exchange.header('accept-encoding'));
  }

  /**
   * Sends a body, compressed if it is large and the client accepts that. The compression is done on other threads.
   *
   * @param body - may be overwritten after the call, unless its compressed forms are kept
   * @param kept - compressed forms of a body that never changes
   */
  #replyCompressed(
    call: Call,
    endpoint: Endpoint,
    status: number,
    headers: string,
    body: string | Uint8Array,
    kept?: Page['compressed'],
  ): void {
    if (body.length <= HTTP_LIMITS.uncompressedBytesMax) {
      this.reply(call, endpoint, status, headers, body);
      return;
    }
    const coding = this.#codingOf(call);
    const varied = call.lines.includes(VARY) ? headers : headers + VARY;
    const known = coding === null ? undefined : kept?.get(coding);
    if (coding === null || (known === undefined && !this.#compressor.isFree)) {
      this.reply(call, endpoint, status, varied, body);
      return;
    }
    const plain = kept === undefined || typeof body === 'string' ? Buffer.from(body) : body;
    const compressing = known ?? this.#compressor.compress(plain, coding);
    kept?.set(coding, compressing);
    compressing
      .then((compressed) => {
        if (compressed === null) this.reply(call, endpoint, status, varied, plain);
        else this.reply(call, endpoint, status, `${varied}\r\nContent-Encoding: ${coding}`, compressed);
      })
      .catch((error: unknown) => this.#logFault(call, endpoint, error, 'response could not be sent'));
  }

  /**
   * Sends the envelope around the output of `write`.
   *
   * @throws INTERNAL if the response is larger than HTTP_LIMITS.answerBytesMax
   */
  sendData<Source>(call: Call, endpoint: Endpoint, write: WriteData<Source>, source: Source): void {
    let buffer = this.#buffer;
    let end = write(call, buffer, ENVELOPE_START.length, source);
    while (end < 0 || end + ENVELOPE_END_BYTES_MAX > buffer.length) {
      if (buffer.length >= HTTP_LIMITS.answerBytesMax)
        throw new AssayError('INTERNAL', `The response is larger than ${HTTP_LIMITS.answerBytesMax} bytes.`);
      buffer = createResponseBuffer(buffer.length * 2);
      this.#buffer = buffer;
      this.#views = [];
      end = write(call, buffer, ENVELOPE_START.length, source);
    }
    end = writeEnvelopeEnd(buffer, end, call.ignored);
    this.sendJson(call, endpoint, this.#view(buffer, end));
  }

  #view(buffer: Buffer, length: number): Uint8Array {
    const known = this.#views[length];
    if (known !== undefined) return known;
    const view = new Uint8Array(buffer.buffer, buffer.byteOffset, length);
    if (length <= KEPT_VIEW_BYTES_MAX) this.#views[length] = view;
    return view;
  }

  /** Sends the response to a charged request, and releases its buffer. */
  sendCharged(call: Call, endpoint: Endpoint, { body, data }: ChargedResponse): void {
    if (data === null) {
      this.sendJson(call, endpoint, body);
      return;
    }
    try {
      this.sendData(call, endpoint, copyParts, { data: data.json, member: body });
    } finally {
      data.release?.();
    }
  }

  /** Sends the envelope around data that was made elsewhere. */
  sendBytes(call: Call, endpoint: Endpoint, data: Uint8Array): void {
    this.sendData(call, endpoint, copyData, data);
  }

  /** Sends the envelope around the resolved value of `data`, or the error that it rejects with. */
  sendAsync(call: Call, endpoint: Endpoint, data: Promise<AsyncData>): void {
    data
      .then((ready) => {
        if (typeof ready === 'string') return this.sendData(call, endpoint, writeText, ready);
        if (ready instanceof Uint8Array) return this.sendBytes(call, endpoint, ready);
        try {
          this.sendBytes(call, endpoint, ready.json);
        } finally {
          ready.release?.();
        }
      })
      .catch((error: unknown) => this.fail(call, endpoint, error));
  }

  /** Sends a response without an envelope. */
  sendPage(call: Call, endpoint: Endpoint, page: Page): void {
    const headers = `${call.head}${page.lines ?? ''}${endpoint.lines}\r\nContent-Type: ${page.contentType}`;
    if (page.isEncoded) {
      this.reply(call, endpoint, page.status, headers, page.body);
      return;
    }
    const { ignored } = call;
    if (ignored === null)
      this.#replyCompressed(call, endpoint, page.status, headers, page.body, page.compressed);
    else {
      const body = withIgnored(Buffer.from(page.body), ignored);
      this.#replyCompressed(call, endpoint, page.status, headers, body);
    }
  }

  /** Sends the headers of a response at once, and its bytes at the pace of the client. */
  sendLarge(call: Call, endpoint: Endpoint, { status, contentType, source }: LargeResponse): void {
    const headers = `${call.head}${call.successLines}${endpoint.lines}\r\nContent-Type: ${contentType}`;
    if (source.length === 0) {
      this.reply(call, endpoint, status, headers, '');
      return;
    }
    this.#record(call, endpoint, status);
    call.exchange.replyBytes(status, headers, source).catch((error: unknown) => {
      this.#log.error(
        { requestId: call.requestId, reason: messageOf(error), err: error },
        'response ended early',
      );
    });
  }

  /** Responds with a stream of events. */
  openStream(call: Call, endpoint: Endpoint): EventStream {
    const stream = call.exchange.openStream(call.head + call.successLines + NOSNIFF);
    this.#metrics.record(endpoint.metricsRow, 200, this.#clock.monotonic() - call.startedMs);
    return stream;
  }

  /** Counts a client that disconnected before its response. */
  recordGone(call: Call, endpoint: Endpoint): void {
    this.#metrics.record(endpoint.metricsRow, CLIENT_GONE, this.#clock.monotonic() - call.startedMs);
  }

  /** Sends the response of an error, and returns the quota that the request took. It never throws. */
  fail(call: Call, endpoint: Endpoint, thrown: unknown): void {
    this.#refundQuota(call);
    const error = asStorageFull(thrown, 'The disk');
    const response = renderError(error, call.accept, call.requestId);
    if (isUnserved(error)) {
      this.#uncount(call);
      this.#outages.noteUnserved(endpoint.path, error);
    } else if (response.status === 500 && !(error instanceof ClientGone)) {
      this.#logFault(call, endpoint, error, 'request failed');
    }
    const headers = `${call.head}${response.lines}${ERROR_LINES}\r\nContent-Type: ${response.contentType}`;
    try {
      this.reply(call, endpoint, response.status, headers, response.body);
    } catch (second) {
      this.#logFault(call, endpoint, second, 'error response could not be sent');
    }
  }

  /** Renders and counts the response of a request that has no exchange of its own. */
  renderRefusal(
    requestId: string,
    metricsRow: number,
    error: AssayError,
    accept: string,
  ): ReturnType<RenderRefusal> {
    const { status, lines, contentType, body } = renderError(error, accept, requestId);
    this.#metrics.record(metricsRow, status, 0);
    const headers = `X-Request-Id: ${requestId}${lines}${ERROR_LINES}\r\nContent-Type: ${contentType}`;
    return { status, headers, body };
  }

  #logFault({ requestId }: Call, { path }: Endpoint, error: unknown, message: string): void {
    this.#log.error({ requestId, route: path, reason: messageOf(error), err: error }, message);
  }

  #record(call: Call, endpoint: Endpoint, status: number): void {
    const shown = call.exchange.isGone ? CLIENT_GONE : status;
    this.#metrics.record(endpoint.metricsRow, shown, this.#clock.monotonic() - call.startedMs);
  }

  #refundQuota(call: Call): void {
    const { caller, quotaMeter, quotaTaken } = call;
    if (quotaTaken <= 0 || caller === null || quotaMeter === null) return;
    this.#access.quota.give(caller.accountId, quotaMeter, quotaTaken);
    call.quotaTaken = 0;
  }

  /** Undoes the count of a request that was not served, so that a client that retries after an outage has its whole rate limit. */
  #uncount({ rate, subject, rateClass }: Call): void {
    const second = rate?.countedSecond ?? null;
    if (second === null || subject === null || rateClass === null) return;
    void this.#access.gate.uncount(subject, rateClass, second);
  }
}
