/** HTTP server on node:http, for machines without a uWebSockets.js binding. Same behaviour, several times slower. */

import { readFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { LIMITS } from '../../base/limits.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { RefusalLog } from './connections.ts';
import { HeadCheck } from './framing.ts';
import { UPLOAD_PACE } from './intake.ts';
import { NodeExchange } from './node-exchange.ts';
import {
  type HttpServer,
  invalidTls,
  listenError,
  REASONS,
  type ServerDeps,
  type ServerOptions,
  TLS_CIPHERS,
  type TlsFiles,
} from './port.ts';

const NOT_HTTP = 'The request is not valid HTTP/1.1.';

/** Sentences for the errors of the parser that a client can correct. */
const PARSER_PROBLEMS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The request headers are larger than ${HTTP_LIMITS.headerBytesMax} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: `The request headers were not complete after ${HTTP_LIMITS.slowClientMs / 1000} seconds.`,
};

/** The node:http server. */
class NodeServer implements HttpServer {
  readonly backend = 'node';
  readonly #options: ServerOptions;
  readonly #deps: ServerDeps;
  readonly #server: ReturnType<typeof createPlainServer>;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: 1_024,
    perMessageDeflate: false,
  });
  readonly #head = new HeadCheck();
  #pending = 0;
  #openSockets = 0;
  #refusedSockets = 0;
  #isClosing = false;
  /** Open responses of each connection. */
  readonly #openResponses = new WeakMap<Socket, Set<ServerResponse>>();
  /** Connections that end with a response which is not complete yet: what the client sent after that request is not read. */
  readonly #ending = new WeakSet<Socket>();

  constructor(options: ServerOptions, deps: ServerDeps) {
    this.#options = options;
    this.#deps = deps;
    const answer = this.#answer.bind(this);
    this.#server = createUnbound(options, answer);
    this.#server.on('connection', (socket) => {
      this.#openSockets++;
      socket.once('close', () => this.#openSockets--);
    });
    const { connectionsMax = Number.POSITIVE_INFINITY } = options;
    const refusals = new RefusalLog(deps.log, connectionsMax);
    this.#server.maxConnections = connectionsMax;
    this.#server.on('drop', () => {
      this.#refusedSockets++;
      refusals.note();
    });
    this.#server.on('upgrade', this.#answerUpgrade.bind(this));
    // Otherwise node:http would drop the fields after the 2000th, and so hide a repeated one.
    this.#server.maxHeadersCount = 0;
    // Otherwise node:http would respond with a status that the API does not have; uWebSockets.js ignores the header as well.
    this.#server.on('checkExpectation', answer);
    this.#server.on('clientError', this.#answerMalformed.bind(this));
  }

  openSockets(): number {
    return this.#openSockets;
  }

  refusedSockets(): number {
    return this.#refusedSockets;
  }

  pending(): number {
    return this.#pending;
  }

  listen(): Promise<number> {
    const { host, port } = this.#options;
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once('error', (error) => reject(listenError(host, port, error)));
      server.listen({ host, port, exclusive: true }, () => resolve((server.address() as AddressInfo).port));
    });
  }

  async reloadCertificate(): Promise<void> {
    const { tls } = this.#options;
    const server = this.#server;
    if (tls === null || !(server instanceof TlsServer)) return;
    withPair(tls, (pair) => server.setSecureContext(pair));
  }

  close(withinMs: number): Promise<void> {
    const server = this.#server;
    return new Promise((resolve) => {
      this.#isClosing = true;
      const deadline = setTimeout(() => server.closeAllConnections(), withinMs);
      for (const socket of this.#sockets.clients) socket.terminate();
      server.close(() => {
        clearTimeout(deadline);
        resolve();
      });
      if (this.#pending === 0) server.closeAllConnections();
      else server.closeIdleConnections();
    });
  }

  /**
   * Returns the open responses of a connection. When it closes, node:http notifies only the response that is being sent, not the
   * ones that wait behind it; these are notified here.
   */
  #openResponsesOf(socket: Socket): Set<ServerResponse> {
    const known = this.#openResponses.get(socket);
    if (known !== undefined) return known;
    const own = new Set<ServerResponse>();
    this.#openResponses.set(socket, own);
    socket.once('close', () => {
      for (const response of own) {
        if (response.socket !== null) continue;
        response.destroy();
        response.emit('close');
      }
    });
    return own;
  }

  /** Returns the sentence that says why the request is refused; null if its head is unambiguous. */
  #headFault({ rawHeaders, method, httpVersion }: IncomingMessage): string | null {
    if (httpVersion !== '1.1' && httpVersion !== '1.0') return NOT_HTTP;
    this.#head.begin();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      this.#head.add((rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? '');
    return this.#head.fault(method ?? '', httpVersion === '1.0');
  }

  #exchange(
    request: IncomingMessage,
    response: ServerResponse,
    isLast: boolean,
    upgrade?: () => Promise<WebSocket>,
  ): NodeExchange {
    const isClosing = (): boolean => upgrade !== undefined || this.#isClosing;
    return new NodeExchange(
      request,
      response,
      isClosing,
      this.#options.uploads ?? UPLOAD_PACE,
      isLast,
      upgrade,
    );
  }

  /** Passes an exchange to its handler, or refuses it. A handler that throws ends the connection. */
  #handle(request: IncomingMessage, problem: string | null, exchange: NodeExchange): void {
    const { router, fallback, refuse, log } = this.#deps;
    try {
      if (problem !== null) {
        const accept = request.headers.accept ?? '';
        const refusal = refuse({ problem, accept, requestId: this.#head.requestId });
        exchange.reply(refusal.status, refusal.headers, refusal.body);
        return;
      }
      const handler = router.match(exchange.method, exchange.path, exchange.params) ?? fallback;
      handler(exchange);
    } catch (error) {
      log.error({ err: error, path: exchange.path }, 'request handler threw');
      request.socket.destroy();
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (this.#ending.has(socket)) return;
    this.#pending++;
    socket.setTimeout(0);
    const waiting = this.#openResponsesOf(socket).add(response);
    response.once('close', () => {
      waiting.delete(response);
      this.#pending--;
      if (this.#isClosing && this.#pending === 0) this.#server.closeAllConnections();
    });
    const problem = this.#headFault(request);
    const isLast = problem !== null || this.#head.isChunked;
    if (isLast) this.#ending.add(socket);
    this.#handle(request, problem, this.#exchange(request, response, isLast));
  }

  /** Handles a request for a WebSocket: refuses it with an ordinary response, or upgrades it. */
  #answerUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const response = new ServerResponse(request);
    response.assignSocket(socket as Socket);
    response.once('finish', () => socket.end());
    socket.on('error', () => socket.destroy());
    const upgrade = (): Promise<WebSocket> => {
      response.detachSocket(socket as Socket);
      return new Promise((resolve, reject) => {
        socket.once('close', () => reject(new Error('The client disconnected.')));
        this.#sockets.handleUpgrade(request, socket, head, resolve);
      });
    };
    this.#handle(request, this.#headFault(request), this.#exchange(request, response, true, upgrade));
  }

  /** Answers bytes that node:http cannot parse as a request. */
  #answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    const [open, another] = this.#openResponses.get(socket as Socket) ?? [];
    // Only a request with a malformed body gets the response. For any other open request, it would be the wrong one.
    const isWrong = open !== undefined && (open.headersSent || open.req.complete || another !== undefined);
    if (!socket.writable || isWrong) {
      socket.destroy();
      return;
    }
    open?.detachSocket(socket as Socket);
    const problem = PARSER_PROBLEMS[error.code ?? ''] ?? NOT_HTTP;
    const { status, headers, body } = this.#deps.refuse({ problem, accept: '', requestId: '' });
    const length = Buffer.byteLength(body);
    socket.end(
      `HTTP/1.1 ${status} ${REASONS[status]}\r\n${headers}\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n${body}`,
    );
  }
}

/**
 * Creates the server of node:http, with TLS if it is set, before it listens.
 *
 * @throws INVALID_CONFIG if the key or the certificate cannot be read
 */
function createUnbound(
  { tls, keepAliveSeconds = LIMITS.keepAliveSeconds }: ServerOptions,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): ReturnType<typeof createPlainServer> {
  const settings = {
    maxHeaderSize: HTTP_LIMITS.headerReadBytesMax,
    // Checked with the other fields of the head, so that the refusal has a body.
    requireHostHeader: false,
    headersTimeout: HTTP_LIMITS.slowClientMs,
    // Bodies may be as large as a job's. Each exchange limits the time of its own body.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveSeconds * 1000,
    connectionsCheckingInterval: 1000,
  };
  if (!tls) return createPlainServer(settings, answer);
  return withPair(tls, (pair) => createTlsServer({ ...settings, ...pair }, answer));
}

/**
 * Passes the content of the files on, with the accepted ciphers.
 *
 * @throws INVALID_CONFIG if the files cannot be read, or `use` throws
 */
function withPair<T>(tls: TlsFiles, use: (pair: SecureContextOptions) => T): T {
  try {
    return use({
      key: readFileSync(tls.keyFile),
      cert: readFileSync(tls.certFile),
      ciphers: TLS_CIPHERS,
    });
  } catch (cause) {
    throw invalidTls(tls, cause);
  }
}

/** Creates the node:http server. */
export const createNodeServer = (options: ServerOptions, deps: ServerDeps): HttpServer =>
  new NodeServer(options, deps);
