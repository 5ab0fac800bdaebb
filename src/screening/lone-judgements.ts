/**
 * Rendered judgements of addresses with one label. Labels of one template differ only in their dates, which no judgement contains, so
 * their addresses share the bytes: nothing is decoded or scored for them.
 */

/** Places of the cache, a power of two: some 20 MB if all are full. */
const PLACES = 1 << 15;
const NOTHING = -1;
/** Spreads the judgements of one template over the places. */
const STATE_STEP = 1021;

/**
 * A direct-mapped cache. A judgement enters it only if it is requested twice before another one of the same place, so that the many
 * templates with a single address displace nothing and cost no memory.
 */
export class LoneJudgements {
  readonly #statesMax: number;
  readonly #requested = new Float64Array(PLACES).fill(NOTHING);
  readonly #cached = new Float64Array(PLACES).fill(NOTHING);
  readonly #bytes: Buffer[] = [];

  /** @param statesMax - states that a judgement may depend on besides its label; each has a number below this */
  constructor(statesMax: number) {
    this.#statesMax = statesMax;
  }

  clear(): void {
    this.#requested.fill(NOTHING);
    this.#cached.fill(NOTHING);
    this.#bytes.length = 0;
  }

  /** Returns the rendered judgement of a template in a state; undefined if it is not in the cache. */
  find(template: number, state: number): Buffer | undefined {
    const place = placeOf(template, state);
    return this.#cached[place] === template * this.#statesMax + state ? this.#bytes[place] : undefined;
  }

  /** Takes a judgement that `find` did not return, and that was now rendered to `out[from, to)`. */
  offer(template: number, state: number, out: Buffer, from: number, to: number): void {
    const place = placeOf(template, state);
    const key = template * this.#statesMax + state;
    if (this.#requested[place] !== key) {
      this.#requested[place] = key;
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(to - from);
    out.copy(bytes, 0, from, to);
    this.#bytes[place] = bytes;
    this.#cached[place] = key;
  }
}

const placeOf = (template: number, state: number): number => (template + state * STATE_STEP) & (PLACES - 1);
