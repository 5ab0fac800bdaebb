/**
 * Sends the steps on accounts that wait at the same turn of the event loop as one script: one round trip, one pass over the functions of the
 * script and one transaction of the append-only file for all of them. In a Redis Cluster, a script has the steps of one account.
 */
import type { Script } from '../../state/redis.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import { packSteps, type Reply, type StepValue, unpackReply } from './step-codec.ts';

/** One step: what the script reads, and the keys that a Redis Cluster must know to route it. */
export interface BatchedStep {
  readonly keys: readonly string[];
  readonly values: readonly StepValue[];
}

interface WaitingStep extends BatchedStep {
  readonly resolve: (reply: Reply) => void;
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
  run(group: string, step: BatchedStep): Promise<Reply> {
    return new Promise((resolve, reject) => {
      let batch = this.#waiting.get(group);
      if (batch === undefined) {
        batch = [];
        this.#waiting.set(group, batch);
        if (this.#waiting.size === 1) setImmediate(() => this.#sendAll());
      }
      batch.push({ keys: step.keys, values: step.values, resolve, reject });
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
    try {
      const keys = batch.flatMap((step) => step.keys);
      const packed = packSteps(batch.map(({ values }) => values));
      const replies = (await this.#script([...new Set(keys)], [packed])) as readonly (
        | Reply
        | Buffer
        | Error
      )[];
      for (const [at, { resolve, reject }] of batch.entries()) {
        const reply = replies[at] ?? new Error('Redis did not reply to a step of a script.');
        if (reply instanceof Error) reject(reply);
        else resolve(unpackReply(reply));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
