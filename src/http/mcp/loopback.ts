/**
 * A request of the process to itself: it passes the same pipeline as one that came over a socket, so that keys, limits, quotas, credits
 * and idempotency are enforced in one place.
 */
import type { OperationRequest, OperationResponse } from '../../mcp/operations.ts';
import type { HeaderLines } from '../server/header-bytes.ts';
import type { BodyReceiver, ByteSource, EventStream, Exchange, Handler } from '../server/port.ts';

/** The request that causes this one: its credentials, its address and its id. */
export interface OuterRequest {
  readonly authorization: string;
  readonly requestId: string;
  readonly remoteAddress: string;
  /** Headers of a proxy in front of the server, which the pipeline trusts only if the proxy is trusted. */
  readonly forwardedFor: string;
  readonly forwardedProto: string;
  readonly isGone: () => boolean;
}

const NOT_FOR_TOOLS = 'The operation sends a stream or a file, which a tool cannot receive.';

/** Returns the values of header lines by their names in lower case. */
function headersIn(lines: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

class LoopbackExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly params: string[] = [];
  readonly #request: OperationRequest;
  readonly #outer: OuterRequest;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #answer: (response: OperationResponse) => void;

  constructor(request: OperationRequest, outer: OuterRequest, answer: (response: OperationResponse) => void) {
    this.method = request.method;
    this.path = request.path;
    this.#request = request;
    this.#outer = outer;
    this.#answer = answer;
    const { idempotencyKey } = request;
    this.#headers = new Map([
      ['authorization', outer.authorization],
      ['x-request-id', outer.requestId],
      ['x-forwarded-for', outer.forwardedFor],
      ['x-forwarded-proto', outer.forwardedProto],
      // Errors have their code in the body only as problem details.
      ['accept', 'application/problem+json'],
      ['content-type', 'application/json'],
      ...(idempotencyKey === null ? [] : ([['idempotency-key', idempotencyKey]] as const)),
    ]);
  }

  query(): string {
    return this.#request.query;
  }

  header(name: string): string {
    return this.#headers.get(name) ?? '';
  }

  optionalHeader(name: string): string | null {
    return this.#headers.get(name) ?? null;
  }

  keep(): void {}

  remoteAddress(): string {
    return this.#outer.remoteAddress;
  }

  get isGone(): boolean {
    return this.#outer.isGone();
  }

  readBody(bytesMax: number, onBody: (body: Uint8Array | null) => void): void {
    const body = Buffer.from(this.#request.body ?? '');
    onBody(body.length > bytesMax ? null : body);
  }

  receiveBody(_bytesMax: number, receiver: BodyReceiver): void {
    receiver.end('gone');
  }

  reply(status: number, headers: HeaderLines, body: string | Uint8Array): void {
    const values = headersIn(String(headers));
    const retryAfter = Number(values.get('retry-after') ?? Number.NaN);
    this.#answer({
      status,
      // A copy: the pipeline writes the next response into the same buffer.
      body: Buffer.from(body),
      requestId: values.get('x-request-id') ?? '',
      isReplayed: values.get('idempotency-replayed') === 'true',
      retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
    });
  }

  async replyBytes(_status: number, _headers: string, source: ByteSource): Promise<void> {
    await source.close();
    throw new Error(NOT_FOR_TOOLS);
  }

  openStream(): EventStream {
    throw new Error(NOT_FOR_TOOLS);
  }
}

/** Finds the handler of a request, and pushes the parameters of its path. */
export type Match = (method: string, path: string, params: string[]) => Handler | null;

/**
 * Sends a request to an operation of this process.
 *
 * @throws if there is no such operation
 */
export const callInside = (
  match: Match,
  request: OperationRequest,
  outer: OuterRequest,
): Promise<OperationResponse> =>
  new Promise((resolve, reject) => {
    const exchange = new LoopbackExchange(request, outer, resolve);
    const handler = match(request.method, request.path, exchange.params);
    if (handler === null) reject(new Error(`No operation matches ${request.method} ${request.path}.`));
    else handler(exchange);
  });
