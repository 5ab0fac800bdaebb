/** Labels, a UK list and transfers for addresses that are designated through their owner, imported and built as an operator does it. */
import { join } from 'node:path';
import { loadBridges } from '../../src/chains/bridges.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import { openOutputsStore } from '../../src/graph/utxo/outputs-store.ts';
import { freshnessOf } from '../../src/labels/freshness.ts';
import type { SnapshotSet } from '../../src/labels/index/reader.ts';
import { loadCountryLists } from '../../src/risk/geography.ts';
import { loadJurisdictions } from '../../src/risk/jurisdictions.ts';
import type { ScreeningDeps } from '../../src/screening/deps.ts';
import { type World as LabelWorld, makeWorld } from '../labels/world.ts';
import { allFresh, NOW, policy } from './world.ts';

export const UK_REGIME = 'The Russia (Sanctions) (EU Exit) Regulations 2019';
export const DESIGNATED = '2026-05-26';
/** The date of every own label. */
export const LABELLED = '2026-01-01';

export interface Designated {
  readonly id: string;
  readonly name: string;
  readonly freeze?: boolean;
  readonly remarks?: string;
}

export const HTX: Designated = { id: 'RUS3619', name: 'HUOBI GLOBAL S.A.' };
export const EXMO: Designated = { id: 'RUS3602', name: 'EXMO EXCHANGE LIMITED' };
/** Parties without a linked entity, because a list of a single party cannot lose it. */
const OTHERS: readonly Designated[] = ['RUS9001', 'RUS9002', 'RUS9003'].map((id) => ({
  id,
  name: `Other ${id}`,
}));

/** A UK list, one designation per line. */
export const ukLines = (parties: readonly Designated[]): string =>
  [...parties, ...OTHERS]
    .map(({ id, name, freeze = true, remarks = '' }) =>
      JSON.stringify({
        unique_id: id,
        date_designated: DESIGNATED,
        names: { names: [{ name6: name, name_type: 'Primary Name' }] },
        regime_name: UK_REGIME,
        individual_entity_ship: 'Entity',
        sanctions_imposed: freeze ? 'Asset freeze|Trust Services Sanctions' : 'Trust Services Sanctions',
        sanctions_imposed_indicators: { asset_freeze: freeze },
        other_information: remarks,
      }),
    )
    .join('\n');

export interface OwnerWorld {
  readonly labels: LabelWorld;
  importUk(published: string, parties: readonly Designated[]): Promise<void>;
  /** Imports own labels: rows of address, chain, entity, name, category, confidence. */
  importOwn(dataset: string, rows: readonly string[]): Promise<void>;
  /** Builds an index of the imported data, and returns the dependencies of use cases. */
  build(): Promise<ScreeningDeps>;
  close(): Promise<void>;
}

export async function createOwnerWorld(transfers: readonly Transfer[] = []): Promise<OwnerWorld> {
  const labels = makeWorld();
  const store = openTransferStore({ path: join(labels.folder, 'transfers'), readOnly: false });
  await store.ingest([...transfers]);
  const outputs = openOutputsStore({ path: join(labels.folder, 'outputs'), readOnly: false });
  const clock = { now: () => NOW, monotonic: () => NOW };
  let files = 0;
  return {
    labels,
    async importUk(published, parties) {
      const file = labels.file(`uk-${files++}.jsonl`, ukLines(parties));
      await labels.import({ source: 'uk', files: [file], published });
    },
    async importOwn(dataset, rows) {
      const header = 'address,chain,entity,name,category,confidence,first_seen';
      const file = labels.file(
        `${dataset}.csv`,
        [header, ...rows.map((row) => `${row},${LABELLED}`)].join('\n'),
      );
      await labels.import({ source: 'own', files: [file], dataset });
    },
    async build() {
      const snapshots: SnapshotSet = await labels.build();
      return {
        labels: snapshots,
        freshness: () => freshnessOf(allFresh, NOW, 7),
        policy,
        assets: loadAssetFacts(),
        clock,
        transfers: store,
        outputs,
        clusters: { clusterOf: () => null },
        bridges: loadBridges(),
        jurisdictions: loadJurisdictions(),
        countryLists: loadCountryLists(),
      };
    },
    async close() {
      await store.close();
      await outputs.close();
      labels.end();
    },
  };
}
