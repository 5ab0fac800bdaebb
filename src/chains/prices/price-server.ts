/**
 * Requests to a price server with CoinGecko's API (docs.coingecko.com, read 2026-11-21), with a rate limit and the outbound policy.
 * Failures are returned, not thrown: the caller continues without a price.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import { sleep } from '../../base/retry.ts';
import { undici } from '../../base/undici.ts';
import type { ChainId } from '../registry.ts';
import { PRICE_LIMITS } from './limits.ts';

export interface PriceServerOptions {
  /** Including the version: `https://api.coingecko.com/api/v3`. */
  readonly baseUrl: string;
  /** Sent in `keyHeader`; null if the server needs none. */
  readonly apiKey: string | null;
  /** CoinGecko: `x-cg-demo-api-key`, or `x-cg-pro-api-key` at pro-api.coingecko.com. */
  readonly keyHeader?: string;
  /** Native symbol → coin id, chain → platform id: loadCoinGeckoNames. */
  readonly names: {
    readonly coins: Readonly<Record<string, string>>;
    readonly platforms: Readonly<Partial<Record<ChainId, string>>>;
  };
  readonly policy: OutboundPolicy;
  /** Requests per minute. Default 25: the public tier of CoinGecko allows 30. */
  readonly perMinute?: number;
  /** How long a request may wait for the rate limit before it fails, in milliseconds. Default 5 s. */
  readonly waitMs?: number;
  /** Time limit of one request, in milliseconds. Default 10 s. */
  readonly timeoutMs?: number;
}

export interface PriceServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export type PriceServerAnswer =
  | { readonly kind: 'json'; readonly body: unknown }
  /** The server does not know the coin or contract. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface PriceServer {
  ask(path: string, query: Readonly<Record<string, string>>): Promise<PriceServerAnswer>;
  /** Logs a failure, at most once a minute. */
  warn(reason: string): void;
  close(): Promise<void>;
}

const PER_MINUTE = 25;
const WAIT_MS = 5_000;
const TIMEOUT_MS = 10_000;
const MINUTE_MS = 60_000;
/** Pause after a 429 without Retry-After. */
const PAUSE_MS = MINUTE_MS;
const PAUSE_MAX_MS = 3_600_000;

/** One price of a history. */
export interface PriceSample {
  readonly timeMs: number;
  readonly usd: number;
}

/**
 * Parses a response of `market_chart/range`: `prices` is `[[milliseconds, price], …]`.
 *
 * @returns samples in ascending order of time, without those that are not above zero; null if the response has another form
 */
export function readMarketChart(body: unknown): PriceSample[] | null {
  const prices = (body as { prices?: unknown } | null)?.prices;
  if (!Array.isArray(prices)) return null;
  const samples: PriceSample[] = [];
  for (const point of prices) {
    if (!Array.isArray(point)) return null;
    const [timeMs, usd] = point as unknown[];
    if (typeof timeMs !== 'number' || !Number.isFinite(timeMs)) return null;
    // A day without a price is null. A price of zero means that no price is known, not that the coin is worthless.
    if (typeof usd === 'number' && Number.isFinite(usd) && usd > 0) samples.push({ timeMs, usd });
  }
  return samples.sort((a, b) => a.timeMs - b.timeMs);
}

/**
 * Opens a client; it sends nothing before the first request.
 *
 * @throws SOURCE_UNAVAILABLE if the policy forbids the base URL
 */
export function openPriceServer(options: PriceServerOptions, deps: PriceServerDeps): PriceServer {
  const { policy, apiKey } = options;
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
  const closing = new AbortController();
  /** Times of the requests of the last minute. */
  let sent: number[] = [];
  let pausedUntil = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function warn(reason: string): void {
    const now = clock.monotonic();
    if (now - warnedAt < MINUTE_MS) return;
    warnedAt = now;
    log.warn({ server: new URL(base).host, reason }, 'no prices from the price server');
  }

  /** Waits for the rate limit; returns false if that would take too long. */
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
      await sleep(free - now + 1);
      if (closing.signal.aborted) return false;
    }
  }

  function pause(retryAfter: string | string[] | undefined): void {
    const seconds = Number(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter);
    const ms = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, PAUSE_MAX_MS) : PAUSE_MS;
    pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms);
  }

  async function ask(path: string, query: Readonly<Record<string, string>>): Promise<PriceServerAnswer> {
    if (!(await turn())) return { kind: 'failed', reason: 'the rate limit of the price server is used up' };
    const url = `${base}${path}?${new URLSearchParams(query)}`;
    try {
      const response = await undici().request(url, {
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
        // 404: no such coin or contract. Any other status is a fault of the server and says nothing about the price.
        if (response.statusCode === 404) return { kind: 'unknown' };
        warn(`status ${response.statusCode}`);
        return { kind: 'failed', reason: `status ${response.statusCode}` };
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > PRICE_LIMITS.priceAnswerBytesMax)
          throw new AssayError('SOURCE_UNAVAILABLE', `more than ${PRICE_LIMITS.priceAnswerBytesMax} bytes`);
        chunks.push(chunk);
      }
      return { kind: 'json', body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
    } catch (error) {
      if (!closing.signal.aborted) warn(messageOf(error));
      return { kind: 'failed', reason: messageOf(error) };
    }
  }

  return {
    ask,
    warn,
    async close() {
      closing.abort();
      await agent.destroy();
    },
  };
}
