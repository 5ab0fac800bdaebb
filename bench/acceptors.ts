/**
 * Processor time of one request with several acceptors: the oracle, bulk requests of 100 addresses, and requests that an acceptor passes on to
 * the main thread. It is compared with as many servers of one acceptor, each with its share of the connections, and with one such server. All of
 * them take turns under the same load, on the cores of the load generators. These are the bottleneck, so judge by the processor time of
 * the servers and not by requests per second. Needs wrk and Linux.
 *
 * Beside one server, a request costs more: the same requests are spread over several threads, each of which finds fewer of them in a turn of its
 * event loop, and on two cores the threads and the load generators displace each other. Several servers have the same costs.
 * Run: node dist/bench/acceptors.js [--count N] [--seconds S] [--warm-up S] [--rounds R] [--acceptors N]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { checkBulk, checkOracle } from './check-answers.ts';
import { argument, type BenchReport, median, publish, report, row } from './harness.ts';
import {
  buildIndex,
  bulkBodies,
  Child,
  noFailures,
  sampleAddresses,
  script,
  writeLines,
  wrk,
} from './http.ts';
import type { BenchServerReady, BenchServerSettings } from './http-server.ts';
import { cpuSeconds } from './thread-cpu.ts';

const KEYS = 100;
const ADDRESSES = 50_000;
/**
 * Seconds of each load before a subject is measured. V8 compiles the code for each thread: until it has, a request costs more, and two
 * acceptors need twice as many requests for it as one server.
 */
const WARM_UP_SECONDS = 8;
/** What a request may cost, beside servers of one acceptor. */
const MORE_MAX = 1.1;

/** The loads: connections in all, and whether the processor time has a goal. */
const LOADS = [
  { name: 'oracle', kind: 'oracle', file: 'oracle', connections: 64, isHot: true },
  { name: 'bulk of 100', kind: 'bulk', file: 'bulk', connections: 16, isHot: true },
  { name: 'passed on to the main thread', kind: 'get', file: 'entity', connections: 64, isHot: false },
] as const;

interface Running {
  readonly server: Child;
  readonly ready: BenchServerReady;
  readonly folder: string;
}

/** Servers that share a load. */
interface Subject {
  readonly servers: readonly Running[];
  readonly secondsEach: number[];
  readonly perSecond: number[];
}

const usedSeconds = ({ servers }: Subject): number =>
  servers
    .map(({ server }) => cpuSeconds(server.pid))
    .reduce((sum, { main, busiest, others }) => sum + main + busiest + others, 0);

/** Puts the load on the servers of a subject, by as many load generators for every subject. */
async function measure(
  subject: Subject,
  load: (typeof LOADS)[number],
  { seconds, acceptors }: { readonly seconds: number; readonly acceptors: number },
): Promise<void> {
  const before = usedSeconds(subject);
  const loads = await Promise.all(
    Array.from({ length: acceptors }, (_, generator) => {
      const { ready, folder } = subject.servers[generator % subject.servers.length] as Running;
      return wrk({
        port: ready.port,
        items: join(folder, `${load.file}.txt`),
        keys: join(folder, 'keys.txt'),
        kind: load.kind,
        start: generator * 1_000,
        seconds,
        connections: Math.ceil(load.connections / acceptors),
      });
    }),
  );
  for (const each of loads) noFailures(load.name, each);
  const requests = loads.reduce((sum, each) => sum + each.requests, 0);
  subject.secondsEach.push((usedSeconds(subject) - before) / requests);
  subject.perSecond.push(loads.reduce((sum, { perSecond }) => sum + perSecond, 0));
}

/** Starts a server. Without `acceptors`, its main thread accepts. */
async function start(folder: string, name: string, acceptors?: number): Promise<Running> {
  const own = join(folder, name);
  const state = join(own, 'state');
  mkdirSync(state, { recursive: true });
  const server = new Child(script('http-server'));
  const settings: BenchServerSettings = {
    ...{ snapshots: join(folder, 'snapshots'), state, keys: KEYS, threads: 1 },
    ...(acceptors === undefined ? {} : { acceptors }),
  };
  const ready = await server.ask<BenchServerReady>(settings);
  writeFileSync(join(own, 'keys.txt'), `${ready.keys.join('\n')}\n`);
  return { server, ready, folder: own };
}

/** Measures the servers in turn. */
export async function benchAcceptors(options: {
  readonly count: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly rounds: number;
  readonly acceptors: number;
}): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-acceptors-'));
  const running: Running[] = [];
  try {
    const seed = 1;
    const { acceptors } = options;
    const meta = await buildIndex(folder, { count: options.count, seed });
    const addresses = await sampleAddresses({ ...options, seed, addresses: ADDRESSES, mix: 'evm' });
    for (let server = 0; server < acceptors; server++) running.push(await start(folder, `server-${server}`));
    running.push(await start(folder, 'acceptors', acceptors));
    for (const { folder: own } of running) {
      await writeLines(
        join(own, 'oracle.txt'),
        addresses.map(({ chain, text }) => `${chain}/${text}`),
      );
      await writeLines(join(own, 'bulk.txt'), bulkBodies(addresses));
      await writeLines(
        join(own, 'entity.txt'),
        addresses.map(({ text }) => `/v1/entity/${text}`),
      );
    }
    for (const { ready } of running) {
      const asked = addresses.slice(0, 100);
      await checkOracle(ready.port, ready.keys[0] as string, asked);
      await checkBulk(ready.port, ready.keys[0] as string, asked);
    }
    const rows = [];
    for (const load of LOADS) {
      const subjectOf = (servers: readonly Running[]): Subject => ({
        servers,
        secondsEach: [],
        perSecond: [],
      });
      const several = subjectOf(running.slice(-1));
      const separate = subjectOf(running.slice(0, acceptors));
      const one = subjectOf(running.slice(0, 1));
      const subjects = [several, separate, one];
      const { warmUpSeconds: seconds } = options;
      for (const subject of subjects) await measure(subject, load, { seconds, acceptors });
      // These rounds only warmed up.
      for (const { secondsEach, perSecond } of subjects) secondsEach.length = perSecond.length = 0;
      for (let round = 0; round < options.rounds; round++) {
        for (const subject of subjects) await measure(subject, load, options);
        // Another one is first in the next round: what the machine does meanwhile hits each of them.
        subjects.push(subjects.shift() as Subject);
      }
      const cost = ({ secondsEach }: Subject): number => 1e6 * median(secondsEach);
      const goal = load.isHot ? ({ atMost: MORE_MAX, of: 'ratio' } as const) : null;
      rows.push(
        row(`${load.name}, beside ${acceptors} servers`, cost(several), 'µs of CPU', goal, cost(separate)),
        row('  beside one server', cost(several), 'µs of CPU', null, cost(one)),
        row('  requests, beside one server', median(several.perSecond), '/s', null, median(one.perSecond)),
      );
    }
    const subject = {
      acceptors,
      'synthetic labels': meta.synthetic.labels,
      keys: KEYS,
      'load generators': `${acceptors} of wrk, one thread each, on the same cores`,
    };
    return report('acceptors', startedAt, subject, rows);
  } finally {
    for (const { server } of running) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === script('acceptors'))
  publish(
    await benchAcceptors({
      count: argument('--count', 1_000_000),
      seconds: argument('--seconds', 5),
      warmUpSeconds: argument('--warm-up', WARM_UP_SECONDS),
      rounds: argument('--rounds', 5),
      acceptors: argument('--acceptors', 2),
    }),
  );
