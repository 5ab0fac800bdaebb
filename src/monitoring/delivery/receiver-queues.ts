/**
 * The waiting deliveries of the outbox: one queue per receiver, ordered by the time at which the next attempt is due. The outbox
 * changes the queues inside the transaction of the delivery.
 */
import { createHash } from 'node:crypto';
import type { LiveDatabase, LiveRoot } from '../../state/live-store.ts';
import type { ChannelKind, Delivery } from '../records.ts';
import { DELIVERY_LIMITS } from './limits.ts';
import { LONGEST_WAIT_MS } from './schedule.ts';

/** One receiver of one account. Its queue does not wait for any other. */
export type ReceiverQueue = string;

/** A waiting delivery in the queue of its receiver. */
export interface Waiting {
  readonly queue: ReceiverQueue;
  readonly id: string;
  readonly accountId: string;
  /** Null for a digest, which keeps no order. */
  readonly walletId: string | null;
  readonly dueMs: number;
  readonly isFirst: boolean;
}

interface WaitingRow {
  readonly accountId: string;
  readonly walletId: string | null;
  readonly isFirst: boolean;
  /** A client asked for the attempt: it waits for no time, as a first attempt. */
  readonly isResent?: true;
}

/** True if an attempt waits only because the one before failed. Other attempts are due at once, whatever the clock of their node was. */
const isRetry = ({ isFirst, isResent }: WaitingRow): boolean => !isFirst && isResent !== true;

type QueueKey = [queue: ReceiverQueue, dueMs: number, id: string];

export interface Receiver {
  readonly channel: ChannelKind;
  /** As shown in the log. */
  readonly target: string;
}

const waitingOf = (
  queue: ReceiverQueue,
  dueMs: number,
  id: string,
  { accountId, walletId, isFirst }: WaitingRow,
): Waiting => ({ queue, id, dueMs, accountId, walletId, isFirst });

/** Sorts after every id in a key. */
export const PAST_IDS = '~';

const queueOf = (accountId: string, { channel, target }: Receiver): ReceiverQueue =>
  `${accountId}/${channel}/${createHash('sha256').update(target).digest('hex').slice(0, 24)}`;

/** Returns the channel of a queue. */
export const channelOf = (queue: ReceiverQueue): string | undefined => queue.split('/').at(-2);

/** The queues of all receivers, in two databases of the environment of monitoring. */
export class ReceiverQueues {
  readonly #root: LiveRoot;
  readonly #rows: LiveDatabase<WaitingRow, QueueKey>;
  readonly #byWallet: LiveDatabase<string, [walletId: string, id: string]>;
  readonly #listeners: ((queues: ReadonlySet<ReceiverQueue>) => void)[] = [];
  /** Receivers for which a delivery was stored since the last `wake`. */
  #changed = new Set<ReceiverQueue>();

  constructor(root: LiveRoot) {
    this.#root = root;
    this.#rows = root.openDB({ name: 'deliveryQueue', encoding: 'json' });
    this.#byWallet = root.openDB({ name: 'deliveriesByWallet', encoding: 'string' });
  }

  /** Adds a delivery to the queue of its receiver. Call it inside a transaction. */
  add(delivery: Delivery, dueMs: number, kind: 'first' | 'retry' | 'resent'): void {
    const { accountId, walletId, id } = delivery;
    const queue = queueOf(accountId, delivery);
    this.#changed.add(queue);
    this.#rows.putSync([queue, dueMs, id], {
      ...{ accountId, walletId, isFirst: kind === 'first' },
      ...(kind === 'resent' ? { isResent: true } : {}),
    });
    if (walletId !== null) this.#byWallet.putSync([walletId, id], accountId);
  }

  /** Removes a delivery from its queue. Call it inside a transaction. */
  remove(delivery: Delivery): void {
    if (delivery.nextAttemptAtMs !== null)
      this.#rows.removeSync([queueOf(delivery.accountId, delivery), delivery.nextAttemptAtMs, delivery.id]);
    this.removeFromWallet(delivery);
  }

  /** Removes a delivery from those of its wallet that wait. Call it inside a transaction. */
  removeFromWallet({ walletId, id }: Delivery): void {
    if (walletId !== null) this.#byWallet.removeSync([walletId, id]);
  }

  /** Removes the place of a delivery after its attempt. Call it inside a transaction. */
  removePlace({ queue, dueMs, id }: Waiting): void {
    this.#rows.removeSync([queue, dueMs, id]);
  }

  /** Returns the waiting deliveries of a wallet, at most `limit`. */
  ofWallet(walletId: string, limit?: number): { readonly accountId: string; readonly id: string }[] {
    const range = {
      start: [walletId, ''] as [string, string],
      end: [walletId, PAST_IDS] as [string, string],
      ...(limit === undefined ? {} : { limit }),
    };
    return [...this.#byWallet.getRange(range)].map(({ key, value }) => ({ accountId: value, id: key[1] }));
  }

  /** Returns the receivers with waiting deliveries. */
  list(): readonly ReceiverQueue[] {
    this.#root.resetReadTxn();
    const queues: ReceiverQueue[] = [];
    // Jumps from each queue to the first key after it: one step per receiver, however many deliveries wait.
    const firstFrom = (start: QueueKey): ReceiverQueue | undefined =>
      [...this.#rows.getKeys({ start, limit: 1 })][0]?.[0];
    let queue = firstFrom(['', 0, '']);
    while (queue !== undefined) {
      queues.push(queue);
      queue = firstFrom([queue, Number.MAX_SAFE_INTEGER, '']);
    }
    return queues;
  }

  /**
   * Returns the deliveries of a receiver that are due at `nowMs`, in the order of their due time, and the time at which the next
   * one is due. Only retries wait: an attempt that lies ahead without a failed one was stored by a node whose clock is ahead, or before
   * the clock was set back. Retries further ahead than the longest wait are due as well.
   */
  due(
    queue: ReceiverQueue,
    nowMs: number,
  ): { readonly waiting: readonly Waiting[]; readonly nextDueMs: number | null } {
    this.#root.resetReadTxn();
    const waiting: Waiting[] = [];
    const range = {
      start: [queue, 0, ''] as QueueKey,
      end: [queue, nowMs + LONGEST_WAIT_MS, PAST_IDS] as QueueKey,
      limit: DELIVERY_LIMITS.deliveryScanMax,
    };
    let nextDueMs: number | null = null;
    for (const { key, value } of this.#rows.getRange(range)) {
      const [, dueMs, id] = key;
      if (dueMs > nowMs && isRetry(value)) nextDueMs ??= dueMs;
      else waiting.push(waitingOf(queue, dueMs, id, value));
    }
    if (waiting.length === DELIVERY_LIMITS.deliveryScanMax) return { waiting, nextDueMs };
    const beyond = {
      start: [queue, Number.MAX_SAFE_INTEGER, ''] as QueueKey,
      end: [queue, nowMs + LONGEST_WAIT_MS, PAST_IDS] as QueueKey,
      reverse: true,
      limit: DELIVERY_LIMITS.deliveryScanMax - waiting.length,
    };
    for (const { key, value } of this.#rows.getRange(beyond))
      waiting.push(waitingOf(queue, key[1], key[2], value));
    return { waiting, nextDueMs };
  }

  /** Returns the number of waiting deliveries of all receivers. */
  count(): number {
    this.#root.resetReadTxn();
    // LMDB maintains this number, so no entries are counted.
    return (this.#rows.getStats() as { readonly entryCount: number }).entryCount;
  }

  /**
   * Calls the listeners with the receivers that have new deliveries.
   *
   * @param others - receivers for which another node has stored deliveries
   */
  wake(others: Iterable<ReceiverQueue> = []): void {
    for (const queue of others) this.#changed.add(queue);
    const queues = this.#changed;
    this.#changed = new Set();
    for (const listener of this.#listeners) listener(queues);
  }

  /** Registers a listener for `wake`. */
  onWake(listener: (queues: ReadonlySet<ReceiverQueue>) => void): void {
    this.#listeners.push(listener);
  }
}
