/** What every ledger asks of a booking before it is written, and what it is refused with. */
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Booking, Settlement } from './ledger.ts';

const ACCOUNT_ID = /^[0-9A-Za-z_-]{1,64}$/;

export const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field} must be ${expected}.`, { field });

/** Throws INVALID_REQUEST. */
export function checkBooking({ accountId, type, amount }: Booking): void {
  if (!ACCOUNT_ID.test(accountId))
    throw invalid('accountId', '1 to 64 letters, digits, hyphens or underscores');
  const fits =
    Number.isInteger(amount) &&
    amount !== 0 &&
    Math.abs(amount) <= LIMITS.ledgerAmountMax &&
    (amount > 0 || type === 'ADJUSTMENT');
  if (!fits)
    throw invalid(
      'amount',
      `a whole number from ${type === 'ADJUSTMENT' ? '-' : ''}1 to ${LIMITS.ledgerAmountMax}`,
    );
}

/** Throws INVALID_REQUEST. */
export function checkSettlement({ total }: Settlement): void {
  if (!Number.isInteger(total) || total < 0 || total > LIMITS.ledgerAmountMax)
    throw invalid('total', `a whole number from 0 to ${LIMITS.ledgerAmountMax}`);
}

/** The refusal of an adjustment that would take more than there is. */
export const belowZero = (balance: number): AssayError =>
  invalid(
    'amount',
    balance > 0
      ? `at least -${balance}: the account has no more credits`
      : 'positive: the account has no credits',
  );
