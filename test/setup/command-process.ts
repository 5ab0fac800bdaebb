/**
 * Runs command lines one after the other in one process beside that of the test. The start of a process takes ten times as long as most
 * commands, and a fault that ends the process, such as a write to a mapped file on a full disk, does not end that of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../src/base/paths.ts';
import { type CommandOutcome, runCommand } from '../cli/run-command.ts';

const BUILT = join(projectRoot, 'dist', 'test', 'setup', 'command-process.js');

type Environment = Readonly<Record<string, string>>;
/** One line to the process: a command line and the settings of the program, among them ASSAY_DATA_DIR. */
interface Order {
  readonly args: readonly string[];
  readonly environment: Environment;
}

export interface CommandProcess {
  /**
   * Runs one command line. It has no input.
   *
   * @param environment - settings of the program, among them ASSAY_DATA_DIR
   * @throws Error if the process ended instead
   */
  run(args: readonly string[], environment: Environment): Promise<CommandOutcome>;
  end(): Promise<void>;
}

/** Starts a process that runs the commands of the built program. */
export function startCommandProcess(): CommandProcess {
  const child: ChildProcess = spawn(process.execPath, [BUILT], {
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting: { resolve(outcome: CommandOutcome): void; reject(error: Error): void }[] = [];
  const ended = new Promise<void>((resolve) =>
    child.once('close', (code, signal) => {
      for (const { reject } of waiting.splice(0))
        reject(new Error(`The process of commands ended: ${signal ?? code}`));
      resolve();
    }),
  );
  child.stdin?.on('error', () => {});
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
    waiting.shift()?.resolve(JSON.parse(line) as CommandOutcome),
  );
  return {
    run: (args, environment) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.stdin?.write(`${JSON.stringify({ args, environment } satisfies Order)}\n`);
        if (child.exitCode !== null || child.signalCode !== null)
          reject(new Error(`The process of commands has ended: ${child.signalCode ?? child.exitCode}`));
      }),
    end() {
      child.stdin?.end();
      return ended;
    },
  };
}

if (process.argv[1] === BUILT && fileURLToPath(import.meta.url) === BUILT) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { args, environment } = JSON.parse(line) as Order;
    process.stdout.write(
      `${JSON.stringify(await runCommand(environment.ASSAY_DATA_DIR ?? '', args, environment))}\n`,
    );
  }
  process.exit();
}
