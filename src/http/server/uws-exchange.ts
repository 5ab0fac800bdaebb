/** One request of the uWebSockets.js server and its response: whole, or piece by piece. */

import { fragment } from '../../base/byte-text.ts';
import { HTTP_LIMITS } from '../limits.ts';
import type { BodyShare } from './body-budget.ts';
import { ChunkCount } from './chunk-count.ts';
import { FORWARDED_FOR, type HeadCheck } from './framing.ts';
import { FIRST_HEADER, type HeaderLines } from './header-bytes.ts';
import { BodyIntake } from './intake.ts';
import {
  type BodyReceiver,
  type ByteSource,
  type EventStream,
  type ForwardableExchange,
  keepAliveLines,
  REASONS,
  SERVER_COUNTS,
  SSE_HEADERS,
  type UploadPace,
} from './port.ts';
import type { HttpRequest, HttpResponse, us_socket_context_t } from './uws-binding.ts';
import { UwsEvents, UwsSocket } from './uws-streams.ts';

const STATUS_LINES = new Map(
  Object.entries(REASONS).map(([status, reason]) => [Number(status), `${status} ${reason}`]),
);

const KEEP_ALIVE = keepAliveLines(HTTP_LIMITS.uwsIdleSeconds);
const KEEP_ALIVE_BYTES = fragment(KEEP_ALIVE);

/** State of the server, updated by its exchanges. */
export interface ServerState {
  /** By SERVER_COUNTS. */
  readonly counts: Int32Array;
  closing: boolean;
  onIdle: (() => void) | null;
  readonly pace: UploadPace;
}

/** Changes a count of the server (SERVER_COUNTS), and returns the new one. */
export function countBy(state: ServerState, at: number, change: number): number {
  const count = (state.counts[at] as number) + change;
  state.counts[at] = count;
  return count;
}

function settle(state: ServerState): void {
  if (countBy(state, SERVER_COUNTS.pending, -1) === 0) state.onIdle?.();
}

/** Formats four or sixteen bytes as an address; an IPv4-mapped IPv6 address as IPv4. */
function addressText(bytes: Uint8Array): string {
  const mapped =
    bytes.length === 16 && bytes[10] === 0xff && bytes[11] === 0xff && !bytes.subarray(0, 10).some(Boolean);
  if (bytes.length === 4 || mapped) return bytes.subarray(-4).join('.');
  const groups: string[] = [];
  for (let at = 0; at < bytes.length; at += 2)
    groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  return groups.join(':');
}

/** What the library keeps with a web socket. */
export interface SocketData {
  readonly stream: UwsSocket;
}

/** State of an exchange if its body or response is passed piece by piece. */
class Large {
  intake: BodyIntake | null = null;
  /** Called if the client disconnects while bytes wait to be sent. */
  onGone: (() => void) | null = null;
  /** Called when the socket accepts bytes again; returns whether it took all bytes that it was given. */
  onWritable: (() => boolean) | null = null;
  /**
   * The rest of the body will be discarded (`isUnread`); the body has ended (`isSkipped`); reading continues after the response
   * (`lingers`).
   */
  isUnread = false;
  isSkipped = false;
  lingers = false;
  isPaused = false;
}

/**
 * A request and its response. Created in the callback of the library: its request object is valid until the handler has returned, and afterwards only
 * what was read or kept (`keep`).
 */
export class UwsExchange implements ForwardableExchange {
  readonly method: string;
  readonly path: string;
  readonly params: string[] = [];
  readonly #res: HttpResponse;
  readonly #req: HttpRequest;
  readonly #state: ServerState;
  /** The handler has returned: writes need a cork of their own, and the request object is invalid. */
  #hasReturned = false;
  #listensForAbort = false;
  #replied = false;
  #gone = false;
  #onGone: (() => void) | null = null;
  #done = false;
  #closeAfter: boolean;
  /**
   * The response is sent in a later turn of the event loop. If the client has sent more than this request, the binding then closes
   * the connection, instead of reading a second request from bytes with a meaning in doubt.
   */
  readonly #isDeferred: boolean;
  readonly #host: string;
  readonly #authorization: string;
  readonly #requestId: string;
  readonly #acceptEncoding: string;
  readonly #forwardedFor: string;
  readonly #hasEmptyHeader: boolean;
  #bodyRead = false;
  /** Parts of a whole body; null if there is none, it is too large, or its request was answered. */
  #received: Uint8Array[] | null = null;
  /** What its body holds; null before `readBody`. */
  #share: BodyShare | null = null;
  /** Null unless a body or a response is passed piece by piece, so that a usual exchange has no extra cost. */
  #large: Large | null = null;

  /** Read once: each call of the binding creates a string, and several parts of the pipeline look at the query. */
  #query: string | null = null;
  /** Query and headers, copied by `keep`: the request object is valid only until the handler returns. */
  #requestCopy: { readonly query: string; readonly headers: ReadonlyMap<string, string> } | null = null;

  /** Set if the request asks for an upgrade. */
  readonly #context: us_socket_context_t | null;

  constructor(
    res: HttpResponse,
    req: HttpRequest,
    method: string,
    path: string,
    state: ServerState,
    head: HeadCheck,
    isRefused: boolean,
    context: us_socket_context_t | null = null,
  ) {
    this.#context = context;
    this.#host = head.host;
    this.#authorization = head.authorization;
    this.#requestId = head.requestId;
    this.#acceptEncoding = head.acceptEncoding;
    this.#forwardedFor = head.forwardedFor;
    this.#hasEmptyHeader = head.hasEmpty;
    this.#isDeferred = isRefused || head.isChunked;
    this.#closeAfter = this.#isDeferred || head.closes;
    this.method = method;
    this.path = path;
    this.#res = res;
    this.#req = req;
    this.#state = state;
    countBy(state, SERVER_COUNTS.pending, 1);
  }

  query(): string {
    if (this.#requestCopy !== null) return this.#requestCopy.query;
    this.#query ??= this.#req.getQuery() ?? '';
    return this.#query;
  }

  header(name: string): string {
    switch (name) {
      case 'host':
        return this.#host;
      case 'authorization':
        return this.#authorization;
      case 'x-request-id':
        return this.#requestId;
      case 'accept-encoding':
        return this.#acceptEncoding;
      case FORWARDED_FOR:
        return this.#forwardedFor;
    }
    return this.#requestCopy === null
      ? this.#req.getHeader(name)
      : (this.#requestCopy.headers.get(name) ?? '');
  }

  optionalHeader(name: string): string | null {
    const value = this.header(name);
    // The binding returns an empty text for both. Nearly no request has an empty header, so the others are not copied.
    if (value !== '' || !this.#hasEmptyHeader) return value === '' ? null : value;
    return (this.#requestCopy?.headers ?? this.#copyHeaders()).get(name) ?? null;
  }

  #copyHeaders(): Map<string, string> {
    const headers = new Map<string, string>();
    this.#req.forEach((name, value) => {
      if (!headers.has(name)) headers.set(name, value);
    });
    if (this.#forwardedFor !== '') headers.set(FORWARDED_FOR, this.#forwardedFor);
    return headers;
  }

  keep(): void {
    this.#requestCopy = { query: this.query(), headers: this.#copyHeaders() };
  }

  keptHeaders(): ReadonlyMap<string, string> {
    return this.#requestCopy?.headers ?? this.#copyHeaders();
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
    this.#listenForAbort();
  }

  remoteAddress(): string {
    return this.#gone || this.#done ? '' : addressText(new Uint8Array(this.#res.getRemoteAddress()));
  }

  get isGone(): boolean {
    return this.#gone;
  }

  /** Closes the connection without a response. */
  drop(): void {
    if (this.#gone || this.#done) return;
    this.#listenForAbort();
    this.#res.close();
  }

  /** Called once the handler has returned. */
  returned(): void {
    if (!this.#replied || this.#isDeferred) this.#listenForAbort();
    this.#hasReturned = true;
  }

  #listenForAbort(): void {
    if (this.#listensForAbort) return;
    this.#listensForAbort = true;
    this.#res.onAborted(() => {
      // After the complete response, an abort only means that the client closed the connection.
      if (this.#done) return;
      this.#gone = true;
      this.#received = null;
      this.#share?.release();
      settle(this.#state);
      this.#large?.intake?.gone();
      this.#large?.onGone?.();
      this.#onGone?.();
    });
  }

  readBody(bytesMax: number, onBody: (body: Uint8Array | null) => void, share?: BodyShare): void {
    this.#bodyRead = true;
    this.#share = share ?? null;
    const declared = this.#req.getHeader('content-length');
    if (declared !== '' && Number(declared) > bytesMax) {
      this.#closeAfter = true;
      onBody(null);
      return;
    }
    this.#listenForAbort();
    this.#received = [];
    let length = 0;
    const chunks = new ChunkCount();
    this.#res.onData((chunk, isLast) => {
      const received = this.#received;
      if (received === null) return;
      length += chunk.byteLength;
      if (length > bytesMax || chunks.isExceeded() || share?.take(chunk.byteLength) === false) {
        this.#received = null;
        share?.release();
        this.#closeAfter = true;
        onBody(null);
        return;
      }
      // uWebSockets.js reuses the memory of a chunk after this callback returns.
      if (chunk.byteLength > 0) received.push(new Uint8Array(chunk.slice(0)));
      if (!isLast) return;
      const [only] = received;
      const body = received.length === 1 && only ? only : Buffer.concat(received, length);
      this.#afterBody(() => onBody(body));
    });
  }

  /**
   * Passes on the end of a body. After a body in chunks, the binding parses what follows in the same packet, and closes the connection
   * if that is anything else than a request: a trailer, for example. The request is then not carried out, as no response could be sent.
   */
  #afterBody(pass: () => void): void {
    if (!this.#isDeferred) {
      pass();
      return;
    }
    setImmediate(() => {
      if (!this.#gone) pass();
    });
  }

  receiveBody(bytesMax: number, receiver: BodyReceiver): void {
    this.#bodyRead = true;
    this.#listenForAbort();
    const res = this.#res;
    const large = this.#startLarge();
    const declared = this.#req.getHeader('content-length');
    if (declared !== '' && Number(declared) > bytesMax) {
      large.isUnread = true;
      res.onData((_chunk, isLast) => this.#skip(large, isLast));
      receiver.end('too large');
      return;
    }
    const whileOpen = (act: () => void) => (): void => {
      if (!this.#gone && !this.#done) act();
    };
    const intake = new BodyIntake({ bytesMax, pace: this.#state.pace }, receiver, {
      pause: whileOpen(() => {
        large.isPaused = true;
        res.pause();
      }),
      resume: whileOpen(() => this.#resume(large)),
      // The binding closes a socket 10 s after each `resume`. The intake enforces the actual limit, so the 10 s are renewed here.
      wait: whileOpen(() => {
        res.pause();
        res.resume();
      }),
      cut: whileOpen(() => res.close()),
      abandon: () => {
        large.isUnread = true;
      },
    });
    large.intake = intake;
    res.onData((chunk, isLast) => {
      if (large.isUnread) this.#skip(large, isLast);
      else if (!isLast) intake.offer(new Uint8Array(chunk), false);
      else {
        // uWebSockets.js reuses the memory of a chunk after this callback returns.
        const piece = new Uint8Array(chunk.slice(0));
        this.#afterBody(() => intake.offer(piece, true));
      }
    });
  }

  /** Resumes the socket if it was paused. A socket that is resumed without having been paused is not read any more. */
  #resume(large: Large): void {
    if (!large.isPaused) return;
    large.isPaused = false;
    this.#res.resume();
  }

  /** Discards a part of the body. At its end, the connection of a client that has got its response is closed. */
  #skip(large: Large, isLast: boolean): void {
    large.isSkipped ||= isLast;
    if (isLast && large.lingers && !this.#gone) this.#res.close();
  }

  /**
   * Responds to a client that is still sending and keeps reading for a while: closing a socket with unread bytes resets the
   * connection, and the response would be lost. The binding stops reading after a response that it knows to be complete, so the
   * whole response is written as a header. The line break that ends a header is counted with the body.
   */
  #replyAndLinger(large: Large, status: number, headers: string, body: Buffer): void {
    if (this.#gone) return;
    if (large.isSkipped) {
      this.#resume(large);
      this.#res.cork(() => this.#write(status, headers, body));
      return;
    }
    large.lingers = true;
    const head = `${headers}\r\nConnection: close\r\nContent-Length: ${body.length + 2}\r\n\r\n`;
    const colon = head.indexOf(': ');
    this.#res.cork(() => {
      this.#res.writeStatus(STATUS_LINES.get(status) ?? String(status));
      this.#res.writeHeader(head.slice(0, colon), Buffer.concat([Buffer.from(head.slice(colon + 2)), body]));
    });
    this.#resume(large);
    setTimeout(() => {
      if (!this.#gone) this.#res.close();
    }, HTTP_LIMITS.lingerMs).unref();
  }

  async replyBytes(status: number, headers: string, source: ByteSource): Promise<void> {
    this.#markReplied();
    try {
      this.#listenForAbort();
      if (this.method === 'HEAD') {
        this.#replyHead(status, headers, source.length);
        return;
      }
      const large = this.#startLarge();
      let head: string | null = headers;
      while (!this.#gone && !this.#done) {
        const bytes = await source.next();
        if (this.#gone) return;
        await this.#push(large, bytes, source.length, status, head);
        head = null;
      }
    } catch (error) {
      this.drop();
      throw error;
    } finally {
      await source.close();
    }
  }

  #replyHead(status: number, headers: string, length: number): void {
    if (this.#gone) return;
    const close = this.#closeAfter || this.#state.closing;
    this.#res.cork(() => {
      this.#writeHead(status, headers, close);
      this.#endHead(length);
    });
    this.#sent();
  }

  /** Sends one piece of `total` bytes, after the headers if `head` is not null. Resolves when the socket has taken it. */
  #push(large: Large, bytes: Uint8Array, total: number, status: number, head: string | null): Promise<void> {
    const res = this.#res;
    let rest = bytes;
    const isTaken = (): boolean => {
      const before = res.getWriteOffset();
      const [taken, done] = res.tryEnd(rest, total);
      if (done) this.#sent();
      if (taken || done) return true;
      // The binding reports offsets modulo 2^32.
      rest = rest.subarray((res.getWriteOffset() - before) >>> 0);
      return false;
    };
    return new Promise((resolve) => {
      const finish = (): void => {
        large.onGone = null;
        large.onWritable = null;
        resolve();
      };
      res.cork(() => {
        if (head !== null) this.#writeHead(status, head, this.#closeAfter);
        if (isTaken()) {
          resolve();
          return;
        }
        large.onGone = finish;
        large.onWritable = () => {
          if (!isTaken()) return false;
          finish();
          return true;
        };
      });
    });
  }

  /**
   * Registers one listener per exchange: the binding drops a listener that is registered while another one is called, and without
   * any listener it closes a socket 10 s after it was paused.
   */
  #startLarge(): Large {
    if (this.#large !== null) return this.#large;
    const large = new Large();
    this.#large = large;
    this.#res.onWritable(() => large.onWritable?.() ?? true);
    return large;
  }

  #markReplied(): void {
    if (this.#replied) throw new Error('The exchange already has a response.');
    this.#replied = true;
    this.#received = null;
    this.#share?.release();
    this.#large?.intake?.answered();
  }

  reply(status: number, headers: HeaderLines, body: string | Uint8Array): void {
    this.#markReplied();
    if (this.#gone) return;
    const large = this.#large;
    if (large?.isUnread) {
      // The data that arrived with the headers may be the whole body; then nothing is left to read.
      const copy = Buffer.from(body);
      const lines = String(headers);
      setImmediate(() => this.#replyAndLinger(large, status, lines, copy));
      return;
    }
    if (this.#isDeferred) {
      const copy = Buffer.from(body);
      const lines = String(headers);
      setImmediate(() => {
        if (!this.#gone) this.#res.cork(() => this.#write(status, lines, copy));
      });
      return;
    }
    if (!this.#bodyRead && this.method !== 'GET') this.#closeAfter ||= this.#hasHugeBody();
    if (this.#hasReturned) {
      this.#res.cork(() => this.#write(status, headers, body));
      return;
    }
    this.#write(status, headers, body);
  }

  openStream(headers: string): EventStream {
    this.#markReplied();
    const context = this.#context;
    if (context !== null) {
      const stream = new UwsSocket();
      const header = (name: string): string => this.header(`sec-websocket-${name}`);
      const data: SocketData = { stream };
      this.#res.cork(() =>
        this.#res.upgrade(data, header('key'), header('protocol'), header('extensions'), context),
      );
      this.#sent();
      return stream;
    }
    const all = `${headers}\r\n${SSE_HEADERS}`;
    const colon = all.indexOf(': ');
    const stream = new UwsEvents(this.#res);
    this.#listensForAbort = true;
    this.#res.onAborted(() => stream.ended());
    this.#res.cork(() => {
      this.#res.writeHeader(all.slice(0, colon), all.slice(colon + 2));
      this.#res.write(': open\n\n');
    });
    // Shutdown does not wait for open streams.
    this.#sent();
    return stream;
  }

  /** Whether a body that will not be read is too long to be skipped on a connection that stays open. After the handler, it is known if kept. */
  #hasHugeBody(): boolean {
    const kept = this.#requestCopy?.headers.get('content-length') ?? '';
    const length = this.#hasReturned ? kept : this.#req.getHeader('content-length');
    return Number(length) > HTTP_LIMITS.bodyBytesMax;
  }

  #writeHead(status: number, headers: HeaderLines, close: boolean): void {
    if (status !== 200) this.#res.writeStatus(STATUS_LINES.get(status) ?? String(status));
    if (typeof headers !== 'string') {
      if (!close) headers.add(KEEP_ALIVE_BYTES);
      this.#res.writeHeader(FIRST_HEADER, headers.value());
      return;
    }
    // One call for all headers: each call costs a transition into the binding, and the value is written as given.
    const colon = headers.indexOf(': ');
    const rest = headers.slice(colon + 2);
    this.#res.writeHeader(headers.slice(0, colon), close ? rest : rest + KEEP_ALIVE);
  }

  #write(status: number, headers: HeaderLines, body: string | Uint8Array): void {
    const res = this.#res;
    const close = this.#closeAfter || this.#state.closing;
    this.#writeHead(status, headers, close);
    if (this.method === 'HEAD' || status === 304) {
      const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
      this.#endHead(status === 304 ? null : length);
    } else if (body.length <= HTTP_LIMITS.bufferedAnswerBytesMax || close) {
      res.end(body, close);
    } else {
      this.#writeInPieces(typeof body === 'string' ? Buffer.from(body) : body);
      return;
    }
    this.#sent();
  }

  /**
   * Ends a response without a body.
   *
   * @param length - length that the body of GET would have; null if it is not sent
   */
  #endHead(length: number | null): void {
    if (this.#isDeferred) {
      // Only this call closes the connection, and it sends a length of 0. A close that the client asks for needs no call.
      this.#res.end('', true);
      return;
    }
    if (length !== null) this.#res.writeHeader('Content-Length', String(length));
    // With any argument, endWithoutBody would wait for a body of that length, and the binding would end the process.
    this.#res.endWithoutBody();
  }

  #writeInPieces(body: Uint8Array): void {
    const res = this.#res;
    const [, done] = res.tryEnd(body, body.length);
    if (done) {
      this.#sent();
      return;
    }
    const rest = Buffer.from(body);
    this.#listenForAbort();
    res.onWritable((offset) => {
      const [flushed, finished] = res.tryEnd(rest.subarray(offset), rest.length);
      if (finished) this.#sent();
      return flushed;
    });
  }

  #sent(): void {
    this.#done = true;
    settle(this.#state);
  }
}
