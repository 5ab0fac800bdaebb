/** A TCP relay before a node. A test can cut its connections at any moment. */
import { connect, createServer, type Socket } from 'node:net';

export interface SocketCutter {
  readonly url: string;
  readonly socketUrl: string;
  /** Connections accepted since the start. */
  connections: number;
  /** Whether connections are refused, so that the node is unreachable. */
  refuses: boolean;
  cut(): void;
  close(): Promise<void>;
}

export async function startSocketCutter(target: string): Promise<SocketCutter> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (cutter.refuses) {
      client.on('error', () => {});
      client.destroy();
      return;
    }
    cutter.connections++;
    const node = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, node],
      [node, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.pipe(node).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as { port: number }).port;
  const cutter: SocketCutter = {
    url: `http://127.0.0.1:${own}`,
    socketUrl: `ws://127.0.0.1:${own}`,
    connections: 0,
    refuses: false,
    cut() {
      for (const socket of open) socket.destroy();
    },
    close() {
      cutter.cut();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return cutter;
}
