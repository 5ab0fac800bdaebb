/** Creates the service of saved screenings, and its retention, over the stores of a server. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type Retention, startRetention } from '../base/retention.ts';
import type { Config } from '../config/config.ts';
import type { ListFreshness } from '../labels/freshness.ts';
import { storedText } from '../saved-screenings/content.ts';
import { SAVED_LIMITS } from '../saved-screenings/limits.ts';
import type { ListVersion, StagedScreening } from '../saved-screenings/records.ts';
import { createSavedScreenings } from '../saved-screenings/saved-screenings.ts';
import type { SavedScreenings } from '../saved-screenings/service.ts';
import { LISTS } from '../sources/lists.ts';
import type { AccountServices } from './account-services.ts';
import { eventBilling } from './event-billing.ts';

export interface SavedServicesDeps {
  readonly accounts: Pick<AccountServices, 'savedStore' | 'access' | 'redis'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Returns the age of each list, as a saved answer records it. */
export const listVersions = ({ lists }: Pick<ListFreshness, 'lists'>): readonly ListVersion[] =>
  LISTS.ids.map((list) => ({
    list,
    publishedAt: lists[list]?.publishedAt ?? null,
    checkedAt: lists[list]?.checkedAt ?? null,
  }));

/** Returns the service of saved screenings. Each is charged as an event of the ledger under its id. */
export function savedScreeningsOf(
  { version, freshness }: { readonly version: string; readonly freshness: () => ListFreshness },
  { accounts, clock, random, log }: SavedServicesDeps,
): SavedScreenings {
  const store = accounts.savedStore();
  const billing = eventBilling<StagedScreening>(
    () => accounts.access().ledger(),
    ({ screening, charge }) => ({
      accountId: screening.accountId,
      event: `screening:${screening.id}`,
      charge,
      data: () => storedText(store, screening),
    }),
  );
  return createSavedScreenings(
    { softwareVersion: version, isShared: accounts.redis !== null },
    { store, billing, lists: () => listVersions(freshness()), clock, random, log },
  );
}

/** Starts deleting screenings past their retention; null if the settings have none. */
export function screeningRetentionOf(
  { screeningRetentionDays: days }: Pick<Config, 'screeningRetentionDays'>,
  { accounts, clock, log }: SavedServicesDeps,
): Retention | null {
  if (days === null) return null;
  return startRetention(
    { days, what: 'saved screenings', atOnce: SAVED_LIMITS.savedDeletedAtOnceMax },
    {
      deleteBefore: (beforeMs, limit) => accounts.savedStore().deleteSavedBefore(beforeMs, limit),
      clock,
      log,
      async onDeleted({ id, accountId, kind, chain }) {
        await accounts
          .access()
          .audit()
          .write({
            who: 'retention',
            from: 'settings',
            action: 'screening.delete',
            accountId,
            subject: id,
            detail: `${kind} of ${chain}, ASSAY_SCREENING_RETENTION_DAYS ${days}`,
          });
      },
    },
  );
}
