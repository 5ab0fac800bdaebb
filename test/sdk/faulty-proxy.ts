/** A reverse proxy that treats every request as the test says: a bad network, or a bad server behind it. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export type NetworkFault =
  | 'none'
  /** The connection is cut before the server gets the request. */
  | 'refuse'
  /** The server answers, and the connection is cut before its answer. */
  | 'lose'
  /** The server answers, and the connection is cut in the middle of its answer. */
  | 'half'
  /** The server answers, and the client never hears of it. */
  | 'hang'
  /** The server answers after a moment. */
  | 'delay'
  /** A proxy before the server answers in its place. */
  | 'bad-gateway'
  | 'too-many'
  /** The server answers, and a proxy replaces its answer by a page. */
  | 'page';

/** Starts a proxy before `target`; `faultOf` returns the fault of the request with this number, from 1. */
export async function startFaultyProxy(target: string, faultOf: (number: number) => NetworkFault) {
  const { hostname, port } = new URL(target);
  const seen: { readonly key: string | undefined; readonly fault: NetworkFault }[] = [];
  const server = createServer((incoming, outgoing) => {
    const fault = faultOf(seen.length + 1);
    const key = incoming.headers['idempotency-key'];
    seen.push({ key: typeof key === 'string' ? key : undefined, fault });
    incoming.on('error', () => {});
    outgoing.on('error', () => {});
    if (fault === 'refuse') return void incoming.socket.destroy();
    if (fault === 'bad-gateway' || fault === 'too-many') {
      incoming.resume();
      const status = fault === 'too-many' ? 429 : 502;
      return void outgoing.writeHead(status, { 'retry-after': '0' }).end('<h1>busy</h1>');
    }
    const { method, url: path, headers } = incoming;
    const onward = request({ hostname, port, method, path, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const body = Buffer.concat(parts);
        const send = (): void => {
          const { 'transfer-encoding': _, ...rest } = response.headers;
          outgoing.writeHead(response.statusCode ?? 500, { ...rest, 'content-length': body.length });
          outgoing.end(body);
        };
        if (fault === 'none') send();
        else if (fault === 'delay') setTimeout(send, 20);
        else if (fault === 'lose') incoming.socket.destroy();
        else if (fault === 'page')
          outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hi</h1>');
        else if (fault === 'half') {
          outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
          outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
        }
      });
    });
    onward.on('error', () => incoming.socket.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The requests so far. */
    seen,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
