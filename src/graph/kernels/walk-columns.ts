/** The columns of a walk that follows value, by number of node: the same memory for all walks of a thread. */
const CAPACITY = 2 ** 11;

const createColumns = (capacity: number) => ({
  state: new Uint8Array(capacity),
  /** A node's row among the flows. */
  begin: new Uint32Array(capacity),
  end: new Uint32Array(capacity),
  /** The shares of a node's value that are not in its row: without an edge, and beyond the budget. */
  restShare: new Float64Array(capacity),
  leftOut: new Float64Array(capacity),
  /** Value in transit at a node: its share, and its part of the start's priced USD. */
  share: new Float64Array(capacity),
  known: new Float64Array(capacity),
  nextShare: new Float64Array(capacity),
  nextKnown: new Float64Array(capacity),
});

export type WalkColumns = ReturnType<typeof createColumns>;

/** Lends the columns to one walk after another. */
export class WalkMemory {
  #columns = createColumns(CAPACITY);
  #used = 0;

  /** Returns columns of zeros for `capacity` nodes. Those of the walk before are invalid. */
  open(capacity: number): WalkColumns {
    if (capacity > this.#columns.state.length) this.#columns = createColumns(2 * capacity);
    else for (const column of Object.values(this.#columns)) column.fill(0, 0, this.#used);
    this.#used = capacity;
    return this.#columns;
  }
}
