/**
 * Raw requests, byte by byte, that every HTTP server of src/http/server/port.ts serves or refuses alike. If the native parser of
 * uWebSockets.js decides otherwise, the request has its outcome there; docs/guides/load-balancers.md lists these.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import type { CreateServer, HttpServer } from '../../src/http/server/port.ts';
import { createRouter } from '../../src/http/server/router.ts';
import { RawClient } from '../http/raw-client.ts';

/**
 * `served`: the handler gets the whole request, and the connection stays open. `last`: the same, and the response is the last one on the
 * connection. `refused`: no handler gets it, and the last response is a 400 with the text of `refuse`. `closed`: no handler gets it; the
 * parser sends its own refusal or none, and the connection ends when the client has sent all.
 */
type Outcome = 'served' | 'last' | 'refused' | 'closed';

interface RawRequest {
  readonly title: string;
  readonly head: readonly string[];
  readonly body?: string;
  readonly outcome: Outcome;
  /** Outcome with uWebSockets.js, if it differs. */
  readonly uws?: Outcome;
  /** The body that the handler gets. Default: empty. */
  readonly received?: string;
}

const TYPE = 'Content-Type: text/plain';
const KIB = 1024;
const GET = ['GET /x HTTP/1.1', 'Host: x'];
const POST = ['POST /x HTTP/1.1', 'Host: x'];
const CHUNKED = [...POST, 'Transfer-Encoding: chunked'];
const FIVE = '5\r\nhello\r\n0\r\n\r\n';
const NEXT = 'GET /next HTTP/1.1\r\nHost: x\r\n\r\n';
const fields = (count: number): string[] => Array.from({ length: count }, (_, at) => `X-${at}: a`);
const header = (bytes: number): string => `X-A: ${'a'.repeat(bytes - 'X-A: \r\n'.length)}`;
const HOST_BYTES = 'Host: x\r\n'.length;

const SERVED: readonly RawRequest[] = [
  { title: 'GET', head: GET, outcome: 'served' },
  {
    title: 'GET with a body',
    head: [...GET, 'Content-Length: 2'],
    body: 'hi',
    received: 'hi',
    outcome: 'served',
  },
  { title: 'POST without a length', head: POST, outcome: 'served' },
  { title: 'a host with a port', head: ['GET /x HTTP/1.1', 'Host: a.example:8080'], outcome: 'served' },
  { title: 'an IPv6 host', head: ['GET /x HTTP/1.1', 'Host: [::1]:8080'], outcome: 'served' },
  { title: 'an empty host', head: ['GET /x HTTP/1.1', 'Host: '], outcome: 'served' },
  { title: '16 KB of headers', head: [...GET, header(16 * KIB - HOST_BYTES)], outcome: 'served' },
  {
    title: '64 header fields',
    head: [...GET, ...fields(HTTP_LIMITS.headerFieldsMax - 1)],
    outcome: 'served',
  },
  { title: 'Connection: close', head: [...GET, 'Connection: close'], outcome: 'last' },
  { title: 'Connection: Close, TE', head: [...GET, 'Connection: Close, TE'], outcome: 'last' },
  {
    title: 'POST with a length',
    head: [...POST, 'Content-Length: 5'],
    body: 'hello',
    received: 'hello',
    outcome: 'served',
  },
  { title: 'a body in chunks', head: CHUNKED, body: FIVE, received: 'hello', outcome: 'last' },
  {
    title: 'TRANSFER-ENCODING: Chunked',
    head: [...POST, 'TRANSFER-ENCODING: Chunked'],
    body: FIVE,
    received: 'hello',
    outcome: 'last',
  },
  {
    title: 'an expectation that is not known',
    head: [...POST, 'Expect: tea', 'Content-Length: 2'],
    body: 'hi',
    received: 'hi',
    outcome: 'served',
  },
];

const notServed = (
  title: string,
  head: readonly string[],
  uws: Outcome = 'refused',
  body = '',
): RawRequest => ({
  title,
  head,
  body,
  outcome: 'refused',
  uws,
});

const REFUSED: readonly RawRequest[] = [
  notServed('two hosts', [...GET, 'Host: y']),
  notServed('the same host twice', [...GET, 'Host: x']),
  notServed('a list of hosts', ['GET /x HTTP/1.1', 'Host: x, y']),
  notServed('a host with a user', ['GET /x HTTP/1.1', 'Host: x@y']),
  notServed('a host with a path', ['GET /x HTTP/1.1', 'Host: x/y']),
  notServed('no host', ['GET /x HTTP/1.1', 'X-A: b'], 'closed'),
  notServed('an empty length', [...POST, 'Content-Length: ']),
  notServed('an empty length, then 5', [...POST, 'Content-Length: ', 'Content-Length: 5'], 'closed', 'hello'),
  notServed('length 3, then 5', [...POST, 'Content-Length: 3', 'Content-Length: 5'], 'closed', 'hello'),
  notServed('length 5, then 3', [...POST, 'Content-Length: 5', 'Content-Length: 3'], 'refused', 'hello'),
  notServed('the same length twice', [...POST, 'Content-Length: 5', 'Content-Length: 5'], 'refused', 'hello'),
  ...['+5', '5, 5', '0x5', '5x', '-5', '5.0', '9'.repeat(24)].map((length) =>
    notServed(`length ${length}`, [...POST, `Content-Length: ${length}`], 'closed', 'hello'),
  ),
  notServed('a length of 16 digits', [...POST, 'Content-Length: 0000000000000005'], 'refused', 'hello'),
  notServed('a length and chunks', [...CHUNKED, 'Content-Length: 5'], 'closed', FIVE),
  ...['chunked, identity', 'identity, chunked', 'identity', 'gzip, chunked', 'chunked;a=b', 'xchunked'].map(
    (coding) =>
      notServed(`Transfer-Encoding: ${coding}`, [...POST, `Transfer-Encoding: ${coding}`], 'refused', FIVE),
  ),
  notServed('an empty Transfer-Encoding', [...POST, 'Transfer-Encoding: '], 'closed', FIVE),
  notServed('Transfer-Encoding twice', [...CHUNKED, 'Transfer-Encoding: chunked'], 'refused', FIVE),
  notServed('GET with a body in chunks', [...GET, 'Transfer-Encoding: chunked'], 'refused', FIVE),
  notServed('a space before a colon', [...POST, 'Transfer-Encoding : chunked'], 'closed', FIVE),
  notServed('a space in a name', [...GET, 'X A: b'], 'closed'),
  notServed('a folded line', [...POST, 'Transfer-Encoding:', ' chunked'], 'closed', FIVE),
  notServed('a field without a colon', [...GET, 'X-A'], 'closed'),
  notServed('a NUL in a value', [...GET, 'X-A: b\0c'], 'closed'),
  notServed('a CR in a value', [...GET, 'X-A: b\rX-B: c'], 'closed'),
  notServed('an LF between two fields', [...GET, 'X-A: b\nX-B: c'], 'closed'),
  notServed('HTTP/1.2', ['GET /x HTTP/1.2', 'Host: x'], 'closed'),
  notServed('HTTP/2.0', ['GET /x HTTP/2.0', 'Host: x'], 'closed'),
  notServed('no version', ['GET /x', 'Host: x'], 'closed'),
  notServed('a control character in the target', ['GET /x\x01 HTTP/1.1', 'Host: x'], 'closed'),
  notServed('more than 16 KB of headers', [...GET, header(16 * KIB - HOST_BYTES + 1)]),
  notServed('60 KB of headers', [...GET, header(60 * KIB)]),
  notServed('65 header fields', [...GET, ...fields(HTTP_LIMITS.headerFieldsMax)]),
  notServed('98 header fields', [...GET, ...fields(97)]),
  notServed('99 header fields', [...GET, ...fields(98)], 'closed'),
  notServed('3,000 header fields', [...GET, ...Array.from({ length: 3_000 }, () => 'A:b')], 'closed'),
  notServed('700 KB of headers', [...GET, header(700 * KIB)], 'closed'),
];

/** Chunks that only node:http refuses. uWebSockets.js takes them, and reads nothing after them. */
const LOOSE_CHUNKS: readonly (readonly [title: string, body: string, received: string])[] = [
  ['chunks with bare LF', '5\nhello\n0\n\n', 'hello'],
  ['no line break after a chunk', '5\r\nhelloXX0\r\n\r\n', 'hello'],
];

/** Requests that the parser of uWebSockets.js serves and node:http does not, or the other way round. */
const DIFFERENT: readonly RawRequest[] = [
  { title: 'HTTP/1.0', head: ['GET /x HTTP/1.0', 'Host: x'], outcome: 'last', uws: 'closed' },
  { title: 'HTTP/1.0 without a host', head: ['GET /x HTTP/1.0'], outcome: 'last', uws: 'closed' },
  {
    title: 'a chunk extension',
    head: CHUNKED,
    body: '5;a=b\r\nhello\r\n0\r\n\r\n',
    received: 'hello',
    outcome: 'last',
    uws: 'closed',
  },
  {
    title: 'a trailer',
    head: CHUNKED,
    body: '5\r\nhello\r\n0\r\nX-A: b\r\n\r\n',
    received: 'hello',
    outcome: 'last',
    uws: 'closed',
  },
  {
    title: 'a byte above 127 after a length',
    head: [...POST, 'Content-Length: 5\xff'],
    body: 'hello',
    received: 'hello',
    outcome: 'refused',
    uws: 'served',
  },
  {
    title: 'a method in lower case',
    head: ['get /x HTTP/1.1', 'Host: x'],
    outcome: 'refused',
    uws: 'served',
  },
  { title: 'a field without a name', head: [...GET, ': b'], outcome: 'refused', uws: 'served' },
  { title: 'an empty line before the request', head: ['', ...GET], outcome: 'served', uws: 'closed' },
];

/** Describes the raw requests for one server. */
export function describeRawRequests(name: string, create: CreateServer): void {
  describe(`raw requests on ${name}`, () => {
    const clients: RawClient[] = [];
    let server: HttpServer | null = null;
    afterEach(async () => {
      for (const client of clients.splice(0)) client.destroy();
      await server?.close(1_000);
    });

    /** Starts a server that counts the requests of its handlers, and connects to it. */
    async function connected(): Promise<{
      client: RawClient;
      seen: string[];
      backend: HttpServer['backend'];
    }> {
      const seen: string[] = [];
      const router = createRouter(
        ['GET /x', 'POST /x', 'POST /large', 'GET /next'].map((place) => {
          const [method = '', pattern = ''] = place.split(' ');
          return {
            method,
            pattern,
            value: (exchange: Parameters<Parameters<typeof create>[1]['fallback']>[0]) => {
              exchange.readBody(pattern === '/large' ? HTTP_LIMITS.bodyBytesMax : KIB, (body) => {
                seen.push(pattern);
                exchange.reply(200, TYPE, body ?? 'too large');
              });
            },
          };
        }),
      );
      server = create(
        { host: '127.0.0.1', port: 0, tls: null },
        {
          router,
          fallback: (exchange) => {
            seen.push('fallback');
            exchange.reply(404, TYPE, 'fallback');
          },
          refuse: ({ problem }) => ({ status: 400, headers: `${TYPE}\r\nX-Refused: yes`, body: problem }),
          log: silentLogger,
        },
      );
      const client = new RawClient(await server.listen());
      clients.push(client);
      return { client, seen, backend: server.backend };
    }

    const textOf = ({ head, body = '' }: RawRequest): string => `${head.join('\r\n')}\r\n\r\n${body}`;
    const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

    async function check(request: RawRequest): Promise<void> {
      const { client, seen, backend } = await connected();
      const outcome = backend === 'uws' ? (request.uws ?? request.outcome) : request.outcome;
      client.send(bytesOf(textOf(request)));
      if (outcome === 'closed') {
        // A parser that waits for more learns that no more will come.
        setTimeout(() => client.socket.end(), 200);
        expect(await client.ended(60_000)).toBe(true);
        expect(client.received).not.toMatch(/^HTTP\/1.1 [1-3]/);
        expect(seen).toEqual([]);
        return;
      }
      const response = await client.next();
      if (outcome === 'refused') {
        expect([response?.status, response?.headers.get('x-refused')]).toEqual([400, 'yes']);
        expect(response?.headers.get('connection')).toBe('close');
        expect(response?.body).not.toBe('');
        expect(seen).toEqual([]);
        expect(await client.ended(60_000)).toBe(true);
        return;
      }
      expect([response?.status, response?.body, seen]).toEqual([200, request.received ?? '', ['/x']]);
      if (outcome === 'last') {
        expect(response?.headers.has('keep-alive')).toBe(false);
        expect(await client.ended(60_000)).toBe(true);
        return;
      }
      expect(response?.headers.get('keep-alive')).toMatch(/^timeout=\d+$/);
      client.send(NEXT);
      expect((await client.next())?.status).toBe(200);
    }

    it('refuses a body in very many chunks', async () => {
      const head = 'POST /large HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
      const inChunks = (count: number) => `${head}${'1\r\na\r\n'.repeat(count)}0\r\n\r\n`;
      const { client } = await connected();
      // uWebSockets.js counts the end of a body as a chunk.
      client.send(bytesOf(inChunks(HTTP_LIMITS.bodyChunksMax - 1)));
      expect((await client.next())?.body).toBe('a'.repeat(HTTP_LIMITS.bodyChunksMax - 1));
      await server?.close(1_000);
      const { client: second, seen } = await connected();
      second.send(bytesOf(inChunks(2 * HTTP_LIMITS.bodyChunksMax)));
      expect((await second.next())?.body).toBe('too large');
      expect(seen).toEqual(['/large']);
      expect(await second.ended(60_000)).toBe(true);
    });

    it.each(SERVED.map((one) => [one.title, one] as const))('serves %s', (_title, one) => check(one));
    it.each(REFUSED.map((one) => [one.title, one] as const))('refuses %s', (_title, one) => check(one));
    it.each(DIFFERENT.map((one) => [one.title, one] as const))('has its own outcome for %s', (_title, one) =>
      check(one),
    );

    it.each(LOOSE_CHUNKS)('serves no request after %s', async (_title, body, received) => {
      const { client, seen, backend } = await connected();
      client.send(`${CHUNKED.join('\r\n')}\r\n\r\n${body}`);
      const response = await client.next();
      expect([response?.status, response?.body]).toEqual(
        backend === 'uws' ? [200, received] : [400, response?.body],
      );
      client.send(NEXT);
      expect(await client.ended(60_000)).toBe(true);
      expect(seen).not.toContain('/next');
    });

    /** Bytes after a request of unclear length may be a second request for one party only. */
    it.each(
      [...REFUSED.map((one) => [one.title, textOf(one)] as const)]
        .concat(
          LOOSE_CHUNKS.map(([title, body]) => [title, `${CHUNKED.join('\r\n')}\r\n\r\n${body}`] as const),
        )
        .concat([['a body in chunks', `${CHUNKED.join('\r\n')}\r\n\r\n${FIVE}`] as const]),
    )('serves no second request that is sent together with %s', async (_title, text) => {
      const { client, seen } = await connected();
      client.send(bytesOf(text + NEXT + NEXT));
      setTimeout(() => client.socket.end(), 200);
      expect(await client.ended(60_000)).toBe(true);
      expect(seen).not.toContain('/next');
    });

    it('carries out no streamed body whose response could not be sent', async () => {
      const ends: string[] = [];
      server = create(
        { host: '127.0.0.1', port: 0, tls: null },
        {
          router: createRouter([]),
          fallback: (exchange) =>
            exchange.receiveBody(KIB, {
              write: () => {},
              end: (how) => {
                ends.push(how);
                if (how === 'whole') exchange.reply(200, TYPE, 'done');
              },
            }),
          refuse: () => ({ status: 400, headers: TYPE, body: '' }),
          log: silentLogger,
        },
      );
      const client = new RawClient(await server.listen());
      clients.push(client);
      client.send(`${CHUNKED.join('\r\n')}\r\n\r\n5\r\nhello\r\n0\r\nX-A: b\r\n\r\n`);
      const isAnswered = (await client.next())?.status === 200;
      expect([isAnswered, ends]).toEqual(server.backend === 'uws' ? [false, ['gone']] : [true, ['whole']]);
    });

    it('does not take the host of a target in absolute form', async () => {
      const { client, seen } = await connected();
      client.send('GET http://y/x HTTP/1.1\r\nHost: x\r\n\r\n');
      expect((await client.next())?.status).toBeGreaterThanOrEqual(400);
      expect(seen).not.toContain('/x');
    });

    it('serves headers of 16 KB, and refuses more, if they come in pieces', async () => {
      for (const [bytes, status] of [
        [16 * KIB - HOST_BYTES, 200],
        [16 * KIB - HOST_BYTES + 1, 400],
        [60 * KIB, 400],
      ] as const) {
        const { client } = await connected();
        const text = `${[...GET, header(bytes)].join('\r\n')}\r\n\r\n`;
        for (let at = 0; at < text.length; at += 5_000) {
          client.send(text.slice(at, at + 5_000));
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        expect([bytes, (await client.next())?.status]).toEqual([bytes, status]);
        await server?.close(1_000);
      }
    });
  });
}
