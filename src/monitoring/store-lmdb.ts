/**
 * The store of monitoring on LMDB. The data of one block is written in one transaction with the chain's checkpoint, so that after
 * a crash a block is either stored completely or processed again.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { type PageRequest, sequenceOfCursor } from '../base/paging.ts';
import type { Random } from '../base/random.ts';
import type { Encryption } from '../state/encryption.ts';
import {
  type AppliedWrite,
  type Fence,
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { type AlertFilter, type AlertIndex, openAlertIndex } from './alert-index.ts';
import { AlertWriter } from './alert-writer.ts';
import { LmdbBlockWriter } from './block-writer.ts';
import { ChainBlocks } from './chain-blocks.ts';
import { ChangeLog } from './change-log.ts';
import { type ChannelStore, openChannels } from './channels.ts';
import { DELIVERY_LIMITS } from './delivery/limits.ts';
import { type LmdbOutbox, openOutbox } from './delivery/outbox-lmdb.ts';
import type { ReceiverQueue } from './delivery/receiver-queues.ts';
import { openPendingWallets } from './pending-wallets.ts';
import type {
  Alert,
  AlertChange,
  FollowReport,
  MonitoredTransaction,
  MonitoredWallet,
  MonitoringChain,
  WalletFilter,
  WatchChange,
  WatchedAddress,
} from './records.ts';
import { type DueCounts, openRefreshQueue, type RefreshPlace, type RefreshQueue } from './refresh-queue.ts';
import type {
  BlockRef,
  BlockWriter,
  CounterpartyPlace,
  MonitoringChange,
  MonitoringStore,
  OwnRecheckState,
  PendingWallets,
  RecheckState,
  WatchPlace,
} from './store.ts';
import { findWallet, type MonitoringTables, openTables } from './tables.ts';
import { storedNumbers, TransactionRetention } from './transaction-retention.ts';
import { createWalletLists } from './wallet-lists.ts';
import type { WalletScreening } from './wallet-screening.ts';
import { WatchLog } from './watch-log.ts';

export const FORMAT_VERSION = 1;

const DAY_MS = 86_400_000;
/** Set when every active wallet has been scheduled. */
const REFRESHES_PLANNED = 'refreshesPlanned';

const notFound = (what: string, id: string): AssayError =>
  new AssayError('NOT_FOUND', `id: there is no ${what} '${id.slice(0, 64)}'.`, { field: 'id' });

export interface MonitoringStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly encryption: Encryption;
  /** Default: on this machine. */
  readonly openStore?: OpenStore;
  /** Time between two scheduled screenings of a wallet; default: one day. */
  readonly refreshIntervalMs?: number;
}

/**
 * Opens or creates the store.
 *
 * @param options - `path`: the LMDB file
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openMonitoringStore(
  options: { readonly path: string },
  deps: MonitoringStoreDeps,
): MonitoringStore {
  const { openStore = openLiveStore } = deps;
  return new LmdbMonitoringStore(
    openStore(options.path, FORMAT_VERSION, { name: 'monitoring', maxDbs: 48 }),
    deps,
  );
}

class LmdbMonitoringStore implements MonitoringStore {
  readonly channels: ChannelStore;
  readonly outbox: LmdbOutbox;
  readonly pending: PendingWallets;
  readonly #live: LiveStore;
  readonly #root: LiveRoot;
  readonly #meta: LiveDatabase<number, string>;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #tables: MonitoringTables;
  readonly #refreshes: RefreshQueue;
  readonly #alertIndex: AlertIndex;
  readonly #changes: ChangeLog;
  readonly #watchLog: WatchLog;
  readonly #blocks: ChainBlocks;
  readonly #alerts: AlertWriter;
  readonly #writer: BlockWriter;
  readonly #transactionRetention: TransactionRetention;
  readonly #walletLists: ReturnType<typeof createWalletLists>;

  constructor(
    live: LiveStore,
    { clock, random, encryption, refreshIntervalMs = DAY_MS }: MonitoringStoreDeps,
  ) {
    const { root, meta } = live;
    const tables = openTables(root);
    const newId = createIds({ clock, random });
    const refreshes = openRefreshQueue(root, { clock, intervalMs: refreshIntervalMs });
    const alertIndex = openAlertIndex(root);
    const readAlert = (accountId: string, id: string): Alert | null => alertIndex.byId(accountId, id);
    const readWallet = (accountId: string, id: string): MonitoredWallet | null =>
      findWallet(tables, accountId, id);
    const watchLog = new WatchLog(tables, meta);
    const changes = new ChangeLog({ tables, readAlert, readWallet });
    this.#live = live;
    this.#root = root;
    this.#meta = meta;
    this.#clock = clock;
    this.#newId = newId;
    this.#tables = tables;
    this.#refreshes = refreshes;
    this.#alertIndex = alertIndex;
    this.#watchLog = watchLog;
    this.#blocks = new ChainBlocks(tables, meta);
    this.#changes = changes;
    this.channels = openChannels(root, { encryption, clock, random });
    this.outbox = openOutbox(root, { channels: this.channels, clock, random, newId, readAlert });
    const { outbox } = this;
    this.#alerts = new AlertWriter({ tables, alertIndex, changes, outbox, refreshes, clock, newId });
    this.#writer = new LmdbBlockWriter(tables, this.#alerts, refreshes, newId);
    this.#transactionRetention = new TransactionRetention(tables, root);
    this.#walletLists = createWalletLists({
      generation: () => watchLog.generation(),
      changes: (after) => watchLog.changesAfter(after),
      *readAll(accountId) {
        for (const { value } of tables.wallets.getRange({ start: [accountId, ''], end: [accountId, '~'] }))
          yield value;
      },
      read: readWallet,
    });
    this.pending = openPendingWallets({
      tables,
      clock,
      newId,
      commit: (work) => this.#commit(work),
      refresh: () => root.resetReadTxn(),
      requireFree: (...of) => this.#requireFree(...of),
      watch: (wallet) => this.#watch(wallet, wallet.watchFromHeight),
    });
    live.onApplied((writes) => this.#applied(writes));
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  /** Runs a write, then calls the listeners with its changes. If it throws, or its fence is outdated, nothing is changed. */
  async #commit<T>(work: () => T, fence: Fence | null = null): Promise<T> {
    // A child transaction, because a plain one keeps the writes that precede an error.
    const { value, changes, isMoved } = await this.#root.childTransaction(() => {
      this.#changes.begin();
      this.#watchLog.begin();
      const value = work();
      return { value, changes: this.#changes.pending, isMoved: this.#watchLog.isMoved };
    }, fence);
    if (isMoved || changes.length > 0) this.#watchLog.noteStored();
    if (changes.length > 0) {
      this.outbox.wake();
      for (const change of changes) this.#changes.notify(change);
    }
    return value;
  }

  /** Passes the writes of other nodes on to the listeners of this one. */
  #applied(writes: readonly AppliedWrite[]): void {
    const queues: ReceiverQueue[] = [];
    const stored = this.#watchLog.stored();
    for (const { database, key, isRemoved } of writes) {
      // A key with one element is stored as that element.
      const [first, second] = Array.isArray(key) ? key : [key];
      if (database === 'watchChanges') this.#watchLog.applied(Number(first), isRemoved, stored);
      if (database === 'deliveryQueue' && !isRemoved) queues.push(String(first));
      if (database === 'changes' && !isRemoved) this.#changes.notifyStored(String(first), Number(second));
    }
    if (queues.length > 0) this.outbox.wake(queues);
  }

  // --- wallets ----------------------------------------------------------------------------------------------------------

  requireFree(accountId: string, chain: MonitoringChain, walletAddress: string, walletsMax: number): void {
    this.#root.resetReadTxn();
    this.#requireFree(accountId, chain, walletAddress, walletsMax);
  }

  #requireFree(accountId: string, chain: string, walletAddress: string, walletsMax: number): void {
    const { walletIds, walletCounts } = this.#tables;
    const refuse = (reason: string): never => {
      throw new AssayError('INVALID_REQUEST', `walletAddress: ${reason}`, { field: 'walletAddress' });
    };
    if (walletIds.get([accountId, chain, walletAddress]) !== undefined)
      refuse('this account has this address on this chain already; a deleted wallet can be restored.');
    if ((walletCounts.get(accountId) ?? 0) >= walletsMax)
      refuse(`this account has reached its limit of ${walletsMax} wallets; deleted wallets count too.`);
  }

  addWallet(
    draft: Parameters<MonitoringStore['addWallet']>[0],
    walletsMax: number,
    head: number | null = null,
  ): Promise<MonitoredWallet> {
    return this.#commit(() => {
      const { accountId, chain, walletAddress } = draft;
      const { walletCounts, walletIds } = this.#tables;
      this.#requireFree(accountId, chain, walletAddress, walletsMax);
      const now = this.#clock.now();
      const wallet: MonitoredWallet = {
        ...draft,
        id: this.#newId(),
        status: 'ACTIVE',
        createdAtMs: now,
        updatedAtMs: now,
        deletedAtMs: null,
      };
      walletCounts.putSync(accountId, (walletCounts.get(accountId) ?? 0) + 1);
      walletIds.putSync([accountId, chain, walletAddress], wallet.id);
      this.#watch(wallet, head);
      return wallet;
    });
  }

  /** Stores and watches a new wallet. Call it inside a transaction. */
  #watch(wallet: MonitoredWallet, head: number | null): void {
    this.#blocks.begin(wallet.chain, head, wallet.watchFromHash);
    this.#putWallet(wallet, 'wallet.created');
  }

  wallet(accountId: string, walletId: string): MonitoredWallet | null {
    this.#root.resetReadTxn();
    return this.#findWallet(accountId, walletId);
  }

  #findWallet(accountId: string, walletId: string): MonitoredWallet | null {
    return findWallet(this.#tables, accountId, walletId);
  }

  wallets(
    accountId: string,
    filter: WalletFilter,
    page: PageRequest,
  ): ReturnType<MonitoringStore['wallets']> {
    this.#root.resetReadTxn();
    return this.#walletLists.list(accountId, filter, page);
  }

  /**
   * Cancels messages of a wallet that is about to be paused or deleted until few are left for the transaction that changes it: a receiver that
   * failed for days leaves any number of them.
   */
  async #cancelMany(
    accountId: string,
    walletId: string,
    change: (wallet: MonitoredWallet) => MonitoredWallet,
  ): Promise<void> {
    const before = this.wallet(accountId, walletId);
    if (before?.status !== 'ACTIVE' || change(before).status === 'ACTIVE') return;
    const limit = DELIVERY_LIMITS.deliveriesCancelledAtOnce;
    while ((await this.#root.transaction(() => this.outbox.cancelWallet(walletId, limit))) === limit);
  }

  async changeWallet(
    accountId: string,
    walletId: string,
    change: (wallet: MonitoredWallet) => MonitoredWallet,
    { head = null, isUrlSet = false }: { readonly head?: number | null; readonly isUrlSet?: boolean } = {},
  ): Promise<MonitoredWallet> {
    await this.#cancelMany(accountId, walletId, change);
    return this.#commit(() => {
      const before = this.#findWallet(accountId, walletId);
      if (before === null) throw notFound('wallet', walletId);
      const after: MonitoredWallet = { ...change(before), updatedAtMs: this.#clock.now() };
      if (before.status === 'ACTIVE' && after.status !== 'ACTIVE') this.outbox.cancelWallet(walletId);
      if (before.status !== 'ACTIVE' && after.status === 'ACTIVE')
        this.#blocks.begin(after.chain, head, after.watchFromHash);
      if (isUrlSet && after.customWebhookUrl !== null)
        this.outbox.enableUrl(accountId, after.customWebhookUrl);
      this.#putWallet(after, 'wallet.updated');
      return after;
    });
  }

  counts(accountId: string, walletId: string): ReturnType<MonitoringStore['counts']> {
    this.#root.resetReadTxn();
    return {
      alertCount: this.#alertIndex.count(accountId, { walletId }),
      transactionCount: this.#transactionCount(walletId),
    };
  }

  #transactionCount(walletId: string): number {
    const { deleted, last } = storedNumbers(this.#tables, walletId);
    return last - deleted;
  }

  /**
   * Stores a wallet. Call it inside a transaction.
   *
   * @param kind - kind of the change that listeners get; null if they get none
   */
  #putWallet(wallet: MonitoredWallet, kind: 'wallet.created' | 'wallet.updated' | null): void {
    const { wallets, watched } = this.#tables;
    wallets.putSync([wallet.accountId, wallet.id], wallet);
    this.#refreshes.keep(wallet);
    const place: [string, string, string] = [wallet.chain, wallet.walletAddress, wallet.id];
    if (wallet.status === 'ACTIVE') watched.putSync(place, wallet.accountId);
    else watched.removeSync(place);
    this.#watchLog.record(wallet);
    if (kind !== null) this.#changes.record({ kind, wallet });
  }

  // --- scheduled screenings ---------------------------------------------------------------------------------------------

  refreshesDue(
    chain: MonitoringChain,
    limits: { readonly behindAlert: number; readonly scheduled: number },
  ): readonly RefreshPlace[] {
    this.#root.resetReadTxn();
    return this.#refreshes.due(chain, limits);
  }

  refreshesWaiting(chain: MonitoringChain, max: number): DueCounts {
    this.#root.resetReadTxn();
    return this.#refreshes.dueCounts(chain, max);
  }

  refreshed(
    place: RefreshPlace,
    screening: WalletScreening,
    nextAtMs: number,
    fence?: Fence | null,
  ): Promise<void> {
    return this.#commit(() => {
      const before = this.#findWallet(place.accountId, place.walletId);
      // A paused or deleted wallet has already been removed from the queue.
      if (before?.status !== 'ACTIVE') return;
      const after: MonitoredWallet = { ...before, ...screening };
      const isOther =
        after.riskScore !== before.riskScore ||
        after.riskLevel !== before.riskLevel ||
        after.assessed !== before.assessed;
      this.#putWallet(after, isOther ? 'wallet.updated' : null);
      this.#refreshes.done(after, place, nextAtMs);
    }, fence);
  }

  putOffRefresh({ accountId, walletId }: RefreshPlace, untilMs: number, fence?: Fence | null): Promise<void> {
    return this.#commit(() => {
      const wallet = this.#findWallet(accountId, walletId);
      if (wallet !== null) this.#refreshes.putOff(wallet, untilMs);
    }, fence);
  }

  planRefreshes(after: WatchPlace | null, limit: number): Promise<WatchPlace | null> {
    return this.#commit(() => {
      if (this.#meta.get(REFRESHES_PLANNED) !== undefined) return null;
      const rows = [...this.#tables.watched.getRange({ start: after ?? ['', '', ''], limit })];
      for (const { key, value: accountId } of rows) {
        const wallet = this.#findWallet(accountId, key[2]);
        if (wallet !== null) this.#refreshes.keep(wallet);
      }
      const last = rows.at(-1)?.key ?? null;
      if (rows.length === limit && last !== null) return last as WatchPlace;
      this.#meta.putSync(REFRESHES_PLANNED, 1);
      return null;
    });
  }

  // --- watched addresses ------------------------------------------------------------------------------------------------

  generation(): number {
    this.#root.resetReadTxn();
    return this.#watchLog.generation();
  }

  *watched(): Iterable<WatchedAddress> {
    this.#root.resetReadTxn();
    for (const { key, value: accountId } of this.#tables.watched.getRange()) {
      const [chain, walletAddress, walletId] = key;
      yield { chain: chain as MonitoringChain, walletAddress, accountId, walletId };
    }
  }

  watchChanges(after: number): readonly WatchChange[] | null {
    this.#root.resetReadTxn();
    return this.#watchLog.changesAfter(after);
  }

  isWatched(chain: MonitoringChain): boolean {
    this.#root.resetReadTxn();
    return this.#blocks.isWatched(chain);
  }

  // --- blocks -----------------------------------------------------------------------------------------------------------

  blocks(chain: MonitoringChain): readonly BlockRef[] {
    this.#root.resetReadTxn();
    return this.#blocks.processed(chain);
  }

  addEarlierBlocks(
    chain: MonitoringChain,
    earlier: readonly BlockRef[],
    fence?: Fence | null,
  ): Promise<void> {
    return this.#commit(() => this.#blocks.addEarlier(chain, earlier), fence);
  }

  revertCount(chain: MonitoringChain): number {
    this.#root.resetReadTxn();
    return this.#blocks.revertCount(chain);
  }

  firstHeight(chain: MonitoringChain): number | null {
    this.#root.resetReadTxn();
    return this.#blocks.firstHeight(chain);
  }

  applyBlock(
    chain: MonitoringChain,
    block: BlockRef,
    work: (writer: BlockWriter) => void,
    fence?: Fence | null,
  ): Promise<void> {
    return this.#commit(() => {
      const earlier = this.#blocks.before(chain, block);
      if (earlier === null) return;
      work(this.#writer);
      this.#blocks.add(chain, block, earlier);
      this.#alerts.finalize(chain, block.height);
    }, fence);
  }

  revert(
    chain: MonitoringChain,
    height: number,
    onTransaction: (transaction: MonitoredTransaction, writer: BlockWriter) => void,
    fence?: Fence | null,
  ): Promise<void> {
    return this.#commit(() => {
      for (const transaction of this.#blocks.revertAbove(chain, height)) {
        this.#writer.changeTransaction({ ...transaction, reorged: true });
        onTransaction(transaction, this.#writer);
        this.#revertAlerts(transaction);
      }
    }, fence);
  }

  #revertAlerts({ accountId, alertIds }: MonitoredTransaction): void {
    for (const id of alertIds) {
      const alert = this.#alertIndex.byId(accountId, id);
      if (alert === null || alert.reorged) continue;
      this.#alerts.revert(alert);
      const wallet = this.#findWallet(alert.accountId, alert.walletId);
      if (wallet !== null) this.#refreshes.afterAlert(wallet);
    }
  }

  followReport(chain: MonitoringChain): FollowReport | null {
    this.#root.resetReadTxn();
    return this.#tables.followReports.get(chain) ?? null;
  }

  reportFollowing(chain: MonitoringChain, report: FollowReport, fence: Fence): Promise<void> {
    return this.#commit(() => void this.#tables.followReports.putSync(chain, report), fence);
  }

  forgetBlocks(chain: MonitoringChain, fence?: Fence | null): Promise<void> {
    return this.#commit(() => this.#blocks.begin(chain, null), fence);
  }

  write(work: (writer: BlockWriter) => void, fence?: Fence | null): Promise<void> {
    return this.#commit(() => work(this.#writer), fence);
  }

  recheckState(): RecheckState | null {
    this.#root.resetReadTxn();
    return this.#tables.rechecks.get('labels') ?? null;
  }

  ownRecheckState(chain: MonitoringChain): OwnRecheckState | null {
    this.#root.resetReadTxn();
    return this.#tables.ownRechecks.get(chain) ?? null;
  }

  watchedPage(
    chain: MonitoringChain,
    { after, limit }: Parameters<MonitoringStore['watchedPage']>[1],
  ): ReturnType<MonitoringStore['watchedPage']> {
    this.#root.resetReadTxn();
    const start: WatchPlace = after ?? [chain, '', ''];
    const rows = [...this.#tables.watched.getRange({ start, limit: limit + 1 })].filter(
      ({ key }) => key[0] === chain && (after === null || key.join() !== after.join()),
    );
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      wallets: page.flatMap(({ key, value: accountId }) => this.#findWallet(accountId, key[2]) ?? []),
      next: last === undefined || page.length < limit ? null : (last.key as WatchPlace),
    };
  }

  counterparties({
    after,
    limit,
  }: Parameters<MonitoringStore['counterparties']>[0]): ReturnType<MonitoringStore['counterparties']> {
    this.#root.resetReadTxn();
    const range = { start: after ?? (['', '', ''] as CounterpartyPlace), limit: limit + 1 };
    const rows = [...this.#tables.counterparties.getRange(range)];
    const page = rows.filter(({ key }) => after === null || key.join() !== after.join()).slice(0, limit);
    const last = page.at(-1);
    return {
      counterparties: page.map(({ value }) => value),
      next: last === undefined || page.length < limit ? null : (last.key as CounterpartyPlace),
    };
  }

  // --- alerts and transactions ------------------------------------------------------------------------------------------

  alerts(
    accountId: string,
    filter: AlertFilter,
    page: PageRequest & { readonly upTo?: number },
  ): ReturnType<MonitoringStore['alerts']> {
    this.#root.resetReadTxn();
    return this.#alertIndex.page(accountId, filter, page);
  }

  async upgrade(): Promise<void> {
    this.#root.resetReadTxn();
    if (this.#alertIndex.isOld()) await this.#commit(() => this.#alertIndex.upgrade());
  }

  alert(accountId: string, alertId: string): Alert | null {
    this.#root.resetReadTxn();
    return this.#alertIndex.byId(accountId, alertId);
  }

  changeAlert(accountId: string, alertId: string, change: AlertChange, by: string): Promise<Alert> {
    return this.#commit(() => {
      const alert = this.#alertIndex.byId(accountId, alertId);
      if (alert === null) throw notFound('alert', alertId);
      return this.#alerts.changeByUser(alert, change, by);
    });
  }

  transactions(
    accountId: string,
    walletId: string,
    { limit, offset, cursor }: PageRequest,
  ): ReturnType<MonitoringStore['transactions']> {
    this.#root.resetReadTxn();
    const isKnown = this.#findWallet(accountId, walletId) !== null;
    // Transactions of a wallet are numbered from 1, without gaps, and the first ones are deleted first.
    const { deleted, last } = isKnown ? storedNumbers(this.#tables, walletId) : { deleted: 0, last: 0 };
    const total = last - deleted;
    const before = cursor === undefined ? last + 1 : sequenceOfCursor(cursor);
    const newest = Math.min(last, before - 1) - offset;
    if (newest <= deleted) return { transactions: [], total, nextCursor: null };
    const range = {
      start: [walletId, newest] as [string, number],
      end: [walletId, deleted] as [string, number],
      reverse: true,
      limit,
    };
    return {
      transactions: [...this.#tables.transactions.getRange(range)].map(({ value }) => value),
      total,
      nextCursor: newest - deleted > limit ? String(newest - limit + 1) : null,
    };
  }

  deleteTransactionsBefore(beforeMs: number, limit: number): Promise<readonly string[]> {
    return this.#transactionRetention.deleteBefore(beforeMs, limit);
  }

  changes(accountId: string, after: number, limit: number): ReturnType<MonitoringStore['changes']> {
    this.#root.resetReadTxn();
    return this.#changes.page(accountId, after, limit);
  }

  onChange(listener: (change: MonitoringChange) => void): void {
    this.#changes.onChange(listener);
  }
}
