/**
 * The store of cases over live state. A case is one record; its events, the answers of its links and the content of its files are records
 * beside it, written in the same transaction.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { ID_SHAPE } from '../base/ids.ts';
import { sequenceOfCursor } from '../base/paging.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { type RepeatKey, Repeats } from '../state/repeats.ts';
import { CASE_LIMITS } from './limits.ts';
import type { CaseEvent, CaseRecord } from './records.ts';
import { createSearch } from './search.ts';
import type { CaseFilter, CasePage, CaseStore, CaseWrite, NewEvent, Written } from './store.ts';

export const FORMAT_VERSION = 1;

/** The response of a request with an Idempotency-Key. */
type RepeatRow = Pick<Written, 'answer' | 'caseId' | 'detail'>;

type CaseKey = [accountId: string, number: number];
type EventKey = [accountId: string, number: number, event: number];

/** Value of index entries: the key says everything. */
const PRESENT = '1';

function openTables(root: LiveRoot) {
  const open = <V, K extends string | (string | number)[]>(
    name: string,
    encoding: 'msgpack' | 'string' | 'json' | 'binary',
  ): LiveDatabase<V, K> => root.openDB({ name, encoding });
  return {
    cases: open<CaseRecord, CaseKey>('cases', 'msgpack'),
    numbers: open<number, [accountId: string, caseId: string]>('numbers', 'json'),
    events: open<CaseEvent, EventKey>('events', 'msgpack'),
    /** Answers that links keep. */
    answers: open<string, EventKey>('answers', 'string'),
    /** Content of files. */
    pieces: open<Buffer, [accountId: string, number: number, event: number, piece: number]>(
      'pieces',
      'binary',
    ),
    /** Cases by the values that lists filter by. */
    terms: open<string, [accountId: string, term: string, number: number]>('terms', 'string'),
    closed: open<string, [closedAtMs: number, accountId: string, number: number]>('closed', 'string'),
    /** Of an account: `last` number, existing `cases`, and `bytes` of files. */
    counts: open<number, [accountId: string, count: 'last' | 'cases' | 'bytes']>('counts', 'json'),
    repeats: new Repeats<RepeatRow>(root),
  };
}

const TERM_CHARS = 24;

/** A value may be long, so the index has its hash. Lists check the record as well. */
const termOf = (field: string, value: string): string =>
  `${field}:${createHash('sha256').update(value).digest('hex').slice(0, TERM_CHARS)}`;

const addressTerm = (chain: string, address: string): string => termOf('address', `${chain}/${address}`);

function termsOf({ status, assignee, priority, links }: CaseRecord): ReadonlySet<string> {
  const addresses = links.flatMap(({ chain, address }) =>
    chain === null || address === null ? [] : [addressTerm(chain, address)],
  );
  const records = links.flatMap(({ id }) => (id === null ? [] : [termOf('link', id)]));
  return new Set([
    termOf('status', status),
    termOf('priority', priority),
    ...(assignee === null ? [] : [termOf('assignee', assignee)]),
    ...addresses,
    ...records,
  ]);
}

/**
 * Returns the term of a filter that the fewest cases are expected to have, or the terms of its states: a case has one of them. Null if no
 * index has the cases.
 */
function indexOf({ linkId, address, assignee, status, priority }: CaseFilter): readonly string[] | null {
  if (linkId !== undefined) return [termOf('link', linkId)];
  if (address !== undefined) return [addressTerm(address.chain, address.address)];
  if (assignee !== undefined) return [termOf('assignee', assignee)];
  if (status !== undefined && !status.includes('CLOSED'))
    return [...new Set(status)].map((one) => termOf('status', one));
  if (priority !== undefined) return [termOf('priority', priority)];
  return status?.length === 1 ? [termOf('status', 'CLOSED')] : null;
}

/** Yields the numbers of several descending sequences in descending order. */
function* merged(sequences: readonly Generator<number>[]): Generator<number> {
  const heads = sequences.map((rest) => ({ rest, next: rest.next() }));
  for (;;) {
    let first: (typeof heads)[number] | undefined;
    for (const head of heads)
      if (head.next.done !== true && (first === undefined || head.next.value > (first.next.value as number)))
        first = head;
    if (first === undefined) return;
    yield first.next.value as number;
    first.next = first.rest.next();
  }
}

const NO_TERMS: ReadonlySet<string> = new Set();

const noCase = (caseId: string): AssayError =>
  new AssayError('NOT_FOUND', `id: there is no case '${caseId.slice(0, 64)}'.`, { field: 'id' });

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openCaseStore(
  { path }: { readonly path: string },
  {
    clock,
    openStore = openLiveStore,
  }: {
    readonly clock: Clock;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): CaseStore {
  return new LmdbCaseStore(openStore(path, FORMAT_VERSION, { name: 'cases', maxDbs: 12 }), clock);
}

class LmdbCaseStore implements CaseStore {
  readonly #live: LiveStore;
  readonly #clock: Clock;
  readonly #tables: ReturnType<typeof openTables>;

  constructor(live: LiveStore, clock: Clock) {
    this.#live = live;
    this.#clock = clock;
    this.#tables = openTables(live.root);
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  close(): Promise<void> {
    return this.#live.root.close();
  }

  add(accountId: string, work: (number: number) => CaseWrite, repeatKey: RepeatKey | null): Promise<Written> {
    const { counts, numbers } = this.#tables;
    return this.#commit(repeatKey, () => {
      const cases = counts.get([accountId, 'cases']) ?? 0;
      if (cases >= CASE_LIMITS.casesMax)
        throw new AssayError('INVALID_REQUEST', `The account has ${cases} cases, the maximum.`);
      const number = (counts.get([accountId, 'last']) ?? 0) + 1;
      const write = work(number);
      counts.putSync([accountId, 'last'], number);
      counts.putSync([accountId, 'cases'], cases + 1);
      numbers.putSync([accountId, write.record.id], number);
      this.#put(null, write);
      return write;
    });
  }

  change(
    accountId: string,
    caseId: string,
    work: (current: CaseRecord) => CaseWrite,
    repeatKey: RepeatKey | null,
  ): Promise<Written> {
    return this.#commit(repeatKey, () => {
      const current = this.#find(accountId, caseId);
      if (current === null) throw noCase(caseId);
      const write = work(current);
      if (write.events.length > 0) this.#put(current, write);
      return write;
    });
  }

  get(accountId: string, caseId: string): CaseRecord | null {
    this.#live.root.resetReadTxn();
    return this.#find(accountId, caseId);
  }

  #find(accountId: string, caseId: string): CaseRecord | null {
    const number = ID_SHAPE.test(caseId) ? this.#tables.numbers.get([accountId, caseId]) : undefined;
    return number === undefined ? null : (this.#tables.cases.get([accountId, number]) ?? null);
  }

  /** Runs a write as one transaction that leaves nothing behind if it throws. A repeated request gets the response of the first. */
  #commit(repeatKey: RepeatKey | null, work: () => CaseWrite): Promise<Written> {
    return this.#live.root.childTransaction(() => {
      const nowMs = this.#clock.now();
      const known = this.#tables.repeats.find(repeatKey, nowMs);
      if (known !== null) return { ...written(known), isRepeated: true };
      const write = work();
      const row = { answer: write.answer, caseId: write.record.id, detail: write.detail };
      this.#tables.repeats.keep(repeatKey, row, nowMs);
      return { ...row, isRepeated: false };
    });
  }

  /** Stores a changed case, its events and its index entries. */
  #put(before: CaseRecord | null, { record, events }: CaseWrite): void {
    const { accountId, number } = record;
    this.#tables.cases.putSync([accountId, number], record);
    for (const event of events) this.#putEvent(record, event);
    this.#index(before, record);
  }

  #putEvent({ accountId, number }: CaseRecord, { event, answer = null, content }: NewEvent): void {
    const { sequence } = event;
    const { events, answers, pieces, counts } = this.#tables;
    events.putSync([accountId, number, sequence], event);
    if (answer !== null) answers.putSync([accountId, number, sequence], answer);
    if (content === undefined) return;
    const bytes = (counts.get([accountId, 'bytes']) ?? 0) + content.length;
    if (bytes > CASE_LIMITS.accountFileBytesMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `body: the files of the account would have ${bytes} bytes; the maximum is ${CASE_LIMITS.accountFileBytesMax}.`,
        { field: 'body' },
      );
    counts.putSync([accountId, 'bytes'], bytes);
    for (let piece = 0, at = 0; at < content.length; piece++, at += CASE_LIMITS.filePieceBytes)
      pieces.putSync(
        [accountId, number, sequence, piece],
        content.subarray(at, at + CASE_LIMITS.filePieceBytes),
      );
  }

  /** Replaces the index entries of a case; `after` null removes them. */
  #index(before: CaseRecord | null, after: CaseRecord | null): void {
    const { terms, closed } = this.#tables;
    const { accountId, number } = (after ?? before) as CaseRecord;
    const old = before === null ? NO_TERMS : termsOf(before);
    const current = after === null ? NO_TERMS : termsOf(after);
    for (const term of old) if (!current.has(term)) terms.removeSync([accountId, term, number]);
    for (const term of current) if (!old.has(term)) terms.putSync([accountId, term, number], PRESENT);
    const wasClosed = before?.outcome?.closedAtMs;
    const isClosed = after?.outcome?.closedAtMs;
    if (wasClosed === isClosed) return;
    if (wasClosed !== undefined) closed.removeSync([wasClosed, accountId, number]);
    if (isClosed !== undefined) closed.putSync([isClosed, accountId, number], PRESENT);
  }

  list(accountId: string, filter: CaseFilter, { limit, cursor }: CasePage): ReturnType<CaseStore['list']> {
    this.#live.root.resetReadTxn();
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
    const search = createSearch(filter, (record) => this.events(record, Number.MAX_SAFE_INTEGER));
    const cases: CaseRecord[] = [];
    let last = 0;
    for (const number of this.#numbers(accountId, indexOf(filter), before)) {
      if (cases.length === limit || search.isExhausted()) return { cases, nextCursor: String(last) };
      last = number;
      const record = this.#tables.cases.get([accountId, number]);
      if (record !== undefined && search.matches(record)) cases.push(record);
    }
    return { cases, nextCursor: null };
  }

  /** Yields the numbers of cases below `before`, from the highest on. */
  *#numbers(accountId: string, terms: readonly string[] | null, before: number): Generator<number> {
    if (terms !== null) {
      yield* merged(terms.map((term) => this.#numbersOf(accountId, term, before)));
      return;
    }
    const range = {
      start: [accountId, before - 1] as CaseKey,
      end: [accountId, 0] as CaseKey,
      reverse: true,
    };
    for (const [, number] of this.#tables.cases.getKeys(range)) yield number;
  }

  *#numbersOf(accountId: string, term: string, before: number): Generator<number> {
    const { terms } = this.#tables;
    const start: [string, string, number] = [accountId, term, before - 1];
    const end: [string, string, number] = [accountId, term, 0];
    for (const [, , number] of terms.getKeys({ start, end, reverse: true })) yield number;
  }

  *events({ accountId, number, events }: CaseRecord, before: number): Generator<CaseEvent> {
    const start: EventKey = [accountId, number, Math.min(before - 1, events)];
    const end: EventKey = [accountId, number, 0];
    for (const { value } of this.#tables.events.getRange({ start, end, reverse: true })) yield value;
  }

  answer({ accountId, number }: CaseRecord, event: number): string | null {
    return this.#tables.answers.get([accountId, number, event]) ?? null;
  }

  content({ accountId, number }: CaseRecord, event: number): Buffer {
    const start: [string, number, number, number] = [accountId, number, event, 0];
    const end: [string, number, number, number] = [accountId, number, event + 1, 0];
    return Buffer.concat([...this.#tables.pieces.getRange({ start, end })].map(({ value }) => value));
  }

  deleteClosedBefore(beforeMs: number, limit: number): Promise<readonly CaseRecord[]> {
    const { closed, cases } = this.#tables;
    const start: [number, string, number] = [0, '', 0];
    const end: [number, string, number] = [beforeMs, '', 0];
    return this.#live.root.childTransaction(() =>
      [...closed.getKeys({ start, end, limit })].flatMap(([, accountId, number]) => {
        const record = cases.get([accountId, number]);
        if (record === undefined) return [];
        this.#delete(record);
        return [record];
      }),
    );
  }

  #delete(record: CaseRecord): void {
    const { accountId, number, id, files } = record;
    const { cases, numbers, events, answers, pieces, counts } = this.#tables;
    this.#index(record, null);
    cases.removeSync([accountId, number]);
    numbers.removeSync([accountId, id]);
    const range = { start: [accountId, number, 0] as EventKey, end: [accountId, number + 1, 0] as EventKey };
    for (const key of [...events.getKeys(range)]) events.removeSync(key);
    for (const key of [...answers.getKeys(range)]) answers.removeSync(key);
    const start: [string, number, number, number] = [accountId, number, 0, 0];
    const end: [string, number, number, number] = [accountId, number + 1, 0, 0];
    for (const key of [...pieces.getKeys({ start, end })]) pieces.removeSync(key);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    counts.putSync([accountId, 'bytes'], Math.max(0, (counts.get([accountId, 'bytes']) ?? 0) - bytes));
    counts.putSync([accountId, 'cases'], Math.max(0, (counts.get([accountId, 'cases']) ?? 0) - 1));
  }
}

const written = ({ answer, caseId, detail }: RepeatRow) => ({ answer, caseId, detail });
