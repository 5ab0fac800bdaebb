/** An error as an answer: `{error}`, or the same by RFC 9457 for a client that asks for `application/problem+json`. */
import { AssayError } from '../base/errors.ts';
import { redactKeys } from '../base/log.ts';
import { REASONS } from './server.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Further header lines, each with its line break before it. */
  readonly lines: string;
  readonly body: string;
}

/** The paths of the full text are for the operator. */
const STORAGE_FULL_TEXT =
  'The service cannot store anything at the moment: the request was not completed, and nothing was charged. Try again later.';

/** Whether the client's Accept asks for problem details. */
const asksForProblem = (accept: string): boolean => accept.includes('application/problem+json');

/**
 * Renders anything thrown. What is the server's fault (500) says no more than that; its text is for the log. A sentence never
 * repeats an API key, wherever a client may have put it.
 */
export function renderError(error: unknown, accept: string, requestId: string): ErrorAnswer {
  const known = error instanceof AssayError ? error : null;
  // 503 belongs to /ready alone; elsewhere a part that is not there is the server's fault like any other.
  const status = known === null || known.status === 503 ? 500 : known.status;
  const isFull = known?.code === 'STORAGE_FULL';
  const code = known === null || (status === 500 && !isFull) ? 'INTERNAL' : known.code;
  const message = isFull
    ? STORAGE_FULL_TEXT
    : known === null || known.status === 500
      ? 'Internal server error.'
      : redactKeys(known.message);
  let lines = `\r\nX-Error-Code: ${code}`;
  if (status === 401) lines += '\r\nWWW-Authenticate: Bearer';
  if (known?.retryAfterSeconds !== undefined) lines += `\r\nRetry-After: ${known.retryAfterSeconds}`;
  if (!asksForProblem(accept))
    return { status, contentType: 'application/json', lines, body: JSON.stringify({ error: message }) };
  const problem = {
    type: 'about:blank',
    title: REASONS[status],
    status,
    detail: message,
    instance: `urn:assay:request:${requestId}`,
    code,
    ...(known?.field === undefined || status === 500 ? {} : { field: known.field }),
  };
  return { status, contentType: 'application/problem+json', lines, body: JSON.stringify(problem) };
}
