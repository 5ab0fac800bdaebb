/** `GET /jobs/{id}`. */
import { operation } from '../operation.ts';
import { OneJob } from '../schemas/jobs.ts';
import { JOBS, jobOf, jobPath, NO_JOB, withReceiptIfReady } from './support/jobs.ts';

export const oneJob = operation({
  ...JOBS,
  id: 'oneJob',
  sdk: 'jobs.get',
  method: 'GET',
  path: '/jobs/{id}',
  pathParameters: jobPath,
  response: OneJob,
  statuses: NO_JOB,
  summary: 'A bulk job with its progress',
  description: 'State, processed lines, rate and remaining time.',
  run: async ({ services, call, path }) => ({
    job: await withReceiptIfReady(services, call, await jobOf(services, call, path.id)),
  }),
});
