/**
 * All rows of a chain's graph in memory: for each address and direction the counterparties at or above dust and the share of its value
 * that each has. Rows are weighed by the kernel's own reader, so that a sweep and a walk multiply the same shares.
 */
import { LIMITS } from '../base/limits.ts';
import type { Direction } from '../graph/flow.ts';
import { createNeighbourColumns, type NodeId, type TransferGraph } from '../graph/graph.ts';
import { flowOf } from '../graph/kernels/exposure.ts';
import { RowReader, type Weighing } from '../graph/kernels/rows.ts';
import { HUB, NEUTRAL, type NodeKinds, PASSES } from './kinds.ts';

/** The rows of one direction: those of node v are at `start[v]` to `start[v + 1]`. */
export interface DirectionRows {
  readonly start: Float64Array;
  readonly other: Uint32Array;
  /** Share of the value of the direction. */
  readonly share: Float64Array;
  /** USD of the direction without dust, or the amount of its only asset; 0 if nothing of it can be weighed. */
  readonly total: Float64Array;
  /** Of the dust, what labelled addresses without risk have. */
  readonly neutralDust: Float64Array;
  /** Share of what labelled counterparties have, risky or not. */
  readonly attributed: Float64Array;
  /** Properties of a row: bits of `ROW`. */
  readonly flags: Uint8Array;
  /** Counterparties that are not in the row, or whose transfers may be worth less than dust, asset by asset: those of node v are at `lightStart[v]` to `lightStart[v + 1]`. */
  readonly lightStart: Float64Array;
  readonly light: Uint32Array;
}

/** IS_ASSET: weighed by the amount of one asset. RISKY: a direct counterparty is a risk, if only by dust. ALONE: a sweep does not see the row as a walk does. EARLIER: something was dealt before the counterparty was designated. OTHERS: there are counterparties that no amount of evidence moved with; `light` lacks them. */
export const ROW = { IS_ASSET: 1, RISKY: 2, ALONE: 4, EARLIER: 8, OTHERS: 16 } as const;

export interface ReadRowsOptions {
  readonly graph: TransferGraph;
  readonly direction: Direction;
  readonly weighing: Weighing;
  readonly kinds: NodeKinds<unknown>;
  readonly onProgress?: (nodes: number) => void;
}

/** Edges of so many times the dust limit or more have one asset, of at most four, that is worth it. */
const LIGHT_DUSTS = 4;

/** Nodes between two reports of progress. */
const PROGRESS_NODES = 2 ** 14;

/** Columns that grow without a copy of all: a list of blocks, joined once. */
const BLOCK = 2 ** 20;

class GrowingRows {
  readonly #others: Uint32Array[] = [];
  readonly #shares: Float64Array[] = [];
  #other = new Uint32Array(0);
  #share = new Float64Array(0);
  #at = BLOCK;
  count = 0;

  push(other: number, share: number): void {
    if (this.#at === BLOCK) {
      this.#other = new Uint32Array(BLOCK);
      this.#share = new Float64Array(BLOCK);
      this.#others.push(this.#other);
      this.#shares.push(this.#share);
      this.#at = 0;
    }
    this.#other[this.#at] = other;
    this.#share[this.#at++] = share;
    this.count++;
  }

  /** Joins the blocks, and lets go of each as soon as it is copied. */
  join(): { other: Uint32Array; share: Float64Array } {
    const joined = { other: new Uint32Array(this.count), share: new Float64Array(this.count) };
    for (let at = 0; at < this.count; at += BLOCK) {
      const left = Math.min(BLOCK, this.count - at);
      joined.other.set((this.#others.shift() as Uint32Array).subarray(0, left), at);
      joined.share.set((this.#shares.shift() as Float64Array).subarray(0, left), at);
    }
    return joined;
  }
}

/** A list of nodes that grows. */
class GrowingIds {
  #ids = new Uint32Array(BLOCK);
  count = 0;

  push(id: number): void {
    if (this.count === this.#ids.length) {
      const ids = new Uint32Array(this.#ids.length * 2);
      ids.set(this.#ids);
      this.#ids = ids;
    }
    this.#ids[this.count++] = id;
  }

  get ids(): Uint32Array {
    return this.#ids.subarray(0, this.count);
  }
}

/** Set in `other` if the part of the edge moved before the counterparty's attribution applied. Ids have 31 bits. */
export const IS_BEFORE = 0x8000_0000;

/** Reads the rows of one direction. Those of hubs are left empty, as no walk passes them. */
export function readRows({ graph, direction, weighing, kinds, onProgress }: ReadRowsOptions): DirectionRows {
  const { nodeCount } = graph;
  const start = new Float64Array(nodeCount + 2);
  const total = new Float64Array(nodeCount + 1);
  const neutralDust = new Float64Array(nodeCount + 1);
  const attributed = new Float64Array(nodeCount + 1);
  const flags = new Uint8Array(nodeCount + 1);
  const lightStart = new Float64Array(nodeCount + 2);
  const light = new GrowingIds();
  const rows = new GrowingRows();
  const reader = new RowReader(graph, weighing);
  const columns = createNeighbourColumns(LIMITS.rowScanMax);
  const { ids, weight, valueUsd, firstSeenMs, lastSeenMs } = columns;
  /** Adds a part of an edge; one without a share is flagged alone. */
  function addPart(node: NodeId, other: NodeId, share: number, isBefore: boolean): void {
    const kind = isBefore ? (kinds.before.get(other)?.kind ?? PASSES) : (kinds.kinds[other] as number);
    if (isBefore) flags[node] = (flags[node] as number) | ROW.EARLIER;
    if (kind >= 0) flags[node] = (flags[node] as number) | ROW.RISKY;
    if (share <= 0) return;
    rows.push(isBefore ? (other | IS_BEFORE) >>> 0 : other, share);
    if (kind >= 0 || kind === NEUTRAL) attributed[node] = (attributed[node] as number) + share;
  }
  for (let node = 1; node <= nodeCount; node++) {
    start[node] = rows.count;
    lightStart[node] = light.count;
    if (node % PROGRESS_NODES === 0) onProgress?.(node);
    if (kinds.kinds[node] === HUB || graph.degree(node, direction) > LIMITS.counterpartiesMax) {
      flags[node] = ROW.ALONE;
      if (kinds.kinds[node] === HUB || graph.degree(node, direction) > LIMITS.rowScanMax) continue;
    }
    const degree = graph.degree(node, direction);
    const basis = reader.basisOf(node, direction);
    if (basis.basis === 'NOTHING') {
      if (degree > 0) flags[node] = (flags[node] as number) | ROW.OTHERS;
      continue;
    }
    if (basis.basis === 'ASSET') flags[node] = (flags[node] as number) | ROW.IS_ASSET;
    const { count } = reader.read(node, direction, { ...basis, dust: 0 }, LIMITS.rowScanMax, columns);
    if (degree > count) flags[node] = (flags[node] as number) | ROW.OTHERS;
    // Greatest first: dust is the end of the row.
    let heavy = count;
    let dust = 0;
    while (heavy > 0 && (weight[heavy - 1] as number) < basis.dust) {
      heavy--;
      const each = weight[heavy] as number;
      dust += each;
      const kind = kindOf(kinds, ids[heavy] as number, lastSeenMs[heavy] as number);
      if (isEarlier(kinds, ids[heavy] as number, firstSeenMs[heavy] as number))
        flags[node] = (flags[node] as number) | ROW.EARLIER;
      if (kind >= 0) flags[node] = (flags[node] as number) | ROW.RISKY;
      else if (kind === NEUTRAL) neutralDust[node] = (neutralDust[node] as number) + each;
    }
    const flow = flowOf(basis.total, dust);
    // A walk follows dust if there is nothing else. Less than dust in all brings neither points nor a reason.
    if (flow === 0 && dust > 0 && basis.total >= basis.dust)
      flags[node] = (flags[node] as number) | ROW.ALONE;
    total[node] = flow;
    for (let at = 0; at < heavy; at++) {
      const each = weight[at] as number;
      const other = ids[at] as number;
      const isInRow = each > 0 && flow > 0;
      const share = isInRow ? each / flow : 0;
      const fromMs = kinds.before.size === 0 ? undefined : kinds.before.get(other)?.fromMs;
      if (fromMs === undefined || (firstSeenMs[at] as number) >= fromMs) addPart(node, other, share, false);
      else if ((lastSeenMs[at] as number) < fromMs) addPart(node, other, share, true);
      else {
        const { weight: since } = reader.since(node, other, direction, basis, fromMs);
        const after = isInRow ? Math.min(each, since) / flow : 0;
        addPart(node, other, share - after, true);
        addPart(node, other, after, false);
      }
      // An edge's weight says more than its priced transfers are worth if others have no price; its USD says more if they moved no amount.
      if (!isInRow || Math.min(each, valueUsd[at] as number) < LIGHT_DUSTS * weighing.dustUsd)
        light.push(other);
    }
    for (let at = heavy; at < count; at++) light.push(ids[at] as number);
  }
  start[nodeCount + 1] = rows.count;
  lightStart[nodeCount + 1] = light.count;
  return { start, total, neutralDust, attributed, flags, ...rows.join(), lightStart, light: light.ids };
}

/** The kind that applies to an edge. */
function kindOf({ kinds, before }: NodeKinds<unknown>, node: NodeId, lastSeenMs: number): number {
  const until = before.size === 0 ? undefined : before.get(node);
  return until !== undefined && lastSeenMs < until.fromMs ? until.kind : (kinds[node] as number);
}

/** True if an edge was used before the attribution of its counterparty applied. */
const isEarlier = ({ before }: NodeKinds<unknown>, node: NodeId, firstSeenMs: number): boolean =>
  before.size > 0 && firstSeenMs < (before.get(node)?.fromMs ?? Number.NEGATIVE_INFINITY);
