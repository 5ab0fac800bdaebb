/** The requests of a download: a file or its parts, with redirects, credentials, cookies and limits. */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { checkOutboundUrl, type OutboundPolicy } from '../base/outbound.ts';
import { undici } from '../base/undici.ts';
import { isUrl } from '../base/url.ts';
import { DownloadFault } from './download-fault.ts';
import { SOURCE_LIMITS } from './limits.ts';
import type { FetchPart } from './publisher.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Cookies that are kept for a host: publishers set a handful. */
const COOKIES_MAX = 50;

/** How the requests of one file are sent. */
export interface RequestSettings {
  readonly policy: OutboundPolicy;
  readonly agent: Dispatcher;
  readonly redirectsMax: number;
  readonly userAgent: string;
  /** Headers for the host below only: another host must not learn the credentials of this one. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly credentialsHost: string;
  readonly signal: AbortSignal;
}

/** What a request sends beside the settings. */
export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>;
  /** An encoded form, which is sent by POST. */
  readonly form?: string | null;
}

/**
 * Sends a GET, or a POST of a form, and follows redirects with a GET.
 *
 * @returns a response of HTTP 200 or 304, whose body must be read or {@link discard}ed
 * @throws DownloadFault, or an error of undici
 */
export async function sendRequest(
  first: URL,
  { headers = {}, form = null }: RequestParts,
  settings: RequestSettings,
): Promise<Dispatcher.ResponseData> {
  const { policy, agent, redirectsMax, signal } = settings;
  let url = first;
  for (let redirects = 0; ; redirects++) {
    checkOutboundUrl(url, policy);
    const posts = form !== null && redirects === 0;
    const response = await undici().request(url, {
      dispatcher: agent,
      method: posts ? 'POST' : 'GET',
      body: posts ? form : null,
      headers: {
        'user-agent': settings.userAgent,
        accept: '*/*',
        'accept-encoding': 'gzip, identity;q=0.5',
        ...headers,
        ...(posts ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        ...(url.host === settings.credentialsHost ? settings.credentials : {}),
      },
      signal,
    });
    const { statusCode } = response;
    if (statusCode === 200 || statusCode === 304) return response;
    discard(response);
    if (!REDIRECTS.has(statusCode)) {
      throw new DownloadFault(
        `the server answered HTTP ${statusCode}.`,
        statusCode === 429 || statusCode >= 500,
      );
    }
    if (redirects >= redirectsMax) throw new DownloadFault(`more than ${redirectsMax} redirects.`, false);
    url = redirectTarget(url, headerOf(response, 'location'));
  }
}

/** Returns the target of a redirect. Throws if the target is not a valid URL, or a downgrade from https. */
export function redirectTarget(from: URL, location: string | null): URL {
  if (location === null || !isUrl(location, from.href)) {
    throw new DownloadFault('the server redirects to no valid URL.', false);
  }
  const to = new URL(location, from);
  if (from.protocol === 'https:' && to.protocol !== 'https:') {
    throw new DownloadFault(
      `the server redirects from https to ${to.protocol.slice(0, -1)}, which is refused.`,
      false,
    );
  }
  return to;
}

/** Returns the function with which a source requests the parts of its file. It keeps the cookies of each host. */
export function createPartFetcher(settings: RequestSettings): FetchPart {
  /** Cookies by host. Names and values only: they are used within seconds. */
  const jar = new Map<string, Map<string, string>>();
  let requests = 0;
  return async (address, { form } = {}) => {
    if (++requests > SOURCE_LIMITS.downloadPartsMax)
      throw new DownloadFault(`has more than ${SOURCE_LIMITS.downloadPartsMax} parts.`, false);
    const url = new URL(address);
    const cookies = jar.get(url.host) ?? new Map<string, string>();
    jar.set(url.host, cookies);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await sendRequest(
      url,
      {
        headers: cookie === '' ? {} : { cookie },
        form: form === undefined ? null : new URLSearchParams(form).toString(),
      },
      settings,
    );
    keepCookies(response, cookies);
    return readPart(response);
  };
}

function keepCookies(response: Dispatcher.ResponseData, cookies: Map<string, string>): void {
  const set = response.headers['set-cookie'] ?? [];
  for (const line of Array.isArray(set) ? set : [set]) {
    const [, name, value] = /^([^=;\s]{1,256})=([\x21-\x3a\x3c-\x7e]{0,4096})/.exec(line) ?? [];
    if (name !== undefined && value !== undefined && cookies.size < COOKIES_MAX) cookies.set(name, value);
  }
}

async function readPart(response: Dispatcher.ResponseData): Promise<Buffer> {
  const { downloadPartBytesMax } = SOURCE_LIMITS;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of decoded(response.body, headerOf(response, 'content-encoding'))) {
    bytes += chunk.length;
    if (bytes > downloadPartBytesMax) {
      discard(response);
      throw new DownloadFault(
        `a part is larger than ${downloadPartBytesMax.toLocaleString('en')} bytes.`,
        false,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Discards a response with an unused body; undici reports that as an error of the body. */
export function discard(response: Dispatcher.ResponseData): void {
  response.body.on('error', () => {}).destroy();
}

/** Returns a header; the first if there are several; null if there is none. */
export function headerOf(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/**
 * Yields the bytes of a body without its content encoding. Unpacking begins with the first request for bytes: before, nothing would hear its errors.
 *
 * @throws DownloadFault if the encoding is not gzip
 */
export async function* decoded(
  body: AsyncIterable<Uint8Array>,
  encoding: string | null,
): AsyncGenerator<Uint8Array> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') {
    yield* body;
    return;
  }
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new DownloadFault(`the server packs with '${name.slice(0, 40)}', which was not asked for.`, false);
  }
  const wire = Readable.from(body);
  const gunzip = createGunzip();
  // Otherwise the reader would wait forever after a closed connection.
  wire.on('error', (error) => gunzip.destroy(error));
  gunzip.on('close', () => wire.destroy());
  yield* wire.pipe(gunzip);
}
