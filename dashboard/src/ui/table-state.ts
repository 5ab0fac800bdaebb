/** The state of a table: sort and filters in the URL, the choice of columns in the browser. */
import { useMemo, useState } from 'react';
import { useUrlState } from './url-state.ts';

export interface TableState {
  /** Text that a row must contain. */
  readonly find: string;
  readonly sort: { readonly id: string; readonly desc: boolean } | null;
  /** Chosen value by column. */
  readonly only: Readonly<Record<string, string>>;
  readonly hidden: readonly string[];
  readonly setFind: (text: string) => void;
  readonly setSort: (sort: TableState['sort']) => void;
  readonly setOnly: (column: string, value: string) => void;
  readonly setHidden: (columns: readonly string[]) => void;
}

const storedAt = (table: string): string => `assay.columns.${table}`;

function readHidden(table: string): readonly string[] | null {
  const stored = localStorage.getItem(storedAt(table));
  return stored === null ? null : stored.split(',').filter((id) => id !== '');
}

/**
 * Returns the state of a table.
 *
 * @param table - id of the table; its parameters in the URL begin with it
 * @param hiddenAtFirst - columns that are hidden until the person chooses
 */
export function useTableState(table: string, hiddenAtFirst: readonly string[]): TableState {
  const [search, change] = useUrlState();
  const [chosen, setChosen] = useState(() => readHidden(table));
  return useMemo((): TableState => {
    const sort = search[`${table}.sort`] ?? '';
    const prefix = `${table}.only.`;
    return {
      find: search[`${table}.find`] ?? '',
      sort: sort === '' ? null : { id: sort.replace(/^-/, ''), desc: sort.startsWith('-') },
      only: Object.fromEntries(
        Object.entries(search)
          .filter(([name, value]) => name.startsWith(prefix) && value !== undefined && value !== '')
          .map(([name, value]) => [name.slice(prefix.length), value as string]),
      ),
      hidden: chosen ?? hiddenAtFirst,
      setFind: (text) => change({ [`${table}.find`]: text }),
      setSort: (next) =>
        change({ [`${table}.sort`]: next === null ? '' : `${next.desc ? '-' : ''}${next.id}` }),
      setOnly: (column, value) => change({ [`${prefix}${column}`]: value }),
      setHidden: (columns) => {
        localStorage.setItem(storedAt(table), columns.join(','));
        setChosen(columns);
      },
    };
  }, [search, change, table, chosen, hiddenAtFirst]);
}
