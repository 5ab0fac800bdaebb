/** Words of people that lists, labels and the audit log show. */
import { AssayError } from '../base/errors.ts';
import { ATTRIBUTION_LIMITS } from './limits.ts';

/**
 * Returns a text without the space around it.
 *
 * @param field - what errors name
 * @throws INVALID_REQUEST if it is empty, too long, or has control or invisible characters, which terminals would interpret
 */
export function checkedReason(field: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed !== '' && trimmed.length <= ATTRIBUTION_LIMITS.reportReasonCharsMax && !/\p{C}/u.test(trimmed))
    return trimmed;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: must have 1 to ${ATTRIBUTION_LIMITS.reportReasonCharsMax} characters and no control characters.`,
    { field },
  );
}
