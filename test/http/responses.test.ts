/** The form of responses over both servers: HEAD, negotiated types and codings, caching, and refusals before any handler. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScreeningRequest } from '../../src/screening/screen.ts';
import { RawClient } from './raw-client.ts';
import { EXCHANGE, openWorld, UNKNOWN, type World } from './world.ts';

interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Headers that differ between two responses to the same request. */
const VOLATILE = new Set([
  'date',
  'x-request-id',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-quota-remaining',
]);
const stable = (headers: IncomingHttpHeaders): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !VOLATILE.has(name)));

const JSON_TYPE = { 'content-type': 'application/json' };
const LARGE = JSON.stringify({ text: 'abcdefghij'.repeat(30_000) });

describe.each(['uws', 'node'] as const)('responses on %s', (backend) => {
  let world: World;
  let key = '';
  const screened: ScreeningRequest[] = [];

  beforeAll(async () => {
    world = await openWorld({
      backend,
      useCases: {
        screening: async (request) => {
          screened.push(request);
          return { json: Buffer.from(LARGE) };
        },
      },
    });
    key = await world.key({
      accountId: `responses-${backend}`,
      rateLimits: { screening: 1_000, entity: 1_000, intel: 1_000, oracle: 1_000 },
    });
    const accountId = `responses-${backend}`;
    await world.access.ledger().book({ accountId, type: 'GRANT', amount: 10_000, reference: null });
  });
  afterAll(() => world.close());

  function ask(
    method: string,
    path: string,
    { headers = {}, body, as = key }: { headers?: Record<string, string>; body?: string; as?: string } = {},
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const authorization: Record<string, string> = as === '' ? {} : { authorization: `Bearer ${as}` };
      const sent = httpRequest(
        `${world.url}${path}`,
        { method, agent: false, headers: { ...authorization, ...headers } },
        (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(pieces),
            }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }
  const screening = (more: object = {}, headers: Record<string, string> = {}): Promise<Response> =>
    ask('POST', '/api/v1/screening', {
      headers: { ...JSON_TYPE, ...headers },
      body: JSON.stringify({ chain: 'ETH', address: UNKNOWN, ...more }),
    });
  const errorOf = ({ body }: Response): string => (JSON.parse(body.toString()) as { error: string }).error;

  it.each([
    '/health',
    '/openapi.json',
    '/docs',
    `/api/v1/entity/${EXCHANGE}`,
    `/api/v1/oracle/address/ETH/${EXCHANGE}`,
    `/api/v1/address/ETH/${EXCHANGE}/labels`,
    `/api/v1/sanctions/check?address=${EXCHANGE}&chain=ETH`,
    '/api/v1/usage',
    '/api/v1/entity/junk',
  ])('answers HEAD %s with the headers of GET and no body', async (path) => {
    const get = await ask('GET', path);
    const head = await ask('HEAD', path);
    expect([head.status, stable(head.headers)]).toEqual([get.status, stable(get.headers)]);
    expect([head.body.length, get.body.length > 0]).toEqual([0, true]);
  });

  it('refuses HEAD on a path that has no GET', async () => {
    expect((await ask('HEAD', '/api/v1/screen')).status).toBe(404);
  });

  it.each([
    ['more than 16 KB of headers', `GET /health HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(17_000)}\r\n\r\n`],
    ['more than 64 header fields', `GET /health HTTP/1.1\r\nHost: x\r\n${'X-A: b\r\n'.repeat(70)}\r\n`],
    ['two hosts', 'GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ])('refuses %s with a complete error', async (_title, text) => {
    const client = new RawClient(world.port);
    client.send(text);
    const response = await client.next();
    expect(response?.status).toBe(400);
    expect(response?.headers.get('x-request-id')).toMatch(/^[\w.:-]+$/);
    expect(response?.headers.get('x-error-code')).toBe('INVALID_REQUEST');
    expect(response?.headers.get('content-type')).toBe('application/json');
    expect(Object.keys(JSON.parse(response?.body ?? '') as object)).toEqual(['error']);
    expect(await client.ended(60_000)).toBe(true);
  });

  it('repeats the request id of a refused request, and prefers problem details', async () => {
    const client = new RawClient(world.port);
    client.send(
      'GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\nX-Request-Id: mine\r\nAccept: application/problem+json\r\n\r\n',
    );
    const response = await client.next();
    expect(response?.headers.get('x-request-id')).toBe('mine');
    expect(JSON.parse(response?.body ?? '')).toMatchObject({
      status: 400,
      detail: 'Host: must be given only once.',
    });
  });

  it('refuses bytes that are not HTTP with a complete error, on node', async () => {
    if (backend === 'uws') return;
    const client = new RawClient(world.port);
    client.send('hello\r\n\r\n');
    const response = await client.next();
    expect([response?.status, response?.headers.get('x-error-code')]).toEqual([400, 'INVALID_REQUEST']);
    expect(response?.headers.has('x-request-id')).toBe(true);
    expect(JSON.parse(response?.body ?? '')).toEqual({ error: 'The request is not valid HTTP/1.1.' });
  });

  it.each([
    ['application/problem+json', true],
    ['application/json;q=0.5, application/problem+json', true],
    ['Application/Problem+JSON; q=0.9, */*; q=0.1', true],
    ['application/json, application/problem+json', true],
    ['application/problem+json;q=0', false],
    ['application/problem+json; q=0.0, */*', false],
    ['application/json, application/problem+json;q=0.5', false],
    ['application/problem+json;q=0.5, */*', false],
    ['*/*', false],
    ['', false],
  ])('reads the weights of Accept: %s', async (accept, isProblem) => {
    const { headers } = await ask('GET', '/api/v1/entity/junk', { headers: accept === '' ? {} : { accept } });
    expect(headers['content-type']).toBe(isProblem ? 'application/problem+json' : 'application/json');
  });

  it.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON; charset="UTF-8"', 200],
    ['application/vnd.api+json', 200],
    [null, 200],
    ['text/plain', 400],
    ['application/x-www-form-urlencoded', 400],
    ['multipart/form-data; boundary=x', 400],
    ['application/json; charset=iso-8859-1', 400],
    ['application/jsonp', 400],
  ])('answers a body of the type %s with %i', async (type, status) => {
    const body = JSON.stringify({ chain: 'ETH', address: EXCHANGE });
    const headers: Record<string, string> = type === null ? {} : { 'content-type': type };
    const response = await ask('POST', '/api/v1/screen', { headers, body });
    expect(response.status).toBe(status);
    expect(response.headers['x-ratelimit-limit']).toBeDefined();
    if (status === 400) expect(errorOf(response)).toMatch(/^Content-Type: must be application\/json/);
  });

  it('marks authenticated responses and errors as not to be stored or sniffed', async () => {
    for (const [path, options, status] of [
      [`/api/v1/entity/${EXCHANGE}`, {}, 200],
      [`/api/v1/oracle/address/ETH/${EXCHANGE}`, {}, 200],
      ['/api/v1/usage', {}, 200],
      ['/api/v1/entity/junk', {}, 400],
      [`/api/v1/address/ETH/${EXCHANGE}/labels`, { as: 'wrong' }, 401],
      ['/api/v1/nope', {}, 404],
    ] as const) {
      const response = await ask('GET', path, options);
      const { 'x-content-type-options': sniffing, 'cache-control': cache } = response.headers;
      expect([path, response.status, sniffing, cache]).toEqual([path, status, 'nosniff', 'no-store']);
    }
    const posted = await screening();
    expect([posted.status, posted.headers['cache-control']]).toEqual([200, 'no-store']);
    const labels = await ask('GET', `/api/v1/address/ETH/${EXCHANGE}/labels`);
    expect([labels.headers['cache-control'], labels.headers['x-content-type-options']]).toEqual([
      'private, max-age=300',
      'nosniff',
    ]);
  });

  it.each([false, true])('answers 304 when the quota is used up (late gate: %s)', async (isGateLate) => {
    const other = isGateLate ? await openWorld({ backend, isGateLate }) : world;
    const account = `cached-${backend}`;
    const own = await other.key({ accountId: account });
    const path = `${other.url}/api/v1/address/ETH/${EXCHANGE}/labels`;
    const authorization = `Bearer ${own}`;
    const first = await fetch(path, { headers: { authorization } });
    const tag = first.headers.get('etag') as string;
    await other.access.quota.take(account, 'intel', 999);
    expect((await fetch(path, { headers: { authorization } })).status).toBe(402);
    const again = await fetch(path, { headers: { authorization, 'if-none-match': tag } });
    expect([again.status, again.headers.get('etag'), again.headers.get('vary')]).toEqual([
      304,
      tag,
      'Accept-Encoding',
    ]);
    expect(again.headers.has('x-ratelimit-remaining')).toBe(true);
    const changed = await fetch(path, { headers: { authorization, 'if-none-match': '"other"' } });
    expect(changed.status).toBe(402);
    if (isGateLate) await other.close();
  });

  const CODED: readonly (readonly [accept: string, coding: string | undefined])[] = [
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['GZIP; Q=0.3', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['gzip;q=0', undefined],
    ['identity', undefined],
    ['identity;q=1, gzip;q=0.5', undefined],
    ['deflate', undefined],
    ['', undefined],
  ];

  it.each(CODED)('compresses for Accept-Encoding: %s', async (accept, coding) => {
    const headers: Record<string, string> = accept === '' ? {} : { 'accept-encoding': accept };
    const plain = await ask('GET', '/openapi.json');
    const document = await ask('GET', '/openapi.json', { headers });
    const screenedNow = await screening({}, headers);
    for (const { headers: got, status } of [document, screenedNow])
      expect([status, got['content-encoding'], got.vary]).toEqual([200, coding, 'Accept-Encoding']);
    const decoded = ({ body }: Response): string =>
      (coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body).toString();
    expect(decoded(document)).toBe(plain.body.toString());
    expect(decoded(screenedNow)).toContain(LARGE);
    expect(screenedNow.body.length < LARGE.length).toBe(coding !== undefined);
    expect(screenedNow.headers['content-length']).toBe(String(screenedNow.body.length));
  });

  it('answers HEAD with the headers of a compressed response', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const get = await ask('GET', '/openapi.json', { headers });
    const head = await ask('HEAD', '/openapi.json', { headers });
    expect([head.status, stable(head.headers), head.body.length]).toEqual([200, stable(get.headers), 0]);
  });

  it('sends small responses as they are', async () => {
    const headers = { 'accept-encoding': 'gzip, br' };
    for (const path of [`/api/v1/oracle/address/ETH/${EXCHANGE}`, '/health', '/api/v1/entity/junk']) {
      const response = await ask('GET', path, { headers });
      expect(response.body.length).toBeLessThanOrEqual(1_024);
      expect([path, response.headers['content-encoding'], response.headers.vary]).toEqual([
        path,
        undefined,
        undefined,
      ]);
    }
  });

  it('keeps its responses apart while many are compressed at the same time', async () => {
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 === 0
          ? screening({}, { 'accept-encoding': 'gzip' })
          : ask('GET', `/api/v1/entity/${EXCHANGE}`, { headers: { 'accept-encoding': 'gzip' } }),
      ),
    );
    for (const [n, { status, headers, body }] of all.entries()) {
      expect([n, status]).toEqual([n, 200]);
      const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString();
      expect(text.includes(LARGE)).toBe(n % 2 === 0);
      expect(() => JSON.parse(text) as unknown).not.toThrow();
    }
  });

  it('compresses a document once, so that all clients get it compressed', async () => {
    const all = await Promise.all(
      Array.from({ length: 40 }, () => ask('GET', '/docs', { headers: { 'accept-encoding': 'br' } })),
    );
    expect(new Set(all.map(({ headers }) => headers['content-encoding']))).toEqual(new Set(['br']));
    expect(new Set(all.map(({ body }) => brotliDecompressSync(body).toString())).size).toBe(1);
    // A list of ignored parameters is not part of the document.
    const noted = await ask('GET', '/openapi.json?x=1', { headers: { 'accept-encoding': 'br' } });
    const plain = await ask('GET', '/openapi.json');
    expect(brotliDecompressSync(noted.body).toString()).toBe(plain.body.toString());
  });

  it('passes the chosen sections and the limit on, and refuses unknown ones', async () => {
    const chosen = { sections: ['entity', 'exposures'], limit: 3 };
    expect((await screening(chosen)).status).toBe(200);
    expect(screened.at(-1)).toMatchObject(chosen);
    for (const [more, sentence] of [
      [{ sections: ['entity', 'nope'] }, /^sections\[1\]: must be one of scoreBreakdown, /],
      [{ sections: [] }, /^sections: must not be empty/],
      [{ sections: 'entity' }, /^sections: must be an array/],
      [{ limit: 0 }, /^limit: must be at least 1/],
      [{ limit: 1_001 }, /^limit: must be at most 1000/],
      [{ limit: '5' }, /^limit: must be an integer/],
    ] as const) {
      const response = await screening(more);
      expect([response.status, errorOf(response)]).toEqual([400, expect.stringMatching(sentence)]);
    }
  });
});
