/** Invoices: how they are read, and when one will not change any more. */
import { call, type Schemas } from '../../api/client.ts';

export type Invoice = Schemas['Invoice'];
export type Pool = Invoice['pool'];

const MINOR_UNITS = 100;

/** Returns an amount of minor units in units of its currency. */
export const inUnits = ({ amount }: Invoice['price']): number => amount / MINOR_UNITS;

/** Returns an amount with its currency, for the currencies that are not that of the price list. */
export const inCurrency = (
  price: Invoice['price'],
  { usd, number }: { readonly usd: (units: number) => string; readonly number: (value: number) => string },
): string => (price.currency === 'USD' ? usd(inUnits(price)) : `${number(inUnits(price))} ${price.currency}`);

/** Rows of one request: a screen or two. */
const ROWS = 50;

/** Each look is one request of the 100 that a minute allows; payments are seen within seconds. */
export const LOOK_EVERY_MS = 3_000;

export const INVOICES_KEY = ['billing', 'invoices'] as const;

/** Reads a page of invoices, newest first. */
export const readInvoices = (cursor: { readonly cursor?: string }, signal: AbortSignal) =>
  call('get', '/billing/invoices', { query: { limit: ROWS, ...cursor }, signal });

/** Whether a payment may still be confirmed. */
export const isWaiting = ({ state }: Invoice): boolean => state === 'NEW' || state === 'PROCESSING';

/** Path of the receipt of an invoice, which the server sends as a page of its own. */
export const receiptPath = ({ id }: Invoice): string => `/api/v1/billing/invoices/${id}/receipt`;

/** Path of the pro-forma invoice of a payment by wire. */
export const proFormaPath = ({ id }: Invoice): string => `/api/v1/billing/invoices/${id}/pro-forma`;
