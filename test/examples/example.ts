/** Runs an example as a user does: its folder with its packages, in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '../../src/base/paths.ts';

/** Files that every example may import. */
const SHARED = 'shared';

const PATH = process.env.PATH ?? '';

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunningExample {
  /** `http://127.0.0.1:port`, from its first line of output. */
  readonly url: string;
  /** The JSON lines of its log so far. */
  log(): readonly Readonly<Record<string, unknown>>[];
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface Example {
  readonly folder: string;
  /** Imports a module of the example. Its types are not known to the compiler. */
  // biome-ignore lint/suspicious/noExplicitAny: a JavaScript module without declarations.
  load(file: string): Promise<any>;
  /** Runs a program of the example to its end. */
  run(
    file: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<Finished>;
  /** Starts a server of the example and waits until it listens. */
  serve(file: string, environment: Readonly<Record<string, string>>): Promise<RunningExample>;
  /** Ends what still runs, and removes the copy. */
  remove(): Promise<void>;
}

/**
 * Copies an example to a folder outside the project, so that it finds no packages but its own.
 *
 * @param packages folder that has the `node_modules` of the example; null if it needs none
 */
export function copyExample(name: string, packages: string | null): Example {
  const root = mkdtempSync(join(tmpdir(), 'assay-example-'));
  const folder = join(root, name);
  for (const each of [name, SHARED])
    cpSync(join(projectRoot, 'examples', each), join(root, each), { recursive: true });
  if (packages !== null) symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules'));
  const running = new Set<ChildProcess>();

  function start(file: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, [join(folder, file), ...args], {
      cwd: folder,
      env: { PATH, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    const output = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => {
        running.delete(child);
        resolve(code);
      });
    });
    return { child, output, ended };
  }

  return {
    folder,
    load: (file) => import(pathToFileURL(join(folder, file)).href),
    async run(file, args, environment) {
      const { output, ended } = start(file, args, environment);
      return { code: await ended, ...output };
    },
    serve(file, environment) {
      const { child, output, ended } = start(file, [], { PORT: '0', ...environment });
      return new Promise((resolve, reject) => {
        child.stdout.on('data', () => {
          const url = /^listening on (\S+)$/m.exec(output.out)?.[1];
          if (url === undefined) return;
          resolve({
            url,
            log: () =>
              output.err
                .split('\n')
                .filter((line) => line.startsWith('{'))
                .map((line) => JSON.parse(line) as Record<string, unknown>),
            async stop(signal = 'SIGTERM') {
              child.kill(signal);
              await ended;
            },
          });
        });
        void ended.then(
          (code) => reject(new Error(`${file} ended with ${code}: ${output.out}${output.err}`)),
          reject,
        );
      });
    },
    async remove() {
      await Promise.all(
        [...running].map(
          (child) =>
            new Promise((resolve) => {
              child.on('close', resolve);
              child.kill('SIGKILL');
            }),
        ),
      );
      rmSync(root, { recursive: true, force: true });
    },
  };
}
