import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatAddressKey, parseAddress } from '../../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import type { Cluster } from '../../../src/graph/cluster/store.ts';
import { bech32Address } from './addresses.ts';
import { ClusterWorld } from './numbered.ts';
import { pays, transaction } from './transactions.ts';

const a = bech32Address;
const members = (cluster: Cluster): string[] =>
  [...cluster.memberKeys()].map((key) => formatAddressKey(key, 'BTC')).sort();

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.end());

/** The clusters of the transactions, and the counts of their build. */
async function clustersOf(transactions: readonly UtxoTransaction[], completeHistory = false) {
  const counts = await world.build(transactions, { completeHistory, fresh: true });
  return { counts, clusters: [...world.open().clusters('BTC')] };
}

describe('clusters', () => {
  it('join the inputs of a transaction, and others through shared inputs', async () => {
    const { clusters } = await clustersOf([
      transaction({ inputs: [pays(a(1), 5_000), pays(a(2), 6_000)], outputs: [pays(a(9), 10_000)] }),
      transaction({ inputs: [pays(a(2), 5_000), pays(a(3), 6_000)], outputs: [pays(a(8), 10_000)] }),
      transaction({ inputs: [pays(a(4), 5_000), pays(a(5), 6_000)], outputs: [pays(a(7), 10_000)] }),
    ]);
    expect(clusters.map(members)).toEqual([[a(1), a(2), a(3)].sort(), [a(4), a(5)].sort()]);
    expect(clusters[0]).toMatchObject({ size: 3, heuristics: ['multi-input'], confidence: 0.9 });
  });

  it('are named by their smallest key, in any reading order', async () => {
    const transactions = [
      transaction({ inputs: [pays(a(1), 5_000), pays(a(2), 6_000)], outputs: [pays(a(9), 10_000)] }),
      transaction({ inputs: [pays(a(2), 5_000), pays(a(3), 6_000)], outputs: [pays(a(8), 10_000)] }),
    ];
    const [smallest] = [a(1), a(2), a(3)].map((text) => parseAddress('BTC', text).key).sort(Buffer.compare);
    for (const order of [transactions, [...transactions].reverse()]) {
      await world.end();
      world = new ClusterWorld();
      const { clusters } = await clustersOf(order);
      expect(clusters.map(({ clusterId }) => clusterId)).toEqual([
        `BTC:${formatAddressKey(smallest!, 'BTC')}`,
      ]);
    }
  });

  it('do not join the inputs of a CoinJoin that only has the general form', async () => {
    const amount = 23_456_789;
    const participants = [1, 2, 3];
    const joined = transaction({
      inputs: participants.map((at) => pays(a(at), amount + at * 3_000_000 + 1_000)),
      outputs: [
        ...participants.map((at) => pays(a(10 + at), amount)),
        ...participants.map((at) => pays(a(20 + at), at * 3_000_000)),
      ],
      blockNumber: 300_000,
    });
    const { counts, clusters } = await clustersOf([joined]);
    expect(counts.coinJoins).toEqual({ GENERAL: 1 });
    expect(clusters).toEqual([]);
  });

  it('leave CoinJoins out', async () => {
    const round = transaction({
      inputs: [1, 2, 3, 4, 5].map((at) => pays(a(at), at < 3 ? 5_000_000 : 5_020_000)),
      outputs: [11, 12, 13, 14, 15].map((at) => pays(a(at), 5_000_000)),
    });
    const { counts, clusters } = await clustersOf([round]);
    expect(clusters).toEqual([]);
    expect(counts).toMatchObject({
      transactions: 1,
      addresses: 10,
      coinJoins: { WHIRLPOOL: 1 },
      changeMerged: 0,
    });
  });

  it('include change if heuristics agree, and exclude a single guess', async () => {
    const p2sh = '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy';
    const sure = transaction({
      inputs: [pays(a(1), 9_111_111)],
      outputs: [pays(p2sh, 5_000_000), pays(a(2), 4_101_001)],
    });
    const guess = transaction({
      inputs: [pays(a(5), 9_111_111)],
      outputs: [pays(p2sh, 5_000_001), pays(a(6), 4_101_001)],
    });
    const [cluster, ...others] = (await clustersOf([sure, guess])).clusters;
    expect(others).toEqual([]);
    expect(members(cluster!)).toEqual([a(1), a(2)].sort());
    expect(cluster?.heuristics).toEqual(['script-type', 'round-payment']);
    expect(cluster?.confidence).toBeLessThan(0.9);
    expect(cluster?.confidence).toBeGreaterThan(0.8);
  });

  it('treat an address as new only if the history is complete', async () => {
    const transactions = [
      transaction({ inputs: [], outputs: [pays(a(1), 9_111_111), pays(a(2), 1_000)], isCoinbase: true }),
      transaction({
        inputs: [pays(a(1), 9_111_111)],
        outputs: [pays(a(2), 5_000_000), pays(a(3), 4_101_001)],
      }),
    ];
    expect((await clustersOf(transactions, true)).clusters).toHaveLength(1);
    expect((await clustersOf(transactions, false)).clusters).toHaveLength(0);
  });
});
