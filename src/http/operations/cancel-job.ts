/** `DELETE /jobs/{id}`. */
import { callerOf, operation } from '../operation.ts';
import { OneJob } from '../schemas/jobs.ts';
import { JOBS, jobOf, jobPath, NO_JOB, noSuchJob } from './support/jobs.ts';

export const cancelJob = operation({
  ...JOBS,
  id: 'cancelJob',
  sdk: 'jobs.cancel',
  // A second execution would remove the job that the first one has stopped.
  retry: 'unsafe',
  method: 'DELETE',
  path: '/jobs/{id}',
  pathParameters: jobPath,
  response: OneJob,
  statuses: NO_JOB,
  summary: 'Stop a bulk job, or remove one that has ended',
  description: 'Processed lines are kept and charged; the other lines are refunded.',
  async run({ services, call, path }) {
    const { id } = await jobOf(services, call, path.id);
    const job = await services.useCases.jobs().cancel(callerOf(call).accountId, id);
    if (job === null) throw noSuchJob();
    return { job };
  },
});
