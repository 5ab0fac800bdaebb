/**
 * A client of the HTTP benchmark that sends requests at a fixed rate and measures each response from the moment its request was written.
 * Each connection has one request at a time. Connections are added if all are busy.
 */
import { connect, type Socket } from 'node:net';

export interface PacedClientSettings {
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Complete requests, sent in turn. */
  readonly requests: readonly string[];
}

export interface PacedClientResult {
  readonly sent: number;
  readonly answered: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const CONNECTIONS_MAX = 256;

interface Connection {
  readonly socket: Socket;
  sentAt: number;
  received: string;
  /** Size of the response; null until its head is complete. */
  size: number | null;
}

/** Returns the number of bytes of a response; null if its head is not complete. */
function sizeOf(received: string): number | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  return end + 4 + Number(/content-length: (\d+)/i.exec(received)?.[1]);
}

function run(settings: PacedClientSettings): void {
  const { port, perSecond, seconds, requests } = settings;
  const free: Connection[] = [];
  const timesMs: number[] = [];
  let connections = 0;
  let sent = 0;
  let failed = 0;

  const open = (): Connection => {
    connections++;
    const connection: Connection = {
      socket: connect(port, '127.0.0.1'),
      sentAt: 0,
      received: '',
      size: null,
    };
    connection.socket.setNoDelay(true);
    connection.socket.on('data', (chunk: Buffer) => {
      connection.received += chunk.toString('latin1');
      connection.size ??= sizeOf(connection.received);
      if (connection.size === null || connection.received.length < connection.size) return;
      timesMs.push(performance.now() - connection.sentAt);
      if (!connection.received.startsWith('HTTP/1.1 200')) failed++;
      connection.received = '';
      connection.size = null;
      free.push(connection);
    });
    return connection;
  };
  for (let n = 0; n < 8; n++) free.push(open());

  let started = 0;
  const finish = (): void => {
    timesMs.sort((a, b) => a - b);
    const at = (share: number): number => timesMs[Math.floor(timesMs.length * share)] ?? Number.NaN;
    const result: PacedClientResult = {
      sent,
      answered: timesMs.length,
      failed,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: timesMs.at(-1) ?? Number.NaN,
    };
    process.send?.(result, () => process.exit(0));
  };
  const tick = (): void => {
    const elapsed = performance.now() - started;
    if (elapsed > seconds * 1000) {
      setTimeout(finish, 200);
      return;
    }
    while (sent < (elapsed / 1000) * perSecond) {
      const connection = free.shift() ?? (connections < CONNECTIONS_MAX ? open() : null);
      if (!connection) break;
      connection.sentAt = performance.now();
      connection.socket.write(requests[sent % requests.length] as string);
      sent++;
    }
    setTimeout(tick, 1);
  };
  // From here on, so that the first tick does not send all requests of the pause at once.
  setTimeout(() => {
    started = performance.now();
    tick();
  }, 100);
}

process.once('message', (settings) => run(settings as PacedClientSettings));
process.on('disconnect', () => process.exit(0));
