/**
 * The notes of entries: reasons from single transfers (forged transfers, look-alike addresses), which add no points. Reading them costs
 * as much as a small walk, so they are read only for addresses that may have any. A forged transfer needs a token, and is noted if its
 * counterparty is a risk. A look-alike address needs a worthless transfer (a token, or dust), and another counterparty that it
 * resembles.
 */
import { evmLookAlike, lookAlikeKey } from '../chains/look-alike.ts';
import { chainOf, isEvm } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import {
  createNeighbourColumns,
  type EdgeDetail,
  edgeBetween,
  type NodeId,
  type TransferGraph,
} from '../graph/graph.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Side } from '../screening/counterparties.ts';
import { type SpoofingDeps, type SpoofingOptions, spoofingOf } from '../screening/spoofable.ts';
import { suspectedOwnerDealings } from '../screening/suspected-owner.ts';
import type { ExposureRecord } from './record.ts';

/** Maximum number of counterparties per direction to check first: above it, the check costs more than reading the notes. */
const LOOKED_THROUGH_MAX = 2_000;

const DIRECTIONS: readonly Direction[] = ['in', 'out'];

/** The address has no look-alikes, because its chain uses each address only once. */
const SHAPELESS = 1;

/** FNV-1a. */
function hashOf(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}

/** Returns a number that look-alike addresses share (`lookAlikeKey`) and other addresses rarely do; SHAPELESS, or a larger number. */
function shapeOf(graph: TransferGraph, node: NodeId): number {
  const { chain } = graph;
  if (isEvm(chain)) return 2 + evmLookAlike(graph.keyOf(node));
  const shape = lookAlikeKey(chain, graph.addressOf(node));
  return shape === null ? SHAPELESS : Math.max(2, hashOf(shape));
}

/** Returns a function that computes the shape of each address of a graph once. */
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

/** The shapes of the counterparties of one address. */
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
 * Returns true if an address may have notes: two of its counterparties look alike, or one is a risk and tokens moved; also if it has
 * too many counterparties to check.
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
  // An address that paid itself also has look-alikes.
  seen.add(shape(node), node);
  for (const direction of DIRECTIONS) {
    if (graph.degree(node, direction) > LOOKED_THROUGH_MAX) return true;
    const count = graph.neighbours(node, direction, LOOKED_THROUGH_MAX, columns);
    for (const other of columns.ids.slice(0, count))
      if (seen.add(shape(other), other) || isRisky?.(other) === true) return true;
  }
  return false;
}

/** Returns the reasons for forged transfers and look-alike addresses, the same as in a screening. */
export const readNotes = (options: SpoofingOptions, deps: SpoofingDeps): ExposureRecord['notes'] =>
  spoofingOf(options, deps).reasons.flatMap(({ code, category, message }) =>
    code === 'SPOOFABLE_TRANSFER' || code === 'ADDRESS_POISONING' ? [{ code, category, message }] : [],
  );

/** Returns the reasons for dealings with suspected owners, the same as in a screening. */
export const suspectedNotes = (sides: readonly Side[]): ExposureRecord['notes'] =>
  suspectedOwnerDealings(sides).map(({ category, message }) => ({
    code: 'SUSPECTED_OWNER',
    category,
    message,
  }));

export interface ForgeableDeps {
  readonly isRisky: (node: NodeId) => boolean;
  /** Takes the name of an asset; transfers of other assets can be forged. */
  readonly isEvidence: (asset: string) => boolean;
}

/**
 * Marks the addresses that may have a forged transfer with a risky address: of an unknown token, or of no amount. Reads only the edges
 * of risky addresses.
 *
 * @returns by node, 1 if it is marked; null if a risky address has too many counterparties to read
 */
export function markForgeable(
  graph: TransferGraph,
  { isRisky, isEvidence }: ForgeableDeps,
  onNode: (node: NodeId) => void,
): Uint8Array | null {
  const marks = new Uint8Array(graph.nodeCount + 1);
  const native = chainOf(graph.chain).symbol;
  // If a known token moved exactly once and with an amount, that transfer is not empty.
  const isForgeable = ({ asset, amount, transfers }: EdgeDetail): boolean =>
    asset !== native && (amount === 0n || transfers > 1 || !isEvidence(asset));
  const all = createNeighbourColumns(GRAPH_LIMITS.rowScanMax);
  for (let node = 1; node <= graph.nodeCount; node++) {
    onNode(node);
    if (!isRisky(node)) continue;
    for (const direction of DIRECTIONS) {
      if (graph.degree(node, direction) > GRAPH_LIMITS.rowScanMax) return null;
      const count = graph.neighbours(node, direction, GRAPH_LIMITS.rowScanMax, all);
      for (const other of all.ids.slice(0, count)) {
        if (marks[other] === 1) continue;
        const edges = edgeBetween(graph, node, direction, other);
        if (edges.some(isForgeable)) marks[other] = 1;
      }
    }
  }
  return marks;
}
