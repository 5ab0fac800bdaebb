/** The public names of the package. */
export type { AlertStreamOptions, BillingStreamEvent, StreamEvent } from './alert-stream.ts';
export type {
  Bulk,
  BulkLine,
  BulkLineError,
  BulkLineResult,
  BulkOptions,
  FollowOptions,
  JobKind,
} from './bulk.ts';
export { Assay, Assay as default } from './client.ts';
export type { ApiPromise, PagePromise, Result } from './core/api-promise.ts';
export type { Call, CallOptions, ChargedOptions, ClientOptions } from './core/connection.ts';
export {
  AbortError,
  ApiError,
  AssayError,
  AuthenticationError,
  ConnectionError,
  type ErrorCode,
  InvalidRequestError,
  NotFoundError,
  PaymentRequiredError,
  PermissionError,
  RateLimitError,
  ReceiptError,
  ServerError,
  TimeoutError,
  WebhookSignatureError,
} from './core/errors.ts';
export type { RateLimit, ResponseInfo } from './core/info.ts';
export {
  type Fetch,
  fetchTransport,
  TimedOut,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './core/transport.ts';
export type * from './generated/api.ts';
export {
  type LinesReceipt,
  type LoggedReceipt,
  type ProvedLine,
  verifyLine,
  verifyLogProof,
} from './receipt-proofs.ts';
export { type Receipt, type VerifyReceiptOptions, verifyReceipt } from './receipts.ts';
export type { CaseFileUpload } from './resources/cases.ts';
export type { JobResultOptions } from './resources/jobs.ts';
export type { Body, Data, OperationId, PathOf, QueryOf } from './types.ts';
export { type UnwrapOptions, unwrap, type WebhookEvent, type WebhookHeaders } from './webhooks.ts';
