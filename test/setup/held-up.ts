/** Names test files that run for minutes, and ends a run that one of them holds up: code that blocks its thread has no other limit. */
import type { Reporter, TestModule } from 'vitest/node';

/** The slowest files take under three minutes beside three others. */
const NAMED_AFTER_MS = 5 * 60_000;
/** Twice the limits of a hook and of two tries of a test. A run takes under 25 minutes, so its end still says which file it was. */
const ENDED_AFTER_MS = 15 * 60_000;
const LOOK_MS = 60_000;

export default class HeldUp implements Reporter {
  readonly #begun = new Map<string, number>();
  readonly #end: (code: number) => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param end - ends the process; by default `process.exit` */
  constructor(end?: (code: number) => void) {
    this.#end = typeof end === 'function' ? end : process.exit;
  }

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.look(performance.now()), LOOK_MS).unref();
  }

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.#begun.set(relativeModuleId, performance.now());
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    this.#begun.delete(relativeModuleId);
  }

  onTestRunEnd(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /**
   * Names the files that have run for long.
   *
   * @param nowMs - the time of `performance.now()`
   */
  look(nowMs: number): void {
    for (const [path, begunMs] of this.#begun) {
      const ms = nowMs - begunMs;
      if (ms < NAMED_AFTER_MS) continue;
      console.log(`${path} has run for ${Math.round(ms / 60_000)} minutes`);
      if (ms >= ENDED_AFTER_MS) this.#end(1);
    }
  }
}
