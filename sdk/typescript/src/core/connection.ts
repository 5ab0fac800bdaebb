/** Requests with authentication, retries and timeouts. Resources describe operations; this file sends them. */
import { ApiPromise, PagePromise, type Result } from './api-promise.ts';
import { randomKey } from './crypto.ts';
import { AbortError, ApiError, AssayError, ConnectionError, errorOf, TimeoutError } from './errors.ts';
import { infoOf } from './info.ts';
import {
  type Fetch,
  fetchTransport,
  isTimedOut,
  type ReplayableBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';

/** Options of the client. */
export interface ClientOptions {
  /** API key. Default: the environment variable `ASSAY_API_KEY`. */
  readonly apiKey?: string | undefined;
  /** URL of the server, for example `https://assay.example.org`. Default: the environment variable `ASSAY_BASE_URL`. */
  readonly baseUrl?: string | undefined;
  /**
   * Session of a person, for the operations of people, and for all others if there is no key: `assay.session` after `assay.auth.login`. A browser has it in a
   * cookie that scripts cannot read, and needs no option.
   */
  readonly session?: string | undefined;
  /** Milliseconds until a whole response must have arrived; 0 is unlimited. Default: 60,000. */
  readonly timeout?: number | undefined;
  /** Further attempts after connection errors, 408, 429 and 5xx. Default: 2. */
  readonly maxRetries?: number | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Replaces `fetch` by another HTTP client, for example `undiciTransport(request)` of `assay-sdk/undici`. */
  readonly transport?: Transport | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Milliseconds until the whole response must have arrived; 0 is unlimited. Default: that of the client. */
  readonly timeout?: number | undefined;
  /** Further attempts after connection errors, 408, 429 and 5xx. Default: that of the client. */
  readonly maxRetries?: number | undefined;
  /** Aborts the call, which then throws an AbortError. */
  readonly signal?: AbortSignal | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of a call that is charged. */
export interface ChargedOptions extends CallOptions {
  /**
   * Printable ASCII, at most 255 characters. For 24 hours, a call with the same key and body gets the same response and is charged
   * once. Default: a random key, the same for every attempt of this call.
   */
  readonly idempotencyKey?: string | undefined;
}

export type QueryValue = string | number | boolean | undefined | null;
export type Query = Readonly<Record<string, QueryValue>>;

/** One operation with its arguments. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `/api/v1`, or to the server if `isRoot`. */
  readonly path: string;
  readonly query?: object | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, with `type` as Content-Type. */
  readonly content?: ReplayableBody | AsyncIterable<Uint8Array> | undefined;
  readonly type?: string | undefined;
  /** Default: the API key, or the session of a client without a key. */
  readonly auth?: 'key' | 'session' | 'none' | undefined;
  /**
   * `safe`: a second execution changes nothing more (default for all but POST). `keyed`: the server executes it once for each
   * idempotency key. `unversioned`: `safe` if the body has no `version`. `unsafe`: it is sent again only if the server has certainly not
   * executed it (default for POST). Calls of operations take it from `RETRIES`.
   */
  readonly retry?: 'safe' | 'keyed' | 'unversioned' | 'unsafe' | undefined;
  readonly isRoot?: boolean | undefined;
  readonly options?: ChargedOptions | undefined;
}

const API_BASE = '/api/v1';
const TIMEOUT_MS = 60_000;
const MAX_RETRIES = 2;
/** A longer wait is left to the caller. A rate limit counts the current second and the 60 before it. */
const RETRY_AFTER_S_MAX = 61;
const BACK_OFF_MS_MIN = 500;
const BACK_OFF_MS_MAX = 8_000;
/** Timers cannot wait longer (24.8 days): they would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Text of an API key. */
const KEY_TEXT = /^[\x21-\x7e]+$/;
/** Text that the server accepts as Idempotency-Key. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** A part of a path that is empty, or that a URL resolves to another path. */
const UNUSABLE_PART = /\/(?:\.|%2e){0,2}(?:\/|$)/i;

/** Returns a variable of the environment; undefined in a browser, and in Deno without the permission to read it. */
function environment(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
  } catch {
    return undefined;
  }
}

const hasVersion = (body: unknown): boolean =>
  (body as { readonly version?: unknown } | undefined)?.version !== undefined;

/** Returns the origin of the page or worker of a browser in which the client runs. */
const pageOrigin = (): string | undefined =>
  (globalThis as { location?: { readonly origin?: string } }).location?.origin;

/** Whether a call may be sent again although the server may have executed it. */
function isRepeatable({ method, body, retry = method === 'POST' ? 'unsafe' : 'safe' }: Call): boolean {
  return retry !== 'unsafe' && !(retry === 'unversioned' && hasVersion(body));
}

const isReplayable = (content: Call['content']): content is ReplayableBody | undefined =>
  typeof content !== 'object' || !(Symbol.asyncIterator in content);

/**
 * Returns the time before the next attempt, in milliseconds: exponential, less 25 to 50 %, so that clients which failed together do
 * not come back together.
 *
 * @param failures - consecutive failures before this one
 */
export const backOffMs = (failures: number): number =>
  Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** failures) * (0.75 - Math.random() / 4);

/** Waits. Rejects with AbortError if the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(new AbortError('The call was aborted.', { cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });

/** Whether the same request may succeed later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ApiError && (error.status === 408 || error.status === 429 || error.status >= 500));

/**
 * Returns the wait before an attempt after an error.
 *
 * @returns milliseconds; null if the server asks for a longer wait than a call may take
 */
export function delayAfter(error: unknown, failures: number): number | null {
  const seconds = error instanceof ApiError ? error.retryAfter : null;
  if (seconds === null) return backOffMs(failures);
  return seconds <= RETRY_AFTER_S_MAX ? seconds * 1_000 : null;
}

/** Converts anything that was thrown on the way to the server to an error of this client. */
export function failureOf(error: unknown, signal: AbortSignal | undefined): AssayError {
  if (error instanceof AssayError) return error;
  if (signal?.aborted) return new AbortError('The call was aborted.', { cause: error });
  if (isTimedOut(error)) return new TimeoutError(error.message, { cause: error });
  const { message, cause } = Object(error) as { message?: unknown; cause?: { message?: unknown } };
  const reason = [message, cause?.message].filter((text) => typeof text === 'string' && text !== '');
  return new ConnectionError(`The connection failed: ${reason.join(': ') || String(error)}`, {
    cause: error,
  });
}

/** Returns an API key without the line break at the end of its file; null if there is none. */
function keyOf(text: string | undefined): string | null {
  const key = text?.trim();
  if (!key) return null;
  // The error does not quote the key, because errors are logged.
  if (!KEY_TEXT.test(key))
    throw new AssayError('apiKey: must be the whole key, as it was shown once, and nothing else.');
  return key;
}

/** Returns the time limit of an attempt in milliseconds; 0 is unlimited. */
function timeoutOf(ms: number): number {
  if (!(ms >= 0)) throw new AssayError(`timeout: must be 0 or more milliseconds (got ${ms}).`);
  return ms > TIMER_MS_MAX ? 0 : ms;
}

/** Adds headers. Names in different letter case are the same header, which would otherwise be sent with both values. */
const withHeaders = (
  headers: Readonly<Record<string, string>>,
  added: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> =>
  added === undefined
    ? headers
    : {
        ...headers,
        ...Object.fromEntries(Object.entries(added).map(([name, value]) => [name.toLowerCase(), value])),
      };

function queryOf(query: object | undefined): string {
  if (query === undefined) return '';
  const pairs = Object.entries(query as Query).filter(([, value]) => value !== undefined && value !== null);
  return pairs.length === 0
    ? ''
    : `?${pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&')}`;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function parseObject(response: TransportResponse): Promise<object> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError('The response is not JSON.', { cause });
  }
  if (!isObject(body)) throw new ConnectionError('The response is not one of this API.');
  return body;
}

/** Reads a JSON response. Returns `data` of its envelope, or the whole body if it has none. */
async function readObject<T>(response: TransportResponse): Promise<Result<T>> {
  const body = await parseObject(response);
  return { data: ('data' in body ? body.data : body) as T, response: infoOf(response, body) };
}

/** Reads a JSON response, and returns `data` of its envelope. */
async function readData<T>(response: TransportResponse): Promise<Result<T>> {
  const body = await parseObject(response);
  // Another program on the way may have answered: a field that is missing must not read as an answer.
  if (!('data' in body && isObject(body.data)))
    throw new ConnectionError('The response is not one of this API.');
  return { data: body.data as T, response: infoOf(response, body) };
}

async function readText(response: TransportResponse): Promise<Result<string>> {
  return { data: await response.text(), response: infoOf(response, null) };
}

/** The connection of a client to its server. */
export class Connection {
  /** Text of the session; undefined if nobody has logged in. */
  session: string | undefined;
  readonly #origin: string;
  readonly #base: string;
  /** The client runs in a page of the server: the browser adds the cookie of the session. */
  readonly #isPage: boolean;
  readonly #transport: Transport;
  readonly #timeout: number;
  readonly #maxRetries: number;
  /** Headers of calls without an API key, and with it. */
  readonly #headers: Readonly<Record<string, string>>;
  readonly #keyHeaders: Readonly<Record<string, string>> | null;

  constructor(options: ClientOptions) {
    const url = options.baseUrl ?? environment('ASSAY_BASE_URL');
    if (url === undefined || url === '')
      throw new AssayError(
        'baseUrl: missing; pass the URL of the server to new Assay({ baseUrl }) or set ASSAY_BASE_URL.',
      );
    let parsed: URL;
    try {
      parsed = new URL(url);
    } catch (cause) {
      throw new AssayError(`baseUrl: must be a URL (got ${JSON.stringify(url)}).`, { cause });
    }
    this.#origin = parsed.origin;
    this.#base = parsed.origin + parsed.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
    this.#isPage = pageOrigin() === parsed.origin;
    this.session = options.session;
    this.#transport = options.transport ?? fetchTransport(options.fetch);
    this.#timeout = timeoutOf(options.timeout ?? TIMEOUT_MS);
    this.#maxRetries = options.maxRetries ?? MAX_RETRIES;
    this.#headers = withHeaders({ accept: 'application/problem+json, application/json' }, options.headers);
    const apiKey = keyOf(options.apiKey ?? environment('ASSAY_API_KEY'));
    this.#keyHeaders = apiKey === null ? null : { ...this.#headers, authorization: `Bearer ${apiKey}` };
  }

  /** Returns the headers of a call, which may be shared. */
  #authorized({ auth = 'key', method }: Call): Readonly<Record<string, string>> {
    if (auth === 'none') return this.#headers;
    if (auth === 'session' || (this.#keyHeaders === null && this.session !== undefined)) {
      if (this.session === undefined) return this.#keyHeaders ?? this.#headers;
      // Over TLS the server reads the first, otherwise the second. Behind a proxy, the URL does not say which.
      const names = `__Host-assay_session=${this.session}; assay_session=${this.session}`;
      const cookie = { ...this.#headers, cookie: names };
      // A change with a session must come from a page of the server, and this client is as good as one: it was given the session.
      return method === 'GET' ? cookie : { ...cookie, origin: this.#origin };
    }
    if (this.#keyHeaders !== null) return this.#keyHeaders;
    if (this.#isPage) return this.#headers;
    throw new AssayError('apiKey: missing; pass it to new Assay({ apiKey }) or set ASSAY_API_KEY.');
  }

  async #requestOf(call: Call): Promise<TransportRequest> {
    const { method, path, query, body, content, type, isRoot, options, retry } = call;
    // Without this, an empty id or `..` would call another operation.
    if (UNUSABLE_PART.test(path))
      throw new AssayError(`path: a part of ${path} is empty, '.' or '..'; an id or address is missing.`);
    if (options?.idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(options.idempotencyKey))
      throw new AssayError('idempotencyKey: must have 1 to 255 printable ASCII characters without spaces.');
    let headers = this.#authorized(call);
    const contentType = body === undefined ? type : 'application/json';
    if (contentType !== undefined) headers = { ...headers, 'content-type': contentType };
    headers = withHeaders(headers, options?.headers);
    if (retry === 'keyed')
      headers = { ...headers, 'idempotency-key': options?.idempotencyKey ?? (await randomKey()) };
    else if (options?.idempotencyKey !== undefined)
      throw new AssayError('idempotencyKey: this operation does not take one.');
    return {
      method,
      url: this.#base + (isRoot === true ? '' : API_BASE) + path + queryOf(query),
      headers,
      body: body === undefined ? (content ?? null) : JSON.stringify(body),
      signal: options?.signal,
      timeout: timeoutOf(options?.timeout ?? this.#timeout),
    };
  }

  /**
   * Sends a call and reads its response, and repeats both if that is safe.
   *
   * @param read - reads a successful response; if it rejects, so does the attempt
   */
  async send<T>(call: Call, read: (response: TransportResponse) => Promise<T>): Promise<T> {
    const { options } = call;
    const request = await this.#requestOf(call);
    const { signal } = request;
    const retries = isReplayable(call.content) ? (options?.maxRetries ?? this.#maxRetries) : 0;
    for (let failures = 0; ; failures++) {
      let failure: AssayError;
      try {
        const response = await this.#transport(request);
        if (response.status >= 200 && response.status < 300) return await read(response);
        failure = await errorOf(response);
      } catch (error) {
        failure = failureOf(error, signal);
      }
      const isAllowed =
        isRepeatable(call) ||
        (failure instanceof ApiError && (failure.status === 429 || failure.status === 408));
      if (failures >= retries || !isAllowed || !isPassing(failure)) throw failure;
      const delay = delayAfter(failure, failures);
      if (delay === null) throw failure;
      await pause(delay, signal);
    }
  }

  /** Calls an operation with a JSON response. */
  json<T>(call: Call): ApiPromise<T> {
    return new ApiPromise<T>(this.send<Result<T>>(call, readData));
  }

  /** Calls an operation whose JSON response may have no envelope. */
  object<T>(call: Call): ApiPromise<T> {
    return new ApiPromise<T>(this.send<Result<T>>(call, readObject));
  }

  /** Calls an operation with a text as response. */
  text(call: Call): ApiPromise<string> {
    return new ApiPromise(this.send(call, readText));
  }

  /** Calls an operation whose response is read while it arrives. Only its beginning is retried. */
  stream(call: Call): Promise<TransportResponse> {
    return this.send(call, async (response) => response);
  }

  /**
   * Calls an operation with a list as response.
   *
   * @param rows - field of the list with the rows of a page
   */
  list<Page extends PageEnd, Row>(call: Call, rows: keyof Page & string): PagePromise<Page, Row> {
    const next = (cursor: string): Promise<Page> => {
      // The server rejects an offset beside a cursor.
      const { offset: _, ...query } = (call.query ?? {}) as Query;
      return this.send<Result<Page>>({ ...call, query: { ...query, cursor } }, readData).then(
        ({ data }) => data,
      );
    };
    return new PagePromise<Page, Row>(this.send<Result<Page>>(call, readData), rows, next);
  }
}

/** The end of a page of every list. */
export interface PageEnd {
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}
