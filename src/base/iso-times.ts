/** Times in texts: those that clients send, and those of files. */
import { AssayError } from './errors.ts';

const ISO_SHAPE =
  /^(\d{4}-\d{2}-\d{2})(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))?$/;

/**
 * Returns the milliseconds of an ISO 8601 date or time.
 *
 * @throws INVALID_REQUEST
 */
export function timeOf(field: string, text: string): number {
  const [, day] = ISO_SHAPE.exec(text) ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(text);
  // Date.parse accepts the 31st of every month.
  const isDay = day !== undefined && !Number.isNaN(ms) && new Date(day).toISOString().startsWith(day);
  if (isDay) return ms;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: must be an ISO 8601 date or time with a time zone, such as 2026-12-31 or 2026-12-31T17:00:00Z.`,
    { field },
  );
}

/** The end of a text that names its time zone: `Z`, `UTC`, an offset behind a time, or a zone that `Date.parse` knows. */
const ZONE =
  /(?:Z|\b(?:UTC|GMT|[ECMP][SD]T)|:\d{2}(?:\.\d+)?\s*(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?)(?:\s*\([^)]*\))?\s*$/i;

/**
 * Returns the milliseconds of a date or time as `Date.parse` does, but a time without a zone is in UTC: `Date.parse` takes the zone of the
 * machine, so the same file would give other times on another machine.
 *
 * @returns NaN if the text is not a date or time
 */
export function utcTimeOf(text: string): number {
  if (ZONE.test(text)) return Date.parse(text);
  const ms = Date.parse(`${text}Z`);
  return Number.isNaN(ms) ? Date.parse(`${text} UTC`) : ms;
}
