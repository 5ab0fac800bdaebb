/** The behaviour that every HTTP server behind src/http/server/port.ts shares, whatever its implementation. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { request as tlsRequest } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { BodyBudget } from '../../src/http/server/body-budget.ts';
import type {
  BodyReceiver,
  ByteSource,
  CreateServer,
  Exchange,
  Handler,
  HttpServer,
  UploadPace,
} from '../../src/http/server/port.ts';
import { createRouter } from '../../src/http/server/router.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { RawClient } from '../http/raw-client.ts';
import { sleep, until } from '../support/wait.ts';

const TYPE = 'Content-Type: text/plain';
const BINARY = 'Content-Type: application/octet-stream';
const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const LONG = process.env.ASSAY_TEST_LONG === '1';

/** A receiver that records its calls in order. `write` runs `work`. */
function taker(
  exchange: Exchange,
  work: (bytes: Uint8Array) => Promise<void> | void = () => {},
): BodyReceiver & { readonly taken: () => Buffer; readonly length: () => number; ending: string | null } {
  const pieces: Buffer[] = [];
  let length = 0;
  let isWorking = false;
  const receiver = {
    ending: null as string | null,
    taken: () => Buffer.concat(pieces),
    length: () => length,
    async write(bytes: Uint8Array) {
      if (isWorking || receiver.ending !== null)
        throw new Error('called during another call, or after the end');
      isWorking = true;
      length += bytes.length;
      if (length <= 4 * MIB) pieces.push(Buffer.from(bytes));
      await work(bytes);
      isWorking = false;
    },
    end(how: Parameters<BodyReceiver['end']>[0]) {
      if (isWorking || receiver.ending !== null)
        throw new Error('called during another call, or after the end');
      receiver.ending = how;
      if (how !== 'gone') exchange.reply(how === 'whole' ? 200 : 400, TYPE, `${how} ${length}`);
    },
  };
  return receiver;
}

/** A source of bytes in which each 32-bit word is its own offset. It counts how much was read and how often it was closed. */
function counting(
  length: number,
  piece = 128 * KIB,
): ByteSource & { readonly handed: () => number; readonly closed: () => number } {
  const buffer = Buffer.alloc(piece);
  let at = 0;
  let closed = 0;
  return {
    length,
    handed: () => at,
    closed: () => closed,
    async next() {
      const bytes = Math.min(piece, length - at);
      if (bytes <= 0 || closed > 0) throw new Error('asked for more than there is, or after the end');
      for (let word = 0; word < bytes; word += 4) buffer.writeUInt32LE(((at + word) / 4) >>> 0, word);
      at += bytes;
      return buffer.subarray(0, bytes);
    },
    async close() {
      closed++;
    },
  };
}

/** Reads a response of a known length as it arrives and checks that every word is its own offset. */
class CountingReader {
  readonly socket: Socket;
  head = '';
  bytes = 0;
  isRight = true;
  isClosed = false;
  #rest = Buffer.alloc(0);

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  #take(chunk: Buffer): void {
    let bytes = chunk;
    if (!this.head.includes('\r\n\r\n')) {
      const all = Buffer.concat([Buffer.from(this.head, 'latin1'), chunk]);
      const end = all.indexOf('\r\n\r\n');
      this.head = all.subarray(0, end < 0 ? all.length : end + 4).toString('latin1');
      if (end < 0) return;
      bytes = all.subarray(end + 4);
    }
    const whole = Buffer.concat([this.#rest, bytes]);
    const words = whole.length >>> 2;
    for (let word = 0; word < words; word++) {
      if (whole.readUInt32LE(word * 4) !== (this.bytes / 4) >>> 0) this.isRight = false;
      this.bytes += 4;
    }
    this.#rest = whole.subarray(words * 4);
  }
}

/**
 * Adds the suite.
 *
 * @param isForwarding - handlers run on another thread, so that no response is sent in the turn of its request. Time limits of idle
 *   connections are then left to the suite of the server without such threads
 */
export function describeHttpServer(
  name: string,
  createHttpServer: () => Promise<CreateServer>,
  { isForwarding = false } = {},
): void {
  describe(`HTTP server on ${name}`, () => {
    const open: HttpServer[] = [];
    const clients: RawClient[] = [];
    afterEach(async () => {
      for (const client of clients.splice(0)) client.destroy();
      for (const server of open.splice(0)) await server.close(1000);
    });

    async function serve(
      handlers: Readonly<Record<string, Handler>>,
      options: {
        port?: number;
        tls?: { keyFile: string; certFile: string };
        uploads?: UploadPace;
        keepAliveSeconds?: number;
        connectionsMax?: number;
      } = {},
    ): Promise<{ server: HttpServer; port: number }> {
      const router = createRouter<Handler>(
        Object.entries(handlers).map(([place, value]) => {
          const [method = '', pattern = ''] = place.split(' ');
          return { method, pattern, value };
        }),
      );
      const create = await createHttpServer();
      const server = create(
        { host: '127.0.0.1', tls: null, ...options, port: options.port ?? 0 },
        {
          router,
          fallback: (exchange) => exchange.reply(404, TYPE, 'fallback'),
          refuse: ({ problem }) => ({ status: 400, headers: TYPE, body: problem }),
          log: silentLogger,
        },
      );
      const port = await server.listen();
      open.push(server);
      return { server, port };
    }

    const client = (port: number): RawClient => {
      const made = new RawClient(port);
      clients.push(made);
      return made;
    };

    const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

    it('passes method, path, parameters, query, headers and the remote address', async () => {
      const seen: unknown[] = [];
      const { port } = await serve({
        'GET /a/{one}/b/{two}': (exchange) => {
          seen.push(exchange.method, exchange.path, [...exchange.params], exchange.query());
          seen.push(exchange.header('x-mine'), exchange.header('absent'), exchange.remoteAddress());
          exchange.reply(200, `${TYPE}\r\nX-Two: 2`, 'é€');
        },
      });
      const socket = client(port);
      socket.send(get('/a/x%2Fy/b/zz?q=1&r=%20', 'X-Mine: yes\r\n'));
      const answer = await socket.next();
      expect(answer?.status).toBe(200);
      expect(answer?.body).toBe('é€');
      expect(answer?.headers.get('content-type')).toBe('text/plain');
      expect(answer?.headers.get('x-two')).toBe('2');
      expect(answer?.headers.get('content-length')).toBe('5');
      expect(seen).toEqual(['GET', '/a/x%2Fy/b/zz', ['x%2Fy', 'zz'], 'q=1&r=%20', 'yes', '', '127.0.0.1']);
    });

    it('joins several fields X-Forwarded-For, because a proxy may add its own after that of the client', async () => {
      const seen: unknown[] = [];
      const { port } = await serve({
        'GET /a': (exchange) => {
          seen.push(exchange.header('x-forwarded-for'));
          exchange.keep();
          setTimeout(() => {
            seen.push(exchange.header('x-forwarded-for'));
            exchange.reply(200, TYPE, 'a');
          }, 1);
        },
      });
      const socket = client(port);
      socket.send(
        get('/a', 'X-Forwarded-For: 9.9.9.9\r\nX-Mine: a\r\nx-forwarded-for: 1.2.3.4, 10.0.0.1\r\n'),
      );
      await socket.next();
      socket.send(get('/a'));
      await socket.next();
      const all = '9.9.9.9, 1.2.3.4, 10.0.0.1';
      expect(seen).toEqual([all, all, '', '']);
    });

    it('passes every path and method without a route to the fallback', async () => {
      const { port } = await serve({ 'GET /a': (exchange) => exchange.reply(200, TYPE, 'a') });
      const socket = client(port);
      for (const [method, path, status] of [
        ['GET', '/a', 200],
        ['GET', '/a/', 404],
        ['GET', '//a', 404],
        ['GET', '/A', 404],
        ['DELETE', '/a', 404],
        ['OPTIONS', '/a', 404],
        ['PATCH', '/a', 404],
      ] as const) {
        socket.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
        expect([method, path, (await socket.next())?.status]).toEqual([method, path, status]);
      }
      socket.send('HEAD /b HTTP/1.1\r\nHost: x\r\n\r\n');
      const head = await socket.next({ isHead: true });
      expect(head?.status).toBe(404);
      socket.send(get('/a'));
      expect((await socket.next())?.body).toBe('a');
    });

    it('responds after the handler has returned, with every byte of a large body', async () => {
      const large = Buffer.alloc(5_000_000, 'x');
      const { server, port } = await serve({
        'GET /later': (exchange) => {
          setTimeout(() => exchange.reply(200, TYPE, large), 20);
        },
      });
      const socket = client(port);
      socket.send(get('/later'));
      const answer = await socket.next();
      expect(answer?.body.length).toBe(large.length);
      // A client may have received all of it before its server learns so.
      await until(() => server.pending() === 0);
    });

    it('holds a large response back while the client does not read, and completes it later', async () => {
      const large = Buffer.alloc(20_000_000, 'y');
      const { server, port } = await serve({ 'GET /large': (exchange) => exchange.reply(200, TYPE, large) });
      const socket = client(port);
      socket.socket.pause();
      socket.send(get('/large'));
      await sleep(300);
      expect(server.pending()).toBe(1);
      socket.socket.resume();
      const answer = await socket.next();
      expect(answer?.body.length).toBe(large.length);
    });

    it('passes no body on after the request was answered', async () => {
      const bodies: (Uint8Array | null)[] = [];
      const { port } = await serve({
        'POST /refuse': (exchange) => {
          exchange.readBody(1000, (body) => bodies.push(body));
          setTimeout(() => exchange.reply(200, TYPE, 'refused'), 20);
        },
      });
      const socket = client(port);
      socket.send('POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf');
      expect((await socket.next())?.body).toBe('refused');
      socket.send(' rest');
      await sleep(50);
      expect(bodies).toEqual([]);
    });

    // A thread that passes requests on counts what arrives by itself (forwarder.test.ts).
    it.skipIf(isForwarding)(
      'keeps no more of bodies than there is room for, until they are answered or their clients leave',
      async () => {
        const budget = new BodyBudget();
        const waiting: (() => void)[] = [];
        const { port } = await serve({
          'POST /kept': (exchange) => {
            const share = budget.share('account', 100 * KIB);
            const onBody = (body: Uint8Array | null): void => {
              if (body === null) exchange.reply(400, TYPE, share.isRefused ? 'no room' : 'too large');
              else waiting.push(() => exchange.reply(200, TYPE, `${body.length}`));
            };
            exchange.readBody(MIB, onBody, share);
          },
        });
        const head = (length: number): string =>
          `POST /kept HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
        const halfSent = client(port);
        halfSent.send(head(60 * KIB) + 'x'.repeat(30 * KIB));
        const whole = client(port);
        whole.send(head(40 * KIB) + 'x'.repeat(40 * KIB));
        await until(() => waiting.length === 1 && budget.held > 70 * KIB);
        const third = client(port);
        third.send(head(40 * KIB) + 'x'.repeat(40 * KIB));
        expect((await third.next())?.body).toBe('no room');
        const long = client(port);
        long.send(head(2 * MIB));
        expect((await long.next())?.body).toBe('too large');

        waiting[0]?.();
        expect((await whole.next())?.body).toBe(String(40 * KIB));
        await until(() => budget.held < 40 * KIB);
        halfSent.socket.destroy();
        await until(() => budget.held === 0);
        const last = client(port);
        last.send(head(90 * KIB) + 'x'.repeat(90 * KIB));
        await until(() => waiting.length === 2);
        waiting[1]?.();
        expect((await last.next())?.body).toBe(String(90 * KIB));
        await until(() => budget.held === 0);
      },
    );

    it('reads bodies with a length, with chunks, and in many pieces', async () => {
      const { port } = await serve({
        'POST /echo': (exchange) =>
          exchange.readBody(1000, (body) => exchange.reply(200, TYPE, body ?? 'too large')),
      });
      const socket = client(port);
      socket.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello');
      expect((await socket.next())?.body).toBe('hello');
      socket.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
      expect((await socket.next())?.body).toBe('');
      const chunked = client(port);
      chunked.send(
        'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
      );
      expect((await chunked.next())?.body).toBe('abcde');
      socket.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n');
      for (const letter of 'pieces') {
        await sleep(5);
        socket.send(letter);
      }
      expect((await socket.next())?.body).toBe('pieces');
    });

    it('rejects a body over the limit, declared or not, and closes', async () => {
      const { port } = await serve({
        'POST /echo': (exchange) =>
          exchange.readBody(1000, (body) => exchange.reply(body ? 200 : 400, TYPE, body ?? 'too large')),
      });
      const declared = client(port);
      declared.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n');
      expect((await declared.next())?.body).toBe('too large');
      expect(await declared.ended(8_000)).toBe(true);
      const chunked = client(port);
      chunked.send('POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let sent = 0; sent < 4; sent++) chunked.send(`190\r\n${'z'.repeat(400)}\r\n`);
      expect((await chunked.next())?.body).toBe('too large');
      expect(await chunked.ended(8_000)).toBe(true);
    });

    it('responds before the body is read, and continues on the connection', async () => {
      const { port } = await serve({
        'POST /refused': (exchange) => exchange.reply(401, TYPE, 'no'),
        'GET /a': (exchange) => exchange.reply(200, TYPE, 'a'),
      });
      const socket = client(port);
      socket.send('POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n');
      expect((await socket.next())?.status).toBe(401);
      socket.send(`GET ${get('/a')}`.replace('GET GET', 'bodyGET'));
      expect((await socket.next())?.body).toBe('a');
    });

    // uWebSockets.js closes a connection with a request behind one that waits for its response.
    it.skipIf(isForwarding)('answers pipelined requests in order', async () => {
      const { port } = await serve({
        'GET /n/{n}': (exchange) => exchange.reply(200, TYPE, exchange.params[0] ?? ''),
      });
      const socket = client(port);
      socket.send(Array.from({ length: 50 }, (_, n) => get(`/n/${n}`)).join(''));
      for (let n = 0; n < 50; n++) expect((await socket.next())?.body).toBe(String(n));
    });

    it('reports a disconnected client to pending work, and drops the response', async () => {
      let exchange: Exchange | null = null;
      const { server, port } = await serve({
        'GET /slow': (made) => {
          exchange = made;
        },
      });
      const socket = client(port);
      socket.send(get('/slow'));
      while (!exchange) await sleep(5);
      const held = exchange as Exchange;
      expect(held.isGone).toBe(false);
      expect(server.pending()).toBe(1);
      socket.destroy();
      // Threads that accept connections count in shared memory, and report that a client left by a message that may come later.
      await until(() => server.pending() === 0 && held.isGone);
      held.reply(200, TYPE, 'nobody');
      expect(server.pending()).toBe(0);
      await until(() => server.openSockets() === 0);
    });

    it('reports a disconnected client to all pipelined requests', async () => {
      const made: Exchange[] = [];
      const { server, port } = await serve({ 'GET /slow': (exchange) => void made.push(exchange) });
      const socket = client(port);
      socket.send(get('/slow').repeat(3));
      await until(() => made.length > 0);
      // In the meantime, one server hands over the other requests; the other server does so when the first has its response.
      await sleep(50);
      socket.destroy();
      await until(() => server.pending() === 0 && made.every(({ isGone }) => isGone));
      for (const exchange of made) exchange.reply(200, TYPE, 'nobody');
      await until(() => server.openSockets() === 0);
      expect(server.pending()).toBe(0);
    });

    it('rejects a second response', async () => {
      let second: unknown = null;
      const { port } = await serve({
        'GET /twice': (exchange) => {
          exchange.reply(200, TYPE, 'first');
          try {
            exchange.reply(200, TYPE, 'second');
          } catch (error) {
            second = error;
          }
        },
      });
      const socket = client(port);
      socket.send(get('/twice'));
      expect((await socket.next())?.body).toBe('first');
      expect(second).toBeInstanceOf(Error);
    });

    it('closes the connection of a handler that throws, and continues to serve', async () => {
      const { server, port } = await serve({
        'GET /throws': () => {
          throw new Error('a bug');
        },
        'GET /a': (exchange) => exchange.reply(200, TYPE, 'a'),
      });
      const broken = client(port);
      broken.send(get('/throws'));
      expect(await broken.next()).toBeNull();
      const socket = client(port);
      socket.send(get('/a'));
      expect((await socket.next())?.body).toBe('a');
      await until(() => server.pending() === 0);
    });

    it('sends no body with 304', async () => {
      const { port } = await serve({ 'GET /same': (exchange) => exchange.reply(304, 'ETag: W/"v"', '') });
      const socket = client(port);
      if (!isForwarding) socket.send(get('/same') + get('/same'));
      for (let n = 0; n < 2; n++) {
        if (isForwarding) socket.send(get('/same'));
        const answer = await socket.next();
        expect(answer?.status).toBe(304);
        expect(answer?.headers.get('etag')).toBe('W/"v"');
        expect(answer?.headers.has('content-length')).toBe(false);
      }
    });

    it('answers HEAD as GET, without the body, and continues on the connection', async () => {
      const source = counting(MIB);
      const { server, port } = await serve({
        'GET /a': (exchange) => exchange.reply(200, `${TYPE}\r\nX-Two: 2`, 'é€'),
        'GET /later': (exchange) => {
          setTimeout(() => exchange.reply(200, TYPE, 'x'.repeat(200_000)), 5);
        },
        'GET /large': (exchange) => void exchange.replyBytes(206, BINARY, source),
        'POST /a': (exchange) => exchange.reply(200, TYPE, 'posted'),
      });
      const socket = client(port);
      for (const [path, status, length] of [
        ['/a', 200, '5'],
        ['/later', 200, '200000'],
        ['/large', 206, String(MIB)],
      ] as const) {
        socket.send(`HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
        const head = await socket.next({ isHead: true });
        expect([path, head?.status, head?.headers.get('content-length')]).toEqual([path, status, length]);
        expect(head?.headers.has('keep-alive')).toBe(true);
      }
      await until(() => source.closed() === 1);
      expect(source.handed()).toBe(0);
      socket.send(get('/a'));
      expect((await socket.next())?.body).toBe('é€');
      expect(server.pending()).toBe(0);
    });

    it.skipIf(isForwarding)(
      'keeps an idle connection open for as long as Keep-Alive says, then closes it',
      async () => {
        const { port } = await serve(
          { 'GET /a': (exchange) => exchange.reply(200, TYPE, 'a') },
          { keepAliveSeconds: 2 },
        );
        const idle = await Promise.all(
          // Connections of different phases: a server may count in steps of several seconds.
          Array.from({ length: 5 }, async (_, phase) => {
            await sleep(phase * 800);
            const socket = client(port);
            socket.send(get('/a'));
            const response = await socket.next();
            const since = performance.now();
            expect(await socket.ended(60_000)).toBe(true);
            const seconds = Number(/^timeout=(\d+)$/.exec(response?.headers.get('keep-alive') ?? '')?.[1]);
            return performance.now() - since - seconds * 1_000;
          }),
        );
        // Negative if a connection ended before its time.
        expect(idle.map((ms) => ms > -20)).toEqual(idle.map(() => true));
      },
    );

    it('does not share a port', async () => {
      const { port } = await serve({});
      await expect(serve({}, { port })).rejects.toThrow(/port \d+: another process already uses the port/);
      const foreign = createServer();
      const taken = await new Promise<number>((resolve) => {
        foreign.listen(0, '127.0.0.1', () => resolve((foreign.address() as { port: number }).port));
      });
      const refusal = await serve({}, { port: taken }).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(AssayError);
      expect((refusal as AssayError).code).toBe('LISTEN_FAILED');
      foreign.close();
    });

    it('finishes pending requests when it closes, and accepts no new ones', async () => {
      let exchange: Exchange | null = null;
      const { server, port } = await serve({
        'GET /slow': (made) => {
          exchange = made;
        },
      });
      const busy = client(port);
      const idle = client(port);
      busy.send(get('/slow'));
      while (!exchange) await sleep(5);
      const closed = server.close(5000);
      await sleep(100);
      const late = client(port);
      late.send(get('/slow'));
      expect(await late.next({ timeoutMs: 1000 })).toBeNull();
      (exchange as Exchange).reply(200, TYPE, 'finished');
      const answer = await busy.next();
      expect(answer?.body).toBe('finished');
      expect(answer?.headers.get('connection')).toBe('close');
      await closed;
      expect(await idle.ended(8_000)).toBe(true);
      open.length = 0;
    });

    it('closes in bounded time if a response never comes', async () => {
      const { server, port } = await serve({ 'GET /never': () => {} });
      const socket = client(port);
      socket.send(get('/never'));
      await until(() => server.pending() > 0);
      const started = performance.now();
      await server.close(300);
      expect(performance.now() - started).toBeLessThan(20_000);
      open.length = 0;
    });

    it.skipIf(isForwarding)('disconnects a client that sends its headers too slowly', async () => {
      const { server, port } = await serve({ 'GET /a': (exchange) => exchange.reply(200, TYPE, 'a') });
      const slow = client(port);
      const dripping = setInterval(() => slow.send('X-A: b\r\n'), 1000);
      slow.send('GET /a HTTP/1.1\r\nHost: x\r\n');
      expect(await slow.ended(60_000)).toBe(true);
      clearInterval(dripping);
      await until(() => server.openSockets() === 0);
    });

    it('passes a large body piece by piece, in order and complete', async () => {
      const made: ReturnType<typeof taker>[] = [];
      const { port } = await serve({
        'POST /take': (exchange) => {
          const receiver = taker(exchange, () => sleep(1));
          made.push(receiver);
          exchange.receiveBody(GIB, receiver);
        },
      });
      const body = Buffer.alloc(3 * MIB);
      for (let at = 0; at < body.length; at += 4) body.writeUInt32LE(at, at);
      const socket = client(port);
      socket.send(`POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.send(body);
      expect((await socket.next())?.body).toBe(`whole ${body.length}`);
      expect(made[0]?.taken().equals(body)).toBe(true);
      // The same connection is used again: for an empty body, then for one in chunks, which is the last one.
      socket.send('POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
      expect((await socket.next())?.body).toBe('whole 0');
      socket.send('POST /take HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let at = 0; at < body.length; at += 100_000) {
        const piece = body.subarray(at, at + 100_000);
        socket.send(`${piece.length.toString(16)}\r\n`);
        socket.send(piece);
        socket.send('\r\n');
      }
      socket.send('0\r\n\r\n');
      expect((await socket.next())?.body).toBe(`whole ${body.length}`);
      expect(made[2]?.taken().equals(body)).toBe(true);
      expect(await socket.ended(8_000)).toBe(true);
    });

    it('accepts a body of thousands of small chunks', async () => {
      const { port } = await serve({
        'POST /take': (exchange) => exchange.receiveBody(GIB, taker(exchange)),
      });
      const socket = client(port);
      socket.send('POST /take HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.send('14\r\n0123456789abcdefghij\r\n'.repeat(50_000));
      socket.send('0\r\n\r\n');
      expect((await socket.next())?.body).toBe('whole 1000000');
    });

    it('pauses the client while the receiver works', async () => {
      let open: () => void = () => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const made: ReturnType<typeof taker>[] = [];
      const { port } = await serve({
        'POST /take': (exchange) => {
          const receiver = taker(exchange, () => gate);
          made.push(receiver);
          exchange.receiveBody(GIB, receiver);
        },
      });
      const socket = client(port);
      const body = Buffer.alloc(64 * MIB, 'z');
      socket.send(`POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.send(body);
      await until(() => (made[0]?.length() ?? 0) > 0);
      await sleep(300);
      // At most as much as the sockets of both sides buffer (tcp_rmem and tcp_wmem are some MB), but not the whole body.
      expect(socket.socket.bytesWritten - socket.socket.writableLength).toBeLessThan(32 * MIB);
      expect(made[0]?.length()).toBeLessThan(2 * MIB);
      open();
      expect((await socket.next())?.body).toBe(`whole ${body.length}`);
    });

    it('rejects a streamed body over the limit, declared or not, and closes', async () => {
      const { port } = await serve({
        'POST /limited': (exchange) =>
          exchange.receiveBody(
            MIB,
            taker(exchange, () => sleep(1)),
          ),
      });
      const declared = client(port);
      declared.send(`POST /limited HTTP/1.1\r\nHost: x\r\nContent-Length: ${MIB + 1}\r\n\r\n`);
      const refused = await declared.next();
      expect([refused?.status, refused?.body.trim()]).toEqual([400, 'too large 0']);
      declared.send(Buffer.alloc(MIB + 1));
      expect(await declared.ended(8_000)).toBe(true);
      const chunked = client(port);
      chunked.send('POST /limited HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let sent = 0; sent <= 16; sent++) {
        chunked.send(`10000\r\n${'z'.repeat(0x10000)}\r\n`);
        await sleep(2);
      }
      expect((await chunked.next())?.body).toMatch(/^too large/);
      chunked.send('0\r\n\r\n');
      expect(await chunked.ended(8_000)).toBe(true);
    });

    it('responds in the middle of a body, and closes', async () => {
      const made: ReturnType<typeof taker>[] = [];
      const { server, port } = await serve({
        'POST /take': (exchange) => {
          const receiver = taker(exchange, async () => {
            await sleep(5);
            exchange.reply(400, TYPE, 'line 7 is wrong');
          });
          made.push(receiver);
          exchange.receiveBody(GIB, receiver);
        },
      });
      const socket = client(port);
      socket.send('POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n');
      socket.send(Buffer.alloc(200_000, 'z'));
      const answer = await socket.next();
      expect([answer?.status, answer?.body.trim()]).toEqual([400, 'line 7 is wrong']);
      expect(answer?.headers.get('connection')).toBe('close');
      // If a client keeps sending, it is not reset before it has read the reason.
      socket.send(Buffer.alloc(19_800_000, 'z'));
      expect(await socket.ended(8_000)).toBe(true);
      await until(() => server.pending() === 0);
      expect(made[0]?.ending).toBeNull();
      // If a client neither sends nor closes, it is disconnected after a while.
      const silent = client(port);
      silent.send('POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\nbegun');
      expect((await silent.next())?.status).toBe(400);
      expect(silent.closed).toBe(false);
      expect(await silent.ended(60_000)).toBe(true);
    });

    it('rejects a client that is silent or too slow, with an error', async () => {
      const made: ReturnType<typeof taker>[] = [];
      const uploads = { silenceMs: 600, graceMs: 600, bytesPerSecondMin: 1_000 };
      const { server, port } = await serve(
        {
          'POST /take': (exchange) => {
            const receiver = taker(exchange);
            made.push(receiver);
            exchange.receiveBody(GIB, receiver);
          },
        },
        { uploads },
      );
      const head = 'POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n';
      const [silent, trickling, steady] = [client(port), client(port), client(port)];
      for (const socket of [silent, trickling, steady]) socket.send(head);
      const dripping = setInterval(() => trickling.send('x'), 50);
      let sent = 0;
      const flowing = setInterval(() => {
        if (sent < 4_000) steady.send('y'.repeat(200));
        sent += 200;
      }, 100);
      expect((await silent.next())?.body.trim()).toBe('silent 0');
      const slow = await trickling.next({ timeoutMs: 20_000 });
      expect([slow?.status, slow?.headers.get('connection')]).toEqual([400, 'close']);
      expect(slow?.body).toMatch(/^too slow [1-9]/);
      expect((await steady.next({ timeoutMs: 20_000 }))?.body).toBe('whole 4000');
      // Slow clients are disconnected, however long they stay.
      expect(await trickling.ended(60_000)).toBe(true);
      expect(await silent.ended(60_000)).toBe(true);
      clearInterval(dripping);
      clearInterval(flowing);
      await until(() => server.pending() === 0);
      expect(made.map(({ ending }) => ending).sort()).toEqual(['silent', 'too slow', 'whole']);
    });

    it('reports a client that disconnects in the middle of a body to the receiver', async () => {
      const made: ReturnType<typeof taker>[] = [];
      const { server, port } = await serve({
        'POST /take': (exchange) => {
          const receiver = taker(exchange, () => sleep(20));
          made.push(receiver);
          exchange.receiveBody(GIB, receiver);
        },
      });
      for (const [n, leave] of [
        (socket: RawClient) => socket.socket.resetAndDestroy(),
        (socket: RawClient) => socket.socket.end(),
        (socket: RawClient) => socket.destroy(),
      ].entries()) {
        const socket = client(port);
        socket.send('POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nbegun');
        await until(() => (made[n]?.length() ?? 0) > 0);
        leave(socket);
        await until(() => made[n]?.ending !== null);
        expect(made[n]?.ending).toBe('gone');
      }
      await until(() => server.pending() === 0 && server.openSockets() === 0);
    });

    it('answers Expect: 100-continue', async () => {
      const { port } = await serve({
        'POST /take': (exchange) => exchange.receiveBody(GIB, taker(exchange)),
      });
      const socket = client(port);
      socket.send('POST /take HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
      expect((await socket.next())?.status).toBe(100);
      socket.send('hello');
      expect((await socket.next())?.body).toBe('whole 5');
    });

    it('responds with bytes that are read at the pace of the client', async () => {
      const length = 20 * MIB + 4;
      const source = counting(length);
      const small = counting(8);
      const { server, port } = await serve({
        'GET /large': (exchange) => void exchange.replyBytes(206, `${BINARY}\r\nX-Two: 2`, source),
        'GET /small': (exchange) => {
          setTimeout(() => void exchange.replyBytes(200, BINARY, small), 5);
        },
      });
      const reader = new CountingReader(port);
      reader.socket.write(get('/large'));
      await until(() => reader.bytes >= length);
      expect(reader.head).toMatch(/^HTTP\/1.1 206 Partial Content\r\n/);
      expect(reader.head.toLowerCase()).toContain(`content-length: ${length}\r\n`);
      expect(reader.head).toContain('X-Two: 2\r\n');
      expect([reader.bytes, reader.isRight, reader.isClosed]).toEqual([length, true, false]);
      await until(() => source.closed() === 1 && server.pending() === 0);
      reader.head = '';
      reader.bytes = 0;
      reader.socket.write(get('/small'));
      await until(() => reader.bytes >= 8);
      expect(reader.isRight).toBe(true);
      reader.socket.destroy();
    });

    it('reads no further than a slow client, and ends when it continues', async () => {
      const length = 64 * MIB;
      const source = counting(length);
      const { server, port } = await serve({
        'GET /large': (exchange) => void exchange.replyBytes(200, BINARY, source),
      });
      const reader = new CountingReader(port);
      reader.socket.pause();
      reader.socket.write(get('/large'));
      await until(() => source.handed() > 0);
      await sleep(300);
      expect(source.handed()).toBeLessThan(32 * MIB);
      expect(server.pending()).toBe(1);
      for (let n = 0; n < 20; n++) {
        reader.socket.resume();
        await sleep(2);
        reader.socket.pause();
        await sleep(5);
      }
      reader.socket.resume();
      await until(() => reader.bytes >= length);
      expect(reader.isRight).toBe(true);
      await until(() => source.closed() === 1);
      reader.socket.destroy();
    });

    it('closes the source if the client disconnects', async () => {
      const source = counting(64 * MIB);
      const { server, port } = await serve({
        'GET /large': (exchange) => void exchange.replyBytes(200, BINARY, source),
      });
      const reader = new CountingReader(port);
      reader.socket.pause();
      reader.socket.write(get('/large'));
      await until(() => source.handed() > 0);
      await sleep(100);
      reader.socket.resetAndDestroy();
      await until(() => source.closed() === 1 && server.pending() === 0);
      expect(source.handed()).toBeLessThan(64 * MIB);
    });

    it('ends a response early if its source fails, and reports the error', async () => {
      const source = counting(MIB);
      let failure: unknown = null;
      const failing: ByteSource = {
        length: 2 * MIB,
        next: () => source.next(),
        close: () => source.close(),
      };
      const { server, port } = await serve({
        'GET /broken': (exchange) => {
          exchange.replyBytes(200, BINARY, failing).catch((error: unknown) => {
            failure = error;
          });
        },
      });
      const reader = new CountingReader(port);
      reader.socket.write(get('/broken'));
      await until(() => reader.isClosed);
      expect(reader.bytes).toBeLessThan(2 * MIB);
      expect(failure).toBeInstanceOf(Error);
      expect(source.closed()).toBe(1);
      await until(() => server.pending() === 0);
    });

    it.skipIf(!LONG)(
      'receives a gigabyte and sends five in bounded memory (ASSAY_TEST_LONG=1)',
      async () => {
        const { port } = await serve({
          'POST /take': (exchange) => exchange.receiveBody(GIB, taker(exchange)),
          'GET /large': (exchange) => void exchange.replyBytes(200, BINARY, counting(5 * GIB)),
        });
        const before = process.memoryUsage.rss();
        let most = before;
        const sampling = setInterval(() => {
          most = Math.max(most, process.memoryUsage.rss());
        }, 20);
        const socket = client(port);
        socket.send(`POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: ${GIB}\r\n\r\n`);
        const piece = Buffer.alloc(MIB, 'z');
        for (let sent = 0; sent < GIB; sent += MIB)
          if (!socket.socket.write(piece)) await once(socket.socket, 'drain');
        expect((await socket.next())?.body).toBe(`whole ${GIB}`);
        const reader = new CountingReader(port);
        reader.socket.write(get('/large'));
        while (reader.bytes < 5 * GIB && !reader.isClosed) await sleep(20);
        clearInterval(sampling);
        expect([reader.bytes, reader.isRight]).toEqual([5 * GIB, true]);
        reader.socket.destroy();
        // Both ends are in this process, and the time of garbage collection is not fixed.
        expect(most - before).toBeLessThan(256 * MIB);
      },
      300_000,
    );

    it.skipIf(!LONG)(
      'waits for senders and receivers that pause, and disconnects a silent sender (ASSAY_TEST_LONG=1)',
      async () => {
        const made: ReturnType<typeof taker>[] = [];
        const { port } = await serve({
          'POST /take': (exchange) => {
            // The first write is slower than any time-out of a server; the client is not at fault.
            const receiver = taker(exchange, () => sleep(made.length === 1 ? 25_000 : 0));
            made.push(receiver);
            exchange.receiveBody(GIB, receiver);
          },
        });
        const head = 'POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
        const [worked, slow, silent] = [client(port), client(port), client(port)];
        worked.send(`${head}01234`);
        await until(() => made.length === 1);
        slow.send(`${head}01234`);
        silent.send(`${head}01234`);
        await sleep(28_000);
        worked.send('56789');
        slow.send('56789');
        expect((await worked.next({ timeoutMs: 30_000 }))?.body).toBe('whole 10');
        expect((await slow.next())?.body).toBe('whole 10');
        expect((await silent.next({ timeoutMs: 60_000 }))?.body.trim()).toBe('silent 5');
        expect(await silent.ended(60_000)).toBe(true);
      },
      150_000,
    );

    it('rejects floods of headers, and continues to serve', async () => {
      const { port } = await serve({ 'GET /a': (exchange) => exchange.reply(200, TYPE, 'a') });
      const flood = client(port);
      flood.send(get('/a', `X-Big: ${'b'.repeat(2_000_000)}\r\n`));
      const refused = await flood.next({ timeoutMs: 3000 });
      expect(refused === null || refused.status >= 400).toBe(true);
      const many = client(port);
      many.send(get('/a', 'X-Many: b\r\n'.repeat(2000)));
      const refusedMany = await many.next({ timeoutMs: 3000 });
      expect(refusedMany === null || refusedMany.status >= 400).toBe(true);
      const socket = client(port);
      socket.send(get('/a'));
      expect((await socket.next())?.body).toBe('a');
    });

    it('closes connections beyond its maximum, and accepts again when others have ended', async () => {
      const { server, port } = await serve(
        { 'GET /a': (exchange) => exchange.reply(200, TYPE, 'hello') },
        { connectionsMax: 8 },
      );
      const asks = () => {
        const one = client(port);
        // A refused connection may end in an error.
        one.send(get('/a'));
        return one;
      };
      const held = Array.from({ length: 60 }, asks);
      const answered = () => held.filter(({ received }) => received.includes('hello')).length;
      await until(() => answered() + server.refusedSockets() === held.length);
      // Acceptors have a half each.
      expect(answered()).toBeGreaterThanOrEqual(4);
      expect(answered()).toBeLessThanOrEqual(8);
      expect(server.openSockets()).toBe(answered());
      for (const { socket } of held) socket.destroy();
      await until(() => server.openSockets() === 0);
      const later = asks();
      await until(() => later.received.includes('hello'));
      expect(server.refusedSockets()).toBe(held.length - answered());
    });

    it('uses a renewed certificate for new connections, and keeps the open ones and the earlier pair', async () => {
      const folder = tempFolder();
      const tls = { keyFile: join(folder.path, 'key.pem'), certFile: join(folder.path, 'cert.pem') };
      const use = (key: string, cert: string): void => {
        copyFileSync(join(projectRoot, 'test', 'http', 'tls', key), tls.keyFile);
        copyFileSync(join(projectRoot, 'test', 'http', 'tls', cert), tls.certFile);
      };
      use('key.pem', 'cert.pem');
      const { server, port } = await serve(
        { 'GET /a': (exchange) => exchange.reply(200, TYPE, 'secret') },
        { tls },
      );
      const connected = async (servername = 'localhost') => {
        const socket = connectTls({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        let text = '';
        socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        return {
          fingerprint: socket.getPeerCertificate().fingerprint256,
          socket,
          async ask() {
            text = '';
            socket.write(get('/a'));
            await until(() => text.endsWith('secret'));
          },
        };
      };
      const sockets: { readonly socket: Socket }[] = [];
      try {
        const before = await connected();
        sockets.push(before);
        await before.ask();
        use('renewed-key.pem', 'renewed-cert.pem');
        await server.reloadCertificate();
        const { fingerprint256 } = new X509Certificate(readFileSync(tls.certFile));
        expect(before.fingerprint).not.toBe(fingerprint256);
        await until(async () => {
          const now = await connected();
          now.socket.destroy();
          return now.fingerprint === fingerprint256;
        });
        // Clients that connect to an address name no server.
        for (const name of ['localhost', '']) {
          const after = await connected(name);
          sockets.push(after);
          expect(after.fingerprint).toBe(fingerprint256);
          await after.ask();
        }
        await before.ask();
        expect(server.openSockets()).toBeGreaterThanOrEqual(3);
        use('key.pem', 'renewed-cert.pem');
        // With several threads, each of them logs the error.
        await server
          .reloadCertificate()
          .catch((error: AssayError) => expect(error.code).toBe('INVALID_CONFIG'));
        await sleep(50);
        const last = await connected();
        sockets.push(last);
        expect(last.fingerprint).toBe(fingerprint256);
        await Promise.all([before.ask(), last.ask()]);
      } finally {
        for (const { socket } of sockets) socket.destroy();
        folder.remove();
      }
      await until(() => server.openSockets() === 0);
    });

    it('serves TLS from a key and a certificate', async () => {
      const tls = {
        keyFile: join(projectRoot, 'test', 'http', 'tls', 'key.pem'),
        certFile: join(projectRoot, 'test', 'http', 'tls', 'cert.pem'),
      };
      const { port } = await serve(
        {
          'GET /a': (exchange) => exchange.reply(200, TYPE, 'secret'),
          'GET /large': (exchange) => void exchange.replyBytes(200, BINARY, counting(5 * MIB)),
          'POST /take': (exchange) =>
            exchange.receiveBody(
              GIB,
              taker(exchange, () => sleep(1)),
            ),
        },
        { tls },
      );
      const body = await new Promise<string>((resolve, reject) => {
        const clientRequest = tlsRequest(
          { host: '127.0.0.1', port, path: '/a', ca: readFileSync(tls.certFile), servername: 'localhost' },
          (response) => {
            response.setEncoding('utf8');
            let text = '';
            response.on('data', (chunk: string) => {
              text += chunk;
            });
            response.on('end', () => resolve(text));
          },
        );
        clientRequest.on('error', reject);
        clientRequest.end();
      });
      expect(body).toBe('secret');
      const sent = Buffer.alloc(3 * MIB, 'z');
      const echoed = await new Promise<string>((resolve, reject) => {
        const clientRequest = tlsRequest(
          {
            host: '127.0.0.1',
            port,
            path: '/take',
            method: 'POST',
            ca: readFileSync(tls.certFile),
            servername: 'localhost',
          },
          (response) => {
            response.setEncoding('utf8');
            response.on('data', (text: string) => resolve(text));
          },
        );
        clientRequest.on('error', reject);
        clientRequest.end(sent);
      });
      expect(echoed).toBe(`whole ${sent.length}`);
      const fetched = await new Promise<number>((resolve, reject) => {
        const clientRequest = tlsRequest(
          {
            host: '127.0.0.1',
            port,
            path: '/large',
            ca: readFileSync(tls.certFile),
            servername: 'localhost',
          },
          (response) => {
            let bytes = 0;
            response.on('data', (chunk: Buffer) => {
              bytes += chunk.length;
            });
            response.on('end', () => resolve(bytes));
          },
        );
        clientRequest.on('error', reject);
        clientRequest.end();
      });
      expect(fetched).toBe(5 * MIB);
      /** Returns the cipher of a connection; null if the server accepts none of those offered. */
      const cipherOf = (options: ConnectionOptions): Promise<string | null> =>
        new Promise((resolve) => {
          const ca = readFileSync(tls.certFile);
          const socket = connectTls(
            { host: '127.0.0.1', port, ca, servername: 'localhost', ...options },
            () => {
              resolve(socket.getCipher().name);
              socket.destroy();
            },
          );
          socket.on('error', () => resolve(null));
        });
      const older = 'AES128-SHA:AES256-SHA:AES128-GCM-SHA256:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA';
      expect(await cipherOf({ ciphers: older, maxVersion: 'TLSv1.2' })).toBeNull();
      const forward = 'ECDHE-ECDSA-AES128-GCM-SHA256';
      expect(await cipherOf({ ciphers: `${older}:${forward}`, maxVersion: 'TLSv1.2' })).toBe(forward);
      expect(await cipherOf({ minVersion: 'TLSv1.3' })).toMatch(/^TLS_/);
      const wrong = { keyFile: tls.certFile, certFile: tls.keyFile };
      await expect(serve({}, { tls: wrong })).rejects.toThrow(/TLS: /);
    });
  });
}
