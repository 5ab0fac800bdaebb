/**
 * Mutation test: makes small faults in a copy of the program, one at a time, and reports those that no test detects.
 * Run: npm run test:mutants -- [room] [--seed N] [--count N] [--tests N] [--goal SHARE] [--without TEST …] [--lanes N]
 * [--slowest SECONDS] [--resume]; before the first time: npm run test:mutants -- --measure [--lanes N]
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../src/base/paths.ts';
import { writeJsonAtomically } from '../../src/state/atomic-file.ts';
import { type Calls, measureCalls, readCalls, type TestCalls, testsCalling } from './calls.ts';
import {
  type ImportGraph,
  nearestFirst,
  ROOMS,
  readImportGraph,
  testsCovering,
  typescriptFiles,
} from './cover.ts';
import { type Diff, diffOf, type Mutant, mutantsOf } from './operators.ts';
import { drawMutants } from './sample.ts';
import { EQUIVALENT, mutationText, readSurvivors, type Survivor, survivorRow } from './survivors.ts';
import { copyTree, Stopped, type TestRun, type Tree } from './tree.ts';

/** A mutant's tests may take this many times as long as without it. */
const LIMIT_FACTOR = 3;
/** Shortest time limit: vitest takes seconds to start on a busy machine. */
const LIMIT_MS_MIN = 60_000;
/** Time limit of the tests without a fault. */
const UNMUTATED_LIMIT_MS = 60 * 60_000;

const OPTIONS = {
  seed: { type: 'string', default: '1' },
  count: { type: 'string', default: '30' },
  tests: { type: 'string', default: '12' },
  goal: { type: 'string', default: '0.8' },
  without: { type: 'string', multiple: true, default: [] as string[] },
  lanes: { type: 'string', default: '1' },
  measure: { type: 'boolean', default: false },
  slowest: { type: 'string', default: '600' },
  resume: { type: 'boolean', default: false },
} as const;

interface Settings {
  readonly rooms: readonly string[];
  readonly seed: number;
  /** Mutants per room. */
  readonly count: number;
  /** Test files per mutant, found by imports. */
  readonly tests: number;
  readonly goal: number;
  readonly without: readonly string[];
  /** Mutants that are tried at the same time, each in a copy of its own. */
  readonly lanes: number;
  /** Measure which functions each test file calls, and end. */
  readonly measure: boolean;
  /** Test files that took longer when they were measured, in seconds, are left out. */
  readonly slowest: number;
  readonly resume: boolean;
}

type Outcome = 'killed' | 'hung' | 'survived';

interface Result {
  /** Digest of the mutant and its source file. */
  readonly key: string;
  /** Digest of the tests that did not detect it. */
  readonly tests: string;
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  /** The changed lines, without and with the fault. */
  readonly diff: Diff;
  readonly outcome: Outcome;
  /** The first failure. */
  readonly by: string | null;
  readonly seconds: number;
}

interface Chosen {
  readonly mutant: Mutant;
  readonly key: string;
  readonly covering: readonly string[];
  /** Digest of the covering tests. */
  readonly tests: string;
  readonly diff: Diff;
}

/** A request that cannot be carried out. Its message is shown to the user. */
class Refusal extends Error {}

const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);

function wholeNumber(name: string, value: string, least: number, most: number): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isInteger(number) || number < least || number > most)
    throw new Refusal(`--${name}: must be a whole number from ${least} to ${most} (got "${value}")`);
  return number;
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new Refusal((error as Error).message);
  }
}

function readSettings(args: readonly string[]): Settings {
  const { values, positionals } = parsed(args);
  for (const room of positionals)
    if (!(room in ROOMS))
      throw new Refusal(`room: must be one of ${Object.keys(ROOMS).join(', ')} (got "${room}")`);
  const goal = Number(values.goal);
  if (!(goal >= 0 && goal <= 1))
    throw new Refusal(`--goal: must be a share from 0 to 1 (got "${values.goal}")`);
  return {
    rooms: positionals.length > 0 ? positionals : Object.keys(ROOMS),
    seed: wholeNumber('seed', values.seed, 0, 2 ** 32 - 1),
    count: wholeNumber('count', values.count, 1, 10_000),
    tests: wholeNumber('tests', values.tests, 1, 1_000),
    goal,
    without: values.without,
    lanes: wholeNumber('lanes', values.lanes, 1, 64),
    measure: values.measure,
    slowest: wholeNumber('slowest', values.slowest, 1, 3_600),
    resume: values.resume,
  };
}

const resultsPath = (room: string): string => join(projectRoot, '.mutants', `${room}.json`);
const readIn = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');

function readResults(room: string): Result[] {
  const path = resultsPath(room);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { results: Result[] }).results : [];
}

const CALLS = join(projectRoot, '.mutants', 'calls');

/**
 * Measures the calls of all tests that are new or have changed since they were measured, except those of `without`. A test that takes
 * longer than `slowest` seconds is stopped and has no measurement: a run with the same limit would leave it out.
 */
async function measure(
  trees: readonly [Tree, ...Tree[]],
  graph: ImportGraph,
  { without, slowest }: Settings,
): Promise<void> {
  const known = readCalls(CALLS);
  const tests = graph.tests
    .filter((test) => !without.includes(test))
    .map((test) => ({ test, digest: digest(readIn(graph.root, test)) }))
    .filter((each) => known[each.test]?.digest !== each.digest);
  note(`${tests.length} of ${graph.tests.length} test files to measure`);
  await measureCalls(CALLS, tests, trees, slowest * 1000, note);
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the tests of a mutant, nearest first: those that call its function; those found by imports if no calls were measured. */
function testsOf(
  mutant: Mutant,
  room: string,
  limit: number,
  graph: ImportGraph,
  calls: Calls,
  without: ReadonlySet<string>,
): string[] {
  if (Object.keys(calls).length === 0)
    return testsCovering(graph, mutant.file, room, limit).filter((test) => !without.has(test));
  const calling = testsCalling(calls, mutant);
  const nearest = nearestFirst(graph, mutant.file).filter((test) => calling.has(test));
  // Tests of the whole program import little: those that call the least of it are the most specific.
  const others = [...calling].filter((test) => !nearest.includes(test));
  const breadth = (test: string): number => calls[test]?.functions.length ?? 0;
  others.sort((a, b) => breadth(a) - breadth(b));
  return [...nearest, ...others].filter((test) => !without.has(test)).slice(0, limit);
}

/** Takes the next mutants of a generator, at most `count`; the next call goes on behind them. */
function takeNext(mutants: Generator<Mutant>, count: number): Mutant[] {
  const taken: Mutant[] = [];
  while (taken.length < count) {
    const { done, value } = mutants.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

/** Returns the mutants that compile and change something. The compiler checks one of each file at a time. */
function soundOf(tree: Tree, mutants: readonly Mutant[]): Mutant[] {
  const sound: Mutant[] = [];
  for (let left = mutants; left.length > 0; ) {
    const group = new Map(left.toReversed().map((mutant) => [mutant.file, mutant]));
    left = left.filter((mutant) => group.get(mutant.file) !== mutant);
    const passed = tree.sound(group);
    const nothings = [...group].flatMap(([file, { nothingIf }]) =>
      passed.has(file) && nothingIf !== undefined ? [[file, nothingIf] as const] : [],
    );
    const changesNothing = nothings.length === 0 ? new Set() : tree.sound(new Map(nothings));
    sound.push(...[...group.values()].filter(({ file }) => passed.has(file) && !changesNothing.has(file)));
  }
  return sound;
}

/**
 * Draws mutants until `count` of them pass the type checker. Skipped are mutants that the compiler rejects, and those for which it proves
 * that they change nothing.
 */
function chooseMutants(
  room: string,
  settings: Settings,
  graph: ImportGraph,
  tree: Tree,
  calls: Calls,
): Chosen[] {
  const slow = Object.keys(calls).filter(
    (test) => (calls[test] as TestCalls).milliseconds > settings.slowest * 1000,
  );
  const without = new Set([...settings.without, ...slow]);
  const files = (ROOMS[room] ?? []).flatMap((folder) => typescriptFiles(tree.folder, folder));
  const mutants = files.flatMap((file) => mutantsOf(file, readIn(tree.folder, file)));
  const chosen: Chosen[] = [];
  const drawn = drawMutants(mutants, settings.seed);
  const sound: Mutant[] = [];
  let refused = 0;
  for (;;) {
    const next = takeNext(drawn, settings.count - sound.length);
    if (next.length === 0) break;
    const passed = soundOf(tree, next);
    refused += next.length - passed.length;
    sound.push(...passed);
  }
  for (const mutant of sound) {
    const source = readIn(tree.folder, mutant.file);
    const covering = testsOf(mutant, room, settings.tests, graph, calls, without);
    chosen.push({
      mutant,
      key: digest(mutant.file, source, String(mutant.start), String(mutant.end), mutant.text),
      covering,
      tests: digest(...covering, ...covering.map((test) => readIn(tree.folder, test))),
      diff: diffOf(source, mutant),
    });
  }
  note(
    `${room}: ${chosen.length} of ${mutants.length} mutants; ${refused} more do not compile or change nothing`,
  );
  return chosen.sort((a, b) => order(a.mutant.file, b.mutant.file) || a.mutant.start - b.mutant.start);
}

/**
 * Runs the tests without a fault.
 *
 * @returns milliseconds by test file
 * @throws Refusal if they fail
 */
async function runUnmutated(
  room: string,
  tests: readonly string[],
  tree: Tree,
): Promise<TestRun['report']['milliseconds']> {
  note(`${room}: ${tests.length} test files without a fault`);
  const { outcome, report, output, milliseconds } = await tree.run(tests, UNMUTATED_LIMIT_MS);
  if (outcome !== 'passed')
    throw new Refusal(
      `${room}: the tests fail without a fault; mend them, or leave a file out by --without.\n${report.failures.join('\n')}\n${output}`,
    );
  note(`${room}: passed in ${Math.round(milliseconds / 1000)} s`);
  return report.milliseconds;
}

async function tryMutant(
  chosen: Chosen,
  times: Readonly<Record<string, number>>,
  tree: Tree,
): Promise<Result> {
  const { mutant, key, covering, tests, diff } = chosen;
  const timeOf = (test: string): number => times[test] ?? 0;
  const unmutatedMs = covering.reduce((sum, test) => sum + timeOf(test), 0);
  // The quickest first: most faults are detected before a slow test has started.
  const quickestFirst = [...covering].sort((a, b) => timeOf(a) - timeOf(b));
  const limitMs = Math.max(LIMIT_MS_MIN, LIMIT_FACTOR * unmutatedMs);
  const ran =
    covering.length === 0
      ? null
      : await tree.run(quickestFirst, limitMs, { file: mutant.file, edit: mutant });
  const missed = covering.filter((test) => ran?.outcome === 'passed' && !(test in ran.report.milliseconds));
  if (missed.length > 0) throw new Refusal(`${mutant.file}: these tests did not run: ${missed.join(', ')}`);
  const outcome = { passed: 'survived', failed: 'killed', hung: 'hung' } as const;
  return {
    key,
    tests,
    file: mutant.file,
    line: mutant.line,
    operator: mutant.operator,
    diff,
    outcome: ran === null ? 'survived' : outcome[ran.outcome],
    by: ran?.report.failures[0] ?? null,
    seconds: Math.round((ran?.milliseconds ?? 0) / 1000),
  };
}

/** Returns true if a result is still valid: the source is unchanged, and if the mutant survived, the tests are unchanged too. */
const holds = (result: Result, chosen: Chosen): boolean =>
  result.key === chosen.key && (result.outcome !== 'survived' || result.tests === chosen.tests);

async function runRoom(
  room: string,
  settings: Settings,
  graph: ImportGraph,
  trees: readonly [Tree, ...Tree[]],
  calls: Calls,
  times: Record<string, number>,
): Promise<Result[]> {
  const [tree] = trees;
  const chosen = chooseMutants(room, settings, graph, tree, calls);
  const before = settings.resume ? readResults(room) : [];
  const results = chosen.flatMap((each) => before.find((result) => holds(result, each)) ?? []);
  const left = chosen.filter((each) => !results.some((result) => result.key === each.key));
  const keep = (): void =>
    writeJsonAtomically(resultsPath(room), { room, seed: settings.seed, tests: settings.tests, results });
  keep();
  const tests = [...new Set(left.flatMap((each) => each.covering))].filter((test) => !(test in times));
  if (tests.length > 0) Object.assign(times, await runUnmutated(room, tests, tree));
  const tryInTurn = async (lane: Tree): Promise<void> => {
    for (let each = left.shift(); each !== undefined; each = left.shift()) {
      const result = await tryMutant(each, times, lane);
      results.push(result);
      keep();
      const place = `${result.file}:${result.line}`;
      note(
        `[${results.length}/${chosen.length}] ${result.outcome} ${place} ${result.operator} ${result.seconds} s`,
      );
      if (result.by !== null) note(`    ${result.by}`);
    }
  };
  await Promise.all(trees.map(tryInTurn));
  return results;
}

const unified = ({ before, after }: Diff): string =>
  [...before.split('\n').map((text) => `- ${text}`), ...after.split('\n').map((text) => `+ ${text}`)].join(
    '\n',
  );

/** Prints the surviving mutants and the share of detected ones. @returns whether the share reaches the goal. */
function reportRoom(
  room: string,
  results: readonly Result[],
  listed: readonly Survivor[],
  goal: number,
): boolean {
  const rowOf = (result: Result): Survivor | undefined =>
    listed.find((row) => row.file === result.file && row.mutation === mutationText(result.diff));
  const survivors = results.filter((result) => result.outcome === 'survived');
  const equivalent = survivors.filter((result) => rowOf(result)?.reason.startsWith(EQUIVALENT));
  for (const result of survivors) {
    process.stdout.write(`${result.file}:${result.line} ${result.operator}\n${unified(result.diff)}\n`);
    const row = rowOf(result);
    process.stdout.write(
      row === undefined
        ? `not in test/mutants/survivors.md: ${survivorRow({ ...result, mutation: mutationText(result.diff), reason: '' })}\n\n`
        : `listed: ${row.reason}\n\n`,
    );
  }
  for (const result of results)
    if (result.outcome !== 'survived' && rowOf(result) !== undefined)
      process.stdout.write(`${result.file}:${result.line}: now noticed; remove its row of survivors.md\n`);
  const counted = results.length - equivalent.length;
  const noticed = results.length - survivors.length;
  const share = counted === 0 ? 1 : noticed / counted;
  process.stdout.write(
    `${room}: ${noticed} of ${counted} mutants noticed (${Math.round(share * 100)} %, goal ${Math.round(goal * 100)} %)` +
      `; ${equivalent.length} equivalent\n`,
  );
  return share >= goal;
}

async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2));
  const listed = readSurvivors(readIn(projectRoot, 'test/mutants/survivors.md'));
  const more = Array.from({ length: settings.lanes - 1 }, () => copyTree(projectRoot));
  const trees: readonly [Tree, ...Tree[]] = [copyTree(projectRoot), ...more];
  const removeAll = (): void => {
    for (const tree of trees) tree.remove();
  };
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.once(signal, () => {
      removeAll();
      note('stopped; --resume goes on from here');
      process.exit(code);
    });
  let isReached = true;
  try {
    const graph = readImportGraph(trees[0].folder);
    if (settings.measure) {
      await measure(trees, graph, settings);
      return 0;
    }
    const calls = readCalls(CALLS);
    // Milliseconds of the tests that passed without a fault. A test that covers several rooms runs only once.
    const times = Object.fromEntries(
      Object.entries(calls).map(([test, { milliseconds }]) => [test, milliseconds]),
    );
    for (const room of settings.rooms) {
      const results = await runRoom(room, settings, graph, trees, calls, times);
      if (!reportRoom(room, results, listed, settings.goal)) isReached = false;
    }
  } finally {
    removeAll();
  }
  return isReached ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof Stopped) {
    note('stopped; --resume goes on from here');
    process.exitCode = 130;
  } else if (error instanceof Refusal) {
    note(`test:mutants: ${error.message}`);
    process.exitCode = 2;
  } else throw error;
}
