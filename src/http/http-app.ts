/** Assembles the front end: the list of operations, the pipeline and the chosen server. */
import { builtDashboard, builtGuide } from '../base/paths.ts';
import { createAcceptorServer } from './acceptors/acceptors.ts';
import type { HotSettings } from './acceptors/hot.ts';
import type { RouteBody } from './acceptors/messages.ts';
import { codeSamplesOf } from './code-samples.ts';
import { openDashboard } from './dashboard.ts';
import { createViewer } from './docs-api.ts';
import { DOCS_HEADERS, docsPage } from './docs-page.ts';
import { openGuide } from './guide.ts';
import { HTTP_LIMITS } from './limits.ts';
import { createMcpEndpoint } from './mcp/endpoint.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation, Page, Services } from './operation.ts';
import { OPERATIONS } from './operations/index.ts';
import { createHttpMetrics, RequestCounts } from './pipeline/metrics.ts';
import { createPipeline } from './pipeline/pipeline.ts';
import { createRequestIds } from './pipeline/request-id.ts';
import type { Work } from './pipeline/work.ts';
import type { Acceptors, HttpApp, HttpDeps, HttpOptions } from './ports.ts';
import { bodyBytesMaxOf, patternsOf } from './routes.ts';
import { CertificateWatch } from './server/certificate-watch.ts';
import { chooseServer, isUws } from './server/choose.ts';
import { createClientOrigin } from './server/client-origin.ts';
import type { Handler, HttpServer, ServerDeps } from './server/port.ts';
import { createRouter } from './server/router.ts';

/**
 * Returns a page that does not change during the life of the process. Its text is made at the first request, because the pages of all
 * operations cost a tenth of a second at every start.
 *
 * @param lines - additional header lines, each preceded by its line break
 */
function documentPage(contentType: string, text: () => string, lines = ''): () => Page {
  let page: Page | null = null;
  return () => {
    page ??= {
      status: 200,
      contentType,
      lines: `\r\nCache-Control: max-age=300${lines}`,
      body: Buffer.from(text()),
      compressed: new Map(),
    };
    return page;
  };
}

/** Returns how the body of an operation is read; null if it reads none. */
function bodyOf<Body>(operation: Operation, work: Work<Body>): Pick<RouteBody, 'kind' | 'bytesMax'> | null {
  switch (work.kind) {
    case 'body':
    case 'message':
    case 'task':
    case 'purchase':
    case 'bytes':
      return { kind: 'whole', bytesMax: bodyBytesMaxOf(operation) };
    case 'upload':
      return { kind: 'pieces', bytesMax: work.bytesMax };
    default:
      return null;
  }
}

/**
 * Whether people reach the host by TLS on its standard port, which this program has. Only then does it tell browsers to use TLS alone: they
 * apply that to all ports of a host, and at another port the host may have programs without TLS.
 */
const isTlsOnly = ({ tls, publicHost }: Pick<HttpOptions, 'tls' | 'publicHost'>): boolean =>
  tls !== null && publicHost !== null && !publicHost.includes(':');

/** Creates the HTTP front end. It does not listen yet. */
export function createHttpApp(
  options: HttpOptions,
  deps: HttpDeps,
  operations: readonly Operation[] = OPERATIONS,
): HttpApp {
  let server: HttpServer | null = null;
  let certificate: CertificateWatch | null = null;
  // The rows after those of the operations count requests that match none: of the dashboard, and others.
  const dashboardRow = operations.length;
  const unknownRow = dashboardRow + 1;
  const routes = [...operations.map(({ method, path }) => `${method} ${path}`), 'dashboard', 'unknown'];
  const acceptors = deps.acceptors ?? null;
  const acceptorMetrics = Array.from(
    { length: acceptors?.count ?? 0 },
    () => new SharedArrayBuffer(RequestCounts.bytesOf(routes.length)),
  );

  function certificateLeft(): ReadonlyMap<string, number> {
    const endsAtMs = certificate?.endsAtMs ?? null;
    if (endsAtMs === null || options.tls === null) return new Map();
    return new Map([[options.tls.certFile, Math.max(0, (endsAtMs - deps.clock.now()) / 1_000)]]);
  }

  const metrics = createHttpMetrics({
    routes,
    others: acceptorMetrics.map((memory) => new RequestCounts(routes.length, memory)),
    gauges: [
      ...deps.gauges,
      {
        name: 'assay_http_open_sockets',
        help: 'Connections that are open now.',
        value: () => server?.openSockets() ?? 0,
      },
      {
        name: 'assay_http_refused_sockets',
        help: 'Connections that were closed since the start because as many were open as the limit of open files allows.',
        value: () => server?.refusedSockets() ?? 0,
      },
      {
        name: 'assay_tls_certificate_seconds_left',
        help: 'Time until the end of the TLS certificate in use; 0 if it has ended. No value without TLS.',
        label: 'file',
        value: certificateLeft,
      },
      {
        name: 'assay_http_pending_requests',
        help: 'Requests that are not answered yet.',
        value: () => server?.pending() ?? 0,
      },
    ],
  });
  const pipeline = createPipeline(
    { publicHost: options.publicHost },
    {
      ...deps,
      metrics,
      requestIdFor: createRequestIds(deps.random),
      origin: createClientOrigin({ trustedProxies: options.trustedProxies, tls: options.tls !== null }),
    },
  );
  const { version } = options;
  const services: Services = {
    ...deps,
    guide: openGuide(options.guideFolder ?? builtGuide, deps.log),
    metrics,
    documents: {
      openApi: documentPage('application/json', () =>
        JSON.stringify(openApiDocument(version, operations, codeSamplesOf)),
      ),
      docs: documentPage('text/html; charset=utf-8', () => docsPage(version, operations), DOCS_HEADERS),
      viewer: createViewer(version),
    },
    mcp: createMcpEndpoint(
      {
        version,
        operations,
        hosts: [options.host, ...(options.publicHost === null ? [] : [options.publicHost])],
        origins: options.mcpOrigins ?? [],
      },
      { log: deps.log, match: (method, path, params) => router.match(method, path, params) },
    ),
  };
  const bodies: RouteBody[] = [];
  const router = createRouter<Handler>(
    operations.flatMap((operation, position) => {
      const { method, nodes } = operation;
      if (options.operations === 'health' && nodes !== 'all') return [];
      const patterns = patternsOf(operation);
      const value = operation.bind(services, (work) => {
        const body = bodyOf(operation, work);
        if (body !== null) bodies.push(...patterns.map((pattern) => ({ method, pattern, ...body })));
        return pipeline.handlerFor(operation, position, work);
      });
      return patterns.map((pattern) => ({ method, pattern, value }));
    }),
  );

  /** Data with which an acceptor answers the hot operations as this thread does; null if it passes every request on. */
  function hotData(
    { stores, counting }: Acceptors,
    thread: number,
  ): (HotSettings & { stores: object }) | null {
    const counted = acceptorMetrics[thread];
    const counters = counting?.sharing?.memory;
    if (stores === null || counters === undefined || counted === undefined) return null;
    const { publicHost, trustedProxies, tls } = options;
    return {
      ...{ publicHost, trustedProxies, stores, counters },
      isTls: tls !== null,
      rows: Object.fromEntries(operations.map(({ id }, position) => [id, position])),
      rowCount: routes.length,
      metrics: counted,
    };
  }

  return {
    async listen() {
      const createServer = await chooseServer(options.backend, deps.log);
      const streams = operations.filter(({ kind }) => kind === 'stream').flatMap(patternsOf);
      const dashboard =
        options.operations === 'health'
          ? null
          : openDashboard(options.dashboardFolder ?? builtDashboard, isTlsOnly(options), deps.log);
      const unknown = pipeline.fallback(unknownRow);
      const fallback =
        dashboard === null
          ? unknown
          : pipeline.pages(dashboardRow, (exchange) => dashboard.answer(exchange), unknown);
      const refuse = pipeline.refusal(unknownRow);
      const serverDeps: ServerDeps = { router, fallback, refuse, streams, log: deps.log };
      if (options.tls !== null) certificate = new CertificateWatch(options.tls, deps.log);
      const isSpread = acceptors !== null && (await isUws(createServer));
      if (acceptors !== null && !isSpread)
        deps.log.warn({ acceptors: acceptors.count }, 'several acceptors need uWebSockets.js; there is one');
      server = isSpread
        ? createAcceptorServer(
            options,
            { ...acceptors, bodies, hotData: (thread) => hotData(acceptors, thread) },
            serverDeps,
          )
        : createServer(options, serverDeps);
      const port = await server.listen();
      const listening = server;
      certificate?.onRenewed(() => listening.reloadCertificate());
      const host = options.host.includes(':') ? `[${options.host}]` : options.host;
      const url = `${options.tls ? 'https' : 'http'}://${host}:${port}`;
      return { port, url, backend: server.backend };
    },
    async close() {
      certificate?.stop();
      await server?.close(HTTP_LIMITS.shutdownMsMax);
    },
  };
}
