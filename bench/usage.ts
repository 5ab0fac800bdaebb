/**
 * GET /usage over HTTP against a minimal handler that sends the same bytes: of accounts that do not change, and of accounts that are charged
 * meanwhile. Needs wrk. Run: node dist/bench/usage.js [--accounts N] [--charges N] [--seconds S] [--rounds N] [--no-save]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { argument, type BenchReport, median, publish, report, row } from './harness.ts';
import { answerFor, Child, type Load, noFailures, script, startControl, writeLines, wrk } from './http.ts';
import { cpuRow, cpuSeconds } from './thread-cpu.ts';
import type { UsageServerCharges, UsageServerReady, UsageServerSettings } from './usage-server.ts';

const PATH = '/v1/usage?limit=50';
const CONNECTIONS = 32;
/** Of a busy installation. With a thousand accounts, each has a new entry in every second. */
const CHARGES_PER_SECOND = 1_000;
const DAYS = 60;

interface Options {
  readonly accounts: number;
  readonly charges: number;
  readonly seconds: number;
  readonly rounds: number;
}

const medianOf = (loads: readonly Load[], value: (load: Load) => number): number => median(loads.map(value));

async function benchUsage(options: Options): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-usage-'));
  const server = new Child(script('usage-server'));
  try {
    const { accounts, charges, seconds, rounds } = options;
    const settings: UsageServerSettings = { folder, accounts, charges, days: DAYS };
    const ready = await server.ask<UsageServerReady>(settings);
    const files = { items: join(folder, 'paths.txt'), keys: join(folder, 'bearers.txt') };
    await writeLines(files.items, [PATH]);
    await writeLines(files.keys, ready.keys);
    const answer = await answerFor(`http://127.0.0.1:${ready.port}/api${PATH}`, ready.keys[0] as string);
    const { control, port: controlPort } = await startControl(answer);
    try {
      const load = { ...files, kind: 'get', seconds, connections: CONNECTIONS, start: 0 } as const;
      noFailures('warming up', await wrk({ ...load, port: ready.port }));
      const loads = { control: [] as Load[], idle: [] as Load[], charged: [] as Load[] };
      const cpu = { control: 0, idle: 0, charged: 0 };
      const run = async (name: keyof typeof loads, port: number, pid: number): Promise<void> => {
        const before = cpuSeconds(pid).main;
        const done = await wrk({ ...load, port });
        cpu[name] += cpuSeconds(pid).main - before;
        noFailures(name, done);
        loads[name].push(done);
      };
      for (let round = 0; round < rounds; round++) {
        await run('control', controlPort, control.pid);
        await run('idle', ready.port, server.pid);
        await server.ask<object>({ perSecond: CHARGES_PER_SECOND } satisfies UsageServerCharges);
        await run('charged', ready.port, server.pid);
        await server.ask<object>({ perSecond: 0 } satisfies UsageServerCharges);
      }
      const requests = (name: keyof typeof loads): number =>
        loads[name].reduce((sum, each) => sum + each.requests, 0);
      const bare = medianOf(loads.control, ({ perSecond }) => perSecond);
      const bareCpu = cpu.control / requests('control');
      return report(
        'usage',
        startedAt,
        {
          accounts,
          'charges of each': charges,
          'days of history': DAYS,
          'bytes of an answer': Buffer.byteLength(answer.body),
          connections: CONNECTIONS,
          'load generator': 'wrk, one thread, on the same cores',
        },
        [
          row(
            'GET /usage, 50 entries',
            medianOf(loads.idle, ({ perSecond }) => perSecond),
            'answers/s',
            { atLeast: 10_000 },
            bare,
          ),
          row(
            '  p99',
            medianOf(loads.idle, ({ p99Ms }) => p99Ms),
            'ms',
          ),
          cpuRow('  CPU of the main thread', cpu.idle / requests('idle'), bareCpu),
          row(
            `GET /usage beside ${CHARGES_PER_SECOND} charges/s`,
            medianOf(loads.charged, ({ perSecond }) => perSecond),
            'answers/s',
            null,
            bare,
          ),
          row(
            '  p99',
            medianOf(loads.charged, ({ p99Ms }) => p99Ms),
            'ms',
          ),
          cpuRow('  CPU of the main thread, with the charges', cpu.charged / requests('charged'), bareCpu),
        ],
      );
    } finally {
      await control.stop();
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bench = await benchUsage({
    accounts: argument('--accounts', 1_000),
    charges: argument('--charges', 300),
    seconds: argument('--seconds', 5),
    rounds: argument('--rounds', 3),
  });
  publish(bench);
}
