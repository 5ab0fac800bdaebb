/** Quotes: the price of an invoice in the smallest unit of a coin or token, at a rate that is locked. All amounts are exact integers. */
import { CRYPTO_LIMITS } from './limits.ts';
import type { PaymentAsset } from './terms.ts';

/** The rate of a quote. It never changes after the quote. */
export interface UsdRate {
  /** USD of one whole coin, as decimal text. */
  readonly usd: string;
  /** As in `UsdPrice.source`. */
  readonly source: string;
  /** Time of the price. */
  readonly atMs: number;
}

/** A positive decimal as a fraction with a power of ten. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/**
 * Writes a positive number as decimal text without an exponent.
 *
 * @throws RangeError if it is not positive and finite
 */
export function decimalText(value: number): string {
  if (!Number.isFinite(value) || value <= 0) throw new RangeError('must be a positive number');
  const [mantissa = '', exponent] = String(value).split('e');
  if (exponent === undefined) return mantissa;
  const [whole = '', fraction = ''] = mantissa.split('.');
  const shift = Number(exponent);
  if (shift >= 0) return `${whole}${fraction.padEnd(shift, '0')}`;
  return `0.${'0'.repeat(-shift - 1)}${whole}${fraction}`;
}

function decimalOf(text: string): Decimal {
  const [whole = '0', fraction = ''] = text.split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

const CENT_SCALE = 2;

const ceilDiv = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor;

/**
 * Returns the amount that pays a price, rounded up, so that it never pays less. Coins with many decimals are rounded up to eight digits
 * after the point, which people can type.
 *
 * @returns the smallest unit of the asset
 */
export function amountAt(
  usdCents: number,
  { decimals }: Pick<PaymentAsset, 'decimals'>,
  rate: UsdRate,
): bigint {
  const { digits, scale } = decimalOf(rate.usd);
  const numerator = BigInt(usdCents) * 10n ** BigInt(decimals + scale);
  const amount = ceilDiv(numerator, digits * 10n ** BigInt(CENT_SCALE));
  const step = 10n ** BigInt(Math.max(0, decimals - CRYPTO_LIMITS.shownDecimalsMax));
  return ceilDiv(amount, step) * step;
}

/**
 * Converts an amount that was paid at one rate to units of a quote with another rate, rounded down.
 *
 * @param paid - rate at the time of the payment
 */
export function atLockedRate(amount: bigint, paid: UsdRate, locked: UsdRate): bigint {
  const now = decimalOf(paid.usd);
  const then = decimalOf(locked.usd);
  return (amount * now.digits * 10n ** BigInt(then.scale)) / (then.digits * 10n ** BigInt(now.scale));
}

/** Writes an amount in whole coins, without trailing zeros. */
export function coinsOf(amount: bigint, decimals: number): string {
  if (decimals === 0) return amount.toString();
  const text = amount.toString().padStart(decimals + 1, '0');
  const fraction = text.slice(-decimals).replace(/0+$/, '');
  return `${text.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}
