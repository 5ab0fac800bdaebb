/**
 * Serves releases to other nodes over a small separate HTTP listener: files by name, with ranges, and the newest release, with long
 * polling. It is read-only. If the cluster has a secret, every request but the health check must present the reader key derived from it.
 */
import { createReadStream, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { REPLICATION_LIMITS } from '../limits.ts';
import type { Publisher } from '../publish.ts';
import { type ClusterKeys, isSameSecret } from '../release.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Null disables authentication: allowed on loopback only. */
  readonly keys: ClusterKeys | null;
}

export interface SnapshotListener {
  /** `http://host:port/` */
  readonly url: string;
  /** Must be called after a new release was published: answers all long polls. */
  published(): void;
  close(): Promise<void>;
}

/** Paths of the two resources. */
export const LATEST_PATH = '/snapshot';
export const FILES_PATH = '/snapshot/files/';

const FILE = /^\/snapshot\/files\/([0-9a-f]{64})$/;
const RANGE = /^bytes=(\d{1,15})-(\d{1,15})?$/;
const HEADERS_MS = 10_000;

/**
 * Starts the listener.
 *
 * @throws LISTEN_FAILED
 */
export async function listenForNodes(
  { host, port, keys }: ListenerOptions,
  { publisher, log }: { readonly publisher: Publisher; readonly log: Logger },
): Promise<SnapshotListener> {
  const waiting = new Set<() => void>();

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A node that disconnected in the middle of a file requests the rest later.
      log.debug({ reason: messageOf(error) }, 'snapshot response aborted');
      response.destroy();
    });
  });
  server.maxConnections = REPLICATION_LIMITS.snapshotConnectionsMax;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = HEADERS_MS;
  server.setTimeout(REPLICATION_LIMITS.snapshotStallMs);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] as string;
    if (path === '/health') return sendText(response, 200, 'ok');
    if (keys !== null && !isSameSecret(request.headers.authorization ?? '', `Bearer ${keys.reader}`))
      return sendText(response, 401, 'The cluster secret is missing or wrong.');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendText(response, 405, 'Method not allowed: use GET or HEAD.');
    if (path === LATEST_PATH) return answerLatest(request, response);
    const sha256 = FILE.exec(path)?.[1];
    if (sha256 === undefined) return sendText(response, 404, 'Not found.');
    return answerFile(publisher.blobs.path(sha256), sha256, request, response);
  }

  async function answerLatest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const tag = request.headers['if-none-match'];
    const isNew = (): boolean => publisher.current !== null && `"${publisher.current.release.id}"` !== tag;
    if (!isNew()) await nextRelease(waitOf(request), request);
    const { current } = publisher;
    if (current === null) return sendText(response, 503, 'No release has been published yet.');
    const etag = `"${current.release.id}"`;
    if (etag === tag) {
      response.writeHead(304, { etag }).end();
      return;
    }
    response
      .writeHead(200, {
        'content-type': 'application/json',
        'content-length': current.envelope.length,
        'cache-control': 'no-store',
        etag,
      })
      .end(request.method === 'HEAD' ? undefined : current.envelope);
  }

  /** Waits until the next publication, the timeout, or the end of the connection. */
  function nextRelease(waitMs: number, request: IncomingMessage): Promise<void> {
    if (waitMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        waiting.delete(done);
        request.socket.off('close', done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      waiting.add(done);
      request.socket.once('close', done);
    });
  }

  await listening(server, host, port);
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host.replace(/^\[|\]$/g, '')}]` : host}:${bound}/`,
    published: () => {
      for (const wake of [...waiting]) wake();
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const wake of [...waiting]) wake();
      server.closeAllConnections();
      await closed;
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: Error) =>
      reject(
        new AssayError('LISTEN_FAILED', `Snapshots cannot be served on ${host}:${port}: ${cause.message}.`, {
          cause,
        }),
      ),
    );
    server.listen(port, host.replace(/^\[|\]$/g, ''), resolve);
  });
}

/** Parses `Prefer: wait=20` (RFC 7240, section 4.3) to milliseconds. */
function waitOf(request: IncomingMessage): number {
  const { prefer } = request.headers;
  const seconds = /(?:^|[,;\s])wait=(\d{1,4})/.exec(
    Array.isArray(prefer) ? prefer.join() : (prefer ?? ''),
  )?.[1];
  return Math.min(Number(seconds ?? 0) * 1_000, REPLICATION_LIMITS.snapshotWaitMsMax);
}

async function answerFile(
  path: string,
  sha256: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return sendText(response, 404, 'This file does not belong to a kept release.');
  const headers = {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    'cache-control': 'private, immutable, max-age=31536000',
    etag: `"${sha256}"`,
  };
  const range = RANGE.exec(request.headers.range ?? '');
  const from = range === null ? 0 : Number(range[1]);
  const to = Math.min(Number(range?.[2] ?? size - 1), size - 1);
  if (range !== null && (from >= size || to < from)) {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${size}` }).end();
    return;
  }
  response.writeHead(range === null ? 200 : 206, {
    ...headers,
    'content-length': size === 0 ? 0 : to - from + 1,
    ...(range === null ? {} : { 'content-range': `bytes ${from}-${to}/${size}` }),
  });
  if (request.method === 'HEAD' || size === 0) {
    response.end();
    return;
  }
  await pipeline(
    createReadStream(path, { start: from, end: to, highWaterMark: REPLICATION_LIMITS.snapshotReadBytes }),
    response,
  );
}

function sendText(response: ServerResponse, status: number, text: string): void {
  const body = Buffer.from(`${text}\n`);
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'content-length': body.length })
    .end(body);
}
