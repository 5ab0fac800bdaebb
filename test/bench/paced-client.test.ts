/** The paced client against servers that answer, stall, stop and are too slow. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { PacedClientResult, PacedClientSettings } from '../../bench/http-paced-client.ts';
import { projectRoot } from '../../src/base/paths.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server = null;
});

/** Sends requests to a server that handles each with `answer`. */
async function paced(
  answer: (socket: Socket) => void,
  settings: Partial<PacedClientSettings> = {},
): Promise<PacedClientResult> {
  const sockets = new Set<Socket>();
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => answer(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  const client = fork(join(projectRoot, 'dist', 'bench', 'http-paced-client.js'));
  try {
    client.send({ port, perSecond: 200, seconds: 1, requests: [REQUEST], drainMs: 300, ...settings });
    const [result] = (await once(client, 'message')) as [PacedClientResult];
    return result;
  } finally {
    client.kill('SIGKILL');
    for (const socket of sockets) socket.destroy();
  }
}

test('sends each request that is due, and measures its answer', async () => {
  const result = await paced((socket) => setTimeout(() => socket.write(OK), 20), { drainMs: 5_000 });
  expect(result).toMatchObject({ sent: 200, answered: 200, failed: 0 });
  expect(result.p50Ms).toBeGreaterThan(19);
});

test('counts requests that are never answered, and the time that they waited', async () => {
  let answered = 0;
  const result = await paced((socket) => {
    if (answered++ < 100) socket.write(OK);
  });
  expect(result).toMatchObject({ sent: 200, answered: 100, failed: 100 });
  expect(result.p99Ms).toBeGreaterThan(300);
});

test('counts the wait for a connection when all are busy', async () => {
  // 256 connections of 500 ms each carry 512 requests a second, half of those that are due.
  const result = await paced((socket) => setTimeout(() => socket.write(OK), 500), {
    perSecond: 1_000,
    drainMs: 10_000,
  });
  expect(result).toMatchObject({ sent: 1_000, answered: 1_000, failed: 0 });
  expect(result.maxMs).toBeGreaterThan(1_000);
});

test('counts other answers than 200, and connections that end', async () => {
  let asked = 0;
  const result = await paced((socket) => {
    asked++;
    if (asked % 10 === 1) socket.write(OK.replace('200 OK', '503 Busy'));
    else if (asked % 10 === 2) socket.destroy();
    else socket.write(OK);
  });
  expect(result).toMatchObject({ sent: 200, failed: 40 });
});
