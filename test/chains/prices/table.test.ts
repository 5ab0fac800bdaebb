import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPriceBook } from '../../../src/chains/prices/book.ts';
import { usdOf } from '../../../src/chains/prices/price.ts';
import { priced, pricedBalances } from '../../../src/chains/prices/priced.ts';
import {
  importPrices,
  loadCoinGeckoNames,
  loadOwnPrices,
  loadPegs,
  loadShippedPrices,
} from '../../../src/chains/prices/table.ts';
import { CHAINS } from '../../../src/chains/registry.ts';
import { canonicalAsset } from '../../../src/chains/tokens.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import { sharedData } from '../../setup/shared-data.ts';

const BTC = { chain: 'BTC', asset: 'BTC' } as const;
const USDC = { chain: 'ETH', asset: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' } as const;
const at = (text: string): number => Date.parse(text);
const monthNumber = (month: string): number => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1;
/** The price histories from which data/prices.json was generated; not part of the project. */
const MONTHLY_CLOSES = sharedData('prices', 'monthly-closes.csv');

const shippedFile = () =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../data/prices.json'), 'utf8'));

describe('the shipped table', () => {
  const shipped = loadShippedPrices();

  it('gives the close of the month before, with its status and date', () => {
    expect(shipped.usdAt(BTC, at('2022-01-01T00:00:00Z'))).toEqual({
      usd: 46216.93,
      atMs: at('2022-01-01T00:00:00Z'),
      status: 'EXACT',
      source: 'shipped',
      decimals: 8,
    });
    expect(shipped.usdAt(BTC, at('2022-01-31T23:59:59Z'))).toMatchObject({
      usd: 46216.93,
      status: 'LAST_KNOWN',
    });
    expect(shipped.usdAt(BTC, at('2021-12-31T23:59:59Z'))).toMatchObject({ status: 'LAST_KNOWN' });
  });

  it('has no price before its first close, or 400 days after its last', () => {
    expect(shipped.usdAt(BTC, at('2010-08-31T23:59:59Z'))).toBeNull();
    expect(shipped.usdAt(BTC, at('2010-09-01T00:00:00Z'))).toMatchObject({ usd: 0.0648 });
    const last = at('2026-01-01T00:00:00Z');
    expect(shipped.usdAt(BTC, last + 400 * 86_400_000)).toMatchObject({ usd: 87648.22, atMs: last });
    expect(shipped.usdAt(BTC, last + 400 * 86_400_000 + 1)).toBeNull();
  });

  it('prices Bitcoin block 300025 of May 2014', () => {
    expect(shipped.usdAt(BTC, at('2014-05-10T06:00:00Z'))).toMatchObject({
      usd: 447.64,
      status: 'LAST_KNOWN',
      atMs: at('2014-05-01T00:00:00Z'),
    });
  });

  const natives = [...new Map(CHAINS.map(({ id, symbol }) => [symbol, id]))];
  it.each(natives.filter(([symbol]) => symbol !== 'XDAI' && symbol !== 'FTM'))(
    'gives %s of October 2026 its newest close of 2025',
    (symbol, chain) => {
      const found = shipped.usdAt({ chain, asset: symbol }, at('2026-10-15T12:00:00Z'));
      expect(found).toMatchObject({ status: 'LAST_KNOWN', source: 'shipped' });
      expect(new Date(found?.atMs ?? 0).toISOString()).toMatch(/^(2025-11-01|2026-01-01)T00:00:00/);
    },
  );

  it('keeps POL through the rename of MATIC, and ends FTM with its last own close', () => {
    const POL = { chain: 'POLYGON', asset: 'POL' } as const;
    expect(shipped.usdAt(POL, at('2024-09-01T00:00:00Z'))).toMatchObject({ usd: 0.4196, status: 'EXACT' });
    expect(shipped.usdAt(POL, at('2024-10-01T00:00:00Z'))).toMatchObject({ usd: 0.3961, status: 'EXACT' });
    const FTM = { chain: 'FANTOM', asset: 'FTM' } as const;
    expect(shipped.usdAt(FTM, at('2025-06-01T00:00:00Z'))).toMatchObject({ usd: 0.6809 });
    expect(shipped.usdAt(FTM, at('2026-10-15T00:00:00Z'))).toBeNull();
  });

  it('uses the newest earlier close for a month without one', () => {
    const XRP = { chain: 'XRP', asset: 'XRP' } as const;
    expect(shipped.usdAt(XRP, at('2014-07-01T00:00:00Z'))).toMatchObject({
      atMs: at('2014-05-01T00:00:00Z'),
      status: 'LAST_KNOWN',
    });
  });

  it('has a native coin for every chain that uses it, with the decimals of that chain', () => {
    const time = at('2023-05-02T11:00:00Z');
    const eth = shipped.usdAt({ chain: 'ETH', asset: 'ETH' }, time);
    expect(shipped.usdAt({ chain: 'ARBITRUM', asset: 'ETH' }, time)).toEqual(eth);
    expect(shipped.usdAt({ chain: 'BSC', asset: 'BTC' }, time)).toBeNull();
    expect(shipped.usdAt({ chain: 'XTZ', asset: 'XTZ' }, time)).toMatchObject({ decimals: 6 });
    expect(shipped.usdAt({ chain: 'ETHERLINK', asset: 'XTZ' }, time)).toMatchObject({ decimals: 18 });
  });

  it('cites a source for every month, and lists every coin without one', () => {
    const { monthly, priceSources, unpriced, discrepancies } = shippedFile();
    const symbols = new Set<string>(CHAINS.map(({ symbol }) => symbol));
    for (const { symbol, firstMonth, closes, sources } of monthly) {
      expect(symbols.has(symbol)).toBe(true);
      expect((closes as (number | null)[]).every((usd) => usd === null || usd > 0)).toBe(true);
      const cited = new Set<number>();
      for (const { source, from, to } of sources) {
        expect(priceSources[source]).toMatch(/^github\.com\/.+@[0-9a-f]{7}|^github\.com\//);
        for (let month = monthNumber(from); month <= monthNumber(to); month++) cited.add(month);
      }
      for (const [index, usd] of (closes as (number | null)[]).entries())
        if (usd !== null) expect(cited.has(monthNumber(firstMonth) + index)).toBe(true);
    }
    const priced = new Set(monthly.map(({ symbol }: { symbol: string }) => symbol));
    const missing = [...symbols].filter((symbol) => !priced.has(symbol) && symbol !== 'XDAI');
    expect(unpriced).toEqual(missing);
    expect(discrepancies).toContainEqual(expect.objectContaining({ symbol: 'XMR', month: '2024-11' }));
  });

  it.skipIf(!existsSync(MONTHLY_CLOSES))('equals the price histories from which it was generated', () => {
    const closes = new Map<string, number>();
    for (const line of readFileSync(MONTHLY_CLOSES, 'utf8').trim().split('\n').slice(1)) {
      const [symbol = '', month = '', usd] = line.split(',');
      closes.set(`${symbol === 'MATIC' ? 'POL' : symbol} ${month}`, Number(usd));
    }
    let compared = 0;
    for (const { symbol, firstMonth, closes: values } of shippedFile().monthly)
      for (const [index, usd] of (values as (number | null)[]).entries()) {
        const number = monthNumber(firstMonth) + index;
        const month = `${Math.floor(number / 12)}-${String((number % 12) + 1).padStart(2, '0')}`;
        const expected = closes.get(`${symbol} ${month}`);
        if (usd === null) expect(expected).toBeUndefined();
        else expect(Math.abs(usd / (expected ?? 0) - 1)).toBeLessThan(1e-6);
        compared++;
      }
    expect(compared).toBeGreaterThan(2_500);
  });
});

describe('pegs', () => {
  const pegs = loadPegs();

  it('name contracts in their canonical form, each with a source and a date', () => {
    const coins = new Set<string>(CHAINS.map(({ symbol }) => symbol));
    const ids = new Set<string>(CHAINS.map(({ id }) => id));
    for (const row of shippedFile().pegs) {
      const { chain, asset, of, source, date, decimals } = row;
      expect(source).toMatch(/^https:/);
      expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(of === 'USD' || coins.has(of)).toBe(true);
      expect(ids.has(chain) && Number.isInteger(decimals)).toBe(true);
      if (asset === 'XDAI') continue;
      expect(canonicalAsset(chain, asset)).toBe(asset);
    }
    const { coins: coingecko, platforms } = loadCoinGeckoNames();
    for (const symbol of Object.keys(coingecko)) expect(coins.has(symbol)).toBe(true);
    for (const chain of Object.keys(platforms)) expect(ids.has(chain)).toBe(true);
  });

  it('apply by contract and chain only, until their last day', () => {
    expect(pegs.at(USDC, at('2020-05-05T00:00:00Z'))).toMatchObject({ of: 'USD', decimals: 6 });
    expect(pegs.at({ ...USDC, chain: 'POLYGON' }, at('2023-05-05T00:00:00Z'))).toBeNull();
    const BUSD = { chain: 'ETH', asset: '0x4Fabb145d64652a948d72533023f6E7A623C7C53' } as const;
    expect(pegs.at(BUSD, at('2024-02-29T23:59:59Z'))).toMatchObject({ of: 'USD' });
    expect(pegs.at(BUSD, at('2024-03-01T00:00:00Z'))).toBeNull();
    expect(pegs.of(BUSD)).toMatchObject({ validUntil: '2024-02-29' });
  });

  it.each([
    ['ETH', '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', 'ETH'],
    ['ARBITRUM', '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', 'ETH'],
    ['OPTIMISM', '0x4200000000000000000000000000000000000006', 'ETH'],
    ['BASE', '0x4200000000000000000000000000000000000006', 'ETH'],
    ['LINEA', '0xe5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f', 'ETH'],
    ['SCROLL', '0x5300000000000000000000000000000000000004', 'ETH'],
    ['ZKSYNC', '0x5AEa5775959fBC2557Cc8789bC1bf90A239D9a91', 'ETH'],
    ['BSC', '0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c', 'BNB'],
    ['POLYGON', '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270', 'POL'],
    ['AVALANCHE', '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7', 'AVAX'],
    ['FANTOM', '0x21be370D5312f44cB42ce377BC9b8a0cEF1A4C83', 'FTM'],
    ['CRONOS', '0x5C7F8A570d578ED84E63fdFA7b1eE72dEae1AE23', 'CRO'],
    ['MANTLE', '0x78c1b0C915c4FAA5FffA6CAbf0219DA63d7f4cb8', 'MNT'],
    ['GNOSIS', '0xe91D153E0b41518A2Ce8Dd3D7944Fa863463a97d', 'USD'],
    ['MOONBEAM', '0xAcc15dC74880C9944775448304B263D191c6077F', 'GLMR'],
    ['ETHERLINK', '0xc9B53AB2679f573e480d01e0f49e2B5CFB7a3EAb', 'XTZ'],
    ['SOL', 'So11111111111111111111111111111111111111112', 'SOL'],
    ['TRON', 'TNUC9Qb1rRpS5CbWLmNMxXBjyFoydXjWFR', 'TRX'],
  ] as const)('cover the wrapped coin of %s', (chain, asset, of) => {
    expect(pegs.at({ chain, asset }, at('2026-10-01T00:00:00Z'))).toMatchObject({ of });
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

  it('give the newest earlier price for as long as the row says', () => {
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

  it('keep the last price of a coin for 400 days and of a token for 31, with its age', () => {
    take(`chain,asset,date,usd\nBTC,BTC,2024-03-01,61000\nETH,${USDC.asset},2024-03-01,0.99\n`);
    const own = loadOwnPrices({ folder: store() });
    const start = at('2024-03-01T00:00:00Z');
    const day = 86_400_000;
    expect(own.usdAt(BTC, start - 1)).toBeNull();
    expect(own.usdAt(BTC, start + day)).toMatchObject({ status: 'EXACT', atMs: start });
    expect(own.usdAt(BTC, start + day + 1)).toMatchObject({ status: 'LAST_KNOWN', atMs: start });
    expect(own.usdAt(BTC, start + 400 * day)).toMatchObject({ status: 'LAST_KNOWN' });
    expect(own.usdAt(BTC, start + 400 * day + 1)).toBeNull();
    expect(own.usdAt(USDC, start + 31 * day)).toMatchObject({ status: 'LAST_KNOWN' });
    expect(own.usdAt(USDC, start + 31 * day + 1)).toBeNull();
  });

  it('accept token contracts in any form of their address, with decimals', () => {
    take(`chain,asset,date,usd,decimals\neth,${USDC.asset.toLowerCase()},2023-03-11,0.88,6\n`);
    expect(loadOwnPrices({ folder: store() }).usdAt(USDC, at('2023-03-12T00:00:00Z'))).toMatchObject({
      usd: 0.88,
      decimals: 6,
    });
  });

  it('take tokens of XRP by the code of their currency, as transfers name them', () => {
    const issuer = 'rsoLo2S1kiGeCcn6hCUXVrCpGMWLrRrLZz';
    take(`chain,asset,date,usd,decimals\nXRP,SOLO.${issuer},2024-03-01,0.3,15\n`);
    const asset = `${Buffer.from('SOLO').toString('hex').toUpperCase().padEnd(40, '0')}.${issuer}`;
    expect(
      loadOwnPrices({ folder: store() }).usdAt({ chain: 'XRP', asset }, at('2024-03-01T12:00:00Z')),
    ).toMatchObject({ usd: 0.3 });
  });

  it('replace a table of the same name, and keep those of other names', () => {
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
    ['chain,asset,usd\nBTC,BTC,1\n', /line 1: the column 'date' is missing\.$/],
    [
      'chain;asset;date;usd\nBTC;BTC;2026-01-01;1\n',
      /line 1: the column 'chain' is missing\. Its columns are separated by semicolons/,
    ],
    ['chain,asset,date,usd,price\n', /line 1: the column 'price' must be one of/],
    ['chain,asset,date,usd\n', /line 1: no row/],
    ['chain,asset,date,usd\nBTC,BTC,2024-03-01\n', /line 2: the row has 3 cells, and the header 4/],
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
  ])('reject %j, and store nothing of it', (text, message) => {
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
  const shippedBook = createPriceBook({ tables: [loadShippedPrices()], pegs: loadPegs() });

  it('are correct for amounts beyond the range of a float', () => {
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

  it('of transfers are filled in if they are missing and a price is known, in order', async () => {
    const transfers = [
      transfer({}),
      transfer({ valueUsd: 7 }),
      transfer({ asset: USDC.asset, amount: 2_500_000n, decimals: null }),
      transfer({ asset: '0x6B3595068778DD592e39A122f4f5a5cF09C90fE2' }),
    ];
    const found: Transfer[] = [];
    for await (const one of priced(transfers, shippedBook)) found.push(one);
    expect(found.map(({ valueUsd }) => valueUsd)).toEqual([3740.18, 7, 2.5, null]);
    expect(found[2]?.decimals).toBe(6);
    expect(found[3]).toBe(transfers[3]);
  });

  it('of balances are null if they are unknown', async () => {
    const found = await pricedBalances(
      [
        { ...BTC, amount: 50_000_000n, decimals: 8 },
        { chain: 'ETH', asset: '0x6B3595068778DD592e39A122f4f5a5cF09C90fE2', amount: 1n, decimals: 18 },
        { ...USDC, amount: 1_000_000n, decimals: null },
      ],
      at('2022-01-15T00:00:00Z'),
      shippedBook,
    );
    expect(found.map(({ valueUsd }) => valueUsd)).toEqual([23108.465, null, 1]);
  });
});
