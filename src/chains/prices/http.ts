/**
 * Prices from a server in CoinGecko's layout (docs.coingecko.com, read 2026-11-21): history of coins and of token contracts by
 * `market_chart/range`, tokens of now by `simple/token_price`. Whatever goes wrong, the price is unknown, and the server is let alone.
 */
import { request } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import { type ChainId, chainOf, isEvm } from '../registry.ts';
import type { PricedAsset, PriceSource, UsdPrice } from './price.ts';

export interface HttpPricesOptions {
  /** With the version: `https://api.coingecko.com/api/v3`. */
  readonly baseUrl: string;
  /** Sent in `keyHeader`; null where the server asks for none. */
  readonly apiKey: string | null;
  /** CoinGecko: `x-cg-demo-api-key`, or `x-cg-pro-api-key` at pro-api.coingecko.com. */
  readonly keyHeader?: string;
  /** Native symbol → coin id, chain → platform id: loadCoinGeckoNames. */
  readonly names: {
    readonly coins: Readonly<Record<string, string>>;
    readonly platforms: Readonly<Partial<Record<ChainId, string>>>;
  };
  readonly policy: OutboundPolicy;
  /** Requests a minute. Default 25: the public tier of CoinGecko allows 30. */
  readonly perMinute?: number;
  /** How long a price may wait for its turn before it is unknown, in milliseconds. Default 5 s. */
  readonly waitMs?: number;
  /** The whole of one request, in milliseconds. Default 10 s. */
  readonly timeoutMs?: number;
}

export interface HttpPricesDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface HttpPrices extends PriceSource {
  close(): Promise<void>;
}

const PER_MINUTE = 25;
const WAIT_MS = 5_000;
const TIMEOUT_MS = 10_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A window of history: below 90 days the server answers by the hour, and a month is asked for again and again. */
const WINDOW_MS = 30 * DAY_MS;
/** A point stands for this much of what follows: hourly points, with room for an exchange's bad day. */
const MAX_AGE_MS = 6 * 3_600_000;
/** Server-side the last 90 days are kept for half an hour: asking more often brings nothing. */
const OPEN_WINDOW_MS = 30 * MINUTE_MS;
/** What failed is not asked again for this long: a minute for faults that pass, a day for a coin that the server does not know. */
const FAILED_MS = MINUTE_MS;
const UNKNOWN_MS = DAY_MS;
/** The prices of now. */
const NOW_MS = MINUTE_MS;
/** A 429 without Retry-After. */
const PAUSE_MS = MINUTE_MS;
const PAUSE_MAX_MS = 3_600_000;

/** What is known of one window: points, or nothing; and until when that is believed. */
interface Window {
  readonly timesMs: readonly number[];
  readonly usd: readonly number[];
  readonly untilMs: number;
}

type Answer =
  | { readonly kind: 'json'; readonly body: unknown }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed' };

/** Points of `market_chart/range`: `prices` is `[[milliseconds, price], …]`. Null where the answer has another form. */
function pointsOf(body: unknown): { timesMs: number[]; usd: number[] } | null {
  const prices = (body as { prices?: unknown } | null)?.prices;
  if (!Array.isArray(prices)) return null;
  const points: [number, number][] = [];
  for (const point of prices) {
    if (!Array.isArray(point)) return null;
    const [timeMs, usd] = point as unknown[];
    if (typeof timeMs !== 'number' || !Number.isFinite(timeMs)) return null;
    // A day that the server has no price of is null, and a coin of no worth is not known to be worth zero.
    if (typeof usd === 'number' && Number.isFinite(usd) && usd > 0) points.push([timeMs, usd]);
  }
  points.sort((a, b) => a[0] - b[0]);
  return { timesMs: points.map(([timeMs]) => timeMs), usd: points.map(([, usd]) => usd) };
}

/** Price and time of one contract of `simple/token_price`; null where the server knows none. */
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
  return { usd: window.usd[found] as number, atMs: window.timesMs[found] as number, source };
}

/** Opens the source; nothing is asked before the first price. Throws SOURCE_UNAVAILABLE for a base URL that must not be asked. */
export function openHttpPrices(options: HttpPricesOptions, deps: HttpPricesDeps): HttpPrices {
  const { names, policy, apiKey } = options;
  const { clock, log } = deps;
  const perMinute = options.perMinute ?? PER_MINUTE;
  const waitMs = options.waitMs ?? WAIT_MS;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const base = options.baseUrl.replace(/\/+$/, '');
  checkOutboundUrl(new URL(base), policy);
  const agent = createOutboundAgent({
    policy,
    timeouts: { connectMs: timeoutMs, headersMs: timeoutMs, stallMs: timeoutMs },
  });
  /** Oldest first, so that the first to go is the one that was not asked for longest. */
  const windows = new Map<string, Window>();
  const asking = new Map<string, Promise<Window>>();
  const closing = new AbortController();
  /** When the requests of the last minute were sent. */
  let sent: number[] = [];
  let pausedUntil = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function warn(reason: string): void {
    const now = clock.monotonic();
    if (now - warnedAt < MINUTE_MS) return;
    warnedAt = now;
    log.warn({ server: new URL(base).host, reason }, 'no prices from the price server');
  }

  /** Waits for a turn under the rate; false where it would be too long. */
  async function turn(): Promise<boolean> {
    const until = clock.monotonic() + waitMs;
    for (;;) {
      const now = clock.monotonic();
      if (now < pausedUntil) return false;
      sent = sent.filter((at) => now - at < MINUTE_MS);
      if (sent.length < perMinute) {
        sent.push(now);
        return true;
      }
      const free = (sent[0] as number) + MINUTE_MS;
      if (free > until) return false;
      await new Promise((resolve) => setTimeout(resolve, free - now + 1));
      if (closing.signal.aborted) return false;
    }
  }

  function pause(retryAfter: string | string[] | undefined): void {
    const seconds = Number(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter);
    const ms = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, PAUSE_MAX_MS) : PAUSE_MS;
    pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms);
  }

  async function ask(path: string, query: Readonly<Record<string, string>>): Promise<Answer> {
    if (!(await turn())) return { kind: 'failed' };
    const url = `${base}${path}?${new URLSearchParams(query)}`;
    try {
      const response = await request(url, {
        dispatcher: agent,
        headers: {
          accept: 'application/json',
          ...(apiKey === null ? {} : { [options.keyHeader ?? 'x-cg-demo-api-key']: apiKey }),
        },
        signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
      });
      if (response.statusCode !== 200) {
        if (response.statusCode === 429) pause(response.headers['retry-after']);
        await response.body.dump();
        // 404: no such coin or contract. Everything else says something of the server, nothing of the price.
        if (response.statusCode === 404) return { kind: 'unknown' };
        warn(`status ${response.statusCode}`);
        return { kind: 'failed' };
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > LIMITS.priceAnswerBytesMax)
          throw new AssayError('SOURCE_UNAVAILABLE', `more than ${LIMITS.priceAnswerBytesMax} bytes`);
        chunks.push(chunk);
      }
      return { kind: 'json', body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
    } catch (error) {
      if (!closing.signal.aborted) warn(messageOf(error));
      return { kind: 'failed' };
    }
  }

  const nothing = (forMs: number): Window => ({ timesMs: [], usd: [], untilMs: clock.now() + forMs });

  /** One window of history, from a path of coins or contracts. */
  async function history(path: string, fromMs: number): Promise<Window> {
    const toMs = fromMs + WINDOW_MS;
    const answer = await ask(path, {
      vs_currency: 'usd',
      // A little earlier, so that the first moments of the window have a price before them.
      from: String(Math.floor((fromMs - MAX_AGE_MS) / 1000)),
      to: String(Math.floor(toMs / 1000)),
    });
    if (answer.kind !== 'json') return nothing(answer.kind === 'unknown' ? UNKNOWN_MS : FAILED_MS);
    const points = pointsOf(answer.body);
    if (points === null) {
      warn('an answer that is not in the layout of market_chart/range');
      return nothing(FAILED_MS);
    }
    // A window that lies behind us whole does not change any more.
    const isClosed = toMs + DAY_MS < clock.now();
    return { ...points, untilMs: isClosed ? Number.POSITIVE_INFINITY : clock.now() + OPEN_WINDOW_MS };
  }

  async function tokenNow(platform: string, contract: string): Promise<Window> {
    const answer = await ask(`/simple/token_price/${encodeURIComponent(platform)}`, {
      contract_addresses: contract,
      vs_currencies: 'usd',
      include_last_updated_at: 'true',
    });
    if (answer.kind !== 'json') return nothing(answer.kind === 'unknown' ? UNKNOWN_MS : FAILED_MS);
    const found = tokenPriceOf(answer.body, contract);
    if (found === null) return nothing(UNKNOWN_MS);
    return { timesMs: [found.timeMs], usd: [found.usd], untilMs: clock.now() + NOW_MS };
  }

  function windowOf(key: string, fetch: () => Promise<Window>): Window | Promise<Window> {
    const known = windows.get(key);
    if (known && known.untilMs > clock.now()) {
      windows.delete(key);
      windows.set(key, known);
      return known;
    }
    const now = asking.get(key);
    if (now) return now;
    const asked = fetch().then((window) => {
      asking.delete(key);
      windows.delete(key);
      windows.set(key, window);
      const [oldest] = windows.keys();
      if (windows.size > LIMITS.priceWindowsKept && oldest !== undefined) windows.delete(oldest);
      return window;
    });
    asking.set(key, asked);
    return asked;
  }

  /** Where the asset's prices are asked for; null where the server has no name for it. */
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
      // The server's own clock may be a few seconds ahead of the block.
      const atMs = isNow ? timestampMs + MINUTE_MS : timestampMs;
      if (!(window instanceof Promise)) return lookUp(window, atMs, 'http');
      return window.then((found) => {
        signal?.throwIfAborted();
        return lookUp(found, atMs, 'http');
      });
    },
    async close() {
      closing.abort();
      await Promise.allSettled(asking.values());
      await agent.destroy();
    },
  };
}
