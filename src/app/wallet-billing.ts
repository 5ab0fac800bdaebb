/** Charges watched wallets. */
import type { Ledger } from '../accounts/ledger.ts';
import { chargedEnvelope } from '../http/pipeline/envelope.ts';
import type { PendingWallet } from '../monitoring/records.ts';
import type { WalletBilling } from '../monitoring/wallet-purchases.ts';

/**
 * Charges each wallet as an event of the ledger under the wallet's id, so that a repetition, by this process or another one, charges
 * nothing more. The response is stored in the slot of the request's Idempotency-Key after that; a crash in between leaves the row of the
 * wallet, and its repetition stores the response.
 */
export function walletBilling(ledger: () => Ledger): WalletBilling {
  const settle = async (
    { wallet: { id, accountId }, charge }: PendingWallet,
    total: number,
  ): Promise<void> => {
    const { type, reference } = charge;
    await ledger().settle({ accountId, type, once: `wallet:${id}`, total, reference });
  };
  return {
    async charge(row) {
      const { wallet, charge, data } = row;
      const { type, amount, keep, ignored } = charge;
      await settle(row, amount);
      const answer = (remaining: number): Uint8Array =>
        chargedEnvelope(Buffer.from(data), remaining, ignored);
      if (keep === null) {
        const { balance } = await ledger().balance(wallet.accountId);
        return { body: answer(balance), replayed: false };
      }
      const reservation = await ledger().reserve(wallet.accountId, 0);
      const stored = await ledger().commit(reservation, {
        type,
        amount: 0,
        reference: null,
        keep: { slot: Buffer.from(keep.slot, 'hex'), bodyHash: Buffer.from(keep.bodyHash, 'hex') },
        answer,
      });
      return { body: stored.answer, replayed: stored.replayed };
    },
    refund: (row) => settle(row, 0),
  };
}
