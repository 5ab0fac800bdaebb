/** The work of an operation: its input, and how its response is created. The handlers of the operations return these. */

import type { ChargeType } from '../../accounts/credits.ts';
import type { IdempotentAnswer } from '../../accounts/idempotency.ts';
import type { Charge } from '../../accounts/ledger.ts';
import type { Pool } from '../../accounts/pools.ts';
import type { PooledJson } from '../../base/buffer-pool.ts';
import type { ByteSource, EventStream } from '../server/port.ts';
import type { Upload } from '../server/uploads.ts';
import type { Call } from './call.ts';
import type { BodyOutline, ReadBody } from './json-body.ts';
import type { Coding } from './negotiation.ts';

/** Async response data: JSON as a text or as owned bytes, or in a pooled buffer that is released after it has been copied. */
export type AsyncData = string | Uint8Array | PooledJson;

/** A response without an envelope: probes, documents, metrics. */
export interface Page {
  readonly status: number;
  readonly contentType: string;
  /** Additional header lines, each preceded by its line break. */
  readonly lines?: string;
  readonly body: string | Uint8Array;
  /** The body is sent as it is: it already has the coding that `lines` name, or the client accepts none. */
  readonly isEncoded?: true;
  /** Compressed forms of a body that never changes: each is made once. Omitted: the body may change. */
  readonly compressed?: Map<Coding, Promise<Uint8Array | null>>;
}

/** A response of any size, read at the pace of the client. */
export interface LargeResponse {
  /** 304 with an empty source. */
  readonly status: 200 | 206 | 304;
  readonly contentType: string;
  readonly source: ByteSource;
}

/**
 * Writes the JSON text of `data` into `out`.
 *
 * @param source - input of the data: the parsed body of the request, data made elsewhere, or null
 * @returns the offset after the written text, or -1 if it does not fit
 */
export type WriteData<Source> = (call: Call, out: Buffer, offset: number, source: Source) => number;

/** Work of an operation that costs credits. `Body` is the type of its validated request body. */
export interface ChargedWork<Body> {
  /** Credits for this body, reserved before the work begins. Default: the credits of the route. */
  readonly cost?: (body: Body) => number;
  /** Parts of the ledger reference after the operation: the addresses and the chain. Empty parts are left out. */
  readonly subjects?: (body: Body) => readonly string[];
  /** The result of the work is the whole response, an object without an envelope. */
  readonly bare?: true;
  /** Does the work and returns the JSON text of `data`. It may lower `call.credits` if the work turns out to be worth less. */
  readonly answer: (call: Call, body: Body) => Promise<PooledJson>;
  /**
   * Stores the result of `answer` and books its charge, if the body asks for that; else returns null.
   *
   * @returns the whole response
   */
  readonly store?: (
    call: Call,
    body: Body,
    result: PooledJson,
    charge: Purchase,
  ) => Promise<IdempotentAnswer> | null;
}

/** The response to a charged request. */
export interface ChargedResponse extends IdempotentAnswer {
  /**
   * Null if `body` is the whole response. Otherwise `data` in a buffer of the pool, which nothing stores and the receiver releases: `body` is
   * then only the member that follows it.
   */
  readonly data: PooledJson | null;
}

/** A charge that its work books itself, because it stores something that must exist exactly if it is charged. */
export interface Purchase {
  readonly type: ChargeType;
  /** Credits to take. */
  readonly amount: number;
  /** The balance that pays. */
  readonly pool: Pool;
  readonly reference: string | null;
  /** Slot of the request's Idempotency-Key, in which the response is stored; null without a key. */
  readonly keep: NonNullable<Charge['keep']> | null;
  readonly ignored: readonly string[] | null;
  /**
   * Call it when only the charge is left, before anything is stored: it releases the credits that were reserved for the request, so that the
   * charge can take them. Throws if the client has disconnected and has no Idempotency-Key with which it could get the response.
   */
  readonly beginCharge: () => void;
}

/** Work of an operation that charges by itself. */
export interface PurchaseWork<Body> extends Pick<ChargedWork<Body>, 'subjects'> {
  /** Does the work, charges, and returns the whole response. If it rejects, nothing is charged in the end. */
  readonly purchase: (call: Call, body: Body, charge: Purchase) => Promise<IdempotentAnswer>;
}

/** The work of an operation, by the input that it needs. `Body` is the type of its validated request body. */
export type Work<Body = unknown> =
  | { readonly kind: 'page'; readonly answer: (call: Call) => Page | Promise<Page> }
  /** Answered with a response of its own form, from the bytes of a JSON body. Path, query and headers stay readable. */
  | { readonly kind: 'message'; readonly answer: (call: Call, body: Uint8Array) => Promise<Page> }
  /** Answered synchronously, from the path and the query. */
  | {
      readonly kind: 'lookup';
      readonly write: WriteData<null>;
      /** Answers requests that need something which takes longer than the others, such as a receipt. */
      readonly later?: {
        readonly isAsked: (call: Call) => boolean;
        readonly answer: (call: Call) => Promise<AsyncData>;
      };
      /** Whether the client's cached copy is still valid, by its If-None-Match header. Such a request costs no quota. */
      readonly isCurrent?: (ifNoneMatch: string) => boolean;
    }
  /** Answered synchronously, from a body that matches the schema. */
  | { readonly kind: 'body'; readonly read: ReadBody<Body>; readonly write: WriteData<Body> }
  /** Answered asynchronously, from the path and the query. */
  | { readonly kind: 'query'; readonly answer: (call: Call) => Promise<PooledJson> }
  /** Answered asynchronously, from a body that matches the schema. Only this kind of work and the next can cost credits. */
  | ({ readonly kind: 'task'; readonly read: ReadBody<Body> } & ChargedWork<Body>)
  | ({ readonly kind: 'purchase'; readonly read: ReadBody<Body> } & PurchaseWork<Body>)
  /** Answered for as long as the client stays connected. `open` starts the stream; it is called synchronously or not at all. */
  | { readonly kind: 'stream'; readonly follow: (call: Call, open: () => EventStream) => void }
  /** Receives a body of any size while it arrives. Path, query and headers stay readable. */
  | { readonly kind: 'upload'; readonly bytesMax: number; readonly open: (call: Call) => Promise<Upload> }
  /** Answered with bytes that are read at the pace of the client. `call.lines` are sent with them. */
  | { readonly kind: 'file'; readonly open: (call: Call) => Promise<LargeResponse> }
  /** Answered asynchronously, from the bytes of a body that is parsed elsewhere. */
  | {
      readonly kind: 'bytes';
      /** Returns the quota units of a body in its most usual form, without unknown fields; null of any other body. */
      readonly usualUnits?: (body: Uint8Array) => number | null;
      /** Returns the quota units of the body. Throws if the body asks for too many. */
      readonly units: (outline: BodyOutline, body: Uint8Array) => number;
      readonly answer: (call: Call, body: Uint8Array) => Promise<AsyncData>;
    };

/** An operation as it appears in logs and metrics. */
export interface Endpoint {
  readonly path: string;
  /** Row of the operation in the metrics. */
  readonly metricsRow: number;
  /** Header lines of every successful response of the operation, each preceded by its line break. */
  readonly lines: string;
}
