/** The binary format of an index entry: the rows of a score breakdown that come from transfers, and the shares that ended at hubs. */
import { AssayError } from '../base/errors.ts';
import { ByteReader, type ByteWriter } from '../graph/store/bytes.ts';
import { EVIDENCE_CLASSES } from '../labels/evidence-class.ts';
import { CATEGORIES } from '../labels/taxonomy.ts';
import type { UnfollowedPart } from '../risk/reasons.ts';
import type { ScoreFactor } from '../risk/score.ts';
import type { EarlierDealing, EarlierParty } from '../screening/before-designation.ts';
import {
  type ExposureNote,
  type ExposureVerdict,
  HUB_SHARE_UNITS,
  NOTE_CODES,
} from '../screening/exposure-port.ts';

/** Parts that were not followed are included: they ended at hubs, or the walk was cut off. */
export const UNFOLLOWED = 1;
/** There is risk or a hub in the direction, possibly without points: addresses that pass value through this one depend on it. */
const FLOWS_IN = 4;
const FLOWS_OUT = 8;
export const DERIVED = 16;
/** Dealings before a designation follow. */
export const EARLIER = 32;
/** Rows without derived labels follow the rows. */
export const LEFT_OUT = 64;
/** Notes follow at the end. */
export const NOTES = 128;

/** First byte of a row: its kind (2 bits), 4 if it is about sent value, 8 if an asset follows, and the hops in the upper bits. */
const KINDS = ['DIRECT_EXPOSURE', 'INDIRECT_EXPOSURE', 'UNSOLICITED_INBOUND'] as const;
const SENT = 4;
export const HAS_ASSET = 8;
const HOPS_SHIFT = 4;
/** A byte of a row: the class of its evidence (2 bits), and its severity in the upper bits. */
const SEVERITIES: readonly ScoreFactor['severity'][] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];
const CLASS_MASK = 3;
const SEVERITY_SHIFT = 2;

/** First byte of a part that was not followed: its code (1 bit), then the bits below. */
const CODES = ['HUB_NOT_FOLLOWED', 'WALK_CUT'] as const;
const CODE_MASK = 1;
const PART_SENT = 2;
export const PART_HAS_ASSET = 4;

/** Maximum number of names per row: the reasons in a response show three. */
export const NAMES_MAX = 3;
/** Maximum bytes per name: a label may contain any text. */
const TEXT_BYTES_MAX = 120;

/** Numbers of the categories in an entry; the meta of an index lists them, so that a change of their order is detected. */
export const RECORD_CATEGORIES: readonly ScoreFactor['category'][] = ['UNKNOWN', ...CATEGORIES];
const CATEGORY_NUMBERS: ReadonlyMap<string, number> = new Map(
  RECORD_CATEGORIES.map((category, at) => [category, at]),
);

export interface ExposureRecord extends ExposureVerdict {
  /** Whether non-neutral value was found in the direction, with or without points. */
  readonly flows: { readonly in: boolean; readonly out: boolean };
}

/** Returns true for a record that adds nothing to a response: no row, and no part that was not followed. */
export const isSilentRecord = ({
  factors,
  pointsWithoutDerived,
  factorsLeftOut,
  unfollowed,
  earlier,
  notes,
}: ExposureVerdict): boolean =>
  factors.length === 0 &&
  pointsWithoutDerived === null &&
  factorsLeftOut === null &&
  unfollowed.length === 0 &&
  earlier.length === 0 &&
  notes.length === 0;

/** Returns true for a record that needs no entry. */
export const isEmptyRecord = (record: ExposureRecord): boolean =>
  isSilentRecord(record) && !record.flows.in && !record.flows.out;

function writeText(out: ByteWriter, text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  let length = bytes.length;
  if (length > TEXT_BYTES_MAX) {
    length = TEXT_BYTES_MAX;
    // Do not cut a character in two.
    while (((bytes[length] as number) & 0xc0) === 0x80) length--;
  }
  out.byte(length);
  out.copy(bytes, 0, length);
}

/** Converts a share to units, starting at 1; 0 if there is no share. */
const unitsOf = (share: number | null): number =>
  share === null ? 0 : 1 + Math.round(share * HUB_SHARE_UNITS);
const shareOf = (units: number): number | null => (units === 0 ? null : (units - 1) / HUB_SHARE_UNITS);

function writeUnfollowed(out: ByteWriter, parts: ExposureRecord['unfollowed']): void {
  out.varint(parts.length);
  for (const { code, direction, asset, share } of parts) {
    const sent = direction === 'out' ? PART_SENT : 0;
    out.byte(CODES.indexOf(code) | sent | (asset === null ? 0 : PART_HAS_ASSET));
    out.varint(unitsOf(share));
    if (asset !== null) writeText(out, asset);
  }
}

function readUnfollowed(): UnfollowedPart[] {
  const parts: UnfollowedPart[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    const head = reader.byte();
    const share = shareOf(reader.varint());
    parts.push({
      code: CODES[head & CODE_MASK] as UnfollowedPart['code'],
      direction: head & PART_SENT ? 'out' : 'in',
      asset: head & PART_HAS_ASSET ? reader.text(reader.byte()) : null,
      share,
    });
  }
  return parts;
}

const PARTY_TEXTS = ['entityId', 'entity', 'category', 'list', 'entityName', 'listedAt', 'source'] as const;

function writeEarlier(
  out: ByteWriter,
  earlier: ExposureRecord['earlier'],
  numberOf: (party: EarlierParty) => number | null,
): void {
  out.varint(earlier.length);
  for (const { party, lastDay } of earlier) {
    out.varint(lastDay);
    const number = numberOf(party);
    out.varint(number === null ? 0 : number + 1);
    if (number !== null) continue;
    for (const field of PARTY_TEXTS) {
      const bytes = Buffer.from(party[field], 'utf8');
      out.varint(bytes.length);
      out.copy(bytes, 0, bytes.length);
    }
  }
}

function readEarlier(parties: readonly EarlierParty[]): EarlierDealing[] {
  const earlier: EarlierDealing[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    const lastDay = reader.varint();
    const number = reader.varint();
    const texts: Record<string, string> = {};
    if (number === 0) for (const field of PARTY_TEXTS) texts[field] = reader.text(reader.varint());
    const party = number === 0 ? (texts as unknown as EarlierParty) : parties[number - 1];
    if (party === undefined)
      throw new AssayError(
        'STORE_CORRUPT',
        'An exposure index refers to a designated party that it does not contain.',
      );
    earlier.push({ party, lastDay });
  }
  return earlier;
}

/**
 * Appends an entry.
 *
 * @param numberOf - returns the index of a designated party in the list that the reader has; null if it is not there, in which case the
 *   entry contains its texts
 */
export function writeRecord(
  out: ByteWriter,
  record: ExposureRecord,
  numberOf: (party: EarlierParty) => number | null = () => null,
): void {
  const { factors, pointsWithoutDerived, factorsLeftOut, unfollowed, flows, earlier, notes } = record;
  out.byte(
    (unfollowed.length === 0 ? 0 : UNFOLLOWED) |
      (flows.in ? FLOWS_IN : 0) |
      (flows.out ? FLOWS_OUT : 0) |
      (pointsWithoutDerived === null ? 0 : DERIVED) |
      (earlier.length === 0 ? 0 : EARLIER) |
      (factorsLeftOut === null ? 0 : LEFT_OUT) |
      (notes.length === 0 ? 0 : NOTES),
  );
  if (pointsWithoutDerived !== null) out.signed(pointsWithoutDerived);
  if (unfollowed.length > 0) writeUnfollowed(out, unfollowed);
  if (earlier.length > 0) writeEarlier(out, earlier, numberOf);
  writeFactors(out, factors);
  if (factorsLeftOut !== null) writeFactors(out, factorsLeftOut);
  if (notes.length > 0) writeNotes(out, notes);
}

function writeNotes(out: ByteWriter, notes: ExposureRecord['notes']): void {
  out.varint(notes.length);
  for (const { code, category, message } of notes) {
    out.byte(NOTE_CODES.indexOf(code));
    out.byte(CATEGORY_NUMBERS.get(category) as number);
    const bytes = Buffer.from(message, 'utf8');
    out.varint(bytes.length);
    out.copy(bytes, 0, bytes.length);
  }
}

function readNotes(): ExposureNote[] {
  const notes: ExposureNote[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    const code = NOTE_CODES[reader.byte()];
    const category = RECORD_CATEGORIES[reader.byte()];
    if (code === undefined || category === undefined)
      throw new AssayError('STORE_CORRUPT', 'An exposure index contains a note of an unknown kind.');
    notes.push({ code, category, message: reader.text(reader.varint()) });
  }
  return notes;
}

function writeFactors(out: ByteWriter, factors: readonly ScoreFactor[]): void {
  out.varint(factors.length);
  for (const row of factors) {
    const kind = KINDS.indexOf(row.factor as (typeof KINDS)[number]);
    if (kind < 0) throw new AssayError('INTERNAL', `An exposure index cannot store a row of ${row.factor}.`);
    out.byte(
      kind |
        (row.direction === 'out' ? SENT : 0) |
        (row.asset === null ? 0 : HAS_ASSET) |
        (row.hops << HOPS_SHIFT),
    );
    out.byte(CATEGORY_NUMBERS.get(row.category) as number);
    out.signed(row.points);
    out.varint(Math.round(row.percentage * 100));
    out.byte(EVIDENCE_CLASSES.indexOf(row.class) | (SEVERITIES.indexOf(row.severity) << SEVERITY_SHIFT));
    const names = row.evidence.slice(0, NAMES_MAX);
    out.byte(names.length);
    for (const name of names) writeText(out, name);
    if (row.asset !== null) writeText(out, row.asset);
  }
}

const reader = new ByteReader();

/** Like `isSilentRecord`, for the bytes of an entry. */
export const isSilent = (bytes: Buffer, at: number): boolean =>
  ((bytes[at] as number) & ~(FLOWS_IN | FLOWS_OUT)) === 0 && bytes[at + 1] === 0;

/**
 * Reads the entry at `at`.
 *
 * @param parties - designated parties by their index
 * @throws STORE_CORRUPT if the bytes are not a whole entry
 */
export function readRecord(bytes: Buffer, at: number, parties: readonly EarlierParty[] = []): ExposureRecord {
  reader.open(bytes, at);
  const flags = reader.byte();
  const pointsWithoutDerived = flags & DERIVED ? reader.signed() : null;
  const unfollowed = flags & UNFOLLOWED ? readUnfollowed() : [];
  const earlier = flags & EARLIER ? readEarlier(parties) : [];
  const factors = readFactors();
  const factorsLeftOut = flags & LEFT_OUT ? readFactors() : null;
  const notes = flags & NOTES ? readNotes() : [];
  return {
    factors,
    pointsWithoutDerived,
    factorsLeftOut,
    unfollowed,
    earlier,
    notes,
    flows: { in: (flags & FLOWS_IN) !== 0, out: (flags & FLOWS_OUT) !== 0 },
  };
}

/** The fields of a row before its names. */
export interface RowFields {
  head: number;
  category: number;
  points: number;
  hundredths: number;
  kinds: number;
  /** Number of names. */
  names: number;
}

export const newRowFields = (): RowFields => ({
  head: 0,
  category: 0,
  points: 0,
  hundredths: 0,
  kinds: 0,
  names: 0,
});

/** Reads the fields of a row before its names into `row`. */
export function readRowFields(from: ByteReader, row: RowFields): void {
  row.head = from.byte();
  row.category = from.byte();
  row.points = from.signed();
  row.hundredths = from.varint();
  row.kinds = from.byte();
  row.names = from.byte();
}

const fields = newRowFields();

/**
 * Cache of rows that many entries share, by a number of their bytes; cleared when full. 65,536 rows with their rendered reasons are about
 * 40 MB.
 */
const SHARED_ROWS_MAX = 65_536;
let sharedRows = new Map<number, ScoreFactor>();

/**
 * Reads the rows of a breakdown. Rows without names and without an asset are the same object if their bytes are equal: most rows are
 * about entities some hops away, and results that are derived from such a row can be reused.
 */
function readFactors(): ScoreFactor[] {
  const factors: ScoreFactor[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    readRowFields(reader, fields);
    const { head, category, points, hundredths, kinds, names } = fields;
    const isShared =
      names === 0 && (head & HAS_ASSET) === 0 && Math.abs(points) <= 100 && hundredths <= 10_000;
    // Less than 2^46, so that the number is exact.
    const name =
      (((points + 128) * 2 ** 14 + hundredths) * 2 ** 8 + kinds) * 2 ** 16 + head * 2 ** 8 + category;
    const known = isShared ? sharedRows.get(name) : undefined;
    if (known !== undefined) {
      factors.push(known);
      continue;
    }
    const evidence: string[] = [];
    for (let text = 0; text < names; text++) evidence.push(reader.text(reader.byte()));
    const asset = head & HAS_ASSET ? reader.text(reader.byte()) : null;
    const row = rowOf({ head, category, points, hundredths, kinds, evidence, asset });
    factors.push(row);
    if (!isShared) continue;
    if (sharedRows.size >= SHARED_ROWS_MAX) sharedRows = new Map();
    sharedRows.set(name, row);
  }
  return factors;
}

/** The fields of a row in the bytes. */
interface StoredRow extends Pick<ScoreFactor, 'points' | 'evidence' | 'asset'> {
  readonly head: number;
  readonly category: number;
  readonly hundredths: number;
  readonly kinds: number;
}

function rowOf({ head, category, points, hundredths, kinds, evidence, asset }: StoredRow): ScoreFactor {
  const factor = KINDS[head & 3];
  const evidenceClass = EVIDENCE_CLASSES[kinds & CLASS_MASK];
  const severity = SEVERITIES[kinds >> SEVERITY_SHIFT];
  const named = RECORD_CATEGORIES[category];
  if (factor === undefined || named === undefined || evidenceClass === undefined || severity === undefined)
    throw new AssayError('STORE_CORRUPT', 'An exposure index contains a row of an unknown kind.');
  return {
    factor,
    category: named,
    riskType: factor === 'INDIRECT_EXPOSURE' ? 'INDIRECT' : 'COUNTERPARTY',
    direction: head & SENT ? 'out' : 'in',
    percentage: hundredths / 100,
    valueUsd: null,
    hops: head >> HOPS_SHIFT,
    points,
    severity,
    evidence,
    asset,
    class: evidenceClass,
  };
}
