/** `GET /jobs/{id}/result`, including range requests. */
import { Type } from 'typebox';
import { AssayError } from '../../base/errors.ts';
import { callerOf, mayAnswerRange, openFileParts, operation, rangeOf } from '../operation.ts';
import { JOBS, jobOf, jobPath, NO_RESULT, noSuchJob } from './support/jobs.ts';

const RESULT_TYPE = 'application/x-ndjson';

export const jobResult = operation({
  ...JOBS,
  id: 'jobResult',
  sdk: 'jobs.result',
  method: 'GET',
  path: '/jobs/{id}/result',
  pathParameters: jobPath,
  header: {
    Range: Type.String({ default: '', description: 'One range of bytes.' }),
    'If-Range': Type.String({
      default: '',
      description: 'ETag of an earlier response. If it is no longer valid, the response is the whole result.',
    }),
  },
  response: RESULT_TYPE,
  responseHeaders: [
    'Accept-Ranges',
    'ETag',
    'Cache-Control',
    'Content-Disposition',
    'X-Result-Complete',
    'Content-Range',
  ],
  statuses: { ...NO_RESULT, 206: { description: 'The requested range of bytes.', schema: null } },
  summary: 'Result of a bulk job',
  description:
    'A line for every line of the input, in its order; a line that failed is `{address, error, line}` in its place. While the job runs, the result has the complete lines from the first one on (`X-Result-Complete: false`).',
  async file({ services, call, path, header }) {
    const job = await jobOf(services, call, path.id);
    const result = await services.useCases.jobs().result(callerOf(call).accountId, job.id);
    if (result === null) throw noSuchJob();
    const { bytes, isComplete } = result;
    const etag = `"${result.etag}"`;
    call.lines = `\r\nAccept-Ranges: bytes\r\nETag: ${etag}\r\nCache-Control: private, no-transform\r\nContent-Disposition: attachment; filename="${job.id}.ndjson"\r\nX-Result-Complete: ${isComplete}`;
    const range = mayAnswerRange(header['If-Range'], etag) ? rangeOf(header.Range, bytes) : 'whole';
    if (range === 'none') {
      call.extraHead += `\r\nContent-Range: bytes */${bytes}`;
      throw new AssayError(
        'INVALID_REQUEST',
        `Range: the result has ${bytes} bytes${isComplete ? '' : ' so far'}.`,
        { field: 'Range' },
      );
    }
    const { start, end } = range === 'whole' ? { start: 0, end: bytes } : range;
    const parts = result.parts(start, end);
    await result.requireFiles(parts);
    if (range !== 'whole') call.lines += `\r\nContent-Range: bytes ${start}-${end - 1}/${bytes}`;
    return {
      status: range === 'whole' ? 200 : 206,
      contentType: RESULT_TYPE,
      source: await openFileParts(parts),
    };
  },
});
