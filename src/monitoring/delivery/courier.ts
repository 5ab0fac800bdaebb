/**
 * Dispatcher of the outbox. Each receiver has its own queue and its own concurrency limit, so that receivers do not wait for each
 * other. A failing receiver gets one attempt at a time. Within a receiver, the first attempts of a wallet are sent in the order of
 * its alerts, each after the previous one was attempted. Retries keep no order and block nothing.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, pause, underLease } from '../../state/leases.ts';
import { isStorageFull } from '../../state/storage.ts';
import type { ChannelKind, Delivery } from '../records.ts';
import { channelOf, type Lane, type LmdbOutbox, type Waiting } from './outbox-lmdb.ts';
import type { Outcome, Send } from './senders.ts';

export interface Courier {
  /** Looks for due deliveries now, whenever the outbox is woken, and at intervals, while this node holds the delivery lease. */
  start(): void;
  /** Attempts all due deliveries, including those that become due meanwhile; resolves after all attempts. For tests. */
  runDue(): Promise<void>;
  /** Starts no new attempts and resolves when the running ones have ended. */
  stop(): Promise<void>;
}

export interface CourierDeps {
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

interface LaneState {
  /** Ids of the attempts in progress. */
  readonly inFlight: Set<string>;
  /** Wallets with a first attempt in progress. */
  readonly wallets: Set<string>;
  /** Whether the last attempt failed. */
  isFailing: boolean;
  /** Whether the last attempt could not even be made; this was logged. */
  isBroken: boolean;
  /** Time of the next check; null while no delivery waits. */
  nextLookMs: number | null;
}

/** Creates the dispatcher. It does not send before `start` or `runDue`. */
export function createCourier(deps: CourierDeps): Courier {
  const { outbox, senders, clock, log, leases = createEmbeddedLeases(), obstacle = async () => null } = deps;
  const lanes = new Map<Lane, LaneState>();
  const running = new Set<Promise<void>>();
  /** Attempts in progress to receivers that failed before. */
  let failing = 0;
  /** Emails in progress, over all receivers: one mail server takes them all. */
  let letters = 0;
  const stopped = new AbortController();
  let sending: Promise<void> | null = null;
  /** Null while another node sends, and before `start`. */
  let held: HeldLease | null = null;
  const mayBegin = (): boolean => !stopped.signal.aborted && (sending === null || held?.isHeld() === true);
  let sweptMs = Number.NEGATIVE_INFINITY;

  function lookSoon(changed: Iterable<Lane>): void {
    const nextLookMs = clock.now();
    for (const lane of changed) {
      const state = lanes.get(lane);
      if (state) state.nextLookMs = nextLookMs;
      else
        lanes.set(lane, {
          inFlight: new Set(),
          wallets: new Set(),
          isFailing: false,
          isBroken: false,
          nextLookMs,
        });
    }
  }

  /** Aborted when the lease ends or the dispatcher stops. */
  let leased: AbortSignal | null = null;

  function sweep(): void {
    sweptMs = clock.monotonic();
    const known = new Set(outbox.lanes());
    lookSoon(known);
    for (const [lane, state] of lanes) if (!known.has(lane) && state.inFlight.size === 0) lanes.delete(lane);
  }

  /** Makes one attempt. If a secret cannot be decrypted on this node, the delivery is retried by the schedule. */
  async function attemptOf(delivery: Delivery): Promise<Outcome> {
    try {
      return await senders[delivery.channel](delivery);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'STORE_CORRUPT') throw error;
      return { kind: 'RETRY', responseStatus: null, error: messageOf(error), retryAfterMs: null };
    }
  }

  /** Retries `write` while the disk is full, until the lease ends: without its record, a sent message would be sent again. */
  async function whenWritten(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isStorageFull(error) || leased === null || leased.aborted) throw error;
        await pause(UNWRITTEN_PAUSE_MS, leased);
      }
    }
  }

  async function deliver(waiting: Waiting, state: LaneState): Promise<void> {
    const startedMs = clock.now();
    const started = clock.monotonic();
    const fence = held?.fence ?? null;
    try {
      const delivery = outbox.load(waiting);
      if (delivery === null) return;
      const outcome = await attemptOf(delivery);
      state.isFailing = outcome.kind !== 'DELIVERED';
      const attempt = { atMs: startedMs, durationMs: Math.round(clock.monotonic() - started) };
      await whenWritten(() => outbox.settle(waiting, attempt, outcome, fence));
      state.isBroken = false;
    } catch (error) {
      // The delivery stays queued unchanged and is retried at the next check.
      if (!state.isBroken)
        log.error({ delivery: waiting.id, error: messageOf(error) }, 'delivery attempt failed');
      state.isBroken = true;
      state.isFailing = true;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    } finally {
      state.inFlight.delete(waiting.id);
      if (waiting.isFirst && waiting.walletId !== null) state.wallets.delete(waiting.walletId);
      state.nextLookMs = clock.now();
    }
  }

  /** Starts the attempts that a receiver can take now. */
  function fill(lane: Lane, state: LaneState): void {
    // Failing receivers together use at most half of the attempts in flight, so that the others always have the rest.
    if (state.isFailing && failing >= LIMITS.deliveriesInFlightMax / 2) return;
    const isMail = channelOf(lane) === 'email';
    const most = state.isFailing ? 1 : LIMITS.deliveriesPerReceiverMax;
    if (state.inFlight.size >= most) {
      state.nextLookMs = null;
      return;
    }
    const { waiting, nextDueMs } = outbox.due(lane, clock.now());
    state.nextLookMs = nextDueMs;
    for (const one of waiting) {
      if (state.inFlight.size >= most || running.size >= LIMITS.deliveriesInFlightMax) return;
      if (isMail && letters >= LIMITS.alertLettersInFlightMax) {
        state.nextLookMs = one.dueMs;
        return;
      }
      if (state.inFlight.has(one.id)) continue;
      if (one.isFirst && one.walletId !== null) {
        if (state.wallets.has(one.walletId)) continue;
        state.wallets.add(one.walletId);
      }
      state.inFlight.add(one.id);
      const wasFailing = state.isFailing;
      if (wasFailing) failing++;
      if (isMail) letters++;
      const work = deliver(one, state).finally(() => {
        running.delete(work);
        if (wasFailing) failing--;
        if (isMail) letters--;
        if (mayBegin()) fill(lane, state);
      });
      running.add(work);
    }
  }

  function look(): void {
    if (!mayBegin()) return;
    if (clock.monotonic() - sweptMs >= SWEEP_MS) sweep();
    const now = clock.now();
    for (const [lane, state] of lanes) {
      if (running.size >= LIMITS.deliveriesInFlightMax) return;
      if (state.nextLookMs !== null && state.nextLookMs <= now) fill(lane, state);
    }
  }

  async function closeDays(): Promise<void> {
    await outbox.closeDays(clock.now(), held?.fence ?? null);
  }

  /** Sends while the lease is held, and returns when no attempt is in progress any more. */
  async function send(lease: HeldLease, signal: AbortSignal): Promise<void> {
    held = lease;
    leased = signal;
    // Deliveries that other nodes have stored meanwhile did not wake this node.
    sweptMs = Number.NEGATIVE_INFINITY;
    let isClosing = true;
    while (!signal.aborted && (await obstacle()) === null) {
      look();
      await closeDays().then(
        () => {
          isClosing = true;
        },
        (error: unknown) => {
          if (isClosing) log.error({ error: messageOf(error) }, 'creating daily digests failed');
          isClosing = false;
        },
      );
      await pause(TICK_MS, signal);
    }
    await Promise.all(running);
    held = null;
  }

  return {
    start() {
      outbox.onWake((changed) => {
        if (!mayBegin()) return;
        lookSoon(changed);
        look();
      });
      sending = underLease({ ...LEASE, work: send, obstacle }, stopped.signal, { leases, log });
    },
    async runDue() {
      await closeDays();
      do {
        sweep();
        look();
        await Promise.all(running);
      } while (
        !stopped.signal.aborted &&
        [...outbox.lanes()].some((lane) => outbox.due(lane, clock.now()).waiting.length > 0)
      );
    },
    async stop() {
      stopped.abort();
      await sending;
      await Promise.all(running);
    },
  };
}
