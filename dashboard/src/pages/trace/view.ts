/** The visible part of a picture: shown addresses, nodes that count the others, and one edge for each pair. */
import type { LayoutEdge, LayoutNode } from './layout.ts';
import type { Branch, Picture, TraceEdge, TraceNode } from './picture.ts';

/** Values of the URL. Positions do not depend on them, so a filter moves nothing. */
export interface Filter {
  /** US dollars; edges without a price stay, because not known is not little. */
  readonly minUsd: number;
  /** ISO dates, empty for no bound. */
  readonly since: string;
  readonly until: string;
}

export const NO_FILTER: Filter = { minUsd: 0, since: '', until: '' };

/** Addresses that are drawn as one node. */
export interface Group {
  readonly id: string;
  readonly parent: string;
  readonly side: -1 | 0 | 1;
  readonly column: number;
  /** With the addresses behind them. */
  readonly members: readonly string[];
}

export interface ViewNode extends LayoutNode {
  /** Null for a group. */
  readonly node: TraceNode | null;
  /** Addresses of a group, else 1. */
  readonly count: number;
}

export interface ViewEdge extends LayoutEdge {
  readonly id: string;
  /** All edges of the pair, one for each asset and, of groups, each member. */
  readonly edges: readonly TraceEdge[];
  /** Sum of what has a price. */
  readonly usd: number;
  /** False: some of it has no price. */
  readonly isPriced: boolean;
  readonly transfers: number;
  readonly isOnPath: boolean;
}

export interface View {
  readonly nodes: readonly ViewNode[];
  readonly edges: readonly ViewEdge[];
}

interface Side {
  readonly id: string;
  readonly side: 1 | -1;
  readonly usd: number;
}

/** Returns the neighbours of every address: side 1 if it paid them, -1 if they paid it, with the sum of what has a price. */
export function edgeSides(edges: Iterable<TraceEdge>): ReadonlyMap<string, readonly Side[]> {
  const sums = new Map<string, Map<string, number>>();
  for (const { from, to, usd } of edges) {
    if (from === to) continue;
    let row = sums.get(from);
    if (row === undefined) {
      row = new Map();
      sums.set(from, row);
    }
    row.set(to, (row.get(to) ?? 0) + (usd ?? 0));
  }
  const sides = new Map<string, Side[]>();
  const add = (at: string, side: Side): void => {
    const known = sides.get(at);
    if (known === undefined) sides.set(at, [side]);
    else known.push(side);
  };
  for (const [from, row] of sums)
    for (const [to, usd] of row) {
      add(from, { id: to, side: 1, usd });
      add(to, { id: from, side: -1, usd });
    }
  return sides;
}

export const isGroup = (id: string): boolean => id.startsWith('more ');

/** Returns the node in which each hidden address is counted. */
function groupOfHidden({ nodes, branches, shown }: Picture): ReadonlyMap<string, string> {
  const groups = new Map<string, string>();
  for (const id of nodes.keys()) {
    if (shown.has(id)) continue;
    const walked: string[] = [];
    let at = id;
    let group: string | undefined;
    for (;;) {
      group = groups.get(at);
      if (group !== undefined) break;
      walked.push(at);
      const { parent, side } = branches.get(at) as Branch;
      // The start is always shown, so every chain of parents ends at a shown address.
      if (parent === null) break;
      if (shown.has(parent)) {
        group = `more ${side} ${parent}`;
        break;
      }
      at = parent;
    }
    if (group !== undefined) for (const each of walked) groups.set(each, group);
  }
  return groups;
}

/** Returns all groups by id. */
export function groupsOf(picture: Picture): ReadonlyMap<string, Group> {
  const groups = new Map<string, { parent: string; side: -1 | 0 | 1; column: number; members: string[] }>();
  for (const [member, id] of groupOfHidden(picture)) {
    const known = groups.get(id);
    if (known !== undefined) {
      known.members.push(member);
      continue;
    }
    const [, sideText = '', parent = ''] = id.split(' ');
    const side = Number(sideText) as -1 | 1;
    const column = (picture.branches.get(parent)?.column ?? 0) + side;
    groups.set(id, { parent, side, column, members: [member] });
  }
  return new Map([...groups].map(([id, group]) => [id, { id, ...group }]));
}

/** Returns whether a filter keeps an edge. */
export function isKept({ usd, firstSeen, lastSeen }: TraceEdge, { minUsd, since, until }: Filter): boolean {
  if (usd !== null && usd < minUsd) return false;
  if (since !== '' && lastSeen.slice(0, 10) < since) return false;
  return until === '' || firstSeen.slice(0, 10) <= until;
}

interface DraftEdge {
  readonly from: string;
  readonly to: string;
  readonly edges: TraceEdge[];
  usd: number;
  isPriced: boolean;
  transfers: number;
}

/** Returns what is drawn. Addresses whose edges are all filtered out are left out; the start and paths stay. */
export function viewOf(picture: Picture, filter: Filter = NO_FILTER): View {
  const { nodes, branches, shown, start, onPath } = picture;
  const hidden = groupOfHidden(picture);
  const drawnAs = (id: string): string => hidden.get(id) ?? id;
  const pairs = new Map<string, DraftEdge>();
  const usd = new Map<string, number>();
  const touched = new Set<string>([start, ...onPath]);
  for (const edge of picture.edges.values()) {
    if (!isKept(edge, filter)) continue;
    const from = drawnAs(edge.from);
    const to = drawnAs(edge.to);
    touched.add(from).add(to);
    if (from === to) continue;
    const key = `${from} > ${to}`;
    let pair = pairs.get(key);
    if (pair === undefined) {
      pair = { from, to, edges: [], usd: 0, isPriced: true, transfers: 0 };
      pairs.set(key, pair);
    }
    pair.edges.push(edge);
    pair.usd += edge.usd ?? 0;
    pair.isPriced &&= edge.usd !== null;
    pair.transfers += edge.transfers;
    for (const id of [from, to]) usd.set(id, (usd.get(id) ?? 0) + (edge.usd ?? 0));
  }
  const isFiltered = filter.minUsd > 0 || filter.since !== '' || filter.until !== '';
  const drawn: ViewNode[] = [...shown]
    .filter((id) => !isFiltered || touched.has(id))
    .map((id) => ({
      id,
      column: branches.get(id)?.column ?? 0,
      weight: usd.get(id) ?? 0,
      node: nodes.get(id) as TraceNode,
      count: 1,
    }));
  for (const group of groupsOf(picture).values())
    if (!isFiltered || touched.has(group.id))
      // Below its siblings.
      drawn.push({ id: group.id, column: group.column, weight: -1, node: null, count: group.members.length });
  const edges = [...pairs].map(
    ([id, pair]): ViewEdge => ({ id, ...pair, isOnPath: onPath.has(pair.from) && onPath.has(pair.to) }),
  );
  return { nodes: drawn, edges };
}
