import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Admission, GateRequest } from '../../src/accounts/gate.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import { AssayError, ERRORS } from '../../src/base/errors.ts';
import type { Logger } from '../../src/base/log.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { createHttpMetrics } from '../../src/http/pipeline/metrics.ts';
import { createPipeline } from '../../src/http/pipeline/pipeline.ts';
import type { Work } from '../../src/http/pipeline/work.ts';
import type { CallerAccess } from '../../src/http/ports.ts';
import type { Route } from '../../src/http/routes.ts';
import type { ByteSource, Exchange } from '../../src/http/server/port.ts';
import { RawClient } from './raw-client.ts';
import { EXCHANGE, openWorld, SANCTIONED, UNKNOWN, type World } from './world.ts';

const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

const FRONT_ENDS = [
  ['uws', 'at once', false],
  ['node', 'at once', false],
  ['uws', 'later', true],
  ['node', 'later', true],
] as const;

describe.each(FRONT_ENDS)('front end on %s, behind a gate that answers %s', (backend, _when, isGateLate) => {
  let world: World;
  let key: string;
  let overloaded = false;
  let broken = false;
  const logged: unknown[] = [];

  beforeAll(async () => {
    world = await openWorld({
      backend,
      isGateLate,
      publicHost: 'api.example.org',
      trustedProxies: ['127.0.0.1'],
      log: { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => void logged.push(line) },
      useCases: {
        labelSetVersion: () => 'v1-abc',
        async screening() {
          if (overloaded)
            throw new AssayError('OVERLOADED', 'Too much work is waiting.', { retryAfterSeconds: 2 });
          if (broken) throw new Error('/secret/path is broken');
          return { json: Buffer.from('{"riskScore":0}') };
        },
      },
    });
    key = await world.key();
  });
  afterAll(() => world.close());

  const ask = (path: string, init: RequestInit & { key?: string } = {}): Promise<Response> =>
    fetch(`${world.url}${path}`, {
      redirect: 'manual',
      ...init,
      headers: {
        ...(init.key === '' ? {} : { Authorization: `Bearer ${init.key ?? key}` }),
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...init.headers,
      },
    });
  const post = (path: string, body: unknown, init: RequestInit & { key?: string } = {}): Promise<Response> =>
    ask(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...init });
  const errorOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: string }).error;
  const used = async (meter: 'intel' | 'oracle', accountId: string): Promise<number> =>
    world.access.quota.used(accountId, meter);

  it('answers probes without a key, at the root and under the version prefix', async () => {
    for (const path of ['/health', '/api/v1/health']) {
      const response = await ask(path, { key: '' });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ success: true, status: 'ok' });
      for (const name of RATE_HEADERS) expect(response.headers.has(name)).toBe(false);
    }
    expect((await ask('/ready', { key: '' })).status).toBe(200);
    expect((await ask('/docs', { key: '' })).headers.get('content-type')).toContain('text/html');
  });

  it('wraps the data of every operation in the envelope', async () => {
    const entity = await ask(`/api/v1/entity/${SANCTIONED}`);
    expect(entity.status).toBe(200);
    const body = (await entity.json()) as { success: boolean; data: { labels: { name: string }[] } };
    expect(body.success).toBe(true);
    expect(body.data.labels[0]?.name).toBe('Lazarus “Group” é');
    const bulk = await post('/api/v1/screen/bulk', { chain: 'eth', addresses: [EXCHANGE, 'junk', UNKNOWN] });
    const { data } = (await bulk.json()) as { data: { results: Record<string, unknown>[] } };
    expect(data.results.map((result) => result.error ?? result.assessed)).toEqual([
      true,
      expect.stringContaining('address:'),
      false,
    ]);
  });

  it('answers 401 for a missing, malformed or unknown key, and for a revoked key at once', async () => {
    const created = await world.access.keys.create({ name: 'short-lived' });
    expect((await ask(`/api/v1/entity/${EXCHANGE}`, { key: created.apiKey })).status).toBe(200);
    await world.access.keys.revoke(created.record.id);
    for (const wrong of ['', 'x', `${key}x`, key.slice(0, -1), created.apiKey]) {
      const response = await ask(`/api/v1/entity/${EXCHANGE}`, { key: wrong });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(response.headers.has('x-request-id')).toBe(true);
      for (const name of RATE_HEADERS) expect(response.headers.has(name)).toBe(false);
      expect(await response.text()).not.toContain('assay_live_');
    }
    const basic = await ask(`/api/v1/entity/${EXCHANGE}`, { headers: { Authorization: `Basic ${key}` } });
    expect(basic.status).toBe(401);
    for (const scheme of ['bearer ', 'Bearer  ']) {
      const other = await ask(`/api/v1/entity/${EXCHANGE}`, {
        headers: { Authorization: `${scheme}${key}` },
      });
      expect(other.status).toBe(200);
    }
  });

  it('answers 401 before the body is read', async () => {
    const client = new RawClient(world.port);
    client.send('POST /api/v1/screening HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n');
    const answer = await client.next();
    expect(answer?.status).toBe(401);
    client.destroy();
  });

  it('answers 403 without the permission, with the rate limit headers of the route', async () => {
    const narrow = await world.key({ permissions: ['entity'] });
    const response = await ask(`/api/v1/oracle/address/ETH/${EXCHANGE}`, { key: narrow });
    expect(response.status).toBe(403);
    expect(await errorOf(response)).toContain("'oracle'");
    for (const name of RATE_HEADERS) expect(response.headers.has(name)).toBe(true);
  });

  it('limits requests, sends the limit with every response, and rejects with Retry-After', async () => {
    const limited = await world.key({ rateLimits: { entity: 3 } });
    const remaining: (string | null)[] = [];
    for (const path of [EXCHANGE, 'junk', UNKNOWN]) {
      const response = await ask(`/api/v1/entity/${path}`, { key: limited });
      expect(response.headers.get('x-ratelimit-limit')).toBe('3');
      const reset = Number(response.headers.get('x-ratelimit-reset'));
      expect(reset - Date.now() / 1000).toBeGreaterThan(0);
      expect(reset - Date.now() / 1000).toBeLessThan(63);
      remaining.push(response.headers.get('x-ratelimit-remaining'));
    }
    expect(remaining).toEqual(['2', '1', '0']);
    const refused = await ask(`/api/v1/entity/${EXCHANGE}`, { key: limited });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    const other = await ask(`/api/v1/sanctions/check?address=${EXCHANGE}&chain=ETH`, { key: limited });
    expect(other.status).toBe(200);
  });

  it('counts the oracle quota, sends it in a header, refunds errors, and ends with 402', async () => {
    const own = await world.key({ accountId: `oracle-${backend}`, rateLimits: { oracle: 100_000 } });
    const first = await ask(`/api/v1/oracle/address/ETH/${EXCHANGE}`, { key: own });
    const { data } = (await first.json()) as { data: { quota: { remaining: number } } };
    expect(first.headers.get('x-quota-remaining')).toBe('999');
    expect(data.quota.remaining).toBe(999);
    expect((await ask('/api/v1/oracle/address/ETH/junk', { key: own })).status).toBe(400);
    expect((await ask(`/api/v1/oracle/address/NOPE/${EXCHANGE}`, { key: own })).status).toBe(400);
    expect((await ask('/api/v1/oracle/address/ETH/%zz', { key: own })).status).toBe(400);
    expect(await used('oracle', `oracle-${backend}`)).toBe(1);
    await world.access.quota.take(`oracle-${backend}`, 'oracle', 999);
    const refused = await ask(`/api/v1/oracle/address/ETH/${EXCHANGE}`, { key: own });
    expect(refused.status).toBe(402);
    for (const name of RATE_HEADERS) expect(refused.headers.has(name)).toBe(true);
    expect(await used('oracle', `oracle-${backend}`)).toBe(1000);
  });

  it('counts the valid addresses of a bulk request, and rejects it as a whole if the quota is too small', async () => {
    const account = `intel-${backend}`;
    const own = await world.key({ accountId: account });
    await post('/api/v1/screen/bulk', { chain: 'ETH', addresses: [EXCHANGE, 'junk', UNKNOWN] }, { key: own });
    expect(await used('intel', account)).toBe(2);
    await post('/api/v1/screen', { chain: 'ETH', address: EXCHANGE }, { key: own });
    await post('/api/v1/screen', { chain: 'ETH', address: 'junk' }, { key: own });
    expect(await used('intel', account)).toBe(3);
    await world.access.quota.take(account, 'intel', 995);
    const refused = await post(
      '/api/v1/screen/bulk',
      { chain: 'ETH', addresses: [EXCHANGE, EXCHANGE, UNKNOWN] },
      { key: own },
    );
    expect(refused.status).toBe(402);
    expect(await errorOf(refused)).toContain('needs 3');
    expect(await used('intel', account)).toBe(998);
  });

  it('answers a cacheable read with an ETag, and 304 without a charge while it matches', async () => {
    const account = `cache-${backend}`;
    const own = await world.key({ accountId: account });
    const path = `/api/v1/address/ETH/${EXCHANGE}/labels`;
    const first = await ask(path, { key: own });
    const tag = first.headers.get('etag') as string;
    expect(first.headers.get('cache-control')).toBe('private, max-age=300');
    for (const held of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      const again = await ask(path, { key: own, headers: { 'If-None-Match': held } });
      expect(again.status).toBe(304);
      expect(again.headers.get('etag')).toBe(tag);
      expect(await again.text()).toBe('');
    }
    expect(await used('intel', account)).toBe(1);
    const stale = await ask(path, { key: own, headers: { 'If-None-Match': '"other"' } });
    expect(stale.status).toBe(200);
  });

  it('names the field and the limit of an invalid body', async () => {
    const cases: readonly (readonly [string, unknown, RegExp])[] = [
      ['/screen', {}, /^address, chain are required\.$/],
      ['/screen', { chain: 'ETH' }, /^address is required\.$/],
      ['/screen', { address: 5, chain: 'ETH' }, /^address: must be a string\.$/],
      [
        '/screen',
        { address: 'a'.repeat(513), chain: 'ETH' },
        /^address: must have at most 512 characters\.$/,
      ],
      ['/screen', { address: EXCHANGE, chain: 'MOON' }, /^chain: must be one of .*\(got "MOON"\)/],
      ['/screen', [], /^The request body must be an object\.$/],
      ['/screen', 'null', /must be an object/],
      ['/screen', '', /body is empty/],
      ['/screen', '{"address":', /^The request body is not valid JSON/],
      ['/screen', `${'['.repeat(17)}${']'.repeat(17)}`, /nested more than 16 levels/],
      [
        '/screening',
        { address: EXCHANGE, chain: 'ETH', jurisdiction: 'CHE' },
        /^jurisdiction: must be a country code/,
      ],
      ['/screen/bulk', { addresses: [] }, /^addresses: must be an array of 1 to 100 addresses\.$/],
      [
        '/screen/bulk',
        { addresses: Array(101).fill(EXCHANGE) },
        /^addresses: must be an array of 1 to 100 addresses\.$/,
      ],
      ['/screen/bulk', { addresses: 'x' }, /^addresses: must be an array of 1 to 100/],
      ['/screen/bulk', {}, /^addresses: must be an array of 1 to 100/],
    ];
    const own = await world.key({ rateLimits: { intel: 1000, screening: 1000 } });
    for (const [path, body, sentence] of cases) {
      const response = await post(`/api/v1${path}`, body, { key: own });
      expect([path, body, response.status]).toEqual([path, body, 400]);
      expect(await errorOf(response)).toMatch(sentence);
      for (const name of RATE_HEADERS) expect(response.headers.has(name)).toBe(true);
    }
    const notUtf8 = await ask('/api/v1/screen', {
      method: 'POST',
      body: Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    });
    expect(await errorOf(notUtf8)).toContain('UTF-8');
    const large = await post('/api/v1/screen', `{"address":"${'x'.repeat(1024 * 1024)}"}`);
    expect(large.status).toBe(400);
    expect(await errorOf(large)).toContain('1048576 bytes');
  });

  it('names a query parameter that is missing or given twice', async () => {
    const missing = await ask('/api/v1/sanctions/check?chain=ETH');
    expect([missing.status, await errorOf(missing)]).toEqual([400, 'address is required.']);
    const doubled = await ask(`/api/v1/entity/${EXCHANGE}?chain=ETH&chain=BSC`);
    expect([doubled.status, await errorOf(doubled)]).toEqual([400, 'chain: must be given only once.']);
  });

  it('lists unknown fields of a body', async () => {
    const body = { address: EXCHANGE, chain: 'ETH', jurisdicton: 'CH', 'qu"ote': { address: 1 } };
    const answer = (await (await post('/api/v1/screening', body)).json()) as { ignored: string[] };
    expect(answer.ignored).toEqual(['jurisdicton', 'qu"ote']);
    const clean = await post('/api/v1/screen', { address: EXCHANGE, chain: 'ETH' });
    expect(((await clean.json()) as { ignored: string[] }).ignored).toEqual([]);
  });

  it.each([
    `/oracle/address/ETH/${EXCHANGE}`,
    `/sanctions/check?address=${EXCHANGE}&chain=ETH`,
    `/entity/${EXCHANGE}?chain=ETH`,
    '/usage?limit=3',
    '/exchange-status?name=Binance',
  ])('lists unknown query parameters of %s', async (path) => {
    const ignoredAt = async (extra: string): Promise<unknown> => {
      const response = await ask(`/api/v1${path}${extra}`);
      return ((await response.json()) as { ignored?: string[] }).ignored;
    };
    expect(await ignoredAt('')).toBeUndefined();
    const first = path.includes('?') ? '&' : '?';
    expect(await ignoredAt(`${first}asOf=2018-01-01&q%22=1&asOf=2&%zz`)).toEqual(['asOf', 'q"', '%zz']);
  });

  it('lists unknown query parameters together with unknown body fields', async () => {
    const answer = await post('/api/v1/screen?asOf=2018-01-01', { address: EXCHANGE, chain: 'ETH', x: 1 });
    expect(((await answer.json()) as { ignored: string[] }).ignored).toEqual(['x', 'asOf']);
  });

  it('answers 404 for an unknown path or method, with or without a key', async () => {
    for (const [method, path] of [
      ['GET', '/api/v1/nope'],
      ['GET', '/api/v2/health'],
      ['DELETE', '/health'],
      ['GET', '/api/v1/screening'],
      ['POST', `/api/v1/entity/${EXCHANGE}`],
      ['GET', '/api/v1/entity/'],
    ] as const) {
      const response = await ask(path, { method, key: '' });
      expect([method, path, response.status]).toEqual([method, path, 404]);
      expect(await errorOf(response)).toContain(path);
    }
  });

  it('redacts an API key anywhere in an error', async () => {
    for (const response of [
      await ask(`/api/v1/${key}`),
      await ask(`/api/v1/entity/${EXCHANGE}?chain=${key}`),
      await post('/api/v1/screen', { address: EXCHANGE, chain: key }),
      await post('/api/v1/screen', `{"${key}":`),
    ]) {
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(await response.text()).not.toContain(key);
    }
  });

  it('sends a request id with every response: the client’s if it is valid, else a new one', async () => {
    const ids = new Set<string | null>();
    for (let n = 0; n < 3; n++) ids.add((await ask('/health')).headers.get('x-request-id'));
    expect(ids.size).toBe(3);
    const own = await ask('/nope', { headers: { 'X-Request-Id': 'my-id_1.2:3' } });
    expect(own.headers.get('x-request-id')).toBe('my-id_1.2:3');
    for (const bad of ['a b', 'x'.repeat(65), 'é', '"'])
      expect((await ask('/nope', { headers: { 'X-Request-Id': bad } })).headers.get('x-request-id')).not.toBe(
        bad,
      );
  });

  it('sends the same error as problem details on request', async () => {
    const response = await ask('/api/v1/entity/junk', {
      headers: { Accept: 'application/problem+json', 'X-Request-Id': 'abc' },
    });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toEqual({
      type: 'urn:assay:error:INVALID_ADDRESS',
      title: 'Bad Request',
      status: 400,
      detail: expect.stringContaining('address:'),
      instance: 'urn:assay:request:abc',
      code: 'INVALID_ADDRESS',
      field: 'address',
    });
  });

  it('answers 429 with Retry-After if too much work is waiting', async () => {
    overloaded = true;
    const response = await post('/api/v1/screening', { address: EXCHANGE, chain: 'ETH' });
    overloaded = false;
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('2');
  });

  it('hides the cause of an internal error, and logs it with the request id', async () => {
    broken = true;
    logged.length = 0;
    const response = await post('/api/v1/screening', { address: EXCHANGE, chain: 'ETH' });
    broken = false;
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toBe('Internal server error.');
    expect(JSON.stringify(logged)).toContain(response.headers.get('x-request-id'));
  });

  it('redirects a www host to the configured host only', async () => {
    const ask301 = async (host: string, more = ''): Promise<readonly (string | number | undefined)[]> => {
      const client = new RawClient(world.port);
      client.send(`GET /api/v1/entity/x?chain=ETH HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
      const answer = await client.next();
      client.destroy();
      return [answer?.status, answer?.headers.get('location')];
    };
    const target = 'api.example.org/api/v1/entity/x?chain=ETH';
    expect(await ask301('www.evil.example')).toEqual([301, `http://${target}`]);
    expect(await ask301('WWW.example.org', 'X-Forwarded-Proto: https\r\n')).toEqual([
      301,
      `https://${target}`,
    ]);
    expect(await ask301('wwwexample.org')).toEqual([401, undefined]);
  });

  it('counts requests on /metrics', async () => {
    await ask(`/api/v1/entity/${EXCHANGE}`);
    const text = await (await ask('/metrics', { key: '' })).text();
    expect(text).toMatch(/assay_http_requests_total\{route="GET \/entity\/\{address\}",status="200"\} \d+/);
    expect(text).toMatch(/assay_http_request_duration_seconds_bucket\{route="GET \/health",le="\+Inf"\} \d+/);
    expect(text).toContain('assay_test_gauge 7');
    expect(text).toMatch(/assay_http_pending_requests 1\b/);
    expect(text).not.toContain('assay_live_');
  });
});

describe('a front end that is not ready', () => {
  it('answers 503 from /ready with the reasons', async () => {
    const world = await openWorld({
      backend: 'uws',
      readiness: { ready: false, reasons: ['EU is stale.'], snapshot: null, lists: [] },
    });
    const response = await fetch(`${world.url}/ready`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: 'Not ready: EU is stale.', data: { ready: false } });
    expect((await fetch(`${world.url}/health`)).status).toBe(200);
    await world.close();
  });

  it('does not answer www hosts if no public host is configured', async () => {
    const world = await openWorld({ backend: 'uws' });
    const client = new RawClient(world.port);
    client.send('GET /health HTTP/1.1\r\nHost: www.example.org\r\n\r\n');
    expect((await client.next())?.status).toBe(404);
    client.destroy();
    await world.close();
  });
});

describe('the pipeline', () => {
  const CALLER = {
    id: 'key_1',
    accountId: 'acc_1',
    permissions: ['entity', 'screening', 'oracle', 'monitoring'],
  };
  const RATE = {
    allowed: true,
    limit: 10,
    remaining: 9,
    resetEpochSeconds: 60,
    retryAfterSeconds: 0,
    countedSecond: 7,
  };
  const route = (id: string): Route => {
    const found = OPERATIONS.find((one) => one.id === id);
    if (found === undefined) throw new Error(`There is no ${id}.`);
    return found;
  };
  const read = (value: unknown) => value;
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  /** A pipeline over accounts and a server that record their calls. */
  function world({ publicHost = null as string | null, isSecure = false } = {}) {
    const events: string[] = [];
    const time = { ms: 0 };
    const admission: { next: Partial<Admission> | Error } = { next: {} };
    const requests: GateRequest[] = [];
    /** Answers of the gate to the next questions whether a limit is reached; null: it is not. */
    const limits: (typeof RATE | null)[] = [];
    const note =
      (level: string) =>
      (_fields: object, text: string): void =>
        void events.push(`${level}: ${text}`);
    const access = {
      verify: (token: string) => (token === 'good' ? CALLER : null),
      people: () => ({
        session: (id: string) => ({ id, account: { id: 'acc_2' }, person: { id: 'per_1', role: 'owner' } }),
      }),
      gate: {
        refuses: () => limits.shift() ?? null,
        uncount: (subject: string, rateClass: string, second: number) =>
          void events.push(`uncount ${subject} ${rateClass} ${second}`),
        admit(wants: GateRequest) {
          requests.push(wants);
          if (admission.next instanceof Error) throw admission.next;
          const units = wants.quota?.units ?? 0;
          const reservation = wants.credits === null ? null : { credits: wants.credits };
          const quota = units === 0 ? null : { units };
          return { rate: RATE, storedAnswer: null, quota, reservation, refused: null, ...admission.next };
        },
      },
      quota: {
        give: (account: string, meter: string, units: number) =>
          void events.push(`give ${account} ${meter} ${units}`),
      },
      ledger: () => ({
        commit: async (_held: unknown, charge: { amount: number; answer: (left: number) => Uint8Array }) => {
          events.push(`commit ${charge.amount}`);
          return { entry: { id: 'e1' }, answer: charge.answer(5), replayed: false };
        },
        release: () => void events.push('release'),
        refund: async (account: string, entry: string) => void events.push(`refund ${account} ${entry}`),
      }),
    } as unknown as CallerAccess;
    const recorded: number[] = [];
    const pipeline = createPipeline(
      { publicHost },
      {
        clock: { now: () => 0, monotonic: () => time.ms },
        log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') } as Logger,
        access,
        metrics: {
          record: (_row, status) => void recorded.push(status),
          contentType: '',
          scrape: async () => '',
        },
        requestIdFor: () => 'id',
        origin: { address: () => '127.0.0.1', isSecure: () => isSecure },
      },
    );
    /** Sends one request; responses are `status header-block body`. */
    async function send(
      of: Route,
      work: Work | null,
      {
        headers = {} as Readonly<Record<string, string>>,
        body = '{}' as string | null,
        isGone = false,
        breaks = 0,
        path = of.path,
        query = '',
      } = {},
    ) {
      const answers: { status: number; headers: string; body: string }[] = [];
      let failing = breaks;
      const exchange = {
        method: of.method,
        path,
        params: [],
        query: () => query,
        header: (name: string) => ({ authorization: 'Bearer good', ...headers })[name] ?? '',
        optionalHeader: (name: string) => headers[name as keyof typeof headers] ?? null,
        keep: () => {},
        remoteAddress: () => '127.0.0.1',
        readBody: (_max: number, onBody: (bytes: Uint8Array | null) => void) =>
          onBody(body === null ? null : Buffer.from(body)),
        receiveBody: () => {},
        isGone,
        reply(status: number, lines: string, bytes: string | Uint8Array) {
          if (failing-- > 0) throw new Error('the socket broke');
          answers.push({ status, headers: lines, body: Buffer.from(bytes as Uint8Array).toString() });
        },
        async replyBytes(status: number, lines: string, source: ByteSource) {
          answers.push({ status, headers: lines, body: Buffer.from(await source.next()).toString() });
        },
        openStream: (lines: string) => {
          answers.push({ status: 200, headers: lines, body: 'stream' });
          return {} as never;
        },
      } satisfies Exchange;
      if (work === null) pipeline.fallback(0)(exchange);
      else pipeline.handlerFor(of, 0, work)(exchange);
      await turn();
      await turn();
      return answers;
    }
    return { pipeline, send, events, time, admission, requests, limits, recorded };
  }
  const entity = route('entity');
  const oracle = route('oracle');
  const throwing = (error: Error): Work => ({
    kind: 'lookup',
    write: () => {
      throw error;
    },
  });
  const writing = (text: string): Work => ({
    kind: 'lookup',
    write: (_call, out, offset) =>
      offset + text.length > out.length ? -1 : offset + out.write(text, offset),
  });
  const notReady = new AssayError('NOT_READY', 'Redis is away.');

  it('logs one line when an outage begins, and one five seconds after its last failed request', async () => {
    const { send, events, time } = world();
    for (let at = 0; at < 3; at++) {
      time.ms = at * 1_000;
      await send(entity, throwing(notReady));
    }
    const lines = () => events.filter((line) => !line.startsWith('uncount'));
    expect(lines()).toEqual(['error: requests cannot be served']);
    // Other requests are served in the meantime.
    time.ms = 6_999;
    await send(entity, writing('1'));
    expect(lines()).toHaveLength(1);
    time.ms = 7_000;
    await send(entity, writing('1'));
    await send(entity, writing('1'));
    expect(lines().slice(1)).toEqual(['info: requests are served again']);
    await send(entity, throwing(new AssayError('STORAGE_FULL', 'The disk is full.')));
    expect(lines().slice(2)).toEqual(['error: requests cannot be served']);
  });

  it('undoes the count of a request only if it could not be served', async () => {
    const { send, events, admission } = world();
    const answers = await send(entity, throwing(notReady));
    expect(answers.map(({ status }) => status)).toEqual([500]);
    expect(events[0]).toBe('uncount key_1 entity 7');
    events.length = 0;
    await send(entity, throwing(new AssayError('NOT_FOUND', 'no')));
    expect(events).toEqual([]);
    await send(entity, throwing(new Error('broken')));
    expect(events).toEqual(['error: request failed']);
    events.length = 0;
    // In the first second of the limiter's clock.
    admission.next = { rate: { ...RATE, countedSecond: 0 } };
    await send(entity, throwing(notReady));
    expect(events.splice(0)).toEqual(['uncount key_1 entity 0']);
    // The request was refused, so it was not counted.
    admission.next = { rate: { ...RATE, countedSecond: null } };
    await send(entity, throwing(notReady));
    expect(events).toEqual([]);
  });

  it('refunds the quota of an error or a 304', async () => {
    const { send, events, requests } = world();
    await send(oracle, throwing(new AssayError('NOT_FOUND', 'no')));
    expect(events).toEqual(['give acc_1 oracle 1']);
    expect(requests[0]?.quota).toEqual({ meter: 'oracle', units: 1 });
    events.length = 0;
    const same: Work = {
      kind: 'lookup',
      write(call, _out, offset) {
        call.notModified = true;
        call.lines = '\r\nETag: x';
        return offset;
      },
    };
    const [answer] = await send(oracle, same);
    expect([answer?.status, answer?.body, events]).toEqual([304, '', ['give acc_1 oracle 1']]);
    expect(answer?.headers).toContain('ETag: x');
    events.length = 0;
    await send(entity, throwing(new AssayError('NOT_FOUND', 'no')));
    await send(oracle, writing('1'));
    expect(events).toEqual([]);
  });

  it('grows the response buffer up to its maximum', async () => {
    const { send } = world();
    const text = (length: number): string => `"${'x'.repeat(length)}"`;
    for (const length of [10, 65_000, 300_000]) {
      const [answer] = await send(entity, writing(text(length)));
      expect(answer?.body.length).toBe(length + 2 + '{"success":true,"data":}'.length);
    }
    const [refused] = await send(entity, { kind: 'lookup', write: () => -1 });
    expect(refused?.status).toBe(500);
    // Data from another component, up to the last byte of the remaining buffer.
    for (const length of [300_000, 600_000]) {
      const late: Work = { kind: 'query', answer: async () => ({ json: Buffer.from(text(length)) }) };
      expect((await send(entity, late))[0]?.body).toBe(`{"success":true,"data":${text(length)}}`);
    }
  });

  it('counts a disconnected client, and logs every error of a response', async () => {
    const { send, events, recorded } = world();
    await send(entity, writing('1'), { isGone: true });
    expect(recorded).toEqual([0]);
    const answers = await send(entity, writing('1'), { breaks: 1 });
    expect([answers.map(({ status }) => status), events]).toEqual([[500], ['error: request failed']]);
    await send(entity, writing('1'), { breaks: 2 });
    expect(events.slice(1)).toEqual(['error: request failed', 'error: error response could not be sent']);
  });

  it('counts an invalid body once, and prefers the refusal of the gate unless the permission is missing', async () => {
    const { send, events, admission, requests } = world();
    const screen = route('screening');
    const work: Work = { kind: 'task', read, answer: async () => ({ json: Buffer.from('{}') }) };
    const [bad] = await send(screen, work, { body: '{' });
    expect([bad?.status, requests.length]).toEqual([400, 1]);
    expect(bad?.headers).toContain('X-RateLimit-Remaining: 9');
    expect(requests[0]).toMatchObject({ quota: null, credits: null });
    const [large] = await send(screen, work, { body: null });
    expect(large?.body).toContain(String(HTTP_LIMITS.bodyBytesMax));
    admission.next = { refused: new AssayError('RATE_LIMITED', 'wait') };
    expect((await send(screen, work, { body: '{' }))[0]?.status).toBe(429);
    const forbidden = { ...screen, permission: 'kyt' as const };
    expect((await send(forbidden, work, { body: '{' }))[0]?.status).toBe(403);
    admission.next = notReady;
    expect((await send(screen, work, { body: '{' }))[0]?.body).toContain('The service is not ready');
    expect(events.filter((line) => line.startsWith('uncount'))).toEqual([]);
    expect((await send(screen, work, { headers: { authorization: '' } }))[0]?.status).toBe(401);
  });

  it('refuses free requests of an account that takes too much of the thread, and no others', async () => {
    const { send, time } = world();
    const taking = (ms: number): Work => ({
      kind: 'query',
      answer: async () => {
        time.ms += ms;
        return { json: Buffer.from('{}') };
      },
    });
    const list = route('listCases');
    const status = async (work: Work, of = list) => (await send(of, work))[0];
    const { freeWorkMsMax, freeWorkMsPerSecond, freeWorkStepMs } = HTTP_LIMITS;
    // Short steps are not counted.
    for (let n = 0; n < 10; n++) await status(taking(freeWorkStepMs - 1));
    expect((await status(taking(freeWorkMsMax + 2 * freeWorkMsPerSecond)))?.status).toBe(200);
    const refused = await status(taking(0));
    expect([refused?.status, refused?.headers]).toEqual([429, expect.stringContaining('Retry-After: 3')]);
    const file: Work = {
      kind: 'file',
      open: async () => ({ status: 200, contentType: 'a', source: null as never }),
    };
    expect((await status(file, route('exportCase')))?.status).toBe(429);
    // A request that takes quota is bounded by it.
    expect((await status(taking(0), oracle))?.status).toBe(200);
    time.ms += 2_000;
    expect((await status(taking(0)))?.status).toBe(429);
    time.ms += 1;
    expect((await status(taking(0)))?.status).toBe(200);
  });

  it('does not parse a body if the limit was reached while it arrived', async () => {
    const { send, requests, limits } = world();
    const reached = { ...RATE, allowed: false, remaining: 0 };
    const parsed: unknown[] = [];
    const work: Work = {
      kind: 'task',
      read: (value) => void parsed.push(value),
      answer: async () => ({ json: Buffer.from('{}') }),
    };
    limits.push(null, reached);
    expect((await send(route('screening'), work))[0]?.status).toBe(429);
    expect([parsed, requests]).toEqual([[], []]);
    limits.push(null, null);
    expect((await send(route('screening'), work))[0]?.status).toBe(200);
    expect(parsed).toHaveLength(1);
  });

  const body = JSON.stringify({ address: '0x1', chain: 'ETH' });

  it('charges before it responds, releases the reservation, and refunds a response that could not be sent', async () => {
    const { send, events, requests } = world();
    const screen = { ...route('screening'), credits: 3 };
    const work: Work = {
      kind: 'task',
      read,
      async answer(call) {
        events.push(`work ${call.credits}`);
        call.credits = 2;
        return { json: Buffer.from('{}') };
      },
    };
    const [paid] = await send(screen, work, { body });
    expect(JSON.parse(paid?.body ?? '')).toMatchObject({
      success: true,
      data: {},
      credits: { remaining: 5 },
    });
    expect(events).toEqual(['work 3', 'commit 2', 'release']);
    expect(requests.map(({ credits }) => credits)).toEqual([3]);
    events.length = 0;
    const [failed] = await send(screen, work, { body, breaks: 1 });
    expect([failed?.status, events]).toEqual([
      500,
      ['work 3', 'commit 2', 'release', 'refund acc_1 e1', 'error: request failed'],
    ]);
    events.length = 0;
    // No client reads the response, and if it has no key, it cannot be requested again. That is no fault of the server.
    await send(screen, work, { body, isGone: true });
    expect(events).toEqual(['work 3', 'release']);
    events.length = 0;
    await send(screen, work, { body, isGone: true, headers: { 'idempotency-key': 'k' } });
    expect(events).toEqual(['work 3', 'commit 2', 'release']);
    expect(() => world().pipeline.handlerFor(screen, 0, writing('1'))).toThrow('cannot be charged for');
  });

  it('charges and refunds the balance of sessions for a session, which has a limit of its own', async () => {
    const { send, events, requests } = world();
    const work: Work = { kind: 'task', read, answer: async () => ({ json: Buffer.from('{}') }) };
    for (const [session, breaks] of [
      ['one', 0],
      ['two', 1],
    ] as const) {
      const cookie = `assay_session=${session}`;
      const headers = { authorization: '', cookie, host: 'a.example', origin: 'http://a.example' };
      await send(route('screening'), work, { body, headers, breaks });
    }
    expect(requests.map(({ accountId, pool }) => [accountId, pool])).toEqual([
      ['acc_2', 'dashboard'],
      ['acc_2', 'dashboard'],
    ]);
    expect(new Set(requests.map(({ rate }) => rate?.subject)).size).toBe(2);
    expect(events.filter((one) => one.startsWith('refund'))).toEqual([
      `refund ${balanceId('acc_2', 'dashboard')} e1`,
    ]);
  });

  it('takes no quota and no credits of a key without the permission, and counts its requests', async () => {
    const { send, requests } = world();
    const refused = { ...oracle, permission: 'intel' } as const;
    expect((await send(refused, writing('1')))[0]?.status).toBe(403);
    expect(requests).toMatchObject([{ rate: { subject: 'key_1' }, quota: null, credits: null }]);
  });

  it('counts each of two equal requests at the same time, and works and charges once', async () => {
    const { send, events, requests } = world();
    const work: Work = {
      kind: 'task',
      read,
      async answer() {
        events.push('work');
        return { json: Buffer.from('{}') };
      },
    };
    const request = { body, headers: { 'idempotency-key': 'k' } };
    const [[one], [two]] = await Promise.all([
      send(route('screening'), work, request),
      send(route('screening'), work, request),
    ]);
    expect(two?.body).toBe(one?.body);
    expect([one, two].map((answer) => /Idempotency-Replayed/.test(`${answer?.headers}`))).toEqual([
      false,
      true,
    ]);
    expect(events.filter((event) => event === 'work' || event.startsWith('commit'))).toHaveLength(2);
    expect(requests.map(({ credits }) => credits)).toEqual([route('screening').credits, null]);
  });

  it('sends data of a pooled buffer like any other, and releases the buffer in every case', async () => {
    const { send, events } = world();
    const screen = { ...route('screening'), credits: 1 };
    const text = JSON.stringify({ reasons: ['é'.repeat(40_000)] });
    const owned: Work = { kind: 'task', read, answer: async () => ({ json: Buffer.from(text) }) };
    const pooled: Work = {
      kind: 'task',
      read,
      async answer() {
        const json = Buffer.from(text);
        return {
          json,
          release() {
            events.push('free');
            // Another result is in the buffer from now on.
            json.fill(0x20);
          },
        };
      },
    };
    const ignoring = JSON.stringify({ address: '0x1', chain: 'ETH', other: 1 });
    const headers = { 'idempotency-key': 'k' };
    for (const request of [{ body }, { body: ignoring }, { body, headers }, { body: ignoring, headers }]) {
      const [expected] = await send(screen, owned, request);
      events.length = 0;
      expect(await send(screen, pooled, request)).toEqual([expected]);
      // A response that is stored has bytes of its own before it is charged.
      const isStored = 'headers' in request;
      expect(events.filter((one) => one === 'free' || one.startsWith('commit')).slice(0, 2)).toEqual(
        isStored ? ['free', 'commit 1'] : ['commit 1', 'free'],
      );
    }
    for (const fault of [{ isGone: true }, { breaks: 1 }]) {
      events.length = 0;
      await send(screen, pooled, { body, ...fault });
      expect(events).toContain('free');
    }
    events.length = 0;
    const [free] = await send({ ...screen, credits: 0 }, pooled, { body });
    expect([JSON.parse(free?.body ?? '').data, events]).toEqual([JSON.parse(text), ['free']]);
  });

  it('replays a stored response without work, and rejects another body', async () => {
    const { send, events, admission } = world();
    const screen = route('screening');
    const work: Work = { kind: 'task', read, answer: async () => ({ json: Buffer.from('{}') }) };
    const { hashBody } = await import('../../src/accounts/idempotency.ts');
    admission.next = {
      storedAnswer: { body: Buffer.from('"kept"'), bodyHash: hashBody(JSON.parse(body)) } as never,
    };
    const headers = { 'idempotency-key': 'k' };
    const [kept] = await send(screen, work, { body, headers });
    expect([kept?.body, kept?.headers.includes('Idempotency-Replayed: true'), events]).toEqual([
      '"kept"',
      true,
      [],
    ]);
    const [spaced] = await send(screen, work, { body: `${body} `, headers });
    expect([spaced?.status, spaced?.body]).toEqual([200, '"kept"']);
    const [other] = await send(screen, work, { body: body.replace('{', '{"other":1,'), headers });
    expect([other?.status, other?.body.includes('different request body')]).toEqual([400, true]);
    // A response that no reservation pays for is not sent.
    admission.next = { reservation: null };
    const [unpaid] = await send(screen, work, { body });
    expect([unpaid?.status, events.at(-1)]).toEqual([500, 'error: request failed']);
  });

  it('redirects a www host with its scheme and query', async () => {
    const location = async (isSecure: boolean, host: string, query = '') => {
      const { send } = world({ publicHost: 'api.example', isSecure });
      const [answer] = await send(entity, writing('1'), { headers: { host }, path: '/p', query });
      return answer?.status === 301 ? answer.headers.replace(/^.*Location: /s, '') : answer?.status;
    };
    expect([
      await location(false, 'www.example'),
      await location(true, 'WWW.example', 'a=1'),
      await location(true, 'www.'),
      await location(true, 'wwx.example'),
      await location(true, 'api.www.example'),
    ]).toEqual(['http://api.example/p', 'https://api.example/p?a=1', 200, 200, 200]);
  });

  it('redirects a www host before any work, for every kind of operation', async () => {
    const { send, requests, events } = world({ publicHost: 'api.example' });
    const never = (): never => {
      throw new Error('It was done.');
    };
    const works: readonly (readonly [Route, Work | null])[] = [
      [route('health'), { kind: 'page', answer: never }],
      [entity, { kind: 'lookup', write: never }],
      [route('screen'), { kind: 'body', read, write: never }],
      [route('usage'), { kind: 'query', answer: never }],
      [route('screening'), { kind: 'task', read, answer: never }],
      [route('alertStream'), { kind: 'stream', follow: never }],
      [route('sendJob'), { kind: 'upload', bytesMax: 1, open: never }],
      [route('jobResult'), { kind: 'file', open: never }],
      [route('screenBulk'), { kind: 'bytes', units: never, answer: never }],
      [entity, null],
    ];
    for (const [of, work] of works) {
      const answers = await send(of, work, { headers: { host: 'www.example' } });
      expect(answers.map(({ status }) => status)).toEqual([301]);
    }
    expect([requests, events]).toEqual([[], []]);
  });

  it('counts a task without credits, and charges nothing', async () => {
    const { send, events, requests } = world();
    const free = { ...route('screening'), credits: 0 };
    const [answer] = await send(
      free,
      { kind: 'task', read, answer: async () => ({ json: Buffer.from('7') }) },
      { body },
    );
    expect([answer?.body.startsWith('{"success":true,"data":7'), answer?.body.includes('credits')]).toEqual([
      true,
      false,
    ]);
    expect([events, requests.map(({ credits }) => credits)]).toEqual([[], [null]]);
    // The operation ignores the Idempotency-Key, so an invalid one does no harm.
    const headers = { 'idempotency-key': 'not printable: é' };
    const work: Work = { kind: 'task', read, answer: async () => ({ json: Buffer.from('7') }) };
    expect((await send(free, work, { body, headers }))[0]?.status).toBe(200);
    expect((await send(route('screening'), work, { body, headers }))[0]?.status).toBe(400);
  });

  it('admits any key if no permission is required, and requires one of several', async () => {
    const { send } = world();
    const asking = async (permission: Route['permission']): Promise<number | undefined> =>
      (await send({ ...entity, permission }, writing('1')))[0]?.status;
    expect(await asking('any')).toBe(200);
    expect(await asking(['kyt', 'oracle'])).toBe(200);
    expect([await asking(['kyt', 'intel']), await asking('intel')]).toEqual([403, 403]);
  });

  it('ends an empty file at once, and logs a file that ended early', async () => {
    const { send, events, recorded } = world();
    const result = route('jobResult');
    const file = (length: number, next: () => Promise<Uint8Array>): Work => ({
      kind: 'file',
      open: async () => ({
        status: 206,
        contentType: 'text/plain',
        source: { length, next, close: async () => {} },
      }),
    });
    const never = () => Promise.reject(new Error('gone from the disk'));
    const [empty] = await send(result, file(0, never));
    expect([empty?.status, empty?.body, events]).toEqual([206, '', []]);
    const [full] = await send(
      result,
      file(1, async () => Buffer.from('x')),
    );
    expect([full?.body, recorded]).toEqual(['x', [206, 206]]);
    await send(result, file(1, never));
    expect(events).toEqual(['error: response ended early']);
    await send(
      result,
      file(1, async () => Buffer.from('x')),
      { isGone: true },
    );
    expect(recorded.at(-1)).toBe(0);
  });

  it('opens no stream for a disconnected client, and quotes at most 128 characters of an unknown path', async () => {
    const { send } = world();
    let followed = 0;
    const follow: Work = {
      kind: 'stream',
      follow(_call, open) {
        followed++;
        open();
      },
    };
    const stream = route('alertStream');
    expect((await send(stream, follow))[0]?.body).toBe('stream');
    expect([(await send(stream, follow, { isGone: true }))[0]?.body, followed]).toEqual(['', 1]);
    const unknown = async (length: number) => {
      const path = `/${'x'.repeat(length - 'GET /'.length)}`;
      return (await send(entity, null, { path }))[0]?.body ?? '';
    };
    expect((await unknown(128)).includes('…')).toBe(false);
    expect((await unknown(129)).includes('x…. All operations')).toBe(true);
  });

  it('makes one text of the metrics for all requests of a turn, in a later turn', async () => {
    let reads = 0;
    const gauge = { name: 'assay_test_reads', help: 'Reads of this gauge.', value: () => ++reads };
    const metrics = createHttpMetrics({ routes: ['one'], gauges: [gauge] });
    const scrapes = [metrics.scrape(), metrics.scrape()];
    await Promise.resolve();
    scrapes.push(metrics.scrape());
    expect(reads).toBe(0);
    const texts = await Promise.all(scrapes);
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('assay_test_reads 1');
    expect(await metrics.scrape()).toContain('assay_test_reads 2');
  });

  it('counts every status that this program sends', async () => {
    const statuses = [
      ...new Set([0, 200, 206, 301, 304, ...Object.values(ERRORS).map(({ status }) => status)]),
    ];
    const metrics = createHttpMetrics({ routes: ['one'], gauges: [] });
    for (const status of statuses) metrics.record(0, status, 250);
    metrics.record(0, 599, 250.1);
    const text = await metrics.scrape();
    for (const status of statuses)
      expect(text).toContain(`{route="one",status="${status}"} ${status === 500 ? 2 : 1}`);
    expect(text).toContain(`le="0.25"} ${statuses.length}`);
    expect(text).toContain(`le="1"} ${statuses.length + 1}`);
  });
});
