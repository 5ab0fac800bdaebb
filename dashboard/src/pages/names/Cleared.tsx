/** Matches that people of the account have cleared, and the way back. */
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';

type Row = DataOf<'/namescreen/cleared', 'get'>['cleared'][number];

const rowKey = ({ id }: Row): string => id;

/** Rows of one page: the most that the operation returns. */
const PAGE = 100;
/** Pages that are read; the note under the table says if there are more. */
const PAGES_MAX = 10;

/** Reads the cleared matches of the account. */
async function readCleared(
  signal: AbortSignal,
): Promise<{ readonly rows: readonly Row[]; readonly hasMore: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await call('get', '/namescreen/cleared', {
      query: { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      signal,
    });
    rows.push(...answer.cleared);
    if (answer.nextCursor === null) return { rows, hasMore: false };
    cursor = answer.nextCursor;
  }
  return { rows, hasMore: true };
}

/** The cleared matches of the account. */
export const clearedQuery = queryOptions({
  queryKey: ['cleared'],
  queryFn: ({ signal }) => readCleared(signal),
});

/** Shows the list. */
export function Cleared(): ReactNode {
  const { t } = useI18n();
  const list = useQuery(clearedQuery);
  return (
    <Section title={t('names.clearedTitle')} note={t('names.clearedNote')}>
      {list.isPending ? <Loading lines={2} /> : null}
      {list.error === null ? null : <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined ? null : <Table rows={list.data.rows} />}
      {list.data?.hasMore === true ? <p className="muted">{t('names.clearedMore')}</p> : null}
    </Section>
  );
}

function Table({ rows }: { readonly rows: readonly Row[] }): ReactNode {
  const { t } = useI18n();
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'name',
        header: t('names.query'),
        value: ({ name }) => name,
        cell: ({ name }) => <Name text={name} />,
      },
      {
        id: 'entity',
        header: t('names.entry'),
        value: ({ entityName }) => entityName,
        cell: ({ entityName }) => <Name text={entityName} />,
      },
      { id: 'source', header: t('label.source'), value: ({ source }) => source, hasFilter: true },
      {
        id: 'note',
        header: t('names.clearNote'),
        value: ({ note }) => note,
        cell: ({ note }) => <Name text={note ?? ''} />,
      },
      {
        id: 'at',
        header: t('names.clearedAt'),
        value: ({ clearedAt }) => clearedAt,
        cell: ({ clearedAt }) => <Time iso={clearedAt} />,
      },
      { id: 'undo', header: t('home.action'), value: () => null, cell: (row) => <Unclear row={row} /> },
    ],
    [t],
  );
  return (
    <DataTable
      id="cleared"
      caption={t('names.clearedTitle')}
      columns={columns}
      rows={rows}
      rowKey={rowKey}
      empty={<Empty title={t('names.clearedNone')} />}
    />
  );
}

function Unclear({ row }: { readonly row: Row }): ReactNode {
  const { t } = useI18n();
  const queries = useQueryClient();
  const unclear = useMutation({
    mutationFn: () => call('delete', '/namescreen/cleared/{id}', { path: { id: row.id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['cleared'] }),
  });
  return (
    <>
      <Confirm
        label={t('names.unclear')}
        title={t('names.unclearTitle')}
        text={t('names.unclearHelp')}
        isBusy={unclear.isPending}
        onConfirm={() => unclear.mutate()}
      />
      {unclear.error === null ? null : <Failure error={unclear.error} />}
    </>
  );
}
