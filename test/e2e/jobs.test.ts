/** Bulk jobs of the built program: 50,000 addresses in, their answers out, with ranges and broken connections. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backendHere } from '../setup/backend.ts';
import { cuttingProxy } from '../setup/cutting-proxy.ts';
import { MODULES_PROGRAM } from '../setup/program-path.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const COUNT = 50_000;
/** Ships with the product. */
const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

/** Line `n`: mostly unknown addresses, every tenth an exchange, every thousandth not an address. */
function lineOf(n: number): string {
  if (n % 1_000 === 999) return 'nonsense';
  if (n % 10 === 0) return BINANCE;
  return `0x${n.toString(16).padStart(40, '0')}`;
}
const LINES = Array.from({ length: COUNT }, (_, n) => lineOf(n));
const WRONG = LINES.filter((line) => line === 'nonsense').length;

interface Answer {
  readonly address: string;
  readonly error?: string;
  readonly labels?: readonly { readonly name: string }[];
}

/** Checks that every line has its own answer in its place. */
function checkResult(text: string): void {
  const answers = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
  expect(answers.map(({ address }) => address)).toEqual(LINES);
  for (const [n, { error, labels }] of answers.entries()) {
    const what = error !== undefined ? 'error' : (labels?.length ?? 0) > 0 ? 'known' : 'unknown';
    const expected = n % 1_000 === 999 ? 'error' : n % 10 === 0 ? 'known' : 'unknown';
    if (what !== expected) expect([n, what]).toEqual([n, expected]);
  }
}

// The behaviour that both servers share has a suite of its own.
const BACKENDS = process.env.ASSAY_TEST_LONG === '1' ? (['uws', 'node'] as const) : (['uws'] as const);

describe.each(BACKENDS)('bulk jobs of a server on %s', (backend) => {
  let world: World;
  let server: RunningServer;
  let key = '';
  let input = '';

  beforeAll(async () => {
    world = newWorld(MODULES_PROGRAM);
    server = await world.serve({ ASSAY_HTTP_BACKEND: await backendHere(backend) });
    key = server.firstKey;
    expect((await world.here(['plan', 'set', 'local', 'ENTERPRISE'])).code).toBe(0);
    input = join(world.folder, 'addresses.txt');
    writeFileSync(input, `${LINES.join('\n')}\n`);
  });
  afterAll(() => world.end());

  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}/api/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init.headers },
    });
  interface Job {
    readonly id: string;
    readonly state: string;
    readonly items: number;
    readonly failed: number;
    readonly resultBytes: number;
    readonly cost: { readonly reserved: number; readonly spent: number };
  }
  const jobOf = async (response: Response): Promise<Job> =>
    ((await response.json()) as { data: { job: Job } }).data.job;

  it('accepts a file, reports its progress, and serves ranges that join to the whole', async () => {
    const begun = await jobOf(
      await ask('/jobs?kind=labels&chain=ETH', {
        method: 'POST',
        headers: { 'content-type': 'text/csv' },
        body: readFileSync(input),
      }),
    );
    expect(begun.items).toBe(COUNT);
    await expect
      .poll(async () => (await jobOf(await ask(`/jobs/${begun.id}`))).state, {
        interval: 300,
      })
      .toBe('DONE');
    const done = await jobOf(await ask(`/jobs/${begun.id}`));
    expect(done.failed).toBe(WRONG);
    expect(done.cost).toMatchObject({ reserved: COUNT, spent: COUNT - WRONG });

    const whole = await (await ask(`/jobs/${begun.id}/result`)).text();
    checkResult(whole);
    expect(whole.length).toBe(done.resultBytes);
    const step = Math.ceil(done.resultBytes / 7);
    let joined = '';
    for (let at = 0; at < done.resultBytes; at += step) {
      const range = { range: `bytes=${at}-${at + step - 1}` };
      const part = await ask(`/jobs/${begun.id}/result`, { headers: range });
      expect(part.status).toBe(206);
      joined += await part.text();
    }
    expect(joined === whole).toBe(true);
    expect((await ask(`/jobs/${begun.id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await ask(`/jobs/${begun.id}/result`)).status).toBe(404);
  });

  it('resumes on the command line after connections are cut', async () => {
    const proxy = await cuttingProxy(Number(new URL(server.url).port));
    try {
      proxy.state.cutAfter = 2_000_000;
      const output = join(world.folder, 'labels.ndjson');
      const args = ['bulk', '--remote', proxy.url, '--chain', 'eth', '--input', input, '--output', output];
      const outcome = await world.run(args, { environment: { ASSAY_API_KEY: key } });
      expect(outcome.err).toContain(`${COUNT} lines (${WRONG} with an error)`);
      expect(outcome).toMatchObject({ code: 0, out: '' });
      expect(proxy.state.cuts).toBeGreaterThanOrEqual(2);
      checkResult(readFileSync(output, 'utf8'));
    } finally {
      proxy.close();
    }
  });

  it('reads standard input and writes standard output, without opening local files', async () => {
    const elsewhere = join(world.folder, 'not-there');
    const outcome = await world.run(['bulk', '--remote', server.url, '--chain', 'eth'], {
      input: `${LINES.slice(0, 100).join('\n')}\n`,
      environment: { ASSAY_API_KEY: key, ASSAY_DATA_DIR: elsewhere },
    });
    expect(outcome.code).toBe(0);
    const answers = outcome.out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Answer).address);
    expect(answers).toEqual(LINES.slice(0, 100));
    expect(existsSync(elsewhere)).toBe(false);
  });
});
