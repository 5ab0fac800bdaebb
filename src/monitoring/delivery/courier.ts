/**
 * Sends what the outbox holds. Receivers do not wait for each other: each has its own queue and its own bound, and one that fails is
 * asked one thing at a time. Within a receiver, the first attempts of a wallet go out in the order of its alerts, each once the one
 * before has been tried; repetitions keep no order and hold up nothing.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, pause, underLease } from '../../base/leases.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { isStorageFull } from '../../base/storage.ts';
import type { ChannelKind, Delivery } from '../records.ts';
import { channelOf, type Lane, type LmdbOutbox, type Waiting } from './outbox-lmdb.ts';
import type { Outcome, Send } from './senders.ts';

export interface Courier {
  /** Looks for work now, whenever the outbox is woken, and at intervals: while this node is the one that sends. */
  start(): void;
  /** Tries everything that is due, and what becomes due by it at the same time; resolves when all of it was tried. For tests. */
  runDue(): Promise<void>;
  /** Begins nothing more and resolves when what is on its way has ended. */
  stop(): Promise<void>;
}

export interface CourierDeps {
  readonly outbox: LmdbOutbox;
  readonly senders: Readonly<Record<ChannelKind, Send>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Who of many nodes sends. Default: this one. */
  readonly leases?: Leases;
  /** Why this node cannot send, in a sentence; null if it can. Default: it always can. */
  readonly obstacle?: () => Promise<string | null>;
}

/** Where the lease of the one who sends stands. */
const LEASE = { store: 'monitoring', name: 'delivery' } as const;

/** How often it is looked for deliveries that became due: the shortest wait of the schedule is 5 s. */
const TICK_MS = 250;
/** Between two attempts to write down what was sent. */
const UNWRITTEN_PAUSE_MS = 1_000;
/** How often all receivers are looked up anew: another process may have stored something. */
const SWEEP_MS = 5_000;

interface LaneState {
  /** Ids on their way. */
  readonly inFlight: Set<string>;
  /** Wallets with a first attempt on its way. */
  readonly wallets: Set<string>;
  /** Its last attempt failed. */
  isFailing: boolean;
  /** Its last attempt could not even be made, which was logged. */
  isBroken: boolean;
  /** When to look again; null while nothing waits. */
  nextLookMs: number | null;
}

export function createCourier(deps: CourierDeps): Courier {
  const { outbox, senders, clock, log, leases = createEmbeddedLeases(), obstacle = async () => null } = deps;
  const lanes = new Map<Lane, LaneState>();
  const running = new Set<Promise<void>>();
  /** Attempts on their way to receivers that failed before. */
  let failing = 0;
  /** Letters on their way: to whomever they go, one mail server takes them all. */
  let letters = 0;
  const stopped = new AbortController();
  let sending: Promise<void> | null = null;
  /** Null while another node sends, and where it was never started. */
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

  /** Aborted when the lease ends, or the courier does. */
  let leased: AbortSignal | null = null;

  function sweep(): void {
    sweptMs = clock.monotonic();
    const known = new Set(outbox.lanes());
    lookSoon(known);
    for (const [lane, state] of lanes) if (!known.has(lane) && state.inFlight.size === 0) lanes.delete(lane);
  }

  /** A secret that does not open here is tried again by the schedule, as what a receiver does not take. */
  async function attemptOf(delivery: Delivery): Promise<Outcome> {
    try {
      return await senders[delivery.channel](delivery);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'STORE_CORRUPT') throw error;
      return { kind: 'RETRY', responseStatus: null, error: messageOf(error), retryAfterMs: null };
    }
  }

  /** Tries again while the disk is full: what was sent must not be sent again for want of its record. Until the courier stops. */
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
      // The delivery stays queued as it was: it is tried again at the next look.
      if (!state.isBroken)
        log.error({ delivery: waiting.id, error: messageOf(error) }, 'A delivery could not be handled.');
      state.isBroken = true;
      state.isFailing = true;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    } finally {
      state.inFlight.delete(waiting.id);
      if (waiting.isFirst && waiting.walletId !== null) state.wallets.delete(waiting.walletId);
      state.nextLookMs = clock.now();
    }
  }

  /** Begins what a receiver can take now. */
  function fill(lane: Lane, state: LaneState): void {
    // Receivers that are dead take up to half of all room, however many there are: the others always have the rest.
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

  /** Sends while the lease is held, and gives it up when nothing is on its way any more. */
  async function send(lease: HeldLease, signal: AbortSignal): Promise<void> {
    held = lease;
    leased = signal;
    // What others stored meanwhile told nobody here.
    sweptMs = Number.NEGATIVE_INFINITY;
    let isClosing = true;
    while (!signal.aborted && (await obstacle()) === null) {
      look();
      await closeDays().then(
        () => {
          isClosing = true;
        },
        (error: unknown) => {
          if (isClosing) log.error({ error: messageOf(error) }, 'The digests of a day could not be made.');
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
