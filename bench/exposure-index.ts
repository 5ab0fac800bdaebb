/**
 * The exposure index of a graph of 2 million addresses and 20 million transfers: its build, its size, the cost of a look-up, and the cost
 * of an update by a block of 200 transfers. The control is one walk per address, on a sample. A folder given on the command line is kept,
 * with the data built in it.
 * Run: node --expose-gc dist/bench/exposure-index.js [--addresses N] [--edges N] [--folder PATH] [--no-save]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { POWER_LAW_CHAIN, powerLawAddress, writePowerLawCsv } from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { seededUint32 } from '../src/base/random.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import { loadBridges } from '../src/chains/bridges.ts';
import { loadAssetFacts } from '../src/chains/known-assets.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { buildExposureIndex } from '../src/exposure/build.ts';
import { createWalk, ENTRY_HOPS } from '../src/exposure/evaluate.ts';
import { createInputs } from '../src/exposure/facts.ts';
import { createExposureReader, exposureFolderOf, isStoredIn, openCurrent } from '../src/exposure/reader.ts';
import { createUpdater } from '../src/exposure/update.ts';
import { ingestFiles } from '../src/graph/ingest/ingest-files.ts';
import { openTransferStore } from '../src/graph/store.ts';
import { loadTaxonomy } from '../src/labels/categories.ts';
import { openFreshness } from '../src/labels/freshness.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { dayFromIso } from '../src/labels/index/days.ts';
import { createSegmentWriter } from '../src/labels/index/segment.ts';
import { openSnapshotSet } from '../src/labels/index/snapshot-set.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import type { Category } from '../src/labels/taxonomy.ts';
import { loadCountryLists } from '../src/risk/geography.ts';
import { loadJurisdictions } from '../src/risk/jurisdictions.ts';
import { loadPolicy } from '../src/risk/policy.ts';
import { createAssessor } from '../src/screening/assess.ts';
import { absorbs } from '../src/screening/attribution.ts';
import { EXPOSURE } from '../src/screening/exposure-port.ts';
import { weighingOf } from '../src/screening/weighing.ts';
import { storeIn } from './graph-subject.ts';
import { argument, publish, report, row, runChild } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const SEED = 1;
/** One address in this many has a label, and one label in this many is a risk. */
const LABEL_EVERY = 200;
const RISKY_EVERY = 5;
const RISKY: readonly Category[] = [
  'MIXER',
  'SCAM',
  'DARKNET_MARKET',
  'STOLEN_FUNDS',
  'GAMBLING',
  'RANSOMWARE',
];
const NEUTRAL: readonly Category[] = ['EXCHANGE', 'DEFI', 'BRIDGE'];
const CONFIDENCES = [0.5, 0.9];
const WALKS = 500;
const LOOK_UPS = 1_000_000;
const BLOCKS = 5;
const BLOCK_TRANSFERS = 200;
const KEY_BYTES = 24;

export interface Built {
  readonly addresses: number;
  readonly entries: number;
  readonly seconds: number;
  readonly processorSeconds: number;
  /** Peak of the process's own memory, without the pages of the store's map: those are file pages, which the system reclaims. */
  readonly ownMb: number;
  readonly rssMb: number;
  readonly bytes: number;
  readonly walks: number;
  readonly columns: number;
  readonly hubs: number;
}

interface Measured {
  readonly walkMs: number;
  readonly lookUpNs: number;
  readonly exposed: number;
  readonly blockMs: readonly number[];
  readonly waiting: readonly number[];
  readonly outcomes: readonly string[];
}

const statusOf = (name: string): number => {
  const text = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) / 1024;
};

function depsIn(folder: string, mode: 'read' | 'write') {
  const labels = openSnapshotSet(join(folder, 'labels'), { log: silentLogger });
  const freshness = openFreshness({ labelsFolder: folder });
  return {
    labels,
    freshness: () => freshness.listFreshness(systemClock.now(), 7),
    policy: loadPolicy(loadTaxonomy().rows),
    clock: systemClock,
    log: silentLogger,
    transfers: openTransferStore({ path: storeIn(folder), readOnly: mode === 'read' }),
    outputs: { graph: () => null, outputsOf: () => [], addressNumber: () => null },
    clusters: { clusterOf: () => null },
    bridges: loadBridges(),
    assets: loadAssetFacts(),
    jurisdictions: loadJurisdictions(),
    countryLists: loadCountryLists(),
  };
}

/** Creates the graph and its labels in a folder. Existing data is kept. */
export async function makeSubject(folder: string, addresses: number, edges: number): Promise<void> {
  if (!existsSync(storeIn(folder))) {
    const csv = join(folder, 'transfers.csv');
    writePowerLawCsv(csv, { addresses, edges, seed: SEED });
    const store = openTransferStore({ path: storeIn(folder), readOnly: false });
    await ingestFiles({ format: 'ndjson', files: [csv], chain: POWER_LAW_CHAIN }, { store });
    await store.close();
    rmSync(csv);
  }
  const root = join(folder, 'labels');
  if (existsSync(root)) return;
  mkdirSync(root, { recursive: true });
  const path = join(folder, 'segment');
  const writer = createSegmentWriter(path);
  const taxonomy = loadTaxonomy();
  const next = seededUint32(SEED);
  for (let number = 1; number < addresses; number += LABEL_EVERY) {
    const isRisky = next() % RISKY_EVERY === 0;
    const among = isRisky ? RISKY : NEUTRAL;
    const category = among[next() % among.length] as Category;
    const id = `${category.toLowerCase()}-${next() % 20}`;
    const { key } = parseAddress(POWER_LAW_CHAIN, powerLawAddress(number));
    const template = writer.template({
      entity: { id, name: id, category, jurisdiction: null, url: null },
      scope: 'EVM',
      category,
      threatLevel: taxonomy.of(category).threatLevel,
      source: 'graphsense',
      sourceUrl: null,
      tags: [],
      confidence: CONFIDENCES[next() % CONFIDENCES.length] as number,
      sanctions: [],
      verified: true,
      synthetic: true,
    });
    writer.add(key, 0, key.length, template, dayFromIso(null), dayFromIso(null));
  }
  await writer.close();
  const importedAt = isoTime(systemClock.now());
  const source = { id: 'graphsense', dataset: 'bench', publishedAt: null, importedAt, url: null, lists: [] };
  await buildSnapshot(
    { segments: [{ path, source }], folder: root, compareLabels: primaryOrder(loadSourceTable()) },
    { clock: systemClock, log: silentLogger },
  );
}

const inputsOf = (deps: ReturnType<typeof depsIn>) =>
  createInputs({
    dataVersion: () => deps.labels.current.meta.dataVersion,
    policyVersion: () => deps.policy.version,
    tokensFile: null,
  });

/** Child: builds the index. */
async function build(folder: string): Promise<Built> {
  const deps = depsIn(folder, 'read');
  let ownMb = 0;
  const began = systemClock.monotonic();
  const { addresses, entries, tableBytes, entryBytes, walks, columns, hubs } = await buildExposureIndex(
    {
      chain: POWER_LAW_CHAIN,
      folder: join(folder, 'exposure'),
      inputs: inputsOf(deps)(POWER_LAW_CHAIN),
      onProgress() {
        ownMb = Math.max(ownMb, statusOf('RssAnon'));
      },
    },
    deps,
  );
  const { user, system } = process.resourceUsage
    ? { user: process.resourceUsage().userCPUTime, system: process.resourceUsage().systemCPUTime }
    : { user: 0, system: 0 };
  return {
    addresses,
    entries,
    seconds: (systemClock.monotonic() - began) / 1_000,
    processorSeconds: (user + system) / 1e6,
    ownMb: Math.max(ownMb, statusOf('RssAnon')),
    rssMb: statusOf('VmHWM'),
    bytes: tableBytes + entryBytes,
    walks,
    columns,
    hubs,
  };
}

/** Child: walks, look-ups and blocks. */
async function measure(folder: string): Promise<Measured> {
  const deps = depsIn(folder, 'write');
  const graph = deps.transfers.graph(POWER_LAW_CHAIN);
  const opened = openCurrent(exposureFolderOf(join(folder, 'exposure'), POWER_LAW_CHAIN), silentLogger, {
    check: true,
  })?.opened;
  if (graph === null || opened === undefined) throw new Error('There is no graph, or no index of it.');
  const assessor = createAssessor(deps);
  const walk = createWalk(POWER_LAW_CHAIN, assessor, deps, ENTRY_HOPS);
  const next = seededUint32(SEED + 1);
  const draw = (): number => 1 + (next() % graph.nodeCount);
  for (let warm = 0; warm < WALKS / 5; warm++) walk(graph, draw());
  let before = systemClock.monotonic();
  for (let count = 0; count < WALKS; count++) walk(graph, draw());
  const walkMs = (systemClock.monotonic() - before) / WALKS;

  const reader = createExposureReader(join(folder, 'exposure'), {
    clock: systemClock,
    log: silentLogger,
    position: (chain) => deps.transfers.logPosition(chain),
    coverage: (chain) => deps.transfers.coverage(chain),
    isStored: isStoredIn(deps.transfers),
    inputs: inputsOf(deps),
  });
  const keys = Array.from({ length: 100_000 }, () => Uint8Array.from(graph.keyOf(draw())));
  let exposed = 0;
  const lookUp = (count: number): void => {
    exposed = 0;
    for (let at = 0; at < count; at++) {
      const key = keys[at % keys.length] as Uint8Array;
      if (reader.find(POWER_LAW_CHAIN, key, key.length) === EXPOSURE.EXPOSED) exposed++;
    }
  };
  lookUp(LOOK_UPS / 10);
  before = systemClock.monotonic();
  lookUp(LOOK_UPS);
  const lookUpNs = ((systemClock.monotonic() - before) * 1e6) / LOOK_UPS;

  const updater = createUpdater(POWER_LAW_CHAIN, opened, {
    clock: systemClock,
    transfers: deps.transfers,
    weighing: weighingOf(POWER_LAW_CHAIN, deps),
    evaluate: walk,
    passes: (of, node) => !absorbs(assessor.attributions(of, deps.labels.current, null).of(node), 'LEFT_OUT'),
  });
  // Done once per index, as in production.
  const attributions = assessor.attributions(graph, deps.labels.current, null);
  for (let node = 1; node <= graph.nodeCount; node++) attributions.of(node);
  const blockMs: number[] = [];
  const waiting: number[] = [];
  const outcomes: string[] = [];
  const salt = systemClock.now();
  for (let block = 0; block < BLOCKS; block++) {
    const transfers = Array.from({ length: BLOCK_TRANSFERS }, (_, at): Transfer => {
      const cents = Math.floor(2 ** ((next() / 2 ** 32) * 24));
      return {
        chain: POWER_LAW_CHAIN,
        txHash: `0x${(salt * 1_000 + block * BLOCK_TRANSFERS + at).toString(16).padStart(64, '0')}`,
        position: 'value',
        blockNumber: 16_000_000 + block,
        timestampMs: salt,
        from: graph.addressOf(draw()),
        to: graph.addressOf(draw()),
        asset: 'ETH',
        amount: BigInt(cents) * 5_000_000_000_000n,
        decimals: 18,
        valueUsd: cents / 100,
      };
    });
    await deps.transfers.ingest(transfers);
    const started = systemClock.monotonic();
    outcomes.push(updater.follow());
    blockMs.push(systemClock.monotonic() - started);
    waiting.push(updater.waiting);
  }
  return { walkMs, lookUpNs, exposed: exposed / LOOK_UPS, blockMs, waiting, outcomes };
}

/** Builds the index of a folder in a process of its own. */
export const buildIn = (folder: string): Promise<Built> =>
  runChild<Built>(SELF, ['--child', 'build', folder]);

async function main(): Promise<void> {
  const child = process.argv.indexOf('--child');
  if (child >= 0) {
    const [work, folder] = process.argv.slice(child + 1) as [string, string];
    process.stdout.write(JSON.stringify(work === 'build' ? await build(folder) : await measure(folder)));
    return;
  }
  const at = process.argv.indexOf('--folder');
  const kept = at < 0 ? undefined : process.argv[at + 1];
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'assay-bench-exposure-'));
  const startedAt = isoTime(systemClock.now());
  const addresses = argument('--addresses', 2_000_000);
  const edges = argument('--edges', 20_000_000);
  try {
    mkdirSync(folder, { recursive: true });
    await makeSubject(folder, addresses, edges);
    const built = await buildIn(folder);
    const measured = await runChild<Measured>(SELF, ['--child', 'measure', folder]);
    if (process.argv.includes('--print')) process.stdout.write(`${JSON.stringify(measured)}\n`);
    const all = (built.addresses * measured.walkMs) / 1_000;
    const bytes = built.bytes / built.addresses - KEY_BYTES;
    const slowest = Math.max(...measured.blockMs);
    const rows = [
      row('build of the whole index', built.seconds, 's', { atMost: 120 }, all),
      row('  processor time', built.processorSeconds, 's'),
      row('  peak memory of its own', built.ownMb, 'MB', { atMost: 2_048 }),
      row('  resident at most, pages of the store among them', built.rssMb, 'MB'),
      row('bytes an address, keys excluded', bytes, 'bytes', { atMost: 64 }),
      row('a walk, as control', measured.walkMs, 'ms'),
      row('a look-up', measured.lookUpNs, 'ns'),
      row('a block of 200 transfers: its addresses are up to date after', slowest, 'ms', { atMost: 1_000 }),
      row('  addresses within reach that wait after 5 blocks', measured.waiting.at(-1) ?? 0, ''),
      row('  rounds that reached too many', measured.outcomes.filter((one) => one === 'BEHIND').length, ''),
    ];
    const bench = report(
      'exposure-index',
      startedAt,
      {
        addresses: built.addresses,
        transfers: edges,
        labels: Math.ceil(addresses / LABEL_EVERY),
        columns: built.columns,
        hubs: built.hubs,
        entries: built.entries,
        'entries by a walk': built.walks,
        'look-ups with exposure': measured.exposed,
        seed: SEED,
      },
      rows,
    );
    publish(bench);
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === SELF) await main();
