/** Times in which the server cannot work, for example because the disk is full: one log line at their beginning and one at their end. */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';

/** An outage is over after this time without a request that could not be served. */
const OUTAGE_QUIET_MS = 5_000;

/** Error codes of a server that cannot work at the moment; no part of the request was done. */
const UNSERVED: ReadonlySet<string> = new Set(['NOT_READY', 'LEDGER_UNAVAILABLE', 'STORAGE_FULL']);

/** Whether the request was refused because the server cannot work at the moment, so that no part of it was done. */
export const isUnserved = (error: unknown): boolean =>
  error instanceof AssayError && UNSERVED.has(error.code);

interface Outage {
  readonly reason: string;
  requests: number;
  lastMs: number;
}

/** Logs outages. A line per request would fill the log if many clients retry. */
export class OutageLog {
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Null outside of outages. */
  #outage: Outage | null = null;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Records a request that could not be served. */
  noteUnserved(path: string, error: unknown): void {
    if (this.#outage === null) {
      this.#outage = { reason: messageOf(error), requests: 0, lastMs: 0 };
      this.#log.error({ route: path, reason: this.#outage.reason }, 'requests cannot be served');
    }
    this.#outage.requests++;
    this.#outage.lastMs = this.#clock.monotonic();
  }

  /**
   * Records a request that was served. Requests that need less may succeed during an outage, so it ends only when no request was
   * refused for a while.
   */
  noteServed(): void {
    const outage = this.#outage;
    if (outage === null || this.#clock.monotonic() - outage.lastMs < OUTAGE_QUIET_MS) return;
    this.#log.info({ reason: outage.reason, requests: outage.requests }, 'requests are served again');
    this.#outage = null;
  }
}
