import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import { CLUSTER_LIMITS } from '../../../src/graph/cluster/limits.ts';
import { openClusters } from '../../../src/graph/cluster/store.ts';
import { bech32Address as a } from './addresses.ts';
import { ClusterWorld, Numbering, sourceOf } from './numbered.ts';
import { pays, transaction } from './transactions.ts';

const keyOf = (text: string) => parseAddress('BTC', text).key;
const joins = (...numbers: number[]): UtxoTransaction =>
  transaction({ inputs: numbers.map((number) => pays(a(number), 7_000)), outputs: [pays(a(9_000), 9_000)] });

describe('clusters on disk', () => {
  let world: ClusterWorld;
  beforeEach(() => {
    world = new ClusterWorld();
  });
  afterEach(() => world.end());

  it('return size, heuristics, confidence and the first members by member', async () => {
    const report = await world.build([joins(1, 2), joins(2, 3), joins(4, 5)]);
    expect(report).toMatchObject({
      clusters: 2,
      clustered: 5,
      largest: 3,
      superClusters: 0,
      transactions: 3,
      lastBlock: 800_000,
    });
    const reader = world.open();
    const found = reader.clusterOf(keyOf(a(3)));
    expect(found).toMatchObject({ size: 3, heuristics: ['multi-input'], confidence: 0.9, isSuper: false });
    expect(found?.members(2)).toEqual([a(1), a(2)]);
    expect(found?.members(0)).toEqual([]);
    expect(found?.members(20)).toHaveLength(3);
    expect(found?.clusterId).toBe(reader.clusterOf(keyOf(a(1)))?.clusterId);
    expect(reader.clusterOf(keyOf(a(4)))?.clusterId).not.toBe(found?.clusterId);
    expect(reader.clusterOf(keyOf(a(9_000)))).toBeNull();
    expect(
      reader.clusterOf(parseAddress('ETH', '0x00000000219ab540356cbb839cbe05303d7705fa').key),
    ).toBeNull();
  });

  it('contain more members than fit into one part', async () => {
    await world.build([joins(...Array.from({ length: 1_000 }, (_, at) => at + 1))]);
    const reader = world.open();
    const found = reader.clusterOf(keyOf(a(777)));
    expect(found?.size).toBe(1_000);
    expect(new Set(found?.members(5_000))).toEqual(
      new Set(Array.from({ length: 1_000 }, (_, at) => a(at + 1))),
    );
  });

  it('are marked with low confidence if they are too large for one owner', async () => {
    await world.build([joins(1, 2, 3, 4), joins(7, 8)]);
    const reader = world.open(3);
    expect(reader.clusterOf(keyOf(a(2)))).toMatchObject({ size: 4, isSuper: true, confidence: 0.2 });
    expect(reader.clusterOf(keyOf(a(7)))).toMatchObject({ isSuper: false, confidence: 0.9 });
  });

  it('are counted as super-clusters above the size limit, and not at it', async () => {
    const limits = CLUSTER_LIMITS as { superClusterSize: number };
    const { superClusterSize } = limits;
    limits.superClusterSize = 3;
    try {
      const report = await world.build([joins(1, 2, 3), joins(4, 5, 6, 7), joins(8, 9)]);
      expect(report).toMatchObject({ clusters: 3, largest: 4, superClusters: 1 });
      const reader = world.open();
      const isSuper = (member: number) => reader.clusterOf(keyOf(a(member)))?.isSuper;
      expect([1, 4, 8].map(isSuper)).toEqual([false, true, false]);
    } finally {
      limits.superClusterSize = superClusterSize;
    }
  });

  it('are listed if they have a member that is wanted', async () => {
    await world.build([joins(1, 2, 3), joins(4, 5), joins(6, 7)]);
    const asked: number[] = [];
    const wanted = [2, 3, 6].map((number) => keyOf(a(number)));
    const found = world.open().clusters('BTC', (key) => {
      asked.push(asked.length);
      return wanted.some((one) => Buffer.compare(one, key) === 0);
    });
    expect([...found].map(({ members }) => members(1)[0])).toEqual([a(1), a(6)]);
    // Not asked of the last members of a cluster that is wanted already, nor of an address without a cluster.
    expect(asked).toHaveLength(5);
  });

  it('are replaced as a whole, which a reader sees at its next check', async () => {
    await world.build([joins(1, 2)]);
    const reader = world.open();
    await world.build([joins(1, 2), joins(2, 3)]);
    expect(reader.clusterOf(keyOf(a(1)))?.size).toBe(2);
    expect(reader.refresh()).toBe(true);
    expect(reader.clusterOf(keyOf(a(1)))?.size).toBe(3);
    expect(reader.refresh()).toBe(false);
    await world.build([joins(1, 2)]);
    expect(readdirSync(join(world.folder, 'BTC')).filter((name) => name.endsWith('.lmdb'))).toHaveLength(2);
  });

  it('have the same ids in every build', async () => {
    const ids = async (transactions: UtxoTransaction[]) => {
      await world.build(transactions);
      const reader = world.open();
      const found = [...reader.clusters('BTC')].map(({ clusterId }) => clusterId);
      return found.sort();
    };
    const transactions = [joins(5, 6), joins(1, 2, 9), joins(9, 3)];
    expect(await ids(transactions)).toEqual(await ids([...transactions].reverse()));
  });

  it('are unchanged if a build is aborted or fails', async () => {
    await world.build([joins(1, 2)]);
    const before = readdirSync(join(world.folder, 'BTC')).sort();
    const source = sourceOf([joins(3, 4)], world.numbering);
    const broken = {
      ...source,
      *blocks(from: number) {
        yield* source.blocks(from);
        throw new Error('the file ends here');
      },
    };
    await expect(world.build(broken)).rejects.toThrow('the file ends here');
    await expect(world.build([joins(3, 4)], { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(readdirSync(join(world.folder, 'BTC')).sort()).toEqual(before);
    const reader = world.open();
    expect(reader.clusterOf(keyOf(a(3)))).toBeNull();
    expect(reader.clusterOf(keyOf(a(1)))?.size).toBe(2);
  });

  it('are empty if none were built, and report a read error', async () => {
    const reader = world.open();
    expect(reader.clusterOf(keyOf(a(1)))).toBeNull();
    expect(reader.build('BTC')).toBeNull();
    expect([...reader.clusters('BTC')]).toEqual([]);
    expect(existsSync(join(world.folder, 'BTC'))).toBe(false);
    await world.build([joins(1, 2)]);
    writeFileSync(join(world.folder, 'BTC', 'current.json'), '{"format":');
    expect(() => world.open()).toThrow(/current\.json cannot be read\. Run 'assay cluster BTC' again\./);
    await world.build([joins(1, 2)]);
    const again = world.open();
    expect(again.clusterOf(keyOf(a(1)))?.size).toBe(2);
  });

  it('of another version of the program are not used, and are reported once', async () => {
    await world.build([joins(1, 2)]);
    writeFileSync(join(world.folder, 'BTC', 'current.json'), '{"format":1}');
    const reports: string[] = [];
    const reader = openClusters(
      { folder: world.folder },
      {
        addresses: world.numbering,
        onOtherFormat: (chain, { message }) => reports.push(`${chain} ${message}`),
      },
    );
    try {
      reader.refresh();
      expect(reader.build('BTC')).toBeNull();
      expect(reader.clusterOf(keyOf(a(1)))).toBeNull();
      expect(reports).toEqual([
        expect.stringMatching(/^BTC .*has format version 1; .* Run 'assay cluster BTC' again\.$/),
      ]);
      await world.build([joins(1, 2)]);
      expect(reader.refresh()).toBe(true);
      expect(reader.clusterOf(keyOf(a(1)))?.size).toBe(2);
    } finally {
      await reader.close();
    }
  });

  it('are not used if the addresses have other numbers since', async () => {
    await world.build([joins(1, 2), joins(2, 3)]);
    expect(world.open().build('BTC')).not.toBeNull();
    // An outputs store that was ingested again, in another order.
    world.numbering.numberOf(a(1));
    const other = new Numbering();
    const transactions = [joins(8, 9), joins(1, 2), joins(2, 3)];
    for (const _ of sourceOf(transactions, other).blocks(0));
    Object.assign(world, { numbering: other });
    const reader = world.open();
    expect(reader.build('BTC')).toBeNull();
    expect(reader.clusterOf(keyOf(a(1)))).toBeNull();
    expect([...reader.clusters('BTC')]).toEqual([]);
    expect(await world.build(transactions)).toMatchObject({ clusters: 2, continuedAfter: 0 });
    expect(reader.refresh()).toBe(true);
    expect(reader.clusterOf(keyOf(a(1)))?.size).toBe(3);
  });
});
