/**
 * Steps on holds with an unknown outcome, because Redis did not reply: each is repeated until Redis replies again. `undo` returns the
 * credits of a charge of a failed request; `release` only frees a hold.
 */
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/retry.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import type { AccountSteps } from './account-steps.ts';

/** Credits that a request holds. */
export interface Hold {
  readonly accountId: string;
  readonly amount: number;
  readonly nonce: string;
  /** The server's time when the hold was placed. */
  readonly since: number;
}

/** A step to run when Redis replies again. */
export interface PendingStep extends Hold {
  readonly operation: 'undo' | 'release';
}

const RETRY_PAUSE_MS = 500;

export interface PendingStepsDeps {
  readonly steps: AccountSteps;
  readonly log: Logger;
  /** Free credits per month of an account; 0 if it has none (yet). */
  readonly freeCredits: (accountId: string) => number;
}

/** A queue of steps that are retried until they succeed. */
export class PendingSteps {
  readonly #steps: AccountSteps;
  readonly #log: Logger;
  readonly #freeCredits: (accountId: string) => number;
  readonly #queue: PendingStep[] = [];
  #running: Promise<void> | null = null;
  #isStopping = false;

  constructor({ steps, log, freeCredits }: PendingStepsDeps) {
    this.#steps = steps;
    this.#log = log;
    this.#freeCredits = freeCredits;
  }

  /** Adds a step and starts it; a full queue drops it with an error in the log. */
  add(step: PendingStep): void {
    if (this.#queue.length >= ACCOUNT_LIMITS.pendingStepsMax) {
      this.#log.error(
        { account: step.accountId, nonce: step.nonce },
        'ledger: undo queue full, charge not undone',
      );
      return;
    }
    this.#queue.push(step);
    this.#running ??= this.#runAll().finally(() => {
      this.#running = null;
    });
  }

  /** From now on, the first failure ends the retries. */
  stopRetrying(): void {
    this.#isStopping = true;
  }

  /** Waits for the running steps, and logs those that were not executed. Call `stopRetrying` before. */
  async close(): Promise<void> {
    await this.#running;
    for (const { operation, accountId, nonce } of this.#queue)
      this.#log.error({ operation, account: accountId, nonce }, 'ledger: closed with a pending operation');
  }

  async #runAll(): Promise<void> {
    let isReported = false;
    for (let [step] = this.#queue; step !== undefined; [step] = this.#queue) {
      try {
        await this.#run(step);
        this.#queue.shift();
        if (isReported && this.#queue.length === 0) this.#log.info('ledger: all pending charges undone');
      } catch (error) {
        if (!isReported)
          this.#log.warn(
            { account: step.accountId, reason: messageOf(error) },
            'ledger: charge not undone yet',
          );
        isReported = true;
        if (this.#isStopping) return;
        // The server of another account may be available: continue with the next one.
        this.#queue.push(...this.#queue.splice(0, 1));
        await sleep(RETRY_PAUSE_MS, undefined, { unref: true });
      }
    }
  }

  async #run({ operation, accountId, nonce, amount, since }: PendingStep): Promise<void> {
    const steps = this.#steps;
    if (operation === 'release') {
      await steps.runSafely('release', accountId, [nonce, amount, ACCOUNT_LIMITS.ledgerMarkMs], {
        mark: nonce,
      });
      return;
    }
    const args = [
      nonce,
      amount,
      this.#freeCredits(accountId),
      since,
      steps.nonce(),
      ACCOUNT_LIMITS.ledgerMarkMs,
    ];
    await steps.runSafely('undo', accountId, args, { mark: nonce });
  }
}
