/** Deletes records when the retention period of the settings has ended. Nothing is deleted before. */
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';
import { LIMITS } from './limits.ts';
import type { Logger } from './log.ts';

const DAY_MS = 86_400_000;

export interface Retention {
  /** Deletes what is due now, and returns the number of deleted records. */
  look(): Promise<number>;
  stop(): Promise<void>;
}

export interface RetentionOptions {
  /** Days for which a record is kept. */
  readonly days: number;
  /** Noun for logs, in plural, such as `cases`. */
  readonly what: string;
  /** Records that one transaction deletes. */
  readonly atOnce: number;
}

export interface RetentionDeps<Deleted> {
  /** Deletes records that are older than a time, and returns them: fewer than `limit` only if no other is due. */
  readonly deleteBefore: (beforeMs: number, limit: number) => Promise<readonly Deleted[]>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Records a deletion in the audit log. */
  readonly onDeleted: (record: Deleted) => Promise<void>;
}

/** Starts deleting, at once and then every hour. Every node may do so: a record is deleted, and the deletion recorded, by one of them. */
export function startRetention<Deleted>(
  { days, what, atOnce }: RetentionOptions,
  { deleteBefore, clock, log, onDeleted }: RetentionDeps<Deleted>,
): Retention {
  let isStopped = false;

  /** Deleted records whose deletion is not recorded yet: if that fails, the next look tries again. */
  const unrecorded: Deleted[] = [];

  async function record(): Promise<void> {
    for (let next = unrecorded.shift(); next !== undefined; next = unrecorded.shift()) {
      try {
        await onDeleted(next);
      } catch (error) {
        unrecorded.unshift(next);
        throw error;
      }
    }
  }

  async function look(): Promise<number> {
    let count = 0;
    if (unrecorded.length > 0) await record();
    for (let isMore = true; isMore && !isStopped; ) {
      const deleted = await deleteBefore(clock.now() - days * DAY_MS, atOnce);
      unrecorded.push(...deleted);
      await record();
      count += deleted.length;
      isMore = deleted.length >= atOnce;
    }
    if (count > 0) log.info({ [what]: count }, `${what} deleted after their retention`);
    return count;
  }

  let looking: Promise<unknown> = Promise.resolve();
  const schedule = (): void => {
    looking = look().catch((error: unknown) =>
      log.error({ error: messageOf(error) }, `deleting old ${what} failed`),
    );
  };
  schedule();
  const timer = setInterval(schedule, LIMITS.retentionLookMs);
  timer.unref();
  return {
    look,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await looking;
    },
  };
}
