/** Assembles the front end: the table of routes, the pipeline and the chosen server. */
import { LIMITS } from '../base/limits.ts';
import { DOCS_HEADERS, docsPage } from './docs-page.ts';
import {
  changePasswordWork,
  forgotPasswordWork,
  loginWork,
  logoutWork,
  registerWork,
  resetPasswordWork,
  sessionWork,
  verifyEmailWork,
} from './handlers/auth.ts';
import { cancelJobWork, jobResultWork, listJobsWork, oneJobWork, sendJobWork } from './handlers/jobs.ts';
import { createKeyWork, listKeysWork, revokeKeyWork, toggleKeyWork } from './handlers/keys.ts';
import { kytWork } from './handlers/kyt.ts';
import {
  entityWork,
  labelsWork,
  oracleWork,
  sanctionsCheckWork,
  screenBulkWork,
  screenWork,
} from './handlers/labels.ts';
import {
  addWalletWork,
  alertStreamWork,
  changeWalletWork,
  channelsWork,
  deliveriesWork,
  listAlertsWork,
  listWalletsWork,
  moveAlertWork,
  oneWalletWork,
  removeWalletWork,
  replayDeliveryWork,
  setChannelsWork,
  testWalletWork,
  walletAlertsWork,
  walletTransactionsWork,
  webhookSecretWork,
} from './handlers/monitoring.ts';
import { clearedListWork, clearWork, namesWork, unclearWork } from './handlers/names.ts';
import { stripeWork } from './handlers/payments.ts';
import { exchangeStatusWork } from './handlers/registers.ts';
import { screeningWork } from './handlers/screening.ts';
import { documentWork, healthWork, metricsWork, readyWork } from './handlers/service.ts';
import { traceWork } from './handlers/trace.ts';
import { usageWork } from './handlers/usage.ts';
import { openApiDocument } from './openapi.ts';
import { createHttpMetrics } from './pipeline/metrics.ts';
import { createPipeline } from './pipeline/pipeline.ts';
import { createRequestIds } from './pipeline/request-id.ts';
import type { Work } from './pipeline/work.ts';
import type { HttpApp, HttpDeps, HttpOptions } from './ports.ts';
import { type HandlerName, patternsOf, ROUTES } from './routes.ts';
import { chooseServer } from './server/choose.ts';
import { createClientOrigin } from './server/client-origin.ts';
import type { Handler, HttpServer } from './server/port.ts';
import { createRouter } from './server/router.ts';

/** Operations that every node serves, whatever its roles. */
const HEALTH: ReadonlySet<HandlerName> = new Set(['health', 'ready', 'metrics']);

/** Metrics row, after the rows of the table, that counts requests which match no route. */
const UNKNOWN_ROUTE = ROUTES.length;

/** Creates the HTTP front end. It does not listen yet. */
export function createHttpApp(options: HttpOptions, deps: HttpDeps): HttpApp {
  let server: HttpServer | null = null;
  const metrics = createHttpMetrics({
    routes: [...ROUTES.map((route) => `${route.method} ${route.path}`), 'unknown'],
    gauges: [
      ...deps.gauges,
      {
        name: 'assay_http_open_sockets',
        help: 'Connections that are open now.',
        value: () => server?.openSockets() ?? 0,
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
  const works: Readonly<Record<HandlerName, Work>> = {
    health: healthWork(deps),
    ready: readyWork(deps),
    metrics: metricsWork(metrics),
    openapi: documentWork('application/json', JSON.stringify(openApiDocument(options.version))),
    docs: documentWork('text/html; charset=utf-8', docsPage(options.version), DOCS_HEADERS),
    entity: entityWork(deps),
    labels: labelsWork(deps),
    screen: screenWork(deps),
    screenBulk: screenBulkWork(deps),
    sanctionsCheck: sanctionsCheckWork(deps),
    oracle: oracleWork(deps),
    exchangeStatus: exchangeStatusWork(deps),
    screening: screeningWork(deps),
    kyt: kytWork(deps),
    trace: traceWork(deps),
    names: namesWork(deps),
    clear: clearWork(deps),
    clearedList: clearedListWork(deps),
    unclear: unclearWork(deps),
    usage: usageWork(deps),
    register: registerWork(deps),
    verifyEmail: verifyEmailWork(deps),
    login: loginWork(deps),
    logout: logoutWork(deps),
    session: sessionWork(),
    changePassword: changePasswordWork(deps),
    forgotPassword: forgotPasswordWork(deps),
    resetPassword: resetPasswordWork(deps),
    listKeys: listKeysWork(deps),
    createKey: createKeyWork(deps),
    toggleKey: toggleKeyWork(deps),
    revokeKey: revokeKeyWork(deps),
    stripeEvent: stripeWork(deps),
    addWallet: addWalletWork(deps),
    listWallets: listWalletsWork(deps),
    oneWallet: oneWalletWork(deps),
    changeWallet: changeWalletWork(deps),
    removeWallet: removeWalletWork(deps),
    walletAlerts: walletAlertsWork(deps),
    walletTransactions: walletTransactionsWork(deps),
    testWallet: testWalletWork(deps),
    listAlerts: listAlertsWork(deps),
    moveAlert: moveAlertWork(deps),
    channels: channelsWork(deps),
    setChannels: setChannelsWork(deps),
    webhookSecret: webhookSecretWork(deps),
    deliveries: deliveriesWork(deps),
    replayDelivery: replayDeliveryWork(deps),
    alertStream: alertStreamWork(deps),
    sendJob: sendJobWork(deps),
    listJobs: listJobsWork(deps),
    oneJob: oneJobWork(deps),
    jobResult: jobResultWork(deps),
    cancelJob: cancelJobWork(deps),
  };
  const router = createRouter<Handler>(
    ROUTES.flatMap((route, position) => {
      if (options.operations === 'health' && !HEALTH.has(route.handler)) return [];
      const value = pipeline.handlerFor(route, position, works[route.handler]);
      return patternsOf(route).map((pattern) => ({ method: route.method, pattern, value }));
    }),
  );

  return {
    async listen() {
      const createServer = await chooseServer(options.backend, deps.log);
      const streams = ROUTES.filter(({ handler }) => works[handler].kind === 'stream').flatMap(patternsOf);
      const fallback = pipeline.fallback(UNKNOWN_ROUTE);
      server = createServer(options, { router, fallback, streams, log: deps.log });
      const port = await server.listen();
      const host = options.host.includes(':') ? `[${options.host}]` : options.host;
      const url = `${options.tls ? 'https' : 'http'}://${host}:${port}`;
      return { port, url, backend: server.backend };
    },
    async close() {
      await server?.close(LIMITS.shutdownMsMax);
    },
  };
}
