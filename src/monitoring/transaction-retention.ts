/** Deletes the transactions of wallets whose retention has ended, the oldest of each wallet first. */
import { setImmediate } from 'node:timers/promises';
import type { LiveRoot } from '../state/live-store.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoringTables } from './tables.ts';

type Tables = Pick<
  MonitoringTables,
  | 'wallets'
  | 'transactions'
  | 'transactionNumbers'
  | 'transactionsOfBlock'
  | 'transactionCounts'
  | 'transactionsDeleted'
>;

/** The stored transactions of a wallet: those with the numbers after `deleted`, up to `last`. */
export interface StoredNumbers {
  readonly deleted: number;
  readonly last: number;
}

/** Returns the numbers of the transactions of a wallet that are stored. */
export const storedNumbers = (
  { transactionCounts, transactionsDeleted }: Pick<Tables, 'transactionCounts' | 'transactionsDeleted'>,
  walletId: string,
): StoredNumbers => ({
  deleted: transactionsDeleted.get(walletId) ?? 0,
  last: transactionCounts.get(walletId) ?? 0,
});

export class TransactionRetention {
  readonly #tables: Tables;
  readonly #root: Pick<LiveRoot, 'childTransaction' | 'resetReadTxn'>;
  /** Wallets up to this one have no transaction that is due in the present round. */
  #after = '';

  constructor(tables: Tables, root: Pick<LiveRoot, 'childTransaction' | 'resetReadTxn'>) {
    this.#tables = tables;
    this.#root = root;
  }

  /**
   * Deletes transactions that are older than a time. Reads the oldest one of each wallet, some wallets in a step of the event loop.
   *
   * @returns the ids of their wallets, one for each: fewer than `limit` only if no other is due
   */
  async deleteBefore(beforeMs: number, limit: number): Promise<readonly string[]> {
    const deleted: string[] = [];
    for (;;) {
      const { due, last } = this.#look(beforeMs);
      for (const walletId of due) {
        const count = await this.#root.childTransaction(() =>
          this.#deleteOf(walletId, beforeMs, limit - deleted.length),
        );
        for (let n = 0; n < count; n++) deleted.push(walletId);
        if (deleted.length >= limit) return deleted;
      }
      this.#after = last ?? '';
      if (last === null) return deleted;
      await setImmediate();
    }
  }

  /** Looks at some wallets: which of them have a transaction that is due, and the last one; null if no other follows. */
  #look(beforeMs: number): { readonly due: readonly string[]; readonly last: string | null } {
    this.#root.resetReadTxn();
    const limit = MONITORING_LIMITS.retentionWalletsLook;
    const ids = [...this.#tables.transactionCounts.getKeys({ start: this.#after, limit: limit + 1 })];
    const due = ids.filter((walletId) => {
      const { deleted, last } = storedNumbers(this.#tables, walletId);
      return deleted < last && this.#isDue(walletId, deleted + 1, beforeMs);
    });
    return { due, last: ids.length > limit ? (ids.at(-1) as string) : null };
  }

  #isDue(walletId: string, number: number, beforeMs: number): boolean {
    const transaction = this.#tables.transactions.get([walletId, number]);
    return transaction === undefined || transaction.timestampMs < beforeMs;
  }

  /** Deletes the oldest transactions of a wallet, and returns their number. Call it inside a transaction. */
  #deleteOf(walletId: string, beforeMs: number, limit: number): number {
    const { wallets, transactions, transactionNumbers, transactionsOfBlock, transactionsDeleted } =
      this.#tables;
    const { deleted, last } = storedNumbers(this.#tables, walletId);
    let number = deleted + 1;
    for (; number <= last && number <= deleted + limit && this.#isDue(walletId, number, beforeMs); number++) {
      const transaction = transactions.get([walletId, number]);
      transactions.removeSync([walletId, number]);
      if (transaction === undefined) continue;
      const { accountId, hash, position, blockNumber } = transaction;
      transactionNumbers.removeSync([walletId, hash, position]);
      const chain = wallets.get([accountId, walletId])?.chain;
      if (chain !== undefined) transactionsOfBlock.removeSync([chain, blockNumber, walletId, number]);
    }
    if (number > deleted + 1) transactionsDeleted.putSync(walletId, number - 1);
    return number - 1 - deleted;
  }
}
