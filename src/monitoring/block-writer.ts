/** Writes inside the transaction of one block or of one list change: see BlockWriter. */
import type { AlertWriter } from './alert-writer.ts';
import type { Alert, MonitoredTransaction, MonitoredWallet, MonitoringChain, RuleId } from './records.ts';
import type { RefreshQueue } from './refresh-queue.ts';
import type { AlertDraft, BlockWriter, OwnRecheckState, RecheckState, StoredCounterparty } from './store.ts';
import { findWallet, type MonitoringTables } from './tables.ts';
import type { WalletBaseline } from './velocity.ts';

/** Writes to the databases of monitoring. All methods must be called inside a transaction. */
export class LmdbBlockWriter implements BlockWriter {
  readonly #tables: MonitoringTables;
  readonly #alerts: AlertWriter;
  readonly #refreshes: Pick<RefreshQueue, 'afterAlert'>;
  readonly #newId: () => string;

  constructor(
    tables: MonitoringTables,
    alerts: AlertWriter,
    refreshes: Pick<RefreshQueue, 'afterAlert'>,
    newId: () => string,
  ) {
    this.#tables = tables;
    this.#alerts = alerts;
    this.#refreshes = refreshes;
    this.#newId = newId;
  }

  wallet(accountId: string, walletId: string): MonitoredWallet | null {
    return findWallet(this.#tables, accountId, walletId);
  }

  isBeforeWatch({ chain, watchFromHeight, watchFromRevert = 0 }: MonitoredWallet, height: number): boolean {
    if (watchFromHeight === null || height > watchFromHeight) return false;
    const later = this.#tables.reverts.get(chain)?.last.find(({ number }) => number > watchFromRevert);
    return later === undefined || height <= later.height;
  }

  transaction(walletId: string, hash: string, position: string): MonitoredTransaction | null {
    const number = this.#tables.transactionNumbers.get([walletId, hash, position]);
    return number === undefined ? null : (this.#tables.transactions.get([walletId, number]) ?? null);
  }

  addTransaction(draft: Omit<MonitoredTransaction, 'id' | 'alertIds' | 'reorged'>): MonitoredTransaction {
    const { walletId, hash, position } = draft;
    const number = (this.#tables.transactionCounts.get(walletId) ?? 0) + 1;
    const transaction: MonitoredTransaction = { ...draft, id: this.#newId(), alertIds: [], reorged: false };
    this.#tables.transactionCounts.putSync(walletId, number);
    this.#tables.transactionNumbers.putSync([walletId, hash, position], number);
    this.changeTransaction(transaction);
    return transaction;
  }

  changeTransaction(transaction: MonitoredTransaction): void {
    const { walletId, hash, position, blockNumber, accountId } = transaction;
    const number = this.#tables.transactionNumbers.get([walletId, hash, position]);
    if (number === undefined)
      throw new Error(`Transaction ${hash} ${position} does not belong to this wallet.`);
    const chain = this.#tables.wallets.get([accountId, walletId])?.chain;
    const before = this.#tables.transactions.get([walletId, number]);
    if (chain !== undefined) {
      if (before !== undefined)
        this.#tables.transactionsOfBlock.removeSync([chain, before.blockNumber, walletId, number]);
      if (!transaction.reorged)
        this.#tables.transactionsOfBlock.putSync([chain, blockNumber, walletId, number], '');
    }
    this.#tables.transactions.putSync([walletId, number], transaction);
  }

  raise(
    wallet: MonitoredWallet,
    draft: AlertDraft,
    cause: string,
    finalAtHeight: number | null,
  ): Alert | null {
    return this.#alerts.raise(wallet, draft, cause, finalAtHeight);
  }

  baseline(walletId: string): WalletBaseline | null {
    return this.#tables.baselines.get(walletId) ?? null;
  }

  setBaseline(walletId: string, baseline: WalletBaseline): void {
    this.#tables.baselines.putSync(walletId, baseline);
  }

  noteCounterparty(counterparty: StoredCounterparty): void {
    const { walletId, direction, address } = counterparty;
    this.#tables.counterparties.putSync([walletId, direction, address], counterparty);
  }

  revertCounterparty(
    { walletId, direction, counterparty: { address }, timestampMs }: MonitoredTransaction,
    limit: number,
  ): number {
    const noted =
      address === null ? undefined : this.#tables.counterparties.get([walletId, direction, address]);
    // Without a note of this time, a later dealing was noted, or this one never was.
    if (noted?.lastSeenMs !== timestampMs || limit <= 0) return 0;
    const start: [string, number] = [walletId, Number.MAX_SAFE_INTEGER];
    const end: [string, number] = [walletId, 0];
    let read = 0;
    for (const { value } of this.#tables.transactions.getRange({ start, end, reverse: true, limit })) {
      read++;
      const isDealing = !value.reorged && value.spoofable !== true && value.direction === direction;
      if (!isDealing || value.counterparty.address !== address) continue;
      this.noteCounterparty({ ...noted, lastSeenMs: value.timestampMs });
      return read;
    }
    // An earlier dealing may be further back: an alert too many is better than one too few.
    if (read < limit) this.removeCounterparty(noted);
    return read;
  }

  removeCounterparty({ walletId, direction, address }: StoredCounterparty): void {
    this.#tables.counterparties.removeSync([walletId, direction, address]);
  }

  setRecheckState(state: RecheckState): void {
    this.#tables.rechecks.putSync('labels', state);
  }

  setOwnRule(wallet: MonitoredWallet, ownRuleId: RuleId | null): void {
    this.#tables.wallets.putSync([wallet.accountId, wallet.id], { ...wallet, ownRuleId });
    this.#refreshes.afterAlert(wallet);
  }

  setOwnRecheckState(chain: MonitoringChain, state: OwnRecheckState): void {
    this.#tables.ownRechecks.putSync(chain, state);
  }
}
