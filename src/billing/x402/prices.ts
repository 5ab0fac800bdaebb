/** The price of a call: its credits at the list price, in the smallest unit of USDC. */
import type { CreditPackage } from '../../accounts/credits.ts';
import { AssayError } from '../../base/errors.ts';

/** Decimals of USDC on all accepted chains. */
export const USDC_DECIMALS = 6;
const UNITS_PER_USD = 10n ** BigInt(USDC_DECIMALS);

/**
 * Returns the price of credits, rounded up to the smallest unit. Single calls have the price of the smallest package: larger ones are
 * discounts for buying ahead.
 *
 * @throws INVALID_CONFIG if no package has a price
 */
export function priceOfCredits(packages: readonly CreditPackage[], credits: number): bigint {
  const [smallest] = packages
    .filter((one) => one.credits > 0 && one.priceUsd > 0)
    .toSorted((a, b) => a.credits - b.credits);
  if (smallest === undefined)
    throw new AssayError('INVALID_CONFIG', 'packages: none has a price, so a single call has none.', {
      field: 'packages',
    });
  const per = BigInt(smallest.credits);
  return (BigInt(credits) * BigInt(smallest.priceUsd) * UNITS_PER_USD + per - 1n) / per;
}
