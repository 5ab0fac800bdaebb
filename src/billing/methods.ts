/**
 * The port of a method of payment by invoice: it says what is due, until when, and how to pay. It reports payments to the settlement
 * (settlement.ts), which books the credits. Methods are registered in `BillingDeps.methods`; one that is not configured is absent.
 */
import type { Terms } from './invoice.ts';
import type { Order, PaymentMethod } from './records.ts';

/** Methods of payment for which an invoice is ordered. A card is paid by a checkout. */
export const ORDER_METHODS = ['CRYPTO', 'WIRE'] as const satisfies readonly PaymentMethod[];
export type OrderMethod = (typeof ORDER_METHODS)[number];

/** An order for which a method opens an invoice. */
export interface InvoiceDraft {
  /** Id of the invoice. */
  readonly id: string;
  readonly accountId: string;
  /** With the price in the currency of the price list. */
  readonly order: Order;
  /** Currency or asset that the client chose, in upper case; null: the method chooses. */
  readonly currency: string | null;
  readonly nowMs: number;
}

/** The terms of an invoice, and the price if the method converts it. */
export interface OpenedInvoice {
  /** The price as it is invoiced: in another currency, it is converted by `terms.rate`. */
  readonly order: Order;
  readonly terms: Terms;
}

export interface InvoiceMethod {
  readonly method: OrderMethod;
  /** Currencies or assets that a client can choose now, for `GET /billing/packages`. */
  currencies(): readonly string[];
  /**
   * Determines what is due and how it is paid. Nothing is stored yet; if the invoice cannot be stored afterwards, an address or number that
   * was taken stays unused.
   *
   * @throws INVALID_REQUEST naming the field, for example if there is no current rate for the currency
   */
  open(draft: InvoiceDraft): Promise<OpenedInvoice>;
}
