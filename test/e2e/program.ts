/** Runs the built program as a user does: a command to its end, or a server until it is stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { MODULES_PROGRAM, PROGRAM } from '../setup/program-path.ts';
import { sleep, until as untilMet } from '../support/wait.ts';

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunningServer {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** The key of the first start; empty if a key existed already. */
  readonly firstKey: string;
  readonly pid: number;
  /** All output so far. */
  output(): { readonly out: string; readonly err: string };
  /** Stops the server and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface World {
  readonly folder: string;
  /** Runs a command, and repeats it if it was refused because Redis was silent. */
  run(
    args: readonly string[],
    options?: { input?: string; environment?: Record<string, string>; readerLeavesAfter?: number },
  ): Promise<Outcome>;
  /**
   * Runs a command in the process of the test, without a log: it takes a tenth of the processor time of a process. For what a test only needs
   * done, and for checks of what a command does to the state. It has no input.
   */
  here(args: readonly string[], options?: { environment?: Record<string, string> }): Promise<Outcome>;
  serve(environment?: Record<string, string>): Promise<RunningServer>;
  /** Kills the running processes and removes the folder. */
  end(): Promise<void>;
}

/** Reads the first key from the file that the output names; empty if it names none. */
function storedKey(out: string): string {
  const path = /^The first API key is in (.+)$/m.exec(out)?.[1];
  return path === undefined ? '' : readFileSync(path, 'utf8').trim();
}

/** On a busy machine, a command may not hear from Redis for a second and do nothing. A person would try again. */
const isRefusedForAMoment = ({ code, err }: Outcome): boolean =>
  code === 1 && err.includes('has not heard from Redis for a second');

/** Commands that build the shipped labels and names if there are none, or read them. */
const BUILDERS: ReadonlySet<string> = new Set(['serve', 'import', 'index', 'labels', 'sync']);

/**
 * Creates a world: a folder of state of its own, without a network. Its first server or command finds the labels and names that ship built
 * already, unless the shipped program runs or the node pulls them from another one.
 *
 * @param program - the built program that its commands and servers run
 */
export function newWorld(program: string = PROGRAM): World {
  return createWorld(program, program !== MODULES_PROGRAM);
}

/** Creates a world for a test of a first start, or of a disk that becomes full in it: nothing is built. */
export function newEmptyWorld(): World {
  return createWorld(PROGRAM, false);
}

function createWorld(program: string, isPrepared: boolean): World {
  const folder = mkdtempSync(join(tmpdir(), 'assay-e2e-'));
  const running = new Set<ChildProcess>();
  const store = join(folder, 'store');
  const settingsWith = (more: Record<string, string> = {}): Record<string, string> => ({
    ASSAY_DATA_DIR: store,
    ASSAY_PORT: '0',
    ASSAY_SYNC: 'off',
    // Each thread takes 0.2 s of processor time to start, and by default there is one for each core.
    ASSAY_WORKERS: '1',
    ...more,
  });
  const environmentWith = (more?: Record<string, string>): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    ...settingsWith(more),
  });
  function prepare([command = '']: readonly string[], { ASSAY_SNAPSHOT_FROM }: NodeJS.ProcessEnv): void {
    if (isPrepared && ASSAY_SNAPSHOT_FROM === undefined && BUILDERS.has(command)) prepareFolder(store);
  }

  function start(args: readonly string[], environment: NodeJS.ProcessEnv): ChildProcess {
    prepare(args, environment);
    const child = spawn(process.execPath, [program, ...args], { env: environment, stdio: 'pipe' });
    running.add(child);
    child.on('exit', () => running.delete(child));
    return child;
  }

  /** Repeats a command that was refused because Redis was silent. */
  async function repeated(runOnce: () => Promise<Outcome>): Promise<Outcome> {
    for (let tries = 0; ; tries++) {
      const outcome = await runOnce();
      if (tries === 5 || !isRefusedForAMoment(outcome)) return outcome;
    }
  }

  const runOnce: World['run'] = (args, { input = '', environment, readerLeavesAfter } = {}) => {
    const child = start(args, environmentWith(environment));
    let out = '';
    let err = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (readerLeavesAfter !== undefined && out.length > readerLeavesAfter) child.stdout?.destroy();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, out, err }));
    });
  };

  return {
    folder,
    run: (args, options) => repeated(() => runOnce(args, options)),
    async here(args, { environment } = {}) {
      // Loaded when it is needed, because it is the whole program.
      const { runCommand } = await import('../cli/run-command.ts');
      const settings = settingsWith(environment);
      prepare(args, settings);
      return repeated(() => runCommand(settings.ASSAY_DATA_DIR ?? store, args, settings));
    },
    serve(environment) {
      const child = start(['serve'], environmentWith(environment));
      let out = '';
      let err = '';
      const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
      return new Promise((resolve, reject) => {
        child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
        child.stdout?.setEncoding('utf8').on('data', (text: string) => {
          out += text;
          const url = /^Assay answers on (\S+) /m.exec(out)?.[1];
          if (!url) return;
          resolve({
            url,
            pid: child.pid as number,
            firstKey: storedKey(out),
            output: () => ({ out, err }),
            stop: (signal = 'SIGTERM') => {
              child.kill(signal);
              return ended;
            },
          });
        });
        void ended.then((code) => reject(new Error(`serve ended with ${code}: ${out}${err}`)));
      });
    },
    async end() {
      await Promise.all(
        [...running].map(
          (child) =>
            new Promise((resolve) => {
              child.on('close', resolve);
              child.kill('SIGKILL');
            }),
        ),
      );
      // A child of a killed server may write for a moment longer, also files that the removal has not listed.
      for (let tries = 1; ; tries++) {
        try {
          return rmSync(folder, { recursive: true, force: true, maxRetries: 2, retryDelay: 100 });
        } catch (error) {
          if (tries === 40) throw error;
          await sleep(250);
        }
      }
    },
  };
}

/** Longer than the time limit of any test, which ends the wait first. */
const UNTIL_TIMEOUT_MS = 900_000;

/** Waits until a condition holds. It polls slowly, because each poll may be a request to the program. */
export const until = (isMet: () => boolean | Promise<boolean>): Promise<void> =>
  untilMet(isMet, 'the condition', UNTIL_TIMEOUT_MS, 100);

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, never>;
}

/**
 * Retries, as clients do, while the response is a 500 with Retry-After: a node that has not heard from Redis for a second, which happens on
 * a busy machine, refuses instead of answering from earlier state.
 */
export async function patiently<T extends { readonly status: number; readonly headers: Headers }>(
  askOnce: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    const answer = await askOnce();
    const seconds = Number(answer.headers.get('retry-after') ?? 0);
    if (answer.status !== 500 || seconds === 0 || tries === 30) return answer;
    await sleep(seconds * 1_000);
  }
}

/** Sends a GET, or a POST if there is a body, with a key, and parses the response. Retries patiently. */
export const ask = (server: RunningServer, key: string, path: string, body?: unknown): Promise<Answer> =>
  patiently(() => askOnce(server, key, path, body));

/** Like `ask`, but without retries, for tests that expect the refusal. */
export async function askOnce(
  server: RunningServer,
  key: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    // The failure should say why the server is gone.
    const { out, err } = server.output();
    throw new Error(`${server.url}${path} cannot be reached. The server said: ${out}${err}`, { cause });
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as never };
}
