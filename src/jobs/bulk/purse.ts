/** Who pays for a job, as a port: the quota or the credits of its account. */
import type { JobKind } from '../bulk-jobs.ts';

export interface JobPrice {
  readonly unit: 'intel' | 'credits';
  /** Units that one answered line costs. */
  readonly perLine: number;
}

export interface JobPurse {
  priceOf(kind: JobKind): JobPrice;
  /**
   * Makes what a job has taken exactly `units`: takes what is missing, whole or not at all, or gives back what is too much. Durable
   * when it resolves; repeating it changes nothing. Rejects with QUOTA_EXHAUSTED or CREDITS_EXHAUSTED, then nothing changed.
   */
  settle(
    job: { readonly id: string; readonly accountId: string; readonly kind: JobKind },
    units: number,
  ): Promise<void>;
}
