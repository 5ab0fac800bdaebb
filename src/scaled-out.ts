/**
 * One node of many, put together: what app.ts takes in place of the embedded parts where a Redis is named. Nothing else knows which
 * of the two is there.
 */
import { hostname } from 'node:os';
import { type Announcements, openAnnouncements } from './base/announcements.ts';
import type { Clock } from './base/clock.ts';
import { AssayError } from './base/errors.ts';
import { createRedisLeases } from './base/lease-redis.ts';
import { createEmbeddedLeases, type Leases } from './base/leases.ts';
import { type OpenStore, openLiveStore } from './base/live-store.ts';
import type { Logger } from './base/log.ts';
import type { Random } from './base/random.ts';
import type { RedisStore } from './base/redis.ts';
import { openReplicated } from './base/replicated-store.ts';
import { ROLES } from './base/roles.ts';
import { joinRoster, type Roster } from './base/roster.ts';
import { type ChainId, parseChainId } from './chains/registry.ts';
import type { Config } from './config.ts';
import type { ChunkRunner } from './jobs/chunks.ts';
import {
  type GraphUseCases,
  type HeldChains,
  type NodeFacts,
  placedUseCases,
  placementOf,
  shareChains,
  whereIs,
} from './jobs/placement.ts';
import type { Queues } from './jobs/queue-bullmq.ts';
import type { MonitoringChain } from './monitoring/records.ts';

export interface NodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What all nodes of the installation share, as this one has it. */
export interface Shared {
  readonly openStore: OpenStore;
  readonly leases: Leases;
  /** Names this process among all nodes. */
  readonly nodeId: string;
}

const NODE_ID_BYTES = 4;

/** `redis` is null where this process is the only one. Throws INVALID_CONFIG where the settings then leave something to nobody. */
export function openShared(config: Config, redis: RedisStore | null, deps: NodeDeps): Shared {
  const nodeId = `${hostname().slice(0, 64)}-${Buffer.from(deps.random.bytes(NODE_ID_BYTES)).toString('hex')}`;
  if (redis === null) {
    requireWhole(config);
    return { openStore: openLiveStore, leases: createEmbeddedLeases(), nodeId };
  }
  return {
    openStore: openReplicated({ ...deps, redis }),
    leases: createRedisLeases({ nodeId }, { ...deps, redis }),
    nodeId,
  };
}

/** One process does everything, since nobody else could know what is left to do. */
function requireWhole({ roles, graphChains }: Config): void {
  const refuse = (field: string, what: string): AssayError =>
    new AssayError(
      'INVALID_CONFIG',
      `${field} ${what}: without ASSAY_REDIS_URL this process is the only one.`,
      {
        field,
      },
    );
  if (roles.length < ROLES.length) throw refuse('ASSAY_ROLES', 'leaves out roles that nobody else has');
  if (graphChains !== 'all') throw refuse('ASSAY_GRAPH_CHAINS', 'leaves out chains that nobody else holds');
}

/** What this node is to the others while it serves. */
export interface Joined {
  /** Nodes that are there now. */
  nodes(): number;
  /** Who follows a chain; one that nobody can follow is not named. */
  dutyOf(chains: readonly MonitoringChain[]): ReadonlyMap<MonitoringChain, 'MINE' | 'OTHERS'>;
  /** The use cases of this node, asked of others where they hold the chain; and answered for others, where this node works. */
  placed(here: GraphUseCases): GraphUseCases;
  /** Chunks for all nodes that work; worked here too by `local`, where this node is one of them. */
  chunks(local: ChunkRunner): ChunkRunner;
  readonly announcements: Announcements;
  /** Ends what it works for others. What it asked of them is given up. */
  leave(): Promise<void>;
}

/** Chunks given out for each thread that works them: one that is worked, and one that waits for it. */
const CHUNKS_A_THREAD = 2;

/** Chains as the setting names them. Throws UNKNOWN_CHAIN. */
const heldBy = ({ graphChains }: Config): HeldChains =>
  graphChains === 'all' ? 'all' : graphChains.map((chain) => parseChainId(chain, 'ASSAY_GRAPH_CHAINS'));

/** Tells the other nodes of this one. Rejects with NOT_READY where Redis is away. */
export async function joinNodes(
  config: Config,
  { nodeId }: Shared,
  deps: NodeDeps & {
    readonly redis: RedisStore;
    readonly follows: readonly ChainId[];
    readonly threads: number;
  },
): Promise<Joined> {
  const { redis, follows, threads, log } = deps;
  const holds = heldBy(config);
  const facts: NodeFacts = { roles: config.roles, holds, follows, threads };
  const roster: Roster<NodeFacts> = await joinRoster<NodeFacts>({ nodeId, facts }, { redis, log });
  // Not before there is somebody to queue for: it is large.
  const { openQueues } = await import('./jobs/queue-bullmq.ts');
  const queues: Queues = openQueues(deps);
  const works = config.roles.includes('worker');
  const placement = placementOf(holds);

  const threadsOfWorkers = (): number =>
    roster
      .live()
      .reduce((sum, { facts: { roles, threads } }) => sum + (roles.includes('worker') ? threads : 0), 0);

  return {
    nodes: () => roster.live().length,
    dutyOf(chains) {
      const shares = shareChains(chains, roster.live());
      return new Map([...shares].map(([chain, id]) => [chain, id === nodeId ? 'MINE' : 'OTHERS']));
    },
    placed(here) {
      if (works && placement !== null) queues.answer(placement, here, threads * CHUNKS_A_THREAD);
      return placedUseCases(
        here,
        (chain) => whereIs(chain, holds, { live: roster.live(), gone: roster.gone() }),
        queues.ask,
      );
    },
    chunks(local) {
      if (works) queues.workChunks(local);
      return queues.chunkRunner(() => Math.max(1, CHUNKS_A_THREAD * threadsOfWorkers()));
    },
    announcements: openAnnouncements({ nodeId }, { redis, log }),
    async leave() {
      await roster.leave();
      await queues.close();
    },
  };
}
