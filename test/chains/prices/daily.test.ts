import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import {
  dailyCloses,
  type FeedPrice,
  importMarketChart,
  type PriceSyncReport,
  syncPrices,
} from '../../../src/chains/prices/daily.ts';
import { openPriceServer } from '../../../src/chains/prices/price-server.ts';
import { loadCoinGeckoNames, loadOwnPrices } from '../../../src/chains/prices/table.ts';
import { dailyChart, startPriceServer, type TestPriceServer } from '../../setup/price-server.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const NOW = Date.parse('2026-10-15T12:00:00Z');
const midnight = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const ETH = { chain: 'ETH', asset: 'ETH' } as const;
const BTC = { chain: 'BTC', asset: 'BTC' } as const;

describe('daily closes', () => {
  it('are the last sample before midnight, and count from midnight', () => {
    const samples = [
      { timeMs: midnight('2026-10-01') + 20 * HOUR, usd: 1 },
      { timeMs: midnight('2026-10-01') + 23 * HOUR, usd: 2 },
      { timeMs: midnight('2026-10-02') + 5 * HOUR, usd: 3 },
    ];
    expect(dailyCloses(samples, NOW)).toEqual([{ atMs: midnight('2026-10-02'), usd: 2 }]);
  });

  it('include a sample at midnight, and a late one with its own time', () => {
    const late = midnight('2026-10-03') + 60_000;
    expect(
      dailyCloses(
        [
          { timeMs: midnight('2026-10-02'), usd: 5 },
          { timeMs: late, usd: 6 },
        ],
        NOW,
      ),
    ).toEqual([
      { atMs: midnight('2026-10-02'), usd: 5 },
      { atMs: late, usd: 6 },
    ]);
  });

  it('never date a sample earlier than it was taken, or in the future (any samples)', () => {
    const sample = fc.record({
      timeMs: fc.integer({ min: NOW - 40 * DAY, max: NOW + 2 * DAY }),
      usd: fc.double({ min: 1, max: 9, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 60 }), (unsorted) => {
        const samples = unsorted.sort((a, b) => a.timeMs - b.timeMs);
        for (const { atMs, usd } of dailyCloses(samples, NOW)) {
          expect(atMs).toBeLessThanOrEqual(NOW);
          expect(
            samples.some((one) => one.usd === usd && one.timeMs <= atMs && atMs - one.timeMs <= 6 * HOUR),
          ).toBe(true);
        }
      }),
    );
  });
});

describe('the price sync', () => {
  let folder = '';
  let server: TestPriceServer;
  let nowMs = NOW;
  const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };
  beforeEach(async () => {
    nowMs = NOW;
    folder = mkdtempSync(join(tmpdir(), 'assay-daily-'));
    server = await startPriceServer();
  });
  afterEach(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function sync(
    more: {
      readonly coins?: Record<string, string>;
      readonly feeds?: (signal?: AbortSignal) => Promise<readonly FeedPrice[]>;
      readonly noServer?: boolean;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<PriceSyncReport> {
    const client = openPriceServer(
      {
        baseUrl: server.url,
        apiKey: 'secret',
        names: loadCoinGeckoNames(),
        policy: { trustedHosts: new Set(['127.0.0.1']) },
        ...{ perMinute: 1_000, timeoutMs: 5_000 },
      },
      { clock, log: silentLogger },
    );
    try {
      return await syncPrices(
        {
          folder: join(folder, 'daily'),
          coins: more.coins ?? { BTC: 'bitcoin', ETH: 'ethereum' },
          ...(more.signal ? { signal: more.signal } : {}),
        },
        { clock, server: more.noServer ? null : client, feeds: more.feeds ?? null },
      );
    } finally {
      await client.close();
    }
  }
  const stored = () => loadOwnPrices({ folder: join(folder, 'daily'), source: 'daily' });

  it('stores a year of closes in persistent tables', async () => {
    expect(await sync()).toEqual({
      ...{ source: 'prices', ok: true, coins: 2, closes: 730, newest: '2026-10-15', errors: [] },
    });
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/api/v3/coins/bitcoin/market_chart/range',
      '/api/v3/coins/ethereum/market_chart/range',
    ]);
    expect(server.requests[0]?.headers['x-cg-demo-api-key']).toBe('secret');
    expect(stored().usdAt(ETH, Date.parse('2026-10-14T15:00:00Z'))).toEqual({
      ...{ usd: 114, atMs: midnight('2026-10-14'), status: 'EXACT', source: 'daily', decimals: 18 },
    });
    expect(stored().usdAt({ chain: 'BASE', asset: 'ETH' }, NOW)).toMatchObject({ usd: 115 });
  });

  it('requests and adds only new closes', async () => {
    await sync();
    nowMs += 2 * DAY;
    expect(await sync()).toMatchObject({ ok: true, closes: 4, newest: '2026-10-17' });
    const { query } = server.requests.at(-1) as (typeof server.requests)[number];
    expect(Number(query.get('from')) * 1000).toBe(midnight('2026-10-12'));
    expect(stored().usdAt(BTC, midnight('2025-10-20'))).toMatchObject({ usd: 120 });
    expect(stored().usdAt(BTC, midnight('2026-10-17'))).toMatchObject({ usd: 117 });
    expect(await sync()).toMatchObject({ ok: true, closes: 0 });
  });

  it('applies a correction of the last days', async () => {
    await sync();
    server.answer = ({ query }, response) => response.end(dailyChart(query, () => 7));
    expect(await sync()).toMatchObject({ closes: 8 });
    expect(stored().usdAt(BTC, NOW)).toMatchObject({ usd: 7 });
    expect(stored().usdAt(BTC, midnight('2026-10-11'))).toMatchObject({ usd: 111 });
  });

  it('keeps its closes if the server fails, reports the failure, and stops', async () => {
    await sync();
    server.requests.length = 0;
    server.answer = (_, response) => response.writeHead(503).end();
    const coins = Object.fromEntries(Object.entries(loadCoinGeckoNames().coins).slice(0, 10));
    const report = await sync({ coins });
    expect(report).toMatchObject({ ok: false, closes: 0 });
    expect(report.errors[0]).toMatch(/^BTC: status 503\.$/);
    expect(server.requests).toHaveLength(3);
    expect(stored().usdAt(ETH, NOW)).toMatchObject({ usd: 115 });
  });

  it.each([
    [
      'an unknown coin',
      (_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(404).end(),
      /does not know 'bitcoin'/,
    ],
    [
      'another layout',
      (_: unknown, response: { end(text: string): void }) => response.end('{"prices":5}'),
      /market_chart/,
    ],
  ] as const)('continues with the other coins after %s', async (_, fault, message) => {
    server.answer = ({ path, query }, response) =>
      path.includes('bitcoin') ? fault(null, response) : response.end(dailyChart(query));
    const report = await sync();
    expect(report.ok).toBe(false);
    expect(report.errors).toEqual([expect.stringMatching(message)]);
    expect(stored().usdAt(ETH, NOW)).toMatchObject({ usd: 115 });
    expect(stored().usdAt(BTC, NOW)).toBeNull();
  });

  it('never stores a price of zero, of text, or in the future', async () => {
    server.answer = (_, response) =>
      response.end(
        JSON.stringify({
          prices: [
            [midnight('2026-10-13'), 0],
            [midnight('2026-10-14'), 'chain,asset\n'],
            [NOW + DAY, 5],
          ],
        }),
      );
    expect(await sync()).toMatchObject({ closes: 0, newest: null });
    expect(existsSync(join(folder, 'daily', 'coingecko.csv'))).toBe(false);
  });

  it('stores closes of feeds too, and works without a price server', async () => {
    const report = await sync({
      noServer: true,
      feeds: async () => [{ symbol: 'ETH', atMs: NOW - HOUR, usd: 4_000.5 }],
    });
    expect(report).toMatchObject({ ok: true, coins: 1, closes: 1 });
    expect(server.requests).toHaveLength(0);
    expect(stored().usdAt(ETH, NOW)).toMatchObject({ usd: 4_000.5, atMs: NOW - HOUR, status: 'EXACT' });
    const failed = await sync({ noServer: true, feeds: () => Promise.reject(new Error('down')) });
    expect(failed).toMatchObject({ ok: false, errors: ['chainlink: down'] });
    expect(stored().usdAt(ETH, NOW)).toMatchObject({ usd: 4_000.5 });
  });

  it('ends with its signal', async () => {
    await expect(sync({ signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

describe('a saved response of market_chart', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-chart-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const UNI = { chain: 'ETH', asset: '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984' } as const;
  const take = (text: string, asset: typeof UNI | { chain: 'XLM'; asset: string } = UNI) => {
    const file = join(folder, 'Uni Chart.json');
    writeFileSync(file, text);
    return importMarketChart({ folder: join(folder, 'prices'), file, ...asset }, { now: () => NOW });
  };

  it('becomes an own table of daily closes', () => {
    const chart = dailyChart(
      new URLSearchParams({ from: String(midnight('2026-09-01') / 1000), to: String(NOW / 1000) }),
    );
    expect(take(chart)).toEqual({
      ...{ table: 'uni-chart', rows: 45, assets: 1, from: '2026-09-01', to: '2026-10-15' },
    });
    const own = loadOwnPrices({ folder: join(folder, 'prices') });
    expect(own.usdAt(UNI, NOW)).toMatchObject({ usd: 115, status: 'EXACT', source: 'own' });
    expect(readFileSync(join(folder, 'prices', 'uni-chart.csv'), 'utf8')).toContain(
      `ETH,${UNI.asset},2026-10-15T`,
    );
  });

  it.each([
    ['{', /must be JSON/],
    ['{"prices":{}}', /must have `prices`/],
    ['{"prices":[]}', /no close of a whole day/],
  ])('is rejected as %s', (text, message) => {
    expect(() => take(text)).toThrow(message);
    expect(existsSync(join(folder, 'prices'))).toBe(false);
  });

  it('is rejected for an asset that would break the table', () => {
    const chart = JSON.stringify({ prices: [[midnight('2026-10-01'), 5]] });
    expect(() => take(chart, { chain: 'XLM', asset: 'A,B\nBTC' })).toThrow(/without commas/);
  });
});
