/**
 * Full screening over HTTP, including exposure, on the synthetic graph with labels for some of its addresses; and a paced oracle client at
 * the same time. Needs wrk. Run: node dist/bench/screening-http.js [--addresses N] [--edges N] [--seconds S] [--folder F]
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  POWER_LAW_CHAIN,
  POWER_LAW_HUB,
  powerLawAddress,
  writePowerLawCsv,
} from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { seededUint32 } from '../src/base/random.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import { loadBridges } from '../src/chains/bridges.ts';
import { loadAssetFacts } from '../src/chains/known-assets.ts';
import { ingestFiles } from '../src/graph/ingest/ingest-files.ts';
import { openTransferStore } from '../src/graph/store.ts';
import { loadTaxonomy } from '../src/labels/categories.ts';
import { openFreshness } from '../src/labels/freshness.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { dayFromIso } from '../src/labels/index/days.ts';
import { createSegmentWriter } from '../src/labels/index/segment.ts';
import { openSnapshotSet } from '../src/labels/index/snapshot-set.ts';
import type { LabelTemplate } from '../src/labels/label.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import type { Category } from '../src/labels/taxonomy.ts';
import { loadCountryLists } from '../src/risk/geography.ts';
import { loadJurisdictions } from '../src/risk/jurisdictions.ts';
import { loadPolicy } from '../src/risk/policy.ts';
import { createAssessor } from '../src/screening/assess.ts';
import { createScreening } from '../src/screening/screen.ts';
import { argument, type BenchReport, publish, report, row } from './harness.ts';
import {
  type Address,
  Child,
  noFailures,
  oracleRequests,
  pacedClient,
  script,
  writeLines,
  wrk,
} from './http.ts';
import type { BenchServerReady, BenchServerSettings } from './http-server.ts';
import { cpuRow, cpuSeconds } from './thread-cpu.ts';

const SELF = fileURLToPath(import.meta.url);

export interface ScreeningBenchOptions {
  readonly addresses: number;
  readonly edges: number;
  readonly seed: number;
  /** Distinct addresses to screen. */
  readonly subjects: number;
  readonly seconds: number;
  readonly connections: number;
  /** Folder for graph and labels. They are created if absent. */
  readonly folder?: string;
}

/** The fewest counterparties of a screened address. */
const COUNTERPARTIES_MIN = 20;
const PACED_PER_SECOND = 500;
const KEYS = 16;
const WARM_SCREENINGS = 3_000;
/** Addresses of the warm-up, again and again: more answers than a thread keeps (64 MB, about 1,600), so each is screened again. */
const WARM_SUBJECTS = 4_000;
/** V8 compiles beside the load, with one thread on two cores. */
const WARM_SECONDS = 15;
/** Addresses that are screened again and again: their answers (39 KB each) are fewer than a thread keeps. */
const REPEATED = 500;

/** Labels per category, of a hundred: most known addresses on chains are services. */
const LABEL_MIX: readonly (readonly [Category, number])[] = [
  ['EXCHANGE', 50],
  ['DEX', 15],
  ['GAMBLING', 8],
  ['BRIDGE', 5],
  ['MIXER', 5],
  ['PHISHING', 7],
  ['SCAM', 6],
  ['DARKNET_MARKET', 4],
];
const CATEGORY_OF = LABEL_MIX.flatMap(([category, share]) => Array.from({ length: share }, () => category));
const COUNTRIES = ['US', 'CH', 'SG', 'MT', 'IR', 'RU', null, null];
/** The busiest addresses are mostly services. Of the others, one in fifty is labelled. */
const BUSIEST = 300;
const LABELLED_EVERY = 50;

const taxonomy = loadTaxonomy();

function labelOf(number: number): LabelTemplate {
  const category = CATEGORY_OF[number % CATEGORY_OF.length]!;
  const name = `${category} ${number % 400}`;
  return {
    entity: {
      id: name.toLowerCase().replace(' ', '-'),
      name,
      category,
      jurisdiction: COUNTRIES[number % COUNTRIES.length] ?? null,
      url: null,
    },
    scope: 'EVM',
    category,
    threatLevel: taxonomy.of(category).threatLevel,
    source: 'graphsense',
    sourceUrl: null,
    tags: [],
    confidence: 0.5 + (number % 5) / 10,
    sanctions: [],
    verified: true,
    synthetic: true,
  };
}

async function buildLabels(folder: string, { addresses }: ScreeningBenchOptions): Promise<number> {
  const root = join(folder, 'snapshots');
  if (existsSync(root)) return openSnapshotSet(root, { log: silentLogger }).current.meta.synthetic.labels;
  mkdirSync(root, { recursive: true });
  const path = join(folder, 'segment');
  const writer = createSegmentWriter(path);
  for (let number = 0; number < addresses; number++) {
    const isBusy = number < BUSIEST && number % 3 !== 2;
    if (!isBusy && number % LABELLED_EVERY !== 7) continue;
    const { key } = parseAddress(POWER_LAW_CHAIN, powerLawAddress(number));
    const label = labelOf(number < BUSIEST ? number % 60 : number);
    writer.add(key, 0, key.length, writer.template(label), dayFromIso(null), dayFromIso(null));
  }
  await writer.close();
  const importedAt = isoTime(systemClock.now());
  const source = { id: 'graphsense', dataset: 'bench', publishedAt: null, importedAt, url: null, lists: [] };
  const meta = await buildSnapshot(
    { segments: [{ path, source }], folder: root, compareLabels: primaryOrder(loadSourceTable()) },
    { clock: systemClock, log: silentLogger },
  );
  return meta.synthetic.labels;
}

async function buildGraph(folder: string, options: ScreeningBenchOptions): Promise<void> {
  const path = join(folder, 'transfers');
  if (existsSync(path)) return;
  const csv = join(folder, 'transfers.csv');
  writePowerLawCsv(csv, options);
  const store = openTransferStore({ path, readOnly: false });
  await ingestFiles({ format: 'ndjson', files: [csv], chain: POWER_LAW_CHAIN }, { store });
  await store.close();
  rmSync(csv);
}

interface Subjects {
  readonly addresses: readonly Address[];
  /** Milliseconds of one screening in this thread, without HTTP. */
  readonly screenMs: number;
  /** Seconds of CPU of one more screening with its JSON text, in this process, once its addresses are known. */
  readonly screenCpuSeconds: number;
  readonly bytes: number;
  readonly counterparties: number;
}

/** Draws addresses with enough counterparties, and keeps those with exposure to more than UNKNOWN. */
async function drawSubjects(folder: string, options: ScreeningBenchOptions): Promise<Subjects> {
  const labels = openSnapshotSet(join(folder, 'snapshots'), { log: silentLogger });
  const transfers = openTransferStore({ path: join(folder, 'transfers'), readOnly: true });
  const freshness = openFreshness({ labelsFolder: folder });
  const deps = {
    labels,
    freshness: () => freshness.listFreshness(systemClock.now(), 7),
    policy: loadPolicy(taxonomy.rows),
    clock: systemClock,
    transfers,
    outputs: { graph: () => null, outputsOf: () => [], addressNumber: () => null },
    clusters: { clusterOf: () => null },
    bridges: loadBridges(),
    assets: loadAssetFacts(),
    jurisdictions: loadJurisdictions(),
    countryLists: loadCountryLists(),
  };
  const screen = createScreening(deps, createAssessor(deps));
  const graph = transfers.graph(POWER_LAW_CHAIN);
  if (graph === null) throw new Error('The graph is empty.');
  const next = seededUint32(options.seed + 3);
  const found = new Map<string, number>();
  let bytes = 0;
  let counterparties = 0;
  let spentMs = 0;
  const isNamed = (shares: object): boolean => Object.keys(shares).some((category) => category !== 'UNKNOWN');
  // In random order, each once.
  const nodes = Uint32Array.from({ length: graph.nodeCount }, (_, index) => index + 1);
  for (let left = nodes.length; left > 0 && found.size < options.subjects; left--) {
    const at = next() % left;
    const node = nodes[at] as number;
    nodes[at] = nodes[left - 1] as number;
    const degree = graph.degree(node, 'in') + graph.degree(node, 'out');
    if (degree < COUNTERPARTIES_MIN) continue;
    const address = graph.addressOf(node).toLowerCase();
    const before = performance.now();
    const answer = screen({ chain: POWER_LAW_CHAIN, address });
    const took = performance.now() - before;
    if (!isNamed(answer.exposureSending) && !isNamed(answer.exposureReceiving)) continue;
    spentMs += took;
    bytes += JSON.stringify(answer).length;
    counterparties += degree;
    found.set(address, degree);
  }
  const again = [...found.keys()].slice(0, WARM_SCREENINGS);
  const before = process.cpuUsage();
  for (const address of again) Buffer.from(JSON.stringify(screen({ chain: POWER_LAW_CHAIN, address })));
  const { user, system } = process.cpuUsage(before);
  labels.close();
  await transfers.close();
  const addresses = [...found.keys()].map((text) => ({ chain: POWER_LAW_CHAIN, text }) as const);
  if (addresses.length === 0) throw new Error('No address has enough counterparties.');
  return {
    addresses,
    screenMs: spentMs / addresses.length,
    screenCpuSeconds: (user + system) / 1e6 / again.length,
    bytes: bytes / addresses.length,
    counterparties: counterparties / addresses.length,
  };
}

const bodyOf = ({ chain, text }: Address): string => JSON.stringify({ address: text, chain });

/** Throws if the loads asked for more addresses than there are: some were screened before, so they were faster than they are. */
export function requireFresh(asked: number, subjects: number): void {
  if (asked > subjects)
    throw new Error(
      `The loads asked for ${asked} addresses and there are ${subjects}: --subjects must be greater, and --addresses if the graph has no more.`,
    );
}

/** Returns requests for the last addresses, which no other load asks for. */
const screeningRequests = (addresses: readonly Address[], keys: readonly string[], count: number): string[] =>
  addresses.slice(-count).map(({ chain, text }, index) => {
    const body = bodyOf({ chain, text });
    return (
      'POST /api/v1/screening HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${keys[index % keys.length]}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    );
  });

export async function benchScreening(options: ScreeningBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'assay-bench-screening-'));
  const state = mkdtempSync(join(tmpdir(), 'assay-bench-screening-state-'));
  const server = new Child(script('http-server'));
  try {
    const labels = await buildLabels(folder, options);
    await buildGraph(folder, options);
    symlinkSync(join(folder, 'transfers'), join(state, 'transfers'));
    const subjects = await drawSubjects(folder, options);
    const settings: BenchServerSettings = {
      snapshots: join(folder, 'snapshots'),
      state,
      keys: KEYS,
      threads: 1,
      credits: 100_000_000,
    };
    const ready = await server.ask<BenchServerReady>(settings);
    const files = { items: join(state, 'bodies.txt'), keys: join(state, 'keys.txt') };
    await writeLines(files.items, subjects.addresses.map(bodyOf));
    await writeLines(files.keys, ready.keys);
    const { seconds, connections } = options;
    const load = { ...files, port: ready.port, kind: 'screening', connections } as const;
    // No measured load asks for an address of the warm-up, or for one of another load.
    const warming = { ...load, items: join(state, 'warming.txt') };
    await writeLines(warming.items, subjects.addresses.slice(0, WARM_SUBJECTS).map(bodyOf));
    noFailures('warming up', await wrk({ ...warming, seconds: WARM_SECONDS, start: 0 }));
    const paced = {
      port: ready.port,
      perSecond: PACED_PER_SECOND,
      seconds,
      requests: oracleRequests(subjects.addresses, ready.keys),
    };
    const alone = await pacedClient(paced);
    const before = cpuSeconds(server.pid);
    const full = await wrk({ ...load, seconds, start: WARM_SUBJECTS });
    const after = cpuSeconds(server.pid);
    noFailures('screening', full);
    const halfCount = Math.ceil((seconds * full.perSecond) / 2);
    const besideFrom = WARM_SUBJECTS + full.requests + connections;
    const halfRate = {
      port: ready.port,
      perSecond: full.perSecond / 2,
      seconds,
      requests: screeningRequests(subjects.addresses, ready.keys, halfCount),
    };
    const half = await pacedClient(halfRate);
    const loading = wrk({ ...load, seconds: seconds + 2, start: besideFrom });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const beside = await pacedClient(paced);
    const loaded = await loading;
    noFailures('screening beside the oracle', loaded);
    requireFresh(besideFrom + loaded.requests + connections + halfCount, subjects.addresses.length);
    const repeated = { ...load, items: join(state, 'repeated.txt') };
    await writeLines(repeated.items, subjects.addresses.slice(0, REPEATED).map(bodyOf));
    noFailures('screening each address once', await wrk({ ...repeated, seconds, start: 0 }));
    const again = await wrk({ ...repeated, seconds, start: 0 });
    noFailures('screening again', again);
    const rows = [
      row('full screening', full.perSecond, 'requests/s', { atLeast: 300 }),
      row('  p50', full.p50Ms, 'ms'),
      row('  p99', full.p99Ms, 'ms', { atMost: 60 }),
      row('full screening at half of that rate, p50', half.p50Ms, 'ms'),
      row('  p99', half.p99Ms, 'ms', { atMost: 15 }),
      cpuRow('  CPU of the main thread', (after.main - before.main) / full.requests),
      cpuRow(
        '  CPU of the worker thread, beside the kernel without HTTP',
        (after.busiest - before.busiest) / full.requests,
        subjects.screenCpuSeconds,
      ),
      row('full screening beside a paced oracle', loaded.perSecond, 'requests/s', { atLeast: 300 }),
      row('  p99', loaded.p99Ms, 'ms', { atMost: 60 }),
      row(
        'oracle at 500/s beside screening, p99',
        beside.p99Ms,
        'ms',
        { atMost: 5, of: 'ratio' },
        alone.p99Ms,
      ),
      row('  p50', beside.p50Ms, 'ms', null, alone.p50Ms),
      row(`screening of the same ${REPEATED} addresses again`, again.perSecond, 'requests/s', {
        atLeast: 1_200,
      }),
      row('  p50', again.p50Ms, 'ms'),
      row('  p99', again.p99Ms, 'ms', { atMost: 15 }),
      row('one screening in a thread of its own, cold', subjects.screenMs, 'ms'),
      row('  mean answer', subjects.bytes / 1024, 'KB'),
    ];
    return report(
      'screening-http',
      startedAt,
      {
        addresses: options.addresses,
        transfers: options.edges,
        'synthetic labels': labels,
        subjects: subjects.addresses.length,
        'mean counterparties': Math.round(subjects.counterparties),
        hub: powerLawAddress(POWER_LAW_HUB),
        connections,
        'worker threads': 1,
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
  const bench = await benchScreening({
    addresses: argument('--addresses', 200_000),
    edges: argument('--edges', 2_000_000),
    seed: argument('--seed', 1),
    subjects: argument('--subjects', 50_000),
    seconds: argument('--seconds', 10),
    connections: argument('--connections', 6),
    ...(folder === undefined ? {} : { folder }),
  });
  publish(bench);
}

if (process.argv[1] === SELF) await main();
