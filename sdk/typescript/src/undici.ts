/** Transport over `undici.request`, which needs about half the time of `fetch` in Node. The package is the caller's. */
import { TimedOut, type Transport } from './core/transport.ts';

/** The part of `undici.request` that the transport uses. */
export type UndiciRequest = (
  url: string,
  // biome-ignore lint/suspicious/noExplicitAny: versions of undici type their options differently.
  options?: any,
) => Promise<{
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array> & { text(): Promise<string>; destroy(): unknown };
}>;

export interface UndiciOptions {
  /** An Agent or Pool of undici. Default: its global one. */
  readonly dispatcher?: unknown;
}

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT']);

/**
 * Creates a transport over undici. Timeouts are counted until the headers of a response, and between the pieces of its body.
 *
 * @param request - `request` of the package undici, version 6 or later
 * @example
 * import { request } from 'undici';
 * const assay = new Assay({ transport: undiciTransport(request) });
 */
export function undiciTransport(request: UndiciRequest, { dispatcher }: UndiciOptions = {}): Transport {
  const rethrow = (error: unknown): never => {
    const { code, message } = Object(error) as { code?: unknown; message?: string };
    throw typeof code === 'string' && TIMEOUT_CODES.has(code) ? new TimedOut(message) : error;
  };
  return async ({ method, url, headers, body, signal, timeout }) => {
    const response = await request(url, {
      method,
      headers,
      body: body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      ...(signal === undefined ? {} : { signal }),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    }).catch(rethrow);
    return {
      status: response.statusCode,
      header(name) {
        const value = response.headers[name];
        return (Array.isArray(value) ? value.join(', ') : value) ?? null;
      },
      text: () => response.body.text().catch(rethrow),
      body: () => response.body,
      cancel() {
        response.body.destroy();
      },
    };
  };
}
