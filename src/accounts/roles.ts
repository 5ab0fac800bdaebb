/** Roles of the people of an account. A session has all permissions that a key can have; its role decides which operations it may call. */

/** From the most rights to the fewest: each role includes the rights of those after it. */
export const ROLES = ['owner', 'analyst', 'auditor'] as const;

/**
 * `owner`: everything, also keys, people and billing. `analyst`: everything that a key can do. `auditor`: reads only, and spends no
 * credits.
 */
export type Role = (typeof ROLES)[number];

/** Returns true if a person with `role` may call what requires `needed`. */
export const includesRole = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) <= ROLES.indexOf(needed);
