/**
 * The control of the HTTP benchmark: a minimal uWebSockets.js handler that sends as many bytes and headers as a real response and does
 * nothing else. Its parent process sends it the response.
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
  // Without its own header, as in the real server: both send the same number of headers.
  (uws as unknown as { _cfg(key: string): void })._cfg('silent');
  uws
    .App()
    // One route writes all headers in one call, which is the fastest way. The other makes one call per header, as handlers usually do.
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
