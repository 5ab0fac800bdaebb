import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { functionsIn, measureCalls, readCalls, testsCalling } from '../../scripts/mutants/calls.ts';
import { ROOMS, readImportGraph, testsCovering } from '../../scripts/mutants/cover.ts';
import { applied, diffOf, type Mutant, mutantsOf } from '../../scripts/mutants/operators.ts';
import { drawMutants } from '../../scripts/mutants/sample.ts';
import { mutationText, readSurvivors, survivorRow } from '../../scripts/mutants/survivors.ts';
import type { Tree } from '../../scripts/mutants/tree.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const FILE = 'src/room/file.ts';

/** Returns the source with each fault of one operator. */
const faults = (source: string, operator: string): string[] =>
  mutantsOf(FILE, source)
    .filter((mutant) => mutant.operator === operator)
    .map((mutant) => applied(source, mutant));

describe('operators of mutants', () => {
  it.each([
    ['invert-condition', 'if (a) b();', ['if (!(a)) b();']],
    ['invert-condition', 'f(a ? b : c);', ['f(!(a) ? b : c);']],
    ['drop-side', 'x = a && (b || c);', ['x = (a);', 'x = (b || c);', 'x = a && ((b));', 'x = a && ((c));']],
    ['boundary', 'x = a < b;', ['x = a <= b;']],
    ['boundary', 'x = a >= (b /* >= c */);', ['x = a > (b /* >= c */);']],
    ['boundary', 'list.sort((a, b) => (a < b ? -1 : 1));', []],
    ['equality', "x = (a) === 'b';", ["x = (a) !== 'b';"]],
    ['remove-await', 'await f(await g());', ['f(await g());', 'await f(g());']],
    ['remove-guard', 'if (a) { throw b; }\nc();', [';\nc();']],
    ['remove-guard', 'for (const a of b) if (a) continue;', ['for (const a of b) ;']],
    ['remove-guard', 'if (a) { b(); return; }', []],
    ['remove-guard', 'if (a) throw b; else c();', []],
    ['swap-arguments', 'f(a, b, c.d, e.g);', ['f(b, a, c.d, e.g);', 'f(a, b, e.g, c.d);']],
    ['swap-arguments', 'f(a, () => b, a, a);', []],
    ['swap-arguments', 'x = Math.max(a, b) + Math.min(c, d);', []],
    [
      'limit-step',
      'x = size > LIMITS.names;',
      ['x = size > (LIMITS.names + 1);', 'x = size > (LIMITS.names - 1);'],
    ],
    ['limit-step', 'x = size > limit;', []],
    ['default-to-or', 'x = a ?? b;', ['x = a || b;']],
    ['default-to-or', 'x = a ?? 0;', []],
    ['default-to-or', 'x = a ?? [];', []],
  ])('%s: %s', (operator, source, expected) => {
    const around = (text: string): string => `async function wrapped() {\n${text}\n}`;
    expect(faults(around(source), operator).sort()).toEqual(expected.map(around).sort());
  });

  it('leaves types and the wording of errors alone', () => {
    const source = 'let a: B extends C ? D : E;\nthrow new Error(a ?? String(b === c));';
    expect(mutantsOf(FILE, source)).toEqual([]);
  });

  it('names the line, and shows the changed lines without shared indentation', () => {
    const source = "const é = '€';\n  if (\n    a &&\n    b\n  )\n    return;\n";
    const mutant = mutantsOf(FILE, `function f() {\n${source}}`).find((each) => each.text === '(b)');
    expect(mutant?.line).toBe(4);
    expect(diffOf(`function f() {\n${source}}`, mutant as Mutant)).toEqual({
      before: 'a &&\nb',
      after: '(b)',
    });
  });
});

describe('sample of mutants', () => {
  const all = ['a.ts', 'b.ts', 'c.ts'].flatMap((file, index) =>
    mutantsOf(file, 'if (a && b < c) d(e, f);\n'.repeat(1 + index * 20)),
  );

  it('is the same for the same seed, and another for another', () => {
    expect([...drawMutants(all, 7)]).toEqual([...drawMutants(all, 7)]);
    expect([...drawMutants(all, 7)]).not.toEqual([...drawMutants(all, 8)]);
  });

  it('takes every mutant once, and from each file in turn', () => {
    const drawn = [...drawMutants(all, 1)];
    expect(new Set(drawn).size).toBe(all.length);
    expect(drawn).toHaveLength(all.length);
    for (const round of [0, 3, 6])
      expect(new Set(drawn.slice(round, round + 3).map((mutant) => mutant.file)).size).toBe(3);
  });
});

describe('tests that cover a file', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'assay-cover-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  it('come nearest first, through imports, workers and started processes, but not through types', () => {
    write('src/risk/score.ts', 'export const score = 1;');
    write('src/risk/use.ts', "import {\n  score,\n} from './score.ts';\nexport const use = score;");
    write('workers/screen.ts', "import { use } from '../src/risk/use.ts';\nuse;");
    write('src/jobs/pool.ts', "workerUrl('screen');");
    write('test/risk/use.test.ts', "import { use } from '../../src/risk/use.ts';");
    write('test/risk/score.test.ts', "import { score } from '../../src/risk/score.ts';");
    write('test/risk/types.test.ts', "import type { Score } from '../../src/risk/score.ts';");
    write('test/jobs/pool.test.ts', "import { pool } from '../../src/jobs/pool.ts';");
    // A program that a test writes as text imports nothing.
    write('test/scripts/text.test.ts', "write('src/jobs/pool.ts', \"workerUrl('screen');\");");
    write('test/jobs/writer.ts', "await import('../../src/jobs/pool.ts');");
    write('test/jobs/writer.test.ts', "spawn(join(projectRoot, 'dist', 'test', 'jobs', 'writer.js'));");
    const graph = readImportGraph(root);
    expect(testsCovering(graph, 'src/risk/score.ts', 'risk', 9)).toEqual([
      'test/risk/score.test.ts',
      'test/risk/use.test.ts',
      'test/jobs/pool.test.ts',
      'test/jobs/writer.test.ts',
    ]);
    expect(testsCovering(graph, 'src/risk/score.ts', 'risk', 1)).toEqual(['test/risk/score.test.ts']);
  });

  it('come first from the folder of the file, and then from that of the room, where as many imports are between', () => {
    write('src/labels/index/segment.ts', 'export const segment = 1;');
    write(
      'src/labels/index/build.ts',
      "import { segment } from './segment.ts';\nexport const build = segment;",
    );
    for (const test of ['cli/a', 'labels/b', 'labels/index/c'])
      write(
        `test/${test}.test.ts`,
        `import { build } from '${'../'.repeat(test.split('/').length)}src/labels/index/build.ts';`,
      );
    expect(testsCovering(readImportGraph(root), 'src/labels/index/segment.ts', 'labels', 3)).toEqual([
      'test/labels/index/c.test.ts',
      'test/labels/b.test.ts',
      'test/cli/a.test.ts',
    ]);
  });

  it('exist for every room of this program', () => {
    const graph = readImportGraph(projectRoot);
    for (const [room, folders] of Object.entries(ROOMS)) {
      for (const folder of folders) expect(existsSync(join(projectRoot, folder)), folder).toBe(true);
      // Only the tests of the whole folder cover a file that is not part of the program, so they must exist.
      for (const test of testsCovering(graph, 'none.ts', room, 9))
        expect(existsSync(join(projectRoot, test)), test).toBe(true);
    }
  });
});

describe('list of survivors', () => {
  it('is read as it was written', () => {
    const survivor = {
      file: 'src/a.ts',
      line: 3,
      mutation: 'if (a || `b`) → if ((a))',
      reason: 'equivalent: b is never given',
    };
    expect(readSurvivors(`| file:line | mutation | reason |\n${survivorRow(survivor)}\n`)).toEqual([
      survivor,
    ]);
  });

  it('refuses a row it cannot read', () => {
    expect(() => readSurvivors('| src/a.ts:3 | a → b | no reason |')).toThrow(/survivors\.md: not a row/);
  });

  it('gives a reason for each, and names code that is still there', () => {
    const rows = readSurvivors(readFileSync(join(projectRoot, 'test/mutants/survivors.md'), 'utf8'));
    for (const { file, mutation, reason } of rows) {
      const source = readFileSync(join(projectRoot, file), 'utf8');
      expect(reason, `${file}: ${mutation}`).not.toBe('');
      const mutations = mutantsOf(file, source).map((mutant) => mutationText(diffOf(source, mutant)));
      expect(mutations, file).toContain(mutation);
    }
  });
});

describe('npm run test:mutants', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(projectRoot, 'dist', 'scripts', 'mutants', 'run.js'), ...args], {
      encoding: 'utf8',
    });

  it.each([
    [['nowhere'], /room: must be one of risk, accounts, .* \(got "nowhere"\)/],
    [['risk', '--count', '0'], /--count: must be a whole number from 1 to 10000 \(got "0"\)/],
    [['risk', '--lanes', '0'], /--lanes: must be a whole number from 1 to 64 \(got "0"\)/],
    [['risk', '--goal', '80'], /--goal: must be a share from 0 to 1 \(got "80"\)/],
    [['risk', '--sede', '1'], /Unknown option '--sede'/],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = run(...args);
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
  });
});

describe('the functions that tests call', () => {
  it('name the innermost function with a name around a fault, as V8 does', () => {
    const source = `
const top = a > 1;
function declared() { return list.map((one) => one > 1); }
const arrow = () => a > 1;
class Store {
  constructor() { this.open = a > 1; }
  #hidden() { return a > 1; }
  get size() { return a > 1; }
  field = () => a > 1;
}
const object = { method() { return a > 1; } };`;
    const names = mutantsOf(FILE, source)
      .filter(({ operator }) => operator === 'boundary')
      .map(({ within }) => within);
    expect(names).toEqual(['', 'declared', 'arrow', 'Store', '#hidden', 'size', 'field', 'method']);
  });

  it('select the tests of a fault; those that load its file if none is known to call it', () => {
    const of = (...functions: string[]) => ({ digest: '', milliseconds: 1, functions });
    const calls = {
      'a.test.ts': of(`${FILE} `, `${FILE} take`),
      'b.test.ts': of(`${FILE} `, `${FILE} get size`),
      'c.test.ts': of('src/other.ts take'),
    };
    const calling = (within: string) => [...testsCalling(calls, { file: FILE, within })];
    expect(calling('take')).toEqual(['a.test.ts']);
    expect(calling('size')).toEqual(['b.test.ts']);
    expect(calling('unknown')).toEqual(['a.test.ts', 'b.test.ts']);
  });

  it('are stored by test, and read again', async () => {
    const root = mkdtempSync(join(tmpdir(), 'assay-calls-'));
    try {
      const tree = {
        folder: root,
        run: async ([test]: readonly string[], _limitMs: number, _fault: undefined, variables: object) => {
          const { NODE_V8_COVERAGE: coverage } = variables as { NODE_V8_COVERAGE: string };
          const functions = [{ functionName: `of ${test}`, ranges: [{ count: 1 }] }];
          const result = [{ url: `file://${root}/src/a.ts`, functions }];
          writeFileSync(join(coverage, 'one.json'), JSON.stringify({ result }));
          return { outcome: test === 'test/broken.test.ts' ? 'failed' : 'passed', milliseconds: 7 };
        },
      } as unknown as Tree;
      const to = join(root, 'calls');
      expect(readCalls(to)).toEqual({});
      const tests = ['test/a.test.ts', 'test/b/c.test.ts', 'test/broken.test.ts'];
      const rows = tests.map((test) => ({ test, digest: `digest of ${test}` }));
      await measureCalls(to, rows, [tree, tree], 1_000, () => {});
      const calls = readCalls(to);
      // A test that fails has no calls: it is measured again.
      expect(Object.keys(calls).sort()).toEqual(tests.slice(0, 2));
      expect(calls['test/b/c.test.ts']).toMatchObject({
        digest: 'digest of test/b/c.test.ts',
        milliseconds: 7,
        functions: ['src/a.ts of test/b/c.test.ts'],
      });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });

  it("are read from V8's coverage, of sources and of built files, without those of libraries", () => {
    const root = mkdtempSync(join(tmpdir(), 'assay-calls-'));
    try {
      const script = (url: string, ...counts: readonly [string, number][]) => ({
        url: url.replace('ROOT', root),
        functions: counts.map(([functionName, count]) => ({ functionName, ranges: [{ count }] })),
      });
      const result = [
        script('file://ROOT/src/a.ts', ['', 1], ['read', 2], ['unused', 0]),
        script('file://ROOT/dist/src/b.js', ['write', 1]),
        script('file://ROOT/node_modules/c.js', ['read', 1]),
        script('node:fs', ['read', 1]),
      ];
      const folder = join(root, 'coverage');
      mkdirSync(folder);
      writeFileSync(join(folder, 'one.json'), JSON.stringify({ result }));
      writeFileSync(join(folder, 'torn.json'), '{"result":[');
      expect(functionsIn(folder, root)).toEqual(['src/a.ts ', 'src/a.ts read', 'src/b.ts write']);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
