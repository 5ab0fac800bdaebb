import { beforeAll, expect, it } from 'vitest';
import { formatAddressKey } from '../../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';
import { recogniseChange } from '../../../src/graph/cluster/change.ts';
import { resolvedInputsReader } from '../../../src/graph/ingest/resolved-inputs.ts';
import { readRows } from '../../../src/graph/ingest/rows.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { ClusterWorld } from './numbered.ts';

describeWithSharedData('Bitcoin block 300025', () => {
  const transactions: UtxoTransaction[] = [];
  beforeAll(async () => {
    const reader = resolvedInputsReader('BTC');
    const take = ({ transaction }: { transaction: UtxoTransaction }) => transactions.push(transaction);
    for await (const row of readRows(sharedData('transactions/bitcoin/block300025_inputs_outputs.csv')))
      if (row.ok) reader.read(row.fields, take);
    reader.end(take);
  });

  it('match clusters found by walking from input to input', async () => {
    const partners = new Map<string, Set<string>>();
    for (const tx of transactions) {
      const payers = tx.inputs.flatMap(({ address }) => (address === null ? [] : [address]));
      for (const payer of payers) {
        const known = partners.get(payer) ?? new Set<string>();
        for (const other of payers) known.add(other);
        partners.set(payer, known);
      }
    }
    // This block of 2014 has none of the protocols that are detected by structure.
    const world = new ClusterWorld();
    const build = await world.build(transactions, { changeConfidenceMin: 2 });
    expect(build).toMatchObject({ transactions: 461, addresses: 1668, coinJoins: {}, changeMerged: 0 });

    const expected: string[] = [];
    const seen = new Set<string>();
    for (const start of partners.keys()) {
      if (seen.has(start)) continue;
      const members = new Set([start]);
      for (const member of members) for (const other of partners.get(member) ?? []) members.add(other);
      for (const member of members) seen.add(member);
      if (members.size > 1) expected.push([...members].sort().join());
    }
    const found = [...world.open().clusters('BTC')].map(({ memberKeys }) =>
      [...memberKeys()]
        .map((key) => formatAddressKey(key, 'BTC'))
        .sort()
        .join(),
    );
    expect(found.sort()).toEqual(expected.sort());
    expect(found.length).toBe(138);
    await world.end();
  });

  it('has change that is an output of its transaction, in more than half of the transactions', () => {
    let recognised = 0;
    for (const tx of transactions) {
      const change = recogniseChange(tx);
      if (!change) continue;
      recognised++;
      const output = tx.outputs.find(({ n }) => n === change.n);
      expect(output?.address).not.toBeNull();
      const isReused = tx.inputs.some(({ address }) => address === output?.address);
      expect(change.heuristic === 'address-reuse').toBe(isReused);
    }
    expect(recognised).toBeGreaterThan(transactions.length / 2);
  });
});
