/**
 * Queue of wallet refreshes: each active wallet is screened again after an alert, or by schedule. A wallet has one place in the
 * queue of its chain. The place is written in the transaction that causes it, so that a crash loses no refresh. All functions
 * except `due` and `dueCounts` must be called inside a transaction.
 */
import type { Clock } from '../base/clock.ts';
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoredWallet, MonitoringChain } from './records.ts';

/** Refreshes after an alert have priority, so that a backlog of scheduled ones does not delay them. */
const BEHIND_ALERT = 0;
const SCHEDULED = 1;

/** A place as it was read. `changes` differs if an alert was raised while the wallet was being screened. */
export interface RefreshPlace {
  readonly accountId: string;
  readonly walletId: string;
  readonly changes: number;
}

interface StoredPlace {
  readonly lane: number;
  readonly dueAtMs: number;
  readonly changes: number;
}

type QueueKey = [chain: string, lane: number, dueAtMs: number, accountId: string, walletId: string];

export interface RefreshQueue {
  /** An alert of the wallet was raised or reverted. */
  afterAlert(wallet: MonitoredWallet): void;
  /** The wallet was added or changed: an active wallet has a place, others have none. */
  keep(wallet: MonitoredWallet): void;
  /** The wallet was screened. It is due again at `nextAtMs`, or as soon as possible if an alert was raised meanwhile. */
  done(wallet: MonitoredWallet, place: RefreshPlace, nextAtMs: number): void;
  /** The screening failed: the wallet is due again at `untilMs`. */
  putOff(wallet: MonitoredWallet, untilMs: number): void;
  /** Returns due wallets of a chain: those after an alert first, then the scheduled ones, each in the order of their due time. */
  due(
    chain: MonitoringChain,
    limits: { readonly behindAlert: number; readonly scheduled: number },
  ): readonly RefreshPlace[];
  /** Counts the due wallets of a chain, at most `max` after an alert and `max` scheduled ones. */
  dueCounts(chain: MonitoringChain, max: number): DueCounts;
}

export interface DueCounts {
  readonly afterAlert: number;
  readonly scheduled: number;
}

/**
 * Opens the queue in the live state of monitoring.
 *
 * @param options - `intervalMs`: time between two scheduled refreshes of a wallet
 */
export function openRefreshQueue(
  root: LiveRoot,
  { clock, intervalMs }: { readonly clock: Clock; readonly intervalMs: number },
): RefreshQueue {
  const queue: LiveDatabase<string, QueueKey> = root.openDB({ name: 'refreshQueue', encoding: 'string' });
  const places: LiveDatabase<StoredPlace, [accountId: string, walletId: string]> = root.openDB({
    name: 'refreshPlaces',
    encoding: 'json',
  });

  const placeOf = ({ accountId, id }: MonitoredWallet): StoredPlace | undefined =>
    places.get([accountId, id]);
  const keyOf = ({ chain, accountId, id }: MonitoredWallet, { lane, dueAtMs }: StoredPlace): QueueKey => [
    chain,
    lane,
    dueAtMs,
    accountId,
    id,
  ];

  function move(wallet: MonitoredWallet, to: StoredPlace | null): void {
    const from = placeOf(wallet);
    if (from !== undefined) queue.removeSync(keyOf(wallet, from));
    if (to === null) {
      if (from !== undefined) places.removeSync([wallet.accountId, wallet.id]);
      return;
    }
    queue.putSync(keyOf(wallet, to), '');
    places.putSync([wallet.accountId, wallet.id], to);
  }

  /** The longest wait of each lane. A place that is further ahead was written before the clock was set back, and is due now. */
  const LONGEST_MS = [
    Math.max(
      MONITORING_LIMITS.walletRefreshDelayMs,
      MONITORING_LIMITS.walletRefreshGapMs,
      MONITORING_LIMITS.walletRefreshRetryMs,
    ),
    Math.max(intervalMs, MONITORING_LIMITS.walletRefreshRetryMs),
  ] as const;

  /** Time of the last screening, but not later than now: the clock may have been set back since. */
  const screenedAt = ({ screenedAtMs = 0 }: MonitoredWallet): number => Math.min(screenedAtMs, clock.now());

  /** A wallet that alerts all the time is screened once per gap. */
  const soonest = (wallet: MonitoredWallet): number =>
    Math.max(
      clock.now() + MONITORING_LIMITS.walletRefreshDelayMs,
      screenedAt(wallet) + MONITORING_LIMITS.walletRefreshGapMs,
    );

  function due(
    chain: MonitoringChain,
    lane: typeof BEHIND_ALERT | typeof SCHEDULED,
    limit: number,
  ): RefreshPlace[] {
    const now = clock.now();
    const at = (dueAtMs: number): QueueKey => [chain, lane, dueAtMs, '', ''];
    const found = [...queue.getKeys({ start: at(0), end: at(now + 1), limit })];
    const left = limit - found.length;
    const beyond = { start: at(Number.MAX_SAFE_INTEGER), end: at(now + LONGEST_MS[lane] + 1), reverse: true };
    if (left > 0) found.push(...queue.getKeys({ ...beyond, limit: left }));
    return found.map(([, , , accountId, walletId]) => ({
      accountId,
      walletId,
      changes: places.get([accountId, walletId])?.changes ?? 0,
    }));
  }

  const dueCount = (chain: MonitoringChain, lane: number, limit: number): number =>
    // LMDB counts a range to its end, whatever the limit is.
    [
      ...queue.getKeys({
        start: [chain, lane, 0, '', ''],
        end: [chain, lane, clock.now() + 1, '', ''],
        limit,
      }),
    ].length;

  return {
    afterAlert(wallet) {
      if (wallet.status !== 'ACTIVE') return;
      const known = placeOf(wallet);
      const changes = (known?.changes ?? 0) + 1;
      const dueAtMs = known?.lane === BEHIND_ALERT ? known.dueAtMs : soonest(wallet);
      move(wallet, { lane: BEHIND_ALERT, dueAtMs, changes });
    },
    keep(wallet) {
      const isActive = wallet.status === 'ACTIVE';
      if (isActive === (placeOf(wallet) !== undefined)) return;
      // Wallets of an earlier version were never screened again.
      const dueAtMs = wallet.screenedAtMs === undefined ? clock.now() : screenedAt(wallet) + intervalMs;
      move(wallet, isActive ? { lane: SCHEDULED, dueAtMs, changes: 0 } : null);
    },
    done(wallet, { changes }, nextAtMs) {
      const now = placeOf(wallet);
      if (now === undefined) return;
      const isOvertaken = now.changes !== changes;
      move(
        wallet,
        isOvertaken
          ? { lane: BEHIND_ALERT, dueAtMs: soonest(wallet), changes: now.changes }
          : { lane: SCHEDULED, dueAtMs: nextAtMs, changes },
      );
    },
    putOff(wallet, untilMs) {
      const now = placeOf(wallet);
      if (now !== undefined) move(wallet, { ...now, dueAtMs: untilMs });
    },
    due: (chain, { behindAlert, scheduled }) => [
      ...due(chain, BEHIND_ALERT, behindAlert),
      ...due(chain, SCHEDULED, scheduled),
    ],
    dueCounts: (chain, max) => ({
      afterAlert: dueCount(chain, BEHIND_ALERT, max),
      scheduled: dueCount(chain, SCHEDULED, max),
    }),
  };
}
