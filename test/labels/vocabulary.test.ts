import { describe, expect, it } from 'vitest';
import { loadTaxonomy, threatOrder } from '../../src/labels/categories.ts';
import { loadEntityAliases, slugOf } from '../../src/labels/entities.ts';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import { exchangesReader } from '../../src/sources/exchanges/read.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { poolsReader } from '../../src/sources/pools/read.ts';
import type { SourceReader } from '../../src/sources/records.ts';
import { scamsReader } from '../../src/sources/scams/read.ts';
import { seedFiles, seedReader } from '../../src/sources/seed/read.ts';
import { MARCH_21, readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { collectUnknown, NOTHING, type UnknownWords } from './unknown-words.ts';

const taxonomy = loadTaxonomy();
const entities = loadEntityAliases();

const category = (words: string[], name = 'x', family: 'utxo' | 'evm' | null = null): string =>
  taxonomy.classify(words, name, family).category;

describe('the taxonomy', () => {
  it('has an entry for every category, and a weight for every threat', () => {
    expect(taxonomy.rows.map((row) => row.id)).toEqual([...CATEGORIES]);
    for (const row of taxonomy.rows) {
      // From a confidence of 0.8 on, the level alone makes 80 points.
      if (threatOrder(row.threatLevel) === 4) expect(row.weight, row.id).toBeGreaterThanOrEqual(75);
      if (row.threatLevel === 'SAFE') expect(row.weight, row.id).toBeLessThanOrEqual(10);
    }
  });

  it('prefers abuse over a kind of service, and a kind over a general word', () => {
    expect(category(['user', 'scam'])).toBe('SCAM');
    expect(category(['exchange', 'service_hack'])).toBe('STOLEN_FUNDS');
    expect(category(['organization', 'exchange'])).toBe('EXCHANGE');
    expect(category(['service'])).toBe('OTHER');
    expect(category(['exploit', 'malicious_smart_contract'])).toBe('STOLEN_FUNDS');
  });

  it('distinguishes a darknet market from a token marketplace by the chain, or by the actor', () => {
    expect(category(['market'], 'AlphaBayMarket', 'utxo')).toBe('DARKNET_MARKET');
    expect(category(['market'], 'Rarible', 'evm')).toBe('NFT_MARKETPLACE');
    expect(category(['collectible', 'market'], 'Opensea', 'utxo')).toBe('NFT_MARKETPLACE');
    expect(category(['market', 'dark_web'], 'Hydra', null)).toBe('DARKNET_MARKET');
  });

  it('uses an explorer name if the words are not specific, and never over an abuse', () => {
    expect(category([], 'Fake_Phishing1772', 'evm')).toBe('PHISHING');
    expect(category(['phish-hack'], 'Tether USD (USDT)', 'evm')).toBe('PHISHING');
    expect(category(['exchange'], 'A2A Token (A2A)', 'evm')).toBe('TOKEN');
    expect(category([], 'Ronin Bridge Exploiter 4', 'evm')).toBe('STOLEN_FUNDS');
    expect(category([], 'AirSwap', 'evm')).toBe('OTHER');
  });

  it('marks the copy of a list by a third party', () => {
    const copied = taxonomy.classify(['user'], 'Asset listed under US Treasury OFAC Sanctions List', 'utxo');
    expect(copied).toMatchObject({ category: 'SANCTIONED_ENTITY', copyOf: 'OFAC_SDN' });
  });
});

describe('entity names', () => {
  it.each([
    ['okex', 'okx'],
    ['OKX', 'okx'],
    ['huobi', 'htx'],
    ['Huobi.com', 'htx'],
    ['gate-io', 'gate'],
    ['cryptocom', 'crypto-com'],
    ['mexc-cex', 'mexc'],
    ['binance', 'binance'],
    ['binance-us', 'binance-us'],
    ['tornado.cash', 'tornado-cash'],
  ])('%s is %s', (name, id) => {
    expect(entities.byName(name)?.id).toBe(id);
  });

  it('make stable ids of any script, neither empty nor too long', () => {
    expect(slugOf('Ronin Bridge: Exploiter 4')).toBe('ronin-bridge-exploiter-4');
    expect(slugOf('币安')).toBe('币安');
    expect(slugOf('!!!')).toMatch(/^x-[0-9a-f]{10}$/);
    expect(slugOf('a'.repeat(500))).toHaveLength(64);
    expect(slugOf(`${'a'.repeat(100)}1`)).not.toBe(slugOf(`${'a'.repeat(100)}2`));
  });
});

async function unknownIn(
  source: string,
  reader: SourceReader,
  files: readonly string[],
): Promise<UnknownWords> {
  const { take, found } = collectUnknown(source);
  for await (const record of reader(files)) take(record);
  return found();
}

describe('the shipped seed', () => {
  it('contains only known words', async () => {
    expect(await unknownIn('seed', seedReader(LISTS.ids), await seedFiles())).toMatchObject(NOTHING);
  });
});

// Those of GraphSense: tagpacks.test.ts.
describeWithSharedData('every word that occurs in the publishers’ files is known', () => {
  it.each([
    ['exchanges', 'exchanges/defillama_cex_owners_2025-06-30.csv', exchangesReader],
    ['pools', 'exchanges/mining_pools_2026-02.json', poolsReader],
    ['scams', 'scams/etherscan_malicious_labels.csv', scamsReader],
    ['scams', 'scams/malicious_smart_contracts.csv', scamsReader],
    ['scams', 'scams/phishing_scams.csv', scamsReader],
  ] as const)('%s: %s', async (source, path, reader) => {
    const found = await unknownIn(source, reader, [sharedData(path)]);
    expect(found).toMatchObject(NOTHING);
    expect(found.records).toBeGreaterThan(200);
  });

  it('ofac', async () => {
    expect(await unknownIn('ofac', readOfacOnce, [MARCH_21])).toMatchObject(NOTHING);
  });
});
