/** Makes sure that a port belongs to one process, if several of its threads listen on it. */
import { lookup } from 'node:dns/promises';
import { type AddressInfo, createServer, type Server, SocketAddress } from 'node:net';
import type { AssayError } from '../../base/errors.ts';
import { listenError } from './port.ts';

const closed = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

/**
 * Listens on a port for a moment, as long as no other process has it.
 *
 * @param port - 0 picks a free one
 * @returns the port
 * @throws LISTEN_FAILED
 */
export async function tryPort(host: string, port: number): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error) => reject(listenError(host, port, error)));
    probe.listen({ host, port, exclusive: true }, resolve);
  });
  const { port: taken } = probe.address() as AddressInfo;
  await closed(probe);
  return taken;
}

/** Returns why a port cannot be used; null if it can. */
export const portProblem = (host: string, port: number): Promise<AssayError | null> =>
  tryPort(host, port).then(
    () => null,
    (error: AssayError) => error,
  );

/**
 * Holds a name of Linux (an abstract socket) that no two processes can have. It is free when the process ends.
 *
 * @returns Null if another process has it.
 */
async function holdName(name: string): Promise<Server | null> {
  const holder = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    holder.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    holder.listen(`\0${name}`, () => resolve(holder.unref()));
  });
}

/** Returns the address on which a server of this host listens, in its usual spelling. */
async function addressOf(host: string, port: number): Promise<string> {
  try {
    const { address, family } = await lookup(host);
    return new SocketAddress({ address, family: family === 6 ? 'ipv6' : 'ipv4' }).address;
  } catch (error) {
    throw listenError(host, port, error);
  }
}

/** A port of this process. */
export interface OwnPort {
  readonly port: number;
  release(): Promise<void>;
}

/**
 * Reserves a port for the threads of this process. Each of them listens with SO_REUSEPORT, with which any process of the same user could
 * share the port, so two servers that start at the same moment compete for a name first. Each address has a name of its own, because two
 * servers may have the same port of different addresses.
 *
 * @param port - 0 picks a free one: uWebSockets.js sets SO_REUSEPORT only if it is given a number
 * @throws LISTEN_FAILED if another process has the port, or reserves it now, or the host does not resolve
 */
export async function reservePort(host: string, port: number): Promise<OwnPort> {
  const own = port === 0 ? await tryPort(host, 0) : port;
  const holder = await holdName(`assay-port-${await addressOf(host, own)}-${own}`);
  if (holder === null)
    throw listenError(host, own, Object.assign(new Error('reserved'), { code: 'EADDRINUSE' }));
  const problem = await portProblem(host, own);
  if (problem !== null) {
    await closed(holder);
    throw problem;
  }
  return { port: own, release: () => closed(holder) };
}
