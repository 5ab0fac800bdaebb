/** Raises and changes alerts, each with its message in the outbox and its row in the log of changes. */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { AlertIndex } from './alert-index.ts';
import type { ChangeLog } from './change-log.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { Outbox } from './outbox.ts';
import type {
  Alert,
  AlertChange,
  AlertEvent,
  AlertStatus,
  MonitoredWallet,
  MonitoringChain,
} from './records.ts';
import type { RefreshQueue } from './refresh-queue.ts';
import type { AlertDraft } from './store.ts';
import { findWallet, type MonitoringTables } from './tables.ts';

export interface AlertWriterDeps {
  readonly tables: MonitoringTables;
  readonly alertIndex: AlertIndex;
  readonly changes: ChangeLog;
  readonly outbox: Pick<Outbox, 'enqueue'>;
  readonly refreshes: Pick<RefreshQueue, 'afterAlert'>;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Final states, which need no further work. */
const isResolved = (status: AlertStatus): boolean => status === 'RESOLVED' || status === 'DISMISSED';

/** All methods must be called inside a transaction. */
export class AlertWriter {
  readonly #deps: AlertWriterDeps;

  constructor(deps: AlertWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Raises an alert and stores its messages; null if the same cause has already raised one. If the block of that alert was
   * reverted, the alert is reinstated instead, and returned.
   *
   * @param cause - identifies the cause within the wallet
   * @param finalAtHeight - height at which the alert becomes final; null if it is final already
   */
  raise(
    wallet: MonitoredWallet,
    draft: AlertDraft,
    cause: string,
    finalAtHeight: number | null,
  ): Alert | null {
    const { accountId, id: walletId, chain } = wallet;
    const sequence = this.#deps.tables.dedupKeys.get([walletId, cause]);
    const before = sequence === undefined ? null : this.#deps.alertIndex.bySequence(accountId, sequence);
    if (before !== null) {
      if (!before.reorged) return null;
      this.#awaitFinality(chain, before, draft, finalAtHeight);
      const reinstated = this.change(
        before,
        { reorged: false, final: draft.final, transaction: draft.transaction },
        'CREATED',
        null,
      );
      this.#sendUpdate(reinstated);
      this.#deps.refreshes.afterAlert(wallet);
      return reinstated;
    }
    const now = this.#deps.clock.now();
    const alert: Alert = {
      ...draft,
      id: this.#deps.newId(),
      accountId,
      walletId,
      sequence: this.#deps.alertIndex.count(accountId) + 1,
      status: 'NEW',
      reorged: false,
      wallet: { walletAddress: wallet.walletAddress, chain, label: wallet.label },
      createdAtMs: now,
      updatedAtMs: now,
      resolvedAtMs: null,
      history: [{ atMs: now, kind: 'CREATED', status: 'NEW', by: null }],
    };
    this.#deps.alertIndex.put(alert);
    this.#deps.tables.dedupKeys.putSync([walletId, cause], alert.sequence);
    this.#awaitFinality(chain, alert, draft, finalAtHeight);
    this.#deps.outbox.enqueue('alert.created', alert, wallet);
    this.#deps.refreshes.afterAlert(wallet);
    this.#deps.changes.record({ kind: 'alert.created', alert });
    return alert;
  }

  /** Marks an alert as reverted with its block. */
  revert(alert: Alert): void {
    this.#sendUpdate(this.change(alert, { reorged: true, final: false }, 'REORGED', null));
  }

  /** Makes alerts final that are deep enough now. */
  finalize(chain: MonitoringChain, height: number): void {
    const range = {
      start: [chain, 0, '', 0] as [string, number, string, number],
      end: [chain, height + 1, '', 0] as [string, number, string, number],
    };
    for (const { key } of [...this.#deps.tables.pendingFinality.getRange(range)]) {
      this.#deps.tables.pendingFinality.removeSync(key);
      const [, finalAtHeight, accountId, sequence] = key;
      const alert = this.#deps.alertIndex.bySequence(accountId, sequence);
      const isCurrent = this.#deps.tables.finalAt.get([accountId, sequence]) === finalAtHeight;
      if (alert === null || !isCurrent || alert.final || alert.reorged) continue;
      this.#deps.tables.finalAt.removeSync([accountId, sequence]);
      this.#sendUpdate(this.change(alert, { final: true }, 'FINAL', null));
    }
  }

  /**
   * Makes the changes of a user, each with its own row in the history. The note is in the first of them.
   *
   * @throws INVALID_REQUEST if the alert has too many notes
   */
  changeByUser(alert: Alert, { status, assignee, note }: AlertChange, by: string): Alert {
    const notes = alert.history.filter((event) => event.note !== undefined).length;
    if (note !== undefined && notes >= MONITORING_LIMITS.alertNotesMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `note: the alert has ${notes} notes, the maximum; open a case that links to it.`,
        { field: 'note' },
      );
    let rest = note === undefined ? {} : { note };
    let changed = alert;
    if (status !== undefined && status !== alert.status) {
      changed = this.change(changed, { status }, 'STATUS', by, rest);
      rest = {};
    }
    if (assignee !== undefined && assignee !== (alert.assignee ?? null)) {
      changed = this.change(changed, { assignee }, 'ASSIGNEE', by, { ...rest, assignee });
      rest = {};
    }
    return 'note' in rest ? this.change(changed, {}, 'NOTE', by, rest) : changed;
  }

  /** Changes an alert and records the change. */
  change(
    alert: Alert,
    change: Partial<Alert>,
    kind: AlertEvent['kind'],
    by: string | null,
    words: Pick<AlertEvent, 'note' | 'assignee'> = {},
  ): Alert {
    const now = this.#deps.clock.now();
    const status = change.status ?? alert.status;
    const changed: Alert = {
      ...alert,
      ...change,
      updatedAtMs: now,
      resolvedAtMs: isResolved(status) ? (alert.resolvedAtMs ?? now) : null,
      history: [...alert.history, { atMs: now, kind, status, by, ...words }].slice(
        -MONITORING_LIMITS.alertHistoryKept,
      ),
    };
    this.#deps.alertIndex.put(changed);
    this.#deps.changes.record({ kind: 'alert.updated', alert: changed });
    return changed;
  }

  /** Sends a change that the chain caused; status changes by users are not sent. */
  #sendUpdate(alert: Alert): void {
    const wallet = findWallet(this.#deps.tables, alert.accountId, alert.walletId);
    if (wallet?.status === 'ACTIVE') this.#deps.outbox.enqueue('alert.updated', alert, wallet);
  }

  #awaitFinality(
    chain: MonitoringChain,
    { accountId, walletId, sequence }: Alert,
    { final }: AlertDraft,
    finalAtHeight: number | null,
  ): void {
    if (finalAtHeight === null || final) return;
    const { pendingFinality, finalAt } = this.#deps.tables;
    pendingFinality.putSync([chain, finalAtHeight, accountId, sequence], walletId);
    finalAt.putSync([accountId, sequence], finalAtHeight);
  }
}
