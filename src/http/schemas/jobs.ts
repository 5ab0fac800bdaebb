/** Schemas of bulk jobs. */
import { Type } from 'typebox';
import { JOB_FORMATS, JOB_KINDS, JOB_STATES } from '../../jobs/bulk-jobs.ts';
import { ChainIdSchema, count, listOf, nullable, number, offsetFields, oneOf, text } from './fields.ts';

export const Job = Type.Object(
  {
    id: text(),
    kind: oneOf(JOB_KINDS, 'The question that is asked about every line.'),
    format: oneOf(JOB_FORMATS),
    chain: nullable(ChainIdSchema, 'Chain of lines that have none.'),
    verdict: Type.Boolean({ description: 'Each label set has the verdict of the oracle.' }),
    state: oneOf(JOB_STATES),
    createdAt: text(),
    startedAt: nullable(Type.String()),
    endedAt: nullable(Type.String()),
    expiresAt: nullable(Type.String(), 'Time at which its files are deleted; null while the job runs.'),
    items: nullable(Type.Integer(), 'Lines of the input; null while it is received.'),
    answered: count('Processed lines, including errors.'),
    failed: count('Processed lines with an error. They cost nothing.'),
    bytesReceived: count(),
    resultBytes: count('Bytes of the result that can be read now.'),
    itemsPerSecond: nullable(Type.Number()),
    secondsLeft: nullable(Type.Number()),
    cost: Type.Object({
      unit: oneOf(['intel', 'credits'], 'Units of the monthly intel quota, or credits.'),
      reserved: number('Taken at the start.'),
      spent: nullable(Type.Number(), 'Part of it that was spent; null before the end. The rest is refunded.'),
    }),
    error: nullable(Type.String(), 'Reason of a FAILED job.'),
    receipt: Type.Optional(
      Type.Object(
        {
          id: nullable(
            Type.String(),
            'GET /receipts/{id} returns the receipt. It is issued when the ended job is first read by its id; null before.',
          ),
          lines: nullable(
            Type.Object({
              count: Type.Integer(),
              root: text('Root of the tree over the lines of the result.'),
            }),
            'Null until the job has ended.',
          ),
        },
        { title: 'JobReceipt', description: 'Only of a job that was sent with `receipt=jws`.' },
      ),
    ),
  },
  { title: 'Job', description: 'A bulk job.' },
);

export const OneJob = Type.Object({ job: Job }, { title: 'OneJob' });

export const JobLine = Type.Object(
  {
    receipt: Type.Object({
      id: text(),
      jws: nullable(Type.String(), 'The receipt of the job; null if its content was erased.'),
    }),
    line: Type.Integer({ description: 'Number of the line in the result, from 0.' }),
    count: Type.Integer({ description: 'Lines of the result.' }),
    text: text('The line as it is in the result, without its line break.'),
    salt: text('16 bytes, hexadecimal. The leaf is SHA-256(0x00 || salt || text).'),
    path: listOf(
      text(),
      'Hashes from the sibling of the leaf to the child of the root (RFC 9162), hexadecimal.',
    ),
  },
  { title: 'JobLine' },
);

export const JobList = Type.Object(
  {
    jobs: listOf(Job, 'Newest first.'),
    ...offsetFields,
  },
  { title: 'JobList' },
);
