/** The way of a request to the server: the platform's `fetch`, or another HTTP client. */

/** Bytes of a request that can be sent again. */
export type ReplayableBody = string | Uint8Array | Blob;

/** One attempt at a request. */
export interface TransportRequest {
  readonly method: string;
  readonly url: string;
  /** Must not be changed: several requests share them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReplayableBody | AsyncIterable<Uint8Array> | null;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds until the whole response must have arrived, of a stream its headers; 0 is unlimited. */
  readonly timeout: number;
}

/** A response whose body has not been read yet. One of `text`, `body` and `cancel` must be called. */
export interface TransportResponse {
  readonly status: number;
  /** @param name - in lower case */
  header(name: string): string | null;
  /** Returns the whole body. Rejects if the connection fails. */
  text(): Promise<string>;
  /** Returns the body in pieces. The timeout ends here; ending the iteration closes the connection. */
  body(): AsyncIterable<Uint8Array>;
  /** Closes the connection. Without effect after the end of the body. */
  cancel(): void;
}

/**
 * Sends one request and returns its response, whatever its status is. It follows no redirects.
 *
 * @throws TimedOut, or any error if there is no response
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** Thrown by a transport when the timeout of a request is over. */
export class TimedOut extends Error {
  override name = 'TimedOut';
}

/** Whether an error is a TimedOut. In CommonJS, `assay-sdk/undici` has a class of its own, so the name decides. */
export const isTimedOut = (error: unknown): error is TimedOut =>
  error instanceof Error && error.name === 'TimedOut';

/** The part of `fetch` that the client uses. */
export type Fetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    // biome-ignore lint/suspicious/noExplicitAny: browsers and Node type the bodies of requests differently.
    body?: any;
    signal: AbortSignal;
    redirect: 'manual';
    duplex?: 'half';
  },
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
  readonly body: { getReader(): Reader } | null;
}>;

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

const isStream = (body: TransportRequest['body']): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

/** Converts an async iterable to the stream that `fetch` takes. */
function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** Ends one attempt when its timeout is over, or when the caller's signal is aborted. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #caller: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort(this.#caller?.reason);

  /** @param timeout - milliseconds; 0 is unlimited */
  constructor(signal: AbortSignal | undefined, timeout: number) {
    this.#caller = signal;
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
    if (timeout !== 0)
      this.#timer = setTimeout(
        () => this.#controller.abort(new TimedOut(`No response within ${timeout} ms.`)),
        timeout,
      );
  }

  /** For the request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the timeout, not the caller's signal: the body is now read in pieces. */
  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /** Ends both: the attempt is over. */
  end(): void {
    this.stopTimer();
    this.#caller?.removeEventListener('abort', this.#abort);
  }

  /** Closes the connection. */
  cancel(): void {
    this.end();
    this.#controller.abort();
  }

  /** Ends the attempt with its error, which is TimedOut if the timeout is over. */
  readonly fail = (error: unknown): never => {
    this.end();
    throw this.signal.reason instanceof TimedOut ? this.signal.reason : error;
  };
}

/**
 * Creates the transport over `fetch`.
 *
 * @param given - default: the global `fetch`
 */
export function fetchTransport(given?: Fetch): Transport {
  return async ({ method, url, headers, body, signal, timeout }) => {
    const deadline = new Deadline(signal, timeout);
    const send: Fetch = given ?? (globalThis.fetch as unknown as Fetch);
    const response = await send(url, {
      method,
      headers,
      signal: deadline.signal,
      redirect: 'manual',
      ...(body === null ? {} : isStream(body) ? { body: streamOf(body), duplex: 'half' } : { body }),
    }).catch(deadline.fail);

    async function* chunks(): AsyncGenerator<Uint8Array> {
      deadline.stopTimer();
      const reader = response.body?.getReader();
      try {
        for (;;) {
          const { done, value } = (await reader?.read()) ?? { done: true };
          if (done || value === undefined) return;
          yield value;
        }
      } finally {
        deadline.end();
        // The connection may have failed already, which the iteration has reported.
        await reader?.cancel().catch(() => {});
      }
    }
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      text: async () => {
        const text = await response.text().catch(deadline.fail);
        deadline.end();
        return text;
      },
      body: chunks,
      cancel: () => deadline.cancel(),
    };
  };
}
