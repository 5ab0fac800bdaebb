/** Time as a dependency: the only reader of the machine's clocks, so that a test can bring its own. */

export interface Clock {
  /** Milliseconds since the epoch. Can jump; for timestamps. */
  now(): number;
  /** Milliseconds from an arbitrary start. Never goes back; for durations and limits. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** ISO 8601 UTC with milliseconds, from milliseconds since the epoch. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
