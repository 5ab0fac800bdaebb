/**
 * Dispatcher of the outbox. Each receiver has its own queue and its own concurrency limit, so that receivers do not wait for each
 * other. A failing receiver gets one attempt at a time. Within a receiver, the first attempts of a wallet are sent in the order of
 * its alerts, each after the previous one was attempted. Retries keep no order and block nothing.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/retry.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, underLease } from '../../state/leases.ts';
import { isStorageFull } from '../../state/storage.ts';
import type { ChannelKind, OutgoingDelivery } from '../records.ts';
import { DueBuffer } from './due-buffer.ts';
import { DELIVERY_LIMITS } from './limits.ts';
import type { LmdbOutbox } from './outbox-lmdb.ts';
import { channelOf, type ReceiverQueue, type Waiting } from './receiver-queues.ts';
import type { Outcome, Send } from './senders.ts';
import { Settlements } from './settlements.ts';

export interface Dispatcher {
  /** Looks for due deliveries now, whenever the outbox is woken, and at intervals, while this node holds the delivery lease. */
  start(): void;
  /** Attempts all due deliveries, including those that become due meanwhile; resolves after all attempts. For tests. */
  runDue(): Promise<void>;
  /** Starts no new attempts and resolves when the running ones have ended. */
  stop(): Promise<void>;
}

export interface DispatcherDeps {
  readonly outbox: LmdbOutbox;
  readonly senders: Readonly<Record<ChannelKind, Send>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Decides which node sends. Default: this one. */
  readonly leases?: Leases;
  /** Returns a sentence that says why this node cannot send; null if it can. Default: it always can. */
  readonly obstacle?: () => Promise<string | null>;
}

/** The lease of the node that sends. */
const LEASE = { store: 'monitoring', name: 'delivery' } as const;

/** Interval between checks for due deliveries; the shortest wait of the schedule is 5 s. */
const TICK_MS = 250;
/** Pause between two attempts to store the outcome of a delivery. */
const UNWRITTEN_PAUSE_MS = 1_000;
/** Interval between two full listings of the receivers, because another process may have stored deliveries. */
const SWEEP_MS = 5_000;

interface QueueState {
  readonly isMail: boolean;
  readonly due: DueBuffer;
  /** Ids of the attempts in progress. */
  readonly inFlight: Set<string>;
  /** Wallets with a first attempt in progress. */
  readonly wallets: Set<string>;
  /** Whether the last attempt failed. */
  isFailing: boolean;
  /** Whether the last attempt could not even be made; this was logged. */
  isBroken: boolean;
  /** Time of the next check; null while no delivery waits. */
  nextCheckMs: number | null;
}

/** Returns true for the first attempt of a wallet's delivery, which keeps the order of its alerts. */
const isOrdered = (waiting: Waiting): waiting is Waiting & { readonly walletId: string } =>
  waiting.isFirst && waiting.walletId !== null;

/** Returns true if an attempt must wait, because an earlier one of its wallet is in progress. */
const isAfterOther = (waiting: Waiting, { wallets }: QueueState): boolean =>
  isOrdered(waiting) && wallets.has(waiting.walletId);

/** Creates the dispatcher. It does not send before `start` or `runDue`. */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  return new OutboxDispatcher(deps);
}

class OutboxDispatcher implements Dispatcher {
  readonly #outbox: LmdbOutbox;
  readonly #settlements: Settlements;
  readonly #senders: DispatcherDeps['senders'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #leases: Leases;
  readonly #obstacle: () => Promise<string | null>;
  readonly #queues = new Map<ReceiverQueue, QueueState>();
  readonly #running = new Set<Promise<void>>();
  /** Attempts in progress to receivers that failed before. */
  #failing = 0;
  /** Emails in progress, over all receivers: one mail server takes them all. */
  #emails = 0;
  readonly #stopped = new AbortController();
  #sending: Promise<void> | null = null;
  /** Null while another node sends, and before `start`. */
  #lease: HeldLease | null = null;
  /** Aborted when the lease ends or the dispatcher stops. */
  #signal: AbortSignal | null = null;
  /** Monotonic time of the last full listing of the receivers. */
  #listedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: DispatcherDeps) {
    this.#outbox = deps.outbox;
    this.#settlements = new Settlements(deps.outbox);
    this.#senders = deps.senders;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#leases = deps.leases ?? createEmbeddedLeases();
    this.#obstacle = deps.obstacle ?? (async () => null);
  }

  /** Returns true if new attempts may start: this node holds the lease, or `runDue` was called without `start`. */
  #mayBegin(): boolean {
    return !this.#stopped.signal.aborted && (this.#sending === null || this.#lease?.isHeld() === true);
  }

  /** Makes the next check look at these receivers. */
  #checkSoon(changed: Iterable<ReceiverQueue>): void {
    const nextCheckMs = this.#clock.now();
    for (const queue of changed) {
      const state = this.#queues.get(queue);
      if (state) {
        state.due.outdate();
        state.nextCheckMs = nextCheckMs;
      } else
        this.#queues.set(queue, {
          isMail: channelOf(queue) === 'email',
          due: new DueBuffer(),
          inFlight: new Set(),
          wallets: new Set(),
          isFailing: false,
          isBroken: false,
          nextCheckMs,
        });
    }
  }

  /** Lists the receivers with waiting deliveries, and drops the queues without any. */
  #listReceivers(): void {
    this.#listedMs = this.#clock.monotonic();
    const known = new Set(this.#outbox.queues());
    this.#checkSoon(known);
    for (const [queue, state] of this.#queues)
      if (!known.has(queue) && state.inFlight.size === 0) this.#queues.delete(queue);
  }

  /** Makes one attempt. If a secret cannot be decrypted on this node, the delivery is retried by the schedule. */
  async #attemptOf(delivery: OutgoingDelivery): Promise<Outcome> {
    try {
      return await this.#senders[delivery.channel](delivery);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'STORE_CORRUPT') throw error;
      return { kind: 'RETRY', responseStatus: null, error: messageOf(error), retryAfterMs: null };
    }
  }

  /** Retries `write` while the disk is full, until the lease ends: without its record, a sent message would be sent again. */
  async #whenWritten(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isStorageFull(error) || this.#signal === null || this.#signal.aborted) throw error;
        await sleep(UNWRITTEN_PAUSE_MS, this.#signal);
      }
    }
  }

  /** Makes one attempt and stores its outcome. */
  async #deliver(waiting: Waiting, state: QueueState): Promise<void> {
    const startedMs = this.#clock.now();
    const started = this.#clock.monotonic();
    const fence = this.#lease?.fence ?? null;
    try {
      const delivery = this.#outbox.load(waiting);
      if (delivery === null) return;
      const outcome = await this.#attemptOf(delivery);
      state.isFailing = outcome.kind !== 'DELIVERED';
      const attempt = { atMs: startedMs, durationMs: Math.round(this.#clock.monotonic() - started) };
      await this.#whenWritten(() => this.#settlements.add({ waiting, attempt, outcome }, fence));
      if (outcome.kind === 'RETRY') state.due.outdate();
      state.isBroken = false;
    } catch (error) {
      // The delivery stays queued unchanged and is retried at the next check.
      if (!state.isBroken)
        this.#log.error({ delivery: waiting.id, error: messageOf(error) }, 'delivery attempt failed');
      state.isBroken = true;
      state.isFailing = true;
      state.due.outdate();
      await sleep(TICK_MS);
    } finally {
      state.inFlight.delete(waiting.id);
      if (isOrdered(waiting)) state.wallets.delete(waiting.walletId);
      state.nextCheckMs = this.#clock.now();
    }
  }

  /** Starts the attempts that a receiver can take now. */
  #fill(queue: ReceiverQueue, state: QueueState): void {
    // Failing receivers together use at most half of the attempts in flight, so that the others always have the rest.
    if (state.isFailing && this.#failing >= DELIVERY_LIMITS.deliveriesInFlightMax / 2) return;
    const { isMail } = state;
    const most = state.isFailing ? 1 : DELIVERY_LIMITS.deliveriesPerReceiverMax;
    if (state.inFlight.size >= most) {
      state.nextCheckMs = null;
      return;
    }
    const now = this.#clock.now();
    while (state.inFlight.size < most) {
      if (
        this.#running.size >= DELIVERY_LIMITS.deliveriesInFlightMax ||
        (isMail && this.#emails >= DELIVERY_LIMITS.alertEmailsInFlightMax)
      ) {
        state.nextCheckMs = now;
        return;
      }
      if (state.due.needsRefill(now)) state.due.refill(this.#outbox.due(queue, now), state.inFlight);
      state.nextCheckMs = state.due.nextDueMs;
      const next = state.due.take((one) => !isAfterOther(one, state));
      if (next === null) return;
      this.#begin(next, queue, state);
    }
  }

  /** Starts an attempt, and further ones to its receiver when it ends. */
  #begin(waiting: Waiting, queue: ReceiverQueue, state: QueueState): void {
    const { isMail } = state;
    const wasFailing = state.isFailing;
    if (isOrdered(waiting)) state.wallets.add(waiting.walletId);
    state.inFlight.add(waiting.id);
    if (wasFailing) this.#failing++;
    if (isMail) this.#emails++;
    const work = this.#deliver(waiting, state).finally(() => {
      this.#running.delete(work);
      if (wasFailing) this.#failing--;
      if (isMail) this.#emails--;
      if (this.#mayBegin()) this.#fill(queue, state);
      // Only receivers with attempts have a buffer, so that those that wait for their next attempt need no memory.
      if (state.inFlight.size === 0) state.due.clear();
    });
    this.#running.add(work);
  }

  /** Starts attempts to every receiver with a due check. */
  #check(): void {
    if (!this.#mayBegin()) return;
    if (this.#clock.monotonic() - this.#listedMs >= SWEEP_MS) this.#listReceivers();
    const now = this.#clock.now();
    for (const [queue, state] of this.#queues) {
      if (this.#running.size >= DELIVERY_LIMITS.deliveriesInFlightMax) return;
      if (state.nextCheckMs !== null && state.nextCheckMs <= now) this.#fill(queue, state);
    }
  }

  async #closeDays(): Promise<void> {
    await this.#outbox.closeDays(this.#clock.now(), this.#lease?.fence ?? null);
  }

  /** Purges the delivery log, at once and then every hour. A failure is logged, and the next time tries again. */
  async #purge(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#outbox.purgeAll(this.#clock.now(), signal, this.#lease?.fence ?? null);
      } catch (error) {
        if (!signal.aborted) this.#log.error({ error: messageOf(error) }, 'purging the delivery log failed');
      }
      await sleep(LIMITS.retentionLookMs, signal);
    }
  }

  /** Sends while the lease is held, and returns when no attempt is in progress any more. */
  async #send(lease: HeldLease, signal: AbortSignal): Promise<void> {
    this.#lease = lease;
    this.#signal = signal;
    // Deliveries that other nodes have stored meanwhile did not wake this node.
    this.#listedMs = Number.NEGATIVE_INFINITY;
    let isClosing = true;
    const ended = new AbortController();
    const purging = this.#purge(AbortSignal.any([signal, ended.signal]));
    while (!signal.aborted && (await this.#obstacle()) === null) {
      this.#check();
      await this.#closeDays().then(
        () => {
          isClosing = true;
        },
        (error: unknown) => {
          if (isClosing) this.#log.error({ error: messageOf(error) }, 'creating daily digests failed');
          isClosing = false;
        },
      );
      await sleep(TICK_MS, signal);
    }
    ended.abort();
    await purging;
    await Promise.all(this.#running);
    this.#lease = null;
  }

  start() {
    this.#outbox.onWake((changed) => {
      if (!this.#mayBegin()) return;
      this.#checkSoon(changed);
      this.#check();
    });
    this.#sending = underLease(
      { ...LEASE, work: (lease, signal) => this.#send(lease, signal), obstacle: this.#obstacle },
      this.#stopped.signal,
      { leases: this.#leases, log: this.#log },
    );
  }

  async runDue() {
    await this.#closeDays();
    do {
      this.#listReceivers();
      this.#check();
      // An attempt that ends starts the next one of its receiver.
      while (this.#running.size > 0) await Promise.all(this.#running);
    } while (
      !this.#stopped.signal.aborted &&
      [...this.#outbox.queues()].some(
        (queue) => this.#outbox.due(queue, this.#clock.now()).waiting.length > 0,
      )
    );
  }

  async stop() {
    this.#stopped.abort();
    await this.#sending;
    await Promise.all(this.#running);
  }
}
