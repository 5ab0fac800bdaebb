/**
 * Keeps derived labels up to date while a server runs: follows the log of every chain on which the rules were applied before, a few times a
 * second, and starts a run of the rules that publishes the labels if evidence changed. It works whichever process writes the transfers.
 */
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import { isStorageFull } from '../state/storage.ts';
import type { ChainFollower } from './follow-chain.ts';

/** Poll interval of the logs. Polling a chain without news reads a few small values. */
export const TICK_MS = 250;
/** Runs start at the earliest this long after the start of the server, which has other work at first. */
const FIRST_RUN_MS = 30_000;
/** The interval between two runs is at least this many times the duration of the last one, so that they use a third of a core at most. */
const RUN_GAP_FACTOR = 2;
/** A chain is looked at again this long after a failure: a full disk stays full for minutes. */
const FAILED_RETRY_MS = 5_000;

export interface KeeperOptions {
  /** Least time between two runs of the rules over one chain. */
  readonly intervalMs: number;
}

export interface KeeperDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the follower of a chain; null if the rules were never applied to it, or no transfer is stored. */
  readonly followerOf: (chain: ChainId) => ChainFollower | null;
  /** Returns whether runs read logs of a chain, so that labels may change although no transfer is new. */
  readonly readsLogs: (chain: ChainId) => boolean;
  /** Applies the rules to a chain and publishes the labels. Rejects if that failed. */
  readonly run: (chain: ChainId) => Promise<void>;
}

interface ChainState {
  readonly chain: ChainId;
  /** Reason for the next run; null if none is needed. */
  wanted: string | null;
  isRunning: boolean;
  /** No run starts before this time. */
  notBeforeMs: number;
  /** Why the last look failed; null if it did not. Each reason is logged once, and so is its end. */
  failure: string | null;
  retryAtMs: number;
  isRunFailing: boolean;
}

/** The keeper of all chains. `tick` is called regularly. */
export class AttributionKeeper {
  readonly #options: KeeperOptions;
  readonly #deps: KeeperDeps;
  readonly #chains = new Map<ChainId, ChainState>();
  readonly #startedMs: number;
  #ticking: Promise<void> | null = null;

  constructor(options: KeeperOptions, deps: KeeperDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonic();
  }

  #stateOf(chain: ChainId): ChainState {
    let state = this.#chains.get(chain);
    if (state === undefined) {
      state = {
        chain,
        // Evidence may have changed while no server ran, or just before the last one ended.
        wanted: 'the server started',
        isRunning: false,
        notBeforeMs: this.#startedMs + Math.min(FIRST_RUN_MS, this.#options.intervalMs),
        failure: null,
        retryAtMs: 0,
        isRunFailing: false,
      };
      this.#chains.set(chain, state);
    }
    return state;
  }

  /** Starts the run that is wanted, if no other one is running: each may sweep a log and builds an index. */
  #runIfWanted(of: ChainState): void {
    const { wanted, chain } = of;
    const { clock, log, run } = this.#deps;
    if (wanted === null || clock.monotonic() < of.notBeforeMs) return;
    if ([...this.#chains.values()].some(({ isRunning }) => isRunning)) return;
    of.isRunning = true;
    // A change from now on may come too late for this run.
    of.wanted = null;
    const began = clock.monotonic();
    run(chain)
      .then(
        () => {
          const seconds = Math.round((clock.monotonic() - began) / 1_000);
          log.info({ chain, reason: wanted, seconds }, 'derived labels published');
          of.isRunFailing = false;
        },
        (error: unknown) => {
          if (!of.isRunFailing)
            log.error({ chain, reason: messageOf(error) }, 'derived labels not published');
          of.isRunFailing = true;
          of.wanted ??= wanted;
        },
      )
      .finally(() => {
        of.isRunning = false;
        const now = clock.monotonic();
        of.notBeforeMs = now + Math.max(this.#options.intervalMs, RUN_GAP_FACTOR * (now - began));
      });
  }

  async #keep(of: ChainState, follower: ChainFollower): Promise<void> {
    const followed = await follower.follow();
    if (followed.outcome === 'SWEEP_WANTED') of.wanted ??= followed.reason;
    if (followed.outcome === 'FOLLOWED' && followed.report.changed > 0) of.wanted ??= 'evidence changed';
    if (!of.isRunning && this.#deps.readsLogs(of.chain)) of.wanted ??= 'logs may be new';
    this.#runIfWanted(of);
  }

  /** Logs a failure once, and delays the next look at the chain. */
  #noteFailure(of: ChainState, error: unknown): void {
    const reason = messageOf(error);
    const failure = isStorageFull(error) ? 'STORAGE_FULL' : reason;
    if (failure !== of.failure)
      this.#deps.log.error({ chain: of.chain, reason }, 'derived labels not followed');
    of.failure = failure;
    of.retryAtMs = this.#deps.clock.monotonic() + FAILED_RETRY_MS;
  }

  async #look(): Promise<void> {
    for (const { id } of CHAINS) {
      const known = this.#chains.get(id);
      if (known !== undefined && this.#deps.clock.monotonic() < known.retryAtMs) continue;
      try {
        const follower = this.#deps.followerOf(id);
        if (follower === null) continue;
        const of = this.#stateOf(id);
        await this.#keep(of, follower);
        if (of.failure !== null) this.#deps.log.info({ chain: id }, 'derived labels followed again');
        of.failure = null;
      } catch (error) {
        this.#noteFailure(this.#stateOf(id), error);
      }
    }
  }

  /** Looks at every chain once. A call during another one waits for that one. */
  tick(): Promise<void> {
    this.#ticking ??= this.#look().finally(() => {
      this.#ticking = null;
    });
    return this.#ticking;
  }

  /** Returns when no look is in progress. */
  async idle(): Promise<void> {
    await this.#ticking;
  }
}
