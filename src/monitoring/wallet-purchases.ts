/**
 * Buys watched wallets: stage → charge → watch. After a failure or a crash between the steps, `finish` completes the purchase or undoes
 * it, so that no wallet is without its charge and no charge without its wallet (docs/decisions/wallet-charges.md).
 */

import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/retry.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { PendingWallet } from './records.ts';
import type { PendingWallets } from './store.ts';

/** The response of a charged request. */
export interface PaidAnswer {
  readonly body: Uint8Array;
  /** True if an earlier request with the same Idempotency-Key has stored it. */
  readonly replayed: boolean;
}

/** Charges wallets. Both operations may be repeated, and have their effect once. */
export interface WalletBilling {
  /**
   * Charges a wallet and stores the response of its request.
   *
   * @throws CREDITS_EXHAUSTED; NOT_READY if the outcome is unknown
   */
  charge(row: PendingWallet): Promise<PaidAnswer>;
  /** Refunds the charge of a wallet, if there is one. */
  refund(row: PendingWallet): Promise<void>;
}

export interface WalletPurchasesDeps {
  readonly pending: PendingWallets;
  readonly billing: WalletBilling;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when a bought wallet is watched. */
  readonly onWallets: () => void;
}

export interface WalletPurchases {
  /**
   * Stages, charges and watches a wallet.
   *
   * @throws INVALID_REQUEST, CREDITS_EXHAUSTED, NOT_READY and the errors of the stores
   */
  buy(row: PendingWallet, walletsMax: number): Promise<PaidAnswer>;
  /**
   * Completes a purchase that an earlier request with the same Idempotency-Key has staged.
   *
   * @throws like `buy`
   */
  resume(row: PendingWallet): Promise<PaidAnswer>;
  /** Refunds and removes an abandoned purchase, which frees its address. */
  discard(row: PendingWallet): Promise<void>;
  /** Completes or undoes purchases that no request works on any more, until `signal` is aborted. Never rejects. */
  finish(signal: AbortSignal): Promise<void>;
}

/** Pause between two looks at the pending rows. A look at an empty table is one read. */
const LOOK_MS = 1_000;

const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof AssayError && codes.includes(error.code);

/**
 * Creates the purchases of a process.
 *
 * @param options - `graceMs`: age from which a row is completed. 0 if no other process can work on it
 */
export function createWalletPurchases(
  { graceMs }: { readonly graceMs: number },
  { pending, billing, clock, log, onWallets }: WalletPurchasesDeps,
): WalletPurchases {
  /** Ids of the rows on which requests of this process work. */
  const running = new Set<string>();
  /** Failed purchases that could not be undone yet, for example because the disk is full. */
  const failed = new Map<string, PendingWallet>();

  /** Charges and watches the wallet of a stored row. */
  async function complete(row: PendingWallet): Promise<PaidAnswer> {
    const answer = await billing.charge(row);
    let wallet: Awaited<ReturnType<PendingWallets['activate']>>;
    try {
      wallet = await pending.activate(row);
    } catch (error) {
      // The wallet is stored and paid: `finish` activates it as soon as the store can be written.
      log.warn({ wallet: row.wallet.id, error: messageOf(error) }, 'charged wallet not watched yet');
      return answer;
    }
    if (wallet === null) {
      await billing.refund(row);
      throw new AssayError(
        'NOT_READY',
        'The wallet was not added, and nothing was charged. Retry the request.',
        {
          retryAfterSeconds: 1,
        },
      );
    }
    onWallets();
    return answer;
  }

  async function discard(row: PendingWallet): Promise<void> {
    await billing.refund(row);
    await pending.remove(row);
  }

  /** Undoes a failed purchase, now or later. Never rejects. */
  async function undo(row: PendingWallet): Promise<void> {
    const { id } = row.wallet;
    failed.set(id, row);
    try {
      // If there is no row, the wallet is watched, and its charge stays.
      if (await pending.abandon(row)) await discard(row);
      failed.delete(id);
    } catch (error) {
      log.warn({ wallet: id, error: messageOf(error) }, 'failed purchase of a wallet not undone yet');
    }
  }

  /** Runs a step of a request. If it fails, the purchase is undone, unless a repeated request can complete it. */
  async function guarded<T>(row: PendingWallet, step: () => Promise<T>): Promise<T> {
    const { id } = row.wallet;
    running.add(id);
    try {
      return await step();
    } catch (error) {
      const isUnknown = hasCode(error, 'NOT_READY');
      if (!isUnknown || row.charge.keep === null) await undo(row);
      throw error;
    } finally {
      running.delete(id);
    }
  }

  /** Completes or undoes one row that no request works on. */
  async function settle(row: PendingWallet): Promise<void> {
    if (row.isAbandoned) return discard(row);
    try {
      await complete(row);
      log.info({ wallet: row.wallet.id }, 'interrupted purchase of a wallet completed');
    } catch (error) {
      if (!hasCode(error, 'CREDITS_EXHAUSTED', 'INVALID_REQUEST')) throw error;
      // The credits were spent since; its request was never answered.
      log.warn(
        { wallet: row.wallet.id, reason: messageOf(error) },
        'interrupted purchase of a wallet undone',
      );
      await undo(row);
    }
  }

  async function look(): Promise<void> {
    for (const row of [...failed.values()]) if (!running.has(row.wallet.id)) await undo(row);
    const before = clock.now() - graceMs;
    for (const row of pending.list(MONITORING_LIMITS.pendingWalletsLook)) {
      const { id, createdAtMs } = row.wallet;
      // A clock that was set back must not delay a row for long.
      const isOld = graceMs === 0 || createdAtMs <= before || createdAtMs > clock.now() + graceMs;
      if (isOld && !running.has(id) && !failed.has(id)) await settle(row);
    }
  }

  return {
    async buy(row, walletsMax) {
      const stored = await guarded(row, () => pending.stage(row, walletsMax));
      return guarded(stored, () => complete(stored));
    },
    resume: (row) => guarded(row, () => complete(row)),
    discard,
    async finish(signal) {
      let isReported = false;
      while (!signal.aborted) {
        try {
          await look();
          isReported = false;
        } catch (error) {
          if (!isReported && !signal.aborted)
            log.warn({ error: messageOf(error) }, 'interrupted purchases of wallets not completed yet');
          isReported = true;
        }
        await sleep(LOOK_MS, signal);
      }
    },
  };
}
