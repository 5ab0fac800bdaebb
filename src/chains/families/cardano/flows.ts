/**
 * Computes the transfers of a Cardano transaction. Its inputs and outputs belong to addresses and are not linked to each other. For
 * each asset, the net loss of the addresses that gave more than they received is divided among the net receivers in proportion. The
 * amounts of receivers are exact. Withdrawn rewards are attributed to the input addresses of the transaction, in proportion to their
 * inputs: an address that adds a withdrawal to a payment remains the sender.
 */
import type { Transfer } from '../../transfer.ts';
import { transfersOf } from '../account-chain.ts';

export interface Output {
  readonly address: string;
  /** By asset; ADA has the empty string as its key, in lovelace. */
  readonly amounts: ReadonlyMap<string, bigint>;
}

export interface AssetFlow {
  readonly inputs: readonly Output[];
  readonly outputs: readonly Output[];
  /** Decimals of tokens, if the source knows them. */
  readonly decimals: ReadonlyMap<string, number>;
}

/** Above this number of pairs, senders and receivers are matched in sequence: fewer transfers then describe the same totals. */
const PAIRS_MAX = 256;

interface Move {
  /** `0:1`: from the first sender to the second receiver, both in address order; `mint:1` if the amount has no sender. */
  readonly place: string;
  readonly from: string | null;
  readonly to: string;
  readonly amount: bigint;
}

type Net = readonly [address: string, amount: bigint];

const sum = (nets: readonly Net[]): bigint => nets.reduce((total, [, amount]) => total + amount, 0n);

/** Divides each receiver's amount among the senders in proportion to what they gave; the last sender takes the remainder. */
function inProportion(senders: readonly Net[], receivers: readonly Net[], given: bigint): Move[] {
  const moves: Move[] = [];
  for (const [j, [to, wanted]] of receivers.entries()) {
    let left = wanted;
    for (const [i, [from, share]] of senders.entries()) {
      const amount = i === senders.length - 1 ? left : (wanted * share) / given;
      left -= amount;
      if (amount > 0n) moves.push({ place: `${i}:${j}`, from, to, amount });
    }
  }
  return moves;
}

/** Matches senders to receivers in sequence: each sender is used up before the next. */
function inTurn(senders: readonly Net[], receivers: readonly Net[]): Move[] {
  const moves: Move[] = [];
  let i = 0;
  let rest = senders[0]?.[1] ?? 0n;
  for (const [j, [to, wanted]] of receivers.entries()) {
    let left = wanted;
    while (left > 0n && i < senders.length) {
      const amount = left < rest ? left : rest;
      if (amount > 0n) moves.push({ place: `${i}:${j}`, from: (senders[i] as Net)[0], to, amount });
      left -= amount;
      rest -= amount;
      if (rest === 0n) rest = senders[++i]?.[1] ?? 0n;
    }
  }
  return moves;
}

function movesOf(nets: ReadonlyMap<string, bigint>): Move[] {
  const sorted = [...nets].sort(([a], [b]) => (a < b ? -1 : 1));
  const senders: readonly Net[] = sorted.flatMap(([address, net]) =>
    net < 0n ? [[address, -net] as const] : [],
  );
  const receivers = sorted.filter(([, net]) => net > 0n);
  const given = sum(senders);
  const taken = sum(receivers);
  // More came out than went in: the difference was minted and has no sender.
  const minted: Move[] = [];
  const paid =
    taken <= given
      ? receivers
      : receivers.map(([to, wanted], j): Net => {
          const amount = (wanted * given) / taken;
          if (wanted > amount) minted.push({ place: `mint:${j}`, from: null, to, amount: wanted - amount });
          return [to, amount];
        });
  const pairs = senders.length * paid.length;
  return [...(pairs > PAIRS_MAX ? inTurn(senders, paid) : inProportion(senders, paid, given)), ...minted];
}

/**
 * Attributes the surplus of outputs over inputs (rewards and returned deposits, which are not outputs) to the addresses of the inputs,
 * in proportion to their inputs, and subtracts it from their net amounts.
 */
function addReturns(nets: Map<string, bigint>, inputs: readonly Output[]): Move[] {
  const surplus = sum([...nets]);
  if (surplus <= 0n) return [];
  const spent = new Map<string, bigint>();
  for (const { address, amounts } of inputs)
    spent.set(address, (spent.get(address) ?? 0n) + (amounts.get('') ?? 0n));
  const givers: readonly Net[] = [...spent].sort(([a], [b]) => (a < b ? -1 : 1));
  const total = sum(givers);
  if (total === 0n) return [];
  const moves: Move[] = [];
  let left = surplus;
  for (const [i, [to, share]] of givers.entries()) {
    const amount = i === givers.length - 1 ? left : (surplus * share) / total;
    left -= amount;
    if (amount === 0n) continue;
    moves.push({ place: `mint:${i}`, from: null, to, amount });
    nets.set(to, (nets.get(to) ?? 0n) - amount);
  }
  return moves;
}

/** Returns the transfers of one transaction. Positions are `flow:` with the indices of asset, sender and receiver in sorted order. */
export function flowTransfers(
  flow: AssetFlow,
  shared: { readonly txHash: string; readonly blockNumber: number; readonly timestampMs: number },
): readonly Transfer[] {
  const nets = new Map<string, Map<string, bigint>>();
  const count = (outputs: readonly Output[], sign: bigint): void => {
    for (const { address, amounts } of outputs)
      for (const [asset, amount] of amounts) {
        const ofAsset = nets.get(asset) ?? new Map<string, bigint>();
        nets.set(asset, ofAsset);
        ofAsset.set(address, (ofAsset.get(address) ?? 0n) + sign * amount);
      }
  };
  count(flow.inputs, -1n);
  count(flow.outputs, 1n);
  const { list, add } = transfersOf('ADA', shared);
  const assets = [...nets].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [index, [asset, ofAsset]] of assets.entries()) {
    const returns = asset === '' ? addReturns(ofAsset, flow.inputs) : [];
    for (const { place, from, to, amount } of [...movesOf(ofAsset), ...returns])
      add({
        position: `flow:${index}:${place}`,
        from,
        to,
        amount,
        ...(asset === '' ? {} : { asset, decimals: flow.decimals.get(asset) ?? null }),
      });
  }
  return list;
}
