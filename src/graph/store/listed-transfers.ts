/**
 * Addresses with few transfers: the record of such an address lists all of them (node-record.ts), so that its edges do not name their newest
 * transfers once more. They get these references when the list can no longer hold all.
 */
import { addNewest, assetSumOf, type Edge } from '../edges.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import type { ChainRecords } from './chain-records.ts';
import { cursorAt, LOG_CHUNK_TRANSFERS } from './log.ts';
import type { NodeRecord } from './node-record.ts';

/** Returns true if the newest transfers of an address are all that its record counts. */
export const listsAll = ({ newest, flows, selfTransfers }: NodeRecord): boolean =>
  newest.length === flows.reduce((sum, { transfers }) => sum + transfers, selfTransfers);

/**
 * Reads the listed transfers that an address sent.
 *
 * @returns its edges by counterparty, which have only the references to their newest transfers
 * @throws STORE_CORRUPT if the log does not have one of the transfers
 */
export function listedEdges(
  records: Pick<ChainRecords, 'chain' | 'logChunk' | 'prefetchLog'>,
  node: number,
  { newest }: NodeRecord,
): Map<number, Edge> {
  const edges = new Map<number, Edge>();
  records.prefetchLog?.(newest.map(({ ordinal }) => Math.floor(ordinal / LOG_CHUNK_TRANSFERS)));
  for (const { ordinal } of newest) {
    const { from, to, asset, timestampMs } = cursorAt(records, ordinal);
    if (from === node && to !== 0 && to !== node) addReference(edges, to, { asset, timestampMs, ordinal });
  }
  return edges;
}

/** Adds a transfer to the references of its edge. */
export function addReference(
  edges: Map<number, Edge>,
  counterparty: number,
  transfer: { readonly asset: number; readonly timestampMs: number; readonly ordinal: number },
): void {
  const edge = edges.get(counterparty) ?? { counterparty, assets: [] };
  edges.set(counterparty, edge);
  const { timestampMs, ordinal } = transfer;
  const { newest } = assetSumOf(edge, transfer.asset);
  addNewest(newest, { timestampMs, ordinal }, GRAPH_LIMITS.recentTransfersPerEdge);
}
