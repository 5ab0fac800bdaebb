/**
 * The bytes of steps and of their replies between a node and the script in Redis, as the library `struct` of the script reads and writes them
 * (https://redis.io/docs/latest/develop/programmability/lua-api/#struct-library). One text for all steps of a script costs both sides less than
 * an argument for each value, and a number in it less than its digits.
 */

/** A value of a step. */
export type StepValue = string | number | Uint8Array;

/** The reply of a step: numbers, texts as bytes, and lists of them. */
export type Reply = readonly (number | Buffer | Reply)[];

const NUMBER_BYTES = 8;
const FORMAT_LENGTH_BYTES = 2;
/** Bytes of the format of one value, at most. */
const FORMAT_BYTES_MAX = 4;
/** Longest text that has one byte for its length. */
const SHORT_MAX = 0xff;
/** Bytes of a UTF-8 text for one of its UTF-16 units. */
const UTF8_BYTES_MAX = 3;
/** Longest text that is copied character by character, which is faster than a call for it. */
const COPIED_TEXT_MAX = 64;

/** Little-endian; a double. */
const LITTLE_ENDIAN = '<'.charCodeAt(0);
const DOUBLE = 'd'.charCodeAt(0);
/** A text after its length, in one byte or in four. */
const SHORT_TEXT = Buffer.from('Bc0');
const LONG_TEXT = Buffer.from('I4c0');

/** Where steps are written, before their bytes are copied. */
let scratch = Buffer.allocUnsafeSlow(64 * 1024);

function reserve(end: number): void {
  if (end <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(2 * end);
  scratch.copy(larger);
  scratch = larger;
}

/** True if the length of a text is written in one byte. */
const isShort = (value: string | Uint8Array): boolean =>
  value.length * (typeof value === 'string' ? UTF8_BYTES_MAX : 1) <= SHORT_MAX;

/** Writes the format of the values of a step after its length; returns the position after it. */
function writeFormat(values: readonly StepValue[], start: number): number {
  let end = start + FORMAT_LENGTH_BYTES;
  scratch[end++] = LITTLE_ENDIAN;
  for (const value of values) {
    if (typeof value === 'number') scratch[end++] = DOUBLE;
    else for (const byte of isShort(value) ? SHORT_TEXT : LONG_TEXT) scratch[end++] = byte;
  }
  scratch.writeUInt16LE(end - start - FORMAT_LENGTH_BYTES, start);
  return end;
}

/** Writes a text; returns its length in bytes. */
function writeText(text: string, at: number): number {
  const { length } = text;
  if (length > COPIED_TEXT_MAX) return scratch.write(text, at, 'utf8');
  for (let position = 0; position < length; position++) {
    const unit = text.charCodeAt(position);
    if (unit > 0x7f) return scratch.write(text, at, 'utf8');
    scratch[at + position] = unit;
  }
  return length;
}

/** Writes a value; returns the position after it. */
function writeValue(value: StepValue, at: number): number {
  if (typeof value === 'number') return scratch.writeDoubleLE(value, at);
  const short = isShort(value);
  const start = at + (short ? 1 : 4);
  reserve(start + value.length * (typeof value === 'string' ? UTF8_BYTES_MAX : 1) + NUMBER_BYTES);
  let { length } = value;
  if (typeof value === 'string') length = writeText(value, start);
  else scratch.set(value, start);
  if (short) scratch[at] = length;
  else scratch.writeUInt32LE(length, at);
  return start + length;
}

/** Returns the bytes of steps in their order: for each the length of a format of `struct`, the format, and the values in it. */
export function packSteps(steps: readonly (readonly StepValue[])[]): Buffer {
  let end = 0;
  for (const values of steps) {
    reserve(end + FORMAT_LENGTH_BYTES + 1 + values.length * (FORMAT_BYTES_MAX + NUMBER_BYTES));
    end = writeFormat(values, end);
    for (const value of values) end = writeValue(value, end);
  }
  return Buffer.copyBytesFrom(scratch, 0, end);
}

/** Returns the reply of a step: a list, or the doubles of one that has only numbers. */
export function unpackReply(reply: Reply | Buffer): Reply {
  if (!Buffer.isBuffer(reply)) return reply;
  const numbers: number[] = [];
  for (let at = 0; at < reply.length; at += NUMBER_BYTES) numbers.push(reply.readDoubleLE(at));
  return numbers;
}
