import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Mutant, mutantsOf } from '../../scripts/mutants/operators.ts';
import { copyTree, type Tree } from '../../scripts/mutants/tree.ts';
import { projectRoot } from '../../src/base/paths.ts';

const FILE = 'src/rule.ts';
const SOURCE = `export const isSmall = (value: number): boolean => value < 10;

export function firstBelow(values: readonly number[], limit: number): number {
  let at = 0;
  while (true) {
    const value = values[at];
    if (value === undefined || value < limit) return at;
    at++;
  }
}
`;
const BUILT = SOURCE.replaceAll(/: (?:readonly )?(?:number|boolean)(?:\[\])?/g, '');
const TEST = `import { expect, it } from 'vitest';
import * as source from '../src/rule.ts';

it('holds in the source and as built', async () => {
  const built = await import('../dist/src/rule.js');
  for (const { isSmall } of [source, built]) expect([9, 10].map(isSmall)).toEqual([true, false]);
  expect(source.firstBelow([3, 2, 1], 2)).toBe(2);
});
`;
const LIMIT_MS = 120_000;

describe('the copy in which faults are made', () => {
  let root = '';
  let tree: Tree;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'assay-tree-'));
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    write('package.json', '{ "type": "module" }');
    write('vitest.config.ts', "export default { test: { include: ['test/**/*.test.ts'], retry: 2 } };");
    write(FILE, SOURCE);
    write('dist/src/rule.js', BUILT);
    write('test/rule.test.ts', TEST);
    mkdirSync(join(root, 'scripts', 'mutants'), { recursive: true });
    for (const path of ['tsconfig.json', 'scripts/mutants/vitest.config.ts', 'scripts/mutants/reporter.ts'])
      copyFileSync(join(projectRoot, path), join(root, path));
    symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'));
    tree = copyTree(root);
  });
  afterAll(() => {
    tree.remove();
    rmSync(root, { recursive: true, force: true });
  });

  const mutant = (operator: string): Mutant =>
    mutantsOf(FILE, SOURCE).find((each) => each.operator === operator) as Mutant;
  const run = (edit?: Mutant, limitMs = LIMIT_MS) =>
    tree.run(['test/rule.test.ts'], limitMs, edit && { file: FILE, edit });

  it('passes its tests without a fault, and says how long each file took', async () => {
    const { outcome, report, output } = await run();
    expect(outcome, output).toBe('passed');
    expect(report.failures).toEqual([]);
    expect(report.milliseconds['test/rule.test.ts']).toBeGreaterThan(0);
  });

  it('fails them with a fault, names the test, and is whole again afterwards', async () => {
    expect(await run(mutant('boundary'))).toMatchObject({
      outcome: 'failed',
      report: { failures: ['test/rule.test.ts > holds in the source and as built'] },
    });
    expect((await run()).outcome).toBe('passed');
    expect(readFileSync(join(root, FILE), 'utf8')).toBe(SOURCE);
    expect(readFileSync(join(root, 'dist/src/rule.js'), 'utf8')).toBe(BUILT);
  });

  it('knows which defaults stand behind a value that is never empty, 0 or false', () => {
    const file = 'src/defaults.ts';
    const source = `export const f = (
  a: { b?: object }, c: 'd' | null, e: string | null, g: boolean | undefined, h: 0 | 1 | null, i: unknown,
) => [a.b ?? a, c ?? 'd', e ?? 'd', g ?? true, h ?? 1, i ?? 1];
`;
    writeFileSync(join(tree.folder, file), source);
    const mutants = mutantsOf(file, source).filter(({ operator }) => operator === 'default-to-or');
    const changesNothing = ({ nothingIf }: Mutant) =>
      nothingIf !== undefined && tree.sound(new Map([[file, nothingIf]])).has(file);
    expect(mutants.map(changesNothing)).toEqual([true, true, false, false, false, false]);
  });

  it('puts the fault into the built file as well', async () => {
    const path = join(root, 'test/rule.test.ts');
    expect(existsSync(path)).toBe(true);
    writeFileSync(path, TEST.replace('[source, built]', '[built]'));
    const builtOnly = copyTree(root);
    try {
      const ran = await builtOnly.run(['test/rule.test.ts'], LIMIT_MS, {
        file: FILE,
        edit: mutant('boundary'),
      });
      expect(ran.outcome).toBe('failed');
    } finally {
      builtOnly.remove();
      writeFileSync(path, TEST);
    }
  });

  it('ends tests that a fault keeps from ending', async () => {
    // If its guard is removed, the loop runs for ever and never yields: vitest itself cannot end it.
    const { outcome } = await run(mutant('remove-guard'), 6_000);
    expect(outcome).toBe('hung');
    expect((await run()).outcome).toBe('passed');
  });

  it('knows a fault that the type checker refuses', () => {
    const other = 'src/other.ts';
    writeFileSync(join(tree.folder, other), 'export const one: number = 1;\n');
    const refused = { start: 27, end: 28, text: "'x'" };
    const sound = { start: 27, end: 28, text: '2' };
    for (const [fault, otherFault, files] of [
      [mutant('boundary'), refused, [FILE]],
      [{ ...mutant('boundary'), text: '+' }, sound, [other]],
      [mutant('boundary'), sound, [FILE, other]],
      [{ ...mutant('boundary'), text: '+' }, refused, []],
    ] as const) {
      const faults = new Map([
        [FILE, fault],
        [other, otherFault],
      ]);
      expect([...tree.sound(faults)]).toEqual(files);
    }
    expect(readFileSync(join(tree.folder, FILE), 'utf8')).toBe(SOURCE);
  });
});
