/** A TCP proxy on loopback that fails on command: the network between a program and its server. */
import { createConnection, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** The number of connections so far. */
  readonly connections: number;
  /** Ends all connections, and new ones until `heal`. */
  cut(): void;
  /** Forwards requests, which take effect, but drops all replies. */
  mute(): void;
  /** Accepts data and forwards nothing. */
  hold(): void;
  /** Works again; connections that were muted or held are ended. */
  heal(): void;
  close(): Promise<void>;
}

/** Starts a proxy that forwards everything to `port`. */
export async function startProxy(port: number): Promise<TcpProxy> {
  let mode: 'pass' | 'cut' | 'mute' | 'hold' = 'pass';
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((client) => {
    connections++;
    if (mode === 'cut') return void client.destroy();
    const behind = createConnection({ port, host: '127.0.0.1' });
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        behind.destroy();
      });
    }
    client.on('data', (bytes) => mode !== 'hold' && behind.write(bytes));
    behind.on('data', (bytes) => mode === 'pass' && client.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get connections() {
      return connections;
    },
    cut() {
      mode = 'cut';
      end();
    },
    mute() {
      mode = 'mute';
    },
    hold() {
      mode = 'hold';
    },
    heal() {
      if (mode !== 'pass') end();
      mode = 'pass';
    },
    async close() {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
