/** The routes of all pages. Each page is a file of its own that is loaded when it is opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { ApiError } from './api/errors.ts';
import { queries, sessionQuery } from './api/session.ts';
import { PATHS } from './paths.ts';
import { NotFoundPage, RouteFailure, RouteLoading } from './shell/boundaries.tsx';
import { Layout } from './shell/Layout.tsx';
import { PublicLayout } from './shell/PublicLayout.tsx';
import { parseSearch, stringifySearch } from './ui/url-state.ts';

const root = createRootRoute({ component: Outlet });

/** Pages for people who are not logged in. */
const open = createRoute({ getParentRoute: () => root, id: 'open', component: PublicLayout });

/** Pages that need a session. A person without one logs in first and then returns. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Layout,
  beforeLoad: async ({ location }) => {
    const session = await queries.ensureQueryData(sessionQuery);
    if (session === null)
      throw redirect({ to: PATHS.login, search: location.href === '/' ? {} : { next: location.href } });
  },
});

type Load = () => Promise<Record<string, () => React.ReactNode>>;

/**
 * Loads the file of a page. If the file is missing, the dashboard was updated, and the router loads everything again. Without a network, that
 * would leave a page of the browser, and lose what the person is writing.
 */
async function loaded(load: Load): ReturnType<Load> {
  try {
    return await load();
  } catch (error) {
    const isReached = await fetch('/', { cache: 'no-store' }).then(
      ({ ok }) => ok,
      () => false,
    );
    throw isReached ? error : ApiError.offline(error);
  }
}

const page = (load: () => Promise<Record<string, unknown>>, name: string) =>
  lazyRouteComponent(() => loaded(load as Load), name);

const openPages = [
  createRoute({
    getParentRoute: () => open,
    path: PATHS.login,
    component: page(() => import('./pages/login.tsx'), 'LoginPage'),
  }),
  createRoute({
    getParentRoute: () => open,
    path: PATHS.register,
    component: page(() => import('./pages/register.tsx'), 'RegisterPage'),
  }),
  createRoute({
    getParentRoute: () => open,
    path: PATHS.confirm,
    component: page(() => import('./pages/confirm.tsx'), 'ConfirmPage'),
  }),
  createRoute({
    getParentRoute: () => open,
    path: PATHS.forgot,
    component: page(() => import('./pages/forgot.tsx'), 'ForgotPage'),
  }),
  createRoute({
    getParentRoute: () => open,
    path: PATHS.reset,
    component: page(() => import('./pages/reset.tsx'), 'ResetPage'),
  }),
  createRoute({
    getParentRoute: () => open,
    path: PATHS.invite,
    component: page(() => import('./pages/invite.tsx'), 'InvitePage'),
  }),
  createRoute({
    getParentRoute: () => open,
    path: PATHS.verify,
    component: page(() => import('./pages/verify/index.tsx'), 'VerifyPage'),
  }),
];

const insidePages = [
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.home,
    component: page(() => import('./pages/home.tsx'), 'HomePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.addresses,
    component: page(() => import('./pages/addresses.tsx'), 'AddressesPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.screening,
    component: page(() => import('./pages/screening/index.tsx'), 'ScreeningPage'),
    // Another address is another page: what was chosen for one is not for the next.
    remountDeps: ({ params }) => params,
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.transaction,
    component: page(() => import('./pages/transaction/index.tsx'), 'TransactionPage'),
    remountDeps: ({ params }) => params,
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.saved,
    component: page(() => import('./pages/saved/list.tsx'), 'SavedPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.savedOne,
    component: page(() => import('./pages/saved/one.tsx'), 'SavedOnePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.savedCompare,
    component: page(() => import('./pages/saved/compare.tsx'), 'SavedComparePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.bulk,
    component: page(() => import('./pages/bulk/index.tsx'), 'BulkPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.keys,
    component: page(() => import('./pages/manage/keys.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.usage,
    component: page(() => import('./pages/manage/usage.tsx'), 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.billing,
    component: page(() => import('./pages/billing/index.tsx'), 'CreditsPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.billingPaid,
    component: page(() => import('./pages/billing/returned.tsx'), 'PaidPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.billingNotPaid,
    component: page(() => import('./pages/billing/returned.tsx'), 'NotPaidPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.people,
    component: page(() => import('./pages/manage/people.tsx'), 'PeoplePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.audit,
    component: page(() => import('./pages/manage/audit.tsx'), 'AuditPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.channels,
    component: page(() => import('./pages/manage/channels.tsx'), 'ChannelsPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.account,
    component: page(() => import('./pages/manage/account.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.status,
    component: page(() => import('./pages/manage/status.tsx'), 'StatusPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.operator,
    component: page(() => import('./pages/operator/index.tsx'), 'OperatorPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.trace,
    component: page(() => import('./pages/trace/index.tsx'), 'TracePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.names,
    component: page(() => import('./pages/names/index.tsx'), 'NamesPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.exchanges,
    component: page(() => import('./pages/exchanges.tsx'), 'ExchangesPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.alerts,
    component: page(() => import('./pages/alerts/index.tsx'), 'AlertsPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.deliveries,
    component: page(() => import('./pages/deliveries.tsx'), 'DeliveriesPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.cases,
    component: page(() => import('./pages/cases/index.tsx'), 'CasesPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.case,
    component: page(() => import('./pages/case/index.tsx'), 'CasePage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.reports,
    component: page(() => import('./pages/reports/index.tsx'), 'ReportsPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.wallets,
    component: page(() => import('./pages/wallets/index.tsx'), 'WalletsPage'),
  }),
  createRoute({
    getParentRoute: () => inside,
    path: PATHS.wallet,
    component: page(() => import('./pages/wallet/index.tsx'), 'WalletPage'),
  }),
];

export const router = createRouter({
  routeTree: root.addChildren([open.addChildren(openPages), inside.addChildren(insidePages)]),
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
  defaultPendingComponent: RouteLoading,
  defaultErrorComponent: RouteFailure,
  defaultNotFoundComponent: NotFoundPage,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
