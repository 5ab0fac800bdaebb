/**
 * Sends the steps on accounts that wait at the same turn of the event loop as one script: one round trip, one pass over the functions of the
 * script and one transaction of the append-only file for all of them. In a Redis Cluster, a script has the steps of one account.
 */
import type { Script } from '../../state/redis.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';

/** One step: its keys, and its arguments from the operation. */
export interface BatchedStep {
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer)[];
}

interface WaitingStep extends BatchedStep {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The steps of one script that wait for the end of the turn, by their group. */
export class StepBatches {
  readonly #script: Script;
  readonly #waiting = new Map<string, WaitingStep[]>();

  constructor(script: Script) {
    this.#script = script;
  }

  /**
   * Adds a step to the batch of its group, which is sent at the end of this turn of the event loop, or when it is full. Steps of a group are
   * executed in their order.
   *
   * @param group - the steps of a group may be in one script: their keys are on one server
   * @returns the reply of the step
   */
  run(group: string, step: BatchedStep): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let batch = this.#waiting.get(group);
      if (batch === undefined) {
        batch = [];
        this.#waiting.set(group, batch);
        if (this.#waiting.size === 1) setImmediate(() => this.#sendAll());
      }
      batch.push({ ...step, resolve, reject });
      if (batch.length < ACCOUNT_LIMITS.stepsPerScriptMax) return;
      this.#waiting.delete(group);
      void this.#send(batch);
    });
  }

  #sendAll(): void {
    const batches = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const batch of batches) void this.#send(batch);
  }

  async #send(batch: readonly WaitingStep[]): Promise<void> {
    const keys: string[] = [];
    const args: (string | number | Buffer)[] = [];
    for (const step of batch) {
      keys.push(...step.keys);
      args.push(step.args.length, ...step.args);
    }
    try {
      const replies = (await this.#script(keys, args)) as readonly unknown[];
      for (const [at, { resolve, reject }] of batch.entries()) {
        const reply = replies[at];
        if (reply instanceof Error) reject(reply);
        else resolve(reply);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
