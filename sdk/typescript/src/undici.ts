/** Transport over `undici.request`, which needs about half the time of `fetch` in Node. The package is the caller's. */
import { Deadline, TimedOut, type Transport } from './core/transport.ts';

/** The part of `undici.request` that the transport uses. */
export type UndiciRequest = (
  url: string,
  // biome-ignore lint/suspicious/noExplicitAny: versions of undici type their options differently.
  options?: any,
) => Promise<{
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array> & {
    text(): Promise<string>;
    on(event: 'error', listener: (error: Error) => void): unknown;
    destroy(): unknown;
  };
}>;

export interface UndiciOptions {
  /** An Agent or Pool of undici. Default: its global one. */
  readonly dispatcher?: unknown;
}

const TIMEOUT_CODES = new Set(['UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT']);
/** Silence after which a body that is read in pieces is a broken connection. The alert stream has a comment every 20 seconds. */
const SILENCE_MS_MIN = 60_000;

/**
 * Creates a transport over undici.
 *
 * @param request - `request` of the package undici, version 6 or later
 * @example
 * import { request } from 'undici';
 * const assay = new Assay({ transport: undiciTransport(request) });
 */
export function undiciTransport(request: UndiciRequest, { dispatcher }: UndiciOptions = {}): Transport {
  return async ({ method, url, headers, body, signal, timeout }) => {
    const deadline = new Deadline(signal, timeout);
    const fail = (error: unknown): never => {
      const { code, message } = Object(error) as { code?: unknown; message?: string };
      return deadline.fail(
        typeof code === 'string' && TIMEOUT_CODES.has(code) ? new TimedOut(message) : error,
      );
    };
    async function* chunks(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      deadline.stopTimer();
      try {
        yield* pieces;
      } finally {
        deadline.end();
      }
    }
    const response = await request(url, {
      method,
      headers,
      body: body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body,
      // The deadline is that of the whole response. Those of undici are for each piece of it.
      headersTimeout: 0,
      bodyTimeout: timeout === 0 ? 0 : Math.max(timeout, SILENCE_MS_MIN),
      signal: deadline.signal,
      ...(dispatcher === undefined ? {} : { dispatcher }),
    }).catch(fail);
    return {
      status: response.statusCode,
      header(name) {
        const value = response.headers[name];
        return (Array.isArray(value) ? value.join(', ') : value) ?? null;
      },
      text: async () => {
        const text = await response.body.text().catch(fail);
        deadline.end();
        return text;
      },
      body: () => chunks(response.body),
      cancel() {
        deadline.end();
        // A body that is destroyed emits an error, and without a listener it would end the process.
        response.body.on('error', () => {});
        response.body.destroy();
      },
    };
  };
}
