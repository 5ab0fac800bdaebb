/**
 * Which node holds which chain's transfers: what every node tells the others of itself, who follows a chain, and where a question
 * about a chain is answered.
 */
import { AssayError } from '../base/errors.ts';
import type { Role } from '../base/roles.ts';
import type { RosterNode } from '../base/roster.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import type { KytRequest } from '../screening/kyt.ts';
import type { ScreeningRequest } from '../screening/screen.ts';
import type { TraceRequest, TraceResult } from '../screening/trace.ts';
import type { JobKind } from './bulk-jobs.ts';
import type { ChunkTask } from './chunks.ts';

/** Chains whose transfers a node holds; `all`: every chain that is there. */
export type HeldChains = 'all' | readonly ChainId[];

/** What a node tells the others. */
export interface NodeFacts {
  readonly roles: readonly Role[];
  readonly holds: HeldChains;
  /** Chains that it has a node of, so that it could follow them. */
  readonly follows: readonly ChainId[];
  /** Chunks of bulk jobs that it works at once. */
  readonly slots: number;
  /** Name of its folder of jobs; left out where it has none. */
  readonly jobsFolder?: string;
}

export type PlacedNode = RosterNode<NodeFacts>;

const isHeld = (holds: HeldChains, chain: ChainId): boolean => holds === 'all' || holds.includes(chain);

/** Names what a node holds: nodes of one name answer each other's questions. Null where it holds nothing. */
export function placementOf(holds: HeldChains): string | null {
  if (holds === 'all') return 'all';
  return holds.length === 0 ? null : [...holds].sort().join('-');
}

/**
 * Divides chains between the nodes that may follow them: a listener that holds the chain and has a node of it. One chain after the
 * other goes to whoever has the fewest. The same nodes and chains give the same answer everywhere.
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

/** Where a question about a chain is answered: on this node, by those of a placement, or by nobody at the moment. */
export type Whereabouts =
  | { readonly kind: 'HERE' | 'AWAY' }
  | { readonly kind: 'THERE'; readonly placements: readonly string[] };

/**
 * A chain that this node does not hold is asked of the workers that hold it. One that nobody holds is answered here, and its coverage
 * says that nothing was read; but where somebody held it within the last day, an answer without its transfers would look like a
 * better one than it is, and there is none.
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
 * The placement whose workers a chunk is for; null where any of them will do. Throws NOT_READY while those that hold its chain are
 * away, INVALID_REQUEST where its lines may be of any chain and no worker holds all.
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

/** What is asked of a chain's transfers. */
export interface GraphUseCases {
  screening(request: ScreeningRequest): Promise<Uint8Array>;
  kyt(request: KytRequest): Promise<Uint8Array>;
  trace(request: TraceRequest): Promise<TraceResult>;
}

/** One of these questions as it travels. */
export type GraphQuestion =
  | { readonly task: 'screening'; readonly request: ScreeningRequest }
  | { readonly task: 'kyt'; readonly request: KytRequest }
  | { readonly task: 'trace'; readonly request: TraceRequest };

/** The answer to any of them; `isKnown` is true where the use case does not say. */
export async function answerQuestion(question: GraphQuestion, of: GraphUseCases): Promise<TraceResult> {
  if (question.task === 'trace') return of.trace(question.request);
  const data = await (question.task === 'screening'
    ? of.screening(question.request)
    : of.kyt(question.request));
  return { data, isKnown: true };
}

/** Sends a question to the nodes of one of the placements. Rejects with what they answer, OVERLOADED, NOT_READY. */
export type AskElsewhere = (placements: readonly string[], question: GraphQuestion) => Promise<TraceResult>;

/** The use cases, each asked where its chain is held. A chain that is none is refused here, in the use case's own words. */
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
