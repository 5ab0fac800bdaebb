/** Saved screenings over a store and a ledger of their own, for tests of their callers. */
import type { Ledger } from '../../src/accounts/ledger.ts';
import { eventBilling } from '../../src/app/event-billing.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { storedText } from '../../src/saved-screenings/content.ts';
import type { ListVersion, StagedScreening } from '../../src/saved-screenings/records.ts';
import {
  createSavedScreenings,
  type SavedScreeningsDeps,
} from '../../src/saved-screenings/saved-screenings.ts';
import type { SavedScreenings } from '../../src/saved-screenings/service.ts';
import type { SavedStore } from '../../src/saved-screenings/store.ts';
import { openSavedStore } from '../../src/saved-screenings/store-lmdb.ts';
import type { OpenStore } from '../../src/state/live-store.ts';

export interface OpenedSaved {
  readonly store: SavedStore;
  readonly saved: SavedScreenings;
  readonly billing: SavedScreeningsDeps['billing'];
}

/** Opens the store in a folder. The caller closes it. */
export function openedSaved(
  folder: string,
  ledger: () => Ledger,
  {
    clock = systemClock,
    openStore,
    softwareVersion = '1.0.0',
    isShared = false,
    lists = () => [],
    billing: other,
  }: {
    readonly clock?: Clock;
    readonly openStore?: OpenStore;
    readonly softwareVersion?: string;
    readonly isShared?: boolean;
    readonly lists?: () => readonly ListVersion[];
    /** Default: that of the program. */
    readonly billing?: SavedScreeningsDeps['billing'];
  } = {},
): OpenedSaved {
  const store = openSavedStore(
    { path: `${folder}/screenings.mdb` },
    openStore === undefined ? { clock } : { clock, openStore },
  );
  const billing =
    other ??
    eventBilling<StagedScreening>(ledger, ({ screening, charge }) => ({
      accountId: screening.accountId,
      event: `screening:${screening.id}`,
      charge,
      data: () => storedText(store, screening),
    }));
  const saved = createSavedScreenings(
    { softwareVersion, isShared },
    { store, billing, lists, clock, random: systemRandom, log: silentLogger },
  );
  return { store, saved, billing };
}
