/** The port for the billing of jobs: the quota or the credits of the account. */
import type { JobKind } from '../bulk-jobs.ts';

export interface JobPrice {
  readonly unit: 'intel' | 'credits';
  /** Units that one answered line costs. */
  readonly perLine: number;
}

export interface JobBilling {
  priceOf(kind: JobKind): JobPrice;
  /**
   * Makes the charge of a job exactly `units`: charges the difference, completely or not at all, or refunds it. Idempotent, and
   * durable when it resolves.
   *
   * @throws QUOTA_EXHAUSTED or CREDITS_EXHAUSTED; the charge is then unchanged
   */
  settle(
    job: {
      readonly id: string;
      readonly accountId: string;
      readonly kind: JobKind;
      /** The balance that pays credits. Default: `api`. */
      readonly pool?: 'api' | 'dashboard';
    },
    units: number,
  ): Promise<void>;
}
