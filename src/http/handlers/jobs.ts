/**
 * Operations of bulk jobs. Every id is looked up together with the account of the key. A job needs the same permission as a single
 * request for one of its lines.
 */
import { answerSlot } from '../../accounts/idempotency.ts';
import type { KeyRecord } from '../../accounts/keys.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parseChainId } from '../../chains/registry.ts';
import {
  JOB_FORMATS,
  JOB_KINDS,
  type JobFormat,
  type JobKind,
  type JobRequest,
  type JobView,
} from '../../jobs/bulk-jobs.ts';
import { type Call, callerOf } from '../pipeline/call.ts';
import { REPLAYED } from '../pipeline/charging.ts';
import { jsonBytes } from '../pipeline/json-body.ts';
import { decodeParameter, oneOf, pageOf, queryValue, requiredQueryValue } from '../pipeline/query.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';
import { JOB_PERMISSIONS } from '../routes.ts';
import { openFileParts } from '../server/file-parts.ts';
import { mayAnswerRange, rangeOf } from '../server/ranges.ts';

type Deps = Pick<HttpDeps, 'useCases'>;

/** Media types of job bodies. The first of each format is the registered or usual one. */
const FORMAT_OF_TYPE: Readonly<Record<string, JobFormat>> = {
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/jsonlines': 'ndjson',
  'text/csv': 'csv',
};

const RESULT_TYPE = 'application/x-ndjson';

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

const idOf = (call: Call): string => decodeParameter(call.exchange.params[0] ?? '', 'id');

const maySee = ({ permissions }: KeyRecord, kind: JobKind): boolean =>
  JOB_PERMISSIONS[kind].some((one) => permissions.includes(one));

/** @throws FORBIDDEN if the key lacks the permission for this kind of job */
function checkPermission(caller: KeyRecord, kind: JobKind): void {
  if (maySee(caller, kind)) return;
  const names = JOB_PERMISSIONS[kind].join("' or '");
  throw new AssayError('FORBIDDEN', `kind: a job of '${kind}' needs a key with the permission '${names}'.`, {
    field: 'kind',
  });
}

function formatOf(named: string | undefined, contentType: string): JobFormat {
  if (named !== undefined) return oneOf('format', named, JOB_FORMATS);
  const mediaType = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const format = FORMAT_OF_TYPE[mediaType];
  if (format !== undefined) return format;
  throw refuse(
    'format',
    `must be one of ${JOB_FORMATS.join(', ')} where the Content-Type is neither application/x-ndjson nor text/csv.`,
  );
}

/**
 * Reads the parameters of a new job.
 *
 * @throws INVALID_REQUEST, UNKNOWN_CHAIN, FORBIDDEN
 */
function requestOf(call: Call): JobRequest {
  const caller = callerOf(call);
  const query = call.exchange.query();
  const kind = oneOf('kind', requiredQueryValue(query, 'kind'), JOB_KINDS);
  const chain = queryValue(query, 'chain');
  const encoding = call.exchange.header('content-encoding');
  if (encoding !== '' && encoding.toLowerCase() !== 'identity')
    throw refuse('Content-Encoding', 'the lines must be sent as they are, not compressed.');
  checkPermission(caller, kind);
  const name = call.exchange.header('idempotency-key');
  const { method, path } = call.exchange;
  const verdict = queryValue(query, 'verdict');
  return {
    accountId: caller.accountId,
    kind,
    verdict: verdict !== undefined && oneOf('verdict', verdict, ['true', 'false']) === 'true',
    format: formatOf(queryValue(query, 'format'), call.exchange.header('content-type')),
    chain: chain === undefined ? null : parseChainId(chain),
    once: name === '' ? null : Buffer.from(answerSlot(caller.accountId, method, path, name)).toString('hex'),
  };
}

const noSuchJob = (): AssayError =>
  new AssayError('NOT_FOUND', 'id: there is no job of this id in the account.', { field: 'id' });

/**
 * Returns the job that the path names.
 *
 * @throws NOT_FOUND; FORBIDDEN if the key may not see this kind of job
 */
async function jobOf(call: Call, { useCases }: Deps): Promise<JobView> {
  const caller = callerOf(call);
  const job = await useCases.jobs().get(caller.accountId, idOf(call));
  if (job === null) throw noSuchJob();
  checkPermission(caller, job.kind);
  return job;
}

/** Handles `POST /jobs`. */
export function sendJobWork({ useCases }: Deps): Work {
  return {
    kind: 'upload',
    bytesMax: LIMITS.jobBytesMax,
    open: async (call) => {
      const upload = await useCases.jobs().receive(requestOf(call));
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
  };
}

/** Handles `GET /jobs`. */
export function listJobsWork({ useCases }: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const query = call.exchange.query();
      const page = pageOf(query, LIMITS.jobsPageMax);
      const caller = callerOf(call);
      const kinds = JOB_KINDS.filter((kind) => maySee(caller, kind));
      const { jobs, total } = await useCases.jobs().list(caller.accountId, { ...page, kinds });
      return jsonBytes({ jobs, total, ...page });
    },
  };
}

/** Handles `GET /jobs/{id}`. */
export function oneJobWork(deps: Deps): Work {
  return { kind: 'query', answer: async (call) => jsonBytes({ job: await jobOf(call, deps) }) };
}

/** Handles `GET /jobs/{id}/result`, including range requests. */
export function jobResultWork(deps: Deps): Work {
  return {
    kind: 'file',
    open: async (call) => {
      const job = await jobOf(call, deps);
      const result = await deps.useCases.jobs().result(callerOf(call).accountId, job.id);
      if (result === null) throw noSuchJob();
      const { bytes, isComplete } = result;
      const etag = `"${result.etag}"`;
      const header = (name: string): string => call.exchange.header(name);
      call.lines = `\r\nAccept-Ranges: bytes\r\nETag: ${etag}\r\nCache-Control: private, no-transform\r\nContent-Disposition: attachment; filename="${job.id}.ndjson"\r\nX-Result-Complete: ${isComplete}`;
      const asked = mayAnswerRange(header('if-range'), etag) ? rangeOf(header('range'), bytes) : 'whole';
      if (asked === 'none') {
        call.head += `\r\nContent-Range: bytes */${bytes}`;
        throw new AssayError(
          'INVALID_REQUEST',
          `Range: the result has ${bytes} bytes${isComplete ? '' : ' so far'}.`,
          { field: 'Range' },
        );
      }
      const { start, end } = asked === 'whole' ? { start: 0, end: bytes } : asked;
      if (asked !== 'whole') call.lines += `\r\nContent-Range: bytes ${start}-${end - 1}/${bytes}`;
      return {
        status: asked === 'whole' ? 200 : 206,
        contentType: RESULT_TYPE,
        source: await openFileParts(result.parts(start, end)),
      };
    },
  };
}

/** Handles `DELETE /jobs/{id}`. */
export function cancelJobWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const { id } = await jobOf(call, deps);
      const job = await deps.useCases.jobs().cancel(callerOf(call).accountId, id);
      if (job === null) throw noSuchJob();
      return jsonBytes({ job });
    },
  };
}
