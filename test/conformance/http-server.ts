/** What every HTTP server behind src/http/server.ts does, whatever it is made of. */
import { readFileSync } from 'node:fs';
import { request as tlsRequest } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { createRouter } from '../../src/http/router.ts';
import type { CreateServer, Exchange, Handler, HttpServer } from '../../src/http/server.ts';
import { RawClient } from '../http/raw-client.ts';

const TYPE = 'Content-Type: text/plain';

export function describeHttpServer(name: string, createHttpServer: () => Promise<CreateServer>): void {
  describe(`HTTP server on ${name}`, () => {
    const open: HttpServer[] = [];
    const clients: RawClient[] = [];
    afterEach(async () => {
      for (const client of clients.splice(0)) client.destroy();
      for (const server of open.splice(0)) await server.close(1000);
    });

    async function serve(
      handlers: Readonly<Record<string, Handler>>,
      options: { port?: number; tls?: { keyFile: string; certFile: string } } = {},
    ): Promise<{ server: HttpServer; port: number }> {
      const router = createRouter<Handler>(
        Object.entries(handlers).map(([place, value]) => {
          const [method = '', pattern = ''] = place.split(' ');
          return { method, pattern, value };
        }),
      );
      const create = await createHttpServer();
      const server = create(
        { host: '127.0.0.1', port: options.port ?? 0, tls: options.tls ?? null },
        { router, fallback: (exchange) => exchange.reply(404, TYPE, 'fallback'), log: silentLogger },
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

    it('hands over method, path, parameters, query, headers and the remote address', async () => {
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

    it('sends every path and method without a route to the fallback', async () => {
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
      socket.send('HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n');
      const head = await socket.next({ isHead: true });
      expect(head?.status).toBe(404);
      socket.send(get('/a'));
      expect((await socket.next())?.body).toBe('a');
    });

    it('answers later, from a promise, with every byte of a large body', async () => {
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
      expect(server.pending()).toBe(0);
    });

    it('holds a large answer back from a client that does not read it, and ends it when it does', async () => {
      const large = Buffer.alloc(20_000_000, 'y');
      const { server, port } = await serve({ 'GET /large': (exchange) => exchange.reply(200, TYPE, large) });
      const socket = client(port);
      socket.socket.pause();
      socket.send(get('/large'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(server.pending()).toBe(1);
      socket.socket.resume();
      const answer = await socket.next();
      expect(answer?.body.length).toBe(large.length);
    });

    it('reads bodies of a declared length, in chunks, and in many pieces', async () => {
      const { port } = await serve({
        'POST /echo': (exchange) =>
          exchange.readBody(1000, (body) => exchange.reply(200, TYPE, body ?? 'too large')),
      });
      const socket = client(port);
      socket.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello');
      expect((await socket.next())?.body).toBe('hello');
      socket.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
      expect((await socket.next())?.body).toBe('');
      socket.send(
        'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
      );
      expect((await socket.next())?.body).toBe('abcde');
      socket.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n');
      for (const letter of 'pieces') {
        await new Promise((resolve) => setTimeout(resolve, 5));
        socket.send(letter);
      }
      expect((await socket.next())?.body).toBe('pieces');
    });

    it('refuses a body over the bound, declared or not, and closes', async () => {
      const { port } = await serve({
        'POST /echo': (exchange) =>
          exchange.readBody(1000, (body) => exchange.reply(body ? 200 : 400, TYPE, body ?? 'too large')),
      });
      const declared = client(port);
      declared.send('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n');
      expect((await declared.next())?.body).toBe('too large');
      expect(await declared.ended(3000)).toBe(true);
      const chunked = client(port);
      chunked.send('POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let sent = 0; sent < 4; sent++) chunked.send(`190\r\n${'z'.repeat(400)}\r\n`);
      expect((await chunked.next())?.body).toBe('too large');
      expect(await chunked.ended(3000)).toBe(true);
    });

    it('answers before the body is read, and the connection goes on behind it', async () => {
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

    it('answers pipelined requests in their order', async () => {
      const { port } = await serve({
        'GET /n/{n}': (exchange) => exchange.reply(200, TYPE, exchange.params[0] ?? ''),
      });
      const socket = client(port);
      socket.send(Array.from({ length: 50 }, (_, n) => get(`/n/${n}`)).join(''));
      for (let n = 0; n < 50; n++) expect((await socket.next())?.body).toBe(String(n));
    });

    it('tells work in hand that its client went away, and drops its answer', async () => {
      let exchange: Exchange | null = null;
      const { server, port } = await serve({
        'GET /slow': (made) => {
          exchange = made;
        },
      });
      const socket = client(port);
      socket.send(get('/slow'));
      while (!exchange) await new Promise((resolve) => setTimeout(resolve, 5));
      const held = exchange as Exchange;
      expect(held.isGone).toBe(false);
      expect(server.pending()).toBe(1);
      socket.destroy();
      while (server.pending() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(held.isGone).toBe(true);
      held.reply(200, TYPE, 'nobody');
      expect(server.pending()).toBe(0);
      while (server.openSockets() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    });

    it('is answered exactly once', async () => {
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

    it('closes the connection of a handler that throws, and lives on', async () => {
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
      expect(server.pending()).toBe(0);
    });

    it('sends no body with 304', async () => {
      const { port } = await serve({ 'GET /same': (exchange) => exchange.reply(304, 'ETag: W/"v"', '') });
      const socket = client(port);
      socket.send(get('/same') + get('/same'));
      for (let n = 0; n < 2; n++) {
        const answer = await socket.next();
        expect(answer?.status).toBe(304);
        expect(answer?.headers.get('etag')).toBe('W/"v"');
        expect(answer?.headers.has('content-length')).toBe(false);
      }
    });

    it('does not share a port, and says that it is taken', async () => {
      const { port } = await serve({});
      await expect(serve({}, { port })).rejects.toThrow(/port \d+: the port is already taken/);
      const foreign = createServer();
      const taken = await new Promise<number>((resolve) => {
        foreign.listen(0, '127.0.0.1', () => resolve((foreign.address() as { port: number }).port));
      });
      const refusal = await serve({}, { port: taken }).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(AssayError);
      expect((refusal as AssayError).code).toBe('LISTEN_FAILED');
      foreign.close();
    });

    it('finishes what it took when it closes, and takes nothing new', async () => {
      let exchange: Exchange | null = null;
      const { server, port } = await serve({
        'GET /slow': (made) => {
          exchange = made;
        },
      });
      const busy = client(port);
      const idle = client(port);
      busy.send(get('/slow'));
      while (!exchange) await new Promise((resolve) => setTimeout(resolve, 5));
      const closed = server.close(5000);
      await new Promise((resolve) => setTimeout(resolve, 100));
      const late = client(port);
      late.send(get('/slow'));
      expect(await late.next({ timeoutMs: 1000 })).toBeNull();
      (exchange as Exchange).reply(200, TYPE, 'finished');
      const answer = await busy.next();
      expect(answer?.body).toBe('finished');
      expect(answer?.headers.get('connection')).toBe('close');
      await closed;
      expect(await idle.ended(2000)).toBe(true);
      open.length = 0;
    });

    it('closes in bounded time though an answer never comes', async () => {
      const { server, port } = await serve({ 'GET /never': () => {} });
      const socket = client(port);
      socket.send(get('/never'));
      while (server.pending() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      const started = performance.now();
      await server.close(300);
      expect(performance.now() - started).toBeLessThan(2000);
      open.length = 0;
    });

    it('cuts off a client that sends its headers too slowly', async () => {
      const { server, port } = await serve({ 'GET /a': (exchange) => exchange.reply(200, TYPE, 'a') });
      const slow = client(port);
      const dripping = setInterval(() => slow.send('X-A: b\r\n'), 1000);
      slow.send('GET /a HTTP/1.1\r\nHost: x\r\n');
      expect(await slow.ended(25_000)).toBe(true);
      clearInterval(dripping);
      while (server.openSockets() > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    });

    it('refuses floods of headers, and lives on', async () => {
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

    it('serves TLS from a key and a certificate', async () => {
      const tls = {
        keyFile: join(projectRoot, 'test', 'http', 'tls', 'key.pem'),
        certFile: join(projectRoot, 'test', 'http', 'tls', 'cert.pem'),
      };
      const { port } = await serve({ 'GET /a': (exchange) => exchange.reply(200, TYPE, 'secret') }, { tls });
      const body = await new Promise<string>((resolve, reject) => {
        const asked = tlsRequest(
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
        asked.on('error', reject);
        asked.end();
      });
      expect(body).toBe('secret');
      const wrong = { keyFile: tls.certFile, certFile: tls.keyFile };
      await expect(serve({}, { tls: wrong })).rejects.toThrow(/TLS: /);
    });
  });
}
