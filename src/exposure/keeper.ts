/**
 * Keeps the indexes of all chains up to date: follows their logs a few times per second, computes pending entries, and starts a build
 * if an index is missing, if labels, policy or built-in facts changed, or if too much is new. Runs on its own thread while the server
 * runs.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import { createAssessor } from '../screening/assess.ts';
import { mayPass } from '../screening/attribution.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { weighingOf } from '../screening/weighing.ts';
import { isStorageFull } from '../state/storage.ts';
import { createWalk, ENTRY_HOPS } from './evaluate.ts';
import type { IndexInputs } from './format.ts';
import { type CurrentIndex, exposureFolderOf, followCurrent, isSameInputs } from './reader.ts';
import { createUpdater, type ExposureUpdater } from './update.ts';

/** Poll interval of the logs. Polling a chain without news reads two small values. */
export const TICK_MS = 250;
/** Minimum interval between two builds of one chain, whatever changed: a build uses one core for a minute or two. */
const BUILD_GAP_MS = 30_000;
/** The interval is also at least this many times the duration of the last build, so that builds use at most a third of one core. */
const BUILD_GAP_FACTOR = 2;
/**
 * An index is rebuilt if more entries than this plus a quarter of its addresses were computed since the build: their lookups cost more.
 */
const CHANGED_MIN = 10_000;
/** An index is rebuilt if the pending entries would take longer than this. */
const WAIT_MS_MAX = LIMITS.exposureWaitMsMax / 2;
const MEASURED_MIN = 50;
/** A chain whose update failed is looked at again after this: what is new is computed for each try, and a full disk stays full for minutes. */
const FAILED_RETRY_MS = 5_000;

export interface KeeperOptions {
  /** Folder of the indexes. */
  readonly folder: string;
  /** Folder of the transfer stores, which shows which chains have one. */
  readonly transfersFolder: string;
}

export interface KeeperDeps extends Omit<ScreeningDeps, 'transfers'> {
  readonly transfers: TransferStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly inputs: (chain: ChainId) => IndexInputs;
  /** Builds the index of a chain; resolves when it has been published, or when the build failed and the failure was logged. */
  readonly build: (chain: ChainId) => Promise<void>;
}

interface KeptChain {
  readonly chain: ChainId;
  readonly current: CurrentIndex;
  updater: ExposureUpdater | null;
  inputs: IndexInputs | null;
  addresses: number;
  builtInMs: number;
  isBuilding: boolean;
  /** No build starts before this time. */
  notBeforeMs: number;
  /** Reason for the next build; null if none is needed. */
  wanted: string | null;
  /** Number of entries computed, and the time that took. */
  computed: number;
  computedMs: number;
  /** Why the last look failed; null if it did not. Each reason is logged once, and so is its end. */
  failure: string | null;
  /** No look before. */
  retryAtMs: number;
  /** The last build failed. The builds behind it are logged again once one succeeds. */
  isBuildFailing: boolean;
}

export interface ExposureKeeper {
  /** Runs one round over all chains. */
  tick(): void;
}

/** Creates a keeper; `tick` opens the indexes and updates them. */
export function createExposureKeeper(options: KeeperOptions, deps: KeeperDeps): ExposureKeeper {
  const { clock, log, transfers } = deps;
  const chains = new Map<ChainId, KeptChain>();
  const assessor = createAssessor(deps);

  function kept(chain: ChainId): KeptChain {
    let found = chains.get(chain);
    if (found === undefined) {
      found = {
        chain,
        current: followCurrent(exposureFolderOf(options.folder, chain), log, { check: 'each' }),
        updater: null,
        inputs: null,
        addresses: 0,
        builtInMs: 0,
        isBuilding: false,
        notBeforeMs: 0,
        wanted: null,
        computed: 0,
        computedMs: 0,
        failure: null,
        retryAtMs: 0,
        isBuildFailing: false,
      };
      chains.set(chain, found);
    }
    return found;
  }

  /** Opens an index that was published since the last check. */
  function open(of: KeptChain): void {
    const { chain } = of;
    if (!of.current.look()) return;
    of.wanted = null;
    const { opened } = of.current;
    if (opened === null) {
      of.updater = null;
      return;
    }
    const { meta } = opened.index;
    of.inputs = meta;
    of.addresses = meta.addresses;
    of.builtInMs = meta.builtInMs;
    warm(chain);
    of.updater = createUpdater(chain, opened, {
      clock,
      transfers,
      weighing: weighingOf(chain, deps),
      evaluate: createWalk(chain, assessor, deps, ENTRY_HOPS),
      passes: (graph, node) => mayPass(assessor.attributions(graph, deps.labels.current, null).of(node)),
    });
  }

  /** Looks up every address once, which takes a few seconds for millions: walks then find the labels of their addresses in memory. */
  function warm(chain: ChainId): void {
    const graph = transfers.graph(chain);
    if (graph === null) return;
    const attributions = assessor.attributions(graph, deps.labels.current, null);
    const last = Math.min(graph.nodeCount, LIMITS.attributedNodesKept);
    for (let node = 1; node <= last; node++) attributions.of(node);
  }

  function follow(of: KeptChain, updater: ExposureUpdater): void {
    if (updater.follow() === 'BEHIND') of.wanted ??= 'too many new transfers';
    if (updater.waiting > 0) {
      const before = clock.monotonic();
      of.computed += updater.recompute((LIMITS.exposureWorkMsASecond * TICK_MS) / 1_000);
      of.computedMs += clock.monotonic() - before;
    }
    const { waiting } = updater;
    const state = updater.state();
    const left =
      (waiting * of.computedMs * 1_000) / (Math.max(1, of.computed) * LIMITS.exposureWorkMsASecond);
    if (state.allWaitSinceMs !== null) of.wanted ??= 'a change affects too many addresses';
    else if (of.computed >= MEASURED_MIN && left > WAIT_MS_MAX) of.wanted ??= 'too many pending entries';
    else if (state.computed > CHANGED_MIN + of.addresses / 4)
      of.wanted ??= 'many entries changed since the build';
  }

  function buildIfWanted(of: KeptChain): void {
    const { wanted, chain } = of;
    if (wanted === null || clock.monotonic() < of.notBeforeMs) return;
    // Builds run one at a time: each needs memory for all addresses and transfers of its chain.
    if ([...chains.values()].some(({ isBuilding }) => isBuilding)) return;
    of.isBuilding = true;
    if (!of.isBuildFailing) log.info({ chain, reason: wanted }, 'exposure index build started');
    const began = clock.monotonic();
    deps
      .build(chain)
      .then(
        () => {
          if (of.isBuildFailing) log.info({ chain }, 'exposure index build recovered');
          of.isBuildFailing = false;
        },
        (error: unknown) => {
          if (!of.isBuildFailing)
            log.error({ chain, reason: messageOf(error) }, 'exposure index build failed');
          of.isBuildFailing = true;
        },
      )
      .finally(() => {
        of.isBuilding = false;
        of.wanted = null;
        const now = clock.monotonic();
        of.notBeforeMs = now + Math.max(BUILD_GAP_MS, BUILD_GAP_FACTOR * (now - began));
      });
  }

  function keep(of: KeptChain): void {
    const { chain } = of;
    const position = transfers.logPosition(chain);
    if (position === null || position.transfers === 0) return;
    open(of);
    if (of.current.isRefused) return;
    const { updater, inputs } = of;
    if (updater === null || inputs === null) of.wanted ??= 'no index yet';
    else {
      // Until the new index is ready, new transfers are read with the new labels: their addresses are correct sooner than the others.
      if (!isSameInputs(inputs, deps.inputs(chain))) of.wanted ??= 'labels or policy changed';
      follow(of, updater);
    }
    buildIfWanted(of);
  }

  function noteFailure(of: KeptChain, error: unknown): void {
    const reason = messageOf(error);
    // A full disk is worded by what the store was at.
    const failure = isStorageFull(error) ? 'STORAGE_FULL' : reason;
    if (failure !== of.failure) log.error({ chain: of.chain, reason }, 'exposure index update failed');
    of.failure = failure;
    of.retryAtMs = clock.monotonic() + FAILED_RETRY_MS;
  }

  return {
    tick() {
      deps.labels.refresh();
      for (const { id } of CHAINS) {
        if (!existsSync(join(options.transfersFolder, `${id.toLowerCase()}.mdb`))) continue;
        const of = kept(id);
        if (clock.monotonic() < of.retryAtMs) continue;
        try {
          keep(of);
          if (of.failure !== null) log.info({ chain: id }, 'exposure index update recovered');
          of.failure = null;
        } catch (error) {
          noteFailure(of, error);
        }
      }
    },
  };
}
