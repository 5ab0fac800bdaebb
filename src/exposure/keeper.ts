/**
 * Keeps the indexes of all chains: follows their logs a few times a second, computes what waits, and has an index built again when there is
 * none, when labels, policy or shipped facts changed, or when too much is new. Runs on a thread of its own, for as long as a server does.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { isStorageFull } from '../base/storage.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import { createAssessor } from '../screening/assess.ts';
import { mayPass } from '../screening/attribution.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { weighingOf } from '../screening/weighing.ts';
import { createWalk, ENTRY_HOPS } from './evaluate.ts';
import type { IndexInputs } from './format.ts';
import { type CurrentIndex, exposureFolderOf, followCurrent, isSameInputs } from './reader.ts';
import { createUpdater, type ExposureUpdater } from './update.ts';

/** How often logs are looked at. A look at a chain without news reads two small values. */
export const TICK_MS = 250;
/** Shortest time between two builds of one chain, whatever changed: a build takes a core for a minute or two. */
const BUILD_GAP_MS = 30_000;
/** The gap is at least this many times what the last build took: a third of one core at most goes into building. */
const BUILD_GAP_FACTOR = 2;
/** Entries computed since the build above which the index is built again, beside a quarter of its addresses: a look-up of them costs more. */
const CHANGED_MIN = 10_000;
/** An index is built again if what waits would take longer than this. */
const WAIT_MS_MAX = LIMITS.exposureWaitMsMax / 2;
const MEASURED_MIN = 50;
/** A chain whose update failed is looked at again after this: what is new is computed for each try, and a full disk stays full for minutes. */
const FAILED_RETRY_MS = 5_000;

export interface KeeperOptions {
  /** Folder of the indexes. */
  readonly folder: string;
  /** Folder of the transfer stores, to see which chains have one. */
  readonly transfersFolder: string;
}

export interface KeeperDeps extends Omit<ScreeningDeps, 'transfers'> {
  readonly transfers: TransferStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly inputs: (chain: ChainId) => IndexInputs;
  /** Builds the index of a chain; resolves when it is in force, or when that failed and was logged. */
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
  /** No build begins before. */
  notBeforeMs: number;
  /** Why the next build is wanted; null if none is. */
  wanted: string | null;
  /** Of entries that were computed: how many, and how long that took. */
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
  /** One round over all chains. */
  tick(): void;
}

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

  /** Takes an index that was published since the last look. */
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

  /** Looks every address up once, a few seconds for millions: a walk then finds the labels of the thousand that it meets in memory. */
  function warm(chain: ChainId): void {
    const graph = transfers.graph(chain);
    if (graph === null) return;
    const attributions = assessor.attributions(graph, deps.labels.current, null);
    const last = Math.min(graph.nodeCount, LIMITS.attributedNodesKept);
    for (let node = 1; node <= last; node++) attributions.of(node);
  }

  function follow(of: KeptChain, updater: ExposureUpdater): void {
    if (updater.follow() === 'BEHIND') of.wanted ??= 'too many transfers are new';
    if (updater.waiting > 0) {
      const before = clock.monotonic();
      of.computed += updater.recompute((LIMITS.exposureWorkMsASecond * TICK_MS) / 1_000);
      of.computedMs += clock.monotonic() - before;
    }
    const { waiting } = updater;
    const state = updater.state();
    const left =
      (waiting * of.computedMs * 1_000) / (Math.max(1, of.computed) * LIMITS.exposureWorkMsASecond);
    if (state.allWaitSinceMs !== null) of.wanted ??= 'a change reaches too many addresses';
    else if (of.computed >= MEASURED_MIN && left > WAIT_MS_MAX) of.wanted ??= 'too many entries wait';
    else if (state.computed > CHANGED_MIN + of.addresses / 4)
      of.wanted ??= 'many entries changed since the build';
  }

  function buildIfWanted(of: KeptChain): void {
    const { wanted, chain } = of;
    if (wanted === null || clock.monotonic() < of.notBeforeMs) return;
    // One after the other: each takes memory for all addresses and transfers of its chain.
    if ([...chains.values()].some(({ isBuilding }) => isBuilding)) return;
    of.isBuilding = true;
    if (!of.isBuildFailing) log.info({ chain, reason: wanted }, 'exposure index build started');
    const began = clock.monotonic();
    deps
      .build(chain)
      .then(
        () => {
          if (of.isBuildFailing) log.info({ chain }, 'exposure index build succeeded again');
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
    if (updater === null || inputs === null) of.wanted ??= 'there is none';
    else {
      // Until the new index is there, new transfers are read with the new labels: their addresses are right sooner than the others.
      if (!isSameInputs(inputs, deps.inputs(chain))) of.wanted ??= 'labels or policy changed';
      follow(of, updater);
    }
    buildIfWanted(of);
  }

  function noteFailure(of: KeptChain, error: unknown): void {
    const reason = messageOf(error);
    // A full disk is worded by what the store was at.
    const failure = isStorageFull(error) ? 'STORAGE_FULL' : reason;
    if (failure !== of.failure) log.error({ chain: of.chain, reason }, 'exposure index not updated');
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
          if (of.failure !== null) log.info({ chain: id }, 'exposure index updated again');
          of.failure = null;
        } catch (error) {
          noteFailure(of, error);
        }
      }
    },
  };
}
