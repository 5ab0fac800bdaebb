/** Error responses: `{error}`, or RFC 9457 problem details for a client that accepts `application/problem+json`. */
import { AssayError, clientError, ERRORS, type ErrorCode } from '../../base/errors.ts';
import { redactKeys } from '../../base/log.ts';
import { REASONS } from '../server/port.ts';
import { prefersProblem } from './negotiation.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Additional header lines, each preceded by its line break. */
  readonly lines: string;
  readonly body: string;
}

/** Messages of faults that pass: the full ones, with files and settings, are for the operator only. */
const PASSING: Readonly<Partial<Record<ErrorCode, string>>> = {
  STORAGE_FULL:
    'The service cannot write to its storage at the moment. The request was not completed and nothing was charged; try again later.',
  NOT_READY: 'The service is not ready to process this request at the moment; try again later.',
};

/** Returns the header line with the code of an error. Every error response has it, whatever its body is. */
export const errorCodeLine = (code: ErrorCode): string => `\r\nX-Error-Code: ${code}`;

/**
 * Returns the body of an error in the format that the client prefers.
 *
 * @param members - members of the body beside the error
 * @param problemMembers - members of problem details only
 */
export function errorBody(
  {
    code,
    message,
    members,
  }: { readonly code: ErrorCode; readonly message: string; readonly members: object },
  accept: string,
  requestId: string,
  problemMembers: object = {},
): Pick<ErrorAnswer, 'contentType' | 'body'> {
  if (!prefersProblem(accept))
    return { contentType: 'application/json', body: JSON.stringify({ error: message, ...members }) };
  const { status } = ERRORS[code];
  const problem = {
    type: `urn:assay:error:${code}`,
    title: REASONS[status],
    status,
    detail: message,
    instance: `urn:assay:request:${requestId}`,
    code,
    ...problemMembers,
    ...members,
  };
  return { contentType: 'application/problem+json', body: JSON.stringify(problem) };
}

/**
 * Renders a thrown value as a response. An error that is not the client's (500, or a code that concerns only the operator) gets a
 * generic message; its details go to the log. A message never contains an API key, even if the client sent one in an unexpected place.
 */
export function renderError(error: unknown, accept: string, requestId: string): ErrorAnswer {
  const known = clientError(error);
  const fault = error instanceof AssayError && known === null ? error : null;
  // Only /ready responds with NOT_READY. Elsewhere, an unavailable component is a server error like any other.
  const code = known?.code ?? (fault?.code === 'STORAGE_FULL' ? fault.code : 'INTERNAL');
  const { status } = ERRORS[code];
  const message =
    known === null ? ((fault && PASSING[fault.code]) ?? 'Internal server error.') : redactKeys(known.message);
  const retryAfterSeconds = (known ?? fault)?.retryAfterSeconds;
  let lines = errorCodeLine(code);
  if (status === 401) lines += '\r\nWWW-Authenticate: Bearer';
  if (retryAfterSeconds !== undefined) lines += `\r\nRetry-After: ${retryAfterSeconds}`;
  const field = known?.field === undefined ? {} : { field: known.field };
  return { status, lines, ...errorBody({ code, message, members: {} }, accept, requestId, field) };
}
