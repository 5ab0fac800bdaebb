/**
 * The label index on ten million synthetic labels: import and build from CSV, size, opening, heap, hits and misses compared with a B-tree
 * of the same keys, and address text to decoded labels, each in batches, as bulk requests, bulk files and jobs look them up, and one at a
 * time, as single requests do. Run: node dist/bench/labels.js [--count N] [--keep]
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { seededUint32 } from '../src/base/random.ts';
import { KeyBatch, type TextPlace } from '../src/chains/address/key-batch.ts';
import { formatAddressKey, maxKeyBytes, writeAddressKey } from '../src/chains/address/parse.ts';
import { type ChainId, isEvm } from '../src/chains/registry.ts';
import { importPlainCsv } from '../src/labels/fast-import.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { currentSnapshot } from '../src/labels/index/folder.ts';
import { ENVIRONMENT_FILE, RECORD_WORDS } from '../src/labels/index/format.ts';
import type { LabelHandle, LabelReader, SnapshotMeta } from '../src/labels/index/reader.ts';
import { createSegmentWriter } from '../src/labels/index/segment.ts';
import { SLOT_BYTES, SLOT_WORDS, writeSlot } from '../src/labels/index/slot.ts';
import { openSnapshot } from '../src/labels/index/snapshot.ts';
import { openViews, wordsOf } from '../src/labels/index/snapshot-views.ts';
import { loadSynthProfile, synthCsv, synthesise } from '../src/labels/index/synth.ts';
import type { LabelScope, LabelTemplate } from '../src/labels/label.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import type { Category, ThreatLevel } from '../src/labels/taxonomy.ts';
import { BATCH_ITEMS } from '../src/screening/bulk-items.ts';
import { openEnvironment } from '../src/state/lmdb.ts';
import { argument, type BenchReport, publish, report, row, runChild, watchOwnBytes } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);

export interface LabelBenchOptions {
  /** Number of synthetic labels. */
  readonly count: number;
  readonly seed: number;
  /** Keeps the files of the run and prints their location. */
  readonly keep: boolean;
}

interface BuildResult {
  readonly importSeconds: number;
  readonly buildSeconds: number;
  /** The most memory at any time, without the pages of mapped files. */
  readonly ownMb: number;
  readonly slowRows: number;
  readonly meta: SnapshotMeta;
}

interface OpenResult {
  readonly openMs: number;
  readonly sinceStartMs: number;
}

interface ReadResult {
  readonly hits: number;
  readonly batchHits: number;
  readonly bareHits: number;
  readonly misses: number;
  readonly batchMisses: number;
  readonly textToLabels: number;
  readonly singleTextToLabels: number;
  /** The same for EVM addresses in lower case: the mix of the TagPacks is nearly all BTC, for which texts cost ten times as much. */
  readonly evmTextToLabels: number;
  readonly textToJson: number;
}

export async function benchLabels(options: LabelBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-labels-'));
  try {
    const csv = join(folder, 'labels.csv');
    await synthCsv(csv, options);
    const build = await runChild<BuildResult>(SELF, ['build', csv, folder]);
    rmSync(csv);
    const root = join(folder, 'snapshots');
    const path = currentSnapshot(root);
    if (path === null) throw new Error('The build published nothing.');
    const bytes = statSync(join(path, ENVIRONMENT_FILE)).size;
    const open = await runChild<OpenResult>(SELF, ['open', path]);
    const read = await runChild<ReadResult>(SELF, [
      'read',
      path,
      folder,
      String(options.count),
      String(options.seed),
    ]);
    const heapMb = await runChild<number>(SELF, ['heap', path, String(options.seed)], ['--expose-gc']);
    const { real, synthetic } = build.meta;
    return report(
      'labels',
      startedAt,
      {
        'synthetic labels': synthetic.labels,
        'synthetic addresses': synthetic.addresses,
        'synthetic entities': synthetic.entities,
        'real labels': real.labels,
        seed: options.seed,
        'rows off the fast path': build.slowRows,
      },
      [
        row('CSV import and build', build.importSeconds + build.buildSeconds, 's', {
          atMost: (14 * options.count) / 10e6,
        }),
        row('  of that the import', build.importSeconds, 's'),
        row('own memory of import and build', build.ownMb, 'MB', { atMost: 1_000 }),
        row('snapshot on disk', bytes / 1e6, 'MB', { atMost: 800 }),
        row('open to first answer, new process', open.openMs, 'ms', { atMost: 300 }),
        row('  from the start of the process', open.sinceStartMs, 'ms'),
        row('heap a thread', heapMb, 'MB', { atMost: 60 }),
        row('hits by key', read.hits, '1/s', { atLeast: 3, of: 'ratio' }, read.bareHits),
        row('  in batches', read.batchHits, '1/s', { atLeast: 5, of: 'ratio' }, read.bareHits),
        row('misses by key', read.misses, '1/s', { atLeast: 8e6 }),
        row('  in batches', read.batchMisses, '1/s', { atLeast: 10e6 }),
        row('address text to decoded labels', read.textToLabels, '1/s', { atLeast: 700e3 }),
        row('  one at a time', read.singleTextToLabels, '1/s'),
        row('  of EVM addresses in lower case', read.evmTextToLabels, '1/s'),
        row('address text to JSON', read.textToJson, '1/s'),
      ],
    );
  } finally {
    if (options.keep) process.stderr.write(`Kept: ${folder}\n`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

/** Child: CSV to published snapshot. */
async function measureBuild(csv: string, folder: string): Promise<BuildResult> {
  const root = join(folder, 'snapshots');
  mkdirSync(root, { recursive: true });
  const mostBytes = watchOwnBytes();
  const start = systemClock.monotonic();
  const segment = createSegmentWriter(join(folder, 'segment'));
  const stats = await importPlainCsv(
    {
      path: csv,
      columns: { count: 13, address: 0, firstSeen: 10, lastSeen: 11 },
      resolve: (fields) => ({ chain: fields[1] as ChainId, template: templateOf(fields) }),
      slowRow: (text, line) => {
        throw new Error(`Line ${line} is not plain: ${text}`);
      },
    },
    { segment },
  );
  await segment.close();
  const imported = systemClock.monotonic();
  const meta = await buildSnapshot(
    {
      segments: [
        {
          path: join(folder, 'segment'),
          source: {
            id: 'synthetic',
            dataset: 'bench',
            publishedAt: null,
            importedAt: isoTime(systemClock.now()),
            url: null,
            lists: [],
          },
        },
      ],
      folder: root,
      compareLabels: primaryOrder(loadSourceTable()),
    },
    { clock: systemClock, log: silentLogger },
  );
  return {
    importSeconds: (imported - start) / 1000,
    buildSeconds: (systemClock.monotonic() - imported) / 1000,
    ownMb: mostBytes() / 1e6,
    slowRows: stats.slowRows,
    meta,
  };
}

/** The columns of SYNTH_CSV_HEADER as a template, like in the importer of custom files. */
function templateOf(fields: readonly string[]): LabelTemplate {
  const [, chain, id, name, category, threatLevel, confidence, tags, jurisdiction, url, , , sourceUrl] =
    fields as string[];
  return {
    entity: {
      id: id as string,
      name: name as string,
      category: category as Category,
      jurisdiction: jurisdiction || null,
      url: url || null,
    },
    scope: (chain === 'ETH' ? 'EVM' : chain) as LabelScope,
    category: category as Category,
    threatLevel: threatLevel as ThreatLevel,
    source: 'synthetic',
    sourceUrl: sourceUrl || null,
    tags: (tags as string).split(';').filter((tag) => tag !== ''),
    confidence: Number(confidence),
    sanctions: [],
    verified: true,
    synthetic: true,
  };
}

/** Child: a new process opens the snapshot and answers once. */
function measureOpen(path: string): OpenResult {
  const start = systemClock.monotonic();
  const reader = openSnapshot(path);
  const key = new Uint8Array(22).fill(1);
  reader.lookup(key, 'ETH');
  const end = systemClock.monotonic();
  // performance.now() counts from the start of the process.
  return { openMs: end - start, sinceStartMs: end };
}

const SAMPLE = 1 << 20;

interface Keys {
  readonly keys: Uint8Array;
  /** Start of each key, and the end of the last. */
  readonly keyOffsets: Int32Array;
}

interface Sample extends Keys {
  readonly texts: Uint8Array;
  readonly places: (TextPlace & { readonly chain: ChainId })[];
}

/** At most a million labelled addresses in random order, and their texts: of all chains, or only of the EVM chains, in lower case. */
async function sampleLabelled(count: number, seed: number, evmOnly = false): Promise<Sample> {
  const every = evmOnly ? 1 : Math.max(1, Math.floor(count / SAMPLE));
  const found: { key: Uint8Array; chain: ChainId }[] = [];
  let label = 0;
  await synthesise({ count, seed }, loadSynthProfile(), (key, length, chain) => {
    if (evmOnly && !isEvm(chain)) return;
    if (label++ % every === 0 && found.length < SAMPLE) found.push({ key: key.slice(0, length), chain });
  });
  const next = seededUint32(seed + 1);
  for (let index = found.length - 1; index > 0; index--) {
    const other = next() % (index + 1);
    [found[index], found[other]] = [found[other]!, found[index]!];
  }
  const texts = found.map(({ key, chain }) => {
    const text = formatAddressKey(key, chain);
    return Buffer.from(evmOnly ? text.toLowerCase() : text);
  });
  const keyOffsets = new Int32Array(found.length + 1);
  for (let index = 0; index < found.length; index++) {
    keyOffsets[index + 1] = keyOffsets[index]! + found[index]!.key.length;
  }
  let end = 0;
  return {
    keys: Buffer.concat(found.map(({ key }) => key)),
    keyOffsets,
    texts: Buffer.concat(texts),
    places: found.map(({ chain }, index) => {
      end += texts[index]!.length;
      return { chain, start: end - texts[index]!.length, end };
    }),
  };
}

/** Child: reads. The B-tree is built from the same keys, as slots, and is queried for the same sample in the same order. */
async function measureRead(path: string, folder: string, count: number, seed: number): Promise<ReadResult> {
  const btree = join(folder, 'btree', 'keys.mdb');
  await buildBtree(path, btree);
  const sample = await sampleLabelled(count, seed);
  const evm = await sampleLabelled(count, seed, true);
  const missing = missingKeys(seed + 2);
  const reader = openSnapshot(path);
  const bareHits = await bareLoop(btree, sample);
  return {
    bareHits,
    hits: best(() => hitLoop(reader, sample)),
    batchHits: best(() => batchLoop(reader, sample, sample.keyOffsets.length - 1)),
    misses: best(() => missLoop(reader, missing.keys)),
    batchMisses: best(() => batchLoop(reader, missing, 0)),
    textToLabels: best(() => textLoop(reader, sample)),
    singleTextToLabels: best(() => singleTextLoop(reader, sample)),
    evmTextToLabels: best(() => textLoop(reader, evm)),
    textToJson: best(() => jsonLoop(reader, sample)),
  };
}

/**
 * Child: the memory that a thread holds after two million responses for random addresses, minus the memory before it opened the snapshot.
 * The process does nothing else, so no other garbage can hide it.
 */
function measureHeap(path: string, seed: number): number {
  const out = new Uint8Array(1 << 16);
  const next = seededUint32(seed);
  globalThis.gc?.();
  const before = process.memoryUsage();
  const reader = openSnapshot(path);
  const addresses = reader.meta.real.addresses + reader.meta.synthetic.addresses;
  for (let answer = 0; answer < 2 * SAMPLE; answer++) {
    const handle = next() % addresses;
    reader.labels(handle, 'BTC');
    reader.writeLabelsJson(handle, 'BTC', out, 0);
  }
  globalThis.gc?.();
  const after = process.memoryUsage();
  // Called once more, so that the reader is still referenced when the memory is measured.
  reader.labels(0, 'BTC');
  // `external` counts the whole map as if it were heap. The thread's real allocations outside the heap are in `arrayBuffers`.
  return (after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers) / 1e6;
}

const ROUNDS = 5;
const best = (round: () => number): number => Math.max(...Array.from({ length: ROUNDS }, round));

const perSecond = (work: number, startMs: number): number =>
  (work / (systemClock.monotonic() - startMs)) * 1000;

function hitLoop(reader: LabelReader, { keys, keyOffsets }: Sample): number {
  const start = systemClock.monotonic();
  const count = keyOffsets.length - 1;
  let found = 0;
  for (let index = 0; index < count; index++) {
    const from = keyOffsets[index]!;
    if (reader.find(keys, from, keyOffsets[index + 1]! - from) >= 0) found++;
  }
  if (found !== count) throw new Error(`${count - found} labelled addresses were not found.`);
  return perSecond(count, start);
}

/** Looks up all keys a batch at a time, and expects so many with a label. */
function batchLoop(reader: LabelReader, { keys, keyOffsets }: Keys, labelled: number): number {
  const count = keyOffsets.length - 1;
  const lengths = Int32Array.from(
    { length: count },
    (_, index) => keyOffsets[index + 1]! - keyOffsets[index]!,
  );
  const handles = new Float64Array(BATCH_ITEMS);
  const start = systemClock.monotonic();
  let found = 0;
  for (let from = 0; from < count; from += BATCH_ITEMS) {
    const size = Math.min(BATCH_ITEMS, count - from);
    const to = from + size;
    reader.findMany(keys, keyOffsets.subarray(from, to), lengths.subarray(from, to), size, handles);
    for (let index = 0; index < size; index++) if (handles[index]! >= 0) found++;
  }
  if (found !== labelled) throw new Error(`${found} addresses were found, and ${labelled} have labels.`);
  return perSecond(count, start);
}

function missingKeys(seed: number): Keys {
  const next = seededUint32(seed);
  const keys = new Uint8Array(SAMPLE * 22);
  for (let index = 0; index < keys.length; index++) keys[index] = next() >>> 13;
  for (let index = 0; index < SAMPLE; index++) {
    keys[index * 22] = 2;
    keys[index * 22 + 1] = 1 + (index & 1);
  }
  return { keys, keyOffsets: Int32Array.from({ length: SAMPLE + 1 }, (_, index) => index * 22) };
}

function missLoop(reader: LabelReader, keys: Uint8Array): number {
  const start = systemClock.monotonic();
  let found = 0;
  for (let index = 0; index < SAMPLE; index++) if (reader.find(keys, index * 22, 22) >= 0) found++;
  if (found > 0) throw new Error('An address that has no label was found.');
  return perSecond(SAMPLE, start);
}

/** Calls `each` with the handle of every text. Texts are decoded and looked up a batch at a time, as bulk look-ups do. */
function eachHandle(
  reader: LabelReader,
  { texts, places }: Sample,
  readAhead: 'readLabelsAhead' | 'readJsonAhead',
  each: (handle: LabelHandle, chain: ChainId) => void,
): void {
  const handles = new Float64Array(BATCH_ITEMS);
  const batch = new KeyBatch();
  for (let from = 0; from < places.length; from += BATCH_ITEMS) {
    const to = Math.min(places.length, from + BATCH_ITEMS);
    batch.read(texts, places, from, to, ({ chain }) => chain);
    reader.findMany(batch.keys, batch.starts, batch.lengths, to - from, handles);
    reader[readAhead](handles, to - from);
    for (let index = from; index < to; index++) each(handles[index - from]!, places[index]!.chain);
  }
}

function textLoop(reader: LabelReader, sample: Sample): number {
  const start = systemClock.monotonic();
  let labels = 0;
  eachHandle(reader, sample, 'readLabelsAhead', (handle, chain) => {
    labels += reader.labels(handle, chain).length;
  });
  if (labels < sample.places.length) throw new Error('Labelled addresses came back without labels.');
  return perSecond(sample.places.length, start);
}

function singleTextLoop(reader: LabelReader, { texts, places }: Sample): number {
  const key = new Uint8Array(maxKeyBytes);
  const begin = systemClock.monotonic();
  let labels = 0;
  for (const { chain, start, end } of places) {
    const length = writeAddressKey(chain, texts, start, end, key, 0);
    labels += reader.labels(reader.find(key, 0, length), chain).length;
  }
  if (labels < places.length) throw new Error('Labelled addresses came back without labels.');
  return perSecond(places.length, begin);
}

function jsonLoop(reader: LabelReader, sample: Sample): number {
  const out = new Uint8Array(1 << 16);
  const start = systemClock.monotonic();
  let bytes = 0;
  eachHandle(reader, sample, 'readJsonAhead', (handle, chain) => {
    bytes += reader.writeLabelsJson(handle, chain, out, 0);
  });
  if (bytes < sample.places.length * 100) throw new Error('Labelled addresses came back without labels.');
  return perSecond(sample.places.length, start);
}

/** `getBinaryFast` over prepared buffers, so that only the B-tree is measured. */
async function bareLoop(path: string, { keys, keyOffsets }: Sample): Promise<number> {
  const environment = openEnvironment(path, { encoding: 'binary', keyEncoding: 'binary', readOnly: true });
  const words = new Int32Array(SLOT_WORDS);
  const slots = Array.from({ length: keyOffsets.length - 1 }, (_, index) => {
    writeSlot(keys, keyOffsets[index]!, keyOffsets[index + 1]! - keyOffsets[index]!, words, 0);
    return Buffer.from(new Uint8Array(words.buffer).slice());
  });
  const loop = (): number => {
    const start = systemClock.monotonic();
    let found = 0;
    for (const slot of slots) if (environment.getBinaryFast(slot)) found++;
    if (found !== slots.length) throw new Error('The B-tree does not hold the keys of the snapshot.');
    return perSecond(slots.length, start);
  };
  const rate = Math.max(loop(), loop(), loop());
  await environment.close();
  return rate;
}

/** All slots of the snapshot as a B-tree of 24-byte keys and 8-byte values, loaded in order. */
async function buildBtree(path: string, file: string): Promise<void> {
  const { environment: source, views } = openViews(path);
  const { addresses } = views.meta.layout;
  const records = wordsOf(views.records, 0, addresses * RECORD_WORDS);
  const bytes = new Uint8Array(records.buffer, records.byteOffset, records.byteLength);
  const stride = RECORD_WORDS * 4;
  let order = Uint32Array.from({ length: addresses }, (_, index) => index);
  // Least significant first, over the first six bytes. Keys that share those are sorted below.
  for (let byte = 4; byte >= 0; byte -= 2) order = radixPass(bytes, stride, byte, order);
  const target = openEnvironment(file, { encoding: 'binary', keyEncoding: 'binary', noSync: true });
  const slotAt = (index: number): Buffer =>
    Buffer.from(bytes.buffer, bytes.byteOffset + order[index]! * stride, SLOT_BYTES);
  for (let index = 1; index < addresses; index++) {
    for (let at = index; at > 0 && Buffer.compare(slotAt(at - 1), slotAt(at)) > 0; at--) {
      const moved = order[at]!;
      order[at] = order[at - 1]!;
      order[at - 1] = moved;
    }
  }
  const value = Buffer.alloc(8, 7);
  for (let from = 0; from < addresses; from += 500_000) {
    target.transactionSync(() => {
      const to = Math.min(addresses, from + 500_000);
      // Keys are copied: lmdb-js must not get a view of another environment's map.
      for (let index = from; index < to; index++)
        target.putSync(Buffer.from(slotAt(index)), value, { append: true });
    });
  }
  await target.close();
  await source.close();
}

function radixPass(
  bytes: Uint8Array,
  stride: number,
  byte: number,
  order: Uint32Array,
): Uint32Array<ArrayBuffer> {
  const digit = (record: number): number =>
    (bytes[record * stride + byte]! << 8) | bytes[record * stride + byte + 1]!;
  const counts = new Uint32Array(65_537);
  for (const record of order) counts[digit(record) + 1]!++;
  for (let value = 1; value < counts.length; value++) counts[value]! += counts[value - 1]!;
  const sorted = new Uint32Array(order.length);
  for (const record of order) sorted[counts[digit(record)]!++] = record;
  return sorted;
}

async function main(): Promise<void> {
  const [task, first = '', second = '', third = '', fourth = ''] = process.argv.slice(2);
  const answer = (value: unknown): void => void process.stdout.write(JSON.stringify(value));
  if (task === 'build') return answer(await measureBuild(first, second));
  if (task === 'open') return answer(measureOpen(first));
  if (task === 'read') return answer(await measureRead(first, second, Number(third), Number(fourth)));
  if (task === 'heap') return answer(measureHeap(first, Number(second)));
  const bench = await benchLabels({
    count: argument('--count', 10_000_000),
    seed: argument('--seed', 1),
    keep: process.argv.includes('--keep'),
  });
  publish(bench);
}

if (process.argv[1] === SELF) await main();
