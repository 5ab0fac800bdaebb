/** The events of one change of a case, and the record after them. */
import { CASE_LIMITS } from './limits.ts';
import type { PreparedLink } from './links.ts';
import type { CaseEvent, CaseFile, CaseRecord, FieldChange } from './records.ts';
import { searchedChars } from './search.ts';
import type { CaseClient } from './service.ts';
import type { CaseWrite, NewEvent } from './store.ts';
import { refuse } from './texts.ts';
import { type CaseMove, moved } from './workflow.ts';

type EventContent = Omit<NewEvent, 'event'>;
type EventFields = Partial<Pick<CaseEvent, 'note' | 'change' | 'link' | 'file' | 'decision'>>;

/**
 * Collects the events of one change of a case. Each event is applied to the record, so that later ones see its effect. Methods that add an
 * event throw INVALID_REQUEST if the case has room for no other event, or for no further text in notes.
 */
export class Changes {
  record: CaseRecord;
  readonly events: NewEvent[] = [];
  readonly #client: CaseClient;
  readonly nowMs: number;

  constructor(record: CaseRecord, client: CaseClient, nowMs: number) {
    this.record = record;
    this.#client = client;
    this.nowMs = nowMs;
  }

  /** Sequence number of the next event. */
  get next(): number {
    return this.record.events + 1;
  }

  add(type: CaseEvent['type'], fields: EventFields, content: EventContent = {}): void {
    const isReserved = type === 'STATUS' || type === 'DECISION';
    const max = CASE_LIMITS.eventsMax - (isReserved ? 0 : CASE_LIMITS.eventsReserved);
    if (this.next > max)
      throw refuse(
        'id',
        `the case has ${this.record.events} events; continue in another case that links to this one.`,
      );
    const noteChars = (this.record.noteChars ?? 0) + searchedChars(fields.note ?? '');
    if (noteChars > CASE_LIMITS.caseNoteCharsMax && fields.note !== undefined && fields.note !== null)
      throw refuse(
        'note',
        `the notes of the case would have ${noteChars} characters; the maximum is ${CASE_LIMITS.caseNoteCharsMax}. Continue in another case that links to this one.`,
      );
    const event: CaseEvent = {
      sequence: this.next,
      type,
      atMs: this.nowMs,
      by: this.#client.who,
      note: null,
      change: null,
      link: null,
      file: null,
      decision: null,
      ...fields,
    };
    this.events.push({ event, ...content });
    this.record = {
      ...this.record,
      events: event.sequence,
      version: this.record.version + 1,
      noteChars,
      updatedAtMs: this.nowMs,
    };
  }

  /** Changes a field; a no-op if it has the value already. */
  set(
    type: CaseEvent['type'],
    change: FieldChange,
    values: Partial<CaseRecord>,
    note: string | null = null,
  ): void {
    if (change.from === change.to) return;
    this.add(type, { change, note });
    // The state is changed by `move` alone, so the record keeps a valid combination of its fields.
    this.record = { ...this.record, ...values } as CaseRecord;
  }

  /** Changes the state. */
  move(move: CaseMove, note: string | null): void {
    const { record } = this;
    const { who: by, identity } = this.#client;
    const context = { fourEyes: record.fourEyes, event: this.next, by, identity, nowMs: this.nowMs };
    const { state, decision } = moved(record, move, context);
    const isMoved = state.status !== record.status;
    if (decision === null && !isMoved) return;
    const change: FieldChange | null = isMoved
      ? { field: 'status', from: record.status, to: state.status }
      : null;
    this.add(decision === null ? 'STATUS' : 'DECISION', { change, decision, note });
    this.record = { ...this.record, ...state };
  }

  link({ link, answer }: PreparedLink, note: string | null): void {
    const { links } = this.record;
    if (links.length >= CASE_LIMITS.linksMax)
      throw refuse('link', `the case has ${links.length} links, the maximum; continue in another case.`);
    const numbered = { event: this.next, ...link };
    this.add('LINK', { link: numbered, note }, { answer });
    this.record = { ...this.record, links: [...links, numbered] };
  }

  file(file: Omit<CaseFile, 'event' | 'addedAtMs' | 'addedBy'>, content: Buffer): CaseFile {
    const { files } = this.record;
    const added = { ...file, event: this.next, addedAtMs: this.nowMs, addedBy: this.#client.who };
    this.add('FILE', { file: added }, { content });
    this.record = { ...this.record, files: [...files, added] };
    return added;
  }

  /** Returns the write, with the value that the response shows. */
  write(answer: object): CaseWrite {
    const { record, events } = this;
    const [first] = events;
    const detail =
      first === undefined
        ? null
        : `event ${first.event.sequence} ${events.map(({ event }) => event.type).join(',')}`;
    return { record, events, answer: JSON.stringify(answer), detail };
  }
}
