/**
 * One thread's view of the exposure indexes: checks for newer ones at most every `LOOK_AGAIN_MS`, and answers lookups from the mapped
 * table and its changes.
 */
import { join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import type { TransferCoverage } from '../graph/transfers.ts';
import { leaseCurrent, publicationMark, removeUnheldBeside } from '../labels/index/folder.ts';
import {
  EXPOSURE,
  type ExposureReader,
  type ExposureState,
  type ExposureStatus,
  type ExposureVerdict,
  NO_EXPOSURE,
  newPlainEntry,
} from '../screening/exposure-port.ts';
import { SCREENING_LIMITS } from '../screening/limits.ts';
import type { FileLease } from '../state/file-lease.ts';
import { asStorageFull, isStorageFull } from '../state/storage.ts';
import { type ChangedNodes, type Changes, type ChangesState, openChanges } from './changes.ts';
import type { GraphPosition, IndexInputs } from './format.ts';
import { type MappedIndex, openMappedIndex } from './mapped-index.ts';
import { isSilentRecord } from './record.ts';

/** Interval of checks. A check costs one `stat` and a few LMDB reads; a result lags at most this much behind a commit. */
const LOOK_AGAIN_MS = 250;
const SECOND_MS = 1_000;

/** Returns the folder of the index of a chain. */
export const exposureFolderOf = (root: string, chain: ChainId): string => join(root, chain.toLowerCase());

export interface ExposureReaderDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the position of the stored transfers of a chain; null if none is stored here. */
  readonly position: (chain: ChainId) => GraphPosition | null;
  readonly coverage: (chain: ChainId) => TransferCoverage;
  /**
   * Returns true if a transfer of the address is stored. Called only for addresses that are missing in an index that lags behind the
   * store.
   */
  readonly isStored: (chain: ChainId, key: Uint8Array) => boolean;
  /** Returns the inputs of an up-to-date index. */
  readonly inputs: (chain: ChainId) => IndexInputs;
}

/**
 * Creates a function that returns the position of the stored transfers of a chain. A chain that is read from a server has no index
 * here, and a request to the server would delay the response: its transfers count as present but unread.
 */
export const positionIn =
  (transfers: Pick<TransferStore, 'logPosition'>, remote: Readonly<Partial<Record<ChainId, unknown>>>) =>
  (chain: ChainId): GraphPosition | null =>
    remote[chain] === undefined
      ? transfers.logPosition(chain)
      : { store: 'remote', ordinal: 0, transfers: 1 };

/** Creates a function that returns whether a transfer of an address is stored here. */
export const isStoredIn =
  (transfers: Pick<TransferStore, 'graph'>) =>
  (chain: ChainId, key: Uint8Array): boolean =>
    (transfers.graph(chain)?.idOf(key) ?? null) !== null;

/** An open index; it stays open until nothing references it. */
interface Opened {
  readonly index: MappedIndex;
  readonly changes: Changes;
}

interface ServedChain {
  readonly current: CurrentIndex;
  /** Null if the index that is open is of other transfers than those that are stored. */
  opened: Opened | null;
  lookedAtMs: number;
  state: ChangesState | null;
  /** Nodes with a changed entry; null without a state. */
  changed: ChangedNodes | null;
  /** Whether stored transfers exist that the index does not include. */
  isBehind: boolean;
  /** Time at which the index was last known to be up to date. */
  currentMs: number;
  status: ExposureStatus;
}

interface Closing {
  readonly close: () => Promise<unknown>;
  readonly lease: FileLease;
  readonly root: string;
  readonly log: Logger;
}

/** Runs on the thread that opened the index, after the last reference to it is gone: its views are unreachable by then. */
const unreachable = new FinalizationRegistry<Closing>(({ close, lease, root, log }) => {
  close()
    .then(() => {
      lease.release();
      return removeUnheldBeside(root, log);
    })
    .catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, 'closing previous exposure index failed'),
    );
});

const NO_GRAPH: ExposureStatus = { state: 'NO_GRAPH', asOf: null, graphAsOf: null, isOld: false };

const isSamePosition = (a: GraphPosition, b: GraphPosition): boolean =>
  a.store === b.store && a.ordinal === b.ordinal && a.transfers === b.transfers;

/** Returns whether two indexes have the same inputs. */
export const isSameInputs = (a: IndexInputs, b: IndexInputs): boolean =>
  a.chain === b.chain &&
  a.dataVersion === b.dataVersion &&
  a.policyVersion === b.policyVersion &&
  a.facts === b.facts &&
  a.maxHops === b.maxHops;

/**
 * Opens the current index below `root`; null if none is usable.
 *
 * @param check - Reads the whole index and rejects a damaged one, because a wrong entry could read as clean. A process checks the first
 *   index that it opens, and the keeper checks each; a newly built index is not read again on a thread that serves requests.
 * @throws STORAGE_FULL if the disk has no room to open it: the index itself may be intact
 */
export function openCurrent(
  root: string,
  log: Logger,
  { check }: { readonly check: boolean },
): { readonly opened: Opened; readonly path: string } | null {
  let leased: ReturnType<typeof leaseCurrent> = null;
  let changes: Changes | null = null;
  try {
    leased = leaseCurrent(root);
    if (leased === null) return null;
    // First: on a full disk it is refused before the whole index is read.
    changes = openChanges(leased.path);
    const { index, close } = openMappedIndex(leased.path);
    if (check && !index.isIntact()) {
      void close();
      throw new AssayError(
        'STORE_CORRUPT',
        `The exposure index ${leased.path} is damaged. It will be rebuilt.`,
      );
    }
    const closeChanges = changes.close;
    const closeAll = (): Promise<unknown> => Promise.all([close(), closeChanges()]);
    unreachable.register(index, { close: closeAll, lease: leased.lease, root, log });
    return { opened: { index, changes }, path: leased.path };
  } catch (error) {
    void changes?.close();
    leased?.lease.release();
    if (isStorageFull(error)) throw asStorageFull(error, root);
    log.warn({ root, reason: messageOf(error) }, 'exposure index open failed');
    return null;
  }
}

/** The current index below a folder, as one thread has it open. */
export interface CurrentIndex {
  /** Null if there is no usable index. */
  readonly opened: Opened | null;
  /** True if there is one that the disk has no room to open. */
  readonly isRefused: boolean;
  /** Opens a newly published index, or retries a refused one. Returns true if `opened` may have changed. */
  look(): boolean;
}

/**
 * Follows the current index below `root`.
 *
 * @param check - which indexes are compared with their checksums before use
 */
export function followCurrent(
  root: string,
  log: Logger,
  { check }: { readonly check: 'first' | 'each' },
): CurrentIndex {
  let mark: string | null = null;
  let opened: Opened | null = null;
  let isRefused = false;
  /** Whether an index that is found now was published since the first look. */
  let isLater = false;
  return {
    get opened() {
      return opened;
    },
    get isRefused() {
      return isRefused;
    },
    look() {
      const found = publicationMark(root);
      if (found === mark) {
        isLater = true;
        return false;
      }
      const isChecked = check === 'each' || !isLater;
      opened = null;
      try {
        if (found !== null) opened = openCurrent(root, log, { check: isChecked })?.opened ?? null;
      } catch (error) {
        // The mark stays: the next look tries again.
        if (!isRefused) log.warn({ root, reason: messageOf(error) }, 'exposure index open failed');
        isRefused = true;
        return true;
      }
      if (isRefused) log.info({ root }, 'exposure index opened again');
      isRefused = false;
      isLater = true;
      mark = found;
      return true;
    },
  };
}

/** Creates a reader of the indexes below `folder`. A broken index, or one with an unknown format, counts as missing. */
export function createExposureReader(folder: string, deps: ExposureReaderDeps): ExposureReader {
  const { clock, log } = deps;
  const chains = new Map<ChainId, ServedChain>();
  let verdict: ExposureVerdict = NO_EXPOSURE;
  const plain = newPlainEntry();
  let place: { readonly index: MappedIndex; readonly entry: number } | null = null;
  let waitsSinceMs = 0;
  let statusFound = NO_GRAPH;

  function look(chain: ChainId, served: ServedChain, nowMs: number): void {
    served.lookedAtMs = nowMs;
    if (served.current.look()) served.currentMs = 0;
    const position = deps.position(chain);
    if (position === null || position.transfers === 0) {
      served.status = NO_GRAPH;
      return;
    }
    const { opened } = served.current;
    const graphAsOf = deps.coverage(chain).asOf;
    if (opened === null || opened.index.meta.position.store !== position.store) {
      served.opened = null;
      served.status = { state: 'NOT_READ', asOf: null, graphAsOf, isOld: false };
      return;
    }
    served.opened = opened;
    const { meta } = opened.index;
    opened.changes.root.resetReadTxn();
    served.state = opened.changes.state();
    served.changed = served.state === null ? null : opened.changes.changedNodes();
    const processed = served.state?.position ?? meta.position;
    served.isBehind = !isSamePosition(processed, position);
    const isCurrent = !served.isBehind && isSameInputs(meta, deps.inputs(chain));
    if (isCurrent) served.currentMs = nowMs;
    // A reader that has never seen the index up to date uses the time of its writer.
    else if (served.currentMs === 0) served.currentMs = served.state?.processedAtMs ?? meta.asOfMs;
    const asOfMs = Math.min(served.currentMs, served.state?.allWaitSinceMs ?? Number.POSITIVE_INFINITY);
    const asOf = isoTime(Math.floor(asOfMs / SECOND_MS) * SECOND_MS);
    const isOld = nowMs - asOfMs > SCREENING_LIMITS.exposureWaitMsMax;
    const { status } = served;
    if (
      status.state === 'READY' &&
      status.asOf === asOf &&
      status.graphAsOf === graphAsOf &&
      status.isOld === isOld
    )
      return;
    served.status = { state: 'READY', asOf, graphAsOf, isOld };
  }

  function servedOf(chain: ChainId, nowMs: number): ServedChain {
    let served = chains.get(chain);
    if (served === undefined) {
      served = {
        current: followCurrent(exposureFolderOf(folder, chain), log, { check: 'first' }),
        opened: null,
        lookedAtMs: 0,
        state: null,
        changed: null,
        isBehind: false,
        currentMs: 0,
        status: NO_GRAPH,
      };
      chains.set(chain, served);
    }
    if (served.lookedAtMs === 0 || Math.abs(nowMs - served.lookedAtMs) >= LOOK_AGAIN_MS)
      look(chain, served, nowMs);
    return served;
  }

  /** Returns the changed entry of a node, if it has one. */
  function findChanged({ changes, index }: Opened, node: number): ExposureState | null {
    const changed = changes.entry(node);
    if (changed === null) return null;
    waitsSinceMs = changed.waitsSinceMs;
    if (changed.record === null) {
      // New since the build, and not computed yet.
      if (index.node === 0) return EXPOSURE.NOT_READ;
      return null;
    }
    verdict = changed.record;
    return isSilentRecord(changed.record) ? EXPOSURE.CLEAN : EXPOSURE.EXPOSED;
  }

  return {
    openAll() {
      for (const { id } of CHAINS) servedOf(id, clock.now());
    },

    find(chain, key, length, nowMs = clock.now()) {
      const { opened, state, changed, isBehind, status } = servedOf(chain, nowMs);
      statusFound = status;
      verdict = NO_EXPOSURE;
      place = null;
      waitsSinceMs = 0;
      if (status.state === 'NO_GRAPH') return EXPOSURE.NO_GRAPH;
      if (opened === null) return EXPOSURE.NOT_READ;
      const { index, changes } = opened;
      index.find(key, length);
      let { node } = index;
      if (state !== null) {
        if (node === 0 && state.added > 0) node = changes.nodeOf(key.slice(0, length));
        if (node !== 0 && changed?.mayHave(node) === true) {
          const found = findChanged(opened, node);
          if (found !== null) return found;
        }
      }
      // An address that occurs only in unread transfers is not an address without transfers.
      if (node === 0)
        return isBehind && deps.isStored(chain, key.slice(0, length)) ? EXPOSURE.NOT_READ : EXPOSURE.UNSEEN;
      if (index.entry === 0 || index.isSilent(index.entry)) return EXPOSURE.CLEAN;
      place = { index, entry: index.entry };
      return EXPOSURE.EXPOSED;
    },

    plain,

    readPlain: () => place?.index.readPlain(place.entry, plain) === true,

    verdict() {
      if (place !== null) {
        verdict = place.index.record(place.entry);
        place = null;
      }
      return verdict;
    },

    status: () => statusFound,

    waitsSinceMs: () => waitsSinceMs,
  };
}
