/** Dated rates of currencies, which the operator gives with their source: prices are listed in one currency. All amounts are integers. */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { BILLING_LIMITS } from './limits.ts';
import { CURRENCIES, CURRENCY, type Currency, type Order, type Rate } from './records.ts';
import type { InvoiceStore } from './store.ts';

/** Decimals of a rate: more than any publisher gives. */
const RATE_DECIMALS = 10;
const SCALE = 10n ** BigInt(RATE_DECIMALS);

/** Returns a rate as an integer in units of 10⁻¹⁰. */
function scaled(value: string): bigint {
  const [whole = '', fraction = ''] = value.split('.');
  return BigInt(whole) * SCALE + BigInt(fraction.padEnd(RATE_DECIMALS, '0'));
}

const invalid = (field: string, text: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${text}`, { field });

/** Returns a currency of prices in any letter case. Throws INVALID_REQUEST. */
export function parseCurrency(text: string): Currency {
  const currency = CURRENCIES.find((known) => known === text.toUpperCase());
  if (currency !== undefined) return currency;
  throw invalid('currency', `must be one of ${CURRENCIES.join(', ')} (got '${text.slice(0, 32)}').`);
}

/**
 * Returns a rate from the currency of the price list that an operator gives.
 *
 * @throws INVALID_REQUEST naming the field
 */
export function parseRate(
  { currency, value, source, atMs }: { currency: string; value: string; source: string; atMs: number },
  nowMs: number,
): Rate {
  const to = parseCurrency(currency);
  if (to === CURRENCY) throw invalid('currency', `prices are listed in ${CURRENCY}; it needs no rate.`);
  if (!/^\d{1,6}(\.\d{1,10})?$/.test(value) || scaled(value) === 0n)
    throw invalid('rate', `must be a decimal number above 0 such as 0.9215 (got '${value.slice(0, 32)}').`);
  if (source.trim() === '' || source.length > BILLING_LIMITS.rateSourceCharsMax)
    throw invalid('source', `must have 1 to ${BILLING_LIMITS.rateSourceCharsMax} characters.`);
  if (!Number.isFinite(atMs) || atMs > nowMs) throw invalid('at', 'must be a date in the past.');
  return { from: CURRENCY, to, value, source: source.trim(), atMs };
}

/** Returns the current rate to a currency; null if absent or too old. */
export function currentRate(
  currency: Currency,
  { invoices, clock }: { readonly invoices: Pick<InvoiceStore, 'rate'>; readonly clock: Clock },
): Rate | null {
  const rate = invoices.rate(currency);
  return rate === null || rate.atMs < clock.now() - BILLING_LIMITS.rateAgeMaxMs ? null : rate;
}

/** Returns an order with its price in another currency, rounded up to the minor unit. */
export function converted(order: Order, { to, value }: Rate): Order {
  const amount = (BigInt(order.amount) * scaled(value) + SCALE - 1n) / SCALE;
  return { ...order, amount: Number(amount), currency: parseCurrency(to) };
}

/** Returns what an amount is worth at the rate that was locked, if it came when another one applied. */
export const valueAt = (amount: bigint, locked: Rate, current: Rate): bigint =>
  (amount * scaled(locked.value)) / scaled(current.value);
