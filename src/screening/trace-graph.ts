/** A walk through the graph as an answer shows it: addresses with their attributions, and an edge for each asset that moved. */
import { isoTime } from '../base/clock.ts';
import { nativeUnits } from '../chains/native-units.ts';
import type { EdgeDetail, NodeId, TransferGraph } from '../graph/graph.ts';
import type { WalkDirection } from '../graph/kernels/stops.ts';
import { type Traversal, traverse } from '../graph/kernels/traverse.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Attributions } from './attributions.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { shownAsset, shownNode } from './subject.ts';
import type { StopReason, TraceEdge, TraceGraph, TraceNode, TraceStop } from './trace-answers.ts';

export interface WalkOptions {
  readonly graph: TransferGraph;
  readonly attributions: Attributions;
  readonly weighing: Weighing;
  readonly start: NodeId;
  readonly direction: WalkDirection;
  readonly hops: number;
  readonly nodesMax: number;
  readonly edgesMax: number;
}

/** Walks until the decided stops: services, addresses with too many counterparties, and the budget. */
export const walk = (
  { graph, attributions, weighing, ...options }: WalkOptions,
  workspace: KernelWorkspace,
): Traversal =>
  traverse(
    { ...options, degreeMax: GRAPH_LIMITS.counterpartiesMax },
    { graph, workspace, weighing, isService: (node) => attributions.of(node).isService },
  );

/** Collects nodes and edges of one chain. A node or edge that is added twice is in the answer once. */
export class GraphAnswer {
  private readonly graph: TransferGraph;
  private readonly attributions: Attributions;
  private readonly nodes = new Map<NodeId, { readonly address: string; depth: number }>();
  private readonly pairs = new Map<string, readonly TraceEdge[]>();
  private readonly stops = new Map<NodeId, StopReason>();
  private edgeCount = 0;

  constructor(graph: TransferGraph, attributions: Attributions) {
    this.graph = graph;
    this.attributions = attributions;
  }

  addWalk({ nodes, depths, edges, stops }: Traversal): void {
    this.graph.prefetch?.({ nodes });
    for (let at = 0; at < nodes.length; at++) this.addNode(nodes[at] as number, depths[at] as number);
    this.graph.prefetch?.({ nodes: edges.from, to: edges.to });
    for (let at = 0; at < edges.count; at++) this.addPair(edges.from[at] as number, edges.to[at] as number);
    for (const { node, reason } of stops) this.addStop(node, reason);
  }

  addNode(node: NodeId, depth: number): void {
    const known = this.nodes.get(node);
    if (known) known.depth = Math.min(known.depth, depth);
    else this.nodes.set(node, { address: shownNode(this.graph, node), depth });
  }

  holds(node: NodeId): boolean {
    return this.nodes.has(node);
  }

  addStop(node: NodeId, reason: StopReason): void {
    if (!this.stops.has(node)) this.stops.set(node, reason);
  }

  /**
   * Returns the edges of a pair, by asset. Once the maximum number of edges is reached, the sender becomes a stop, and no edges
   * are returned.
   */
  addPair(from: NodeId, to: NodeId): readonly TraceEdge[] {
    const name = `${from} ${to}`;
    const known = this.pairs.get(name);
    if (known) return known;
    if (this.edgeCount >= SCREENING_LIMITS.traceAssetEdgesMax) {
      this.addStop(from, 'BUDGET');
      return [];
    }
    const edges = this.graph.edge(from, to).slice(0, GRAPH_LIMITS.assetsListedMax);
    const shown = edges.map((edge) => this.edge(from, to, edge));
    this.edgeCount += shown.length;
    this.pairs.set(name, shown);
    return shown;
  }

  addressOf(node: NodeId): string {
    return this.nodes.get(node)?.address ?? shownNode(this.graph, node);
  }

  render(): TraceGraph {
    const nodes = [...this.nodes].map(([node, { address, depth }]) => this.node(node, address, depth));
    const edges = [...this.pairs.values()].flat();
    return {
      nodes,
      edges,
      stats: {
        totalNodes: nodes.length,
        totalEdges: edges.length,
        maxDepthReached: nodes.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
      },
      stoppedAt: [...this.stops].map(
        ([node, reason]): TraceStop => ({ address: this.addressOf(node), reason }),
      ),
    };
  }

  private node(node: NodeId, address: string, depth: number): TraceNode {
    const { entity, category, riskLevel, sanctioned } = this.attributions.of(node);
    return {
      address,
      label: entity?.name ?? null,
      category,
      riskLevel,
      entity,
      threatLevel: entity?.threatLevel ?? null,
      depth,
      sanctioned,
    };
  }

  private edge(from: NodeId, to: NodeId, edge: EdgeDetail): TraceEdge {
    const { asset, decimals, amount, valueUsd, transfers, firstSeenMs, lastSeenMs } = edge;
    return {
      from: this.addressOf(from),
      to: this.addressOf(to),
      asset: shownAsset(this.graph.chain, asset),
      value: nativeUnits(amount, decimals),
      decimals,
      valueUsd,
      txCount: transfers,
      firstSeen: isoTime(firstSeenMs),
      lastSeen: isoTime(lastSeenMs),
    };
  }
}
