/**
 * Typed calls of the API with the session cookie of the browser. Paths, parameters and results have the types that are generated from the
 * OpenAPI document for the TypeScript SDK.
 */
import type { components, paths } from '../../../sdk/typescript/src/generated/api.ts';
import { ApiError } from './errors.ts';

export type Schemas = components['schemas'];

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/** Paths that have an operation of the method. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type OperationAt<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Json<C> = C extends { readonly 'application/json': infer Body } ? Body : never;
type Success<O> = O extends { readonly responses: { readonly 200: { readonly content: infer C } } }
  ? Json<C>
  : never;
type BodyOf<O> = O extends { readonly requestBody?: infer R }
  ? NonNullable<R> extends { readonly content: infer C }
    ? Json<C>
    : undefined
  : undefined;
type ParameterOf<O, Place extends 'path' | 'query'> = O extends {
  readonly parameters: { readonly [K in Place]?: infer T };
}
  ? NonNullable<T>
  : never;

/** The whole JSON response of an operation. */
export type ResponseOf<P extends PathWith<M>, M extends Method> = Success<OperationAt<P, M>>;
/** `data` of the response of an operation, or the whole response if it has no envelope. */
export type DataOf<P extends PathWith<M>, M extends Method> =
  ResponseOf<P, M> extends { readonly data: infer D } ? D : ResponseOf<P, M>;

/** Arguments of a call. Which ones exist depends on the operation. */
export interface CallOptions<P extends PathWith<M>, M extends Method> {
  readonly path?: ParameterOf<OperationAt<P, M>, 'path'>;
  readonly query?: ParameterOf<OperationAt<P, M>, 'query'>;
  readonly body?: BodyOf<OperationAt<P, M>>;
  readonly signal?: AbortSignal;
  /** For operations that cost credits: the same key with the same body is charged once within 24 hours. */
  readonly idempotencyKey?: string;
}

const API_BASE = '/api/v1';

/** Called after a response 401: the session has ended. */
let onSessionEnd: () => void = () => {};

/** Sets what happens when a response says that the session has ended. */
export function whenSessionEnds(listener: () => void): void {
  onSessionEnd = listener;
}

/**
 * Notes that the session has ended, if an error says so. For requests that are not sent by `call`.
 *
 * @returns the error
 */
export function noteSessionEnd(error: ApiError): ApiError {
  if (error.status === 401) onSessionEnd();
  return error;
}

function urlOf(path: string, values: object = {}, query: object = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((values as Record<string, unknown>)[name])),
  );
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return `${API_BASE}${filled}${text === '' ? '' : `?${text}`}`;
}

/**
 * Calls an operation and returns its whole response.
 *
 * @param path - as in the OpenAPI document, without `/api/v1`
 * @throws ApiError
 */
export async function callWhole<M extends Method, P extends PathWith<M>>(
  method: M,
  path: P,
  options: CallOptions<P, M> = {},
): Promise<ResponseOf<P, M>> {
  const { body, signal, idempotencyKey } = options;
  const headers: Record<string, string> = { accept: 'application/problem+json, application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  let response: Response;
  try {
    response = await fetch(urlOf(path as string, options.path, options.query), {
      method: method.toUpperCase(),
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    throw ApiError.offline(cause);
  }
  if (!response.ok) {
    const error = await ApiError.of(response);
    throw (path as string).startsWith('/auth/') ? error : noteSessionEnd(error);
  }
  return (await response.json()) as ResponseOf<P, M>;
}

/**
 * Calls an operation and returns `data` of its response.
 *
 * @example
 * const wallet = await call('get', '/monitoring/wallets/{id}', { path: { id }, signal });
 * @throws ApiError
 */
export async function call<M extends Method, P extends PathWith<M>>(
  method: M,
  path: P,
  options: CallOptions<P, M> = {},
): Promise<DataOf<P, M>> {
  const whole = (await callWhole(method, path, options)) as object;
  return ('data' in whole ? whole.data : whole) as DataOf<P, M>;
}
