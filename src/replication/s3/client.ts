/**
 * Requests to an S3-compatible object store, signed with Signature Version 4 (AWS General Reference, "Signing AWS API requests"). The only
 * importer of aws4fetch, which computes the signature; the requests are sent by the guarded HTTP client.
 */
import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import type { Dispatcher } from 'undici';
import { type Clock, isoTime } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { checkOutboundUrl, createOutboundAgent, type OutboundPolicy } from '../../base/outbound.ts';
import { undici } from '../../base/undici.ts';
import type { S3Place } from '../../state/snapshot-places.ts';
import { bodyUpTo, discard } from '../http/source.ts';
import { REPLICATION_LIMITS } from '../limits.ts';
import { SourceFault } from '../source.ts';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Key below the prefix. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
}

export interface S3Client {
  /** `s3://bucket/prefix` */
  readonly name: string;
  /** Sends one request and returns the response, whatever its status. Throws SourceFault if there is no response. */
  send(request: S3Request): Promise<Dispatcher.ResponseData>;
  /** Sends one request and reads the whole, small response. */
  request(request: S3Request): Promise<S3Response>;
  close(): Promise<void>;
}

export interface S3Response {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly text: string;
  /** The `<Code>` of an error: `NoSuchKey`, `SignatureDoesNotMatch`. Empty otherwise. */
  readonly code: string;
}

const EMPTY_SHA256 = createHash('sha256').digest('hex');

/** Returns the text of the first element of this name. S3 responses are flat, and the requested names occur once. */
export const elementOf = (xml: string, name: string): string =>
  new RegExp(`<${name}>([^<]{0,2048})</${name}>`).exec(xml)?.[1] ?? '';

/** Creates a client; it connects at the first request. The operator configured the store, so it may be private and plain http. */
export function openS3(place: S3Place, { clock }: { readonly clock: Clock }): S3Client {
  const { bucket, prefix, endpoint, region, credentials } = place;
  // Stores other than AWS use path-style URLs, which need no host name per bucket.
  const root =
    endpoint === null
      ? `https://${bucket}.s3.${region}.amazonaws.com`
      : `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  const { hostname } = new URL(root);
  const policy: OutboundPolicy = { trustedHosts: new Set([hostname]) };
  const agent = createOutboundAgent({
    policy,
    timeouts: {
      connectMs: LIMITS.downloadConnectMs,
      headersMs: LIMITS.downloadHeadersMs,
      stallMs: LIMITS.downloadStallMs,
    },
  });

  async function send({
    method,
    key,
    query = {},
    headers = {},
    body,
    signal,
  }: S3Request): Promise<Dispatcher.ResponseData> {
    const url = new URL(`${root}/${prefix === '' ? '' : `${prefix}/`}${key}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    checkOutboundUrl(url, policy);
    const sha256 = body === undefined ? EMPTY_SHA256 : createHash('sha256').update(body).digest('hex');
    const signed = await new AwsV4Signer({
      method,
      url: url.href,
      // The store verifies the received body against this hash.
      headers: { ...headers, 'x-amz-content-sha256': sha256 },
      accessKeyId: credentials.accessKeyId,
      secretAccessKey: credentials.secretAccessKey,
      ...(credentials.sessionToken === null ? {} : { sessionToken: credentials.sessionToken }),
      service: 's3',
      region,
      datetime: isoTime(clock.now()).replace(/[:-]|\.\d{3}/g, ''),
    }).sign();
    try {
      return await undici().request(signed.url, {
        dispatcher: agent,
        method,
        headers: Object.fromEntries(signed.headers.entries()),
        body: body ?? null,
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      throw new SourceFault(messageOf(cause), { cause });
    }
  }

  return {
    name: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`,
    send,
    async request(request) {
      const { statusCode, headers, body } = await send(request);
      if (request.method === 'HEAD') {
        discard(body);
        return { status: statusCode, headers, text: '', code: '' };
      }
      const bytesMax =
        statusCode === 200 ? REPLICATION_LIMITS.releaseBytesMax * 2 : REPLICATION_LIMITS.storeAnswerBytesMax;
      const text = (await bodyUpTo(body, bytesMax)).toString('utf8');
      return {
        status: statusCode,
        headers,
        text,
        code: text.includes('<Error') ? elementOf(text, 'Code') : '',
      };
    },
    close: () => agent.destroy(),
  };
}
