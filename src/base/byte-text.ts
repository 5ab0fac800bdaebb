/** Writes texts and numbers as bytes, for responses that are put together from parts. A write that does not fit returns -1. */

/**
 * Returns the bytes of a text that answers copy, in memory of their own: they are cached, and each small buffer from the common pool of
 * Node would keep 8 KB alive for as long as it is.
 */
export function fragment(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, 'utf8'));
  bytes.write(text, 'utf8');
  return bytes;
}

/** Up to this length, a loop is faster than the call of `set`. */
const LOOP_BYTES_MAX = 20;

/** Copies `source` into `out` at `offset`. Returns the offset behind it; -1 if it does not fit or `offset` is negative. */
export function copyInto(source: Buffer, out: Buffer, offset: number): number {
  const { length } = source;
  if (offset < 0 || offset + length > out.length) return -1;
  if (length > LOOP_BYTES_MAX) out.set(source, offset);
  else for (let index = 0; index < length; index++) out[offset + index] = source[index] as number;
  return offset + length;
}

/** Writes a whole number of 0 or more, or `null`. */
export function integerInto(value: number | null, out: Buffer, offset: number): number {
  if (value === null || value >>> 0 !== value) return textInto(String(value), out, offset);
  let digits = 1;
  for (let rest = value; rest >= 10; rest /= 10) digits++;
  if (offset < 0 || offset + digits > out.length) return -1;
  let rest = value;
  for (let at = offset + digits - 1; at >= offset; at--) {
    const tenth = (rest / 10) >>> 0;
    out[at] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
  return offset + digits;
}

/** The digits behind the whole number, by hundredths. */
const FRACTIONS = Array.from({ length: 100 }, (_, hundredths) => fragment(String(hundredths / 100).slice(1)));

/** Writes a whole number of hundredths, 0 or more, as JavaScript writes the number: without zeros at the end. */
export const hundredthsInto = (value: number, out: Buffer, offset: number): number =>
  copyInto(FRACTIONS[value % 100] as Buffer, out, integerInto((value / 100) >>> 0, out, offset));

/** Writes a text as UTF-8. Returns the offset behind it; -1 if three bytes per character do not fit or `offset` is negative. */
export const textInto = (text: string, out: Buffer, offset: number): number => {
  if (offset < 0 || offset + text.length * 3 > out.length) return -1;
  return offset + out.write(text, offset);
};

/** Characters of ASCII that a loop writes faster than the call of `write`. */
const LOOP_CHARACTERS_MAX = 128;

/** Writes a text of printable ASCII without quotes and backslashes. Returns -1 at another character, after a part. */
function plainInto(text: string, out: Buffer, offset: number): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return -1;
    out[offset + index] = unit;
  }
  return offset + text.length;
}

/** Writes a text as JSON.stringify does, without the quotes around it. Returns the same as `textInto`. */
export function jsonTextInto(text: string, out: Buffer, offset: number): number {
  if (offset < 0 || offset + text.length > out.length) return -1;
  const end = text.length <= LOOP_CHARACTERS_MAX ? plainInto(text, out, offset) : -1;
  return end >= 0 ? end : textInto(JSON.stringify(text).slice(1, -1), out, offset);
}
