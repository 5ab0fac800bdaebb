/** Ranges of bytes, as a client asks for part of an answer (RFC 9110, section 14). */

/** From `start` up to `end`, behind the last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const ONE_RANGE = /^bytes *= *(\d{0,15})-(\d{0,15}) *$/i;

/**
 * What a Range header asks for of `length` bytes: `whole` where there is none, it is of another unit or form, or names several
 * ranges (which a server may answer so); `none` where nothing of it is there.
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
  // A last byte before the first is no range at all.
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= length ? 'none' : { start, end };
}

/** Whether an If-Range header lets a range be answered: it names this very version. A date never does, for none is sent. */
export const mayAnswerRange = (ifRange: string, etag: string): boolean =>
  ifRange === '' || ifRange.trim() === etag;
