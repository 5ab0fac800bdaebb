/**
 * The log of raised and changed alerts and wallets, which streams of clients read. Its rows are numbered per account. The current
 * record of a row is read from its own table.
 */

import { MONITORING_LIMITS } from './limits.ts';
import type { Alert, MonitoredWallet } from './records.ts';
import type { Changed, ChangeRow, MonitoringChange } from './store.ts';
import type { MonitoringTables } from './tables.ts';

export interface ChangeLogDeps {
  readonly tables: Pick<MonitoringTables, 'changes' | 'changeCounts'>;
  readonly readAlert: (accountId: string, alertId: string) => Alert | null;
  readonly readWallet: (accountId: string, walletId: string) => MonitoredWallet | null;
}

/** Records changes, and calls listeners with those that are durable. */
export class ChangeLog {
  readonly #deps: ChangeLogDeps;
  readonly #listeners: ((change: MonitoringChange) => void)[] = [];
  /** Changes of the current transaction; listeners get them when it is durable. */
  #pending: MonitoringChange[] = [];

  constructor(deps: ChangeLogDeps) {
    this.#deps = deps;
  }

  /** Starts a transaction, which may run several times before it is committed. */
  begin(): void {
    this.#pending = [];
  }

  /** Changes that were recorded since `begin`. */
  get pending(): readonly MonitoringChange[] {
    return this.#pending;
  }

  /** Records a change. Call it inside a transaction. */
  record(change: Changed): void {
    const { changes, changeCounts } = this.#deps.tables;
    const { accountId, id } = 'alert' in change ? change.alert : change.wallet;
    const number = (changeCounts.get(accountId) ?? 0) + 1;
    changeCounts.putSync(accountId, number);
    changes.putSync([accountId, number], { kind: change.kind, id });
    changes.removeSync([accountId, number - MONITORING_LIMITS.changesKept]);
    this.#pending.push({ accountId, number, ...change });
  }

  /** Calls the listeners with a change. */
  notify(change: MonitoringChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Calls the listeners with a change that another node has stored, if its record still exists. */
  notifyStored(accountId: string, number: number): void {
    const row = this.#deps.tables.changes.get([accountId, number]);
    const change = row === undefined ? null : this.#read(accountId, number, row);
    if (change !== null) this.notify(change);
  }

  /**
   * Returns the changes after a number, oldest first, each with its current record. `first` is the oldest number that is kept, 0 if
   * no change is kept.
   */
  page(
    accountId: string,
    after: number,
    limit: number,
  ): { readonly changes: readonly MonitoringChange[]; readonly first: number; readonly last: number } {
    const last = this.#deps.tables.changeCounts.get(accountId) ?? 0;
    const range = {
      start: [accountId, after + 1] as [string, number],
      end: [accountId, Number.MAX_SAFE_INTEGER] as [string, number],
      limit,
    };
    const changes = [...this.#deps.tables.changes.getRange(range)].flatMap(
      ({ key, value }) => this.#read(accountId, key[1], value) ?? [],
    );
    return { changes, first: Math.max(Math.min(1, last), last - MONITORING_LIMITS.changesKept + 1), last };
  }

  /** Registers a listener for `notify`. */
  onChange(listener: (change: MonitoringChange) => void): void {
    this.#listeners.push(listener);
  }

  /** Returns a change with its current record; null if the record does not exist any more. */
  #read(accountId: string, number: number, { kind, id }: ChangeRow): MonitoringChange | null {
    const place = { accountId, number };
    if (kind === 'alert.created' || kind === 'alert.updated') {
      const alert = this.#deps.readAlert(accountId, id);
      return alert === null ? null : { ...place, kind, alert };
    }
    const wallet = this.#deps.readWallet(accountId, id);
    return wallet === null ? null : { ...place, kind, wallet };
  }
}
