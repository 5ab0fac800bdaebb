/**
 * Prices on demand from a server with CoinGecko's API: histories of coins and token contracts by `market_chart/range`, current prices
 * of tokens by `simple/token_price`. If a request fails, the price is unknown, and the request is not repeated for a while.
 */
import { chainOf, isEvm } from '../registry.ts';
import { PRICE_LIMITS } from './limits.ts';
import type { PricedAsset, PriceSource, UsdPrice } from './price.ts';
import {
  openPriceServer,
  type PriceServerDeps,
  type PriceServerOptions,
  readMarketChart,
} from './price-server.ts';

export type HttpPricesOptions = PriceServerOptions;

export interface HttpPrices extends PriceSource {
  close(): Promise<void>;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Length of a history window: below 90 days the server returns hourly points, and the same month is requested repeatedly. */
const WINDOW_MS = 30 * DAY_MS;
/** How long a point is valid for later moments: points are hourly, and exchanges may skip some. */
const MAX_AGE_MS = 6 * 3_600_000;
/** The server caches the last 90 days for half an hour, so more frequent requests return the same data. */
const OPEN_WINDOW_MS = 30 * MINUTE_MS;
/** How long a failed request is not repeated: a minute for temporary faults, a day for a coin that the server does not know. */
const FAILED_MS = MINUTE_MS;
const UNKNOWN_MS = DAY_MS;
/** How long a current price is cached. */
const NOW_MS = MINUTE_MS;
/** One window of history: its points, if any, and its expiry. */
interface Window {
  readonly timesMs: readonly number[];
  readonly usd: readonly number[];
  readonly untilMs: number;
}

/** Reads the price and time of one contract from `simple/token_price`; null if the server has none. */
function tokenPriceOf(body: unknown, contract: string): { timeMs: number; usd: number } | null {
  const prices = body as Record<string, { usd?: unknown; last_updated_at?: unknown } | undefined> | null;
  const found = prices?.[contract] ?? prices?.[contract.toLowerCase()];
  const { usd, last_updated_at: updated } = found ?? {};
  if (typeof usd !== 'number' || !Number.isFinite(usd) || usd <= 0) return null;
  return typeof updated === 'number' && Number.isFinite(updated) ? { timeMs: updated * 1000, usd } : null;
}

function lookUp(window: Window, atMs: number, source: string): UsdPrice | null {
  const found = window.timesMs.findLastIndex((timeMs) => timeMs <= atMs);
  if (found < 0 || atMs - (window.timesMs[found] as number) > MAX_AGE_MS) return null;
  return { usd: window.usd[found] as number, atMs: window.timesMs[found] as number, status: 'EXACT', source };
}

/**
 * Opens the source; it makes no request before the first price.
 *
 * @throws SOURCE_UNAVAILABLE if the policy forbids the base URL
 */
export function openHttpPrices(options: HttpPricesOptions, deps: PriceServerDeps): HttpPrices {
  const { names } = options;
  const { clock } = deps;
  const server = openPriceServer(options, deps);
  /** Least recently used first. */
  const windows = new Map<string, Window>();
  const asking = new Map<string, Promise<Window>>();

  const nothing = (forMs: number): Window => ({ timesMs: [], usd: [], untilMs: clock.monotonic() + forMs });

  /** Requests one window of history of a coin or contract path. */
  async function history(path: string, fromMs: number): Promise<Window> {
    const toMs = fromMs + WINDOW_MS;
    const answer = await server.ask(path, {
      vs_currency: 'usd',
      // Start a little earlier, so that the first moments of the window have a price before them.
      from: String(Math.floor((fromMs - MAX_AGE_MS) / 1000)),
      to: String(Math.floor(toMs / 1000)),
    });
    if (answer.kind !== 'json') return nothing(answer.kind === 'unknown' ? UNKNOWN_MS : FAILED_MS);
    const samples = readMarketChart(answer.body);
    if (samples === null) {
      server.warn('response not in the format of market_chart/range');
      return nothing(FAILED_MS);
    }
    // A window that is entirely in the past does not change any more.
    const isClosed = toMs + DAY_MS < clock.now();
    return {
      timesMs: samples.map(({ timeMs }) => timeMs),
      usd: samples.map(({ usd }) => usd),
      untilMs: isClosed ? Number.POSITIVE_INFINITY : clock.monotonic() + OPEN_WINDOW_MS,
    };
  }

  async function tokenNow(platform: string, contract: string): Promise<Window> {
    const answer = await server.ask(`/simple/token_price/${encodeURIComponent(platform)}`, {
      contract_addresses: contract,
      vs_currencies: 'usd',
      include_last_updated_at: 'true',
    });
    if (answer.kind !== 'json') return nothing(answer.kind === 'unknown' ? UNKNOWN_MS : FAILED_MS);
    const found = tokenPriceOf(answer.body, contract);
    if (found === null) return nothing(UNKNOWN_MS);
    return { timesMs: [found.timeMs], usd: [found.usd], untilMs: clock.monotonic() + NOW_MS };
  }

  function windowOf(key: string, fetch: () => Promise<Window>): Window | Promise<Window> {
    const known = windows.get(key);
    if (known && known.untilMs > clock.monotonic()) {
      windows.delete(key);
      windows.set(key, known);
      return known;
    }
    const now = asking.get(key);
    if (now) return now;
    const pending = fetch().then((window) => {
      asking.delete(key);
      windows.delete(key);
      windows.set(key, window);
      const [oldest] = windows.keys();
      if (windows.size > PRICE_LIMITS.priceWindowsKept && oldest !== undefined) windows.delete(oldest);
      return window;
    });
    asking.set(key, pending);
    return pending;
  }

  /** Returns the path of the asset's prices; null if the server has no name for the asset. */
  function pathOf({
    chain,
    asset,
  }: PricedAsset): { path: string; platform: string | null; contract: string } | null {
    if (asset === chainOf(chain).symbol) {
      const coin = names.coins[asset];
      return coin === undefined ? null : { path: `/coins/${coin}`, platform: null, contract: '' };
    }
    const platform = names.platforms[chain];
    if (platform === undefined) return null;
    const contract = isEvm(chain) ? asset.toLowerCase() : asset;
    return { path: `/coins/${platform}/contract/${encodeURIComponent(contract)}`, platform, contract };
  }

  return {
    usdAt(asset, timestampMs, signal) {
      signal?.throwIfAborted();
      const now = clock.now();
      const place = pathOf(asset);
      if (place === null || timestampMs > now + MINUTE_MS || timestampMs < 0) return null;
      const { path, platform, contract } = place;
      const isNow = platform !== null && now - timestampMs < NOW_MS;
      const fromMs = Math.floor(timestampMs / WINDOW_MS) * WINDOW_MS;
      const window = isNow
        ? windowOf(`${path} now`, () => tokenNow(platform, contract))
        : windowOf(`${path} ${fromMs}`, () => history(`${path}/market_chart/range`, fromMs));
      // The server's clock may be a few seconds ahead of the block.
      const atMs = isNow ? timestampMs + MINUTE_MS : timestampMs;
      if (!(window instanceof Promise)) return lookUp(window, atMs, 'http');
      return window.then((found) => {
        signal?.throwIfAborted();
        return lookUp(found, atMs, 'http');
      });
    },
    async close() {
      await server.close();
      await Promise.allSettled(asking.values());
    },
  };
}
