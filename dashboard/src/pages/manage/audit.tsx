/** `/audit`: who changed what in the account, when and from where. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { useAuthor } from './parts.tsx';

type Entry = DataOf<'/audit', 'get'>['entries'][number];

/** Entries of one request (`auditPageMax` of the API). */
const PAGE_ENTRIES = 100;

const entryKey = ({ id }: Entry): string => id;

/** The page. */
export function AuditPage(): ReactNode {
  const { t } = useI18n();
  const log = useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: ({ pageParam, signal }) =>
      call('get', '/audit', {
        query: { limit: PAGE_ENTRIES, ...(pageParam === null ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
  const entries = useMemo(() => log.data?.pages.flatMap((page) => page.entries) ?? [], [log.data]);
  return (
    <Page title={t('audit.title')}>
      <Section title={t('audit.list')} note={t('audit.note')}>
        {log.isPending ? <Loading lines={6} /> : null}
        {log.error === null ? null : <Failure error={log.error} onRetry={() => void log.refetch()} />}
        {log.data === undefined ? null : <Entries entries={entries} />}
        {log.hasNextPage ? (
          <div className="actions">
            <Button isBusy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
              {t('manage.older')}
            </Button>
            <span className="muted">{t('manage.loaded', { count: entries.length })}</span>
          </div>
        ) : null}
      </Section>
    </Page>
  );
}

function Entries({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  const { t, word } = useI18n();
  const author = useAuthor();
  const columns = useMemo(
    (): readonly Column<Entry>[] => [
      {
        id: 'at',
        header: t('audit.at'),
        value: ({ at }) => at,
        cell: ({ at }) => <Time iso={at} />,
      },
      {
        id: 'who',
        header: t('audit.who'),
        value: ({ who }) => author(who),
        hasFilter: true,
        cell: ({ who }) => <Name text={author(who) ?? who} />,
      },
      {
        id: 'action',
        header: t('audit.action'),
        value: ({ action }) => word('auditAction', action.replace('.', '_')),
        hasFilter: true,
      },
      {
        id: 'subject',
        header: t('audit.subject'),
        value: ({ subject }) => author(subject),
        cell: ({ subject }) => (subject === null ? '' : <Name text={author(subject) ?? subject} />),
      },
      {
        id: 'detail',
        header: t('audit.detail'),
        value: ({ detail }) => detail,
        cell: ({ detail }) => (detail === null ? '' : <Name text={detail} />),
      },
      {
        id: 'from',
        header: t('audit.from'),
        value: ({ from }) => from,
        cell: ({ from }) => <code>{from}</code>,
      },
      { id: 'id', header: t('audit.id'), value: ({ id }) => Number(id), isNumber: true, isHidden: true },
    ],
    [t, word, author],
  );
  return (
    <DataTable
      id="audit"
      caption={t('audit.list')}
      columns={columns}
      rows={entries}
      rowKey={entryKey}
      empty={<Empty title={t('audit.none')}>{t('audit.noneHelp')}</Empty>}
    />
  );
}
