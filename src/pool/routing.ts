/**
 * Routing of chains to nodes: the facts that every node announces, the node that follows each chain, and the node that answers a
 * request about a chain. Nodes that store the same chains form a group.
 */
import { AssayError } from '../base/errors.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import type { JobKind } from '../jobs/bulk-jobs.ts';
import type { ChunkTask } from '../jobs/chunks.ts';
import type { Member } from '../nodes/membership.ts';
import type { Role } from '../nodes/roles.ts';
import type { WorkerPool } from './pool.ts';
import type { RemoteRequest, RemoteResult, RoutedUseCases, TaskList, TaskRoute } from './task.ts';
import type { Tasks } from './tasks/index.ts';

/** Chains of which a node stores the transfers; `all`: every chain. */
export type StoredChains = 'all' | readonly ChainId[];

/** Facts that a node announces to the others. */
export interface NodeFacts {
  readonly roles: readonly Role[];
  readonly holds: StoredChains;
  /** Chains that it could follow, because it has access to a chain node. */
  readonly follows: readonly ChainId[];
  /** Chains whose chain node it cannot read at the moment; omitted if there are none. */
  readonly failing?: readonly ChainId[];
  /** Number of bulk job chunks that it processes at once. */
  readonly slots: number;
  /** Name of its jobs folder; omitted if it has none. */
  readonly jobsFolder?: string;
}

export type RoutingNode = Pick<Member<NodeFacts>, 'id' | 'facts'>;

/** The nodes that are live, and those that were live within the last day. */
export interface RoutingNodes {
  readonly live: readonly RoutingNode[];
  readonly gone: readonly RoutingNode[];
}

const isStored = (holds: StoredChains, chain: ChainId): boolean => holds === 'all' || holds.includes(chain);

/** Returns the name of a node's group: nodes of one group answer the same requests. Null if the node stores no chain. */
export function groupOf(holds: StoredChains): string | null {
  if (holds === 'all') return 'all';
  return holds.length === 0 ? null : [...holds].sort().join('-');
}

/**
 * Divides chains between the nodes that may follow them: listeners that store the chain and have access to a node of it. Each chain
 * goes to the node with the fewest chains so far; a node that cannot read the chain at the moment gets it only if no other can. The result
 * is the same on every node.
 */
export function assignChains<Chain extends ChainId>(
  chains: readonly Chain[],
  nodes: readonly RoutingNode[],
): ReadonlyMap<Chain, string> {
  const counts = new Map<string, number>();
  const assigned = new Map<Chain, string>();
  for (const chain of [...chains].sort()) {
    const able = nodes.filter(
      ({ facts }) =>
        facts.roles.includes('listener') && isStored(facts.holds, chain) && facts.follows.includes(chain),
    );
    const reading = able.filter(({ facts }) => !facts.failing?.includes(chain));
    const candidates = reading.length > 0 ? reading : able;
    let least: string | null = null;
    for (const { id } of candidates)
      if (least === null || (counts.get(id) ?? 0) < (counts.get(least) ?? 0)) least = id;
    if (least === null) continue;
    counts.set(least, (counts.get(least) ?? 0) + 1);
    assigned.set(chain, least);
  }
  return assigned;
}

/** Route of a request about a chain: this node, the nodes of some groups, or no node at the moment. */
export type Route =
  | { readonly kind: 'local' | 'unavailable' }
  | { readonly kind: 'remote'; readonly groups: readonly string[] };

/**
 * Routes a chain. A chain that this node does not store is sent to the workers that store it. If no node stores it, this node
 * answers, with a coverage that says that no transfers were read. But if a node stored it within the last day, such an answer would
 * look better than it is, so there is no answer.
 */
export function routeOf(chain: ChainId, own: StoredChains, nodes: RoutingNodes): Route {
  if (isStored(own, chain)) return { kind: 'local' };
  const stores = ({ facts }: RoutingNode): boolean =>
    facts.roles.includes('worker') && isStored(facts.holds, chain);
  const groups = new Set(nodes.live.filter(stores).flatMap(({ facts }) => groupOf(facts.holds) ?? []));
  if (groups.size > 0) return { kind: 'remote', groups: [...groups].sort() };
  return { kind: nodes.gone.some(stores) ? 'unavailable' : 'local' };
}

const LABEL_KINDS: ReadonlySet<JobKind> = new Set(['labels', 'sanctions']);

/**
 * Returns the group of the workers for a chunk; null if any worker can process it.
 *
 * @throws NOT_READY while the workers that store its chain are away; INVALID_REQUEST if its lines may be of any chain and no worker
 * stores all chains
 */
export function groupOfChunk(
  { kind, chain, chunk, verdict = false }: Pick<ChunkTask, 'kind' | 'chain' | 'chunk' | 'verdict'>,
  nodes: RoutingNodes,
): string | null {
  const workers = nodes.live.filter(({ facts }) => facts.roles.includes('worker'));
  const readsLabelsOnly = LABEL_KINDS.has(kind) && !verdict;
  if (readsLabelsOnly || workers.every(({ facts }) => facts.holds === 'all')) return null;
  if (chain === null) {
    if (workers.some(({ facts }) => facts.holds === 'all')) return 'all';
    throw new AssayError(
      'INVALID_REQUEST',
      `chain: a ${kind} job${verdict ? ' with verdicts' : ''} with lines of several chains needs a worker that stores all chains. Send one job for each chain.`,
      { field: 'chain' },
    );
  }
  const route = routeOf(chain, [], nodes);
  if (route.kind === 'unavailable') throw noNodeStores(chain);
  return route.kind === 'remote' ? (route.groups[chunk % route.groups.length] ?? null) : null;
}

const noNodeStores = (chain: string): AssayError =>
  new AssayError('NOT_READY', `No node that stores the transfers of ${chain} is available. Try again.`, {
    retryAfterSeconds: 5,
  });

/** Any routed task, for code that handles all of them alike. */
type AnyRoutedTask = { readonly name: string; readonly route: TaskRoute<unknown, unknown> };
type AnyUseCases = Readonly<Record<string, (message: unknown) => Promise<unknown>>>;

const routedTasks = (tasks: TaskList): readonly AnyRoutedTask[] =>
  tasks.filter((one) => 'route' in one) as unknown as readonly AnyRoutedTask[];

/** Creates the use cases of the routed tasks: each runs its task in the pool of this node. */
export function poolUseCases<List extends TaskList>(
  tasks: List,
  pool: WorkerPool<List>,
): RoutedUseCases<List> {
  const run = pool.run.bind(pool) as (name: string, message: unknown) => Promise<unknown>;
  return Object.fromEntries(
    routedTasks(tasks).map(({ name }) => [name, (message: unknown) => run(name, message)]),
  ) as unknown as RoutedUseCases<List>;
}

/**
 * Answers a request of another node.
 *
 * @throws the error of the task; NOT_READY if the other node has another version with a task that this one does not have
 */
export async function answerRemote<List extends TaskList>(
  tasks: List,
  useCases: RoutedUseCases<List>,
  { task, request }: RemoteRequest<List>,
): Promise<RemoteResult> {
  const routed = routedTasks(tasks).find(({ name }) => name === task);
  const run = (useCases as unknown as AnyUseCases)[task];
  if (routed === undefined || run === undefined)
    throw new AssayError('NOT_READY', `This node has no task ${task}: its version is another one.`, {
      retryAfterSeconds: 5,
    });
  return routed.route.toRemote(await run(request));
}

/**
 * Sends a request to the nodes of one of the groups.
 *
 * @throws the error of the other node, OVERLOADED, NOT_READY
 */
export type SendRemote<List extends TaskList = Tasks> = (
  groups: readonly string[],
  request: RemoteRequest<List>,
) => Promise<RemoteResult>;

/**
 * Wraps the use cases so that each request is routed by its chain. A request with an invalid chain is passed to the local use case,
 * which rejects it.
 */
export function routeUseCases<List extends TaskList>(
  tasks: List,
  local: RoutedUseCases<List>,
  routeTo: (chain: ChainId) => Route,
  send: SendRemote<List>,
): RoutedUseCases<List> {
  function routeOfText(text: string): Route {
    try {
      return routeTo(parseChainId(text));
    } catch (error) {
      if (error instanceof AssayError) return { kind: 'local' };
      throw error;
    }
  }
  const routed = ({ name, route }: AnyRoutedTask) =>
    async function run(message: unknown): Promise<unknown> {
      const chain = route.chainOf(message);
      const found = routeOfText(chain);
      switch (found.kind) {
        case 'local':
          return (local as unknown as AnyUseCases)[name]?.(message);
        case 'remote':
          return route.fromRemote(
            await send(found.groups, { task: name, request: message } as unknown as RemoteRequest<List>),
          );
        case 'unavailable':
          throw noNodeStores(chain.toUpperCase());
      }
    };
  return Object.fromEntries(
    routedTasks(tasks).map((one) => [one.name, routed(one)]),
  ) as unknown as RoutedUseCases<List>;
}
