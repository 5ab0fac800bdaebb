/** State of a component in the query of the URL, so that a link shows the same. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

export type Search = Readonly<Record<string, string | undefined>>;

/** Parses a query; every value is a text. */
export const parseSearch = (query: string): Search => Object.fromEntries(new URLSearchParams(query));

/** Writes a query. Values that are absent or empty are left out. */
export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

export interface ChangeOptions {
  /** Whether the change is a step of its own, to which the browser's "back" leads: another tab or answer, not a filter. */
  readonly isStep?: boolean;
}

/** Returns the query, and a function that changes some of its values. A change that is no step replaces the entry in the history. */
export function useUrlState(): readonly [Search, (changes: Search, options?: ChangeOptions) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Search, { isStep = false }: ChangeOptions = {}) => {
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, ...changes })) as never,
        replace: !isStep,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return useMemo(() => [search, change] as const, [search, change]);
}

/**
 * The text of a field that is kept in the URL. The URL follows a moment after each key: a field that waited for it would move the cursor to
 * its end, and break an input of several keys, such as Japanese.
 *
 * @param stored - the text in the URL
 * @param store - changes it there
 */
export function useTypedText(
  stored: string,
  store: (text: string) => void,
): readonly [string, (text: string) => void] {
  const [text, setText] = useState(stored);
  // Texts of the person that the URL does not have yet. Any other text comes from a link, or from the way back.
  const typed = useRef<readonly string[]>([]);
  useEffect(() => {
    const at = typed.current.lastIndexOf(stored);
    if (at < 0) setText(stored);
    else typed.current = typed.current.slice(at + 1);
  }, [stored]);
  const type = (next: string): void => {
    typed.current = [...typed.current, next];
    setText(next);
    store(next);
  };
  return [text, type];
}
