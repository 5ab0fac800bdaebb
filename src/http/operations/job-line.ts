/** `GET /jobs/{id}/lines/{line}`. */
import { callerOf, operation } from '../operation.ts';
import { JobLine } from '../schemas/jobs.ts';
import { JOBS, jobOf, jobPath, NO_RESULT, noSuchJob, receiptOf } from './support/jobs.ts';
import { lineOf, linePath } from './support/receipts.ts';

export const jobLine = operation({
  ...JOBS,
  id: 'jobLine',
  sdk: 'jobs.line',
  method: 'GET',
  path: '/jobs/{id}/lines/{line}',
  pathParameters: { ...jobPath, ...linePath },
  response: JobLine,
  statuses: NO_RESULT,
  summary: 'One line of a result, with its proof',
  description:
    'Of an ended job that was sent with `receipt=jws`: the line, its salt, and the hashes from it to the root that the receipt of the job binds. It is verified offline, and reveals no other line.',
  async run({ services, call, path }) {
    const line = lineOf(path.line);
    const job = await receiptOf(services, call, await jobOf(services, call, path.id));
    const { accountId } = callerOf(call);
    const proof = await services.useCases.jobs().proof(accountId, job.id, line);
    const { id = null, lines = null } = job.receipt ?? {};
    if (proof === null || id === null || lines === null) throw noSuchJob();
    const { jws } = services.useCases.receipts().one(id, accountId);
    return { receipt: { id, jws }, count: lines.count, ...proof };
  },
});
