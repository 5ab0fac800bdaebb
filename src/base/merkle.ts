/**
 * The Merkle tree of RFC 6962, section 2.1 (RFC 9162, section 2.1): hashes, roots, and proofs of inclusion and consistency. All functions are
 * pure: they return the nodes that a proof needs, and a caller that stores the tree reads and combines them.
 */
import { createHash, hash as hashOnce } from 'node:crypto';

/** Bytes of a SHA-256 hash. */
export const HASH_BYTES = 32;

/**
 * Returns the SHA-256 of bytes. As text and from there into a pooled buffer, it takes two thirds of the time in which node:crypto makes a buffer
 * of its own.
 */
export const sha256 = (bytes: Uint8Array): Buffer =>
  Buffer.from(hashOnce('sha256', bytes, 'binary'), 'latin1');

const LEAF_PREFIX = Buffer.of(0x00);
/** The input of the hash of an entry that is itself a hash, as those of the log are. */
const leafInput = Buffer.alloc(1 + HASH_BYTES);
/** The input of the hash of an inner node. One piece is hashed in two thirds of the time that three need. */
const nodeInput = Buffer.alloc(1 + 2 * HASH_BYTES, 0x01);

/**
 * A perfect subtree: the hash over the entries `index × 2^level` to `(index + 1) × 2^level`, the last one excluded. Level 0 is a leaf.
 */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** One hash of a proof: the hash of a range of entries, as the perfect subtrees of which it is combined, from left to right. */
export type ProofPart = readonly TreeNode[];

/** Returns the leaf hash of an entry: SHA-256(0x00 || entry). */
export const leafHash = (entry: Uint8Array): Buffer => {
  if (entry.length !== HASH_BYTES) return createHash('sha256').update(LEAF_PREFIX).update(entry).digest();
  leafInput.set(entry, 1);
  return sha256(leafInput);
};

/** Returns the hash of an inner node: SHA-256(0x01 || left || right). */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + HASH_BYTES);
  return sha256(nodeInput);
};

/** Returns the root of a tree without entries: SHA-256 of nothing. */
export const emptyRoot = (): Buffer => createHash('sha256').digest();

const isPerfect = (width: number): boolean =>
  Number.isInteger(Math.log2(width)) && 2 ** Math.log2(width) === width;

/** Returns the largest power of two below `width`, which must be at least 2: the width of the left child. */
function leftWidth(width: number): number {
  let left = 1;
  while (left * 2 < width) left *= 2;
  return left;
}

/**
 * Returns the perfect subtrees of a range, from left to right.
 *
 * @param start first entry; a multiple of the largest power of two that is not above the width of the range
 * @param end the entry after the last
 */
export function subtreesOf(start: number, end: number): TreeNode[] {
  const nodes: TreeNode[] = [];
  let at = start;
  while (at < end) {
    const rest = end - at;
    const width = isPerfect(rest) ? rest : leftWidth(rest);
    nodes.push({ level: Math.log2(width), index: at / width });
    at += width;
  }
  return nodes;
}

/**
 * Returns the perfect subtrees of a tree that cover any range of its entries, from left to right: at most two of each level (a compact range).
 *
 * @param start first entry
 * @param end the entry after the last
 */
export function coverOf(start: number, end: number): TreeNode[] {
  const nodes: TreeNode[] = [];
  let at = start;
  while (at < end) {
    let level = 0;
    for (let width = 2; at % width === 0 && at + width <= end; width *= 2) level += 1;
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/**
 * Returns the hash over consecutive perfect subtrees of falling width.
 *
 * @param hashes their hashes from left to right, as `subtreesOf` lists them; without any, the root of the empty tree is returned
 */
export function combine(hashes: readonly Uint8Array[]): Buffer {
  const last = hashes[hashes.length - 1];
  if (last === undefined) return emptyRoot();
  let hash: Buffer = Buffer.from(last);
  for (let index = hashes.length - 2; index >= 0; index -= 1)
    hash = nodeHash(hashes[index] as Uint8Array, hash);
  return hash;
}

function checkSizes(smaller: number, larger: number): void {
  if (!Number.isSafeInteger(smaller) || !Number.isSafeInteger(larger) || smaller < 0 || smaller > larger)
    throw new RangeError(`a tree of ${larger} entries contains no tree or entry ${smaller}`);
}

/**
 * Lists the parts of an inclusion proof (RFC 9162, section 2.1.3.1), from the sibling of the leaf to the child of the root.
 *
 * @param index position of the entry, from 0
 * @param size number of entries of the tree
 * @throws RangeError if the tree does not contain the entry
 */
export function inclusionParts(index: number, size: number): ProofPart[] {
  checkSizes(index + 1, size);
  if (index < 0) throw new RangeError('an index is not negative');
  const parts: ProofPart[] = [];
  let start = 0;
  let end = size;
  while (end - start > 1) {
    const middle = start + leftWidth(end - start);
    if (index < middle) {
      parts.push(subtreesOf(middle, end));
      end = middle;
    } else {
      parts.push(subtreesOf(start, middle));
      start = middle;
    }
  }
  return parts.reverse();
}

/**
 * Lists the parts of a consistency proof (RFC 9162, section 2.1.4.1). It is empty if the trees have the same size, or if the first is empty.
 *
 * @param first number of entries of the older tree
 * @param second number of entries of the newer tree
 * @throws RangeError if the older tree is larger
 */
export function consistencyParts(first: number, second: number): ProofPart[] {
  checkSizes(first, second);
  if (first === 0 || first === second) return [];
  const parts: ProofPart[] = [];
  let start = 0;
  let end = second;
  while (first !== end) {
    const middle = start + leftWidth(end - start);
    if (first <= middle) {
      parts.push(subtreesOf(middle, end));
      end = middle;
    } else {
      parts.push(subtreesOf(start, middle));
      start = middle;
    }
  }
  // The range that remains is a subtree of the older tree. If it is the whole older tree, the verifier has its hash.
  if (start > 0) parts.push(subtreesOf(start, end));
  return parts.reverse();
}

/**
 * Computes the root that an inclusion proof leads to (RFC 9162, section 2.1.3.2).
 *
 * @param leaf leaf hash of the entry
 * @param index position of the entry
 * @param size number of entries of the tree
 * @param proof hashes from the sibling of the leaf to the child of the root
 * @returns the root, or null if the proof does not have the shape of the tree
 */
export function rootFromInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
): Buffer | null {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return null;
  let node = index;
  let last = size - 1;
  let hash: Buffer = Buffer.from(leaf);
  for (const sibling of proof) {
    if (last === 0 || sibling.length !== HASH_BYTES) return null;
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hash : null;
}

/** Returns whether `proof` shows that the tree with `root` and `size` entries has the entry with the leaf hash `leaf` at `index`. */
export function isIncluded(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  return rootFromInclusion(leaf, index, size, proof)?.equals(root) ?? false;
}

/** Number of entries and root of a tree. */
export interface TreeHead {
  readonly size: number;
  readonly root: Uint8Array;
}

/**
 * Returns whether `proof` shows that `second` is `first` with entries appended (RFC 9162, section 2.1.4.2). Every tree is consistent with the
 * empty tree.
 *
 * @param proof hashes in the order of `consistencyParts`
 */
export function isConsistent(first: TreeHead, second: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (!Number.isSafeInteger(first.size) || !Number.isSafeInteger(second.size)) return false;
  if (first.size < 0 || first.size > second.size) return false;
  const firstRoot = Buffer.from(first.root);
  if (first.size === 0) return proof.length === 0 && firstRoot.equals(emptyRoot());
  if (first.size === second.size) return proof.length === 0 && firstRoot.equals(second.root);
  const path = isPerfect(first.size) ? [firstRoot, ...proof] : [...proof];
  return rootsMatch(firstRoot, first.size, second, path);
}

/** Rebuilds both roots along one path; its first hash belongs to both trees. */
function rootsMatch(
  firstRoot: Buffer,
  firstSize: number,
  second: TreeHead,
  path: readonly Uint8Array[],
): boolean {
  const seed = path[0];
  if (seed === undefined || path.some((hash) => hash.length !== HASH_BYTES)) return false;
  let node = firstSize - 1;
  let last = second.size - 1;
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  let older: Buffer = Buffer.from(seed);
  let newer: Buffer = Buffer.from(seed);
  for (const sibling of path.slice(1)) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      older = nodeHash(sibling, older);
      newer = nodeHash(sibling, newer);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      newer = nodeHash(newer, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && older.equals(firstRoot) && newer.equals(second.root);
}

/**
 * A tree to which leaves are appended: the hashes of the perfect subtrees on its right edge, at most one for each level (a compact range).
 */
export class MerkleFrontier {
  #size = 0;
  /** Hashes of the perfect subtrees from left to right, as `subtreesOf(0, size)` lists them. */
  readonly #hashes: Buffer[] = [];

  /**
   * @param size number of entries the tree has already
   * @param hashes the hashes of `subtreesOf(0, size)`
   * @throws RangeError if the number of hashes does not fit the size
   */
  constructor(size = 0, hashes: readonly Uint8Array[] = []) {
    if (subtreesOf(0, size).length !== hashes.length)
      throw new RangeError(`${hashes.length} subtrees do not make a tree of ${size} entries`);
    this.#size = size;
    this.#hashes.push(...hashes.map((hash) => Buffer.from(hash)));
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Appends a leaf hash.
   *
   * @param completed called for each node that the leaf completes, from the leaf upwards
   */
  append(leaf: Uint8Array, completed?: (node: TreeNode, hash: Buffer) => void): void {
    let hash: Buffer = Buffer.from(leaf);
    let index = this.#size;
    let level = 0;
    completed?.({ level, index }, hash);
    while (index % 2 === 1) {
      hash = nodeHash(this.#hashes.pop() as Buffer, hash);
      index = (index - 1) / 2;
      level += 1;
      completed?.({ level, index }, hash);
    }
    this.#hashes.push(hash);
    this.#size += 1;
  }

  /**
   * Appends a perfect subtree.
   *
   * @throws RangeError if it does not begin at the end of the tree
   */
  appendSubtree({ level, index }: TreeNode, subtree: Uint8Array): void {
    if (index * 2 ** level !== this.#size)
      throw new RangeError(`a subtree at ${index * 2 ** level} does not follow ${this.#size} entries`);
    let hash: Buffer = Buffer.from(subtree);
    for (let at = index; at % 2 === 1; at = (at - 1) / 2) hash = nodeHash(this.#hashes.pop() as Buffer, hash);
    this.#hashes.push(hash);
    this.#size += 2 ** level;
  }

  /** Returns the root of the tree. */
  root(): Buffer {
    return combine(this.#hashes);
  }

  /** Returns the hashes of `subtreesOf(0, size)`, with which an equal tree can be created. */
  hashes(): readonly Buffer[] {
    return [...this.#hashes];
  }
}

/** Consecutive leaves that begin anywhere in a tree, as the hashes of the fewest perfect subtrees (`coverOf`). */
export class MerkleRange {
  #end: number;
  readonly #nodes: { readonly level: number; readonly index: number; readonly hash: Buffer }[] = [];

  /** @param start position of the first leaf */
  constructor(start: number) {
    this.#end = start;
  }

  /** Position after the last leaf. */
  get end(): number {
    return this.#end;
  }

  append(leaf: Buffer): void {
    let node = { level: 0, index: this.#end, hash: leaf };
    for (;;) {
      const left = this.#nodes.at(-1);
      if (node.index % 2 === 0 || left?.level !== node.level || left.index !== node.index - 1) break;
      this.#nodes.pop();
      node = { level: node.level + 1, index: left.index / 2, hash: nodeHash(left.hash, node.hash) };
    }
    this.#nodes.push(node);
    this.#end += 1;
  }

  /** Returns the hashes of `coverOf(start, end)`. */
  hashes(): readonly Buffer[] {
    return this.#nodes.map(({ hash }) => hash);
  }
}
