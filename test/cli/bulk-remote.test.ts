/** `assay bulk --remote` against a front end that keeps its jobs in a folder, with faults of the connection. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { addBulkCommand } from '../../src/cli/bulk.ts';
import { runRemoteBulk } from '../../src/cli/bulk-remote.ts';
import type { Terminal } from '../../src/cli/context.ts';
import { runProgram } from '../../src/cli/program.ts';
import { createProgress } from '../../src/cli/progress.ts';
import { openWorld, type World } from '../http/world.ts';
import { answerOf, type FolderJobs, folderJobs } from '../http/world-jobs.ts';
import { cuttingProxy } from '../setup/cutting-proxy.ts';
import { sleep } from '../support/wait.ts';

const linesOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `"0x${n}"`);
const resultOf = (count: number): string => linesOf(count).map(answerOf).join('');

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function terminalOf(isTTY = false) {
  const stopping = new AbortController();
  const texts = { out: '', err: '' };
  const into = (name: 'out' | 'err'): Writable =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const terminal: Terminal = {
    out: into('out'),
    err: Object.assign(into('err'), { isTTY }),
    clock: systemClock,
    signal: stopping.signal,
  };
  return { terminal, texts, stopping };
}

describe.each(['uws', 'node'] as const)('assay bulk --remote, with a server on %s', (backend) => {
  let folder: string;
  let jobs: FolderJobs;
  let world: World;
  let key: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-bulk-remote-'));
    jobs = folderJobs(folder);
    world = await openWorld({ backend, useCases: { jobs: () => jobs } });
    key = await world.key({ rateLimits: { intel: 100_000 } });
  });
  afterAll(async () => {
    await world.close();
    rmSync(folder, { recursive: true });
  });
  let place: string;
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'assay-bulk-remote-files-'));
  });
  afterEach(() => {
    rmSync(place, { recursive: true });
    jobs.isHeld = false;
    jobs.onWrite = () => {};
  });

  const file = (name: string, count: number): string => {
    const path = join(place, name);
    writeFileSync(path, `${linesOf(count).join('\n')}\n`);
    return path;
  };

  /** Sends the bytes of a pipe, which the test ends. */
  const runPiped = (
    url: string,
    standardInput: AsyncIterable<Uint8Array>,
    terminal: Terminal,
    lines: Pick<Parameters<typeof runRemoteBulk>[0], 'format' | 'chain'> = { format: 'csv', chain: 'ETH' },
  ): Promise<void> =>
    runRemoteBulk(
      {
        url,
        key,
        input: null,
        output: null,
        kind: 'labels',
        verdict: false,
        ...lines,
        job: null,
        standardInput,
      },
      terminal,
      createProgress(terminal),
    );

  async function run(
    args: readonly string[],
    apiKey: string | null = key,
    { terminal, texts } = terminalOf(),
  ): Promise<Said> {
    const code = await runProgram(
      [(program, of, parts) => addBulkCommand(program, of, parts, () => apiKey)],
      ['bulk', ...args],
      terminal,
      () => {
        throw new Error('The command must not open local data.');
      },
      '0.0.0',
    );
    return { code, ...texts };
  }

  it('sends a file, waits, and writes the result in order', async () => {
    const input = file('addresses.ndjson', 5_000);
    const output = join(place, 'result.ndjson');
    // Of a run that was killed while it checked that the result can be written.
    writeFileSync(`${output}.part`, '');
    const said = await run(['--remote', world.url, '--chain', 'eth', '--input', input, '--output', output]);
    expect(said).toMatchObject({ code: 0, out: '' });
    rmSync(`${output}.part`);
    expect(said.err).toMatch(
      /^Job job\d+: 5000 lines, 5000 intel reserved\.\n5000 lines \(0 with an error\)/,
    );
    expect(readFileSync(output, 'utf8')).toBe(resultOf(5_000));
    expect(readdirSync(place).sort()).toEqual(['addresses.ndjson', 'result.ndjson']);
    const plain = await run(['--remote', world.url, '--kind', 'sanctions', '--input', file('list.txt', 3)]);
    expect([plain.code, plain.out]).toEqual([0, resultOf(3)]);
    const { jobs: listed } = await jobs.list('local', { limit: 2, offset: 0 });
    expect(listed.map(({ kind, format, chain }) => [kind, format, chain])).toEqual([
      ['sanctions', 'csv', null],
      ['labels', 'ndjson', 'ETH'],
    ]);
  });

  it('creates no job if the result cannot be written', async () => {
    const input = file('a.ndjson', 3);
    const count = async () => (await jobs.list('local', { limit: 1_000, offset: 0 })).jobs.length;
    const before = await count();
    for (const output of [join(place, 'none', 'result.ndjson'), place]) {
      const said = await run(['--remote', world.url, '--input', input, '--output', output]);
      expect([said.code, said.err]).toEqual([
        1,
        expect.stringContaining(`--output: '${output}' cannot be written`),
      ]);
    }
    expect(await count()).toBe(before);
    expect(readdirSync(place)).toEqual(['a.ndjson']);
  });

  it('says how to fetch the result if it cannot be written after the job has run', async () => {
    const input = file('a.ndjson', 3);
    const output = join(place, 'later', 'result.ndjson');
    mkdirSync(join(place, 'later'));
    jobs.onWrite = () => rmSync(join(place, 'later'), { recursive: true, force: true });
    const said = await run(['--remote', world.url, '--chain', 'eth', '--input', input, '--output', output]);
    expect(said.code).toBe(1);
    expect(said.err).toMatch(/fetch it with: assay bulk --remote \S+ --job job\d+ --output /);
  });

  it('requests verdicts with --verdict, from a server only', async () => {
    const input = file('verdicts.ndjson', 3);
    expect(await run(['--remote', world.url, '--chain', 'eth', '--verdict', '--input', input])).toMatchObject(
      {
        code: 0,
      },
    );
    const [job] = (await jobs.list('local', { limit: 1, offset: 0 })).jobs;
    expect(job).toMatchObject({ kind: 'labels', verdict: true });
    const here = await run(['--chain', 'eth', '--verdict', '--input', input]);
    expect([here.code, here.err]).toEqual([
      2,
      expect.stringContaining('--verdict: only allowed together with --remote'),
    ]);
  });

  it('sends data from a pipe', async () => {
    const { terminal, texts } = terminalOf();
    async function* pipe(): AsyncGenerator<Uint8Array> {
      for (const line of linesOf(50)) {
        yield Buffer.from(`${line}\n`);
        await sleep(1);
      }
    }
    await runPiped(world.url, pipe(), terminal, { format: 'ndjson', chain: null });
    expect(texts.out).toBe(resultOf(50));
  });

  it('reads the key from a file, the settings or the command line, and reports a missing key', async () => {
    const input = file('a.csv', 2);
    const keyFile = join(place, 'key');
    writeFileSync(keyFile, `${key}\n`);
    const remote = ['--remote', world.url, '--input', input];
    expect((await run([...remote, '--key-file', keyFile], null)).code).toBe(0);
    expect((await run([...remote, '--key', key], null)).code).toBe(0);
    const none = await run(remote, null);
    expect([none.code, none.err]).toEqual([2, expect.stringContaining('ASSAY_API_KEY')]);
    expect(none.err).toContain('--key-file');
    const wrong = await run(remote, 'assay_live_wrong');
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringContaining('answered 401: The API key is invalid'),
    ]);
  });

  it('names an input that cannot be opened', async () => {
    const { code, err } = await run(['--remote', world.url, '--input', join(place, 'none')], key);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^assay: input: '.*none' cannot be opened: ENOENT/m),
    ]);
  });

  it('rejects a key that no header can hold, without repeating it', async () => {
    const remote = ['--remote', world.url, '--input', file('a.csv', 2)];
    const keyFile = join(place, 'copied-key');
    writeFileSync(keyFile, 'assay_live_…\n');
    for (const option of [
      ['--key-file', keyFile],
      ['--key', 'assay_live_… x'],
    ]) {
      const { code, err } = await run([...remote, ...option], null);
      expect([code, err]).toEqual([2, expect.stringMatching(/--key.*must be a key of 1 to 256 printable/)]);
      expect(err).not.toContain('_live_');
    }
  });

  it('prints the error of the server', async () => {
    const quota = await run(['--remote', world.url, '--input', file('a.csv', 13)]);
    expect([quota.code, quota.err]).toEqual([
      1,
      expect.stringContaining('answered 402: The intel quota has 12'),
    ]);
    const broken = join(place, 'broken.csv');
    writeFileSync(broken, `BROKEN\n${'x'.repeat(1_000_000)}`);
    const line = await run(['--remote', world.url, '--input', broken]);
    expect([line.code, line.err]).toEqual([1, expect.stringContaining('body: line 7 is longer')]);
    const narrow = await world.key({ permissions: ['intel'] });
    const kind = await run(['--remote', world.url, '--kind', 'kyt', '--input', file('b.csv', 2)], narrow);
    expect([kind.code, kind.err]).toEqual([
      1,
      expect.stringContaining("needs a key with the permission 'kyt'"),
    ]);
    for (const [args, sentence] of [
      [['--remote', 'nonsense'], "--remote: 'nonsense' is not a URL."],
      [['--remote', world.url, '--kind', 'magic'], '--kind: must be one of labels'],
      [['--remote', world.url, '--format', 'xml'], "--format: must be one of ndjson, csv (got 'xml')."],
      [['--remote', world.url, '--threads', '2'], '--threads: not allowed with --remote'],
      [['--remote', world.url, '--job', 'nope'], 'answered 404'],
      [['--job', 'nope'], '--job: only allowed together with --remote.'],
      [['--key-file', 'nope'], '--key-file: only allowed together with --remote'],
      [[], '--chain: is missing'],
    ] as const) {
      const said = await run(args);
      // The server refuses an unknown job; the others are wrong command lines.
      const code = sentence === 'answered 404' ? 1 : 2;
      expect([args, said.code, said.err]).toEqual([args, code, expect.stringContaining(sentence)]);
    }
  });

  it('shows a progress bar, the rate and the remaining time', async () => {
    jobs.isHeld = true;
    const input = file('a.ndjson', 1_000);
    const terminal = terminalOf(true);
    const running = run(['--remote', world.url, '--input', input], key, terminal);
    await expect
      .poll(async () => (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.items)
      .toBe(1_000);
    const id = (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.id ?? '';
    jobs.answer(id, 500);
    await expect.poll(() => terminal.texts.err).toContain(' 50 % ');
    jobs.answer(id);
    const said = await running;
    expect(said.code).toBe(0);
    expect(said.err).toContain(
      '[############------------] labels: 50 % of 1.00 k lines, 1.00 k lines/s, 1 s left',
    );
    expect(said.out).toBe(resultOf(1_000));
  });

  it('resumes the result after each interrupted connection', async () => {
    const proxy = await cuttingProxy(world.port);
    try {
      const output = join(place, 'result.ndjson');
      jobs.isHeld = true;
      const running = run(['--remote', proxy.url, '--input', file('a.ndjson', 30_000), '--output', output]);
      await expect
        .poll(async () => (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.items)
        .toBe(30_000);
      proxy.state.cutAfter = 300_000;
      jobs.answer((await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.id ?? '');
      const said = await running;
      expect(said).toMatchObject({ code: 0 });
      expect(proxy.state.cuts).toBeGreaterThanOrEqual(3);
      expect(readFileSync(output, 'utf8') === resultOf(30_000)).toBe(true);
    } finally {
      proxy.close();
    }
  });

  it('leaves a job running if it is interrupted, and resumes it later', async () => {
    jobs.isHeld = true;
    const { terminal, texts, stopping } = terminalOf();
    const output = join(place, 'result.ndjson');
    const input = file('a.ndjson', 2_000);
    const running = runProgram(
      [(program, of, parts) => addBulkCommand(program, of, parts, () => key)],
      ['bulk', '--remote', world.url, '--input', input, '--output', output],
      terminal,
      () => {
        throw new Error('The command must not open local data.');
      },
      '0.0.0',
    );
    await expect.poll(() => texts.err).toContain('2000 lines');
    const id = /Job (\w+)/.exec(texts.err)?.[1] ?? '';
    stopping.abort();
    expect(await running).toBe(130);
    expect(texts.err).toContain(
      `Interrupted. The job continues; fetch it with: assay bulk --remote ${world.url} --job ${id} --output ${output}`,
    );
    expect(existsSync(output)).toBe(false);
    jobs.answer(id);
    // The part that was fetched before is not fetched again.
    const whole = resultOf(2_000);
    writeFileSync(`${output}.${id}.part`, whole.slice(0, 1_000).replaceAll('asked', 'ASKED'));
    expect((await run(['--remote', world.url, '--job', id, '--output', output])).code).toBe(0);
    expect(readFileSync(output, 'utf8')).toBe(
      whole.slice(0, 1_000).replaceAll('asked', 'ASKED') + whole.slice(1_000),
    );
  });

  it('exits with 1 if the job was cancelled elsewhere', async () => {
    jobs.isHeld = true;
    const running = run(['--remote', world.url, '--input', file('a.ndjson', 17)]);
    await expect
      .poll(async () => (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.items)
      .toBe(17);
    const id = (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.id ?? '';
    await jobs.cancel('local', id);
    const said = await running;
    expect([said.code, said.out]).toEqual([1, '']);
    expect(said.err).toContain(`Job ${id} is CANCELLED after 0 lines`);
  });

  it('exits with 1 and writes no file if the result has expired', async () => {
    await run(['--remote', world.url, '--input', file('a.ndjson', 17)]);
    const id = (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.id ?? '';
    for (const name of readdirSync(join(folder, id)))
      if (name.startsWith('result-')) rmSync(join(folder, id, name));
    const output = join(place, 'late.ndjson');
    const said = await run(['--remote', world.url, '--job', id, '--output', output]);
    expect([said.code, said.out]).toEqual([1, '']);
    expect(said.err).toContain(`The result of job ${id} was removed when it expired.`);
    expect(existsSync(output)).toBe(false);
  });

  it('ignores file names and terminal control sequences from a server', async () => {
    const answers = [
      { status: 200, body: { success: true, data: { job: { id: '../../x', state: 'DONE' } } } },
      { status: 400, body: { success: false, error: 'no \u001b]0;title\u0007 such job' } },
    ];
    const hostile = createServer((_request, response) => {
      const { status, body } = answers.shift() ?? { status: 500, body: {} };
      response.writeHead(status).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    const { port } = hostile.address() as AddressInfo;
    const args = ['--remote', `http://127.0.0.1:${port}`, '--job', 'a', '--output', join(place, 'out')];
    expect((await run(args)).err).toContain('contains no job');
    expect((await run(args)).err).toContain('answered 400: no \\u001b]0;title\\u0007 such job');
    expect(readdirSync(place)).toEqual([]);
    hostile.close();
  });

  it('writes no result of which the server sends another part than it was asked for', async () => {
    const job = { ...{ id: 'job1', state: 'DONE', answered: 1, failed: 0, resultBytes: 10 } };
    const ranges = ['bytes 0-8/9', 'bytes 0-9/11', 'bytes 1-9/10'];
    const server = createServer((request, response) => {
      if (request.url?.endsWith('/result') !== true) response.end(JSON.stringify({ data: { job } }));
      else response.writeHead(206, { 'content-range': ranges.shift() }).end('0123456789');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const output = join(place, 'result.ndjson');
    while (ranges.length > 0) {
      const said = await run(['--remote', `http://127.0.0.1:${port}`, '--job', 'job1', '--output', output]);
      expect(said.code).not.toBe(0);
      expect(said.err).toContain('The result of job job1 has changed since it was fetched.');
    }
    expect(existsSync(output)).toBe(false);
    server.closeAllConnections();
    server.close();
  });

  it('fetches the rest of a result that ended early without an error', async () => {
    const cost = { unit: 'intel', reserved: 1, spent: 1 };
    const job = { ...{ id: 'job1', state: 'DONE', answered: 1, failed: 0, resultBytes: 10 }, cost };
    const asked: unknown[] = [];
    const server = createServer(({ url, headers }, response) => {
      if (url?.endsWith('/result') !== true) return void response.end(JSON.stringify({ data: { job } }));
      asked.push([headers.range, headers['if-range']]);
      const from = asked.length === 1 ? 0 : 6;
      response.writeHead(206, { 'content-range': `bytes ${from}-9/10`, etag: '"x"' });
      response.end('0123456789'.slice(from, from + 6));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const output = join(place, 'result.ndjson');
    const said = await run(['--remote', `http://127.0.0.1:${port}`, '--job', 'job1', '--output', output]);
    expect([said.code, readFileSync(output, 'utf8')]).toEqual([0, '0123456789']);
    expect(asked).toEqual([
      ['bytes=0-', undefined],
      ['bytes=6-', '"x"'],
    ]);
    server.closeAllConnections();
    server.close();
  });

  it('retries after the time that the server requests, and sends a rejected file again', async () => {
    const input = file('a.ndjson', 10);
    const id = 'job77';
    const result = Buffer.from('{"address":"0x0"}\n');
    const job = {
      id,
      kind: 'labels',
      answered: 1,
      failed: 0,
      items: 1,
      error: null,
      itemsPerSecond: null,
      secondsLeft: null,
    };
    const bodies: string[] = [];
    const soon = { 'retry-after': '0.01' };
    const refusal = (status: number) => (response: ServerResponse) => {
      response.writeHead(status, soon).end(JSON.stringify({ success: false, error: 'Not now.' }));
    };
    const tells = (state: string) => (response: ServerResponse) => {
      const cost = { unit: 'intel', reserved: 1, spent: 1 };
      response.end(JSON.stringify({ data: { job: { ...job, state, cost, resultBytes: result.length } } }));
    };
    const answers: ((response: ServerResponse) => void)[] = [
      refusal(429),
      (response) => response.end('{}'),
      refusal(429),
      tells('RUNNING'),
      refusal(500),
      // The connection breaks in the middle of the response.
      (response) => {
        response.writeHead(200, { 'content-length': 1_000 });
        response.write('{"data":', () => response.destroy());
      },
      (response) => {
        response.writeHead(500, { 'content-length': 1_000 });
        response.write('{"error":', () => response.destroy());
      },
      tells('DONE'),
      refusal(429),
      (response) => {
        const range = `bytes 0-${result.length - 1}/${result.length}`;
        response.writeHead(206, { 'content-range': range, etag: '"x"' }).end(result);
      },
    ];
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        if (request.method === 'POST') bodies.push(Buffer.concat(pieces).toString());
        answers.shift()?.(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const said = await run(['--remote', `http://127.0.0.1:${port}`, '--input', input]);
    expect(said).toMatchObject({ code: 0, out: result.toString() });
    expect(answers).toEqual([]);
    expect(bodies).toEqual([readFileSync(input, 'utf8'), readFileSync(input, 'utf8')]);
    server.closeAllConnections();
    server.close();
  });

  it('does not wait if the server requests hours, and reads a limited part of an error response', async () => {
    let written = 0;
    const server = createServer((request, response) => {
      if (request.url?.endsWith('/late') === true) {
        response.writeHead(500, { 'retry-after': '86400' }).end(JSON.stringify({ error: 'Tomorrow.' }));
        return;
      }
      response.writeHead(request.url?.endsWith('/endless') === true ? 400 : 200);
      const more = setInterval(() => {
        written += 16 * 1024;
        response.write(' '.repeat(16 * 1024));
      }, 1);
      response.on('close', () => clearInterval(more));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const late = await run(['--remote', url, '--job', 'late']);
    expect(late.err).toContain('answered 500: Tomorrow.');
    expect(late.err).toContain(
      `If job late was created, fetch it with: assay bulk --remote ${url} --job late`,
    );
    expect((await run(['--remote', url, '--job', 'endless'])).err).toContain('answered 400');
    expect((await run(['--remote', url, '--job', 'blank'])).err).toContain('contains no job');
    expect(written).toBeLessThan(64 * 1024 * 1024);
    server.closeAllConnections();
    server.close();
  });

  it('sends a file again after an interrupted connection, as the same job, but not a pipe', async () => {
    const names: (string | string[] | undefined)[] = [];
    const server = createServer((request, response) => {
      if (request.method === 'GET') {
        response.end('{}');
        return;
      }
      const attempt = names.push(request.headers['idempotency-key']);
      request.on('data', () => {
        if (attempt === 1 || attempt === 4) request.socket.resetAndDestroy();
      });
      request.on('end', () => {
        // The second upload arrives whole, but the client gets no response.
        if (attempt === 2) request.socket.resetAndDestroy();
        else response.writeHead(400).end(JSON.stringify({ error: 'Enough.' }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const remote = ['--remote', `http://127.0.0.1:${port}`];
    const said = await run([...remote, '--input', file('a.ndjson', 200_000)]);
    expect([said.code, said.out]).toEqual([1, '']);
    expect(said.err).toContain('answered 400: Enough.');
    expect(names).toHaveLength(3);
    expect(names[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(names).size).toBe(1);
    const { terminal } = terminalOf();
    async function* pipe(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.alloc(64 * 1024, '0x0\n');
    }
    const piped = runPiped(`http://127.0.0.1:${port}`, pipe(), terminal);
    await expect(piped).rejects.toThrow(/ bytes were sent; no job was created, unless GET \/jobs lists it/);
    expect(names).toHaveLength(4);
    server.closeAllConnections();
    server.close();
  });

  it('starts no job if it is interrupted during the upload', async () => {
    jobs.onWrite = () => sleep(50);
    const before = jobs.aborted();
    const { terminal, stopping } = terminalOf();
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        yield Buffer.from('0x0\n'.repeat(1_000));
        await sleep(2);
      }
    }
    const running = runPiped(world.url, endless(), terminal);
    const outcome = expect(running).rejects.toThrow(
      /^Interrupted before the input was complete; no job was created/,
    );
    await expect.poll(() => jobs.uploads()).toBe(1);
    stopping.abort();
    await outcome;
    await expect.poll(() => jobs.aborted()).toBe(before + 1);
  });

  it('waits during a short outage of the server, and says so once', async () => {
    jobs.isHeld = true;
    const proxy = await cuttingProxy(world.port);
    const running = run(['--remote', proxy.url, '--input', file('a.ndjson', 10)]);
    await expect
      .poll(async () => (await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.items)
      .toBe(10);
    proxy.state.cutAfter = -1;
    await expect.poll(() => proxy.state.cuts).toBeGreaterThan(1);
    jobs.answer((await jobs.list('local', { limit: 1, offset: 0 })).jobs[0]?.id ?? '');
    proxy.state.cutAfter = Number.POSITIVE_INFINITY;
    const { code, out, err } = await running;
    expect({ code, out }).toEqual({ code: 0, out: resultOf(10) });
    expect(err.match(/ Trying again\.\n/g)).toHaveLength(1);
    proxy.close();
  });
});
