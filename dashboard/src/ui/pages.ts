/** Lists that are read page by page, by cursor. */
import { useInfiniteQuery } from '@tanstack/react-query';

interface CursorPage {
  readonly nextCursor: string | null;
}

/**
 * Reads a list page by page.
 *
 * @param read - reads the page at a cursor; the first one without
 */
export function usePages<Page extends CursorPage>(
  queryKey: readonly unknown[],
  read: (cursor: { readonly cursor?: string }, signal: AbortSignal) => Promise<Page>,
  isEnabled = true,
) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read(pageParam === '' ? {} : { cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }: Page) => nextCursor ?? undefined,
    enabled: isEnabled,
  });
}
