/** The operations of cases: the port that requests use. cases.ts implements it. */
import type { PageEnd } from '../base/paging.ts';
import type { RepeatKey } from '../state/repeats.ts';
import type {
  CaseActor,
  CaseEvent,
  CaseFile,
  CasePriority,
  CaseRecord,
  CaseStatus,
  LinkType,
  SavedAnswerKind,
  TraceDirection,
} from './records.ts';
import type { CasePage, Written } from './store.ts';
import type { DecisionAction, Disposition } from './workflow.ts';
import type { ZipArchive } from './zip.ts';

/** The request and the filter of a linked trace. Whatever is left out has the default of POST /trace, or no bound. */
export interface TraceDraft {
  readonly direction?: TraceDirection;
  readonly hops?: number;
  readonly targetAddress?: string;
  readonly maxDepth?: number;
  readonly timeRespecting?: boolean;
  readonly crossChain?: boolean;
  readonly minUsd?: number;
  readonly since?: string;
  readonly until?: string;
  readonly dataVersion?: string;
}

/** A link as a client sends it: types are validated, values are not. */
export interface LinkDraft {
  readonly type: LinkType;
  readonly id?: string;
  readonly address?: string;
  readonly chain?: string;
  readonly name?: string;
  readonly label?: string;
  readonly trace?: TraceDraft;
  readonly answer?: Readonly<Record<string, unknown>>;
}

export interface CaseDraft {
  readonly title: string;
  readonly priority?: CasePriority;
  readonly assignee?: string;
  readonly dueAt?: string;
  readonly fourEyes?: boolean;
  readonly note?: string;
  readonly links?: readonly LinkDraft[];
}

export interface CaseChange {
  readonly version?: number;
  readonly title?: string;
  readonly status?: CaseStatus;
  readonly priority?: CasePriority;
  readonly assignee?: string | null;
  readonly dueAt?: string | null;
  readonly fourEyes?: true;
}

export interface EventDraft {
  readonly type: 'NOTE' | 'STATUS' | 'ASSIGNEE' | 'LINK' | 'DECISION';
  readonly version?: number;
  readonly note?: string;
  readonly status?: CaseStatus;
  readonly assignee?: string | null;
  readonly link?: LinkDraft;
  readonly decision?: {
    readonly action: DecisionAction;
    readonly disposition?: Disposition;
    readonly reasonCode?: string;
    readonly proposal?: number;
  };
}

export interface CaseQuery {
  /** Cases in any of these states. */
  readonly status?: readonly CaseStatus[];
  readonly assignee?: string;
  readonly priority?: CasePriority;
  /** ISO date or time. */
  readonly dueBefore?: string;
  /** In any valid form; needs `chain`. */
  readonly address?: string;
  readonly chain?: string;
  /** Id of a linked record, or hash of a linked transaction. */
  readonly linkId?: string;
  /** Text that occurs in the case. */
  readonly q?: string;
}

/** A client that changes cases of an account. */
export interface CaseClient extends CaseActor {
  readonly accountId: string;
  /** Kinds of saved answers that the client may read. It can link no others. */
  readonly savedKinds: readonly SavedAnswerKind[];
}

/** A file that is being received. */
export interface FileUpload {
  write(bytes: Uint8Array): void;
  /**
   * @param repeatKey - returns the Idempotency-Key of the request, given the hash of the content (hex); null without one
   * @throws INVALID_REQUEST if the content is not of the declared type
   */
  end(repeatKey: (contentHash: string) => RepeatKey | null): Promise<Written>;
  abort(): void;
}

export interface CaseExport {
  /** Name of the file. */
  readonly name: string;
  readonly archive: ZipArchive;
}

export interface CaseService {
  /**
   * Creates a case.
   *
   * @throws INVALID_REQUEST, UNKNOWN_CHAIN, INVALID_ADDRESS; NOT_FOUND if a linked record does not exist
   */
  create(client: CaseClient, draft: CaseDraft, repeatKey: RepeatKey | null): Promise<Written>;
  /** Returns cases, newest first: one step of a page, which may be short although more cases match. Its cursor continues. */
  list(
    accountId: string,
    query: CaseQuery,
    page: CasePage,
  ): { readonly cases: readonly CaseRecord[] } & PageEnd;
  /**
   * Returns a case.
   *
   * @throws NOT_FOUND, also for an id of another account
   */
  one(accountId: string, caseId: string): CaseRecord;
  /** Changes fields. Each changed field is one event. */
  change(client: CaseClient, caseId: string, change: CaseChange): Promise<Written>;
  /**
   * Returns events, newest first.
   *
   * @param withAnswers - adds the answers that links keep; the page then ends after `answersPageBytesMax`
   */
  events(
    accountId: string,
    caseId: string,
    page: CasePage,
    withAnswers: boolean,
  ): { readonly events: readonly { readonly event: CaseEvent; readonly answer: string | null }[] } & PageEnd;
  addEvent(
    client: CaseClient,
    caseId: string,
    draft: EventDraft,
    repeatKey: RepeatKey | null,
  ): Promise<Written>;
  /**
   * Begins to receive a file.
   *
   * @throws NOT_FOUND, INVALID_REQUEST; OVERLOADED if too many files are being received
   */
  receiveFile(
    client: CaseClient,
    caseId: string,
    file: { readonly name: string; readonly contentType: string },
  ): FileUpload;
  files(accountId: string, caseId: string, page: CasePage): { readonly files: readonly CaseFile[] } & PageEnd;
  /**
   * Returns a file and its content.
   *
   * @throws NOT_FOUND
   */
  file(
    accountId: string,
    caseId: string,
    fileId: string,
  ): { readonly file: CaseFile; readonly bytes: Buffer };
  /** Returns a case with its events, answers and files as one ZIP archive: the same bytes for the same version of the case. */
  export(accountId: string, caseId: string): CaseExport;
}
