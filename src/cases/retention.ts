/** Deletes closed cases when the retention period of the settings has ended. Nothing is deleted before. */
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { CASE_LIMITS } from './limits.ts';
import type { CaseRecord } from './records.ts';
import type { CaseStore } from './store.ts';

const DAY_MS = 86_400_000;

export interface Retention {
  /** Deletes what is due now, and returns the number of deleted cases. */
  look(): Promise<number>;
  stop(): Promise<void>;
}

export interface RetentionDeps {
  readonly store: Pick<CaseStore, 'deleteClosedBefore'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Records a deletion in the audit log. */
  readonly onDeleted: (record: CaseRecord) => Promise<void>;
}

/**
 * Starts deleting, at once and then every hour. Every node may do so: a case is deleted, and recorded, by one of them.
 *
 * @param days - days after closing for which a case is kept
 */
export function startRetention({ days }: { readonly days: number }, deps: RetentionDeps): Retention {
  const { store, clock, log, onDeleted } = deps;
  let isStopped = false;

  async function look(): Promise<number> {
    let deleted = 0;
    for (let isMore = true; isMore && !isStopped; ) {
      const cases = await store.deleteClosedBefore(clock.now() - days * DAY_MS, CASE_LIMITS.deletedAtOnceMax);
      for (const record of cases) await onDeleted(record);
      deleted += cases.length;
      isMore = cases.length === CASE_LIMITS.deletedAtOnceMax;
    }
    if (deleted > 0) log.info({ cases: deleted }, 'cases deleted after their retention');
    return deleted;
  }

  let looking: Promise<unknown> = Promise.resolve();
  const schedule = (): void => {
    looking = look().catch((error: unknown) =>
      log.error({ error: messageOf(error) }, 'deleting old cases failed'),
    );
  };
  schedule();
  const timer = setInterval(schedule, CASE_LIMITS.retentionLookMs);
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
