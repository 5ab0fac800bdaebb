/** A chain with transfers and labels in a folder of its own, for tests and benchmarks of derived labels. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAnchors } from '../../src/attribution/deposit/anchors.ts';
import { sweepDeposits } from '../../src/attribution/deposit/sweep.ts';
import {
  type AttributionStore,
  attributionFolderOf,
  openAttributionStore,
} from '../../src/attribution/store.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { buildSnapshot } from '../../src/labels/index/build.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import { createSegmentWriter } from '../../src/labels/index/segment.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import type { LabelTemplate } from '../../src/labels/label.ts';
import { primaryOrder } from '../../src/labels/primary.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';

export interface PlacedLabel {
  readonly address: string;
  readonly entity: string;
  readonly category?: LabelTemplate['category'];
  readonly source?: string;
  readonly confidence?: number;
  readonly threatLevel?: LabelTemplate['threatLevel'];
}

/** Labels of the wallets of simulated exchanges, and of the deposit addresses that a publisher lists. */
export const labelsOfExchanges = (exchanges: readonly SimulatedExchange[]): PlacedLabel[] =>
  exchanges.flatMap(({ id, wallets, listedDeposit }) =>
    [...wallets, listedDeposit].map((address) => ({ address, entity: id })),
  );

export const templateOf = ({
  entity,
  category = 'EXCHANGE',
  source = 'graphsense',
  confidence = 0.9,
  threatLevel = 'SAFE',
}: PlacedLabel): LabelTemplate => ({
  entity: { id: entity, name: entity, category, jurisdiction: null, url: null },
  scope: 'EVM',
  category,
  threatLevel,
  source,
  sourceUrl: 'https://example.org/wallets',
  tags: [],
  confidence,
  sanctions: [],
  verified: true,
  synthetic: false,
});

export interface AttributionWorld {
  readonly folder: string;
  readonly transfers: TransferStore;
  readonly labels: LabelReader;
  readonly store: AttributionStore;
  sweep(options?: { readonly signal?: AbortSignal; readonly onProgress?: () => void }): Promise<void>;
  close(): Promise<void>;
}

export async function createAttributionWorld(
  placed: readonly PlacedLabel[],
  chain: ChainId = 'ETH',
  parent: string = tmpdir(),
): Promise<AttributionWorld> {
  const folder = mkdtempSync(join(parent, 'assay-attribution-'));
  const path = join(folder, 'segment');
  const writer = createSegmentWriter(path);
  for (const label of placed) {
    const { key } = parseAddress(chain, label.address);
    writer.add(key, 0, key.length, writer.template(templateOf(label)), 0, 0);
  }
  await writer.close();
  const clock = systemClock;
  const log = silentLogger;
  await buildSnapshot(
    {
      folder: join(folder, 'snapshots'),
      segments: [
        {
          path,
          source: {
            ...{
              id: 'graphsense',
              dataset: 'world',
              publishedAt: '2026-01-01',
              importedAt: '2026-01-01T00:00:00Z',
            },
            ...{ url: null, lists: [] },
          },
        },
      ],
      compareLabels: primaryOrder(loadSourceTable()),
    },
    { clock, log },
  );
  const snapshots = openSnapshotSet(join(folder, 'snapshots'), { log });
  const transfers = openTransferStore({ path: join(folder, 'transfers'), readOnly: false });
  const store = openAttributionStore(attributionFolderOf(folder), chain, false);
  if (store === null) throw new Error('The store was not created.');
  return {
    folder,
    transfers,
    labels: snapshots.current,
    store,
    async sweep(options = {}) {
      const graph = transfers.graph(chain);
      if (graph === null) throw new Error('No transfer is stored.');
      const anchors = readAnchors(chain, graph, snapshots.current);
      await sweepDeposits(
        { chain, folder: join(folder, 'sweep'), ...options },
        { transfers, anchors, store, clock },
      );
    },
    async close() {
      snapshots.close();
      await store.close();
      await transfers.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
