/** Counts payments that failed on chain: each has cost gas and brought nothing. Each node counts what it reads. */
import type { Clock } from '../../base/clock.ts';
import { X402_LIMITS } from './limits.ts';

interface Failure {
  /** Key of the payment. */
  readonly key: string;
  readonly client: string;
  readonly atMs: number;
}

export class FailureBudget {
  readonly #clock: Clock;
  #failures: Failure[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #recent(): readonly Failure[] {
    const since = this.#clock.monotonic() - X402_LIMITS.failuresMs;
    if ((this.#failures[0]?.atMs ?? since) < since)
      this.#failures = this.#failures.filter(({ atMs }) => atMs >= since);
    return this.#failures;
  }

  /** Whether another payment of a client may be sent. */
  mayTry(client: string): boolean {
    const recent = this.#recent();
    const own = recent.filter((failure) => failure.client === client).length;
    return recent.length < X402_LIMITS.failuresMax && own < X402_LIMITS.failuresPerClientMax;
  }

  /** Counts a payment, once. */
  note(key: string, client: string): void {
    if (this.#recent().some((failure) => failure.key === key)) return;
    // More are not needed for a refusal.
    if (this.#failures.length >= X402_LIMITS.failuresMax * 2) this.#failures.shift();
    this.#failures.push({ key, client, atMs: this.#clock.monotonic() });
  }
}
