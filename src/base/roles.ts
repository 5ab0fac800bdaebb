/** What a node may do of the whole. */
import { AssayError } from './errors.ts';

/** `api`: answers requests; `worker`: works chunks of bulk jobs and questions to its graphs; `listener`: follows chains; `delivery`: sends alerts. */
export const ROLES = ['api', 'worker', 'listener', 'delivery'] as const;
export type Role = (typeof ROLES)[number];

/** Reads roles with commas between them; each once, in the order of ROLES. Throws INVALID_CONFIG naming `field`. */
export function readRoles(text: string, field: string): readonly Role[] {
  const words = text.split(',').map((word) => word.trim());
  if (!words.every((word) => ROLES.some((role) => role === word)))
    throw new AssayError(
      'INVALID_CONFIG',
      `${field} is '${text.slice(0, 100)}', but it must be some of ${ROLES.join(', ')}, with commas between them.`,
      { field },
    );
  return ROLES.filter((role) => words.includes(role));
}
