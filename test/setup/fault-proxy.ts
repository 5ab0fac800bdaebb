/** A reverse proxy that a test puts before a real node or a stub, to make it behave like a bad server. HTTP only. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Fault =
  | 'none'
  /** Accepts the request and never answers. */
  | 'hang'
  /** A maintenance page in HTML, with status 200. */
  | 'html'
  | 'error-500'
  /** 429 with Retry-After: 7. */
  | 'too-many'
  /** The first half of the real body, then the connection is cut. */
  | 'cut'
  /** The first half of the real body as if it were whole. */
  | 'half'
  | 'empty'
  /** Valid JSON of a type that no request expects. */
  | 'wrong-types'
  /** Makes every number and hex quantity of the real answer huge. */
  | 'huge-numbers'
  /** Makes every number of the real answer negative. */
  | 'negative'
  /** An endless body. */
  | 'endless';

export const FAULTS: readonly Fault[] = [
  'html',
  'error-500',
  'too-many',
  'cut',
  'half',
  'empty',
  'wrong-types',
  'huge-numbers',
  'negative',
];

export interface FaultProxy {
  /** Replaces the target's URL (scheme and host). */
  readonly url: string;
  fault: Fault;
  /** The number of requests so far. */
  requests: number;
  /** Rewrites the bodies of responses; null leaves them. For faults of one family alone (the id of another chain). */
  rewrite: ((body: string) => string) | null;
  close(): Promise<void>;
}

const HUGE = '9'.repeat(90);
const page = '<!DOCTYPE html><html><body><h1>We are down for maintenance</h1></body></html>';

/** Starts a proxy before `target` (an http URL). */
export async function startFaultProxy(
  target: string,
  /** JSON-RPC methods that are answered with "method not found". */
  options: { readonly refuse?: readonly string[] } = {},
): Promise<FaultProxy> {
  const { hostname, port } = new URL(target);
  const proxy = { fault: 'none' as Fault, requests: 0, rewrite: null as FaultProxy['rewrite'] };
  const server: Server = createServer((incoming, outgoing) => {
    proxy.requests++;
    const { fault } = proxy;
    incoming.on('error', () => {});
    if (fault === 'hang') return;
    const answer = (status: number, body: string, headers: Record<string, string> = {}): void => {
      incoming.resume();
      outgoing.writeHead(status, { 'content-type': 'application/json', ...headers });
      outgoing.end(body);
    };
    if (fault === 'html') return answer(200, page, { 'content-type': 'text/html' });
    if (fault === 'error-500') return answer(500, 'Internal Server Error', { 'content-type': 'text/plain' });
    if (fault === 'too-many') return answer(429, '{"error":"slow down"}', { 'retry-after': '7' });
    if (fault === 'empty') return answer(200, '');
    if (fault === 'wrong-types') return answer(200, '[{"result":[[]],"data":7,"id":"x"}]');
    if (fault === 'endless') {
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      const chunk = `"${'x'.repeat(1024 * 1024)}",`;
      const pump = (): void => {
        while (!outgoing.destroyed && outgoing.write(chunk));
      };
      outgoing.on('drain', pump);
      pump();
      return;
    }
    const onward = request(
      {
        hostname,
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...incoming.headers, host: `${hostname}:${port}` },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          let body = Buffer.concat(chunks).toString('utf8');
          if (proxy.rewrite !== null) body = proxy.rewrite(body);
          if (fault === 'huge-numbers')
            body = body
              .replace(/(?<=[:[,]\s*)\d+(?=\s*[,}\]])/g, HUGE)
              .replace(/"0x[0-9a-f]{1,16}"/g, `"0x${'f'.repeat(80)}"`);
          if (fault === 'negative')
            body = body
              .replace(/(?<=[:[,]\s*)\d+(?=\s*[,}\]])/g, '-$&')
              .replace(/"0x([0-9a-f]{1,16})"/g, '"-0x$1"');
          if (fault === 'half') body = body.slice(0, Math.floor(body.length / 2));
          outgoing.writeHead(response.statusCode ?? 500, {
            'content-type': response.headers['content-type'] ?? 'application/json',
            'content-length': String(Buffer.byteLength(body)),
          });
          if (fault !== 'cut') return void outgoing.end(body);
          outgoing.write(body.slice(0, Math.floor(body.length / 2)), () => outgoing.destroy());
        });
        response.on('error', () => outgoing.destroy());
      },
    );
    onward.on('error', () => outgoing.headersSent || options.refuse !== undefined || outgoing.destroy());
    if (options.refuse === undefined) return void incoming.pipe(onward);
    const asked: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => asked.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(asked).toString('utf8');
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      if (options.refuse?.includes(method) !== true) return void onward.end(body);
      onward.destroy();
      answer(
        200,
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}
