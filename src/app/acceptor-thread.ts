/** Composition of an acceptor thread: opens the stores of the operations that it answers itself. */
import { join } from 'node:path';
import { rateLimitsOf } from '../accounts/access.ts';
import { openKeyStore } from '../accounts/keys-lmdb.ts';
import { readPlans } from '../accounts/plans.ts';
import { clockOf } from '../base/clock.ts';
import type { Logger, LogLevel } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { createHotRoutes, type HotSettings } from '../http/acceptors/hot.ts';
import type { AcceptorData, OpenHotRoutes } from '../http/acceptors/thread.ts';
import { type OracleStoreSettings, openOracleStores } from '../pool/oracle-stores.ts';
import { createBulk } from '../screening/bulk.ts';
import { createOracleWriter } from '../screening/oracle-writer.ts';

/** Stores of an acceptor thread, and the clock of the main thread. */
export interface AcceptorStores extends OracleStoreSettings {
  readonly accountsFolder: string;
  /** `monotonicOriginMs` of the main thread, whose time is in the rate limits. */
  readonly originMs: number;
  /** One int32, incremented by the main thread when a new snapshot is in force. */
  readonly snapshotEpoch: SharedArrayBuffer;
  readonly logLevel: LogLevel;
}

/** Data of an acceptor thread. */
export interface AcceptorThreadData extends AcceptorData {
  /** Null if the thread passes every request on. */
  readonly hot: (HotSettings & { readonly stores: AcceptorStores }) | null;
}

/** Returns the function that opens the stores of the hot operations. */
export const hotRoutesOf =
  (hot: NonNullable<AcceptorThreadData['hot']>, log: Logger): OpenHotRoutes =>
  (deps) => {
    const { accountsFolder, originMs, snapshotEpoch, logLevel: _, ...settings } = hot.stores;
    const clock = clockOf(originMs);
    const epoch = new Int32Array(snapshotEpoch);
    // Before the stores are opened: a snapshot that is published meanwhile is then noticed.
    let seen = Atomics.load(epoch, 0);
    const stores = openOracleStores(settings, { log });
    stores.exposures.openAll();
    const keys = openKeyStore(
      { path: join(accountsFolder, 'keys.mdb') },
      { clock, random: systemRandom, log },
    );
    const refresh = (): void => {
      const now = Atomics.load(epoch, 0);
      if (now === seen) return;
      stores.labels.refresh();
      seen = now;
    };
    const routes = createHotRoutes(
      hot,
      {
        ...{ clock, log, keys, refresh },
        random: systemRandom,
        rateOf: rateLimitsOf(keys, readPlans()),
        oracle: createOracleWriter(stores),
        bulk: createBulk(stores),
      },
      deps,
    );
    return { routes, close: () => keys.close() };
  };
