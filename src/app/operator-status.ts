/** The state of the installation for its operators. Reading it opens nothing that the server has not opened. */
import { isoTime } from '../base/clock.ts';
import { hostsOnly } from '../base/hosts-only.ts';
import { coinsOf } from '../billing/crypto/quote.ts';
import type { ChainAdapter, EndpointHealth } from '../chains/families/port.ts';
import { chainOf } from '../chains/registry.ts';
import type { KeptIndex } from '../exposure/keeper.ts';
import type { OperatorViews } from '../http/ports.ts';
import {
  type HEALTH_CHECKS,
  type OperatorImports,
  type OperatorStatus,
  REFRESHES_COUNTED_MAX,
} from '../http/schemas/operator.ts';
import {
  type ListFreshness,
  oldPublicationAdvice,
  oldPublications,
  staleListAdvice,
} from '../labels/freshness.ts';
import { keptSnapshots } from '../labels/index/folder.ts';
import type { Run, RunLog } from '../labels/runs.ts';
import type { LabelStore } from '../labels/store.ts';
import type { ChainState } from '../monitoring/listener.ts';
import type { NameStore } from '../names/lists.ts';
import type { RegisterStore } from '../registers/store.ts';
import { LISTS } from '../sources/lists.ts';
import { refusedNow } from '../state/storage.ts';
import {
  listStates,
  replicationProblems,
  roleProblems,
  type ServerStatus,
  snapshotState,
  storeProblems,
} from './status.ts';

/** Rows of a table: ten times what an installation with all sources has. */
const ROWS_MAX = 500;
/** Earlier snapshots stay for minutes, until their last reader ends. */
const SNAPSHOTS_MAX = 20;

export interface OperatorSources {
  readonly status: ServerStatus;
  readonly version: string;
  /** Id of this node. */
  readonly nodeId: string;
  readonly isShared: boolean;
  /** Threads of the worker pool. */
  readonly threads: number;
  readonly snapshotsFolder: string;
  /** Open adapters of chains. */
  readonly adapters: () => readonly Pick<ChainAdapter, 'chain' | 'health'>[];
  readonly exposures: () => readonly KeptIndex[];
  readonly stores: {
    readonly labels: Pick<LabelStore, 'catalogue'>;
    readonly names: Pick<NameStore, 'rows'>;
    readonly registers: Pick<RegisterStore, 'catalogue'>;
  };
  readonly runs: Pick<RunLog, 'list'>;
  /** Interval at which this node syncs by itself; null if it does not. */
  readonly syncEveryHours: number | null;
}

/** Creates the views of the operators. */
export const operatorViews = (of: OperatorSources): OperatorViews => ({
  status: () => statusOf(of),
  imports: () => importsOf(of),
});

type Check = OperatorStatus['checks'][number];

/** A check is in order if there are no reasons. */
const check = (
  name: (typeof HEALTH_CHECKS)[number],
  reasons: readonly string[],
  state: 'WARNING' | 'FAILED',
): Check => ({ check: name, state: reasons.length === 0 ? 'OK' : state, reasons: reasons.map(hostsOnly) });

/** What stops the service comes first: if there is such a reason, warnings of the same part are not listed. */
const failedOr = (
  name: (typeof HEALTH_CHECKS)[number],
  failed: readonly string[],
  warnings: readonly string[] = [],
): Check => (failed.length > 0 ? check(name, failed, 'FAILED') : check(name, warnings, 'WARNING'));

function checksOf(
  { status, exposures, runs }: OperatorSources,
  freshness: ListFreshness,
  chains: OperatorStatus['chains'],
): Check[] {
  const pulled = status.replication()?.state ?? null;
  const late =
    pulled === null || pulled.error === null
      ? []
      : [`${pulled.from} cannot be followed: ${pulled.error} The last release stays in use.`];
  const stale = staleListAdvice(freshness.staleLists);
  const old = oldPublicationAdvice(oldPublications(freshness.lists, status.clock.now()));
  const isFailed = status.config.readyNeedsFreshLists;
  return [
    isFailed ? failedOr('LISTS', stale, old) : check('LISTS', [...stale, ...old], 'WARNING'),
    failedOr('REPLICATION', replicationProblems(status), late),
    check('STORES', storeProblems(status), 'FAILED'),
    // The reason names the path, and says to free space.
    check(
      'STORAGE',
      refusedNow().map(({ reason }) => reason),
      'WARNING',
    ),
    check('CLUSTER', roleProblems(status), 'FAILED'),
    check('CHAINS', chains.flatMap(chainWarning), 'WARNING'),
    check('EXPOSURE', exposures().flatMap(exposureWarning), 'WARNING'),
    check(
      'GAS',
      status
        .gasAccounts()
        ?.problems()
        .map(({ reason }) => reason) ?? [],
      'WARNING',
    ),
    check('RUNS', runWarnings(runs.list()), 'WARNING'),
  ];
}

function chainWarning({ chain, following, state, reason }: OperatorStatus['chains'][number]): string[] {
  if (following) return [];
  const advice =
    state === 'UNREACHABLE'
      ? `Set ASSAY_RPC_${chain} on a node with the role listener, and restart it.`
      : 'Its endpoints and their errors are listed under chains.';
  return [`${reason ?? `${chain} is not followed.`} ${advice}`];
}

const exposureWarning = ({ chain, state, reason }: KeptIndex): string[] =>
  state === 'FAILING'
    ? [
        `The exposure index of ${chain} is not updated: ${reason ?? ''} The log has the details; \`assay exposure build ${chain}\` builds it by hand.`,
      ]
    : [];

/** Only the newest sync counts: a later one that succeeds repairs an earlier one. */
function runWarnings(runs: readonly Run[]): string[] {
  const last = runs.find(({ kind, state }) => kind === 'SYNC' && state !== 'RUNNING');
  if (last === undefined || last.state === 'DONE') return [];
  const begin = `The last sync, of ${last.startedAt},`;
  if (last.state === 'INTERRUPTED') return [`${begin} was interrupted. Run \`assay sync\` to repeat it.`];
  const errors = last.sources.flatMap(({ source, error }) => (error === null ? [] : [`${source}: ${error}`]));
  const reasons = [...(last.error === null ? [] : [last.error]), ...errors];
  return reasons.map((reason) => `${begin} failed. ${reason} Earlier data stays in use.`);
}

const endpointState = ({ source, state, latencyMs, failures, lastError }: EndpointHealth) => ({
  endpoint: source,
  state,
  latencyMs: latencyMs === null ? null : Math.round(latencyMs),
  failures,
  lastError: lastError === null ? null : hostsOnly(lastError),
});

/** Returns the chains on which wallets are watched; none while monitoring is not open. */
function chainsOf({ status, adapters }: OperatorSources): OperatorStatus['chains'] {
  const listener = status.watching()?.listener;
  if (listener === undefined) return [];
  const holders = new Map(status.leases().map(({ name, holder }) => [name, holder]));
  const now = status.clock.now();
  return listener.states().map((of: ChainState) => {
    const { chain, state, headHeight: head, blockTimeMs, lastError } = of;
    const { following, reason, followedTo } = listener.following(chain);
    const height = of.height ?? followedTo;
    const endpoints =
      adapters()
        .find((adapter) => adapter.chain === chain)
        ?.health().endpoints ?? [];
    return {
      ...{ chain, state, following, reason, height, head },
      node: holders.get(`listener:${chain}`) ?? null,
      lagBlocks: height === null || head === null ? null : Math.max(0, head - height),
      lagSeconds: blockTimeMs === null ? null : Math.max(0, Math.round((now - blockTimeMs) / 1_000)),
      lastError: lastError === null ? null : hostsOnly(lastError),
      endpoints: endpoints.map(endpointState),
    };
  });
}

function queuesOf({ status, exposures, threads }: OperatorSources): OperatorStatus['queues'] {
  const jobs = status.jobs();
  const counts = jobs?.counts();
  const monitoring = status.watching();
  const store = monitoring?.service.store;
  const chains = monitoring?.listener.states().map(({ chain }) => chain) ?? [];
  return {
    jobs: {
      receiving: counts?.RECEIVING ?? 0,
      queued: counts?.QUEUED ?? 0,
      running: counts?.RUNNING ?? 0,
      done: counts?.DONE ?? 0,
      cancelled: counts?.CANCELLED ?? 0,
      failed: counts?.FAILED ?? 0,
      chunksRunning: jobs?.scheduler.chunks ?? 0,
    },
    refreshes:
      store === undefined
        ? []
        : chains.map((chain) => ({ chain, ...store.refreshesWaiting(chain, REFRESHES_COUNTED_MAX) })),
    deliveries: {
      waiting: store?.outbox.waitingCount() ?? 0,
      receivers: store?.outbox.queues().length ?? 0,
    },
    exposure: exposures().map(({ reason, ...index }) => ({
      ...index,
      reason: reason === null ? null : hostsOnly(reason),
    })),
    pool: { threads, tasks: status.pool.pending },
  };
}

function gasAccountsOf({ status }: OperatorSources): OperatorStatus['gasAccounts'] {
  const gas = status.gasAccounts();
  if (gas === null) return [];
  const problems = new Map(gas.problems().map((problem) => [problem.chain, problem]));
  return gas.accounts().map(({ chain, address, balance, paymentsLeft }) => {
    const { symbol, decimals } = chainOf(chain);
    const { reason = null, since = null } = problems.get(chain) ?? {};
    return {
      ...{ chain, address, symbol, balance: coinsOf(balance, decimals), paymentsLeft },
      ...{ problem: reason, since },
    };
  });
}

function nodesOf({ status, nodeId }: OperatorSources): OperatorStatus['nodes'] {
  const leases = status.leases();
  return status
    .nodes()
    .slice(0, ROWS_MAX)
    .map(({ id, roles, isLive, silentMs, sinceMs }) => ({
      node: id,
      roles: [...roles],
      here: id === nodeId,
      live: isLive,
      since: sinceMs === null ? null : isoTime(sinceMs),
      silentSeconds: Math.round(Math.max(0, silentMs) / 100) / 10,
      leases: leases.filter(({ holder }) => holder === id).map(({ name }) => name),
    }));
}

function labelsOf({ status, snapshotsFolder }: OperatorSources): OperatorStatus['labels'] {
  const { sources } = status.labels.current.meta;
  const url = status.replication()?.url ?? null;
  const rows = [...sources].sort((a, b) => b.labels - a.labels).slice(0, ROWS_MAX);
  return {
    snapshots: keptSnapshots(snapshotsFolder, SNAPSHOTS_MAX).map(({ isCurrent, ...snapshot }) => ({
      ...snapshot,
      current: isCurrent,
    })),
    sources: rows.map(({ id, dataset, labels, publishedAt, importedAt }) => ({
      ...{ source: id, dataset, labels, publishedAt, importedAt },
    })),
    sourcesLeftOut: sources.length - rows.length,
    publishesAt: url === null ? null : new URL(url).host,
  };
}

function statusOf(of: OperatorSources): OperatorStatus {
  const { status, version, isShared } = of;
  const freshness = status.freshness();
  const chains = chainsOf(of);
  const checks = checksOf(of, freshness, chains);
  const pulledFrom = status.replication()?.state ?? null;
  return {
    at: isoTime(status.clock.now()),
    version,
    ready: checks.every(({ state }) => state !== 'FAILED'),
    checks,
    snapshot: snapshotState(status.labels.current),
    labels: labelsOf(of),
    lists: [...listStates(freshness, status.clock.now())],
    ...(pulledFrom === null ? {} : { pulledFrom }),
    chains,
    queues: queuesOf(of),
    gasAccounts: gasAccountsOf(of),
    nodes: nodesOf(of),
    shared: isShared,
  };
}

function importsOf({ status, stores, runs, syncEveryHours }: OperatorSources): OperatorImports {
  const { datasets, lists } = stores.labels.catalogue();
  const rows: OperatorImports['data'] = [
    ...datasets.map(({ source, dataset, publishedAt, importedAt, records, rejected }) => ({
      ...{ kind: 'LABELS' as const, source, dataset, publishedAt, importedAt, records, rejected },
    })),
    ...lists.map(({ list, publishedAt, importedAt, parties }) => ({
      ...{ kind: 'SANCTIONS' as const, source: LISTS.sourceOf(list) ?? list, dataset: list },
      ...{ publishedAt, importedAt, records: parties, rejected: null },
    })),
    ...stores.names.rows().map(({ source, list, publishedAt, importedAt, parties, rejected }) => ({
      ...{ kind: 'NAMES' as const, source, dataset: list, publishedAt, importedAt },
      ...{ records: parties, rejected },
    })),
    ...stores.registers.catalogue().registers.map(({ register, source, files, firms, importedAt }) => ({
      ...{ kind: 'REGISTERS' as const, source, dataset: register, importedAt, records: firms },
      ...{ publishedAt: files.at(-1)?.asOf ?? null, rejected: null },
    })),
  ];
  const data = rows.sort((a, b) => Date.parse(b.importedAt) - Date.parse(a.importedAt)).slice(0, ROWS_MAX);
  return {
    at: isoTime(status.clock.now()),
    data,
    dataLeftOut: rows.length - data.length,
    runs: runs.list().map((run) => ({
      ...run,
      error: run.error === null ? null : hostsOnly(run.error),
      sources: run.sources.map((source) => ({
        ...source,
        error: source.error === null ? null : hostsOnly(source.error),
      })),
    })),
    syncEveryHours,
  };
}
