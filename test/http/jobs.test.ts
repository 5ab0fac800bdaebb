/** Bulk jobs over HTTP: every operation and its errors, over jobs in a folder. */
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Check } from 'typebox/value';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '../../src/accounts/keys.ts';
import { JobList, OneJob } from '../../src/http/schemas/jobs.ts';
import { openFileParts } from '../../src/http/server/file-parts.ts';
import { rangeOf } from '../../src/http/server/ranges.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { sleep } from '../support/wait.ts';
import { RawClient } from './raw-client.ts';
import { openWorld, type World } from './world.ts';
import { answerOf, type FolderJobs, folderJobs } from './world-jobs.ts';

const FRONT_ENDS = [
  ['uws', 'at once', false],
  ['node', 'at once', false],
  ['uws', 'later', true],
  ['node', 'later', true],
] as const;

const NDJSON = 'application/x-ndjson';
const linesOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `"0x${n}"`);
const bodyOf = (count: number): string => `${linesOf(count).join('\n')}\n`;
const resultOf = (count: number): string => linesOf(count).map(answerOf).join('');

describe.each(FRONT_ENDS)('bulk jobs on %s, behind a gate that answers %s', (backend, _when, isGateLate) => {
  let folder: TempFolder;
  let jobs: FolderJobs;
  let world: World;
  const clients: RawClient[] = [];

  beforeAll(async () => {
    folder = tempFolder();
    jobs = folderJobs(folder.path);
    world = await openWorld({ backend, isGateLate, useCases: { jobs: () => jobs } });
  });
  afterAll(async () => {
    await world.close();
    folder.remove();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    jobs.isHeld = false;
    jobs.onWrite = () => {};
    expect(jobs.uploads()).toBe(0);
  });

  let accounts = 0;
  /** Creates a client with an account of its own. */
  async function caller(permissions: readonly Permission[] = ['intel', 'screening', 'kyt'], limit = 100_000) {
    const accountId = `acc${++accounts}`;
    const key = await world.key({ permissions: [...permissions], rateLimits: { intel: limit }, accountId });
    return {
      key,
      ask: (path: string, init: RequestInit = {}) =>
        fetch(`${world.url}/api/v1${path}`, {
          ...init,
          headers: { authorization: `Bearer ${key}`, ...init.headers },
        }),
    };
  }
  type Caller = Awaited<ReturnType<typeof caller>>;

  const send = (from: Caller, query: string, body: string, type = NDJSON): Promise<Response> =>
    from.ask(`/jobs?${query}`, { method: 'POST', body, headers: { 'content-type': type } });

  async function sent(from: Caller, count: number, query = 'kind=labels&chain=eth'): Promise<string> {
    const response = await send(from, query, bodyOf(count));
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { job: { id: string } } };
    return data.job.id;
  }

  it('accepts NDJSON lines, lists and returns the job, serves its result, and deletes it', async () => {
    const from = await caller();
    const response = await send(from, 'kind=labels&chain=eth', bodyOf(1_000));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('100000');
    const answer = (await response.json()) as { success: boolean; data: { job: Record<string, unknown> } };
    expect(answer.success).toBe(true);
    const { job } = answer.data;
    expect(job).toMatchObject({
      kind: 'labels',
      format: 'ndjson',
      chain: 'ETH',
      state: 'DONE',
      items: 1_000,
    });
    expect(job.bytesReceived).toBe(bodyOf(1_000).length);
    const id = job.id as string;

    const one = (await (await from.ask(`/jobs/${id}`)).json()) as { data: { job: unknown } };
    expect(one.data.job).toEqual(job);
    const second = await sent(from, 3);
    const list = (await (await from.ask('/jobs?limit=1')).json()) as {
      data: { jobs: { id: string }[]; total: number; limit: number; offset: number };
    };
    expect(list.data).toMatchObject({ total: 2, limit: 1, offset: 0 });
    expect(list.data.jobs.map((one) => one.id)).toEqual([second]);
    expect([Check(OneJob, one.data), Check(JobList, list.data)]).toEqual([true, true]);
    const next = (await (await from.ask('/jobs?limit=1&offset=1')).json()) as typeof list;
    expect(next.data.jobs.map((one) => one.id)).toEqual([id]);

    const result = await from.ask(`/jobs/${id}/result`);
    expect(result.status).toBe(200);
    expect(result.headers.get('content-type')).toBe(NDJSON);
    expect(result.headers.get('accept-ranges')).toBe('bytes');
    expect(result.headers.get('x-result-complete')).toBe('true');
    expect(result.headers.get('content-length')).toBe(String(resultOf(1_000).length));
    expect(await result.text()).toBe(resultOf(1_000));

    const removed = await from.ask(`/jobs/${id}`, { method: 'DELETE' });
    expect(removed.status).toBe(200);
    expect((await from.ask(`/jobs/${id}`)).status).toBe(404);
    expect((await from.ask(`/jobs/${id}/result`)).status).toBe(404);
  });

  it('accepts verdict as true or false, and returns it with the job', async () => {
    const from = await caller();
    for (const [query, verdict] of [
      ['&verdict=true', true],
      ['&verdict=false', false],
      ['', false],
    ] as const) {
      const answer = (await (await send(from, `kind=labels&chain=eth${query}`, bodyOf(1))).json()) as {
        data: { job: unknown };
      };
      expect(answer.data.job).toMatchObject({ verdict });
    }
    const wrong = await send(from, 'kind=labels&chain=eth&verdict=yes', bodyOf(1));
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      { error: 'verdict: must be one of true, false.' },
    ]);
  });

  it('returns the same job if a request is repeated with its Idempotency-Key', async () => {
    const from = await caller();
    const again = (name: string): Promise<Response> =>
      from.ask('/jobs?kind=kyt&chain=eth', {
        method: 'POST',
        body: bodyOf(3),
        headers: { 'content-type': NDJSON, 'idempotency-key': name },
      });
    const answers = [await again('one'), await again('one'), await again('another')];
    expect(answers.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true', null]);
    const ids = await Promise.all(
      answers.map(async (each) => ((await each.json()) as { data: { job: { id: string } } }).data.job.id),
    );
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    const other = await caller();
    const foreign = await other.ask('/jobs?kind=kyt&chain=eth', {
      method: 'POST',
      body: bodyOf(3),
      headers: { 'content-type': NDJSON, 'idempotency-key': 'one' },
    });
    expect([foreign.status, foreign.headers.get('idempotency-replayed')]).toEqual([200, null]);
    for (const name of ['no spaces', '']) {
      const wrong = await again(name);
      expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('Idempotency-Key')]);
    }
  });

  it('takes the format from the query or the Content-Type', async () => {
    const from = await caller();
    for (const [query, type, format] of [
      ['kind=labels', NDJSON, 'ndjson'],
      ['kind=labels', 'application/jsonl', 'ndjson'],
      ['kind=sanctions', 'Text/CSV; charset=utf-8', 'csv'],
      ['kind=labels&format=csv', 'application/octet-stream', 'csv'],
      ['kind=labels&format=ndjson', 'text/csv', 'ndjson'],
    ] as const) {
      const answer = (await (await send(from, query, bodyOf(2), type)).json()) as {
        data: { job: { format: string; chain: string | null } };
      };
      expect([query, type, answer.data?.job.format]).toEqual([query, type, format]);
      expect(answer.data.job.chain).toBeNull();
    }
  });

  it('rejects a bad upload with an error that names the field, and keeps nothing of it', async () => {
    const from = await caller();
    const big = 'x'.repeat(300_000);
    for (const [query, body, type, status, sentence] of [
      ['', bodyOf(2), NDJSON, 400, /^kind is required/],
      ['kind=magic', bodyOf(2), NDJSON, 400, /^kind: must be one of labels, sanctions, screening, kyt/],
      ['kind=labels&kind=kyt', bodyOf(2), NDJSON, 400, /^kind: must be given only once/],
      ['kind=labels&chain=nope', bodyOf(2), NDJSON, 400, /^chain: must be one of .*\(got "nope"\)/],
      ['kind=labels&format=xml', bodyOf(2), NDJSON, 400, /^format: must be one of ndjson, csv\./],
      ['kind=labels', bodyOf(2), 'text/plain', 400, /^format: must be one of .* Content-Type/],
      ['kind=labels', '', NDJSON, 400, /^body: holds no line/],
      ['kind=labels', bodyOf(13), NDJSON, 402, /quota has 12 units left/],
      ['kind=labels', `"a"\n"BROKEN"\n${big}`, NDJSON, 400, /^body: line 7 is longer/],
    ] as const) {
      const response = await send(from, query, body, type);
      const { error } = (await response.json()) as { error: string };
      expect([query, response.status, error]).toEqual([query, status, expect.stringMatching(sentence)]);
    }
    const packed = await from.ask('/jobs?kind=labels', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': NDJSON, 'content-encoding': 'gzip' },
    });
    expect([packed.status, await packed.text()]).toEqual([
      400,
      expect.stringContaining('Content-Encoding: '),
    ]);
    for (const [path, sentence] of [
      ['/jobs?limit=0', /^limit: /],
      ['/jobs?limit=101', /^limit: must be a whole number from 1 to 100/],
      ['/jobs?offset=-1', /^offset: /],
    ] as const) {
      const response = await from.ask(path);
      expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
        400,
        expect.stringMatching(sentence),
      ]);
    }
    expect((await (await from.ask('/jobs')).json()) as unknown).toMatchObject({ data: { total: 0 } });
  });

  it('requires the same permission as a single request', async () => {
    for (const [permissions, allowed] of [
      [['intel'], ['labels', 'sanctions']],
      [['screening'], ['screening', 'kyt']],
      [['kyt'], ['kyt']],
      [['entity'], []],
    ] as const) {
      const from = await caller(permissions);
      const tried: string[] = [];
      for (const kind of ['labels', 'sanctions', 'screening', 'kyt']) {
        const response = await send(from, `kind=${kind}`, bodyOf(2));
        if (response.status === 200) tried.push(kind);
        else expect([kind, response.status]).toEqual([kind, 403]);
        await response.text();
      }
      expect(tried).toEqual(allowed);
    }
    expect((await fetch(`${world.url}/api/v1/jobs?kind=labels`, { method: 'POST', body: 'x' })).status).toBe(
      401,
    );
    expect((await fetch(`${world.url}/api/v1/jobs`)).status).toBe(401);
  });

  it('shows a job to its own account only, and its result only to a key with the permission of its kind', async () => {
    const from = await caller();
    const other = await caller();
    const id = await sent(from, 3, 'kind=screening');
    for (const path of [`/jobs/${id}`, `/jobs/${id}/result`])
      expect((await other.ask(path)).status).toBe(404);
    expect((await other.ask(`/jobs/${id}`, { method: 'DELETE' })).status).toBe(404);
    const narrow = await world.key({ permissions: ['intel'], accountId: `acc${accounts - 1}` });
    const asked = await fetch(`${world.url}/api/v1/jobs/${id}/result`, {
      headers: { authorization: `Bearer ${narrow}` },
    });
    expect(asked.status).toBe(403);
    expect((await from.ask(`/jobs/${id}`)).status).toBe(200);
    // The list leaves out jobs that the key may not read.
    const labels = await sent(from, 2);
    const listed = async (key: string): Promise<unknown> => {
      const response = await fetch(`${world.url}/api/v1/jobs`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const { data } = (await response.json()) as { data: { jobs: { id: string }[]; total: number } };
      return [data.total, data.jobs.map((job) => job.id).sort()];
    };
    expect(await listed(narrow)).toEqual([1, [labels]]);
    expect(await listed(from.key)).toEqual([2, [id, labels].sort()]);
  });

  it('serves ranges of a result, which join to the whole', async () => {
    const from = await caller();
    const id = await sent(from, 5_000);
    const whole = resultOf(5_000);
    const ask = (range: string, more: Record<string, string> = {}) =>
      from.ask(`/jobs/${id}/result`, { headers: { range, ...more } });
    let joined = '';
    for (let at = 0; at < whole.length; ) {
      const size = 1 + ((at * 7919) % 60_000);
      const response = await ask(`bytes=${at}-${at + size - 1}`);
      const end = Math.min(at + size, whole.length);
      expect(response.status).toBe(206);
      expect(response.headers.get('content-range')).toBe(`bytes ${at}-${end - 1}/${whole.length}`);
      expect(response.headers.get('content-length')).toBe(String(end - at));
      joined += await response.text();
      at = end;
    }
    expect(joined === whole).toBe(true);
    expect(await (await ask('bytes=-10')).text()).toBe(whole.slice(-10));
    expect(await (await ask(`bytes=${whole.length - 5}-`)).text()).toBe(whole.slice(-5));

    const etag = (await ask('bytes=0-1')).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[^"]+"$/);
    expect((await ask('bytes=0-1', { 'if-range': etag })).status).toBe(206);
    for (const other of ['"other"', `W/${etag}`, 'Sat, 21 Nov 2026 00:00:00 GMT']) {
      const response = await ask('bytes=0-1', { 'if-range': other });
      expect([response.status, (await response.text()).length]).toEqual([200, whole.length]);
    }
    const behind = await ask(`bytes=${whole.length}-`);
    expect(behind.status).toBe(400);
    expect(behind.headers.get('content-range')).toBe(`bytes */${whole.length}`);
    expect(((await behind.json()) as { error: string }).error).toMatch(/^Range: the result has \d+ bytes\.$/);
    // If a range is invalid or not a single one, the whole result is sent, as the standard allows.
    for (const range of ['bytes=0-1,5-6', 'lines=0-1', 'bytes=9-3', 'bytes=a-'])
      expect((await ask(range)).status).toBe(200);
  });

  it('serves the available part of a running job, and the rest later', async () => {
    const from = await caller();
    jobs.isHeld = true;
    const id = await sent(from, 9);
    const nothing = await from.ask(`/jobs/${id}/result`);
    expect([nothing.status, await nothing.text()]).toEqual([200, '']);
    expect(nothing.headers.get('x-result-complete')).toBe('false');
    jobs.answer(id, 4);
    const some = await (await from.ask(`/jobs/${id}/result`)).text();
    expect(some).toBe(linesOf(9).slice(0, 4).map(answerOf).join(''));
    expect(
      (await from.ask(`/jobs/${id}/result`, { headers: { range: `bytes=${some.length}-` } })).status,
    ).toBe(400);
    jobs.answer(id);
    const rest = await from.ask(`/jobs/${id}/result`, { headers: { range: `bytes=${some.length}-` } });
    expect(some + (await rest.text())).toBe(resultOf(9));
  });

  it('cancels a running job', async () => {
    const from = await caller();
    jobs.isHeld = true;
    const id = await sent(from, 9);
    const stopped = (await (await from.ask(`/jobs/${id}`, { method: 'DELETE' })).json()) as {
      data: { job: { state: string } };
    };
    expect(stopped.data.job.state).toBe('CANCELLED');
    expect((await from.ask(`/jobs/${id}`)).status).toBe(200);
  });

  it('counts uploads against the rate limit, and rejects one before its body is read', async () => {
    const from = await caller(['intel'], 2);
    await sent(from, 2);
    expect((await send(from, 'kind=magic', bodyOf(2))).status).toBe(400);
    const refused = await send(from, 'kind=labels', bodyOf(2));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // If a client is refused while it sends, it can read the reason.
    for (const [key, status] of [
      [from.key, 429],
      ['nobody', 401],
    ] as const) {
      const socket = new RawClient(world.port);
      clients.push(socket);
      socket.send(
        `POST /api/v1/jobs?kind=labels HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 10000000\r\n\r\n`,
      );
      socket.send(Buffer.alloc(10_000_000, 'z'));
      expect((await socket.next())?.status).toBe(status);
      expect(await socket.ended(8_000)).toBe(true);
    }
  });

  it('rejects a body over the size limit by its declared length', async () => {
    const { key } = await caller();
    const socket = new RawClient(world.port);
    clients.push(socket);
    socket.send(
      `POST /api/v1/jobs?kind=labels&format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${1024 ** 3 + 1}\r\n\r\n`,
    );
    const answer = await socket.next();
    expect(answer?.status).toBe(400);
    expect(answer?.body).toContain('larger than 1073741824 bytes');
    await expect.poll(() => jobs.uploads()).toBe(0);
  });

  it('discards an upload if the client disconnects', async () => {
    const { key } = await caller();
    for (const isSlow of [false, true]) {
      jobs.onWrite = () => sleep(isSlow ? 50 : 0);
      const before = jobs.aborted();
      const socket = new RawClient(world.port);
      socket.send(
        `POST /api/v1/jobs?kind=labels&format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 100000\r\n\r\nbegun`,
      );
      await expect.poll(() => jobs.uploads()).toBe(1);
      socket.destroy();
      await expect.poll(() => jobs.aborted()).toBe(before + 1);
      expect(jobs.uploads()).toBe(0);
    }
  });

  it('aborts an upload that is too slow, and names the minimum rate', async () => {
    const slow = await openWorld({
      backend,
      useCases: { jobs: () => jobs },
      uploads: { silenceMs: 600, graceMs: 300, bytesPerSecondMin: 1_000 },
    });
    const key = await slow.key({ permissions: ['intel'] });
    const socket = new RawClient(slow.port);
    const before = jobs.aborted();
    socket.send(
      `POST /api/v1/jobs?kind=labels&format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 100000\r\n\r\nbegun`,
    );
    const dripping = setInterval(() => socket.send('x'), 50);
    const answer = await socket.next({ timeoutMs: 20_000 });
    clearInterval(dripping);
    expect(answer?.status).toBe(400);
    expect(answer?.body).toContain('at least 16384 bytes per second');
    await expect.poll(() => [jobs.uploads(), jobs.aborted()]).toEqual([0, before + 1]);
    socket.destroy();
    await slow.close();
  });

  it('rejects an upload if too many are in progress', async () => {
    const from = await caller();
    const sockets = Array.from({ length: 20 }, () => new RawClient(world.port));
    for (const socket of sockets)
      socket.send(
        `POST /api/v1/jobs?kind=labels&format=csv HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${from.key}\r\nContent-Length: 100000\r\n\r\nbegun`,
      );
    await expect.poll(() => jobs.uploads()).toBe(20);
    const refused = await send(from, 'kind=labels', bodyOf(2));
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => jobs.uploads()).toBe(0);
  });

  it('fails if a file of the result ends early', async () => {
    const from = await caller();
    const id = await sent(from, 20_000);
    const { parts } = (await jobs.result(`acc${accounts}`, id)) ?? {};
    const all = parts?.(0, resultOf(20_000).length) ?? [];
    const asked = await openFileParts(all);
    await asked.next();
    truncateSync(join(folder.path, id, 'result-2'), 10);
    await expect(
      (async () => {
        for (;;) await asked.next();
      })(),
    ).rejects.toThrow(/truncated at byte 10/);
    await asked.close();
  });
});

describe('ranges of bytes', () => {
  it.each([
    ['', 100, 'whole'],
    ['bytes=0-0', 100, { start: 0, end: 1 }],
    ['bytes=0-', 100, { start: 0, end: 100 }],
    ['bytes=99-200', 100, { start: 99, end: 100 }],
    ['bytes=100-', 100, 'none'],
    ['bytes=-1', 100, { start: 99, end: 100 }],
    ['bytes=-200', 100, { start: 0, end: 100 }],
    ['bytes=-0', 100, 'none'],
    ['bytes=-5', 0, 'none'],
    ['bytes=0-', 0, 'none'],
    ['bytes=-', 100, 'whole'],
    ['bytes=5-2', 100, 'whole'],
    ['bytes=1-2,4-5', 100, 'whole'],
    ['BYTES = 1-2 ', 100, { start: 1, end: 3 }],
    ['bytes=9999999999999999999-', 100, 'whole'],
    ['items=1-2', 100, 'whole'],
  ] as const)('%s of %i bytes', (header, length, expected) => {
    expect(rangeOf(header, length)).toEqual(expected);
  });
});
