/** Validation of bookings and settlements, shared by all ledgers, and its errors. */
import { AssayError } from '../base/errors.ts';
import type { Booking, Settlement } from './ledger.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { accountOfBalance } from './pools.ts';

const ACCOUNT_ID = /^[0-9A-Za-z_-]{1,64}$/;

/** Returns the validation error of a field. */
export const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field} must be ${expected}.`, { field });

/**
 * Validates a booking.
 *
 * @throws INVALID_REQUEST naming the field
 */
export function checkBooking({ accountId, type, amount }: Booking): void {
  if (!ACCOUNT_ID.test(accountOfBalance(accountId)))
    throw invalid('accountId', '1 to 64 letters, digits, hyphens or underscores');
  const fits =
    Number.isInteger(amount) &&
    amount !== 0 &&
    Math.abs(amount) <= ACCOUNT_LIMITS.ledgerAmountMax &&
    (amount > 0 || type === 'ADJUSTMENT');
  if (!fits)
    throw invalid(
      'amount',
      `a whole number from ${type === 'ADJUSTMENT' ? '-' : ''}1 to ${ACCOUNT_LIMITS.ledgerAmountMax}`,
    );
}

/**
 * Validates a settlement.
 *
 * @throws INVALID_REQUEST naming the field
 */
export function checkSettlement({ total }: Settlement): void {
  if (!Number.isInteger(total) || total < 0 || total > ACCOUNT_LIMITS.ledgerAmountMax)
    throw invalid('total', `a whole number from 0 to ${ACCOUNT_LIMITS.ledgerAmountMax}`);
}

/** Returns the error for an adjustment that would take more than the balance. */
export const belowZero = (balance: number): AssayError =>
  invalid(
    'amount',
    balance > 0
      ? `at least -${balance}: the account has no more credits`
      : 'positive: the account has no credits',
  );
