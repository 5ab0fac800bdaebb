/** Pages of lists: the parameters that all lists have become one request, and the end of a page one set of fields. */
import { setImmediate } from 'node:timers/promises';
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor, type PageEnd, type PageRequest } from '../../../base/paging.ts';

interface PageQuery {
  readonly limit: number;
  readonly offset?: number;
  readonly cursor?: string;
}

/**
 * Returns the requested part of a list.
 *
 * @throws INVALID_REQUEST if both an offset and a cursor are given
 */
export function pageOf({ limit, offset = 0, cursor }: PageQuery): PageRequest {
  if (cursor === undefined) return { limit, offset };
  if (offset === 0) return { limit, offset, cursor };
  throw new AssayError('INVALID_REQUEST', 'offset: must not be given with cursor.', { field: 'offset' });
}

/** Returns the end of a page in a response, as `pageFields` describes it. */
export const pageEnd = ({ limit }: Pick<PageQuery, 'limit'>, { nextCursor }: PageEnd) => ({
  limit,
  hasMore: nextCursor !== null,
  nextCursor,
});

/**
 * Fills a page of a search in steps, between which the thread does its other work. The page may be short although more rows match.
 *
 * @param stepsMax - the most steps of one page
 * @param step - reads a bounded number of records; its page may be short, too
 */
export async function pageInSteps<Row>(
  page: { readonly limit: number; readonly cursor?: string },
  stepsMax: number,
  step: (part: {
    readonly limit: number;
    readonly cursor?: string;
  }) => PageEnd & { readonly rows: readonly Row[] },
): Promise<PageEnd & { readonly rows: readonly Row[] }> {
  let { rows, nextCursor } = step(page);
  for (let steps = 1; nextCursor !== null && rows.length < page.limit && steps < stepsMax; steps++) {
    await setImmediate();
    const part = step({ limit: page.limit - rows.length, cursor: nextCursor });
    rows = [...rows, ...part.rows];
    nextCursor = part.nextCursor;
  }
  return { rows, nextCursor };
}

/**
 * Returns a page of a list that is in memory.
 *
 * @throws INVALID_REQUEST if the cursor is not the id of a row
 */
export function pageOfAll<Row extends { readonly id: string }>(
  all: readonly Row[],
  { limit, cursor }: Pick<PageQuery, 'limit' | 'cursor'>,
) {
  const before = cursor === undefined ? -1 : all.findIndex(({ id }) => id === cursor);
  if (cursor !== undefined && before < 0) throw invalidCursor();
  const rows = all.slice(before + 1, before + 1 + limit);
  const hasMore = all.length > before + 1 + rows.length;
  const nextCursor = hasMore ? (rows.at(-1)?.id ?? null) : null;
  return { rows, total: all.length, ...pageEnd({ limit }, { nextCursor }) };
}

/** Returns the end of a page of a list that can also be paged by `offset`. */
export const offsetEnd = (page: PageRequest, end: PageEnd & { readonly total: number }) => ({
  total: end.total,
  ...pageEnd(page, end),
  offset: page.offset,
});
