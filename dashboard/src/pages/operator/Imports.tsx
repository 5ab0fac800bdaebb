/** Imported data, and the last imports, syncs and builds with their errors. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { call } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Name, ServerText, Time } from '../../ui/values.tsx';
import { Count, LeftOut, type OperatorImports, POLL_MS, State, useSpan } from './parts.tsx';

type Run = OperatorImports['runs'][number];
type Data = OperatorImports['data'][number];

const runKey = ({ startedAt, kind }: Run, index: number): string => `${startedAt} ${kind} ${index}`;
const dataKey = ({ kind, source, dataset }: Data): string => `${kind} ${source} ${dataset}`;

/** Returns the sum of a count over the sources of a run; null if no source has it. */
function total({ sources }: Run, name: 'records' | 'rejected'): number | null {
  const counts = sources.flatMap((source) => source[name] ?? []);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

/** Returns the errors of a run and of its sources, one sentence or two each. */
const errorsOf = ({ error, sources }: Run): readonly string[] => [
  ...(error === null ? [] : [error]),
  ...sources.flatMap((source) => (source.error === null ? [] : [`${source.source}: ${source.error}`])),
];

/** The tab. */
export function Imports(): ReactNode {
  const { t } = useI18n();
  const imports = useQuery({
    queryKey: ['operator', 'imports'],
    queryFn: ({ signal }) => call('get', '/operator/imports', { signal }),
    refetchInterval: POLL_MS,
    staleTime: POLL_MS / 2,
  });
  if (imports.isPending) return <Loading lines={6} />;
  if (imports.error !== null) return <Failure error={imports.error} onRetry={() => void imports.refetch()} />;
  const { runs, data, dataLeftOut, syncEveryHours } = imports.data;
  return (
    <>
      <Runs
        runs={runs}
        note={
          syncEveryHours === null ? t('operator.noSync') : t('operator.syncEvery', { count: syncEveryHours })
        }
      />
      <Imported data={data} leftOut={dataLeftOut} />
    </>
  );
}

function Runs({ runs, note }: { readonly runs: readonly Run[]; readonly note: string }): ReactNode {
  const { t, word } = useI18n();
  const span = useSpan();
  const columns = useMemo((): readonly Column<Run>[] => {
    const seconds = ({ startedAt, endedAt }: Run): number | null =>
      endedAt === null
        ? null
        : Math.max(0, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000));
    return [
      {
        id: 'started',
        header: t('operator.started'),
        value: ({ startedAt }) => startedAt,
        cell: ({ startedAt }) => <Time iso={startedAt} />,
      },
      {
        id: 'kind',
        header: t('operator.run.kind'),
        value: ({ kind }) => word('runKind', kind),
        hasFilter: true,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ state }) => word('runState', state),
        cell: ({ state }) => (
          <State word={word('runState', state)} isGood={state === 'DONE' || state === 'RUNNING'} />
        ),
        hasFilter: true,
      },
      {
        id: 'ended',
        header: t('operator.ended'),
        value: ({ endedAt }) => endedAt,
        cell: ({ endedAt }) => (endedAt === null ? '–' : <Time iso={endedAt} />),
        isHidden: true,
      },
      {
        id: 'duration',
        header: t('operator.duration'),
        value: seconds,
        cell: (run) => {
          const value = seconds(run);
          return value === null ? '–' : span(value);
        },
        isNumber: true,
      },
      {
        id: 'sources',
        header: t('operator.sources'),
        value: ({ sources }) => sources.map(({ source }) => source).join(', '),
        cell: ({ sources }) =>
          sources.length === 0 ? '–' : <Name text={sources.map(({ source }) => source).join(', ')} />,
      },
      {
        id: 'rows',
        header: t('operator.rows'),
        value: (run) => total(run, 'records'),
        cell: (run) => <Rows value={total(run, 'records')} />,
        isNumber: true,
      },
      {
        id: 'rejected',
        header: t('operator.rejected'),
        value: (run) => total(run, 'rejected'),
        cell: (run) => <Rows value={total(run, 'rejected')} />,
        isNumber: true,
      },
      {
        id: 'errors',
        header: t('operator.errors'),
        value: (run) => errorsOf(run).join(' '),
        cell: (run) => {
          const errors = errorsOf(run);
          return errors.length === 0 ? (
            '–'
          ) : (
            <ul className="reasons">
              {errors.map((error) => (
                <li key={error}>
                  <ServerText text={error} />
                </li>
              ))}
            </ul>
          );
        },
      },
    ];
  }, [t, word, span]);
  return (
    <Section title={t('operator.runs')} note={note}>
      <DataTable
        id="runs"
        caption={t('operator.runs')}
        columns={columns}
        rows={runs}
        rowKey={runKey}
        empty={
          <Empty title={t('operator.noRuns')}>
            {t('operator.noRunsHelp')} <code>assay sync</code>
          </Empty>
        }
      />
    </Section>
  );
}

/** A run without rows, such as a build, has none rather than an unknown number. */
function Rows({ value }: { readonly value: number | null }): ReactNode {
  return value === null ? '–' : <Count value={value} />;
}

function Imported({
  data,
  leftOut,
}: {
  readonly data: readonly Data[];
  readonly leftOut: number;
}): ReactNode {
  const { t, word, number } = useI18n();
  const columns = useMemo(
    (): readonly Column<Data>[] => [
      {
        id: 'kind',
        header: t('operator.kind'),
        value: ({ kind }) => word('importKind', kind),
        hasFilter: true,
      },
      { id: 'source', header: t('operator.source'), value: ({ source }) => source, hasFilter: true },
      {
        id: 'dataset',
        header: t('operator.dataset'),
        value: ({ dataset }) => dataset,
        cell: ({ dataset }) => <Name text={dataset} />,
      },
      {
        id: 'imported',
        header: t('operator.imported'),
        value: ({ importedAt }) => importedAt,
        cell: ({ importedAt }) => <Time iso={importedAt} />,
      },
      {
        id: 'published',
        header: t('home.published'),
        value: ({ publishedAt }) => publishedAt,
        cell: ({ publishedAt }) => <Time iso={publishedAt} />,
      },
      {
        id: 'rows',
        header: t('operator.rows'),
        value: ({ records }) => records,
        cell: ({ records }) => number(records),
        isNumber: true,
      },
      {
        id: 'rejected',
        header: t('operator.rejected'),
        value: ({ rejected }) => rejected,
        cell: ({ rejected }) => <Count value={rejected} />,
        isNumber: true,
      },
    ],
    [t, word, number],
  );
  return (
    <Section title={t('operator.data')} note={t('operator.dataNote')}>
      <DataTable
        id="data"
        caption={t('operator.data')}
        columns={columns}
        rows={data}
        rowKey={dataKey}
        empty={
          <Empty title={t('operator.noData')}>
            {t('operator.run')} <code>assay sync</code>
          </Empty>
        }
        {...(leftOut === 0 ? {} : { footer: <LeftOut count={leftOut} columns={columns.length} /> })}
      />
    </Section>
  );
}
