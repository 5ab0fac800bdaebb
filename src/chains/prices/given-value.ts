/** Checks the USD value that a source gives for an amount against the price of our own tables. */
import type { UsdPrice } from './price.ts';

const DAY_MS = 86_400_000;

/** A file rounds to cents: values that differ by less are the same. */
const ROUNDING_USD = 0.01;
/** A dollar token that trades below half a dollar or above two has lost its peg; `validUntil` then ends it in data/prices.json. */
const PEG_FACTOR = 2;
/**
 * The factor by which a given value may differ from a price, by the greatest age of the price in days. A source may have the price of
 * another hour or exchange, which is never an order of magnitude away on the same day. Between two monthly closes of the built-in table,
 * the greatest change was 20-fold (TRX, December 2017), and within 13 months 280-fold (BTC, 2010 to 2011).
 */
const FACTORS: readonly (readonly [days: number, factor: number])[] = [
  [1, 10],
  [31, 30],
  [Number.POSITIVE_INFINITY, 1000],
];

/**
 * Returns true if a given value is plausible beside the value at a known price.
 *
 * @param given - USD
 * @param own - USD of the same amount at the price
 * @param atMs - time of the transfer, milliseconds since the epoch
 */
export function isPlausibleValue(
  given: number,
  own: number,
  price: Pick<UsdPrice, 'atMs' | 'status' | 'coin'>,
  atMs: number,
): boolean {
  if (Math.abs(given - own) <= ROUNDING_USD) return true;
  const isDollar = price.status === 'PEG' && price.coin === undefined;
  const days = (atMs - price.atMs) / DAY_MS;
  const factor = isDollar
    ? PEG_FACTOR
    : (FACTORS.find(([most]) => days <= most)?.[1] ?? Number.POSITIVE_INFINITY);
  return given <= own * factor && own <= given * factor;
}
