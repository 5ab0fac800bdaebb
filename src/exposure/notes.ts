/**
 * The notes of entries: reasons that come from single transfers (forged ones, look-alike addresses) and add no points. Reading them costs
 * as much as a small walk, so that they are read only of addresses that can have any. A forged transfer needs a token, and is noted if its
 * counterparty is a risk. A look-alike address needs a transfer that is worth nothing (a token, or dust), and a counterparty that it looks like.
 */
import { LIMITS } from '../base/limits.ts';
import { lookAlikeKey } from '../chains/look-alike.ts';
import { chainOf, isEvm } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import {
  createNeighbourColumns,
  type EdgeDetail,
  edgeBetween,
  type NodeId,
  type TransferGraph,
} from '../graph/graph.ts';
import { type SpoofingDeps, type SpoofingOptions, spoofingOf } from '../screening/spoofable.ts';
import type { ExposureRecord } from './record.ts';

/** Counterparties of each direction that are looked through before notes are read at once: beyond them, looking costs more than reading. */
const LOOKED_THROUGH_MAX = 2_000;

const DIRECTIONS: readonly Direction[] = ['in', 'out'];

/** No look-alike of the address counts: its chain uses addresses once. */
const SHAPELESS = 1;

/** FNV-1a. */
function hashOf(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}

/** Returns a number that look-alike addresses have in common (`lookAlikeKey`), and others seldom; SHAPELESS or more than that. */
function shapeOf(graph: TransferGraph, node: NodeId): number {
  const { chain } = graph;
  if (isEvm(chain)) {
    // The same digits, without making text of the key: the first three and the last four of 40.
    const key = graph.keyOf(node);
    const from = key.length - 20;
    const first = ((key[from] as number) << 4) | ((key[from + 1] as number) >> 4);
    const last = ((key[from + 18] as number) << 8) | (key[from + 19] as number);
    return 2 + (first << 16) + last;
  }
  const shape = lookAlikeKey(chain, graph.addressOf(node));
  return shape === null ? SHAPELESS : Math.max(2, hashOf(shape));
}

/** Returns the shapes of a graph's addresses, each computed once. */
export function rememberedShapes(graph: TransferGraph): (node: NodeId) => number {
  const shapes = new Uint32Array(graph.nodeCount + 1);
  return (node) => {
    let shape = shapes[node] as number;
    if (shape === 0) {
      shape = shapeOf(graph, node);
      shapes[node] = shape;
    }
    return shape;
  };
}

/** Shapes of an address's counterparties. */
export class SeenShapes {
  readonly #nodes = new Map<number, NodeId>();

  clear(): void {
    this.#nodes.clear();
  }

  /** Adds a counterparty. Returns true if it looks like another one. */
  add(shape: number, node: NodeId): boolean {
    if (shape === SHAPELESS) return false;
    const known = this.#nodes.get(shape);
    if (known === undefined) this.#nodes.set(shape, node);
    return known !== undefined && known !== node;
  }
}

const columns = createNeighbourColumns(LOOKED_THROUGH_MAX);
const seen = new SeenShapes();

/**
 * Returns true if an address may have notes: two of its counterparties look alike, or one is a risk and tokens moved; also if there are too many
 * to look through.
 *
 * @param isRisky - null if it is known that no token moved with a risky counterparty
 */
export function mayHaveNotes(
  graph: TransferGraph,
  node: NodeId,
  isRisky: ((other: NodeId) => boolean) | null,
  shape: (other: NodeId) => number = (other) => shapeOf(graph, other),
): boolean {
  seen.clear();
  // An address that paid itself has look-alikes of its own.
  seen.add(shape(node), node);
  for (const direction of DIRECTIONS) {
    if (graph.degree(node, direction) > LOOKED_THROUGH_MAX) return true;
    const count = graph.neighbours(node, direction, LOOKED_THROUGH_MAX, columns);
    for (const other of columns.ids.slice(0, count))
      if (seen.add(shape(other), other) || isRisky?.(other) === true) return true;
  }
  return false;
}

/** The reasons of forged transfers and look-alike addresses, as a screening gives them. */
export const readNotes = (options: SpoofingOptions, deps: SpoofingDeps): ExposureRecord['notes'] =>
  spoofingOf(options, deps).reasons.flatMap(({ code, category, message }) =>
    code === 'SPOOFABLE_TRANSFER' || code === 'ADDRESS_POISONING' ? [{ code, category, message }] : [],
  );

export interface ForgeableDeps {
  readonly isRisky: (node: NodeId) => boolean;
  /** Of an asset by its name: transfers of others can be forged. */
  readonly isEvidence: (asset: string) => boolean;
}

/**
 * Marks the addresses that may have a forged transfer with a risky one: of an unknown token, or of no amount. Reads the edges of
 * risky addresses alone.
 *
 * @returns by node, 1 for those that are marked; null if a risky address has too many counterparties to be read
 */
export function markForgeable(
  graph: TransferGraph,
  { isRisky, isEvidence }: ForgeableDeps,
  onNode: (node: NodeId) => void,
): Uint8Array | null {
  const marks = new Uint8Array(graph.nodeCount + 1);
  const native = chainOf(graph.chain).symbol;
  // A known token that moved once, and moved an amount, moved no amount in no transfer.
  const isForgeable = ({ asset, amount, transfers }: EdgeDetail): boolean =>
    asset !== native && (amount === 0n || transfers > 1 || !isEvidence(asset));
  const all = createNeighbourColumns(LIMITS.rowScanMax);
  for (let node = 1; node <= graph.nodeCount; node++) {
    onNode(node);
    if (!isRisky(node)) continue;
    for (const direction of DIRECTIONS) {
      if (graph.degree(node, direction) > LIMITS.rowScanMax) return null;
      const count = graph.neighbours(node, direction, LIMITS.rowScanMax, all);
      for (const other of all.ids.slice(0, count)) {
        if (marks[other] === 1) continue;
        const edges = edgeBetween(graph, node, direction, other);
        if (edges.some(isForgeable)) marks[other] = 1;
      }
    }
  }
  return marks;
}
