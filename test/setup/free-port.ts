/** Ports for test servers that need a fixed one. */
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections (Linux: from 32,768), so that no connection takes a port before its server
 * does, or while the server is stopped. A node of a Redis Cluster also takes the port that is 10,000 higher.
 */
const FIRST = 11_000;
const COUNT = 10_000;
const PAIR = 10_000;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Returns a loopback port on which no process listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if ((await isFree(port)) && (await isFree(port + PAIR))) return port;
  }
}
