/** Chains that this node should follow and cannot, so that another node with a chain node of its own may follow them. */
import type { Clock } from '../base/clock.ts';
import type { MonitoringChain } from './records.ts';

/** How long a chain may not be followed before this node names it: a chain node restarts within this time. */
const PATIENCE_MS = 15_000;
/**
 * First and longest time for which this node names a chain. Without the lease it does not read the chain, so it does not know when that
 * works again: it is then assigned the chain again, and if it fails again, names it for twice as long.
 */
const NAMED_MS = { min: 60_000, max: 30 * 60_000 };

interface Trouble {
  /** Monotonic time since which the chain is not followed; null while it is. */
  sinceMs: number | null;
  /** Monotonic time until which this node names the chain. */
  untilMs: number;
  /** How long it names the chain the next time. */
  nextMs: number;
}

export class FailingChains {
  readonly #clock: Clock;
  readonly #onChange: (chains: readonly MonitoringChain[]) => void;
  readonly #troubles = new Map<MonitoringChain, Trouble>();
  /** The chains that were named last. */
  #named = '';

  constructor(clock: Clock, onChange: (chains: readonly MonitoringChain[]) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Takes note of a chain whose lease this node holds. */
  note(chain: MonitoringChain, now: { readonly isFollowing: boolean; readonly isReading: boolean }): void {
    const at = this.#clock.monotonic();
    const trouble = this.#troubles.get(chain);
    if (now.isFollowing) {
      if (now.isReading) this.#troubles.delete(chain);
      else if (trouble !== undefined) trouble.sinceMs = null;
      return;
    }
    if (trouble === undefined) {
      this.#troubles.set(chain, { sinceMs: at, untilMs: at, nextMs: NAMED_MS.min });
      return;
    }
    trouble.sinceMs ??= at;
    if (at - trouble.sinceMs < PATIENCE_MS || at < trouble.untilMs) return;
    trouble.untilMs = at + trouble.nextMs;
    trouble.nextMs = Math.min(NAMED_MS.max, trouble.nextMs * 2);
  }

  /** Calls the listener if other chains are named now than before. */
  publish(): void {
    const at = this.#clock.monotonic();
    const named = [...this.#troubles].flatMap(([chain, { untilMs }]) => (untilMs > at ? [chain] : []));
    // Patience begins again with the next lease.
    for (const trouble of this.#troubles.values()) if (trouble.untilMs > at) trouble.sinceMs = null;
    const text = named.sort().join();
    if (text === this.#named) return;
    this.#named = text;
    this.#onChange(named);
  }
}
