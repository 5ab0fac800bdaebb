/**
 * The store of saved screenings over live state. The facts of a screening are one record, and its compressed answer is in pieces beside it.
 * A screening is staged with its charge first, and becomes one of the account when the charge is booked.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { ID_SHAPE } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { sequenceOfCursor } from '../base/paging.ts';
import type { StagedCharge } from '../base/staged-purchases.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { SAVED_LIMITS } from './limits.ts';
import type { SavedScreening, StagedScreening } from './records.ts';
import type { SavedFilter, SavedPage, SavedStore, StagedScreenings } from './store.ts';

export const FORMAT_VERSION = 1;

type ScreeningKey = [accountId: string, number: number];

/** The request of an Idempotency-Key. */
interface SlotRow {
  readonly id: string;
  readonly accountId: string;
  readonly bodyHash: string;
  readonly untilMs: number;
  /** The balance that pays. Absent in rows of earlier versions: then that of the repeated request. */
  readonly pool?: NonNullable<StagedCharge['pool']>;
}

/** Value of index entries: the key says everything. */
const PRESENT = '1';

function openTables(root: LiveRoot) {
  const open = <V, K extends string | (string | number)[]>(
    name: string,
    encoding: 'msgpack' | 'string' | 'json' | 'binary',
  ): LiveDatabase<V, K> => root.openDB({ name, encoding });
  return {
    screenings: open<SavedScreening, ScreeningKey>('screenings', 'msgpack'),
    numbers: open<number, [accountId: string, id: string]>('numbers', 'json'),
    /** Compressed answers, of staged screenings too. */
    pieces: open<Buffer, [id: string, piece: number]>('pieces', 'binary'),
    staged: open<StagedScreening, string>('staged', 'msgpack'),
    /**
     * Screenings by the slots of Idempotency-Keys. They stay after the charge: another node may have begun the same request before it was
     * answered here.
     */
    slots: open<SlotRow, string>('slots', 'json'),
    slotEnds: open<string, [untilMs: number, slot: string]>('slotEnds', 'string'),
    /** Screenings by the values that lists filter by. */
    terms: open<string, [accountId: string, term: string, number: number]>('terms', 'string'),
    times: open<string, [savedAtMs: number, accountId: string, number: number]>('times', 'string'),
    /** Of an account: `last` number, existing `screenings`, and compressed `bytes`; the last two count staged ones too. */
    counts: open<number, [accountId: string, count: 'last' | 'screenings' | 'bytes']>('counts', 'json'),
  };
}
type Tables = ReturnType<typeof openTables>;

const TERM_CHARS = 24;

/** A value may be long, so the index has its hash. Lists check the record as well. */
const termOf = (field: string, value: string): string =>
  `${field}:${createHash('sha256').update(value).digest('hex').slice(0, TERM_CHARS)}`;

const addressTerm = (chain: string, address: string): string => termOf('address', `${chain}/${address}`);

const termsOf = ({ chain, addresses, riskLevel }: SavedScreening): ReadonlySet<string> =>
  new Set([
    termOf('chain', chain),
    termOf('level', riskLevel),
    ...addresses.map((address) => addressTerm(chain, address)),
  ]);

/** Returns the term of a filter that the fewest screenings are expected to have; null if no index has its screenings. */
function indexOf({ chain, address, riskLevel }: SavedFilter): string | null {
  if (chain !== undefined && address !== undefined) return addressTerm(chain, address);
  if (riskLevel !== undefined) return termOf('level', riskLevel);
  return chain === undefined ? null : termOf('chain', chain);
}

function matches(
  { kinds, chain, address, riskLevel, fromMs, toMs }: SavedFilter,
  screening: SavedScreening,
): boolean {
  if (!kinds.includes(screening.kind)) return false;
  if (chain !== undefined && screening.chain !== chain) return false;
  if (address !== undefined && !screening.addresses.includes(address)) return false;
  if (riskLevel !== undefined && screening.riskLevel !== riskLevel) return false;
  if (fromMs !== undefined && screening.savedAtMs < fromMs) return false;
  return toMs === undefined || screening.savedAtMs < toMs;
}

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openSavedStore(
  { path }: { readonly path: string },
  {
    clock,
    openStore = openLiveStore,
  }: {
    readonly clock: Clock;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): SavedStore {
  return new LmdbSavedStore(openStore(path, FORMAT_VERSION, { name: 'screenings', maxDbs: 12 }), clock);
}

class LmdbSavedStore implements SavedStore {
  readonly #live: LiveStore;
  readonly #tables: Tables;
  readonly staged: StagedScreenings;

  constructor(live: LiveStore, clock: Clock) {
    this.#live = live;
    this.#tables = openTables(live.root);
    this.staged = new Staged(live.root, this.#tables, clock);
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  close(): Promise<void> {
    return this.#live.root.close();
  }

  get(accountId: string, id: string): SavedScreening | null {
    if (!ID_SHAPE.test(id)) return null;
    this.#live.root.resetReadTxn();
    const { numbers, screenings } = this.#tables;
    const number = numbers.get([accountId, id]);
    return number === undefined ? null : (screenings.get([accountId, number]) ?? null);
  }

  list(accountId: string, filter: SavedFilter, { limit, cursor }: SavedPage): ReturnType<SavedStore['list']> {
    this.#live.root.resetReadTxn();
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : sequenceOfCursor(cursor);
    const screenings: SavedScreening[] = [];
    let last = 0;
    let read = 0;
    for (const number of this.#numbers(accountId, indexOf(filter), before)) {
      if (screenings.length === limit || read === SAVED_LIMITS.savedRecordsReadMax)
        return { screenings, nextCursor: String(last) };
      last = number;
      read++;
      const screening = this.#tables.screenings.get([accountId, number]);
      if (screening !== undefined && matches(filter, screening)) screenings.push(screening);
    }
    return { screenings, nextCursor: null };
  }

  /** Yields the numbers of screenings below `before`, from the highest on. */
  *#numbers(accountId: string, term: string | null, before: number): Generator<number> {
    const { screenings, terms } = this.#tables;
    if (term === null) {
      const start: ScreeningKey = [accountId, before - 1];
      for (const [, number] of screenings.getKeys({ start, end: [accountId, 0], reverse: true }))
        yield number;
      return;
    }
    const start: [string, string, number] = [accountId, term, before - 1];
    const end: [string, string, number] = [accountId, term, 0];
    for (const [, , number] of terms.getKeys({ start, end, reverse: true })) yield number;
  }

  content({ id }: SavedScreening): Buffer {
    return Buffer.concat([...this.#tables.pieces.getRange(piecesOf(id))].map(({ value }) => value));
  }

  deleteSavedBefore(beforeMs: number, limit: number): Promise<readonly SavedScreening[]> {
    const { times, screenings } = this.#tables;
    const start: [number, string, number] = [0, '', 0];
    const end: [number, string, number] = [beforeMs, '', 0];
    return this.#live.root.childTransaction(() =>
      [...times.getKeys({ start, end, limit })].flatMap(([, accountId, number]) => {
        const screening = screenings.get([accountId, number]);
        if (screening === undefined) return [];
        this.#delete(screening, number);
        return [screening];
      }),
    );
  }

  #delete(screening: SavedScreening, number: number): void {
    const { accountId, id, savedAtMs } = screening;
    const { screenings, numbers, terms, times } = this.#tables;
    screenings.removeSync([accountId, number]);
    numbers.removeSync([accountId, id]);
    times.removeSync([savedAtMs, accountId, number]);
    for (const term of termsOf(screening)) terms.removeSync([accountId, term, number]);
    removeContent(this.#tables, screening);
  }
}

const piecesOf = (id: string): { start: [string, number]; end: [string, number] } => ({
  start: [id, 0],
  end: [id, Number.MAX_SAFE_INTEGER],
});

/** Adds to the counts of an account. */
function count({ counts }: Tables, accountId: string, screenings: number, bytes: number): void {
  for (const [name, by] of [
    ['screenings', screenings],
    ['bytes', bytes],
  ] as const)
    counts.putSync([accountId, name], Math.max(0, (counts.get([accountId, name]) ?? 0) + by));
}

/** Removes the answer of a screening, and its part of the counts. */
function removeContent(tables: Tables, { id, accountId, storedBytes }: SavedScreening): void {
  for (const key of [...tables.pieces.getKeys(piecesOf(id))]) tables.pieces.removeSync(key);
  count(tables, accountId, -1, -storedBytes);
}

/** Screenings that are not paid yet. */
class Staged implements StagedScreenings {
  readonly #root: LiveRoot;
  readonly #tables: Tables;
  readonly #clock: Clock;

  constructor(root: LiveRoot, tables: Tables, clock: Clock) {
    this.#root = root;
    this.#tables = tables;
    this.#clock = clock;
  }

  stage(row: StagedScreening, content: Buffer): Promise<StagedScreening> {
    const { staged, pieces } = this.#tables;
    const { screening } = row;
    const { id, accountId, storedBytes } = screening;
    return this.#root.childTransaction(() => {
      const known = this.#repeated(row);
      if (known !== null) return known;
      this.#requireRoom(accountId, storedBytes);
      staged.putSync(id, row);
      this.#keepSlot(row);
      const size = SAVED_LIMITS.savedPieceBytes;
      for (let piece = 0, at = 0; at < content.length; piece++, at += size)
        pieces.putSync([id, piece], content.subarray(at, at + size));
      count(this.#tables, accountId, 1, storedBytes);
      return row;
    });
  }

  #requireRoom(accountId: string, storedBytes: number): void {
    const { counts } = this.#tables;
    const screenings = counts.get([accountId, 'screenings']) ?? 0;
    if (screenings >= SAVED_LIMITS.savedScreeningsMax)
      throw refuse('save', `the account has ${screenings} saved screenings, the maximum.`);
    const bytes = (counts.get([accountId, 'bytes']) ?? 0) + storedBytes;
    if (bytes > SAVED_LIMITS.savedAccountBytesMax)
      throw refuse(
        'save',
        `the saved screenings of the account would have ${bytes} compressed bytes; the maximum is ${SAVED_LIMITS.savedAccountBytesMax}.`,
      );
  }

  /** Returns the row that an earlier request with the same Idempotency-Key has stored, charged or not; null without one. */
  #repeated({ charge }: StagedScreening): StagedScreening | null {
    const { slots, staged, numbers, screenings } = this.#tables;
    const slot = charge.keep === null ? undefined : slots.get(charge.keep.slot);
    if (slot === undefined || slot.untilMs <= this.#clock.now()) return null;
    const { id, accountId, bodyHash, pool } = slot;
    const row = staged.get(id);
    const number = row === undefined ? numbers.get([accountId, id]) : undefined;
    const screening = number === undefined ? row?.screening : screenings.get([accountId, number]);
    if (screening === undefined || row?.isAbandoned === true) return null;
    if (bodyHash !== charge.keep?.bodyHash)
      throw refuse(
        'Idempotency-Key',
        'was already used with a different request body within the last 24 hours.',
      );
    // Charging it again changes nothing, and finds the stored response: in the balance of the first request. A session and a key of
    // the account have different ones.
    const first = pool === undefined ? charge : { ...charge, pool };
    return row ?? { screening, charge: first, isAbandoned: false };
  }

  #keepSlot({ screening: { id, accountId }, charge: { keep, pool = 'api' } }: StagedScreening): void {
    if (keep === null) return;
    const { slots, slotEnds } = this.#tables;
    const nowMs = this.#clock.now();
    const range = { start: [0, ''] as [number, string], end: [nowMs, ''] as [number, string] };
    for (const key of [...slotEnds.getKeys({ ...range, limit: SAVED_LIMITS.savedSlotsSwept })]) {
      const [untilMs, ended] = key;
      slotEnds.removeSync(key);
      if (slots.get(ended)?.untilMs === untilMs) slots.removeSync(ended);
    }
    // It ends before the response that the ledger stores later, which is found first.
    const untilMs = nowMs + LIMITS.idempotencyMs;
    slots.putSync(keep.slot, { id, accountId, bodyHash: keep.bodyHash, untilMs, pool });
    slotEnds.putSync([untilMs, keep.slot], PRESENT);
  }

  activate({ screening }: StagedScreening): Promise<boolean> {
    const { staged, numbers, screenings, terms, times, counts } = this.#tables;
    const { id, accountId, savedAtMs } = screening;
    return this.#root.childTransaction(() => {
      const row = staged.get(id);
      if (row === undefined) return numbers.get([accountId, id]) !== undefined;
      if (row.isAbandoned) return false;
      staged.removeSync(id);
      const number = (counts.get([accountId, 'last']) ?? 0) + 1;
      counts.putSync([accountId, 'last'], number);
      numbers.putSync([accountId, id], number);
      screenings.putSync([accountId, number], row.screening);
      for (const term of termsOf(screening)) terms.putSync([accountId, term, number], PRESENT);
      times.putSync([savedAtMs, accountId, number], PRESENT);
      return true;
    });
  }

  abandon({ screening: { id } }: StagedScreening): Promise<boolean> {
    const { staged } = this.#tables;
    return this.#root.childTransaction(() => {
      const row = staged.get(id);
      if (row === undefined) return false;
      if (!row.isAbandoned) staged.putSync(id, { ...row, isAbandoned: true });
      return true;
    });
  }

  remove({ screening: { id } }: StagedScreening): Promise<void> {
    return this.#root.childTransaction(() => {
      const { staged, slots } = this.#tables;
      const row = staged.get(id);
      if (row === undefined || !row.isAbandoned) return;
      staged.removeSync(id);
      const { keep } = row.charge;
      // A later request may have the slot.
      if (keep !== null && slots.get(keep.slot)?.id === id) slots.removeSync(keep.slot);
      removeContent(this.#tables, row.screening);
    });
  }

  list(limit: number): readonly StagedScreening[] {
    this.#root.resetReadTxn();
    return [...this.#tables.staged.getRange({ limit })].map(({ value }) => value);
  }
}
