/** A list publisher's server for tests, honest or hostile: it serves files, or cuts, stalls, trickles and falsifies its responses. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export type Behaviour = RequestListener;

export interface ListServer {
  /** `http://127.0.0.1:port/`, with the slash. */
  readonly url: string;
  /** The behaviour of each path; may be replaced between requests. Every other path gets 404. */
  readonly paths: Map<string, Behaviour>;
  /** Every request so far. */
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
  close(): Promise<void>;
}

export async function startListServer(): Promise<ListServer> {
  const paths = new Map<string, Behaviour>();
  const requests: ListServer['requests'] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').split('?')[0] as string);
    requests.push({ path, headers: request.headers });
    const behaviour = paths.get(path);
    if (behaviour) behaviour(request, response);
    else response.writeHead(404).end('no such file');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    paths,
    requests,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

const etagOf = (body: Uint8Array): string =>
  `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;

export interface ServeOptions {
  readonly lastModified?: string;
  /** Whether the server supports conditional requests. Default true. */
  readonly conditional?: boolean;
  /** Compresses the body if Accept-Encoding asks for it. */
  readonly packed?: boolean;
}

/** A well-behaved server. */
export function serve(body: Uint8Array | string, options: ServeOptions = {}): Behaviour {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const etag = etagOf(bytes);
  const { lastModified, conditional = true, packed = false } = options;
  return (request, response) => {
    if (conditional) response.setHeader('etag', etag);
    if (lastModified) response.setHeader('last-modified', lastModified);
    const { 'if-none-match': match, 'if-modified-since': since } = request.headers;
    const same = match === undefined ? since !== undefined && since === lastModified : match === etag;
    if (conditional && same) {
      response.writeHead(304).end();
      return;
    }
    const sent = packed ? gzipSync(bytes) : bytes;
    if (packed) response.setHeader('content-encoding', 'gzip');
    response.writeHead(200, { 'content-length': sent.length }).end(sent);
  };
}

export const status =
  (code: number, headers: Record<string, string> = {}): Behaviour =>
  (_, response) => {
    response.writeHead(code, headers).end(`HTTP ${code}`);
  };

export const redirect =
  (location: string, code = 302): Behaviour =>
  (_, response) => {
    response.writeHead(code, { location }).end();
  };

/** Redirects to itself for ever, to a new address each time. */
export function redirectForEver(): Behaviour {
  let count = 0;
  return (request, response) => {
    response.writeHead(302, { location: `${(request.url ?? '/').split('?')[0]}?${count++}` }).end();
  };
}

const headOf = (length: number | null, more = ''): string =>
  `HTTP/1.1 200 OK\r\n${length === null ? 'transfer-encoding: chunked' : `content-length: ${length}`}\r\n${more}\r\n`;

/** Writes raw bytes past the HTTP library, which would not send an invalid response. */
const raw = (
  response: ServerResponse,
  head: string,
  body: Uint8Array,
  then: 'end' | 'cut' | 'wait',
): void => {
  const socket = response.socket;
  if (!socket) return;
  socket.write(head);
  socket.write(body, () => {
    if (then === 'cut') socket.destroy();
    if (then === 'end') socket.end();
  });
};

/** Announces the whole file, sends its first `bytes`, and closes. */
export const cutAfter =
  (body: Uint8Array, bytes: number): Behaviour =>
  (_, response) =>
    raw(response, headOf(body.length), body.subarray(0, bytes), 'cut');

/** Sends the first `bytes` in a chunked response and closes without the last chunk. */
export const cutChunked =
  (body: Uint8Array, bytes: number): Behaviour =>
  (_, response) => {
    const part = body.subarray(0, bytes);
    const chunk = Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
    raw(response, headOf(null), chunk, 'cut');
  };

/** Sends the first `bytes` of a file as if they were all of it: only the content shows the fault. */
export const truncate = (body: Uint8Array, bytes: number): Behaviour =>
  serve(body.subarray(0, bytes), { conditional: false });

/** Announces another length than it sends. */
export const lieAboutLength =
  (body: Uint8Array, announced: number): Behaviour =>
  (_, response) =>
    raw(response, headOf(announced), body, 'end');

/** Sends the first `bytes`, then nothing, with the connection open. */
export const stallAfter =
  (body: Uint8Array, bytes: number): Behaviour =>
  (_, response) =>
    raw(response, headOf(body.length), body.subarray(0, bytes), 'wait');

/** Accepts the request and never answers. */
export const silence: Behaviour = () => {};

/** Sends one byte every `everyMs`. */
export const drip =
  (body: Uint8Array, everyMs: number): Behaviour =>
  (_, response) => {
    response.writeHead(200, { 'content-length': body.length });
    let at = 0;
    const timer = setInterval(() => {
      if (at >= body.length) response.end();
      else response.write(body.subarray(at, ++at));
    }, everyMs);
    response.on('close', () => clearInterval(timer));
  };

/** Sends for ever, without a length. */
export const endless: Behaviour = (_, response) => {
  response.writeHead(200);
  const block = Buffer.alloc(64 * 1024, 'x');
  const more = (): void => {
    while (!response.destroyed && response.write(block));
  };
  response.on('drain', more);
  more();
};

/** A small compressed response that unpacks to `bytes` zeros. */
export const packedBomb = (bytes: number): Behaviour => {
  const bomb = gzipSync(Buffer.alloc(bytes));
  return (_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb);
  };
};

/** The HTML that a proxy, a login page or a maintenance notice sends with 200. */
export const webPage: Behaviour = (_, response) => {
  response
    .writeHead(200, { 'content-type': 'text/xml' })
    .end('\n<!DOCTYPE html>\n<html><body>We will be back soon.</body></html>'.padEnd(100_000));
};

/** One behaviour after the other; the last one stays. */
export function inTurn(...behaviours: Behaviour[]): Behaviour {
  let at = 0;
  return (request, response) => {
    const behaviour = behaviours[Math.min(at++, behaviours.length - 1)] as Behaviour;
    behaviour(request, response);
  };
}
