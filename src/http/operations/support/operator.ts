/** Parts of the operations for operators. */
import { AssayError } from '../../../base/errors.ts';
import { type Call, NO_STORE, principalOf } from '../../operation.ts';

/** Columns of the operations for operators: a session; its account is checked by `requireOperator`. */
export const OPERATOR_ONLY = {
  tag: 'Service',
  principal: 'session',
  role: 'analyst',
  rateClass: 'monitoring',
  responseHeaders: ['Cache-Control'],
} as const;

/**
 * Requires the session of a person who operates the installation, and keeps the response out of caches.
 *
 * @throws FORBIDDEN
 */
export function requireOperator(call: Call): void {
  call.lines += NO_STORE;
  if (principalOf(call).session?.operator === true) return;
  throw new AssayError(
    'FORBIDDEN',
    'account: this operation is for the operators of the service, and your account is not one of theirs.',
    { field: 'account' },
  );
}
