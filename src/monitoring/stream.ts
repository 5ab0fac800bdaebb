/**
 * The live stream of an account: its changes as they happen, from any number that is still kept. A reader that is too slow is
 * disconnected with a reason and can resume; only the buffer of its socket holds data for it.
 */
import { AssayError } from '../base/errors.ts';
import { alertAnswer, walletAnswer } from './answers.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoringChange } from './store.ts';

/** One message. A reader resumes after `id`; it is empty if the reader cannot resume from this message. */
export interface StreamEvent {
  readonly id: string;
  /** Kind of the change; `missed` if changes are not kept any more. */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
}

/** The receiving end of a stream. */
export interface StreamSink {
  /** Returns false if the reader is gone or too slow; nothing more is sent then. */
  send(event: StreamEvent): boolean;
  /** Bytes that the reader has not taken yet. */
  readonly waitingBytes: number;
  close(reason: string): void;
  /**
   * Returns false if the reader may not read any more, and then closes the stream. Omitted: it always may.
   *
   * @throws AssayError if that cannot be determined at the moment, as `send` does
   */
  mayRead?(): boolean;
}

export interface StreamHub {
  /**
   * Ends the streams that may not be read any more, if the account has the maximum number of streams.
   *
   * @throws INVALID_REQUEST if it still has
   */
  requireRoom(accountId: string): void;
  /**
   * Starts a stream after the number `after`; null starts with the next change.
   *
   * @returns a function that ends the stream
   */
  subscribe(accountId: string, after: number | null, sink: StreamSink): () => void;
  /** Number of open streams. */
  readonly size: number;
  /** Ends all streams with a reason. */
  close(reason: string): void;
}

interface Subscription {
  readonly sink: StreamSink;
  /** The last number that was sent. */
  sent: number;
  /** True if changes may be waiting that could not be sent when they were made. */
  isBehind: boolean;
}

/** Converts a change to a stream event. */
export const eventOf = (change: MonitoringChange): StreamEvent => ({
  id: String(change.number),
  event: change.kind,
  data: JSON.stringify(
    'alert' in change ? { alert: alertAnswer(change.alert) } : { wallet: walletAnswer(change.wallet) },
  ),
});

/** A log of changes, numbered per account without gaps. */
export interface StreamLog<Change extends { readonly number: number }> {
  /** Returns the changes after a number, oldest first. `first` is the oldest number that is kept. */
  changes(
    accountId: string,
    after: number,
    limit: number,
  ): { readonly changes: readonly Change[]; readonly first: number; readonly last: number };
  onChange(listener: (change: { readonly accountId: string }) => void): void;
}

/**
 * Creates the hub of all streams of a log.
 *
 * @param render - returns the message of a change; null if its record is gone
 */
export function createStreamHub<Change extends { readonly number: number }>(deps: {
  readonly store: StreamLog<Change>;
  readonly render: (change: Change) => StreamEvent | null;
}): StreamHub {
  const { store, render } = deps;
  const byAccount = new Map<string, Set<Subscription>>();
  let size = 0;
  /** Runs while there are streams. */
  let check: NodeJS.Timeout | null = null;

  function drop(accountId: string, subscription: Subscription, reason: string | null): void {
    const own = byAccount.get(accountId);
    if (!own?.delete(subscription)) return;
    size--;
    if (own.size === 0) byAccount.delete(accountId);
    if (size === 0 && check !== null) {
      clearInterval(check);
      check = null;
    }
    if (reason !== null) subscription.sink.close(reason);
  }

  /**
   * Works for one stream. A node that has lost its Redis cannot verify a key: the stream then stays open, and is sent nothing until the node
   * can. No request waits here that could be answered with the error.
   */
  function attempt(subscription: Subscription, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      subscription.isBehind = true;
    }
  }

  /** Ends the streams of an account that may not be read any more. */
  function dropEnded(accountId: string): void {
    for (const subscription of [...(byAccount.get(accountId) ?? [])])
      attempt(subscription, () => {
        if (subscription.sink.mayRead?.() === false) drop(accountId, subscription, null);
      });
  }

  /** Ends all streams that may not be read any more: another process or node may have revoked their key, and sends no event. */
  function checkAll(): void {
    for (const accountId of [...byAccount.keys()]) {
      dropEnded(accountId);
      for (const subscription of [...(byAccount.get(accountId) ?? [])])
        if (subscription.isBehind) attempt(subscription, () => catchUp(accountId, subscription));
    }
  }

  /** Sends all changes since the last one that was sent, page by page. */
  function catchUp(accountId: string, subscription: Subscription): void {
    const { sink } = subscription;
    subscription.isBehind = false;
    for (;;) {
      const { changes, first, last } = store.changes(
        accountId,
        subscription.sent,
        MONITORING_LIMITS.streamBacklogPage,
      );
      if (first > subscription.sent + 1) {
        const data = JSON.stringify({ from: subscription.sent + 1, to: first - 1 });
        if (!sink.send({ id: '', event: 'missed', data })) {
          drop(accountId, subscription, null);
          return;
        }
        subscription.sent = first - 1;
        continue;
      }
      for (const change of changes) {
        const event = render(change);
        if (event !== null && !sink.send(event)) {
          drop(accountId, subscription, null);
          return;
        }
        subscription.sent = change.number;
        if (sink.waitingBytes > MONITORING_LIMITS.streamBufferBytesMax) {
          drop(accountId, subscription, 'The client reads too slowly; reconnect with the last event id.');
          return;
        }
      }
      // A change without its record is skipped, but its number counts as sent.
      if (changes.length < MONITORING_LIMITS.streamBacklogPage) {
        subscription.sent = Math.max(subscription.sent, last);
        return;
      }
    }
  }

  store.onChange(({ accountId }) => {
    for (const subscription of [...(byAccount.get(accountId) ?? [])])
      attempt(subscription, () => catchUp(accountId, subscription));
  });

  return {
    requireRoom(accountId) {
      const isFull = (): boolean =>
        (byAccount.get(accountId)?.size ?? 0) >= MONITORING_LIMITS.streamsPerAccountMax;
      if (!isFull()) return;
      // Streams of a key that was revoked since the last check would take the places of others.
      dropEnded(accountId);
      if (!isFull()) return;
      throw new AssayError(
        'INVALID_REQUEST',
        `This account already has ${MONITORING_LIMITS.streamsPerAccountMax} open streams, the maximum.`,
      );
    },
    subscribe(accountId, after, sink) {
      const own = byAccount.get(accountId) ?? new Set();
      const { last } = store.changes(accountId, Number.MAX_SAFE_INTEGER - 1, 1);
      const subscription: Subscription = {
        sink,
        sent: after === null ? last : Math.min(after, last),
        isBehind: false,
      };
      own.add(subscription);
      byAccount.set(accountId, own);
      size++;
      check ??= setInterval(checkAll, MONITORING_LIMITS.streamCheckMs).unref();
      attempt(subscription, () => catchUp(accountId, subscription));
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
