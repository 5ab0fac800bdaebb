/** Packages of credits, and their purchases. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import type { Body, Data, QueryOf } from '../types.ts';

type InvoiceList = Data<'listInvoices'>;

export class Billing extends Resource {
  /** Returns the packages with their prices, and whether they can be bought by card. */
  packages(options?: CallOptions): ApiPromise<Data<'billingPackages'>> {
    return this.connection.json({ method: 'GET', path: '/billing/packages', options });
  }

  /**
   * Creates an invoice and the page on which a person pays it by card. Needs a session of an owner.
   *
   * @example
   * const { url, invoiceId } = await assay.billing.checkout({ package: 'Growth', pool: 'api' });
   */
  checkout(body: Body<'createCheckout'>, options?: CallOptions): ApiPromise<Data<'createCheckout'>> {
    return this.connection.json({
      method: 'POST',
      path: '/billing/checkout',
      body,
      options,
      auth: 'session',
    });
  }

  /** Lists the purchases of the account, the newest first. */
  list(
    query: QueryOf<'listInvoices'> = {},
    options?: CallOptions,
  ): PagePromise<InvoiceList, InvoiceList['invoices'][number]> {
    return this.connection.list({ method: 'GET', path: '/billing/invoices', query, options }, 'invoices');
  }

  /** Gets an invoice: the credits of a SETTLED one are booked. */
  get(id: string, options?: CallOptions): ApiPromise<Data<'oneInvoice'>> {
    return this.connection.json({ method: 'GET', path: `/billing/invoices/${segment(id)}`, options });
  }

  /** Returns the receipt of a settled invoice, as a page to print. */
  receipt(id: string, options?: CallOptions): ApiPromise<string> {
    return this.connection.text({ method: 'GET', path: `/billing/invoices/${segment(id)}/receipt`, options });
  }
}
