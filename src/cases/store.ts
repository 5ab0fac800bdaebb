/** The port of the store of cases. store-lmdb.ts implements it over live state: on one machine in LMDB, on many nodes in Redis. */
import type { PageEnd, PageRequest } from '../base/paging.ts';
import type { ChainId } from '../chains/registry.ts';
import type { RepeatKey } from '../state/repeats.ts';
import type { CaseEvent, CasePriority, CaseRecord, CaseStatus } from './records.ts';

/** A durable change. */
export interface Written {
  /** JSON text of `data` of the response. */
  readonly answer: string;
  /** True if an earlier request with the same Idempotency-Key made the change. */
  readonly isRepeated: boolean;
  /** The changed case, for the audit log. */
  readonly caseId: string;
  /** The change in a few words; null if the request changed nothing. */
  readonly detail: string | null;
}

/** An event with the content that is stored beside it. */
export interface NewEvent {
  readonly event: CaseEvent;
  /** Text of the answer of a link. */
  readonly answer?: string | null;
  /** Content of a file. */
  readonly content?: Buffer;
}

/** A change of a case: its new record, and the events that lead to it, in order. Without events, nothing is stored. */
export interface CaseWrite extends Pick<Written, 'answer' | 'detail'> {
  readonly record: CaseRecord;
  readonly events: readonly NewEvent[];
}

export interface CaseFilter {
  /** Cases in any of these states. */
  readonly status?: readonly CaseStatus[];
  readonly assignee?: string;
  readonly priority?: CasePriority;
  readonly dueBeforeMs?: number;
  /** A linked address; canonical. */
  readonly address?: { readonly chain: ChainId; readonly address: string };
  /** Id of a linked record, or hash of a linked transaction. */
  readonly linkId?: string;
  /** Text that occurs in the case. */
  readonly text?: string;
}

export type CasePage = Omit<PageRequest, 'offset'>;

export interface CaseStore {
  /** Resolves when all existing cases can be read. */
  ready(): Promise<void>;
  /**
   * Stores a new case. Durable when it resolves.
   *
   * @param work - returns the case of this number; synchronous, may run several times
   * @throws INVALID_REQUEST if the account has too many cases, or if the Idempotency-Key was used with another body
   */
  add(accountId: string, work: (number: number) => CaseWrite, repeatKey: RepeatKey | null): Promise<Written>;
  /**
   * Changes a case in one transaction. Durable when it resolves.
   *
   * @param work - returns the change of the current record; synchronous, may run several times
   * @throws NOT_FOUND, the errors of `work`, and those of `add`
   */
  change(
    accountId: string,
    caseId: string,
    work: (current: CaseRecord) => CaseWrite,
    repeatKey: RepeatKey | null,
  ): Promise<Written>;
  /** Null also for an id of another account. */
  get(accountId: string, caseId: string): CaseRecord | null;
  /** Returns one step of a page of cases, newest first. It stops after `searchRecordsMax` records, and is then short although more match. */
  list(
    accountId: string,
    filter: CaseFilter,
    page: CasePage,
  ): { readonly cases: readonly CaseRecord[] } & PageEnd;
  /** Returns the events of a case below a sequence number, newest first. */
  events(record: CaseRecord, before: number): Iterable<CaseEvent>;
  /** Returns the stored answer of a link. Null if the event has none. */
  answer(record: CaseRecord, event: number): string | null;
  /** Returns the content of the file that an event added. */
  content(record: CaseRecord, event: number): Buffer;
  /**
   * Deletes cases that were closed before a time, with their events and files. Durable when it resolves.
   *
   * @returns the deleted cases, at most `limit`
   */
  deleteClosedBefore(beforeMs: number, limit: number): Promise<readonly CaseRecord[]>;
  close(): Promise<void>;
}
