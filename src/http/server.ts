/**
 * The small interface between the application and whatever speaks HTTP. Its two implementations, uWebSockets.js and a node:http
 * twin, pass one conformance suite.
 */
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Router } from './router.ts';

/**
 * One request and its answer. `method`, `path`, `query` and `header` are valid only until the handler first returns, so whoever
 * goes on later takes what is needed before. A handler that returns without a reply keeps the exchange open until it replies.
 */
export interface Exchange {
  /** Upper case. */
  readonly method: string;
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  /** What the pattern's `{…}` matched, in order, still percent-encoded. */
  readonly params: readonly string[];
  /** What follows the `?`; empty where nothing does. */
  query(): string;
  /** Value of the header of that lower-case name; empty where absent. */
  header(name: string): string;
  /** Keeps query and headers readable after the handler returned. Called before that; costs a copy of them. */
  keep(): void;
  /** The address at the other end of the socket (a proxy's, behind a proxy). */
  remoteAddress(): string;
  /**
   * Reads the whole body and hands it over, or null where it is longer than `bytesMax` (nothing of it is kept then). Called at
   * most once, before the handler first returns. `onBody` is not called when the client goes away before.
   */
  readBody(bytesMax: number, onBody: (body: Uint8Array | null) => void): void;
  /**
   * Reads a body of any size as it comes, in place of `readBody`. The client is held back while the receiver is at work, so that no
   * more than what was on its way is in memory. Called at most once, before the handler first returns.
   */
  receiveBody(bytesMax: number, receiver: BodyReceiver): void;
  /** The client went away before it was answered. */
  readonly isGone: boolean;
  /**
   * Answers, once; a second time throws. No effect after the client went away. `headers` is a block as `headerBlock` makes it,
   * without Content-Length. `body` may be reused by the caller afterwards.
   */
  reply(status: number, headers: string, body: string | Uint8Array): void;
  /**
   * Answers with bytes that are read as the client takes them, in place of `reply`; then closes the source. Resolves when all were
   * handed over or the client went away. Rejects with what the source threw: the client then sees an answer that breaks off.
   */
  replyBytes(status: number, headers: string, source: ByteSource): Promise<void>;
  /** Answers with a stream in place of `reply`: before the handler first returns, or to a client that is not gone after `keep`. */
  openStream(headers: string): EventStream;
}

/** Takes a body as it comes. Must neither throw nor reject, and is not called any more once the exchange is answered. */
export interface BodyReceiver {
  /** The bytes are its own until it returned, or its promise resolved; nothing else is called before. */
  write(bytes: Uint8Array): Awaitable<void>;
  /**
   * Called once and last: all came; or nothing is read any more, since more than `bytesMax` came, or less than the server waits for;
   * or the client went away.
   */
  end(how: 'whole' | 'too large' | 'silent' | 'too slow' | 'gone'): void;
}

/** How a client must send a body that is taken as it comes. */
export interface UploadPace {
  /** How long it may send nothing. */
  readonly silenceMs: number;
  /** From then on it must have sent so much a second since it began. */
  readonly graceMs: number;
  readonly bytesPerSecondMin: number;
}

/** Bytes of a known number, read one piece after the other. */
export interface ByteSource {
  readonly length: number;
  /** The next bytes, at least one; valid until the next call. */
  next(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Messages to one client, for as long as it stays: a WebSocket where it asked for one, else server-sent events. */
export interface EventStream {
  /** False once the client is gone. `id` is what it may resume behind; empty for none. `data` is one line. */
  send(message: { readonly id: string; readonly event: string; readonly data: string }): boolean;
  /** What was sent and not taken yet, in bytes. */
  readonly waitingBytes: number;
  /** Says why and ends. No effect on a stream that has ended. */
  close(reason: string): void;
  /** Called once, when the stream has ended, whoever ended it. */
  onEnd(listener: () => void): void;
}

/** Must not throw: the connection of one that does is closed without an answer. */
export type Handler = (exchange: Exchange) => void;

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null;
  /** Default: as LIMITS has it. */
  readonly uploads?: UploadPace;
}

export interface ServerDeps {
  readonly router: Router<Handler>;
  /** Answers what no route matches. */
  readonly fallback: Handler;
  /** Patterns at which a WebSocket may be asked for; elsewhere such a request is one like any other. Default: none. */
  readonly streams?: readonly string[];
  readonly log: Logger;
}

export interface HttpServer {
  readonly backend: 'uws' | 'node';
  /** Resolves with the port. Throws LISTEN_FAILED where it is taken: a port is never shared with another process. */
  listen(): Promise<number>;
  /** Sockets that are open now. */
  openSockets(): number;
  /** Exchanges that are not answered yet. */
  pending(): number;
  /** Takes no new connection, answers what it took (at most `withinMs` long), then closes every socket. */
  close(withinMs: number): Promise<void>;
}

export type CreateServer = (options: ServerOptions, deps: ServerDeps) => HttpServer;

/** Reason phrases of every status this program sends. */
export const REASONS: Readonly<Record<number, string>> = {
  101: 'Switching Protocols',
  200: 'OK',
  206: 'Partial Content',
  301: 'Moved Permanently',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** What a stream of server-sent events says of itself. Nothing on the way may keep or transform it. */
export const SSE_HEADERS =
  'Content-Type: text/event-stream\r\nCache-Control: no-store, no-transform\r\nX-Accel-Buffering: no';
/** WebSocket close code for a server that cannot go on as asked (RFC 6455, IANA registry: 1013, try again later). */
export const WS_TRY_AGAIN_LATER = 1013;
/** RFC 6455 § 5.5: a close frame holds 123 bytes of reason. */
export const WS_REASON_BYTES_MAX = 123;

/** A message as the lines of server-sent events. */
export const sseText = ({ id, event, data }: { id: string; event: string; data: string }): string =>
  `${id === '' ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;

/** A message as the text of a WebSocket frame. `data` is JSON already. */
export const frameText = ({ id, event, data }: { id: string; event: string; data: string }): string =>
  `{"id":${JSON.stringify(id)},"event":${JSON.stringify(event)},"data":${data}}`;

/** Header lines in the form `reply` takes. Values must hold no line break; they never come from a client unchecked. */
export function headerBlock(lines: readonly (readonly [name: string, value: string])[]): string {
  return lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
}

/** A listen error of the operating system as a sentence about the setting that caused it. */
export function listenError(host: string, port: number, cause: unknown): AssayError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is already taken by another process',
    EACCES: 'this user may not listen on that port',
    EADDRNOTAVAIL: 'the address is not one of this machine',
    ENOTFOUND: 'the host name does not resolve',
  };
  const reason = reasons[code] ?? messageOf(cause);
  return new AssayError('LISTEN_FAILED', `Cannot listen on ${host} port ${port}: ${reason}.`, {
    field: 'port',
    cause,
  });
}
