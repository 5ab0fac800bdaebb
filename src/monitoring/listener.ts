/**
 * Follows every chain that has watched wallets and is assigned to this node, starting at its checkpoint, so that blocks missed
 * while no node followed it are read first. A failure of one chain does not affect the others. After a failure, the listener backs
 * off and continues from the checkpoint.
 */

import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/retry.ts';
import type { BlockRef, ChainAdapter, ChainEvent } from '../chains/families/port.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import { WatchedAddresses } from '../chains/watched-addresses.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, underLease } from '../state/leases.ts';
import type { Fence } from '../state/live-store.ts';
import { FailingChains } from './failing-chains.ts';
import { notConfigured, reportElsewhere, reportOf } from './following.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { Processor } from './processor.ts';
import {
  type ChainFollowing,
  type FollowReport,
  MONITORING_CHAINS,
  type MonitoringChain,
} from './records.ts';
import type { MonitoringStore } from './store.ts';
import { buildWatchTable, type WatchTable } from './watch-table.ts';

export interface ListenerDeps {
  readonly store: MonitoringStore;
  readonly processor: Processor;
  /** Returns the adapter of a chain; null if no node is configured. */
  readonly adapter: (chain: ChainId) => Promise<ChainAdapter | null>;
  /** Adds an event to the graph before the rules run. It is idempotent and makes no network requests. Null if no graph is kept. */
  readonly ingest: { apply(chain: ChainId, event: ChainEvent): Promise<unknown> } | null;
  /**
   * Fills in the USD value of transfers, in their order, if it is known. It may call price sources, which are awaited only briefly.
   */
  readonly price: (transfers: Iterable<Transfer>) => AsyncIterable<Transfer>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Decides which node follows a chain. Default: this one. */
  readonly leases?: Leases;
  /** The addresses that all parts of the program watch. Default: only watched wallets. */
  readonly addresses?: WatchedAddresses;
  /** Returns the current owner of each chain; a chain that is missing has no node. Default: this node owns all chains. */
  readonly dutyOf?: (chains: readonly MonitoringChain[]) => ReadonlyMap<MonitoringChain, Duty>;
  /** Called if the chains change that this node cannot follow at the moment: another node may be able to. */
  readonly onFailing?: (chains: readonly MonitoringChain[]) => void;
}

/** MINE: this node follows the chain; OTHERS: another node does. */
export type Duty = 'MINE' | 'OTHERS';

export interface ChainState {
  readonly chain: MonitoringChain;
  /** FOLLOWING; WAITING after a failure; STANDBY while another node follows it; UNREACHABLE: no node is configured for it. */
  readonly state: 'FOLLOWING' | 'WAITING' | 'STANDBY' | 'UNREACHABLE';
  /** Height of the last processed block; null before the first. */
  readonly height: number | null;
  /** Height of the newest block that a node has named; null before that, and if this node does not follow the chain. */
  readonly headHeight: number | null;
  /** Time of that processing, in milliseconds since the epoch. */
  readonly processedAtMs: number | null;
  /** Time of that block; null before the first one since the start. */
  readonly blockTimeMs: number | null;
  readonly lastError: string | null;
}

export interface Listener {
  start(): void;
  /** Wallets were added or changed: checks at once instead of at the next interval. */
  nudge(): void;
  /** Returns the state of every chain with watched wallets. */
  states(): readonly ChainState[];
  /** Returns whether a chain is followed, by this node or another one; also before the first wallet of the chain. */
  following(chain: MonitoringChain): ChainFollowing;
  /** Number of watched wallets at the last check. */
  readonly watched: number;
  stop(): Promise<void>;
}

/** Interval between checks for wallet changes by other processes. */
const CHECK_MS = 1_000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 30_000;

interface Following {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  state: ChainState;
  /** Time of the last block, or of the start. */
  sinceMs: number;
  /** Fence of its lease; null without one. */
  fence: Fence | null;
  /** The last stored report. */
  reported: FollowReport | null;
  /** Whether the last report could not be stored. The next check tries again, every second, and an outage is one line of the log. */
  isUnstored: boolean;
}

/**
 * Returns the transfers of watched wallets with their USD values, for those whose price arrives in time: the alert matters more than its
 * value. A block has thousands of others, of tokens that are not needed.
 */
async function priced(
  chain: MonitoringChain,
  wanted: readonly Transfer[],
  { price, log }: Pick<ListenerDeps, 'price' | 'log'>,
): Promise<ReadonlyMap<Transfer, Transfer>> {
  const worth = new Map<Transfer, Transfer>();
  if (wanted.length === 0) return worth;
  async function readPrices(): Promise<void> {
    let at = 0;
    for await (const each of price(wanted)) worth.set(wanted[at++] as Transfer, each);
  }
  const reading = readPrices().catch((error: unknown) => {
    log.warn({ chain, error: messageOf(error) }, 'pricing transfers failed');
  });
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    reading,
    new Promise((resolve) => {
      timer = setTimeout(resolve, MONITORING_LIMITS.alertPriceWaitMs);
    }),
  ]);
  clearTimeout(timer);
  // A price that arrives later is not of this result.
  return new Map(worth);
}

/** Position of the last valid block. */
type Position = Pick<ChainState, 'height' | 'blockTimeMs'>;

/**
 * Applies one event of a chain to the graph and the store. It is idempotent: after a crash in between, the next event from the
 * checkpoint repairs the state.
 *
 * @returns the position of the chain after the event
 */
export async function takeEvent(
  chain: MonitoringChain,
  event: ChainEvent,
  table: WatchTable,
  deps: Pick<ListenerDeps, 'processor' | 'ingest' | 'price' | 'log'>,
  fence: Fence | null = null,
): Promise<Position> {
  const { processor, ingest, log } = deps;
  if (event.type === 'reorg') {
    const height = event.ancestor?.height ?? (event.dropped.at(-1)?.height ?? 0) - 1;
    await ingest?.apply(chain, event);
    await processor.revert(chain, height, fence);
    log.warn({ chain, blocks: event.dropped.length, height }, 'blocks reverted');
    return { height: event.ancestor?.height ?? null, blockTimeMs: null };
  }
  // The block as the adapter returned it, which other followers of the chain have, too: it is read once for all of them.
  const found = table.found(event.block);
  const worth = await priced(chain, found, deps);
  const withPrices = (transfers: readonly Transfer[]): readonly Transfer[] =>
    worth.size === 0 ? transfers : transfers.map((transfer) => worth.get(transfer) ?? transfer);
  const block = { ...event.block, transfers: withPrices(event.block.transfers) };
  await ingest?.apply(chain, { ...event, block });
  await processor.block(chain, block, table, fence, withPrices(found));
  return { height: block.height, blockTimeMs: block.timestampMs };
}

/** Creates the listener. It does nothing before `start`. */
export function createListener(deps: ListenerDeps): Listener {
  return new ChainListener(deps);
}

class ChainListener implements Listener {
  readonly #deps: ListenerDeps;
  readonly #leases: Leases;
  readonly #dutyOf: NonNullable<ListenerDeps['dutyOf']>;
  readonly #following = new Map<MonitoringChain, Following>();
  /** Chains that are being stopped. They are not started again before that has ended. */
  readonly #leaving = new Map<MonitoringChain, Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #failing: FailingChains;
  readonly #addresses: WatchedAddresses;
  #table: WatchTable;
  /** Generation of the table. */
  #generation = -1;
  #duties: ReadonlyMap<MonitoringChain, Duty> = new Map();
  #timer: NodeJS.Timeout | null = null;

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
    this.#leases = deps.leases ?? createEmbeddedLeases();
    this.#addresses = deps.addresses ?? new WatchedAddresses();
    this.#table = buildWatchTable([], this.#addresses);
    this.#failing = new FailingChains(deps.clock, deps.onFailing ?? (() => {}));
    this.#dutyOf = deps.dutyOf ?? ((chains) => new Map(chains.map((chain) => [chain, 'MINE'])));
  }

  /** Applies the wallet changes since the last call to the table of watched addresses. */
  #refreshTable(): void {
    const now = this.#deps.store.generation();
    if (now === this.#generation) return;
    const changes = this.#deps.store.watchChanges(this.#generation);
    // Reading a million wallets takes seconds; applying single changes is one step each.
    if (changes === null) {
      const former = this.#table;
      this.#table = buildWatchTable(this.#deps.store.watched(), this.#addresses);
      former.release();
    } else for (const change of changes) this.#table.apply(change);
    this.#generation = changes === null ? now : this.#generation + changes.length;
  }

  /** Reads events from the checkpoint until the subscription fails, the lease is lost or `signal` aborts. */
  async #followOnce(
    chain: MonitoringChain,
    adapter: ChainAdapter,
    of: Following,
    lease: HeldLease,
    signal: AbortSignal,
  ): Promise<void> {
    const known = this.#deps.store.blocks(chain);
    const last = known.at(-1) ?? null;
    const from = {
      fromHeight: last === null ? this.#deps.store.firstHeight(chain) : last.height + 1,
      known,
      onEarlier: (earlier: readonly BlockRef[]) =>
        this.#deps.store.addEarlierBlocks(chain, earlier, lease.fence),
      // The adapter retries by itself, so a fault ends no subscription.
      onFault: (fault: AssayError | null): void => {
        const state = fault === null ? 'FOLLOWING' : 'WAITING';
        of.state = { ...of.state, state, lastError: fault === null ? null : fault.message };
      },
      onHead: (headHeight: number): void => {
        of.state = { ...of.state, headHeight };
      },
    };
    for await (const event of adapter.subscribe(from, {
      signal,
      budgetMs: MONITORING_LIMITS.listenerBudgetMs,
    })) {
      if (!lease.isHeld()) return;
      this.#refreshTable();
      const position = await takeEvent(chain, event, this.#table, this.#deps, lease.fence);
      of.state = {
        ...of.state,
        state: 'FOLLOWING',
        ...position,
        processedAtMs: this.#deps.clock.now(),
        lastError: null,
      };
      of.sinceMs = this.#deps.clock.now();
    }
  }

  /** Follows a chain whenever this node holds its lease. */
  async #follow(chain: MonitoringChain, of: Following, signal: AbortSignal): Promise<void> {
    const adapter = await this.#deps.adapter(chain);
    if (adapter === null) {
      of.state = { ...of.state, state: 'UNREACHABLE', lastError: `No node is configured for ${chain}.` };
      return;
    }
    await underLease(
      {
        store: 'monitoring',
        name: `listener:${chain}`,
        work: async (lease, working) => {
          of.state = { ...of.state, state: 'WAITING' };
          of.fence = lease.fence;
          of.sinceMs = this.#deps.clock.now();
          await this.#followUnder(chain, adapter, of, lease, working);
          of.state = { ...of.state, state: 'STANDBY' };
          of.fence = null;
          of.reported = null;
        },
      },
      signal,
      { leases: this.#leases, log: this.#deps.log },
    );
  }

  /** Follows until the lease is lost or the chain is no longer followed. */
  async #followUnder(
    chain: MonitoringChain,
    adapter: ChainAdapter,
    of: Following,
    lease: HeldLease,
    signal: AbortSignal,
  ): Promise<void> {
    for (let waitMs = RETRY_MS_MIN; !signal.aborted; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      const before = of.state.height;
      try {
        await this.#followOnce(chain, adapter, of, lease, signal);
      } catch (error) {
        if (signal.aborted) return;
        of.state = { ...of.state, state: 'WAITING', lastError: messageOf(error) };
        this.#deps.log.error({ chain, error: messageOf(error) }, 'following chain interrupted');
        if (error instanceof AssayError && error.code === 'CHAIN_REORG_TOO_DEEP') {
          // The processed blocks are no longer on the chain: all of them are reverted, and the chain is read again.
          await this.#deps.processor.revert(chain, -1, lease.fence);
        }
      }
      if (of.state.height !== before) waitMs = RETRY_MS_MIN;
      await sleep(waitMs, signal);
    }
  }

  /** Starts chains that are watched now, and stops those that are not. */
  #check(): void {
    if (this.#stopped.signal.aborted) return;
    this.#refreshTable();
    this.#duties = this.#dutyOf(MONITORING_CHAINS.filter((chain) => this.#table.chains.has(chain)));
    for (const chain of MONITORING_CHAINS) {
      const known = this.#following.get(chain);
      const isMine = this.#duties.get(chain) === 'MINE';
      if (isMine && known === undefined && !this.#leaving.has(chain)) this.#begin(chain);
      if (!isMine && known !== undefined) this.#leave(chain, known);
      else if (known !== undefined) this.#storeReport(chain, known);
    }
    this.#failing.publish();
  }

  /** Stores a changed report, so that the nodes that do not follow the chain can show it. */
  #storeReport(chain: MonitoringChain, of: Following): void {
    const { fence, reported, state, sinceMs } = of;
    if (fence === null) return;
    const report = reportOf(state, sinceMs, this.#deps.clock.now());
    this.#failing.note(chain, { isFollowing: report.following, isReading: state.state === 'FOLLOWING' });
    if (reported?.following === report.following && reported.reason === report.reason) return;
    of.reported = report;
    this.#deps.store.reportFollowing(chain, report, fence).then(
      () => {
        of.isUnstored = false;
      },
      (error: unknown) => {
        of.reported = reported;
        if (!of.isUnstored)
          this.#deps.log.warn({ chain, error: messageOf(error) }, 'state of a followed chain not stored');
        of.isUnstored = true;
      },
    );
  }

  /** Stops following a chain. */
  #leave(chain: MonitoringChain, known: Following): void {
    this.#following.delete(chain);
    known.stop.abort();
    const left = known.ended
      // Without watched wallets, the checkpoint is removed, so that the next watched wallet starts at the head.
      .then(() => (this.#table.chains.has(chain) ? undefined : this.#deps.store.forgetBlocks(chain)))
      .catch((error: unknown) => {
        this.#deps.log.error({ chain, error: messageOf(error) }, 'removing chain checkpoint failed');
      })
      .finally(() => this.#leaving.delete(chain));
    this.#leaving.set(chain, left);
  }

  /** State of a chain that this node does not follow. */
  #stateElsewhere(chain: MonitoringChain): ChainState {
    const height = this.#deps.store.blocks(chain).at(-1)?.height ?? null;
    const nothing = { headHeight: null, processedAtMs: null, blockTimeMs: null };
    return this.#dutyNow(chain) === undefined
      ? { chain, state: 'UNREACHABLE', height, ...nothing, lastError: `No node is configured for ${chain}.` }
      : { chain, state: 'STANDBY', height, ...nothing, lastError: null };
  }

  /** The current duty of a chain. A node that follows no chains has not asked for its duties yet. */
  #dutyNow(chain: MonitoringChain): Duty | undefined {
    return (this.#timer === null ? this.#dutyOf([chain]) : this.#duties).get(chain);
  }

  /** Starts to follow a chain. */
  #begin(chain: MonitoringChain): void {
    const stop = new AbortController();
    const height = this.#deps.store.blocks(chain).at(-1)?.height ?? null;
    const nothing = { headHeight: null, processedAtMs: null, blockTimeMs: null, lastError: null };
    const state: ChainState = { chain, state: 'WAITING', height, ...nothing };
    const sinceMs = this.#deps.clock.now();
    const of: Following = {
      stop,
      state,
      ended: Promise.resolve(),
      sinceMs,
      fence: null,
      reported: null,
      isUnstored: false,
    };
    const ended = this.#follow(chain, of, stop.signal).catch((error: unknown) => {
      of.state = { ...of.state, state: 'WAITING', lastError: messageOf(error) };
      this.#deps.log.error({ chain, error: messageOf(error) }, 'following chain ended');
    });
    this.#following.set(chain, Object.assign(of, { ended }));
  }

  start(): void {
    this.#check();
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    this.#timer.unref();
  }

  nudge(): void {
    // A CLI command that adds a wallet does not follow chains; the server does.
    if (this.#timer !== null) this.#check();
  }

  states(): readonly ChainState[] {
    const { store } = this.#deps;
    const isWatched = (chain: MonitoringChain): boolean =>
      this.#timer === null ? store.isWatched(chain) : this.#table.chains.has(chain);
    return MONITORING_CHAINS.filter(isWatched).map(
      (chain) => this.#following.get(chain)?.state ?? this.#stateElsewhere(chain),
    );
  }

  following(chain: MonitoringChain): ChainFollowing {
    const { store, clock } = this.#deps;
    const of = this.#following.get(chain);
    const followedTo = of?.state.height ?? store.blocks(chain).at(-1)?.height ?? null;
    if (of !== undefined && of.state.state !== 'STANDBY')
      return { ...reportOf(of.state, of.sinceMs, clock.now()), followedTo };
    const report =
      this.#dutyOf([chain]).get(chain) === undefined
        ? notConfigured(chain)
        : reportElsewhere(store.followReport(chain));
    return { ...report, followedTo };
  }

  get watched(): number {
    return this.#table.size;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const { stop } of this.#following.values()) stop.abort();
    await Promise.all([
      ...[...this.#following.values()].map(({ ended }) => ended),
      ...this.#leaving.values(),
    ]);
    this.#table.release();
  }
}
