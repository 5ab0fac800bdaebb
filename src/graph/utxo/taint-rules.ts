/**
 * The five rules by which taint passes through one transaction, in bigint: poison, haircut, FIFO, LIFO, TIHO. The value of the inputs
 * leaves through the outputs, a shielded pool and the fee, which are all called sinks here. taint.ts walks over a chain.
 */

export const TAINT_METHODS = ['poison', 'haircut', 'fifo', 'lifo', 'tiho'] as const;
export type TaintMethod = (typeof TAINT_METHODS)[number];

export interface TaintedInput<Taint> {
  readonly value: bigint;
  /** Null if the input is clean. */
  readonly taint: Taint | null;
}

/** A rule. `Taint` is its representation of taint: an amount, or stretches of satoshi. */
export interface TaintRule<Taint> {
  /** The taint of a fully tainted output. */
  full(value: bigint): Taint;
  /**
   * Returns the taint of each sink, or null for a clean one. The sinks are the outputs in their order, then the pool, then the fee. Inputs
   * and sinks have the same sum. Together the sinks get the taint of the inputs, with two exceptions: poison creates more, and haircut may
   * lose less than one satoshi per sink.
   */
  spend(inputs: readonly TaintedInput<Taint>[], sinks: readonly bigint[]): (Taint | null)[];
  /** The tainted amount in satoshi. */
  amount(taint: Taint): bigint;
  /** How many pieces the taint takes in memory. */
  pieces(taint: Taint): number;
}

const one = (): number => 1;

/**
 * One tainted input taints everything: each sink is fully tainted. Möser, Böhme, Breuker: "Towards Risk Scoring of Bitcoin Transactions"
 * (FC 2014 Workshops, LNCS 8438, doi:10.1007/978-3-662-44774-1_2), policy "poison".
 */
const poison: TaintRule<bigint> = {
  pieces: one,
  full: (value) => value,
  amount: (taint) => taint,
  spend(inputs, sinks) {
    const isTainted = inputs.some(({ taint }) => taint !== null);
    return sinks.map((value) => (isTainted && value > 0n ? value : null));
  },
};

/**
 * Each sink carries the share of taint that the inputs have together. The policy "haircut" of Möser, Böhme, Breuker (2014, see poison).
 * Amounts are whole satoshi: each sink is rounded down, as in BlockSci, and the remainder is reported as `rounded`, so that sums stay
 * exact.
 */
const haircut: TaintRule<bigint> = {
  pieces: one,
  full: (value) => value,
  amount: (taint) => taint,
  spend(inputs, sinks) {
    let tainted = 0n;
    let total = 0n;
    for (const { value, taint } of inputs) {
      tainted += taint ?? 0n;
      total += value;
    }
    return sinks.map((value) => {
      const share = total > 0n ? (tainted * value) / total : 0n;
      return share > 0n ? share : null;
    });
  },
};

/**
 * TIHO, "taint in, highest out": the tainted value leaves through the output of the highest value first, and through the fee last. Of equal
 * outputs the first comes first. Tironsakkul, Maarek, Eross, Just: "Probing the Mystery of Cryptocurrency Theft: An Investigation into
 * Methods for Cryptocurrency Tainting Analysis" (CRC 2019, arXiv:1906.05754).
 */
const tiho: TaintRule<bigint> = {
  pieces: one,
  full: (value) => value,
  amount: (taint) => taint,
  spend(inputs, sinks) {
    let left = 0n;
    for (const { taint } of inputs) left += taint ?? 0n;
    const fee = sinks.length - 1;
    const order = sinks.map((value, at) => ({ value, at }));
    order.sort((a, b) => {
      if (a.at === fee || b.at === fee) return a.at === fee ? 1 : -1;
      return a.value === b.value ? a.at - b.at : a.value > b.value ? -1 : 1;
    });
    const shares: (bigint | null)[] = sinks.map(() => null);
    for (const { value, at } of order) {
      const share = left < value ? left : value;
      if (share > 0n) shares[at] = share;
      left -= share;
    }
    return shares;
  },
};

/** A stretch of satoshi of an output. Adjacent stretches differ, and a clean one at the end is left out. */
export interface Stretch {
  readonly isTainted: boolean;
  readonly value: bigint;
}

function append(stretches: Stretch[], isTainted: boolean, value: bigint): void {
  if (value === 0n) return;
  const last = stretches.at(-1);
  if (last?.isTainted === isTainted)
    stretches[stretches.length - 1] = { isTainted, value: last.value + value };
  else stretches.push({ isTainted, value });
}

/** The stretches of all inputs one after another. Clean value fills each input up to its value. */
function queueOf(inputs: readonly TaintedInput<readonly Stretch[]>[]): Stretch[] {
  const queue: Stretch[] = [];
  for (const { value, taint } of inputs) {
    let left = value;
    for (const stretch of taint ?? []) {
      append(queue, stretch.isTainted, stretch.value);
      left -= stretch.value;
    }
    append(queue, false, left);
  }
  return queue;
}

/** Removes the clean end. Returns null if nothing is tainted. */
function trimmed(stretches: Stretch[]): Stretch[] | null {
  if (stretches.at(-1)?.isTainted === false) stretches.pop();
  return stretches.length > 0 ? stretches : null;
}

/** Takes value from the front of a queue, sink by sink. */
function takeInOrder(queue: readonly Stretch[], sinks: readonly bigint[]): Stretch[][] {
  let at = 0;
  let used = 0n;
  return sinks.map((value) => {
    const taken: Stretch[] = [];
    let left = value;
    for (let stretch = queue[at]; stretch && left > 0n; stretch = queue[at]) {
      let part = stretch.value - used;
      if (part > left) part = left;
      append(taken, stretch.isTainted, part);
      left -= part;
      used += part;
      if (used < stretch.value) break;
      at++;
      used = 0n;
    }
    return taken;
  });
}

const stretchRule = (spend: TaintRule<readonly Stretch[]>['spend']): TaintRule<readonly Stretch[]> => ({
  pieces: (taint) => taint.length,
  full: (value) => [{ isTainted: true, value }],
  amount(taint) {
    let sum = 0n;
    for (const { isTainted, value } of taint) if (isTainted) sum += value;
    return sum;
  },
  spend,
});

/**
 * The satoshi of the first input leave through the first output, in their order, and the rest is the fee: Clayton's case (Devaynes v Noble,
 * 1816), applied by Anderson, Shumailov, Ahmed: "Making Bitcoin Legal" (Security Protocols XXVI, 2018), and with Rietmann in "Bitcoin
 * Redux" (2018). The rule tracks which satoshi of an output are tainted, so that taint is not diluted.
 */
const fifo = stretchRule((inputs, sinks) => takeInOrder(queueOf(inputs), sinks).map(trimmed));

/**
 * Last in, first out: the first output takes from the end of the last input. As in BlockSci (Kalodner et al., USENIX Security 2020), the
 * order in which parts are taken becomes the order inside the output: the part taken first comes first. The next transaction that spends
 * the output takes from its end again, so a stretch that was at the end of an input becomes the deepest one.
 */
const lifo = stretchRule((inputs, sinks) => takeInOrder(queueOf(inputs).reverse(), sinks).map(trimmed));

export interface TaintRules {
  readonly poison: TaintRule<bigint>;
  readonly haircut: TaintRule<bigint>;
  readonly fifo: TaintRule<readonly Stretch[]>;
  readonly lifo: TaintRule<readonly Stretch[]>;
  readonly tiho: TaintRule<bigint>;
}

export const TAINT_RULES: TaintRules = { poison, haircut, fifo, lifo, tiho };
