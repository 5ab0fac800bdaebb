/** A world of random transfers and labels, to hold an exposure index against walks of the same graph. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { loadBridges } from '../../src/chains/bridges.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { type BuildExposureReport, buildExposureIndex } from '../../src/exposure/build.ts';
import { ENTRY_HOPS } from '../../src/exposure/evaluate.ts';
import type { IndexInputs } from '../../src/exposure/format.ts';
import { createExposureReader, isStoredIn } from '../../src/exposure/reader.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { freshnessOf } from '../../src/labels/freshness.ts';
import { buildSnapshot } from '../../src/labels/index/build.ts';
import { dayFromIso } from '../../src/labels/index/days.ts';
import { createSegmentWriter } from '../../src/labels/index/segment.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import type { SanctionsEntry } from '../../src/labels/label.ts';
import { primaryOrder } from '../../src/labels/primary.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import type { Category } from '../../src/labels/taxonomy.ts';
import { loadCountryLists } from '../../src/risk/geography.ts';
import { loadJurisdictions } from '../../src/risk/jurisdictions.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import type { ScreeningDeps } from '../../src/screening/deps.ts';
import type { ExposureReader } from '../../src/screening/exposure-port.ts';
import { allFresh, NOW } from '../screening/world.ts';

const taxonomy = loadTaxonomy();
export const policy = loadPolicy(taxonomy.rows);
/** What ships and does not change: loading it takes 20 ms of each world. */
const shipped = {
  bridges: loadBridges(),
  jurisdictions: loadJurisdictions(),
  countryLists: loadCountryLists(),
};
const CHAIN = 'ETH';
/** A token that no curated list knows. */
export const SPAM = '0x00000000000000000000000000000000deadbeef';
/** One that these tests let count, besides ETH. */
export const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';

/** Tokens that count and never have a price. */
export const UNPRICED = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`);
/** More of them than a walk follows. They have decimals, so that amounts below a limit are dust. */
export const MANY_UNPRICED = Array.from(
  { length: 24 },
  (_, at) => `0x${'5'.repeat(38)}${at.toString().padStart(2, '0')}`,
);
const isUnpriced = (asset: string): boolean => UNPRICED.includes(asset) || MANY_UNPRICED.includes(asset);

/** Each looks like the next or the one before: the first and last characters agree. */
export const addressOf = (number: number): string => {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  return `0x${hex(number + 1, 36)}${hex((number + 1) >> 1, 4)}`;
};

/** A payment of one native coin, worth 1,000 USD. */
export const paymentOf = (from: number, to: number, chain: ChainId = CHAIN): Transfer => ({
  chain,
  txHash: `0x${(from * 1_000 + to).toString(16).padStart(64, '0')}`,
  position: 'value',
  blockNumber: 100 + from,
  timestampMs: Date.parse('2026-01-01T00:00:00Z'),
  from: addressOf(from),
  to: addressOf(to),
  asset: chain,
  amount: 10n ** 18n,
  decimals: 18,
  valueUsd: 1_000,
});

export interface WorldLabel {
  readonly node: number;
  readonly category: Category;
  readonly confidence: number;
  /** `cluster` labels are derived. */
  readonly source: string;
  readonly entity: string;
  /** ISO date since which the owner is designated; left out: it is not. */
  readonly designatedOn?: string | undefined;
  /** Confidence of the attribution to the designated owner; the default makes the address sanctioned. */
  readonly ownerConfidence?: number;
}

export interface ExposureWorld {
  readonly folder: string;
  readonly indexes: string;
  readonly deps: ScreeningDeps & { readonly transfers: TransferStore };
  readonly inputs: IndexInputs;
  readonly clock: { at: number };
  readonly exposures: ExposureReader;
  build(): Promise<BuildExposureReport>;
  close(): Promise<void>;
}

export async function createExposureWorld(
  transfers: readonly Transfer[],
  labels: readonly WorldLabel[],
): Promise<ExposureWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-exposure-'));
  const clock = { at: NOW };
  const testClock: Clock = { now: () => clock.at, monotonic: () => performance.now() };
  const path = join(folder, 'segment');
  const writer = createSegmentWriter(path);
  for (const { node, category, confidence, source, entity, designatedOn, ownerConfidence } of labels) {
    const { key } = parseAddress(CHAIN, addressOf(node));
    const template = writer.template({
      entity: { id: entity, name: entity, category, jurisdiction: null, url: null },
      scope: 'EVM',
      category,
      threatLevel: taxonomy.of(category).threatLevel,
      source,
      sourceUrl: null,
      tags: [],
      confidence,
      sanctions: designatedOn === undefined ? [] : [designationOf(entity, designatedOn, ownerConfidence)],
      verified: true,
      synthetic: false,
    });
    writer.add(key, 0, key.length, template, dayFromIso('2021-05-01'), dayFromIso(null));
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
      folder: join(folder, 'labels'),
      compareLabels: primaryOrder(loadSourceTable()),
    },
    { clock: testClock, log: silentLogger },
  );
  const snapshots = openSnapshotSet(join(folder, 'labels'), { log: silentLogger });
  const store = openTransferStore({ path: join(folder, 'transfers'), readOnly: false });
  await store.ingest(transfers);
  const indexes = join(folder, 'exposure');
  const inputs: IndexInputs = {
    chain: CHAIN,
    dataVersion: snapshots.current.meta.dataVersion,
    policyVersion: policy.version,
    facts: 'test',
    maxHops: ENTRY_HOPS,
  };
  const deps = {
    labels: snapshots,
    freshness: () => freshnessOf(allFresh, clock.at, 7),
    policy,
    clock: testClock,
    transfers: store,
    outputs: { graph: () => null, outputsOf: () => [], addressNumber: () => null },
    clusters: { clusterOf: () => null },
    ...shipped,
    assets: {
      isKnown: (_chain: string, asset: string) => asset === 'ETH' || asset === TOKEN || isUnpriced(asset),
      decimalsOf: (_chain: string, asset: string) => (MANY_UNPRICED.includes(asset) ? 18 : null),
      priceStatusAt: () => 'EXACT' as const,
      lastPriceAt: () => null,
    },
  };
  return {
    folder,
    indexes,
    deps,
    inputs,
    clock,
    exposures: createExposureReader(indexes, {
      clock: testClock,
      log: silentLogger,
      position: (chain) => store.logPosition(chain),
      coverage: (chain) => store.coverage(chain),
      isStored: isStoredIn(store),
      inputs: () => inputs,
    }),
    build: () =>
      buildExposureIndex({ chain: CHAIN, folder: indexes, inputs }, { ...deps, log: silentLogger }),
    async close() {
      snapshots.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A list's entry of the party that owns an entity's addresses. */
const designationOf = (entity: string, listedAt: string, confidence = 0.9): SanctionsEntry => ({
  list: 'UK',
  authority: 'OFSI',
  program: null,
  entityName: `${entity.toUpperCase()} LTD`,
  entityId: `uk-${entity}`,
  listedAt,
  listedAtBasis: 'PARTY',
  delistedAt: null,
  sourceUrl: 'https://example.com/list',
  matchType: 'OWNER',
  attribution: { source: 'graphsense', confidence, date: null },
});

const CATEGORIES: readonly Category[] = [
  'MIXER',
  'SCAM',
  'EXCHANGE',
  'GAMBLING',
  'DARKNET_MARKET',
  'BRIDGE',
  'STOLEN_FUNDS',
  'HIGH_RISK_EXCHANGE',
  'DEFI',
];

const FIRST_MS = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;
/** Between two transfers: so far apart that designations come between them. */
const STEP_MS = 2 * HOUR_MS;

/**
 * Random transfers among few addresses, so that there are cycles, self-transfers and repeated pairs; all kinds of value.
 *
 * @param tokens - tokens without a price
 */
export function randomTransfers(
  seed: number,
  nodes: number,
  count: number,
  first = 0,
  tokens: readonly string[] = UNPRICED,
): Transfer[] {
  const next = seededUint32(seed);
  const draw = (below: number): number => next() % below;
  return Array.from({ length: count }, (_, at): Transfer => {
    const index = first + at;
    const kind = draw(12);
    const unpriced = tokens[draw(tokens.length)] as string;
    const asset = kind < 4 ? 'ETH' : kind < 6 ? TOKEN : kind < 10 ? unpriced : SPAM;
    const receiver = draw(nodes);
    // Some receive nothing but small sums.
    const cents = Math.floor(2 ** ((next() / 2 ** 32) * (receiver % 4 === 0 ? 9 : 24)));
    // Some transfers are dust, of no amount, or without a price; some assets of an address have no price at all.
    const amount = draw(20) === 0 ? 0n : BigInt(cents) * 5_000_000_000_000n;
    const from = draw(30) === 0 ? null : addressOf(Math.floor(nodes * (next() / 2 ** 32) ** 2));
    return {
      chain: CHAIN,
      txHash: `0x${index.toString(16).padStart(64, '0')}`,
      position: asset === 'ETH' ? 'value' : 'log:1',
      blockNumber: 100 + index,
      timestampMs: FIRST_MS + index * STEP_MS,
      from,
      to: addressOf(receiver),
      asset,
      amount,
      decimals: 18,
      valueUsd:
        asset === SPAM || asset === unpriced || draw(8) === 0 || (seed % 3 === 0 && asset === TOKEN)
          ? null
          : cents / 100,
    };
  });
}

export function randomLabels(seed: number, nodes: number, share: number): WorldLabel[] {
  const next = seededUint32(seed + 1);
  const labels: WorldLabel[] = [];
  for (let node = 0; node < nodes; node++) {
    // Always one: an index of labels cannot be empty.
    if (node > 0 && next() / 2 ** 32 > share) continue;
    const category = CATEGORIES[next() % CATEGORIES.length] as Category;
    const source = next() % 2 === 0 ? 'cluster' : 'graphsense';
    const entity = `${category.toLowerCase()}-${next() % 3}`;
    const confidence = (1 + (next() % 20)) / 20;
    // Derived labels make no owner.
    const isDesignated = next() % 4 === 0 && source !== 'cluster';
    const day = 1 + (next() % 20);
    labels.push({
      ...{ node, category, confidence, source, entity },
      designatedOn: isDesignated ? `2026-01-${String(day).padStart(2, '0')}` : undefined,
    });
  }
  return labels;
}
