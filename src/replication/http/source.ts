/** Pulls releases over HTTP from the listener of a publishing node, or from a proxy with TLS in front of it. */
import type { Dispatcher } from 'undici';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import { undici } from '../../base/undici.ts';
import { REPLICATION_LIMITS } from '../limits.ts';
import type { ClusterKeys } from '../release.ts';
import { type Latest, type ReleaseSource, SourceFault } from '../source.ts';
import { FILES_PATH, LATEST_PATH } from './listener.ts';

export interface HttpSourceOptions {
  /** URL of the publishing node. The operator configured it, so it may be private and plain http. */
  readonly url: string;
  readonly keys: ClusterKeys | null;
}

/** A publisher normally supports long polling; this is the polling interval if the request returns early. */
const POLL_MS = 2_000;

/** Opens a publishing node as a source of releases. */
export function openHttpSource({ url: text, keys }: HttpSourceOptions): ReleaseSource {
  const base = new URL(text);
  const root = base.pathname.replace(/\/+$/, '');
  const at = (path: string): URL => new URL(`${root}${path}`, base);
  const policy: OutboundPolicy = { trustedHosts: new Set([base.hostname]) };
  const agent = createOutboundAgent({
    policy,
    timeouts: {
      connectMs: LIMITS.downloadConnectMs,
      headersMs: REPLICATION_LIMITS.snapshotWaitMsMax + LIMITS.downloadConnectMs,
      stallMs: LIMITS.downloadStallMs,
    },
  });
  const name = `${base.origin}${root}`;

  async function send(
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    checkOutboundUrl(url, policy);
    try {
      return await undici().request(url, {
        dispatcher: agent,
        headers: {
          'user-agent': 'assay',
          ...(keys === null ? {} : { authorization: `Bearer ${keys.reader}` }),
          ...headers,
        },
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      throw new SourceFault(messageOf(cause), { cause });
    }
  }

  function refused({ statusCode, body }: Dispatcher.ResponseData, subject: string): Error {
    discard(body);
    const text = `${name}: ${subject}: HTTP ${statusCode}`;
    if (statusCode === 429 || statusCode >= 500) return new SourceFault(text);
    const hint =
      statusCode === 401 ? ' (ASSAY_CLUSTER_SECRET is missing, or differs from that of the publisher)' : '';
    return new AssayError('SOURCE_UNAVAILABLE', `${text}${hint}.`);
  }

  return {
    name,
    pollMs: POLL_MS,
    async latest(tag, waitMs, signal): Promise<Latest> {
      let response: Dispatcher.ResponseData;
      try {
        response = await send(
          at(LATEST_PATH),
          {
            accept: 'application/json',
            ...(tag === null ? {} : { 'if-none-match': tag }),
            ...(waitMs === 0 ? {} : { prefer: `wait=${Math.ceil(waitMs / 1_000)}` }),
          },
          signal,
        );
        if (response.statusCode === 304) {
          discard(response.body);
          return { state: 'unchanged' };
        }
        if (response.statusCode === 503) {
          discard(response.body);
          return { state: 'none' };
        }
        if (response.statusCode !== 200) throw refused(response, 'the newest release');
        const envelope = await bodyUpTo(response.body, REPLICATION_LIMITS.releaseBytesMax * 2);
        const { etag } = response.headers;
        return { state: 'new', envelope, tag: typeof etag === 'string' ? etag : null };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceFault)) throw error;
        throw new AssayError('SOURCE_UNAVAILABLE', `${name} does not respond: ${error.message}.`, {
          cause: error,
        });
      }
    },
    async read(file, from, signal) {
      const url = at(`${FILES_PATH}${file.sha256}`);
      const response = await send(url, from === 0 ? {} : { range: `bytes=${from}-` }, signal);
      requireFrom(response, from, () => refused(response, file.path));
      return faulty(response.body, signal);
    },
    close: () => agent.destroy(),
  };
}

/**
 * Checks that a response starts at byte `from`.
 *
 * @throws the error of `refused` for an error status, SOURCE_UNAVAILABLE if the server ignores ranges, SourceFault for a wrong range
 */
export function requireFrom(response: Dispatcher.ResponseData, from: number, refused: () => Error): void {
  const { statusCode, headers, body } = response;
  if (statusCode !== (from === 0 ? 200 : 206)) {
    if (statusCode === 200) {
      discard(body);
      throw new AssayError('SOURCE_UNAVAILABLE', 'The server does not support range requests.');
    }
    throw refused();
  }
  const range = headers['content-range'];
  if (from > 0 && !String(range).startsWith(`bytes ${from}-`)) {
    discard(body);
    throw new SourceFault(`requested bytes from ${from} on, received ${String(range).slice(0, 60)}`);
  }
}

/** Passes on the chunks of a body; a broken connection is a SourceFault, which may be retried. */
export async function* faulty(body: AsyncIterable<unknown>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (cause) {
    signal.throwIfAborted();
    throw new SourceFault(messageOf(cause), { cause });
  }
}

/**
 * Reads a whole body.
 *
 * @throws SourceFault if it is larger than `bytesMax`
 */
export async function bodyUpTo(body: AsyncIterable<unknown>, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += (chunk as Uint8Array).length;
      if (bytes > bytesMax) throw new SourceFault(`the response is larger than ${bytesMax} bytes`);
      chunks.push(chunk as Uint8Array);
    }
  } catch (cause) {
    throw cause instanceof SourceFault ? cause : new SourceFault(messageOf(cause), { cause });
  }
  return Buffer.concat(chunks);
}

/** Discards an unread body and ignores its errors. */
export function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {});
  body.destroy();
}
