/** Payment by wire: the customer transfers the price to the operator's account, with the reference of the invoice. */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { dueOf } from '../invoice.ts';
import { BILLING_LIMITS } from '../limits.ts';
import type { InvoiceDraft, InvoiceMethod, OpenedInvoice } from '../methods.ts';
import { converted, currentRate, parseCurrency } from '../rates.ts';
import { CURRENCIES, CURRENCY, type Currency, type Rate } from '../records.ts';
import type { InvoiceStore } from '../store.ts';
import type { BankAccount } from './details.ts';
import { newReference } from './reference.ts';

/** Counter of references. */
const COUNTER = 'wire';

export interface WireOptions {
  readonly account: BankAccount;
  readonly toleranceBasisPoints: number;
}

export interface WireDeps {
  readonly clock: Clock;
  readonly invoices: () => InvoiceStore;
}

class Wire implements InvoiceMethod {
  readonly method = 'WIRE';
  readonly #options: WireOptions;
  readonly #deps: WireDeps;

  constructor(options: WireOptions, deps: WireDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  #rateTo(currency: Currency): Rate | null {
    return currentRate(currency, { invoices: this.#deps.invoices(), clock: this.#deps.clock });
  }

  currencies(): readonly string[] {
    return CURRENCIES.filter((currency) => currency === CURRENCY || this.#rateTo(currency) !== null);
  }

  async open({ order, currency: wanted, nowMs }: InvoiceDraft): Promise<OpenedInvoice> {
    const currency = wanted === null ? CURRENCY : parseCurrency(wanted);
    const rate = currency === CURRENCY ? null : this.#rateTo(currency);
    if (currency !== CURRENCY && rate === null)
      throw new AssayError(
        'INVALID_REQUEST',
        `currency: this service has no current rate for ${currency}; it must be one of ${this.currencies().join(', ')}.`,
        { field: 'currency' },
      );
    const own = rate === null ? order : converted(order, rate);
    const { account, toleranceBasisPoints } = this.#options;
    const reference = newReference(await this.#deps.invoices().nextNumber(COUNTER));
    const expiresAtMs = nowMs + BILLING_LIMITS.wireMs;
    return {
      order: own,
      terms: {
        ...{ method: 'WIRE', expiresAtMs, rate, due: dueOf(own), toleranceBasisPoints },
        monitorUntilMs: expiresAtMs + BILLING_LIMITS.wireMonitorMs,
        references: [reference],
        details: { wire: { ...account, reference } },
      },
    };
  }
}

/** Creates the method. Its references are taken from a counter of the store of invoices. */
export const createWire = (options: WireOptions, deps: WireDeps): InvoiceMethod => new Wire(options, deps);
