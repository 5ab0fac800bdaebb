/**
 * Bridges in a trace: the addresses that paid into or out of a bridge, and their transfers on the chains that the bridge leads
 * to.
 */

import { twoDecimals } from '../base/figures.ts';
import { type ChainId, isEvm } from '../chains/registry.ts';
import type { NodeId } from '../graph/graph.ts';
import type { WalkDirection } from '../graph/kernels/stops.ts';
import type { Traversal } from '../graph/kernels/traverse.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Direction } from '../graph/transfers.ts';
import type { EntitySummary } from './answers.ts';
import type { Assessor, Place, Reading } from './assess.ts';
import { type Attribution, isBridge } from './attribution.ts';
import type { ScreeningDeps } from './deps.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { shownNode } from './subject.ts';
import type { BridgeCrossing } from './trace-answers.ts';
import { GraphAnswer, walk } from './trace-graph.ts';
import { weighingOf } from './weighing.ts';

interface Walked {
  readonly reading: Reading;
  readonly place: Place;
  readonly walked: Traversal;
  readonly direction: WalkDirection;
  readonly hops: number;
}

/** One use of a bridge that the trace met. */
interface BridgeUse {
  readonly holder: NodeId;
  readonly bridge: NodeId;
  readonly attribution: Attribution;
  readonly entity: EntitySummary;
  /** `out` means into the bridge. */
  readonly direction: Direction;
  readonly holderDepth: number;
  readonly valueUsd: number;
  readonly transfers: number;
  readonly unpriced: number;
}

const OTHER_WAY: Readonly<Record<Direction, Direction>> = { in: 'out', out: 'in' };

/** Returns the uses of bridges among the edges of a walk, greatest known USD first, at most `crossingsMax`. */
function bridgeUses({ place, walked, direction }: Walked): BridgeUse[] {
  const { nodes, depths, edges } = walked;
  const depthOf = new Map<NodeId, number>();
  for (let at = 0; at < nodes.length; at++) depthOf.set(nodes[at] as number, depths[at] as number);
  const uses: BridgeUse[] = [];
  const add = (at: number, way: Direction): void => {
    const from = edges.from[at] as number;
    const to = edges.to[at] as number;
    const [holder, bridge] = way === 'out' ? [from, to] : [to, from];
    const attribution = place.attributions.of(bridge);
    const { entity } = attribution;
    if (!isBridge(attribution) || entity === null) return;
    // Between two bridge contracts, money does not leave the bridges.
    if (isBridge(place.attributions.of(holder))) return;
    uses.push({
      holder,
      bridge,
      attribution,
      entity,
      direction: way,
      holderDepth: depthOf.get(holder) ?? 0,
      valueUsd: edges.valueUsd[at] as number,
      transfers: edges.transfers[at] as number,
      unpriced: edges.unpriced[at] as number,
    });
  };
  for (let at = 0; at < edges.count; at++) {
    if (direction !== 'in') add(at, 'out');
    if (direction !== 'out') add(at, 'in');
  }
  return uses
    .sort(
      (a, b) =>
        b.valueUsd - a.valueUsd || b.unpriced - a.unpriced || a.holder - b.holder || a.bridge - b.bridge,
    )
    .slice(0, SCREENING_LIMITS.crossingsMax);
}

/** The destinations of a bridge, as far as they are known. */
interface Destinations {
  /** All chains of the registry that the bridge connects with this one. */
  readonly connected: readonly ChainId[];
  /** The only chain on the other side; null if there are several, or none is known. */
  readonly only: ChainId | null;
  /** Chains on which the holder's own address can exist. */
  readonly chains: readonly ChainId[];
  /** Text for the explanation. */
  readonly led: string;
}

function destinationsOf(use: BridgeUse, { place, reading }: Walked, deps: ScreeningDeps): Destinations {
  const here = reading.subject.chain;
  const key = place.graph.keyOf(use.bridge);
  const hit = deps.bridges.of(here, key) ?? deps.bridges.ofEntity(here, use.attribution.entityId);
  const isOut = use.direction === 'out';
  if (hit === null) {
    const led = isOut
      ? `Where ${use.entity.name} leads is not known`
      : `The chain from which ${use.entity.name} paid is not known`;
    return { connected: [], only: null, chains: [], led };
  }
  const all = [...hit.counterparts, ...hit.elsewhere];
  const stated = hit.recipient === 'STATED' && isOut ? ', to the address that the deposit names' : '';
  return {
    connected: hit.counterparts,
    only: all.length === 1 ? (hit.counterparts[0] ?? null) : null,
    chains: hit.sameAddress,
    led: `${hit.name} ${isOut ? 'leads to' : 'brings value from'} ${all.join(', ')}${stated}`,
  };
}

/** Returns the holder on another chain; null if none of its transfers is known there. */
function placeOn(
  chain: ChainId,
  use: BridgeUse,
  { place, reading }: Walked,
  deps: ScreeningDeps,
  assessor: Assessor,
): Place | null {
  const graph = deps.transfers.graph(chain);
  const node = graph?.idOf(place.graph.keyOf(use.holder)) ?? null;
  if (graph === null || node === null) return null;
  const attributions = assessor.attributions(graph, reading.reader, null);
  return { graph, node, attributions, weighing: weighingOf(chain, deps) };
}

/** Returns true if the same bridge also traded with the holder on the other chain, in the opposite direction. */
function meetsBridge({ graph, node, attributions }: Place, use: BridgeUse, assessor: Assessor): boolean {
  const way = OTHER_WAY[use.direction];
  const columns = assessor.workspace.neighbours(way, GRAPH_LIMITS.counterpartiesMax);
  const count = graph.neighbours(node, way, GRAPH_LIMITS.counterpartiesMax, columns);
  const { name } = use.entity;
  graph.prefetch?.({ nodes: columns.ids.subarray(0, count) });
  for (let at = 0; at < count; at++) {
    const attribution = attributions.of(columns.ids[at] as number);
    if (isBridge(attribution) && attribution.entity?.name === name) return true;
  }
  return false;
}

type CrossingStart = Pick<
  BridgeCrossing,
  | 'bridge'
  | 'bridgeAddress'
  | 'address'
  | 'direction'
  | 'valueUsd'
  | 'txCount'
  | 'fromChain'
  | 'toChain'
  | 'connectedChains'
>;

/**
 * Returns the fields that every crossing of a use has.
 *
 * @param other - the chain on the other side of the bridge; null if it is not known
 */
function startOf(
  use: BridgeUse,
  other: ChainId | null,
  { connected }: Destinations,
  { place, reading }: Walked,
): CrossingStart {
  const { entity, direction, valueUsd, unpriced, transfers, holder, bridge } = use;
  return {
    bridge: entity,
    bridgeAddress: shownNode(place.graph, bridge),
    address: shownNode(place.graph, holder),
    direction,
    valueUsd: valueUsd === 0 && unpriced > 0 ? null : twoDecimals(valueUsd),
    txCount: transfers,
    // In the order of the value: what comes out of a bridge came from the other chain.
    fromChain: direction === 'out' ? reading.subject.chain : other,
    toChain: direction === 'out' ? other : reading.subject.chain,
    connectedChains: connected,
  };
}

/**
 * Returns the bridge uses that a walk met. For each, the chains that the bridge leads to are searched for the same address: the
 * only match that needs no data of the deposit itself. If the same bridge trades with the address there too, the match is more
 * certain.
 */
export function crossingsOf(options: Walked, deps: ScreeningDeps, assessor: Assessor): BridgeCrossing[] {
  const { reading, hops } = options;

  function crossing(use: BridgeUse, chain: ChainId, to: Destinations, other: Place): BridgeCrossing {
    const isMet = meetsBridge(other, use, assessor);
    const walked = walk(
      {
        ...other,
        start: other.node,
        direction: use.direction,
        hops: Math.max(1, hops - use.holderDepth - 1),
        nodesMax: SCREENING_LIMITS.crossingNodesMax,
        edgesMax: 2 * SCREENING_LIMITS.crossingNodesMax,
      },
      assessor.workspace,
    );
    const graph = new GraphAnswer(other.graph, other.attributions);
    graph.addWalk(walked);
    const met = `, where ${use.entity.name} ${use.direction === 'out' ? 'paid it' : 'was paid by it'}`;
    return {
      ...startOf(use, chain, to, options),
      matchedBy: isMet ? 'SAME_ADDRESS_AND_BRIDGE' : 'SAME_ADDRESS',
      explanation: `${to.led}; the same address is known on ${chain}${isMet ? met : ''}. What it moved there need not be the same money.`,
      graph: graph.render(),
    };
  }

  return bridgeUses(options).flatMap((use): BridgeCrossing[] => {
    const destinations = destinationsOf(use, options, deps);
    const { chains, led, only } = destinations;
    const crossings = chains.flatMap((chain) => {
      const other = placeOn(chain, use, options, deps, assessor);
      return other === null ? [] : [crossing(use, chain, destinations, other)];
    });
    if (crossings.length > 0) return crossings;
    const here = reading.subject.chain;
    const explanation =
      isEvm(here) || chains.length > 0
        ? `${led}; no transfer of the same address is known there.`
        : `${led}; an address of ${here} does not exist on other chains, so nothing could be matched.`;
    return [{ ...startOf(use, only, destinations, options), matchedBy: null, explanation, graph: null }];
  });
}
