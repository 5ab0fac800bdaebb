/**
 * Alerts of an account in the order of their sequence numbers, with a dense index of the fields that lists filter by: eight bytes
 * per alert, in chunks of one page. Counting and paging 100,000 alerts reads one megabyte, and no alert that is not shown.
 */
import { AssayError } from '../base/errors.ts';
import { ID_SHAPE } from '../base/ids.ts';
import { type PageEnd, type PageRequest, sequenceOfCursor } from '../base/paging.ts';
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
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
  page(
    accountId: string,
    filter: AlertFilter,
    page: PageRequest & { readonly upTo?: number },
  ): { readonly alerts: readonly Alert[]; readonly total: number; readonly newest: number } & PageEnd;
}

/** Entry of one alert: number of its wallet in the account (u32), status (u8), severity (u8), two unused bytes. */
const ENTRY_BYTES = 8;
/** Each alert rewrites its chunk, so a chunk has 4 KB, one page of the store. */
const CHUNK_ENTRIES = 512;

const chunkOf = (sequence: number): number => Math.floor((sequence - 1) / CHUNK_ENTRIES);
const placeOf = (sequence: number): number => ((sequence - 1) % CHUNK_ENTRIES) * ENTRY_BYTES;

/** Opens the alert index in the live state of monitoring. */
export function openAlertIndex(root: LiveRoot): AlertIndex {
  const alerts: LiveDatabase<Alert, [accountId: string, sequence: number]> = root.openDB({
    name: 'alerts',
    encoding: 'msgpack',
  });
  const sequences: LiveDatabase<number, [accountId: string, alertId: string]> = root.openDB({
    name: 'alertSequences',
    encoding: 'json',
  });
  const chunks: LiveDatabase<Buffer, [accountId: string, chunk: number]> = root.openDB({
    name: 'alertChunks',
    encoding: 'binary',
  });
  /** Wallets of an account that have ever had an alert, numbered from 1. The empty id holds their count. */
  const walletNumbers: LiveDatabase<number, [accountId: string, walletId: string]> = root.openDB({
    name: 'alertWallets',
    encoding: 'json',
  });
  const counts: LiveDatabase<number, string> = root.openDB({ name: 'alertCounts', encoding: 'json' });

  function walletNumber(accountId: string, walletId: string): number {
    const known = walletNumbers.get([accountId, walletId]);
    if (known !== undefined) return known;
    const next = (walletNumbers.get([accountId, '']) ?? 0) + 1;
    walletNumbers.putSync([accountId, ''], next);
    walletNumbers.putSync([accountId, walletId], next);
    return next;
  }

  const countOf = (name: string): number => counts.get(name) ?? 0;

  const index: AlertIndex = {
    put(alert) {
      const { accountId, sequence, walletId } = alert;
      const isNew = sequences.get([accountId, alert.id]) === undefined;
      if (isNew) {
        if (sequence !== countOf(accountId) + 1)
          throw new AssayError(
            'INTERNAL',
            `Alert ${sequence} of an account with ${countOf(accountId)} alerts.`,
          );
        counts.putSync(accountId, sequence);
        counts.putSync(`${accountId}/${walletId}`, countOf(`${accountId}/${walletId}`) + 1);
        sequences.putSync([accountId, alert.id], sequence);
      }
      alerts.putSync([accountId, sequence], alert);
      const key: [string, number] = [accountId, chunkOf(sequence)];
      const at = placeOf(sequence);
      const stored = chunks.get(key);
      const chunk = Buffer.alloc(Math.max(stored?.length ?? 0, at + ENTRY_BYTES));
      stored?.copy(chunk);
      chunk.writeUInt32LE(walletNumber(accountId, walletId), at);
      chunk[at + 4] = ALERT_STATUSES.indexOf(alert.status);
      chunk[at + 5] = SEVERITIES.indexOf(alert.severity);
      chunks.putSync(key, chunk);
    },
    byId(accountId, alertId) {
      const sequence = ID_SHAPE.test(alertId) ? sequences.get([accountId, alertId]) : undefined;
      return sequence === undefined ? null : index.bySequence(accountId, sequence);
    },
    bySequence: (accountId, sequence) => alerts.get([accountId, sequence]) ?? null,
    count: (accountId, of) => countOf(of === undefined ? accountId : `${accountId}/${of.walletId}`),
    page(accountId, filter, { limit, offset, cursor, upTo }) {
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
      const newest = Math.min(countOf(accountId), upTo ?? Number.MAX_SAFE_INTEGER);
      const status = filter.status === undefined ? -1 : ALERT_STATUSES.indexOf(filter.status);
      const severity = filter.severity === undefined ? -1 : SEVERITIES.indexOf(filter.severity);
      const numbers =
        filter.walletIds === undefined
          ? null
          : new Set(filter.walletIds.map((id) => walletNumbers.get([accountId, id]) ?? 0));
      const shown: number[] = [];
      let total = 0;
      /** Matches after the cursor. */
      let following = 0;
      for (let number = newest === 0 ? -1 : chunkOf(newest); number >= 0; number--) {
        const chunk = chunks.get([accountId, number]);
        if (chunk === undefined) continue;
        const first = number * CHUNK_ENTRIES + 1;
        const last = Math.min(newest, first + chunk.length / ENTRY_BYTES - 1);
        for (let sequence = last; sequence >= first; sequence--) {
          const at = placeOf(sequence);
          if (status !== -1 && chunk[at + 4] !== status) continue;
          if (severity !== -1 && chunk[at + 5] !== severity) continue;
          if (numbers !== null && !numbers.has(chunk.readUInt32LE(at))) continue;
          total++;
          if (sequence >= before) continue;
          following++;
          if (following > offset && shown.length < limit) shown.push(sequence);
        }
      }
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
