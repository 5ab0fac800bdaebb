/** Charges records that are staged in another store than the ledger (base/staged-purchases.ts). */
import type { Ledger } from '../accounts/ledger.ts';
import { balanceId } from '../accounts/pools.ts';
import type { RowBilling, StagedCharge } from '../base/staged-purchases.ts';
import { chargedEnvelope } from '../http/pipeline/envelope.ts';

/** The charge of a staged row, and its response. */
export interface BilledRow {
  readonly accountId: string;
  /** Name of the event in the ledger, unique among all accounts. */
  readonly event: string;
  readonly charge: StagedCharge;
  /** Returns the JSON text of `data` of the response. */
  data(): Uint8Array;
}

/**
 * Charges each row as an event of the ledger, so that a repetition, by this process or another one, charges nothing more. The response is
 * stored in the slot of the request's Idempotency-Key after that; a crash in between leaves the row, and its repetition stores the
 * response.
 */
export function eventBilling<Row>(ledger: () => Ledger, billed: (row: Row) => BilledRow): RowBilling<Row> {
  const payerOf = ({ accountId, charge: { pool = 'api' } }: BilledRow): string => balanceId(accountId, pool);
  const settle = async (one: BilledRow, total: number): Promise<void> => {
    const { type, reference } = one.charge;
    await ledger().settle({ accountId: payerOf(one), type, once: one.event, total, reference });
  };
  return {
    async charge(row) {
      const one = billed(row);
      const payer = payerOf(one);
      const { type, amount, keep, ignored } = one.charge;
      const data = one.data();
      await settle(one, amount);
      const answer = (remaining: number): Uint8Array => chargedEnvelope(data, remaining, ignored);
      if (keep === null) {
        const { balance } = await ledger().balance(payer);
        return { body: answer(balance), replayed: false };
      }
      const reservation = await ledger().reserve(payer, 0);
      const stored = await ledger().commit(reservation, {
        type,
        amount: 0,
        reference: null,
        keep: { slot: Buffer.from(keep.slot, 'hex'), bodyHash: Buffer.from(keep.bodyHash, 'hex') },
        answer,
      });
      return { body: stored.answer, replayed: stored.replayed };
    },
    refund: (row) => settle(billed(row), 0),
  };
}
