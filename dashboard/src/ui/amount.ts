/** Amounts of coins and tokens, exact at any size. */

/** Digits after the point that are shown: below, an amount is worth less than a cent of any coin. */
const DIGITS_MAX = 6;

/**
 * Shortens an amount for a table. The digits before the point are always exact.
 *
 * @param amount - decimal text in native units, as the API sends it
 */
export function amountText(amount: string): string {
  const [whole = '', fraction = ''] = amount.split('.');
  const kept = fraction.slice(0, DIGITS_MAX).replace(/0+$/, '');
  if (kept !== '') return `${whole}.${kept}`;
  // Something is not nothing.
  return /^0*$/.test(whole) && /[1-9]/.test(fraction) ? `<0.${'0'.repeat(DIGITS_MAX - 1)}1` : whole;
}
