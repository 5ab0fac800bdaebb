/** The roles that a node can have. */
import { AssayError } from '../base/errors.ts';

/**
 * `api`: serves requests; `worker`: processes chunks of bulk jobs and queries to its graphs; `listener`: follows chains; `delivery`: sends
 * alerts.
 */
export const ROLES = ['api', 'worker', 'listener', 'delivery'] as const;
export type Role = (typeof ROLES)[number];

/**
 * Parses a comma-separated list of roles; returns each once, in the order of ROLES.
 *
 * @throws INVALID_CONFIG naming `field`
 */
export function readRoles(text: string, field: string): readonly Role[] {
  const words = text.split(',').map((word) => word.trim());
  if (!words.every((word) => ROLES.some((role) => role === word)))
    throw new AssayError(
      'INVALID_CONFIG',
      `${field}: must be a comma-separated list of ${ROLES.join(', ')} (got '${text.slice(0, 100)}').`,
      { field },
    );
  return ROLES.filter((role) => words.includes(role));
}
