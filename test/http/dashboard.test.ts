/** The built dashboard over both servers: its files, its pages, and the paths that it leaves to the API. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtDashboard, projectRoot } from '../../src/base/paths.ts';
import type { DashboardManifest } from '../../src/http/dashboard.ts';
import { sendAsIs as ask } from './send-as-is.ts';
import { openWorld, type World } from './world.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const NAVIGATION = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const manifest = JSON.parse(readFileSync(join(builtDashboard, 'manifest.json'), 'utf8')) as DashboardManifest;

describe.each(['uws', 'node'] as const)('the dashboard on %s', (backend) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ backend });
  });
  afterAll(() => world.close());

  it('sends every file in both codings and as it is, immutable, with the policy', async () => {
    const files = manifest.files.filter(({ path }) => path !== manifest.document);
    expect(files.filter(({ isImmutable }) => isImmutable).length).toBeGreaterThan(5);
    expect(files.filter(({ isImmutable }) => !isImmutable).map(({ path }) => path)).toEqual([
      '/assets/licences.txt',
      '/verify-saved.html',
    ]);
    for (const { path, contentType, isImmutable } of files) {
      const answers = await Promise.all([
        ask(world, path, { 'accept-encoding': 'gzip, br' }),
        ask(world, path, { 'accept-encoding': 'gzip' }),
        ask(world, path),
      ]);
      expect(answers.map(({ status, headers }) => [status, headers['content-encoding']])).toEqual([
        [200, 'br'],
        [200, 'gzip'],
        [200, undefined],
      ]);
      const [br, gzip, plain] = answers.map(({ body }) => body) as [Buffer, Buffer, Buffer];
      expect(brotliDecompressSync(br).equals(plain) && gunzipSync(gzip).equals(plain), path).toBe(true);
      for (const { headers } of answers)
        expect(headers).toMatchObject({
          'content-type': contentType,
          'content-security-policy': POLICY,
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
          'cache-control': isImmutable ? 'max-age=31536000, immutable' : 'no-cache',
          vary: 'Accept-Encoding',
        });
    }
  });

  it('sends the same document for every page, which caches ask for again', async () => {
    const documents = await Promise.all(
      ['/', '/login', '/confirm', '/screening/ETH/0x28c6c06298d514db089934071355e5743bf21d60'].map((path) =>
        ask(world, path, { accept: NAVIGATION }),
      ),
    );
    for (const { status, headers, body } of documents) {
      expect(status).toBe(200);
      expect(body.equals(documents[0]?.body ?? Buffer.alloc(0))).toBe(true);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'cache-control': 'no-cache',
      });
    }
    const text = String(documents[0]?.body);
    // Nothing inline, which the policy would block.
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/i);
    const named = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(named.length).toBeGreaterThan(1);
    for (const path of named) expect(manifest.files.map((file) => file.path)).toContain(path);
    const etag = String(documents[0]?.headers.etag);
    const again = await ask(world, '/login', { accept: NAVIGATION, 'if-none-match': etag });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  it('answers HEAD with the headers of GET', async () => {
    for (const path of ['/', manifest.files[0]?.path ?? '']) {
      const [get, head] = [await ask(world, path), await ask(world, path, {}, 'HEAD')];
      expect([head.status, head.body.length]).toEqual([200, 0]);
      for (const name of ['content-type', 'content-length', 'etag'])
        expect(head.headers[name], name).toBe(get.headers[name]);
    }
  });

  it('answers a path that no page has with 404: people get the document, programs the error', async () => {
    for (const path of [
      '/nothing',
      '/screening',
      '/screening/ETH/x/y',
      '/login/x',
      '/index.html',
      '//',
      '/assets/x.js',
    ]) {
      const page = await ask(world, path, { accept: NAVIGATION });
      expect([path, page.status, page.headers['content-type'], page.headers['x-error-code']]).toEqual([
        path,
        404,
        path === '/index.html' ? 'application/json' : 'text/html; charset=utf-8',
        'NOT_FOUND',
      ]);
      for (const accept of ['application/json', '*/*', '']) {
        const program = await ask(world, path, { accept });
        expect([program.status, program.headers['content-type']]).toEqual([404, 'application/json']);
      }
    }
  });

  it('leaves the paths of programs to them, and errors to clients that accept no HTML', async () => {
    for (const path of [
      '/api',
      '/api/v1',
      '/api/v1/nothing',
      '/docs/nothing/x',
      '/mcp/x',
      '/log/x',
      '/metrics/x',
      '/.well-known/x',
      '/health/x',
      '/ready/x',
      '/openapi.json/x',
    ]) {
      const { status, headers } = await ask(world, path, { accept: NAVIGATION });
      expect([path, status, headers['content-type']]).toEqual([path, 404, 'application/json']);
    }
    const json = await ask(world, '/', { accept: 'application/problem+json, application/json' });
    expect([json.status, json.headers['content-type']]).toEqual([404, 'application/problem+json']);
    expect((await ask(world, '/health', { accept: NAVIGATION })).headers['content-type']).toBe(
      'application/json',
    );
    const posted = await ask(world, '/', { accept: NAVIGATION }, 'POST');
    expect([posted.status, posted.headers['content-type']]).toEqual([404, 'application/json']);
  });

  it('reaches no other file, whatever the path is', async () => {
    for (const path of [
      '/manifest.json',
      '/assets/../manifest.json',
      '/assets/..%2fmanifest.json',
      '/%2e%2e/package.json',
      '/assets/',
      '/assets/constructor',
      '/__proto__',
      '/0.js',
      '/0.js.br',
    ]) {
      const { status, headers } = await ask(world, path);
      expect([path, status, headers['content-type']]).toEqual([path, 404, 'application/json']);
    }
  });

  it('counts its requests apart from unknown paths', async () => {
    await ask(world, '/login', { accept: NAVIGATION });
    const text = String((await ask(world, '/metrics')).body);
    expect(text).toMatch(/^assay_http_requests_total\{route="dashboard",status="200"\} [1-9]/m);
  });
});

it.each([
  ['assay.example.org', 'max-age=31536000'],
  ['assay.example.org:8443', undefined],
  [null, undefined],
])('with TLS and the public host %s, sends the header of TLS alone as %s', async (publicHost, expected) => {
  const fileOf = (name: string): string => join(projectRoot, 'test', 'http', 'tls', name);
  const tls = { keyFile: fileOf('key.pem'), certFile: fileOf('cert.pem') };
  const world = await openWorld({ backend: 'uws', tls, publicHost });
  try {
    for (const path of ['/', '/login', '/no-such-page']) {
      const options = {
        ...{
          host: '127.0.0.1',
          port: world.port,
          path,
          servername: 'localhost',
          ca: readFileSync(tls.certFile),
        },
        headers: { accept: NAVIGATION },
      };
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(options, resolve).on('error', reject);
      });
      response.resume();
      expect(response.headers['strict-transport-security'], path).toBe(expected);
    }
  } finally {
    await world.close();
  }
});

it('says at / that the dashboard was not built, and serves the API', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-dashboard-'));
  const warnings: unknown[] = [];
  const log = {
    info: () => {},
    error: () => {},
    debug: () => {},
    warn: (...line: unknown[]) => warnings.push(line),
    child: () => log,
  };
  const world = await openWorld({ backend: 'node', dashboardFolder: folder, log: log as never });
  try {
    const { status, body } = await ask(world, '/', { accept: NAVIGATION });
    expect([status, String(body)]).toEqual([
      200,
      'The dashboard is not part of this build. The API is at /api/v1, and its reference at /docs.\n',
    ]);
    expect(warnings).toContainEqual([{ folder }, 'dashboard was not built']);
    expect((await ask(world, '/health')).status).toBe(200);
    const link = await ask(world, '/confirm', { accept: NAVIGATION });
    expect([link.status, String(link.body)]).toEqual([404, String(body)]);
    const call = await ask(world, '/confirm', { accept: '*/*' });
    expect([call.status, call.headers['content-type']]).toEqual([404, expect.stringContaining('json')]);
  } finally {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
