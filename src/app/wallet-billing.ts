/** Charges watched wallets. */
import type { Ledger } from '../accounts/ledger.ts';
import type { PendingWallet } from '../monitoring/records.ts';
import type { WalletBilling } from '../monitoring/wallet-purchases.ts';
import { eventBilling } from './event-billing.ts';

/** Charges each wallet as an event of the ledger under the wallet's id. */
export const walletBilling = (ledger: () => Ledger): WalletBilling =>
  eventBilling<PendingWallet>(ledger, ({ wallet: { id, accountId }, charge, data }) => ({
    accountId,
    event: `wallet:${id}`,
    charge,
    data: () => Buffer.from(data),
  }));
