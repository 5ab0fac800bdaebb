/** Sends one HTTP request to an endpoint, reads the whole response, and converts faults of the transport to `AssayError`. */
import type { Agent } from 'undici';
import { AssayError, messageOf } from '../../base/errors.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../base/outbound.ts';
import { undici } from '../../base/undici.ts';
import type { EndpointSpec } from './endpoints.ts';
import { parseExactJson } from './exact-json.ts';
import { ENDPOINT_LIMITS } from './limits.ts';
import type { EndpointAnswer, EndpointRequest } from './request.ts';

/** Maximum bytes to read of the body of an error response, so that the connection can be reused. */
const REFUSED_BODY_BYTES_MAX = 64 * 1024;
/** Number of characters at the start of a body that are checked for HTML. */
const PAGE_START_CHARS = 1_024;

/** An HTTP status that the request does not accept. */
export class StatusFault extends Error {
  readonly status: number;
  /** The `Retry-After` header; undefined if the response has none. */
  readonly retryAfter: string | undefined;

  constructor(status: number, retryAfter: string | undefined) {
    super(`status ${status}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export interface HttpExchangeOptions {
  readonly agent: Agent;
  readonly policy: OutboundPolicy;
  readonly signal: AbortSignal;
  /** Time left of the whole call; it decides how many bytes may be read. */
  readonly leftMs: number;
}

/**
 * Sends one HTTP request.
 *
 * @throws StatusFault if the status is neither 200 nor one that the request accepts
 * @throws CHAIN_UNREACHABLE, CHAIN_BAD_ANSWER for a fault of the connection or of the body
 */
export async function exchangeHttp<T>(
  spec: EndpointSpec,
  request: EndpointRequest<T>,
  options: HttpExchangeOptions,
): Promise<EndpointAnswer> {
  const url = new URL(request.url === undefined ? spec.url : request.url(spec));
  if (new URL(spec.url).host !== url.host)
    throw new Error(`A request for ${spec.source} was built for ${url.host}.`);
  checkOutboundUrl(url, options.policy);
  try {
    return await receive(spec, url, request, options);
  } catch (error) {
    throw transportFault(spec, error);
  }
}

async function receive<T>(
  spec: EndpointSpec,
  url: URL,
  request: EndpointRequest<T>,
  { agent, signal, leftMs }: HttpExchangeOptions,
): Promise<EndpointAnswer> {
  const response = await undici().request(url, {
    dispatcher: agent,
    method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
    headers: {
      accept: 'application/json',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(spec.authorization === null ? {} : { authorization: spec.authorization }),
      ...request.headers,
      ...request.headersFor?.(spec),
    },
    body: request.body ?? null,
    signal,
  });
  const { statusCode: status, headers, body } = response;
  const isExpected = status === 200 || request.statuses?.includes(status) === true;
  if (!isExpected) {
    await body.dump({ limit: REFUSED_BODY_BYTES_MAX });
    const retryAfter = headers['retry-after'];
    throw new StatusFault(status, retryAfter === undefined ? undefined : String(retryAfter));
  }
  const bytesMax =
    leftMs < ENDPOINT_LIMITS.endpointLongCallMs
      ? ENDPOINT_LIMITS.endpointShortAnswerBytesMax
      : ENDPOINT_LIMITS.endpointAnswerBytesMax;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      body.destroy();
      throw new AssayError(
        'CHAIN_BAD_ANSWER',
        `${spec.source}: the response is larger than ${bytesMax} bytes.`,
      );
    }
    chunks.push(chunk);
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new AssayError(
      'CHAIN_BAD_ANSWER',
      `${spec.source}: the response has a content encoding that was not requested.`,
    );
  const text = Buffer.concat(chunks).toString('utf8');
  if (/^\s*</.test(text.slice(0, PAGE_START_CHARS)))
    throw new AssayError('CHAIN_BAD_ANSWER', `${spec.source}: the response is a web page instead of JSON.`);
  return { status, text, json: () => parseExactJson(text) };
}

/**
 * Converts a transport error (from the system, undici or the outbound address check) to an `AssayError`; returns other errors
 * unchanged.
 */
function transportFault(spec: EndpointSpec, error: unknown): unknown {
  if (error instanceof AssayError || error instanceof StatusFault) return error;
  if (!(error instanceof Error) || error.name === 'AbortError') return error;
  const code = errorCodeOf(error);
  const isCut = /UND_ERR_RES_CONTENT|HPE_|UND_ERR_HEADERS_OVERFLOW/.test(code);
  return new AssayError(
    isCut ? 'CHAIN_BAD_ANSWER' : 'CHAIN_UNREACHABLE',
    `${spec.source}: ${messageOf(error) || code}.`,
    { cause: error },
  );
}

/** Returns the `code` of an error of the system or of undici; empty if it has none. */
export const errorCodeOf = (cause: unknown): string =>
  String((cause as { code?: unknown } | null | undefined)?.code ?? '');
