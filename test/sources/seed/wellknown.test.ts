/** Well-known addresses: the shipped labels name them, with source and date. */
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import { parseChainId } from '../../../src/chains/registry.ts';
import { LISTS } from '../../../src/sources/lists.ts';
import { packagesFiles, packagesReader } from '../../../src/sources/packages/read.ts';
import type { AttributedAddress } from '../../../src/sources/records.ts';
import { seedFiles, seedReader } from '../../../src/sources/seed/read.ts';

const known = new Map<string, AttributedAddress[]>();
const rejects: string[] = [];
const keyOf = (chain: string, address: string): string =>
  `${chain} ${Buffer.from(parseAddress(parseChainId(chain), address).key).toString('hex')}`;

beforeAll(async () => {
  for (const [reader, files] of [
    [seedReader(LISTS.ids), await seedFiles()],
    [packagesReader, await packagesFiles()],
  ] as const) {
    for await (const record of reader(files)) {
      if (record.type === 'reject') rejects.push(`${record.provenance.file} ${record.reason}`);
      if (record.type !== 'address' || record.currency === null) continue;
      try {
        const key = keyOf(record.currency, record.address);
        known.set(key, [...(known.get(key) ?? []), record]);
      } catch {
        // The importer reads rows that name another fork of the chain.
      }
    }
  }
});

describe('what ships', () => {
  it.each([
    ['TRON', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'TOKEN', /tether/i],
    ['ETH', '0x7a250d5630b4cf539739df2c5dacb4c659f2488d', 'DEX', /uniswap/i],
    ['ETH', '0xEf1c6E67703c7BD7107eed8303Fbe6EC2554BF6B', 'DEX', /uniswap/i],
    ['ETH', '0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45', 'DEX', /uniswap/i],
    ['ETH', '0x1111111254EEB25477B68fb85Ed929f73A960582', 'DEX', /1inch/i],
    ['BSC', '0x111111125421cA6dc452d289314280a0f8842A65', 'DEX', /1inch/i],
    ['ETH', '0x00000000219ab540356cBB839Cbe05303d7705Fa', 'STAKING', /deposit/i],
    ['ETH', '0xa160cdab225685da1d56aa342ad8841c3b53f291', 'MIXER', /tornado/i],
    ['BTC', '34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo', 'EXCHANGE', /binance/i],
    ['ETH', '0x2910543af39aba0cd09dbb2d50200b3e800a63d2', 'EXCHANGE', /kraken/i],
    ['ETH', '0x28C6c06298d514Db089934071355E5743bf21d60', 'EXCHANGE', /binance/i],
    ['ETH', '0xf89d7b9c864f589bbF53a82105107622B35EaA40', 'EXCHANGE', /bybit/i],
    ['ETH', '0x6cC5F688a315f3dC28A7781717a9A798a59fDA7b', 'EXCHANGE', /okx/i],
    ['ETH', '0x2933782b5a8d72f2754103d1489614f29bfa4625', 'EXCHANGE', /kucoin/i],
    ['SOL', '5VCwKtCXgCJ6kit5FybXjvriW3xELsFDhYrPSqtJNmcD', 'EXCHANGE', /okx/i],
    ['TRON', 'TU4vEruvZwLLkSfV9bNw12EJTPvNr7Pvaa', 'EXCHANGE', /bybit/i],
    ['BTC', '1FeexV6bAHb8ybZjqQMjJrcCrHGW9sb6uF', 'STOLEN_FUNDS', /mt\. gox/i],
    ['BTC', 'bc1qa5wkgaew2dkv56kfvj49j0av5nml45x9ek9hz6', 'SEIZED_FUNDS', /US Government/],
    ['BTC', 'bc1qpx7vyv5tp7dm0g475ev527krg764t73dh77gls', 'SEIZED_FUNDS', /US Government/],
    ['BTC', '15JFh88FcE4WL6qeMLgX5VEAFCbRXjc9fr', 'RANSOMWARE', /darkside/i],
    ['BTC', '12t9YDPgwueZ9NyMgw519p7AA8isjr6SMw', 'RANSOMWARE', /wannacry/i],
    ['BTC', '115p7UMMngoj1pMvkpHijcRdfJNXj6LrLn', 'RANSOMWARE', /wannacry/i],
    ['ETH', '0x098B716B8Aaf21512996dC57EB0615e2383E2f96', 'STOLEN_FUNDS', /ronin/i],
    ['BTC', 'bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh', 'SCAM', /twitter/i],
    ['BTC', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'OTHER', /genesis/i],
  ])('knows %s %s as %s', (chain, address, category, name) => {
    const found = known.get(keyOf(chain, address)) ?? [];
    expect(found).toContainEqual(
      expect.objectContaining({ category, actorName: expect.stringMatching(name) }),
    );
  });

  it('has a source and a date on each row, and marks those that rest on a forum or a list', () => {
    expect(rejects).toEqual([]);
    const rows = [...known.values()]
      .flat()
      .filter(({ provenance }) => provenance.file === 'wellknown.ndjson');
    expect(rows.length).toBeGreaterThan(800);
    for (const row of rows) {
      expect(row.sourceUrl, row.address).toMatch(/^https:\/\//);
      expect(row.lastSeen, row.address).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(row.verified, row.address).toBe(false);
      expect(row.tags.includes('weak'), row.address).toBe(Number(row.confidence) <= 0.6);
    }
    const weak = rows.filter(({ tags }) => tags.includes('weak'));
    expect(weak.some(({ sourceUrl }) => sourceUrl?.startsWith('https://www.reddit.com/'))).toBe(true);
    expect(weak.some(({ sourceUrl }) => sourceUrl?.startsWith('https://github.com/Uniswap/'))).toBe(false);
  });

  it('names no address twice within the seed of well-known addresses', () => {
    const twice = [...known].filter(
      ([, rows]) => rows.filter(({ provenance }) => provenance.file === 'wellknown.ndjson').length > 1,
    );
    expect(twice).toEqual([]);
  });
});
