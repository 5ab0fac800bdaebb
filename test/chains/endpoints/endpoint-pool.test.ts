/** Endpoints in a pool: how often they are requested, when they are skipped, and which URLs are allowed. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { createEndpointPool, type EndpointPool } from '../../../src/chains/endpoints/endpoint-pool.ts';
import { type EndpointSpec, endpointUrl, parseEndpoint } from '../../../src/chains/endpoints/endpoints.ts';
import {
  asAmount,
  asCount,
  asDecimalAmount,
  asHexAmount,
  asIsoMs,
  asSecondsMs,
  parseExactJson,
} from '../../../src/chains/endpoints/exact-json.ts';
import { ENDPOINT_LIMITS } from '../../../src/chains/endpoints/limits.ts';
import { createChainAdapters } from '../../../src/chains/families/adapters.ts';
import { within } from '../../conformance/adapter.ts';

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

type Answer = { status?: number; headers?: Record<string, string>; body?: string; waitMs?: number };

async function serve(
  answer: (requests: number) => Answer,
): Promise<{ url: string; requests: () => number; active: () => number }> {
  let requests = 0;
  let active = 0;
  let most = 0;
  const server: Server = createServer((_, response) => {
    requests++;
    active++;
    most = Math.max(most, active);
    const { status = 200, headers = {}, body = '{"ok":true}', waitMs = 0 } = answer(requests);
    setTimeout(() => {
      active--;
      response.writeHead(status, headers);
      response.end(body);
    }, waitMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    active: () => most,
  };
}

const spec = (url: string, more: Partial<EndpointSpec> = {}): EndpointSpec => ({
  ...parseEndpoint(url, { field: 'test', defaultLayout: 'json', own: true }),
  ...more,
});

function poolOf(endpoints: readonly EndpointSpec[], now?: () => number): EndpointPool {
  const clock = now === undefined ? systemClock : { now: () => systemClock.now(), monotonic: now };
  const pool = createEndpointPool(
    { chain: 'ETH', endpoints, verify: null },
    { clock, log: silentLogger, jitter: () => 0.5 },
  );
  opened.push(() => pool.close());
  return pool;
}

const read = { read: (answer: { json(): unknown }) => answer.json() };

describe('a pool of endpoints', () => {
  it('waits as long as a server asks it to, and asks nobody meanwhile', async () => {
    const server = await serve((count) =>
      count === 1 ? { status: 429, headers: { 'retry-after': '30' } } : {},
    );
    let now = 0;
    const pool = poolOf([spec(server.url)], () => now);
    await expect(pool.ask(read, within(1_000))).rejects.toMatchObject({
      code: 'CHAIN_UNREACHABLE',
      retryAfterSeconds: 30,
    });
    await expect(pool.ask(read, within(1_000))).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
    expect(server.requests()).toBe(1);
    now = 31_000;
    expect((await pool.ask(read, within(20_000))).value).toEqual({ ok: true });
  });

  it('leaves an endpoint alone after failures in a row, longer each time, and takes it back when it answers', async () => {
    let isWell = true;
    const server = await serve(() => (isWell ? {} : { status: 502 }));
    let now = 0;
    const pool = poolOf([spec(server.url)], () => now);
    await pool.ask(read, within(20_000));
    isWell = false;
    await expect(pool.ask(read, within(1_000))).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
    expect(pool.health()).toMatchObject([{ state: 'DOWN', lastError: expect.stringContaining('502') }]);
    const asked = server.requests();
    expect(asked).toBe(1 + ENDPOINT_LIMITS.endpointFailuresMax);
    for (let time = 0; time < 50; time++)
      await expect(pool.ask(read, within(1_000))).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
    expect(server.requests()).toBe(asked);
    isWell = true;
    now = ENDPOINT_LIMITS.endpointDownMsMin + 1;
    expect((await pool.ask(read, within(20_000))).value).toEqual({ ok: true });
    expect(pool.health()).toMatchObject([{ state: 'UP', failures: 0, lastError: null }]);
  });

  it('asks an endpoint again after each of several outages', async () => {
    let isWell = true;
    const server = await serve(() => (isWell ? {} : { status: 502 }));
    let now = 0;
    const pool = poolOf([spec(server.url)], () => now);
    for (let outage = 0; outage < 3; outage++) {
      isWell = true;
      expect((await pool.ask(read, within(20_000))).value, `outage ${outage}`).toEqual({ ok: true });
      isWell = false;
      await expect(pool.ask(read, within(1_000))).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
      expect(pool.health()).toMatchObject([{ state: 'DOWN' }]);
      now += ENDPOINT_LIMITS.endpointDownMsMax + 1;
    }
  });

  it('asks no endpoint more at once, and no more a second, than it allows', async () => {
    const server = await serve(() => ({ waitMs: 20 }));
    const pool = poolOf([spec(server.url, { requestsPerSecond: 40 })]);
    const startedAt = systemClock.monotonic();
    await Promise.all(Array.from({ length: 60 }, () => pool.ask(read, within(20_000))));
    expect(server.requests()).toBe(60);
    expect(server.active()).toBeLessThanOrEqual(ENDPOINT_LIMITS.endpointConcurrency);
    // The bucket holds 40; the other 20 are sent at 40 per second.
    expect(systemClock.monotonic() - startedAt).toBeGreaterThan(400);
  });

  it('prefers the faster endpoint once both are known, and the first where they are alike', async () => {
    const slow = await serve(() => ({ waitMs: 150 }));
    const fast = await serve(() => ({}));
    const pool = poolOf([spec(slow.url), spec(fast.url)]);
    await pool.ask(read, within(20_000));
    await pool.askAgreeing(2, read, within(20_000));
    for (let time = 0; time < 5; time++) await pool.ask(read, within(20_000));
    expect(fast.requests()).toBeGreaterThanOrEqual(5);
  });

  it('never asks twice what may not be repeated', async () => {
    const first = await serve(() => ({ status: 500 }));
    const second = await serve(() => ({}));
    const pool = poolOf([spec(first.url), spec(second.url)]);
    await expect(pool.ask({ ...read, repeatable: false }, within(1_000))).rejects.toMatchObject({
      code: 'CHAIN_UNREACHABLE',
    });
    expect(first.requests() + second.requests()).toBe(1);
  });

  it('follows no redirect, takes no encoding that nobody asked for, and no answer without end', async () => {
    const target = await serve(() => ({}));
    const redirecting = await serve(() => ({ status: 302, headers: { location: target.url } }));
    await expect(poolOf([spec(redirecting.url)]).ask(read, within(20_000))).rejects.toMatchObject({
      code: 'CHAIN_UNREACHABLE',
    });
    expect(target.requests()).toBe(0);
    const packed = await serve(() => ({ headers: { 'content-encoding': 'gzip' } }));
    await expect(poolOf([spec(packed.url)]).ask(read, within(20_000))).rejects.toMatchObject({
      code: 'CHAIN_BAD_ANSWER',
    });
    const endless = await serve(() => ({ body: 'x'.repeat(ENDPOINT_LIMITS.endpointAnswerBytesMax + 1) }));
    await expect(poolOf([spec(endless.url)]).ask(read, within(20_000))).rejects.toMatchObject({
      code: 'CHAIN_BAD_ANSWER',
    });
    // A call with a short budget does not accept a response that it could not read in time.
    const long = await serve(() => ({
      body: `"${'x'.repeat(ENDPOINT_LIMITS.endpointShortAnswerBytesMax)}"`,
    }));
    await expect(poolOf([spec(long.url)]).ask(read, within(3_900))).rejects.toMatchObject({
      message: expect.stringContaining(`larger than ${ENDPOINT_LIMITS.endpointShortAnswerBytesMax} bytes`),
    });
    await expect(poolOf([spec(long.url)]).ask(read, within(20_000))).resolves.toBeDefined();
  });

  it('asks private addresses only where the operator named them', async () => {
    const server = await serve(() => ({}));
    for (const url of [server.url, server.url.replace('http:', 'https:'), 'https://localhost:1/']) {
      const pool = poolOf([spec(url, { own: false })]);
      await expect(pool.ask(read, within(20_000))).rejects.toMatchObject({ code: 'CHAIN_UNREACHABLE' });
    }
    expect(server.requests()).toBe(0);
  });
});

describe('endpoints as texts', () => {
  const parse = (text: string) =>
    parseEndpoint(text, { field: 'ASSAY_RPC_BTC', defaultLayout: 'bitcoin', own: true });

  it('reads layout, URL and credentials, and shows neither path nor secret', () => {
    expect(parse('http://user:p%40ss@127.0.0.1:8332/wallet/x')).toMatchObject({
      layout: 'bitcoin',
      url: 'http://127.0.0.1:8332/wallet/x',
      authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
      source: 'bitcoin 127.0.0.1:8332',
    });
    expect(parse(' etherscan+https://api.etherscan.io/v2/api?apikey=SECRET ')).toMatchObject({
      layout: 'etherscan',
      source: 'etherscan api.etherscan.io',
    });
  });

  it.each(['', 'node', 'ftp://x', 'etherscan+nothing', 'file:///etc/passwd'])(
    'refuses %j without repeating it',
    (text) => {
      expect(() => parse(text)).toThrow(
        expect.objectContaining({ code: 'INVALID_CONFIG', field: 'ASSAY_RPC_BTC' }),
      );
      if (text.length > 4) expect(() => parse(text)).not.toThrow(text);
    },
  );

  it('keeps a key in the query when a path is added, and lets no part of an address out of the path', () => {
    const endpoint = parse('https://x.example/base/?key=1');
    expect(endpointUrl(endpoint, '/tx/1', { a: 'b&c' })).toBe('https://x.example/base/tx/1?key=1&a=b%26c');
  });

  it('a misspelt chain stops the start, and no library is loaded by naming endpoints', () => {
    const options = { publicEndpoints: false, quorum: 1, offchainNames: false };
    const deps = { clock: systemClock, log: silentLogger, jitter: () => 0.5 };
    const make = (rpc: Record<string, string>) =>
      createChainAdapters({ ...options, endpoints: { rpc, history: {} } }, deps);
    expect(() => make({ ETHH: 'http://127.0.0.1:1' })).toThrow(
      /ASSAY_RPC_ETHH: chain must be one of .*\(got "ETHH"\)/,
    );
    expect(make({ ETH: 'http://127.0.0.1:1' }).configured).toEqual(['ETH']);
    expect(make({}).configured).toEqual([]);
    const all = createChainAdapters(
      { ...options, publicEndpoints: true, endpoints: { rpc: { ETH: '' }, history: {} } },
      deps,
    );
    expect(all.configured.length).toBeGreaterThan(20);
    expect(all.isConfigured('ETH', 'rpc')).toBe(false);
  });
});

describe('JSON from the wire', () => {
  it('loses no digit of any number, and touches no text', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 255n }), fc.string(), (amount, text) => {
        const { a, b, c } = parseExactJson(
          `{"a":${amount},"b":${JSON.stringify(text)},"c":[-1.50,${amount}]}`,
        ) as {
          a: string | number;
          b: string;
          c: (string | number)[];
        };
        expect(asAmount(a, 'a')).toBe(amount);
        expect(b).toBe(text);
        expect(c[0]).toBe('-1.50');
      }),
    );
  });

  it('reads decimals without a float in between', () => {
    expect(asDecimalAmount('20999999.97690000', 8, 'x')).toBe(2_099_999_997_690_000n);
    expect(asDecimalAmount(1e-8, 8, 'x')).toBe(1n);
    expect(asDecimalAmount('0.10', 1, 'x')).toBe(1n);
    expect(asDecimalAmount('12e3', 0, 'x')).toBe(12_000n);
    for (const wrong of ['0.001', '-1', '', '1.', 'NaN', `1e${9}9`, null, {}])
      expect(() => asDecimalAmount(wrong as never, 2, 'x')).toThrow(
        expect.objectContaining({ code: 'CHAIN_BAD_ANSWER' }),
      );
  });

  it.each<[string, (value: never) => unknown, readonly unknown[]]>([
    ['counts', (value) => asCount(value, 'x'), [-1, 1.5, '1.5', 2 ** 60, '', null, [], '0x1', Number.NaN]],
    ['amounts', (value) => asAmount(value, 'x'), [-1, '-1', 1e22, '9'.repeat(80), '', null, '0x1']],
    ['hex', (value) => asHexAmount(value, 'x'), ['0x', '-0x1', `0x${'f'.repeat(65)}`, 1, null]],
    ['seconds', (value) => asSecondsMs(value, 'x'), [-1, 5, 9_999_999_999_999, 'x', null]],
    [
      'times',
      (value) => asIsoMs(value, 'x'),
      ['2024-01-01', '2024-01-01T00:00:00', '1816-01-01T00:00:00Z', 7, null],
    ],
  ])('refuses %s that no honest endpoint sends', (_, readValue, values) => {
    for (const value of values)
      expect(() => readValue(value as never)).toThrow(expect.objectContaining({ code: 'CHAIN_BAD_ANSWER' }));
  });

  it('deep nesting and broken texts end in a typed error', () => {
    const deep = ['[', '{"a":', ' [ "]" , '].map((open) => `${open.repeat(200_000)}1`);
    const closed = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    for (const text of ['', '<html>', '{"a":', ...deep, closed, '{"a":"', '1.5"\\"', 'null null'])
      expect(() => parseExactJson(text)).toThrow(expect.objectContaining({ code: 'CHAIN_BAD_ANSWER' }));
  });

  it('reads strings of any length beside numbers that must keep their digits, and lists that lie side by side', () => {
    for (const part of ['a1e5', '\\', '"', '[{', '\\"']) {
      const text = part.repeat(6_000_000);
      expect(parseExactJson(`{"a":0.50,"b":${JSON.stringify(text)},"c":1.25}`)).toEqual({
        a: '0.50',
        b: text,
        c: '1.25',
      });
    }
    expect(parseExactJson(`[${'[[]],'.repeat(50_000)}7]`)).toHaveLength(50_001);
  });
});
