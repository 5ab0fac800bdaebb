/** Runs a command in a child process beside requests, one at a time: its memory is freed when the process exits. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Logger } from './log.ts';
import { lowerPriority } from './priority.ts';

/** Characters of the end of its error output that an error quotes. */
const ERRORS_SHOWN = 2_000;

export class CommandChild {
  readonly #command: readonly string[];
  readonly #log: Logger;
  #running: ChildProcess | null = null;

  /** @param command - the program and its first arguments */
  constructor(command: readonly string[], log: Logger) {
    this.#command = command;
    this.#log = log;
  }

  /**
   * Runs the command with one more argument. Resolves when it exits with 0.
   *
   * @param what - subject of the sentence of the error
   * @throws Error with the exit code and the end of the error output
   */
  run(argument: string, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const [program, ...args] = this.#command as [string, ...string[]];
      // The IPC channel lets the child detect that this process has exited for any reason, so that it does not continue alone.
      const started = spawn(program, [...args, argument], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
      this.#running = started;
      // Requests have priority.
      lowerPriority(started.pid, this.#log);
      let errors = '';
      started.stderr?.on('data', (chunk: Buffer) => {
        errors = (errors + chunk.toString()).slice(-ERRORS_SHOWN);
      });
      started.on('error', reject);
      started.on('close', (code) => {
        this.#running = null;
        if (code === 0) resolve();
        else reject(new Error(`${what} exited with ${code}: ${errors.trim()}`));
      });
    });
  }

  /** Sends a signal to the process, if one runs. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#running?.kill(signal);
  }
}
