/**
 * The port of the store of monitoring: wallets, the processed blocks of each chain, monitored transactions, alerts and their
 * outbox. LmdbMonitoringStore in store-lmdb.ts implements it.
 */
import type { PageEnd, PageRequest } from '../base/paging.ts';
import type { Fence } from '../state/live-store.ts';
import type { AlertFilter } from './alert-index.ts';
import type { ChannelStore } from './channels.ts';
import type { LmdbOutbox } from './delivery/outbox-lmdb.ts';
import type {
  Alert,
  AlertChange,
  FollowReport,
  MonitoredTransaction,
  MonitoredWallet,
  MonitoringChain,
  PendingWallet,
  RuleId,
  WalletCharge,
  WalletDraftRecord,
  WalletFilter,
  WatchChange,
  WatchedAddress,
} from './records.ts';
import type { DueCounts, RefreshPlace } from './refresh-queue.ts';
import type { WalletBaseline } from './velocity.ts';
import type { WalletScreening } from './wallet-screening.ts';

/** A processed block. */
export interface BlockRef {
  readonly height: number;
  readonly hash: string;
}

/** Progress of the counterparty recheck for one version of the labels. */
export interface RecheckState {
  readonly dataVersion: string;
  readonly isDone: boolean;
  readonly after: CounterpartyPlace | null;
}

/** Progress of the comparison of the wallets of a chain with one version of the labels. */
export interface OwnRecheckState {
  readonly dataVersion: string;
  /** Build time of that snapshot. */
  readonly builtAt: string;
  readonly isDone: boolean;
  readonly after: WatchPlace | null;
}

/** A counterparty of a wallet, stored to be rechecked when a list changes. */
export interface StoredCounterparty {
  readonly accountId: string;
  readonly walletId: string;
  readonly address: string;
  readonly direction: 'in' | 'out';
  readonly lastSeenMs: number;
  /** Rule of the counterparty at its last check; null for none. */
  readonly ruleId: RuleId | null;
}

/** Position after a page of counterparties. */
export type CounterpartyPlace = [walletId: string, direction: string, address: string];

/** The last position of a page of watched wallets. */
export type WatchPlace = [chain: string, address: string, walletId: string];

/** Steps of a purchase. Each is one durable transaction, and may be repeated. */
export interface PendingWallets {
  /**
   * Returns the row of a wallet that is to be bought. Stores nothing.
   *
   * @param render - returns the JSON text of the response's `data`
   */
  prepare(
    draft: WalletDraftRecord,
    charge: WalletCharge,
    render: (wallet: MonitoredWallet) => string,
  ): PendingWallet;
  /** Returns the row of an address; null without one. */
  at(accountId: string, chain: MonitoringChain, walletAddress: string): PendingWallet | null;
  /**
   * Stores a row. If an earlier request with the same Idempotency-Key and body has stored one for the address, that one is kept.
   *
   * @returns the stored row
   * @throws INVALID_REQUEST if the account already has the address or the maximum number of wallets
   */
  stage(row: PendingWallet, walletsMax: number): Promise<PendingWallet>;
  /** Watches the wallet of a charged row. Returns null if the purchase was abandoned; then the charge must be refunded. */
  activate(row: PendingWallet): Promise<MonitoredWallet | null>;
  /** Marks a row that will not be charged. Returns false if there is no row: the wallet is watched, or nothing was stored. */
  abandon(row: PendingWallet): Promise<boolean>;
  /** Removes an abandoned row and frees its address. */
  remove(row: PendingWallet): Promise<void>;
  /** Returns up to `limit` rows. */
  list(limit: number): readonly PendingWallet[];
}

/** Fields of a new alert; the store adds its id, its sequence number and its history. */
export type AlertDraft = Pick<
  Alert,
  'ruleId' | 'ruleName' | 'severity' | 'title' | 'message' | 'category' | 'riskType' | 'transaction' | 'final'
>;

/** Writes inside the transaction of one block or of one list change. */
export interface BlockWriter {
  /** Returns the wallet as of this transaction: it may have been paused since it was matched. */
  wallet(accountId: string, walletId: string): MonitoredWallet | null;
  /**
   * Whether a block is one from before the wallet was watched. A block of a new branch is not, also if it is not above the block that was the
   * newest one at that time.
   */
  isBeforeWatch(wallet: MonitoredWallet, height: number): boolean;
  /** Returns the stored transaction if this transfer was seen before, in this block or in a reverted one. */
  transaction(walletId: string, hash: string, position: string): MonitoredTransaction | null;
  addTransaction(
    transaction: Omit<MonitoredTransaction, 'id' | 'alertIds' | 'reorged'>,
  ): MonitoredTransaction;
  changeTransaction(transaction: MonitoredTransaction): void;
  /**
   * Raises an alert and stores its messages; null if the same cause has already raised one. If the block of that alert was
   * reverted, the alert is reinstated instead, and returned.
   *
   * @param cause - identifies the cause within the wallet
   */
  raise(
    wallet: MonitoredWallet,
    draft: AlertDraft,
    cause: string,
    finalAtHeight: number | null,
  ): Alert | null;
  /** Returns the daily totals of a wallet; null before its first transfer. */
  baseline(walletId: string): WalletBaseline | null;
  setBaseline(walletId: string, baseline: WalletBaseline): void;
  noteCounterparty(counterparty: StoredCounterparty): void;
  /**
   * Moves a counterparty back to the dealing before a reverted transaction, or removes it if there was none. Call it after the
   * transaction was marked.
   *
   * @param limit - transactions to read at most; if that finds no earlier dealing and there are more, the counterparty stays
   * @returns the number of read transactions
   */
  revertCounterparty(transaction: MonitoredTransaction, limit: number): number;
  /** Removes a counterparty that is too old to be rechecked. */
  removeCounterparty(counterparty: StoredCounterparty): void;
  setRecheckState(state: RecheckState): void;
  /** Stores the rule that a wallet itself falls under. The wallet is screened again soon. */
  setOwnRule(wallet: MonitoredWallet, ruleId: RuleId | null): void;
  setOwnRecheckState(chain: MonitoringChain, state: OwnRecheckState): void;
}

export interface MonitoringStore {
  readonly channels: ChannelStore;
  readonly outbox: LmdbOutbox;
  /** Wallets that are not paid yet. */
  readonly pending: PendingWallets;
  /** Resolves when all existing data can be read. */
  ready(): Promise<void>;
  /** Converts layouts of an older version of the program. */
  upgrade(): Promise<void>;

  /**
   * Adds a wallet that costs nothing.
   *
   * @param head - newest block of the chain, after which processing starts if no other wallet of the chain is watched; null if not
   * known
   * @throws INVALID_REQUEST if the account already has the address or the maximum number of wallets
   */
  addWallet(
    draft: Omit<MonitoredWallet, 'id' | 'createdAtMs' | 'updatedAtMs' | 'deletedAtMs' | 'status'>,
    walletsMax: number,
    head?: number | null,
  ): Promise<MonitoredWallet>;
  /** Throws INVALID_REQUEST if `addWallet` would reject. */
  requireFree(accountId: string, chain: MonitoringChain, walletAddress: string, walletsMax: number): void;
  /** Null also for an id of another account. */
  wallet(accountId: string, walletId: string): MonitoredWallet | null;
  /** Oldest first. */
  wallets(
    accountId: string,
    filter: WalletFilter,
    page: PageRequest,
  ): { readonly wallets: readonly MonitoredWallet[]; readonly total: number } & PageEnd;
  /**
   * Changes a wallet in a transaction, including the consequences for its deliveries.
   *
   * @throws NOT_FOUND, and the errors of `change`
   */
  changeWallet(
    accountId: string,
    walletId: string,
    change: (wallet: MonitoredWallet) => MonitoredWallet,
    options?: {
      /** Same as for `addWallet`. */
      readonly head?: number | null;
      /** The webhook URL was set, so it is used again even if it responded with 410 before. */
      readonly isUrlSet?: boolean;
    },
  ): Promise<MonitoredWallet>;
  counts(
    accountId: string,
    walletId: string,
  ): { readonly alertCount: number; readonly transactionCount: number };

  /**
   * Returns active wallets of a chain that are due for a screening: those after an alert first, each group in the order of its due
   * time.
   */
  refreshesDue(
    chain: MonitoringChain,
    limits: { readonly behindAlert: number; readonly scheduled: number },
  ): readonly RefreshPlace[];
  /** Counts the active wallets of a chain that are due for a screening, at most `max` of each group. */
  refreshesWaiting(chain: MonitoringChain, max: number): DueCounts;
  /**
   * Stores the result of a screening of a wallet. If the wallet was paused or deleted meanwhile, it is not changed. Listeners get a
   * change only if the score, its level or `assessed` changed.
   *
   * @param nextAtMs - time when the wallet is due again
   */
  refreshed(
    place: RefreshPlace,
    screening: WalletScreening,
    nextAtMs: number,
    fence?: Fence | null,
  ): Promise<void>;
  /** The wallet could not be screened: it is due again at `untilMs`. */
  putOffRefresh(place: RefreshPlace, untilMs: number, fence?: Fence | null): Promise<void>;
  /**
   * Schedules the wallets that an earlier version stored, one page of at least two at a time.
   *
   * @param after - last position of the previous page; null for the first page
   * @returns the last position of this page; null if all wallets are scheduled, as after the first run
   */
  planRefreshes(after: WatchPlace | null, limit: number): Promise<WatchPlace | null>;

  /** Increases whenever a wallet is added or changed. */
  generation(): number;
  /** Returns every ACTIVE wallet, chain by chain. */
  watched(): Iterable<WatchedAddress>;
  /** Returns the changes after a generation, oldest first; null if it is too old and all wallets have to be read. */
  watchChanges(after: number): readonly WatchChange[] | null;
  /** Whether any address of the chain is watched. */
  isWatched(chain: MonitoringChain): boolean;

  /** Returns the last processed blocks, oldest first, at most as many as a reorg may revert. Empty before the first. */
  blocks(chain: MonitoringChain): readonly BlockRef[];
  /** Adds blocks before the first of them, without their transfers. */
  addEarlierBlocks(chain: MonitoringChain, earlier: readonly BlockRef[], fence?: Fence | null): Promise<void>;
  /** Returns the number of reverts of a chain. It never decreases. */
  revertCount(chain: MonitoringChain): number;
  /** Returns the height at which processing starts while `blocks` is empty; null for the newest block. */
  firstHeight(chain: MonitoringChain): number | null;
  /**
   * Stores a block: the writes of `work` and the new checkpoint in one transaction. Alerts that become final by it are updated.
   * Durable when it resolves.
   */
  applyBlock(
    chain: MonitoringChain,
    block: BlockRef,
    work: (writer: BlockWriter) => void,
    fence?: Fence | null,
  ): Promise<void>;
  /**
   * Reverts all blocks above `height`: their transactions and alerts are marked, and listeners get the changes. If no block is
   * left, processing starts again at the lowest reverted block. Durable when it resolves.
   */
  revert(
    chain: MonitoringChain,
    height: number,
    onTransaction: (transaction: MonitoredTransaction, writer: BlockWriter) => void,
    fence?: Fence | null,
  ): Promise<void>;
  /** Returns the last report of a node that follows the chain; null before the first. */
  followReport(chain: MonitoringChain): FollowReport | null;
  reportFollowing(chain: MonitoringChain, report: FollowReport, fence: Fence): Promise<void>;
  /** Removes the checkpoint of a chain unless one of its addresses is watched. Transactions and alerts stay. */
  forgetBlocks(chain: MonitoringChain, fence?: Fence | null): Promise<void>;
  /** Writes without a block, for a list change. */
  write(work: (writer: BlockWriter) => void, fence?: Fence | null): Promise<void>;
  /** Progress of the recheck; null before the first. */
  recheckState(): RecheckState | null;
  /** Progress of the comparison of the wallets of a chain with the labels; null before the first. */
  ownRecheckState(chain: MonitoringChain): OwnRecheckState | null;
  /** Returns the active wallets of a chain page by page; `next` is null after the last page. */
  watchedPage(
    chain: MonitoringChain,
    page: { readonly after: WatchPlace | null; readonly limit: number },
  ): { readonly wallets: readonly MonitoredWallet[]; readonly next: WatchPlace | null };
  /** Returns the counterparties of all wallets page by page; `next` is null after the last page. */
  counterparties(page: { readonly after: CounterpartyPlace | null; readonly limit: number }): {
    readonly counterparties: readonly StoredCounterparty[];
    readonly next: CounterpartyPlace | null;
  };

  /** Newest first. `upTo`: only alerts up to that sequence number, so that pages do not shift when alerts are added. */
  alerts(
    accountId: string,
    filter: AlertFilter,
    page: PageRequest & { readonly upTo?: number },
  ): { readonly alerts: readonly Alert[]; readonly total: number; readonly newest: number } & PageEnd;
  alert(accountId: string, alertId: string): Alert | null;
  /**
   * Changes the status or assignee of an alert, or adds a note. Without a difference, nothing is stored.
   *
   * @throws NOT_FOUND; INVALID_REQUEST if the alert has too many notes
   */
  changeAlert(accountId: string, alertId: string, change: AlertChange, by: string): Promise<Alert>;
  /**
   * Deletes transactions that are older than a time; alerts keep theirs.
   *
   * @returns the ids of their wallets, one for each: fewer than `limit` only if no other is due
   */
  deleteTransactionsBefore(beforeMs: number, limit: number): Promise<readonly string[]>;
  /** Newest first. */
  transactions(
    accountId: string,
    walletId: string,
    page: PageRequest,
  ): { readonly transactions: readonly MonitoredTransaction[]; readonly total: number } & PageEnd;

  /**
   * Returns the changes after a number, oldest first, each with its current record. `first` is the oldest number that is kept, 0 if
   * no change is kept.
   */
  changes(
    accountId: string,
    after: number,
    limit: number,
  ): { readonly changes: readonly MonitoringChange[]; readonly first: number; readonly last: number };
  /**
   * Registers a listener for every raised or changed alert and every changed wallet, on any node. It is called after the change is
   * durable.
   */
  onChange(listener: (change: MonitoringChange) => void): void;
  close(): Promise<void>;
}

/** Numbered per account, without gaps. */
export type MonitoringChange = { readonly accountId: string; readonly number: number } & Changed;

export type Changed =
  | { readonly kind: 'alert.created' | 'alert.updated'; readonly alert: Alert }
  | { readonly kind: 'wallet.created' | 'wallet.updated'; readonly wallet: MonitoredWallet };

/** A change as stored. The current record is read from its own table. */
export interface ChangeRow {
  readonly kind: Changed['kind'];
  readonly id: string;
}
