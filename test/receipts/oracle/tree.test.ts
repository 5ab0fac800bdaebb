/** The tree of sanctioned addresses: its file, its proofs, and what damages them. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keccak256 } from 'ethers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChainId } from '../../../src/chains/registry.ts';
import { sanctionedAddresses } from '../../../src/receipts/oracle/accounts.ts';
import { boundsOf, depthOf, rootOf } from '../../../src/receipts/oracle/merkle.ts';
import {
  openTree,
  type TreeFacts,
  type TreeFile,
  treePath,
  writeTree,
} from '../../../src/receipts/oracle/tree-file.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';

const CHAIN: ChainId = 'ETH';
const address = (value: bigint): Uint8Array => Buffer.from(value.toString(16).padStart(40, '0'), 'hex');
const LAST = 2n ** 160n - 1n;
const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

/** The root as SanctionsRoot.sol defines it, computed from the definition: the whole tree, with another keccak. */
function rootByDefinition(sorted: readonly bigint[]): string {
  const bound = (value: bigint): string => value.toString(16).padStart(42, '0');
  const bounds = [0n, ...sorted.map((value) => value + 1n), 2n ** 160n + 1n];
  let level = bounds.slice(1).map((high, at) => keccak256(`0x00${bound(bounds[at]!)}${bound(high)}`));
  while (level.length > 1) {
    const above: string[] = [];
    for (let at = 0; at < level.length; at += 2)
      above.push(
        keccak256(`0x01${level[at]!.slice(2)}${(level[at + 1] ?? `0x${'00'.repeat(32)}`).slice(2)}`),
      );
    level = above;
  }
  return level[0]!;
}

const spread = (count: number): bigint[] =>
  Array.from({ length: count }, (_, at) => (LAST / BigInt(count + 1)) * BigInt(at + 1));

describe('the tree of sanctioned addresses', () => {
  let folder: TempFolder;
  const opened: TreeFile[] = [];

  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => {
    for (const tree of opened.splice(0)) tree.close();
    folder.remove();
  });

  const write = (values: readonly bigint[]): TreeFacts =>
    writeTree(folder.path, { chain: CHAIN, dataVersion: 'v1' }, values.map(address));
  function build(values: readonly bigint[]): TreeFile {
    const tree = openTree(treePath(folder.path, CHAIN, write(values).root));
    opened.push(tree);
    return tree;
  }

  it.each([0, 1, 2, 3, 15, 30, 31, 32, 33, 63, 64, 100, 1_023, 1_024, 1_500])(
    'has the root of its definition with %i addresses, and proves each of them and each gap',
    (count) => {
      const values = spread(count);
      const tree = build(values);
      expect(tree.facts).toEqual({
        chain: CHAIN,
        dataVersion: 'v1',
        size: count,
        depth: Math.ceil(Math.log2(count + 1)),
        root: rootByDefinition(values),
      });
      expect([...tree.addresses()].map((bytes) => BigInt(hex(bytes)))).toEqual(values);
      const step = Math.max(1, Math.floor(count / 40));
      const asked = values.filter((_, at) => at % step === 0 || at === count - 1);
      for (const value of [...asked.flatMap((each) => [each - 1n, each, each + 1n]), 0n, LAST]) {
        const proof = tree.prove(address(value));
        expect(proof.isListed).toBe(values.includes(value));
        expect(proof.path).toHaveLength(tree.facts.depth);
        expect(hex(rootOf(proof, proof.index, proof.path))).toBe(tree.facts.root);
        const place = value + 1n;
        expect(BigInt(hex(proof.low)) <= place && place < BigInt(hex(proof.high))).toBe(true);
      }
    },
  );

  it('holds the first and the last address that exist', () => {
    const tree = build([0n, 5n, LAST]);
    for (const [value, isListed] of [
      [0n, true],
      [1n, false],
      [5n, true],
      [LAST - 1n, false],
      [LAST, true],
    ] as const)
      expect(tree.prove(address(value)).isListed).toBe(isListed);
    expect(boundsOf(address(LAST), null)).toEqual({
      low: Uint8Array.from(Buffer.from(`01${'00'.repeat(20)}`, 'hex')),
      high: Uint8Array.from(Buffer.from(`01${'00'.repeat(19)}01`, 'hex')),
    });
  });

  it('proves any address of any set', () => {
    const value = fc.oneof(fc.bigInt(0n, LAST), fc.bigInt(0n, 300n), fc.bigInt(LAST - 300n, LAST));
    fc.assert(
      fc.property(fc.uniqueArray(value, { maxLength: 90 }), value, (set, asked) => {
        const sorted = [...set].sort((a, b) => (a < b ? -1 : 1));
        const tree = build(sorted);
        expect(tree.facts.root).toBe(rootByDefinition(sorted));
        expect(tree.prove(address(asked)).isListed).toBe(set.includes(asked));
      }),
      { numRuns: 60 },
    );
  });

  it('refuses addresses that are repeated or not ascending, and leaves no file', () => {
    for (const wrong of [
      [1n, 1n],
      [2n, 1n],
    ])
      expect(() => write(wrong)).toThrow('strictly ascending');
    expect(() => openTree(treePath(folder.path, CHAIN, rootByDefinition([1n, 1n])))).toThrow('ENOENT');
  });

  it('rejects each damaged file with a sentence, and returns no wrong proof', () => {
    const values = spread(200);
    const { root } = write(values);
    const path = treePath(folder.path, CHAIN, root);
    const whole = readFileSync(path);
    for (const bytes of [
      whole.subarray(0, 400),
      whole.subarray(0, -1),
      Buffer.concat([whole, Buffer.of(0)]),
    ]) {
      writeFileSync(path, bytes);
      expect(() => openTree(path)).toThrow('is damaged');
    }
    const asked = [0n, values[99]!, values[99]! + 1n, LAST].map(address);
    writeFileSync(path, whole);
    const right = openTree(path);
    opened.push(right);
    const proofs = asked.map((each) => right.prove(each));
    let refused = 0;
    const changed = treePath(join(folder.path, 'changed'), CHAIN, root);
    mkdirSync(join(folder.path, 'changed'));
    for (let at = 512; at < whole.length; at += 37) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 0x40;
      writeFileSync(changed, bytes);
      const tree = openTree(changed);
      for (const [place, each] of asked.entries()) {
        try {
          expect(tree.prove(each)).toEqual(proofs[place]);
        } catch (error) {
          expect(String(error)).toContain('is damaged');
          refused++;
        }
      }
      tree.close();
    }
    expect(refused).toBeGreaterThan(20);
  });

  it('refuses a tree under the name of another root or chain', () => {
    const path = treePath(folder.path, CHAIN, write([1n, 2n]).root);
    for (const other of [treePath(folder.path, CHAIN, write([1n, 3n]).root), path.replace('ETH-', 'BSC-')]) {
      copyFileSync(path, other);
      expect(() => openTree(other)).toThrow(`${other} is damaged`);
    }
    openTree(path).close();
  });

  it('lets two builds of one chain overlap', () => {
    function* meanwhile(): Generator<Uint8Array> {
      yield address(1n);
      write([7n]);
      yield address(2n);
    }
    const { root } = writeTree(folder.path, { chain: CHAIN, dataVersion: 'v1' }, meanwhile());
    expect(root).toBe(rootByDefinition([1n, 2n]));
    for (const values of [[1n, 2n], [7n]]) {
      const tree = openTree(treePath(folder.path, CHAIN, rootByDefinition(values)));
      opened.push(tree);
      expect([...tree.addresses()].map((bytes) => BigInt(hex(bytes)))).toEqual(values);
    }
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('refuses a file of another format', () => {
    mkdirSync(folder.path, { recursive: true });
    const path = `${folder.path}/ETH-00.tree`;
    writeFileSync(path, 'x'.repeat(512));
    expect(() => openTree(path)).toThrow('is damaged');
    writeFileSync(path, '{"format":2,"chain":"ETH"}'.padEnd(512));
    expect(() => openTree(path)).toThrow('is damaged');
  });

  it('has paths of 24 nodes at ten million addresses', () => {
    expect([0, 1, 2, 3, 10_000_000, 16_777_215, 16_777_216].map(depthOf)).toEqual([0, 1, 2, 2, 24, 24, 25]);
  });
});

describe('sanctionedAddresses', () => {
  it.each([1, 7, 50, 1_000_000])('sorts all addresses once, with runs of at most %i', (runMax) => {
    const values = [...spread(300), 0n, 1n, 2n, LAST, LAST - 1n].map((value) => address(value));
    const shuffled = values.map((_, at) => values[(at * 101) % values.length]!);
    let passes = 0;
    const reader = {
      eachSanctioned(chain: ChainId, visit: (bytes: Uint8Array) => void): void {
        expect(chain).toBe(CHAIN);
        passes++;
        const shared = new Uint8Array(20);
        for (const each of [...shuffled, shuffled[0]!]) {
          shared.set(each);
          visit(shared);
        }
      },
    };
    const sorted = [...sanctionedAddresses(reader, CHAIN, runMax)].map(hex);
    expect(sorted).toEqual([...new Set(values.map(hex))].sort());
    expect(passes > 2).toBe(runMax < 1_000);
  });
});
