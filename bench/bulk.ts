/**
 * Bulk labels compared with a minimal single-threaded loop over a B-tree with as many keys: the kernel of POST /screen/bulk on one thread,
 * and a file of addresses to a file of labels with one thread and with all cores. Half of the addresses are labelled. Rounds of all of them
 * take turns, and the medians count, so that other load on the machine affects all equally.
 * Run: node dist/bench/bulk.js [--count N] [--lines N] [--seed S] [--no-save]
 */
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { projectRoot } from '../src/base/paths.ts';
import { seededUint32 } from '../src/base/random.ts';
import { isEvm } from '../src/chains/registry.ts';
import { loadTaxonomy } from '../src/labels/categories.ts';
import { openFreshness } from '../src/labels/freshness.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { createSegmentWriter } from '../src/labels/index/segment.ts';
import { openSnapshotSet } from '../src/labels/index/snapshot-set.ts';
import { loadSynthProfile, synthesise } from '../src/labels/index/synth.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import { loadPolicy } from '../src/risk/policy.ts';
import { createBulk } from '../src/screening/bulk.ts';
import { runBulkFile } from '../src/screening/bulk-file.ts';
import { openEnvironment } from '../src/state/lmdb.ts';
import {
  type BulkItemAnswer,
  type CheckedAnswer,
  itemAnswer,
  type KnownAddress,
  requireAnswers,
} from './check-answers.ts';
import { argument, type BenchReport, median, publish, report, row } from './harness.ts';

export interface BulkBenchOptions {
  /** Synthetic labels of the index, and keys of the B-tree. */
  readonly count: number;
  readonly seed: number;
  /** Lines of the file. */
  readonly lines: number;
}

export const BULK_BENCH_DEFAULTS: BulkBenchOptions = { count: 10_000_000, seed: 1, lines: 3_000_000 };

const KEY_BYTES = 21;
const SAMPLE = 1_000_000;
const ROUNDS = 5;
const MAX_AGE_DAYS = 7;
/** The thread as it ships, which starts in a fifth of the processor time of its modules. */
export const BULK_THREAD = pathToFileURL(join(projectRoot, 'dist', 'joined', 'workers', 'bulk-file.cjs'));

const perSecond = (work: number, startMs: number): number =>
  (work / (systemClock.monotonic() - startMs)) * 1000;

/** A measured implementation. One round returns addresses per second. */
interface Measured {
  round(): number;
  close(): Promise<void> | void;
}

/** A minimal `getBinaryFast` loop: 21-byte keys, half of them present, in random order. */
function bareLoop(folder: string, count: number, seed: number): Measured {
  const next = seededUint32(seed);
  const heads = BigUint64Array.from({ length: count }, () => (BigInt(next()) << 32n) | BigInt(next())).sort();
  const keyOf = (head: bigint): Buffer => {
    const key = Buffer.alloc(KEY_BYTES, Number(head & 0xffn));
    key.writeBigUInt64BE(head, 1);
    key[0] = 1;
    return key;
  };
  const environment = openEnvironment(join(folder, 'bare', 'keys.mdb'), {
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
  });
  const value = Buffer.alloc(8, 7);
  for (let from = 0; from < count; from += 500_000) {
    environment.transactionSync(() => {
      for (const head of heads.subarray(from, from + 500_000)) environment.putSync(keyOf(head), value);
    });
  }
  const keys = Array.from({ length: SAMPLE }, (_, index) => {
    const head = heads[next() % count] as bigint;
    return keyOf(index % 2 === 0 ? head : head ^ 0x5a5a5a5an);
  });
  return {
    round() {
      const start = systemClock.monotonic();
      let found = 0;
      for (const key of keys) if (environment.getBinaryFast(key)) found++;
      if (found < SAMPLE / 2) throw new Error('The B-tree does not hold its own keys.');
      return perSecond(SAMPLE, start);
    },
    close: () => environment.close(),
  };
}

/** Builds the index. Returns the payloads of its EVM addresses, 20 bytes each. */
export async function buildIndex(
  folder: string,
  snapshotsFolder: string,
  options: BulkBenchOptions,
): Promise<Buffer> {
  const path = join(folder, 'segment');
  const writer = createSegmentWriter(path);
  const payloads = Buffer.alloc(options.count * 20);
  let length = 0;
  await synthesise(options, loadSynthProfile(), (key, keyLength, chain, template, first, last) => {
    writer.add(key, 0, keyLength, writer.template(template), first, last);
    if (isEvm(chain)) length += Buffer.from(key.subarray(2, 22)).copy(payloads, length);
  });
  await writer.close();
  const importedAt = isoTime(systemClock.now());
  const source = { id: 'synthetic', dataset: 'bench', publishedAt: null, importedAt, url: null, lists: [] };
  await buildSnapshot(
    { segments: [{ path, source }], folder: snapshotsFolder, compareLabels: primaryOrder(loadSourceTable()) },
    { clock: systemClock, log: silentLogger },
  );
  return payloads.subarray(0, length);
}

/** Address texts in random order, every other one labelled. */
export function* addresses(count: number, labelled: Buffer, seed: number): Generator<string> {
  const next = seededUint32(seed);
  const random = Buffer.alloc(20);
  const known = labelled.length / 20;
  for (let index = 0; index < count; index++) {
    if (index % 2 === 0) {
      const at = (next() % known) * 20;
      yield `0x${labelled.toString('hex', at, at + 20)}`;
    } else {
      for (let word = 0; word < 5; word++) random.writeUInt32LE(next(), word * 4);
      yield `0x${random.toString('hex')}`;
    }
  }
}

/** What the addresses above are: every other one is labelled. */
export const known = (texts: readonly string[]): KnownAddress[] =>
  texts.map((text, index) => ({ chain: 'ETH', text, isLabelled: index % 2 === 0 }));

/** Lines of a result that are checked, more than one piece of a thread. */
const CHECKED_LINES = 200_000;

/**
 * Checks the lines of a result of these addresses.
 *
 * @throws if one is missing, in another order or wrong
 */
export async function checkLines(output: string, texts: Iterable<string>): Promise<void> {
  const answers: CheckedAnswer[] = [];
  for await (const line of createInterface({ input: createReadStream(output) })) {
    answers.push(itemAnswer(JSON.parse(line) as BulkItemAnswer));
    if (answers.length === CHECKED_LINES) break;
  }
  const asked: string[] = [];
  for (const text of texts) {
    asked.push(text);
    if (asked.length === CHECKED_LINES) break;
  }
  requireAnswers('bulk file', known(asked), answers);
}

export function writeLines(path: string, texts: Iterable<string>): void {
  const file = openSync(path, 'w');
  let lines: string[] = [];
  for (const text of texts) {
    lines.push(text);
    if (lines.length < 50_000) continue;
    writeSync(file, `${lines.join('\n')}\n`);
    lines = [];
  }
  if (lines.length > 0) writeSync(file, `${lines.join('\n')}\n`);
  closeSync(file);
}

/** Answers bulk bodies one after another on this thread. */
function kernel(snapshotsFolder: string, labelsFolder: string, labelled: Buffer, seed: number): Measured {
  const labels = openSnapshotSet(snapshotsFolder, { log: silentLogger });
  const freshness = openFreshness({ labelsFolder });
  const bulk = createBulk({
    labels,
    freshness: () => freshness.listFreshness(systemClock.now(), MAX_AGE_DAYS),
    policy: loadPolicy(loadTaxonomy().rows),
    clock: systemClock,
  });
  const texts = [...addresses(200_000, labelled, seed)];
  const bodies = Array.from({ length: 2_000 }, (_, index) =>
    Buffer.from(
      JSON.stringify({
        addresses: texts.slice(index * 100, index * 100 + 100).map((address) => ({ address, chain: 'ETH' })),
      }),
    ),
  );
  const { json } = bulk(bodies[0] as Buffer);
  const { results } = JSON.parse(Buffer.from(json).toString()) as {
    readonly results: readonly BulkItemAnswer[];
  };
  requireAnswers('kernel', known(texts.slice(0, 100)), results.map(itemAnswer));
  return {
    round() {
      const start = systemClock.monotonic();
      let answered = 0;
      for (const body of bodies) answered += bulk(body).answered;
      if (answered !== texts.length) throw new Error('Not every address was answered.');
      return perSecond(answered, start);
    },
    close: () => labels.close(),
  };
}

export async function benchBulk(options: BulkBenchOptions = BULK_BENCH_DEFAULTS): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-bulk-'));
  const snapshotsFolder = join(folder, 'snapshots');
  const threads = availableParallelism();
  try {
    const labelled = await buildIndex(folder, snapshotsFolder, options);
    const input = join(folder, 'addresses.txt');
    const output = join(folder, 'labels.ndjson');
    writeLines(input, addresses(options.lines, labelled, options.seed + 3));
    const fileRate = async (used: number): Promise<number> => {
      // Deleting the file of the previous round is not part of the work.
      rmSync(output, { force: true });
      const { lines, failed, seconds } = await runBulkFile(
        { input, output, chain: 'ETH', threads: used },
        {
          snapshotsFolder,
          labelsFolder: folder,
          listMaxAgeDays: MAX_AGE_DAYS,
          clock: systemClock,
          thread: BULK_THREAD,
        },
      );
      if (lines !== options.lines || failed > 0) throw new Error('Not every line was answered.');
      return lines / seconds;
    };
    const bareTree = bareLoop(folder, options.count, options.seed + 1);
    const bodies = kernel(snapshotsFolder, folder, labelled, options.seed + 2);
    const rates: Record<'bare' | 'kernel' | 'one' | 'all', number[]> = {
      bare: [],
      kernel: [],
      one: [],
      all: [],
    };
    // The first round warms the caches and the compiler.
    for (let round = 0; round <= ROUNDS; round++) {
      const figures = {
        bare: bareTree.round(),
        kernel: bodies.round(),
        one: await fileRate(1),
        all: await fileRate(threads),
      };
      if (round === 0) continue;
      rates.bare.push(figures.bare);
      rates.kernel.push(figures.kernel);
      rates.one.push(figures.one);
      rates.all.push(figures.all);
    }
    await bareTree.close();
    await bodies.close();
    await checkLines(output, addresses(options.lines, labelled, options.seed + 3));
    const bare = median(rates.bare);
    return report(
      'bulk',
      startedAt,
      {
        'synthetic labels': options.count,
        'labelled EVM addresses to draw from': labelled.length / 20,
        'lines of the file': options.lines,
        rounds: ROUNDS,
        'MB written': Math.round(statSync(output).size / 1e6),
        threads,
        seed: options.seed,
      },
      [
        row('bare B-tree loop, one thread', bare, 'addresses/s'),
        row('kernel of POST /screen/bulk, one thread', median(rates.kernel), 'addresses/s', null, bare),
        row('file to file, one thread', median(rates.one), 'addresses/s', null, bare),
        row('file to file, all cores', median(rates.all), 'addresses/s', { atLeast: 3.5, of: 'ratio' }, bare),
      ],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bench = await benchBulk({
    count: argument('--count', BULK_BENCH_DEFAULTS.count),
    seed: argument('--seed', BULK_BENCH_DEFAULTS.seed),
    lines: argument('--lines', BULK_BENCH_DEFAULTS.lines),
  });
  publish(bench);
}
