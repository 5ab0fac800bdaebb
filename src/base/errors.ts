/** The table of errors: a stable code and its HTTP status, and the error class that carries both. */

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
  /** The reader of the output has closed it (`| head`): not a fault of the writer. */
  OUTPUT_CLOSED: 500,
  INTERNAL: 500,
  STORE_CORRUPT: 500,
  STORE_VERSION: 500,
  STORE_BUSY: 500,
  /** A write failed because the disk is full, a quota is used up, or the device fails. Reads still work. */
  STORAGE_FULL: 500,
  LEDGER_UNAVAILABLE: 500,
  SOURCE_UNAVAILABLE: 500,
  LISTEN_FAILED: 500,
  IMPLAUSIBLE_LIST: 400,
  /** No endpoint of a chain responded. */
  CHAIN_UNREACHABLE: 500,
  /** The call to a chain timed out. */
  CHAIN_TIMEOUT: 500,
  /** An endpoint returned a result that no honest endpoint returns. */
  CHAIN_BAD_ANSWER: 500,
  /** An endpoint serves another chain than the one it is configured for. */
  CHAIN_MISMATCH: 500,
  /** An endpoint works, but does not answer this call (a method that it lacks, a block that it has pruned). */
  CHAIN_REFUSED: 500,
  CHAIN_REORG_TOO_DEEP: 500,
  NOT_READY: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof ERRORS;

/** An error as data, to pass it to another thread: class instances do not survive the transfer. */
export interface ErrorData {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly message: string;
  readonly field?: string;
  readonly retryAfterSeconds?: number;
}

/** An error that a user caused or can act on. `message` is a sentence that names the field and the limit that it exceeds. */
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

/** Converts any thrown value to data. Everything but an AssayError becomes INTERNAL, and its text appears only in the log. */
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

/** Restores an error from the data of `errorToData`, on the other side of a thread. */
export function errorFromData(data: ErrorData): AssayError {
  return new AssayError(data.code, data.message, {
    ...(data.field === undefined ? {} : { field: data.field }),
    ...(data.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: data.retryAfterSeconds }),
  });
}

/** Returns the text of any thrown value, for a log line or for a message that wraps it. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
