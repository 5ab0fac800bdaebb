/**
 * Backward taint: the share of an address's receipts that comes from labelled addresses, by category, under one of the five rules. The
 * transactions behind the address are gathered from its outputs back to the first labelled ones. Then the value of each origin is followed
 * forwards through them (taint.ts). Pure; the caller passes the graph and the labels.
 */

import { UTXO_LIMITS } from './limits.ts';
import { outputOf, type SpendGraph, type TxNumber } from './spend-graph.ts';
import { type OutputRef, spreadTaint, TAINT_BUDGET } from './taint.ts';
import type { TaintMethod } from './taint-rules.ts';

export interface ProvenanceOptions<Category extends string> {
  readonly method: TaintMethod;
  /** Number of the address in question. Its own label is not an origin. */
  readonly subject: number;
  /** Category of an address by its number. Null if it is not attributed: the origin of its money is then further back. */
  readonly originOf: (address: number) => Category | null;
  /** The most transactions that are gathered. Default: `provenanceTransactionsMax`. */
  readonly transactions?: number;
  /** The most transactions between an origin and the address. Default: limited by the budget only. */
  readonly maxHops?: number;
}

/** Satoshi of all outputs considered, and of the unspent ones among them. */
export interface ProvenanceSum {
  readonly received: bigint;
  readonly unspent: bigint;
}

export interface ProvenanceShare<Category extends string> extends ProvenanceSum {
  readonly category: Category;
  /** Outputs of that origin that the search found. */
  readonly origins: number;
}

/**
 * Under haircut, FIFO and LIFO the parts add up to `total` except for rounding. Under poison one satoshi counts for every category that
 * touched it. Under TIHO each category is followed separately, and `unknown` is the value that no category reaches.
 */
export interface Provenance<Category extends string> {
  readonly method: TaintMethod;
  readonly outputs: number;
  readonly total: ProvenanceSum;
  /** Most received first. */
  readonly shares: readonly ProvenanceShare<Category>[];
  /** From coinbase transactions. */
  readonly mined: ProvenanceSum;
  /** From outputs that were not read: beyond the budget, or in transactions that are not stored. */
  readonly unexplored: ProvenanceSum;
  /** The rest: fees, inputs that cannot be attributed, and rounding. */
  readonly unknown: ProvenanceSum;
  readonly transactions: number;
  /** Whether the budget or `maxHops` ended the search before all origins were found. */
  readonly isTruncated: boolean;
}

const nameOf = ({ tx, n }: OutputRef): string => `${tx}:${n}`;

interface Gathered<Category extends string> {
  readonly inside: ReadonlySet<TxNumber>;
  readonly origins: ReadonlyMap<Category, OutputRef[]>;
  readonly mined: readonly OutputRef[];
  readonly unexplored: readonly OutputRef[];
  readonly isTruncated: boolean;
}

/** Breadth first: if the budget runs out, the search has seen the nearest origins of all outputs. */
function gather<Category extends string>(
  graph: SpendGraph,
  targets: readonly OutputRef[],
  options: ProvenanceOptions<Category>,
): Gathered<Category> {
  const budget = options.transactions ?? UTXO_LIMITS.provenanceTransactionsMax;
  const inside = new Set<TxNumber>();
  const origins = new Map<Category, OutputRef[]>();
  const mined: OutputRef[] = [];
  const edge: OutputRef[] = [];
  let isTruncated = false;

  const isEntered = (tx: TxNumber, hops: number): boolean => {
    if (inside.has(tx)) return true;
    if (inside.size >= budget || hops > (options.maxHops ?? Number.POSITIVE_INFINITY)) {
      isTruncated = true;
      return false;
    }
    inside.add(tx);
    return true;
  };
  /** Classifies an output by the source of its value. Returns true if the source is further back. */
  const isFurtherBack = (ref: OutputRef): boolean => {
    const transaction = graph.transaction(ref.tx);
    const address = outputOf(transaction, ref.n)?.address ?? 0;
    const category = address > 0 && address !== options.subject ? options.originOf(address) : null;
    if (category !== null) {
      const known = origins.get(category);
      if (known) known.push(ref);
      else origins.set(category, [ref]);
      return false;
    }
    if (transaction.isCoinbase) mined.push(ref);
    else if (!transaction.isKnown) edge.push(ref);
    return transaction.isKnown && !transaction.isCoinbase;
  };

  let level: TxNumber[] = [];
  for (const target of targets) {
    const { isKnown, isCoinbase } = graph.transaction(target.tx);
    if (isCoinbase) mined.push(target);
    else if (!isKnown) edge.push(target);
    else if (inside.has(target.tx)) continue;
    else if (isEntered(target.tx, 1)) level.push(target.tx);
    else edge.push(target);
  }
  for (let hops = 2; level.length > 0; hops++) {
    const next: TxNumber[] = [];
    for (const tx of level)
      for (const input of graph.transaction(tx).inputs) {
        if (!isFurtherBack(input)) continue;
        const wasInside = inside.has(input.tx);
        if (!isEntered(input.tx, hops)) edge.push(input);
        else if (!wasInside) next.push(input.tx);
      }
    level = next;
  }
  // An output that was out of reach may have been entered on another path later.
  return { inside, origins, mined, unexplored: edge.filter(({ tx }) => !inside.has(tx)), isTruncated };
}

/**
 * Determines the origins of the money of an address. An output at a labelled address is an origin of its category and hides everything
 * behind it. Taint ends if it reaches an address of another category. Money that went out and came back counts each time it is received.
 *
 * @param targets outputs of the address, without duplicates
 */
export function provenanceOf<Category extends string>(
  graph: SpendGraph,
  targets: readonly OutputRef[],
  options: ProvenanceOptions<Category>,
): Provenance<Category> {
  const { inside, origins, mined, unexplored, isTruncated } = gather(graph, targets, options);
  const values = new Map<string, { value: bigint; isUnspent: boolean; left: bigint }>();
  for (const target of targets) {
    const output = outputOf(graph.transaction(target.tx), target.n);
    const value = output?.value ?? 0n;
    values.set(nameOf(target), { value, isUnspent: output?.spentBy === null, left: value });
  }
  const stopAt = (address: number): boolean =>
    address !== options.subject && options.originOf(address) !== null;

  const follow = (seeds: readonly OutputRef[]): ProvenanceSum => {
    let received = 0n;
    let unspent = 0n;
    spreadTaint(graph, seeds, {
      method: options.method,
      budget: { ...TAINT_BUDGET, transactions: inside.size },
      stopAt,
      isInside: (tx) => inside.has(tx),
      onTainted(ref, tainted) {
        const target = values.get(nameOf(ref));
        if (!target) return;
        received += tainted;
        if (target.isUnspent) unspent += tainted;
        target.left = target.left > tainted ? target.left - tainted : 0n;
      },
    });
    return { received, unspent };
  };

  const shares = [...origins].map(([category, seeds]) => ({
    category,
    ...follow(seeds),
    origins: new Set(seeds.map(nameOf)).size,
  }));
  shares.sort((a, b) =>
    a.received === b.received ? (a.category < b.category ? -1 : 1) : a.received < b.received ? 1 : -1,
  );
  const minedSum = follow(mined);
  const unexploredSum = follow(unexplored);

  const sum = (of: (target: { value: bigint; left: bigint }) => bigint): ProvenanceSum => {
    let received = 0n;
    let unspent = 0n;
    for (const target of values.values()) {
      received += of(target);
      if (target.isUnspent) unspent += of(target);
    }
    return { received, unspent };
  };
  return {
    method: options.method,
    outputs: values.size,
    total: sum(({ value }) => value),
    shares,
    mined: minedSum,
    unexplored: unexploredSum,
    unknown: sum(({ left }) => left),
    transactions: inside.size,
    isTruncated,
  };
}
