/** Dust in direct dealings with one party. The sum decides: small transfers that add up to more than dust are not dust. */
import type { Transfer } from '../chains/transfer.ts';
import { dayOf, partSince } from '../graph/edge-days.ts';
import { type Direction, OPPOSITE } from '../graph/flow.ts';
import { edgeBetween, type NodeId, type TransferGraph } from '../graph/graph.ts';
import { rowReaderOf } from '../graph/kernels/rows.ts';
import { isPriced, type Weighing } from '../graph/kernels/weighing.ts';

/** What an address and one counterparty moved in one direction. */
export interface DealingSums {
  /** USD, at the rates of the direction. */
  readonly usd: number;
  /** Smallest units of an asset. */
  amountOf(asset: string): number;
  /** The greater flow (in or out) of an asset without a price at the address, in smallest units; 0 for a priced asset. */
  flowOf(asset: string): number;
}

/** Returns the sums of a party that is not in the graph. */
export const NO_DEALINGS: DealingSums = { usd: 0, amountOf: () => 0, flowOf: () => 0 };

/**
 * Returns the sums of the dealings with one counterparty.
 *
 * @param sinceMs start of the day from which dealings count (a designation); 0 for all
 */
export function dealingSums(
  graph: TransferGraph,
  {
    node,
    other,
    direction,
    sinceMs,
  }: Readonly<Record<'node' | 'other', NodeId>> & {
    readonly direction: Direction;
    readonly sinceMs: number;
  },
  weighing: Weighing,
): DealingSums {
  const rows = rowReaderOf(graph, weighing);
  const basis = rows.basisOf(node, direction);
  const amountIn = (side: Direction, asset: string): number | null => {
    const flow = rows.evidenceSums(node, side).find((one) => graph.assetName(one.asset) === asset);
    return flow === undefined || isPriced(flow) ? null : flow.amount;
  };
  return {
    usd: basis.basis === 'USD' ? rows.since(node, other, direction, basis, sinceMs).weight : 0,
    amountOf(asset) {
      const edge = edgeBetween(graph, node, direction, other).find((one) => one.asset === asset);
      return edge === undefined ? 0 : Number(partSince(edge, dayOf(sinceMs)).amount);
    },
    flowOf(asset) {
      const own = amountIn(direction, asset);
      return own === null ? 0 : Math.max(own, amountIn(OPPOSITE[direction], asset) ?? 0);
    },
  };
}

/**
 * Returns true if a transfer and all other dealings with the same party are dust, as the score measures it: less than `dustUsd`, or, of an
 * asset without a price, less than `dustTokens` or than `dustShare` of the address's flow of it.
 */
export function isDustDealing(
  { dustUsd, dustShare, dustAmount }: Weighing,
  { asset, amount, valueUsd }: Pick<Transfer, 'asset' | 'amount' | 'valueUsd'>,
  sums: DealingSums,
): boolean {
  if (Math.max(sums.usd, valueUsd ?? 0) >= dustUsd) return false;
  if (valueUsd !== null) return true;
  const moved = Math.max(sums.amountOf(asset), Number(amount));
  return moved < Math.max(dustAmount?.(asset) ?? 0, dustShare * sums.flowOf(asset));
}
