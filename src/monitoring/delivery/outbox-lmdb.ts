/**
 * The outbox on LMDB: every message is stored with its alert, in one transaction, and leaves a queue only when a receiver took it or its
 * last attempt failed. Who sends is courier.ts.
 */
import { createHash } from 'node:crypto';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Fence, LiveDatabase, LiveRoot } from '../../base/live-store.ts';
import type { Random } from '../../base/random.ts';
import { alertAnswer } from '../answers.ts';
import type { ChannelStore } from '../channels.ts';
import { ID_SHAPE } from '../ids.ts';
import type { Outbox } from '../outbox.ts';
import {
  type ALERT_THRESHOLDS,
  type Alert,
  type ChannelKind,
  type Delivery,
  type DeliveryAttempt,
  type MonitoredWallet,
  SEVERITIES,
} from '../records.ts';
import { type Message, renderMessage } from './messages.ts';
import { LONGEST_WAIT_MS, retryWaitMs } from './schedule.ts';
import type { Outcome } from './senders.ts';

const DAY_MS = 24 * 3_600_000;
/** A digest of a day that begins later than this was begun before the clock was set back: clocks of two nodes differ by seconds. */
const CLOCKS_DIFFER_MS = 3_600_000;

/** One receiver of one account. What waits for it waits for nobody else. */
export type Lane = string;

/** A waiting delivery, as the queue of its lane holds it. */
export interface Waiting {
  readonly lane: Lane;
  readonly id: string;
  readonly accountId: string;
  /** Null for a digest: it keeps no order. */
  readonly walletId: string | null;
  readonly dueMs: number;
  readonly isFirst: boolean;
}

interface WaitingRow {
  readonly accountId: string;
  readonly walletId: string | null;
  readonly isFirst: boolean;
}

type QueueKey = [lane: Lane, dueMs: number, id: string];

interface Receiver {
  readonly channel: ChannelKind;
  /** As shown in the log. */
  readonly target: string;
}

/** Alerts of a day that wait for its end, by day, account and receiver: a URL is longer than a key may be. */
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
  /** Newest first. May be fewer than asked for, though more follow: only so many are looked through at a time. */
  readonly deliveries: readonly Delivery[];
  /** Continues behind the last one; null at the end. */
  readonly nextCursor: string | null;
}

export interface LmdbOutbox extends Outbox {
  /** As for every outbox; `others`: receivers that another node stored something for. */
  wake(others?: Iterable<Lane>): void;
  /** Told of the receivers that have something new whenever `wake` is called. */
  onWake(listener: (lanes: ReadonlySet<Lane>) => void): void;
  /** Receivers that anything waits for. */
  lanes(): readonly Lane[];
  /**
   * What is due for a receiver at `nowMs`, first due first, and when the next thing is due that is not yet. If the clock was set back,
   * what lies further ahead than any delivery waits is due as well.
   */
  due(lane: Lane, nowMs: number): { readonly waiting: readonly Waiting[]; readonly nextDueMs: number | null };
  /** Null where it was cancelled meanwhile. */
  load(waiting: Waiting): Delivery | null;
  /** Writes down how an attempt ended and what follows. Durable when it resolves. */
  settle(
    waiting: Waiting,
    attempt: Omit<DeliveryAttempt, 'responseStatus' | 'error'>,
    outcome: Outcome,
    fence?: Fence | null,
  ): Promise<void>;
  /** Sends anew, from the first wait on. Rejects with NOT_FOUND, also for another account's; INVALID_REQUEST while it waits. */
  replay(accountId: string, id: string): Promise<Delivery>;
  /** Sends a test message to every receiver of a wallet; returns what was stored. Rejects with INVALID_REQUEST where there is none. */
  test(wallet: MonitoredWallet): Promise<readonly Delivery[]>;
  /** A URL that answered 410 is asked again from now on. Inside a transaction. */
  enableUrl(accountId: string, url: string): void;
  /** Throws INVALID_REQUEST for a cursor that is none. */
  list(
    accountId: string,
    filter: DeliveryFilter,
    page: { readonly limit: number; readonly cursor?: string },
  ): DeliveryPage;
  /**
   * Makes the digests of all days that ended before `nowMs`, and of days that lie ahead, because the clock was set back. Returns how
   * many messages were stored.
   */
  closeDays(nowMs: number, fence?: Fence | null): Promise<number>;
  /** Messages that wait, of all receivers. */
  waitingCount(): number;
}

export interface OutboxDeps {
  readonly channels: ChannelStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  /** The alert as it is now; null where it is gone. */
  readonly readAlert: (accountId: string, alertId: string) => Alert | null;
}

/** The least severity that each threshold lets through. */
const LEAST: Readonly<Record<(typeof ALERT_THRESHOLDS)[number], (typeof SEVERITIES)[number]>> = {
  all: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  critical: 'CRITICAL',
};

const passes = (alert: Alert, wallet: MonitoredWallet): boolean =>
  SEVERITIES.indexOf(alert.severity) >= SEVERITIES.indexOf(LEAST[wallet.alertThreshold]);

const laneOf = (accountId: string, { channel, target }: Receiver): Lane =>
  `${accountId}/${channel}/${createHash('sha256').update(target).digest('hex').slice(0, 24)}`;
/** How what waits in a lane is sent. */
export const channelOf = (lane: Lane): string | undefined => lane.split('/').at(-2);
const keyOf = (accountId: string, id: string): string => `${accountId}/${id}`;
const PAST_IDS = '~';

/** Opens the outbox inside an environment of monitoring. */
export function openOutbox(root: LiveRoot, deps: OutboxDeps): LmdbOutbox {
  const { channels, clock, random, newId } = deps;
  /** Writes as whoever holds a lease; one of no lease spares the child transaction. */
  const writeAs = <T>(fence: Fence | null, work: () => T): Promise<T> =>
    fence === null ? root.transaction(work) : root.childTransaction(work, fence);
  const deliveries: LiveDatabase<Delivery, string> = root.openDB({ name: 'deliveries', encoding: 'json' });
  const queue: LiveDatabase<WaitingRow, QueueKey> = root.openDB({
    name: 'deliveryQueue',
    encoding: 'json',
  });
  const byWallet: LiveDatabase<string, [walletId: string, id: string]> = root.openDB({
    name: 'deliveriesByWallet',
    encoding: 'string',
  });
  const gone: LiveDatabase<number, [accountId: string, url: string]> = root.openDB({
    name: 'goneUrls',
    encoding: 'json',
  });
  /** Values are the targets. */
  const digests: LiveDatabase<string, DigestKey> = root.openDB({ name: 'digests', encoding: 'string' });
  const listeners: ((lanes: ReadonlySet<Lane>) => void)[] = [];
  /** Receivers that something was stored for since the last wake. */
  let changed = new Set<Lane>();

  const urlHash = (url: string): string => createHash('sha256').update(url).digest('hex');

  function receiversOf(accountId: string, webhookUrl: string | null): Receiver[] {
    const { email, slackWebhookUrl, telegram } = channels.channels(accountId);
    return [
      ...(webhookUrl === null ? [] : [{ channel: 'webhook' as const, target: webhookUrl }]),
      ...(email === null ? [] : [{ channel: 'email' as const, target: email }]),
      ...(slackWebhookUrl === null
        ? []
        : [
            {
              channel: 'slack' as const,
              target: `${new URL(slackWebhookUrl).host} …${slackWebhookUrl.slice(-4)}`,
            },
          ]),
      ...(telegram === null ? [] : [{ channel: 'telegram' as const, target: telegram.chatId }]),
    ];
  }

  /** Inside a transaction. */
  function store(
    accountId: string,
    receiver: Receiver,
    walletId: string | null,
    alertId: string | null,
    message: Message,
  ): Delivery {
    const now = clock.now();
    const isGone =
      receiver.channel === 'webhook' && gone.get([accountId, urlHash(receiver.target)]) !== undefined;
    const delivery: Delivery = {
      id: newId(),
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
    deliveries.putSync(keyOf(accountId, delivery.id), delivery);
    if (!isGone) wait(delivery, now, true);
    purge(accountId, now);
    return delivery;
  }

  function wait(delivery: Delivery, dueMs: number, isFirst: boolean): void {
    const { accountId, walletId, id } = delivery;
    const lane = laneOf(accountId, delivery);
    changed.add(lane);
    queue.putSync([lane, dueMs, id], { accountId, walletId, isFirst });
    if (walletId !== null) byWallet.putSync([walletId, id], accountId);
  }

  /** Takes a delivery out of the queue, wherever it stands there. */
  function unqueue(delivery: Delivery): void {
    if (delivery.nextAttemptAtMs !== null)
      queue.removeSync([laneOf(delivery.accountId, delivery), delivery.nextAttemptAtMs, delivery.id]);
    if (delivery.walletId !== null) byWallet.removeSync([delivery.walletId, delivery.id]);
  }

  /** The oldest of an account that have ended and are past keeping. */
  function purge(accountId: string, now: number): void {
    const range = {
      start: keyOf(accountId, ''),
      end: keyOf(accountId, PAST_IDS),
      limit: LIMITS.deliveriesPurgeMax,
    };
    for (const { key, value } of [...deliveries.getRange(range)]) {
      if (value.createdAtMs > now - LIMITS.deliveriesKeptMs) return;
      if (value.status !== 'PENDING') deliveries.removeSync(key);
    }
  }

  /** Inside a transaction: the digest of the day and receiver that a key belongs to. Returns how many messages were stored. */
  function closeDay([dayMs, accountId, channel, targetHash]: DigestKey): number {
    const range = {
      start: [dayMs, accountId, channel, targetHash, ''] as DigestKey,
      end: [dayMs, accountId, channel, targetHash, PAST_IDS] as DigestKey,
    };
    const named: string[] = [];
    let target = '';
    let count = 0;
    for (const { key, value } of [...digests.getRange(range)]) {
      count++;
      target = value;
      if (named.length < LIMITS.digestAlertsMax) named.push(key[4]);
      digests.removeSync(key);
    }
    const alerts = named.flatMap((id) => deps.readAlert(accountId, id) ?? []).map(alertAnswer);
    if (alerts.length === 0) return 0;
    const digest = { day: isoTime(dayMs).slice(0, 10), alerts, more: count - named.length };
    store(accountId, { channel, target }, null, null, { event: 'digest', digest });
    return 1;
  }

  const find = (accountId: string, id: string): Delivery => {
    const delivery = ID_SHAPE.test(id) ? deliveries.get(keyOf(accountId, id)) : undefined;
    if (delivery !== undefined) return delivery;
    throw new AssayError('NOT_FOUND', `id: there is no delivery '${id.slice(0, 64)}'.`, { field: 'id' });
  };

  const outbox: LmdbOutbox = {
    enqueue(event, alert, wallet) {
      if (!passes(alert, wallet)) return 0;
      const receivers = receiversOf(wallet.accountId, wallet.customWebhookUrl);
      if (wallet.alertFrequency === 'daily') {
        // A digest tells the alert as it is at the end of the day: what changed meanwhile is in it.
        if (event === 'alert.updated') return 0;
        const dayMs = Math.floor(alert.createdAtMs / DAY_MS) * DAY_MS;
        for (const { channel, target } of receivers)
          digests.putSync([dayMs, wallet.accountId, channel, urlHash(target), alert.id], target);
        return receivers.length;
      }
      const message: Message = { event, alert: alertAnswer(alert) };
      for (const receiver of receivers) store(wallet.accountId, receiver, wallet.id, alert.id, message);
      return receivers.length;
    },
    wake(others = []) {
      for (const lane of others) changed.add(lane);
      const lanes = changed;
      changed = new Set();
      for (const listener of listeners) listener(lanes);
    },
    onWake(listener) {
      listeners.push(listener);
    },
    cancelWallet(walletId) {
      const range = {
        start: [walletId, ''] as [string, string],
        end: [walletId, PAST_IDS] as [string, string],
      };
      for (const { key, value: accountId } of [...byWallet.getRange(range)]) {
        const delivery = deliveries.get(keyOf(accountId, key[1]));
        if (delivery === undefined) continue;
        unqueue(delivery);
        deliveries.putSync(keyOf(accountId, delivery.id), {
          ...delivery,
          status: 'CANCELLED',
          nextAttemptAtMs: null,
        });
      }
    },
    delivery: (accountId, id) =>
      (ID_SHAPE.test(id) ? deliveries.get(keyOf(accountId, id)) : undefined) ?? null,

    lanes() {
      root.resetReadTxn();
      const found: Lane[] = [];
      // From each lane to the first key behind it: a step a receiver, whatever waits there.
      const firstFrom = (start: QueueKey): Lane | undefined =>
        [...queue.getKeys({ start, limit: 1 })][0]?.[0];
      let lane = firstFrom(['', 0, '']);
      while (lane !== undefined) {
        found.push(lane);
        lane = firstFrom([lane, Number.MAX_SAFE_INTEGER, '']);
      }
      return found;
    },
    due(lane, nowMs) {
      root.resetReadTxn();
      const waiting: Waiting[] = [];
      const range = {
        start: [lane, 0, ''] as QueueKey,
        end: [lane, Number.MAX_SAFE_INTEGER, ''] as QueueKey,
        limit: LIMITS.deliveryScanMax,
      };
      let nextDueMs: number | null = null;
      for (const { key, value } of queue.getRange(range)) {
        const [, dueMs, id] = key;
        if (dueMs > nowMs) {
          nextDueMs = dueMs;
          break;
        }
        waiting.push({ lane, id, dueMs, ...value });
      }
      const beyond = {
        start: [lane, Number.MAX_SAFE_INTEGER, ''] as QueueKey,
        end: [lane, nowMs + LONGEST_WAIT_MS, PAST_IDS] as QueueKey,
        reverse: true,
        limit: LIMITS.deliveryScanMax - waiting.length,
      };
      if (nextDueMs !== null)
        for (const { key, value } of queue.getRange(beyond))
          waiting.push({ lane, id: key[2], dueMs: key[1], ...value });
      return { waiting, nextDueMs };
    },
    load({ accountId, id }) {
      const delivery = deliveries.get(keyOf(accountId, id));
      return delivery?.status === 'PENDING' ? delivery : null;
    },
    async settle(waiting, attempt, outcome, fence = null) {
      await writeAs(fence, () => {
        const delivery = deliveries.get(keyOf(waiting.accountId, waiting.id));
        queue.removeSync([waiting.lane, waiting.dueMs, waiting.id]);
        if (delivery === undefined) return;
        const made: DeliveryAttempt = {
          ...attempt,
          responseStatus: outcome.responseStatus,
          error: outcome.kind === 'DELIVERED' ? null : outcome.error,
        };
        const attempts = [...delivery.attempts, made];
        const round = attempts.length - delivery.attemptsBefore;
        const waitMs =
          outcome.kind === 'RETRY' && delivery.status === 'PENDING'
            ? retryWaitMs(round, outcome.retryAfterMs, (random.bytes(1)[0] ?? 0) / 255)
            : null;
        if (outcome.kind === 'GONE')
          gone.putSync([delivery.accountId, urlHash(delivery.target)], attempt.atMs);
        const nextAttemptAtMs = waitMs === null ? null : attempt.atMs + attempt.durationMs + waitMs;
        const ended = outcome.kind === 'DELIVERED' ? 'DELIVERED' : 'FAILED';
        deliveries.putSync(keyOf(delivery.accountId, delivery.id), {
          ...delivery,
          attempts: attempts.slice(-LIMITS.deliveryAttemptsKept),
          attemptsBefore: Math.max(
            0,
            delivery.attemptsBefore - Math.max(0, attempts.length - LIMITS.deliveryAttemptsKept),
          ),
          // Cancelled while it was on its way: what arrived has arrived.
          status:
            nextAttemptAtMs !== null
              ? 'PENDING'
              : delivery.status === 'CANCELLED' && ended === 'FAILED'
                ? 'CANCELLED'
                : ended,
          nextAttemptAtMs,
        });
        if (nextAttemptAtMs === null) unqueue({ ...delivery, nextAttemptAtMs: null });
        else wait(delivery, nextAttemptAtMs, false);
      });
    },
    async replay(accountId, id) {
      const replayed = await root.transaction(() => {
        const delivery = find(accountId, id);
        if (delivery.status === 'PENDING')
          throw new AssayError('INVALID_REQUEST', 'id: this delivery still waits for its next attempt.', {
            field: 'id',
          });
        const now = clock.now();
        if (delivery.channel === 'webhook') gone.removeSync([accountId, urlHash(delivery.target)]);
        const again: Delivery = {
          ...delivery,
          status: 'PENDING',
          attemptsBefore: delivery.attempts.length,
          nextAttemptAtMs: now,
        };
        deliveries.putSync(keyOf(accountId, id), again);
        // Not a first attempt: it holds up no alert that came after.
        wait(again, now, false);
        return again;
      });
      outbox.wake();
      return replayed;
    },
    async test(wallet) {
      const receivers = receiversOf(wallet.accountId, wallet.customWebhookUrl);
      if (receivers.length === 0)
        throw new AssayError(
          'INVALID_REQUEST',
          'id: this wallet has no customWebhookUrl and its account no channel: there is nobody to send to.',
          { field: 'id' },
        );
      const { id: walletId, walletAddress, chain } = wallet;
      const test = { walletId, walletAddress: walletAddress.toLowerCase(), chain };
      const stored = await root.transaction(() =>
        receivers.map((receiver) =>
          store(wallet.accountId, receiver, walletId, null, { event: 'test', test }),
        ),
      );
      outbox.wake();
      return stored;
    },
    enableUrl(accountId, url) {
      gone.removeSync([accountId, urlHash(url)]);
    },
    list(accountId, filter, { limit, cursor }) {
      if (cursor !== undefined && !ID_SHAPE.test(cursor))
        throw new AssayError('INVALID_REQUEST', 'cursor: it is not one that this list gave.', {
          field: 'cursor',
        });
      const page: Delivery[] = [];
      root.resetReadTxn();
      const range = {
        start: keyOf(accountId, cursor ?? PAST_IDS),
        end: keyOf(accountId, ''),
        reverse: true,
      };
      let looked = 0;
      let lastLooked: string | null = null;
      for (const { value } of deliveries.getRange(range)) {
        if (value.id === cursor) continue;
        if (++looked > LIMITS.deliveriesLookedMax) return { deliveries: page, nextCursor: lastLooked };
        lastLooked = value.id;
        if (filter.status !== undefined && value.status !== filter.status) continue;
        if (filter.walletId !== undefined && value.walletId !== filter.walletId) continue;
        if (filter.alertId !== undefined && value.alertId !== filter.alertId) continue;
        if (page.length === limit) return { deliveries: page, nextCursor: page.at(-1)?.id ?? null };
        page.push(value);
      }
      return { deliveries: page, nextCursor: null };
    },
    async closeDays(nowMs, fence = null) {
      const startOf = (ms: number): DigestKey => [Math.floor(ms / DAY_MS) * DAY_MS, '', 'webhook', '', ''];
      const end = startOf(nowMs);
      const ahead = startOf(nowMs + CLOCKS_DIFFER_MS + DAY_MS);
      let stored = 0;
      // A receiver's day is one transaction: the days of a whole installation would keep the writer for long.
      for (;;) {
        root.resetReadTxn();
        const first =
          [...digests.getKeys({ end, limit: 1 })][0] ?? [...digests.getKeys({ start: ahead, limit: 1 })][0];
        if (first === undefined) break;
        stored += await writeAs(fence, () => closeDay(first));
      }
      if (stored > 0) outbox.wake();
      return stored;
    },
    waitingCount() {
      root.resetReadTxn();
      // Kept by the environment itself: nothing is counted.
      return (queue.getStats() as { readonly entryCount: number }).entryCount;
    },
  };
  return outbox;
}
