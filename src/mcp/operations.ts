/** The operations that tools call, as data and as a port. It has two implementations: inside the server, and over HTTP. */
import type { TSchema } from 'typebox';

export interface ToolParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: TSchema;
}

/** Facts of an operation of the HTTP interface. */
export interface ToolOperation {
  readonly id: string;
  readonly method: string;
  /** Absolute pattern: `/api/v1/cases/{id}`. */
  readonly path: string;
  readonly parameters: readonly ToolParameter[];
  readonly body: TSchema | null;
  /** Schema of `data`, or of the whole response if it has no envelope. */
  readonly data: TSchema;
  /** Credits of a successful request; 0 if it costs none. */
  readonly credits: number;
  /** Monthly quota of which a request takes a unit; null for none. */
  readonly quota: string | null;
  /** Permissions of which the key needs one; empty if any key is enough. */
  readonly permissions: readonly string[];
}

export interface OperationRequest {
  readonly method: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Percent-encoded, without `?`; empty for none. */
  readonly query: string;
  /** JSON text; null for none. */
  readonly body: string | null;
  readonly idempotencyKey: string | null;
}

export interface OperationResponse {
  readonly status: number;
  readonly body: Uint8Array;
  readonly requestId: string;
  /** The response was stored for an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
  /** Null if the response does not say when to retry. */
  readonly retryAfterSeconds: number | null;
}

/**
 * Sends a request to an operation, with the key of the client. Errors of the operation are responses.
 *
 * @throws AssayError if there is no response
 */
export type CallOperation = (request: OperationRequest) => Promise<OperationResponse>;
