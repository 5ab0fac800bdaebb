/**
 * The TypeScript client compared with what it stands on, in the same run: oracle calls through it and by bare `undici` and bare `fetch`,
 * and a bulk job through it and by `assay bulk --remote`. Rounds take turns, and the medians count, so that other load on the machine
 * affects all equally. The server is the built program.
 * Run: node dist/bench/sdk.js [--calls N] [--rounds N] [--lines N] [--no-save]
 */
import { spawn } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { Assay } from '../sdk/typescript/src/index.ts';
import { undiciTransport } from '../sdk/typescript/src/undici.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { argument, type BenchReport, median, publish, report, row } from './harness.ts';
import { PROGRAM, type ProgramServer, startProgram } from './program-server.ts';

/** Calls in flight. */
const PARALLEL = 64;
const ADDRESS = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

/** Makes `calls` calls, some at once. Returns microseconds a call, and those of the processor in this process. */
async function timed(calls: number, call: () => Promise<unknown>): Promise<{ wall: number; cpu: number }> {
  let left = calls;
  const before = process.cpuUsage();
  const start = systemClock.monotonic();
  const worker = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  const { user, system } = process.cpuUsage(before);
  return { wall: ((systemClock.monotonic() - start) * 1_000) / calls, cpu: (user + system) / calls };
}

/** Measures the oracle through each way. */
async function oracleRows({ url, key }: ProgramServer, calls: number, rounds: number) {
  const dispatcher = new Agent({ connections: PARALLEL });
  const target = `${url}/api/v1/oracle/address/ETH/${ADDRESS}`;
  const headers = { authorization: `Bearer ${key}` };
  const query = { chain: 'ETH', address: ADDRESS };
  const overUndici = new Assay({
    baseUrl: url,
    apiKey: key,
    transport: undiciTransport(request, { dispatcher }),
  });
  const overFetch = new Assay({ baseUrl: url, apiKey: key });
  const ways = {
    undici: async () => (await request(target, { headers, dispatcher })).body.json(),
    sdkUndici: () => overUndici.oracle.check(query),
    fetch: async () => (await fetch(target, { headers })).json(),
    sdkFetch: () => overFetch.oracle.check(query),
  };
  type Way = keyof typeof ways;
  const names = Object.keys(ways) as Way[];
  const figures = Object.fromEntries(names.map((name) => [name, { wall: [], cpu: [] }])) as unknown as Record<
    Way,
    { wall: number[]; cpu: number[] }
  >;
  for (const name of names) await timed(Math.ceil(calls / 4), ways[name]);
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { wall, cpu } = await timed(calls, ways[name]);
      figures[name].wall.push(wall);
      figures[name].cpu.push(cpu);
    }
  }
  await dispatcher.close();
  const of = (name: Way, what: 'wall' | 'cpu'): number => median(figures[name][what]);
  return [
    row(
      'oracle call, client over undici (control: bare undici)',
      of('sdkUndici', 'wall'),
      'µs',
      { of: 'ratio', atMost: 1.15 },
      of('undici', 'wall'),
    ),
    row('  processor time of the client', of('sdkUndici', 'cpu'), 'µs', null, of('undici', 'cpu')),
    row(
      'oracle call, client over fetch (control: bare fetch)',
      of('sdkFetch', 'wall'),
      'µs',
      null,
      of('fetch', 'wall'),
    ),
    row('  processor time of the client', of('sdkFetch', 'cpu'), 'µs', null, of('fetch', 'cpu')),
  ];
}

/** Runs a process to its end; returns the seconds it took. */
async function secondsOf(args: readonly string[], key: string): Promise<number> {
  const start = systemClock.monotonic();
  const env = { PATH: process.env.PATH, ASSAY_API_KEY: key };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${errors}`);
  return (systemClock.monotonic() - start) / 1_000;
}

/** Measures a file of addresses to results, each way in a process of its own. */
async function bulkRows({ url, key }: ProgramServer, folder: string, lines: number, rounds: number) {
  const input = join(folder, 'addresses.txt');
  const addresses = Array.from({ length: lines }, (_, n) =>
    n % 2 === 0 ? ADDRESS : `0x${n.toString(16).padStart(40, '0')}`,
  );
  writeFileSync(input, `${addresses.join('\n')}\n`);
  const output = join(folder, 'results.ndjson');
  const remote = ['bulk', '--remote', url, '--chain', 'ETH', '--input', input, '--output', output];
  const ways = {
    remote: [PROGRAM, ...remote],
    sdk: [fileURLToPath(import.meta.url), '--bulk', url, input, String(lines)],
  };
  const rates = { remote: [] as number[], sdk: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? (['remote', 'sdk'] as const) : (['sdk', 'remote'] as const))
      rates[name].push(lines / (await secondsOf(ways[name], key)));
  }
  const goal = { of: 'ratio', atLeast: 0.8 } as const;
  return [
    row(
      'bulk, client with parsed results (control: assay bulk --remote)',
      median(rates.sdk),
      'lines/s',
      goal,
      median(rates.remote),
    ),
  ];
}

/** The bulk job through the client: the child process of `bulkRows`. */
async function bulkChild(url: string, input: string, lines: number): Promise<void> {
  const assay = new Assay({ baseUrl: url });
  const source = createInterface({ input: createReadStream(input, { highWaterMark: 256 * 1024 }) });
  let results = 0;
  for await (const result of assay.bulk.screen(source, { chain: 'ETH' }))
    if (result.error === undefined) results++;
  if (results !== lines) throw new Error(`${results} results of ${lines} lines`);
}

export interface SdkBenchOptions {
  readonly calls: number;
  readonly rounds: number;
  readonly lines: number;
}

export const SDK_BENCH_DEFAULTS: SdkBenchOptions = { calls: 20_000, rounds: 5, lines: 1_000_000 };

export async function runSdkBench({ calls, rounds, lines }: SdkBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-sdk-'));
  try {
    const server = await startProgram(folder);
    try {
      const rows = [
        ...(await oracleRows(server, calls, rounds)),
        ...(await bulkRows(server, folder, lines, rounds)),
      ];
      return report('sdk', startedAt, { calls, rounds, lines, parallel: PARALLEL }, rows);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--bulk');
  if (at > 0) {
    const [url = '', input = '', lines = '0'] = process.argv.slice(at + 1);
    await bulkChild(url, input, Number(lines));
  } else {
    const { calls, rounds, lines } = SDK_BENCH_DEFAULTS;
    publish(
      await runSdkBench({
        calls: argument('--calls', calls),
        rounds: argument('--rounds', rounds),
        lines: argument('--lines', lines),
      }),
    );
  }
}
