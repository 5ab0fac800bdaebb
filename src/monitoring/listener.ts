/**
 * Follows every chain on which a wallet is watched and which is this node's to follow, from where its checkpoint stands: what was
 * missed while nobody followed it is read first. One chain's trouble is that chain's alone; a fault is waited out and the checkpoint
 * decides where to go on.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, pause, underLease } from '../base/leases.ts';
import { LIMITS } from '../base/limits.ts';
import type { Fence } from '../base/live-store.ts';
import type { Logger } from '../base/log.ts';
import type { ChainAdapter, ChainEvent } from '../chains/adapters/port.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import type { Processor } from './processor.ts';
import { MONITORING_CHAINS, type MonitoringChain } from './records.ts';
import type { MonitoringStore } from './store.ts';
import { buildWatchTable, type WatchTable } from './watch-table.ts';

export interface ListenerDeps {
  readonly store: MonitoringStore;
  readonly processor: Processor;
  /** The adapter of a chain; null where no node is configured. */
  readonly adapter: (chain: ChainId) => Promise<ChainAdapter | null>;
  /** Takes what comes into the graph, before the rules look at it; idempotent, and asks nobody. Null where no graph is kept. */
  readonly ingest: { apply(chain: ChainId, event: ChainEvent): Promise<unknown> } | null;
  /** Fills in what transfers are worth, in their order, where that is known. May ask others, who are not waited for for long. */
  readonly price: (transfers: Iterable<Transfer>) => AsyncIterable<Transfer>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Who of many nodes follows a chain. Default: this one. */
  readonly leases?: Leases;
  /** Whose the chains are, as of now; one that is not named is nobody's. Default: all are this node's. */
  readonly dutyOf?: (chains: readonly MonitoringChain[]) => ReadonlyMap<MonitoringChain, Duty>;
}

/** MINE: this node follows the chain; OTHERS: another one does. */
export type Duty = 'MINE' | 'OTHERS';

export interface ChainState {
  readonly chain: MonitoringChain;
  /** FOLLOWING, WAITING after a fault, STANDBY while another node follows it, or UNREACHABLE: no node is configured for it. */
  readonly state: 'FOLLOWING' | 'WAITING' | 'STANDBY' | 'UNREACHABLE';
  /** Of the last block that was processed; null before the first. */
  readonly height: number | null;
  /** When that was, in milliseconds since the epoch. */
  readonly processedAtMs: number | null;
  /** Time of that block; null before the first since the start. */
  readonly blockTimeMs: number | null;
  readonly lastError: string | null;
}

export interface Listener {
  start(): void;
  /** Wallets were added or changed: looks at once instead of at the next look. */
  nudge(): void;
  /** Chains that something is watched on. */
  states(): readonly ChainState[];
  /** Wallets that are watched, as of the last look. */
  readonly watched: number;
  stop(): Promise<void>;
}

/** How often it is looked whether another process changed the wallets. */
const LOOK_MS = 1_000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 30_000;

interface Following {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  state: ChainState;
}

/**
 * Transfers with their worth filled in for those of watched wallets: the others of a block are thousands, of tokens that nobody asked
 * for. A price that does not come in time is not known: the alert is worth more than its value.
 */
async function withPrices(
  chain: MonitoringChain,
  transfers: readonly Transfer[],
  table: WatchTable,
  { price, log }: Pick<ListenerDeps, 'price' | 'log'>,
): Promise<readonly Transfer[]> {
  const isWatched = (address: string | null): boolean =>
    address !== null && table.watchers(chain, address).length > 0;
  const wanted = transfers.filter(({ from, to }) => isWatched(from) || isWatched(to));
  if (wanted.length === 0) return transfers;
  const worth = new Map<Transfer, Transfer>();
  async function ask(): Promise<void> {
    let at = 0;
    for await (const priced of price(wanted)) worth.set(wanted[at++] as Transfer, priced);
  }
  const asked = ask().catch((error: unknown) => {
    log.warn({ chain, error: messageOf(error) }, 'Transfers could not be priced.');
  });
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    asked,
    new Promise((resolve) => {
      timer = setTimeout(resolve, LIMITS.alertPriceWaitMs);
    }),
  ]);
  clearTimeout(timer);
  return transfers.map((transfer) => worth.get(transfer) ?? transfer);
}

/** Of the last block that counts. */
type Stand = Pick<ChainState, 'height' | 'blockTimeMs'>;

/**
 * Takes one event of a chain into graph and store; returns where the chain stands then. Taking it again changes nothing:
 * a crash in between is made good by the next event from the checkpoint.
 */
export async function takeEvent(
  chain: MonitoringChain,
  event: ChainEvent,
  table: WatchTable,
  deps: Pick<ListenerDeps, 'processor' | 'ingest' | 'price' | 'log'>,
  fence: Fence | null = null,
): Promise<Stand> {
  const { processor, ingest, log } = deps;
  if (event.type === 'reorg') {
    const height = event.ancestor?.height ?? (event.dropped.at(-1)?.height ?? 0) - 1;
    await ingest?.apply(chain, event);
    await processor.takeBack(chain, height, fence);
    log.warn({ chain, blocks: event.dropped.length, height }, 'Blocks were taken back.');
    return { height: event.ancestor?.height ?? null, blockTimeMs: null };
  }
  const transfers = await withPrices(chain, event.block.transfers, table, deps);
  const block = { ...event.block, transfers };
  await ingest?.apply(chain, { ...event, block });
  await processor.block(chain, block, table, fence);
  return { height: block.height, blockTimeMs: block.timestampMs };
}

export function createListener(deps: ListenerDeps): Listener {
  const { store, processor, clock, log, leases = createEmbeddedLeases() } = deps;
  const { dutyOf = (chains) => new Map(chains.map((chain) => [chain, 'MINE'])) } = deps;
  const following = new Map<MonitoringChain, Following>();
  /** Chains that are being left: they do not begin again before they have ended. */
  const leaving = new Map<MonitoringChain, Promise<void>>();
  const stopped = new AbortController();
  let table: WatchTable = buildWatchTable([]);
  let generation = -1;
  let duties: ReadonlyMap<MonitoringChain, Duty> = new Map();
  let timer: NodeJS.Timeout | null = null;

  function refreshTable(): void {
    const now = store.generation();
    if (now === generation) return;
    const changes = store.watchChanges(generation);
    // A million wallets take seconds to read anew; one more or less is a step.
    if (changes === null) table = buildWatchTable(store.watched());
    else for (const change of changes) table.apply(change);
    generation = changes === null ? now : generation + changes.length;
  }

  async function followOnce(
    chain: MonitoringChain,
    adapter: ChainAdapter,
    of: Following,
    lease: HeldLease,
    signal: AbortSignal,
  ): Promise<void> {
    const known = store.blocks(chain);
    const last = known.at(-1) ?? null;
    const from = { fromHeight: last === null ? store.firstHeight(chain) : last.height + 1, known };
    for await (const event of adapter.subscribe(from, { signal, budgetMs: LIMITS.listenerBudgetMs })) {
      if (!lease.isHeld()) return;
      refreshTable();
      const stand = await takeEvent(chain, event, table, deps, lease.fence);
      of.state = { chain, state: 'FOLLOWING', ...stand, processedAtMs: clock.now(), lastError: null };
    }
  }

  async function follow(chain: MonitoringChain, of: Following, signal: AbortSignal): Promise<void> {
    const adapter = await deps.adapter(chain);
    if (adapter === null) {
      of.state = { ...of.state, state: 'UNREACHABLE', lastError: `No node is configured for ${chain}.` };
      return;
    }
    await underLease(
      {
        store: 'monitoring',
        name: `listener:${chain}`,
        async work(lease, working) {
          of.state = { ...of.state, state: 'WAITING' };
          await followUnder(chain, adapter, of, lease, working);
          of.state = { ...of.state, state: 'STANDBY' };
        },
      },
      signal,
      { leases, log },
    );
  }

  /** Follows until the lease is lost or the chain is not followed any more. */
  async function followUnder(
    chain: MonitoringChain,
    adapter: ChainAdapter,
    of: Following,
    lease: HeldLease,
    signal: AbortSignal,
  ): Promise<void> {
    for (let waitMs = RETRY_MS_MIN; !signal.aborted; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      const before = of.state.height;
      try {
        await followOnce(chain, adapter, of, lease, signal);
      } catch (error) {
        if (signal.aborted) return;
        of.state = { ...of.state, state: 'WAITING', lastError: messageOf(error) };
        log.error({ chain, error: messageOf(error) }, 'Following a chain was interrupted.');
        if (error instanceof AssayError && error.code === 'CHAIN_REORG_TOO_DEEP') {
          // What was taken is not on the chain any more: all of it is marked, and read anew as it is now.
          await processor.takeBack(chain, -1, lease.fence);
        }
      }
      if (of.state.height !== before) waitMs = RETRY_MS_MIN;
      await pause(waitMs, signal);
    }
  }

  /** Begins chains that are watched now, ends those that are not. */
  function look(): void {
    if (stopped.signal.aborted) return;
    refreshTable();
    duties = dutyOf(MONITORING_CHAINS.filter((chain) => table.chains.has(chain)));
    for (const chain of MONITORING_CHAINS) {
      const known = following.get(chain);
      const isMine = duties.get(chain) === 'MINE';
      if (isMine && known === undefined && !leaving.has(chain)) begin(chain);
      if (!isMine && known !== undefined) leave(chain, known);
    }
  }

  function leave(chain: MonitoringChain, known: Following): void {
    following.delete(chain);
    known.stop.abort();
    const left = known.ended
      // Nobody watches: what comes meanwhile is nobody's, and whoever watches next begins at the head.
      .then(() => (table.chains.has(chain) ? undefined : store.forgetBlocks(chain)))
      .catch((error: unknown) => {
        log.error({ chain, error: messageOf(error) }, 'The checkpoint of a chain could not be removed.');
      })
      .finally(() => leaving.delete(chain));
    leaving.set(chain, left);
  }

  /** Of a chain that this node does not follow. */
  function elsewhere(chain: MonitoringChain): ChainState {
    const height = store.blocks(chain).at(-1)?.height ?? null;
    const nothing = { processedAtMs: null, blockTimeMs: null };
    return duties.get(chain) === undefined
      ? { chain, state: 'UNREACHABLE', height, ...nothing, lastError: `No node is configured for ${chain}.` }
      : { chain, state: 'STANDBY', height, ...nothing, lastError: null };
  }

  function begin(chain: MonitoringChain): void {
    const stop = new AbortController();
    const height = store.blocks(chain).at(-1)?.height ?? null;
    const nothing = { processedAtMs: null, blockTimeMs: null, lastError: null };
    const state: ChainState = { chain, state: 'WAITING', height, ...nothing };
    const of: Following = { stop, state, ended: Promise.resolve() };
    const ended = follow(chain, of, stop.signal).catch((error: unknown) => {
      of.state = { ...of.state, state: 'WAITING', lastError: messageOf(error) };
      log.error({ chain, error: messageOf(error) }, 'Following a chain has ended.');
    });
    following.set(chain, Object.assign(of, { ended }));
  }

  return {
    start() {
      look();
      timer = setInterval(look, LOOK_MS);
      timer.unref();
    },
    nudge() {
      // A command that adds a wallet follows nothing: the server beside it does.
      if (timer !== null) look();
    },
    states: () =>
      MONITORING_CHAINS.filter((chain) => table.chains.has(chain)).map(
        (chain) => following.get(chain)?.state ?? elsewhere(chain),
      ),
    get watched() {
      return table.size;
    },
    async stop() {
      stopped.abort();
      if (timer !== null) clearInterval(timer);
      for (const { stop } of following.values()) stop.abort();
      await Promise.all([...[...following.values()].map(({ ended }) => ended), ...leaving.values()]);
    },
  };
}
