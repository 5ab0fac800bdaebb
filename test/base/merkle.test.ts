import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  combine,
  consistencyParts,
  coverOf,
  emptyRoot,
  inclusionParts,
  isConsistent,
  isIncluded,
  leafHash,
  MerkleFrontier,
  MerkleRange,
  nodeHash,
  type ProofPart,
  rootFromInclusion,
  subtreesOf,
} from '../../src/base/merkle.ts';

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

/** The eight entries of the test vectors of Certificate Transparency (RFC 6962), and the roots of the first n of them. */
const ENTRIES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((text) => Buffer.from(text, 'hex'));
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** The definition of RFC 6962, section 2.1, by recursion over the leaf hashes. */
function naiveRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return createHash('sha256').digest();
  if (leaves.length === 1) return leaves[0] as Buffer;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)));
}

function naivePath(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return index < k
    ? [...naivePath(index, leaves.slice(0, k)), naiveRoot(leaves.slice(k))]
    : [...naivePath(index - k, leaves.slice(k)), naiveRoot(leaves.slice(0, k))];
}

function naiveSubproof(first: number, leaves: readonly Buffer[], isWhole: boolean): Buffer[] {
  if (first === leaves.length) return isWhole ? [] : [naiveRoot(leaves)];
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return first <= k
    ? [...naiveSubproof(first, leaves.slice(0, k), isWhole), naiveRoot(leaves.slice(k))]
    : [...naiveSubproof(first - k, leaves.slice(k), false), naiveRoot(leaves.slice(0, k))];
}

const leavesOf = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.from(`entry ${index}`)));

const hashesOf = (parts: readonly ProofPart[], leaves: readonly Buffer[]): Buffer[] =>
  parts.map((nodes) =>
    combine(
      nodes.map(({ level, index }) => naiveRoot(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))),
    ),
  );

const LEAVES = leavesOf(300);

describe('the Merkle tree', () => {
  it('has the roots of the test vectors', () => {
    const frontier = new MerkleFrontier();
    expect(hex(frontier.root())).toBe(ROOTS[0]);
    expect(hex(emptyRoot())).toBe(ROOTS[0]);
    for (const [index, entry] of ENTRIES.entries()) {
      frontier.append(leafHash(entry));
      expect(hex(frontier.root())).toBe(ROOTS[index + 1]);
    }
  });

  it('has the inclusion and consistency proofs of the test vectors', () => {
    const leaves = ENTRIES.map((entry) => leafHash(entry));
    expect(hashesOf(inclusionParts(0, 8), leaves).map(hex)).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ]);
    expect(hashesOf(inclusionParts(5, 8), leaves).map(hex)).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(hashesOf(consistencyParts(6, 8), leaves).map(hex)).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });

  it('agrees with the definition for every size up to 70, and for random sizes', () => {
    const check = (size: number): void => {
      const leaves = LEAVES.slice(0, size);
      const frontier = new MerkleFrontier();
      for (const leaf of leaves) frontier.append(leaf);
      expect(frontier.size).toBe(size);
      expect(hex(frontier.root())).toBe(hex(naiveRoot(leaves)));
    };
    for (let size = 0; size <= 70; size += 1) check(size);
    fc.assert(fc.property(fc.integer({ min: 71, max: 300 }), check), { numRuns: 20 });
  });

  it('reports each node that a leaf completes, once', () => {
    const nodes = new Map<string, string>();
    const frontier = new MerkleFrontier();
    for (const leaf of LEAVES)
      frontier.append(leaf, ({ level, index }, hash) => {
        expect(nodes.has(`${level}/${index}`)).toBe(false);
        nodes.set(`${level}/${index}`, hex(hash));
      });
    let count = 0;
    for (let width = 1, level = 0; width <= 300; width *= 2, level += 1)
      for (let index = 0; (index + 1) * width <= 300; index += 1, count += 1)
        expect(nodes.get(`${level}/${index}`)).toBe(
          hex(naiveRoot(LEAVES.slice(index * width, (index + 1) * width))),
        );
    expect(nodes.size).toBe(count);
  });

  it('continues from the subtrees of an earlier tree', () => {
    fc.assert(
      fc.property(fc.nat(150), fc.nat(150), (size, more) => {
        const hashes = subtreesOf(0, size).map(({ level, index }) =>
          naiveRoot(LEAVES.slice(index * 2 ** level, (index + 1) * 2 ** level)),
        );
        const frontier = new MerkleFrontier(size, hashes);
        for (const leaf of LEAVES.slice(size, size + more)) frontier.append(leaf);
        expect(hex(frontier.root())).toBe(hex(naiveRoot(LEAVES.slice(0, size + more))));
      }),
      { numRuns: 40 },
    );
    expect(() => new MerkleFrontier(3, [emptyRoot()])).toThrow('1 subtrees do not make a tree of 3 entries');
  });

  it('proves each entry, as the definition does, and nothing else', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(299), fc.nat(299), (size, at, other) => {
        const index = at % size;
        const leaves = LEAVES.slice(0, size);
        const root = naiveRoot(leaves);
        const proof = hashesOf(inclusionParts(index, size), leaves);
        expect(proof.map(hex)).toEqual(naivePath(index, leaves).map(hex));
        const leaf = leaves[index] as Buffer;
        expect(isIncluded(leaf, index, size, proof, root)).toBe(true);
        expect(hex(rootFromInclusion(leaf, index, size, proof) as Buffer)).toBe(hex(root));
        expect(isIncluded(leafHash(Buffer.from('x')), index, size, proof, root)).toBe(false);
        if (other % size !== index) expect(isIncluded(leaf, other % size, size, proof, root)).toBe(false);
        expect(isIncluded(leaf, index, size, [...proof, root], root)).toBe(false);
        expect(isIncluded(leaf, index, size, proof.slice(1), root)).toBe(size === 1);
        for (const [position, hash] of proof.entries()) {
          const changed = Buffer.from(hash);
          changed[position % 32] = (changed[position % 32] as number) ^ 1;
          expect(isIncluded(leaf, index, size, proof.with(position, changed), root)).toBe(false);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('proves that a tree continues an older one, as the definition does, and detects a fork and a rollback', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.nat(300), (a, b) => {
        const [first, second] = [Math.min(a, b), Math.max(a, b)];
        const leaves = LEAVES.slice(0, second);
        const older = { size: first, root: naiveRoot(leaves.slice(0, first)) };
        const newer = { size: second, root: naiveRoot(leaves) };
        const proof = hashesOf(consistencyParts(first, second), leaves);
        if (first > 0) expect(proof.map(hex)).toEqual(naiveSubproof(first, leaves, true).map(hex));
        expect(isConsistent(older, newer, proof)).toBe(true);
        if (first < second) expect(isConsistent(newer, older, proof)).toBe(false);
        expect(isConsistent(older, newer, [...proof, newer.root])).toBe(false);
        if (first > 0) {
          const forked = [leafHash(Buffer.from('fork')), ...LEAVES.slice(1, first)];
          expect(isConsistent({ size: first, root: naiveRoot(forked) }, newer, proof)).toBe(false);
        }
        for (const [position, hash] of proof.entries()) {
          const changed = Buffer.from(hash);
          changed[position % 32] = (changed[position % 32] as number) ^ 1;
          expect(isConsistent(older, newer, proof.with(position, changed))).toBe(false);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('computes the shape of trees beyond 2^32 entries', () => {
    const size = 2 ** 40 + 5;
    expect(subtreesOf(0, size)).toEqual([
      { level: 40, index: 0 },
      { level: 2, index: 2 ** 38 },
      { level: 0, index: 2 ** 40 + 4 },
    ]);
    expect(inclusionParts(2 ** 40, size)).toHaveLength(4);
    expect(consistencyParts(2 ** 40, size)).toEqual([
      [
        { level: 2, index: 2 ** 38 },
        { level: 0, index: 2 ** 40 + 4 },
      ],
    ]);
  });

  it('rejects sizes and hashes that no tree has', () => {
    expect(() => inclusionParts(3, 3)).toThrow(RangeError);
    expect(() => inclusionParts(-1, 3)).toThrow(RangeError);
    expect(() => consistencyParts(4, 3)).toThrow(RangeError);
    const leaf = LEAVES[0] as Buffer;
    expect(rootFromInclusion(leaf, 0, 0, [])).toBeNull();
    expect(rootFromInclusion(leaf, 0.5, 2, [leaf])).toBeNull();
    expect(rootFromInclusion(leaf, 0, 2, [leaf.subarray(1)])).toBeNull();
    expect(isConsistent({ size: -1, root: leaf }, { size: 2, root: leaf }, [])).toBe(false);
    expect(isConsistent({ size: 0, root: leaf }, { size: 2, root: leaf }, [])).toBe(false);
    expect(isConsistent({ size: 1, root: leaf }, { size: 2, root: leaf }, [leaf.subarray(1)])).toBe(false);
  });
});

describe('ranges of leaves', () => {
  const leafOf = (index: number): Buffer => leafHash(Buffer.from(String(index)));

  it('join to the root of the whole tree, wherever they are divided', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 8 }), (widths) => {
        const whole = new MerkleFrontier();
        const joined = new MerkleFrontier();
        for (const width of widths) {
          const start = whole.size;
          const range = new MerkleRange(start);
          for (let index = start; index < start + width; index++) {
            whole.append(leafOf(index));
            range.append(leafOf(index));
          }
          const nodes = coverOf(start, range.end);
          const hashes = range.hashes();
          expect(hashes).toHaveLength(nodes.length);
          for (const [at, node] of nodes.entries()) joined.appendSubtree(node, hashes[at] as Buffer);
        }
        expect(hex(joined.root())).toBe(hex(whole.root()));
        expect(joined.size).toBe(whole.size);
      }),
    );
  });

  it('must follow each other', () => {
    const tree = new MerkleFrontier();
    tree.append(leafOf(0));
    expect(() => tree.appendSubtree({ level: 1, index: 1 }, leafOf(1))).toThrow(RangeError);
  });
});
