import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { PUBLIC_HTTPS } from '../../../src/base/outbound.ts';
import { type HttpPrices, type HttpPricesOptions, openHttpPrices } from '../../../src/chains/prices/http.ts';
import { loadCoinGeckoNames } from '../../../src/chains/prices/table.ts';

const BTC = { chain: 'BTC', asset: 'BTC' } as const;
const UNI = { chain: 'ETH', asset: '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984' } as const;
const HOUR = 3_600_000;
const at = (text: string): number => Date.parse(text);

/** The documented format of market_chart/range: one point per hour between `from` and `to`. */
function chart(query: URLSearchParams, usd = 20_000): string {
  const [from, to] = [Number(query.get('from')) * 1000, Number(query.get('to')) * 1000];
  const prices: [number, number][] = [];
  for (let time = from; time <= to; time += HOUR) prices.push([time, usd + ((time / HOUR) % 24)]);
  return JSON.stringify({ prices, market_caps: prices, total_volumes: prices });
}

describe('prices over HTTP', () => {
  let server: Server;
  let requests: { path: string; query: URLSearchParams; headers: IncomingMessage['headers'] }[] = [];
  let answer: (query: URLSearchParams, response: ServerResponse) => void;
  let open: HttpPrices[] = [];
  let nowMs = 0;
  let setBackMs = 0;
  const clock: Clock = { now: () => nowMs - setBackMs, monotonic: () => nowMs };

  beforeEach(async () => {
    requests = [];
    open = [];
    setBackMs = 0;
    nowMs = at('2024-06-01T12:00:00Z');
    answer = (query, response) => response.end(chart(query));
    server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      requests.push({ path: url.pathname, query: url.searchParams, headers: request.headers });
      answer(url.searchParams, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    for (const source of open) await source.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  function prices(more: Partial<HttpPricesOptions> = {}): HttpPrices {
    const source = openHttpPrices(
      {
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3/`,
        apiKey: null,
        names: loadCoinGeckoNames(),
        policy: { trustedHosts: new Set(['127.0.0.1']) },
        waitMs: 0,
        timeoutMs: 20_000,
        ...more,
      },
      { clock, log: silentLogger },
    );
    open.push(source);
    return source;
  }

  it('requests a window of a coin once, and gives the nearest earlier point', async () => {
    const source = prices({ apiKey: 'secret' });
    const time = at('2023-01-10T10:30:00Z');
    const [first, second] = await Promise.all([source.usdAt(BTC, time), source.usdAt(BTC, time + HOUR)]);
    expect(first).toMatchObject({ source: 'http', atMs: at('2023-01-10T10:00:00Z'), usd: 20_010 });
    expect(second).toMatchObject({ atMs: at('2023-01-10T11:00:00Z') });
    expect(source.usdAt(BTC, time + 2 * HOUR)).toMatchObject({ usd: 20_012 });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.path).toBe('/api/v3/coins/bitcoin/market_chart/range');
    expect(requests[0]?.query.get('vs_currency')).toBe('usd');
    expect(Number(requests[0]?.query.get('from')) * 1000).toBeLessThanOrEqual(time);
    expect(Number(requests[0]?.query.get('to')) * 1000).toBeGreaterThan(time);
    expect(requests[0]?.headers['x-cg-demo-api-key']).toBe('secret');
  });

  it('requests tokens by contract: history, and the current price', async () => {
    const source = prices();
    expect(await source.usdAt(UNI, at('2023-01-10T10:30:00Z'))).toMatchObject({ usd: 20_010 });
    expect(requests[0]?.path).toBe(
      `/api/v3/coins/ethereum/contract/${UNI.asset.toLowerCase()}/market_chart/range`,
    );
    answer = (_, response) =>
      response.end(
        JSON.stringify({
          [UNI.asset.toLowerCase()]: { usd: 9.5, last_updated_at: Math.floor(nowMs / 1000) - 20 },
        }),
      );
    expect(await source.usdAt(UNI, nowMs - 5_000)).toMatchObject({ usd: 9.5, atMs: nowMs - 20_000 });
    expect(requests[1]?.path).toBe('/api/v3/simple/token_price/ethereum');
    expect(requests[1]?.query.get('contract_addresses')).toBe(UNI.asset.toLowerCase());
  });

  it('sends no request for an unsupported asset or a future time', async () => {
    const source = prices();
    expect(source.usdAt({ chain: 'ETC', asset: UNI.asset }, nowMs - HOUR)).toBeNull();
    expect(source.usdAt(BTC, nowMs + HOUR)).toBeNull();
    expect(requests).toHaveLength(0);
  });

  it('requests a current window again, and a past one never', async () => {
    const source = prices();
    await source.usdAt(BTC, nowMs - HOUR);
    await source.usdAt(BTC, at('2023-01-10T00:00:00Z'));
    nowMs += 2 * HOUR;
    await source.usdAt(BTC, nowMs - HOUR);
    await source.usdAt(BTC, at('2023-01-11T00:00:00Z'));
    expect(requests).toHaveLength(3);
  });

  it('requests a current window again if the clock moved backwards', async () => {
    const source = prices();
    const atMs = nowMs - 2 * HOUR;
    await source.usdAt(BTC, atMs);
    setBackMs = HOUR;
    nowMs += HOUR;
    await source.usdAt(BTC, atMs);
    expect(requests).toHaveLength(2);
  });

  it('pauses after a 429 for as long as the server requests', async () => {
    const source = prices();
    answer = (_, response) =>
      response.writeHead(429, { 'retry-after': '120' }).end('{"status":{"error_code":429}}');
    expect(await source.usdAt(BTC, at('2023-01-10T00:00:00Z'))).toBeNull();
    answer = (query, response) => response.end(chart(query));
    nowMs += 100_000;
    expect(await source.usdAt(BTC, at('2023-01-10T00:00:00Z'))).toBeNull();
    expect(await source.usdAt(BTC, at('2022-01-10T00:00:00Z'))).toBeNull();
    expect(requests).toHaveLength(1);
    nowMs += 90_000;
    expect(await source.usdAt(BTC, at('2023-01-10T00:00:00Z'))).toMatchObject({ source: 'http' });
  });

  it('respects its rate limit: a price beyond it is unknown', async () => {
    const source = prices({ perMinute: 2 });
    const months = ['2021-01-10', '2022-01-10', '2023-01-10'].map((day) => at(`${day}T00:00:00Z`));
    const found = await Promise.all(months.map((time) => source.usdAt(BTC, time)));
    expect(found.filter((price) => price !== null)).toHaveLength(2);
    expect(requests).toHaveLength(2);
  });

  const faults: [string, (query: URLSearchParams, response: ServerResponse) => void][] = [
    ['a fault of the server', (_, response) => response.writeHead(503).end('down')],
    ['a refusal', (_, response) => response.writeHead(401).end('{}')],
    ['a redirect', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['text that is not JSON', (_, response) => response.end('<html>')],
    ['JSON of another form', (_, response) => response.end('{"prices":{"usd":5}}')],
    ['points of another form', (_, response) => response.end('{"prices":[["now",5]]}')],
    ['a null', (_, response) => response.end('null')],
    ['too much', (_, response) => response.end(Buffer.alloc(5 * 1024 * 1024, 0x20))],
    [
      'a cut connection',
      (_, response) =>
        void response.writeHead(200, { 'content-length': '100' }).write('{"pri', () => response.destroy()),
    ],
    ['silence', () => {}],
  ];
  it.each(faults)(
    '%s: leaves the price unknown, and requests it again a minute later',
    async (name, fault) => {
      const source = prices(name === 'silence' ? { timeoutMs: 1_500 } : {});
      const time = at('2023-01-10T00:00:00Z');
      answer = fault;
      expect(await source.usdAt(BTC, time)).toBeNull();
      expect(await source.usdAt(BTC, time)).toBeNull();
      expect(requests).toHaveLength(1);
      nowMs += 61_000;
      answer = (query, response) => response.end(chart(query));
      expect(await source.usdAt(BTC, time)).toMatchObject({ usd: 20_000 });
    },
  );

  it('never accepts zero, null or a negative number as a price', async () => {
    const source = prices();
    const time = at('2023-01-10T10:30:00Z');
    answer = (_, response) =>
      response.end(
        JSON.stringify({
          prices: [
            [time - 3 * HOUR, 7],
            [time - HOUR, 0],
            [time - 2, null],
            [time - 1, -4],
          ],
        }),
      );
    expect(await source.usdAt(BTC, time)).toMatchObject({ usd: 7 });
    answer = (_, response) =>
      response.end(JSON.stringify({ [UNI.asset.toLowerCase()]: { usd: 0, last_updated_at: 5 } }));
    expect(await source.usdAt(UNI, nowMs)).toBeNull();
  });

  it('accepts no point that is too old', async () => {
    const source = prices();
    const time = at('2023-01-10T10:30:00Z');
    answer = (_, response) => response.end(JSON.stringify({ prices: [[time - 7 * HOUR, 7]] }));
    expect(await source.usdAt(BTC, time)).toBeNull();
  });

  it('caches that a coin is unknown to the server', async () => {
    const source = prices();
    answer = (_, response) => response.writeHead(404).end('{"error":"coin not found"}');
    expect(await source.usdAt(BTC, at('2023-01-10T00:00:00Z'))).toBeNull();
    nowMs += HOUR;
    expect(await source.usdAt(BTC, at('2023-01-10T00:00:00Z'))).toBeNull();
    expect(requests).toHaveLength(1);
  });

  it('connects to no private address, unless it is trusted', () => {
    expect(() => prices({ policy: PUBLIC_HTTPS })).toThrow(/refused/);
    expect(() => prices({ policy: PUBLIC_HTTPS, baseUrl: 'https://10.0.0.1/api/v3' })).toThrow(/not public/);
  });

  it('ends with its signal, and ends pending requests when it is closed', async () => {
    const source = prices();
    expect(() => source.usdAt(BTC, at('2023-01-10T00:00:00Z'), AbortSignal.abort())).toThrow();
    answer = () => {};
    const waiting = source.usdAt(BTC, at('2023-01-10T00:00:00Z'));
    await source.close();
    expect(await waiting).toBeNull();
  });
});
