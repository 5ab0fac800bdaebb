/**
 * The picture of a trace: what the server has answered so far, what of it is shown, and where. Every change returns a new picture, so that
 * undo is the picture before. Nothing here draws.
 */
import { riskShape } from '../../ui/RiskBadge.tsx';
import { layOut, type Places } from './layout.ts';
import { edgeSides, groupsOf, viewOf } from './view.ts';

export interface TraceNode {
  readonly id: string;
  readonly name: string | null;
  readonly category: string;
  /** Null if the address has no label: that is not known, and not low. */
  readonly threatLevel: string | null;
  readonly sanctioned: boolean;
  /** Why the trace ended here; null if it did not. */
  readonly stop: string | null;
}

/** Transfers of one asset from one address to another. */
export interface TraceEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  /** Decimal text in native units. */
  readonly value: string;
  readonly usd: number | null;
  readonly transfers: number;
  readonly firstSeen: string;
  readonly lastSeen: string;
}

/** Where an address hangs: the address over which it was reached, on which side, and the signed column. */
export interface Branch {
  readonly parent: string | null;
  readonly side: -1 | 0 | 1;
  readonly column: number;
}

/** The additions of one answer. */
export interface Growth {
  readonly nodes: readonly TraceNode[];
  readonly edges: readonly TraceEdge[];
  /** Addresses of found paths, which are never collapsed. */
  readonly onPath: readonly string[];
}

export interface Picture {
  readonly chain: string;
  readonly start: string;
  readonly nodes: ReadonlyMap<string, TraceNode>;
  readonly edges: ReadonlyMap<string, TraceEdge>;
  readonly branches: ReadonlyMap<string, Branch>;
  /** Addresses that are drawn; the others are in a node that counts them. */
  readonly shown: ReadonlySet<string>;
  readonly places: Places;
  /** Notes by id of a node or an edge. */
  readonly notes: ReadonlyMap<string, string>;
  readonly onPath: ReadonlySet<string>;
  /** Addresses whose next hop has been added. */
  readonly expanded: ReadonlySet<string>;
  /** Addresses behind which nothing is drawn, except sanctioned addresses and paths. */
  readonly collapsed: ReadonlySet<string>;
  /** Versions of the data of all answers. */
  readonly dataVersions: readonly string[];
  /** Time of the last answer. */
  readonly tracedAt: string;
}

/** Counterparties of one address that are drawn on each side; the others are counted in one node. */
export const SHOWN_EACH_SIDE = 12;

/** The reason of a stop that a further hop ends. */
export const LAST_HOP = 'DEPTH';

export const edgeId = (from: string, to: string, asset: string): string => `${from} ${to} ${asset}`;

/** Creates the picture of an address without transfers. */
export function emptyPicture(chain: string, start: string): Picture {
  const node: TraceNode = {
    id: start,
    name: null,
    category: 'UNKNOWN',
    threatLevel: null,
    sanctioned: false,
    stop: null,
  };
  return {
    chain,
    start,
    nodes: new Map([[start, node]]),
    edges: new Map(),
    branches: new Map([[start, { parent: null, side: 0, column: 0 }]]),
    shown: new Set([start]),
    places: new Map([[start, { column: 0, row: 0 }]]),
    notes: new Map(),
    onPath: new Set(),
    expanded: new Set(),
    collapsed: new Set(),
    dataVersions: [],
    tracedAt: '',
  };
}

interface Candidate extends Branch {
  readonly parent: string;
  readonly isAway: boolean;
  readonly usd: number;
}

/** Away from the start first, then the greater value, then the smaller address: one answer for every order of edges. */
const isBetter = (one: Candidate, other: Candidate): boolean => {
  if (one.isAway !== other.isAway) return one.isAway;
  if (one.usd !== other.usd) return one.usd > other.usd;
  if (one.parent !== other.parent) return one.parent < other.parent;
  return one.side > other.side;
};

/** Gives every new address its branch, breadth first from the addresses that have one. */
function branchesOf(
  known: ReadonlyMap<string, Branch>,
  nodes: ReadonlyMap<string, TraceNode>,
  edges: Iterable<TraceEdge>,
  start: string,
): ReadonlyMap<string, Branch> {
  const branches = new Map(known);
  const sides = edgeSides(edges);
  let frontier: readonly string[] = [...known.keys()];
  while (frontier.length > 0) {
    const best = new Map<string, Candidate>();
    for (const parent of frontier) {
      const { column } = branches.get(parent) as Branch;
      for (const { id, side, usd } of sides.get(parent) ?? []) {
        if (branches.has(id) || !nodes.has(id)) continue;
        const isAway = column === 0 || Math.sign(column) === side;
        const candidate: Candidate = { parent, side, column: column + side, isAway, usd };
        const before = best.get(id);
        if (before === undefined || isBetter(candidate, before)) best.set(id, candidate);
      }
    }
    for (const [id, { parent, side, column }] of best) branches.set(id, { parent, side, column });
    frontier = [...best.keys()];
  }
  // A budget of the server may leave an address without its edges.
  for (const id of nodes.keys())
    if (!branches.has(id)) branches.set(id, { parent: start, side: 1, column: 1 });
  return branches;
}

const LEVELS = ['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

/** Order in which addresses are drawn: danger first, then value. */
function rankOf({ id, sanctioned, threatLevel }: TraceNode, usd: ReadonlyMap<string, number>) {
  return {
    id,
    danger: sanctioned ? LEVELS.length : LEVELS.indexOf(riskShape(threatLevel ?? 'UNKNOWN')),
    usd: usd.get(id) ?? 0,
  };
}

/** Returns the addresses that are drawn in any case, sanctioned ones and those of paths, with the addresses that lead to them. */
function alwaysShown({ nodes, branches, onPath }: Picture): ReadonlySet<string> {
  const kept = new Set<string>();
  const keep = (id: string): void => {
    for (let at: string | null = id; at !== null && !kept.has(at); at = branches.get(at)?.parent ?? null)
      kept.add(at);
  };
  for (const id of onPath) keep(id);
  for (const { id, sanctioned } of nodes.values()) if (sanctioned) keep(id);
  return kept;
}

/** Chooses the addresses to draw: those that were drawn stay. */
function choose(picture: Picture, limit: number): ReadonlySet<string> {
  const { nodes, branches, collapsed } = picture;
  const shown = new Set([...picture.shown, ...alwaysShown(picture)]);
  const usd = new Map<string, number>();
  for (const edge of picture.edges.values())
    for (const id of [edge.from, edge.to]) usd.set(id, (usd.get(id) ?? 0) + (edge.usd ?? 0));
  const children = new Map<string, TraceNode[]>();
  for (const node of nodes.values()) {
    const { parent, side } = branches.get(node.id) as Branch;
    if (parent === null) continue;
    const key = `${side} ${parent}`;
    const known = children.get(key);
    if (known === undefined) children.set(key, [node]);
    else known.push(node);
  }
  const closed = new Set<string>();
  // A parent comes before its children, because it was reached first.
  for (const [parent, branch] of branches) {
    if (collapsed.has(parent) || (branch.parent !== null && closed.has(branch.parent))) closed.add(parent);
    if (!shown.has(parent) || closed.has(parent)) continue;
    for (const side of [1, -1]) {
      const all = children.get(`${side} ${parent}`) ?? [];
      const hidden = all
        .filter(({ id }) => !shown.has(id))
        .map((node) => rankOf(node, usd))
        .sort((a, b) => b.danger - a.danger || b.usd - a.usd || (a.id < b.id ? -1 : 1));
      const room = Math.max(0, limit - (all.length - hidden.length));
      // A node that counts one address takes as much room as the address.
      const taken = hidden.length === room + 1 ? hidden : hidden.slice(0, room);
      for (const { id } of taken) shown.add(id);
    }
  }
  return shown;
}

/** Places what is drawn and has no place. What has one stays there, also while a collapsed address hides it. */
function withPlaces(picture: Picture): Picture {
  const { nodes, edges } = viewOf(picture);
  const drawn = new Set(nodes.map(({ id }) => id));
  const hidden = [...picture.places].flatMap(([id, { column }]) =>
    drawn.has(id) || !picture.nodes.has(id) ? [] : [{ id, column, weight: 0 }],
  );
  const places = layOut([...nodes, ...hidden], edges, picture.places);
  return { ...picture, places };
}

const without = (ids: ReadonlySet<string>, id: string): ReadonlySet<string> =>
  new Set([...ids].filter((each) => each !== id));

/** An address that one answer passed is no end, although it may be the last hop of another answer. */
function stopOf(node: TraceNode, known: TraceNode | undefined, expanded: string): string | null {
  if (known === undefined || node.id === expanded) return node.stop;
  if (known.stop === null) return null;
  return known.stop === LAST_HOP ? node.stop : known.stop;
}

/**
 * Adds an answer. Addresses and edges that are known take the new values, and stay in their places.
 *
 * @param limit - counterparties that are drawn for each address and side
 */
export function grow(
  picture: Picture,
  growth: Growth & { readonly dataVersion: string; readonly tracedAt: string; readonly expanded: string },
  limit = SHOWN_EACH_SIDE,
): Picture {
  const nodes = new Map(picture.nodes);
  for (const node of growth.nodes)
    nodes.set(node.id, { ...node, stop: stopOf(node, picture.nodes.get(node.id), growth.expanded) });
  const edges = new Map(picture.edges);
  for (const edge of growth.edges) if (nodes.has(edge.from) && nodes.has(edge.to)) edges.set(edge.id, edge);
  const onPath = new Set([...picture.onPath, ...growth.onPath.filter((id) => nodes.has(id))]);
  const grown: Picture = {
    ...picture,
    nodes,
    edges,
    branches: branchesOf(picture.branches, nodes, edges.values(), picture.start),
    onPath,
    expanded: new Set([...picture.expanded, growth.expanded]),
    collapsed: without(picture.collapsed, growth.expanded),
    dataVersions: [...new Set([...picture.dataVersions, growth.dataVersion])],
    tracedAt: growth.tracedAt,
  };
  return withPlaces({ ...grown, shown: choose(grown, limit) });
}

/** Draws more addresses of a counting node: at most `count`, in the order of danger and value. */
export function reveal(picture: Picture, group: string, count: number): Picture {
  const members = groupsOf(picture).get(group);
  if (members === undefined) return picture;
  const { parent, side } = members;
  const drawn = [...picture.shown].filter((id) => {
    const branch = picture.branches.get(id);
    return branch?.parent === parent && branch.side === side;
  }).length;
  const collapsed = without(picture.collapsed, parent);
  const only: Picture = {
    ...picture,
    collapsed,
    branches: new Map(
      [...picture.branches].map(([id, branch]) =>
        branch.parent === parent && branch.side === side ? [id, branch] : [id, { ...branch, parent: null }],
      ),
    ),
  };
  const shown = choose(only, drawn + count);
  return withPlaces({ ...picture, collapsed, shown });
}

/** Returns the addresses that were reached over an address. */
function behind({ branches }: Picture, id: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [each, { parent }] of branches)
    if (parent !== null && each !== id && (parent === id || found.has(parent))) found.add(each);
  return found;
}

/** Returns whether anything is drawn behind an address that collapsing it would hide. */
export function canCollapse(picture: Picture, id: string): boolean {
  if (id === picture.start || picture.collapsed.has(id)) return false;
  const kept = alwaysShown(picture);
  return [...behind(picture, id)].some((each) => picture.shown.has(each) && !kept.has(each));
}

/** Hides what is drawn behind an address; counting nodes count it. Sanctioned addresses and paths stay, and nothing else moves. */
export function collapse(picture: Picture, id: string): Picture {
  if (!canCollapse(picture, id)) return picture;
  const kept = alwaysShown(picture);
  const hidden = behind(picture, id);
  const shown = new Set([...picture.shown].filter((each) => kept.has(each) || !hidden.has(each)));
  return withPlaces({ ...picture, shown, collapsed: new Set([...picture.collapsed, id]) });
}

/** Draws what was drawn behind an address before it was collapsed, in the same places. */
export function open(picture: Picture, id: string): Picture {
  const opened: Picture = { ...picture, collapsed: without(picture.collapsed, id) };
  const shown = new Set(picture.shown);
  const hidden = behind(picture, id);
  for (const [each, { parent }] of picture.branches)
    if (hidden.has(each) && picture.places.has(each) && parent !== null && shown.has(parent))
      if (!opened.collapsed.has(parent)) shown.add(each);
  return withPlaces({ ...opened, shown: choose({ ...opened, shown }, SHOWN_EACH_SIDE) });
}

/** Builds a picture from its parts, such as those of a file. Nodes without a place get one. */
export function restore(parts: Omit<Picture, 'branches'>): Picture {
  const { nodes, edges, start } = parts;
  const root: Branch = { parent: null, side: 0, column: 0 };
  const branches = branchesOf(new Map([[start, root]]), nodes, edges.values(), start);
  return withPlaces({ ...parts, branches });
}

/** Sets the note of a node or an edge; an empty text removes it. */
export function annotate(picture: Picture, id: string, text: string): Picture {
  const notes = new Map(picture.notes);
  if (text.trim() === '') notes.delete(id);
  else notes.set(id, text);
  return { ...picture, notes };
}
