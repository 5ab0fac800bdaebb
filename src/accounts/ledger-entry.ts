/**
 * The bytes of one ledger entry. Every entry contains the whole state of its account after it (balance, pools, sums by type) and points to
 * the account's previous entry, so the last entry of an account is sufficient to know its state.
 */
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { type CreditState, LEDGER_TYPES, type LedgerType, NOTHING } from './credits.ts';
import type { LedgerEntry, TypeTotals, UsagePage } from './ledger.ts';

/** The state of an account after its last entry. `sequence` is 0 if it has none. */
export interface Head extends CreditState {
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Sequence of the account's last entry on a day before this entry's day; 0 for none. */
  readonly dayBefore: number;
  /** Sums of the account's amounts so far, by position in LEDGER_TYPES; they add up to the balance. */
  readonly sums: readonly number[];
}

export interface StoredEntry extends Head {
  readonly accountId: string;
  readonly type: LedgerType;
  readonly amount: number;
  /** Sequence of the account's previous entry; 0 for none. */
  readonly before: number;
  readonly reference: string | null;
}

export const EMPTY_HEAD: Head = {
  ...NOTHING,
  sequence: 0,
  at: 0,
  dayBefore: 0,
  sums: LEDGER_TYPES.map(() => 0),
};

const DAY_MS = 86_400_000;
/** Returns the day (UTC) of a time, counted from 1970. */
export const dayOf = (epochMs: number): number => Math.floor(epochMs / DAY_MS);

/** Offsets of the fixed part; all numbers are little-endian, and doubles unless noted. */
const AT = 0;
const BEFORE = 8;
const DAY_BEFORE = 16;
const AMOUNT = 24;
const BALANCE = 32;
const FREE = 40;
const GRANTED = 48;
const SUMS = 56;
/** u32 */
const MONTH = SUMS + 8 * LEDGER_TYPES.length;
/** u8: position in LEDGER_TYPES; the highest bit is set if there is a reference. */
const TYPE = MONTH + 4;
/** u8 */
const ACCOUNT_LENGTH = TYPE + 1;
/** u16 */
const REFERENCE_LENGTH = ACCOUNT_LENGTH + 1;
const TEXTS = REFERENCE_LENGTH + 2;
const HAS_REFERENCE = 0x80;

/** Returns the entry that follows `head` in an account. */
export function follow(
  head: Head,
  step: {
    readonly sequence: number;
    readonly accountId: string;
    readonly at: number;
    readonly type: LedgerType;
    readonly amount: number;
    readonly after: CreditState;
    readonly reference: string | null;
  },
): StoredEntry {
  const sums = [...head.sums];
  const position = LEDGER_TYPES.indexOf(step.type);
  sums[position] = (sums[position] ?? 0) + step.amount;
  const { balance, free, granted, month } = step.after;
  return {
    sequence: step.sequence,
    accountId: step.accountId,
    at: step.at,
    type: step.type,
    amount: step.amount,
    reference: step.reference,
    before: head.sequence,
    dayBefore: dayOf(head.at) === dayOf(step.at) ? head.dayBefore : head.sequence,
    balance,
    free,
    granted,
    month,
    sums,
  };
}

/** Encodes an entry as bytes. */
export function encodeEntry(entry: StoredEntry): Buffer {
  const { accountId, reference } = entry;
  const referenceBytes = reference === null ? 0 : Buffer.byteLength(reference);
  const bytes = Buffer.allocUnsafe(TEXTS + accountId.length + referenceBytes);
  bytes.writeDoubleLE(entry.at, AT);
  bytes.writeDoubleLE(entry.before, BEFORE);
  bytes.writeDoubleLE(entry.dayBefore, DAY_BEFORE);
  bytes.writeDoubleLE(entry.amount, AMOUNT);
  bytes.writeDoubleLE(entry.balance, BALANCE);
  bytes.writeDoubleLE(entry.free, FREE);
  bytes.writeDoubleLE(entry.granted, GRANTED);
  for (let position = 0; position < LEDGER_TYPES.length; position++)
    bytes.writeDoubleLE(entry.sums[position] ?? 0, SUMS + 8 * position);
  bytes.writeUInt32LE(entry.month, MONTH);
  bytes[TYPE] = LEDGER_TYPES.indexOf(entry.type) | (reference === null ? 0 : HAS_REFERENCE);
  bytes[ACCOUNT_LENGTH] = accountId.length;
  bytes.writeUInt16LE(referenceBytes, REFERENCE_LENGTH);
  bytes.write(accountId, TEXTS, 'latin1');
  if (reference !== null) bytes.write(reference, TEXTS + accountId.length, 'utf8');
  return bytes;
}

const broken = (sequence: number): AssayError =>
  new AssayError('STORE_CORRUPT', `Entry ${sequence} of the ledger is damaged.`);

/**
 * Decodes an entry. `bytes` may be reused afterwards.
 *
 * @throws STORE_CORRUPT
 */
export function decodeEntry(sequence: number, bytes: Buffer | undefined): StoredEntry {
  if (bytes === undefined || bytes.length < TEXTS) throw broken(sequence);
  const accountLength = bytes[ACCOUNT_LENGTH] ?? 0;
  const referenceLength = bytes.readUInt16LE(REFERENCE_LENGTH);
  const typeByte = bytes[TYPE] ?? 0;
  const type = LEDGER_TYPES[typeByte & ~HAS_REFERENCE];
  const textsEnd = TEXTS + accountLength + referenceLength;
  if (type === undefined || bytes.length !== textsEnd) throw broken(sequence);
  const sums: number[] = [];
  for (let position = 0; position < LEDGER_TYPES.length; position++)
    sums.push(bytes.readDoubleLE(SUMS + 8 * position));
  const hasReference = (typeByte & HAS_REFERENCE) !== 0;
  return {
    sequence,
    accountId: bytes.toString('latin1', TEXTS, TEXTS + accountLength),
    at: bytes.readDoubleLE(AT),
    type,
    amount: bytes.readDoubleLE(AMOUNT),
    before: bytes.readDoubleLE(BEFORE),
    dayBefore: bytes.readDoubleLE(DAY_BEFORE),
    balance: bytes.readDoubleLE(BALANCE),
    free: bytes.readDoubleLE(FREE),
    granted: bytes.readDoubleLE(GRANTED),
    month: bytes.readUInt32LE(MONTH),
    sums,
    reference: hasReference ? bytes.toString('utf8', TEXTS + accountLength, textsEnd) : null,
  };
}

/** Returns an entry's id, which is also a cursor: the sequence as text of fixed length, so that ids sort like entries. */
export const entryId = (sequence: number): string => String(sequence).padStart(12, '0');

/** Returns the sequence of an id; null if the text is not an id. */
export const sequenceOf = (id: string): number | null => (/^\d{12}$/.test(id) ? Number(id) : null);

/** Returns an entry in the form of the API. */
export const shownEntry = (entry: StoredEntry): LedgerEntry => ({
  id: entryId(entry.sequence),
  amount: entry.amount,
  balance: entry.balance,
  type: entry.type,
  reference: entry.reference,
  createdAt: isoTime(entry.at),
});

/** Returns how much `sums` have grown since `earlier`, by type. */
export function totalsSince(sums: readonly number[], earlier: readonly number[]): TypeTotals {
  const totals: Partial<Record<LedgerType, number>> = {};
  for (const [position, type] of LEDGER_TYPES.entries())
    totals[type] = (sums[position] ?? 0) - (earlier[position] ?? 0);
  return totals as TypeTotals;
}

/** The totals of entries in a row that have the same day (UTC). */
type DayTotals = UsagePage['totals']['byDay'][number];

/**
 * Returns each day once, the newest first.
 *
 * @param runs - days in the order of their entries, newest first: if the clock was set back, a day follows an earlier one, or is there twice
 */
export function daysOfRuns(runs: readonly DayTotals[]): readonly DayTotals[] {
  if (runs.every(({ day }, at) => at === 0 || day < (runs[at - 1] as DayTotals).day)) return runs;
  const days = new Map<string, DayTotals>();
  for (const run of runs) {
    const known = days.get(run.day);
    if (known === undefined) days.set(run.day, run);
    else {
      const sum = LEDGER_TYPES.map((type) => [type, known.byType[type] + run.byType[type]]);
      days.set(run.day, { day: run.day, byType: Object.fromEntries(sum) as TypeTotals });
    }
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? 1 : -1));
}
