/**
 * Alerts of an account in the order of their sequence numbers, with a list of all of them and one for each wallet, in which pages are counted and
 * found without reading an alert that is not shown.
 */
import { AssayError } from '../base/errors.ts';
import { ID_SHAPE } from '../base/ids.ts';
import { type PageEnd, type PageRequest, sequenceOfCursor } from '../base/paging.ts';
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
import type { Key } from '../state/lmdb.ts';
import { type AlertMatch, openAlertLists } from './alert-lists.ts';
import { alertOf, type StoredAlert, storedAlert } from './alert-record.ts';
import { ALERT_STATUSES, type Alert, type AlertStatus, SEVERITIES, type Severity } from './records.ts';

export interface AlertFilter {
  readonly status?: AlertStatus;
  readonly severity?: Severity;
  /** Alerts of any of these wallets. */
  readonly walletIds?: readonly string[];
}

export interface AlertIndex {
  /** Stores a new or changed alert. Call it inside a transaction. */
  put(alert: Alert): void;
  byId(accountId: string, alertId: string): Alert | null;
  bySequence(accountId: string, sequence: number): Alert | null;
  /** Number of alerts of an account or of one of its wallets. */
  count(accountId: string, of?: { readonly walletId: string }): number;
  /** Returns true if the store has the layout of an older version of the program. */
  isOld(): boolean;
  /** Converts that layout, if it is there. Call it inside a transaction. */
  upgrade(): void;
  /** @throws NOT_READY before `upgrade`, or the first `put` */
  page(
    accountId: string,
    filter: AlertFilter,
    page: PageRequest & { readonly upTo?: number },
  ): { readonly alerts: readonly Alert[]; readonly total: number; readonly newest: number } & PageEnd;
}

const walletList = (accountId: string, walletId: string): string => `${accountId}/${walletId}`;

/** Opens the alert index in the live state of monitoring. */
export function openAlertIndex(root: LiveRoot): AlertIndex {
  const alerts: LiveDatabase<StoredAlert, [accountId: string, sequence: number]> = root.openDB({
    name: 'alerts',
    encoding: 'msgpack',
  });
  const sequences: LiveDatabase<number, [accountId: string, alertId: string]> = root.openDB({
    name: 'alertSequences',
    encoding: 'json',
  });
  /**
   * The list of an account links each alert to its position in the list of its wallet, and that list links it to its sequence number, which is its
   * position in the list of the account.
   */
  const lists = openAlertLists(root);
  /** Length of each list. */
  const counts: LiveDatabase<number, string> = root.openDB({ name: 'alertCounts', encoding: 'json' });

  const countOf = (name: string): number => counts.get(name) ?? 0;

  /** Stores an alert in the list of its account and, at `position`, in that of its wallet. */
  function list({ accountId, walletId, sequence, status, severity }: Alert, position: number): void {
    const fields = { status: ALERT_STATUSES.indexOf(status), severity: SEVERITIES.indexOf(severity) };
    lists.put(accountId, sequence, { link: position, ...fields });
    lists.put(walletList(accountId, walletId), position, { link: sequence, ...fields });
  }

  /** The layout before the lists: entries of all alerts, and numbers of the wallets in them. */
  const oldChunks: LiveDatabase<Buffer, Key> = root.openDB({ name: 'alertChunks', encoding: 'binary' });
  const oldWallets: LiveDatabase<Buffer, Key> = root.openDB({ name: 'alertWallets', encoding: 'binary' });
  /** Read each time: with Redis, another node can write an older layout until it is updated too. */
  const isOld = (): boolean => [...oldChunks.getKeys({ limit: 1 })].length > 0;

  function upgrade(): void {
    if (!isOld()) return;
    const lengths = new Map<string, number>();
    for (const { key, value } of alerts.getRange()) {
      const alert = alertOf(...key, value);
      const name = walletList(alert.accountId, alert.walletId);
      lengths.set(name, (lengths.get(name) ?? 0) + 1);
      list(alert, lengths.get(name) as number);
    }
    for (const database of [oldChunks, oldWallets])
      for (const key of [...database.getKeys()]) database.removeSync(key);
  }

  /** Numbers of the newest `limit` matches in the lists of wallets, with at most the number `upTo`; newest first. */
  function newestOf(
    wallets: readonly string[],
    upTo: number,
    limit: number,
    match: AlertMatch,
  ): readonly number[] {
    const found = wallets.flatMap((name) => {
      const length = lists.lastUpTo(name, upTo, countOf(name));
      return lists.matches(name, lists.count(name, length, match), limit, match).map(({ link }) => link);
    });
    return found.sort((a, b) => b - a).slice(0, limit);
  }

  /** Returns functions that count and list the matches of a filter up to a sequence number. */
  function viewOf(accountId: string, { status, severity, walletIds }: AlertFilter) {
    const match: AlertMatch = {
      status: status === undefined ? null : ALERT_STATUSES.indexOf(status),
      severity: severity === undefined ? null : SEVERITIES.indexOf(severity),
    };
    if (walletIds === undefined)
      return {
        count: (upTo: number): number => lists.count(accountId, Math.min(upTo, countOf(accountId)), match),
        newest: (upTo: number, offset: number, limit: number): readonly number[] => {
          const matches = lists.count(accountId, Math.min(upTo, countOf(accountId)), match);
          return lists.matches(accountId, matches - offset, limit, match).map(({ position }) => position);
        },
      };
    const wallets = [...new Set(walletIds)].map((id) => walletList(accountId, id));
    const count = (upTo: number): number =>
      wallets.reduce(
        (sum, name) => sum + lists.count(name, lists.lastUpTo(name, upTo, countOf(name)), match),
        0,
      );
    return {
      count,
      newest: (upTo: number, offset: number, limit: number): readonly number[] => {
        if (offset === 0) return newestOf(wallets, upTo, limit, match);
        // The least number up to which all but `offset` of the matches are found.
        const wanted = count(upTo) - offset;
        if (wanted <= 0) return [];
        let low = 1;
        let high = upTo;
        while (low < high) {
          const middle = Math.floor((low + high) / 2);
          if (count(middle) >= wanted) high = middle;
          else low = middle + 1;
        }
        return newestOf(wallets, low, limit, match);
      },
    };
  }

  const index: AlertIndex = {
    isOld,
    upgrade,
    put(alert) {
      upgrade();
      const { accountId, sequence, walletId } = alert;
      const isNew = sequences.get([accountId, alert.id]) === undefined;
      let position: number;
      if (isNew) {
        if (sequence !== countOf(accountId) + 1)
          throw new AssayError(
            'INTERNAL',
            `Alert ${sequence} of an account with ${countOf(accountId)} alerts.`,
          );
        const ofWallet = walletList(accountId, walletId);
        position = countOf(ofWallet) + 1;
        counts.putSync(accountId, sequence);
        counts.putSync(ofWallet, position);
        sequences.putSync([accountId, alert.id], sequence);
      } else position = lists.get(accountId, sequence)?.link ?? 0;
      alerts.putSync([accountId, sequence], storedAlert(alert));
      list(alert, position);
    },
    byId(accountId, alertId) {
      const sequence = ID_SHAPE.test(alertId) ? sequences.get([accountId, alertId]) : undefined;
      return sequence === undefined ? null : index.bySequence(accountId, sequence);
    },
    bySequence(accountId, sequence) {
      const stored = alerts.get([accountId, sequence]);
      return stored === undefined ? null : alertOf(accountId, sequence, stored);
    },
    count: (accountId, of) => countOf(of === undefined ? accountId : walletList(accountId, of.walletId)),
    page(accountId, filter, { limit, offset, cursor, upTo }) {
      if (isOld())
        throw new AssayError('NOT_READY', 'The alerts are being converted to a new layout. Try again.', {
          retryAfterSeconds: 5,
        });
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
      const newest = Math.min(countOf(accountId), upTo ?? Number.MAX_SAFE_INTEGER);
      const view = viewOf(accountId, filter);
      const last = Math.min(newest, before - 1);
      const shown = view.newest(last, offset, limit);
      const total = view.count(newest);
      const following = last === newest ? total : view.count(last);
      return {
        alerts: shown.flatMap((sequence) => index.bySequence(accountId, sequence) ?? []),
        total,
        newest,
        nextCursor: following > offset + shown.length ? String(shown.at(-1)) : null,
      };
    },
  };
  return index;
}
