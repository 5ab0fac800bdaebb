/** REST requests over the endpoints of a pool, and lists that are read downwards in windows. */
import { AssayError } from '../../base/errors.ts';
import { invalidCursor } from '../../base/paging.ts';
import type { Sourced } from '../families/account-chain.ts';
import type { Call } from '../families/port.ts';
import type { EndpointAnswer, EndpointPool, EndpointRequest } from './endpoint-pool.ts';
import { type EndpointSpec, endpointUrl } from './endpoints.ts';
import { badAnswer, type Json } from './exact-json.ts';

export interface RestRequest<T> {
  /** Relative to the URL of the endpoint. */
  readonly path: string | ((endpoint: EndpointSpec) => string);
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON in a POST request. */
  readonly body?: Json;
  readonly layouts: readonly string[];
  /** The value to return for a 404; without it, a 404 means that the endpoint does not answer this request. */
  readonly missing?: T;
  /** Handles other status codes that have a meaning; its `read` may throw what the main `read` may. */
  readonly others?: { readonly statuses: readonly number[]; readonly read: (json: Json) => T };
  readonly headersFor?: (endpoint: EndpointSpec) => Readonly<Record<string, string>>;
  readonly read: (json: Json, endpoint: EndpointSpec) => T;
}

/** Converts a REST request to a request of the pool. */
export function restRequest<T>(request: RestRequest<T>): EndpointRequest<T> {
  const { path, query, body, layouts, headersFor, others, read } = request;
  const hasMissing = 'missing' in request;
  return {
    url: (spec) => endpointUrl(spec, typeof path === 'string' ? path : path(spec), query),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    layouts,
    ...(headersFor === undefined ? {} : { headersFor }),
    statuses: [...(hasMissing ? [404] : []), ...(others?.statuses ?? [])],
    read: (answer: EndpointAnswer, endpoint) => {
      if (answer.status === 404 && hasMissing) {
        // If the body is not JSON, it is the server's own page for an unknown path and not a response to the request.
        answer.json();
        return request.missing as T;
      }
      if (answer.status !== 200 && others !== undefined) return others.read(answer.json());
      return read(answer.json(), endpoint);
    },
  };
}

/**
 * Returns a function that puts the password of an endpoint's URL into the header `name`, for APIs with their own key header:
 * `https://key:SECRET@host`.
 */
export function apiKeyHeader(name: string): (endpoint: EndpointSpec) => Readonly<Record<string, string>> {
  return ({ authorization }) => {
    if (authorization === null) return {};
    const [, ...key] = Buffer.from(authorization.slice('Basic '.length), 'base64')
      .toString('utf8')
      .split(':');
    return { [name]: key.join(':') };
  };
}

/** Sends one request. The `height` of the result is null. */
export async function rest<T>(pool: EndpointPool, request: RestRequest<T>, call: Call): Promise<Sourced<T>> {
  const { value, endpoint } = await pool.ask(restRequest(request), call);
  return { value, source: endpoint.source, height: null };
}

/** One list of a source: rows with a key (a height or a time) in [min, max], newest first, at most `size`. */
export type WindowList<R> = (window: {
  readonly min: number | null;
  readonly max: number | null;
  readonly size: number;
}) => Promise<readonly { readonly key: number; readonly row: R }[]>;

/** Maximum number of rows with the same key; pages of sources end there. */
const ROWS_OF_KEY_MAX = 200;

/**
 * Merges several lists of one address, read downwards: rows are delivered only above the key down to which every list is complete. The
 * cursor is that key, and it only decreases.
 *
 * @throws CHAIN_BAD_ANSWER if a list has another order or has rows outside its window
 * @throws CHAIN_REFUSED if one key has more rows than a source returns
 */
export async function readWindows<R>(
  lists: readonly WindowList<R>[],
  query: {
    readonly cursor: string | null;
    readonly size: number;
    readonly min: number | null;
    readonly max: number | null;
  },
): Promise<{ readonly rows: readonly R[]; readonly next: string | null }> {
  const { cursor, size, min } = query;
  if (cursor !== null && !/^\d{1,15}$/.test(cursor)) throw invalidCursor();
  const ceilings = [query.max, cursor === null ? null : Number(cursor)].filter((each) => each !== null);
  const max = ceilings.length === 0 ? null : Math.min(...ceilings);

  async function read(window: {
    readonly min: number | null;
    readonly max: number | null;
    readonly size: number;
  }) {
    const parts = await Promise.all(lists.map((list) => list(window)));
    for (const rows of parts) {
      if (rows.length > window.size) throw badAnswer('list', `at most ${window.size} rows long`);
      for (const [index, { key }] of rows.entries()) {
        const above = rows[index - 1];
        if (
          (window.max !== null && key > window.max) ||
          (window.min !== null && key < window.min) ||
          (above !== undefined && above.key < key)
        )
          throw badAnswer('list', 'inside the range and newest first');
      }
    }
    const floors = parts.flatMap((rows) => (rows.length === window.size ? [rows.at(-1)?.key as number] : []));
    const all = parts.flat().sort((a, b) => b.key - a.key);
    return { all, floor: floors.length === 0 ? null : Math.max(...floors) };
  }

  const { all, floor } = await read({ min, max, size });
  if (floor === null) return { rows: all.map(({ row }) => row), next: null };
  const whole = all.filter(({ key }) => key > floor);
  if (whole.length > 0) return { rows: whole.map(({ row }) => row), next: String(floor) };
  // Rows with a single key fill the page: read all of them at once, then continue below that key.
  const same = await read({ min: floor, max: floor, size: ROWS_OF_KEY_MAX });
  if (same.floor !== null)
    throw new AssayError(
      'CHAIN_REFUSED',
      `A block holds more than ${ROWS_OF_KEY_MAX} transfers of one address, more than can be read.`,
    );
  return {
    rows: same.all.map(({ row }) => row),
    next: floor === 0 || (min !== null && floor <= min) ? null : String(floor - 1),
  };
}
