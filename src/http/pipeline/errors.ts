/** Error responses: `{error}`, or RFC 9457 problem details for a client that accepts `application/problem+json`. */
import { AssayError } from '../../base/errors.ts';
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

/** Replaces the full message: the paths in it are for the operator only. */
const STORAGE_FULL_TEXT =
  'The service cannot write to its storage at the moment. The request was not completed and nothing was charged; try again later.';

/**
 * Renders a thrown value as a response. A server error (500) gets a generic message; its details go to the log. A message never
 * contains an API key, even if the client sent one in an unexpected place.
 */
export function renderError(error: unknown, accept: string, requestId: string): ErrorAnswer {
  const known = error instanceof AssayError ? error : null;
  // Only /ready responds with 503. Elsewhere, an unavailable component is a server error like any other.
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
  if (!prefersProblem(accept))
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
