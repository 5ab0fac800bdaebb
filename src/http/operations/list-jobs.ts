/** `GET /jobs`. */
import { JOB_KINDS } from '../../jobs/bulk-jobs.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { paging } from '../schemas/common.ts';
import { JobList } from '../schemas/jobs.ts';
import { JOBS, maySee } from './support/jobs.ts';

export const listJobs = operation({
  ...JOBS,
  id: 'listJobs',
  method: 'GET',
  path: '/jobs',
  query: paging(HTTP_LIMITS.jobsPageMax),
  response: JobList,
  summary: 'List bulk jobs',
  description: 'Newest first; only the kinds that the key may see.',
  async run({ services, call, query: page }) {
    const caller = callerOf(call);
    const kinds = JOB_KINDS.filter((kind) => maySee(caller, kind));
    const { jobs, total } = await services.useCases.jobs().list(caller.accountId, { ...page, kinds });
    return { jobs, total, ...page };
  },
});
