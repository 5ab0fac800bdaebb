import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detectChains, parseAddress } from '../../../src/chains/address/parse.ts';
import { firstPriceOf, type PriceSource, usdOf } from '../../../src/chains/prices/price.ts';
import { priced, pricedBalances } from '../../../src/chains/prices/priced.ts';
import {
  importPrices,
  loadCoinGeckoNames,
  loadOwnPrices,
  loadShippedPrices,
} from '../../../src/chains/prices/table.ts';
import { CHAINS, type ChainId } from '../../../src/chains/registry.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';

const BTC = { chain: 'BTC', asset: 'BTC' } as const;
const USDC = { chain: 'ETH', asset: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' } as const;
const at = (text: string): number => Date.parse(text);

describe('the shipped table', () => {
  const shipped = loadShippedPrices();

  it('gives the close of the month before', () => {
    expect(shipped.usdAt(BTC, at('2022-01-01T00:00:00Z'))).toEqual({
      usd: 46306.45,
      atMs: at('2022-01-01T00:00:00Z'),
      source: 'shipped',
      decimals: 8,
    });
    expect(shipped.usdAt(BTC, at('2022-01-31T23:59:59Z'))).toMatchObject({ usd: 46306.45 });
    expect(shipped.usdAt(BTC, at('2021-12-31T23:59:59Z'))).toMatchObject({ usd: 57005.43 });
  });

  it('knows nothing before its first and long after its last month', () => {
    expect(shipped.usdAt(BTC, at('2014-10-31T23:59:59Z'))).toBeNull();
    expect(shipped.usdAt(BTC, at('2014-11-01T00:00:00Z'))).toMatchObject({ usd: 338.32 });
    expect(shipped.usdAt(BTC, at('2025-03-01T00:00:00Z'))).toMatchObject({ usd: 102405.02 });
    expect(shipped.usdAt(BTC, at('2025-03-06T00:00:00Z'))).toBeNull();
  });

  it('knows a native coin on every chain that pays with it, and no token by its symbol', () => {
    const time = at('2023-05-02T11:00:00Z');
    expect(shipped.usdAt({ chain: 'ARBITRUM', asset: 'ETH' }, time)).toMatchObject({ usd: 1876.92 });
    expect(shipped.usdAt({ chain: 'BSC', asset: 'BNB' }, time)).toMatchObject({ usd: 337.6455 });
    expect(shipped.usdAt({ chain: 'BSC', asset: 'BTC' }, time)).toBeNull();
    expect(shipped.usdAt({ chain: 'XMR', asset: 'XMR' }, time)).toBeNull();
  });

  it('counts redeemable tokens as dollars, by contract and chain alone', () => {
    expect(shipped.usdAt(USDC, at('2020-05-05T00:00:00Z'))).toMatchObject({
      usd: 1,
      source: 'peg',
      decimals: 6,
    });
    expect(shipped.usdAt({ ...USDC, chain: 'POLYGON' }, at('2023-05-05T00:00:00Z'))).toBeNull();
    expect(shipped.usdAt({ chain: 'GNOSIS', asset: 'XDAI' }, at('2023-05-05T00:00:00Z'))).toMatchObject({
      usd: 1,
    });
  });

  it('names contracts in their canonical form, and every chain and coin by one that exists', async () => {
    const { readFileSync } = await import('node:fs');
    const file = JSON.parse(readFileSync(join(import.meta.dirname, '../../../data/prices.json'), 'utf8'));
    for (const { chain, asset, source } of file.pegs as { chain: ChainId; asset: string; source: string }[]) {
      expect(source).toMatch(/^https:/);
      if (asset === 'XDAI') continue;
      expect(detectChains(asset)).toContain(chain);
      expect(parseAddress(chain, asset).canonical).toBe(asset);
    }
    const symbols = new Set<string>(CHAINS.map(({ symbol }) => symbol));
    const ids = new Set<string>(CHAINS.map(({ id }) => id));
    for (const { symbol, closes } of file.monthly) {
      expect(symbols.has(symbol)).toBe(true);
      expect((closes as number[]).every((usd) => usd > 0)).toBe(true);
    }
    const { coins, platforms } = loadCoinGeckoNames();
    for (const symbol of Object.keys(coins)) expect(symbols.has(symbol)).toBe(true);
    for (const chain of Object.keys(platforms)) expect(ids.has(chain)).toBe(true);
  });
});

describe('own tables', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-prices-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const file = (text: string, name = 'desk.csv'): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const store = (): string => join(folder, 'prices');
  const take = (text: string, name?: string) => importPrices({ folder: store(), file: file(text, name) });

  it('give the nearest earlier price for as long as the row says', () => {
    const report = take(
      'chain,asset,date,usd,max_age_days\nBTC,btc,2024-03-01,61000,\nBTC,BTC,2024-03-03T12:00Z,62000.5,1\n',
    );
    expect(report).toEqual({ table: 'desk', rows: 2, assets: 1, from: '2024-03-01', to: '2024-03-03' });
    const own = loadOwnPrices({ folder: store() });
    expect(own.usdAt(BTC, at('2024-02-29T23:59:59Z'))).toBeNull();
    expect(own.usdAt(BTC, at('2024-03-03T11:59:59Z'))).toMatchObject({ usd: 61000, source: 'own' });
    expect(own.usdAt(BTC, at('2024-03-04T12:00:00Z'))).toMatchObject({ usd: 62000.5 });
    expect(own.usdAt(BTC, at('2024-03-04T12:00:01Z'))).toBeNull();
  });

  it('take token contracts in any form of their address, with decimals', () => {
    take(`chain,asset,date,usd,decimals\neth,${USDC.asset.toLowerCase()},2023-03-11,0.88,6\n`);
    expect(loadOwnPrices({ folder: store() }).usdAt(USDC, at('2023-03-12T00:00:00Z'))).toMatchObject({
      usd: 0.88,
      decimals: 6,
    });
  });

  it('replace a table of the same name, and stand beside those of others', () => {
    take('chain,asset,date,usd\nBTC,BTC,2024-03-01,1\nLTC,LTC,2024-03-01,5\n', 'a.csv');
    take('chain,asset,date,usd\nBTC,BTC,2024-03-01,2\n', 'a.csv');
    take('chain,asset,date,usd\nDOGE,DOGE,2024-03-01,0.1\n', 'b.csv');
    const own = loadOwnPrices({ folder: store() });
    const time = at('2024-03-02T00:00:00Z');
    expect(own.usdAt(BTC, time)).toMatchObject({ usd: 2 });
    expect(own.usdAt({ chain: 'LTC', asset: 'LTC' }, time)).toBeNull();
    expect(own.usdAt({ chain: 'DOGE', asset: 'DOGE' }, time)).toMatchObject({ usd: 0.1 });
  });

  it.each([
    ['chain,asset,usd\nBTC,BTC,1\n', /line 1: the column 'date' is missing/],
    ['chain,asset,date,usd,price\n', /line 1: the column 'price' is none of/],
    ['chain,asset,date,usd\n', /line 1: no row/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01\n', /line 2: 3 cells/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01,0\n', /line 2: usd is '0'/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01,-5\n', /line 2: usd/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01,NaN\n', /line 2: usd/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01,1e300\n', /line 2: usd/],
    ['chain,asset,date,usd\nBTC,BTC,2024-04-31,5\n', /line 2: date/],
    ['chain,asset,date,usd\nBTC,BTC,01.03.2024,5\n', /line 2: date/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01T12:00:00,5\n', /line 2: date/],
    ['chain,asset,date,usd\nNOPE,BTC,2024-03-01,5\n', /line 2: chain/],
    ['chain,asset,date,usd\nETH,0x12,2024-03-01,5\n', /line 2: asset/],
    ['chain,asset,date,usd,max_age_days\nBTC,BTC,2024-03-01,5,900\n', /line 2: max_age_days/],
    ['chain,asset,date,usd,decimals\nBTC,BTC,2024-03-01,5,1.5\n', /line 2: decimals/],
    ['', /line 1/],
  ])('refuse %j, and keep nothing of it', (text, message) => {
    expect(() => take(text)).toThrow(message);
    expect(existsSync(store()) ? readdirSync(store()) : []).toEqual([]);
  });

  it('never read text as a price of zero or less (any text)', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), (usd) => {
        try {
          take(`chain,asset,date,usd\nBTC,BTC,2024-03-01,${usd}\n`);
        } catch {
          return;
        }
        const found = loadOwnPrices({ folder: store() }).usdAt(BTC, at('2024-03-01T01:00:00Z'));
        expect(found === null || (found as { usd: number }).usd > 0).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe('values', () => {
  it('of amounts beyond what a float holds', () => {
    expect(usdOf(123_456_789_012_345_678_901_234_567n, 18, { usd: 2 })).toBeCloseTo(246_913_578.0246914, 6);
    expect(usdOf(1n, 18, { usd: 2000 })).toBeCloseTo(2e-15, 20);
    expect(usdOf(0n, 8, { usd: 60000 })).toBe(0);
    expect(usdOf(5n, 0, { usd: 2 })).toBe(10);
    expect(usdOf(2n ** 255n, 0, { usd: 1 })).toBeNull();
  });

  const transfer = (more: Partial<Transfer>): Transfer => ({
    chain: 'ETH',
    txHash: `0x${'1'.repeat(64)}`,
    position: 'value',
    blockNumber: 1,
    timestampMs: at('2023-05-02T11:00:00Z'),
    from: '0x00000000219ab540356cBB839Cbe05303d7705Fa',
    to: null,
    asset: 'ETH',
    amount: 2n * 10n ** 18n,
    decimals: 18,
    valueUsd: null,
    ...more,
  });

  it('of transfers are filled in where they are missing and a price is known, in order', async () => {
    const transfers = [
      transfer({}),
      transfer({ valueUsd: 7 }),
      transfer({ asset: USDC.asset, amount: 2_500_000n, decimals: null }),
      transfer({ asset: '0x6B3595068778DD592e39A122f4f5a5cF09C90fE2' }),
    ];
    const found: Transfer[] = [];
    for await (const one of priced(transfers, loadShippedPrices())) found.push(one);
    expect(found.map(({ valueUsd }) => valueUsd)).toEqual([3753.84, 7, 2.5, null]);
    expect(found[2]?.decimals).toBe(6);
    expect(found[3]).toBe(transfers[3]);
  });

  it('of balances are null where they are not known', async () => {
    const found = await pricedBalances(
      [
        { ...BTC, amount: 50_000_000n, decimals: 8 },
        { chain: 'XMR', asset: 'XMR', amount: 1n, decimals: 12 },
        { ...USDC, amount: 1_000_000n, decimals: null },
      ],
      at('2022-01-15T00:00:00Z'),
      loadShippedPrices(),
    );
    expect(found.map(({ valueUsd }) => valueUsd)).toEqual([23153.225, null, 1]);
  });

  it('come from the first source that knows', async () => {
    const known = (usd: number): PriceSource => ({ usdAt: () => ({ usd, atMs: 0, source: 'own' }) });
    const none: PriceSource = { usdAt: () => null };
    const later = (source: PriceSource): PriceSource => ({
      usdAt: async (...asked) => source.usdAt(...asked),
    });
    expect(firstPriceOf([none, known(2), known(3)]).usdAt(BTC, 0)).toMatchObject({ usd: 2 });
    expect(await firstPriceOf([later(none), none, later(known(4))]).usdAt(BTC, 0)).toMatchObject({ usd: 4 });
    expect(await firstPriceOf([later(none)]).usdAt(BTC, 0)).toBeNull();
    expect(firstPriceOf([]).usdAt(BTC, 0)).toBeNull();
  });
});
