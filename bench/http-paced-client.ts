/**
 * A client of the HTTP benchmark that sends requests at a fixed rate, whatever the server does, and measures each response from the tick of its
 * timer in which the request is due. Each connection has one request at a time. Connections are added if all are busy; if there are as many as
 * allowed, requests wait for one, and their wait counts. A request without a response failed, and its time counts too. How late the ticks
 * themselves are is measured apart: that is a wait of this process for a core, not for the server.
 */
import { connect, type Socket } from 'node:net';

export interface PacedClientSettings {
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Complete requests, sent in turn. */
  readonly requests: readonly string[];
  /** How long to wait for answers after the last request was due. Default: 5 s. */
  readonly drainMs?: number;
}

export interface PacedClientResult {
  /** All requests that were due. */
  readonly sent: number;
  readonly answered: number;
  /** Requests with another answer than 200, or without one. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How late this client itself was, p99. */
  readonly lateP99Ms: number;
}

const CONNECTIONS_MAX = 256;
const DRAIN_MS = 5_000;

interface Connection {
  readonly socket: Socket;
  /** When its request was due; null if it has none. */
  dueAt: number | null;
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
  const { port, perSecond, seconds, requests, drainMs = DRAIN_MS } = settings;
  const free: Connection[] = [];
  const open = new Set<Connection>();
  /** Times at which requests were due that wait for a connection. */
  const waiting: number[] = [];
  const timesMs: number[] = [];
  const lateMs: number[] = [];
  const total = Math.floor(perSecond * seconds);
  let due = 0;
  let written = 0;
  let answered = 0;
  let failed = 0;
  let isOver = false;

  const send = (connection: Connection, dueAt: number): void => {
    connection.dueAt = dueAt;
    connection.socket.write(requests[written++ % requests.length] as string);
  };
  const release = (connection: Connection): void => {
    const dueAt = waiting.shift();
    if (dueAt === undefined) free.push(connection);
    else send(connection, dueAt);
  };
  const openOne = (): Connection => {
    const connection: Connection = {
      socket: connect(port, '127.0.0.1'),
      dueAt: null,
      received: '',
      size: null,
    };
    open.add(connection);
    connection.socket.setNoDelay(true);
    connection.socket.on('data', (chunk: Buffer) => {
      connection.received += chunk.toString('latin1');
      connection.size ??= sizeOf(connection.received);
      if (connection.size === null || connection.received.length < connection.size) return;
      if (connection.dueAt !== null) timesMs.push(performance.now() - connection.dueAt);
      answered++;
      if (!connection.received.startsWith('HTTP/1.1 200')) failed++;
      connection.received = '';
      connection.size = null;
      connection.dueAt = null;
      release(connection);
    });
    // Its 'close' follows.
    connection.socket.on('error', () => {});
    connection.socket.on('close', () => {
      if (isOver) return;
      open.delete(connection);
      const at = free.indexOf(connection);
      if (at >= 0) free.splice(at, 1);
      if (connection.dueAt === null) return;
      timesMs.push(performance.now() - connection.dueAt);
      failed++;
      if (waiting.length > 0) send(openOne(), waiting.shift() as number);
    });
    return connection;
  };
  for (let n = 0; n < 8; n++) free.push(openOne());

  const finish = (): void => {
    isOver = true;
    const now = performance.now();
    for (const dueAt of [...waiting, ...[...open].flatMap((each) => each.dueAt ?? [])]) {
      timesMs.push(now - dueAt);
      failed++;
    }
    for (const times of [timesMs, lateMs]) times.sort((a, b) => a - b);
    const at = (times: readonly number[], share: number): number =>
      times[Math.floor(times.length * share)] ?? Number.NaN;
    const result: PacedClientResult = {
      sent: due,
      answered,
      failed,
      p50Ms: at(timesMs, 0.5),
      p99Ms: at(timesMs, 0.99),
      maxMs: timesMs.at(-1) ?? Number.NaN,
      lateP99Ms: at(lateMs, 0.99),
    };
    process.send?.(result, () => process.exit(0));
  };
  let started = 0;
  const tick = (): void => {
    const now = performance.now();
    const elapsed = now - started;
    for (; due < total && due < (elapsed / 1000) * perSecond; due++) {
      lateMs.push(elapsed - (due / perSecond) * 1000);
      const connection = free.shift() ?? (open.size < CONNECTIONS_MAX ? openOne() : null);
      if (connection === null) waiting.push(now);
      else send(connection, now);
    }
    const isDrained = due === total && timesMs.length === total;
    if (isDrained || elapsed > seconds * 1000 + drainMs) finish();
    else setTimeout(tick, 1);
  };
  // From here on, so that the first tick does not send all requests of the pause at once.
  setTimeout(() => {
    started = performance.now();
    tick();
  }, 100);
}

process.once('message', (settings) => run(settings as PacedClientSettings));
process.on('disconnect', () => process.exit(0));
