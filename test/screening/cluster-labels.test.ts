import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../src/chains/utxo-transaction.ts';
import type { SnapshotSet } from '../../src/labels/index/reader.ts';
import type { Label } from '../../src/labels/label.ts';
import { importClusterLabels, type SpreadReport } from '../../src/screening/cluster-labels.ts';
import { sanctionsDetail } from '../../src/screening/sanctions-detail.ts';
import { bech32Address as a } from '../graph/cluster/addresses.ts';
import { ClusterWorld } from '../graph/cluster/numbered.ts';
import { pays, transaction } from '../graph/cluster/transactions.ts';
import { makeWorld, type World } from '../labels/world.ts';

let world: World;
let clusterWorld: ClusterWorld;

beforeEach(() => {
  world = makeWorld();
  clusterWorld = new ClusterWorld();
});
afterEach(async () => {
  await clusterWorld.end();
  world.end();
});

const joins = (...numbers: number[]): UtxoTransaction =>
  transaction({
    inputs: numbers.map((number) => pays(a(number), 70_000)),
    outputs: [pays(a(9_000 + (numbers[0] ?? 0)), 60_000)],
  });

const own = (...rows: string[]): Promise<unknown> =>
  world.import({
    source: 'own',
    files: [world.file('own.csv', ['address,chain,entity,category,confidence', ...rows].join('\n'))],
  });

/** Clusters the transactions, spreads the labels of the store, and publishes the result. */
async function spread(
  transactions: readonly UtxoTransaction[],
  superClusterSize?: number,
): Promise<{ report: SpreadReport; snapshots: SnapshotSet }> {
  await clusterWorld.build(transactions);
  const clusters = clusterWorld.open(superClusterSize);
  const { current } = await world.build();
  const report = await importClusterLabels(
    { chain: 'BTC' },
    { clusters, labels: current, importing: world.deps },
  );
  return { report, snapshots: await world.build() };
}

const of = (snapshots: SnapshotSet, number: number): readonly Label[] =>
  world.lookup(snapshots, 'BTC', a(number));
const isSanctioned = (snapshots: SnapshotSet, number: number): boolean => {
  const { key } = parseAddress('BTC', a(number));
  return snapshots.current.isSanctioned(snapshots.current.find(key, 0, key.length), 'BTC');
};

describe('labels of clusters', () => {
  it('apply to every member, from transactions to the answer, with less confidence than their source', async () => {
    await own(`${a(1)},BTC,Kraken,EXCHANGE,0.9`);
    const { report, snapshots } = await spread([joins(1, 2), joins(2, 3), joins(7, 8)]);
    expect(report).toMatchObject({ chain: 'BTC', labels: 2, labelled: 1, spread: 1, conflicts: 0 });
    for (const number of [2, 3]) {
      const [label, ...others] = of(snapshots, number);
      expect(others).toEqual([]);
      expect(label).toMatchObject({
        source: 'cluster',
        category: 'EXCHANGE',
        confidence: 0.81,
        sanctions: [],
      });
      expect(label?.entity.name).toBe('Kraken');
      expect(label?.tags).toContain('multi-input');
    }
    expect(of(snapshots, 1).map(({ source }) => source)).toEqual(['own']);
    expect(of(snapshots, 7)).toEqual([]);
  });

  it('never make a sanction: other members of a listed cluster are not sanctioned, and name the reason for review', async () => {
    await world.import({ source: 'ofac', files: [world.file('sdn.xml', SDN)] });
    const { report, snapshots } = await spread([joins(1, 2)]);
    expect(isSanctioned(snapshots, 1)).toBe(true);
    expect(report.labels).toBe(1);
    const [label] = of(snapshots, 2);
    expect(label).toMatchObject({
      source: 'cluster',
      category: 'ILLICIT_ACTOR',
      threatLevel: 'HIGH',
      confidence: 0.9,
    });
    expect(label?.sanctions).toMatchObject([{ list: 'OFAC_SDN', matchType: 'CLUSTER', delistedAt: null }]);
    expect(isSanctioned(snapshots, 2)).toBe(false);
    const detail = sanctionsDetail(of(snapshots, 2), null);
    expect(detail).toMatchObject({ isSanctioned: false, agreementCount: 0 });
    expect(detail.lists).toHaveLength(1);
  });

  it('are not spread if two services share a cluster, and the conflict is reported', async () => {
    await own(`${a(1)},BTC,Kraken,EXCHANGE,0.9`, `${a(3)},BTC,Bitfinex,EXCHANGE,0.9`);
    const { report, snapshots } = await spread([joins(1, 2), joins(2, 3)]);
    expect(report).toMatchObject({ labels: 0, labelled: 1, spread: 0, conflicts: 1 });
    expect(report.conflictsListed[0]).toMatchObject({ size: 3, entities: ['Bitfinex', 'Kraken'] });
    expect(of(snapshots, 2)).toEqual([]);
  });

  it('are not spread in a cluster that is too large for one owner', async () => {
    await own(`${a(1)},BTC,Kraken,EXCHANGE,0.9`);
    const { report, snapshots } = await spread([joins(1, 2, 3)], 2);
    expect(report).toMatchObject({ labels: 0, labelled: 0, superClusters: 1 });
    expect(of(snapshots, 2)).toEqual([]);
  });

  it('do not follow from labels of low confidence or from other cluster labels', async () => {
    await own(`${a(1)},BTC,Kraken,EXCHANGE,0.2`);
    expect((await spread([joins(1, 2)])).report.labels).toBe(0);
    await own(`${a(1)},BTC,Kraken,EXCHANGE,0.5`);
    expect((await spread([joins(1, 2)])).report.labels).toBe(1);
    // 1 and 2 are no longer one cluster: the derived label of 2 does not spread to 3.
    const { report, snapshots } = await spread([joins(2, 3)]);
    expect(report.labels).toBe(0);
    expect(of(snapshots, 2)).toEqual([]);
    expect(of(snapshots, 3)).toEqual([]);
  });

  it('are unchanged if nothing changed, and then no snapshot is built', async () => {
    await own(`${a(1)},BTC,Kraken,EXCHANGE,0.9`);
    const first = await spread([joins(1, 2)]);
    expect(first.report.dataset.status).toBe('imported');
    const again = await spread([joins(1, 2)]);
    expect(again.report.dataset.status).toBe('unchanged');
    expect(again.snapshots.current.meta.dataVersion).toBe(first.snapshots.current.meta.dataVersion);
  });
});

const SDN = `<?xml version="1.0" standalone="yes"?>
<sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>11/20/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation>
  <sdnEntry>
    <uid>4711</uid><lastName>TEST PARTY</lastName><sdnType>Entity</sdnType>
    <programList><program>CYBER2</program></programList>
    <idList><id><uid>1</uid><idType>Digital Currency Address - XBT</idType><idNumber>${a(1)}</idNumber></id></idList>
  </sdnEntry>
</sdnList>`;
