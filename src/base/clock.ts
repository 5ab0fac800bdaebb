/** Time as a dependency: the only module that reads the machine's clocks, so that a test can inject its own. */

export interface Clock {
  /** Milliseconds since the epoch. Can jump; for timestamps. */
  now(): number;
  /** Milliseconds from an arbitrary start. Never decreases; for durations and limits. */
  monotonic(): number;
}

/** The clocks of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Formats milliseconds since the epoch as ISO 8601 UTC with milliseconds. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
