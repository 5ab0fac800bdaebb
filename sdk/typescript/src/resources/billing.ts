/** Packages of credits, and their purchases. */
import { type AlertStreamOptions, type BillingStreamEvent, streamEvents } from '../alert-stream.ts';
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions, ChargedOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import { RETRIES } from '../generated/retries.ts';
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

  /**
   * Creates an invoice that is paid by wire or in cryptocurrency. Needs a session of an owner.
   *
   * @example
   * const { invoice } = await assay.billing.order({ package: 'Growth', method: 'WIRE', currency: 'EUR' });
   */
  order(body: Body<'createInvoice'>, options?: ChargedOptions): ApiPromise<Data<'createInvoice'>> {
    return this.connection.json({
      method: 'POST',
      path: '/billing/invoices',
      body,
      options,
      auth: 'session',
      retry: RETRIES.createInvoice,
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

  /** Returns the pro-forma invoice of a payment by wire, as a page to print. */
  proForma(id: string, options?: CallOptions): ApiPromise<string> {
    return this.connection.text({
      method: 'GET',
      path: `/billing/invoices/${segment(id)}/pro-forma`,
      options,
    });
  }

  /**
   * Returns the authorization that pays what is still due of an invoice in USDC, for the wallet of the payer to sign. It needs no gas.
   *
   * @example
   * const { authorization, typedData } = await assay.billing.typedData(invoice.id, { payer });
   * const signature = await ethereum.request({ method: 'eth_signTypedData_v4', params: [payer, typedData] });
   * await assay.billing.authorize(invoice.id, { authorization, signature });
   */
  typedData(
    id: string,
    query: QueryOf<'invoiceTypedData'>,
    options?: CallOptions,
  ): ApiPromise<Data<'invoiceTypedData'>> {
    return this.connection.json({
      method: 'GET',
      path: `/billing/invoices/${segment(id)}/typed-data`,
      query,
      options,
    });
  }

  /** Pays an invoice by a signed authorization. Sending it again is a no-op. */
  authorize(id: string, body: Body<'payInvoice'>, options?: CallOptions): ApiPromise<Data<'payInvoice'>> {
    return this.connection.json({
      method: 'POST',
      path: `/billing/invoices/${segment(id)}/authorizations`,
      body,
      options,
    });
  }

  /** Lists the signed authorizations of an invoice, with their state on the chain. */
  authorizations(id: string, options?: CallOptions): ApiPromise<Data<'listAuthorizations'>> {
    return this.connection.json({
      method: 'GET',
      path: `/billing/invoices/${segment(id)}/authorizations`,
      options,
    });
  }

  /** Returns the statement of a month (`YYYY-MM`, UTC), as CSV or as a page to print. */
  statement(
    month: string,
    query: QueryOf<'billingStatement'> = {},
    options?: CallOptions,
  ): ApiPromise<string> {
    return this.connection.text({
      method: 'GET',
      path: `/billing/statements/${segment(month)}`,
      query,
      options,
    });
  }

  /** Returns where the account gets messages about billing, and what is ordered when a balance is low. */
  settings(options?: CallOptions): ApiPromise<Data<'billingSettings'>> {
    return this.connection.json({ method: 'GET', path: '/billing/settings', options });
  }

  /** Changes these settings. Needs a session of an owner; a field that is left out is not changed. */
  changeSettings(
    body: Body<'changeBillingSettings'>,
    options?: CallOptions,
  ): ApiPromise<Data<'changeBillingSettings'>> {
    return this.connection.json({ method: 'PUT', path: '/billing/settings', body, options, auth: 'session' });
  }

  /**
   * Follows the events of billing as they happen. A broken connection is resumed after the last event.
   *
   * @param options - like those of `alerts.stream`
   */
  stream(options: AlertStreamOptions = {}): AsyncGenerator<BillingStreamEvent, void, undefined> {
    return streamEvents(this.connection, '/billing/stream', options);
  }

  /** Returns the receipt of a settled invoice, as a page to print. */
  receipt(id: string, options?: CallOptions): ApiPromise<string> {
    return this.connection.text({ method: 'GET', path: `/billing/invoices/${segment(id)}/receipt`, options });
  }
}
