/** The price tables of an installation: a running server picks up tables that are imported or synced while it runs. */
import { statSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createPriceBook, type PriceBook } from './book.ts';
import type { PriceSource, PriceTable } from './price.ts';
import { dailyFolderOf, loadOwnPrices, loadPegs, loadShippedPrices, type Pegs } from './table.ts';

export interface PriceTablesDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Interval at which a folder is checked for new tables: at most one `stat` per interval, regardless of the number of prices read. */
const CHECK_MS = 1_000;

/** Returns the modification time of a folder, which changes when a table in it is replaced by a rename. */
const changedAt = (folder: string): number => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/**
 * Opens the tables of a folder, and reloads them when one of them is replaced. If a table becomes unreadable, the previous tables stay
 * in use and the error is logged.
 *
 * @throws INVALID_FILE if a table cannot be read at the first load
 */
export function openPriceTable(
  options: { readonly folder: string; readonly source: string },
  { clock, log }: PriceTablesDeps,
): PriceTable {
  const { folder } = options;
  let version = changedAt(folder);
  let table = loadOwnPrices(options);
  let checkedAt = clock.monotonic();

  function current(): PriceTable {
    const now = clock.monotonic();
    if (now - checkedAt < CHECK_MS) return table;
    checkedAt = now;
    const found = changedAt(folder);
    if (found === version) return table;
    version = found;
    try {
      table = loadOwnPrices(options);
    } catch (error) {
      log.warn(
        { folder, reason: messageOf(error) },
        'price tables could not be read, keeping the previous ones',
      );
    }
    return table;
  }

  return {
    usdAt: (asset, timestampMs) => current().usdAt(asset, timestampMs),
    lastAt: (asset, timestampMs) => current().lastAt(asset, timestampMs),
    version() {
      current();
      return String(version);
    },
  };
}

export interface InstalledPrices {
  readonly pegs: Pegs;
  /** Only tables and pegs. */
  readonly book: PriceBook;
  /** Returns the same with live sources, in the order in which they are asked. */
  withLive(live: readonly PriceSource[]): PriceBook;
}

/**
 * Opens the prices of an installation: own tables, daily closes of `assay sync`, built-in closes, and pegs.
 *
 * @param options.folder - `pricesFolderOf(dataDir)`
 */
export function openInstalledPrices(
  options: { readonly folder: string },
  deps: PriceTablesDeps,
): InstalledPrices {
  const { folder } = options;
  const pegs = loadPegs();
  const tables = [
    openPriceTable({ folder, source: 'own' }, deps),
    openPriceTable({ folder: dailyFolderOf(folder), source: 'daily' }, deps),
    loadShippedPrices(),
  ];
  return {
    pegs,
    book: createPriceBook({ tables, pegs }),
    withLive: (live) => createPriceBook({ tables, pegs, live }),
  };
}
