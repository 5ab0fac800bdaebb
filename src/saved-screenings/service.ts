/** The operations of saved screenings: the port that requests use. saved-screenings.ts implements it. */
import type { PageEnd } from '../base/paging.ts';
import type { PaidAnswer, StagedCharge } from '../base/staged-purchases.ts';
import type { RiskLevel } from '../risk/policy.ts';
import type { Comparison } from './compare/compare.ts';
import type { SavedKind, SavedScreening } from './records.ts';
import type { SavedPage } from './store.ts';

/** A client that saves an answer. */
export interface Saver {
  readonly accountId: string;
  /** Id of a key, or of the person of a session. */
  readonly who: string;
}

/** An answer that is to be saved. */
export interface AnswerToSave {
  readonly kind: SavedKind;
  /** Body of its request, without `save`. */
  readonly request: Readonly<Record<string, unknown>>;
  /** JSON text of `data`, UTF-8: an object. */
  readonly data: Uint8Array;
}

export interface SavedQuery {
  readonly chain?: string;
  /** In any valid form; needs `chain`. */
  readonly address?: string;
  readonly riskLevel?: RiskLevel;
  /** ISO dates or times: saved from then on, and before then. */
  readonly from?: string;
  readonly to?: string;
}

export interface SavedScreenings {
  /**
   * Saves an answer and books its charge: both or neither.
   *
   * @param beginCharge - called before anything is stored
   * @returns the whole response, whose `data` has the `screeningId`; for a repeated request that of the first one
   * @throws INVALID_REQUEST if the answer is too large, or the account has too many; CREDITS_EXHAUSTED, NOT_READY
   */
  save(
    saver: Saver,
    answer: AnswerToSave,
    charge: StagedCharge,
    beginCharge: () => void,
  ): Promise<PaidAnswer>;
  /**
   * Returns screenings, newest first: one step of a page, which may be short although more match. Its cursor continues.
   *
   * @param kinds - kinds that the client may read
   */
  list(
    accountId: string,
    kinds: readonly SavedKind[],
    query: SavedQuery,
    page: SavedPage,
  ): { readonly screenings: readonly SavedScreening[] } & PageEnd;
  /**
   * Returns a screening.
   *
   * @throws NOT_FOUND, also for an id of another account and for a kind that the client may not read
   */
  one(accountId: string, kinds: readonly SavedKind[], id: string): SavedScreening;
  /** Like `one`, but returns null if missing. */
  find(accountId: string, kinds: readonly SavedKind[], id: string): SavedScreening | null;
  /** Returns the JSON text of a saved answer: the bytes of `data` that its client got. */
  answer(screening: SavedScreening): Buffer;
  /**
   * Says what changed between two answers about the same addresses, and why.
   *
   * @throws NOT_FOUND; INVALID_REQUEST if they are not about the same
   */
  compare(accountId: string, kinds: readonly SavedKind[], before: string, after: string): Comparison;
  /** Completes purchases that no request works on any more, until `signal` is aborted. Never rejects. */
  finish(signal: AbortSignal): Promise<void>;
}
