/** The destinations of value at an address, as shares: rows of a transition matrix, read once each and kept for the duration of a call. */
const CAPACITY = 2 ** 14;

/** A growing list of (number of a node, share of the row's value, whether it moved before the node's attribution applied). */
export class FlowColumns {
  count = 0;
  to = new Uint32Array(CAPACITY);
  share = new Float64Array(CAPACITY);
  isBefore = new Uint8Array(CAPACITY);

  clear(): void {
    this.count = 0;
  }

  push(to: number, share: number, isBefore: boolean): void {
    if (this.count === this.to.length) this.#grow();
    this.to[this.count] = to;
    this.isBefore[this.count] = isBefore ? 1 : 0;
    this.share[this.count++] = share;
  }

  #grow(): void {
    const to = new Uint32Array(this.to.length * 2);
    const share = new Float64Array(this.to.length * 2);
    to.set(this.to);
    share.set(this.share);
    const isBefore = new Uint8Array(this.to.length * 2);
    isBefore.set(this.isBefore);
    this.isBefore = isBefore;
    this.to = to;
    this.share = share;
  }
}
