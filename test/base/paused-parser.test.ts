/** Responses whose connection ends before they are read: by the agent of all outbound requests, from a server of bytes. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundAgent } from '../../src/base/outbound.ts';
import { undici } from '../../src/base/undici.ts';

/** More than the reader takes unasked, and less than the buffers of a connection: all of it arrives, and the parser is paused. */
const BODY = Buffer.alloc(96 * 1024, 'abcdefgh');
const chunked = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

let agent: Agent;
beforeEach(() => {
  agent = createOutboundAgent({
    policy: { trustedHosts: new Set(['127.0.0.1']) },
    timeouts: { connectMs: 5_000, headersMs: 5_000, stallMs: 5_000 },
  });
});
afterEach(() => agent.destroy());

/** Requests a response that the server sends at once, and reads it after the server has closed the connection. */
async function readLate(header: string, body: Buffer): Promise<Buffer> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from(`${header}\r\n\r\n`), body])));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const response = await undici().request(url, { dispatcher: agent });
    await wait(200);
    return Buffer.from(await response.body.arrayBuffer());
  } finally {
    server.close();
  }
}

describe('a response that is read after its connection has ended', () => {
  it.each([
    ['of a known length', `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\nConnection: close`, BODY],
    ['of HTTP/1.0', `HTTP/1.0 200 OK\r\nContent-Length: ${BODY.length}`, BODY],
    [
      'in chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close',
      Buffer.concat([chunked(BODY), Buffer.from('0\r\n\r\n')]),
    ],
    ['that ends with the connection', 'HTTP/1.1 200 OK\r\nConnection: close', BODY],
  ])('is complete: %s', async (_, header, body) => {
    const read = await readLate(header, body);
    expect(read.equals(BODY)).toBe(true);
  });

  it.each([
    [
      'shorter than its length',
      `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length + 1}\r\nConnection: close`,
      BODY,
    ],
    [
      'without its last chunk',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close',
      chunked(BODY),
    ],
  ])('is an error if it is cut: %s', async (_, header, body) => {
    await expect(readLate(header, body)).rejects.toThrow();
  });
});
