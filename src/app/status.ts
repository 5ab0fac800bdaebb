/** The status of a server: its readiness and its metrics. Reading them opens nothing. */
import { statSync } from 'node:fs';
import { type Clock, isoTime } from '../base/clock.ts';
import type { GasAccount, GasAccounts } from '../billing/x402/gas-accounts.ts';
import { chainOf } from '../chains/registry.ts';
import type { Config } from '../config/config.ts';
import type { Degradation, FollowedChain, Gauge, Readiness } from '../http/ports.ts';
import type { OpenBulkJobs } from '../jobs/bulk/open.ts';
import { type ListFreshness, oldPublications, staleListAdvice } from '../labels/freshness.ts';
import type { LabelReader, SnapshotSet } from '../labels/index/reader.ts';
import type { ChainState, Listener } from '../monitoring/listener.ts';
import type { Monitoring } from '../monitoring/open.ts';
import type { ChainFollowing } from '../monitoring/records.ts';
import type { Role } from '../nodes/roles.ts';
import type { WorkerPool } from '../pool/pool.ts';
import { presentVerdictKey, type VerdictKeyFacts, verdictKeyPath } from '../receipts/verdict-key.ts';
import { behindSeconds, type Replication, tooFarBehind } from '../replication/replication.ts';
import type { LeaseState } from '../state/leases.ts';
import { AFTER_RESTORE, restoredFrom, undoneBy } from '../state/restored.ts';
import { refusedNow } from '../state/storage.ts';
import type { NodeState, Shared } from './node-services.ts';

/** The services with a status; null while they are not running. */
export interface ServerStatus {
  readonly config: Config;
  /** Roles of this node. */
  readonly roles: readonly Role[];
  readonly clock: Clock;
  readonly labels: SnapshotSet;
  readonly freshness: () => ListFreshness;
  readonly pool: WorkerPool;
  /** The nodes of the installation, including this one and those that left within the last day. */
  readonly nodes: () => readonly NodeState[];
  /** What this node does not do although it is ready, beside writes that storage refuses. */
  readonly degradations: () => readonly Degradation[];
  readonly stores: Shared['stores'];
  /** Leases of all nodes, as this node last read them. */
  readonly leases: () => readonly LeaseState[];
  /** Why the shared Redis cannot acknowledge writes; null if it can. */
  readonly redisProblem: () => string | null;
  /** Whether too few replicas of Redis follow their master to acknowledge writes. */
  readonly lacksReplicas: () => boolean;
  readonly replication: () => Replication | null;
  readonly watching: () => Monitoring | null;
  readonly jobs: () => OpenBulkJobs | null;
  /** The gas-paying account on each chain; null if payments by a signature are off. */
  readonly gasAccounts: () => GasAccounts | null;
}

function followedChain(
  { chain, state, height, blockTimeMs }: ChainState,
  { following, reason, followedTo }: ChainFollowing,
): FollowedChain {
  return {
    chain,
    state,
    following,
    reason,
    height: height ?? followedTo,
    blockTime: blockTimeMs === null ? null : isoTime(blockTimeMs),
  };
}

/** Returns the chains on which wallets are watched; reading them does not open monitoring. */
function followedChains(watching: () => Monitoring | null): readonly FollowedChain[] {
  const listener = watching()?.listener;
  return (listener?.states() ?? []).map((state) =>
    followedChain(state, (listener as Listener).following(state.chain)),
  );
}

/** Returns the snapshot that is served, without synthetic labels in its counts. */
export const snapshotState = ({ meta }: LabelReader): NonNullable<Readiness['snapshot']> => ({
  dataVersion: meta.dataVersion,
  builtAt: meta.builtAt,
  addresses: meta.real.addresses,
  labels: meta.real.labels,
  syntheticLabels: meta.synthetic.labels,
});

/** Returns the state of every list. */
export function listStates(freshness: ListFreshness, nowMs: number): Readiness['lists'] {
  const stale = new Set(freshness.staleLists.map(({ list }) => list));
  const old = new Set(oldPublications(freshness.lists, nowMs).map(({ list }) => list));
  return Object.values(freshness.groups).flatMap(({ lists }) =>
    lists.map((list) => ({
      list,
      publishedAt: freshness.lists[list]?.publishedAt ?? null,
      checkedAt: freshness.lists[list]?.checkedAt ?? null,
      checkedBy: freshness.lists[list]?.checkedBy ?? null,
      stale: stale.has(list),
      publicationOld: old.has(list),
    })),
  );
}

/** Returns why the lists make the service not ready. */
const listProblems = ({ config }: ServerStatus, freshness: ListFreshness): readonly string[] =>
  config.readyNeedsFreshLists ? staleListAdvice(freshness.staleLists) : [];

/** Returns why a node that pulls its labels is too far behind. */
export function replicationProblems({ replication, config, clock }: ServerStatus): readonly string[] {
  const state = replication()?.state ?? null;
  if (state === null) return [];
  const reason = tooFarBehind(state, clock.now(), config.snapshots.behindMaxSeconds);
  return reason === null ? [] : [reason];
}

/** Returns that Redis is not heard, as a sentence, and its consequence for a node of these roles. */
function awaySentence(roles: readonly Role[], reason: string | undefined): string {
  const why = reason === undefined ? '' : ` (${reason.replace(/\.$/, '')})`;
  const consequence = roles.includes('api')
    ? 'It rejects every request with a key.'
    : 'It can do no work for its roles.';
  return `This node has not heard from Redis for a second${why}. ${consequence}`;
}

/**
 * Returns why the shared stores cannot be used. A node that does not know which keys were revoked rejects every key, so a proxy should send
 * requests to a node that is connected to Redis. A node of other roles can take no lease and no chunk.
 */
export function storeProblems({ roles, stores }: ServerStatus): readonly string[] {
  /** One sentence per kind, because all stores are in one Redis. */
  const reasons = new Map<string, string>();
  for (const { name, problem } of stores()) {
    const found = problem();
    if (found === null) continue;
    const isRefusing = name === 'keys' && roles.includes('api');
    if (found.kind === 'away') {
      // Every node has the keys: a blocked event loop or a slow copy of another store is no outage.
      if (name === 'keys') reasons.set('away', awaySentence(roles, found.reason));
    } else if (found.kind === 'full') {
      // All other stores still serve reads from their replica.
      if (isRefusing) reasons.set('full', `${found.message} Until then it rejects every request with a key.`);
    } else reasons.set(found.kind, reasons.get(found.kind) ?? found.message);
  }
  return [...reasons.values()];
}

/**
 * Returns why this node cannot fulfil its roles, or cannot write. A node that serves requests stays ready if it cannot send alerts or process
 * jobs: another node does.
 */
export function roleProblems({ roles, watching, jobs, redisProblem }: ServerStatus): readonly string[] {
  const answers = roles.includes('api');
  const sending = answers ? null : (watching()?.problem() ?? null);
  const working = answers ? null : (jobs()?.problem()?.reason ?? null);
  return [redisProblem(), sending, working].filter((reason) => reason !== null);
}

/** Returns that this node cannot use the folder of bulk jobs: it still answers everything else, and other nodes process the jobs. */
function jobsFolderLost({ jobs }: ServerStatus): readonly Degradation[] {
  const problem = jobs()?.problem() ?? null;
  if (problem === null) return [];
  const { reason, folder, sinceMs } = problem;
  return [{ kind: 'STORAGE', path: folder, reason, since: isoTime(sinceMs) }];
}

/** Returns which changes Redis has lost, as long as this node keeps them. */
export function lostChanges({ stores }: Pick<ServerStatus, 'stores'>): readonly Degradation[] {
  const lost = stores().flatMap(({ name, newerStates }) =>
    newerStates().map((state) => ({ name, ...state })),
  );
  if (lost.length === 0) return [];
  const names = [...new Set(lost.map(({ name }) => name))];
  return [
    {
      kind: 'REDIS_WENT_BACK',
      path: null,
      reason: `Redis went back to an earlier state, and the nodes followed it: later changes of ${names.join(', ')} are undone${names.includes('keys') ? ', and keys that were revoked since are valid again' : ''}. This node has kept its later states: see \`assay redis newer\`, restore what is needed, and delete the files.`,
      since: isoTime(Math.min(...lost.map(({ keptAtMs }) => keptAtMs))),
    },
  ];
}

/**
 * Returns that the data folder is a restored backup, until the operator deletes its manifest. With a Redis, the state is not that of the
 * folder.
 */
export function restoredBackup({ config }: Pick<ServerStatus, 'config'>): readonly Degradation[] {
  const restored = config.redis === null ? restoredFrom(config.dataDir) : null;
  if (restored === null) return [];
  return [
    {
      kind: 'RESTORED_BACKUP',
      path: null,
      reason: `${undoneBy(restored)} ${AFTER_RESTORE}`,
      since: restored.takenAt ?? isoTime(statSync(restored.manifest).mtimeMs),
    },
  ];
}

const shownLease = ({ name, holder, isHere, sinceMs }: LeaseState) => ({
  lease: name,
  holder,
  here: isHere,
  since: holder === null ? null : isoTime(sinceMs),
});

/** Returns whether this server is ready, and the state of the data that it serves. */
export function readinessOf(status: ServerStatus): Readiness {
  const freshness = status.freshness();
  const reasons = [
    ...listProblems(status, freshness),
    ...replicationProblems(status),
    ...storeProblems(status),
    ...roleProblems(status),
  ];
  const pulledFrom = status.replication()?.state ?? null;
  const chains = followedChains(status.watching);
  const degraded: readonly Degradation[] = [
    ...refusedNow().map((refusal) => ({ kind: 'STORAGE', ...refusal }) as const),
    ...status.degradations(),
    ...lostChanges(status),
    ...restoredBackup(status),
    ...jobsFolderLost(status),
    ...(status.gasAccounts()?.problems() ?? []).map(
      ({ reason, since }) => ({ kind: 'GAS_ACCOUNT', path: null, reason, since }) as const,
    ),
  ];
  const leases = status.leases();
  return {
    ready: reasons.length === 0,
    reasons,
    snapshot: snapshotState(status.labels.current),
    lists: listStates(freshness, status.clock.now()),
    ...(pulledFrom === null ? {} : { pulledFrom }),
    ...(degraded.length === 0 ? {} : { degraded }),
    ...(chains.length === 0 ? {} : { monitoring: chains }),
    ...(leases.length === 0 ? {} : { leases: leases.map(shownLease) }),
  };
}

/** Seconds since the last check of each loaded list. */
const listAges = ({ lists }: ListFreshness, clock: Clock): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(lists).map(([list, { checkedAt }]) => [
      list,
      Math.max(0, clock.now() - Date.parse(checkedAt)) / 1_000,
    ]),
  );

const publicationsOld = ({ lists }: ListFreshness, clock: Clock): ReadonlyMap<string, number> => {
  const old = new Set<string>(oldPublications(lists, clock.now()).map(({ list }) => list));
  return new Map(Object.keys(lists).map((list) => [list, old.has(list) ? 1 : 0]));
};

/** Metrics of monitoring; reading them does not open it. */
function monitoringGauges(watching: () => Monitoring | null, clock: Clock): readonly Gauge[] {
  const ofChains = (read: (state: ChainState) => number | null) => (): ReadonlyMap<string, number> =>
    new Map(
      (watching()?.listener.states() ?? []).flatMap((state): [string, number][] => {
        const value = read(state);
        return value === null ? [] : [[state.chain, value]];
      }),
    );
  return [
    {
      name: 'assay_monitoring_wallets',
      help: 'Watched wallets.',
      value: () => watching()?.listener.watched ?? 0,
    },
    {
      name: 'assay_monitoring_following',
      help: '1 if a watched chain is followed, by any node; 0 if its node fails, is stuck or is not configured.',
      label: 'chain',
      value: () =>
        new Map(followedChains(watching).map(({ chain, following }) => [chain, following ? 1 : 0])),
    },
    {
      name: 'assay_monitoring_height',
      help: 'Height of the newest block that was processed.',
      label: 'chain',
      value: ofChains(({ height }) => height),
    },
    {
      name: 'assay_monitoring_lag_seconds',
      help: 'Age of the newest block that was processed.',
      label: 'chain',
      value: ofChains(({ blockTimeMs }) =>
        blockTimeMs === null ? null : Math.max(0, clock.now() - blockTimeMs) / 1_000,
      ),
    },
    {
      name: 'assay_deliveries_waiting',
      help: 'Messages waiting for a delivery attempt.',
      value: () => watching()?.service.store.outbox.waitingCount() ?? 0,
    },
    {
      name: 'assay_alert_streams',
      help: 'Open live streams.',
      value: () => watching()?.service.streams.size ?? 0,
    },
  ];
}

/** Metrics of bulk jobs; reading them does not open them. */
function jobGauges(jobs: () => OpenBulkJobs | null): readonly Gauge[] {
  return [
    {
      name: 'assay_jobs_open',
      help: 'Bulk jobs of this process, running or queued.',
      value: () => jobs()?.scheduler.jobs ?? 0,
    },
    {
      name: 'assay_job_chunks_running',
      help: 'Chunks of bulk jobs being processed.',
      value: () => jobs()?.scheduler.chunks ?? 0,
    },
  ];
}

/** Metrics of the account that pays gas for payments by a signature; empty if they are off. */
function gasGauges({ gasAccounts }: ServerStatus): readonly Gauge[] {
  const ofAccounts = (read: (account: GasAccount) => number) => (): ReadonlyMap<string, number> =>
    new Map((gasAccounts()?.accounts() ?? []).map((account) => [account.chain, read(account)]));
  return [
    {
      name: 'assay_relay_balance_coins',
      help: 'Coins of the gas-paying account.',
      label: 'chain',
      value: ofAccounts(({ chain, balance }) => Number(balance) / 10 ** chainOf(chain).decimals),
    },
    {
      name: 'assay_relay_payments_left',
      help: 'Payments by a signature that the gas-paying account can send at the current price of gas.',
      label: 'chain',
      value: ofAccounts(({ paymentsLeft }) => paymentsLeft),
    },
  ];
}

/** The time left of the key that signs verdicts for contracts; empty if this node has none. */
function signerGauges({ config, clock }: ServerStatus): readonly Gauge[] {
  function left(): ReadonlyMap<string, number> {
    let key: VerdictKeyFacts | null = null;
    try {
      key = presentVerdictKey(verdictKeyPath(config.dataDir));
    } catch {
      // A damaged file is reported by `assay doctor`, and must not take the other metrics away.
    }
    return new Map(key === null ? [] : [[key.address, Math.max(0, key.endsAt - clock.now() / 1_000)]]);
  }
  return [
    {
      name: 'assay_verdict_key_seconds_left',
      help: 'Time until the end of the key that signs verdicts for contracts; 0 if it has ended.',
      label: 'signer',
      value: left,
    },
  ];
}

/** Metrics of the stores that nodes share; empty on a standalone machine. */
function storeGauges(stores: ServerStatus['stores']): readonly Gauge[] {
  type Store = ReturnType<ServerStatus['stores']>[number];
  const ofStores = (read: (store: Store) => number) => (): ReadonlyMap<string, number> =>
    new Map(stores().map((store) => [store.name, read(store)]));
  return [
    {
      name: 'assay_store_version',
      help: 'Version of a shared store on this node: the number of its last write set.',
      label: 'store',
      value: ofStores(({ version }) => version()),
    },
    {
      name: 'assay_store_current',
      help: '1 if this node received an update or heartbeat of a shared store within the last second; otherwise 0.',
      label: 'store',
      value: ofStores(({ isCurrent }) => (isCurrent() ? 1 : 0)),
    },
  ];
}

/** Metrics of the leases by which nodes divide work; empty on a standalone machine. */
function leaseGauges({ leases, clock }: ServerStatus): readonly Gauge[] {
  const ofLeases = (read: (lease: LeaseState) => number | null) => (): ReadonlyMap<string, number> =>
    new Map(
      leases().flatMap((lease): [string, number][] => {
        const value = read(lease);
        return value === null ? [] : [[lease.name, value]];
      }),
    );
  return [
    {
      name: 'assay_lease_held',
      help: '1 if a node holds the lease; 0 if none does.',
      label: 'lease',
      value: ofLeases(({ holder }) => (holder === null ? 0 : 1)),
    },
    {
      name: 'assay_lease_here',
      help: '1 if this node holds the lease; otherwise 0.',
      label: 'lease',
      value: ofLeases(({ isHere }) => (isHere ? 1 : 0)),
    },
    {
      name: 'assay_lease_held_seconds',
      help: 'Time since the holder of a lease took it; restarts when another node takes it over.',
      label: 'lease',
      value: ofLeases(({ holder, sinceMs }) =>
        holder === null ? null : Math.max(0, clock.now() - sinceMs) / 1_000,
      ),
    },
  ];
}

/** Returns all metrics of a server. */
export function metricsOf(status: ServerStatus): readonly Gauge[] {
  const { clock, labels, freshness, pool, nodes, replication } = status;
  return [
    {
      name: 'assay_ready',
      help: '1 if /ready returns 200; 0 if it returns 503.',
      value: () => (readinessOf(status).ready ? 1 : 0),
    },
    {
      name: 'assay_redis_replicas_missing',
      help: '1 if too few replicas of Redis are connected to acknowledge writes; otherwise 0.',
      value: () => (status.lacksReplicas() ? 1 : 0),
    },
    {
      name: 'assay_nodes',
      help: 'Current nodes of this installation, including this one.',
      value: () => nodes().filter(({ isLive }) => isLive).length,
    },
    {
      name: 'assay_pool_tasks',
      help: 'Tasks of the worker pool, waiting or running.',
      value: () => pool.pending,
    },
    {
      name: 'assay_pool_oldest_task_seconds',
      help: 'Time since the oldest task of the worker pool was accepted; 0 if there is none. It rises for as long as a thread does not answer.',
      value: () => pool.oldestMs / 1_000,
    },
    {
      name: 'assay_clock_seconds',
      help: 'Clock of the node: seconds since 1970. Rules compare it with the time of the scrape.',
      value: () => clock.now() / 1_000,
    },
    {
      name: 'assay_labels_real',
      help: 'Labels of the published snapshot without synthetic ones.',
      value: () => labels.current.meta.real.labels,
    },
    {
      name: 'assay_labels_synthetic',
      help: 'Synthetic labels of the published snapshot.',
      value: () => labels.current.meta.synthetic.labels,
    },
    {
      name: 'assay_sanctions_list_age_seconds',
      help: 'Time since the last successful check of a sanctions list. Lists that were never loaded have no value.',
      label: 'list',
      value: () => listAges(freshness(), clock),
    },
    {
      name: 'assay_sanctions_list_publication_old',
      help: '1 if the newest loaded file of a sanctions list is unusually old for its publisher: a mirror may serve an old file.',
      label: 'list',
      value: () => publicationsOld(freshness(), clock),
    },
    {
      name: 'assay_snapshot_behind_seconds',
      help: 'Time for which a node that pulls its labels has been behind its publisher or out of contact; 0 if it is up to date.',
      value: () => behindSeconds(replication()?.state ?? null, clock.now()),
    },
    {
      name: 'assay_storage_refused',
      help: 'Stores and folders that currently reject writes, for example because the disk is full.',
      value: () => refusedNow().length,
    },
    ...monitoringGauges(status.watching, clock),
    ...storeGauges(status.stores),
    ...leaseGauges(status),
    ...jobGauges(status.jobs),
    ...gasGauges(status),
    ...signerGauges(status),
  ];
}
