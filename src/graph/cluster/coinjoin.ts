/**
 * CoinJoin detection: recognises transactions in which several owners pay together, by the structure that each protocol leaves. Pure. The
 * inputs of a CoinJoin are never clustered, because they say nothing about ownership.
 *
 * Sources of the structures:
 * - Goldfeder, Kalodner, Reisman, Narayanan: "When the cookie meets the blockchain" (PoPETs 2018), section 5.1: n equal outputs, at most
 *   one change output per participant, inputs that can be assigned to the participants. BlockSci (USENIX Security 2020) uses the same rule.
 * - Stütz, Stockinger, Haslhofer, Moreno-Sanchez, Maffei: "Adoption and Actual Privacy of Decentralized CoinJoin Implementations in
 *   Bitcoin" (AFT 2022, arXiv:2109.10229): Wasabi 1.x and Whirlpool, found with more than 99 % accuracy.
 * - Schnoering, Vazirgiannis: "Heuristics for Detecting CoinJoin Transactions on the Bitcoin Blockchain" (arXiv:2311.12491): JoinMarket,
 *   Wasabi 1.0, 1.1 and 2.0, Whirlpool.
 * - Ficsór, Kogman, Ontivero, Seres: "WabiSabi" (ePrint 2021/206), and the scanner Dumplings of the same authors
 *   (github.com/nopara73/Dumplings): first blocks, coordinator addresses, the denominations of Wasabi 2.0.
 */
import type { UtxoOutput, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { scriptFormOf } from './script-form.ts';

export type CoinJoinKind =
  | 'WASABI_1_0'
  | 'WASABI_1_1'
  | 'WASABI_2_0'
  | 'WHIRLPOOL'
  /** Prepares a Whirlpool round: one wallet splits its coins into outputs that the next round spends. */
  | 'WHIRLPOOL_TX0'
  | 'JOINMARKET'
  | 'GENERAL';

export interface CoinJoin {
  readonly kind: CoinJoinKind;
  /** 0 to 1. The values of Wasabi and Whirlpool follow the published accuracy. The others are this project's judgement. */
  readonly confidence: number;
}

/** Heights of Bitcoin's main chain below which a protocol did not exist (Dumplings, Constants). */
const FIRST_BLOCK = { joinMarket: 336_861, wasabi1: 530_500, whirlpool: 570_000, wasabi2: 741_213 } as const;

/** Addresses of Wasabi's coordinator until block 610,000 (Dumplings, Constants). */
const WASABI_COORDINATORS: ReadonlySet<string> = new Set([
  'bc1qs604c7jv6amk4cxqlnvuxv26hv3e48cds4m0ew',
  'bc1qa24tsgchvuxsaccp8vrnkfd85hrcpafg20kmjw',
]);
const WASABI_COORDINATORS_UNTIL = 610_000;

/** Denominations in satoshi: Samourai's pools, then those of Ashigaru, which revived Whirlpool. */
const WHIRLPOOL_POOLS: ReadonlySet<bigint> = new Set([
  100_000n,
  1_000_000n,
  5_000_000n,
  50_000_000n,
  2_500_000n,
  25_000_000n,
]);
/** The most that a first-time input may add to the pool's denomination for the miners (Stütz et al.: 0.0011 BTC). */
const WHIRLPOOL_PREMIX_EXTRA = 110_000n;
/** Outputs of a Tx0 besides the premix and the data output: the coordinator's fee, and change of one or two depositors. */
const TX0_OTHERS_MAX = 3;

/** Wasabi 1: 0.1 BTC. Over the rounds it moved within 0.02 BTC. */
const WASABI_BASE = 10_000_000n;
const WASABI_BASE_SPREAD = 2_000_000n;
const WASABI_EQUAL_MIN = 10;

/** Values that tokens on Bitcoin (Omni, Counterparty) pay in every output. Equal outputs of these values mean nothing (BlockSci). */
const TOKEN_DUST: ReadonlySet<bigint> = new Set([546n, 2_730n]);

/** Outputs below this are not denominations of a mix. */
const DENOMINATION_MIN = 3_000n;

/** Satoshi of the smallest standard denomination of Wasabi 2, and of the largest amount of one participant. */
const WASABI_2_MIN = 5_000;
const WASABI_2_MAX = 4_300_000_000_000;

/** Powers of 2; powers of 3 and their doubles; powers of 10, times 2 and times 5. */
function wasabi2Denominations(): ReadonlySet<bigint> {
  const series = [
    [2, [1]],
    [3, [1, 2]],
    [10, [1, 2, 5]],
  ] as const;
  const found = new Set<bigint>();
  for (const [base, factors] of series) {
    for (let power = 1; power <= WASABI_2_MAX; power *= base) {
      for (const factor of factors) {
        const value = factor * power;
        if (value >= WASABI_2_MIN && value <= WASABI_2_MAX) found.add(BigInt(value));
      }
    }
  }
  return found;
}
const WASABI_2_DENOMINATIONS = wasabi2Denominations();

/** Properties that all rules use, computed once. */
interface Shape {
  readonly tx: UtxoTransaction;
  /** Outputs with value that are not data outputs. */
  readonly outputs: readonly UtxoOutput[];
  /** The number of outputs of each value. */
  readonly counts: ReadonlyMap<bigint, number>;
  /** The most frequent output value. If several are equally frequent, the greatest. */
  readonly denomination: bigint;
  readonly equal: number;
  /** Distinct addresses of the inputs. An input without an address counts as one. */
  readonly payers: number;
  readonly distinctReceivers: boolean;
  /** Whether the values of all inputs are known. */
  readonly valued: boolean;
}

function shapeOf(tx: UtxoTransaction): Shape {
  const outputs = tx.outputs.filter(({ script, value }) => script !== 'op_return' && value > 0n);
  const counts = new Map<bigint, number>();
  let denomination = 0n;
  let equal = 0;
  for (const { value } of outputs) {
    const count = (counts.get(value) ?? 0) + 1;
    counts.set(value, count);
    if (count > equal || (count === equal && value > denomination)) {
      equal = count;
      denomination = value;
    }
  }
  const payers = new Set(tx.inputs.map(({ address, txid, vout }) => address ?? `${txid}:${vout}`)).size;
  const receivers = new Set(outputs.map(({ address, n }) => address ?? n)).size;
  const valued = tx.inputs.every(({ value }) => value !== null);
  return {
    tx,
    outputs,
    counts,
    denomination,
    equal,
    payers,
    distinctReceivers: receivers === outputs.length,
    valued,
  };
}

const isNativeSegwit = ({ tx, outputs }: Shape, taproot: boolean): boolean => {
  const fits = (kind: string | null): boolean => kind === 'p2wpkh' || (taproot && kind === 'p2tr');
  return (
    outputs.every(({ script }) => fits(script)) &&
    tx.inputs.every(({ address }) => address !== null && fits(scriptFormOf(tx.chain, address)))
  );
};

const isDescending = (values: readonly bigint[]): boolean =>
  values.every((value, at) => at === 0 || value <= (values[at - 1] as bigint));

/**
 * Whirlpool: as many inputs as outputs, five of each (up to ten in larger rounds). Each output is exactly the pool's denomination. Some
 * inputs come from an earlier round and also have that value. The others add a little for the miners.
 */
function whirlpool(shape: Shape): CoinJoin | null {
  const { tx, outputs, equal, denomination, valued } = shape;
  if (tx.blockNumber < FIRST_BLOCK.whirlpool || !valued) return null;
  const size = outputs.length;
  if (size < 5 || size > 10 || tx.inputs.length !== size || equal !== size) return null;
  if (tx.outputs.length !== size || !WHIRLPOOL_POOLS.has(denomination)) return null;
  if (shape.payers !== size || !shape.distinctReceivers || !isNativeSegwit(shape, false)) return null;
  let remixed = 0;
  for (const { value } of tx.inputs) {
    if (value === denomination) remixed++;
    else if (value === null || value < denomination || value > denomination + WHIRLPOOL_PREMIX_EXTRA)
      return null;
  }
  if (remixed === 0 || remixed === size) return null;
  return { kind: 'WHIRLPOOL', confidence: size === 5 && remixed <= 3 ? 0.99 : 0.9 };
}

/**
 * The Tx0 of Whirlpool: one data output for the coordinator, at least two equal premix outputs that contain a pool's denomination and a
 * little for the miners, the coordinator's fee, and the change; P2WPKH only. Its inputs have one owner, but two wallets that deposit
 * together leave the same structure, so its inputs are not clustered either.
 */
function whirlpoolTx0(shape: Shape): CoinJoin | null {
  const { tx, outputs, denomination, equal } = shape;
  if (tx.blockNumber < FIRST_BLOCK.whirlpool || tx.inputs.length === 0 || equal < 2) return null;
  if (tx.outputs.filter(({ script }) => script === 'op_return').length !== 1) return null;
  const others = outputs.length - equal;
  if (others < 1 || others > TX0_OTHERS_MAX || !shape.distinctReceivers) return null;
  if (!isNativeSegwit(shape, false)) return null;
  for (const pool of WHIRLPOOL_POOLS) {
    if (denomination > pool && denomination <= pool + WHIRLPOOL_PREMIX_EXTRA)
      return { kind: 'WHIRLPOOL_TX0', confidence: 0.9 };
  }
  return null;
}

/**
 * Wasabi 2.0 (WabiSabi): at least fifty inputs (later coordinators: fifteen), inputs and outputs each sorted by descending value, segwit or
 * taproot, and more than four fifths of the outputs in standard denominations.
 */
function wasabi2(shape: Shape): CoinJoin | null {
  const { tx, outputs, valued, counts } = shape;
  if (tx.blockNumber < FIRST_BLOCK.wasabi2 || tx.inputs.length < 15 || !valued) return null;
  const standard = outputs.filter(({ value }) => WASABI_2_DENOMINATIONS.has(value)).length;
  if (standard <= outputs.length * 0.8) return null;
  if (!isDescending(outputs.map(({ value }) => value))) return null;
  if (!isDescending(tx.inputs.map(({ value }) => value ?? 0n))) return null;
  if (!isNativeSegwit(shape, true)) return null;
  if (tx.inputs.length >= 50) return { kind: 'WASABI_2_0', confidence: 0.97 };
  let shared = 0;
  for (const count of counts.values()) if (count > 1) shared += count;
  return shared >= 10 ? { kind: 'WASABI_2_0', confidence: 0.85 } : null;
}

/** The most frequent output value near Wasabi's base denomination, with its count. Null if no such value occurs twice. */
function wasabi1Base(counts: Shape['counts']): { readonly value: bigint; readonly count: number } | null {
  let best: { value: bigint; count: number } | null = null;
  for (const [value, count] of counts)
    if (isNearBase(value) && count > (best?.count ?? 1)) best = { value, count };
  return best;
}

/**
 * Wasabi 1.0 (ZeroLink): at least ten equal outputs near 0.1 BTC, at least as many inputs, and besides them change and the coordinator's
 * fee. 1.1 adds levels: further groups of equal outputs at the doubled denomination, and doubled again. A level can be as frequent as the
 * base, so the base is the most frequent value near 0.1 BTC, and not the most frequent of all.
 */
function wasabi1(shape: Shape): CoinJoin | null {
  const { tx, outputs, counts } = shape;
  if (tx.blockNumber < FIRST_BLOCK.wasabi1) return null;
  const paysCoordinator =
    tx.blockNumber < WASABI_COORDINATORS_UNTIL &&
    outputs.some(({ address }) => address !== null && WASABI_COORDINATORS.has(address));
  const base = wasabi1Base(counts);
  if (!paysCoordinator && (base === null || base.count < WASABI_EQUAL_MIN || !isNativeSegwit(shape, false)))
    return null;
  // The first rounds had other base denominations, and are recognised by their coordinator.
  const mostFrequent = { value: shape.denomination, count: shape.equal };
  const { value: denomination, count: equal } = base !== null && base.count >= 3 ? base : mostFrequent;
  if (equal < 3 || tx.inputs.length < equal) return null;
  let unique = 0;
  let levels = 0;
  for (const [value, count] of counts) {
    if (count === 1) unique++;
    else if (value > denomination && isLevelOf(value, denomination)) levels++;
  }
  if (unique < 2 && !paysCoordinator) return null;
  const confidence = paysCoordinator ? 0.99 : 0.95;
  return { kind: levels > 0 ? 'WASABI_1_1' : 'WASABI_1_0', confidence };
}

const isNearBase = (value: bigint): boolean =>
  value >= WASABI_BASE - WASABI_BASE_SPREAD && value <= WASABI_BASE + WASABI_BASE_SPREAD;

/** Returns true if a value is 2, 4, 8 … times the base, within 2 %: the base changed between rounds while levels filled. */
function isLevelOf(value: bigint, base: bigint): boolean {
  for (let level = base * 2n; level <= value * 2n; level *= 2n) {
    const apart = value > level ? value - level : level - value;
    if (apart * 50n <= level) return true;
  }
  return false;
}

/**
 * The rule of Goldfeder et al.: n equal outputs of n participants, at most one change output each, and inputs that can be assigned so that
 * each participant pays for its outputs. JoinMarket has exactly this structure. All its outputs, except possibly the taker's payment, use
 * one script type.
 */
function equalOutputs(shape: Shape): CoinJoin | null {
  const { tx, outputs, equal, denomination, payers } = shape;
  if (equal < 2 || denomination < DENOMINATION_MIN || TOKEN_DUST.has(denomination)) return null;
  if (payers < equal || !shape.distinctReceivers) return null;
  const rest = outputs.length - equal;
  // In addition to everyone's change there may be a coordinator's fee.
  if (rest > equal + 1) return null;
  const isPair = equal === 2;
  if (isPair && rest !== 2) return null;
  // Few equal outputs and little change suggest a payroll rather than a mix.
  if (rest < equal - 1 && equal < 5) return null;
  if (!shape.valued) return isPair || rest < equal - 1 ? null : { kind: 'GENERAL', confidence: 0.4 };
  if (!canBeDealtOut(shape)) return null;
  if (isPair) return { kind: 'GENERAL', confidence: 0.4 };
  const isJoinMarket =
    tx.chain === 'BTC' &&
    tx.blockNumber >= FIRST_BLOCK.joinMarket &&
    rest >= equal - 1 &&
    rest <= equal &&
    isOneScript(shape);
  if (isJoinMarket) return { kind: 'JOINMARKET', confidence: equal >= 5 ? 0.85 : 0.75 };
  return { kind: 'GENERAL', confidence: equal >= 5 ? 0.7 : 0.6 };
}

/** Makers and taker use wallets with one script type. Only the taker's payment may go to another. */
function isOneScript({ tx, outputs }: Shape): boolean {
  const first = tx.inputs[0]?.address;
  const kind = first ? scriptFormOf(tx.chain, first) : null;
  if (kind === null) return false;
  if (tx.inputs.some(({ address }) => address === null || scriptFormOf(tx.chain, address) !== kind))
    return false;
  return outputs.filter(({ script }) => script !== kind).length <= 1;
}

/** Step limit of the search for an assignment. If it is reached, the transaction does not count as a CoinJoin. */
const DEAL_STEPS_MAX = 20_000;
/** The most that one participant may pay the others and the miners in addition to its part: JoinMarket's offers stay far below 1 %. */
const FEE_MIN = 20_000;
const FEE_SHARE = 0.01;

/**
 * Returns true if the inputs, grouped by address, can be assigned to the participants so that each has the denomination and one change
 * output (the greatest changes first). Subset sums by depth-first search, greatest input first, trying equal needs once.
 */
function canBeDealtOut({ tx, outputs, equal, denomination }: Shape): boolean {
  const byPayer = new Map<string, number>();
  for (const { address, txid, vout, value } of tx.inputs) {
    const payer = address ?? `${txid}:${vout}`;
    byPayer.set(payer, (byPayer.get(payer) ?? 0) + Number(value));
  }
  const brought = [...byPayer.values()].sort((a, b) => b - a);
  const changes = outputs
    .filter(({ value }) => value !== denomination)
    .map(({ value }) => Number(value))
    .sort((a, b) => b - a);
  const share = Number(denomination);
  const tolerance = Math.max(FEE_MIN, share * FEE_SHARE);
  // The smallest output beyond one change output each is the coordinator's fee, which all pay.
  const needs = Array.from({ length: equal }, (_, at) => share + (changes[at] ?? 0) - tolerance);
  let left = brought.reduce((sum, value) => sum + value, 0);
  let steps = 0;

  const deal = (at: number): boolean => {
    let open = 0;
    for (const need of needs) if (need > 0) open += need;
    if (open === 0) return true;
    if (open > left || at === brought.length || ++steps > DEAL_STEPS_MAX) return false;
    const value = brought[at] as number;
    left -= value;
    const tried = new Set<number>();
    for (let participant = 0; participant < needs.length; participant++) {
      const need = needs[participant] as number;
      if (need <= 0 || tried.has(need)) continue;
      tried.add(need);
      needs[participant] = need - value;
      if (deal(at + 1)) return true;
      needs[participant] = need;
    }
    left += value;
    return false;
  };
  return deal(0);
}

/** Bitcoin's own protocols first, the most exact first. The general rule for any chain comes after them. */
const BITCOIN_RULES = [whirlpool, whirlpoolTx0, wasabi2, wasabi1] as const;

/**
 * Recognises transactions with the structure of a CoinJoin. A structure is not proof: the confidence is the estimated probability that it
 * was a CoinJoin. If the value of an input is unknown, most rules do not apply.
 *
 * @returns the protocol, or null if the transaction looks like the payment of a single owner
 */
export function detectCoinJoin(tx: UtxoTransaction): CoinJoin | null {
  if (tx.isCoinbase || tx.outputs.length < 3) return null;
  const shape = shapeOf(tx);
  if (shape.equal < 2) return null;
  if (tx.chain === 'BTC') {
    for (const rule of BITCOIN_RULES) {
      const found = rule(shape);
      if (found) return found;
    }
  }
  return tx.inputs.length < 2 ? null : equalOutputs(shape);
}
