/** Port of the oracle to an exposure index (src/exposure): the precomputed verdict on an address's transfers. */
import type { ChainId } from '../chains/registry.ts';
import type { UnfollowedPart } from '../risk/reasons.ts';
import type { ScoreFactor } from '../risk/score.ts';
import type { EarlierDealing } from './before-designation.ts';

/**
 * State of an address.
 *
 * - NO_GRAPH: no transfer of the chain is stored.
 * - NOT_READ: transfers are stored, but no index of them can be used, or no index contains the address and it has transfers that
 *   an index has not read yet.
 * - UNSEEN: no stored transfer has the address.
 * - CLEAN: it has transfers, and they add neither points nor a reason.
 * - EXPOSED: it has an entry.
 */
export const EXPOSURE = { NO_GRAPH: 0, NOT_READ: 1, UNSEEN: 2, CLEAN: 3, EXPOSED: 4 } as const;
export type ExposureState = (typeof EXPOSURE)[keyof typeof EXPOSURE];

/** Shares that were not followed are stored in the unit that reasons use: hundredths of a percent. */
export const HUB_SHARE_UNITS = 1e4;

/** Precomputed exposure of an address. */
export interface ExposureVerdict {
  /** The rows of a score breakdown that come from transfers. */
  readonly factors: readonly ScoreFactor[];
  /** Points of the rows if counterparties with derived labels are left out; null if there are none. */
  readonly pointsWithoutDerived: number | null;
  /**
   * The rows if derived labels are left out and their money is followed further (`DerivedReading`); null if there are no such rows,
   * or no label is derived.
   */
  readonly factorsLeftOut: readonly ScoreFactor[] | null;
  /**
   * The relevant parts that were not followed, in the order of the reasons. If a sweep computed the entry, no share was cut off,
   * because a sweep has no limit.
   */
  readonly unfollowed: readonly UnfollowedPart[];
  /** Dealings that ended before the other party was designated. */
  readonly earlier: readonly EarlierDealing[];
  /** Reasons without points: dealings with suspected owners, forged transfers, and look-alike addresses. */
  readonly notes: readonly ExposureNote[];
}

/** A reason of severity LOW; of SUSPECTED_OWNER, MEDIUM. */
export interface ExposureNote {
  readonly code: (typeof NOTE_CODES)[number];
  readonly category: ScoreFactor['category'];
  readonly message: string;
}

export const NOTE_CODES = ['SPOOFABLE_TRANSFER', 'ADDRESS_POISONING', 'SUSPECTED_OWNER'] as const;

export const NO_EXPOSURE: ExposureVerdict = {
  factors: [],
  pointsWithoutDerived: null,
  factorsLeftOut: null,
  unfollowed: [],
  earlier: [],
  notes: [],
};

/** The verdict of an address whose entry was read as a plain one instead. */
export const PLAIN_EXPOSURE: ExposureVerdict = { ...NO_EXPOSURE };

/** Maximum number of rows, and of parts that were not followed, in a plain entry. */
export const PLAIN_MAX = 16;
/** Maximum points of such a row, positive or negative. */
export const PLAIN_POINTS_MAX = 100;
/** Bytes of the names of all its rows: three of 255 bytes in each, with a comma and a space, fill three quarters. */
const PLAIN_NAMES_BYTES_MAX = 16 * 1024;

/**
 * An entry that has nothing but rows about the value, whose names are printable ASCII that JSON does not escape, and shares of the value that
 * were not followed. Most entries are plain. Its columns are read without creating an object; the rows and parts are those of the verdict, in
 * the same order.
 */
export interface PlainEntry {
  rows: number;
  /** Two rows with the same key are equal in everything except points, percentage and names; both have names, or neither has. */
  readonly rowKeys: Int32Array;
  readonly rowPoints: Int32Array;
  /** Percentages in hundredths, up to 10,000. */
  readonly rowHundredths: Int32Array;
  /** The names of the rows, joined by commas as in a reason. Those of row n end at `nameEnds[n]`, where those of the next row begin. */
  readonly names: Buffer;
  readonly nameEnds: Int32Array;
  parts: number;
  /** Two parts with the same key are equal in everything except the share. */
  readonly partKeys: Int32Array;
  /** Shares in hundredths of a percent, up to 10,000. */
  readonly partHundredths: Int32Array;
}

/** Returns an entry without rows. */
export const newPlainEntry = (): PlainEntry => ({
  rows: 0,
  rowKeys: new Int32Array(PLAIN_MAX),
  rowPoints: new Int32Array(PLAIN_MAX),
  rowHundredths: new Int32Array(PLAIN_MAX),
  names: Buffer.alloc(PLAIN_NAMES_BYTES_MAX),
  nameEnds: new Int32Array(PLAIN_MAX),
  parts: 0,
  partKeys: new Int32Array(PLAIN_MAX),
  partHundredths: new Int32Array(PLAIN_MAX),
});

/** The state of the index of one chain; the same object while nothing in it changes. */
export interface ExposureStatus {
  readonly state: 'NO_GRAPH' | 'NOT_READ' | 'READY';
  /** When entries that do not wait were last known to be up to date, ISO 8601 UTC; null if there is no index. */
  readonly asOf: string | null;
  /** Date of the newest stored transfer, ISO 8601 UTC; null if none is stored. */
  readonly graphAsOf: string | null;
  /** True if transfers were stored that the index has not read for longer than an answer may wait. */
  readonly isOld: boolean;
}

/**
 * Returns the reader of a thread without indexes. For a chain with stored transfers, it reports that they were not read.
 *
 * @param stored - number of stored transfers of a chain
 */
export function unreadExposures(stored: (chain: ChainId) => number): ExposureReader {
  const notRead: ExposureStatus = { state: 'NOT_READ', asOf: null, graphAsOf: null, isOld: false };
  const noGraph: ExposureStatus = { ...notRead, state: 'NO_GRAPH' };
  let status = noGraph;
  return {
    openAll: () => {},
    find(chain) {
      status = stored(chain) > 0 ? notRead : noGraph;
      return status === notRead ? EXPOSURE.NOT_READ : EXPOSURE.NO_GRAPH;
    },
    status: () => status,
    verdict: () => NO_EXPOSURE,
    plain: newPlainEntry(),
    readPlain: () => false,
    waitsSinceMs: () => 0,
  };
}

/** One thread's view of the exposure indexes. Not reentrant: details refer to the last address that was found. */
export interface ExposureReader {
  /**
   * Opens the indexes of all chains, as the first look-up of a chain does: the first index that a thread opens is read whole. A thread that
   * answers requests calls it before the first of them, which would otherwise wait.
   */
  openAll(): void;
  /**
   * Looks up the address with the key `key[0, length)`.
   *
   * @param nowMs - default: the clock's time
   * @returns its state; CLEAN and UNSEEN without any allocation
   */
  find(chain: ChainId, key: Uint8Array, length: number, nowMs?: number): ExposureState;
  /** Returns the state of the index of its chain. */
  status(): ExposureStatus;
  /** Returns the entry of the address that was found last, if its state is EXPOSED. */
  verdict(): ExposureVerdict;
  /** The entry that `readPlain` read last. */
  readonly plain: PlainEntry;
  /**
   * Reads the entry of the address that was found last into `plain`, if its state is EXPOSED.
   *
   * @returns false if it is not a plain entry; `plain` is then undefined
   */
  readPlain(): boolean;
  /**
   * Returns the time since which the address that was found last waits to be computed again, in milliseconds since the epoch; 0
   * if it does not wait.
   */
  waitsSinceMs(): number;
}
