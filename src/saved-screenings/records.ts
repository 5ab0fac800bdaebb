/** Records of saved screenings. Times are in milliseconds since 1970. */
import type { StagedCharge } from '../base/staged-purchases.ts';
import type { ChainId } from '../chains/registry.ts';
import type { RiskLevel } from '../risk/policy.ts';

/** The operation of the saved answer: POST /screening or POST /kyt. */
export const SAVED_KINDS = ['SCREENING', 'KYT'] as const;
export type SavedKind = (typeof SAVED_KINDS)[number];

/** Age of a sanctions list when an answer was saved. */
export interface ListVersion {
  readonly list: string;
  /** ISO date or time at which its publisher published it; null if that is not known. */
  readonly publishedAt: string | null;
  /** ISO date or time of the last successful check; null if the list was never loaded. */
  readonly checkedAt: string | null;
}

/** The facts of a saved answer. Its text is stored beside them. */
export interface SavedScreening {
  readonly id: string;
  readonly accountId: string;
  readonly kind: SavedKind;
  readonly chain: ChainId;
  /** Canonical: the screened address, or the sender and the receiver. */
  readonly addresses: readonly string[];
  /** The body of the request, without `save`. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly riskScore: number;
  readonly riskLevel: RiskLevel;
  /** Of KYT; null for a screening. */
  readonly decision: string | null;
  readonly dataVersion: string;
  readonly policyVersion: string;
  /** Version of the program that made the answer. */
  readonly softwareVersion: string;
  readonly lists: readonly ListVersion[];
  readonly savedAtMs: number;
  /** Id of the key, or of the person of a session. */
  readonly savedBy: string;
  /** Of the JSON text of the answer, UTF-8. */
  readonly bytes: number;
  readonly sha256: string;
  /** Compressed bytes in the store. */
  readonly storedBytes: number;
}

/** A saved screening with a charge that is not booked yet. */
export interface StagedScreening {
  readonly screening: SavedScreening;
  readonly charge: StagedCharge;
  readonly isAbandoned: boolean;
}
