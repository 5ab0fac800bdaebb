/** A local price server in CoinGecko's layout, for tests. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PriceRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

export interface TestPriceServer {
  /** The URL with the version, as in ASSAY_PRICE_URL. */
  readonly url: string;
  readonly requests: PriceRequest[];
  /** Replaces the response; the default gives daily samples at midnight, of 100 USD plus the day of the month. */
  answer: (request: PriceRequest, response: ServerResponse) => void;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;

/** The documented form of market_chart/range with one sample a day, at midnight. */
export function dailyChart(
  query: URLSearchParams,
  usd = (timeMs: number) => 100 + new Date(timeMs).getUTCDate(),
): string {
  const [from, to] = [Number(query.get('from')) * 1000, Number(query.get('to')) * 1000];
  const prices: [number, number][] = [];
  for (let timeMs = Math.ceil(from / DAY_MS) * DAY_MS; timeMs <= to; timeMs += DAY_MS)
    prices.push([timeMs, usd(timeMs)]);
  return JSON.stringify({ prices, market_caps: [], total_volumes: [] });
}

export async function startPriceServer(): Promise<TestPriceServer> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const received = { path: url.pathname, query: url.searchParams, headers: request.headers };
    started.requests.push(received);
    started.answer(received, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const started: TestPriceServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`,
    requests: [],
    answer: ({ query }, response) => response.end(dailyChart(query)),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return started;
}
