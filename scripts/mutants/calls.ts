/**
 * Which functions of the program each test file calls, in its own process and in the processes that it starts. Measured by V8's coverage in
 * one run over all tests, and kept for later runs: most tests start the built program, so imports say little about what they execute.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';
import type { Mutant } from './operators.ts';
import type { Tree } from './tree.ts';

/** The measured calls of one test file. */
export interface TestCalls {
  /** Digest of the test file. */
  readonly digest: string;
  readonly milliseconds: number;
  /** `src/folder/file.ts name`; the name is empty for the top level of the file and for functions without a name. */
  readonly functions: readonly string[];
}

/** By test file. */
export type Calls = Readonly<Record<string, TestCalls>>;

/** Returns the file with the calls of a test, inside the folder of all. */
const pathOf = (folder: string, test: string): string => join(folder, `${encodeURIComponent(test)}.json`);

/** Reads the calls that were measured before; none if there is no folder. */
export function readCalls(folder: string): Calls {
  if (!existsSync(folder)) return {};
  return Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => [
        decodeURIComponent(name.slice(0, -'.json'.length)),
        readJson(join(folder, name)) as TestCalls,
      ]),
  );
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Returns the source file of a script of the program, or null for others. */
function sourceOf(url: string, root: string): string | null {
  if (!url.startsWith('file:')) return null;
  const path = relative(root, fileURLToPath(url)).replaceAll('\\', '/');
  const file = path.replace(/^dist\/(.*)\.js$/, '$1.ts');
  return /^(?:src|workers)\//.test(file) ? file : null;
}

/** Returns the called functions in V8's coverage files of a folder. */
export function functionsIn(folder: string, root: string): string[] {
  const found = new Set<string>();
  for (const name of readdirSync(folder)) {
    let scripts: readonly ScriptCoverage[];
    try {
      scripts = (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: ScriptCoverage[] }).result;
    } catch {
      // A process that was killed while it wrote the file.
      continue;
    }
    for (const { url, functions } of scripts) {
      const file = sourceOf(url, root);
      if (file === null) continue;
      for (const { functionName, ranges } of functions)
        if ((ranges[0]?.count ?? 0) > 0) found.add(`${file} ${functionName}`);
    }
  }
  return [...found].sort();
}

/**
 * Runs each test file once and stores what it called in a file of its own, so that an interrupted run continues.
 *
 * @param to folder of the files
 * @param tests files to run, without those whose calls are known
 * @param limitMs time limit of one file
 * @param note prints one line
 */
export async function measureCalls(
  to: string,
  tests: readonly { readonly test: string; readonly digest: string }[],
  trees: readonly Tree[],
  limitMs: number,
  note: (line: string) => void,
): Promise<void> {
  const left = [...tests];
  const measureInTurn = async (tree: Tree): Promise<void> => {
    for (let each = left.shift(); each !== undefined; each = left.shift()) {
      const { test, digest } = each;
      const folder = mkdtempSync(join(tmpdir(), 'assay-calls-'));
      try {
        const { outcome, milliseconds } = await tree.run([test], limitMs, undefined, {
          NODE_V8_COVERAGE: folder,
        });
        const state = outcome === 'passed' ? `${Math.round(milliseconds / 1000)} s` : outcome;
        note(`[${tests.length - left.length}/${tests.length}] ${test} ${state}`);
        if (outcome !== 'passed') continue;
        const functions = functionsIn(folder, tree.folder);
        writeJsonAtomically(pathOf(to, test), { digest, milliseconds, functions } satisfies TestCalls);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  };
  await Promise.all(trees.map(measureInTurn));
}

/** Returns the test files that call the function in which a mutant is; those that load its file if no call of that function is known. */
export function testsCalling(calls: Calls, { file, within }: Pick<Mutant, 'file' | 'within'>): Set<string> {
  const names = [within, `get ${within}`, `set ${within}`].map((name) => `${file} ${name}`);
  const tests = Object.entries(calls);
  const called = tests.filter(([, { functions }]) => names.some((name) => functions.includes(name)));
  const loaded = tests.filter(([, { functions }]) => functions.some((name) => name.startsWith(`${file} `)));
  return new Set((called.length > 0 ? called : loaded).map(([test]) => test));
}
