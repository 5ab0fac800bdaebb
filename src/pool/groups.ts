/**
 * Sends short tasks to the threads in groups. A message to a thread and its answer cost the main thread more than the labels of 100 addresses
 * cost the worker, and the main thread also answers the oracle. Tasks that arrive in one turn of the event loop, or while the threads have
 * enough to do, share one message. Without load, a task is sent alone and at once.
 */

/** Tasks of a group: twice as many save less than a tenth of a message more, and the first of them would wait for all. */
const GROUP_TASKS_MAX = 8;

/** Groups that each thread has at once: one runs and one waits, so that the thread does not sleep between them. */
const GROUPS_PER_THREAD = 2;

interface Waiting<Message, Answer> {
  readonly message: Message;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export interface TaskGroupsOptions<Message, Answer> {
  readonly threads: number;
  /** Sends a group to a thread. Resolves with the answers in the order of the messages. */
  readonly send: (messages: readonly Message[]) => Promise<readonly Answer[]>;
  /** Called if a group fails, before its tasks are sent again. */
  readonly onFailed: (error: unknown) => void;
}

/** The groups of a pool. */
export class TaskGroups<Message, Answer> {
  readonly #options: TaskGroupsOptions<Message, Answer>;
  #waiting: Waiting<Message, Answer>[] = [];
  #running = 0;

  constructor(options: TaskGroupsOptions<Message, Answer>) {
    this.#options = options;
  }

  /**
   * Sends a task with its group. If the group fails, because its thread died, each of its tasks is sent again, alone: only the one that is the
   * cause fails again. Tasks must therefore have no effect but their answer.
   *
   * @throws what `send` throws for the task alone
   */
  run(message: Message): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // After all requests that the event loop has read in this turn. A task behind another one is sent with it, or after a group has ended.
      if (this.#waiting.push({ message, resolve, reject }) === 1) setImmediate(() => this.#sendWaiting());
    });
  }

  #sendWaiting(): void {
    const { threads } = this.#options;
    let free = threads * GROUPS_PER_THREAD - this.#running;
    // Few tasks are spread over all threads.
    const size = Math.min(GROUP_TASKS_MAX, Math.ceil(this.#waiting.length / Math.min(free, threads)));
    for (; free > 0 && this.#waiting.length > 0; free--) void this.#send(this.#waiting.splice(0, size));
  }

  async #send(group: readonly Waiting<Message, Answer>[]): Promise<void> {
    this.#running++;
    try {
      const answers = await this.#options.send(group.map(({ message }) => message));
      for (const [at, { resolve }] of group.entries()) resolve(answers[at] as Answer);
    } catch (error) {
      const [only] = group;
      if (group.length === 1) only?.reject(error);
      else {
        this.#options.onFailed(error);
        for (const one of group) void this.#send([one]);
      }
    } finally {
      this.#running--;
      this.#sendWaiting();
    }
  }
}
