/** Byte ranges and conditions of a response (RFC 9110, sections 13 and 14). */

/** Bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const ONE_RANGE = /^bytes *= *(\d{0,15})-(\d{0,15}) *$/i;

/**
 * Parses a Range header for a resource of `length` bytes.
 *
 * @returns `whole` if the header is absent, malformed, of another unit, or names several ranges (a server may ignore these); `none`
 * if no byte of the range exists
 */
export function rangeOf(header: string, length: number): ByteRange | 'whole' | 'none' {
  const [, first = '', last = ''] = ONE_RANGE.exec(header) ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') {
    const wanted = Math.min(Number(last), length);
    return wanted === 0 ? 'none' : { start: length - wanted, end: length };
  }
  const start = Number(first);
  const end = last === '' ? length : Math.min(Number(last) + 1, length);
  // A range with its last byte before its first is invalid and is ignored.
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= length ? 'none' : { start, end };
}

/**
 * Whether an If-Range header allows a range response: it is absent or names exactly this version. A date never matches, because no
 * Last-Modified header is sent.
 */
export const mayAnswerRange = (ifRange: string, etag: string): boolean =>
  ifRange === '' || ifRange.trim() === etag;

/** Whether an If-None-Match header contains the tag, by weak comparison (RFC 9110, section 13.1.2). */
export function namesTag(header: string, tag: string): boolean {
  const opaque = (text: string): string => text.replace(/^W\//, '');
  return header.split(',').some((one) => {
    const trimmed = one.trim();
    return trimmed === '*' || opaque(trimmed) === opaque(tag);
  });
}
