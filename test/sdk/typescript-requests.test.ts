/** Requests of the TypeScript client to a server with prepared responses: what is refused before it is sent, and unusual responses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  AbortError,
  Assay,
  AssayError,
  type ClientOptions,
  ConnectionError,
  ServerError,
  TimeoutError,
} from '../../sdk/typescript/src/index.ts';
import { undiciTransport } from '../../sdk/typescript/src/undici.ts';

const QUESTION = { chain: 'ETH', address: '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8' };
const KEY = 'assay_live_0123456789';

const running: { close(): void }[] = [];
afterEach(() => {
  for (const server of running.splice(0)) server.close();
});

/** Starts a server, and returns a client of it with the requests that arrive. */
async function serverWith(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: ClientOptions = {},
) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  running.push({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { assay: new Assay({ baseUrl, apiKey: KEY, ...options }), requests, baseUrl };
}

const json = (value: unknown) => (_: IncomingMessage, response: ServerResponse) => {
  response.end(JSON.stringify(value));
};
const verdict = json({ success: true, data: { verdict: 'safe' } });
const thrownBy = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => null,
    (error: unknown) => error,
  );

describe('what a request cannot hold', () => {
  it('takes a key with the line break of its file, and never quotes a key that is not valid', async () => {
    const { assay, requests } = await serverWith(verdict, { apiKey: `${KEY}\r\n` });
    await assay.oracle.check(QUESTION);
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    for (const apiKey of [`${KEY}\n${KEY}`, 'assay_live_…', 'Bearer assay_live_x']) {
      const create = (): Assay => new Assay({ baseUrl: 'http://127.0.0.1:1', apiKey });
      expect(create).toThrow(AssayError);
      expect(create).toThrow(/^apiKey: must be the whole key(?!.*assay_live)/);
    }
  });

  it.each(['', 'zahlung-ü', 'a b', 'a\nb', 'x'.repeat(256)])(
    'rejects the idempotency key %j before it is sent',
    async (idempotencyKey) => {
      const { assay, requests } = await serverWith(verdict);
      const error = await thrownBy(assay.kyt.check(QUESTION, { idempotencyKey }));
      expect(error).toMatchObject({
        name: 'AssayError',
        message: expect.stringMatching(/^idempotencyKey: /),
      });
      expect(requests).toEqual([]);
    },
  );

  it.each(['', '.', '..', '%2e%2E'])(
    'rejects the id %j, with which a path means another operation',
    async (id) => {
      const { assay, requests } = await serverWith(json({ success: true, data: {} }));
      const raw = assay.request({ method: 'GET', path: `/monitoring/wallets/${id}/alerts` });
      const calls = id.includes('%') ? [raw] : [raw, assay.wallets.alerts(id), assay.auth.endSession(id)];
      for (const call of calls)
        expect(await thrownBy(call)).toMatchObject({
          name: 'AssayError',
          message: expect.stringMatching(/^path: /),
        });
      expect(requests).toEqual([]);
    },
  );

  it('waits without a limit for a timeout that no timer can count, and rejects one that is no time', async () => {
    const { assay } = await serverWith((request, response) => {
      setTimeout(() => verdict(request, response), 30);
    });
    for (const timeout of [Number.POSITIVE_INFINITY, 2 ** 31])
      expect((await assay.oracle.check(QUESTION, { timeout })).verdict).toBe('safe');
    for (const timeout of [Number.NaN, -1])
      expect(await thrownBy(assay.oracle.check(QUESTION, { timeout }))).toMatchObject({
        name: 'AssayError',
        message: expect.stringMatching(/^timeout: /),
      });
  });

  it('sends a header once, in whatever letter case the caller writes it', async () => {
    const { assay, requests } = await serverWith(verdict, { headers: { ACCEPT: 'application/json' } });
    await assay.kyt.check(QUESTION, { headers: { 'Content-Type': 'application/json; charset=utf-8' } });
    expect(requests[0]?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/json; charset=utf-8',
    });
  });
});

describe('without a key', () => {
  it('a page of the server sends its calls, because the browser adds the cookie, and another page does not', async () => {
    const { baseUrl, requests } = await serverWith(verdict);
    try {
      Object.assign(globalThis, { location: { origin: baseUrl } });
      expect((await new Assay({ baseUrl, apiKey: '' }).oracle.check(QUESTION)).verdict).toBe('safe');
      Object.assign(globalThis, { location: { origin: 'https://another.example.org' } });
      expect(await thrownBy(new Assay({ baseUrl, apiKey: '' }).oracle.check(QUESTION))).toMatchObject({
        message: expect.stringMatching(/^apiKey: missing/),
      });
    } finally {
      Reflect.deleteProperty(globalThis, 'location');
    }
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

describe('a response', () => {
  it.each([[null], [[]], [1], [{}], [{ success: true, data: null }], [{ verdict: 'safe' }]])(
    'that is %j is a connection error, not an answer without fields',
    async (value) => {
      const { assay } = await serverWith(json(value), { maxRetries: 0 });
      expect(await thrownBy(assay.oracle.check(QUESTION))).toBeInstanceOf(ConnectionError);
      expect(await thrownBy(assay.alerts.list()[Symbol.asyncIterator]().next())).toBeInstanceOf(
        ConnectionError,
      );
    },
  );

  it.each([
    ['fetch', {}],
    ['undici', { transport: undiciTransport(request) }],
  ])('that arrives in pieces without an end is a timeout over %s', async (_, options) => {
    const { assay } = await serverWith(
      (_, response) => {
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
      { ...options, timeout: 200, maxRetries: 0 },
    );
    expect(await thrownBy(assay.oracle.check(QUESTION))).toBeInstanceOf(TimeoutError);
  });

  it('with a date in Retry-After is repeated then', async () => {
    const { assay, requests } = await serverWith((request, response) => {
      if (requests.length > 1) return verdict(request, response);
      // A date has whole seconds.
      response.writeHead(503, { 'retry-after': new Date(Date.now() + 2_000).toUTCString() }).end();
    });
    const start = Date.now();
    await assay.oracle.check(QUESTION);
    expect(Date.now() - start).toBeGreaterThan(900);
  });

  it('waits for as long as a rate limit asks at most, which is 61 seconds', async () => {
    const { assay, requests } = await serverWith(
      (_, response) => void response.writeHead(429, { 'retry-after': '61' }).end('{"error":"Too many."}'),
    );
    const signal = AbortSignal.timeout(500);
    expect(await thrownBy(assay.oracle.check(QUESTION, { signal }))).toBeInstanceOf(AbortError);
    expect(requests).toHaveLength(1);
  });

  it.each(['-5', 'soon', ''])('with the Retry-After %j does not say when', async (text) => {
    const { assay } = await serverWith(
      (_, response) => void response.writeHead(503, { 'retry-after': text }).end(),
      { maxRetries: 0 },
    );
    expect(await thrownBy(assay.oracle.check(QUESTION))).toMatchObject({ retryAfter: null });
  });
});

describe('the result of a job', () => {
  const job = { id: 'j', state: 'DONE', resultBytes: 10, secondsLeft: 0, answered: 1, error: null };
  const busy = (headers: Readonly<Record<string, string>>) =>
    serverWith((request, response) => {
      if (!request.url?.endsWith('/result')) return json({ success: true, data: { job } })(request, response);
      response.writeHead(503, headers).end();
    });

  it.each([
    ['fetch', {}],
    ['undici', { transport: undiciTransport(request) }],
  ])('that has changed is an error over %s, and does not end the process', async (_, options) => {
    const { assay } = await serverWith((request, response) => {
      if (!request.url?.endsWith('/result')) return json({ success: true, data: { job } })(request, response);
      response.writeHead(206, { 'content-range': 'bytes 0-8/9' }).end('012345678');
    }, options);
    expect(await thrownBy(assay.bulk.results('j').next())).toMatchObject({
      message: 'The result of job j has changed since it was read.',
    });
    // A body that is destroyed without a listener throws in a later turn.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  });

  it('is not requested again before the time that the server asks for', async () => {
    const { assay, requests } = await busy({ 'retry-after': '120' });
    expect(await thrownBy(assay.bulk.results('j').next())).toBeInstanceOf(ServerError);
    expect(requests.filter(({ url }) => url?.endsWith('/result'))).toHaveLength(1);
  });

  it('is requested as often as maxRetries says, not as often again at each attempt', async () => {
    const { assay, requests } = await busy({ 'retry-after': '0' });
    expect(await thrownBy(assay.bulk.results('j', { maxRetries: 3 }).next())).toBeInstanceOf(ServerError);
    expect(requests.filter(({ url }) => url?.endsWith('/result'))).toHaveLength(4);
  });
});

describe('the environment', () => {
  it('need not be readable if the options have all that is needed, as in Deno without a permission', () => {
    const env = new Proxy(
      {},
      {
        get() {
          throw new Error('Requires env access');
        },
      },
    );
    vi.stubGlobal('process', { env });
    try {
      expect(new Assay({ baseUrl: 'http://127.0.0.1:1', session: 'text' }).session).toBe('text');
      expect(() => new Assay({ session: 'text' })).toThrow(AssayError);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe('the alert stream', () => {
  it('is not broken over undici while it is silent for longer than the timeout of a call', async () => {
    const { assay, requests } = await serverWith(
      (_, response) => {
        response.write(': open\n\n');
        setTimeout(() => response.end('id: 1\nevent: alert.created\ndata: {}\n\n'), 2_500);
      },
      { transport: undiciTransport(request), timeout: 200 },
    );
    for await (const { id } of assay.alerts.stream({ lastEventId: '0' })) {
      expect(id).toBe('1');
      break;
    }
    expect(requests).toHaveLength(1);
  });

  it('reads line breaks of two characters that arrive in two pieces', async () => {
    const pieces = ['id: 7\r\nevent: alert.created\r\ndata: {"alert":{}}\r', '\n\r', '\n'];
    const { assay } = await serverWith((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => {
        const piece = pieces.shift();
        if (piece === undefined) clearInterval(timer);
        else response.write(piece);
      }, 20);
    });
    for await (const event of assay.alerts.stream()) {
      expect(event).toMatchObject({ id: '7', event: 'alert.created' });
      break;
    }
  }, 10_000);
});

describe('bulk', () => {
  it('stops a job that the server has received when the work is aborted, although its id is not known yet', async () => {
    const stopped: (string | undefined)[] = [];
    const controller = new AbortController();
    const { assay } = await serverWith((request, response) => {
      request.resume().on('end', () => {
        const job = { id: 'j1', state: 'QUEUED', secondsLeft: null, answered: 0, error: null };
        const answer = (): void => json({ success: true, data: { job } })(request, response);
        if (request.method === 'DELETE') stopped.push(request.url);
        if (request.method !== 'POST') return answer();
        controller.abort();
        setTimeout(answer, 50);
      });
    });
    const error = await thrownBy(assay.bulk.screen(['a'], { signal: controller.signal }).next());
    expect(error).toMatchObject({ name: 'AbortError' });
    expect(stopped).toEqual(['/api/v1/jobs/j1']);
  });

  it('sends a job again under the same key', async () => {
    const { assay, requests } = await serverWith((_, response) => void response.writeHead(503).end());
    const error = await thrownBy(assay.bulk.screen(['a'], { maxRetries: 1 }).next());
    expect(error).toBeInstanceOf(ServerError);
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
  });
});
