/**
 * The interface between the application and an HTTP server. It has two implementations, uWebSockets.js and node:http, which pass
 * the same conformance suite.
 */
import type { Awaitable } from '../../base/awaitable.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { BodyShare } from './body-budget.ts';
import type { HeaderLines } from './header-bytes.ts';
import type { Router } from './router.ts';

/**
 * One request and its response. `method`, `path`, `query` and `header` are valid only until the handler first returns, so a handler
 * that continues later reads them before. If a handler returns without a reply, the exchange stays open until it replies.
 */
export interface Exchange {
  /** Upper case. */
  readonly method: string;
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  /** Values of the pattern's `{…}` parameters, in order, still percent-encoded. */
  readonly params: readonly string[];
  /** The text after the `?`; empty if the URL has no query. */
  query(): string;
  /**
   * Value of a header; empty if it is absent.
   *
   * @param name - in lower case
   */
  header(name: string): string;
  /**
   * Value of a header for which an empty value differs from none; null if it is absent.
   *
   * @param name - in lower case
   */
  optionalHeader(name: string): string | null;
  /** Keeps query and headers readable after the handler has returned. It must be called before that, and costs a copy of them. */
  keep(): void;
  /** Address of the peer of the socket; behind a proxy, this is the proxy's address. */
  remoteAddress(): string;
  /**
   * Reads the whole body and passes it to `onBody`, or null if it is longer than `bytesMax` or comes in too many chunks (no part of it is kept then). Called at
   * most once, before the handler first returns. `onBody` is not called if the client disconnects first, or if the request is answered first.
   *
   * @param share - counts the bytes that are kept, until the response; if it has no room for them, `onBody` gets null, and `isRefused` is set
   */
  readBody(bytesMax: number, onBody: (body: Uint8Array | null) => void, share?: BodyShare): void;
  /**
   * Reads a body of any size as it arrives, instead of `readBody`. The socket is paused while the receiver works, so that at most
   * the data in flight is held in memory. Called at most once, before the handler first returns.
   */
  receiveBody(bytesMax: number, receiver: BodyReceiver): void;
  /** The client disconnected before it got a response. */
  readonly isGone: boolean;
  /**
   * Sends the response. It has no effect if the client has disconnected. The caller may reuse `body` afterwards.
   *
   * @param headers - header lines, without Content-Length
   * @throws if the exchange was already answered
   */
  reply(status: number, headers: HeaderLines, body: string | Uint8Array): void;
  /**
   * Sends bytes that are read at the pace of the client, instead of `reply`, then closes the source. Resolves when all bytes were
   * handed to the socket or the client has disconnected.
   *
   * @throws the error of the source; the client then gets an incomplete response
   */
  replyBytes(status: number, headers: string, source: ByteSource): Promise<void>;
  /**
   * Responds with a stream instead of `reply`: before the handler first returns or, after `keep`, if the client is still connected.
   */
  openStream(headers: string): EventStream;
}

/**
 * Receives a body as it arrives. Its methods must neither throw nor reject. They are not called after the exchange was answered.
 */
export interface BodyReceiver {
  /** Takes a piece. The receiver owns the bytes until it returns or its promise resolves; no other call is made before that. */
  write(bytes: Uint8Array): Awaitable<void>;
  /**
   * Called once, as the last call: the body is complete (`whole`); or reading has stopped because more than `bytesMax` bytes came
   * (`too large`), it came in too many small chunks (`in small chunks`), no data came (`silent`) or it came below the minimum rate
   * (`too slow`); or the client disconnected (`gone`).
   */
  end(how: 'whole' | 'too large' | 'in small chunks' | 'silent' | 'too slow' | 'gone'): void;
}

/** Minimum pace at which a client must send a streamed body. */
export interface UploadPace {
  /** Longest time without any data. */
  readonly silenceMs: number;
  /** After this time, the average rate since the start must be at least `bytesPerSecondMin`. */
  readonly graceMs: number;
  readonly bytesPerSecondMin: number;
}

/** A source of a known number of bytes, read piece by piece. */
export interface ByteSource {
  readonly length: number;
  /** Returns the next bytes, at least one; they are valid until the next call. */
  next(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A stream of messages to one client until it disconnects: a WebSocket if the client asked for one, else server-sent events. */
export interface EventStream {
  /**
   * Sends a message; returns false if the client has disconnected.
   *
   * @param message - `id` is the position after which the client may resume, or empty for none; `data` is one line
   */
  send(message: { readonly id: string; readonly event: string; readonly data: string }): boolean;
  /** Bytes that were sent but not yet taken by the client. */
  readonly waitingBytes: number;
  /** Sends the reason and ends the stream. It has no effect on a stream that has ended. */
  close(reason: string): void;
  /** Called once when the stream has ended, whichever side ended it. */
  onEnd(listener: () => void): void;
}

/** An exchange that can be handled on another thread. */
export interface ForwardableExchange extends Exchange {
  /** All headers by their names in lower case, the first value of each. Only after `keep`. */
  keptHeaders(): ReadonlyMap<string, string>;
  /** Calls the listener if the client disconnects before it got a response. Called before the handler first returns. */
  onGone(listener: () => void): void;
  /** Closes the connection without a response. */
  drop(): void;
}

/** Handles one exchange. It must not throw: if it does, its connection is closed without a response. */
export type Handler = (exchange: Exchange) => void;

/** A request that the server refuses before any handler, because its head is ambiguous, malformed or too large. */
export interface RefusedRequest {
  /** Says what is wrong. */
  readonly problem: string;
  /** Its Accept and X-Request-Id headers; empty if they are absent or could not be read. */
  readonly accept: string;
  readonly requestId: string;
}

/** Renders the response of a refused request; the server closes the connection after it. */
export type RenderRefusal = (request: RefusedRequest) => {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
};

/** PEM files of a private key and its certificate chain. */
export interface TlsFiles {
  readonly keyFile: string;
  readonly certFile: string;
}

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | null;
  /** Seconds for which the node:http server keeps an idle connection open. Default: LIMITS.keepAliveSeconds. */
  readonly keepAliveSeconds?: number;
  /**
   * Connections that are open at a time; more are closed as soon as they are accepted. Without files for them, uWebSockets.js would try to
   * accept them without end, and no store could open a file. Default: no limit.
   */
  readonly connectionsMax?: number;
  /** Default: those of HTTP_LIMITS. */
  readonly uploads?: UploadPace;
  /** Other threads of this process listen on the same port; the caller has made sure that no other process does. uWebSockets.js only. */
  readonly isPortShared?: boolean;
  /** Memory of the counts, by SERVER_COUNTS, which another thread reads. Default: own memory. */
  readonly counts?: Int32Array;
}

/** Positions in the counts of a server. */
export const SERVER_COUNTS = { pending: 0, openSockets: 1, refusedSockets: 2, length: 3 } as const;

export interface ServerDeps {
  readonly router: Router<Handler>;
  /** Answers requests that match no route. */
  readonly fallback: Handler;
  readonly refuse: RenderRefusal;
  /** Replies to a refused request in a later turn, in place of `refuse`. uWebSockets.js only. */
  readonly refuseLater?: (request: RefusedRequest, exchange: ForwardableExchange) => void;
  /** Patterns at which a WebSocket may be requested; elsewhere an upgrade request is handled as an ordinary one. Default: none. */
  readonly streams?: readonly string[];
  readonly log: Logger;
}

export interface HttpServer {
  readonly backend: 'uws' | 'node';
  /**
   * Starts to listen and resolves with the port.
   *
   * @throws LISTEN_FAILED if the port is taken; a port is never shared with another process
   */
  listen(): Promise<number>;
  /**
   * Reads the files of the certificate and the key again, for new connections. Open ones are not changed. Without TLS, it does nothing.
   *
   * @throws INVALID_CONFIG if they are not valid: the earlier ones stay in use
   */
  reloadCertificate(): Promise<void>;
  /** Number of open sockets. */
  openSockets(): number;
  /** Number of connections that were closed because `connectionsMax` were open. */
  refusedSockets(): number;
  /** Number of exchanges without a response yet. */
  pending(): number;
  /** Accepts no new connections, finishes open exchanges within `withinMs`, then closes every socket. */
  close(withinMs: number): Promise<void>;
}

export type CreateServer = (options: ServerOptions, deps: ServerDeps) => HttpServer;

/** Reason phrases of all statuses that this program sends. */
export const REASONS: Readonly<Record<number, string>> = {
  101: 'Switching Protocols',
  200: 'OK',
  202: 'Accepted',
  206: 'Partial Content',
  301: 'Moved Permanently',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/**
 * Ciphers of TLS 1.2, for both servers: those with forward secrecy and authenticated encryption (RFC 9325, section 4.2). The defaults of both
 * libraries also accept key transport by RSA and CBC. All ciphers of TLS 1.3 are accepted.
 */
export const TLS_CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** Headers of a stream of server-sent events. No proxy may cache or transform it. */
export const SSE_HEADERS =
  'Content-Type: text/event-stream\r\nCache-Control: no-store, no-transform\r\nX-Accel-Buffering: no';
/** WebSocket close code of a server that cannot continue (RFC 6455, IANA registry: 1013, try again later). */
export const WS_TRY_AGAIN_LATER = 1013;
/** RFC 6455 § 5.5: a close frame holds at most 123 bytes of reason. */
export const WS_REASON_BYTES_MAX = 123;

/** Formats a message as server-sent events. */
export const sseText = ({ id, event, data }: { id: string; event: string; data: string }): string =>
  `${id === '' ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;

/** Formats a message as the text of a WebSocket frame. `data` is already JSON. */
export const frameText = ({ id, event, data }: { id: string; event: string; data: string }): string =>
  `{"id":${JSON.stringify(id)},"event":${JSON.stringify(event)},"data":${data}}`;

/** Header lines that say for how long an idle connection stays open. */
export const keepAliveLines = (seconds: number): string =>
  `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}`;

/** Joins header lines into the form that `reply` takes. Values must not contain line breaks; client input must be checked first. */
export function headerBlock(lines: readonly (readonly [name: string, value: string])[]): string {
  return lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
}

/** Returns the error of files that are no key and its certificate. */
export const invalidTls = ({ keyFile, certFile }: TlsFiles, cause: unknown): AssayError =>
  new AssayError(
    'INVALID_CONFIG',
    `TLS: '${keyFile}' must be a private key and '${certFile}' its certificate, both in PEM format.`,
    { field: 'tls', cause },
  );

/** Turns a listen error of the operating system into an error that explains the setting which caused it. */
export function listenError(host: string, port: number, cause: unknown): AssayError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another process already uses the port',
    EACCES: 'this user has no permission to use the port',
    EADDRNOTAVAIL: 'the address does not belong to this machine',
    ENOTFOUND: 'the host name does not resolve',
  };
  const reason = reasons[code] ?? messageOf(cause);
  return new AssayError('LISTEN_FAILED', `Cannot listen on ${host} port ${port}: ${reason}.`, {
    field: 'port',
    cause,
  });
}
