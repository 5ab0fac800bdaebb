/**
 * Change recognition: finds the output of a transaction that returns to the payer. Each heuristic selects one output or none. Heuristics
 * that agree increase the confidence, and contradictions lower it or leave no result. Pure.
 *
 * Sources:
 * - Meiklejohn et al.: "A Fistful of Bitcoins" (IMC 2013), section 4.2: change goes to an address never seen before, or back to an address
 *   that pays.
 * - Androulaki et al.: "Evaluating User Privacy in Bitcoin" (FC 2013): the shadow address.
 * - Kalodner et al.: "BlockSci" (USENIX Security 2020), section 3.3: address reuse, script type, round payments (power of ten), optimal
 *   change (smaller than every input), peeling chains.
 * - Möser, Narayanan: "Resurrecting Address Clustering in Bitcoin" (FC 2022): the error rate of each heuristic, and that combined votes are
 *   better than any single one. The confidences below follow that order; their values are this project's judgement.
 */
import type { UtxoOutput, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { detectCoinJoin } from './coinjoin.ts';
import { scriptFormOf } from './script-form.ts';

export interface ChangeOutput {
  /** Index of the output. */
  readonly n: number;
  /** The heuristics that select it, strongest first, joined by `+`. */
  readonly heuristic: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** Whether an address was seen on the chain before this transaction. */
export interface KnownAddresses {
  isKnown(address: string): boolean;
}

/** An output that could be change: it has an address. */
type Candidate = UtxoOutput & { readonly address: string };

interface Payment {
  readonly tx: UtxoTransaction;
  readonly candidates: readonly Candidate[];
  /** Number of outputs with value, candidates or not, without data outputs. */
  readonly valued: number;
  readonly known: KnownAddresses | undefined;
}

interface Heuristic {
  readonly name: string;
  readonly confidence: number;
  /** Returns the one output that it selects. Null if it selects none or several. */
  readonly find: (payment: Payment) => Candidate | null;
}

/** Manually entered payments are multiples of this many satoshi (0.001 BTC). Change hardly ever is. */
const ROUND_SATOSHI = 100_000n;
/** A peeling step pays out less than a tenth of the amount it carries on. */
const PEEL_RATIO = 10n;

/** The single candidate that fits. Null if none or several fit. */
function only(candidates: readonly Candidate[], fits: (output: Candidate) => boolean): Candidate | null {
  let found: Candidate | null = null;
  for (const output of candidates) {
    if (!fits(output)) continue;
    if (found) return null;
    found = output;
  }
  return found;
}

function scriptType({ tx, candidates, valued }: Payment): Candidate | null {
  const first = tx.inputs[0]?.address;
  const kind = first ? scriptFormOf(tx.chain, first) : null;
  if (kind === null || valued < 2) return null;
  if (tx.inputs.some(({ address }) => address === null || scriptFormOf(tx.chain, address) !== kind))
    return null;
  return only(candidates, ({ script }) => script === kind);
}

function freshAddress({ candidates, known }: Payment): Candidate | null {
  return known ? only(candidates, ({ address }) => !known.isKnown(address)) : null;
}

/** A wallet that needed a second input would not have added it to get change greater than that input. */
function optimalChange({ tx, candidates }: Payment): Candidate | null {
  if (tx.inputs.length < 2) return null;
  let smallest: bigint | null = null;
  for (const { value } of tx.inputs) {
    if (value === null) return null;
    if (smallest === null || value < smallest) smallest = value;
  }
  return only(candidates, ({ value }) => smallest !== null && value < smallest);
}

function roundPayment({ candidates, valued }: Payment): Candidate | null {
  if (candidates.length !== valued) return null;
  return only(candidates, ({ value }) => value % ROUND_SATOSHI !== 0n);
}

function peeling({ tx, candidates, valued }: Payment): Candidate | null {
  const [first, second] = candidates;
  if (tx.inputs.length !== 1 || valued !== 2 || !first || !second) return null;
  const [greater, smaller] = first.value > second.value ? [first, second] : [second, first];
  return greater.value >= smaller.value * PEEL_RATIO ? greater : null;
}

const HEURISTICS: readonly Heuristic[] = [
  { name: 'script-type', confidence: 0.8, find: scriptType },
  { name: 'fresh-address', confidence: 0.75, find: freshAddress },
  { name: 'round-payment', confidence: 0.7, find: roundPayment },
  { name: 'optimal-change', confidence: 0.65, find: optimalChange },
  { name: 'peeling', confidence: 0.4, find: peeling },
];

/** For an output that pays an address of the inputs: ownership is observed, not guessed. */
const REUSE_CONFIDENCE = 0.99;
/** Guesses never reach the confidence of an observation. */
const VOTES_CONFIDENCE_MAX = 0.95;
/** Wallets that do not reuse the paying address rarely reuse a change address. */
const KNOWN_ADDRESS_FACTOR = 0.5;
/** Below this there is no result. */
const CONFIDENCE_MIN = 0.35;

/** Combines agreeing heuristics as independent witnesses: 1 minus the probability that all of them are wrong. */
const together = (confidences: readonly number[]): number =>
  1 - confidences.reduce((doubt, confidence) => doubt * (1 - confidence), 1);

/**
 * Finds the output of a transaction that returns to the payer. Returns null if no heuristic selects one, if two are equally likely, and for
 * a coinbase, a CoinJoin, and a transaction with one output. Without `known` the fresh-address heuristic is not used.
 */
export function recogniseChange(tx: UtxoTransaction, known?: KnownAddresses): ChangeOutput | null {
  return detectCoinJoin(tx) ? null : changeOfPayment(tx, known);
}

/** Does the same for a transaction that is known not to be a CoinJoin. */
export function changeOfPayment(tx: UtxoTransaction, known?: KnownAddresses): ChangeOutput | null {
  if (tx.isCoinbase || tx.inputs.length === 0 || tx.outputs.length < 2) return null;
  const valued = tx.outputs.filter(({ script, value }) => script !== 'op_return' && value > 0n);
  const candidates = valued.filter((output): output is Candidate => output.address !== null);
  if (valued.length < 2 || candidates.length === 0) return null;

  const payers = new Set<string>();
  for (const { address } of tx.inputs) if (address !== null) payers.add(address);
  const returned = candidates.filter(({ address }) => payers.has(address));
  if (returned.length > 1) return null;
  if (returned[0]) return { n: returned[0].n, heuristic: 'address-reuse', confidence: REUSE_CONFIDENCE };

  const payment: Payment = { tx, candidates, valued: valued.length, known };
  const votes = new Map<number, { output: Candidate; names: string[]; confidences: number[] }>();
  for (const { name, confidence, find } of HEURISTICS) {
    const output = find(payment);
    if (!output) continue;
    const vote = votes.get(output.n) ?? { output, names: [], confidences: [] };
    vote.names.push(name);
    vote.confidences.push(confidence);
    votes.set(output.n, vote);
  }

  const ranked = [...votes.values()]
    .map(({ output, names, confidences }) => ({ output, names, sure: together(confidences) }))
    .sort((a, b) => b.sure - a.sure);
  const [best, against] = ranked;
  if (!best) return null;
  const contradicted = against ? best.sure * (1 - against.sure) : best.sure;
  const used = known?.isKnown(best.output.address) ? KNOWN_ADDRESS_FACTOR : 1;
  const confidence = Math.min(VOTES_CONFIDENCE_MAX, contradicted * used);
  if (confidence < CONFIDENCE_MIN) return null;
  return {
    n: best.output.n,
    heuristic: best.names.join('+'),
    confidence: Math.round(confidence * 1000) / 1000,
  };
}
