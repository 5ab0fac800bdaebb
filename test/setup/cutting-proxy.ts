/** A network that cuts connections in the middle of a server's response. */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Starts a proxy that forwards connections to a server, and cuts each after `cutAfter` bytes from it. */
export async function cuttingProxy(port: number) {
  const state = { cutAfter: Number.POSITIVE_INFINITY, connections: 0, cuts: 0 };
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    state.connections++;
    const upstream = connect(port, '127.0.0.1');
    let passed = 0;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      passed += chunk.length;
      if (passed <= state.cutAfter) {
        client.write(chunk);
        return;
      }
      state.cuts++;
      client.write(chunk.subarray(0, Math.max(0, chunk.length - (passed - state.cutAfter))), () => {
        client.resetAndDestroy();
        upstream.destroy();
      });
    });
    upstream.on('end', () => client.end());
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    state,
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
