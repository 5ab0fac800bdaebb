/**
 * The oracle over an exposure index of a graph of 2 million addresses and 20 million transfers, compared with a minimal handler that sends
 * the same bytes and with the oracle over the same labels alone, and at a steady rate while bulk saturates the machine. Every requested
 * address has transfers. Needs wrk.
 * Run: node --expose-gc dist/bench/oracle-exposure.js [--addresses N] [--edges N] [--seconds S] [--rounds N] [--folder PATH] [--no-save]
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { POWER_LAW_CHAIN } from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { seededUint32 } from '../src/base/random.ts';
import { exposureFolderOf } from '../src/exposure/reader.ts';
import { currentSnapshot } from '../src/labels/index/folder.ts';
import { buildIn, makeSubject } from './exposure-index.ts';
import { storeIn, withGraph } from './graph-subject.ts';
import { argument, type BenchReport, type BenchRow, median, publish, report, row } from './harness.ts';
import {
  type Address,
  type Bench,
  bulkBodies,
  Child,
  controlAnswer,
  measureOracle,
  measurePaced,
  noFailures,
  script,
  writeLines,
  wrk,
} from './http.ts';
import type { BenchServerReady, BenchServerSettings } from './http-server.ts';
import { cpuRow, cpuSeconds } from './thread-cpu.ts';

const SELF = fileURLToPath(import.meta.url);
const KEYS = 1_000;
const ASKED = 500_000;
const CONNECTIONS = 64;
const SEED = 11;

interface Options {
  readonly addresses: number;
  readonly edges: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly folder?: string;
}

/** Addresses of the graph, drawn uniformly. */
const draw = (folder: string): Promise<Address[]> =>
  withGraph(folder, (graph) => {
    const next = seededUint32(SEED);
    return Array.from({ length: Math.min(ASKED, graph.nodeCount) }, () => ({
      chain: POWER_LAW_CHAIN,
      text: graph.addressOf(1 + (next() % graph.nodeCount)).toLowerCase(),
    }));
  });

interface Answer {
  readonly score: number;
  readonly coverage: { readonly graph: { readonly status: string } };
  readonly reasons: readonly { readonly code: string }[];
}

/** Returns the share of sampled responses with exposure. Throws if a response does not include the graph. */
async function checkAnswers(port: number, key: string, addresses: readonly Address[]): Promise<number> {
  let exposed = 0;
  const asked = addresses.slice(0, 1_000);
  for (const { chain, text } of asked) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/oracle/address/${chain}/${text}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const { data: answer } = (await response.json()) as { readonly data: Answer };
    if (answer.coverage.graph.status !== 'PARTIAL') throw new Error('An answer does not know the graph.');
    if (answer.reasons.some(({ code }) => code === 'EXPOSURE')) exposed++;
  }
  return exposed / asked.length;
}

/** Measures the oracle with exposure and one that knows only the labels, in turn, with the same requests. */
async function measureLabelOnly(
  { options, folder, server, ready }: Bench,
  snapshots: string,
): Promise<BenchRow[]> {
  const state = mkdtempSync(join(tmpdir(), 'assay-bench-oracle-labels-'));
  const alone = new Child(script('http-server'));
  try {
    const other = await alone.ask<BenchServerReady>({ snapshots, state, keys: KEYS, threads: 1 });
    writeFileSync(join(state, 'keys.txt'), `${other.keys.join('\n')}\n`);
    const subjects = [
      { child: server, port: ready.port, keys: join(folder, 'keys.txt') },
      { child: alone, port: other.port, keys: join(state, 'keys.txt') },
    ].map((each) => ({ ...each, rates: [] as number[], seconds: 0, requests: 0 }));
    for (let round = 0; round < options.rounds; round++)
      for (const subject of subjects) {
        const before = cpuSeconds(subject.child.pid).main;
        const load = await wrk({
          items: join(folder, 'oracle.txt'),
          keys: subject.keys,
          kind: 'oracle',
          port: subject.port,
          start: round * 100_000,
          seconds: options.seconds,
          connections: CONNECTIONS,
        });
        noFailures('oracle', load);
        subject.seconds += cpuSeconds(subject.child.pid).main - before;
        subject.requests += load.requests;
        subject.rates.push(load.perSecond);
      }
    const [exposed, labels] = subjects as [(typeof subjects)[0], (typeof subjects)[0]];
    return [
      row(
        'oracle with exposure, beside one of labels alone',
        median(exposed.rates),
        'requests/s',
        { atLeast: 0.9, of: 'ratio' },
        median(labels.rates),
      ),
      cpuRow(
        '  CPU of the main thread',
        exposed.seconds / exposed.requests,
        labels.seconds / labels.requests,
      ),
    ];
  } finally {
    await alone.stop();
    rmSync(state, { recursive: true, force: true });
  }
}

async function benchOracle(options: Options): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'assay-bench-oracle-'));
  const state = mkdtempSync(join(tmpdir(), 'assay-bench-oracle-state-'));
  const server = new Child(script('http-server'));
  try {
    mkdirSync(folder, { recursive: true });
    await makeSubject(folder, options.addresses, options.edges);
    const root = exposureFolderOf(join(folder, 'exposure'), POWER_LAW_CHAIN);
    if (!existsSync(root) || currentSnapshot(root) === null) await buildIn(folder);
    symlinkSync(storeIn(folder), join(state, 'transfers'));
    symlinkSync(join(folder, 'exposure'), join(state, 'exposure'));
    const addresses = await draw(folder);
    const settings: BenchServerSettings = {
      snapshots: join(folder, 'labels'),
      state,
      keys: KEYS,
      threads: 1,
    };
    const ready = await server.ask<BenchServerReady>(settings);
    const key = ready.keys[0] as string;
    await writeLines(
      join(state, 'oracle.txt'),
      addresses.map(({ chain, text }) => `${chain}/${text}`),
    );
    await writeLines(join(state, 'bulk.txt'), bulkBodies(addresses));
    writeFileSync(join(state, 'keys.txt'), `${ready.keys.join('\n')}\n`);
    const exposed = await checkAnswers(ready.port, key, addresses);
    const answer = await controlAnswer(ready.port, key, addresses);
    const bench: Bench = { options, folder: state, addresses, server, ready };
    const rows = [
      ...(await measureOracle(bench, answer)),
      ...(await measureLabelOnly(bench, settings.snapshots)),
      ...(await measurePaced(bench, answer)),
      row('answers with exposure', 100 * exposed, '%'),
    ];
    return report(
      'oracle-exposure',
      startedAt,
      {
        addresses: options.addresses,
        transfers: options.edges,
        'addresses asked for': addresses.length,
        keys: KEYS,
        seed: SEED,
        'bytes of an answer': Buffer.byteLength(answer.body),
        'load generator': 'wrk, one thread, on the same cores',
      },
      rows,
    );
  } finally {
    await server.stop();
    rmSync(state, { recursive: true, force: true });
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const at = process.argv.indexOf('--folder');
  const folder = at < 0 ? undefined : process.argv[at + 1];
  const bench = await benchOracle({
    addresses: argument('--addresses', 2_000_000),
    edges: argument('--edges', 20_000_000),
    seconds: argument('--seconds', 10),
    rounds: argument('--rounds', 3),
    ...(folder === undefined ? {} : { folder }),
  });
  publish(bench);
}

if (process.argv[1] === SELF) await main();
