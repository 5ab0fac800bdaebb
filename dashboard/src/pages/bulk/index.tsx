/** `/bulk`: files of addresses as jobs, with their progress and results. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call } from '../../api/client.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { useRole } from '../manage/parts.tsx';
import { JobDialog } from './JobDialog.tsx';
import { JobTable } from './JobTable.tsx';
import { NewJob } from './NewJob.tsx';
import { isOpen } from './upload.ts';

/** Jobs of one request (`jobsPageMax` of the API). */
const JOBS_SHOWN = 100;
/** While a job runs: 30 requests a minute, a tenth of the least limit. */
const POLL_MS = 2_000;

const jobsQuery = {
  queryKey: ['jobs'],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call('get', '/jobs', { query: { limit: JOBS_SHOWN }, signal }),
} as const;

const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: jobsQuery.queryKey });

/** The page. */
export function BulkPage(): ReactNode {
  const { t } = useI18n();
  const isReader = useRole() === 'auditor';
  const [openId, setOpenId] = useState<string | null>(null);
  const jobs = useQuery({
    ...jobsQuery,
    refetchInterval: ({ state }) => (state.data?.jobs.some(isOpen) === true ? POLL_MS : false),
  });
  const open = jobs.data?.jobs.find(({ id }) => id === openId);
  return (
    <Page title={t('bulk.title')}>
      {isReader ? <p className="note">{t('bulk.readOnly')}</p> : <NewJob onSent={() => void refresh()} />}
      <Section title={t('bulk.jobs')} note={t('bulk.jobsNote')}>
        {jobs.isPending ? <Loading lines={4} /> : null}
        {jobs.error === null ? null : <Failure error={jobs.error} onRetry={() => void jobs.refetch()} />}
        {jobs.data === undefined ? null : (
          <>
            <JobTable jobs={jobs.data.jobs} onOpen={({ id }) => setOpenId(id)} />
            {jobs.data.hasMore ? <p className="muted">{t('bulk.newest', { count: JOBS_SHOWN })}</p> : null}
          </>
        )}
      </Section>
      {open === undefined ? null : (
        <JobDialog
          job={open}
          mayChange={!isReader}
          onChange={() => void refresh()}
          onClose={() => setOpenId(null)}
        />
      )}
    </Page>
  );
}
