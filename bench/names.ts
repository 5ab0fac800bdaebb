/**
 * Name screening: its quality (pairs with known answers, OFAC's own scores, altered real names, ordinary names), and its speed with all
 * real lists, and with those lists repeated with variations up to a million names. Run: node dist/bench/names.js [--million N]
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { projectRoot } from '../src/base/paths.ts';
import { buildNameIndex } from '../src/names/index/build.ts';
import { ENVIRONMENT_FILE } from '../src/names/index/format.ts';
import { openNameIndex } from '../src/names/index/open.ts';
import type { NameEntity, NameIndex } from '../src/names/name.ts';
import { type BenchReport, type BenchRow, publish, report, row } from './harness.ts';
import { arabicNames, frequentNames, ordinaryNames, readRealNames, seeded } from './name-lists.ts';
import {
  confidenceOf,
  heldOutQuality,
  hitRate,
  hitsAndNamesakes,
  ofacCorrelation,
  pairQuality,
  recallOf,
  scriptQuality,
  swappedF1,
} from './name-quality.ts';
import { crossScriptPairs, ownScriptRecall, politicianPairs } from './name-scripts.ts';

const SELF = fileURLToPath(import.meta.url);
const ORDINARY = 10_000;
const RECALL_NAMES = 4_000;
const ARABIC = 1_000;
/** Other names that are screened before the speed is measured. */
const EARLIER = 3_000;
/** Rounds of a thousand real and a thousand ordinary names: one takes 0.3 s, in which V8 still compiles. */
const ASKED_ROUNDS = 5;

export interface NameBenchOptions {
  /** Names of the large index. */
  readonly million: number;
}

export async function benchNames(options: NameBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const shared = process.env.ASSAY_TEST_SHARED_DATA ?? join(projectRoot, '..', 'shared', 'data');
  const file = (...parts: string[]): string => join(shared, ...parts);
  const work = mkdtempSync(join(tmpdir(), 'assay-bench-names-'));
  try {
    const pairsFile = file('names', 'nomenklatura_pairs_dev.csv');
    const scores = file('names', 'ofac_search_scores.csv');
    const pairs = pairQuality(pairsFile);
    const held = heldOutQuality(pairsFile, scores);
    const rows: BenchRow[] = [
      row('pairs: F1 at 0.7', pairs.f1, '', { atLeast: 0.9 }),
      row('pairs: AUC', pairs.auc, '', { atLeast: 0.94 }),
      row('pairs with swapped names: difference of F1', Math.abs(pairs.f1 - swappedF1(pairsFile)), '', {
        atMost: 0.01,
      }),
      row('pairs, by models fitted to the others: F1 at 0.7', held.pairs.f1, '', { atLeast: 0.9 }),
      row('pairs, by models fitted to the others: AUC', held.pairs.auc, '', { atLeast: 0.94 }),
      row(`… right of the ${held.pairs.nine.count} at 0.85–0.95`, held.pairs.nine.right, '', {
        atLeast: 0.85,
      }),
      row("rank correlation with OFAC's score, all rows", ofacCorrelation(scores, false), '', {
        atLeast: 0.7,
      }),
      row('… of results that it returned', ofacCorrelation(scores, true), '', { atLeast: 0.7 }),
      row('… all rows, by models fitted to other queries', held.correlation, ''),
    ];
    for (const { from, to, pairs: count, right, low, high } of held.bands) {
      const label = `held-out pairs at ${from}–${to}: right of ${count} (95 %: ${low.toFixed(2)}–${high.toFixed(2)})`;
      rows.push(row(label, right / Math.max(1, count), ''));
    }
    const entities = await readRealNames(file);
    const crossScript = crossScriptPairs(entities);
    const scripts = scriptQuality(crossScript);
    rows.push(
      row(`cross-script pairs: right at 0.7, of ${crossScript.length}`, scripts.right, '', { atLeast: 0.9 }),
    );
    for (const [script, each] of Object.entries(scripts.byScript))
      rows.push(row(`… ${script}, of ${each.pairs}`, each.right / each.pairs, ''));
    for (const [script, each] of Object.entries(scriptQuality(politicianPairs()).byScript))
      rows.push(
        row(`politicians in ${script}: right at 0.7, of ${each.pairs}`, each.right / each.pairs, '', {
          atLeast: 0.9,
        }),
      );
    for (const [script, each] of Object.entries(ownScriptRecall(entities, confidenceOf)))
      rows.push(
        row(
          `names in ${script} that match a Latin name of their party, of ${each.names}`,
          each.found / each.names,
          '',
        ),
      );
    const real = await measureIndex('real lists', entities, join(work, 'real'), rows, {
      rate: 5_000,
      p99: 20,
    });
    const recall = (
      label: string,
      change: Parameters<typeof recallOf>[2],
      atLeast: number,
      most: number,
    ): void => {
      const { asked, first, found, missed } = recallOf(real, entities, change, most);
      rows.push(
        row(`${label}: own entity first, of ${asked}`, first, '', { atLeast }),
        row(`${label}: found`, found, ''),
      );
      if (atLeast === 1) for (const one of missed) process.stdout.write(`not first: ${one}\n`);
    };
    recall('as listed', 'none', 1, Number.POSITIVE_INFINITY);
    recall('one typo', 'typo', 0.98, RECALL_NAMES);
    recall('swapped order', 'swapped', 0.97, RECALL_NAMES);
    recall('dropped middle name', 'dropped', 0.85, RECALL_NAMES);
    rows.push(
      row('ordinary names that match at 0.85', hitRate(real, ordinaryNames(ORDINARY, 5), 0.85), '', {
        atMost: 0.01,
      }),
    );
    rows.push(
      row(
        '500 people of ten countries by frequency that match at 0.85',
        hitRate(real, frequentNames(500, 13), 0.85),
        '',
        {
          atMost: 0.03,
        },
      ),
    );
    const { hits, namesakes } = hitsAndNamesakes(real, arabicNames(ARABIC, 37), 0.85);
    rows.push(
      row(`${ARABIC} frequent names in Arabic script that match at 0.85`, hits, ''),
      row('… except namesakes', hits - namesakes, '', { atMost: 0.03 }),
    );
    real.close();
    const many = repeated(entities, options.million);
    (await measureIndex('repeated', many, join(work, 'many'), rows, { rate: 1_500, p99: 60 })).close();
    const subject = {
      pairs: pairs.pairs,
      entities: entities.length,
      names: real.meta.names,
      repeatedNames: many.reduce((sum, entity) => sum + entity.names.length, 0),
      ordinaryNames: ORDINARY,
    };
    return report('names', startedAt, subject, rows);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function measureIndex(
  label: string,
  entities: readonly NameEntity[],
  folder: string,
  rows: BenchRow[],
  goal: { readonly rate: number; readonly p99: number },
): Promise<NameIndex> {
  const seconds = (from: number): number => (systemClock.monotonic() - from) / 1000;
  mkdirSync(folder);
  let start = systemClock.monotonic();
  await buildNameIndex(entities, folder, { clock: systemClock });
  rows.push(row(`${label}: build`, seconds(start), 's'));
  rows.push(
    row(`${label}: index`, statSync(join(folder, ENVIRONMENT_FILE)).size / 2 ** 20, 'MB', { atMost: 600 }),
  );
  start = systemClock.monotonic();
  const index = openNameIndex(folder);
  index.match({ name: 'Ordinary Question' });
  rows.push(row(`${label}: open to first answer`, seconds(start), 's', { atMost: 1 }));
  // Half of the queries are ordinary names, half are real ones with one letter left out.
  const listed = entities.flatMap((entity) => entity.names.map((name) => name.text));
  const step = Math.max(1, Math.floor(listed.length / 1_000));
  const everyStep = (first: number, left: number): string[] =>
    listed
      .filter((_, at) => at % step === first % step)
      .map((text) => text.slice(0, left) + text.slice(left + 1));
  const asked = Array.from({ length: ASKED_ROUNDS }, (_, round) =>
    everyStep(round * Math.ceil(step / (2 * ASKED_ROUNDS)), 3),
  ).flat();
  const names = [...asked, ...ordinaryNames(asked.length, 11)].map((name, at) => ({
    name,
    key: (at * 7919) % 100_003,
  }));
  names.sort((a, b) => a.key - b.key);
  // A server has answered other names before: the first answers of a process compile the program and read words of other scripts.
  const earlier = everyStep(step >> 1, 4);
  for (const name of [...earlier, ...ordinaryNames(EARLIER - earlier.length, 12)]) index.match({ name });
  start = systemClock.monotonic();
  const before = process.cpuUsage();
  for (const { name } of names) index.match({ name });
  const used = process.cpuUsage(before);
  // Processor time: other processes of the machine do not count.
  const busy = (used.user + used.system) / 1e6;
  rows.push(
    row(`${label}: names a second on a core`, names.length / seconds(start), '/s', { atLeast: goal.rate }),
    row(`${label}: names per second of processor time`, names.length / busy, '/s'),
  );
  const times: number[] = [];
  for (let at = 0; at + 50 <= names.length; at += 25) {
    start = systemClock.monotonic();
    for (const { name } of names.slice(at, at + 50)) index.match({ name });
    times.push(seconds(start) * 1000);
  }
  times.sort((a, b) => a - b);
  const p99 = times[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? 0;
  rows.push(row(`${label}: 50 names, p99`, p99, 'ms', { atMost: goal.p99 }));
  return index;
}

/** Repeats the entities, each time with changed letters in every name, up to this many names. */
function repeated(entities: readonly NameEntity[], names: number): NameEntity[] {
  const random = seeded(3);
  const out = [...entities];
  let count = entities.reduce((sum, entity) => sum + entity.names.length, 0);
  for (let round = 1; count < names; round++) {
    for (const entity of entities) {
      if (count >= names) break;
      const varied = entity.names.map((name) => ({ ...name, text: vary(name.text, random) }));
      out.push({ ...entity, entityId: `${entity.entityId}-${round}`, names: varied });
      count += varied.length;
    }
  }
  return out;
}

const VOWELS = 'aeiou';
const vary = (text: string, random: () => number): string =>
  text.replace(/[aeiou]/g, (vowel) =>
    random() < 0.3 ? (VOWELS[Math.floor(random() * 5)] as string) : vowel,
  );

async function main(): Promise<void> {
  const at = process.argv.indexOf('--million');
  const bench = await benchNames({ million: at < 0 ? 1_000_000 : Number(process.argv[at + 1]) });
  publish(bench);
}

if (process.argv[1] === SELF) await main();
