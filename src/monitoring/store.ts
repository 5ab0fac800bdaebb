/**
 * The store of monitoring, one LMDB environment: wallets, the processed blocks of each chain, monitored transactions, alerts and
 * their outbox. The data of one block is written in one transaction with the chain's checkpoint, so that after a crash a block is
 * either stored completely or processed again.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Random } from '../base/random.ts';
import { type Fence, type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import type { Seal } from '../state/seal.ts';
import { type AlertFilter, openAlertIndex } from './alert-index.ts';
import { type ChannelStore, openChannels } from './channels.ts';
import { type LmdbOutbox, openOutbox } from './delivery/outbox-lmdb.ts';
import type { ReceiverQueue } from './delivery/receiver-queues.ts';
import { createIds, ID_SHAPE } from './ids.ts';
import type {
  Alert,
  AlertStatus,
  MonitoredTransaction,
  MonitoredWallet,
  MonitoringChain,
  RuleId,
  WalletFilter,
  WatchChange,
  WatchedAddress,
} from './records.ts';
import { openRefreshQueue, type RefreshPlace } from './refresh-queue.ts';
import type { WalletPast } from './velocity.ts';
import { createWalletLists } from './wallet-lists.ts';
import type { WalletScreening } from './wallet-screening.ts';

export const FORMAT_VERSION = 1;

/** More wallet changes than one history of the store can ever have. */
const GENERATIONS_OF_A_HISTORY = 2 ** 40;

/** Sorts after every address in a key: addresses are ASCII. */
const PAST_ADDRESSES = '~';

/** A processed block. */
export interface BlockRef {
  readonly height: number;
  readonly hash: string;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Progress of the counterparty recheck for one version of the labels. */
export interface RecheckState {
  readonly dataVersion: string;
  readonly isDone: boolean;
  readonly after: CounterpartyPlace | null;
}

/** A counterparty of a wallet, stored to be rechecked when a list changes. */
export interface KnownCounterparty {
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

/** Fields of a new alert; the store adds its id, its sequence number and its history. */
export type AlertDraft = Pick<
  Alert,
  'ruleId' | 'ruleName' | 'severity' | 'title' | 'message' | 'category' | 'riskType' | 'transaction' | 'final'
>;

/** Writes inside the transaction of one block or of one list change. */
export interface BlockWriter {
  /** Returns the wallet as of this transaction: it may have been paused since it was matched. */
  wallet(accountId: string, walletId: string): MonitoredWallet | null;
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
  past(walletId: string): WalletPast | null;
  setPast(walletId: string, past: WalletPast): void;
  noteCounterparty(counterparty: KnownCounterparty): void;
  /** Removes a counterparty that is too old to be rechecked. */
  forgetCounterparty(counterparty: KnownCounterparty): void;
  setRecheckState(state: RecheckState): void;
}

export interface MonitoringStore {
  readonly channels: ChannelStore;
  readonly outbox: LmdbOutbox;
  /** Resolves when all existing data can be read. */
  ready(): Promise<void>;

  /**
   * Adds a wallet.
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
    page: Page,
  ): { readonly wallets: readonly MonitoredWallet[]; readonly total: number };
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
  takeBack(
    chain: MonitoringChain,
    height: number,
    onTransaction: (transaction: MonitoredTransaction, writer: BlockWriter) => void,
    fence?: Fence | null,
  ): Promise<void>;
  /** Removes the checkpoint of a chain unless one of its addresses is watched. Transactions and alerts stay. */
  forgetBlocks(chain: MonitoringChain, fence?: Fence | null): Promise<void>;
  /** Writes without a block, for a list change. */
  write(work: (writer: BlockWriter) => void, fence?: Fence | null): Promise<void>;
  /** Progress of the recheck; null before the first. */
  recheckState(): RecheckState | null;
  /** Returns the counterparties of all wallets page by page; `next` is null after the last page. */
  counterparties(page: { readonly after: CounterpartyPlace | null; readonly limit: number }): {
    readonly counterparties: readonly KnownCounterparty[];
    readonly next: CounterpartyPlace | null;
  };

  /** Newest first. `upTo`: only alerts up to that sequence number, so that pages do not shift when alerts are added. */
  alerts(
    accountId: string,
    filter: AlertFilter,
    page: Page & { readonly upTo?: number },
  ): { readonly alerts: readonly Alert[]; readonly total: number; readonly newest: number };
  alert(accountId: string, alertId: string): Alert | null;
  /**
   * Changes the status of an alert.
   *
   * @throws NOT_FOUND
   */
  moveAlert(accountId: string, alertId: string, status: AlertStatus, by: string): Promise<Alert>;
  /** Newest first. */
  transactions(
    accountId: string,
    walletId: string,
    page: Page,
  ): { readonly transactions: readonly MonitoredTransaction[]; readonly total: number };

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

type Changed =
  | { readonly kind: 'alert.created' | 'alert.updated'; readonly alert: Alert }
  | { readonly kind: 'wallet.created' | 'wallet.updated'; readonly wallet: MonitoredWallet };

/** A change as stored. The current record is read from its own table. */
interface ChangeRow {
  readonly kind: Changed['kind'];
  readonly id: string;
}

const notFound = (what: string, id: string): AssayError =>
  new AssayError('NOT_FOUND', `id: there is no ${what} '${id.slice(0, 64)}'.`, { field: 'id' });

/** Final states, which need no further work. */
const isResolved = (status: AlertStatus): boolean => status === 'RESOLVED' || status === 'DISMISSED';

export interface MonitoringStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly seal: Seal;
  /** Default: on this machine. */
  readonly openStore?: OpenStore;
  /** Time between two scheduled screenings of a wallet; default: one day. */
  readonly refreshIntervalMs?: number;
}

const DAY_MS = 86_400_000;
/** Set when every active wallet has been scheduled. */
const REFRESHES_PLANNED = 'refreshesPlanned';

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
  const { clock, random, seal, openStore = openLiveStore, refreshIntervalMs = DAY_MS } = deps;
  const live = openStore(options.path, FORMAT_VERSION, { name: 'monitoring', maxDbs: 40 });
  const { root, meta } = live;
  const newId = createIds({ clock, random });
  const db = <V, K extends string | readonly (string | number)[]>(
    name: string,
    encoding: 'msgpack' | 'string' | 'json' = 'msgpack',
  ): LiveDatabase<V, K & (string | (string | number)[])> => root.openDB({ name, encoding });

  const wallets = db<MonitoredWallet, [accountId: string, walletId: string]>('wallets');
  /** One wallet per account, chain and address, including deleted ones. */
  const walletIds = db<string, [accountId: string, chain: string, address: string]>('walletIds', 'string');
  const watched = db<string, [chain: string, address: string, walletId: string]>('watched', 'string');
  /** Generation → its change. */
  const watchChanges = db<WatchChange, [number]>('watchChanges');
  const walletCounts = db<number, string>('walletCounts', 'json');
  const transactions = db<MonitoredTransaction, [walletId: string, number: number]>('transactions');
  /** (wallet, transaction, position) → number of the transaction in its wallet. */
  const transactionNumbers = db<number, [walletId: string, hash: string, position: string]>(
    'transactionNumbers',
    'json',
  );
  const transactionsOfBlock = db<string, [chain: string, height: number, walletId: string, number: number]>(
    'transactionsOfBlock',
    'string',
  );
  const transactionCounts = db<number, string>('transactionCounts', 'json');
  const blocks = db<string, [chain: string, height: number]>('blocks', 'string');
  const pasts = db<WalletPast, string>('pasts');
  const counterparties = db<KnownCounterparty, CounterpartyPlace>('counterparties');
  const rechecks = db<RecheckState, string>('rechecks', 'json');
  const causes = db<number, [walletId: string, cause: string]>('causes', 'json');
  /** Alerts that are not final yet, by the height at which they become final. */
  const unfinal = db<string, [chain: string, finalAtHeight: number, accountId: string, sequence: number]>(
    'unfinal',
    'string',
  );
  /** The current final height of each of them: it changes if the transfer is included in another block. */
  const finalAt = db<number, [accountId: string, sequence: number]>('finalAt', 'json');
  const changes = db<ChangeRow, [accountId: string, number: number]>('changes');
  const changeCounts = db<number, string>('changeCounts', 'json');
  const refreshes = openRefreshQueue(root, { clock, intervalMs: refreshIntervalMs });
  const alertIndex = openAlertIndex(root);
  const channels = openChannels(root, { seal, clock, random });
  const outbox = openOutbox(root, {
    channels,
    clock,
    random,
    newId,
    readAlert: (accountId, id) => alertIndex.byId(accountId, id),
  });
  const listeners: ((change: MonitoringChange) => void)[] = [];

  /** Changes of the current transaction; listeners get them when it is durable. */
  let pending: MonitoringChange[] = [];
  /** Whether the transaction adds or changes a wallet. */
  let movesGeneration = false;

  /** Runs a write, then calls the listeners with its changes. If it throws, or its fence is outdated, nothing is changed. */
  async function commit<T>(work: () => T, fence: Fence | null = null): Promise<T> {
    // A child transaction, because a plain one keeps the writes that precede an error.
    const { value, told, moved } = await root.childTransaction(() => {
      pending = [];
      movesGeneration = false;
      const value = work();
      return { value, told: pending, moved: movesGeneration };
    }, fence);
    if (moved || told.length > 0) knownGeneration = meta.get('generation') ?? 0;
    if (told.length > 0) {
      outbox.wake();
      for (const change of told) for (const listener of listeners) listener(change);
    }
    return value;
  }

  /**
   * The newest known generation, and how often a generation was replaced: results derived from the earlier numbers are then
   * invalid.
   */
  let knownGeneration = 0;
  let histories = 0;
  const generation = (): number => (meta.get('generation') ?? 0) + histories * GENERATIONS_OF_A_HISTORY;

  live.onApplied((writes) => {
    const queues: ReceiverQueue[] = [];
    const stored = meta.get('generation') ?? 0;
    for (const { database, key, isRemoved } of writes) {
      // A key with one element is stored as that element.
      const [first, second] = Array.isArray(key) ? key : [key];
      if (database === 'watchChanges') {
        const number = Number(first);
        // A generation was rolled back or replaced by another one: results derived from it are invalid.
        const isOther = isRemoved ? number > stored : number <= knownGeneration;
        if (isOther) histories++;
        if (isOther || !isRemoved) knownGeneration = Math.min(number, stored);
      }
      if (database === 'deliveryQueue' && !isRemoved) queues.push(String(first));
      if (database === 'changes' && !isRemoved) {
        const place: [string, number] = [String(first), Number(second)];
        const row = changes.get(place);
        const change = row === undefined ? null : changeOf(place, row);
        if (change !== null) for (const listener of listeners) listener(change);
      }
    }
    if (queues.length > 0) outbox.wake(queues);
  });

  /** Returns a change with its current record; null if the record does not exist any more. */
  function changeOf([accountId, number]: [string, number], { kind, id }: ChangeRow): MonitoringChange | null {
    const place = { accountId, number };
    if (kind === 'alert.created' || kind === 'alert.updated') {
      const alert = alertIndex.byId(accountId, id);
      return alert === null ? null : { ...place, kind, alert };
    }
    const wallet = findWallet(accountId, id);
    return wallet === null ? null : { ...place, kind, wallet };
  }

  /** Records a change. Call it inside a transaction. */
  function tell(change: Changed): void {
    const about = 'alert' in change ? change.alert : change.wallet;
    const { accountId, id } = about;
    const number = (changeCounts.get(accountId) ?? 0) + 1;
    changeCounts.putSync(accountId, number);
    changes.putSync([accountId, number], { kind: change.kind, id });
    changes.removeSync([accountId, number - LIMITS.changesKept]);
    pending.push({ accountId, number, ...change });
  }

  function findWallet(accountId: string, walletId: string): MonitoredWallet | null {
    return (ID_SHAPE.test(walletId) ? wallets.get([accountId, walletId]) : undefined) ?? null;
  }

  function changesBehind(afterGeneration: number): readonly WatchChange[] | null {
    const last = meta.get('generation') ?? 0;
    const after = afterGeneration - histories * GENERATIONS_OF_A_HISTORY;
    if (after < 0 || after > last || last - after > LIMITS.watchChangesKept) return null;
    const found = [...watchChanges.getRange({ start: [after + 1], end: [last + 1] })];
    // Older versions of the program did not store the changes.
    return found.length === last - after ? found.map(({ value }) => value) : null;
  }

  const walletLists = createWalletLists({
    generation,
    changes: changesBehind,
    *readAll(accountId) {
      for (const { value } of wallets.getRange({ start: [accountId, ''], end: [accountId, '~'] }))
        yield value;
    },
    read: findWallet,
  });

  function requireFree(accountId: string, chain: string, walletAddress: string, walletsMax: number): void {
    const refuse = (reason: string): never => {
      throw new AssayError('INVALID_REQUEST', `walletAddress: ${reason}`, { field: 'walletAddress' });
    };
    if (walletIds.get([accountId, chain, walletAddress]) !== undefined)
      refuse('this account has this address on this chain already; a deleted wallet can be restored.');
    if ((walletCounts.get(accountId) ?? 0) >= walletsMax)
      refuse(`this account has reached its limit of ${walletsMax} wallets; deleted wallets count too.`);
  }

  /**
   * Stores a wallet. Call it inside a transaction.
   *
   * @param kind - kind of the change that listeners get; null if they get none
   */
  function putWallet(wallet: MonitoredWallet, kind: 'wallet.created' | 'wallet.updated' | null): void {
    wallets.putSync([wallet.accountId, wallet.id], wallet);
    refreshes.keep(wallet);
    movesGeneration = true;
    const { chain, walletAddress, id: walletId, accountId } = wallet;
    const isActive = wallet.status === 'ACTIVE';
    const place: [string, string, string] = [chain, walletAddress, walletId];
    if (isActive) watched.putSync(place, accountId);
    else watched.removeSync(place);
    const generation = (meta.get('generation') ?? 0) + 1;
    meta.putSync('generation', generation);
    watchChanges.putSync([generation], { chain, walletAddress, accountId, walletId, isActive });
    watchChanges.removeSync([generation - LIMITS.watchChangesKept]);
    if (kind !== null) tell({ kind, wallet });
  }

  const firstHeightOf = (chain: MonitoringChain): string => `firstHeight ${chain}`;
  const isWatched = (chain: MonitoringChain): boolean =>
    [...watched.getKeys({ start: [chain, '', ''], end: [chain, PAST_ADDRESSES, ''], limit: 1 })].length > 0;

  /** Call it inside a transaction, before the first wallet of a chain is watched: earlier checkpoints are not valid for it. */
  function beginChain(chain: MonitoringChain, head: number | null): void {
    if (isWatched(chain)) return;
    for (const { height } of readBlocks(chain)) blocks.removeSync([chain, height]);
    if (head === null) meta.removeSync(firstHeightOf(chain));
    else meta.putSync(firstHeightOf(chain), head + 1);
  }

  /** Changes an alert. Call it inside a transaction. */
  function changeAlert(
    alert: Alert,
    change: Partial<Alert>,
    kind: Alert['history'][number]['kind'],
    by: string | null,
  ): Alert {
    const now = clock.now();
    const status = change.status ?? alert.status;
    const changed: Alert = {
      ...alert,
      ...change,
      updatedAtMs: now,
      resolvedAtMs: isResolved(status) ? (alert.resolvedAtMs ?? now) : null,
      history: [...alert.history, { atMs: now, kind, status, by }].slice(-LIMITS.alertHistoryKept),
    };
    alertIndex.put(changed);
    tell({ kind: 'alert.updated', alert: changed });
    return changed;
  }

  /** Sends a change that the chain caused; status changes by users are not sent. Call it inside a transaction. */
  function sendUpdate(alert: Alert): void {
    const wallet = findWallet(alert.accountId, alert.walletId);
    if (wallet?.status === 'ACTIVE') outbox.enqueue('alert.updated', alert, wallet);
  }

  const writer: BlockWriter = {
    wallet: findWallet,
    transaction(walletId, hash, position) {
      const number = transactionNumbers.get([walletId, hash, position]);
      return number === undefined ? null : (transactions.get([walletId, number]) ?? null);
    },
    addTransaction(draft) {
      const { walletId, hash, position } = draft;
      const number = (transactionCounts.get(walletId) ?? 0) + 1;
      const transaction: MonitoredTransaction = { ...draft, id: newId(), alertIds: [], reorged: false };
      transactionCounts.putSync(walletId, number);
      transactionNumbers.putSync([walletId, hash, position], number);
      writer.changeTransaction(transaction);
      return transaction;
    },
    changeTransaction(transaction) {
      const { walletId, hash, position, blockNumber, accountId } = transaction;
      const number = transactionNumbers.get([walletId, hash, position]);
      if (number === undefined)
        throw new Error(`Transaction ${hash} ${position} does not belong to this wallet.`);
      const chain = wallets.get([accountId, walletId])?.chain;
      const before = transactions.get([walletId, number]);
      if (chain !== undefined) {
        if (before !== undefined)
          transactionsOfBlock.removeSync([chain, before.blockNumber, walletId, number]);
        if (!transaction.reorged) transactionsOfBlock.putSync([chain, blockNumber, walletId, number], '');
      }
      transactions.putSync([walletId, number], transaction);
    },
    raise(wallet, draft, cause, finalAtHeight) {
      const { accountId, id: walletId, chain } = wallet;
      const known = causes.get([walletId, cause]);
      const before = known === undefined ? null : alertIndex.bySequence(accountId, known);
      const awaitFinality = (sequence: number): void => {
        if (finalAtHeight === null || draft.final) return;
        unfinal.putSync([chain, finalAtHeight, accountId, sequence], walletId);
        finalAt.putSync([accountId, sequence], finalAtHeight);
      };
      if (before !== null) {
        if (!before.reorged) return null;
        awaitFinality(before.sequence);
        const revived = changeAlert(
          before,
          { reorged: false, final: draft.final, transaction: draft.transaction },
          'CREATED',
          null,
        );
        sendUpdate(revived);
        refreshes.afterAlert(wallet);
        return revived;
      }
      const now = clock.now();
      const alert: Alert = {
        ...draft,
        id: newId(),
        accountId,
        walletId,
        sequence: alertIndex.count(accountId) + 1,
        status: 'NEW',
        reorged: false,
        wallet: { walletAddress: wallet.walletAddress, chain, label: wallet.label },
        createdAtMs: now,
        updatedAtMs: now,
        resolvedAtMs: null,
        history: [{ atMs: now, kind: 'CREATED', status: 'NEW', by: null }],
      };
      alertIndex.put(alert);
      causes.putSync([walletId, cause], alert.sequence);
      awaitFinality(alert.sequence);
      outbox.enqueue('alert.created', alert, wallet);
      refreshes.afterAlert(wallet);
      tell({ kind: 'alert.created', alert });
      return alert;
    },
    past: (walletId) => pasts.get(walletId) ?? null,
    setPast(walletId, past) {
      pasts.putSync(walletId, past);
    },
    noteCounterparty(counterparty) {
      const { walletId, direction, address } = counterparty;
      counterparties.putSync([walletId, direction, address], counterparty);
    },
    forgetCounterparty({ walletId, direction, address }) {
      counterparties.removeSync([walletId, direction, address]);
    },
    setRecheckState(state) {
      rechecks.putSync('labels', state);
    },
  };

  /** Makes alerts final that are deep enough now. Call it inside a transaction. */
  function finalize(chain: MonitoringChain, height: number): void {
    const range = {
      start: [chain, 0, '', 0] as [string, number, string, number],
      end: [chain, height + 1, '', 0] as [string, number, string, number],
    };
    for (const { key } of [...unfinal.getRange(range)]) {
      unfinal.removeSync(key);
      const [, finalAtHeight, accountId, sequence] = key;
      const alert = alertIndex.bySequence(accountId, sequence);
      const stands = finalAt.get([accountId, sequence]) === finalAtHeight;
      if (alert === null || !stands || alert.final || alert.reorged) continue;
      finalAt.removeSync([accountId, sequence]);
      sendUpdate(changeAlert(alert, { final: true }, 'FINAL', null));
    }
  }

  const readBlocks = (chain: MonitoringChain): BlockRef[] =>
    [...blocks.getRange({ start: [chain, -1], end: [chain, Number.MAX_SAFE_INTEGER] })].map(
      ({ key, value }) => ({
        height: key[1],
        hash: value,
      }),
    );

  return {
    channels,
    outbox,
    ready: () => live.ready(),
    requireFree(...place) {
      root.resetReadTxn();
      requireFree(...place);
    },
    addWallet: (draft, walletsMax, head = null) =>
      commit(() => {
        const { accountId, chain, walletAddress } = draft;
        requireFree(accountId, chain, walletAddress, walletsMax);
        const now = clock.now();
        const wallet: MonitoredWallet = {
          ...draft,
          id: newId(),
          status: 'ACTIVE',
          createdAtMs: now,
          updatedAtMs: now,
          deletedAtMs: null,
        };
        walletCounts.putSync(accountId, (walletCounts.get(accountId) ?? 0) + 1);
        walletIds.putSync([accountId, chain, walletAddress], wallet.id);
        beginChain(chain, head);
        putWallet(wallet, 'wallet.created');
        return wallet;
      }),
    wallet(accountId, walletId) {
      root.resetReadTxn();
      return findWallet(accountId, walletId);
    },
    wallets(accountId, filter, page) {
      root.resetReadTxn();
      return walletLists.list(accountId, filter, page);
    },
    changeWallet: (accountId, walletId, change, { head = null, isUrlSet = false } = {}) =>
      commit(() => {
        const before = findWallet(accountId, walletId);
        if (before === null) throw notFound('wallet', walletId);
        const after: MonitoredWallet = { ...change(before), updatedAtMs: clock.now() };
        if (before.status === 'ACTIVE' && after.status !== 'ACTIVE') outbox.cancelWallet(walletId);
        if (before.status !== 'ACTIVE' && after.status === 'ACTIVE') beginChain(after.chain, head);
        if (isUrlSet && after.customWebhookUrl !== null) outbox.enableUrl(accountId, after.customWebhookUrl);
        putWallet(after, 'wallet.updated');
        return after;
      }),
    counts(accountId, walletId) {
      root.resetReadTxn();
      return {
        alertCount: alertIndex.count(accountId, { walletId }),
        transactionCount: transactionCounts.get(walletId) ?? 0,
      };
    },

    refreshesDue(chain, limits) {
      root.resetReadTxn();
      return refreshes.due(chain, limits);
    },
    refreshed: (place, screening, nextAtMs, fence) =>
      commit(() => {
        const before = findWallet(place.accountId, place.walletId);
        // A paused or deleted wallet has already been removed from the queue.
        if (before?.status !== 'ACTIVE') return;
        const after: MonitoredWallet = { ...before, ...screening };
        const isOther =
          after.riskScore !== before.riskScore ||
          after.riskLevel !== before.riskLevel ||
          after.assessed !== before.assessed;
        putWallet(after, isOther ? 'wallet.updated' : null);
        refreshes.done(after, place, nextAtMs);
      }, fence),
    putOffRefresh: ({ accountId, walletId }, untilMs, fence) =>
      commit(() => {
        const wallet = findWallet(accountId, walletId);
        if (wallet !== null) refreshes.putOff(wallet, untilMs);
      }, fence),
    planRefreshes: (after, limit) =>
      commit(() => {
        if (meta.get(REFRESHES_PLANNED) !== undefined) return null;
        const rows = [...watched.getRange({ start: after ?? ['', '', ''], limit })];
        for (const { key, value: accountId } of rows) {
          const wallet = findWallet(accountId, key[2]);
          if (wallet !== null) refreshes.keep(wallet);
        }
        const last = rows.at(-1)?.key ?? null;
        if (rows.length === limit && last !== null) return last as WatchPlace;
        meta.putSync(REFRESHES_PLANNED, 1);
        return null;
      }),

    generation() {
      root.resetReadTxn();
      return generation();
    },
    *watched() {
      root.resetReadTxn();
      for (const { key, value: accountId } of watched.getRange()) {
        const [chain, walletAddress, walletId] = key;
        yield { chain: chain as MonitoringChain, walletAddress, accountId, walletId };
      }
    },
    watchChanges(after) {
      root.resetReadTxn();
      return changesBehind(after);
    },
    isWatched(chain) {
      root.resetReadTxn();
      return isWatched(chain);
    },

    blocks(chain) {
      root.resetReadTxn();
      return readBlocks(chain);
    },
    firstHeight(chain) {
      root.resetReadTxn();
      return meta.get(firstHeightOf(chain)) ?? null;
    },
    applyBlock: (chain, block, work, fence) =>
      commit(() => {
        const known = readBlocks(chain);
        const last = known.at(-1);
        // Already processed, by this process before a restart or by another one.
        if (last !== undefined && block.height <= last.height) {
          const before = known.find(({ height }) => height === block.height);
          // Another node has processed another block at this height: the chain was reorganised in between, and the caller must
          // revert first.
          if (before !== undefined && before.hash !== block.hash)
            throw new AssayError(
              'NOT_READY',
              `Block ${block.height} of ${chain} was already processed with a different hash.`,
            );
          return;
        }
        work(writer);
        blocks.putSync([chain, block.height], block.hash);
        for (const { height } of known)
          if (height <= block.height - LIMITS.reorgBlocksMax) blocks.removeSync([chain, height]);
        // No reorg reverts these blocks any more.
        const settled = {
          start: [chain, 0, '', 0] as [string, number, string, number],
          end: [chain, block.height - LIMITS.reorgBlocksMax + 1, '', 0] as [string, number, string, number],
        };
        for (const key of [...transactionsOfBlock.getKeys(settled)]) transactionsOfBlock.removeSync(key);
        finalize(chain, block.height);
      }, fence),
    takeBack: (chain, height, onTransaction, fence) =>
      commit(() => {
        const above = {
          start: [chain, height + 1] as [string, number],
          end: [chain, Number.MAX_SAFE_INTEGER] as [string, number],
        };
        const taken = [...blocks.getKeys(above)];
        for (const key of taken) blocks.removeSync(key);
        const lowest = taken[0]?.[1];
        if (lowest !== undefined && readBlocks(chain).length === 0)
          meta.putSync(firstHeightOf(chain), lowest);
        const start: [string, number, string, number] = [chain, height + 1, '', 0];
        const end: [string, number, string, number] = [chain, Number.MAX_SAFE_INTEGER, '', 0];
        for (const { key } of [...transactionsOfBlock.getRange({ start, end })]) {
          const transaction = transactions.get([key[2], key[3]]);
          transactionsOfBlock.removeSync(key);
          if (transaction === undefined) continue;
          writer.changeTransaction({ ...transaction, reorged: true });
          onTransaction(transaction, writer);
          for (const id of transaction.alertIds) {
            const alert = alertIndex.byId(transaction.accountId, id);
            if (alert === null || alert.reorged) continue;
            sendUpdate(changeAlert(alert, { reorged: true, final: false }, 'REORGED', null));
            const wallet = findWallet(alert.accountId, alert.walletId);
            if (wallet !== null) refreshes.afterAlert(wallet);
          }
        }
      }, fence),
    forgetBlocks: (chain, fence) =>
      commit(() => {
        if (isWatched(chain)) return;
        beginChain(chain, null);
      }, fence),
    write: (work, fence) => commit(() => work(writer), fence),
    recheckState() {
      root.resetReadTxn();
      return rechecks.get('labels') ?? null;
    },
    counterparties({ after, limit }) {
      root.resetReadTxn();
      const rows = [...counterparties.getRange({ start: after ?? ['', '', ''], limit: limit + 1 })];
      const page = rows.filter(({ key }) => after === null || key.join() !== after.join()).slice(0, limit);
      const last = page.at(-1);
      return {
        counterparties: page.map(({ value }) => value),
        next: last === undefined || page.length < limit ? null : (last.key as CounterpartyPlace),
      };
    },

    alerts(accountId, filter, page) {
      root.resetReadTxn();
      return alertIndex.page(accountId, filter, page);
    },
    alert(accountId, alertId) {
      root.resetReadTxn();
      return alertIndex.byId(accountId, alertId);
    },
    moveAlert: (accountId, alertId, status, by) =>
      commit(() => {
        const alert = alertIndex.byId(accountId, alertId);
        if (alert === null) throw notFound('alert', alertId);
        return alert.status === status ? alert : changeAlert(alert, { status }, 'STATUS', by);
      }),
    transactions(accountId, walletId, { limit, offset }) {
      root.resetReadTxn();
      const total = findWallet(accountId, walletId) === null ? 0 : (transactionCounts.get(walletId) ?? 0);
      const newest = total - offset;
      if (newest <= 0) return { transactions: [], total };
      const range = {
        start: [walletId, newest] as [string, number],
        end: [walletId, 0] as [string, number],
        reverse: true,
        limit,
      };
      return { transactions: [...transactions.getRange(range)].map(({ value }) => value), total };
    },

    changes(accountId, after, limit) {
      root.resetReadTxn();
      const last = changeCounts.get(accountId) ?? 0;
      const range = {
        start: [accountId, after + 1] as [string, number],
        end: [accountId, Number.MAX_SAFE_INTEGER] as [string, number],
        limit,
      };
      const found = [...changes.getRange(range)].flatMap(
        ({ key, value }) => changeOf([accountId, key[1]], value) ?? [],
      );
      return { changes: found, first: Math.max(Math.min(1, last), last - LIMITS.changesKept + 1), last };
    },
    onChange(listener) {
      listeners.push(listener);
    },
    close: () => root.close(),
  };
}
