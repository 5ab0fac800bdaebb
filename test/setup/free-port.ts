/** Ports for servers of tests that have to be told one. */
import { createServer } from 'node:net';

/**
 * Below what systems give to outgoing connections (Linux: from 32,768), so that none of those takes it before its server does, or while
 * that is stopped. A node of a Redis cluster takes the one 10,000 above as well.
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

/** A port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if ((await isFree(port)) && (await isFree(port + PAIR))) return port;
  }
}
