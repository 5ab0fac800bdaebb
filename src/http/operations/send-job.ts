/** `POST /jobs`. */
import { Type } from 'typebox';
import { answerSlot } from '../../accounts/idempotency.ts';
import { KEY_RECEIPTS } from '../../accounts/keys.ts';
import { AssayError } from '../../base/errors.ts';
import { parseChainId } from '../../chains/registry.ts';
import { JOB_FORMATS, JOB_KINDS, type JobFormat } from '../../jobs/bulk-jobs.ts';
import { JOB_LIMITS } from '../../jobs/limits.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, jsonBytes, operation, REPLAYED } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { chainText, oneOf } from '../schemas/fields.ts';
import { OneJob } from '../schemas/jobs.ts';
import { checkPermission, JOBS } from './support/jobs.ts';

/** Media types of job bodies. The first of each format is the registered or usual one. */
const FORMAT_OF_TYPE: Readonly<Record<string, JobFormat>> = {
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/jsonlines': 'ndjson',
  'text/csv': 'csv',
};

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

function formatOf(contentType: string): JobFormat {
  const mediaType = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const format = FORMAT_OF_TYPE[mediaType];
  if (format !== undefined) return format;
  throw refuse(
    'format',
    `must be one of ${JOB_FORMATS.join(', ')} if the Content-Type is neither application/x-ndjson nor text/csv.`,
  );
}

export const sendJob = operation({
  ...JOBS,
  id: 'sendJob',
  sdk: 'jobs.create',
  method: 'POST',
  path: '/jobs',
  charges: { quota: 'intel, one a line (labels, sanctions)', credits: '1 a line (screening, kyt)' },
  query: {
    kind: oneOf(JOB_KINDS, 'The question that is asked about every line.'),
    format: Type.Optional(oneOf(JOB_FORMATS, 'Default: by the Content-Type.')),
    chain: Type.Optional(chainText('Chain of lines that have none.')),
    verdict: Type.Boolean({
      default: false,
      description:
        'Only with `kind=labels`: adds the verdict of the oracle to each label set, as `verdict: true` of `POST /screen/bulk` does. Default: false.',
    }),
    receipt: Type.Optional(
      oneOf(
        KEY_RECEIPTS,
        'jws: one signed receipt binds all lines of the result; `GET /jobs/{id}/lines/{line}` returns the proof of a line. Default: that of the API key, or else `none`.',
      ),
    ),
  },
  response: OneJob,
  statuses: {
    402: {
      description: 'The quota or the credits do not suffice for all lines; nothing was taken.',
      schema: ErrorBody,
    },
  },
  summary: 'Start a bulk job',
  description: `A body of up to ${JOB_LIMITS.jobBytesMax} bytes, one address or request a line: NDJSON (a string, or an object with the fields of the single operation) or CSV (a header line with \`address\` and optionally \`chain\`, or addresses alone). A line costs the same as the single request (labels and sanctions a unit of the intel quota, screening and kyt a credit). Lines are charged when the job starts; a line that ends with an error is refunded. An upload is rejected if it is silent for ${HTTP_LIMITS.uploadSilenceMs / 1_000} seconds, or if it has brought less than ${HTTP_LIMITS.uploadBytesPerSecondMin} bytes a second after ${HTTP_LIMITS.uploadGraceMs / 1_000} seconds. An account keeps at most ${JOB_LIMITS.jobBytesPerAccount} bytes of bodies and results: delete jobs after you have fetched their results.`,
  upload: {
    types: ['application/x-ndjson', 'text/csv'],
    bytesMax: JOB_LIMITS.jobBytesMax,
    async open({ services, call, query }) {
      const caller = callerOf(call);
      const { kind, chain, verdict } = query;
      const { method, path } = call.exchange;
      const encoding = call.exchange.header('content-encoding');
      if (encoding !== '' && encoding.toLowerCase() !== 'identity')
        throw refuse('Content-Encoding', 'the lines must be sent as they are, not compressed.');
      checkPermission(caller, kind);
      const name = call.exchange.optionalHeader('idempotency-key');
      const upload = await services.useCases.jobs().receive({
        accountId: caller.accountId,
        pool: call.pool,
        kind,
        verdict,
        hasReceipt: (query.receipt ?? caller.receipts) === 'jws',
        format: query.format ?? formatOf(call.exchange.header('content-type')),
        chain: chain === undefined ? null : parseChainId(chain),
        once:
          name === null
            ? null
            : Buffer.from(answerSlot(caller.accountId, method, path, name)).toString('hex'),
      });
      return {
        write: (bytes) => upload.write(bytes),
        end: async () => {
          const job = await upload.end();
          if (upload.isRepeated) call.lines += REPLAYED;
          return jsonBytes({ job });
        },
        abort: () => upload.abort(),
      };
    },
  },
});
