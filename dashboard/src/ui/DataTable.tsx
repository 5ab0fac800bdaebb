/**
 * Tables: sort, filters and columns by choice, CSV, and the keyboard. Sort and filters are in the URL. Long tables keep only the visible rows
 * in the document.
 */
import { Menu } from '@base-ui/react/menu';
import {
  columnFilteringFeature,
  columnVisibilityFeature,
  createFilteredRowModel,
  createSortedRowModel,
  globalFilteringFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useMemo, useRef } from 'react';
import { useI18n } from '../i18n/index.tsx';
import { Button } from './Button.tsx';
import { type CsvValue, csvText } from './csv.ts';
import { Choice } from './Field.tsx';
import { Icon } from './icons.tsx';
import { plainText } from './plain-text.ts';
import { useIsPrinting } from './printing.ts';
import { csvName, saveFile } from './save-file.ts';
import { type TableState, useTableState } from './table-state.ts';
import { useTypedText } from './url-state.ts';

/** A column. */
export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** The value by which rows are sorted, filtered and exported. Null sorts last. */
  readonly value: (row: Row) => string | number | null;
  /** Default: the value as text. */
  readonly cell?: (row: Row) => ReactNode;
  /** Text of a value in the filter of the column. Default: the value. */
  readonly choice?: (value: string) => string;
  /** Rows can be filtered by one of the values of the column. */
  readonly hasFilter?: boolean;
  readonly isNumber?: boolean;
  /** Hidden until the person chooses the column. */
  readonly isHidden?: boolean;
}

export interface DataTableProps<Row> {
  /** Unique on the page; the parameters in the URL begin with it. */
  readonly id: string;
  /** The subject of the table, for screen readers and as the name of the file. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row, index: number) => string;
  /** Shown if there are no rows at all. */
  readonly empty?: ReactNode;
  /** Opens a row: by a click, or by Enter while the row has the focus. */
  readonly onOpen?: (row: Row) => void;
  /** False: no controls above the table, for tables of a few rows. */
  readonly hasControls?: boolean;
  readonly footer?: ReactNode;
}

/** Longer tables are virtual: an inbox of 100,000 rows has at most 200 in the document. */
const VIRTUAL_FROM = 150;
/** Height of a row in pixels, until it is measured. */
const ROW_PX = 37;
/** Rows that are kept above and below the visible ones. */
const OVERSCAN = 12;
/** Rows of a table on paper: 25 pages. The CSV file has all. */
const PRINTED_MAX = 1_000;

interface Indexed<Row> {
  readonly row: Row;
  readonly key: string;
}

/** Nulls are last in either direction, which `undefined` does in the library. */
const sortable = (value: string | number | null): string | number | undefined => value ?? undefined;

const features = tableFeatures({
  columnFilteringFeature,
  globalFilteringFeature,
  columnVisibilityFeature,
  rowSortingFeature,
  filteredRowModel: createFilteredRowModel(),
  sortedRowModel: createSortedRowModel(),
});

const compare = (a: unknown, b: unknown): number =>
  typeof a === 'number' && typeof b === 'number'
    ? a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true, sensitivity: 'base' });

/** Returns the rows that the state selects, in its order. */
function useSelectedRows<Row>(
  { columns, rows, rowKey }: Pick<DataTableProps<Row>, 'columns' | 'rows' | 'rowKey'>,
  state: TableState,
) {
  const data = useMemo(
    () => rows.map((row, index): Indexed<Row> => ({ row, key: rowKey(row, index) })),
    [rows, rowKey],
  );
  const definitions = useMemo(
    () =>
      columns.map((column) => ({
        id: column.id,
        accessorFn: ({ row }: Indexed<Row>) => sortable(column.value(row)),
        sortUndefined: 'last' as const,
        sortFn: (
          a: { getValue: (id: string) => unknown },
          b: { getValue: (id: string) => unknown },
          id: string,
        ) => compare(a.getValue(id), b.getValue(id)),
        filterFn: (row: { getValue: (id: string) => unknown }, id: string, wanted: unknown) =>
          String(row.getValue(id) ?? '') === wanted,
        enableGlobalFilter: true,
      })),
    [columns],
  );
  return useTable({
    features,
    data,
    columns: definitions as never,
    getRowId: ({ key }: Indexed<Row>) => key,
    globalFilterFn: ((row: { getValue: (id: string) => unknown }, id: string, text: string) =>
      String(row.getValue(id) ?? '')
        .toLowerCase()
        .includes(text.toLowerCase())) as never,
    getColumnCanGlobalFilter: () => true,
    state: {
      sorting: state.sort === null ? [] : [state.sort],
      globalFilter: state.find,
      columnFilters: Object.entries(state.only).map(([id, value]) => ({ id, value })),
      columnVisibility: Object.fromEntries(state.hidden.map((id) => [id, false])),
    },
  });
}

/** Shows a table. */
export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { id, caption, columns, rows, empty, hasControls = true, onOpen, footer } = props;
  const { t, number } = useI18n();
  const hiddenAtFirst = useMemo(
    () => columns.filter(({ isHidden }) => isHidden === true).map((column) => column.id),
    [columns],
  );
  const state = useTableState(id, hiddenAtFirst);
  const table = useSelectedRows(props, state);
  const frame = useRef<HTMLDivElement>(null);
  const selected = table.getRowModel().rows as unknown as readonly {
    readonly id: string;
    readonly original: Indexed<Row>;
  }[];
  const shown = columns.filter((column) => !state.hidden.includes(column.id));
  const isPrinting = useIsPrinting();
  const asked = [...(state.sort === null ? [] : [state.sort.id]), ...Object.keys(state.only)];
  const unknown = asked.filter((id) => columns.every((column) => column.id !== id));
  const isVirtual = selected.length > VIRTUAL_FROM && !isPrinting;
  const virtualizer = useVirtualizer({
    count: isVirtual ? selected.length : 0,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  if (rows.length === 0 && empty !== undefined) return empty;

  const items = isVirtual ? virtualizer.getVirtualItems() : null;
  const first = items?.[0];
  const last = items?.at(-1);
  const visible =
    items === null
      ? selected.slice(0, isPrinting ? PRINTED_MAX : undefined)
      : items.map(({ index }) => selected[index] as (typeof selected)[0]);
  const before = first?.start ?? 0;
  const after = last === undefined ? 0 : virtualizer.getTotalSize() - last.end;

  return (
    <div className="table-block">
      {hasControls ? (
        <Controls {...props} state={state} selected={selected.map(({ original }) => original.row)} />
      ) : null}
      {unknown.length === 0 ? null : (
        <p className="warning-line" role="alert">
          {t('table.badLink', { columns: unknown.map(plainText).join(', ') })}
        </p>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        ref={frame}
        role="group"
        className={isVirtual ? 'table-frame is-long' : 'table-frame'}
        data-scroll-restoration-id={`table ${id}`}
        aria-label={caption}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
      >
        <table aria-rowcount={selected.length + 1}>
          <caption className="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {shown.map((column) => (
                <HeaderCell key={column.id} column={column} state={state} />
              ))}
            </tr>
          </thead>
          <tbody onKeyDown={onOpen === undefined ? undefined : moveFocus}>
            {before > 0 ? <Spacer height={before} columns={shown.length} /> : null}
            {visible.map(({ id: rowId, original }, at) => (
              <BodyRow
                key={rowId}
                row={original.row}
                columns={shown}
                index={(first?.index ?? 0) + at + 2}
                onOpen={onOpen}
              />
            ))}
            {after > 0 ? <Spacer height={after} columns={shown.length} /> : null}
          </tbody>
          {footer === undefined ? null : <tfoot>{footer}</tfoot>}
        </table>
        {isPrinting && selected.length > PRINTED_MAX ? (
          <p className="muted">
            {t('table.someRows', { shown: number(PRINTED_MAX), count: selected.length })}
          </p>
        ) : null}
        {selected.length === 0 ? <p className="no-rows muted">{t('table.noMatch')}</p> : null}
      </div>
    </div>
  );
}

function Spacer({ height, columns }: { readonly height: number; readonly columns: number }): ReactNode {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row is not focusable, and this one has no content
    <tr aria-hidden="true" className="spacer">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function HeaderCell<Row>({
  column,
  state,
}: {
  readonly column: Column<Row>;
  readonly state: TableState;
}): ReactNode {
  const isSorted = state.sort?.id === column.id;
  const direction = isSorted ? (state.sort?.desc ? 'descending' : 'ascending') : undefined;
  // Ascending, descending, the order of the data.
  const next = (): TableState['sort'] => {
    if (!isSorted) return { id: column.id, desc: column.isNumber === true };
    const began = column.isNumber === true;
    return state.sort?.desc === began ? { id: column.id, desc: !began } : null;
  };
  return (
    <th scope="col" aria-sort={direction} className={column.isNumber ? 'is-number' : undefined}>
      <button type="button" className="sort" onClick={() => state.setSort(next())}>
        {column.header}
        <span aria-hidden="true" className="sort-mark">
          {direction === undefined ? '' : direction === 'ascending' ? '↑' : '↓'}
        </span>
      </button>
    </th>
  );
}

interface BodyRowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  /** Position in the whole table, from 1; the header is 1. */
  readonly index: number;
  readonly onOpen: ((row: Row) => void) | undefined;
}

function BodyRow<Row>({ row, columns, index, onOpen }: BodyRowProps<Row>): ReactNode {
  const cells = columns.map((column) => (
    <td key={column.id} className={column.isNumber ? 'is-number' : undefined}>
      {column.cell === undefined ? String(column.value(row) ?? '') : column.cell(row)}
    </td>
  ));
  if (onOpen === undefined) return <tr aria-rowindex={index}>{cells}</tr>;
  return (
    <tr
      aria-rowindex={index}
      className="can-open"
      tabIndex={0}
      onClick={(event) => {
        // A click on a link or button in the row is for that, and a selection of text opens nothing.
        const isOther = (event.target as Element).closest('a, button, input, select') !== null;
        if (!isOther && getSelection()?.isCollapsed !== false) onOpen(row);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target === event.currentTarget) onOpen(row);
      }}
    >
      {cells}
    </tr>
  );
}

/** Moves the focus between rows: arrows, or j and k. */
function moveFocus(event: KeyboardEvent<HTMLTableSectionElement>): void {
  const row = (event.target as Element).closest('tr');
  if (row === null || event.target !== row) return;
  const isDown = event.key === 'ArrowDown' || event.key === 'j';
  if (!isDown && event.key !== 'ArrowUp' && event.key !== 'k') return;
  const next = isDown ? row.nextElementSibling : row.previousElementSibling;
  if (next instanceof HTMLElement && next.tabIndex === 0) {
    event.preventDefault();
    next.focus();
  }
}

interface ControlsProps<Row> extends DataTableProps<Row> {
  readonly state: TableState;
  readonly selected: readonly Row[];
}

/** Filters, the choice of columns, and the file. */
function Controls<Row>({ id, caption, columns, rows, state, selected }: ControlsProps<Row>): ReactNode {
  const { t, number } = useI18n();
  const filtered = columns.filter(({ hasFilter }) => hasFilter === true);
  const [find, setFind] = useTypedText(state.find, state.setFind);
  const save = (): void => {
    const cells = selected.map((row) => columns.map((column): CsvValue => column.value(row)));
    saveFile(
      csvName(location, id, new Date()),
      'text/csv;charset=utf-8',
      csvText(
        columns.map(({ header }) => header),
        cells,
      ),
    );
  };
  return (
    <search className="table-controls" aria-label={caption}>
      <input
        type="search"
        className="table-find"
        aria-label={t('table.find', { table: caption })}
        placeholder={t('table.findShort')}
        value={find}
        onChange={(event) => setFind(event.target.value)}
      />
      {filtered.map((column) => (
        <Choice
          key={column.id}
          label={column.header}
          isLabelHidden
          value={state.only[column.id] ?? ''}
          options={[{ value: '', label: `${column.header}: ${t('table.all')}` }, ...choicesOf(column, rows)]}
          onChange={(value) => state.setOnly(column.id, value)}
        />
      ))}
      <span className="muted table-count" aria-live="polite">
        {selected.length === rows.length
          ? t('table.rows', { count: rows.length })
          : t('table.someRows', { shown: number(selected.length), count: rows.length })}
      </span>
      <ColumnMenu columns={columns} state={state} />
      <Button kind="quiet" icon="download" onClick={save}>
        CSV
      </Button>
    </search>
  );
}

function choicesOf<Row>(
  column: Column<Row>,
  rows: readonly Row[],
): readonly { value: string; label: string }[] {
  const values = new Set(rows.map((row) => String(column.value(row) ?? '')).filter((value) => value !== ''));
  return [...values]
    .map((value) => ({ value, label: column.choice?.(value) ?? value }))
    .sort((a, b) => a.label.localeCompare(b.label));
}

function ColumnMenu<Row>({
  columns,
  state,
}: {
  readonly columns: readonly Column<Row>[];
  readonly state: TableState;
}): ReactNode {
  const { t } = useI18n();
  const set = (column: string, isShown: boolean): void =>
    state.setHidden(isShown ? state.hidden.filter((hidden) => hidden !== column) : [...state.hidden, column]);
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="button quiet">
        <Icon name="columns" />
        {t('table.columns')}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="end" sideOffset={4} className="floating">
          <Menu.Popup className="menu">
            {columns.map((column) => {
              const isShown = !state.hidden.includes(column.id);
              // The last column stays: a table without columns has no way back.
              const isLast = isShown && state.hidden.length === columns.length - 1;
              return (
                <Menu.CheckboxItem
                  key={column.id}
                  className="menu-item"
                  checked={isShown}
                  disabled={isLast}
                  onCheckedChange={(checked) => set(column.id, checked)}
                  closeOnClick={false}
                >
                  <span className="menu-check">
                    <Menu.CheckboxItemIndicator>
                      <Icon name="check" />
                    </Menu.CheckboxItemIndicator>
                  </span>
                  {column.header}
                </Menu.CheckboxItem>
              );
            })}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
