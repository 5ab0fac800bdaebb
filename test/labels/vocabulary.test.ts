import { describe, expect, it } from 'vitest';
import { loadTaxonomy, threatOrder } from '../../src/labels/categories.ts';
import { loadCurrencies } from '../../src/labels/currencies.ts';
import { loadEntityAliases, slugOf } from '../../src/labels/entities.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import { exchangesReader } from '../../src/sources/exchanges/read.ts';
import { graphsenseReader } from '../../src/sources/graphsense/read.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { ofacReader } from '../../src/sources/ofac/read.ts';
import { poolsReader } from '../../src/sources/pools/read.ts';
import type { SourceReader } from '../../src/sources/records.ts';
import { scamsReader } from '../../src/sources/scams/read.ts';
import { seedFiles, seedReader } from '../../src/sources/seed/read.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';

const taxonomy = loadTaxonomy();
const currencies = loadCurrencies();
const entities = loadEntityAliases();
const sources = loadSourceTable();

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

/** Collects the words, currencies and confidences in the files of a source that the rules do not know. */
async function unknownIn(
  source: string,
  reader: SourceReader,
  files: readonly string[],
): Promise<{ words: string[]; currencies: string[]; confidence: string[]; records: number }> {
  const words = new Set<string>();
  const hints = new Set<string>();
  const confidence = new Set<string>();
  let records = 0;
  const hint = (word: string | null): void => {
    if (currencies.hintOf(word).kind === 'unknown') hints.add(String(word));
  };
  for await (const record of reader(files)) {
    if (record.type === 'party') for (const one of record.addresses) hint(one.currency);
    if (record.type !== 'address') continue;
    records++;
    for (const word of record.concepts) if (!taxonomy.knows(word)) words.add(word);
    hint(record.currency);
    if (sources.confidence(source, record.confidence) === null) confidence.add(String(record.confidence));
  }
  return { words: [...words], currencies: [...hints], confidence: [...confidence], records };
}

const NOTHING = { words: [], currencies: [], confidence: [] };

describe('the shipped seed', () => {
  it('contains only known words', async () => {
    expect(await unknownIn('seed', seedReader(LISTS.ids), await seedFiles())).toMatchObject(NOTHING);
  });
});

describeWithSharedData('every word that occurs in the publishers’ files is known', () => {
  it.each([
    ['exchanges', 'exchanges/defillama_cex_owners_2025-06-30.csv', exchangesReader],
    ['pools', 'exchanges/mining_pools_2026-02.json', poolsReader],
    ['scams', 'scams/etherscan_malicious_labels.csv', scamsReader],
    ['scams', 'scams/malicious_smart_contracts.csv', scamsReader],
    ['scams', 'scams/phishing_scams.csv', scamsReader],
    ['graphsense', 'graphsense/graphsense-tagpacks.tar.gz', graphsenseReader],
  ] as const)('%s: %s', async (source, path, reader) => {
    const found = await unknownIn(source, reader, [sharedData(path)]);
    expect(found).toMatchObject(NOTHING);
    expect(found.records).toBeGreaterThan(200);
  });

  it('ofac', async () => {
    const files = [sharedData('ofac', 'sdn_advanced_2025-03-21.xml.gz')];
    expect(await unknownIn('ofac', ofacReader, files)).toMatchObject(NOTHING);
  });
});
