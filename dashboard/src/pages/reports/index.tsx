/** `/reports`: what accounts say is wrong with labels. Operators decide here; everybody else sees the reports of the account. */
import { REPORT_STATES } from '../../api/choices.ts';
import '../../styles/manage.css';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { sessionQuery } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice } from '../../ui/Field.tsx';
import { More } from '../../ui/More.tsx';
import { Page } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Name, Time } from '../../ui/values.tsx';
import { type Report, readReports } from './list.ts';
import { ReportDialog } from './ReportDialog.tsx';

const keyOf = ({ id }: Report): string => id;
const namesOf = ({ labels }: Report): string => [...new Set(labels.map(({ name }) => name))].join(', ');

/** The page. */
export function ReportsPage(): ReactNode {
  const { t, word } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  const isOperator = session?.operator === true;
  const [search, change] = useUrlState();
  const state = REPORT_STATES.find((known) => known === search.state);
  const [opened, setOpened] = useState<Report | null>(null);
  const pages = usePages(
    ['label reports', isOperator, state],
    (cursor, signal) => readReports(isOperator, state, cursor, signal),
    session !== undefined,
  );
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.reports) ?? [], [pages.data]);
  // A report that was decided is no longer among the open ones, and its dialog says what happens next.
  const open = rows.find(({ id }) => id === opened?.id) ?? opened;
  return (
    <Page title={t('reports.title')}>
      <p className="muted">{t(isOperator ? 'reports.allNote' : 'reports.note')}</p>
      <search className="inline-form">
        <Choice
          label={t('home.state')}
          value={state ?? ''}
          options={[
            { value: '', label: t('table.all') },
            ...REPORT_STATES.map((value) => ({ value, label: word('reportState', value) })),
          ]}
          onChange={(value) => change({ state: value })}
        />
      </search>
      {pages.isPending ? <Loading lines={6} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.data === undefined ? null : <Reports rows={rows} isOperator={isOperator} onOpen={setOpened} />}
      <More pages={pages} />
      {open === null ? null : (
        <ReportDialog report={open} isOperator={isOperator} onClose={() => setOpened(null)} />
      )}
    </Page>
  );
}

interface ReportsProps {
  readonly rows: readonly Report[];
  readonly isOperator: boolean;
  readonly onOpen: (report: Report) => void;
}

function Reports({ rows, isOperator, onOpen }: ReportsProps): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Report>[] => [
      {
        id: 'state',
        header: t('home.state'),
        value: ({ state }) => word('reportState', state),
        cell: ({ state }) => (
          <span className={state === 'OPEN' ? 'tag is-warning' : 'tag'}>{word('reportState', state)}</span>
        ),
      },
      {
        id: 'filed',
        header: t('reports.filed'),
        value: ({ filedAt }) => filedAt,
        cell: ({ filedAt }) => <Time iso={filedAt} />,
      },
      ...(isOperator
        ? [
            {
              id: 'account',
              header: t('reports.account'),
              value: ({ accountId }: Report) => accountId ?? null,
              cell: ({ accountId }: Report) => <Name text={accountId ?? ''} />,
              hasFilter: true,
            },
          ]
        : []),
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ chain, address }) => `${chain} ${address}`,
        cell: ({ chain, address }) => <Address address={address} chain={chain} />,
      },
      {
        id: 'label',
        header: t('reports.label'),
        value: namesOf,
        cell: (report) => <Name text={namesOf(report)} />,
      },
      {
        id: 'source',
        header: t('label.source'),
        value: ({ source }) => source ?? t('reports.allSources'),
        hasFilter: true,
        // The name of the label says more, and the reason needs the width.
        isHidden: true,
      },
      {
        id: 'reason',
        header: t('home.reason'),
        value: ({ reason }) => reason,
        cell: ({ reason }) => <Name text={reason} />,
      },
      {
        id: 'decided',
        header: t('reports.decided'),
        value: ({ decidedAt }) => decidedAt,
        cell: ({ decidedAt }) => (decidedAt === null ? '–' : <Time iso={decidedAt} />),
      },
      {
        id: 'note',
        header: t('reports.why'),
        value: ({ note }) => note,
        cell: ({ note }) => (note === null ? '–' : <Name text={note} />),
      },
    ],
    [t, word, isOperator],
  );
  return (
    <DataTable
      id="reports"
      caption={t('reports.title')}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      onOpen={onOpen}
      empty={<Empty title={t('reports.none')}>{t('reports.noneHelp')}</Empty>}
    />
  );
}
