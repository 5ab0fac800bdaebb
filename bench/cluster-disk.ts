/**
 * Clusters on disk of a simulated chain of 1, 10 and 100 million addresses: time, processor time, memory and bytes by size, how they grow, and
 * what that gives for a billion. Each size runs in a process of its own. Another process reads the links that the build left behind, joins
 * them in memory, and compares the cluster of every address.
 * Run: node dist/bench/cluster-disk.js [--largest N] [--results FILE] [--no-save]. FILE has the results of the first sizes, one line of JSON each,
 * as `--links N --folder FOLDER` (for the largest), `--size N --folder FOLDER` and `--check FOLDER` print them: a run of hours can be done in parts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { processMemory } from '../src/base/process-memory.ts';
import { seededUint32 } from '../src/base/random.ts';
import { buildClusters, type ClusterStage, publishLinks } from '../src/graph/cluster/build.ts';
import { LinkLog, type LinkLogEnds } from '../src/graph/cluster/components.ts';
import { CLUSTER_LIMITS } from '../src/graph/cluster/limits.ts';
import type { Scanned } from '../src/graph/cluster/scan.ts';
import { openClusters } from '../src/graph/cluster/store.ts';
import { createUnionFind } from '../src/graph/cluster/union-find.ts';
import { argument, type BenchRow, publish, report, row, runChild } from './harness.ts';
import {
  BLOCK_ADDRESSES,
  BLOCK_TRANSACTIONS,
  createChainOfOwners,
  KEPT_BLOCKS,
  keyOf,
  numberOf,
} from './kernels/chain-of-owners.ts';

const SEED = 11;
const BILLION = 1e9;
const GIGABYTE = 1e9;
/**
 * Up to this size, links are found in whole transactions, as a run of `assay cluster` does. Above, the chain gives the links, because making
 * its transactions takes longer than everything that is measured. Finding links takes the same time for each transaction at every size.
 */
const WHOLE_MAX = 10_000_000;
/** Blocks of an hour of Bitcoin, at most, for the build that continues. */
const NEW_BLOCKS = 6;
const SETTLED_BLOCKS = KEPT_BLOCKS - NEW_BLOCKS;
const LOOKUPS = 100_000;

interface SizeResult {
  readonly addresses: number;
  readonly transactions: number;
  readonly coinJoins: number;
  readonly clusters: number;
  readonly clustered: number;
  readonly largest: number;
  /** Seconds of each stage, and of the making of the chain's blocks, which the first one contains. */
  readonly seconds: Readonly<Record<ClusterStage | 'chain', number>>;
  readonly cpuSeconds: number;
  /** Seconds of the build after `NEW_BLOCKS` more blocks. Null if the links were given. */
  readonly continuedSeconds: number | null;
  /** The most resident memory of the process, with mapped files, and without. */
  readonly peakBytes: number;
  readonly peakOwnBytes: number;
  readonly buildBytes: number;
  readonly linkBytes: number;
  readonly temporaryBytes: number;
  readonly lookupMicroseconds: number;
}

const bytesBelow = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .reduce(
      (sum, file) => sum + (statSync(join(file.parentPath, file.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );

const seconds = (): number => systemClock.monotonic() / 1000;

const LINKS_FILE = 'links.json';

/** Child: writes the links of the chain's transactions without their texts, as a scan leaves them. */
function writeLinks(wanted: number, folder: string): void {
  const chain = createChainOfOwners(SEED);
  const blocks = Math.ceil(wanted / BLOCK_ADDRESSES);
  const links = new LinkLog(linksFolder(folder), 'links', CLUSTER_LIMITS.bucketBits);
  chain.links(blocks - 1, (a, b, attribute) => links.add(a, b, attribute));
  const given: GivenLinks = {
    transactions: blocks * BLOCK_TRANSACTIONS,
    addresses: chain.addresses,
    ends: links.sync(),
  };
  writeFileSync(join(folder, LINKS_FILE), JSON.stringify(given));
}

const linksFolder = (folder: string): string => join(folder, 'BTC', 'building', 'links');

interface GivenLinks {
  readonly transactions: number;
  readonly addresses: number;
  readonly ends: LinkLogEnds;
}

/** Returns the links of `writeLinks` as the result of a scan. */
function givenLinks(folder: string): Scanned {
  const { transactions, addresses, ends } = JSON.parse(
    readFileSync(join(folder, LINKS_FILE), 'utf8'),
  ) as GivenLinks;
  return {
    links: new LinkLog(linksFolder(folder), 'links', CLUSTER_LIMITS.bucketBits, ends),
    counts: { transactions, addresses, coinJoins: {}, changeMerged: 0 },
    highest: addresses,
    newestMs: null,
    continuedAfter: 0,
  };
}

/** Builds the clusters of one size, continues after more blocks, and reads clusters of random addresses. */
async function runSize(wanted: number, folder: string): Promise<SizeResult> {
  const chain = createChainOfOwners(SEED);
  const blocks = Math.ceil(wanted / BLOCK_ADDRESSES);
  const stages: Record<ClusterStage, number> = { read: 0, join: 0, sort: 0 };
  let stage: ClusterStage = 'read';
  let since = seconds();
  let peakOwnBytes = 0;
  let temporaryBytes = 0;
  let chainSeconds = 0;
  const onProgress = (now: ClusterStage): void => {
    peakOwnBytes = Math.max(peakOwnBytes, processMemory()?.ownBytes ?? 0);
    if (now !== 'read')
      temporaryBytes = Math.max(temporaryBytes, bytesBelow(join(folder, 'BTC', 'building', 'scratch')));
    const at = seconds();
    stages[stage] += at - since;
    since = at;
    stage = now;
  };
  const options = {
    chain: 'BTC',
    folder,
    completeHistory: true,
    settledBlocks: SETTLED_BLOCKS,
    onProgress,
  } as const;
  const source = chain.upTo(blocks - 1);
  const timed = {
    ...source,
    *blocks(from: number) {
      const made = source.blocks(from)[Symbol.iterator]();
      for (;;) {
        const start = seconds();
        const next = made.next();
        chainSeconds += seconds() - start;
        if (next.done) return;
        yield next.value;
      }
    },
  };
  const before = process.cpuUsage();
  const isWhole = wanted <= WHOLE_MAX;
  const build = isWhole
    ? await buildClusters(options, { source: timed, clock: systemClock })
    : await publishLinks(options, { source: { ...source, keyOf }, clock: systemClock }, givenLinks(folder));
  const { user, system } = process.cpuUsage(before);
  stages[stage] += seconds() - since;
  const addresses = build.addresses;

  const start = seconds();
  const again = isWhole
    ? await buildClusters(
        { ...options, onProgress: () => {} },
        { source: chain.upTo(blocks - 1 + NEW_BLOCKS), clock: systemClock },
      )
    : build;
  const continuedSeconds = isWhole ? seconds() - start : null;

  const reader = openClusters(
    { folder },
    { addresses: { addressNumber: (_, key) => numberOf(key), addressKey: (_, n) => keyOf(n) } },
  );
  const next = seededUint32(SEED);
  const lookedUp = seconds();
  for (let at = 0; at < LOOKUPS; at++) reader.clusterOf(keyOf(1 + (next() % addresses)));
  const lookupMicroseconds = ((seconds() - lookedUp) / LOOKUPS) * 1e6;
  await reader.close();
  return {
    addresses,
    transactions: build.transactions,
    coinJoins: Object.values(build.coinJoins).reduce((sum, count) => sum + count, 0),
    clusters: build.clusters,
    clustered: build.clustered,
    largest: build.largest,
    seconds: { ...stages, chain: chainSeconds },
    cpuSeconds: (user + system) / 1e6,
    continuedSeconds,
    // In kilobytes.
    peakBytes: process.resourceUsage().maxRSS * 1024,
    peakOwnBytes,
    buildBytes: statSync(join(folder, 'BTC', `${again.build}.lmdb`)).size,
    linkBytes: bytesBelow(join(folder, 'BTC', 'building', 'links')),
    temporaryBytes,
    lookupMicroseconds,
  };
}

interface Check {
  readonly addresses: number;
  readonly clusters: number;
  readonly differences: number;
}

/** Joins all links in memory, and compares the members of every cluster on disk with the sets. */
async function check(folder: string): Promise<Check> {
  const links = join(folder, 'BTC', 'building', 'links');
  const reader = openClusters(
    { folder },
    { addresses: { addressNumber: (_, key) => numberOf(key), addressKey: (_, n) => keyOf(n) } },
  );
  const addresses = reader.build('BTC')?.highest ?? 0;
  const sets = createUnionFind(addresses + 1);
  sets.reset(addresses + 1);
  for (const name of readdirSync(links).filter((file) => file.startsWith('links-'))) {
    const bytes = readFileSync(join(links, name));
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    for (let at = 0; at < words.length; at += 3) sets.union(words[at] as number, words[at + 1] as number);
  }
  const smallest = sets.flatten();
  const left = new Int32Array(addresses + 1);
  for (const top of smallest) left[top] = (left[top] as number) + 1;
  let clusters = 0;
  let differences = 0;
  for (const cluster of reader.clusters('BTC')) {
    clusters++;
    let top = -1;
    for (const key of cluster.memberKeys()) {
      const number = numberOf(key);
      if (top < 0) top = smallest[number] as number;
      if (smallest[number] !== top) differences++;
    }
    if (left[top] !== cluster.size) differences++;
    left[top] = 0;
  }
  // A set that no cluster has.
  for (const size of left) if (size > 1) differences++;
  await reader.close();
  return { addresses, clusters, differences };
}

/** The slope of a line through the logarithms. */
function exponentOf(points: readonly (readonly [x: number, y: number])[]): number {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)] as const);
  const mean = (at: 0 | 1): number => logs.reduce((sum, point) => sum + point[at], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const over = logs.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return over / logs.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

function rowsOf(results: readonly SizeResult[], checks: readonly Check[]): BenchRow[] {
  const rows: BenchRow[] = [];
  for (const [at, one] of results.entries()) {
    const name = `${(one.addresses / 1e6).toFixed(0)} M addresses`;
    if (one.continuedSeconds !== null)
      rows.push(
        row(`${name}: links of ${one.transactions} transactions, without making them`, linkSeconds(one), 's'),
        row(
          `${name}: build that continues after ${NEW_BLOCKS * BLOCK_TRANSACTIONS} more transactions`,
          one.continuedSeconds,
          's',
        ),
      );
    rows.push(
      row(`${name}: joined and sorted`, joinSeconds(one), 's'),
      row(
        `${name}: processor time of all${one.continuedSeconds === null ? ' but the links' : ', with making the chain'}`,
        one.cpuSeconds,
        's',
      ),
      row(`${name}: most memory`, one.peakBytes / GIGABYTE, 'GB', { atMost: 2 }),
      row(`${name}: most memory without mapped files`, one.peakOwnBytes / GIGABYTE, 'GB', { atMost: 2 }),
      row(`${name}: clusters on disk`, one.buildBytes / GIGABYTE, 'GB'),
      row(`${name}: links on disk`, one.linkBytes / GIGABYTE, 'GB'),
      row(`${name}: temporary files`, one.temporaryBytes / GIGABYTE, 'GB'),
      row(`${name}: cluster of an address`, one.lookupMicroseconds, 'µs'),
      row(
        `${name}: differences from union–find in memory`,
        checks[at]?.differences ?? Number.NaN,
        'addresses',
        { atMost: 0 },
      ),
    );
  }
  if (results.length < 2) return rows;
  const grown = (
    name: string,
    unit: string,
    of: (one: SizeResult) => number,
    from: readonly SizeResult[] = results,
  ): void => {
    const last = from.at(-1) as SizeResult;
    const exponent = exponentOf(from.map((one) => [one.addresses, of(one)]));
    const billion = of(last) * (BILLION / last.addresses) ** Math.max(1, exponent);
    rows.push(
      row(`growth of ${name}`, exponent, 'exponent'),
      row(`a billion addresses: ${name}`, billion, unit),
    );
  };
  const whole = results.filter(({ continuedSeconds }) => continuedSeconds !== null);
  if (whole.length > 1) grown('finding links', 's', linkSeconds, whole);
  grown('joining and sorting', 's', joinSeconds);
  grown('clusters on disk', 'GB', (one) => one.buildBytes / GIGABYTE);
  grown('links on disk', 'GB', (one) => one.linkBytes / GIGABYTE);
  grown('temporary files', 'GB', (one) => one.temporaryBytes / GIGABYTE);
  return rows;
}

const linkSeconds = ({ seconds: { read, chain } }: SizeResult): number => read - chain;
const joinSeconds = ({ seconds: { join: joined, sort } }: SizeResult): number => joined + sort;

async function main(): Promise<void> {
  const startedAt = isoTime(systemClock.now());
  const script = fileURLToPath(import.meta.url);
  const largest = argument('--largest', 100_000_000);
  const sizes = [1_000_000, 10_000_000, 100_000_000].filter((size) => size <= largest);
  const results: SizeResult[] = [];
  const checks: Check[] = [];
  if (process.argv.includes('--results'))
    for (const line of readFileSync(textArgument('--results'), 'utf8').trim().split('\n')) {
      const [result, checked] = JSON.parse(line) as [SizeResult, Check];
      results.push(result);
      checks.push(checked);
    }
  for (const size of sizes.slice(results.length)) {
    const folder = mkdtempSync(join(tmpdir(), 'assay-bench-clusters-'));
    try {
      if (size > WHOLE_MAX) await runChild<null>(script, ['--links', String(size), '--folder', folder]);
      results.push(await runChild<SizeResult>(script, ['--size', String(size), '--folder', folder]));
      checks.push(await runChild<Check>(script, ['--check', folder]));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const {
    addresses,
    transactions,
    coinJoins,
    clusters,
    clustered,
    largest: most,
  } = results.at(-1) as SizeResult;
  const subject = { addresses, transactions, coinJoins, clusters, clustered, largest: most, seed: SEED };
  publish(report('cluster-disk', startedAt, subject, rowsOf(results, checks)));
}

const textArgument = (name: string): string => process.argv[process.argv.indexOf(name) + 1] ?? '';
if (process.argv.includes('--links')) {
  writeLinks(argument('--links', 0), textArgument('--folder'));
  process.stdout.write('null');
} else if (process.argv.includes('--size'))
  process.stdout.write(JSON.stringify(await runSize(argument('--size', 0), textArgument('--folder'))));
else if (process.argv.includes('--check'))
  process.stdout.write(JSON.stringify(await check(textArgument('--check'))));
else await main();
