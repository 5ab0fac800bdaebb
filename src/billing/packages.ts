/** The packages of credits and their prices. A package is bought once, for one balance, and its credits never expire. */
import type { CreditPackage } from '../accounts/credits.ts';
import { POOLS, type Pool } from '../accounts/pools.ts';
import { AssayError } from '../base/errors.ts';
import { BILLING_LIMITS } from './limits.ts';
import { type Agreement, CURRENCY, type Currency, type Order } from './records.ts';

/** Name of the package that an operator agrees with one account. */
export const CUSTOM = 'Custom';

const CENTS = 100;

/** An amount of money in minor units. */
export interface Price {
  readonly amount: number;
  readonly currency: Currency;
}

/** A package in the form of the API. */
export interface OfferedPackage {
  readonly name: string;
  /** FREE: granted each month. PREPAID: bought once. CUSTOM: by agreement with the operator. */
  readonly kind: 'FREE' | 'PREPAID' | 'CUSTOM';
  /** Null for a custom package that is not agreed yet. */
  readonly credits: number | null;
  readonly price: Price | null;
  /** Rounded to the minor unit. */
  readonly pricePerCredit: Price | null;
  /** Balances that the credits can be bought for; empty if the package cannot be bought. */
  readonly pools: readonly Pool[];
}

/** The order of a client. */
export interface OrderRequest {
  readonly package: string;
  /** Default: `api`. */
  readonly pool?: Pool;
  /** Default: 1. */
  readonly quantity?: number;
}

const price = (amount: number): Price => ({ amount, currency: CURRENCY });

const priced = (
  credits: number,
  amount: number,
): Pick<OfferedPackage, 'credits' | 'price' | 'pricePerCredit'> => ({
  credits,
  price: price(amount),
  pricePerCredit: price(credits === 0 ? 0 : Math.round(amount / credits)),
});

/** Returns the price of a package in minor units. */
export const amountOf = ({ priceUsd }: CreditPackage): number => priceUsd * CENTS;

/**
 * Returns all packages, as an account sees them.
 *
 * @param freeCredits - credits that the account is granted each month
 * @param agreement - the custom package of the account; null if none is agreed
 */
export const offeredPackages = (
  packages: readonly CreditPackage[],
  freeCredits: number,
  agreement: Agreement | null,
): readonly OfferedPackage[] => [
  { name: 'Free', kind: 'FREE', ...priced(freeCredits, 0), pools: [] },
  ...packages.map(
    (one): OfferedPackage => ({
      name: one.name,
      kind: 'PREPAID',
      ...priced(one.credits, amountOf(one)),
      pools: POOLS,
    }),
  ),
  agreement === null
    ? { name: CUSTOM, kind: 'CUSTOM', credits: null, price: null, pricePerCredit: null, pools: [] }
    : { name: CUSTOM, kind: 'CUSTOM', ...priced(agreement.credits, agreement.amount), pools: POOLS },
];

const isNamed = (name: string, wanted: string): boolean => name.toLowerCase() === wanted.toLowerCase();

/** Returns the shipped package of a name in any letter case, or null. */
export const packageNamed = (packages: readonly CreditPackage[], wanted: string): CreditPackage | null =>
  packages.find(({ name }) => isNamed(name, wanted)) ?? null;

/**
 * Returns what an account orders, with its price.
 *
 * @throws INVALID_REQUEST naming the field
 */
export function orderOf(
  packages: readonly CreditPackage[],
  agreement: Agreement | null,
  { package: wanted, pool = 'api', quantity = 1 }: OrderRequest,
): Order {
  const refuse = (field: string, text: string): AssayError =>
    new AssayError('INVALID_REQUEST', `${field}: ${text}`, { field });
  const { checkoutQuantityMax, agreedAmountMax } = BILLING_LIMITS;
  if (isNamed(CUSTOM, wanted)) {
    if (agreement === null)
      throw refuse('package', 'a custom package is bought by agreement; ask the operator of this service.');
    // The agreement is about one amount of credits.
    if (quantity !== 1) throw refuse('quantity', 'must be 1 for a custom package.');
    const { credits, amount } = agreement;
    return { package: CUSTOM, quantity, credits, amount, currency: CURRENCY, pool };
  }
  const found = packageNamed(packages, wanted);
  if (found === null)
    throw refuse('package', `must be one of ${[...packages.map(({ name }) => name), CUSTOM].join(', ')}.`);
  const amount = amountOf(found) * quantity;
  if (
    !Number.isInteger(quantity) ||
    quantity < 1 ||
    quantity > checkoutQuantityMax ||
    amount > agreedAmountMax
  )
    throw refuse(
      'quantity',
      `must be a whole number from 1 to ${Math.min(checkoutQuantityMax, Math.floor(agreedAmountMax / amountOf(found)))} for the package ${found.name}.`,
    );
  return {
    package: found.name,
    quantity,
    credits: found.credits * quantity,
    amount,
    currency: CURRENCY,
    pool,
  };
}
