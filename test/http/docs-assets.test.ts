/** The files of /docs/api: the vendored script is the published one, and it is served compressed, unchanged and cacheable. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shippedData } from '../../src/base/paths.ts';
import { codeSamplesOf } from '../../src/http/code-samples.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { openWorld, type World } from './world.ts';

const folder = shippedData('vendor', 'scalar-api-reference');
const vendored = JSON.parse(readFileSync(join(folder, 'vendor.json'), 'utf8')) as {
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
};

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('the vendored script', () => {
  it.each([
    ['br', brotliDecompressSync],
    ['gz', gunzipSync],
  ] as const)('has the recorded length and hash, and no licence is missing (%s)', (ending, decompress) => {
    const plain = decompress(readFileSync(join(folder, `standalone.js.${ending}`)));
    expect([plain.length, sha256(plain)]).toEqual([vendored.bytes, vendored.sha256]);
    expect(existsSync(join(folder, 'LICENSE'))).toBe(true);
  });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

describe.each(['uws', 'node'] as const)('/docs/api on %s', (backend) => {
  let world: World;
  let scripts: readonly string[];
  beforeAll(async () => {
    world = await openWorld({ backend });
    const page = await (await fetch(`${world.url}/docs/api`)).text();
    scripts = [...page.matchAll(/<script defer src="([^"]+)"><\/script>/g)].map(([, path]) => path ?? '');
  });
  afterAll(() => world.close());

  /** Unlike fetch, it does not decompress. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(`${world.url}${path}`, { method, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(parts),
          }),
        );
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end();
    });

  it('is a page without inline scripts, whose policy allows scripts of this host only', async () => {
    const { status, headers, bytes } = await get('/docs/api');
    expect(status).toBe(200);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toContain('unsafe-eval');
    expect(headers['cache-control']).toBe('no-cache');
    expect(scripts).toHaveLength(2);
    expect(bytes.toString().match(/<script/g)).toHaveLength(2);
    // /docs has no script at all.
    expect((await get('/docs')).bytes.toString()).not.toContain('<script');
  });

  it.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip, deflate', gunzipSync],
    [undefined, 'identity', (bytes: Buffer) => bytes],
  ] as const)('sends its script as %s for "%s"', async (coding, accepted, decompress) => {
    const path = scripts.find((script) => script.includes('scalar')) ?? '';
    expect(path).toContain(vendored.sha256.slice(0, 12));
    const { status, headers, bytes } = await get(path, { 'accept-encoding': accepted });
    expect([status, headers['content-encoding']]).toEqual([200, coding]);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
      'content-length': String(bytes.length),
    });
    expect(sha256(decompress(bytes))).toBe(vendored.sha256);

    const etag = String(headers.etag);
    expect(etag).toMatch(/^"[^"]+"$/);
    const again = await get(path, { 'accept-encoding': accepted, 'if-none-match': etag });
    expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, etag]);
    const head = await get(path, { 'accept-encoding': accepted }, 'HEAD');
    expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([
      200,
      String(bytes.length),
      0,
    ]);
  });

  it('gives each coding an ETag of its own', async () => {
    const path = scripts.find((script) => script.includes('scalar')) ?? '';
    const tags = await Promise.all(
      ['br', 'gzip', 'identity'].map(
        async (accepted) => (await get(path, { 'accept-encoding': accepted }, 'HEAD')).headers.etag,
      ),
    );
    expect(new Set(tags).size).toBe(3);
  });

  it('answers 404 for a file of another version', async () => {
    for (const name of ['scalar-0.0.0-000000000000.js', '..%2fvendor.json', 'vendor.json']) {
      const { status, bytes } = await get(`/docs/assets/${name}`);
      expect([status, JSON.parse(bytes.toString())]).toEqual([
        404,
        { error: expect.stringContaining('Reload /docs/api.') },
      ]);
    }
  });

  it('stays responsive while slow clients read the script', async () => {
    const path = scripts.find((script) => script.includes('scalar')) ?? '';
    const readers = Array.from({ length: 20 }, () => {
      const reader = request(`${world.url}${path}`, { headers: { 'accept-encoding': 'identity' } });
      reader.on('response', (response) => response.pause());
      reader.on('error', () => {});
      reader.end();
      return reader;
    });
    await Promise.all(readers.map((reader) => new Promise((resolve) => reader.once('response', resolve))));
    expect((await get('/health')).status).toBe(200);
    for (const reader of readers) reader.destroy();
  });
});

describe('the code samples', () => {
  const listed = OPERATIONS.filter(({ isListed }) => isListed);

  it('exist for every operation, in every language', () => {
    for (const route of listed)
      expect([route.id, codeSamplesOf(route).map(({ label }) => label)]).toEqual([
        route.id,
        route.sdk === null ? [] : ['curl', 'TypeScript', 'Python'],
      ]);
  });

  it('name every operation once, and no other', () => {
    const named = OPERATIONS.filter(({ sdk }) => sdk !== null);
    expect(new Set(named.map(({ sdk }) => sdk)).size).toBe(named.length);
    // Stripe calls the operation that has no name.
    expect(listed.filter(({ sdk }) => sdk === null).map(({ id }) => id)).toEqual(['stripeEvent']);
    expect(named.filter(({ isListed }) => !isListed)).toEqual([]);
  });

  it('are literals of their language', () => {
    const names = OPERATIONS.find(({ id }) => id === 'setChannels');
    const [, typescript, python] = names === undefined ? [] : codeSamplesOf(names);
    expect(typescript?.source).toContain('slackWebhookUrl: null');
    expect(python?.source).toContain('slack_webhook_url=None');
    const kyt = OPERATIONS.find(({ id }) => id === 'kyt');
    expect(kyt && codeSamplesOf(kyt)[2]?.source).toContain('from_="0x');
  });

  it('make the document at most 30 percent longer', () => {
    const [without, withSamples] = [undefined, codeSamplesOf].map(
      (samples) => JSON.stringify(openApiDocument('1', OPERATIONS, samples)).length,
    ) as [number, number];
    expect(withSamples).toBeGreaterThan(without);
    expect(withSamples / without).toBeLessThan(1.3);
  });
});
