import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { loadAssetFacts } from '../../../src/chains/known-assets.ts';
import { createPriceBook } from '../../../src/chains/prices/book.ts';
import type { PriceSource, PriceTable, UsdPrice } from '../../../src/chains/prices/price.ts';
import { priced } from '../../../src/chains/prices/priced.ts';
import { importPrices, loadPegs, loadShippedPrices } from '../../../src/chains/prices/table.ts';
import { openInstalledPrices } from '../../../src/chains/prices/tables.ts';
import { CHAINS } from '../../../src/chains/registry.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import { priceOf } from '../../../src/screening/price-shown.ts';

const DAY = 86_400_000;
const at = (text: string): number => Date.parse(text);
const OCTOBER_2026 = at('2026-10-15T12:00:00Z');
const ETH = { chain: 'ETH', asset: 'ETH' } as const;
const WETH = { chain: 'ETH', asset: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2' } as const;
const USDC = { chain: 'ETH', asset: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' } as const;
const BUSD = { chain: 'ETH', asset: '0x4Fabb145d64652a948d72533023f6E7A623C7C53' } as const;
const UNI = { chain: 'ETH', asset: '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984' } as const;

/** A table that has one price of one asset at all times. */
const table = (of: { asset: string }, price: Partial<UsdPrice>): PriceTable => ({
  lastAt: () => null,
  usdAt: ({ asset }) =>
    asset === of.asset ? { usd: 1, atMs: 0, status: 'EXACT', source: 'own', ...price } : null,
});
const later = (source: PriceSource): PriceSource => ({
  usdAt: async (...requests) => source.usdAt(...requests),
});

describe('the price book', () => {
  const pegs = loadPegs();
  const shipped = createPriceBook({ tables: [loadShippedPrices()], pegs });

  it.each(['ETH', 'BTC', 'SOL', 'TRON', 'BSC', 'XMR', 'CRONOS'] as const)(
    'values a transfer of %s in October 2026 at the newest known close',
    async (chain) => {
      const { symbol, decimals } = CHAINS.find(({ id }) => id === chain) as (typeof CHAINS)[number];
      const transfer: Transfer = {
        ...{ chain, txHash: 'a', position: 'value', blockNumber: 1, timestampMs: OCTOBER_2026 },
        ...{ from: null, to: null, asset: symbol, amount: 10n ** BigInt(decimals), decimals },
        valueUsd: null,
      };
      const { value: found } = await priced([transfer], shipped).next();
      const close = shipped.known({ chain, asset: symbol }, OCTOBER_2026);
      expect(close).toMatchObject({ status: 'LAST_KNOWN' });
      expect(found?.valueUsd).toBeCloseTo(close?.usd ?? 0, 6);
      expect(shipped.priceStatusAt(chain, symbol, OCTOBER_2026)).toBe('LAST_KNOWN');
    },
  );

  it('gives ETH and BTC in October 2026 the close of December 2025', () => {
    expect(shipped.usdAt(ETH, OCTOBER_2026)).toMatchObject({ usd: 2971.64, atMs: at('2026-01-01') });
    expect(shipped.usdAt({ chain: 'BTC', asset: 'BTC' }, OCTOBER_2026)).toMatchObject({ usd: 87648.22 });
  });

  it('knows the day of the newest close after its maximum age, so that an earlier value is not shown as EXACT', () => {
    const JUNE_2027 = at('2027-06-10');
    const close = at('2026-01-01');
    for (const { chain, asset } of [ETH, WETH]) {
      expect(shipped.priceStatusAt(chain, asset, JUNE_2027)).toBe('NONE');
      expect(shipped.lastPriceAt(chain, asset, JUNE_2027)).toBe(close);
    }
    expect([
      shipped.lastPriceAt('ETH', UNI.asset, JUNE_2027),
      shipped.lastPriceAt('ETH', USDC.asset, JUNE_2027),
      shipped.lastPriceAt('ETH', 'ETH', at('2009-01-01')),
    ]).toEqual([null, null, null]);
    const names = { chain: 'ETH', assets: loadAssetFacts(), atMs: JUNE_2027 } as const;
    // One transfer of 2026 with the last known price, and one of June 2027 without a price.
    const flow = { asset: 'ETH', valueUsd: 2971.64, unpricedTransfers: 1 };
    expect(priceOf(flow, names)).toEqual({ priceStatus: 'LAST_KNOWN', priceDate: '2026-01-01' });
    expect(priceOf({ ...flow, asset: UNI.asset }, names)).toEqual({ priceStatus: 'EXACT', priceDate: null });
  });

  it('gives a wrapped coin the price of its coin, and the source of the price', () => {
    expect(shipped.usdAt(WETH, OCTOBER_2026)).toEqual({
      ...{ usd: 2971.64, atMs: at('2026-01-01'), status: 'PEG', source: 'peg', decimals: 18 },
      coin: { symbol: 'ETH', status: 'LAST_KNOWN', source: 'shipped' },
    });
    expect(shipped.usdAt(WETH, at('2014-01-01'))).toBeNull();
    expect(shipped.priceStatusAt('ETH', WETH.asset, at('2014-01-01'))).toBe('NONE');
  });

  it('counts a dollar token as one dollar until its peg ends', () => {
    expect(shipped.usdAt(USDC, OCTOBER_2026)).toMatchObject({ usd: 1, status: 'PEG' });
    expect(shipped.priceStatusAt('GNOSIS', 'XDAI', OCTOBER_2026)).toBe('PEG');
    expect(shipped.priceStatusAt('ETH', BUSD.asset, at('2024-02-29T12:00:00Z'))).toBe('PEG');
    expect(shipped.priceStatusAt('ETH', BUSD.asset, at('2024-03-01'))).toBe('NONE');
    expect(shipped.usdAt(BUSD, OCTOBER_2026)).toBeNull();
  });

  it('has no price for an unknown token with any symbol', () => {
    expect(
      shipped.usdAt({ chain: 'ETH', asset: '0x00000000219ab540356cBB839Cbe05303d7705Fa' }, OCTOBER_2026),
    ).toBeNull();
    expect(shipped.usdAt({ chain: 'BSC', asset: 'ETH' }, OCTOBER_2026)).toBeNull();
  });

  it('prefers a price of the day over a peg, and a peg over an older price', () => {
    const own = (price: Partial<UsdPrice>) =>
      createPriceBook({ tables: [table(USDC, price), loadShippedPrices()], pegs });
    expect(own({ usd: 0.88 }).usdAt(USDC, OCTOBER_2026)).toMatchObject({ usd: 0.88, status: 'EXACT' });
    expect(own({ usd: 0.88, status: 'LAST_KNOWN' }).usdAt(USDC, OCTOBER_2026)).toMatchObject({ usd: 1 });
  });

  it('requests live sources only without a price of the day, and uses the newest remaining price', async () => {
    let requests = 0;
    const live = (price: UsdPrice | null): PriceSource => ({
      usdAt: () => {
        requests++;
        return price;
      },
    });
    const exact: UsdPrice = { usd: 3, atMs: OCTOBER_2026, status: 'EXACT', source: 'http' };
    const old = table(ETH, { usd: 2, atMs: 10, status: 'LAST_KNOWN' });
    const older = table(ETH, { usd: 1, atMs: 5, status: 'LAST_KNOWN' });
    const book = (tables: PriceTable[], sources: PriceSource[]) =>
      createPriceBook({ tables, pegs, live: sources });
    expect(await book([old], [later(live(null)), live(exact), live(null)]).usdAt(ETH, OCTOBER_2026)).toEqual(
      exact,
    );
    expect(requests).toBe(2);
    expect(book([older, old], []).usdAt(ETH, OCTOBER_2026)).toMatchObject({ usd: 2 });
    expect(await book([older, old], [later(live(null))]).usdAt(ETH, OCTOBER_2026)).toMatchObject({ usd: 2 });
    requests = 0;
    expect(book([table(ETH, { usd: 9 })], [live(exact)]).usdAt(ETH, OCTOBER_2026)).toMatchObject({ usd: 9 });
    expect(book([], [live(exact)]).usdAt(USDC, OCTOBER_2026)).toMatchObject({ status: 'PEG' });
    expect(requests).toBe(0);
    // A wrapped coin takes the live price of its coin.
    expect(await book([], [later(table(ETH, { usd: 7 }))]).usdAt(WETH, OCTOBER_2026)).toMatchObject({
      ...{ usd: 7, status: 'PEG', coin: { symbol: 'ETH', status: 'EXACT' } },
    });
    expect(await book([], [later(live(null))]).usdAt(UNI, OCTOBER_2026)).toBeNull();
  });

  it('never gives a later price, or one past its maximum age (any asset, any time)', () => {
    const assets = [...CHAINS.map(({ id, symbol }) => ({ chain: id, asset: symbol })), ...pegs.all];
    fc.assert(
      fc.property(
        fc.constantFrom(...assets),
        fc.integer({ min: at('2009-01-01'), max: at('2028-01-01') }),
        (asset, time) => {
          const found = shipped.known(asset, time);
          if (found === null) return;
          expect(found.usd).toBeGreaterThan(0);
          expect(found.atMs).toBeLessThanOrEqual(time);
          expect(time - found.atMs).toBeLessThanOrEqual(400 * DAY);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('the prices of an installation', () => {
  let folder = '';
  let nowMs = 0;
  const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-book-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const take = (text: string): void => {
    const file = join(folder, 'desk.csv');
    writeFileSync(file, text);
    importPrices({ folder: join(folder, 'prices'), file });
    // Two tables written within one tick of the file system's clock would look like one.
    nowMs += 1_000;
    utimesSync(join(folder, 'prices'), new Date(nowMs), new Date(nowMs));
  };

  it('are reloaded if a table is imported beside a running process', () => {
    const { book } = openInstalledPrices({ folder: join(folder, 'prices') }, { clock, log: silentLogger });
    expect(book.known(ETH, OCTOBER_2026)).toMatchObject({ usd: 2971.64 });
    take('chain,asset,date,usd\nETH,ETH,2026-10-15,4000\n');
    nowMs += 2_000;
    expect(book.known(ETH, OCTOBER_2026)).toMatchObject({ usd: 4000, status: 'EXACT', source: 'own' });
    take('chain,asset,date,usd\nETH,ETH,2026-10-15,4100\n');
    nowMs += 2_000;
    expect(book.known(ETH, OCTOBER_2026)).toMatchObject({ usd: 4100 });
  });

  it('stay in force if a table becomes unreadable', () => {
    take('chain,asset,date,usd\nETH,ETH,2026-10-15,4000\n');
    const { book } = openInstalledPrices({ folder: join(folder, 'prices') }, { clock, log: silentLogger });
    writeFileSync(join(folder, 'prices', 'broken.csv'), 'chain,asset\n');
    utimesSync(join(folder, 'prices'), new Date(nowMs + 5_000), new Date(nowMs + 5_000));
    nowMs += 2_000;
    expect(book.known(ETH, OCTOBER_2026)).toMatchObject({ usd: 4000 });
  });
});
