/**
 * Assembles one node of a cluster: the services that app.ts uses instead of the embedded ones if a Redis is configured. No other module
 * distinguishes the two.
 */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import type { Config } from '../config/config.ts';
import type { ChunkRunner } from '../jobs/chunks.ts';
import {
  checkOfFolder,
  type FolderCheck,
  fromOthers,
  nameOfFolder,
  towardsOthers,
} from '../jobs/jobs-folder.ts';
import type { Duty } from '../monitoring/listener.ts';
import type { MonitoringChain } from '../monitoring/records.ts';
import { type Broadcast, openBroadcast } from '../nodes/broadcast.ts';
import { joinMembership, type Member } from '../nodes/membership.ts';
import { ROLES, type Role } from '../nodes/roles.ts';
import {
  answerRemote,
  assignChains,
  groupOf,
  groupOfChunk,
  type NodeFacts,
  routeOf,
  routeUseCases,
  type StoredChains,
} from '../pool/routing.ts';
import { type GraphUseCases, TASKS } from '../pool/tasks/index.ts';
import { createEmbeddedLeases, type Leases } from '../state/leases.ts';
import { createRedisLeases } from '../state/leases-redis.ts';
import { type LiveStore, type OpenStore, openLiveStore } from '../state/live-store.ts';
import type { RedisStore } from '../state/redis.ts';
import type { Installation } from '../state/redis-installation.ts';
import { openReplicated } from '../state/replicated-store.ts';

export interface NodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The services that all nodes of an installation share. */
export interface Shared {
  readonly openStore: OpenStore;
  /** Resolves when all stores opened so far contain the data of the other nodes. Rejects with NOT_READY, STORE_VERSION. */
  ready(): Promise<void>;
  /** The shared stores opened so far. */
  stores(): readonly (Pick<LiveStore, 'version' | 'isCurrent' | 'problem' | 'newerStates'> & {
    readonly name: string;
  })[];
  readonly leases: Leases;
  /** Unique id of this process among all nodes. */
  readonly nodeId: string;
  /** Scope of the installation; empty on a standalone machine. */
  readonly scope: string;
}

const NODE_ID_BYTES = 4;

/** The Redis that the nodes of an installation share. */
export interface SharedRedis {
  readonly redis: RedisStore;
  readonly installation: Installation;
}

/** Opens the shared services; with `of` null, the embedded ones of a standalone process. */
export function openShared(of: SharedRedis | null, deps: NodeDeps): Shared {
  const nodeId = `${hostname().slice(0, 64)}-${Buffer.from(deps.random.bytes(NODE_ID_BYTES)).toString('hex')}`;
  if (of === null)
    return {
      openStore: openLiveStore,
      ready: async () => {},
      stores: () => [],
      leases: createEmbeddedLeases(),
      nodeId,
      scope: '',
    };
  const { scope } = of.installation;
  const openStore = openReplicated({ ...deps, ...of });
  const opened: (LiveStore & { readonly name: string })[] = [];
  // In a Redis that was emptied, all leases are free. A node without a usable store would then do work that it cannot record, and send the
  // same alert again and again; the same is true for a node with a full disk. So neither may take leases.
  const isUsable = (store: string): boolean => {
    const problem = opened.find(({ name }) => name === store)?.problem() ?? null;
    return problem === null || problem.kind === 'away';
  };
  return {
    openStore(...store) {
      const live = openStore(...store);
      opened.push({ ...live, name: store[2].name });
      return live;
    },
    async ready() {
      for (const store of opened) await store.ready();
    },
    stores: () => opened,
    leases: createRedisLeases({ nodeId, scope, isUsable }, { ...deps, ...of }),
    nodeId,
    scope,
  };
}

/** A node of the installation. */
export interface NodeState {
  readonly id: string;
  readonly roles: readonly Role[];
  /** False if it left, or missed its heartbeats. */
  readonly isLive: boolean;
  /** Time since its last heartbeat. */
  readonly silentMs: number;
  /** Time of its start, in ms since the epoch; null if it is not known. */
  readonly sinceMs: number | null;
}

/** The role of this node in the cluster while it serves. */
export interface NodeConnection {
  /** The live nodes, including this one, and those that were present within the last day. */
  nodes(): readonly NodeState[];
  /** Returns which node follows each chain; a chain that no node can follow is omitted. */
  dutyOf(chains: readonly MonitoringChain[]): ReadonlyMap<MonitoringChain, Duty>;
  /** Announces the chains that this node cannot read at the moment, so that other nodes follow them. */
  announceFailing(chains: readonly MonitoringChain[]): void;
  /** Routes use cases to the nodes that store the chain. If this node has the role worker, it also processes those of other nodes. */
  routed(local: GraphUseCases): GraphUseCases;
  /** Returns a runner that distributes chunks over all workers; if this node is a worker, it runs chunks with `local`. */
  chunks(local: ChunkRunner): ChunkRunner;
  /** Null if there are no other nodes. */
  readonly broadcast: Broadcast | null;
  /** Why the shared Redis cannot acknowledge writes, as a sentence; null if it can. */
  problem(): string | null;
  /** Whether too few replicas of Redis follow their master to acknowledge writes. */
  lacksReplicas(): boolean;
  /** Stops the work for other nodes. Pending requests to other nodes are abandoned. */
  leave(): Promise<void>;
}

/** Returns the connection of a standalone process, which follows all chains that it is configured for. */
const standalone = (self: NodeState, follows: readonly ChainId[]): NodeConnection => ({
  nodes: () => [self],
  dutyOf: (chains) =>
    new Map(chains.filter((chain) => follows.includes(chain)).map((chain) => [chain, 'MINE'])),
  announceFailing: () => {},
  routed: (local) => local,
  chunks: (local) => local,
  broadcast: null,
  problem: () => null,
  lacksReplicas: () => false,
  leave: async () => {},
});

export interface JoinDeps extends NodeDeps {
  /** Null if this process is standalone. */
  readonly redis: RedisStore | null;
  readonly roles: readonly Role[];
  /** Chains for which this node is configured. */
  readonly follows: readonly ChainId[];
  /** Threads of the pool that processes requests. */
  readonly threads: number;
  /** Chunks that this node processes concurrently. */
  readonly slots: number;
  /** Path of the jobs folder on this node. */
  readonly jobsFolder: string;
}

/** Chunks distributed per slot: one runs, and another waits on the same node. */
const CHUNKS_A_SLOT = 2;
/** The leases of these stores divide the work. */
const LEASED_STORES = ['monitoring', 'jobs', 'log'] as const;
/** Maximum age of the leases in `/ready` and metrics: a take-over takes 7 s. */
const LEASES_LOOK_MS = 2_000;
/** Interval between checks of the jobs folder by a worker. */
const FOLDER_LOOK_MS = 1_000;
/** Concurrent requests from other nodes per thread: they may spend most of their time waiting for a chain. */
const REQUESTS_PER_THREAD = 4;

/** Throws INVALID_CONFIG if a standalone process leaves out a role or a chain, because no other node would take it. */
export function requireWhole(roles: readonly Role[], { graphChains }: Pick<Config, 'graphChains'>): void {
  const refuse = (field: string, what: string): AssayError =>
    new AssayError(
      'INVALID_CONFIG',
      `${field} ${what}: needs ASSAY_REDIS_URL, because without it this process is the only node.`,
      { field },
    );
  if (roles.length < ROLES.length)
    throw refuse('ASSAY_ROLES', `leaves out ${ROLES.filter((role) => !roles.includes(role)).join(', ')}`);
  if (graphChains !== 'all') throw refuse('ASSAY_GRAPH_CHAINS', 'leaves chains to other nodes');
}

/**
 * Joins the cluster, if there is one.
 *
 * @throws INVALID_CONFIG, UNKNOWN_CHAIN, NOT_READY
 */
export async function connectNode(
  config: Config,
  { nodeId, scope, leases }: Shared,
  deps: JoinDeps,
): Promise<NodeConnection> {
  const { redis, roles, follows, threads, slots, jobsFolder, clock, random, log } = deps;
  if (redis === null) {
    requireWhole(roles, config);
    return standalone({ id: nodeId, roles, isLive: true, silentMs: 0, sinceMs: clock.now() }, follows);
  }
  const { graphChains } = config;
  const holds: StoredChains =
    graphChains === 'all' ? 'all' : graphChains.map((chain) => parseChainId(chain, 'ASSAY_GRAPH_CHAINS'));
  const hasJobs = roles.includes('api') || roles.includes('worker');
  const folderName = hasJobs ? await nameOfFolder(jobsFolder, random) : null;
  const facts: NodeFacts = {
    roles,
    holds,
    follows,
    slots,
    ...(folderName === null ? {} : { jobsFolder: folderName }),
  };
  const membership = await joinMembership<NodeFacts>({ nodeId, facts, scope }, { redis, log });
  const differing = membership
    .live()
    .filter(({ facts: { jobsFolder: name = folderName } }) => name !== folderName);
  if (folderName !== null && differing.length > 0) {
    const sentence = `ASSAY_JOBS_DIR: ${jobsFolder} is not the folder of jobs of ${differing.map(({ id }) => id).join(', ')}: all nodes with the roles api and worker must share one.`;
    if (config.jobsDir !== null) {
      // Otherwise the other nodes would report, for a day, chains that only this node was to hold as unavailable.
      await membership.expire();
      throw new AssayError('INVALID_CONFIG', sentence, { field: 'ASSAY_JOBS_DIR' });
    }
    // The folder is the default: an installation without jobs does not need a shared one.
    log.error(sentence);
  }
  // Imported only in a cluster, because the module is large.
  const queues = await import('../pool/queues.ts')
    .then(({ openQueues }) => openQueues({ ...deps, redis, scope }))
    .catch(async (error: unknown) => {
      await membership.leave();
      throw error;
    });
  redis.watchReplicas();
  const lookAtLeases = (): void =>
    void leases
      .look(LEASED_STORES)
      .catch((error: unknown) =>
        log.debug({ error: messageOf(error) }, 'The holders of leases are currently unknown.'),
      );
  lookAtLeases();
  const leasesLook = setInterval(lookAtLeases, LEASES_LOOK_MS);
  leasesLook.unref();
  const works = roles.includes('worker');
  const group = groupOf(holds);
  const check: FolderCheck = folderName === null ? async () => null : checkOfFolder(jobsFolder, folderName);
  let folderLook: NodeJS.Timeout | undefined;
  log.info({ node: nodeId, roles, holds, nodes: membership.live().length }, 'node joined');

  const stateOf =
    (isLive: boolean) =>
    ({ id, facts, silentMs, sinceMs }: Member<NodeFacts>): NodeState => ({
      ...{ id, roles: facts.roles, isLive, silentMs, sinceMs },
    });
  return {
    nodes: () => [...membership.live().map(stateOf(true)), ...membership.gone().map(stateOf(false))],
    dutyOf(chains) {
      const shares = assignChains(chains, membership.live());
      return new Map([...shares].map(([chain, id]) => [chain, id === nodeId ? 'MINE' : 'OTHERS']));
    },
    announceFailing(chains) {
      membership.setFacts(chains.length === 0 ? facts : { ...facts, failing: chains });
    },
    routed(local) {
      if (works && group !== null)
        queues.answer(group, (request) => answerRemote(TASKS, local, request), threads * REQUESTS_PER_THREAD);
      return routeUseCases(
        TASKS,
        local,
        (chain) => routeOf(chain, holds, { live: membership.live(), gone: membership.gone() }),
        queues.send,
      );
    },
    chunks(local) {
      if (works) {
        const working = queues.workChunks(fromOthers(local, jobsFolder, { log, check }), group);
        // A worker that fails at once would otherwise take most of the chunks.
        folderLook = setInterval(
          () => void check().then((reason) => (reason === null ? working.resume() : working.pause())),
          FOLDER_LOOK_MS,
        );
        folderLook.unref();
      }
      const nodes = () => ({ live: membership.live(), gone: membership.gone() });
      const runner = queues.chunkRunner({
        slots() {
          const workers = membership.live().filter((node) => node.facts.roles.includes('worker'));
          return Math.max(1, CHUNKS_A_SLOT * workers.reduce((sum, node) => sum + node.facts.slots, 0));
        },
        groupOf: (task) => groupOfChunk(task, nodes()),
      });
      return towardsOthers(runner, jobsFolder);
    },
    broadcast: openBroadcast({ nodeId, scope }, { redis, log }),
    problem: () => redis.problem(),
    lacksReplicas: () => redis.lacksReplicas(),
    async leave() {
      clearInterval(leasesLook);
      clearInterval(folderLook);
      await membership.leave();
      await queues.close();
    },
  };
}
