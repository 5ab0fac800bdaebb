/**
 * Forward taint: follows the value of some outputs, under one of five rules (taint-rules.ts), over the graph of outputs and spends. Pure:
 * the caller passes the graph. Backward taint is in provenance.ts.
 */

import { UTXO_LIMITS } from './limits.ts';
import { outputOf, type SpendGraph, type SpendTransaction, type TxNumber } from './spend-graph.ts';
import { TAINT_RULES, type TaintedInput, type TaintMethod, type TaintRule } from './taint-rules.ts';

export interface OutputRef {
  readonly tx: TxNumber;
  readonly n: number;
}

export interface TaintBudget {
  /** The most transactions that are read. */
  readonly transactions: number;
  /** The most pieces of taint held at once: one per output, several for FIFO and LIFO. */
  readonly pieces: number;
}

export const TAINT_BUDGET: TaintBudget = {
  transactions: UTXO_LIMITS.taintTransactionsMax,
  pieces: UTXO_LIMITS.taintPiecesMax,
};

export interface TaintOptions {
  readonly method: TaintMethod;
  /** Height of the last block in which spends are followed. Default: the newest known block. */
  readonly until?: number;
  readonly budget?: TaintBudget;
  /**
   * Whether taint that arrives at an address (by its number) ends there. An example is a service: its coins do not belong to one owner.
   */
  readonly stopAt?: (address: number) => boolean;
  /** Transactions that the walk may enter. Default: all. */
  readonly isInside?: (tx: TxNumber) => boolean;
  /** Called for each output that receives taint. Seeds are included, and so are outputs with taint that moves on later. */
  readonly onTainted?: (output: OutputRef, tainted: bigint) => void;
}

export type TaintEnd =
  /** No known transaction up to the last block spends it. */
  | 'UNSPENT'
  /** It arrived at an address at which taint ends. */
  | 'STOPPED'
  /** The budget ran out, or the spender is outside the allowed set. */
  | 'LEFT';

export interface TaintedOutput extends OutputRef {
  readonly txid: string;
  /** Number of the address, or 0 if the output has no address. */
  readonly address: number;
  readonly value: bigint;
  /** In satoshi. */
  readonly tainted: bigint;
  readonly end: TaintEnd;
}

export interface TaintAnswer {
  readonly method: TaintMethod;
  /** Number of distinct seeds. `seedValue` is their value in satoshi. */
  readonly seeds: number;
  readonly seedValue: bigint;
  /** Taint that is on outputs at the end. */
  readonly tainted: bigint;
  /** The part of `tainted` that is on unspent outputs. */
  readonly unspent: bigint;
  /** Taint that was paid to miners. It is not followed into their coinbase. */
  readonly fee: bigint;
  /** Taint that left into a shielded pool. */
  readonly shielded: bigint;
  /** Taint that came back to an output that is itself a seed. The seed counts once. */
  readonly intoSeeds: bigint;
  /**
   * Satoshi that haircut rounded away. Except for poison, which creates taint: seedValue = tainted + fee + shielded + intoSeeds + rounded.
   */
  readonly rounded: bigint;
  /** Most tainted first. At most UTXO_LIMITS.taintedOutputsListed of `outputCount`. */
  readonly outputs: readonly TaintedOutput[];
  readonly outputCount: number;
  readonly transactions: number;
  /** Transactions that have an input with an unknown value. That value is assumed to be clean, and the fee to be 0. */
  readonly unresolved: number;
  /** Why the walk ended early, or null if it did not. */
  readonly truncated: 'TRANSACTIONS' | 'PIECES' | null;
}

const nameOf = (tx: TxNumber, n: number): string => `${tx}:${n}`;

/** Blocks still to be processed, lowest height first, with the reached transactions of each. */
class WaitingBlocks {
  readonly #byHeight = new Map<number, Set<TxNumber>>();
  readonly #heap: number[] = [];

  add(height: number, tx: TxNumber): void {
    const waiting = this.#byHeight.get(height);
    if (waiting) {
      waiting.add(tx);
      return;
    }
    this.#byHeight.set(height, new Set([tx]));
    const heap = this.#heap;
    let at = heap.push(height) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= height) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = height;
  }

  next(): { readonly height: number; readonly transactions: Set<TxNumber> } | null {
    const heap = this.#heap;
    const height = heap[0];
    const last = heap.pop();
    if (height === undefined || last === undefined) return null;
    if (heap.length > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++;
        if ((heap[child] as number) >= last) break;
        heap[at] = heap[child] as number;
        at = child;
      }
      heap[at] = last;
    }
    const transactions = this.#byHeight.get(height) ?? new Set<TxNumber>();
    this.#byHeight.delete(height);
    return { height, transactions };
  }
}

/**
 * Returns the transactions of one block that taint may reach from the given ones, parents before children. The order inside a block does
 * not guarantee that on every chain: BCH sorts its blocks by transaction id.
 */
function inOrder(
  graph: SpendGraph,
  height: number,
  reached: ReadonlySet<TxNumber>,
  isInside: (tx: TxNumber) => boolean,
): SpendTransaction[] {
  const found = new Map<TxNumber, SpendTransaction>();
  const children = new Map<TxNumber, Set<TxNumber>>();
  const parents = new Map<TxNumber, number>();
  const open = [...reached];
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    if (found.has(number)) continue;
    const transaction = graph.transaction(number);
    found.set(number, transaction);
    const later = new Set<TxNumber>();
    for (const { spentBy } of transaction.outputs) {
      if (spentBy === null || later.has(spentBy) || !isInside(spentBy)) continue;
      if (graph.transaction(spentBy).block !== height) continue;
      later.add(spentBy);
      parents.set(spentBy, (parents.get(spentBy) ?? 0) + 1);
      open.push(spentBy);
    }
    children.set(number, later);
  }
  const byIndex = (a: SpendTransaction, b: SpendTransaction): number => b.indexInBlock - a.indexInBlock;
  const ready = [...found.values()].filter(({ number }) => !parents.get(number)).sort(byIndex);
  const ordered: SpendTransaction[] = [];
  for (let transaction = ready.pop(); transaction; transaction = ready.pop()) {
    ordered.push(transaction);
    for (const child of children.get(transaction.number) ?? []) {
      const left = (parents.get(child) ?? 0) - 1;
      parents.set(child, left);
      const next = found.get(child);
      if (left === 0 && next) ready.push(next);
    }
  }
  return ordered;
}

interface Held<Taint> {
  readonly taint: Taint;
  readonly tx: TxNumber;
  readonly n: number;
}

class Walk<Taint> {
  readonly #graph: SpendGraph;
  readonly #rule: TaintRule<Taint>;
  readonly #options: TaintOptions;
  readonly #budget: TaintBudget;
  readonly #until: number;
  readonly #isInside: (tx: TxNumber) => boolean;
  /** Taint of outputs that the walk has not seen spent yet. */
  readonly #held = new Map<string, Held<Taint>>();
  readonly #stopped = new Map<string, Held<Taint>>();
  readonly #seeds = new Set<string>();
  readonly #waiting = new WaitingBlocks();
  #pieces = 0;
  #transactions = 0;
  #unresolved = 0;
  #seedValue = 0n;
  #fee = 0n;
  #shielded = 0n;
  #intoSeeds = 0n;
  #rounded = 0n;
  #truncated: TaintAnswer['truncated'] = null;

  constructor(graph: SpendGraph, rule: TaintRule<Taint>, options: TaintOptions) {
    this.#graph = graph;
    this.#rule = rule;
    this.#options = options;
    this.#budget = options.budget ?? TAINT_BUDGET;
    this.#until = options.until ?? Number.POSITIVE_INFINITY;
    this.#isInside = options.isInside ?? (() => true);
  }

  run(seeds: Iterable<OutputRef>): this {
    for (const seed of seeds) this.#addSeed(seed);
    for (let block = this.#waiting.next(); block; block = this.#waiting.next()) {
      for (const transaction of inOrder(this.#graph, block.height, block.transactions, this.#isInside)) {
        if (this.#transactions >= this.#budget.transactions) this.#truncated = 'TRANSACTIONS';
        else if (this.#pieces > this.#budget.pieces) this.#truncated = 'PIECES';
        if (this.#truncated) return this;
        this.#spend(transaction);
      }
    }
    return this;
  }

  #addSeed({ tx, n }: OutputRef): void {
    const name = nameOf(tx, n);
    if (this.#seeds.has(name)) return;
    const output = outputOf(this.#graph.transaction(tx), n);
    if (!output || output.value === null) return;
    this.#seeds.add(name);
    this.#seedValue += output.value;
    if (output.value > 0n) this.#hold(tx, n, this.#rule.full(output.value), output.spentBy);
  }

  #hold(tx: TxNumber, n: number, taint: Taint, spentBy: TxNumber | null): void {
    this.#held.set(nameOf(tx, n), { taint, tx, n });
    this.#pieces += this.#rule.pieces(taint);
    this.#options.onTainted?.({ tx, n }, this.#rule.amount(taint));
    if (spentBy === null || !this.#isInside(spentBy)) return;
    const { block } = this.#graph.transaction(spentBy);
    if (block >= 0 && block <= this.#until) this.#waiting.add(block, spentBy);
  }

  /** Returns the inputs with their taint, and removes that taint from the outputs they spend. Returns null if no input is tainted. */
  #takeInputs(transaction: SpendTransaction): { inputs: TaintedInput<Taint>[]; unknown: number[] } | null {
    const names = transaction.inputs.map(({ tx, n }) => nameOf(tx, n));
    if (!names.some((name) => this.#held.has(name))) return null;
    const inputs: TaintedInput<Taint>[] = [];
    const unknown: number[] = [];
    for (const [at, { tx, n }] of transaction.inputs.entries()) {
      const name = names[at] as string;
      const value = outputOf(this.#graph.transaction(tx), n)?.value ?? null;
      const held = this.#held.get(name);
      if (value === null) unknown.push(at);
      inputs.push({ value: value ?? 0n, taint: held?.taint ?? null });
      if (!held) continue;
      this.#held.delete(name);
      this.#pieces -= this.#rule.pieces(held.taint);
    }
    if (transaction.shieldedIn > 0n) inputs.push({ value: transaction.shieldedIn, taint: null });
    return { inputs, unknown };
  }

  #amountOf(taints: readonly (Taint | null)[]): bigint {
    let sum = 0n;
    for (const taint of taints) if (taint !== null) sum += this.#rule.amount(taint);
    return sum;
  }

  #spend(transaction: SpendTransaction): void {
    const taken = this.#takeInputs(transaction);
    if (!taken) return;
    this.#transactions++;
    const { inputs, unknown } = taken;
    let entered = 0n;
    for (const { value } of inputs) entered += value;
    let left = transaction.shieldedOut;
    for (const { value } of transaction.outputs) left += value ?? 0n;
    if (unknown.length > 0) this.#unresolved++;
    if (left > entered) {
      // Only an unknown input can supply the missing value. It counts as clean, and keeps its position among the inputs.
      inputs[unknown[0] ?? inputs.length] = { value: left - entered, taint: null };
      entered = left;
    }
    const sinks = transaction.outputs.map(({ value }) => value ?? 0n);
    sinks.push(transaction.shieldedOut, entered - left);
    const shares = this.#rule.spend(inputs, sinks);
    this.#rounded += this.#amountOf(inputs.map(({ taint }) => taint)) - this.#amountOf(shares);
    for (const [at, output] of transaction.outputs.entries()) {
      const taint = shares[at] ?? null;
      if (taint === null) continue;
      const { n, address, spentBy } = output;
      if (this.#seeds.has(nameOf(transaction.number, n))) this.#intoSeeds += this.#rule.amount(taint);
      else if (address > 0 && this.#options.stopAt?.(address)) {
        this.#stopped.set(nameOf(transaction.number, n), { taint, tx: transaction.number, n });
        this.#options.onTainted?.({ tx: transaction.number, n }, this.#rule.amount(taint));
      } else this.#hold(transaction.number, n, taint, spentBy);
    }
    const [pool, fee] = shares.slice(-2);
    this.#shielded += pool ? this.#rule.amount(pool) : 0n;
    this.#fee += fee ? this.#rule.amount(fee) : 0n;
  }

  #endOf(spentBy: TxNumber | null): TaintEnd {
    if (spentBy === null || this.#graph.transaction(spentBy).block > this.#until) return 'UNSPENT';
    return 'LEFT';
  }

  answer(): TaintAnswer {
    const outputs: TaintedOutput[] = [];
    let tainted = 0n;
    let unspent = 0n;
    const add = ({ tx, n, taint }: Held<Taint>, isStopped: boolean): void => {
      const transaction = this.#graph.transaction(tx);
      const output = outputOf(transaction, n);
      if (!output) return;
      const amount = this.#rule.amount(taint);
      const end = isStopped ? 'STOPPED' : this.#endOf(output.spentBy);
      tainted += amount;
      if (end === 'UNSPENT') unspent += amount;
      const { address, value } = output;
      outputs.push({
        tx,
        n,
        txid: transaction.txid,
        address,
        value: value ?? 0n,
        tainted: amount,
        end,
      });
    };
    for (const held of this.#held.values()) add(held, false);
    for (const held of this.#stopped.values()) add(held, true);
    outputs.sort(
      (a, b) =>
        (a.tainted < b.tainted ? 1 : a.tainted > b.tainted ? -1 : 0) ||
        (a.txid < b.txid ? -1 : a.txid > b.txid ? 1 : a.n - b.n),
    );
    return {
      method: this.#options.method,
      seeds: this.#seeds.size,
      seedValue: this.#seedValue,
      tainted: tainted,
      unspent: unspent,
      fee: this.#fee,
      shielded: this.#shielded,
      intoSeeds: this.#intoSeeds,
      rounded: this.#options.method === 'poison' ? 0n : this.#rounded,
      outputs: outputs.slice(0, UTXO_LIMITS.taintedOutputsListed),
      outputCount: outputs.length,
      transactions: this.#transactions,
      unresolved: this.#unresolved,
      truncated: this.#truncated,
    };
  }
}

/**
 * Follows the value of the seeds through the transactions that spend it. Each transaction is processed once, after all transactions that
 * pay into it. A seed that is listed twice counts once, and a seed without a known value is ignored. A seed is fully tainted even if it is
 * downstream of another one. The result does not depend on the order of the seeds.
 */
export function taintOf(graph: SpendGraph, seeds: Iterable<OutputRef>, options: TaintOptions): TaintAnswer {
  return walk(graph, seeds, options).answer();
}

/** Runs the same walk without building a result, for a caller that uses `onTainted`: building the sums costs more than the walk. */
export function spreadTaint(graph: SpendGraph, seeds: Iterable<OutputRef>, options: TaintOptions): void {
  walk(graph, seeds, options);
}

function walk(
  graph: SpendGraph,
  seeds: Iterable<OutputRef>,
  options: TaintOptions,
): { answer(): TaintAnswer } {
  const { method } = options;
  if (method === 'fifo' || method === 'lifo') return new Walk(graph, TAINT_RULES[method], options).run(seeds);
  return new Walk(graph, TAINT_RULES[method], options).run(seeds);
}
