/** Reads entries of the usual kind as columns: see PlainEntry. */
import { ByteReader } from '../graph/store/bytes.ts';
import { HUB_SHARE_UNITS, PLAIN_MAX, PLAIN_POINTS_MAX, type PlainEntry } from '../screening/exposure-port.ts';
import {
  DERIVED,
  EARLIER,
  HAS_ASSET,
  LEFT_OUT,
  NAMES_MAX,
  NOTES,
  newRowFields,
  PART_HAS_ASSET,
  readRowFields,
  UNFOLLOWED,
} from './record.ts';

const NOT_PLAIN = DERIVED | EARLIER | LEFT_OUT | NOTES;
const HUNDREDTHS_MAX = 10_000;
const COMMA = 0x2c;
const SPACE = 0x20;
/** The row has names. In its key, beside its first byte, its category and its evidence and severity. */
const NAMED = 1 << 24;

const reader = new ByteReader();
const fields = newRowFields();

/**
 * Reads the entry at `at` into `plain`.
 *
 * @returns false if it is not plain, also if its rows are of unknown kinds, so that `readRecord` reports what is wrong with them
 * @throws STORE_CORRUPT if the bytes end before the entry
 */
export function readPlainEntry(bytes: Buffer, at: number, plain: PlainEntry): boolean {
  reader.open(bytes, at);
  const flags = reader.byte();
  if ((flags & NOT_PLAIN) !== 0) return false;
  plain.parts = 0;
  return ((flags & UNFOLLOWED) === 0 || readParts(plain)) && readRows(plain);
}

function readParts(plain: PlainEntry): boolean {
  const count = reader.varint();
  if (count > PLAIN_MAX) return false;
  for (let part = 0; part < count; part++) {
    const head = reader.byte();
    // Stored units start at 1; 0 is a part without a share.
    const units = reader.varint() - 1;
    if ((head & PART_HAS_ASSET) !== 0 || units < 0 || units > HUB_SHARE_UNITS) return false;
    plain.partKeys[part] = head;
    plain.partHundredths[part] = units;
  }
  plain.parts = count;
  return true;
}

function readRows(plain: PlainEntry): boolean {
  const count = reader.varint();
  if (count > PLAIN_MAX) return false;
  let end = 0;
  for (let row = 0; row < count; row++) {
    readRowFields(reader, fields);
    const { head, category, points, hundredths, kinds, names } = fields;
    if ((head & HAS_ASSET) !== 0 || hundredths > HUNDREDTHS_MAX || names > NAMES_MAX) return false;
    if (points > PLAIN_POINTS_MAX || points < -PLAIN_POINTS_MAX) return false;
    plain.rowKeys[row] = (names === 0 ? 0 : NAMED) | (kinds << 16) | (head << 8) | category;
    plain.rowPoints[row] = points;
    plain.rowHundredths[row] = hundredths;
    if (names > 0) end = readNames(names, plain.names, end);
    if (end < 0) return false;
    plain.nameEnds[row] = end;
  }
  plain.rows = count;
  return true;
}

/** Reads names to `out[from, …)`. Returns the offset behind them; -1 if one is not plain. */
function readNames(count: number, out: Buffer, from: number): number {
  const { bytes } = reader;
  let at = from;
  for (let name = 0; name < count; name++) {
    if (name > 0) {
      out[at++] = COMMA;
      out[at++] = SPACE;
    }
    const length = reader.byte();
    const end = reader.at + length;
    if (end > reader.end) return -1;
    for (let index = reader.at; index < end; index++) {
      const unit = bytes[index] as number;
      if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return -1;
      out[at++] = unit;
    }
    reader.at = end;
  }
  return at;
}
