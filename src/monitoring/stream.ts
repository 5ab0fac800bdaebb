/**
 * The live stream of an account: its changes as they come, from any number that is kept on. A reader that does not keep up is dropped
 * with a reason and can resume where it was; nothing is held for it in memory but what its socket holds.
 */
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { alertAnswer, walletAnswer } from './answers.ts';
import type { MonitoringChange, MonitoringStore } from './store.ts';

/** One message. `id` resumes behind it; empty for what cannot be resumed from. */
export interface StreamEvent {
  readonly id: string;
  readonly event: MonitoringChange['kind'] | 'missed';
  /** JSON text. */
  readonly data: string;
}

/** Where a stream goes. */
export interface StreamSink {
  /** False where the reader is gone or does not keep up; nothing more is sent then. */
  send(event: StreamEvent): boolean;
  /** What waits to be read, in bytes. */
  readonly waitingBytes: number;
  close(reason: string): void;
}

export interface StreamHub {
  /** Throws INVALID_REQUEST where the account has as many streams as it may. */
  requireRoom(accountId: string): void;
  /**
   * Begins a stream behind `after` (null: with what comes next). Returns how to end it.
   */
  subscribe(accountId: string, after: number | null, sink: StreamSink): () => void;
  /** Streams that are open. */
  readonly size: number;
  /** Ends all of them with a reason. */
  close(reason: string): void;
}

interface Subscription {
  readonly sink: StreamSink;
  /** The last number that was sent. */
  sent: number;
}

export const eventOf = (change: MonitoringChange): StreamEvent => ({
  id: String(change.number),
  event: change.kind,
  data: JSON.stringify(
    'alert' in change ? { alert: alertAnswer(change.alert) } : { wallet: walletAnswer(change.wallet) },
  ),
});

export function createStreamHub(deps: { readonly store: MonitoringStore }): StreamHub {
  const { store } = deps;
  const byAccount = new Map<string, Set<Subscription>>();
  let size = 0;

  function drop(accountId: string, subscription: Subscription, reason: string | null): void {
    const own = byAccount.get(accountId);
    if (!own?.delete(subscription)) return;
    size--;
    if (own.size === 0) byAccount.delete(accountId);
    if (reason !== null) subscription.sink.close(reason);
  }

  /** Sends what lies between the last thing sent and now, a page after the other. */
  function catchUp(accountId: string, subscription: Subscription): void {
    const { sink } = subscription;
    for (;;) {
      const { changes, first, last } = store.changes(accountId, subscription.sent, LIMITS.streamBacklogPage);
      if (last > subscription.sent && first > subscription.sent + 1) {
        const data = JSON.stringify({ from: subscription.sent + 1, to: first - 1 });
        if (!sink.send({ id: '', event: 'missed', data })) {
          drop(accountId, subscription, null);
          return;
        }
        subscription.sent = first - 1;
        continue;
      }
      for (const change of changes) {
        if (!sink.send(eventOf(change))) {
          drop(accountId, subscription, null);
          return;
        }
        subscription.sent = change.number;
        if (sink.waitingBytes > LIMITS.streamBufferBytesMax) {
          drop(accountId, subscription, 'The reader is too slow; resume behind the last id.');
          return;
        }
      }
      // What a row was about may be gone: the number counts, not the row.
      if (changes.length < LIMITS.streamBacklogPage) {
        subscription.sent = Math.max(subscription.sent, last);
        return;
      }
    }
  }

  store.onChange(({ accountId }) => {
    for (const subscription of [...(byAccount.get(accountId) ?? [])]) catchUp(accountId, subscription);
  });

  return {
    requireRoom(accountId) {
      if ((byAccount.get(accountId)?.size ?? 0) < LIMITS.streamsPerAccountMax) return;
      throw new AssayError(
        'INVALID_REQUEST',
        `This account has ${LIMITS.streamsPerAccountMax} streams open, and may have no more.`,
      );
    },
    subscribe(accountId, after, sink) {
      const own = byAccount.get(accountId) ?? new Set();
      const { last } = store.changes(accountId, Number.MAX_SAFE_INTEGER - 1, 1);
      const subscription: Subscription = { sink, sent: after === null ? last : Math.min(after, last) };
      own.add(subscription);
      byAccount.set(accountId, own);
      size++;
      catchUp(accountId, subscription);
      return () => drop(accountId, subscription, null);
    },
    get size() {
      return size;
    },
    close(reason) {
      for (const [accountId, own] of [...byAccount])
        for (const subscription of [...own]) drop(accountId, subscription, reason);
    },
  };
}
