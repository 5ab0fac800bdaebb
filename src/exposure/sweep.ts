/**
 * Computes the shares of all addresses at once: the same results as walks with the exposure kernel, by sweeping the edges once per hop.
 * With P the rows of shares and R_c the indicator of the addresses of column c, the shares found at hop h are S_1 = P R_c and S_h = P D
 * S_(h-1), where D keeps the addresses that value passes through. This is the power series of the absorbing Markov chain that the
 * kernel follows (Kemeny and Snell, Finite Markov Chains, 1960, section 3.3), column by column instead of start by start.
 */
import { HUB, PASSES } from './kinds.ts';
import { type DirectionRows, IS_BEFORE } from './rows.ts';

/**
 * Number of columns swept together: a row of 8 doubles is one cache line, so that one random access loads all of them. Each column
 * takes 16 bytes per address during its sweep.
 */
export const COLUMNS_A_BLOCK = 8;

const ID_MASK = 0x7fff_ffff;

export interface SweepInput {
  readonly rows: DirectionRows;
  /** By row (`rowKinds`). */
  readonly kinds: Int16Array;
  /** Kinds for edges marked IS_BEFORE, by row. */
  readonly before: ReadonlyMap<number, { readonly kind: number }>;
  readonly columns: number;
  readonly maxHops: number;
  /** Called between blocks; may throw to interrupt. */
  readonly onStep?: (done: number, of: number) => void;
}

/**
 * Shares by row, starting with those of nodes: those of row v are at `start[v]` to `start[v + 1]`. An item is a column and a hop,
 * encoded as `column × maxHops + hop − 1`; the column after the last is for hubs.
 */
export interface SweptShares {
  readonly start: Float64Array;
  readonly item: Uint16Array;
  readonly share: Float64Array;
}

/** The shares that one block of columns found, in node order. */
interface BlockShares {
  readonly counts: Uint8Array;
  readonly items: Uint16Array;
  readonly shares: Float64Array;
}

/**
 * Sweeps one direction.
 *
 * @returns the shares of each row by column and hop
 */
export function sweep(input: SweepInput): SweptShares {
  const blocks: BlockShares[] = [];
  // Hubs are an additional column: value that reached a hub within the maximum hops is lost.
  const all = input.columns + 1;
  const steps = Math.ceil(all / COLUMNS_A_BLOCK);
  for (let first = 0, step = 0; first < all; first += COLUMNS_A_BLOCK, step++) {
    input.onStep?.(step, steps);
    blocks.push(sweepBlock(input, first, Math.min(COLUMNS_A_BLOCK, all - first)));
  }
  return merge(blocks, input.kinds.length);
}

/** A growing list of items and their shares. */
class Items {
  #items = new Uint16Array(2 ** 16);
  #shares = new Float64Array(2 ** 16);
  count = 0;

  push(item: number, share: number): void {
    if (this.count === this.#items.length) this.#grow();
    this.#items[this.count] = item;
    this.#shares[this.count++] = share;
  }

  #grow(): void {
    const items = new Uint16Array(this.#items.length * 2);
    const shares = new Float64Array(items.length);
    items.set(this.#items);
    shares.set(this.#shares);
    this.#items = items;
    this.#shares = shares;
  }

  get items(): Uint16Array {
    return this.#items.slice(0, this.count);
  }

  get shares(): Float64Array {
    return this.#shares.slice(0, this.count);
  }
}

/** Sweeps one block: a pass over the edges per hop. The last pass writes the shares of each node. */
function sweepBlock(
  { rows, kinds, before, columns, maxHops }: SweepInput,
  first: number,
  width: number,
): BlockShares {
  const { start, other, share } = rows;
  const nodes = kinds.length;
  const block = COLUMNS_A_BLOCK;
  const hubAt = columns - first;
  const counts = new Uint8Array(nodes);
  const items = new Items();
  const sums = new Float64Array(block);
  const found: Float64Array[] = [];
  const has: Uint8Array[] = [];
  /** Column of a kind in this block, from 0; -1 if value passes through; -2 if it ends elsewhere. */
  const placeOf = (kind: number): number => {
    if (kind === PASSES) return -1;
    const at = kind === HUB ? hubAt : kind < 0 ? -2 : kind - first;
    return at >= 0 && at < width ? at : -2;
  };
  const places = Int8Array.from(kinds, placeOf);
  const placeOfEdge = (to: number): number => {
    if (to < IS_BEFORE) return places[to] as number;
    const kind = before.get(to & ID_MASK)?.kind;
    return kind === undefined ? (places[to & ID_MASK] as number) : placeOf(kind);
  };
  const write = (hop: number, node: number, values: Float64Array, from: number): number => {
    let written = 0;
    for (let at = 0; at < width; at++) {
      const value = values[from + at] as number;
      // At the last hop, a walk does not examine the addresses that it reached.
      if (value === 0 || (at === hubAt && hop === maxHops)) continue;
      items.push((first + at) * maxHops + hop - 1, value);
      written++;
    }
    counts[node] = (counts[node] as number) + written;
    return written;
  };
  for (let hop = 1; hop <= maxHops; hop++) {
    const last = hop === maxHops;
    const values = last ? sums : new Float64Array(nodes * block);
    const flags = new Uint8Array(last ? 0 : nodes);
    const previous = found[hop - 2];
    const previousHas = has[hop - 2];
    for (let node = 1; node < nodes; node++) {
      const end = start[node + 1] as number;
      let isAny = false;
      if (last) sums.fill(0);
      const row = last ? 0 : node * block;
      for (let at = start[node] as number; at < end; at++) {
        const to = other[at] as number;
        const place = placeOfEdge(to);
        if (previous === undefined || previousHas === undefined) {
          if (place < 0) continue;
          values[row + place] = (values[row + place] as number) + (share[at] as number);
          isAny = true;
          continue;
        }
        const node2 = to & ID_MASK;
        if (place !== -1 || previousHas[node2] === 0) continue;
        const part = share[at] as number;
        const from = node2 * block;
        for (let column = 0; column < block; column++)
          values[row + column] =
            (values[row + column] as number) + part * (previous[from + column] as number);
        isAny = true;
      }
      if (!last) {
        if (isAny) flags[node] = 1;
        continue;
      }
      for (let done = 1; done < hop; done++)
        if ((has[done - 1] as Uint8Array)[node] === 1)
          write(done, node, found[done - 1] as Float64Array, row + node * block);
      if (isAny) write(hop, node, sums, 0);
    }
    found.push(values);
    has.push(flags);
  }
  return { counts, items: items.items, shares: items.shares };
}

/** Concatenates the blocks node by node. */
function merge(blocks: BlockShares[], nodes: number): SweptShares {
  const start = new Float64Array(nodes + 1);
  for (let node = 0; node < nodes; node++) {
    let sum = start[node] as number;
    for (const { counts } of blocks) sum += counts[node] as number;
    start[node + 1] = sum;
  }
  const [only] = blocks;
  if (only !== undefined && blocks.length === 1) return { start, item: only.items, share: only.shares };
  const item = new Uint16Array(start[nodes] as number);
  const share = new Float64Array(item.length);
  const next = start.slice(0, nodes);
  for (let block = blocks.shift(); block; block = blocks.shift()) {
    const { counts, items, shares } = block;
    let at = 0;
    for (let node = 0; node < nodes; node++)
      for (let left = counts[node] as number; left > 0; left--, at++) {
        const to = next[node] as number;
        item[to] = items[at] as number;
        share[to] = shares[at] as number;
        next[node] = to + 1;
      }
  }
  return { start, item, share };
}
