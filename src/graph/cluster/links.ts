/**
 * The links that transactions prove between the addresses of one owner: multi-input, and change if at least two heuristics agree. CoinJoins
 * give none. Addresses are the numbers of the outputs store. docs/decisions/clusters.md gives the reasons and sources.
 */
import type { UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { changeOfPayment } from './change.ts';
import { type CoinJoinKind, detectCoinJoin } from './coinjoin.ts';

/** The heuristics that can join two addresses, in the order of their bits. Append new ones at the end; there are eight bits. */
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

/** A transaction with the number of each address, 0 for none, in the order of its inputs and outputs. */
export interface NumberedTransaction {
  readonly tx: UtxoTransaction;
  readonly inputs: ArrayLike<number>;
  readonly outputs: ArrayLike<number>;
}

export interface LinkOptions {
  /** Default: CHANGE_CONFIDENCE_MIN. Above 1, change is never merged. */
  readonly changeConfidenceMin?: number;
  /** Whether the transactions begin with the chain: only then is an unseen address new. */
  readonly completeHistory: boolean;
}

export interface LinkCounts {
  readonly transactions: number;
  readonly addresses: number;
  readonly coinJoins: Readonly<Partial<Record<CoinJoinKind, number>>>;
  readonly changeMerged: number;
}

/** The state of a finder: another one continues from a copy of it in the same way. */
export interface LinkState {
  readonly counts: LinkCounts;
  /** One bit for each address number: whether it was seen. */
  readonly seen: Uint8Array;
}

/** Called with two addresses of one owner. `attribute` is decoded by `heuristicsOf` and `confidenceOf`. */
export type OnLink = (a: number, b: number, attribute: number) => void;

export interface LinkFinder {
  /** Adds the next transaction, in chain order. */
  add(transaction: NumberedTransaction): void;
  /** The highest address number that was seen. */
  readonly highest: number;
  readonly state: LinkState;
}

const BIT: ReadonlyMap<string, number> = new Map(CLUSTER_HEURISTICS.map((name, at) => [name, 1 << at]));
const MULTI_INPUT = 1;
/** Doubt about a change output in thousandths is above the eight bits of the heuristics. */
const DOUBT_SHIFT = 8;

/** The heuristics of an attribute, or of several that were merged. */
export const heuristicsOf = (attribute: number): readonly ClusterHeuristic[] =>
  CLUSTER_HEURISTICS.filter((_, at) => (attribute & (1 << at)) !== 0);

/** 0 to 1: the confidence that addresses joined by links with this attribute have one owner. */
export const confidenceOf = (attribute: number): number =>
  Math.round(MULTI_INPUT_CONFIDENCE * (1000 - (attribute >>> DOUBT_SHIFT))) / 1000;

/** Links of services repeat with every payment. Two to the power of this many are remembered, and not passed again: 3 MB. */
const RECENT_BITS = 18;

/**
 * Creates a finder. Its memory is one bit for each address.
 *
 * @param from - the state of an earlier finder, to continue after its last transaction
 */
export function createLinkFinder(options: LinkOptions, onLink: OnLink, from?: LinkState): LinkFinder {
  const { completeHistory } = options;
  const changeConfidenceMin = options.changeConfidenceMin ?? CHANGE_CONFIDENCE_MIN;
  let seen = from?.seen.slice() ?? new Uint8Array(1024);
  let { transactions, addresses, changeMerged } = from?.counts ?? {
    transactions: 0,
    addresses: 0,
    changeMerged: 0,
  };
  const coinJoins: Partial<Record<CoinJoinKind, number>> = { ...from?.counts.coinJoins };
  let highest = highestBit(seen);
  const recent = new Uint32Array(3 * 2 ** RECENT_BITS);

  const isSeen = (address: number): boolean => ((seen[address >>> 3] ?? 0) & (1 << (address & 7))) !== 0;

  function see(address: number): void {
    if (isSeen(address)) return;
    const at = address >>> 3;
    if (at >= seen.length) {
      const more = new Uint8Array(Math.max(at + 1, seen.length * 2));
      more.set(seen);
      seen = more;
    }
    seen[at] = (seen[at] as number) | (1 << (address & 7));
    addresses++;
    if (address > highest) highest = address;
  }

  function link(a: number, b: number, attribute: number): void {
    const slot = 3 * ((Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b)) >>> (32 - RECENT_BITS));
    if (recent[slot] === a && recent[slot + 1] === b && recent[slot + 2] === attribute) return;
    recent[slot] = a;
    recent[slot + 1] = b;
    recent[slot + 2] = attribute;
    onLink(a, b, attribute);
  }

  function mergeChange({ tx, outputs }: NumberedTransaction, payer: number): void {
    let numbers: Map<string, number> | null = null;
    const isKnown = (address: string): boolean => {
      numbers ??= new Map(tx.outputs.map((output, at) => [output.address ?? '', outputs[at] as number]));
      return isSeen(numbers.get(address) ?? 0);
    };
    const change = changeOfPayment(tx, completeHistory ? { isKnown } : undefined);
    if (!change || change.confidence < changeConfidenceMin || change.heuristic === 'address-reuse') return;
    const address = outputs[tx.outputs.findIndex(({ n }) => n === change.n)] ?? 0;
    if (address === 0) return;
    const doubt = Math.round((1 - change.confidence) * 1000);
    let attribute = doubt << DOUBT_SHIFT;
    for (const name of change.heuristic.split('+')) attribute |= BIT.get(name) ?? 0;
    link(payer, address, attribute);
    changeMerged++;
  }

  return {
    add(transaction) {
      const { tx, inputs, outputs } = transaction;
      transactions++;
      const coinJoin = detectCoinJoin(tx);
      if (coinJoin) coinJoins[coinJoin.kind] = (coinJoins[coinJoin.kind] ?? 0) + 1;
      let first = 0;
      for (let at = 0; at < inputs.length; at++) {
        const address = inputs[at] as number;
        if (address === 0) continue;
        see(address);
        if (first === 0) first = address;
        else if (address !== first && !coinJoin) link(first, address, MULTI_INPUT);
      }
      // Before the outputs are added, so that an address that first appears in this transaction counts as new.
      if (first > 0 && !coinJoin) mergeChange(transaction, first);
      for (let at = 0; at < outputs.length; at++) if (outputs[at] !== 0) see(outputs[at] as number);
    },

    get highest() {
      return highest;
    },

    get state() {
      return {
        counts: { transactions, addresses, coinJoins: { ...coinJoins }, changeMerged },
        seen: seen.subarray(0, (highest >>> 3) + 1),
      };
    },
  };
}

/** The number of the highest bit that is set, 0 if none is. */
function highestBit(bits: Uint8Array): number {
  let at = bits.length - 1;
  while (at >= 0 && bits[at] === 0) at--;
  return at < 0 ? 0 : at * 8 + 31 - Math.clz32(bits[at] as number);
}
