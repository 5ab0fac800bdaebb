/** The list of bulk jobs. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { ChainMark } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Empty } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { Measure } from '../manage/parts.tsx';
import type { Job } from './upload.ts';

/** The path of the result, which the browser downloads with the session cookie. */
export const resultPath = ({ id }: Job): string => `/api/v1/jobs/${encodeURIComponent(id)}/result`;

/** Progress in words and as a bar. */
export function Progress({ job }: { readonly job: Job }): ReactNode {
  const { t, number } = useI18n();
  const { items, answered, secondsLeft, state } = job;
  if (items === null) return <span className="muted">{t('bulk.receiving')}</span>;
  return (
    <div className="job-progress">
      <span>{t('bulk.progress', { done: number(answered), all: items })}</span>
      {state === 'RUNNING' || state === 'QUEUED' ? (
        <Measure label={t('bulk.progressLabel')} value={answered} max={items} />
      ) : null}
      {state === 'RUNNING' && secondsLeft !== null ? (
        <span className="muted hint">{t('bulk.secondsLeft', { seconds: Math.ceil(secondsLeft) })}</span>
      ) : null}
    </div>
  );
}

const jobKey = ({ id }: Job): string => id;

interface JobTableProps {
  readonly jobs: readonly Job[];
  readonly onOpen: (job: Job) => void;
}

/** The table. */
export function JobTable({ jobs, onOpen }: JobTableProps): ReactNode {
  const { t, word, number } = useI18n();
  const columns = useMemo(
    (): readonly Column<Job>[] => [
      {
        id: 'created',
        header: t('bulk.created'),
        value: ({ createdAt }) => createdAt,
        cell: (job) => (
          <button type="button" className="link-button" onClick={() => onOpen(job)}>
            <Time iso={job.createdAt} />
          </button>
        ),
      },
      { id: 'kind', header: t('bulk.kind'), value: ({ kind }) => word('jobKind', kind), hasFilter: true },
      {
        id: 'chain',
        header: t('search.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) =>
          chain === null ? (
            <span className="muted">{t('bulk.chainOfLines')}</span>
          ) : (
            <ChainMark chain={chain} />
          ),
      },
      {
        id: 'state',
        header: t('bulk.state'),
        value: ({ state }) => word('jobState', state),
        hasFilter: true,
        cell: ({ state }) => (
          <span className={state === 'FAILED' ? 'tag is-warning' : 'tag'}>{word('jobState', state)}</span>
        ),
      },
      {
        id: 'progress',
        header: t('bulk.lines'),
        value: ({ answered }) => answered,
        cell: (job) => <Progress job={job} />,
      },
      {
        id: 'failed',
        header: t('bulk.failed'),
        value: ({ failed }) => failed,
        cell: ({ failed }) => number(failed),
        isNumber: true,
      },
      {
        id: 'cost',
        header: t('bulk.cost'),
        value: ({ cost }) => cost.spent ?? cost.reserved,
        cell: ({ cost }) => t(`bulk.cost.${cost.unit}`, { count: cost.spent ?? cost.reserved }),
        isNumber: true,
      },
      {
        id: 'result',
        header: t('bulk.result'),
        value: ({ resultBytes }) => resultBytes,
        cell: (job) =>
          job.resultBytes === 0 ? (
            ''
          ) : (
            <a href={resultPath(job)} download className="source">
              <Icon name="download" /> {t('bulk.bytes', { size: number(kilobytes(job.resultBytes)) })}
            </a>
          ),
      },
    ],
    [t, word, number, onOpen],
  );
  return (
    <DataTable
      id="jobs"
      caption={t('bulk.jobs')}
      columns={columns}
      rows={jobs}
      rowKey={jobKey}
      onOpen={onOpen}
      empty={
        <Empty title={t('bulk.none')}>
          {t('bulk.noneHelp')} <a href="/docs/guide/bulk-jobs">{t('nav.guide')}</a>
        </Empty>
      }
    />
  );
}

/** Kilobytes of a file, at least 1. */
export const kilobytes = (bytes: number): number => Math.max(1, Math.round(bytes / 1_000));
