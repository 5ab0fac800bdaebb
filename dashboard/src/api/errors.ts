/** Errors of calls, with what a person needs to report them. */

interface ProblemBody {
  readonly detail?: unknown;
  readonly error?: unknown;
  readonly field?: unknown;
  readonly data?: unknown;
}

/** An error response, or no response at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 if no response arrived. */
  readonly status: number;
  /** Code of `X-Error-Code`; `OFFLINE` if no response arrived. */
  readonly code: string;
  /** Id with which an operator finds the request in the log; null if no response arrived. */
  readonly requestId: string | null;
  /** Field of the request with the problem; null if missing. */
  readonly field: string | null;
  /** Seconds after which the request can be sent again; null if the response does not say. */
  readonly retryAfter: number | null;
  /** Data beside the error; null if missing. */
  readonly data: unknown;

  private constructor(
    message: string,
    parts: Pick<ApiError, 'status' | 'code' | 'requestId' | 'field' | 'retryAfter' | 'data'>,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.status = parts.status;
    this.code = parts.code;
    this.requestId = parts.requestId;
    this.field = parts.field;
    this.retryAfter = parts.retryAfter;
    this.data = parts.data;
  }

  /** Whether the server itself wrote the response. */
  get isOfServer(): boolean {
    return this.status !== 0 && this.code !== UNKNOWN;
  }

  /** Reads an error response. */
  static async of(response: Response): Promise<ApiError> {
    const body = (await response.json().catch(() => ({}))) as ProblemBody;
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    const message = [body.detail, body.error].find((text) => typeof text === 'string');
    return new ApiError(typeof message === 'string' ? message : `HTTP ${response.status}`, {
      status: response.status,
      code: response.headers.get('x-error-code') ?? UNKNOWN,
      requestId: response.headers.get('x-request-id'),
      field: typeof body.field === 'string' ? body.field : null,
      retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
      data: body.data ?? null,
    });
  }

  /** No response arrived. */
  static offline(cause: unknown): ApiError {
    const parts = { status: 0, code: 'OFFLINE', requestId: null, field: null, retryAfter: null, data: null };
    return new ApiError('No response from the server.', parts, cause);
  }
}

/** Code of a response that the server did not write, such as that of a proxy. */
const UNKNOWN = 'UNKNOWN';

/** Whether the same request may succeed later without a change. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
