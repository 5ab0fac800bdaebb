/** The port of the store of saved screenings. store-lmdb.ts implements it over live state: on one machine in LMDB, on many nodes in Redis. */
import type { PageEnd, PageRequest } from '../base/paging.ts';
import type { StagedRows } from '../base/staged-purchases.ts';
import type { ChainId } from '../chains/registry.ts';
import type { RiskLevel } from '../risk/policy.ts';
import type { SavedKind, SavedScreening, StagedScreening } from './records.ts';

export interface SavedFilter {
  readonly kinds: readonly SavedKind[];
  readonly chain?: ChainId;
  /** Canonical; with `chain` only. */
  readonly address?: string;
  readonly riskLevel?: RiskLevel;
  /** Saved at this time or later, and before `toMs`. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export type SavedPage = Omit<PageRequest, 'offset'>;

/** Screenings that are not paid yet. They are in no list and cannot be read. */
export interface StagedScreenings extends StagedRows<StagedScreening> {
  /**
   * Stores a screening and its answer. If an earlier request with the same Idempotency-Key and body has stored one
   * within 24 hours, that one is kept.
   *
   * @param content - compressed text of the answer
   * @returns the stored row, which may be charged already
   * @throws INVALID_REQUEST if the account has too many screenings or bytes, or if the Idempotency-Key was used with another body
   */
  stage(row: StagedScreening, content: Buffer): Promise<StagedScreening>;
}

export interface SavedStore {
  readonly staged: StagedScreenings;
  /** Resolves when all saved screenings can be read. */
  ready(): Promise<void>;
  /** Null also for an id of another account, and for a screening that is not paid yet. */
  get(accountId: string, id: string): SavedScreening | null;
  /** Returns one step of a page of screenings, newest first. It stops after `savedRecordsReadMax` records, and is then short although more match. */
  list(
    accountId: string,
    filter: SavedFilter,
    page: SavedPage,
  ): { readonly screenings: readonly SavedScreening[] } & PageEnd;
  /** Returns the compressed text of an answer. */
  content(screening: SavedScreening): Buffer;
  /**
   * Deletes screenings that were saved before a time. Durable when it resolves.
   *
   * @returns the deleted screenings, at most `limit`
   */
  deleteSavedBefore(beforeMs: number, limit: number): Promise<readonly SavedScreening[]>;
  close(): Promise<void>;
}
