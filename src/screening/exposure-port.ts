/** Port of the oracle to an exposure index (src/exposure): the verdict on an address's transfers, computed in advance. */
import type { ChainId } from '../chains/registry.ts';
import type { ScoreFactor } from '../risk/score.ts';
import type { EarlierDealing } from './before-designation.ts';

/**
 * State of an address. NO_GRAPH: no transfer of the chain is stored. NOT_READ: transfers are stored, but no index of them can be
 * used, or the address is in none and has transfers that an index has yet to read. UNSEEN: no stored transfer has the address. CLEAN: it has transfers, and nothing in them adds points or a reason. EXPOSED: it
 * has an entry.
 */
export const EXPOSURE = { NO_GRAPH: 0, NOT_READ: 1, UNSEEN: 2, CLEAN: 3, EXPOSED: 4 } as const;
export type ExposureState = (typeof EXPOSURE)[keyof typeof EXPOSURE];

/** Shares that were not followed are kept as reasons write them: in hundredths of a percent. */
export const HUB_SHARE_UNITS = 1e4;

/** Exposure of an address, as it was computed. */
export interface ExposureVerdict {
  /** The rows of a score breakdown that come from transfers. */
  readonly factors: readonly ScoreFactor[];
  /** Points of the rows if counterparties with derived labels are left out; null if there are none. */
  readonly pointsWithoutDerived: number | null;
  /**
   * The rows if derived labels are left out and their money is followed further (`DerivedReading`); null if there are none, or no label
   * is derived.
   */
  readonly factorsLeftOut: readonly ScoreFactor[] | null;
  /** Share of the value received and sent that could not be followed at a hub without a label, 0 to 1; null if it is too small for a reason. */
  readonly hubShare: { readonly in: number | null; readonly out: number | null };
  /** The same that was left when a walk reached its limit; null as well of entries that a sweep computed: it has none. */
  readonly cutShare: { readonly in: number | null; readonly out: number | null };
  /** Dealings that ended before the other party was designated. */
  readonly earlier: readonly EarlierDealing[];
  /** Reasons without points that come from single transfers: forged ones, and look-alike addresses. */
  readonly notes: readonly ExposureNote[];
}

/** A reason of severity LOW. */
export interface ExposureNote {
  readonly code: (typeof NOTE_CODES)[number];
  readonly category: ScoreFactor['category'];
  readonly message: string;
}

export const NOTE_CODES = ['SPOOFABLE_TRANSFER', 'ADDRESS_POISONING'] as const;

export const NO_EXPOSURE: ExposureVerdict = {
  factors: [],
  pointsWithoutDerived: null,
  factorsLeftOut: null,
  hubShare: { in: null, out: null },
  cutShare: { in: null, out: null },
  earlier: [],
  notes: [],
};

/** The state of the index of one chain; the same object for as long as nothing in it changed. */
export interface ExposureStatus {
  readonly state: 'NO_GRAPH' | 'NOT_READ' | 'READY';
  /** When entries that do not wait were last known to be up to date, ISO 8601 UTC; null if there is no index. */
  readonly asOf: string | null;
  /** Date of the newest stored transfer, ISO 8601 UTC; null if none is stored. */
  readonly graphAsOf: string | null;
  /** Transfers were stored that the index has not read for longer than an answer may wait. */
  readonly isOld: boolean;
}

/**
 * Returns what a thread knows of exposure that has no indexes: of a chain with stored transfers, that they were not read.
 *
 * @param stored - number of stored transfers of a chain
 */
export function unreadExposures(stored: (chain: ChainId) => number): ExposureReader {
  const notRead: ExposureStatus = { state: 'NOT_READ', asOf: null, graphAsOf: null, isOld: false };
  const noGraph: ExposureStatus = { ...notRead, state: 'NO_GRAPH' };
  let status = noGraph;
  return {
    find(chain) {
      status = stored(chain) > 0 ? notRead : noGraph;
      return status === notRead ? EXPOSURE.NOT_READ : EXPOSURE.NO_GRAPH;
    },
    status: () => status,
    verdict: () => NO_EXPOSURE,
    waitsSinceMs: () => 0,
  };
}

/** One thread's view of the exposure indexes. Not reentrant: details are of the last address that was found. */
export interface ExposureReader {
  /**
   * Looks up the address whose key is `key[0, length)`.
   *
   * @returns its state; CLEAN and UNSEEN without any allocation
   */
  find(chain: ChainId, key: Uint8Array, length: number): ExposureState;
  /** The state of the index of its chain. */
  status(): ExposureStatus;
  /** The entry of the address that was found last, if its state is EXPOSED. */
  verdict(): ExposureVerdict;
  /** Since when the address that was found last waits to be computed again, in milliseconds since the epoch; 0 if it does not wait. */
  waitsSinceMs(): number;
}
