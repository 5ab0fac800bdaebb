/** The table of error codes, and the error class that carries a code. Codes are stable: clients may depend on them. */

/** Properties of an error code. */
export interface ErrorKind {
  /** HTTP status. */
  readonly status: 400 | 401 | 402 | 403 | 404 | 429 | 500 | 503;
  /**
   * `api`: clients receive the code. `server`: it concerns the operator, in logs and on the command line.
   */
  readonly scope: 'api' | 'server';
  /** Whether the same request may succeed later without a change. */
  readonly isRetryable: boolean;
  /** True if clients receive the message although the status is 500 or above: it names nothing of the operator. */
  readonly isShown?: true;
  readonly meaning: string;
  /** Recommended action. */
  readonly action: string;
}

/** All error codes. docs/reference/errors.md is generated from this table. */
export const ERRORS = {
  INVALID_REQUEST: {
    status: 400,
    scope: 'api',
    isRetryable: false,
    meaning: 'A field, parameter or header is missing or has an invalid value. The message names it.',
    action: 'Correct the request.',
  },
  INVALID_JSON: {
    status: 400,
    scope: 'api',
    isRetryable: false,
    meaning: 'The request body is not valid JSON or UTF-8, or is nested too deeply.',
    action: 'Correct the body.',
  },
  BODY_TOO_LARGE: {
    status: 400,
    scope: 'api',
    isRetryable: false,
    meaning: 'The request body is larger than the operation accepts. The message contains the limit.',
    action: 'Send a smaller body, or submit a bulk job.',
  },
  UNKNOWN_CHAIN: {
    status: 400,
    scope: 'api',
    isRetryable: false,
    meaning: 'The chain is not supported.',
    action: 'Use one of the chain ids that the message lists.',
  },
  INVALID_ADDRESS: {
    status: 400,
    scope: 'api',
    isRetryable: false,
    meaning: 'The address is not valid on its chain: its format, length or checksum is wrong.',
    action: 'Check the address and the chain.',
  },
  INVALID_FILE: {
    status: 400,
    scope: 'server',
    isRetryable: false,
    meaning:
      'A file does not have the documented format, or cannot be read. The message names the file and the line or field.',
    action: 'Correct the file.',
  },
  INVALID_CONFIG: {
    status: 400,
    scope: 'server',
    isRetryable: false,
    meaning: 'A setting or a command-line option has an invalid value. The message names it.',
    action: 'Correct the setting and start again.',
  },
  UNAUTHENTICATED: {
    status: 401,
    scope: 'api',
    isRetryable: false,
    meaning: 'The API key or session is missing, invalid, expired or revoked.',
    action: 'Send a valid key in the Authorization header, or log in.',
  },
  SECOND_FACTOR_REQUIRED: {
    status: 401,
    scope: 'api',
    isRetryable: false,
    meaning:
      'The email address and the password are right, and the person has a second factor. No session was begun.',
    action: 'Log in again with the field `code`: a code of the authenticator app, or a recovery code.',
  },
  QUOTA_EXHAUSTED: {
    status: 402,
    scope: 'api',
    isRetryable: false,
    meaning: 'The monthly quota of the account is used up.',
    action: 'Wait for the next month, or change the plan.',
  },
  CREDITS_EXHAUSTED: {
    status: 402,
    scope: 'api',
    isRetryable: false,
    meaning: 'The balance of the account is lower than the cost of the request. Nothing was charged.',
    action: 'Buy credits. Operator: `assay credits grant`.',
  },
  FORBIDDEN: {
    status: 403,
    scope: 'api',
    isRetryable: false,
    meaning: 'The API key lacks the required permission, or the request comes from a page of another site.',
    action: 'Use a key with the permission that the message names.',
  },
  NOT_FOUND: {
    status: 404,
    scope: 'api',
    isRetryable: false,
    meaning: 'The resource does not exist in this account, or there is no such operation.',
    action: 'Check the path and the id.',
  },
  RATE_LIMITED: {
    status: 429,
    scope: 'api',
    isRetryable: true,
    meaning: 'Too many requests in the current interval.',
    action: 'Retry after the seconds in the Retry-After header.',
  },
  OVERLOADED: {
    status: 429,
    scope: 'api',
    isRetryable: true,
    meaning: 'The service has no capacity for the request at the moment. Nothing was charged.',
    action: 'Retry after the seconds in the Retry-After header, or with exponential back-off.',
  },
  OUTPUT_CLOSED: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'The reader of the output has closed it (`| head`).',
    action: 'None is needed.',
  },
  INTERNAL: {
    status: 500,
    scope: 'api',
    isRetryable: true,
    meaning: 'An unexpected error. Nothing was charged; the log of the service contains the details.',
    action: 'Retry. If it persists, report the X-Request-Id header to the operator.',
  },
  STORE_CORRUPT: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'A file in the data folder is damaged or truncated. The message names it.',
    action: 'Follow the message, or restore the file from a backup.',
  },
  STORE_VERSION: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'A file or store has a format that this version of Assay does not read. It is left unchanged.',
    action: 'Use the version that wrote it, or rebuild it as the message says.',
  },
  STORE_BUSY: {
    status: 500,
    scope: 'server',
    isRetryable: true,
    meaning: 'Another process or node uses the store.',
    action: 'Wait until it has finished, or stop it.',
  },
  STORAGE_FULL: {
    status: 500,
    scope: 'api',
    isRetryable: true,
    meaning:
      'A write failed because the disk is full or read-only, a quota is used up, or the device fails. Reads still work. Nothing was charged.',
    action: 'Retry after the seconds in the Retry-After header. Operator: free disk space.',
  },
  LEDGER_UNAVAILABLE: {
    status: 500,
    scope: 'server',
    isRetryable: true,
    meaning: 'The ledger of credits cannot be read or written, so charged requests are refused.',
    action: 'Check the accounts store, or Redis.',
  },
  SOURCE_UNAVAILABLE: {
    status: 500,
    scope: 'server',
    isRetryable: true,
    meaning: 'A publisher, price server or snapshot source did not respond or returned an error.',
    action: 'Check the network and the URL; the next scheduled run tries again.',
  },
  LISTEN_FAILED: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'The server cannot listen on the configured host and port.',
    action: 'Choose another port, or stop the process that uses it.',
  },
  BINARY_MISMATCH: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'A native binary of a package is not the recorded file. It was not loaded.',
    action: 'Delete node_modules and run npm ci; report it if it happens again.',
  },
  IMPLAUSIBLE_LIST: {
    status: 400,
    scope: 'server',
    isRetryable: false,
    meaning:
      'A list lost or gained so many entries that it is probably incomplete. The previous list stays in force.',
    action: 'Check the file; if it is correct, import it with --force.',
  },
  CHAIN_UNREACHABLE: {
    status: 500,
    scope: 'server',
    isRetryable: true,
    meaning: 'No configured endpoint of the chain responded.',
    action: 'Check the endpoints and the network.',
  },
  CHAIN_TIMEOUT: {
    status: 500,
    scope: 'server',
    isRetryable: true,
    meaning: 'A call to an endpoint of the chain timed out.',
    action: 'Retry, or configure a faster endpoint.',
  },
  CHAIN_BAD_ANSWER: {
    status: 500,
    scope: 'server',
    isRetryable: true,
    meaning: 'An endpoint of the chain returned an invalid or inconsistent result.',
    action: 'Replace the endpoint that the message names.',
  },
  CHAIN_MISMATCH: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'An endpoint serves another chain than the one it is configured for.',
    action: 'Correct the URL of the endpoint.',
  },
  CHAIN_REFUSED: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning:
      'An endpoint works, but does not support this call: it lacks the method, or has pruned the block.',
    action: 'Configure an endpoint that supports it, for example an archive node.',
  },
  CHAIN_REORG_TOO_DEEP: {
    status: 500,
    scope: 'server',
    isRetryable: false,
    meaning: 'The chain replaced more blocks than the program reverts on its own.',
    action: 'Check that the endpoint serves the main chain; the message names the blocks.',
  },
  PAYMENTS_NOT_CONFIGURED: {
    status: 404,
    scope: 'api',
    isRetryable: false,
    meaning:
      'This service sells no credits by card: its operator has not configured Stripe. Nothing was charged.',
    action:
      'Ask the operator of the service. Operator: set ASSAY_STRIPE_KEY, ASSAY_STRIPE_SECRET and ASSAY_PUBLIC_HOST.',
  },
  PAYMENT_REQUIRED: {
    status: 402,
    scope: 'api',
    isRetryable: false,
    meaning:
      'The request has no API key and can be paid (x402), or its payment was not taken. The header PAYMENT-REQUIRED has the price and the reason.',
    action: 'Pay as the header says, or send an API key.',
  },
  PAYMENT_PENDING: {
    status: 402,
    scope: 'api',
    isRetryable: true,
    meaning: 'The payment of the request is stored, and is not confirmed on its chain yet.',
    action: 'Send the same request with the same payment after the seconds in the Retry-After header.',
  },
  PAYMENT_UNAVAILABLE: {
    status: 500,
    scope: 'api',
    isRetryable: true,
    isShown: true,
    meaning:
      'Payments by a signed authorization cannot be taken at the moment: the sanctions lists are stale, the chain cannot be reached, or the gas-paying account cannot send. Nothing was taken.',
    action: 'Retry later. Operator: see the log.',
  },
  PAYMENT_PROVIDER_UNAVAILABLE: {
    status: 500,
    scope: 'api',
    isRetryable: true,
    isShown: true,
    meaning: 'The payment provider did not respond, is overloaded, or has a fault. Nothing was charged.',
    action: 'Retry later.',
  },
  PAYMENT_PROVIDER_ERROR: {
    status: 500,
    scope: 'api',
    isRetryable: false,
    isShown: true,
    meaning: 'The payment provider rejected the request of this service. Nothing was charged.',
    action: 'Ask the operator of the service. Operator: check the key, and the log of requests at Stripe.',
  },
  NOT_READY: {
    status: 503,
    scope: 'server',
    isRetryable: true,
    meaning:
      'A component that the request needs is not available yet, for example no snapshot is loaded or Redis is away. Clients receive INTERNAL, except from GET /ready.',
    action: 'See the reasons that GET /ready returns.',
  },
} as const satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof ERRORS;

/** Codes that responses may carry: those of the API, and that of GET /ready. */
export const CLIENT_ERROR_CODES: ErrorCode[] = (Object.keys(ERRORS) as ErrorCode[]).filter(
  (code) => ERRORS[code].scope === 'api' || code === 'NOT_READY',
);

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
    return ERRORS[this.code].status;
  }
}

/**
 * Returns a thrown value with a message that a client may see: the error is the client's own (below 500) or its kind is shown, and its code is
 * in the API's part of the table. Null for any other: its message may name files, settings or commands of the operator and appears only in the log.
 */
export function clientError(error: unknown): AssayError | null {
  if (!(error instanceof AssayError)) return null;
  const { scope, status, isShown }: ErrorKind = ERRORS[error.code];
  return scope === 'api' && (status < 500 || isShown === true) ? error : null;
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

/** Returns whether an error of the file system says that a file or folder is missing. */
export const isMissingFile = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === 'ENOENT';
