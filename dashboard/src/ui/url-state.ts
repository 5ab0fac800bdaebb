/** State of a component in the query of the URL, so that a link shows the same. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

export type Search = Readonly<Record<string, string | undefined>>;

/** Parses a query; every value is a text. */
export const parseSearch = (query: string): Search => Object.fromEntries(new URLSearchParams(query));

/** Writes a query. Values that are absent or empty are left out. */
export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the query, and a function that changes some of its values without a new entry in the history. */
export function useUrlState(): readonly [Search, (changes: Search) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Search) => {
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, ...changes })) as never,
        replace: true,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return useMemo(() => [search, change] as const, [search, change]);
}
