import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findComponents, LinkLog, mergeAttributes } from '../../../src/graph/cluster/components.ts';
import { Spill } from '../../../src/graph/cluster/spill.ts';

type Link = readonly [a: number, b: number, attribute: number];

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-components-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** By relabelling every member: the sets of at least two, in the order of their smallest address. */
function expected(links: readonly Link[], count: number) {
  const labels = Array.from({ length: count }, (_, id) => id);
  for (const [a, b] of links) {
    const [from, to] = [labels[a], labels[b]];
    for (const [id, label] of labels.entries()) if (label === from) labels[id] = to as number;
  }
  const sets: [size: number, attribute: number][] = [];
  const numbers = new Map<number, number>();
  const addresses = labels.map((label) => {
    const size = labels.filter((other) => other === label).length;
    if (size < 2) return 0;
    const known = numbers.get(label);
    if (known !== undefined) return known;
    const attribute = links
      .filter(([a]) => labels[a] === label)
      .reduce((merged, link) => mergeAttributes(merged, link[2]), 0);
    sets.push([size, attribute]);
    numbers.set(label, sets.length);
    return sets.length;
  });
  return { sets, addresses };
}

async function found(links: readonly Link[], count: number, bucketBits: number) {
  const log = new LinkLog(join(folder, 'links'), 'links', bucketBits);
  for (const link of links) log.add(...link);
  const sets: [size: number, attribute: number][] = [];
  const addresses: number[] = [];
  const scratch = join(folder, 'scratch');
  await findComponents(
    { links: log, folder: scratch, count, onBucket: () => Promise.resolve() },
    {
      set: (size, attribute) => sets.push([size, attribute]),
      addresses: (first, numbers) => {
        expect(first).toBe(addresses.length);
        addresses.push(...numbers);
      },
    },
  );
  return { sets, addresses, left: readdirSync(scratch) };
}

describe('sets of linked addresses', () => {
  it('are those of relabelling in memory, for any size of a bucket', async () => {
    const attribute = fc.tuple(fc.nat(63), fc.nat(1000)).map(([marks, doubt]) => marks | (doubt << 8));
    const link = fc.tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 90 }), attribute);
    await fc.assert(
      fc.asyncProperty(
        fc.array(link, { maxLength: 90 }),
        fc.integer({ min: 2, max: 7 }),
        async (links, bits) => {
          const linked = links.filter(([a, b]) => a !== b);
          const { left, ...result } = await found(linked, 91, bits);
          expect(result).toEqual(expected(linked, 91));
          expect(left).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('follow a chain of links through all buckets', async () => {
    const links = Array.from({ length: 62 }, (_, at): Link => [at + 2, at + 1, at === 40 ? 5 : 1]);
    const { sets, addresses } = await found(links, 64, 2);
    expect(sets).toEqual([[63, 5]]);
    expect(addresses).toEqual([0, ...Array.from({ length: 63 }, () => 1)]);
  });
});

describe('spilled records', () => {
  it('are read back in order, from more than one buffer', () => {
    const spill = new Spill(folder, 'rows', 2);
    for (let at = 0; at < 20_000; at++) spill.add(at % 2, at, at * 2);
    const rows = [...spill.read(1)].flatMap((chunk) => [...chunk]);
    expect(rows.length).toBe(20_000);
    expect(rows.slice(-2)).toEqual([19_999, 39_998]);
  });

  it('continue at a recorded end, and without later records', () => {
    const first = new Spill(folder, 'rows', 2);
    first.add(3, 1, 2);
    const ends = first.sync();
    first.add(3, 3, 4);
    first.add(9, 3, 4);
    first.sync();
    const again = new Spill(folder, 'rows', 2, ends);
    again.add(3, 5, 6);
    expect([...again.read(3)].map((chunk) => [...chunk])).toEqual([[1, 2, 5, 6]]);
    expect(readdirSync(folder)).toEqual(['rows-3']);
  });

  it('are rejected if their file was changed or is shorter', () => {
    const spill = new Spill(folder, 'rows', 2);
    spill.add(0, 1, 2);
    const ends = spill.sync();
    writeFileSync(join(folder, 'rows-0'), Buffer.alloc(8));
    expect(() => [...spill.read(0)]).toThrow('checksum');
    writeFileSync(join(folder, 'rows-0'), Buffer.alloc(4));
    expect(() => new Spill(folder, 'rows', 2, ends)).toThrow('shorter');
  });
});
