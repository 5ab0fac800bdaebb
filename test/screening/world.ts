/** Test data for screenings: a real label snapshot, real transfers, and lists whose freshness the test sets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { loadBridges } from '../../src/chains/bridges.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { type OutputsStore, openOutputsStore } from '../../src/graph/utxo/outputs-store.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { freshnessOf, type ListChecks } from '../../src/labels/freshness.ts';
import { buildSnapshot } from '../../src/labels/index/build.ts';
import { dayFromIso } from '../../src/labels/index/days.ts';
import { createSegmentWriter } from '../../src/labels/index/segment.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import type { LabelTemplate, SanctionsEntry } from '../../src/labels/label.ts';
import { primaryOrder } from '../../src/labels/primary.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import type { Category } from '../../src/labels/taxonomy.ts';
import { loadCountryLists } from '../../src/risk/geography.ts';
import { loadJurisdictions } from '../../src/risk/jurisdictions.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import type { ScreeningDeps } from '../../src/screening/deps.ts';
import type { SanctionsList } from '../../src/sources/index.ts';

export const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const CHECKED = '2026-11-21T06:00:00.000Z';

const taxonomy = loadTaxonomy();
export const policy = loadPolicy(taxonomy.rows);

export const WALLETS = {
  sanctioned: '0x098b716b8aaf21512996dc57eb0615e2383e2f96',
  delisted: '0xd90e2f925da726b50c4ed8d0fb90ad053324f31b',
  exchange: '0x28c6c06298d514db089934071355e5743bf21d60',
  phishing: '0x00000000000000000000000000000000000f1540',
  mixer: '0x00000000000000000000000000000000000a1bee',
  seeded: '0x0000000000000000000000000000000000005eed',
  payer: '0x0000000000000000000000000000000000009a7e',
  victim: '0x000000000000000000000000000000000000beef',
  twice: '0x0000000000000000000000000000000000007717',
  contract: '0x000000000000000000000000000000000000c0de',
  seized: '0x0000000000000000000000000000000000005e12',
  agreed: '0x000000000000000000000000000000000000a62e',
  derived: '0x000000000000000000000000000000000000de21',
  unknown: '0x0000000000000000000000000000000000000123',
} as const;

export const BTC_WALLET = '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa';

const entry = (list: SanctionsList, delistedAt: string | null): SanctionsEntry => ({
  list,
  authority: list === 'EU' ? 'Council of the European Union' : 'OFAC',
  program: list === 'EU' ? null : 'DPRK3',
  entityName: 'LAZARUS GROUP',
  entityId: `${list}-27307`,
  listedAt: '2019-09-13',
  listedAtBasis: 'PARTY',
  delistedAt,
  sourceUrl: 'https://example.org/list',
  matchType: 'DIRECT',
});

export function template(
  name: string,
  category: Category,
  fields: Partial<LabelTemplate> = {},
): LabelTemplate {
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return {
    entity: { id, name, category, jurisdiction: null, url: null },
    scope: 'EVM',
    category,
    threatLevel: taxonomy.of(category).threatLevel,
    source: 'graphsense',
    sourceUrl: null,
    tags: [],
    confidence: 0.9,
    sanctions: [],
    verified: true,
    synthetic: false,
    ...fields,
  };
}

const binance = template('Binance', 'EXCHANGE', { tags: ['hot wallet', 'a "quoted" tag'] });

const LABELS: readonly (readonly [address: string, label: LabelTemplate, chain?: ChainId])[] = [
  [
    WALLETS.sanctioned,
    template('LAZARUS GROUP', 'SANCTIONED_ENTITY', {
      source: 'ofac',
      confidence: 1,
      sanctions: [entry('OFAC_SDN', null), entry('EU', null)],
    }),
  ],
  [
    WALLETS.delisted,
    template('Tornado Cash', 'MIXER', { source: 'ofac', sanctions: [entry('OFAC_SDN', '2025-03-21')] }),
  ],
  [
    WALLETS.exchange,
    { ...binance, entity: { ...binance.entity, jurisdiction: 'MT', url: 'https://binance.com' } },
  ],
  [WALLETS.phishing, template('Fake_Phishing77', 'PHISHING', { source: 'scams', confidence: 0.8 })],
  [WALLETS.mixer, template('Blender', 'MIXER')],
  [WALLETS.seeded, template('Famous Exploiter', 'STOLEN_FUNDS', { source: 'seed', verified: false })],
  [WALLETS.twice, binance],
  [WALLETS.twice, template('Zweite Börse ☂', 'HIGH_RISK_EXCHANGE', { confidence: 0.5 })],
  [WALLETS.contract, template('Some Bridge', 'BRIDGE', { scope: 'ETH' })],
  [WALLETS.seized, template('FBI: seizure', 'SEIZED_FUNDS', { source: 'seed', verified: false })],
  [WALLETS.seized, template('Razy', 'RANSOMWARE', { confidence: 0.75 })],
  [WALLETS.agreed, template('Fake_Phishing78', 'PHISHING', { source: 'scams', confidence: 0.7 })],
  [WALLETS.agreed, template('Phishing site', 'PHISHING', { confidence: 0.6 })],
  [WALLETS.derived, template('Kraken', 'EXCHANGE', { source: 'cluster', confidence: 0.8 })],
  [BTC_WALLET, template('Genesis', 'MINING_POOL', { scope: 'BTC', source: 'pools' }), 'BTC'],
];

const hash = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;

/** Wei of ETH at 2,000 USD. */
const weiOf = (usd: number): bigint => BigInt(Math.round(usd * 1e6)) * 500_000_000n;

/** The amount follows from the value at 2,000 USD per ETH. Without a value, it is one ETH. */
export const sent = (index: number, from: string, to: string, fields: Partial<Transfer> = {}): Transfer => ({
  chain: 'ETH',
  txHash: hash(index),
  position: 'value',
  blockNumber: 100 + index,
  timestampMs: Date.parse('2026-01-01T00:00:00Z') + index * 86_400_000,
  from,
  to,
  asset: 'ETH',
  amount: weiOf(fields.valueUsd ?? 2_000),
  decimals: 18,
  valueUsd: 2_000,
  ...fields,
});

const TRANSFERS: readonly Transfer[] = [
  sent(1, WALLETS.payer, WALLETS.exchange),
  sent(2, WALLETS.payer, WALLETS.unknown, { valueUsd: 6_000 }),
  sent(3, WALLETS.mixer, WALLETS.payer, { valueUsd: 10_000 }),
  sent(4, WALLETS.victim, WALLETS.phishing, { valueUsd: null }),
  sent(5, WALLETS.victim, WALLETS.sanctioned, { valueUsd: 500 }),
  sent(6, WALLETS.phishing, WALLETS.victim, { amount: 0n, valueUsd: null }),
  sent(7, WALLETS.victim, WALLETS.contract, { valueUsd: null }),
  sent(8, WALLETS.victim, WALLETS.victim),
];

const LISTS: readonly SanctionsList[] = ['OFAC_SDN', 'OFAC_CONS', 'EU', 'UN', 'UK', 'CH'];

export const allFresh: ListChecks = Object.fromEntries(
  LISTS.map((list) => [list, { publishedAt: '2026-11-20', checkedAt: CHECKED, records: 10 }]),
);

/** UK last checked a month ago, CH never loaded. */
export const someStale: ListChecks = {
  ...Object.fromEntries(Object.entries(allFresh).filter(([list]) => list !== 'CH')),
  UK: { publishedAt: '2026-10-01', checkedAt: '2026-10-20T06:00:00.000Z', records: 10 },
};

export interface World {
  /** The folder of all state. The transfer store is under `data`, as in a data folder. */
  readonly folder: string;
  readonly deps: ScreeningDeps;
  readonly transfers: TransferStore;
  readonly outputs: OutputsStore;
  readonly clock: { at: number };
  setLists(checks: ListChecks): void;
  close(): Promise<void>;
}

/** Stores `more` transfers in addition to the common ones. */
export async function createWorld(
  more: readonly Transfer[] = [],
  moreLabels: typeof LABELS = [],
): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-screening-'));
  const clock = { at: NOW };
  const testClock: Clock = { now: () => clock.at, monotonic: () => clock.at };

  const path = join(folder, 'segment');
  const writer = createSegmentWriter(path);
  for (const [address, label, chain = 'ETH'] of [...LABELS, ...moreLabels]) {
    const { key } = parseAddress(chain, address);
    writer.add(key, 0, key.length, writer.template(label), dayFromIso('2021-05-01'), dayFromIso(null));
  }
  await writer.close();
  const source = {
    id: 'graphsense',
    dataset: 'test',
    publishedAt: '2026-11-01',
    importedAt: '2026-11-20T00:00:00.000Z',
    url: null,
    lists: [],
  };
  await buildSnapshot(
    {
      segments: [{ path, source }],
      folder: join(folder, 'index'),
      compareLabels: primaryOrder(loadSourceTable()),
    },
    { clock: testClock, log: silentLogger },
  );
  const labels = openSnapshotSet(join(folder, 'index'), { log: silentLogger });
  const transfers = openTransferStore({ path: join(folder, 'data', 'transfers'), readOnly: false });
  await transfers.ingest([...TRANSFERS, ...more]);
  const outputs = openOutputsStore({ path: join(folder, 'outputs'), readOnly: false });

  let checks = allFresh;
  return {
    folder,
    deps: {
      labels,
      freshness: () => freshnessOf(checks, clock.at, 7),
      policy,
      clock: testClock,
      transfers,
      outputs,
      clusters: { clusterOf: () => null },
      bridges: loadBridges(),
      assets: loadAssetFacts(),
      jurisdictions: loadJurisdictions(),
      countryLists: loadCountryLists(),
    },
    transfers,
    outputs,
    clock,
    setLists(next) {
      checks = next;
      // The context checks the lists once a second.
      clock.at += 1_000;
    },
    async close() {
      labels.close();
      await transfers.close();
      await outputs.close();
      rmSync(folder, { recursive: true });
    },
  };
}
