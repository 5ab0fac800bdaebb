/** `GET /jobs`. */
import { JOB_KINDS } from '../../jobs/bulk-jobs.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { offsetQuery } from '../schemas/fields.ts';
import { JobList } from '../schemas/jobs.ts';
import { JOBS, maySee } from './support/jobs.ts';
import { offsetEnd, pageOf } from './support/paging.ts';

export const listJobs = operation({
  ...JOBS,
  id: 'listJobs',
  sdk: 'jobs.list',
  method: 'GET',
  path: '/jobs',
  query: offsetQuery(HTTP_LIMITS.jobsPageMax),
  response: JobList,
  summary: 'List bulk jobs',
  description: 'Newest first; only the kinds that the key may see.',
  async run({ services, call, query }) {
    const caller = callerOf(call);
    const kinds = JOB_KINDS.filter((kind) => maySee(caller, kind));
    const page = pageOf(query);
    const result = await services.useCases.jobs().list(caller.accountId, { ...page, kinds });
    return { jobs: result.jobs, ...offsetEnd(page, result) };
  },
});
