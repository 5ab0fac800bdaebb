/** Merges transfers of an address into its sums and edges. Runs inside a write transaction. */
import { AssayError } from '../../base/errors.ts';
import { ChunkBuilder } from '../edge-builder.ts';
import { ChunkView, isHubChunk } from '../edge-chunk.ts';
import { addToDays } from '../edge-days.ts';
import { addNewest, assetSumOf, type Edge } from '../edges.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import { type ChainStore, chunkKey } from './chain-store.ts';
import type { DeltaEntry } from './delta.ts';
import { listedEdges, listsAll } from './listed-transfers.ts';
import { cursorAt } from './log.ts';
import { createNode, flowOf, type NodeRecord, packNode, unpackNode } from './node-record.ts';

const OUT = 1;

/** Returns true if a transfer moved an amount without a known price. */
export const isUnpriced = (entry: DeltaEntry): boolean => entry.cents === null && entry.amount > 0n;

/** Adds a transfer to the sums of an address, except its edges. */
export function addToNode(record: NodeRecord, node: number, entry: DeltaEntry): void {
  const { timestampMs, ordinal } = entry;
  if (timestampMs < record.firstSeenMs) record.firstSeenMs = timestampMs;
  if (timestampMs > record.lastSeenMs) record.lastSeenMs = timestampMs;
  if (entry.isNewTransaction) record.transactions++;
  addNewest(record.newest, { timestampMs, ordinal }, GRAPH_LIMITS.recentTransfersPerAddress);
  if (entry.counterparty === node) {
    record.selfTransfers++;
    return;
  }
  const flow = flowOf(record, entry.asset, entry.direction);
  flow.transfers++;
  if (isUnpriced(entry)) flow.unpriced++;
  else if (flow.pricedAmount !== null) flow.pricedAmount += entry.amount;
  flow.cents += entry.cents ?? 0;
  flow.amount += entry.amount;
}

/** Adds a transfer to an edge. Only the sender's side keeps references to the transfers and the amounts by day. */
export function addToEdge(edge: Edge, entry: DeltaEntry): void {
  const { timestampMs, ordinal } = entry;
  const sum = assetSumOf(edge, entry.asset);
  if (entry.direction === OUT) addToDays(sum.days, sum, timestampMs, entry.amount);
  sum.transfers++;
  if (isUnpriced(entry)) sum.unpriced++;
  sum.cents += entry.cents ?? 0;
  sum.amount += entry.amount;
  if (timestampMs < sum.firstSeenMs) sum.firstSeenMs = timestampMs;
  if (timestampMs > sum.lastSeenMs) sum.lastSeenMs = timestampMs;
  if (entry.direction === OUT)
    addNewest(sum.newest, { timestampMs, ordinal }, GRAPH_LIMITS.recentTransfersPerEdge);
}

/** The transfers of one counterparty, in id order. */
type Group = readonly [counterparty: number, entries: DeltaEntry[]];

function groupsOf(entries: readonly DeltaEntry[], node: number, direction: number): Group[] {
  const groups = new Map<number, DeltaEntry[]>();
  for (const entry of entries) {
    const { counterparty } = entry;
    if (entry.direction !== direction || counterparty === 0 || counterparty === node) continue;
    const group = groups.get(counterparty);
    if (group) group.push(entry);
    else groups.set(counterparty, [entry]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}

const view = new ChunkView();
const builder = new ChunkBuilder();

function addGroup(edge: Edge, entries: readonly DeltaEntry[]): Edge {
  for (const entry of entries) addToEdge(edge, entry);
  return edge;
}

/** The references of edges to their newest transfers. */
interface Refs {
  /** False if the record of the address lists all transfers. */
  readonly areKept: boolean;
  /** Those of the edges that had none, because the record listed all transfers until now. Null if it did not. */
  readonly listed: ReadonlyMap<number, Edge> | null;
}

/** Returns a stored edge with its references. */
function withRefs(edge: Edge, { listed }: Refs): Edge {
  const found = listed?.get(edge.counterparty);
  if (found) for (const sum of edge.assets) sum.newest = assetSumOf(found, sum.asset).newest;
  return edge;
}

/** Returns the groups, and one without transfers for each other edge that gets references. */
function withListed(groups: readonly Group[], listed: ReadonlyMap<number, Edge>): readonly Group[] {
  const all = new Map(groups);
  for (const id of listed.keys()) if (!all.has(id)) all.set(id, []);
  return [...all].sort(([a], [b]) => a - b);
}

/** Fills the builder with a chunk's edges and the groups. Returns the number of new counterparties. */
function mergeChunk(bytes: Buffer | null, groups: readonly Group[], refs: Refs): number {
  builder.clear(refs.areKept);
  const waiting = new Map(groups);
  if (bytes) {
    view.open(bytes);
    for (let index = 0; index < view.count; index++) {
      const id = view.ids[index] as number;
      const entries = waiting.get(id);
      if (entries === undefined) builder.copy(view, index);
      else {
        builder.add(addGroup(withRefs(view.edge(index), refs), entries));
        waiting.delete(id);
      }
    }
  }
  for (const [counterparty, entries] of waiting) builder.add(addGroup({ counterparty, assets: [] }, entries));
  return waiting.size;
}

/** Finds the chunk of a hub that is responsible for an id. */
function findHubChunk(
  store: ChainStore,
  node: number,
  direction: number,
  id: number,
): { firstId: number; bytes: Buffer } {
  const start = chunkKey(node, direction, id);
  for (const { key, value } of store.edges.getRange({ start, reverse: true, limit: 1 })) {
    const found = Buffer.from(key);
    if (found.readUInt32BE(0) !== node || found[4] !== direction) break;
    return { firstId: found.readUInt32BE(5), bytes: value };
  }
  throw new AssayError(
    'STORE_CORRUPT',
    `The transfer store is damaged: a chunk of neighbours of address ${node} is missing.`,
  );
}

/** Returns the number of counterparties that are new to the address in this direction. */
function mergeEdges(
  store: ChainStore,
  node: number,
  direction: number,
  changed: readonly Group[],
  refs: Refs,
): number {
  const groups = refs.listed ? withListed(changed, refs.listed) : changed;
  if (groups.length === 0) return 0;
  const { edges } = store;
  const first = edges.getBinary(chunkKey(node, direction, 0)) ?? null;
  if (first === null || !isHubChunk(first)) {
    const added = mergeChunk(first, groups, refs);
    const single = builder.packSingle();
    for (const { firstId, bytes } of single ? [single] : builder.packHub(0, 0))
      edges.putSync(chunkKey(node, direction, firstId), bytes);
    return added;
  }
  let added = 0;
  for (let at = 0; at < groups.length; ) {
    const [id] = groups[at] as Group;
    const chunk = findHubChunk(store, node, direction, id);
    const { next } = view.open(chunk.bytes);
    let until = at + 1;
    while (until < groups.length && (next === 0 || (groups[until] as Group)[0] < next)) until++;
    added += mergeChunk(chunk.bytes, groups.slice(at, until), refs);
    for (const { firstId, bytes } of builder.packHub(chunk.firstId, next))
      edges.putSync(chunkKey(node, direction, firstId), bytes);
    at = until;
  }
  return added;
}

/** Merges transfers into the stored records of an address. */
export function mergeNode(store: ChainStore, node: number, entries: readonly DeltaEntry[]): void {
  const stored = store.nodes.getBinary(node);
  const { chain, log } = store;
  const logged = { chain, logChunk: (chunk: number) => log.getBinaryFast(chunk) };
  const record = stored
    ? unpackNode(stored, (ordinal) => cursorAt(logged, ordinal).timestampMs)
    : createNode();
  const before = stored && listsAll(record) ? { ...record, newest: [...record.newest] } : null;
  for (const entry of entries) addToNode(record, node, entry);
  const areKept = !listsAll(record);
  const listed = before && areKept ? listedEdges(logged, node, before) : null;
  const into = { areKept: false, listed: null };
  record.counterpartiesIn += mergeEdges(store, node, 0, groupsOf(entries, node, 0), into);
  record.counterpartiesOut += mergeEdges(store, node, 1, groupsOf(entries, node, 1), { areKept, listed });
  store.nodes.putSync(node, packNode(record));
}
