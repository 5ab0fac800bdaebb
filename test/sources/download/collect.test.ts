/** Files of registers that consist of several responses: pages, forms, cookies and credentials, over real sockets. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { type DownloadOptions, downloadSource, type FileDownload } from '../../../src/sources/download.ts';
import { shippedFrns } from '../../../src/sources/fca/source.ts';
import { REGISTER_SOURCES } from '../../../src/sources/index.ts';
import { SOURCE_LIMITS } from '../../../src/sources/limits.ts';
import type { PublisherFile } from '../../../src/sources/publisher.ts';

let folder: string;
let server: Server;
let base: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'assay-collect-'));
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function download(
  file: Omit<PublisherFile, 'name' | 'url'>,
  options: Partial<DownloadOptions> = {},
): Promise<FileDownload> {
  const [result] = await downloadSource(
    { id: 'test', files: [{ name: 'list.txt', url: `${base}/list`, ...file }] },
    { folder, ...options, bounds: { retryWaitsMs: [], connectMs: 2_000, headersMs: 2_000, totalMs: 20_000 } },
    {
      clock: { now: () => 0, monotonic: () => 0 },
      log: silentLogger,
      policy: { trustedHosts: new Set(['127.0.0.1']) },
    },
  );
  if (result === undefined) throw new Error('no file');
  return result;
}

describe('a file of several responses', () => {
  it('is stored as its source joins them, with cookies and a form', async () => {
    answer = async (request, response) => {
      if (request.url === '/form') {
        response.setHeader('set-cookie', ['session=abc; Path=/; HttpOnly', 'lang=en']).end('form');
        return;
      }
      const body = await textOf(request);
      const { cookie = '', 'content-type': type = '', 'user-agent': agent = '' } = request.headers;
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync([request.method, body, cookie, type, agent].join(' | ')));
    };
    const result = await download({
      userAgent: 'Test/1',
      collect: async function* (fetchPart) {
        yield `${(await fetchPart(`${base}/form`)).toString()}\n`;
        yield await fetchPart(`${base}/list`, { form: { site: 'AA', 'a b': 'ü' } });
      },
    });
    expect(result).toMatchObject({ status: 'updated' });
    expect(readFileSync(join(folder, 'list.txt'), 'utf8')).toBe(
      'form\nPOST | site=AA&a+b=%C3%BC | session=abc; lang=en | application/x-www-form-urlencoded | Test/1',
    );
    expect(
      await download({
        collect: async function* () {
          yield readFileSync(join(folder, 'list.txt'));
        },
      }),
    ).toMatchObject({ status: 'unchanged' });
  });

  it('fails as one: a part that is missing leaves the last good copy', async () => {
    answer = (request, response) => void response.writeHead(request.url === '/1' ? 200 : 404).end('one');
    const collect: PublisherFile['collect'] = async function* (fetchPart) {
      yield await fetchPart(`${base}/1`);
      yield await fetchPart(`${base}/2`);
    };
    expect(await download({ collect })).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('404'),
    });
    expect(
      await download({
        collect: async function* (fetchPart) {
          yield await fetchPart(`${base}/1`);
        },
      }),
    ).toMatchObject({ status: 'updated' });
    expect(await download({ collect })).toMatchObject({ status: 'failed', path: join(folder, 'list.txt') });
    expect(readFileSync(join(folder, 'list.txt'), 'utf8')).toBe('one');
  });

  it('ends after its last allowed request', async () => {
    answer = (_, response) => void response.end('x');
    let requests = 0;
    const result = await download({
      collect: async function* (fetchPart) {
        for (;;) {
          requests++;
          yield await fetchPart(`${base}/x`);
        }
      },
    });
    expect(result).toMatchObject({ status: 'failed', reason: expect.stringContaining('parts') });
    expect(requests).toBe(SOURCE_LIMITS.downloadPartsMax + 1);
  });

  it('requests only allowed hosts', async () => {
    const collect: PublisherFile['collect'] = async function* (fetchPart) {
      yield await fetchPart('http://169.254.169.254/latest');
    };
    expect(await download({ collect })).toMatchObject({ status: 'failed' });
  });
});

describe('a publisher that requires credentials', () => {
  const file = { credentials: 'set X.' };

  it('is not asked without them, and receives them as headers', async () => {
    const seen: (string | string[] | undefined)[] = [];
    answer = (request, response) => {
      seen.push(request.headers['x-auth-key']);
      response.end('data');
    };
    expect(await download(file)).toMatchObject({ status: 'failed', reason: 'requires credentials: set X.' });
    expect(seen).toEqual([]);
    expect(await download(file, { credentials: { 'x-auth-key': 'k' } })).toMatchObject({ status: 'updated' });
    expect(seen).toEqual(['k']);
  });

  it('does not pass them on to another host, nor to a mirror', async () => {
    const seen: (string | string[] | undefined)[] = [];
    answer = (request, response) => {
      seen.push(request.headers['x-auth-key']);
      if (request.headers.host?.startsWith('127') === true && request.url === '/list')
        response.writeHead(302, { location: `${base.replace('127.0.0.1', 'localhost')}/moved` }).end();
      else response.end('data');
    };
    await downloadSource(
      { id: 'test', files: [{ name: 'list.txt', url: `${base}/list` }] },
      { folder, credentials: { 'x-auth-key': 'k' }, bounds: { retryWaitsMs: [] } },
      {
        clock: { now: () => 0, monotonic: () => 0 },
        log: silentLogger,
        policy: { trustedHosts: new Set(['127.0.0.1', 'localhost']) },
      },
    );
    expect(seen[0]).toBe('k');
    expect(seen.slice(1).every((key) => key === undefined)).toBe(true);
    seen.length = 0;
    await download(file, { from: `${base}/mirror/`, credentials: { 'x-auth-key': 'k' } });
    expect(seen).toEqual([undefined]);
  });
});

describe('the sources of registers', () => {
  /** Runs the collection of a source against responses by URL. */
  async function collected(
    id: string,
    respond: (url: URL, form: Readonly<Record<string, string>> | undefined) => string,
  ): Promise<{ text: string; urls: string[] }> {
    const source = REGISTER_SOURCES.find((one) => one.id === id);
    const [file] = (source?.files ?? []) as readonly PublisherFile[];
    const urls: string[] = [];
    let text = '';
    const fetchPart = async (url: string, request?: { form?: Readonly<Record<string, string>> }) => {
      urls.push(url);
      return Buffer.from(respond(new URL(url), request?.form));
    };
    for await (const part of file?.collect?.(fetchPart) ?? []) text += part.toString();
    return { text, urls };
  }

  it('request pages until the announced total is complete', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => ({ legalName: `F${index}`, abn: `${index}` }));
    const { text, urls } = await collected('austrac', (url) => {
      const page = Number(url.searchParams.get('page'));
      return JSON.stringify({ content: { data: rows.slice(page * 100, page * 100 + 100), totalCount: 250 } });
    });
    expect(urls).toHaveLength(3);
    expect(text.trim().split('\n')).toHaveLength(3);
    const { urls: one } = await collected('cssf', () =>
      JSON.stringify({ content: [{ entiteName: 'A' }], totalElements: 1 }),
    );
    expect(one).toHaveLength(1);
    await expect(collected('cssf', () => '{"error":1}')).rejects.toThrow('content');
  });

  it('find the current file of KoFIU', async () => {
    const { text, urls } = await collected('kofiu', (url) =>
      url.pathname.endsWith('.do') && url.pathname.includes('selectBoard')
        ? JSON.stringify({
            result: [
              { ntcnYardSjNm: 'other' },
              { ntcnYardSjNm: '가상자산사업자 신고 현황(8.31.)', fileList: [{ fileId: 'a/b=' }] },
            ],
          })
        : 'workbook',
    );
    expect(text).toBe('workbook');
    expect(urls[1]).toBe('https://www.kofiu.go.kr/cmn/file/downloadBoard.do?fileId=a%2Fb%3D');
  });

  it('request both categories of the MAS and mark a complete file', async () => {
    const { text, urls } = await collected('mas', (url) =>
      url.pathname.endsWith('resultpartial') ? 'page' : '<div data-total="2"></div>',
    );
    expect(urls).toHaveLength(6);
    expect(text.endsWith('<hr data-collected="all">\n')).toBe(true);
  });

  it('request the whole list of FinCEN, and the firms of the FCA whose numbers ship', async () => {
    const { text } = await collected('fincen', (_, form) => (form?.site === 'AA' ? 'list' : 'page'));
    expect(text).toBe('list');
    const { urls } = await collected('fca', () => '{"Data":[]}');
    expect(shippedFrns().length).toBeGreaterThanOrEqual(20);
    expect(urls).toEqual(shippedFrns().map((frn) => `https://register.fca.org.uk/services/V0.1/Firm/${frn}`));
  });
});
