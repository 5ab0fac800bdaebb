/**
 * Cold starts over an index of ten million synthetic labels: one look-up as a whole process (`assay lookup`), joined and from its modules, compared
 * with a process of Node that does nothing; and a server, from its start to its first answer. Processes take turns, and the medians count.
 * Run: node dist/bench/start.js [--count N] [--seed S] [--rounds N] [--no-save]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { projectRoot } from '../src/base/paths.ts';
import { argument, type BenchReport, median, publish, report, row } from './harness.ts';
import { environmentOf, PROGRAM, runProgram, startProgram } from './program-server.ts';

export interface StartBenchOptions {
  /** Synthetic labels of the index. */
  readonly count: number;
  readonly seed: number;
  /** Processes of each kind. */
  readonly rounds: number;
}

export const START_BENCH_DEFAULTS: StartBenchOptions = { count: 10_000_000, seed: 1, rounds: 15 };

const MODULES = join(projectRoot, 'dist', 'src', 'main.js');
/** Ships with the product. */
const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';
const OWNER = 'Binance';

/**
 * Runs a process to its end.
 *
 * @param says - part of its output
 * @returns wall-clock ms
 */
async function processMs(folder: string, args: readonly string[], says: string): Promise<number> {
  const startMs = systemClock.monotonic();
  const child = spawn(process.execPath, args, {
    env: environmentOf(folder),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const tookMs = systemClock.monotonic() - startMs;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}.`);
  if (!output.includes(says)) throw new Error(`${args.join(' ')} does not say ${says}: ${output}`);
  return tookMs;
}

/** From the start of a server to the answer of its first request, in ms; the making of a key is not counted. */
async function serverMs(folder: string): Promise<number> {
  const server = await startProgram(folder);
  try {
    const startMs = systemClock.monotonic();
    const answer = await fetch(`${server.url}/api/v1/oracle/address/ETH/${BINANCE}`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    const text = await answer.text();
    if (answer.status !== 200 || !text.includes(OWNER))
      throw new Error(`The oracle does not name ${OWNER}: ${answer.status} ${text}`);
    return server.startMs + systemClock.monotonic() - startMs;
  } finally {
    await server.stop();
  }
}

/** Builds the index with the program's own command, and starts processes over it. */
export async function benchStart(options: StartBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-start-'));
  try {
    // The first start of a server imports the labels that ship.
    await serverMs(folder);
    const { count, seed } = options;
    await runProgram(folder, ['index', 'synth', '--count', String(count), '--seed', String(seed)]);
    await runProgram(folder, ['index', 'build']);
    const lookup = ['lookup', 'ETH', BINANCE, '--json'];
    const kinds = { nothing: ['-e', '0'], joined: [PROGRAM, ...lookup], modules: [MODULES, ...lookup] };
    const times: Record<keyof typeof kinds, number[]> = { nothing: [], joined: [], modules: [] };
    for (let round = 0; round < options.rounds; round++)
      for (const kind of ['nothing', 'joined', 'modules'] as const)
        times[kind].push(await processMs(folder, kinds[kind], kind === 'nothing' ? '' : OWNER));
    const servers: number[] = [];
    for (let round = 0; round < Math.ceil(options.rounds / 3); round++) servers.push(await serverMs(folder));
    const nothing = median(times.nothing);
    return report(
      'start',
      startedAt,
      { 'synthetic labels': options.count, seed: options.seed, rounds: options.rounds },
      [
        row('look-up, a whole process', median(times.joined), 'ms', { atMost: 120 }, nothing),
        row('  from modules', median(times.modules), 'ms', null, nothing),
        row('server, start to the first answer', median(servers), 'ms'),
      ],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { count, seed, rounds } = START_BENCH_DEFAULTS;
  publish(
    await benchStart({
      count: argument('--count', count),
      seed: argument('--seed', seed),
      rounds: argument('--rounds', rounds),
    }),
  );
}
