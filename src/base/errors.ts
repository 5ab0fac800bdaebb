/** The one table of errors: a stable code, its HTTP status, and the class that carries both across the program. */

export const ERRORS = {
  INVALID_REQUEST: 400,
  INVALID_JSON: 400,
  BODY_TOO_LARGE: 400,
  UNKNOWN_CHAIN: 400,
  INVALID_ADDRESS: 400,
  INVALID_FILE: 400,
  INVALID_CONFIG: 400,
  UNAUTHENTICATED: 401,
  QUOTA_EXHAUSTED: 402,
  CREDITS_EXHAUSTED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  RATE_LIMITED: 429,
  OVERLOADED: 429,
  /** Whoever read the output has left (`| head`): not a fault of the one who wrote. */
  OUTPUT_CLOSED: 500,
  INTERNAL: 500,
  STORE_CORRUPT: 500,
  STORE_VERSION: 500,
  STORE_BUSY: 500,
  /** A write was refused because the disk is full, a quota is used up, or the device fails. Reads go on. */
  STORAGE_FULL: 500,
  LEDGER_UNAVAILABLE: 500,
  SOURCE_UNAVAILABLE: 500,
  LISTEN_FAILED: 500,
  IMPLAUSIBLE_LIST: 400,
  /** No endpoint of a chain answered. */
  CHAIN_UNREACHABLE: 500,
  /** The time that a question to a chain was given ended before an answer came. */
  CHAIN_TIMEOUT: 500,
  /** An endpoint answered something that no honest one does. */
  CHAIN_BAD_ANSWER: 500,
  /** An endpoint serves another chain than the one it was named for. */
  CHAIN_MISMATCH: 500,
  /** An endpoint is well, and does not answer this question (a method it lacks, a block it has pruned). */
  CHAIN_REFUSED: 500,
  CHAIN_REORG_TOO_DEEP: 500,
  NOT_READY: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof ERRORS;

/** An error as data: what crosses a thread, where classes do not survive. */
export interface ErrorData {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly message: string;
  readonly field?: string;
  readonly retryAfterSeconds?: number;
}

/** An error that a user caused or can act upon. `message` is a sentence that names the field and the bound it broke. */
export class AssayError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details: { field?: string; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'AssayError';
    this.code = code;
    this.field = details.field;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }

  get status(): number {
    return ERRORS[this.code];
  }
}

/** Turns anything thrown into data. What is not an AssayError is INTERNAL, and its text stays in the log. */
export function errorToData(error: unknown): ErrorData {
  if (!(error instanceof AssayError)) {
    return { ok: false, code: 'INTERNAL', message: 'Internal server error.' };
  }
  return {
    ok: false,
    code: error.code,
    message: error.message,
    ...(error.field === undefined ? {} : { field: error.field }),
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}

/** Rebuilds, on the other side of a thread, the error that `errorToData` took apart. */
export function errorFromData(data: ErrorData): AssayError {
  return new AssayError(data.code, data.message, {
    ...(data.field === undefined ? {} : { field: data.field }),
    ...(data.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: data.retryAfterSeconds }),
  });
}

/** The text of anything thrown, for a log line or a message that wraps it. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
