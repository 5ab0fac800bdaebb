/** What a node may do of the whole. */

/** `api`: answers requests; `worker`: works chunks of bulk jobs and questions to its graphs; `listener`: follows chains; `delivery`: sends alerts. */
export const ROLES = ['api', 'worker', 'listener', 'delivery'] as const;
export type Role = (typeof ROLES)[number];
