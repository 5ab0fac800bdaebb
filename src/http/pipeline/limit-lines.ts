/** Header lines with what is left of the limits of a client, each preceded by its line break. */
import type { QuotaDecision } from '../../accounts/quota.ts';
import type { RateDecision } from '../../accounts/rate-limit.ts';

/** Returns the lines of a rate limit. */
export const rateLimitLines = ({ limit, remaining, resetEpochSeconds }: RateDecision): string =>
  `\r\nX-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetEpochSeconds}`;

export const QUOTA_HEADER = 'X-Quota-Remaining';

/** Returns the line with the units of the quota that are left. */
export const quotaHeaderLine = ({ remaining }: Pick<QuotaDecision, 'remaining'>): string =>
  `\r\n${QUOTA_HEADER}: ${remaining ?? 'unlimited'}`;
