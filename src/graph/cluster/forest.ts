/**
 * Clusters addresses that must have signed together: all inputs of a transaction that is not a CoinJoin, and its change output if the
 * confidence is high enough. Pure: takes transactions and returns clusters, which the store writes.
 *
 * Multi-input: Nakamoto (2008), section 10; Reid, Harrigan (2011); Meiklejohn et al. (IMC 2013), heuristic 1.
 */
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { maxKeyBytes, writeAddressKeyFromText } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { createAddressTable } from './address-table.ts';
import { changeOfPayment } from './change.ts';
import { type CoinJoinKind, detectCoinJoin } from './coinjoin.ts';
import { createUnionFind } from './union-find.ts';

/** The heuristics that can join two addresses, in the order of their bits. Append new ones at the end. */
export const CLUSTER_HEURISTICS = [
  'multi-input',
  'script-type',
  'fresh-address',
  'round-payment',
  'optimal-change',
  'peeling',
] as const;
export type ClusterHeuristic = (typeof CLUSTER_HEURISTICS)[number];

/**
 * Confidence of clusters that are based only on inputs: the heuristic is wrong if payers cooperate without a visible structure (PayJoin).
 */
export const MULTI_INPUT_CONFIDENCE = 0.9;
/**
 * Change is merged from this confidence on, which needs at least two heuristics that agree. One wrong change output joins two owners
 * permanently.
 */
export const CHANGE_CONFIDENCE_MIN = 0.9;

export interface ForestOptions {
  readonly chain: ChainId;
  /** Default: CHANGE_CONFIDENCE_MIN. Above 1, change is never merged. */
  readonly changeConfidenceMin?: number;
  /** Whether the transactions begin with the chain: only then is an unseen address new. */
  readonly completeHistory: boolean;
}

export interface ClusterFound {
  /** The smallest key of its members. It is the same in any reading order. */
  readonly id: AddressKey;
  readonly size: number;
  readonly heuristics: readonly ClusterHeuristic[];
  /** 0 to 1: the confidence that all members have one owner. */
  readonly confidence: number;
  /** In the order of their first appearance. */
  readonly members: () => IterableIterator<AddressKey>;
}

export interface ForestCounts {
  readonly transactions: number;
  readonly addresses: number;
  readonly coinJoins: Readonly<Partial<Record<CoinJoinKind, number>>>;
  readonly changeMerged: number;
}

export interface ClusterForest {
  /** Adds the next transaction, in chain order. The caller must pass only addresses of the chain. */
  add(tx: UtxoTransaction): void;
  readonly counts: ForestCounts;
  /** Clusters of at least two addresses, in the order of their first member. */
  clusters(): IterableIterator<ClusterFound>;
}

const BIT: ReadonlyMap<string, number> = new Map(CLUSTER_HEURISTICS.map((name, at) => [name, 1 << at]));
const MULTI_INPUT = 1;

/** Creates an empty forest. `add` and `clusters` keep all addresses in memory. */
export function createClusterForest(options: ForestOptions): ClusterForest {
  const { chain, completeHistory } = options;
  const changeConfidenceMin = options.changeConfidenceMin ?? CHANGE_CONFIDENCE_MIN;
  const table = createAddressTable();
  const sets = createUnionFind();
  /** Per id: the heuristics that merged it. They are moved to its root at the end. */
  let marks = new Uint8Array(1024);
  /** Per id: the doubt, in thousandths, about the change output that merged it. */
  let doubts = new Uint16Array(1024);
  const keyBytes = new Uint8Array(maxKeyBytes);
  const coinJoins: Partial<Record<CoinJoinKind, number>> = {};
  let transactions = 0;
  let changeMerged = 0;

  const keyLength = (address: string): number => {
    const length = writeAddressKeyFromText(chain, address, keyBytes, 0);
    if (length > 0) return length;
    throw new AssayError(
      'INVALID_ADDRESS',
      `address: '${address.slice(0, 80)}' is not an address of ${chain}.`,
    );
  };

  function idOf(address: string): number {
    const id = table.idOf(keyBytes, keyLength(address));
    if (id < sets.count) return id;
    sets.grow(id + 1);
    if (id >= marks.length) {
      const moreMarks = new Uint8Array(marks.length * 2);
      moreMarks.set(marks);
      marks = moreMarks;
      const moreDoubts = new Uint16Array(doubts.length * 2);
      moreDoubts.set(doubts);
      doubts = moreDoubts;
    }
    return id;
  }

  const known = completeHistory
    ? { isKnown: (address: string) => table.find(keyBytes, keyLength(address)) >= 0 }
    : undefined;

  function mergeChange(tx: UtxoTransaction, payer: number): void {
    const change = changeOfPayment(tx, known);
    if (!change || change.confidence < changeConfidenceMin || change.heuristic === 'address-reuse') return;
    const address = tx.outputs.find(({ n }) => n === change.n)?.address;
    if (address === null || address === undefined) return;
    const id = idOf(address);
    for (const name of change.heuristic.split('+')) marks[id] = (marks[id] as number) | (BIT.get(name) ?? 0);
    doubts[id] = Math.max(doubts[id] as number, Math.round((1 - change.confidence) * 1000));
    sets.union(payer, id);
    changeMerged++;
  }

  return {
    add(tx) {
      transactions++;
      const coinJoin = detectCoinJoin(tx);
      if (coinJoin) coinJoins[coinJoin.kind] = (coinJoins[coinJoin.kind] ?? 0) + 1;
      let first = -1;
      for (const { address } of tx.inputs) {
        if (address === null) continue;
        const id = idOf(address);
        if (first < 0) first = id;
        else if (id !== first && !coinJoin) {
          sets.union(first, id);
          marks[id] = (marks[id] as number) | MULTI_INPUT;
        }
      }
      // Before the outputs are added, so that an address that first appears in this transaction counts as new.
      if (first >= 0 && !coinJoin) mergeChange(tx, first);
      for (const { address } of tx.outputs) if (address !== null) idOf(address);
    },

    get counts() {
      return { transactions, addresses: table.count, coinJoins: { ...coinJoins }, changeMerged };
    },

    *clusters() {
      const { count } = sets;
      // Flattens all sets: afterwards each id points directly to the first member of its set.
      const sizes = sets.sizes();
      // Members are linked lists in one array, so that clusters of millions need no arrays of their own.
      const next = new Int32Array(count).fill(-1);
      const smallest = new Int32Array(count).fill(-1);
      for (let id = count - 1; id >= 0; id--) {
        const root = sets.find(id);
        if ((sizes[root] as number) < 2) continue;
        const best = smallest[root] as number;
        if (best < 0 || table.compare(id, best) < 0) smallest[root] = id;
        if (id === root) continue;
        next[id] = next[root] as number;
        next[root] = id;
        marks[root] = (marks[root] as number) | (marks[id] as number);
        doubts[root] = Math.max(doubts[root] as number, doubts[id] as number);
      }
      for (let root = 0; root < count; root++) {
        const size = sizes[root] as number;
        if (size < 2) continue;
        const mark = marks[root] as number;
        yield {
          id: table.keyOf(smallest[root] as number),
          size,
          heuristics: CLUSTER_HEURISTICS.filter((_, at) => (mark & (1 << at)) !== 0),
          confidence: Math.round(MULTI_INPUT_CONFIDENCE * (1000 - (doubts[root] as number))) / 1000,
          *members() {
            for (let member = root; member >= 0; member = next[member] as number) yield table.keyOf(member);
          },
        };
      }
    },
  };
}
