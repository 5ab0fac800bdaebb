/** Times that clients send. */
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
