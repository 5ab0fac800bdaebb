/**
 * The outbox on LMDB. A message is stored in the same transaction as its alert. It leaves the queue only when the receiver has
 * accepted it or its last attempt has failed. The dispatcher in dispatcher.ts sends it.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { ID_SHAPE } from '../../base/ids.ts';
import { invalidCursor } from '../../base/paging.ts';
import type { Random } from '../../base/random.ts';
import type { Fence, LiveDatabase, LiveRoot } from '../../state/live-store.ts';
import { type RepeatKey, Repeats } from '../../state/repeats.ts';
import { alertAnswer } from '../answers.ts';
import { type ChannelStore, maskedUrl } from '../channels.ts';
import type { Outbox } from '../outbox.ts';
import {
  type ALERT_THRESHOLDS,
  type Alert,
  type ChannelKind,
  type Delivery,
  type DeliveryAttempt,
  type MonitoredWallet,
  type OutgoingDelivery,
  SEVERITIES,
} from '../records.ts';
import { DeliveryRows, deliveryKey } from './delivery-rows.ts';
import { DELIVERY_LIMITS } from './limits.ts';
import { type Message, type Notice, renderMessage } from './messages.ts';
import {
  PAST_IDS,
  type Receiver,
  type ReceiverQueue,
  ReceiverQueues,
  type Waiting,
} from './receiver-queues.ts';
import { retryWaitMs } from './schedule.ts';
import type { Outcome } from './senders.ts';

const DAY_MS = 24 * 3_600_000;
/**
 * A digest of a day that begins further ahead than this was started before the clock was set back: clocks of two nodes differ by
 * seconds.
 */
const CLOCKS_DIFFER_MS = 3_600_000;

/**
 * Alerts that wait for the end of their day, by day, account and receiver. The target is hashed because a URL may exceed the
 * maximum key length.
 */
type DigestKey = [
  dayMs: number,
  accountId: string,
  channel: ChannelKind,
  targetHash: string,
  alertId: string,
];

export interface DeliveryFilter {
  readonly status?: Delivery['status'];
  readonly walletId?: string;
  readonly alertId?: string;
}

export interface DeliveryPage {
  /**
   * Newest first. May have fewer rows than requested although more follow, because only a limited number of rows is scanned at a
   * time.
   */
  readonly deliveries: readonly Delivery[];
  /** Cursor after the last row; null at the end. */
  readonly nextCursor: string | null;
}

/** A delivery that is sent again. */
export interface Replayed {
  readonly delivery: Delivery;
  /** True if an earlier request with the same Idempotency-Key has sent it again. */
  readonly isRepeated: boolean;
}

/** An attempt that has ended, with its outcome. */
export interface EndedAttempt {
  readonly waiting: Waiting;
  readonly attempt: Omit<DeliveryAttempt, 'responseStatus' | 'error'>;
  readonly outcome: Outcome;
}

export interface LmdbOutbox extends Outbox {
  /** Wakes the listeners; `others`: receivers for which another node has stored deliveries. */
  wake(others?: Iterable<ReceiverQueue>): void;
  /** Registers a listener that `wake` calls with the receivers that have new deliveries. */
  onWake(listener: (queues: ReadonlySet<ReceiverQueue>) => void): void;
  /** Returns the receivers with waiting deliveries. */
  queues(): readonly ReceiverQueue[];
  /**
   * Returns the deliveries of a receiver that are due at `nowMs`, in the order of their due time, and the time at which the next
   * one is due. Deliveries scheduled further ahead than the longest wait are due as well, because the clock was set back.
   */
  due(
    queue: ReceiverQueue,
    nowMs: number,
  ): { readonly waiting: readonly Waiting[]; readonly nextDueMs: number | null };
  /** Returns the stored delivery; null if it does not wait in this place any more: it was cancelled, or sent again, meanwhile. */
  load(waiting: Waiting): OutgoingDelivery | null;
  /**
   * Stores the outcomes of attempts in one transaction, and schedules the next attempts, if any. Durable when it resolves.
   *
   * @returns for each attempt null, or the error if its delivery cannot be read; the others are stored then
   */
  settle(ended: readonly EndedAttempt[], fence?: Fence | null): Promise<readonly unknown[]>;
  /**
   * Sends a delivery again, with a new series of attempts.
   *
   * @param key - Idempotency-Key of the request: a repeated one sends nothing, and returns the delivery as the first one did
   * @throws NOT_FOUND, also for an id of another account; INVALID_REQUEST while it waits
   */
  replay(accountId: string, id: string, key?: RepeatKey | null): Promise<Replayed>;
  /**
   * Sends a test message to every receiver of a wallet and returns the stored deliveries.
   *
   * @throws INVALID_REQUEST if the wallet has no receiver
   */
  test(wallet: MonitoredWallet): Promise<readonly Delivery[]>;
  /**
   * Stores one delivery for each receiver of a notice of another part of the program. Repeating it with the same id is a no-op.
   *
   * @param id - of the notice: its first characters are its time, as those of every id here
   */
  notify(accountId: string, id: string, receivers: readonly Receiver[], notice: Notice): Promise<void>;
  /** Like `enableUrl`, in a transaction of its own. */
  useAgain(accountId: string, url: string): Promise<void>;
  /** Enables a URL that was disabled by a 410 response. Call it inside a transaction. */
  enableUrl(accountId: string, url: string): void;
  /**
   * Returns one page of the delivery log.
   *
   * @throws INVALID_REQUEST if the cursor was not returned by this list
   */
  list(
    accountId: string,
    filter: DeliveryFilter,
    page: { readonly limit: number; readonly cursor?: string },
  ): DeliveryPage;
  /**
   * Stores the digests of all days that ended before `nowMs`, and of days in the future, which result from a clock that was set
   * back.
   *
   * @returns the number of stored messages
   */
  closeDays(nowMs: number, fence?: Fence | null): Promise<number>;
  /** Removes ended deliveries that exceeded the retention time, of all accounts, a limited number with each commit. */
  purgeAll(nowMs: number, signal: AbortSignal, fence?: Fence | null): Promise<void>;
  /** Number of waiting messages of all receivers. */
  waitingCount(): number;
}

export interface OutboxDeps {
  readonly channels: ChannelStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  /** Returns the current alert; null if it does not exist any more. */
  readonly readAlert: (accountId: string, alertId: string) => Alert | null;
}

/** The lowest severity that each threshold lets through. */
const LEAST: Readonly<Record<(typeof ALERT_THRESHOLDS)[number], (typeof SEVERITIES)[number]>> = {
  all: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  critical: 'CRITICAL',
};

const passes = (alert: Alert, wallet: MonitoredWallet): boolean =>
  SEVERITIES.indexOf(alert.severity) >= SEVERITIES.indexOf(LEAST[wallet.alertThreshold]);

/** Opens the outbox in the live state of monitoring. */
export function openOutbox(root: LiveRoot, deps: OutboxDeps): LmdbOutbox {
  return new StoredOutbox(root, deps);
}

/** Returns the status of a delivery after its last attempt. If it was cancelled during a successful attempt, it counts as delivered. */
const endOf = (delivery: Delivery, { kind }: Outcome): Delivery['status'] =>
  kind === 'DELIVERED' ? 'DELIVERED' : delivery.status === 'CANCELLED' ? 'CANCELLED' : 'FAILED';

const urlHash = (url: string): string => createHash('sha256').update(url).digest('hex');

/** Characters of an id that are its time. */
const TIME_CHARS = 10;

/** Returns the id of the delivery of a notice to a receiver, always the same: every node may hand a notice over. */
function deliveryIdOf(id: string, { channel, target }: Receiver): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([id, channel, target]))
    .digest('hex');
  // Hexadecimal digits are digits of ids.
  return id.slice(0, TIME_CHARS) + hash.slice(0, id.length - TIME_CHARS);
}

class StoredOutbox implements LmdbOutbox {
  readonly #root: LiveRoot;
  readonly #channels: ChannelStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #newId: () => string;
  readonly #readAlert: OutboxDeps['readAlert'];
  readonly #deliveries: DeliveryRows;
  readonly #queues: ReceiverQueues;
  /** URLs that responded with 410, with the time of the response. */
  readonly #gone: LiveDatabase<number, [accountId: string, url: string]>;
  readonly #repeats: Repeats<{ readonly delivery: Delivery }>;
  /** The values are the targets. */
  readonly #digests: LiveDatabase<string, DigestKey>;

  constructor(root: LiveRoot, deps: OutboxDeps) {
    this.#root = root;
    this.#channels = deps.channels;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#newId = deps.newId;
    this.#readAlert = deps.readAlert;
    this.#deliveries = new DeliveryRows(root);
    this.#queues = new ReceiverQueues(root);
    this.#gone = root.openDB({ name: 'goneUrls', encoding: 'json' });
    this.#repeats = new Repeats(root);
    this.#digests = root.openDB({ name: 'digests', encoding: 'string' });
  }

  /** Writes under a fence. Without one, the child transaction is not needed. */
  #writeAs<T>(fence: Fence | null, work: () => T): Promise<T> {
    return fence === null ? this.#root.transaction(work) : this.#root.childTransaction(work, fence);
  }

  /** Returns the receivers of an account and of one of its wallets. */
  #receiversOf(accountId: string, webhookUrl: string | null): Receiver[] {
    const { email, slackWebhookUrl, telegram } = this.#channels.channels(accountId);
    return [
      ...(webhookUrl === null ? [] : [{ channel: 'webhook' as const, target: webhookUrl }]),
      ...(email === null ? [] : [{ channel: 'email' as const, target: email }]),
      ...(slackWebhookUrl === null
        ? []
        : [{ channel: 'slack' as const, target: maskedUrl(slackWebhookUrl) }]),
      ...(telegram === null ? [] : [{ channel: 'telegram' as const, target: telegram.chatId }]),
    ];
  }

  /** Stores one delivery. Call it inside a transaction. */
  #store(
    accountId: string,
    receiver: Receiver,
    walletId: string | null,
    alertId: string | null,
    message: Message,
    id: string = this.#newId(),
  ): Delivery {
    const now = this.#clock.now();
    const isGone =
      receiver.channel === 'webhook' && this.#gone.get([accountId, urlHash(receiver.target)]) !== undefined;
    const delivery: OutgoingDelivery = {
      id,
      accountId,
      walletId,
      alertId,
      channel: receiver.channel,
      event: message.event,
      target: receiver.target,
      body: renderMessage(receiver.channel, message, now),
      status: isGone ? 'FAILED' : 'PENDING',
      attempts: isGone
        ? [
            {
              atMs: now,
              durationMs: 0,
              responseStatus: 410,
              error: 'Not sent: the URL answered 410 before and is disabled until it is set again.',
            },
          ]
        : [],
      attemptsBefore: 0,
      createdAtMs: now,
      nextAttemptAtMs: isGone ? null : now,
    };
    this.#deliveries.put(delivery);
    if (!isGone) this.#queues.add(delivery, now, 'first');
    this.#purge(accountId, now);
    return delivery;
  }

  /** Removes the oldest deliveries of an account that have ended and exceeded the retention time. Call it inside a transaction. */
  #purge(accountId: string, now: number): void {
    for (const delivery of this.#outdated(accountId, now, DELIVERY_LIMITS.deliveriesPurgeMax))
      this.#deliveries.remove(delivery);
  }

  /** Returns deliveries of an account that have ended and exceeded the retention time, of the oldest `limit`. */
  #outdated(accountId: string, now: number, limit: number): readonly Delivery[] {
    const range = { start: deliveryKey(accountId, ''), end: deliveryKey(accountId, PAST_IDS), limit };
    const ended: Delivery[] = [];
    for (const delivery of this.#deliveries.range(range)) {
      // Usually the first one, so that no other is read.
      if (delivery.createdAtMs > now - DELIVERY_LIMITS.deliveriesKeptMs) break;
      if (delivery.status !== 'PENDING') ended.push(delivery);
    }
    return ended;
  }

  async purgeAll(nowMs: number, signal: AbortSignal, fence: Fence | null = null): Promise<void> {
    const limit = DELIVERY_LIMITS.deliveriesSweptAtOnce;
    const next = (from: string): string | undefined => {
      this.#root.resetReadTxn();
      return this.#deliveries.accountFrom(from);
    };
    // Jumps from account to account: one step for each, however many deliveries it has.
    for (let account = next(''); account !== undefined && !signal.aborted; ) {
      const accountId = account;
      const ended = this.#outdated(accountId, nowMs, limit);
      if (ended.length > 0)
        await this.#writeAs(fence, () => {
          for (const delivery of this.#outdated(accountId, nowMs, limit)) this.#deliveries.remove(delivery);
        });
      else await setImmediate();
      account = next(ended.length === limit ? deliveryKey(accountId, '') : deliveryKey(accountId, PAST_IDS));
    }
  }

  /** Stores the digest of one day and receiver; returns the number of stored messages. Call it inside a transaction. */
  #closeDay([dayMs, accountId, channel, targetHash]: DigestKey): number {
    const range = {
      start: [dayMs, accountId, channel, targetHash, ''] as DigestKey,
      end: [dayMs, accountId, channel, targetHash, PAST_IDS] as DigestKey,
    };
    const named: string[] = [];
    let target = '';
    let count = 0;
    for (const { key, value } of [...this.#digests.getRange(range)]) {
      count++;
      target = value;
      if (named.length < DELIVERY_LIMITS.digestAlertsMax) named.push(key[4]);
      this.#digests.removeSync(key);
    }
    const alerts = named.flatMap((id) => this.#readAlert(accountId, id) ?? []).map(alertAnswer);
    if (alerts.length === 0) return 0;
    const digest = { day: isoTime(dayMs).slice(0, 10), alerts, more: count - named.length };
    this.#store(accountId, { channel, target }, null, null, { event: 'digest', digest });
    return 1;
  }

  #find(accountId: string, id: string): Delivery {
    const delivery = this.delivery(accountId, id);
    if (delivery !== null) return delivery;
    throw new AssayError('NOT_FOUND', `id: there is no delivery '${id.slice(0, 64)}'.`, { field: 'id' });
  }

  enqueue(event: Parameters<Outbox['enqueue']>[0], alert: Alert, wallet: MonitoredWallet): number {
    if (!passes(alert, wallet)) return 0;
    const receivers = this.#receiversOf(wallet.accountId, wallet.customWebhookUrl);
    if (wallet.alertFrequency === 'daily') {
      // A digest shows each alert as it is at the end of the day, so changes during the day are included.
      if (event === 'alert.updated') return 0;
      const dayMs = Math.floor(alert.createdAtMs / DAY_MS) * DAY_MS;
      for (const { channel, target } of receivers)
        this.#digests.putSync([dayMs, wallet.accountId, channel, urlHash(target), alert.id], target);
      return receivers.length;
    }
    const message: Message = { event, alert: alertAnswer(alert) };
    for (const receiver of receivers) this.#store(wallet.accountId, receiver, wallet.id, alert.id, message);
    return receivers.length;
  }

  wake(others: Iterable<ReceiverQueue> = []): void {
    this.#queues.wake(others);
  }

  onWake(listener: (queues: ReadonlySet<ReceiverQueue>) => void): void {
    this.#queues.onWake(listener);
  }

  cancelWallet(walletId: string, limit?: number): number {
    const waiting = this.#queues.ofWallet(walletId, limit);
    for (const { accountId, id } of waiting) {
      const delivery = this.#deliveries.read(accountId, id);
      if (delivery === null) continue;
      this.#queues.remove(delivery);
      this.#deliveries.put({ ...delivery, status: 'CANCELLED', nextAttemptAtMs: null });
    }
    return waiting.length;
  }

  delivery(accountId: string, id: string): Delivery | null {
    return ID_SHAPE.test(id) ? this.#deliveries.read(accountId, id) : null;
  }

  queues(): readonly ReceiverQueue[] {
    return this.#queues.list();
  }

  due(queue: ReceiverQueue, nowMs: number): ReturnType<LmdbOutbox['due']> {
    return this.#queues.due(queue, nowMs);
  }

  load({ accountId, id, dueMs }: Waiting): OutgoingDelivery | null {
    const delivery = this.#deliveries.read(accountId, id);
    return delivery?.status === 'PENDING' && delivery.nextAttemptAtMs === dueMs
      ? this.#deliveries.withMessage(delivery)
      : null;
  }

  async settle(ended: readonly EndedAttempt[], fence: Fence | null = null): Promise<readonly unknown[]> {
    return this.#writeAs(fence, () => ended.map((one) => this.#settleOne(one)));
  }

  /**
   * Stores the outcome of one attempt. Call it inside a transaction.
   *
   * @returns the error if the delivery cannot be read; then nothing is changed
   */
  #settleOne({ waiting, attempt, outcome }: EndedAttempt): unknown {
    let delivery: Delivery | null;
    try {
      delivery = this.#deliveries.read(waiting.accountId, waiting.id);
    } catch (error) {
      return error;
    }
    this.#queues.removePlace(waiting);
    if (delivery === null) return null;
    const { responseStatus } = outcome;
    if (outcome.kind === 'GONE')
      this.#gone.putSync([delivery.accountId, urlHash(delivery.target)], attempt.atMs);
    const error = outcome.kind === 'DELIVERED' ? null : outcome.error;
    const attempts = [...delivery.attempts, { ...attempt, responseStatus, error }];
    const waitMs =
      outcome.kind === 'RETRY' && delivery.status === 'PENDING'
        ? retryWaitMs(
            attempts.length - delivery.attemptsBefore,
            outcome.retryAfterMs,
            (this.#random.bytes(1)[0] ?? 0) / 255,
          )
        : null;
    const nextAttemptAtMs = waitMs === null ? null : attempt.atMs + attempt.durationMs + waitMs;
    const removed = Math.max(0, attempts.length - DELIVERY_LIMITS.deliveryAttemptsKept);
    this.#deliveries.put({
      ...delivery,
      attempts: attempts.slice(removed),
      attemptsBefore: Math.max(0, delivery.attemptsBefore - removed),
      status: nextAttemptAtMs !== null ? 'PENDING' : endOf(delivery, outcome),
      nextAttemptAtMs,
    });
    if (nextAttemptAtMs === null) this.#queues.removeFromWallet(delivery);
    else this.#queues.add(delivery, nextAttemptAtMs, 'retry');
    return null;
  }

  async replay(accountId: string, id: string, key: RepeatKey | null = null): Promise<Replayed> {
    const replayed = await this.#root.childTransaction(() => {
      const earlier = this.#repeats.find(key, this.#clock.now());
      if (earlier !== null) return { delivery: earlier.delivery, isRepeated: true };
      const delivery = this.#find(accountId, id);
      if (delivery.status === 'PENDING')
        throw new AssayError('INVALID_REQUEST', 'id: this delivery still waits for its next attempt.', {
          field: 'id',
        });
      const now = this.#clock.now();
      if (delivery.channel === 'webhook') this.#gone.removeSync([accountId, urlHash(delivery.target)]);
      const again: Delivery = {
        ...delivery,
        status: 'PENDING',
        attemptsBefore: delivery.attempts.length,
        nextAttemptAtMs: now,
      };
      this.#deliveries.put(again);
      // Not a first attempt, so that later alerts of the wallet do not wait for it.
      this.#queues.add(again, now, 'resent');
      this.#repeats.keep(key, { delivery: again }, now);
      return { delivery: again, isRepeated: false };
    });
    if (!replayed.isRepeated) this.wake();
    return replayed;
  }

  async test(wallet: MonitoredWallet): Promise<readonly Delivery[]> {
    const receivers = this.#receiversOf(wallet.accountId, wallet.customWebhookUrl);
    if (receivers.length === 0)
      throw new AssayError(
        'INVALID_REQUEST',
        'id: this wallet has no customWebhookUrl and its account has no channel, so there is no receiver.',
        { field: 'id' },
      );
    const { id: walletId, walletAddress, chain } = wallet;
    const test = { walletId, walletAddress: walletAddress.toLowerCase(), chain };
    const stored = await this.#root.transaction(() =>
      receivers.map((receiver) =>
        this.#store(wallet.accountId, receiver, walletId, null, { event: 'test', test }),
      ),
    );
    this.wake();
    return stored;
  }

  async notify(accountId: string, id: string, receivers: readonly Receiver[], notice: Notice): Promise<void> {
    await this.#root.transaction(() => {
      for (const receiver of receivers) {
        const own = deliveryIdOf(id, receiver);
        if (this.#deliveries.read(accountId, own) !== null) continue;
        this.#store(accountId, receiver, null, null, { event: 'billing', notice }, own);
      }
    });
    this.wake();
  }

  async useAgain(accountId: string, url: string): Promise<void> {
    await this.#gone.remove([accountId, urlHash(url)]);
  }

  enableUrl(accountId: string, url: string): void {
    this.#gone.removeSync([accountId, urlHash(url)]);
  }

  list(
    accountId: string,
    filter: DeliveryFilter,
    { limit, cursor }: { readonly limit: number; readonly cursor?: string },
  ): DeliveryPage {
    if (cursor !== undefined && !ID_SHAPE.test(cursor)) throw invalidCursor();
    const page: Delivery[] = [];
    this.#root.resetReadTxn();
    const range = {
      start: deliveryKey(accountId, cursor ?? PAST_IDS),
      end: deliveryKey(accountId, ''),
      reverse: true,
    };
    let scanned = 0;
    let lastScanned: string | null = null;
    for (const delivery of this.#deliveries.range(range)) {
      if (delivery.id === cursor) continue;
      if (++scanned > DELIVERY_LIMITS.deliveriesLookedMax)
        return { deliveries: page, nextCursor: lastScanned };
      lastScanned = delivery.id;
      if (filter.status !== undefined && delivery.status !== filter.status) continue;
      if (filter.walletId !== undefined && delivery.walletId !== filter.walletId) continue;
      if (filter.alertId !== undefined && delivery.alertId !== filter.alertId) continue;
      if (page.length === limit) return { deliveries: page, nextCursor: page.at(-1)?.id ?? null };
      page.push(delivery);
    }
    return { deliveries: page, nextCursor: null };
  }

  async closeDays(nowMs: number, fence: Fence | null = null): Promise<number> {
    const startOf = (ms: number): DigestKey => [Math.floor(ms / DAY_MS) * DAY_MS, '', 'webhook', '', ''];
    const end = startOf(nowMs);
    const ahead = startOf(nowMs + CLOCKS_DIFFER_MS + DAY_MS);
    let stored = 0;
    // One transaction per receiver and day: all digests of an installation in one transaction would block the writer for long.
    for (;;) {
      this.#root.resetReadTxn();
      const first =
        [...this.#digests.getKeys({ end, limit: 1 })][0] ??
        [...this.#digests.getKeys({ start: ahead, limit: 1 })][0];
      if (first === undefined) break;
      stored += await this.#writeAs(fence, () => this.#closeDay(first));
    }
    if (stored > 0) this.wake();
    return stored;
  }

  waitingCount(): number {
    return this.#queues.count();
  }
}
