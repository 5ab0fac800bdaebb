/**
 * The front end under load, on the same machine as the load generator: the oracle against a minimal handler, bulk against a minimal B-tree
 * loop, and a paced oracle client while bulk saturates the machine. Needs wrk.
 * Run: node dist/bench/http.js [--count N] [--seconds S] [--no-bare]
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { projectRoot } from '../src/base/paths.ts';
import { seededUint32 } from '../src/base/random.ts';
import { formatAddressKey } from '../src/chains/address/parse.ts';
import { isEvm } from '../src/chains/registry.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { currentSnapshot } from '../src/labels/index/folder.ts';
import type { SnapshotMeta } from '../src/labels/index/reader.ts';
import { openSnapshot } from '../src/labels/index/snapshot.ts';
import { loadSynthProfile, synthesise, synthSegment } from '../src/labels/index/synth.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import { debianProgram } from '../test/setup/debian-package.ts';
import { checkBulk, checkOracle, type KnownAddress } from './check-answers.ts';
import {
  argument,
  type BenchReport,
  type BenchRow,
  median,
  publish,
  report,
  row,
  runChild,
} from './harness.ts';
import type { ControlAnswer } from './http-control.ts';
import type { PacedClientResult, PacedClientSettings } from './http-paced-client.ts';
import type { BenchServerCounts, BenchServerReady, BenchServerSettings } from './http-server.ts';

const SELF = fileURLToPath(import.meta.url);
/** Returns the path of a built benchmark script. */
export const script = (name: string): string => join(projectRoot, 'dist', 'bench', `${name}.js`);
const LUA = join(projectRoot, 'bench', 'http-load.lua');

export interface HttpBenchOptions {
  /** Synthetic labels in the index. */
  readonly count: number;
  readonly seed: number;
  /** Distinct requested addresses, half of them labelled. */
  readonly addresses: number;
  readonly keys: number;
  /** Seconds of each load. */
  readonly seconds: number;
  /** How often control and oracle are measured, in turn. */
  readonly rounds: number;
  /** Measures the minimal B-tree loop as well, which takes longer than everything else. */
  readonly bare: boolean;
  /**
   * The requested addresses: EVM addresses, as clients have them before a transaction, or all chains in the mix of the TagPacks (95 %
   * Bitcoin).
   */
  readonly mix: 'evm' | 'tagpacks';
  /**
   * A folder with an index of this count and seed in `snapshots`, which is built if absent. Default: a temporary folder, which is removed.
   */
  readonly folder?: string;
}

export interface Load {
  readonly requests: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const CONNECTIONS = 64;
const BULK_CONNECTIONS = 16;
/** Of signed answers, which wait for their signature and their transaction: more of them share one. */
const SIGNED_CONNECTIONS = 256;
/** Goal for signed answers on two cores, with the load generator on them. */
const SIGNED_MIN = 15_000;
const BULK_ADDRESSES = 100;
/** Addresses whose answers are checked before and after the loads. */
const CHECKED = 500;

/** A child process that answers one message at a time, and runs until it is stopped. */
export class Child {
  readonly #process: ChildProcess;
  constructor(path: string) {
    this.#process = fork(path, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }
  ask<Answer>(message: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const died = (code: number | null): void =>
        reject(new Error(`A process of the benchmark ended with ${code}.`));
      this.#process.once('exit', died);
      this.#process.once('message', (answer) => {
        this.#process.off('exit', died);
        resolve(answer as Answer);
      });
      this.#process.send(message);
    });
  }
  get pid(): number {
    return this.#process.pid as number;
  }
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await gone;
  }
}

/** Builds a synthetic index in the folder, unless it has one. */
export async function buildIndex(
  folder: string,
  { count, seed }: Pick<HttpBenchOptions, 'count' | 'seed'>,
): Promise<SnapshotMeta> {
  const root = join(folder, 'snapshots');
  const known = existsSync(root) ? currentSnapshot(root) : null;
  if (known !== null) return openSnapshot(known).meta;
  mkdirSync(root, { recursive: true });
  const path = join(folder, 'segment');
  await synthSegment(path, { count, seed });
  const source = {
    id: 'synthetic',
    dataset: 'bench',
    publishedAt: null,
    importedAt: isoTime(systemClock.now()),
    url: null,
    lists: [],
  };
  return buildSnapshot(
    { segments: [{ path, source }], folder: root, compareLabels: primaryOrder(loadSourceTable()) },
    { clock: systemClock, log: silentLogger },
  );
}

export type Address = Pick<KnownAddress, 'chain' | 'text'>;

/** Labelled addresses spread over the index, each followed by an unlabelled one of the same form, in random order. */
export async function sampleAddresses({
  count,
  seed,
  addresses,
  mix,
}: Pick<HttpBenchOptions, 'count' | 'seed' | 'addresses' | 'mix'>): Promise<KnownAddress[]> {
  const half = Math.ceil(addresses / 2);
  // One address in fifteen is an EVM address: of these, each is taken.
  const every = mix === 'evm' ? 1 : Math.max(1, Math.floor((count * 0.8) / half));
  const next = seededUint32(seed + 7);
  const found: KnownAddress[] = [];
  let label = 0;
  let last = '';
  await synthesise({ count, seed }, loadSynthProfile(), (key, length, chain) => {
    if (mix === 'evm' && !isEvm(chain)) return;
    if (label++ % every !== 0 || found.length >= half * 2) return;
    const labelled = key.slice(0, length);
    const text = formatAddressKey(labelled, chain);
    if (text === last) return;
    last = text;
    const unlabelled = labelled.slice();
    for (let at = 2; at < Math.min(length, 18); at++) unlabelled[at] = next() >>> 11;
    found.push(
      { chain, text: shown(text), isLabelled: true },
      { chain, text: shown(formatAddressKey(unlabelled, chain)), isLabelled: false },
    );
  });
  // The index contains fewer labelled EVM addresses than half a million: unlabelled ones fill the rest.
  while (mix === 'evm' && found.length < addresses) {
    const key = Uint8Array.from({ length: 22 }, (_, at) => (at < 2 ? 1 : next() >>> 11));
    found.push({ chain: 'ETH', text: shown(formatAddressKey(key, 'ETH')), isLabelled: false });
  }
  for (let index = found.length - 1; index > 0; index--) {
    const other = next() % (index + 1);
    [found[index], found[other]] = [found[other]!, found[index]!];
  }
  return found;
}

/** Clients mostly write EVM addresses in lower case. */
const shown = (text: string): string => (text.startsWith('0x') ? text.toLowerCase() : text);

/** Writes lines to a file and waits until they are written. */
export async function writeLines(path: string, lines: Iterable<string>): Promise<void> {
  const stream = createWriteStream(path);
  for (const line of lines) if (!stream.write(`${line}\n`)) await once(stream, 'drain');
  stream.end();
  await finished(stream);
}

interface LoadSettings {
  readonly port: number;
  readonly items: string;
  readonly keys: string;
  /** `get`: the items are paths. `post`: `prefix` is the path. */
  readonly kind: 'oracle' | 'bulk' | 'screening' | 'get' | 'post';
  readonly prefix?: string;
  /** Query of the oracle, with its question mark. */
  readonly query?: string;
  /** Number of the first item: a later load continues after an earlier one. */
  readonly start: number;
  readonly seconds: number;
  readonly connections: number;
}

/** Runs wrk with one thread and returns its figures. Without an installed one, Debian's package is unpacked. */
export function wrk({
  port,
  items,
  keys,
  kind,
  prefix = '/api',
  query = '',
  start,
  seconds,
  connections,
}: LoadSettings): Promise<Load> {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', LUA];
  const program = debianProgram('wrk', 'bin/wrk');
  if (program === null) throw new Error('The HTTP benchmark needs wrk.');
  return new Promise((resolve, reject) => {
    const child = spawn(
      program.path,
      [...args, `http://127.0.0.1:${port}`, '--', items, keys, kind, prefix, String(start), query],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...program.env } },
    );
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => {
      const result = /RESULT (\{.*\})/.exec(output)?.[1];
      if (!result) return reject(new Error(`wrk said:\n${output}`));
      const { requests, microseconds, failed, p50Ms, p99Ms } = JSON.parse(result) as {
        requests: number;
        microseconds: number;
        failed: number;
        p50Ms: number;
        p99Ms: number;
      };
      resolve({ requests, perSecond: (requests / microseconds) * 1e6, failed, p50Ms, p99Ms });
    });
  });
}

/** Asks for one response, without compression, for a control. */
export async function answerFor(url: string, key: string): Promise<ControlAnswer> {
  const response = await fetch(url, {
    headers: { Authorization: `Bearer ${key}`, 'Accept-Encoding': 'identity' },
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${body}`);
  const own = new Set(['date', 'content-length', 'connection', 'keep-alive']);
  return { headers: [...response.headers].filter(([name]) => !own.has(name)), body };
}

/** The response of the control: of a thousand real responses the one with the length nearest to the mean, with its headers. */
export async function controlAnswer(
  port: number,
  key: string,
  addresses: readonly Address[],
): Promise<ControlAnswer> {
  const answers: ControlAnswer[] = [];
  for (const { chain, text } of addresses.slice(0, 1000)) {
    answers.push(await answerFor(`http://127.0.0.1:${port}/api/v1/oracle/address/${chain}/${text}`, key));
  }
  const mean = answers.reduce((sum, { body }) => sum + body.length, 0) / answers.length;
  const distance = ({ body }: ControlAnswer): number => Math.abs(body.length - mean);
  return answers.reduce((nearest, answer) => (distance(answer) < distance(nearest) ? answer : nearest));
}

/** Builds complete oracle requests, with the keys in turn. */
export function oracleRequests(addresses: readonly Address[], keys: readonly string[]): string[] {
  return addresses
    .slice(0, 20_000)
    .map(
      ({ chain, text }, index) =>
        `GET /api/v1/oracle/address/${chain}/${text} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys[index % keys.length]}\r\n\r\n`,
    );
}

/** Builds bulk bodies of 100 addresses each. */
export function bulkBodies(addresses: readonly Address[]): string[] {
  const bodies: string[] = [];
  for (let from = 0; from + BULK_ADDRESSES <= addresses.length; from += BULK_ADDRESSES) {
    const items = addresses.slice(from, from + BULK_ADDRESSES);
    bodies.push(JSON.stringify({ addresses: items.map(({ chain, text }) => ({ address: text, chain })) }));
  }
  return bodies;
}

/** A process that only keeps a core busy. */
export const busyLoop = (): ChildProcess => spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' });

/**
 * Runs the paced client in a process of its own.
 *
 * @throws if a request failed or was not answered
 */
export const pacedClient = async (settings: PacedClientSettings): Promise<PacedClientResult> => {
  const child = new Child(script('http-paced-client'));
  try {
    const result = await child.ask<PacedClientResult>(settings);
    const { failed, sent } = result;
    if (failed > 0)
      throw new Error(`Paced client: ${failed} of ${sent} requests failed or were not answered.`);
    return result;
  } finally {
    await child.stop();
  }
};

export interface Bench {
  readonly options: Pick<HttpBenchOptions, 'seconds' | 'rounds'>;
  readonly folder: string;
  readonly addresses: readonly Address[];
  readonly server: Child;
  readonly ready: BenchServerReady;
}

/** Starts a minimal handler that sends the answer. */
export const startControl = async (answer: ControlAnswer): Promise<{ control: Child; port: number }> => {
  const control = new Child(script('http-control'));
  return { control, port: (await control.ask<{ port: number }>(answer)).port };
};

/** Throws if requests of a load failed. */
export const noFailures = (what: string, load: Load): void => {
  if (load.failed > 0) throw new Error(`${what}: ${load.failed} of ${load.requests} requests failed.`);
};

/** Measures oracle and control in turn, with the same requests. */
export async function measureOracle(
  { options, folder, addresses, server, ready }: Bench,
  answer: ControlAnswer,
): Promise<BenchRow[]> {
  const { control, port } = await startControl(answer);
  try {
    const files = {
      items: join(folder, 'oracle.txt'),
      keys: join(folder, 'keys.txt'),
      kind: 'oracle' as const,
    };
    const load = { ...files, seconds: options.seconds, connections: CONNECTIONS };
    const rates = {
      control: [] as number[],
      plain: [] as number[],
      oracle: [] as number[],
      batch: [] as number[],
      signed: [] as number[],
    };
    const before = await server.ask<BenchServerCounts>({});
    let requests = 0;
    let slowest = 0;
    for (let round = 0; round < options.rounds; round++) {
      const bare = await wrk({ ...load, port, start: requests });
      const oracle = await wrk({ ...load, port: ready.port, start: requests });
      const plain = await wrk({ ...load, port, start: requests, prefix: '/plain' });
      const batch = await wrk({ ...load, port: ready.port, start: requests, query: '?receipt=batch' });
      const jws = { query: '?receipt=jws', connections: SIGNED_CONNECTIONS };
      const signed = await wrk({ ...load, ...jws, port: ready.port, start: requests });
      for (const each of [bare, oracle, plain, batch, signed]) noFailures('oracle', each);
      rates.control.push(bare.perSecond);
      rates.plain.push(plain.perSecond);
      rates.oracle.push(oracle.perSecond);
      rates.batch.push(batch.perSecond);
      rates.signed.push(signed.perSecond);
      requests += oracle.requests + batch.requests + signed.requests;
      slowest = Math.max(slowest, oracle.p99Ms);
    }
    const after = await server.ask<BenchServerCounts>({});
    // wrk stops without waiting for requests in flight: the quotas may count one request per connection and round of which wrk saw no
    // response.
    const uncounted = after.oracle - before.oracle - requests;
    if (uncounted < 0 || uncounted > (2 * CONNECTIONS + SIGNED_CONNECTIONS) * options.rounds)
      throw new Error(`The quotas counted ${after.oracle - before.oracle} of ${requests} requests.`);
    return [
      row('oracle', median(rates.oracle), 'requests/s', { atLeast: 0.6, of: 'ratio' }, median(rates.control)),
      row(
        '  beside a control of one call a header',
        median(rates.oracle),
        'requests/s',
        null,
        median(rates.plain),
      ),
      row(
        '  with receipt=batch, beside without',
        median(rates.batch),
        'requests/s',
        { atLeast: 0.7, of: 'ratio' },
        median(rates.oracle),
      ),
      row('  with receipt=jws', median(rates.signed), 'requests/s', { atLeast: SIGNED_MIN }),
      row('  p99 under that load', slowest, 'ms'),
      row('  requests, all counted by the quotas', requests, ''),
      row('  distinct addresses among them', Math.min(requests, addresses.length), ''),
    ];
  } finally {
    await control.stop();
  }
}

async function measureBulk(
  { options, folder, server, ready }: Bench,
  bare: number | null,
): Promise<BenchRow[]> {
  const files = { items: join(folder, 'bulk.txt'), keys: join(folder, 'keys.txt'), kind: 'bulk' as const };
  const load = { ...files, port: ready.port, seconds: options.seconds, connections: BULK_CONNECTIONS };
  const rates: number[] = [];
  const before = await server.ask<BenchServerCounts>({});
  let requests = 0;
  for (let round = 0; round < options.rounds; round++) {
    const bulk = await wrk({ ...load, start: requests });
    noFailures('bulk', bulk);
    rates.push(bulk.perSecond * BULK_ADDRESSES);
    requests += bulk.requests;
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  const after = await server.ask<BenchServerCounts>({});
  const uncounted = (after.intel - before.intel) / BULK_ADDRESSES - requests;
  if (uncounted < 0 || uncounted > BULK_CONNECTIONS * options.rounds)
    throw new Error(`The quotas counted ${after.intel - before.intel} addresses of ${requests} requests.`);
  return [row('POST /screen/bulk of 100', median(rates), 'addresses/s', { atLeast: 1.2, of: 'ratio' }, bare)];
}

/** The paced client while bulk saturates the machine, and against the control while two loops do. */
export async function measurePaced(bench: Bench, answer: ControlAnswer): Promise<BenchRow[]> {
  const { options, folder, addresses, ready } = bench;
  const files = { items: join(folder, 'bulk.txt'), keys: join(folder, 'keys.txt'), kind: 'bulk' as const };
  const requests = oracleRequests(addresses, ready.keys);
  const paced = { perSecond: 1000, seconds: options.seconds, requests };
  const saturating = wrk({
    ...files,
    port: ready.port,
    start: 0,
    seconds: options.seconds + 2,
    connections: BULK_CONNECTIONS,
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const oracle = await pacedClient({ ...paced, port: ready.port });
  const bulk = await saturating;
  const { control, port } = await startControl(answer);
  const loops = [busyLoop(), busyLoop()];
  let beside: PacedClientResult;
  try {
    beside = await pacedClient({ ...paced, port });
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
    await control.stop();
  }
  return [
    row('paced oracle under bulk, p50', oracle.p50Ms, 'ms', { atMost: 0.5 }, beside.p50Ms),
    row('paced oracle under bulk, p99', oracle.p99Ms, 'ms', { atMost: 10 }, beside.p99Ms),
    row('  requests sent a second', oracle.sent / options.seconds, '1/s'),
    row('  the client itself late, p99', oracle.lateP99Ms, 'ms', null, beside.lateP99Ms),
    row('  bulk beside it', bulk.perSecond * BULK_ADDRESSES, 'addresses/s'),
  ];
}

/** The benchmark of labels measures the minimal loop, over the same snapshot. */
async function measureBare(folder: string, { count, seed }: HttpBenchOptions): Promise<number> {
  const path = currentSnapshot(join(folder, 'snapshots'));
  if (path === null) throw new Error('There is no snapshot to compare with.');
  const work = mkdtempSync(join(tmpdir(), 'assay-bench-bare-'));
  try {
    const args = ['read', path, work, String(count), String(seed)];
    return (await runChild<{ bareHits: number }>(script('labels'), args, ['--expose-gc'])).bareHits;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

export async function benchHttp(options: HttpBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'assay-bench-http-'));
  const state = mkdtempSync(join(tmpdir(), 'assay-bench-http-state-'));
  const server = new Child(script('http-server'));
  try {
    const meta = await buildIndex(folder, options);
    const addresses = await sampleAddresses(options);
    const settings: BenchServerSettings = {
      snapshots: join(folder, 'snapshots'),
      state,
      keys: options.keys,
      threads: 1,
    };
    const ready = await server.ask<BenchServerReady>(settings);
    await writeLines(
      join(folder, 'oracle.txt'),
      addresses.map(({ chain, text }) => `${chain}/${text}`),
    );
    await writeLines(join(folder, 'bulk.txt'), bulkBodies(addresses));
    writeFileSync(join(folder, 'keys.txt'), `${ready.keys.join('\n')}\n`);
    const bench: Bench = { options, folder, addresses, server, ready };
    const check = async (from: number): Promise<void> => {
      const asked = addresses.slice(from, from + CHECKED);
      await checkOracle(ready.port, ready.keys[0] as string, asked);
      for (let at = 0; at < asked.length; at += BULK_ADDRESSES)
        await checkBulk(ready.port, ready.keys[0] as string, asked.slice(at, at + BULK_ADDRESSES));
    };
    await check(0);
    const answer = await controlAnswer(ready.port, ready.keys[0] as string, addresses);
    const bare = options.bare ? await measureBare(folder, options) : null;
    const rows = [
      ...(await measureOracle(bench, answer)),
      ...(await measureBulk(bench, bare)),
      ...(await measurePaced(bench, answer)),
    ];
    await check(CHECKED);
    const subject = {
      'synthetic labels': meta.synthetic.labels,
      'real labels': meta.real.labels,
      'distinct addresses': new Set(addresses.map(({ chain, text }) => `${chain}/${text}`)).size,
      mix: options.mix,
      keys: options.keys,
      seed: options.seed,
      'bytes of an answer': Buffer.byteLength(answer.body),
      'load generator': 'wrk, one thread, on the same cores',
    };
    return report(options.mix === 'evm' ? 'http' : `http-${options.mix}`, startedAt, subject, rows);
  } finally {
    await server.stop();
    rmSync(state, { recursive: true, force: true });
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const at = process.argv.indexOf('--folder');
  const folder = at < 0 ? undefined : process.argv[at + 1];
  const bench = await benchHttp({
    count: argument('--count', 10_000_000),
    seed: argument('--seed', 1),
    addresses: argument('--addresses', 1_000_000),
    keys: argument('--keys', 1000),
    seconds: argument('--seconds', 10),
    rounds: argument('--rounds', 3),
    bare: !process.argv.includes('--no-bare'),
    mix: process.argv.includes('--tagpacks') ? 'tagpacks' : 'evm',
    ...(folder === undefined ? {} : { folder }),
  });
  publish(bench);
}

if (process.argv[1] === SELF) await main();
