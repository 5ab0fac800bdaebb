/**
 * The control of the HTTP benchmark: a bare uWebSockets.js handler that sends the same number of bytes and headers as a real answer,
 * and knows nothing else. Told by its parent what to send.
 */
import uws from 'uWebSockets.js';

export interface ControlAnswer {
  /** Header lines, without those that uWebSockets.js adds itself. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

function serve({ headers, body }: ControlAnswer): void {
  const block = headers.map(([name, value]) => `${name}: ${value}`).join('\r\n');
  const colon = block.indexOf(': ');
  const first = block.slice(0, colon);
  const rest = block.slice(colon + 2);
  const bytes = Buffer.from(body);
  // Without its own mark, as the real server: the numbers of headers are equal.
  (uws as unknown as { _cfg(key: string): void })._cfg('silent');
  uws
    .App()
    // All headers in one call, the fastest there is; and one call each, as a handler is usually written.
    .get('/api/*', (res) => {
      res.writeHeader(first, rest).end(bytes);
    })
    .get('/plain/*', (res) => {
      for (const [name, value] of headers) res.writeHeader(name, value);
      res.end(bytes);
    })
    .listen('127.0.0.1', 0, (socket) => {
      process.send?.({ port: socket ? uws.us_socket_local_port(socket) : 0 });
    });
}

process.once('message', (answer) => serve(answer as ControlAnswer));
process.on('disconnect', () => process.exit(0));
