/** The service of cases: validates requests, and turns them into changes of the store. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { timeOf } from '../base/iso-times.ts';
import { sequenceOfCursor } from '../base/paging.ts';
import type { Random } from '../base/random.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { parseChainId } from '../chains/registry.ts';
import type { RepeatKey } from '../state/repeats.ts';
import { caseAnswer, eventAnswer, fileAnswer } from './answers.ts';
import { Changes } from './changes.ts';
import { exportOf } from './export.ts';
import { type FileType, fileTypeOf, requireExtension, requireType } from './file-types.ts';
import { CASE_LIMITS } from './limits.ts';
import { type LinkedRecords, prepareLink } from './links.ts';
import type { CaseEvent, CaseRecord } from './records.ts';
import type {
  CaseChange,
  CaseClient,
  CaseDraft,
  CaseExport,
  CaseQuery,
  CaseService,
  EventDraft,
  FileUpload,
} from './service.ts';
import type { CaseFilter, CasePage, CaseStore, Written } from './store.ts';
import { refuse, requireFileName, requireLine, requireNote } from './texts.ts';
import { type CaseMove, NEW_STATE, requireNotClosed } from './workflow.ts';

export interface CasesOptions {
  /** Whether every new case has the four-eyes rule. */
  readonly fourEyes: boolean;
}

export interface CasesDeps {
  readonly store: CaseStore;
  readonly records: LinkedRecords;
  readonly clock: Clock;
  readonly random: Random;
}

const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/** Throws INVALID_REQUEST if the request is based on another version of the case. */
function requireVersion({ version }: CaseRecord, wanted: number | undefined): void {
  if (wanted !== undefined && wanted !== version)
    throw refuse(
      'version',
      `the case has the version ${version}, not ${wanted}; read it again and repeat the change.`,
    );
}

/** Field that an event of each type needs. */
const FIELD_OF = {
  NOTE: 'note',
  STATUS: 'status',
  ASSIGNEE: 'assignee',
  LINK: 'link',
  DECISION: 'decision',
} as const;

/** Throws INVALID_REQUEST if the field of the type is missing, or that of another type is given. */
function requireFields(draft: EventDraft): void {
  const own = FIELD_OF[draft.type];
  if (draft[own] === undefined) throw refuse(own, `is required for the type ${draft.type}.`);
  for (const field of Object.values(FIELD_OF))
    if (field !== own && field !== 'note' && draft[field] !== undefined)
      throw refuse(field, `must not be given with the type ${draft.type}.`);
}

function moveOf({
  action,
  disposition,
  reasonCode,
  proposal,
}: NonNullable<EventDraft['decision']>): CaseMove {
  if (action === 'PROPOSE') {
    if (disposition === undefined) throw refuse('decision.disposition', 'is required for PROPOSE.');
    if (reasonCode === undefined) throw refuse('decision.reasonCode', 'is required for PROPOSE.');
    return { kind: action, disposition, reasonCode };
  }
  if (proposal === undefined)
    throw refuse('decision.proposal', `is required for ${action}: \`proposal.event\` of the case.`);
  return { kind: action, proposal };
}

function filterOf({ dueBefore, address, chain, q, ...filter }: CaseQuery): CaseFilter {
  if ((address === undefined) !== (chain === undefined))
    throw refuse(address === undefined ? 'address' : 'chain', 'address and chain must be given together.');
  const chainId = chain === undefined ? null : parseChainId(chain);
  return {
    ...filter,
    ...(dueBefore === undefined ? {} : { dueBeforeMs: timeOf('dueBefore', dueBefore) }),
    ...(address === undefined || chainId === null
      ? {}
      : { address: { chain: chainId, address: parseAddress(chainId, address).canonical } }),
    ...(q === undefined ? {} : { text: q }),
  };
}

class Cases implements CaseService {
  readonly #options: CasesOptions;
  readonly #deps: CasesDeps;
  readonly #store: CaseStore;
  readonly #newId: () => string;
  /** Files that are being received, by account. */
  readonly #uploads = new Map<string, number>();

  constructor(options: CasesOptions, deps: CasesDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#store = deps.store;
    this.#newId = createIds(deps);
  }

  async create(client: CaseClient, draft: CaseDraft, repeatKey: RepeatKey | null): Promise<Written> {
    const { accountId } = client;
    const { title, priority = 'MEDIUM', assignee = null, note } = draft;
    requireLine('title', title);
    if (assignee !== null) requireLine('assignee', assignee);
    requireNote(note);
    if (draft.fourEyes === false && this.#options.fourEyes)
      throw refuse('fourEyes', 'must be true: the four-eyes rule applies to all cases of this service.');
    const dueAtMs = draft.dueAt === undefined ? null : timeOf('dueAt', draft.dueAt);
    const links = (draft.links ?? []).map((link, at) =>
      prepareLink(client, link, `links[${at}]`, this.#deps.records),
    );
    const id = this.#newId();
    const nowMs = this.#deps.clock.now();
    const base = {
      ...NEW_STATE,
      ...{ id, accountId, version: 0, title, priority, assignee, dueAtMs },
      fourEyes: draft.fourEyes ?? this.#options.fourEyes,
      ...{ links: [], files: [], events: 0, createdAtMs: nowMs, createdBy: client.who, updatedAtMs: nowMs },
    };
    return this.#store.add(
      accountId,
      (number) => {
        const changes = new Changes({ ...base, number }, client, nowMs);
        changes.add('CREATED', { note: note ?? null });
        for (const link of links) changes.link(link, null);
        return changes.write({ case: caseAnswer(changes.record) });
      },
      repeatKey,
    );
  }

  list(accountId: string, query: CaseQuery, page: CasePage): ReturnType<CaseService['list']> {
    return this.#store.list(accountId, filterOf(query), page);
  }

  one(accountId: string, caseId: string): CaseRecord {
    const record = this.#store.get(accountId, caseId);
    if (record !== null) return record;
    throw new AssayError('NOT_FOUND', `id: there is no case '${caseId.slice(0, 64)}'.`, { field: 'id' });
  }

  async change(client: CaseClient, caseId: string, change: CaseChange): Promise<Written> {
    const { version, title, status, priority, assignee, dueAt, fourEyes } = change;
    if (title !== undefined) requireLine('title', title);
    if (typeof assignee === 'string') requireLine('assignee', assignee);
    const dueAtMs = typeof dueAt === 'string' ? timeOf('dueAt', dueAt) : dueAt;
    const nowMs = this.#deps.clock.now();
    return this.#store.change(
      client.accountId,
      caseId,
      (current) => {
        requireVersion(current, version);
        const changes = new Changes(current, client, nowMs);
        if (status !== undefined) changes.move({ kind: 'STATUS', status }, null);
        const fields = { title, priority, assignee, dueAt, fourEyes };
        const other = Object.entries(fields).find(([, value]) => value !== undefined);
        if (other !== undefined) requireNotClosed(changes.record, other[0]);
        if (assignee !== undefined)
          changes.set('ASSIGNEE', { field: 'assignee', from: current.assignee, to: assignee }, { assignee });
        if (title !== undefined)
          changes.set('CHANGE', { field: 'title', from: current.title, to: title }, { title });
        if (priority !== undefined)
          changes.set('CHANGE', { field: 'priority', from: current.priority, to: priority }, { priority });
        if (dueAtMs !== undefined)
          changes.set(
            'CHANGE',
            { field: 'dueAt', from: time(current.dueAtMs), to: time(dueAtMs) },
            { dueAtMs },
          );
        if (fourEyes !== undefined)
          changes.set(
            'CHANGE',
            { field: 'fourEyes', from: String(current.fourEyes), to: 'true' },
            { fourEyes },
          );
        return changes.write({ case: caseAnswer(changes.record) });
      },
      null,
    );
  }

  events(
    accountId: string,
    caseId: string,
    { limit, cursor }: CasePage,
    withAnswers: boolean,
  ): ReturnType<CaseService['events']> {
    const record = this.one(accountId, caseId);
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
    const events: { event: CaseEvent; answer: string | null }[] = [];
    let bytes = 0;
    for (const event of this.#store.events(record, before)) {
      if (events.length === limit || bytes > CASE_LIMITS.answersPageBytesMax)
        return { events, nextCursor: String(event.sequence + 1) };
      const answer = withAnswers && event.link !== null ? this.#store.answer(record, event.sequence) : null;
      bytes += event.link?.answer?.bytes ?? 0;
      events.push({ event, answer });
    }
    return { events, nextCursor: null };
  }

  async addEvent(
    client: CaseClient,
    caseId: string,
    draft: EventDraft,
    repeatKey: RepeatKey | null,
  ): Promise<Written> {
    requireFields(draft);
    requireNote(draft.note);
    const { accountId } = client;
    // The case is looked up first: its 404 says more than that of a linked record.
    this.one(accountId, caseId);
    const { note = null, status, assignee, version } = draft;
    if (typeof assignee === 'string') requireLine('assignee', assignee);
    const link =
      draft.link === undefined ? null : prepareLink(client, draft.link, 'link', this.#deps.records);
    const decision = draft.decision === undefined ? null : moveOf(draft.decision);
    const nowMs = this.#deps.clock.now();
    return this.#store.change(
      accountId,
      caseId,
      (current) => {
        requireVersion(current, version);
        const changes = new Changes(current, client, nowMs);
        if (draft.type === 'NOTE') changes.add('NOTE', { note });
        if (status !== undefined) changes.move({ kind: 'STATUS', status }, note);
        if (decision !== null) changes.move(decision, note);
        if (link !== null || assignee !== undefined)
          requireNotClosed(current, link === null ? 'assignee' : 'link');
        if (assignee !== undefined)
          changes.set(
            'ASSIGNEE',
            { field: 'assignee', from: current.assignee, to: assignee },
            { assignee },
            note,
          );
        if (link !== null) changes.link(link, note);
        const event = changes.events[0]?.event;
        if (event === undefined) throw refuse(FIELD_OF[draft.type], 'the case has this value already.');
        return changes.write({ event: eventAnswer(event), case: caseAnswer(changes.record) });
      },
      repeatKey,
    );
  }

  receiveFile(
    client: CaseClient,
    caseId: string,
    { name, contentType }: { readonly name: string; readonly contentType: string },
  ): FileUpload {
    const type = fileTypeOf(contentType);
    requireFileName(name);
    requireExtension(name, type);
    // Whether the case has room is checked when the file is stored: a repeated request must get its first response.
    this.one(client.accountId, caseId);
    const release = this.#beginUpload(client);
    let isOpen = true;
    const pieces: Buffer[] = [];
    const finish = (): void => {
      if (isOpen) release();
      isOpen = false;
      pieces.length = 0;
    };
    return {
      // The bytes belong to the receiver only until it returns.
      write: (bytes) => void pieces.push(Buffer.from(bytes)),
      end: async (repeatKey) => {
        try {
          return await this.#addFile(client, caseId, { name, type }, Buffer.concat(pieces), repeatKey);
        } finally {
          finish();
        }
      },
      abort: finish,
    };
  }

  /**
   * Counts an upload, and returns the function that ends it.
   *
   * @throws OVERLOADED
   */
  #beginUpload({ accountId }: CaseClient): () => void {
    const uploads = this.#uploads;
    const own = uploads.get(accountId) ?? 0;
    const all = [...uploads.values()].reduce((sum, count) => sum + count, 0);
    if (all >= CASE_LIMITS.uploadsMax || own >= CASE_LIMITS.accountUploadsMax)
      throw new AssayError('OVERLOADED', 'Too many files are being received; retry in some seconds.', {
        retryAfterSeconds: 5,
      });
    uploads.set(accountId, own + 1);
    return () => {
      const left = (uploads.get(accountId) ?? 1) - 1;
      if (left === 0) uploads.delete(accountId);
      else uploads.set(accountId, left);
    };
  }

  #addFile(
    client: CaseClient,
    caseId: string,
    { name, type }: { readonly name: string; readonly type: FileType },
    content: Buffer,
    repeatKey: (contentHash: string) => RepeatKey | null,
  ): Promise<Written> {
    requireType(content, type);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const id = this.#newId();
    const nowMs = this.#deps.clock.now();
    const file = { id, name, contentType: type, bytes: content.length, sha256, crc32: crc32(content) };
    return this.#store.change(
      client.accountId,
      caseId,
      (current) => {
        requireRoom(current);
        const changes = new Changes(current, client, nowMs);
        const added = changes.file(file, content);
        return changes.write({ file: fileAnswer(added) });
      },
      repeatKey(sha256),
    );
  }

  files(accountId: string, caseId: string, { limit, cursor }: CasePage): ReturnType<CaseService['files']> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
    const following = this.one(accountId, caseId)
      .files.filter(({ event }) => event < before)
      .reverse();
    const files = following.slice(0, limit);
    return { files, nextCursor: following.length > limit ? String(files.at(-1)?.event) : null };
  }

  file(accountId: string, caseId: string, fileId: string): ReturnType<CaseService['file']> {
    const record = this.one(accountId, caseId);
    const file = record.files.find(({ id }) => id === fileId);
    if (file !== undefined) return { file, bytes: this.#store.content(record, file.event) };
    throw new AssayError('NOT_FOUND', `fileId: the case has no file '${fileId.slice(0, 64)}'.`, {
      field: 'fileId',
    });
  }

  export(accountId: string, caseId: string): CaseExport {
    return exportOf(this.one(accountId, caseId), this.#store);
  }
}

/** Throws INVALID_REQUEST if the case accepts no further file. */
function requireRoom(record: CaseRecord): void {
  requireNotClosed(record, 'body');
  if (record.files.length >= CASE_LIMITS.filesMax)
    throw refuse('body', `the case has ${record.files.length} files, the maximum.`);
}

/** Creates the service of cases. */
export const createCases = (options: CasesOptions, deps: CasesDeps): CaseService => new Cases(options, deps);
