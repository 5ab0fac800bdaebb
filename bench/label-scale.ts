/**
 * The label index at 10 and at 100 million synthetic labels: build from segments, size, opening, and look-ups of labelled addresses, each in a
 * process of its own. Look-ups of both sizes take turns, so that they meet the same machine.
 * Run: node dist/bench/label-scale.js [--largest N] [--no-save]
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { seededUint32 } from '../src/base/random.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { currentSnapshot } from '../src/labels/index/folder.ts';
import { createSegmentWriter } from '../src/labels/index/segment.ts';
import { openSnapshot } from '../src/labels/index/snapshot.ts';
import { loadSynthProfile, synthesise } from '../src/labels/index/synth.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import { argument, type BenchRow, median, publish, report, row, runChild, watchOwnBytes } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const SEED = 1;
const SMALL = 10_000_000;
/** Labelled addresses that are looked up, in random order. */
const SAMPLE = 1 << 20;
/** Bytes of a key with its length in front. */
const KEY_SLOT = 48;
const ROUNDS = 5;

interface BuildResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  readonly ownBytes: number;
  readonly bytes: number;
  readonly addresses: number;
  readonly path: string;
}

interface ReadResult {
  readonly openMs: number;
  /** Look-ups per second, and per second of processor time. */
  readonly hits: number;
  readonly cpuHits: number;
}

const cpuSeconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1e6;

/** Child: writes a segment of labels, and a sample of their keys in random order. */
async function writeSegment(folder: string, count: number): Promise<void> {
  const segment = createSegmentWriter(join(folder, 'segment'));
  const every = Math.max(1, Math.floor(count / SAMPLE));
  const keys = Buffer.alloc(SAMPLE * KEY_SLOT);
  let label = 0;
  let kept = 0;
  await synthesise(
    { count, seed: SEED },
    loadSynthProfile(),
    (key, length, _chain, template, first, last) => {
      segment.add(key, 0, length, segment.template(template), first, last);
      if (label++ % every !== 0 || kept === SAMPLE || length >= KEY_SLOT) return;
      keys[kept * KEY_SLOT] = length;
      keys.set(key.subarray(0, length), kept++ * KEY_SLOT + 1);
    },
  );
  await segment.close();
  const next = seededUint32(SEED);
  const slot = Buffer.alloc(KEY_SLOT);
  for (let at = kept - 1; at > 0; at--) {
    const other = next() % (at + 1);
    keys.copy(slot, 0, at * KEY_SLOT, (at + 1) * KEY_SLOT);
    keys.copyWithin(at * KEY_SLOT, other * KEY_SLOT, (other + 1) * KEY_SLOT);
    slot.copy(keys, other * KEY_SLOT);
  }
  writeFileSync(join(folder, 'keys'), keys.subarray(0, kept * KEY_SLOT));
}

/** Child: builds the index of a segment. */
async function build(folder: string): Promise<BuildResult> {
  const root = join(folder, 'snapshots');
  const start = systemClock.monotonic();
  const before = process.cpuUsage();
  const mostBytes = watchOwnBytes();
  const source = { id: 'synthetic', dataset: 'bench', publishedAt: null, url: null, lists: [] };
  const meta = await buildSnapshot(
    {
      segments: [
        { path: join(folder, 'segment'), source: { ...source, importedAt: isoTime(systemClock.now()) } },
      ],
      folder: root,
      compareLabels: primaryOrder(loadSourceTable()),
    },
    { clock: systemClock, log: silentLogger },
  );
  const ownBytes = mostBytes();
  const path = currentSnapshot(root);
  if (path === null) throw new Error('The build published nothing.');
  return {
    seconds: (systemClock.monotonic() - start) / 1000,
    cpuSeconds: cpuSeconds(process.cpuUsage(before)),
    rssBytes: process.resourceUsage().maxRSS * 1024,
    ownBytes,
    bytes: readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0),
    addresses: meta.synthetic.addresses,
    path,
  };
}

/** Child: opens the index, and looks up the sample. */
function read(path: string, folder: string): ReadResult {
  const start = systemClock.monotonic();
  const reader = openSnapshot(path);
  reader.lookup(new Uint8Array(22).fill(1), 'ETH');
  const openMs = systemClock.monotonic() - start;
  const keys = new Uint8Array(readFileSync(join(folder, 'keys')));
  const loop = (): Pick<ReadResult, 'hits' | 'cpuHits'> => {
    const begin = systemClock.monotonic();
    const cpu = process.cpuUsage();
    let found = 0;
    for (let at = 0; at < keys.length; at += KEY_SLOT)
      if (reader.find(keys, at + 1, keys[at] as number) >= 0) found++;
    const count = keys.length / KEY_SLOT;
    if (found !== count) throw new Error(`${count - found} labelled addresses were not found.`);
    const seconds = (systemClock.monotonic() - begin) / 1000;
    return { hits: count / seconds, cpuHits: count / cpuSeconds(process.cpuUsage(cpu)) };
  };
  const rounds = Array.from({ length: ROUNDS }, loop);
  return {
    openMs,
    hits: Math.max(...rounds.map(({ hits }) => hits)),
    cpuHits: Math.max(...rounds.map(({ cpuHits }) => cpuHits)),
  };
}

async function main(): Promise<void> {
  const startedAt = isoTime(systemClock.now());
  const largest = argument('--largest', 100_000_000);
  const root = mkdtempSync(join(tmpdir(), 'assay-bench-label-scale-'));
  try {
    const folders: string[] = [];
    const builds: BuildResult[] = [];
    for (const count of [Math.min(SMALL, largest / 10), largest]) {
      const folder = join(root, String(count));
      mkdirSync(folder);
      await runChild<null>(SELF, ['segment', folder, String(count)]);
      builds.push(await runChild<BuildResult>(SELF, ['build', folder]));
      folders.push(folder);
      process.stderr.write(`${JSON.stringify(builds.at(-1))}\n`);
    }
    const reads: ReadResult[][] = [[], []];
    for (let round = 0; round < 3; round++)
      for (const [at, { path }] of builds.entries())
        reads[at]?.push(await runChild<ReadResult>(SELF, ['read', path, folders[at] as string]));
    publish(
      report(
        'label-scale',
        startedAt,
        { labels: largest, seed: SEED, data: 'synthetic' },
        rowsOf(builds, reads),
      ),
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function rowsOf(builds: readonly BuildResult[], reads: readonly (readonly ReadResult[])[]): BenchRow[] {
  const rows: BenchRow[] = [];
  const of = (at: number, field: keyof ReadResult): number =>
    median((reads[at] ?? []).map((one) => one[field]));
  for (const [at, one] of builds.entries()) {
    const isLast = at === builds.length - 1;
    const name = `${Math.round(one.addresses / 1e5) / 10} M addresses`;
    rows.push(
      row(`${name}: build`, one.seconds, 's', isLast ? { atMost: 360 } : null),
      row(`${name}: processor time of the build`, one.cpuSeconds, 's'),
      row(`${name}: most memory while building`, one.rssBytes / 1e9, 'GB', isLast ? { atMost: 3 } : null),
      row(`${name}: most memory without mapped files`, one.ownBytes / 1e9, 'GB'),
      row(`${name}: on disk`, one.bytes / 1e9, 'GB', isLast ? { atMost: 6 } : null),
      row(`${name}: open to the first answer`, of(at, 'openMs'), 'ms', isLast ? { atMost: 100 } : null),
      row(
        `${name}: hits by key`,
        of(at, 'hits'),
        '1/s',
        isLast ? { atLeast: 0.7, of: 'ratio' } : null,
        isLast ? of(0, 'hits') : null,
      ),
      row(
        `${name}: hits by key, per second of processor time`,
        of(at, 'cpuHits'),
        '1/s',
        null,
        isLast ? of(0, 'cpuHits') : null,
      ),
    );
  }
  return rows;
}

const [task, folder = '', more = ''] = process.argv.slice(2);
if (task === 'segment') {
  await writeSegment(folder, Number(more));
  process.stdout.write('null');
} else if (task === 'build') process.stdout.write(JSON.stringify(await build(folder)));
else if (task === 'read') process.stdout.write(JSON.stringify(read(folder, more)));
else await main();
