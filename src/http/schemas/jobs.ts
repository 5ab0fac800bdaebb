/** Schemas of bulk jobs. */
import { Type } from 'typebox';
import { JOB_FORMATS, JOB_KINDS, JOB_STATES } from '../../jobs/bulk-jobs.ts';
import { ChainIdSchema, count, listOf, nullable, number, oneOf, text } from './common.ts';

export const Job = Type.Object(
  {
    id: text(),
    kind: oneOf(JOB_KINDS, 'The question that is asked about every line.'),
    format: oneOf(JOB_FORMATS),
    chain: nullable(ChainIdSchema, 'Of lines that name none.'),
    verdict: Type.Boolean({ description: 'Each label set has the verdict of the oracle.' }),
    state: oneOf(JOB_STATES),
    createdAt: text(),
    startedAt: nullable(Type.String()),
    endedAt: nullable(Type.String()),
    expiresAt: nullable(Type.String(), 'When its files are removed; null while it runs.'),
    items: nullable(Type.Integer(), 'Lines of the input; null while it is received.'),
    answered: count('Lines that are answered, errors among them.'),
    failed: count('Of them: lines that were answered with an error in their place. They cost nothing.'),
    bytesReceived: count(),
    resultBytes: count('Bytes of the result that can be read now.'),
    itemsPerSecond: nullable(Type.Number()),
    secondsLeft: nullable(Type.Number()),
    cost: Type.Object({
      unit: oneOf(['intel', 'credits'], 'Units of the monthly intel quota, or credits.'),
      reserved: number('Taken at the start.'),
      spent: nullable(Type.Number(), 'What of it was spent; null before the end. The rest is given back.'),
    }),
    error: nullable(Type.String(), 'Why a FAILED job ended.'),
  },
  { title: 'Job', description: 'A bulk job.' },
);

export const OneJob = Type.Object({ job: Job }, { title: 'OneJob' });

export const JobList = Type.Object(
  {
    jobs: listOf(Job, 'Newest first.'),
    total: count(),
    limit: count(),
    offset: count(),
  },
  { title: 'JobList' },
);
