/**
 * Pages of lists. Every list continues after a cursor: the id of the last row, which the client got as `nextCursor`. Rows that are
 * added or removed meanwhile neither repeat nor skip the others. Lists that the specification pages by `offset` accept it as well.
 */
import { AssayError } from './errors.ts';

/** The requested part of a list. */
export interface PageRequest {
  /** At least 1. */
  readonly limit: number;
  /** Rows that are skipped, after the cursor if there is one. */
  readonly offset: number;
  /** Continues after this row. */
  readonly cursor?: string;
}

/** The end of a page. */
export interface PageEnd {
  /** Cursor of the next page; null if no row follows. */
  readonly nextCursor: string | null;
}

/** Creates the error of a cursor that the list did not return. Cursors come from clients, so every list checks their form. */
export const invalidCursor = (): AssayError =>
  new AssayError('INVALID_REQUEST', 'cursor: not a cursor returned by this endpoint.', { field: 'cursor' });

/**
 * Returns the sequence number of a cursor that is one.
 *
 * @throws INVALID_REQUEST if it is not a number
 */
export function sequenceOfCursor(cursor: string): number {
  if (!/^[1-9]\d{0,14}$/.test(cursor)) throw invalidCursor();
  return Number(cursor);
}
