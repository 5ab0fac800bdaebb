/** What the HTTP pipeline asks of accounts: who is this key, may it ask now, and has its account any quota left. */
import type { KeyRecord, KeyStore } from './keys.ts';
import type { QuotaMeter } from './quota.ts';
import type { RateLimiter } from './rate-limit.ts';

export interface Access {
  readonly keys: KeyStore;
  readonly limiter: RateLimiter;
  readonly quota: QuotaMeter;
  /** The active key that a text is, or null: 401. */
  verify(token: string): KeyRecord | null;
  close(): Promise<void>;
}
