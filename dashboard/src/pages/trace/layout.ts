/**
 * The layout of the trace picture: money reads from left to right. The column of an address is its signed number of hops; the rows of a
 * column are ordered by barycentre (Sugiyama, Tagawa and Toda 1981). Deterministic, and incremental: addresses that have a place keep it.
 */

export interface LayoutNode {
  readonly id: string;
  /** Signed hops from the start; negative: origins of funds. */
  readonly column: number;
  /** Greater ones come first among equals. */
  readonly weight: number;
}

export interface LayoutEdge {
  readonly from: string;
  readonly to: string;
}

/** Column and row. Rows are whole numbers, so that two nodes never overlap. */
export interface Place {
  readonly column: number;
  readonly row: number;
}

export type Places = ReadonlyMap<string, Place>;

/** Passes over all columns: out and back, twice. More improve no picture that was tried. */
const SWEEPS = 4;

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const byWeight = (a: LayoutNode, b: LayoutNode): number =>
  b.weight - a.weight || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

function neighboursOf(edges: readonly LayoutEdge[]): ReadonlyMap<string, readonly string[]> {
  const all = new Map<string, Set<string>>();
  const add = (one: string, other: string): void => {
    const known = all.get(one);
    if (known === undefined) all.set(one, new Set([other]));
    else known.add(other);
  };
  for (const { from, to } of edges) {
    if (from === to) continue;
    add(from, to);
    add(to, from);
  }
  // Sorted, so that sums of rows have one order and one result.
  return new Map([...all].map(([id, others]) => [id, [...others].sort()]));
}

/**
 * Finds whole rows in a given order that are as close as possible to the wanted ones (pool adjacent violators).
 *
 * @param wanted - the wanted row of each node, in the order of the nodes
 */
export function spread(wanted: readonly number[]): readonly number[] {
  // With its position subtracted, a row may be equal to the one before, so the problem is isotonic regression.
  const blocks: { sum: number; count: number }[] = [];
  for (const [at, row] of wanted.entries()) {
    blocks.push({ sum: row - at, count: 1 });
    for (;;) {
      const last = blocks.at(-1);
      const before = blocks.at(-2);
      if (last === undefined || before === undefined) break;
      if (before.sum / before.count <= last.sum / last.count) break;
      before.sum += last.sum;
      before.count += last.count;
      blocks.pop();
    }
  }
  const rows: number[] = [];
  for (const { sum, count } of blocks) {
    const base = Math.round(sum / count);
    for (let step = 0; step < count; step++) rows.push(base + rows.length);
  }
  return rows;
}

/** The free rows of a column: returns the one that is nearest to a wanted row, the upper one of two, and takes it. */
class FreeRows {
  private readonly above = new Map<number, number>();
  private readonly below = new Map<number, number>();

  take(row: number): void {
    this.above.set(row, row - 1);
    this.below.set(row, row + 1);
  }

  nearest(wanted: number): number {
    const row = Math.round(wanted);
    const up = this.find(this.above, row);
    const down = this.find(this.below, row);
    const found = Math.abs(up - wanted) <= Math.abs(down - wanted) ? up : down;
    this.take(found);
    return found;
  }

  /** Follows the links to the first free row, and shortens them for the next search. */
  private find(links: Map<number, number>, from: number): number {
    let row = from;
    for (let next = links.get(row); next !== undefined; next = links.get(row)) row = next;
    for (let at = from; at !== row; ) {
      const next = links.get(at) as number;
      links.set(at, row);
      at = next;
    }
    return row;
  }
}

type Columns = ReadonlyMap<number, LayoutNode[]>;

function columnsOf(nodes: readonly LayoutNode[]): Columns {
  const columns = new Map<number, LayoutNode[]>();
  for (const node of nodes) {
    const known = columns.get(node.column);
    if (known === undefined) columns.set(node.column, [node]);
    else known.push(node);
  }
  for (const column of columns.values()) column.sort(byWeight);
  return columns;
}

/** Orders every column by the mean position of the neighbours in the columns that are nearer to the start, then farther, in turn. */
function orderColumns(columns: Columns, neighbours: ReadonlyMap<string, readonly string[]>): void {
  const columnOf = new Map<string, number>();
  const position = new Map<string, number>();
  const first = new Map<string, number>();
  for (const column of columns.values())
    for (const [at, { id }] of column.entries()) {
      columnOf.set(id, column[0]?.column ?? 0);
      // Centred, so that columns of different lengths have the same middle.
      position.set(id, at - (column.length - 1) / 2);
      first.set(id, at);
    }
  const outward = [...columns.keys()].sort((a, b) => Math.abs(a) - Math.abs(b) || a - b);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isOut = sweep % 2 === 0;
    for (const at of isOut ? outward : outward.toReversed()) {
      const column = columns.get(at) as LayoutNode[];
      const isReference = (other: string): boolean => {
        const there = Math.abs(columnOf.get(other) ?? Number.NaN);
        return isOut ? there < Math.abs(at) : there > Math.abs(at);
      };
      const keys = new Map(
        column.map(({ id }) => {
          const rows = (neighbours.get(id) ?? []).filter(isReference).map((each) => position.get(each) ?? 0);
          return [id, rows.length === 0 ? (position.get(id) ?? 0) : average(rows)];
        }),
      );
      column.sort(
        (a, b) =>
          (keys.get(a.id) as number) - (keys.get(b.id) as number) ||
          (first.get(a.id) as number) - (first.get(b.id) as number),
      );
      for (const [row, { id }] of column.entries()) position.set(id, row - (column.length - 1) / 2);
    }
  }
}

/**
 * Places all nodes. The order of the arguments does not matter; the same nodes, edges and places give the same result.
 *
 * @param pinned - places that are kept; the result contains them for nodes that exist
 */
export function layOut(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  pinned: Places = new Map(),
): Places {
  const neighbours = neighboursOf(edges);
  const places = new Map<string, Place>();
  const free = new Map<number, FreeRows>();
  const freeIn = (column: number): FreeRows => {
    let rows = free.get(column);
    if (rows === undefined) {
      rows = new FreeRows();
      free.set(column, rows);
    }
    return rows;
  };
  for (const { id } of nodes) {
    const place = pinned.get(id);
    if (place === undefined) continue;
    places.set(id, place);
    freeIn(place.column).take(place.row);
  }
  const columns = columnsOf(nodes.filter(({ id }) => !places.has(id)));
  orderColumns(columns, neighbours);
  for (const at of [...columns.keys()].sort((a, b) => Math.abs(a) - Math.abs(b) || a - b)) {
    const column = columns.get(at) as readonly LayoutNode[];
    const middle = (column.length - 1) / 2;
    // The mean row of the neighbours that have a place; without any, the row of a column by itself.
    const wanted = column.map(({ id }, row) => {
      const rows = (neighbours.get(id) ?? []).flatMap((each) => {
        const place = places.get(each);
        return place === undefined || place.column === at ? [] : [place.row];
      });
      return rows.length === 0 ? row - middle : average(rows);
    });
    const rows = free.has(at) ? wanted.map((row) => freeIn(at).nearest(row)) : spread(wanted);
    for (const [index, { id }] of column.entries())
      places.set(id, { column: at, row: rows[index] as number });
  }
  return places;
}

/** FNV-1a of all places: the same picture has the same number. */
export function hashPlaces(places: Places): string {
  let hash = 0x811c9dc5;
  for (const id of [...places.keys()].sort()) {
    const { column, row } = places.get(id) as Place;
    for (const char of `${id} ${column} ${row}\n`) {
      hash ^= char.codePointAt(0) as number;
      hash = Math.imul(hash, 0x01000193);
    }
  }
  return (hash >>> 0).toString(16).padStart(8, '0');
}
