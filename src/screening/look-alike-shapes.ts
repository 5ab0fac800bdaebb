/** Finds out cheaply if two addresses of a graph may look alike (chains/look-alike.ts), without formatting them. */
import { lookAlikeKey } from '../chains/look-alike.ts';
import { type ChainId, isEvm } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import { SCREENING_LIMITS } from './limits.ts';

/** The address has no look-alikes, because its chain uses each address only once. */
const SHAPELESS = 1;

/** FNV-1a. */
function hashOf(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}

/** Returns a number that look-alike addresses share (`lookAlikeKey`) and other addresses rarely do; SHAPELESS, or a larger number. */
export function shapeOf(graph: TransferGraph, node: NodeId): number {
  const { chain } = graph;
  if (isEvm(chain)) {
    // Compute the same digits without formatting the address: the first three and the last four of 40.
    const key = graph.keyOf(node);
    const from = key.length - 20;
    const first = ((key[from] as number) << 4) | ((key[from + 1] as number) >> 4);
    const last = ((key[from + 18] as number) << 8) | (key[from + 19] as number);
    return 2 + (first << 16) + last;
  }
  const shape = lookAlikeKey(chain, graph.addressOf(node));
  return shape === null ? SHAPELESS : Math.max(2, hashOf(shape));
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

const SLOTS = SCREENING_LIMITS.rememberedShapes;
/** Odd, so that the small ids of two chains do not compete for the same slots. */
const CHAIN_STEP = 0x9e3779b1;

/** Returns a function that caches the shapes of the addresses of a thread: an id never changes its address. */
export function createShapes(): (graph: TransferGraph) => (node: NodeId) => number {
  const numbers = new Map<ChainId, number>();
  let nodes = new Uint32Array(0);
  let chains = new Uint8Array(0);
  let shapes = new Uint32Array(0);
  return (graph) => {
    let number = numbers.get(graph.chain);
    if (number === undefined) {
      // An empty slot has the number 0, which no chain has.
      number = numbers.size + 1;
      numbers.set(graph.chain, number);
    }
    const mark = number;
    return (node) => {
      if (nodes.length === 0) {
        nodes = new Uint32Array(SLOTS);
        chains = new Uint8Array(SLOTS);
        shapes = new Uint32Array(SLOTS);
      }
      const slot = (node + mark * CHAIN_STEP) & (SLOTS - 1);
      if (nodes[slot] === node && chains[slot] === mark) return shapes[slot] as number;
      const shape = shapeOf(graph, node);
      nodes[slot] = node;
      chains[slot] = mark;
      shapes[slot] = shape;
      return shape;
    };
  };
}
