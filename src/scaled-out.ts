/**
 * One node of many, put together: what app.ts takes in place of the embedded parts where a Redis is named. Nothing else knows which
 * of the two is there.
 */
import { hostname } from 'node:os';
import { type Announcements, openAnnouncements } from './base/announcements.ts';
import type { Clock } from './base/clock.ts';
import { AssayError, messageOf } from './base/errors.ts';
import { createEmbeddedLeases, type Leases } from './base/leases.ts';
import { createRedisLeases } from './base/leases-redis.ts';
import { type LiveStore, type OpenStore, openLiveStore } from './base/live-store.ts';
import type { Logger } from './base/log.ts';
import type { Random } from './base/random.ts';
import type { RedisStore } from './base/redis.ts';
import type { Installation } from './base/redis-installation.ts';
import { openReplicated } from './base/replicated-store.ts';
import { ROLES, type Role } from './base/roles.ts';
import { joinRoster } from './base/roster.ts';
import { type ChainId, parseChainId } from './chains/registry.ts';
import type { Config } from './config.ts';
import type { ChunkRunner } from './jobs/chunks.ts';
import { fromOthers, nameOfFolder, towardsOthers } from './jobs/jobs-folder.ts';
import {
  type GraphUseCases,
  type HeldChains,
  type NodeFacts,
  placedUseCases,
  placementOf,
  placementOfChunk,
  shareChains,
  whereIs,
} from './jobs/placement.ts';
import type { Duty } from './monitoring/listener.ts';
import type { MonitoringChain } from './monitoring/records.ts';

export interface NodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What all nodes of the installation share, as this one has it. */
export interface Shared {
  readonly openStore: OpenStore;
  /** Resolves when all stores that were opened so far hold what the others wrote. Rejects with NOT_READY, STORE_VERSION. */
  ready(): Promise<void>;
  /** The stores that were opened so far, where they are shared. */
  stores(): readonly (Pick<LiveStore, 'version' | 'isCurrent' | 'problem'> & { readonly name: string })[];
  readonly leases: Leases;
  /** Names this process among all nodes. */
  readonly nodeId: string;
  /** Of the installation; empty on a machine that is alone. */
  readonly scope: string;
}

const NODE_ID_BYTES = 4;

/** The Redis that the nodes of an installation share. */
export interface SharedRedis {
  readonly redis: RedisStore;
  readonly installation: Installation;
}

/** `of` is null where this process is the only one. */
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
  // In a Redis that was emptied, all leases are free. A node whose store is lost there would do work that it cannot write down, and send the
  // same alert again and again; so would one whose replica is on a full disk.
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

/** What this node is to the others while it serves. */
export interface Joined {
  /** Nodes that are there now, this one among them. */
  nodes(): number;
  /** Who follows a chain; one that nobody can follow is not named. */
  dutyOf(chains: readonly MonitoringChain[]): ReadonlyMap<MonitoringChain, Duty>;
  /** The use cases of this node, asked of others where they hold the chain; and answered for others, where this node works. */
  placed(here: GraphUseCases): GraphUseCases;
  /** Chunks for all nodes that work; worked here too by `local`, where this node is one of them. */
  chunks(local: ChunkRunner): ChunkRunner;
  /** Null where there is nobody to tell. */
  readonly announcements: Announcements | null;
  /** Why the Redis that the nodes share cannot acknowledge what is written, in a sentence; null if it can. */
  problem(): string | null;
  /** Ends what it works for others. What it asked of them is given up. */
  leave(): Promise<void>;
}

const ALONE: Joined = {
  nodes: () => 1,
  dutyOf: (chains) => new Map(chains.map((chain) => [chain, 'MINE'])),
  placed: (here) => here,
  chunks: (local) => local,
  announcements: null,
  problem: () => null,
  leave: async () => {},
};

export interface JoinDeps extends NodeDeps {
  /** Null where this process is the only one. */
  readonly redis: RedisStore | null;
  readonly roles: readonly Role[];
  /** Chains that a node is configured for. */
  readonly follows: readonly ChainId[];
  /** Of the pool that answers requests. */
  readonly threads: number;
  /** Chunks that this node works at once. */
  readonly slots: number;
  /** Where this node has the folder of jobs. */
  readonly jobsFolder: string;
}

/** Chunks given out for each that is worked: another waits for it there. */
const CHUNKS_A_SLOT = 2;
/** Stores under whose leases work is divided. */
const LEASED_STORES = ['monitoring', 'jobs'] as const;
/** How old `/ready` and metrics may be about leases: a take-over takes 7 s. */
const LEASES_LOOK_MS = 2_000;
/** Questions of others taken at once for each thread: most of their time may be waiting for a chain. */
const QUESTIONS_A_THREAD = 4;

/** Throws INVALID_CONFIG where one process would leave something to nobody. */
function requireWhole(roles: readonly Role[], { graphChains }: Config): void {
  const refuse = (field: string, what: string): AssayError =>
    new AssayError(
      'INVALID_CONFIG',
      `${field} ${what}: without ASSAY_REDIS_URL this process is the only one.`,
      { field },
    );
  if (roles.length < ROLES.length)
    throw refuse('ASSAY_ROLES', `leaves out ${ROLES.filter((role) => !roles.includes(role)).join(', ')}`);
  if (graphChains !== 'all') throw refuse('ASSAY_GRAPH_CHAINS', 'leaves chains to others');
}

/** Tells the other nodes of this one, where there are any. Rejects with INVALID_CONFIG, UNKNOWN_CHAIN, NOT_READY. */
export async function joinNodes(
  config: Config,
  { nodeId, scope, leases }: Shared,
  deps: JoinDeps,
): Promise<Joined> {
  const { redis, roles, follows, threads, slots, jobsFolder, random, log } = deps;
  if (redis === null) {
    requireWhole(roles, config);
    return ALONE;
  }
  const { graphChains } = config;
  const holds: HeldChains =
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
  const roster = await joinRoster<NodeFacts>({ nodeId, facts, scope }, { redis, log });
  const strangers = roster
    .live()
    .filter(({ facts: { jobsFolder: name = folderName } }) => name !== folderName);
  if (folderName !== null && strangers.length > 0) {
    const sentence = `ASSAY_JOBS_DIR: ${jobsFolder} is not the folder of jobs of ${strangers.map(({ id }) => id).join(', ')}: all nodes with the roles api and worker share one.`;
    if (config.jobsDir !== null) {
      // Or chains that it alone would have held were missed for a day.
      await roster.forget();
      throw new AssayError('INVALID_CONFIG', sentence, { field: 'ASSAY_JOBS_DIR' });
    }
    // Nobody named one: who sends no jobs needs none.
    log.error(sentence);
  }
  // Not before there is somebody to queue for: it is large.
  const queues = await import('./jobs/queue-bullmq.ts')
    .then(({ openQueues }) => openQueues({ ...deps, redis, scope }))
    .catch(async (error: unknown) => {
      await roster.leave();
      throw error;
    });
  redis.watchReplicas();
  const lookAtLeases = (): void =>
    void leases
      .look(LEASED_STORES)
      .catch((error: unknown) =>
        log.debug({ error: messageOf(error) }, 'The holders of leases are not known at the moment.'),
      );
  lookAtLeases();
  const leasesLook = setInterval(lookAtLeases, LEASES_LOOK_MS);
  leasesLook.unref();
  const works = roles.includes('worker');
  const placement = placementOf(holds);
  log.info({ node: nodeId, roles, holds, nodes: roster.live().length }, 'This node has joined the others.');

  return {
    nodes: () => roster.live().length,
    dutyOf(chains) {
      const shares = shareChains(chains, roster.live());
      return new Map([...shares].map(([chain, id]) => [chain, id === nodeId ? 'MINE' : 'OTHERS']));
    },
    placed(here) {
      if (works && placement !== null) queues.answer(placement, here, threads * QUESTIONS_A_THREAD);
      return placedUseCases(
        here,
        (chain) => whereIs(chain, holds, { live: roster.live(), gone: roster.gone() }),
        queues.ask,
      );
    },
    chunks(local) {
      if (works) queues.workChunks(fromOthers(local, jobsFolder, { log }), placement);
      const nodes = () => ({ live: roster.live(), gone: roster.gone() });
      const runner = queues.chunkRunner({
        slots() {
          const workers = roster.live().filter((node) => node.facts.roles.includes('worker'));
          return Math.max(1, CHUNKS_A_SLOT * workers.reduce((sum, node) => sum + node.facts.slots, 0));
        },
        placementOf: (task) => placementOfChunk(task, nodes()),
      });
      return towardsOthers(runner, jobsFolder);
    },
    announcements: openAnnouncements({ nodeId, scope }, { redis, log }),
    problem: () => redis.problem(),
    async leave() {
      clearInterval(leasesLook);
      await roster.leave();
      await queues.close();
    },
  };
}
