/** What an exposure walk knows about the nodes that it met, as columns by number. They are kept between calls, so that a walk allocates none. */

/** Enough for the direct counterparties of most addresses and the budget of a screening. */
const CAPACITY = 2 ** 11;

/** Columns of one walk at a time. */
export class NodeColumns {
  /** The owner of the node: an attribution of the walk, or null. */
  readonly attributions: unknown[] = [];
  /** State of the node's row; 0 if it was not read yet. */
  state = new Uint8Array(CAPACITY);
  /** The node's row among the flows. */
  begin = new Uint32Array(CAPACITY);
  end = new Uint32Array(CAPACITY);
  /** Shares of the node's value that are not in its row: without an edge, and beyond the budget. */
  restShare = new Float64Array(CAPACITY);
  leftOut = new Float64Array(CAPACITY);
  /** Value in transit at the node: its share, and its part of the start's priced USD. */
  share = new Float64Array(CAPACITY);
  known = new Float64Array(CAPACITY);
  /** The same in the next hop. */
  nextShare = new Float64Array(CAPACITY);
  nextKnown = new Float64Array(CAPACITY);
  /** Whether no value is in transit, as after a walk that ended. */
  #isEmpty = true;

  /** Makes room for the numbers below `count`, without their contents. */
  reserve(count: number): void {
    if (count <= this.state.length) return;
    const capacity = 2 ** Math.ceil(Math.log2(count));
    this.state = new Uint8Array(capacity);
    this.begin = new Uint32Array(capacity);
    this.end = new Uint32Array(capacity);
    this.restShare = new Float64Array(capacity);
    this.leftOut = new Float64Array(capacity);
    this.share = new Float64Array(capacity);
    this.known = new Float64Array(capacity);
    this.nextShare = new Float64Array(capacity);
    this.nextKnown = new Float64Array(capacity);
  }

  /** Begins a walk: no value is in transit. An earlier walk that failed may have left some. */
  clear(): void {
    if (!this.#isEmpty) for (const column of this.#inTransit()) column.fill(0);
    this.#isEmpty = false;
  }

  /** Ends a walk, after which all values in transit are 0 again, so that `open` need not write them for thousands of nodes. */
  finish(): void {
    this.#isEmpty = true;
  }

  #inTransit(): Float64Array[] {
    return [this.share, this.known, this.nextShare, this.nextKnown];
  }

  /** Makes the row of a number unread. Its shares are those of another walk until it is read. */
  open(number: number): void {
    this.state[number] = 0;
  }

  /** Begins the next hop: what was to come is in transit now. All that was in transit must have been passed on. */
  advance(): void {
    const { share, known } = this;
    this.share = this.nextShare;
    this.known = this.nextKnown;
    this.nextShare = share;
    this.nextKnown = known;
  }
}
