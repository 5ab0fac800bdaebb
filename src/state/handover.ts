/**
 * Decides when a node that holds a lease, and cannot do its work, leaves it to other nodes. The holder of a lease renews it whatever becomes
 * of its work, so without this another node that could do the work would not get it.
 */
import type { Clock } from '../base/clock.ts';

export interface HandoverOptions {
  /** What the work needs, for the reason: `the chain node of ETH`. */
  readonly needs: string;
  /** Tries what the work needs. Rejects if it fails. */
  readonly probe: () => Promise<unknown>;
  /** How long the work may fail before the lease is released. Default: 15 s, in which a chain node restarts. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 15_000;
/**
 * First and longest time for which this node does not ask for the lease. It doubles if the work fails again although the probe succeeds, for
 * example on a node that knows the head of the chain and lacks its blocks.
 */
const AWAY_MS = { min: 5_000, max: 5 * 60_000 };

export class Handover {
  readonly #options: HandoverOptions;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Monotonic time since which the work fails; null while it does not. */
  #sinceMs: number | null = null;
  /** Monotonic time of the next probe; null if this node asks for the lease. */
  #untilMs: number | null = null;
  #nextMs: number = AWAY_MS.min;

  constructor(options: HandoverOptions, clock: Pick<Clock, 'monotonic'>) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Takes note that the work makes progress. */
  succeeded(): void {
    this.#sinceMs = null;
    this.#nextMs = AWAY_MS.min;
  }

  /**
   * Takes note that the work fails now.
   *
   * @returns whether it has failed for too long: the work must end, which releases the lease
   */
  failed(): boolean {
    const at = this.#clock.monotonic();
    this.#sinceMs ??= at;
    if (at - this.#sinceMs < (this.#options.patienceMs ?? PATIENCE_MS)) return false;
    this.#sinceMs = null;
    this.#untilMs = at + this.#nextMs;
    this.#nextMs = Math.min(AWAY_MS.max, this.#nextMs * 2);
    return true;
  }

  /** Returns why this node does not ask for the lease, as a sentence; null if it does. */
  async obstacle(): Promise<string | null> {
    if (this.#untilMs === null) return null;
    const reason = `This node does not reach ${this.#options.needs}.`;
    if (this.#clock.monotonic() < this.#untilMs) return reason;
    try {
      await this.#options.probe();
    } catch {
      this.#untilMs = this.#clock.monotonic() + AWAY_MS.min;
      return reason;
    }
    this.#untilMs = null;
    return null;
  }
}
