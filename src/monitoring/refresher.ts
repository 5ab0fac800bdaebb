/**
 * Keeps the scores of wallets current: screens each wallet again after its alerts, when its own labels change, and by schedule. The node that follows a chain
 * screens its wallets, because its transfers are on that node's disk. If no node follows a chain, any node may, one at a time.
 * These screenings are not charged.
 */

import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/retry.ts';
import type { ScreeningRequest } from '../screening/screen.ts';
import type { HeldLease, Leases } from '../state/leases.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { Duty } from './listener.ts';
import type { OwnListings } from './own-listings.ts';
import { MONITORING_CHAINS, type MonitoringChain } from './records.ts';
import type { RefreshPlace } from './refresh-queue.ts';
import type { MonitoringStore, WatchPlace } from './store.ts';
import { readScreening } from './wallet-screening.ts';

export interface RefresherDeps {
  readonly store: Pick<
    MonitoringStore,
    'wallet' | 'refreshesDue' | 'refreshed' | 'putOffRefresh' | 'planRefreshes' | 'isWatched'
  >;
  /** Compares wallets with the labels. */
  readonly listings: Pick<OwnListings, 'isDue' | 'recheck' | 'reassess'>;
  /** Returns the JSON of a screening's `data`. */
  readonly screen: (request: ScreeningRequest) => Promise<Uint8Array>;
  readonly leases: Leases;
  /** Returns the owner of each chain; a chain without one is missing. Default: this node follows all chains. */
  readonly dutyOf?: (chains: readonly MonitoringChain[]) => ReadonlyMap<MonitoringChain, Duty>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly jitter: () => number;
  readonly log: Logger;
}

export interface Refresher {
  /** Screens due wallets until the signal is aborted. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** Screenings are scheduled up to a tenth earlier, so that wallets that were added together do not stay due together. */
const EARLIER_SHARE = 0.1;

/**
 * Creates the refresher.
 *
 * @param options - `intervalMs`: time between two scheduled screenings of a wallet
 */
export function createRefresher(
  { intervalMs }: { readonly intervalMs: number },
  deps: RefresherDeps,
): Refresher {
  const { store, listings, screen, leases, clock, jitter, log } = deps;
  const { dutyOf = (chains) => new Map(chains.map((chain) => [chain, 'MINE'])) } = deps;
  const limits = {
    behindAlert: MONITORING_LIMITS.walletRefreshesAlerted,
    scheduled: MONITORING_LIMITS.walletRefreshesScheduled,
  };

  async function plan(signal: AbortSignal): Promise<void> {
    for (let after: WatchPlace | null = null; !signal.aborted; ) {
      after = await store.planRefreshes(after, MONITORING_LIMITS.walletRefreshesPlanned);
      if (after === null) return;
    }
  }

  async function refresh(chain: MonitoringChain, place: RefreshPlace, { fence }: HeldLease): Promise<void> {
    const wallet = store.wallet(place.accountId, place.walletId);
    if (wallet === null) return;
    try {
      await listings.reassess(wallet, fence);
      const answer = await screen({ chain, address: wallet.walletAddress });
      const nextAtMs = clock.now() + intervalMs * (1 - EARLIER_SHARE * jitter());
      await store.refreshed(place, readScreening(answer), nextAtMs, fence);
    } catch (error) {
      log.warn({ chain, wallet: wallet.id, error: messageOf(error) }, 'wallet refresh failed');
      await store.putOffRefresh(place, clock.now() + MONITORING_LIMITS.walletRefreshRetryMs, fence);
    }
  }

  /** Screens `walletRefreshesAtOnce` wallets at a time. */
  async function refreshAll(
    chain: MonitoringChain,
    places: readonly RefreshPlace[],
    lease: HeldLease,
    signal: AbortSignal,
  ): Promise<void> {
    let next = 0;
    const row = async (): Promise<void> => {
      for (let place = places[next++]; place !== undefined; place = places[next++]) {
        if (signal.aborted || !lease.isHeld()) return;
        await refresh(chain, place, lease);
      }
    };
    await Promise.all(Array.from({ length: MONITORING_LIMITS.walletRefreshesAtOnce }, row));
  }

  /** Chains whose last comparison failed. Each look tries again, and a series of failures is one line of the log. */
  const failing = new Set<MonitoringChain>();

  /** Compares the wallets of a chain with changed labels. If that fails, they are still screened. */
  async function recheck(chain: MonitoringChain, lease: HeldLease, signal: AbortSignal): Promise<void> {
    if (!listings.isDue(chain)) return;
    try {
      const counts = await listings.recheck(chain, signal, lease.fence);
      failing.delete(chain);
      if (counts.alerts > 0) log.info({ chain, ...counts }, 'watched wallets are listed themselves');
    } catch (error) {
      if (!signal.aborted && !failing.has(chain))
        log.warn({ chain, error: messageOf(error) }, 'comparing wallets with labels failed');
      failing.add(chain);
    }
  }

  async function pass(signal: AbortSignal): Promise<void> {
    const watched = MONITORING_CHAINS.filter((chain) => store.isWatched(chain));
    const duties = dutyOf(watched);
    for (const chain of watched) {
      if (signal.aborted) return;
      if (duties.get(chain) === 'OTHERS') continue;
      if (!listings.isDue(chain) && store.refreshesDue(chain, limits).length === 0) continue;
      const lease = await leases.take('monitoring', `refresh:${chain}`);
      if (lease === null) continue;
      try {
        await recheck(chain, lease, signal);
        // Read again under the lease: another node may have screened some of them in between.
        await refreshAll(chain, store.refreshesDue(chain, limits), lease, signal);
      } finally {
        await lease.release();
      }
    }
  }

  return {
    async run(signal) {
      let isPlanned = false;
      let hasFailed = false;
      while (!signal.aborted) {
        try {
          if (!isPlanned) await plan(signal);
          isPlanned = true;
          await pass(signal);
          hasFailed = false;
        } catch (error) {
          // Redis may be unavailable for seconds: log once, and retry at each check.
          if (!hasFailed && !signal.aborted)
            log.warn({ error: messageOf(error) }, 'refresh of wallets interrupted');
          hasFailed = true;
        }
        await sleep(MONITORING_LIMITS.walletRefreshLookMs, signal);
      }
    },
  };
}
