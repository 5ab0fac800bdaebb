import { describe, expect, it } from 'vitest';
import { formatAddressKey, parseAddress } from '../../../src/chains/address/parse.ts';
import { type ClusterFound, createClusterForest } from '../../../src/graph/cluster/forest.ts';
import { bech32Address } from './addresses.ts';
import { pays, transaction } from './transactions.ts';

const a = bech32Address;
const members = (cluster: ClusterFound): string[] =>
  [...cluster.members()].map((key) => formatAddressKey(key, 'BTC')).sort();
const forest = (completeHistory = false) => createClusterForest({ chain: 'BTC', completeHistory });

describe('clusters', () => {
  it('join the inputs of a transaction, and others through shared inputs', () => {
    const found = forest();
    found.add(transaction({ inputs: [pays(a(1), 5_000), pays(a(2), 6_000)], outputs: [pays(a(9), 10_000)] }));
    found.add(transaction({ inputs: [pays(a(2), 5_000), pays(a(3), 6_000)], outputs: [pays(a(8), 10_000)] }));
    found.add(transaction({ inputs: [pays(a(4), 5_000), pays(a(5), 6_000)], outputs: [pays(a(7), 10_000)] }));
    const clusters = [...found.clusters()];
    expect(clusters.map(members)).toEqual([[a(1), a(2), a(3)].sort(), [a(4), a(5)].sort()]);
    expect(clusters[0]).toMatchObject({ size: 3, heuristics: ['multi-input'], confidence: 0.9 });
  });

  it('are named by their smallest key, in any reading order', () => {
    const transactions = [
      transaction({ inputs: [pays(a(1), 5_000), pays(a(2), 6_000)], outputs: [pays(a(9), 10_000)] }),
      transaction({ inputs: [pays(a(2), 5_000), pays(a(3), 6_000)], outputs: [pays(a(8), 10_000)] }),
    ];
    const smallest = [a(1), a(2), a(3)].map((text) => parseAddress('BTC', text).key).sort(Buffer.compare)[0];
    for (const order of [transactions, [...transactions].reverse()]) {
      const found = forest();
      for (const tx of order) found.add(tx);
      expect([...found.clusters()].map(({ id }) => Buffer.from(id))).toEqual([Buffer.from(smallest!)]);
    }
  });

  it('do not join the inputs of a CoinJoin that only has the general form', () => {
    const found = forest();
    const amount = 23_456_789;
    const participants = [1, 2, 3];
    found.add(
      transaction({
        inputs: participants.map((at) => pays(a(at), amount + at * 3_000_000 + 1_000)),
        outputs: [
          ...participants.map((at) => pays(a(10 + at), amount)),
          ...participants.map((at) => pays(a(20 + at), at * 3_000_000)),
        ],
        blockNumber: 300_000,
      }),
    );
    expect(found.counts.coinJoins).toEqual({ GENERAL: 1 });
    expect([...found.clusters()]).toEqual([]);
  });

  it('leave CoinJoins out', () => {
    const found = forest();
    const round = transaction({
      inputs: [1, 2, 3, 4, 5].map((at) => pays(a(at), at < 3 ? 5_000_000 : 5_020_000)),
      outputs: [11, 12, 13, 14, 15].map((at) => pays(a(at), 5_000_000)),
    });
    found.add(round);
    expect([...found.clusters()]).toEqual([]);
    expect(found.counts).toMatchObject({
      transactions: 1,
      addresses: 10,
      coinJoins: { WHIRLPOOL: 1 },
      changeMerged: 0,
    });
  });

  it('include change if heuristics agree, and exclude a single guess', () => {
    const found = forest();
    const p2sh = '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy';
    const sure = transaction({
      inputs: [pays(a(1), 9_111_111)],
      outputs: [pays(p2sh, 5_000_000), pays(a(2), 4_101_001)],
    });
    const guess = transaction({
      inputs: [pays(a(5), 9_111_111)],
      outputs: [pays(p2sh, 5_000_001), pays(a(6), 4_101_001)],
    });
    found.add(sure);
    found.add(guess);
    const [cluster, ...others] = [...found.clusters()];
    expect(others).toEqual([]);
    expect(members(cluster!)).toEqual([a(1), a(2)].sort());
    expect(cluster?.heuristics).toEqual(['script-type', 'round-payment']);
    expect(cluster?.confidence).toBeLessThan(0.9);
    expect(cluster?.confidence).toBeGreaterThan(0.8);
  });

  it('treat an address as new only if the history is complete', () => {
    const transactions = [
      transaction({ inputs: [], outputs: [pays(a(1), 9_111_111), pays(a(2), 1_000)], isCoinbase: true }),
      transaction({
        inputs: [pays(a(1), 9_111_111)],
        outputs: [pays(a(2), 5_000_000), pays(a(3), 4_101_001)],
      }),
    ];
    const sizes = [true, false].map((complete) => {
      const found = forest(complete);
      for (const tx of transactions) found.add(tx);
      return [...found.clusters()].length;
    });
    expect(sizes).toEqual([1, 0]);
  });
});
