/**
 * The Merkle tree of sorted addresses that examples/solidity/SanctionsRoot.sol verifies.
 *
 * - Bound of an address: its number plus 1, as 21 bytes, big-endian. 0 is the bound before all addresses, 2^160 + 1 the one after all.
 * - Leaf: keccak-256 of 0x00, the bound of an address and the bound of the next one. `n` addresses have `n + 1` leaves, so the empty set
 *   has one. A single path therefore proves that an address is in the set (it is the lower bound of a leaf) or not (it is between).
 * - Node: keccak-256 of 0x01, left and right. No node can pass for a leaf, because their first bytes differ.
 * - A node that is missing on the right side is 32 zero bytes: all paths have the same length, and no leaf with that hash is known.
 */
import { digest, keccak256Block } from '../../chains/address/keccak.ts';

export const ADDRESS_BYTES = 20;
export const BOUND_BYTES = 21;
export const HASH_BYTES = 32;

/** A missing node. */
export const MISSING = new Uint8Array(HASH_BYTES);

const LEAF = 0x00;
const NODE = 0x01;
const leafInput = new Uint8Array(1 + 2 * BOUND_BYTES);
leafInput[0] = LEAF;
const nodeInput = new Uint8Array(1 + 2 * HASH_BYTES);
nodeInput[0] = NODE;

/**
 * Writes the bound of an address into `out`.
 *
 * @param address - 20 bytes; null writes the bound before all addresses if `isLow`, else the one after all
 */
function writeBound(address: Uint8Array | null, isLow: boolean, out: Uint8Array, at: number): void {
  out.fill(0, at, at + BOUND_BYTES);
  if (address === null) {
    if (isLow) return;
    out[at] = 1;
    out[at + BOUND_BYTES - 1] = 1;
    return;
  }
  let carry = 1;
  for (let byte = ADDRESS_BYTES - 1; byte >= 0; byte--) {
    const sum = (address[byte] as number) + carry;
    out[at + 1 + byte] = sum & 0xff;
    carry = sum >> 8;
  }
  out[at] = carry;
}

/** The two bounds of a leaf, 21 bytes each. */
export interface Bounds {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
}

/**
 * Returns the bounds of the leaf between two neighbours.
 *
 * @param address - null before the first address
 * @param next - null after the last address
 */
export function boundsOf(address: Uint8Array | null, next: Uint8Array | null): Bounds {
  const low = new Uint8Array(BOUND_BYTES);
  const high = new Uint8Array(BOUND_BYTES);
  writeBound(address, true, low, 0);
  writeBound(next, false, high, 0);
  return { low, high };
}

/** Writes the hash of the leaf between two neighbours into `out`: see `boundsOf`. */
export function writeLeaf(
  address: Uint8Array | null,
  next: Uint8Array | null,
  out: Uint8Array,
  at: number,
): void {
  writeBound(address, true, leafInput, 1);
  writeBound(next, false, leafInput, 1 + BOUND_BYTES);
  keccak256Block(leafInput, 0, leafInput.length);
  out.set(digest, at);
}

/** Writes the hash of two nodes into `out`, which may be the memory of one of them. */
export function writeNode(left: Uint8Array, right: Uint8Array, out: Uint8Array, at: number): void {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + HASH_BYTES);
  keccak256Block(nodeInput, 0, nodeInput.length);
  out.set(digest, at);
}

/** Returns the number of nodes of the level above one with `count` nodes. */
export const nodesAbove = (count: number): number => Math.ceil(count / 2);

/** Returns the length of every path in the tree of `size` addresses. */
export function depthOf(size: number): number {
  let depth = 0;
  while (2 ** depth < size + 1) depth++;
  return depth;
}

/** Returns the hash of `index` in a level, or MISSING behind its end. */
export const nodeAt = (level: Uint8Array, count: number, index: number): Uint8Array =>
  index < count ? level.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES) : MISSING;

/** Replaces a level by the one above it, in place, and returns its number of nodes. */
export function climb(level: Uint8Array, count: number): number {
  const above = nodesAbove(count);
  for (let index = 0; index < above; index++)
    writeNode(
      nodeAt(level, count, 2 * index),
      nodeAt(level, count, 2 * index + 1),
      level,
      index * HASH_BYTES,
    );
  return above;
}

/** Returns the root that a path leads to. */
export function rootOf({ low, high }: Bounds, index: number, path: readonly Uint8Array[]): Uint8Array {
  leafInput.set(low, 1);
  leafInput.set(high, 1 + BOUND_BYTES);
  keccak256Block(leafInput, 0, leafInput.length);
  const node = Uint8Array.from(digest);
  let place = index;
  for (const sibling of path) {
    if (place % 2 === 0) writeNode(node, sibling, node, 0);
    else writeNode(sibling, node, node, 0);
    place = Math.floor(place / 2);
  }
  return node;
}
