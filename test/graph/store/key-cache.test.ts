import { describe, expect, it } from 'vitest';
import { KeyCache } from '../../../src/graph/store/key-cache.ts';

/** Keys of `length` bytes that begin with the node, and a count of the reads. */
function stored(length: (node: number) => number) {
  const reads: number[] = [];
  const keyOf = (node: number): Buffer => {
    reads.push(node);
    const key = Buffer.alloc(length(node), node & 0xff);
    key.writeUInt32BE(node, 0);
    return key;
  };
  return { cache: new KeyCache({ keyOf }), reads, keyOf };
}

describe('the cache of keys', () => {
  it('reads a key once, and returns bytes that later keys do not overwrite', () => {
    const { cache, reads, keyOf } = stored((node) => 22 + (node % 11));
    const nodes = [1, 2, 2 ** 17 + 1, 2 ** 32 - 1];
    const first = nodes.map((node) => [cache.keyOf(node), cache.keyOf(node)]);
    expect(reads).toEqual(nodes);
    for (const [at, node] of nodes.entries()) expect(first[at]).toEqual([keyOf(node), keyOf(node)]);
    reads.length = 0;
    // Another node took its slot.
    expect(cache.keyOf(1).readUInt32BE(0)).toBe(1);
    expect(reads).toEqual([1]);
    cache.keyOf(1).fill(0);
    expect(cache.keyOf(1).readUInt32BE(0)).toBe(1);
  });

  it('gives keys in memory of its own for a moment, cached or not', () => {
    const { cache, reads, keyOf } = stored((node) => 22 + (node % 11));
    for (const node of [1, 2, 3]) expect(cache.viewOf(node)).toEqual(keyOf(node));
    reads.length = 0;
    for (const node of [1, 2, 3]) {
      expect(cache.viewOf(node)).toEqual(keyOf(node));
      expect(cache.peek(node)).toEqual(keyOf(node));
    }
    // Only those of this test.
    expect(reads).toEqual([1, 1, 2, 2, 3, 3]);
    const copied = cache.keyOf(1);
    cache.viewOf(12);
    expect(copied).toEqual(keyOf(1));
  });

  it('peeks at a key without caching it', () => {
    const peeked: number[] = [];
    const { reads, keyOf } = stored(() => 22);
    const long = Buffer.alloc(100);
    const cache = new KeyCache({
      keyOf,
      peekKey(node) {
        peeked.push(node);
        // As LMDB does: a buffer of which only the first bytes are the key.
        keyOf(node).copy(long);
        return Object.defineProperty(long, 'length', { value: 22, configurable: true });
      },
    });
    for (let round = 0; round < 2; round++) expect(cache.peek(5)).toEqual(keyOf(5));
    expect(peeked).toEqual([5, 5]);
    reads.length = 0;
    cache.keyOf(5);
    expect(cache.peek(5)).toHaveLength(22);
    expect(reads).toEqual([5]);
    expect(peeked).toEqual([5, 5]);
  });

  it('keeps the text of a node until another node takes its slot', () => {
    const { cache } = stored(() => 22);
    expect(cache.get(7)).toBeUndefined();
    cache.set(7, 'seven');
    cache.set(8, 'eight');
    expect([cache.get(7), cache.get(8), cache.get(0), cache.get(9)]).toEqual([
      'seven',
      'eight',
      undefined,
      undefined,
    ]);
    cache.set(7 + 2 ** 17, 'another');
    expect([cache.get(7), cache.get(7 + 2 ** 17)]).toEqual([undefined, 'another']);
  });

  it('reads a key longer than a slot each time, and passes on the error of a node without one', () => {
    const { cache, reads } = stored((node) => (node === 1 ? 33 : 32));
    for (let round = 0; round < 2; round++) {
      expect(cache.keyOf(1)).toHaveLength(33);
      expect(cache.keyOf(2)).toHaveLength(32);
    }
    expect(reads).toEqual([1, 2, 1]);
    const failing = new KeyCache({
      keyOf: () => {
        throw new Error('lost');
      },
    });
    expect(() => failing.keyOf(0)).toThrow('lost');
    expect(() => failing.keyOf(0)).toThrow('lost');
  });
});
