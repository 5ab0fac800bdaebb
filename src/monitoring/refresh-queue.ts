/**
 * When each wallet is screened again: behind an alert, or by schedule. Each active wallet has one place in the queue of its chain,
 * written in the transaction of what causes it, so that a crash loses no refresh. Everything but `due` runs inside a transaction.
 */
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { LiveDatabase, LiveRoot } from '../base/live-store.ts';
import type { MonitoredWallet, MonitoringChain } from './records.ts';

/** Refreshes behind an alert go first: a backlog of scheduled ones does not hold them up. */
const BEHIND_ALERT = 0;
const SCHEDULED = 1;

/** A place as it was read; `changes` differs once an alert was raised while the wallet was being screened. */
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
  /** An alert of the wallet was raised or taken back. */
  afterAlert(wallet: MonitoredWallet): void;
  /** The wallet was added or changed: active ones have a place, others have none. */
  keep(wallet: MonitoredWallet): void;
  /** The wallet was screened. It is due again at `nextAtMs`, or as soon as it may if an alert came meanwhile. */
  done(wallet: MonitoredWallet, place: RefreshPlace, nextAtMs: number): void;
  /** The screening failed: the place is due again at `untilMs`. */
  putOff(wallet: MonitoredWallet, untilMs: number): void;
  /** Due wallets of a chain, those behind an alert first and the longest due first. */
  due(
    chain: MonitoringChain,
    limits: { readonly behindAlert: number; readonly scheduled: number },
  ): readonly RefreshPlace[];
}

/** @param intervalMs time between two scheduled refreshes of a wallet. */
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

  /** The longest that a place waits. One that lies further ahead was written before the clock was set back, and is due now. */
  const LONGEST_MS = [
    Math.max(LIMITS.walletRefreshDelayMs, LIMITS.walletRefreshGapMs, LIMITS.walletRefreshRetryMs),
    Math.max(intervalMs, LIMITS.walletRefreshRetryMs),
  ] as const;

  /** When a wallet was screened, not later than now: the clock may have been set back since. */
  const screenedAt = ({ screenedAtMs = 0 }: MonitoredWallet): number => Math.min(screenedAtMs, clock.now());

  /** A wallet that alerts all the time is screened once a gap. */
  const soonest = (wallet: MonitoredWallet): number =>
    Math.max(clock.now() + LIMITS.walletRefreshDelayMs, screenedAt(wallet) + LIMITS.walletRefreshGapMs);

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
      // A wallet that an earlier version stored was never screened again.
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
  };
}
