import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import {
  type DownloadDeps,
  type DownloadOptions,
  downloadSource,
  type FileDownload,
} from '../../../src/sources/download.ts';
import { redirectTarget } from '../../../src/sources/download-request.ts';
import type { PublisherSource } from '../../../src/sources/publisher.ts';
import {
  type Behaviour,
  cutAfter,
  cutChunked,
  drip,
  endless,
  inTurn,
  type ListServer,
  lieAboutLength,
  packedBomb,
  redirect,
  redirectForEver,
  serve,
  silence,
  stallAfter,
  startListServer,
  status,
  truncate,
  webPage,
} from '../../setup/list-server.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

const LIST = Buffer.from('<list>\n'.padEnd(200_000, 'abcdefghij\n'));
const LONGER = Buffer.concat([LIST, Buffer.from('<more/>\n')]);
const NAME = 'list.xml';

let server: ListServer;
let folder: string;
let now: number;

const source = (...names: string[]): PublisherSource => ({
  id: 'test',
  files: names.map((name) => ({ name, url: `https://publisher.example/${name}` })),
});

async function fetchAll(
  options: Partial<DownloadOptions> = {},
  deps: Partial<DownloadDeps> = {},
  names: string[] = [NAME],
): Promise<readonly FileDownload[]> {
  return downloadSource(
    source(...names),
    {
      folder,
      from: server.url,
      ...options,
      bounds: {
        connectMs: 500,
        headersMs: 300,
        stallMs: 300,
        totalMs: 5_000,
        retryWaitsMs: [],
        ...options.bounds,
      },
    },
    { clock: { now: () => now, monotonic: () => now }, log: silentLogger, ...deps },
  );
}

async function fetchOne(
  options: Partial<DownloadOptions> = {},
  deps: Partial<DownloadDeps> = {},
): Promise<FileDownload> {
  const [result] = await fetchAll(options, deps);
  return result as FileDownload;
}

const copy = (): Buffer => readFileSync(join(folder, NAME));
const leftovers = (): string[] =>
  readdirSync(folder).filter((name) => name !== NAME && name !== `${NAME}.json`);

beforeEach(async () => {
  server = await startListServer();
  folder = mkdtempSync(join(tmpdir(), 'assay-download-'));
  now = Date.UTC(2026, 10, 21, 12);
});

afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a well-behaved publisher', () => {
  it('sends the whole file once, and then only if it changed', async () => {
    const lastModified = 'Fri, 20 Nov 2026 10:00:00 GMT';
    server.paths.set(`/${NAME}`, serve(LIST, { lastModified }));
    expect(await fetchOne()).toEqual({
      name: NAME,
      status: 'updated',
      reason: '200,000 bytes.',
      path: join(folder, NAME),
      bytes: LIST.length,
      lastModified: '2026-11-20T10:00:00.000Z',
      checkedAt: '2026-11-21T12:00:00.000Z',
      optional: false,
    });
    expect(copy().equals(LIST)).toBe(true);
    expect(server.requests[0]?.headers['if-none-match']).toBeUndefined();

    now += 3_600_000;
    const again = await fetchOne();
    expect(again).toMatchObject({
      status: 'unchanged',
      bytes: LIST.length,
      lastModified: '2026-11-20T10:00:00.000Z',
      checkedAt: '2026-11-21T13:00:00.000Z',
    });
    expect(server.requests[1]?.headers).toMatchObject({
      'if-none-match': expect.stringMatching(/^"/),
      'if-modified-since': lastModified,
    });
    expect(leftovers()).toEqual([]);
  });

  it('has its copy replaced when the list changed', async () => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    server.paths.set(`/${NAME}`, serve(LONGER));
    expect((await fetchOne()).status).toBe('updated');
    expect(copy().equals(LONGER)).toBe(true);
  });

  it('without conditional requests still counts as unchanged when the content is the same', async () => {
    server.paths.set(`/${NAME}`, serve(LIST, { conditional: false }));
    await fetchOne();
    const again = await fetchOne();
    expect(again).toMatchObject({ status: 'unchanged', reason: 'The content is the same as before.' });
  });

  it('may compress the response', async () => {
    server.paths.set(`/${NAME}`, serve(LIST, { packed: true }));
    expect((await fetchOne()).bytes).toBe(LIST.length);
    expect(copy().equals(LIST)).toBe(true);
  });

  it('may redirect, and progress is reported up to the last byte', async () => {
    server.paths.set(`/${NAME}`, redirect('/a', 301));
    server.paths.set('/a', redirect(`${server.url}b`, 307));
    server.paths.set('/b', serve(LIST));
    const seen: number[] = [];
    const result = await fetchOne({
      onProgress: ({ bytes, totalBytes }) => seen.push(bytes / (totalBytes ?? 0)),
    });
    expect(result.status).toBe('updated');
    expect(seen.at(-1)).toBe(1);
  });

  it('is not asked with the validators of another server', async () => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    server.paths.set(`/mirror/${NAME}`, serve(LIST));
    await fetchOne({ from: `${server.url}mirror` });
    expect(server.requests[1]?.path).toBe(`/mirror/${NAME}`);
    expect(server.requests[1]?.headers['if-none-match']).toBeUndefined();
  });

  it('sends the whole file again if the copy was damaged or lost', async () => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    writeFileSync(join(folder, NAME), 'damaged');
    expect((await fetchOne({ force: true })).status).toBe('updated');
    rmSync(join(folder, NAME));
    expect((await fetchOne()).status).toBe('updated');
    expect(copy().equals(LIST)).toBe(true);
  });
});

describe('a hostile or broken publisher', () => {
  const faults: readonly [string, () => Behaviour, RegExp, totalMs?: number][] = [
    ['cuts the connection', () => cutAfter(LONGER, 150_000), /cut|longer or shorter/],
    ['cuts a chunked answer', () => cutChunked(LONGER, 150_000), /cut/],
    [
      'announces more than it sends',
      () => lieAboutLength(LONGER, LONGER.length + 10),
      /cut|longer or shorter/,
    ],
    ['falls silent in the middle', () => stallAfter(LONGER, 150_000), /silent/],
    ['never answers', () => silence, /too long to answer/],
    ['drips', () => drip(LONGER, 50), /longer than 0.9 s/, 900],
    ['sends for ever', () => endless, /larger than 1,000,000 bytes/],
    ['sends a packed bomb', () => packedBomb(50_000_000), /larger than 1,000,000 bytes/],
    ['sends a web page with 200', () => webPage, /web page/],
    ['sends nothing with 200', () => serve('', { conditional: false }), /empty/],
    ['sends under half the last size', () => truncate(LIST, 90_000), /less than half/],
    ['redirects for ever', () => redirectForEver(), /more than 5 redirects/],
    ['redirects to nothing', () => redirect('http://['), /no valid URL/],
    ['redirects to a private host', () => redirect('http://localhost:1/x'), /only https is allowed/],
    ['redirects to a private address', () => redirect('https://169.254.169.254/x'), /not public/],
    [
      'redirects to a name that resolves to a private address',
      () => redirect('https://localhost/x'),
      /not public/,
    ],
    ['redirects to another scheme', () => redirect('file:///etc/passwd'), /only https is allowed/],
    ['floods with headers', () => status(200, { 'x-noise': 'x'.repeat(30_000) }), /headers of the answer/],
    ['is out of order', () => status(503), /HTTP 503/],
    ['has lost the file', () => status(404), /HTTP 404/],
    ['sends a part only', () => status(206), /HTTP 206/],
    ['packs in a way nobody asked for', () => status(200, { 'content-encoding': 'br' }), /'br'/],
    ['breaks the packing', () => status(200, { 'content-encoding': 'gzip' }), /packed answer/],
  ];

  it.each(faults)('that %s: the last good copy stays', async (_, behaviour, reason, totalMs = 10_000) => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    server.paths.set(`/${NAME}`, behaviour());
    now += 60_000;
    const failed = await fetchOne({ bounds: { totalMs, bytesMax: 1_000_000 } });
    expect(failed.reason).toMatch(reason);
    expect(failed).toMatchObject({
      status: 'failed',
      path: join(folder, NAME),
      bytes: LIST.length,
      checkedAt: '2026-11-21T12:00:00.000Z',
    });
    expect(copy().equals(LIST)).toBe(true);
    expect(leftovers()).toEqual([]);

    server.paths.set(`/${NAME}`, serve(LONGER));
    expect((await fetchOne()).status).toBe('updated');
  });

  it('that sends more than it announces has the rest ignored', async () => {
    server.paths.set(`/${NAME}`, lieAboutLength(LONGER, LIST.length));
    const result = await fetchOne();
    if (result.status === 'updated') expect(copy().equals(LIST)).toBe(true);
    else expect(existsSync(join(folder, NAME))).toBe(false);
  });

  it('that says "not modified" of a file never fetched leaves no copy', async () => {
    server.paths.set(`/${NAME}`, status(304));
    expect(await fetchOne()).toMatchObject({ status: 'failed', path: null, bytes: 0, checkedAt: null });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that sends a truncated gzip file as complete is detected by its checksum', async () => {
    const packed = gzipSync(LIST.toString('base64').split('').reverse().join(''));
    server.paths.set(`/${NAME}`, truncate(packed, packed.length - 9));
    expect(await fetchOne()).toMatchObject({ status: 'failed', path: null });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that sends a decompression bomb is detected before it fills the memory', async () => {
    server.paths.set(`/${NAME}`, serve(gzipSync(Buffer.alloc(64 * 1024 * 1024))));
    const failed = await fetchOne();
    expect(failed).toMatchObject({ status: 'failed', path: null });
    expect(failed.reason).toMatch(/times its size/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that sends an invalid file changes nothing', async () => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    server.paths.set(`/${NAME}`, serve(LONGER));
    const parsed: string[] = [];
    const parse = async (path: string): Promise<void> => {
      parsed.push(readFileSync(path, 'utf8').slice(-8));
      throw new AssayError('INVALID_FILE', 'list.xml: line 3 is broken.');
    };
    const failed = await fetchOne({}, { parse });
    expect(failed).toMatchObject({
      status: 'failed',
      reason: 'it cannot be parsed: list.xml: line 3 is broken.',
    });
    expect(parsed).toEqual(['<more/>\n']);
    expect(copy().equals(LIST)).toBe(true);
    expect((await fetchOne()).status).toBe('updated');
  });

  it('is requested again after a temporary error', async () => {
    server.paths.set(`/${NAME}`, inTurn(cutAfter(LIST, 10), status(502), serve(LIST)));
    expect((await fetchOne({ bounds: { retryWaitsMs: [1, 1] } })).status).toBe('updated');
    expect(server.requests).toHaveLength(3);
  });

  it('is not requested again after a permanent error', async () => {
    server.paths.set(`/${NAME}`, inTurn(status(404), serve(LIST)));
    expect((await fetchOne({ bounds: { retryWaitsMs: [1, 1] } })).status).toBe('failed');
    expect(server.requests).toHaveLength(1);
  });

  it('that cannot be reached fails once, without an exception', async () => {
    await server.close();
    const failed = await fetchOne({ bounds: { retryWaitsMs: [60_000] } });
    expect(failed).toMatchObject({ status: 'failed', reason: 'the server refused the connection.' });
    server = await startListServer();
  });
});

describe('a run', () => {
  it('reports each file separately', async () => {
    server.paths.set('/a.csv', serve('a,b\n1,2\n'));
    server.paths.set('/c.csv', serve('c,d\n1,2\n'));
    const results = await fetchAll({}, {}, ['a.csv', 'b.csv', 'c.csv']);
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ['a.csv', 'updated'],
      ['b.csv', 'failed'],
      ['c.csv', 'updated'],
    ]);
  });

  it('at the same time as another of the same source leaves one complete copy', async () => {
    server.paths.set(`/${NAME}`, inTurn(serve(LIST), serve(LONGER)));
    const results = await Promise.all([fetchOne(), fetchOne()]);
    expect(results.every(({ status: outcome }) => outcome !== 'failed')).toBe(true);
    expect([LIST.length, LONGER.length]).toContain(copy().length);
    expect(leftovers()).toEqual([]);
    expect((await fetchOne()).status).not.toBe('failed');
    expect(copy().equals(LONGER)).toBe(true);
  });

  it('stops when it is interrupted, and keeps the copy', async () => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    server.paths.set(`/${NAME}`, stallAfter(LONGER, 150_000));
    const stop = new AbortController();
    const running = fetchOne({
      signal: stop.signal,
      bounds: { stallMs: 60_000, totalMs: 60_000, retryWaitsMs: [60_000] },
      onProgress: () => stop.abort(),
    });
    expect(await running).toMatchObject({ status: 'failed', reason: 'it was stopped.' });
    expect(copy().equals(LIST)).toBe(true);
    expect(leftovers()).toEqual([]);
  });

  it('accepts a list that shrank if it is forced', async () => {
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    server.paths.set(`/${NAME}`, serve(LIST.subarray(0, 10_000)));
    expect((await fetchOne({ force: true })).bytes).toBe(10_000);
  });

  it('removes the files that a killed run left', async () => {
    const left = join(folder, '.partial-1-1');
    mkdirSync(left);
    utimesSync(left, now / 1000 - 86_400, now / 1000 - 86_400);
    server.paths.set(`/${NAME}`, serve(LIST));
    await fetchOne();
    expect(leftovers()).toEqual([]);
  });

  it.each(['not a url', 'ftp://mirror.example/', 'https://user:secret@mirror.example/'])(
    'refuses the mirror %s with a sentence',
    async (from) => {
      await expect(fetchOne({ from })).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'from' });
    },
  );

  it('without a mirror never requests a private or unencrypted address', async () => {
    const at = (url: string): PublisherSource => ({ ...source(), files: [{ name: NAME, url }] });
    server.paths.set(`/${NAME}`, serve(LIST));
    const deps = { clock: { now: () => now, monotonic: () => now }, log: silentLogger };
    for (const url of [`${server.url}${NAME}`, `https://127.0.0.1/${NAME}`, `https://localhost/${NAME}`]) {
      const [result] = await downloadSource(at(url), { folder, bounds: { retryWaitsMs: [] } }, deps);
      expect(result).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/only https|not public/),
      });
    }
    expect(server.requests).toEqual([]);
  });
});

describe('redirectTarget', () => {
  it('follows redirects to https, and never from https to http', () => {
    expect(redirectTarget(new URL('http://a.example/x'), 'https://b.example/').href).toBe(
      'https://b.example/',
    );
    expect(redirectTarget(new URL('https://a.example/x/y'), '../z').href).toBe('https://a.example/z');
    expect(() => redirectTarget(new URL('https://a.example/'), 'http://a.example/')).toThrow(/refused/);
    expect(() => redirectTarget(new URL('https://a.example/'), null)).toThrow(/no valid URL/);
  });
});

describeWithSharedData('the publishers’ real files', () => {
  it('arrive unchanged', async () => {
    const files = [
      'ofac/sdn_advanced_2025-03-21.xml.gz',
      'un/un_consolidated_2026-02-27.xml',
      'graphsense/graphsense-tagpacks.tar.gz',
    ];
    const names = files.map((file) => file.split('/')[1] as string);
    for (const [at, file] of files.entries())
      server.paths.set(`/${names[at]}`, serve(readFileSync(sharedData(file))));
    const results = await fetchAll({}, {}, names);
    expect(results.map(({ status }) => status)).toEqual(['updated', 'updated', 'updated']);
    for (const [at, file] of files.entries()) {
      expect(readFileSync(join(folder, names[at] as string)).equals(readFileSync(sharedData(file)))).toBe(
        true,
      );
    }
  });
});
