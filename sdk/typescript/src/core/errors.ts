/** Errors of the client. Every error that it throws is an `AssayError`. */
import { infoOf, type RateLimit, type ResponseInfo } from './info.ts';
import type { TransportResponse } from './transport.ts';

/** Codes of error responses. Later versions of the server may add codes. */
export type ErrorCode =
  | 'INVALID_REQUEST'
  | 'INVALID_JSON'
  | 'BODY_TOO_LARGE'
  | 'UNKNOWN_CHAIN'
  | 'INVALID_ADDRESS'
  | 'UNAUTHENTICATED'
  | 'QUOTA_EXHAUSTED'
  | 'CREDITS_EXHAUSTED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'RATE_LIMITED'
  | 'OVERLOADED'
  | 'INTERNAL'
  | 'STORAGE_FULL'
  | 'NOT_READY'
  | (string & {});

/** Base class of all errors of the client. Itself: an argument that cannot be sent. */
export class AssayError extends Error {
  // Not `new.target.name`, which a minifier changes.
  override name = 'AssayError';
}

/** No whole response arrived: the connection failed, or something other than the API responded. */
export class ConnectionError extends AssayError {
  override name = 'ConnectionError';
}

/** No whole response arrived within `timeout`. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError';
}

/** The caller's `signal` was aborted. */
export class AbortError extends AssayError {
  override name = 'AbortError';
}

/** A webhook is not from this Assay server, was altered, or is too old. */
export class WebhookSignatureError extends AssayError {
  override name = 'WebhookSignatureError';
}

/** A receipt is not genuine, or has expired. */
export class ReceiptError extends AssayError {
  override name = 'ReceiptError';
}

/** Reads the header Retry-After: seconds, or the date of another program, such as a proxy. */
function secondsUntil(text: string | null): number | null {
  if (text === null || text === '') return null;
  const seconds = text.endsWith('GMT') ? Math.max(0, (Date.parse(text) - Date.now()) / 1_000) : Number(text);
  return seconds >= 0 ? seconds : null;
}

/** An error response. `message` is a sentence with the field, the problem and the allowed values. */
export class ApiError extends AssayError {
  override name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** Code of `X-Error-Code`, which is stable. */
  readonly code: ErrorCode;
  /** RFC 9457 type: `urn:assay:error:` and the code. */
  readonly type: string;
  /** Field of the request with the problem; null if missing. */
  readonly field: string | null;
  /** Id of the request, for the operator of the server. */
  readonly requestId: string | null;
  /** Rate limit of the key; null if the operation has none. */
  readonly rateLimit: RateLimit | null;
  /** Calls left this month; `Infinity` if unlimited, null if the response does not say. */
  readonly quotaRemaining: number | null;
  /** Credits left; null if the response does not say. */
  readonly credits: number | null;
  /** Seconds after which the request can be sent again; null if the response does not say. */
  readonly retryAfter: number | null;
  /** Headers and facts of the response. */
  readonly response: ResponseInfo;

  constructor(message: string, code: string, field: string | null, response: ResponseInfo) {
    super(message);
    this.status = response.status;
    this.code = code;
    this.type = `urn:assay:error:${code}`;
    this.field = field;
    this.requestId = response.requestId;
    this.rateLimit = response.rateLimit;
    this.quotaRemaining = response.quotaRemaining;
    this.credits = response.credits;
    this.retryAfter = secondsUntil(response.header('retry-after'));
    this.response = response;
  }
}

/** 400: a field, parameter or header is missing or invalid. */
export class InvalidRequestError extends ApiError {
  override name = 'InvalidRequestError';
}
/** 401: the API key or session is missing, invalid, expired or revoked. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError';
}
/** 402: the monthly quota or the credits are used up. Nothing was charged. */
export class PaymentRequiredError extends ApiError {
  override name = 'PaymentRequiredError';
}
/** 403: the key lacks a permission, or the request comes from a page of another site. */
export class PermissionError extends ApiError {
  override name = 'PermissionError';
}
/** 404: the resource does not exist in this account. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 429: too many requests, or the server has no capacity at the moment. Nothing was charged. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError';
}
/** 5xx: an error of the server. Nothing was charged. */
export class ServerError extends ApiError {
  override name = 'ServerError';
}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  402: PaymentRequiredError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitError,
};

/** Longest text of a response of another program, for example of a proxy, that a message quotes. */
const FOREIGN_CHARS_MAX = 200;

interface ErrorFields {
  readonly detail?: unknown;
  readonly error?: unknown;
  readonly code?: unknown;
  readonly field?: unknown;
}

/** Reads an error response. */
export async function errorOf(response: TransportResponse): Promise<ApiError> {
  const text = await response.text();
  let body: ErrorFields = {};
  try {
    body = Object(JSON.parse(text));
  } catch {
    // A response of another program.
  }
  const sentence = body.detail ?? body.error;
  const message =
    typeof sentence === 'string'
      ? sentence
      : `Unexpected response ${response.status}: ${text.slice(0, FOREIGN_CHARS_MAX)}`;
  const code = response.header('x-error-code') ?? body.code;
  const Class = CLASSES[response.status] ?? (response.status >= 500 ? ServerError : ApiError);
  return new Class(
    message,
    typeof code === 'string' ? code : `HTTP_${response.status}`,
    typeof body.field === 'string' ? body.field : null,
    infoOf(response, body),
  );
}
