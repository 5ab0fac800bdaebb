/**
 * Change recognition: which output of a transaction returns to the payer. Each heuristic points at one output or at none; those
 * that agree strengthen each other, those that contradict weaken the answer or take it back. Pure.
 *
 * Sources:
 * - Meiklejohn et al.: "A Fistful of Bitcoins" (IMC 2013), section 4.2: change goes to an address never seen before, or back to
 *   an address that pays.
 * - Androulaki et al.: "Evaluating User Privacy in Bitcoin" (FC 2013): the shadow address.
 * - Kalodner et al.: "BlockSci" (USENIX Security 2020), section 3.3: address reuse, script type, round payments (power of ten),
 *   optimal change (smaller than every input), peeling chains.
 * - Möser, Narayanan: "Resurrecting Address Clustering in Bitcoin" (FC 2022): how often each errs, and that votes together are
 *   better than any alone. The confidences below follow that order; their figures are this project's judgement.
 */
import type { UtxoOutput, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { detectCoinJoin } from './coinjoin.ts';
import { scriptFormOf } from './script-form.ts';

export interface ChangeOutput {
  /** Index of the output. */
  readonly n: number;
  /** The heuristics that point at it, strongest first, joined by `+`. */
  readonly heuristic: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** Whether an address was seen on the chain before this transaction. */
export interface KnownAddresses {
  isKnown(address: string): boolean;
}

/** An output that could be change: somebody can spend it. */
type Candidate = UtxoOutput & { readonly address: string };

interface Payment {
  readonly tx: UtxoTransaction;
  readonly candidates: readonly Candidate[];
  /** Outputs that carry value, candidates or not: data outputs are nobody's. */
  readonly valued: number;
  readonly known: KnownAddresses | undefined;
}

interface Heuristic {
  readonly name: string;
  readonly confidence: number;
  /** The one output that it points at; null where it points at none or at several. */
  readonly find: (payment: Payment) => Candidate | null;
}

/** Payments that people type in are multiples of this many satoshi (0.001 BTC); change hardly ever is. */
const ROUND_SATOSHI = 100_000n;
/** A peeling step pays out less than a tenth of what it carries on. */
const PEEL_RATIO = 10n;

/** The single one that fits; null where none or several do. */
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

/** A wallet that had to add a second input would not have done so for a change greater than that input. */
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

/** An output that pays an address of the inputs: ownership is not guessed but seen. */
const REUSE_CONFIDENCE = 0.99;
/** Guesses never count as seen. */
const VOTES_CONFIDENCE_MAX = 0.95;
/** A change address that was used before is rare among wallets that do not reuse the paying one. */
const KNOWN_ADDRESS_FACTOR = 0.5;
/** Below this an answer says nothing. */
const CONFIDENCE_MIN = 0.35;

/** Heuristics agree as independent witnesses: the chance that all of them err. */
const together = (confidences: readonly number[]): number =>
  1 - confidences.reduce((doubt, confidence) => doubt * (1 - confidence), 1);

/**
 * The output of a transaction that returns to whoever paid; null where nothing points at one, where two are pointed at alike, and
 * for a coinbase, a CoinJoin, and a transaction of one output. Without `known` the fresh-address heuristic is silent.
 */
export function recogniseChange(tx: UtxoTransaction, known?: KnownAddresses): ChangeOutput | null {
  return detectCoinJoin(tx) ? null : changeOfPayment(tx, known);
}

/** The same of a transaction that is known to be no CoinJoin. */
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
