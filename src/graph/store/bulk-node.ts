/** Writes the transfers of one address of a bulk load: packed at once if the address is new, otherwise as a merge. */

import { GRAPH_LIMITS } from '../limits.ts';
import { entryOf, type NodeGroup, type PackContext, type PackedSink, packGroup } from './bulk-pack.ts';
import { type ChainStore, chunkKey } from './chain-store.ts';
import type { DeltaEntry } from './delta.ts';
import { mergeNode } from './merge.ts';
import { HALF_WORDS } from './runs.ts';

const APPEND = { append: true };

/** Returns a sink that writes to a store. `append`: no greater key is stored. */
export function storeSink({ nodes, edges }: ChainStore, append: boolean): PackedSink {
  return {
    node: (node, bytes) => {
      if (append) nodes.putSync(node, bytes, APPEND);
      else nodes.putSync(node, bytes);
    },
    chunk: (node, direction, firstId, bytes) => {
      const key = chunkKey(node, direction, firstId);
      if (append) edges.putSync(key, bytes, APPEND);
      else edges.putSync(key, bytes);
    },
  };
}

/** Writes a group. Runs inside a write transaction. */
export function writeGroup(
  store: ChainStore,
  context: PackContext,
  node: number,
  group: NodeGroup,
  sink: PackedSink,
): void {
  const { words, count } = group;
  if (count === 0) return;
  if (count <= GRAPH_LIMITS.bulkPackedTransfers && store.nodes.getBinaryFast(node) === undefined) {
    packGroup(context, node, group, sink);
    return;
  }
  for (let start = 0; start < count; start += GRAPH_LIMITS.bulkGroupTransfers) {
    const entries: DeltaEntry[] = [];
    const end = Math.min(count, start + GRAPH_LIMITS.bulkGroupTransfers);
    for (let half = start; half < end; half++) entries.push(entryOf(context, words, half * HALF_WORDS));
    mergeNode(store, node, entries);
  }
}
