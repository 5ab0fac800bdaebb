/** Parts of the operations on bulk jobs. Every id is looked up together with the account of the key. */
import type { Permission } from '../../../accounts/keys.ts';
import { AssayError } from '../../../base/errors.ts';
import type { JobKind, JobView } from '../../../jobs/bulk-jobs.ts';
import { type Call, type Caller, callerOf, type Services } from '../../operation.ts';
import { ErrorBody } from '../../schemas/envelopes.ts';
import { idText } from '../../schemas/fields.ts';

/** Columns of all operations on jobs. */
export const JOBS = {
  tag: 'Jobs',
  permission: ['intel', 'screening', 'kyt'],
  rateClass: 'intel',
} as const;

export const jobPath = { id: idText('Id of a job of the account.') };

export const NO_JOB = {
  404: { description: 'There is no job of this id in the account.', schema: ErrorBody },
} as const;

/** Of operations that read the files of a result. */
export const NO_RESULT = {
  404: {
    description:
      'There is no job of this id in the account, or a file of its result was lost on the server: the message says which.',
    schema: ErrorBody,
  },
} as const;

/** Permissions for each kind of bulk job: the same as for a single request for one of its lines. One of several is enough. */
const JOB_PERMISSIONS: Readonly<Record<JobKind, readonly Permission[]>> = {
  labels: ['intel'],
  sanctions: ['intel'],
  screening: ['screening'],
  kyt: ['kyt', 'screening'],
};

/** Whether the key may see this kind of job. */
export const maySee = ({ permissions }: Caller, kind: JobKind): boolean =>
  JOB_PERMISSIONS[kind].some((one) => permissions.includes(one));

/** @throws FORBIDDEN if the key lacks the permission for this kind of job */
export function checkPermission(caller: Caller, kind: JobKind): void {
  if (maySee(caller, kind)) return;
  const names = JOB_PERMISSIONS[kind].join("' or '");
  throw new AssayError('FORBIDDEN', `kind: a job of '${kind}' needs a key with the permission '${names}'.`, {
    field: 'kind',
  });
}

/** Returns the error of an id that the account does not have. */
export const noSuchJob = (): AssayError =>
  new AssayError('NOT_FOUND', 'id: there is no job of this id in the account.', { field: 'id' });

/** Returns what a receipt binds of a job beside its lines. */
const summaryOf = ({ id, kind, format, chain, verdict, state, answered, failed }: JobView) => ({
  request: { job: id, kind, format, chain, verdict },
  answer: { job: id, state, answered, failed },
});

/**
 * Issues the receipt of a job that has ended, if it was requested and does not exist. Any node may do it: a node that ends jobs may have no
 * transparency log.
 */
export async function receiptOf({ useCases }: Services, call: Call, job: JobView): Promise<JobView> {
  if (job.receipt === undefined || job.receipt.id !== null) return job;
  const { id: issuedTo, accountId } = callerOf(call);
  const subject = await useCases.jobs().unissued(accountId, job.id);
  if (subject === null) return job;
  const { request, answer } = summaryOf(job);
  const { lines, secret } = subject;
  const evidence = { kind: 'BULK', answer, lineSecret: secret } as const;
  const { id } = await useCases
    .receipts()
    .issue({ accountId, issuedTo }, { kind: 'BULK', request, answer, evidence, lines });
  return (await useCases.jobs().setReceipt(accountId, job.id, id)) ?? job;
}

/** Errors of receipts that pass: a job is shown without its receipt meanwhile. */
const PASSING: ReadonlySet<string> = new Set(['NOT_READY', 'OVERLOADED', 'STORAGE_FULL']);

/** Like `receiptOf`, but if the receipt cannot be issued at the moment, returns the job without it. */
export async function withReceiptIfReady(services: Services, call: Call, job: JobView): Promise<JobView> {
  try {
    return await receiptOf(services, call, job);
  } catch (error) {
    if (error instanceof AssayError && PASSING.has(error.code)) return job;
    throw error;
  }
}

/**
 * Returns a job of the caller's account.
 *
 * @throws NOT_FOUND; FORBIDDEN if the key may not see this kind of job
 */
export async function jobOf({ useCases }: Services, call: Call, id: string): Promise<JobView> {
  const caller = callerOf(call);
  const job = await useCases.jobs().get(caller.accountId, id);
  if (job === null) throw noSuchJob();
  checkPermission(caller, job.kind);
  return job;
}
