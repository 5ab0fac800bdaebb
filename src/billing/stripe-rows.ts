/** Reads fields of Stripe's objects, which are JSON of another program. */
import { AssayError } from '../base/errors.ts';
import { BILLING_LIMITS } from './limits.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Returns a value as an object. Any other value becomes an empty object. */
export const rowOf = (value: unknown): Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : {};

/** Returns a text. Any other value becomes an empty text. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, BILLING_LIMITS.stripeTextMax) : '';

/** Returns the error of a field with a wrong value. */
export const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${expected}.`, { field });
