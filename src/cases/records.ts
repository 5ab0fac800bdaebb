/** Records of cases: the case, its events, its links to other records, and its files. Times are in milliseconds since 1970. */
import type { ChainId } from '../chains/registry.ts';
import type { DIRECTION_CHOICES } from '../screening/choices.ts';
import type { CaseState, CaseStatus, Decision, Disposition } from './workflow.ts';

export const CASE_PRIORITIES = ['LOW', 'MEDIUM', 'HIGH', 'URGENT'] as const;
export type CasePriority = (typeof CASE_PRIORITIES)[number];

/** Records that a case links to. */
export const LINK_TYPES = [
  'ADDRESS',
  'TRANSACTION',
  'WALLET',
  'ALERT',
  'SCREENING',
  'TRACE',
  'NAME',
  'RECEIPT',
] as const;
export type LinkType = (typeof LINK_TYPES)[number];

/** Kinds of saved answers that a link of the type SCREENING may refer to. */
export type SavedAnswerKind = 'SCREENING' | 'KYT';

export const EVENT_TYPES = [
  'CREATED',
  'NOTE',
  'STATUS',
  'ASSIGNEE',
  'CHANGE',
  'LINK',
  'FILE',
  'DECISION',
] as const;
export type CaseEventType = (typeof EVENT_TYPES)[number];

export type TraceDirection = (typeof DIRECTION_CHOICES)[number];

/** The client of a change. */
export interface CaseActor {
  /** A key (`key_…`), or the person of a session. Shown in events. */
  readonly who: string;
  /** Identifies the person for the four-eyes rule: keys that have the same origin count as one. */
  readonly identity: string;
}

/** The answer that a link keeps as it was when the link was added. Its text is stored beside the event. */
export interface LinkedAnswer {
  /** `SERVICE`: read by the service. `CLIENT`: sent by the client, and not verified. */
  readonly origin: 'SERVICE' | 'CLIENT';
  /** Of the stored JSON text, UTF-8. */
  readonly sha256: string;
  readonly bytes: number;
  /** Of the same bytes, for archives. */
  readonly crc32: number;
  /** Version of the data of the answer; null if it has none. */
  readonly dataVersion: string | null;
}

/** The request of a linked trace, and the filter of its picture: what shows the same again. */
export interface TraceView {
  readonly direction: TraceDirection;
  readonly hops: number;
  /** Canonical. The trace has the paths to this address; null without a target. */
  readonly targetAddress: string | null;
  /** Most hops to the target; null for the default. */
  readonly maxDepth: number | null;
  readonly timeRespecting: boolean;
  readonly crossChain: boolean;
  /** Edges below this value are not drawn; null for no bound. */
  readonly minUsd: number | null;
  /** Days, ISO 8601, in UTC; null for no bound. */
  readonly since: string | null;
  readonly until: string | null;
  /** Version of the data of the picture; null if the client did not say it. */
  readonly dataVersion: string | null;
}

/** A reference from a case to another record. */
export interface CaseLink {
  /** Sequence number of the event that added it. */
  readonly event: number;
  readonly type: LinkType;
  /** Id of the record, or hash of the transaction; null if an address or a name is the reference. */
  readonly id: string | null;
  /** Canonical. */
  readonly address: string | null;
  readonly chain: ChainId | null;
  /** Screened name. */
  readonly name: string | null;
  readonly label: string | null;
  /** Of TRACE. Absent in records of earlier versions. */
  readonly trace?: TraceView | null;
  readonly answer: LinkedAnswer | null;
}

export interface CaseFile {
  readonly id: string;
  /** Sequence number of the event that added it. */
  readonly event: number;
  readonly name: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Of the content, for archives. */
  readonly crc32: number;
  readonly addedAtMs: number;
  readonly addedBy: string;
}

export type CaseRecord = CaseState & {
  readonly id: string;
  readonly accountId: string;
  /** Number of the case in its account, from 1. */
  readonly number: number;
  /** Increases by one with every change, events included. */
  readonly version: number;
  readonly title: string;
  readonly priority: CasePriority;
  readonly assignee: string | null;
  readonly dueAtMs: number | null;
  /** A decision takes effect only after another person has approved it. */
  readonly fourEyes: boolean;
  readonly links: readonly CaseLink[];
  readonly files: readonly CaseFile[];
  /** Number of its events. */
  readonly events: number;
  /** Characters of all notes of its events, as a search reads them. Absent before the first. */
  readonly noteChars?: number;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly updatedAtMs: number;
};

/** A field before and after an event. */
export interface FieldChange {
  readonly field: 'status' | 'assignee' | 'title' | 'priority' | 'dueAt' | 'fourEyes';
  readonly from: string | null;
  readonly to: string | null;
}

/** One entry of a case's history. Events are never changed. */
export interface CaseEvent {
  /** From 1, without gaps. */
  readonly sequence: number;
  readonly type: CaseEventType;
  readonly atMs: number;
  readonly by: string;
  readonly note: string | null;
  readonly change: FieldChange | null;
  readonly link: CaseLink | null;
  readonly file: CaseFile | null;
  readonly decision: Decision | null;
}

export type { CaseState, CaseStatus, Decision, Disposition };
