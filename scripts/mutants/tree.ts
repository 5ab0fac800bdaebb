/** A copy of the project in which faults are made, so that the working tree never changes. */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { applied, type Edit } from './operators.ts';
import { ORDER_VARIABLE, REPORT_VARIABLE, type TestReport } from './reporter.ts';

/** Folders that no test reads, or that are linked instead. */
const NOT_COPIED = new Set(['.git', '.mutants', '.bench', 'node_modules', join('data', 'store')]);

/** Thousands of errors, if a fault changes a type that many files use. */
const COMPILER_OUTPUT_MAX = 64 * 1024 * 1024;
/** The line of an error, which begins with its file. */
const ERROR_LINE = /^([^\s(]+)\(\d+,\d+\): error /gm;

/** Time between the request to stop and a forced stop. Meanwhile tests stop the servers they started. */
const GRACE_MS = 10_000;

export interface TestRun {
  /** `hung`: the time limit was exceeded. */
  readonly outcome: 'passed' | 'failed' | 'hung';
  readonly report: TestReport;
  readonly milliseconds: number;
  /** The end of the run's output. */
  readonly output: string;
}

/** Thrown if the run was interrupted while it compiled. */
export class Stopped extends Error {}

export interface Tree {
  /** The copy's folder. Sources are read from here, because the working tree may change during a run. */
  readonly folder: string;
  /**
   * Returns the files that pass the type checker, each with its fault: one run of the compiler takes as long for all of a room as for one. A
   * file may also fail because of the fault in another one, which is rare: few faults change a type.
   */
  sound(faults: ReadonlyMap<string, Edit>): ReadonlySet<string>;
  /** Runs tests with a fault in one file, or none, and removes the fault afterwards. `variables` are added to their environment. */
  run(
    tests: readonly string[],
    limitMs: number,
    fault?: { readonly file: string; readonly edit: Edit },
    variables?: Readonly<Record<string, string>>,
  ): Promise<TestRun>;
  /** Stops running tests and removes the copy. */
  remove(): void;
}

/**
 * Copies the project to a temporary folder. `dist/` must be built.
 *
 * @param root the project's folder
 */
export function copyTree(root: string): Tree {
  const parent = mkdtempSync(join(tmpdir(), 'assay-mutants-'));
  const folder = join(parent, 'assay');
  cpSync(root, folder, { recursive: true, filter: (path) => !NOT_COPIED.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  let endRunning = (): void => {};

  /** Runs the compiler on some files. The tests use the existing build for the rest of `dist/`. */
  const compile = (
    files: readonly string[],
    options: Readonly<Record<string, unknown>>,
  ): { readonly passes: boolean; readonly output: string } => {
    const settings = { extends: './tsconfig.json', compilerOptions: options, include: [], files };
    const path = join(folder, 'tsconfig.mutant.json');
    writeFileSync(path, JSON.stringify(settings));
    const compiler = join('node_modules', 'typescript', 'bin', 'tsc');
    const compiled = spawnSync(process.execPath, [compiler, '-p', path, '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: COMPILER_OUTPUT_MAX,
    });
    rmSync(path);
    // A keyboard interrupt reaches the compiler before this process.
    if (compiled.signal !== null) throw new Stopped();
    return { passes: compiled.status === 0, output: compiled.stdout };
  };

  const builtPath = (file: string): string => join(folder, 'dist', file.replace(/\.ts$/, '.js'));

  /** Puts a fault into the source and into the built file, which workers and servers run. */
  const put = (file: string, edit: Edit): (() => void) => {
    const source = readFileSync(join(folder, file), 'utf8');
    const built = readFileSync(builtPath(file), 'utf8');
    writeFileSync(join(folder, file), applied(source, edit));
    const takeOut = (): void => {
      writeFileSync(join(folder, file), source);
      writeFileSync(builtPath(file), built);
    };
    if (compile([file], { noCheck: true, noResolve: true }).passes) return takeOut;
    takeOut();
    throw new Error(`${file}: does not build with the fault in it.`);
  };

  const runTests = (
    tests: readonly string[],
    limitMs: number,
    variables: Readonly<Record<string, string>>,
  ): Promise<TestRun> => {
    const reportPath = join(parent, 'report.json');
    rmSync(reportPath, { force: true });
    const args = [
      'run',
      '--config',
      'scripts/mutants/vitest.config.ts',
      '--root',
      '.',
      '--bail',
      '1',
      ...tests,
    ];
    const environment = {
      ASSAY_TEST_SHARED_DATA: join(dirname(root), 'shared', 'data'),
      ...process.env,
      ASSAY_TEST_PREBUILT: '1',
      ASSAY_TEST_COMPILED: 'no',
      [REPORT_VARIABLE]: reportPath,
      [ORDER_VARIABLE]: tests.join(','),
      ...variables,
    };
    const started = Date.now();
    // A process group of its own: processes that the tests start are stopped together with them.
    const child = spawn(process.execPath, [join('node_modules', 'vitest', 'vitest.mjs'), ...args], {
      cwd: folder,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const signalAll = (signal: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // The group has already ended.
      }
    };
    let output = '';
    const collect = (text: string): void => {
      output = (output + text).slice(-4000);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    return new Promise((resolve, reject) => {
      let hung = false;
      let force: NodeJS.Timeout | undefined;
      const limit = setTimeout(() => {
        hung = true;
        signalAll('SIGTERM');
        force = setTimeout(() => signalAll('SIGKILL'), GRACE_MS);
      }, limitMs);
      endRunning = () => signalAll('SIGKILL');
      child.on('error', reject);
      child.on('exit', (code) => {
        clearTimeout(limit);
        clearTimeout(force);
        signalAll('SIGKILL');
        endRunning = () => {};
        const report = existsSync(reportPath)
          ? (JSON.parse(readFileSync(reportPath, 'utf8')) as TestReport)
          : { milliseconds: {}, failures: [`the test run ended with code ${code}`] };
        const outcome = hung ? 'hung' : code === 0 ? 'passed' : 'failed';
        resolve({ outcome, report, milliseconds: Date.now() - started, output });
      });
    });
  };

  return {
    folder,
    sound: (faults) => {
      const files = [...faults.keys()];
      const sources = files.map((file) => readFileSync(join(folder, file), 'utf8'));
      const writeAll = (textOf: (source: string, file: string) => string): void => {
        for (const [at, file] of files.entries())
          writeFileSync(join(folder, file), textOf(sources[at] as string, file));
      };
      writeAll((source, file) => applied(source, faults.get(file) as Edit));
      try {
        const unused = { noUnusedLocals: false, noUnusedParameters: false };
        const { passes, output } = compile(files, { noEmit: true, ...unused });
        const failed = new Set([...output.matchAll(ERROR_LINE)].map(([, file]) => file));
        if (!passes && failed.size === 0) throw new Error(`The compiler fails:\n${output}`);
        return new Set(files.filter((file) => !failed.has(file)));
      } finally {
        writeAll((source) => source);
      }
    },
    run: async (tests, limitMs, fault, variables = {}) => {
      const takeOut = fault === undefined ? () => {} : put(fault.file, fault.edit);
      try {
        return await runTests(tests, limitMs, variables);
      } finally {
        takeOut();
      }
    },
    remove: () => {
      endRunning();
      rmSync(parent, { recursive: true, force: true });
    },
  };
}
