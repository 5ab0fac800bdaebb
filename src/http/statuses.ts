/**
 * The statuses of an operation: those of the stages of the pipeline that it passes, which follow from its columns, and its own. The
 * OpenAPI document is written from them.
 */
import { acceptsSession, isCharged, isPayable, permissionsOf, type Route, type StatusRow } from './routes.ts';
import { ErrorBody } from './schemas/envelopes.ts';

const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** A response as the document describes it. */
export interface DescribedResponse extends StatusRow {
  readonly status: number;
  readonly headers: readonly string[];
}

type Refusal = readonly [applies: boolean, status: number, description: string];

/** Refusals of the stages, in the order of the pipeline. A stage of a column that the operation does not have refuses nothing. */
function refusalsOf(route: Route): readonly Refusal[] {
  const { permission, principal, parameters, body, upload, quota, credits, rateClass, method } = route;
  const permissions = permissionsOf(route);
  const isAccount = principal !== null && principal !== 'anyone';
  const isRead = method === 'GET';
  return [
    // The head of the request, before all else: server/framing.ts.
    [true, 400, 'The headers are ambiguous or too large.'],
    // The host: pipeline.ts.
    [true, 404, 'The host begins with `www.`, and the service has no such host.'],
    // Authentication, origin and permission: principal.ts and admit.ts.
    [permission !== null && principal === null, 401, 'Missing, invalid or revoked API key, or no session.'],
    [isAccount, 401, 'No session, an invalid signature, or an invalid API key.'],
    [principal === 'anyone', 401, 'Wrong email, password or token.'],
    [acceptsSession(route) || (principal !== null && !isRead), 403, 'The Origin is another host.'],
    [route.role !== null && route.role !== 'auditor', 403, `The session lacks the role ${route.role}.`],
    [
      principal === 'session or key' && permission === null,
      403,
      'The key lacks a permission that it would grant.',
    ],
    [principal === 'anyone', 403, 'Registration is closed.'],
    [permissions.length > 0, 403, `The key lacks the permission ${permissions.join(' or ')}.`],
    // Parameters and body: parameters.ts and json-body.ts.
    [parameters.length > 0 || body !== null || upload !== null, 400, 'Invalid or missing parameters.'],
    // The gate: rate limit, quota, credits.
    [rateClass !== null, 429, 'Rate limit exceeded.'],
    [quota !== null, 402, 'Monthly quota exhausted.'],
    [credits > 0, 402, 'Insufficient credits: the error has the balance and the date of new credits.'],
    // A payment instead of a key: paid-calls.ts.
    [
      isPayable(route),
      402,
      'If the operator accepts payments by x402, a request without a key gets the header PAYMENT-REQUIRED.',
    ],
    [isPayable(route), 500, 'A payment by x402 cannot be taken at the moment.'],
    // The work. Writes and work of the pool are refused if too much is waiting.
    [isAccount && route.path.includes('{'), 404, 'The account has no record of this id.'],
    [rateClass !== null || !isRead, 429, 'Too much work is waiting.'],
    [true, 500, 'Internal server error.'],
  ];
}

/** Headers of an error beside those of all responses. */
const ERROR_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  500: ['Retry-After'],
  503: ['Retry-After'],
};

/** Returns every response of an operation except 200, in the order of their statuses. */
export function responsesOf(route: Route): readonly DescribedResponse[] {
  const { statuses, rateClass, principal, responseHeaders } = route;
  const common = commonHeaders(route);
  const redirect: DescribedResponse = {
    status: 301,
    description: 'The host begins with `www.`: the same path on the configured host.',
    schema: null,
    headers: ['X-Request-Id', 'Location'],
  };
  const sentences = new Map<number, string[]>();
  const add = (status: number, sentence: string): void => {
    sentences.set(status, [...(sentences.get(status) ?? []), sentence]);
  };
  const own = Object.entries(statuses).map(([status, row]) => ({ status: Number(status), row }));
  const ownErrors = own.filter(({ row }) => row.schema === ErrorBody);
  for (const { status, row } of ownErrors) add(status, row.description);
  for (const [applies, status, sentence] of refusalsOf(route)) if (applies) add(status, sentence);

  function errorHeaders(status: number): readonly string[] {
    // A request without a valid key is not counted.
    const limits = rateClass === null || (status === 401 && principal === null) ? [] : RATE_HEADERS;
    const quota = status === 402 ? responseHeaders.filter((name) => name === 'X-Quota-Remaining') : [];
    return ['X-Request-Id', ...limits, 'X-Error-Code', ...(ERROR_HEADERS[status] ?? []), ...quota];
  }
  const errors = [...sentences].map(([status, parts]) => ({
    status,
    description: parts.join(' '),
    schema: ErrorBody,
    headers: errorHeaders(status),
  }));
  const others = own
    .filter(({ row }) => row.schema !== ErrorBody)
    .map(({ status, row }) => ({
      status,
      ...row,
      headers: status >= 400 ? [...common, 'X-Error-Code'] : successHeaders(route),
    }));
  return [redirect, ...errors, ...others].toSorted((a, b) => a.status - b.status);
}

const commonHeaders = ({ rateClass }: Pick<Route, 'rateClass'>): readonly string[] => [
  'X-Request-Id',
  ...(rateClass === null ? [] : RATE_HEADERS),
];

/** Returns the headers of a successful response. */
export const successHeaders = (route: Route): readonly string[] => [
  ...commonHeaders(route),
  ...route.responseHeaders,
  ...(isCharged(route) ? ['Idempotency-Replayed'] : []),
];
