/** HTTP server on uWebSockets.js. */
import type { AssayError } from '../../base/errors.ts';
import { MONITORING_LIMITS } from '../../monitoring/limits.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { RefusalLog } from './connections.ts';
import { HeadCheck } from './framing.ts';
import { UPLOAD_PACE } from './intake.ts';
import { portProblem, tryPort } from './own-port.ts';
import {
  type Handler,
  type HttpServer,
  invalidTls,
  listenError,
  SERVER_COUNTS,
  type ServerDeps,
  type ServerOptions,
  TLS_CIPHERS,
} from './port.ts';
import {
  type HttpRequest,
  type HttpResponse,
  loadUws,
  type TemplatedApp,
  type us_listen_socket,
  type us_socket_context_t,
  type WebSocketBehavior,
} from './uws-binding.ts';
import { countBy, type ServerState, type SocketData, UwsExchange } from './uws-exchange.ts';

// The library reads this setting once, when its binary is loaded.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HTTP_LIMITS.headerReadBytesMax);
const uws = loadUws();

/** Members of the library that its types lack. */
interface Untyped {
  _cfg(key: string): void;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
const { _cfg: configure, LIBUS_LISTEN_EXCLUSIVE_PORT } = uws as unknown as Untyped;

// Otherwise the library adds a header with its name to every response.
configure('silent');

/** An overload of `listen` that the types lack. */
type ListenWith = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => void;

/** Finds the reason why listening failed: uWebSockets.js does not report it, so node:net tries the same. */
async function findListenError(host: string, port: number): Promise<AssayError> {
  return (
    (await portProblem(host, port)) ??
    listenError(host, port, new Error('the operating system refused it, for an unknown reason'))
  );
}

/** Creates the uWebSockets.js server. */
export function createUwsServer(options: ServerOptions, deps: ServerDeps): HttpServer {
  const { host, port, tls, connectionsMax = Number.POSITIVE_INFINITY, uploads: pace = UPLOAD_PACE } = options;
  const { router, fallback, refuse } = deps;
  const head = new HeadCheck();
  const { counts = new Int32Array(SERVER_COUNTS.length) } = options;
  const state: ServerState = { counts, closing: false, onIdle: null, pace };
  let listening: us_listen_socket | null = null;

  const answer = (
    res: HttpResponse,
    req: HttpRequest,
    method: string,
    context: us_socket_context_t | null = null,
  ): void => {
    head.begin();
    req.forEach(head.add);
    const problem = head.fault(method);
    const exchange = new UwsExchange(res, req, method, req.getUrl(), state, head, problem !== null, context);
    try {
      if (problem !== null) {
        const refused = { problem, accept: exchange.header('accept'), requestId: head.requestId };
        if (deps.refuseLater === undefined) {
          const refusal = refuse(refused);
          exchange.reply(refusal.status, refusal.headers, refusal.body);
        } else deps.refuseLater(refused, exchange);
      } else {
        const handler: Handler = router.match(method, exchange.path, exchange.params) ?? fallback;
        handler(exchange);
      }
    } catch (error) {
      // The binding ends the process if a request is left without a response, so its connection is closed here.
      deps.log.error({ err: error, path: exchange.path }, 'request handler threw');
      exchange.drop();
      return;
    }
    exchange.returned();
  };

  const createApp = (): TemplatedApp => {
    if (!tls) return uws.App();
    try {
      return uws.SSLApp({
        key_file_name: tls.keyFile,
        cert_file_name: tls.certFile,
        ssl_ciphers: TLS_CIPHERS,
      });
    } catch (cause) {
      throw invalidTls(tls, cause);
    }
  };

  const refusals = new RefusalLog(deps.log, connectionsMax);
  const countSocket = (res: HttpResponse, change: unknown): void => {
    const open = countBy(state, SERVER_COUNTS.openSockets, Number(change));
    if (Number(change) < 0 || open <= connectionsMax) return;
    countBy(state, SERVER_COUNTS.refusedSockets, 1);
    refusals.note();
    // It is counted down in this call.
    res.close();
  };
  const sockets: WebSocketBehavior<SocketData> = {
    // No messages are expected from clients.
    maxPayloadLength: 1_024,
    maxBackpressure: MONITORING_LIMITS.streamBufferBytesMax * 2,
    // The types of the library require a number.
    closeOnBackpressureLimit: 1,
    idleTimeout: 60,
    sendPingsAutomatically: true,
    upgrade: (res, req, context) => answer(res, req, 'GET', context),
    open: (socket) => socket.getUserData().stream.opened(socket),
    close: (socket) => socket.getUserData().stream.ended(),
  };
  const createRoutedApp = (): TemplatedApp => {
    const routed = createApp()
      .filter(countSocket)
      .get('/*', (res, req) => answer(res, req, 'GET'))
      .post('/*', (res, req) => answer(res, req, 'POST'))
      .any('/*', (res, req) => answer(res, req, req.getCaseSensitiveMethod().toUpperCase()));
    // One registration per path: a pattern for all paths would look for a handshake in every request.
    for (const pattern of deps.streams ?? []) routed.ws(pattern, sockets);
    return routed;
  };
  let app = createRoutedApp();
  /** Apps of earlier certificates, with the connections that they accepted. */
  const earlier: TemplatedApp[] = [];

  /** Starts to listen in this turn of the event loop: the library calls back before `listen` returns. Returns null if it is refused. */
  function listenOn(onPort: number, by: TemplatedApp): us_listen_socket | null {
    const sockets: us_listen_socket[] = [];
    // By default, the port would be shared silently with any other process that listens on it.
    const how = options.isPortShared === true ? 0 : LIBUS_LISTEN_EXCLUSIVE_PORT;
    (by.listen as unknown as ListenWith).call(by, host, onPort, how, (socket) => {
      if (socket !== false) sockets.push(socket);
    });
    return sockets[0] ?? null;
  }

  return {
    backend: 'uws',
    openSockets: () => counts[SERVER_COUNTS.openSockets] as number,
    refusedSockets: () => counts[SERVER_COUNTS.refusedSockets] as number,
    pending: () => counts[SERVER_COUNTS.pending] as number,
    async listen() {
      // The library sets SO_REUSEADDR only if it is given a number; otherwise the app of a renewed certificate could not take the port.
      listening = listenOn(tls !== null && port === 0 ? await tryPort(host, 0) : port, app);
      if (listening === null) throw await findListenError(host, port);
      return uws.us_socket_local_port(listening);
    },
    async reloadCertificate() {
      if (tls === null || listening === null) return;
      // The library cannot change the certificate of an app, so another app takes its place. The earlier one keeps its connections.
      const next = createRoutedApp();
      const onPort = uws.us_socket_local_port(listening);
      // Only one of them can have the port. It is free for less than a millisecond, because both steps are in one turn of the event loop.
      uws.us_listen_socket_close(listening);
      listening = listenOn(onPort, next);
      if (listening !== null) {
        earlier.push(app);
        app = next;
        return;
      }
      listening = listenOn(onPort, app);
      throw listenError(
        host,
        onPort,
        new Error('the operating system refused it for the renewed certificate'),
      );
    },
    async close(withinMs) {
      state.closing = true;
      if (listening) uws.us_listen_socket_close(listening);
      listening = null;
      await new Promise<void>((resolve) => {
        if (counts[SERVER_COUNTS.pending] === 0) return resolve();
        const deadline = setTimeout(resolve, withinMs);
        state.onIdle = () => {
          clearTimeout(deadline);
          resolve();
        };
      });
      // One more turn of the event loop, in which the last response is sent.
      await new Promise((resolve) => setImmediate(resolve));
      for (const one of [...earlier, app]) one.close();
    },
  };
}
