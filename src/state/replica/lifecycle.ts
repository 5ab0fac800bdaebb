/** The lifecycle of a replicated store, shared by its parts. */

/** `closing`: queued transactions are tried once more, and no new ones are accepted. `closed`: nothing is sent any more. */
export type Phase = 'open' | 'closing' | 'closed';

/** The phase of a store. `enter` is the only transition. */
export class Lifecycle {
  readonly #closed = new AbortController();
  #phase: Phase = 'open';

  get phase(): Phase {
    return this.#phase;
  }

  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  get isClosed(): boolean {
    return this.#phase === 'closed';
  }

  /** Aborted when the store is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Enters the next phase. A store never returns to an earlier one. */
  enter(phase: 'closing' | 'closed'): void {
    this.#phase = phase;
    if (phase === 'closed') this.#closed.abort();
  }
}
