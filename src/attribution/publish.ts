/**
 * Publishes disputes that a server has stored: a command in a child process writes the derived labels again without the disputed addresses,
 * and builds the index. The parser of a large store of labels then takes neither time nor memory from requests.
 */
import { CommandChild } from '../base/command-child.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';

/** A build notices SIGTERM between its phases; one that does not end is killed, and its snapshot discarded. */
const STOP_MS = 5_000;

/** One run at a time. Requests during a run are answered by one more run. */
export class DisputePublisher {
  readonly #child: CommandChild;
  readonly #log: Logger;
  #running: Promise<void> | null = null;
  #isWanted = false;
  #isStopped = false;

  /** @param command - the program and its arguments: `assay labels disputes --publish` */
  constructor(command: readonly string[], log: Logger) {
    this.#child = new CommandChild(command, log);
    this.#log = log;
  }

  /** Publishes soon. A failure is logged: the disputes are stored, and the next build or sync publishes them. */
  request(): void {
    this.#isWanted = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      try {
        await this.#child.run('--json', 'the publication of disputes');
      } catch (error) {
        if (!this.#isStopped) this.#log.warn({ reason: messageOf(error) }, 'disputes were not published');
      }
    }
    this.#running = null;
  }

  /** Ends the run, if there is one. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    this.#child.kill('SIGTERM');
    await this.#running;
    clearTimeout(kill);
  }
}
