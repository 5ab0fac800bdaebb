/** How many connections a server keeps open, and the log of those that it refuses. */
import type { Logger } from '../../base/log.ts';
import { HTTP_LIMITS } from '../limits.ts';

/**
 * Returns the connections that may be open at a time.
 *
 * @param openFiles - limit of open files of this process
 */
export function connectionsMaxOf(openFiles: number): number {
  const { reservedFilesMin, reservedFilesShare, connectionsMin } = HTTP_LIMITS;
  if (openFiles === Number.POSITIVE_INFINITY) return openFiles;
  const reserved = Math.max(reservedFilesMin, Math.ceil(openFiles * reservedFilesShare));
  return Math.max(connectionsMin, openFiles - reserved);
}

/** Logs refused connections, at most once a minute. */
export class RefusalLog {
  readonly #log: Logger;
  readonly #connectionsMax: number;
  #isSilent = false;

  constructor(log: Logger, connectionsMax: number) {
    this.#log = log;
    this.#connectionsMax = connectionsMax;
  }

  /** Records one refused connection. */
  note(): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    setTimeout(() => {
      this.#isSilent = false;
    }, HTTP_LIMITS.refusalLogMs).unref();
    this.#log.warn(
      { connectionsMax: this.#connectionsMax },
      'connections refused: as many are open as the limit of open files allows',
    );
  }
}
