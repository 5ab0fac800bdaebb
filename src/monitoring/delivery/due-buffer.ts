/**
 * The due deliveries of one receiver that were read from the outbox and not attempted yet. Without it, each attempt would read the start
 * of the queue again: up to 256 rows, which cost more than the attempt itself.
 *
 * An entry can be outdated, because its delivery was cancelled or sent again meanwhile: the outbox decides when it loads the delivery.
 */
import { DELIVERY_LIMITS } from './limits.ts';
import type { Waiting } from './receiver-queues.ts';

/** Below this size, the buffer is filled again: often enough that one wallet with many alerts does not keep the others out. */
const REFILL_BELOW = DELIVERY_LIMITS.deliveryScanMax / 2;

export class DueBuffer {
  #waiting: Waiting[] = [];
  /** False if the outbox may have due deliveries that are neither here nor taken. */
  #isCurrent = false;
  /** Time at which the next delivery after these is due; null if none is known. */
  #nextDueMs: number | null = null;

  /** Time at which the next delivery after these is due; null if none is known. */
  get nextDueMs(): number | null {
    return this.#nextDueMs;
  }

  /** Makes the next `needsRefill` true: deliveries were stored or rescheduled. */
  outdate(): void {
    this.#isCurrent = false;
  }

  /** Removes all entries: the next refill reads them again. */
  clear(): void {
    this.#waiting = [];
    this.#isCurrent = false;
  }

  /** Returns true if the outbox may have more due deliveries, and the buffer has room for them. */
  needsRefill(nowMs: number): boolean {
    const isCurrent = this.#isCurrent && (this.#nextDueMs === null || this.#nextDueMs > nowMs);
    return !isCurrent && this.#waiting.length < REFILL_BELOW;
  }

  /**
   * Replaces the entries.
   *
   * @param due - the answer of the outbox
   * @param taken - ids of deliveries with an attempt in progress, which are still in the queue
   */
  refill(
    due: { readonly waiting: readonly Waiting[]; readonly nextDueMs: number | null },
    taken: ReadonlySet<string>,
  ): void {
    this.#waiting = due.waiting.filter(({ id }) => !taken.has(id));
    this.#isCurrent = due.waiting.length < DELIVERY_LIMITS.deliveryScanMax;
    this.#nextDueMs = due.nextDueMs;
  }

  /** Removes and returns the first entry that may start; null if there is none. */
  take(mayStart: (waiting: Waiting) => boolean): Waiting | null {
    const at = this.#waiting.findIndex(mayStart);
    return at === -1 ? null : (this.#waiting.splice(at, 1)[0] as Waiting);
  }
}
