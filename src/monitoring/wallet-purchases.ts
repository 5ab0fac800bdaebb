/** Purchases of watched wallets: the steps of base/staged-purchases.ts, over the pending wallets of the store (docs/decisions/wallet-charges.md). */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type PaidAnswer, type RowBilling, StagedPurchases } from '../base/staged-purchases.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { PendingWallet } from './records.ts';
import type { PendingWallets } from './store.ts';

export type { PaidAnswer };

/** Charges wallets. Both operations may be repeated, and have their effect once. */
export type WalletBilling = RowBilling<PendingWallet>;

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

/**
 * Creates the purchases of a process.
 *
 * @param options - `graceMs`: age from which a row is completed. 0 if no other process can work on it
 */
export function createWalletPurchases(
  { graceMs }: { readonly graceMs: number },
  { pending, billing, clock, log, onWallets }: WalletPurchasesDeps,
): WalletPurchases {
  const purchases = new StagedPurchases<PendingWallet>(
    {
      what: 'wallet',
      graceMs,
      lookRows: MONITORING_LIMITS.pendingWalletsLook,
      describe: ({ wallet, charge, isAbandoned }) => ({
        id: wallet.id,
        stagedAtMs: wallet.createdAtMs,
        isRepeatable: charge.keep !== null,
        isAbandoned,
      }),
    },
    {
      rows: {
        activate: async (row) => (await pending.activate(row)) !== null,
        abandon: (row) => pending.abandon(row),
        remove: (row) => pending.remove(row),
        list: (limit) => pending.list(limit),
      },
      billing,
      clock,
      log,
      onActive: onWallets,
    },
  );
  return {
    buy: (row, walletsMax) => purchases.buy(row, () => pending.stage(row, walletsMax)),
    resume: (row) => purchases.resume(row),
    discard: (row) => purchases.discard(row),
    finish: (signal) => purchases.finish(signal),
  };
}
