/**
 * The distributed half of the benchmark of scale: the same job on two worker processes of this machine, with a Redis that persists its
 * data; and the same request to a standalone server and to one with a Redis.
 */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { projectRoot } from '../src/base/paths.ts';
import { systemRandom } from '../src/base/random.ts';
import type { JobBilling } from '../src/jobs/bulk/billing.ts';
import { openBulkJobs } from '../src/jobs/bulk/open.ts';
import { openQueues } from '../src/pool/queues.ts';
import { createRedisLeases } from '../src/state/leases-redis.ts';
import { openRedis, parseRedisUrl } from '../src/state/redis.ts';
import { openReplicated } from '../src/state/replicated-store.ts';
import { startRedis } from '../test/setup/redis.ts';
import { type BenchRow, median, row } from './harness.ts';
import { pacedClient } from './http.ts';
import { type JobFigures, type ScaleBenchOptions, timeJob } from './scale-job.ts';
import type { WorkerOrder } from './scale-worker.ts';

const WORKERS = 2;
/** Two workers on one machine together have as many threads as one embedded process. */
const THREADS_EACH = Math.ceil((availableParallelism() * 1.5) / WORKERS);
const CHUNKS_A_THREAD = 2;

const answerOf = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`A worker ended with ${code}.`)));
  });

async function cpuSeconds(children: readonly ChildProcess[]): Promise<number> {
  let microseconds = 0;
  for (const child of children) {
    const answer = answerOf<NodeJS.CpuUsage>(child);
    child.send('cpu');
    const { user, system } = await answer;
    microseconds += user + system;
  }
  return microseconds / 1e6;
}

export interface DistributedFigures {
  readonly addressesPerSecond: number;
  /** Of this process, which plans, and of all workers. */
  readonly coreSecondsPerMillion: number;
}

/** Runs the job of `input` on two workers. The folder contains the labels. */
export async function distributedFigures(
  folder: string,
  input: string,
  { lines, rounds }: ScaleBenchOptions,
): Promise<DistributedFigures> {
  const log = createLogger({ level: 'error' });
  const server = await startRedis();
  const redis = openRedis(parseRedisUrl(server.url), { log });
  const deps = { redis, clock: systemClock, random: systemRandom, log };
  const queues = openQueues(deps);
  const script = fileURLToPath(new URL('./scale-worker.js', import.meta.url));
  const workers = Array.from({ length: WORKERS }, () => fork(script));
  const free: JobBilling = { priceOf: () => ({ unit: 'intel', perLine: 1 }), settle: async () => {} };
  const jobs = openBulkJobs(
    { storePath: join(folder, 'jobs-shared.mdb'), folder: join(folder, 'jobs-shared'), isShared: true },
    {
      ...deps,
      billing: free,
      runner: queues.chunkRunner({
        slots: () => WORKERS * THREADS_EACH * CHUNKS_A_THREAD,
        groupOf: () => null,
      }),
      openStore: openReplicated(deps),
      leases: createRedisLeases({ nodeId: 'bench' }, deps),
    },
  );
  try {
    for (const worker of workers) {
      const ready = answerOf(worker);
      worker.send({ redisUrl: server.url, folder, threads: THREADS_EACH } satisfies WorkerOrder);
      await ready;
    }
    jobs.start();
    const figures: JobFigures[] = [];
    const cpu: number[] = [];
    // The first round warms the caches and the compilers.
    for (let round = 0; round <= rounds; round++) {
      const before = await cpuSeconds(workers);
      const figure = await timeJob(jobs, input, lines);
      if (round === 0 && rounds > 0) continue;
      figures.push(figure);
      cpu.push(figure.cpu + (await cpuSeconds(workers)) - before);
    }
    return {
      addressesPerSecond: lines / median(figures.map(({ working }) => working)),
      coreSecondsPerMillion: median(cpu) / (lines / 1e6),
    };
  } finally {
    await jobs.close();
    await queues.close();
    await redis.close();
    for (const worker of workers) worker.disconnect();
    await server.stop();
  }
}

const PROGRAM = join(projectRoot, 'dist', 'joined', 'main.cjs');
const KEYS = 8;
const PER_SECOND = 150;
const SECONDS = 10;
/** A server is slower until its code is compiled, with or without a Redis. */
const WARMING_SECONDS = 8;
const ADDRESS = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

/** The p99 in milliseconds of an oracle request to a server with these settings. */
async function requestP99(settings: Readonly<Record<string, string>>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-node-'));
  const env = {
    PATH: process.env.PATH,
    // Those of `npm start`, with which the benchmarks run.
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    ASSAY_DATA_DIR: folder,
    ASSAY_PORT: '0',
    ASSAY_SYNC: 'off',
    ...settings,
  };
  let server: ChildProcess | null = null;
  try {
    if (settings.ASSAY_REDIS_URL !== undefined)
      await promisify(execFile)(process.execPath, [PROGRAM, 'redis', 'found'], { env });
    const keys: string[] = [];
    // A key has a limit per minute, so several keys take turns.
    while (keys.length < KEYS) {
      const args = [
        'keys',
        'create',
        '--name',
        'bench',
        '--plan',
        'ENTERPRISE',
        '--account',
        `a${keys.length}`,
        '--json',
      ];
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env });
      keys.push((JSON.parse(stdout) as { apiKey: string }).apiKey);
    }
    const child = spawn(process.execPath, [PROGRAM, 'serve'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    server = child;
    const port = await new Promise<number>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        const found = /^Assay answers on http:\/\/[^:]+:(\d+)/m.exec(text);
        if (found) resolve(Number(found[1]));
      });
      child.once('exit', (code) => reject(new Error(`A server ended with ${code}.`)));
    });
    const requests = keys.map(
      (key) =>
        `GET /api/v1/oracle/address/ETH/${ADDRESS} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    await pacedClient({ port, perSecond: PER_SECOND, seconds: WARMING_SECONDS, requests });
    return (await pacedClient({ port, perSecond: PER_SECOND, seconds: SECONDS, requests })).p99Ms;
  } finally {
    server?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Both are measured in turn, so that other load on the machine affects both. */
const REQUEST_ROUNDS = 3;

/** The latency that a Redis adds to a request: medians of several rounds. */
export async function requestRows(): Promise<BenchRow[]> {
  const embedded: number[] = [];
  const shared: number[] = [];
  for (let round = 0; round < REQUEST_ROUNDS; round++) {
    embedded.push(await requestP99({}));
    const redis = await startRedis();
    try {
      shared.push(await requestP99({ ASSAY_REDIS_URL: redis.url }));
    } finally {
      await redis.stop();
    }
  }
  const [beside, alone] = [median(shared), median(embedded)];
  return [
    row('an oracle request beside a Redis, p99; control: embedded', beside, 'ms', null, alone),
    row('what the Redis adds to it at p99', beside - alone, 'ms', { atMost: 3 }),
  ];
}
