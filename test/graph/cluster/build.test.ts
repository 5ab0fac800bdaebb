import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatAddressKey } from '../../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import type { ClusterSource } from '../../../src/graph/cluster/scan.ts';
import { bech32Address as a } from './addresses.ts';
import { ClusterWorld, sourceOf } from './numbered.ts';
import { pays, transaction } from './transactions.ts';

/** Small enough that a few addresses fill many buckets, and a few transactions are recorded often. */
const SMALL = { bucketBits: 4, settledBlocks: 2, transactionsPerRecord: 8, sortedMembersMax: 7 } as const;

/** One transaction per block, which joins addresses. */
const blocksOf = (joined: readonly (readonly number[])[]): UtxoTransaction[] =>
  joined.map((numbers, block) =>
    transaction({
      inputs: numbers.map((number) => pays(a(number), 7_000)),
      outputs: [pays(a(500 + block), 9_000)],
      blockNumber: block,
    }),
  );

/** The members of all clusters, by relabelling. */
function expected(joined: readonly (readonly number[])[]): string[] {
  const labels = new Map<number, number>();
  for (const numbers of joined) {
    for (const number of numbers) if (!labels.has(number)) labels.set(number, number);
    const to = labels.get(numbers[0] as number) as number;
    const merged = new Set(numbers.map((number) => labels.get(number)));
    for (const [number, label] of labels) if (merged.has(label)) labels.set(number, to);
  }
  return [...new Set(labels.values())]
    .map((label) => [...labels.keys()].filter((number) => labels.get(number) === label))
    .filter((numbers) => numbers.length > 1)
    .map((numbers) => numbers.map(a).sort().join())
    .sort();
}

const failing = (source: ClusterSource, at: number): ClusterSource => ({
  ...source,
  *blocks(from) {
    for (const block of source.blocks(from)) {
      if (block.height === at) throw new Error('stopped');
      yield block;
    }
  },
});

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.end());

const found = (): string[] =>
  [...world.open().clusters('BTC')]
    .map(({ memberKeys, clusterId }) => {
      const members = [...memberKeys()];
      const [smallest] = members.toSorted(Buffer.compare);
      expect(clusterId).toBe(`BTC:${formatAddressKey(smallest as Uint8Array, 'BTC')}`);
      return members
        .map((key) => formatAddressKey(key, 'BTC'))
        .sort()
        .join();
    })
    .sort();

describe('a build of clusters', () => {
  it('has the sets of relabelling in memory, if it is stopped at any block and continues', async () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(numbers, { minLength: 1, maxLength: 40 }),
        fc.array(fc.nat(39), { maxLength: 3 }),
        async (joined, stops) => {
          await world.end();
          world = new ClusterWorld();
          const source = sourceOf(blocksOf(joined), world.numbering);
          // In rising order: a run that continues does not read the settled blocks below again, and does not stop there.
          for (const stop of stops.filter((height) => height < joined.length).sort((a, b) => a - b))
            await expect(world.build(failing(source, stop), SMALL)).rejects.toThrow('stopped');
          const build = await world.build(source, SMALL);
          expect(build.transactions).toBe(joined.length);
          expect(found()).toEqual(expected(joined));
        },
      ),
      { numRuns: 20 },
    );
  });

  const joined = Array.from({ length: 30 }, (_, at) => [at + 1, at + 2, ((at * 7) % 40) + 100]);

  it('reads only the blocks after the last settled one that was recorded', async () => {
    expect(await world.build(blocksOf(joined.slice(0, 20)), SMALL)).toMatchObject({ continuedAfter: 0 });
    expect(await world.build(blocksOf(joined), SMALL)).toMatchObject({
      continuedAfter: 18,
      transactions: 30,
    });
    expect(found()).toEqual(expected(joined));
    expect(await world.build(blocksOf(joined), { ...SMALL, fresh: true })).toMatchObject({
      continuedAfter: 0,
    });
  });

  it('has no link of a block that was reverted, settled or not', async () => {
    await world.build(blocksOf(joined), SMALL);
    const other = [...joined.slice(0, 29), [300, 301]];
    expect(await world.build(blocksOf(other), SMALL)).toMatchObject({ continuedAfter: 28 });
    expect(found()).toEqual(expected(other));
    const deeper = [...joined.slice(0, 20), ...Array.from({ length: 10 }, (_, at) => [400 + at, 401 + at])];
    const source = sourceOf(
      blocksOf(deeper),
      world.numbering,
      (height) => `${height > 19 ? 'b' : ''}${height}`,
    );
    expect(await world.build(source, SMALL)).toMatchObject({ continuedAfter: 0 });
    expect(found()).toEqual(expected(deeper));
  });

  it('reads all blocks again if earlier ones were added', async () => {
    const all = blocksOf(joined);
    await world.build(
      all.filter(({ blockNumber }) => blockNumber !== 5),
      SMALL,
    );
    expect(await world.build(all, SMALL)).toMatchObject({ continuedAfter: 0 });
    expect(found()).toEqual(expected(joined));
    await world.build(
      all.filter(({ blockNumber }) => blockNumber > 3),
      { ...SMALL, fresh: true },
    );
    expect(await world.build(all, SMALL)).toMatchObject({ continuedAfter: 0 });
  });

  it('reads all blocks again if its own files are damaged or missing', async () => {
    const links = join(world.folder, 'BTC', 'building', 'links');
    const damages: ((name: string) => void)[] = [
      (name) => rmSync(join(links, name)),
      (name) => writeFileSync(join(links, name), readFileSync(join(links, name)).fill(7, 0, 1)),
    ];
    for (const file of ['progress.json', 'seen-', 'links-inner-'])
      for (const damage of damages) {
        await world.build(blocksOf(joined.slice(0, 20)), { ...SMALL, fresh: true });
        damage(readdirSync(links).find((name) => name.startsWith(file)) as string);
        expect(await world.build(blocksOf(joined), SMALL), file).toMatchObject({ transactions: 30 });
        expect(found(), file).toEqual(expected(joined));
      }
  });

  it('leaves nothing temporary, and refuses a second one at the same time', async () => {
    const first = world.build(blocksOf(joined), SMALL);
    await expect(world.build(blocksOf(joined), SMALL)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    const { build } = await first;
    const names = readdirSync(join(world.folder, 'BTC')).filter((name) => !name.startsWith(build));
    expect(names.sort()).toEqual(['building', 'current.json']);
    expect(readdirSync(join(world.folder, 'BTC', 'building'))).toEqual(['links']);
  });
});
