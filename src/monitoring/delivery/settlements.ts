/**
 * Stores the outcomes of attempts, those that end in the same turn of the event loop in one transaction: a transaction for each costs more
 * than its writes.
 */
import type { Fence } from '../../state/live-store.ts';
import type { EndedAttempt, LmdbOutbox } from './outbox-lmdb.ts';

interface Settlement {
  readonly ended: EndedAttempt;
  readonly fence: Fence | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Settlements {
  readonly #outbox: Pick<LmdbOutbox, 'settle'>;
  #waiting: Settlement[] = [];

  constructor(outbox: Pick<LmdbOutbox, 'settle'>) {
    this.#outbox = outbox;
  }

  /**
   * Stores the outcome of an attempt; durable when it resolves. If it rejects, nothing of this attempt is stored.
   *
   * @param fence - of the lease under which the attempt was made
   */
  add(ended: EndedAttempt, fence: Fence | null): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#storeAll());
      this.#waiting.push({ ended, fence, resolve, reject });
    });
  }

  #storeAll(): void {
    const all = this.#waiting;
    this.#waiting = [];
    // The fence changes when this node gets the lease again.
    while (all.length > 0) {
      const { fence } = all[0] as Settlement;
      const until = all.findIndex((one) => one.fence !== fence);
      void this.#store(all.splice(0, until === -1 ? all.length : until), fence);
    }
  }

  async #store(settlements: readonly Settlement[], fence: Fence | null): Promise<void> {
    try {
      const errors = await this.#outbox.settle(
        settlements.map(({ ended }) => ended),
        fence,
      );
      for (const [at, { resolve, reject }] of settlements.entries())
        if (errors[at] === null) resolve();
        else reject(errors[at]);
    } catch (error) {
      for (const { reject } of settlements) reject(error);
    }
  }
}
