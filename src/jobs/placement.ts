/**
 * Routing of chains to nodes: the facts that every node announces, the node that follows each chain, and the node that answers a
 * request about a chain.
 */
import { AssayError } from '../base/errors.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import type { Member } from '../nodes/membership.ts';
import type { Role } from '../nodes/roles.ts';
import type { KytRequest } from '../screening/kyt.ts';
import type { ScreeningRequest } from '../screening/screen.ts';
import type { TraceRequest, TraceResult } from '../screening/trace.ts';
import type { JobKind } from './bulk-jobs.ts';
import type { ChunkTask } from './chunks.ts';

/** Chains of which a node stores the transfers; `all`: every chain. */
export type HeldChains = 'all' | readonly ChainId[];

/** Facts that a node announces to the others. */
export interface NodeFacts {
  readonly roles: readonly Role[];
  readonly holds: HeldChains;
  /** Chains that it could follow, because it has access to a chain node. */
  readonly follows: readonly ChainId[];
  /** Number of bulk job chunks that it processes at once. */
  readonly slots: number;
  /** Name of its jobs folder; omitted if it has none. */
  readonly jobsFolder?: string;
}

export type PlacedNode = Member<NodeFacts>;

const isHeld = (holds: HeldChains, chain: ChainId): boolean => holds === 'all' || holds.includes(chain);

/** Names the set of chains that a node stores: nodes with the same name answer the same requests. Null if it stores none. */
export function placementOf(holds: HeldChains): string | null {
  if (holds === 'all') return 'all';
  return holds.length === 0 ? null : [...holds].sort().join('-');
}

/**
 * Divides chains between the nodes that may follow them: listeners that store the chain and have access to a node of it. Each chain
 * goes to the node with the fewest chains so far. The result is the same on every node.
 */
export function shareChains<Chain extends ChainId>(
  chains: readonly Chain[],
  nodes: readonly PlacedNode[],
): ReadonlyMap<Chain, string> {
  const counts = new Map<string, number>();
  const shared = new Map<Chain, string>();
  for (const chain of [...chains].sort()) {
    const able = nodes.filter(
      ({ facts }) =>
        facts.roles.includes('listener') && isHeld(facts.holds, chain) && facts.follows.includes(chain),
    );
    let least: string | null = null;
    for (const { id } of able)
      if (least === null || (counts.get(id) ?? 0) < (counts.get(least) ?? 0)) least = id;
    if (least === null) continue;
    counts.set(least, (counts.get(least) ?? 0) + 1);
    shared.set(chain, least);
  }
  return shared;
}

/** Route of a request about a chain: this node, the nodes of a placement, or none at the moment. */
export type Whereabouts =
  | { readonly kind: 'HERE' | 'AWAY' }
  | { readonly kind: 'THERE'; readonly placements: readonly string[] };

/**
 * Routes a chain. A chain that this node does not store is sent to the workers that store it. If no node stores it, this node
 * answers, with a coverage that says that no transfers were read. But if a node stored it within the last day, such an answer would
 * look better than it is, so there is no answer.
 */
export function whereIs(
  chain: ChainId,
  own: HeldChains,
  nodes: { readonly live: readonly PlacedNode[]; readonly gone: readonly PlacedNode[] },
): Whereabouts {
  if (isHeld(own, chain)) return { kind: 'HERE' };
  const holds = ({ facts }: PlacedNode): boolean =>
    facts.roles.includes('worker') && isHeld(facts.holds, chain);
  const placements = new Set(nodes.live.filter(holds).flatMap(({ facts }) => placementOf(facts.holds) ?? []));
  if (placements.size > 0) return { kind: 'THERE', placements: [...placements].sort() };
  return { kind: nodes.gone.some(holds) ? 'AWAY' : 'HERE' };
}

const KINDS_OF_LABELS: ReadonlySet<JobKind> = new Set(['labels', 'sanctions']);

/**
 * Returns the placement of the workers for a chunk; null if any worker can process it.
 *
 * @throws NOT_READY while the workers that store its chain are away; INVALID_REQUEST if its lines may be of any chain and no worker
 * stores all chains
 */
export function placementOfChunk(
  { kind, chain, chunk, verdict = false }: Pick<ChunkTask, 'kind' | 'chain' | 'chunk' | 'verdict'>,
  nodes: { readonly live: readonly PlacedNode[]; readonly gone: readonly PlacedNode[] },
): string | null {
  const workers = nodes.live.filter(({ facts }) => facts.roles.includes('worker'));
  const isOfLabels = KINDS_OF_LABELS.has(kind) && !verdict;
  if (isOfLabels || workers.every(({ facts }) => facts.holds === 'all')) return null;
  if (chain === null) {
    if (workers.some(({ facts }) => facts.holds === 'all')) return 'all';
    throw new AssayError(
      'INVALID_REQUEST',
      `chain: a job of ${kind}${verdict ? ' with verdicts' : ''} whose lines are of several chains needs a worker that holds all of them; send one for each chain.`,
      { field: 'chain' },
    );
  }
  const found = whereIs(chain, [], nodes);
  if (found.kind === 'AWAY') throw nobodyHolds(chain);
  return found.kind === 'THERE' ? (found.placements[chunk % found.placements.length] ?? null) : null;
}

const nobodyHolds = (chain: string): AssayError =>
  new AssayError(
    'NOT_READY',
    `No node that holds the transfers of ${chain} is there at the moment. Try again.`,
    { retryAfterSeconds: 5 },
  );

/** Use cases that read a chain's transfers. */
export interface GraphUseCases {
  screening(request: ScreeningRequest): Promise<Uint8Array>;
  kyt(request: KytRequest): Promise<Uint8Array>;
  trace(request: TraceRequest): Promise<TraceResult>;
}

/** One request to these use cases, as sent between nodes. */
export type GraphQuestion =
  | { readonly task: 'screening'; readonly request: ScreeningRequest }
  | { readonly task: 'kyt'; readonly request: KytRequest }
  | { readonly task: 'trace'; readonly request: TraceRequest };

/** Runs the use case of a question; `isKnown` is true if the use case does not report it. */
export async function answerQuestion(question: GraphQuestion, of: GraphUseCases): Promise<TraceResult> {
  if (question.task === 'trace') return of.trace(question.request);
  const data = await (question.task === 'screening'
    ? of.screening(question.request)
    : of.kyt(question.request));
  return { data, isKnown: true };
}

/**
 * Sends a question to the nodes of one of the placements.
 *
 * @throws the error of the other node, OVERLOADED, NOT_READY
 */
export type AskElsewhere = (placements: readonly string[], question: GraphQuestion) => Promise<TraceResult>;

/**
 * Wraps the use cases so that each request is routed by its chain. An invalid chain is passed to the local use case, which rejects
 * it.
 */
export function placedUseCases(
  here: GraphUseCases,
  where: (chain: ChainId) => Whereabouts,
  ask: AskElsewhere,
): GraphUseCases {
  function whereOf(text: string): Whereabouts {
    try {
      return where(parseChainId(text));
    } catch (error) {
      if (error instanceof AssayError) return { kind: 'HERE' };
      throw error;
    }
  }
  async function answer(question: GraphQuestion): Promise<TraceResult> {
    const found = whereOf(question.request.chain);
    if (found.kind === 'HERE') return answerQuestion(question, here);
    if (found.kind === 'THERE') return ask(found.placements, question);
    throw nobodyHolds(question.request.chain.toUpperCase());
  }
  return {
    screening: async (request) => (await answer({ task: 'screening', request })).data,
    kyt: async (request) => (await answer({ task: 'kyt', request })).data,
    trace: (request) => answer({ task: 'trace', request }),
  };
}
