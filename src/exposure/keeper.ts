/**
 * Keeps the indexes of all chains up to date: follows their logs a few times per second, computes pending entries, and starts a build
 * if an index is missing, if labels, policy or built-in facts changed, or if too much is new. Runs on its own thread while the server
 * runs.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import { createAssessor } from '../screening/assess.ts';
import { mayPass } from '../screening/attribution.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import { SCREENING_LIMITS } from '../screening/limits.ts';
import { weighingOf } from '../screening/weighing.ts';
import { isStorageFull } from '../state/storage.ts';
import { createWalk, ENTRY_HOPS } from './evaluate.ts';
import type { IndexInputs } from './format.ts';
import { EXPOSURE_LIMITS } from './limits.ts';
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
const WAIT_MS_MAX = SCREENING_LIMITS.exposureWaitMsMax / 2;
const MEASURED_MIN = 50;
/** A chain is looked at again this long after its update failed: what is new is computed for each try, and a full disk stays full for minutes. */
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

interface ChainState {
  readonly chain: ChainId;
  /** Whether a transfer is stored. */
  hasTransfers: boolean;
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

/** The work on the index of one chain with stored transfers. */
export interface KeptIndex {
  readonly chain: ChainId;
  /** FAILING: the last update or build failed. BUILDING: a build runs. WANTED: a build is wanted and waits. CURRENT: none of these. */
  readonly state: 'CURRENT' | 'WANTED' | 'BUILDING' | 'FAILING';
  /** Why a build is wanted, or what fails; null if the state is CURRENT. */
  readonly reason: string | null;
  /** Entries that wait to be computed again; null without a usable index. */
  readonly waiting: number | null;
}

export interface ExposureKeeper {
  /** Runs one round over all chains. */
  tick(): void;
  /** Returns the work on the index of each chain with stored transfers, as of the last round. */
  kept(): readonly KeptIndex[];
}

function keptIndex(of: ChainState): KeptIndex {
  const { chain, wanted, updater } = of;
  const refused = of.current.isRefused ? 'The disk has no room to open it.' : null;
  const failure = of.failure ?? refused ?? (of.isBuildFailing ? 'The last build failed.' : null);
  const reason = failure ?? wanted;
  const state =
    failure !== null ? 'FAILING' : of.isBuilding ? 'BUILDING' : wanted !== null ? 'WANTED' : 'CURRENT';
  return { chain, state, reason, waiting: updater?.waiting ?? null };
}

/** Creates a keeper; `tick` opens the indexes and updates them. */
export function createExposureKeeper(options: KeeperOptions, deps: KeeperDeps): ExposureKeeper {
  return new IndexKeeper(options, deps);
}

class IndexKeeper implements ExposureKeeper {
  readonly #options: KeeperOptions;
  readonly #deps: KeeperDeps;
  readonly #chains = new Map<ChainId, ChainState>();
  readonly #assessor: ReturnType<typeof createAssessor>;

  constructor(options: KeeperOptions, deps: KeeperDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#assessor = createAssessor(deps);
  }

  /** Returns the state of a chain; its index is opened by the first round over it. */
  #stateOf(chain: ChainId): ChainState {
    let state = this.#chains.get(chain);
    if (state === undefined) {
      state = {
        chain,
        hasTransfers: false,
        current: followCurrent(exposureFolderOf(this.#options.folder, chain), this.#deps.log, {
          check: 'each',
        }),
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
      this.#chains.set(chain, state);
    }
    return state;
  }

  /** Opens an index that was published since the last check. */
  #open(of: ChainState): void {
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
    this.#warm(chain);
    of.updater = createUpdater(chain, opened, {
      clock: this.#deps.clock,
      transfers: this.#deps.transfers,
      weighing: weighingOf(chain, this.#deps),
      evaluate: createWalk(chain, this.#assessor, this.#deps, ENTRY_HOPS),
      passes: (graph, node) =>
        mayPass(this.#assessor.attributions(graph, this.#deps.labels.current, null).of(node)),
    });
  }

  /** Looks up every address once, which takes a few seconds for millions: walks then find the labels of their addresses in memory. */
  #warm(chain: ChainId): void {
    const graph = this.#deps.transfers.graph(chain);
    if (graph === null) return;
    const attributions = this.#assessor.attributions(graph, this.#deps.labels.current, null);
    const last = Math.min(graph.nodeCount, SCREENING_LIMITS.attributedNodesKept);
    for (let node = 1; node <= last; node++) attributions.of(node);
  }

  /** Reads new transfers, recomputes pending entries for a part of the tick, and decides whether a build costs less. */
  #follow(of: ChainState, updater: ExposureUpdater): void {
    if (updater.follow() === 'BEHIND') of.wanted ??= 'too many new transfers';
    if (updater.waiting > 0) {
      const before = this.#deps.clock.monotonic();
      of.computed += updater.recompute((EXPOSURE_LIMITS.exposureWorkMsASecond * TICK_MS) / 1_000);
      of.computedMs += this.#deps.clock.monotonic() - before;
    }
    const { waiting } = updater;
    const state = updater.state();
    const left =
      (waiting * of.computedMs * 1_000) / (Math.max(1, of.computed) * EXPOSURE_LIMITS.exposureWorkMsASecond);
    if (state.allWaitSinceMs !== null) of.wanted ??= 'a change affects too many addresses';
    else if (of.computed >= MEASURED_MIN && left > WAIT_MS_MAX) of.wanted ??= 'too many pending entries';
    else if (state.computed > CHANGED_MIN + of.addresses / 4)
      of.wanted ??= 'many entries changed since the build';
  }

  /** Starts the build that is wanted, if no other build runs and the last one is long enough ago. */
  #buildIfWanted(of: ChainState): void {
    const { wanted, chain } = of;
    if (wanted === null || this.#deps.clock.monotonic() < of.notBeforeMs) return;
    // Builds run one at a time: each needs memory for all addresses and transfers of its chain.
    if ([...this.#chains.values()].some(({ isBuilding }) => isBuilding)) return;
    of.isBuilding = true;
    if (!of.isBuildFailing) this.#deps.log.info({ chain, reason: wanted }, 'exposure index build started');
    const began = this.#deps.clock.monotonic();
    this.#deps
      .build(chain)
      .then(
        () => {
          const seconds = Math.round((this.#deps.clock.monotonic() - began) / 1_000);
          const end = of.isBuildFailing ? 'recovered' : 'finished';
          this.#deps.log.info({ chain, seconds }, `exposure index build ${end}`);
          of.isBuildFailing = false;
        },
        (error: unknown) => {
          if (!of.isBuildFailing)
            this.#deps.log.error({ chain, reason: messageOf(error) }, 'exposure index build failed');
          of.isBuildFailing = true;
        },
      )
      .finally(() => {
        of.isBuilding = false;
        of.wanted = null;
        const now = this.#deps.clock.monotonic();
        of.notBeforeMs = now + Math.max(BUILD_GAP_MS, BUILD_GAP_FACTOR * (now - began));
      });
  }

  /** Runs one round over a chain. */
  #keep(of: ChainState): void {
    const { chain } = of;
    const position = this.#deps.transfers.logPosition(chain);
    of.hasTransfers = position !== null && position.transfers > 0;
    if (!of.hasTransfers) return;
    this.#open(of);
    if (of.current.isRefused) return;
    const { updater, inputs } = of;
    if (updater === null || inputs === null) of.wanted ??= 'no index yet';
    else {
      // Until the new index is ready, new transfers are read with the new labels: their addresses are correct sooner than the others.
      if (!isSameInputs(inputs, this.#deps.inputs(chain))) of.wanted ??= 'labels or policy changed';
      this.#follow(of, updater);
    }
    this.#buildIfWanted(of);
  }

  /** Logs a failure once, and delays the next round over the chain. */
  #noteFailure(of: ChainState, error: unknown): void {
    const reason = messageOf(error);
    // A full disk is worded by what the store was at.
    const failure = isStorageFull(error) ? 'STORAGE_FULL' : reason;
    if (failure !== of.failure)
      this.#deps.log.error({ chain: of.chain, reason }, 'exposure index update failed');
    of.failure = failure;
    of.retryAtMs = this.#deps.clock.monotonic() + FAILED_RETRY_MS;
  }

  kept(): readonly KeptIndex[] {
    return [...this.#chains.values()].filter(({ hasTransfers }) => hasTransfers).map(keptIndex);
  }

  tick(): void {
    this.#deps.labels.refresh();
    for (const { id } of CHAINS) {
      if (!existsSync(join(this.#options.transfersFolder, `${id.toLowerCase()}.mdb`))) continue;
      const of = this.#stateOf(id);
      if (this.#deps.clock.monotonic() < of.retryAtMs) continue;
      try {
        this.#keep(of);
        if (of.failure !== null) this.#deps.log.info({ chain: id }, 'exposure index update recovered');
        of.failure = null;
      } catch (error) {
        this.#noteFailure(of, error);
      }
    }
  }
}
